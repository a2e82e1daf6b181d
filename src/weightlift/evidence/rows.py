"""What the rows themselves say: residuals against their rounding errors, and how many inputs are distinct.

The bound on the rounding error of f(x) − y, where y was computed by the same formula in double precision, is

    B = 2 ε Σᵢ |aᵢ| ( (d + 2) s(zᵢ) (Σ_l |x_l w_li| + |bᵢ|) + (k + 4) |φ(zᵢ)| ) + 2 ε (|c| + |y|),

(d + 2) ε bounding the inner product [Higham 2002, §3.1], s(z) the larger slope of φ on either side of z, and the factor 2
standing for the two evaluations, the teacher's and ours. Where φ(−z) = ±φ(z) + a polynomial that is not constant, the teacher
may have had units reflected, which changes no value but its rounding: then s and |φ| are the larger of those at z and −z.

Of several outputs, or beside a linear part,

    B = ε((d + 2) Σ|aᵢφ′(zᵢ)|(|x|ᵀ|wᵢ| + |bᵢ|) + (k + d + 4)(Σ|aᵢφ(zᵢ)| + |x|ᵀ|V| + |c| + |y|)),

where |aᵢ| is that of the unit at an output it is seen by, in the output's units: an output weight that is zero is fitted to
rounding errors of the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from weightlift.activations import Activation
from weightlift.namespaces import Array, array_namespace, as_like, to_numpy
from weightlift.network import Network
from weightlift.risk import Students
from weightlift.samples import Block, Samples, Sums
from weightlift.samples.keys import rounded_row_keys

EPS = float(np.finfo(np.float64).eps)
TINY = float(np.finfo(np.float64).tiny)
SKETCH = 2**18  # hashes kept: 2 MB, and an estimate to 0.2 %


def double(block: Block) -> tuple[Array, Array, Array]:
    """X, y and weights in float64: certificates are not computed in less."""
    xp = array_namespace(block.X)
    X, y = xp.astype(block.X, xp.float64, copy=False), xp.astype(block.y, xp.float64, copy=False)
    w = xp.ones_like(X[:, 0]) if block.w is None else xp.astype(block.w, xp.float64, copy=False)
    return X, y, w


@dataclass(frozen=True, eq=False)
class Agreement:
    """What the rows say of residuals r and of bounds B on their rounding errors, (n, m)."""

    level: float  # max |r|/B over rows of positive weight …
    residual: float  # … and max |r|
    rows: int  # their number
    errors: np.ndarray  # (m,) Σ w (|r| + B)²
    rss: float  # Σ w r²
    squares: float  # Σ w²
    energy: float  # Σ w y²
    units: np.ndarray  # (k,) Σ w ‖aᵢ φ(zᵢ)‖²

    @classmethod
    def of(cls, network: Network, samples: Samples) -> Agreement:
        level, residual, rows, errors, rss, squares, energy, units = (to_numpy(v) for v in samples.fold(Residuals(network)))
        numbers = float(rss), float(squares), float(energy)
        return cls(float(level), float(residual), int(rows), errors, *numbers, units)

    @property
    def error(self) -> float:
        """Σ w (|r| + B)² over all outputs."""
        return float(self.errors.sum())


@dataclass(frozen=True, eq=False)
class Residuals:
    """The numbers of `Agreement`, in its order."""

    network: Network

    @property
    def floats_per_row(self) -> int:
        return 8 * self.network.n_units + self.network.n_inputs + 6 * (self.network.n_outputs - 1)

    def __call__(self, block: Block) -> Sums:
        X, y, w = double(block)
        xp, m, k = array_namespace(X), self.network.n_outputs, self.network.n_units
        if X.shape[0] == 0:
            none, outputs, units = (xp.zeros(shape, dtype=X.dtype, device=X.device) for shape in ((), (m,), (k,)))
            return none, none, none, outputs, none, none, none, units
        r, B, parts = rounding(self.network, X, y)
        used = xp.astype(w > 0, xp.float64)[:, None]
        total = used * (r + B)
        return (
            xp.max(used * r / B),
            xp.max(used * r),
            xp.sum(used),
            xp.matmul(w, total * total),
            xp.sum(xp.matmul(w, r * r)),
            xp.sum(w * w),
            xp.sum(xp.matmul(w, y * y)),
            xp.matmul(w, parts * parts),
        )

    def merge(self, left: Sums, right: Sums) -> Sums:
        xp = array_namespace(*left)
        maxima = tuple(xp.maximum(a, b) for a, b in zip(left[:2], right[:2], strict=True))
        return maxima + tuple(a + b for a, b in zip(left[2:], right[2:], strict=True))


def rounding(network: Network, X: Array, y: Array) -> tuple[Array, Array, Array]:
    """|f(x) − y| and the bound on its rounding errors, (n, m), and what the units add, ‖aᵢ φ(zᵢ)‖ (n, k)."""
    if network.a.ndim == 2 or network.V is not None:
        return _rounding_of_outputs(network, X, y[:, None] if y.ndim == 1 else y)
    students = Students.of(network).like(X)
    z = students.preactivations(X)
    values = students.activation(z)
    r = array_namespace(X).abs(students.residuals(values, y))
    return r, rounding_bound(students, X, y, z, values)[:, None], (students.a * values)[:, 0, :]


def _rounding_of_outputs(network: Network, X: Array, y: Array) -> tuple[Array, Array, Array]:
    xp = array_namespace(X)
    W, b, A, size_A = (as_like(v, X) for v in (network.W, network.b, network.A, _unit_sizes(network.A)))
    d, k = network.W.shape
    V = as_like(np.zeros((d, network.n_outputs)) if network.V is None else network.V.reshape(d, -1), X)
    c = as_like(np.atleast_1d(network.c), X)
    z = xp.matmul(X, W) + b
    values, slopes = network.activation(z), network.activation.derivative(z)
    reach = xp.abs(slopes) * (xp.matmul(xp.abs(X), xp.abs(W)) + xp.abs(b))
    size = xp.matmul(xp.abs(values), size_A) + xp.matmul(xp.abs(X), xp.abs(V)) + xp.abs(c) + xp.abs(y)
    residuals = xp.matmul(values, A) + xp.matmul(X, V) + c - y
    bound = EPS * ((d + 2) * xp.matmul(reach, size_A) + (k + d + 4) * size) + TINY
    return xp.abs(residuals), bound, values * as_like(np.linalg.norm(network.A, axis=1), X)


def _unit_sizes(A: np.ndarray) -> np.ndarray:
    """(k, m) the largest |aᵢ| of a unit, relative to its output's largest, in every output."""
    largest = np.abs(A).max(axis=0, initial=0.0)
    relative = np.divide(np.abs(A), largest, out=np.zeros_like(A), where=largest > 0)
    return np.asarray(relative.max(axis=1, initial=0.0)[:, None] * largest)


