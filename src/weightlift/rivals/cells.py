"""On which side of every kink each row lies, and how many rows are independent draws.

Copies of a row say nothing new, and a row and its mirror image are one draw; for φ homogeneous and without biases neither does
t x, t > 0. Each such class of rows counts once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from weightlift.evidence.gauge import Gauge
from weightlift.evidence.rows import DistinctRows, count_distinct, double, rounded_keys
from weightlift.namespaces import Array, array_namespace, as_like, from_numpy, to_numpy
from weightlift.network import Network
from weightlift.risk import Students
from weightlift.rivals import bases
from weightlift.rivals.limits import LIMITS
from weightlift.samples import Block, Samples, Sums


@dataclass(frozen=True)
class Draws:
    """Rows with their sign fixed, and their length where `rays`: equal for rows that are one draw."""

    rays: bool

    @classmethod
    def of(cls, gauge: Gauge) -> Draws:
        return cls(bool(gauge.network.activation.degree) and not gauge.free.b)

    def __call__(self, block: Block) -> Block:
        xp = array_namespace(block.X)
        X = xp.astype(block.X, xp.float64, copy=False)
        lead = X[:, 0]
        if bool(xp.any(lead == 0)):
            first = xp.argmax(xp.astype(X != 0, xp.int8), axis=1)
            lead = xp.take_along_axis(X, first[:, None], axis=1)[:, 0]
        scale = xp.where(lead < 0, -xp.ones_like(lead), xp.ones_like(lead))
        if self.rays:
            length = xp.sqrt(xp.vecdot(X, X))
            scale = scale * xp.where(length > 0, length, xp.ones_like(length))
        return replace(block, X=X / scale[:, None])


@dataclass(frozen=True, eq=False)
class OwnTargets:
    """Rows with the network's own values: what agrees with it, whatever the rounding errors of the target."""

    network: Network

    def __call__(self, block: Block) -> Block:
        return replace(block, y=self.network.predict(block.X))


def independent_rows(samples: Samples, gauge: Gauge) -> int:
    """Rows of positive weight that are no copies, mirror images or, where lengths do not matter, multiples of others."""
    return count_distinct(samples.map(Draws.of(gauge)).fold(DistinctRows(targets=False)))[0]


@dataclass(frozen=True, eq=False)
class Cells:
    """Keys (m,) of the independent rows, and the sides of their units packed in bytes (m, ⌈k/8⌉); least keys first.

    A row within rounding of a kink has no side, and is left out.
    """

    gauge: Gauge
    scale: np.ndarray  # (d,) sizes of the inputs
    margin: float = 0.0  # |z| within which noise may have moved a kink

    @property
    def floats_per_row(self) -> int:
        return 6 * self.gauge.network.n_units + self.gauge.network.n_inputs + 8

    def __call__(self, block: Block) -> Sums:
        keys = rounded_keys(Draws.of(self.gauge)(block), False, positive=False)
        X, _, w = double(block)
        z, clear = self.beyond(X)
        sides, clear = to_numpy(z > 0), to_numpy(clear & (w > 0))
        keys, first = np.unique(keys[clear], return_index=True)
        return keys[: LIMITS.rows], np.packbits(sides[clear][first[: LIMITS.rows]], axis=1)

    def merge(self, left: Sums, right: Sums) -> Sums:
        keys, packed = (np.concatenate(pair) for pair in zip(left, right, strict=True))
        keys, first = np.unique(keys, return_index=True)
        return keys[: LIMITS.rows], packed[first[: LIMITS.rows]]

    def beyond(self, X: Array) -> tuple[Array, Array]:
        """z (m, k), by how much each unit is beyond its kink, and (m,) the rows that are on no kink, to rounding."""
        xp, net = array_namespace(X), self.gauge.network
        z = Students.of(net).like(X).preactivations(X)[:, 0, :] - net.activation.kinks[0]
        length = xp.sqrt(xp.sum((X / as_like(self.scale, X)) ** 2, axis=1))
        size = length[:, None] * as_like(np.linalg.norm(net.W * self.scale[:, None], axis=0), X) + as_like(np.abs(net.b), X)
        return z, xp.all(xp.abs(z) > LIMITS.on_kink * size + self.margin, axis=1)


