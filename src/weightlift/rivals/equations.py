"""How many equations the rows are (docs/certificate_theory.md, T3).

Copies, mirror images and few levels make the values of every network of the class at the rows depend on each other: n rows are
then fewer than n equations. All such values lie in one linear space; J, p independent columns of it, uses up p dimensions, and
what random units of the class have off the range of J are further ones:

    spare = rank (F − J (JᵀWJ)⁻¹JᵀWF),      F (n, m) random units at the fit's scale.

Necessary, not sufficient. Of few inputs all units of an analytic φ lie, to rounding, in a space of few dimensions, whatever the
rows: then nothing is lost where the rows have as many as points between them have, and the two that exclude a rival.
Cost  two passes of O(n p m).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.evidence.rows import Agreement, double
from weightlift.namespaces import array_namespace, as_like, matmul_transposed, to_numpy
from weightlift.network import Network
from weightlift.risk import Students
from weightlift.rivals.cells import some_inputs
from weightlift.rivals.finding import Finding, Outcome
from weightlift.rivals.limits import LIMITS
from weightlift.samples import Block, Samples, Sums
from weightlift.samples import open as open_samples


def spare_equations(samples: Samples, information: Information, *, rng: np.random.Generator) -> Finding | None:
    """None where the rows are enough; else a finding that says by how much they are not."""
    gauge, X = information.gauge, some_inputs(samples)
    features = random_units(X, gauge, rng)
    spare = _spare(samples, information, features, LIMITS.flat)
    if spare >= LIMITS.spare or (spare >= LIMITS.excluding and spare >= _spare_between(X, gauge, features, rng)):
        return None
    p = gauge.size
    return Finding(
        Outcome.UNEXAMINED,
        f"The rows are {p + spare} equations for {p} parameters, however many they are: copies, mirror images or too few "
        f"levels of each other. Give at least {LIMITS.spare - spare} that are new.",
        number=float(p + spare),
        limit=float(p + LIMITS.spare),
    )


def shown_equations(samples: Samples, information: Information, margin: float, *, rng: np.random.Generator) -> Finding | None:
    """The same with noise: an equation counts if a unit as large as the network's largest would add the margin to Σ w r² in it.

    margin  what chance may add to Σ w r²
    """
    gauge, X = information.gauge, some_inputs(samples)
    largest = float(Agreement.of(gauge.network, samples).units.max()) / samples.total
    spare = int(np.count_nonzero(largest * _off_range(samples, information, random_units(X, gauge, rng)) > margin))
    if spare >= LIMITS.excluding:
        return None
    p = gauge.size
    return Finding(
        Outcome.UNEXAMINED,
        f"Beside the noise the rows are {p + spare} equations for {p} parameters, however many they are: no others would show "
        "another network. Give rows elsewhere.",
        number=float(p + spare),
        limit=float(p + LIMITS.excluding),
    )


def _spare(samples: Samples, information: Information, features: Network, flat: float) -> int:
    sizes = _off_range(samples, information, features)
    return int(np.count_nonzero(sizes > flat**2 * len(sizes)))


def _off_range(samples: Samples, information: Information, features: Network) -> np.ndarray:
    """(m,) eigenvalues of Σ w RᵀR, R what the features have off the range of J."""
    gauge = information.gauge
    cross, _ = (to_numpy(s) for s in samples.fold(Projected(gauge, features, np.zeros((gauge.size, LIMITS.features)))))
    undone = information.half_inverse @ (information.half_inverse.T @ cross)
    _, gram = (to_numpy(s) for s in samples.fold(Projected(gauge, features, undone)))
    return np.asarray(np.linalg.eigvalsh(gram))


def _spare_between(X: np.ndarray, gauge: Gauge, features: Network, rng: np.random.Generator) -> int:
    """The same at random points between pairs of the rows, no copies and of no levels: what they clearly have."""
    size = max(len(X), LIMITS.between * (gauge.size + LIMITS.features))
    i, j = rng.integers(len(X), size=(2, size))
    t = rng.random((size, 1))
    points = open_samples(X[i] + t * (X[j] - X[i]), np.zeros(size))
    known = Information.of(points, gauge)
    return _spare(points, known, features, LIMITS.clear * LIMITS.flat) if known.full_rank else LIMITS.features


def random_units(X: np.ndarray, gauge: Gauge, rng: np.random.Generator) -> Network:
    """`LIMITS.features` units of the class with preactivations on the rows of the size that the network's have."""
    net, m = gauge.network, LIMITS.features
    centre = X.mean(axis=0) if gauge.free.b else np.zeros(net.n_inputs)
    spread = np.sqrt(np.mean((X - centre) ** 2, axis=0))
    Z = X @ net.W + net.b
    size = float(np.sqrt(np.mean((Z - (Z.mean(axis=0) if gauge.free.b else 0.0)) ** 2)))
    W = rng.standard_normal((net.n_inputs, m)) / np.where(spread > 0, spread, np.inf)[:, None]
    W *= size / np.sqrt(net.n_inputs)
    b = rng.choice(Z.ravel(), m) - centre @ W if gauge.free.b else None
    units = Network(W, None, b, 0.0, net.activation)
    length = np.sqrt(np.mean(units.activation(X @ units.W + units.b) ** 2, axis=0))
    return Network(W, 1.0 / np.where(length > 0, length, 1.0), b, 0.0, net.activation)


@dataclass(frozen=True, eq=False)
class Projected:
    """Σ w j Rᵀ (p, m) and Σ w RᵀR (m, m) of R = F − J C, divided by Σ w; F the units one by one, each of mean square one."""

    gauge: Gauge
    features: Network
    coefficients: np.ndarray  # C (p, m)

    @property
    def floats_per_row(self) -> int:
        return 2 * self.gauge.size + 4 * self.features.n_units

    def __call__(self, block: Block) -> Sums:
        X, _, w = double(block)
        xp = array_namespace(X)
        students = Students.of(self.gauge.network).like(X)
        J = self.gauge.jacobian(X, students.preactivations(X), students)
        units = Students.of(self.features).like(X)
        F = (units.a * units.activation(units.preactivations(X)))[:, 0, :]
        R = F - xp.matmul(J, as_like(self.coefficients, X))
        wR = w[:, None] * R
        return matmul_transposed(J, wR), matmul_transposed(wR, R)
