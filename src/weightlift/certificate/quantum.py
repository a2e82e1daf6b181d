"""Targets that were rounded: errors with a bound, not noise.

A target has a quantum if every value is a multiple of 10⁻ᵐ, m < 10, or a number of half or single precision: stored so, or
computed so. Its bound E on a row is half a quantum and B, the bound on rounding errors; or, if it was computed so, B times
ε′/ε, ε′ the roundoff of that precision. If moreover every residual is within 2 max E, half of it for the truth and half for
what the fit makes of the other rows' errors, then it is the rounding that is seen, and `precision` gives regions to match.
Cost  one pass, O(n k).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weightlift.certificate.limits import LIMITS
from weightlift.certificate.statement import Kind, Statement, Topic, assumed
from weightlift.evidence.rows import EPS, double, rounding_bound
from weightlift.namespaces import array_namespace, to_numpy
from weightlift.network import Network
from weightlift.risk import Students
from weightlift.samples import Block, Samples, Sums

DECIMALS = 10  # places that are looked for; beyond, float64 has too few digits left to tell
PRECISIONS = (("half", np.float16, 2.0**-10), ("single", np.float32, 2.0**-23))  # and the spacing of numbers near one
WORDS = (
    *(f"multiples of 1e-{m}" for m in range(DECIMALS)),
    *(f"numbers {how} in {name} precision" for how in ("stored", "computed") for name, _, _ in PRECISIONS),
)


@dataclass(frozen=True)
class Quantum:
    """How the target was rounded, and e of the precision: (Σ w (|r| + E)²)^½."""

    words: str
    size: float  # largest distance of two neighbouring values
    error: float
    bound: float  # (mean of w E²)^½
    level: float  # max |r|/max E


def quantum_of(samples: Samples, network: Network) -> Quantum | None:
    """The finest rounding that explains every residual; None if there is none."""
    whole, residual, error, bound, spacing, largest = (to_numpy(v) for v in samples.fold(Roundings(network)))
    level = residual / largest
    fitting = np.flatnonzero((whole == 0) & (level <= 2.0))
    if not len(fitting):
        return None
    i = int(fitting[np.argmin(error[fitting])])
    return Quantum(
        WORDS[i], float(spacing[i]), float(np.sqrt(error[i])), float(np.sqrt(bound[i] / samples.total)), float(level[i])
    )


def bounded(words: str, size: float, level: float) -> Statement:
    """That rounding is what is seen."""
    sentence = (
        f"The targets are {words} (spacing up to {size:.1g}), and every residual is within {level:.2g} of what that allows: "
        "errors with a bound, not noise."
    )
    return Statement(Topic.BOUNDED, Kind.TESTED, True, sentence, level, 2.0)


def rounded_values() -> Statement:
    """What bounded errors rest on."""
    return assumed("The targets are values of the network, rounded in this way; a unit below the spacing would not show.")


@dataclass(frozen=True, eq=False)
class Roundings:
    """For each rounding: values that it would change, max |r|, Σ w (|r| + E)², Σ w E², max spacing, max E."""

    network: Network

    @property
    def floats_per_row(self) -> int:
        return 8 * self.network.n_units + 60

    def __call__(self, block: Block) -> Sums:
        X, y, w = double(block)
        xp = array_namespace(X)
        students = Students.of(self.network).like(X)
        z = students.preactivations(X)
        values = students.activation(z)
        r = to_numpy(xp.abs(students.residuals(values, y)[:, 0]))
        B = LIMITS.rounding * to_numpy(rounding_bound(students, X, y, z, values))
        y, w = to_numpy(y), to_numpy(w)
        steps = 10.0 ** -np.arange(DECIMALS)
        kept = [np.round(y, m) == y for m in range(DECIMALS)] + 2 * [y.astype(t) == y for _, t, _ in PRECISIONS]
        spacing = [np.full_like(y, step) for step in steps] + 2 * [unit * np.abs(y) for _, _, unit in PRECISIONS]
        bounds = [0.5 * s + B for s in spacing[:-2]] + [unit / EPS * B for _, _, unit in PRECISIONS]
        used = w > 0
        E, off = np.stack(bounds), np.stack([~k & used for k in kept])
        total = r + E
        return (
            off.sum(axis=1),
            np.max(used * r, keepdims=True, initial=0.0),
            (w * total**2).sum(axis=1),
            (w * E**2).sum(axis=1),
            np.max(used * np.stack(spacing), axis=1, initial=0.0),
            np.max(used * E, axis=1, initial=0.0),
        )

    def merge(self, left: Sums, right: Sums) -> Sums:
        sums = [a + b for a, b in zip(left, right, strict=True)]
        largest = [np.maximum(a, b) for a, b in zip(left, right, strict=True)]
        return sums[0], largest[1], sums[2], sums[3], largest[4], largest[5]