def rounding_bound(students: Students, X: Array, y: Array, z: Array, values: Array) -> Array:
    """B (m,) as in the module's docstring."""
    xp = array_namespace(X)
    d, _, k = students.shape
    phi = students.activation
    sizes = xp.reshape(xp.matmul(xp.abs(X), xp.abs(students.W[:, 0, :])), z.shape) + xp.abs(students.b)
    shift = (d + 2) * EPS * sizes
    slope = xp.maximum(xp.abs(phi.derivative(z - shift)), xp.abs(phi.derivative(z + shift)))
    if phi.reflection is not None and any(phi.reflection[1][1:]):
        slope = xp.maximum(slope, xp.maximum(xp.abs(phi.derivative(-z - shift)), xp.abs(phi.derivative(shift - z))))
        values = xp.maximum(xp.abs(values), xp.abs(phi(-z)))
    a = xp.abs(students.a)
    units = xp.sum(a * ((d + 2) * slope * sizes + (k + 4) * xp.abs(values)), axis=2)[:, 0]
    return 2 * EPS * (units + xp.abs(students.c) + xp.abs(y)) + TINY


@dataclass(frozen=True)
class Directions:
    """Rows as far as they tell something new about f without biases: x/‖x‖ where φ is homogeneous, for f(tx) = t^q f(x) up to
    c, and one of x and −x where φ is even or odd."""

    activation: Activation

    def __call__(self, block: Block) -> Block:
        xp = array_namespace(block.X)
        X = xp.astype(block.X, xp.float64, copy=False)
        if self.activation.degree:
            length = xp.sqrt(xp.vecdot(X, X))
            X = X / xp.where(length > 0, length, xp.ones_like(length))[:, None]
        if self.activation.parity is not None:
            first = xp.argmax(xp.astype(X != 0, xp.int8), axis=1)  # the first entry that is not zero
            lead = xp.take_along_axis(X, first[:, None], axis=1)
            X = xp.where(lead < 0, -X, X)
        return replace(block, X=X)


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """The least hashes of the rows and how often they occur: a sketch that counts distinct rows, exactly up to its size.

    Values are rounded to single precision first: rows that differ by rounding errors are copies. `targets` says whether y
    belongs to the row. Beyond `SKETCH` rows the number of distinct ones is estimated from the largest hash kept, to 0.2 %.
    """

    targets: bool

    @property
    def floats_per_row(self) -> int:
        return 8

    def __call__(self, block: Block) -> Sums:
        return least(*np.unique(rounded_keys(block, self.targets), return_counts=True), SKETCH)

    def merge(self, left: Sums, right: Sums) -> Sums:
        """Both are sorted: what is new is inserted, which beats sorting a full sketch again for every block."""
        (keys, counts), (more, times) = left, right
        if len(keys) == SKETCH:
            near = more <= keys[-1]
            more, times = more[near], times[near]
        at = np.asarray(np.searchsorted(keys, more))
        known = (keys[np.minimum(at, len(keys) - 1)] == more) if len(keys) else np.zeros(len(more), dtype=bool)
        counts = counts.copy()
        counts[at[known]] += times[known]
        fresh = at[~known]
        return least(np.insert(keys, fresh, more[~known]), np.insert(counts, fresh, times[~known]), SKETCH)

    def finish(self, sums: Sums) -> Sums:
        """The number of distinct rows, and the mean number of copies that a row has, itself included."""
        keys, counts = sums
        copies = (counts.astype(float) ** 2).sum() / max(1, counts.sum())
        if len(keys) < SKETCH:
            return np.asarray(len(keys)), np.asarray(copies)
        share = (float(keys[-1]) + 2.0**63) / 2.0**64
        return np.asarray(int((SKETCH - 1) / share)), np.asarray(copies)


def least(keys: np.ndarray, counts: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    return keys[:size], counts[:size]


def count_distinct(sums: Sums) -> tuple[int, float]:
    """(number of distinct rows, mean number of copies) as Python numbers."""
    return int(sums[0]), float(sums[1])


def rounded_keys(block: Block, targets: bool, *, positive: bool = True) -> np.ndarray:
    """(m,) hashes of the rows in single precision; of those with positive weight only, unless told otherwise."""
    xp = array_namespace(block.X)
    keys = to_numpy(rounded_row_keys(block.X, block.y if targets else xp.zeros_like(block.X[:, :0])))
    if block.w is None or not positive:
        return keys
    return keys[to_numpy(block.w) > 0]