@dataclass(frozen=True, eq=False)
class BeyondFlat:
    """Keys (m,) and inputs (m, d) of rows clear of the kinks whose slopes do not obey a flat's equations; `rows` at most."""

    cells: Cells
    alpha: int
    equations: np.ndarray  # (width, codimension)
    rows: int

    @property
    def floats_per_row(self) -> int:
        return self.cells.floats_per_row + sum(self.equations.shape)

    def __call__(self, block: Block) -> Sums:
        X, _, w = double(block)
        z, clear = self.cells.beyond(X)
        sides = to_numpy(z > 0).astype(float)
        slopes = bases.Slopes(sides, self.alpha, len(self.equations) > sides.shape[1])
        off = slopes.times(self.equations, np.arange(len(sides))).any(axis=1) & to_numpy(clear & (w > 0))
        keys, first = np.unique(rounded_keys(block, False, positive=False)[off], return_index=True)
        return keys[: self.rows], to_numpy(X)[np.flatnonzero(off)[first[: self.rows]]]

    def merge(self, left: Sums, right: Sums) -> Sums:
        return SomeRows(self.rows).merge(left, right)


def inputs_beyond(
    samples: Samples, gauge: Gauge, X: np.ndarray, alpha: int, equations: np.ndarray, rows: int
) -> np.ndarray:
    """(m, d) inputs of the rows beyond a flat; X some of all."""
    scale = np.sqrt(np.mean(X**2, axis=0))
    statistic = Cells(gauge, np.where(scale > 0, scale, 1.0))
    return np.asarray(samples.fold(BeyondFlat(statistic, alpha, equations, rows))[1])


def cells(samples: Samples, X: np.ndarray, gauge: Gauge, margin: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """B (n, k) the sides, 0 and 1, of every unit at every independent row, and those of some rows X clear of the kinks."""
    scale = np.sqrt(np.mean(X**2, axis=0))
    statistic = Cells(gauge, np.where(scale > 0, scale, 1.0), margin)
    _, packed = samples.fold(statistic)
    B = np.unpackbits(np.asarray(packed), axis=1, count=gauge.network.n_units).astype(float)
    return B, X[np.asarray(statistic.beyond(X)[1])]


def distinct(B: np.ndarray) -> np.ndarray:
    """The different rows of a 0/1 matrix."""
    return np.asarray(B[bases.different(B)[0]])


@dataclass(frozen=True)
class SomeRows:
    """Different inputs of positive weight, those with the least hashes: keys (m,) and X (m, d)."""

    rows: int

    @property
    def floats_per_row(self) -> int:
        return 8

    def __call__(self, block: Block) -> Sums:
        xp = array_namespace(block.X)
        used = np.arange(block.y.shape[0]) if block.w is None else np.flatnonzero(to_numpy(block.w) > 0)
        keys, first = np.unique(rounded_keys(block, False), return_index=True)
        some = xp.take(block.X, from_numpy(used[first[: self.rows]], like=block.X), axis=0)
        return keys[: self.rows], to_numpy(xp.astype(some, xp.float64))

    def merge(self, left: Sums, right: Sums) -> Sums:
        keys, X = (np.concatenate(pair) for pair in zip(left, right, strict=True))
        keys, first = np.unique(keys, return_index=True)
        return keys[: self.rows], X[first[: self.rows]]


def some_inputs(samples: Samples) -> np.ndarray:
    """(m, d) at most `LIMITS.some` of the different inputs, each as likely to be among them."""
    return np.asarray(samples.fold(SomeRows(LIMITS.some))[1])


def inputs(X: Array, gauge: Gauge) -> np.ndarray:
    """x̃ = (x, 1), without the 1 where biases are not fitted."""
    return np.hstack([X, np.ones((len(X), 1))]) if gauge.free.b else np.asarray(X)
