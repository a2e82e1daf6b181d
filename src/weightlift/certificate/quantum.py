"""Targets that were rounded: errors with a bound, not noise.

A target has a quantum if every value is a multiple of 10⁻ᵐ, m < 10, or a number of half or single precision: stored so, or
computed so. Its bound E on a row is half a quantum and B, the bound on rounding errors; or, if it was computed so, B times
ε′/ε, ε′ the roundoff of that precision. If moreover every residual is within 2 max E, half of it for the truth and half for
what the fit makes of the other rows' errors, then it is the rounding that is seen. Of several outputs each has a rounding of
its own; beside others, or a linear part, it may be float64 itself. With e² = Σ w (|r| + E)² `precision` gives regions to match.
Cost  one pass, O(n k m).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from weightlift.certificate.limits import LIMITS
from weightlift.certificate.statement import Kind, Statement, Topic, assumed
from weightlift.evidence.rows import EPS, double, rounding
from weightlift.namespaces import to_numpy
from weightlift.network import Network
from weightlift.samples import Block, Samples, Sums

DECIMALS = 10  # places that are looked for; beyond, float64 has too few digits left to tell
PRECISIONS = (("half", np.float16, 2.0**-10), ("single", np.float32, 2.0**-23))  # and the spacing of numbers near one
WORDS = (
    *(f"multiples of 1e-{m}" for m in range(DECIMALS)),
    *(f"numbers {how} in {name} precision" for how in ("stored", "computed") for name, _, _ in PRECISIONS),
)


EXACT = "numbers in double precision"


@dataclass(frozen=True, eq=False)
class Quantum:
    """How the targets were rounded, e² of every output, and the largest |r|/max E of them."""

    words: str
    size: float  # largest distance of two neighbouring values
    squares: np.ndarray  # (m,) Σ w (|r| + E)²
    bound: float  # (mean of w E²)^½ over rows and outputs
    level: float

    @property
    def error(self) -> float:
        """e, over all outputs."""
        return math.sqrt(float(self.squares.sum()))


def quantum_of(samples: Samples, network: Network) -> Quantum | None:
    """The finest rounding of every output that explains its residuals; None if one has none."""
    changed, residual, error, bound, spacing, largest = (to_numpy(v) for v in samples.fold(Roundings(network)))
    level = np.divide(residual, largest, out=np.where(residual > 0, np.inf, 0.0 * largest), where=largest > 0)
    fits = (changed == 0) & (level <= 2.0)  # (roundings, m)
    if not fits.any(axis=0).all():
        return None
    finest, outputs = np.argmin(np.where(fits, error, np.inf), axis=0), np.arange(network.n_outputs)
    words = dict.fromkeys((*WORDS, EXACT)[i] for i in finest)
    words = dict.fromkeys(w for w in words if w != EXACT) or words
    return Quantum(
        ", or ".join(words),
        float(spacing[finest, outputs].max()),
        error[finest, outputs],
        float(np.sqrt(bound[finest, outputs].sum() / samples.total / network.n_outputs)),
        float(level[finest, outputs].max()),
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
    """For each rounding and output: values that it would change, max |r|, Σ w (|r| + E)², Σ w E², max spacing, max E."""

    network: Network

    @property
    def floats_per_row(self) -> int:
        return 8 * self.network.n_units + 100 * self.network.n_outputs

    def __call__(self, block: Block) -> Sums:
        r, B = (np.ascontiguousarray(to_numpy(v).T) for v in rounding(self.network, *double(block)[:2])[:2])  # (m, rows)
        y, B = to_numpy(block.y).astype(float).T.reshape(r.shape), LIMITS.rounding * B
        w = np.ones(r.shape[1]) if block.w is None else to_numpy(block.w).astype(float)
        kept = [np.round(y, places) == y for places in range(DECIMALS)] + 2 * [y.astype(t) == y for _, t, _ in PRECISIONS]
        spacing = [np.full_like(y, 10.0**-places) for places in range(DECIMALS)]
        spacing += 2 * [unit * np.abs(y) for _, _, unit in PRECISIONS]
        bounds = [0.5 * s + B for s in spacing[: DECIMALS + len(PRECISIONS)]] + [unit / EPS * B for _, _, unit in PRECISIONS]
        if _joint(self.network):
            kept, spacing, bounds = [*kept, np.ones_like(y, dtype=bool)], [*spacing, EPS * np.abs(y)], [*bounds, B]
        used, E = w > 0, np.stack(bounds)  # (roundings, m, rows)
        return (
            np.sum(~np.stack(kept) & used, axis=2),
            np.max(used * r, axis=1, initial=0.0),
            ((r + E) ** 2) @ w,
            (E**2) @ w,
            np.max(used * np.stack(spacing), axis=2, initial=0.0),
            np.max(used * E, axis=2, initial=0.0),
        )

    def merge(self, left: Sums, right: Sums) -> Sums:
        sums = [a + b for a, b in zip(left, right, strict=True)]
        largest = [np.maximum(a, b) for a, b in zip(left, right, strict=True)]
        return sums[0], largest[1], sums[2], sums[3], largest[4], largest[5]


def _joint(network: Network) -> bool:
    return network.a.ndim == 2 or network.V is not None
