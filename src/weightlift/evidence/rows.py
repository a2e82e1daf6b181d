"""What the rows themselves say: residuals against their rounding errors, distinct inputs, rows on each side of a kink.

The bound on the rounding error of f(x) − y, where y was computed by the same formula in double precision, is

    B = 2 ε Σᵢ |aᵢ| ( (d + 2) s(zᵢ) (Σ_l |x_l w_li| + |bᵢ|) + (k + 4) |φ(zᵢ)| ) + 2 ε (|c| + |y|),

(d + 2) ε bounding the inner product [Higham 2002, §3.1], s(z) the larger slope of φ on either side of z, and the factor 2
standing for the two evaluations, the teacher's and ours. Where φ(−z) = ±φ(z) + a polynomial that is not constant, the teacher
may have had units reflected, which changes no value but its rounding: then s and |φ| are the larger of those at z and −z.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from weightlift.activations import Activation
from weightlift.namespaces import Array, array_namespace, as_like, to_numpy
from weightlift.network import Network
from weightlift.risk import Students
from weightlift.samples import Block, Sums
from weightlift.samples.keys import row_keys

EPS = float(np.finfo(np.float64).eps)
TINY = float(np.finfo(np.float64).tiny)
SKETCH = 2**18


def double(block: Block) -> tuple[Array, Array, Array]:
    """X, y and weights in float64: certificates are not computed in less."""
    xp = array_namespace(block.X)
    X, y = xp.astype(block.X, xp.float64, copy=False), xp.astype(block.y, xp.float64, copy=False)
    w = xp.ones_like(y) if block.w is None else xp.astype(block.w, xp.float64, copy=False)
    return X, y, w


@dataclass(frozen=True, eq=False)
class Agreement:
    """max |r|/B, max |r|, max B over rows of positive weight; their number; Σ w (|r| + B)², Σ w r², Σ w², Σ w y²."""

    network: Network

    @property
    def floats_per_row(self) -> int:
        return 8 * self.network.n_units + self.network.n_inputs

    def __call__(self, block: Block) -> Sums:
        X, y, w = double(block)
        xp = array_namespace(X)
        if X.shape[0] == 0:
            return (xp.sum(y),) * 8
        students = Students.of(self.network).like(X)
        z = students.preactivations(X)
        values = students.activation(z)
        r = xp.abs(students.residuals(values, y)[:, 0])
        B = rounding_bound(students, X, y, z, values)
        used = xp.astype(w > 0, xp.float64)
        total = used * (r + B)
        return (
            xp.max(used * r / B),
            xp.max(used * r),
            xp.max(used * B),
            xp.sum(used),
            xp.sum(w * total * total),
            xp.sum(w * r * r),
            xp.sum(w * w),
            xp.sum(w * y * y),
        )

    def merge(self, left: Sums, right: Sums) -> Sums:
        xp = array_namespace(left[0])
        maxima = tuple(xp.maximum(a, b) for a, b in zip(left[:3], right[:3], strict=True))
        return maxima + tuple(a + b for a, b in zip(left[3:], right[3:], strict=True))


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
            length = xp.sqrt(xp.sum(X * X, axis=1, keepdims=True))
            X = X / xp.where(length > 0, length, xp.ones_like(length))
        if self.activation.parity is not None:
            first = xp.argmax(xp.astype(X != 0, xp.int8), axis=1)  # the first entry that is not zero
            lead = xp.take_along_axis(X, first[:, None], axis=1)
            X = xp.where(lead < 0, -X, X)
        return replace(block, X=X + 0.0)  # no negative zeros


@dataclass(frozen=True, eq=False)
class Kinks:
    """Rows on a kink: |zᵢ − kink| ≤ (x̃ᵀRx̃)^½, x̃ = x or (x, 1) and R a region of the unit's coordinates, but for rounding.

    There f has two derivatives in the unit's parameters, one for each side they may move to, and the side is chance: such a row
    excludes no direction by itself. Called, it counts them; `without` sets their weights to zero.
    """

    network: Network
    regions: np.ndarray  # (r, k, q, q), q = d or d + 1: zᵢ may be off by the largest of r

    @property
    def floats_per_row(self) -> int:
        return 4 * self.network.n_units + 4 * self.network.n_inputs

    def __call__(self, block: Block) -> Sums:
        xp = array_namespace(block.X)
        return (xp.sum(xp.astype(self._on(block), xp.float64)),)

    def without(self, block: Block) -> Block:
        xp = array_namespace(block.X)
        w = xp.ones_like(block.y) if block.w is None else block.w
        return replace(block, w=xp.where(self._on(block), xp.zeros_like(w), w))

    def _on(self, block: Block) -> Array:
        """(m,)"""
        X, _, _ = double(block)
        xp = array_namespace(X)
        net, d = self.network, X.shape[1]
        z = xp.abs(Students.of(net).like(X).preactivations(X)[:, 0, :] - net.activation.kinks[0])
        one = xp.ones((X.shape[0], 1), dtype=X.dtype, device=X.device)
        inputs = X if self.regions.shape[2] == d else xp.concat([X, one], axis=1)
        found = xp.zeros(X.shape[0], dtype=xp.bool, device=X.device)
        for i in range(net.n_units):
            rounding = (d + 2) * EPS * (xp.matmul(xp.abs(X), as_like(np.abs(net.W[:, i]), X)) + abs(float(net.b[i])))
            for R in self.regions[:, i]:
                square = xp.sum(xp.matmul(inputs, as_like(R, X)) * inputs, axis=1)
                found = found | (z[:, i] - rounding <= xp.sqrt(xp.where(square > 0, square, xp.zeros_like(square))))
        return found


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


@dataclass(frozen=True, eq=False)
class Sides:
    """For each unit and each side of its kink the least `size` hashes of distinct rows there; (k, 2, size), padded."""

    network: Network
    size: int

    @property
    def floats_per_row(self) -> int:
        return 4 * self.network.n_units + 8

    def __call__(self, block: Block) -> Sums:
        X, _, w = double(block)
        students = Students.of(self.network).like(X)
        z = to_numpy(students.preactivations(X))[:, 0, :] - self.network.activation.kinks[0]
        keys, used = rounded_keys(block, False, positive=False), to_numpy(w) > 0
        return (np.stack([[self._least(keys[used & (s * z[:, i] > 0)]) for s in (1, -1)] for i in range(z.shape[1])]),)

    def merge(self, left: Sums, right: Sums) -> Sums:
        both = np.concatenate([left[0], right[0]], axis=2)
        return (np.stack([[self._least(side) for side in unit] for unit in both]),)

    def _least(self, keys: np.ndarray) -> np.ndarray:
        keys = np.unique(keys)[: self.size]
        return np.pad(keys, (0, self.size - len(keys)), constant_values=np.iinfo(np.int64).max)


def rows_beside(sums: Sums) -> np.ndarray:
    """(k,) distinct rows on the emptier side, counted up to the sketch's size."""
    found = (sums[0] != np.iinfo(np.int64).max).sum(axis=2)
    return np.asarray(found.min(axis=1))


def rounded_keys(block: Block, targets: bool, *, positive: bool = True) -> np.ndarray:
    """(m,) hashes of the rows in single precision; of those with positive weight only, unless told otherwise."""
    xp = array_namespace(block.X)
    X, y = xp.astype(block.X, xp.float32), xp.astype(block.y, xp.float32)
    keys = to_numpy(row_keys(X, y if targets else xp.zeros_like(y)))
    if block.w is None or not positive:
        return keys
    return keys[to_numpy(block.w) > 0]
