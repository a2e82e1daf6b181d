"""Rows in memory: NumPy, PyTorch, CuPy, JAX or any array of the standard, on its own device.

float32 data are brought to float64 block by block, unless opened for float32 arithmetic; sums are float64 always.
A part of a split keeps the numbers of its rows and gathers them block by block; `persist` makes it contiguous.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from weightlift.errors import ArgumentError, NotFiniteError, ShapeError, TooFewRowsError
from weightlift.namespaces import (
    Array,
    Namespace,
    aligned,
    all_finite,
    array_namespace,
    device,
    on_host,
    real_floating,
    row_ranges,
)
from weightlift.samples.columns import NO_NAMES, Columns
from weightlift.samples.keys import intervals, row_keys
from weightlift.samples.limits import LIMITS
from weightlift.samples.protocol import Block
from weightlift.samples.stream import Part, Stream


@dataclass(frozen=True, eq=False)
class ArraySamples(Stream):
    """X (n, d), y (n,) or (n, outputs), weights w (n,) or None; `rows` the numbers of the rows that belong to this part."""

    X: Array
    y: Array
    w: Array | None
    arithmetic: Any  # dtype in which blocks are handed out
    hashed: Array | None = None  # keys of all rows, when they are known already
    rows: Array | None = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        """In another process, sums have the same bits."""
        self.__dict__.update({name: aligned(value) for name, value in state.items()})

    @property
    def d(self) -> int:
        return int(self.X.shape[1])

    @property
    def n_outputs(self) -> int | None:
        return None if self.y.ndim == 1 else int(self.y.shape[1])

    @property
    def xp(self) -> Namespace:
        return array_namespace(self.X)

    @property
    def device(self) -> Any:
        return device(self.X)

    @property
    def dtype(self) -> Any:
        return self.arithmetic

    @property
    def n(self) -> int:
        return int((self.y if self.rows is None else self.rows).shape[0])

    @property
    def sized(self) -> bool:
        return True

    @functools.cached_property
    def _sizes(self) -> tuple[int, float]:
        if self.w is None:
            return self.n, float(self.n)
        w = self.w if self.rows is None else self.xp.take(self.w, self.rows)
        return self.n, float(self.xp.sum(w, dtype=self.xp.float64))

    def read(self, rows: int, start: int = 0) -> Iterator[Block]:
        """Blocks of so many rows, in order, from row `start` on."""
        return (self._block(i, j) for i, j in row_ranges(self.n, rows, start=start))

    def split(self, *fractions: float, seed: int) -> tuple[Self, ...]:
        return tuple(self.part(Part(seed, low, high)) for low, high in intervals(fractions))

    def part(self, part: Part) -> Self:
        """The rows that the part holds."""
        numbers = self.xp.arange(int(self.X.shape[0]), device=self.device) if self.rows is None else self.rows
        return replace(self, hashed=self._all_keys, rows=numbers[part.holds(self._keys(0, self.n))])

    def persist(self) -> ArraySamples:
        if self.rows is None and not self.maps:
            return self
        blocks = self._mapped(self._rows(self.d))
        if (first := next(blocks, None)) is None:
            return self
        X, y, w = _joined(self.n, first, blocks)
        return ArraySamples(X, y, w, self.dtype, columns=self.columns, hashed=self._keys(0, self.n))

    def blocks(self, rows: int, *, start: int = 0) -> Iterator[Block]:
        return (functools.reduce(lambda block, f: f(block), self.maps, block) for block in self.read(rows, start))

    def _kept(self, rows: int) -> Iterator[Block]:
        return self.read(rows)  # parts are numbers of rows here

    @functools.cached_property
    def _all_keys(self) -> Array:
        if self.hashed is not None:
            return self.hashed
        step = self._rows(3 * self.d)
        ranges = list(row_ranges(self.X.shape[0], step)) or [(0, 0)]
        return self.xp.concat([row_keys(self.X[i:j, :], self.y[i:j, ...]) for i, j in ranges])

    def _keys(self, start: int, stop: int) -> Array:
        if self.rows is None:
            return self._all_keys[start:stop]
        return self.xp.take(self._all_keys, self.rows[start:stop])

    def _block(self, start: int, stop: int) -> Block:
        xp = self.xp

        def part(values: Array, axis: int) -> Array:
            if self.rows is None:
                values = values[start:stop, ...]
            else:
                values = xp.take(values, self.rows[start:stop], axis=axis)
            return xp.astype(values, self.arithmetic, copy=False)

        w = None if self.w is None else part(self.w, 0)
        return Block(part(self.X, 0), part(self.y, 0), w, lambda: self._keys(start, stop))


def _joined(n: int, first: Block, others: Iterator[Block]) -> tuple[Array, Array, Array | None]:
    """X, y, w of n rows beside each other. NumPy's are put in their place as they come: rows are held once, not twice."""
    if not isinstance(first.X, np.ndarray):
        xp, blocks = array_namespace(first.X), [first, *others]
        w = None if first.w is None else xp.concat([b.w for b in blocks])
        return xp.concat([b.X for b in blocks]), xp.concat([b.y for b in blocks]), w
    X, y, w = (None if v is None else np.empty((n, *v.shape[1:]), v.dtype) for v in (first.X, first.y, first.w))
    start = 0
    for block in itertools.chain([first], others):
        rows = slice(start, start := start + len(block.y))
        for whole, part in ((X, block.X), (y, block.y), (w, block.w)):
            if whole is not None:
                whole[rows] = part
    return X, y, w


def from_arrays(
    X: Array,
    y: Array,
    *,
    sample_weight: Array | None = None,
    dtype: str = "float64",
    least_rows: int = 2,
    columns: Columns = NO_NAMES,
) -> ArraySamples:
    """Checked arrays as a source; see `samples.open`."""
    xp = _common_namespace({"X": X, "y": y, "sample_weight": sample_weight})
    X, y = real_floating(X, "X"), real_floating(y, "y")
    check_arithmetic(dtype)
    _check_shapes(X, y, least_rows)
    for name, other in (("y", y), ("sample_weight", sample_weight)):
        if other is not None and device(other) != device(X):
            raise ArgumentError(f"X is on {device(X)} and {name} on {device(other)}; move them to one device.")
    _check_finite("X", X, columns.inputs)
    _check_finite("y", y, columns.outputs)
    w = None if sample_weight is None else _weights(sample_weight, y)
    if w is not None and least_rows and not bool(xp.any(w > 0)):
        raise ArgumentError("sample_weight is zero on every row; give at least one row weight.")
    return ArraySamples(X, y, w, getattr(xp, dtype), columns=columns)


def check_arithmetic(dtype: str) -> None:
    if dtype not in {"float32", "float64"}:
        raise ArgumentError(f"dtype must be 'float64' or 'float32', not {dtype!r}.")


def _check_shapes(X: Array, y: Array, least_rows: int) -> None:
    if X.ndim != 2 or X.shape[1] == 0:
        raise ShapeError(f"X must have shape (n, d) with d ≥ 1, not {tuple(X.shape)}; for one input use X[:, None].")
    if y.ndim not in (1, 2) or y.shape[0] != X.shape[0] or 0 in y.shape[1:]:
        shapes = f"({X.shape[0]},) or ({X.shape[0]}, outputs), targets for each row of X"
        raise ShapeError(f"y must have shape {shapes}, not {tuple(y.shape)}.")
    if X.shape[0] < least_rows:
        raise TooFewRowsError(f"X has {X.shape[0]} rows; at least {least_rows} are needed.")


def _common_namespace(arrays: dict[str, Array | None]) -> Namespace:
    given = {name: values for name, values in arrays.items() if values is not None}
    try:
        xp = array_namespace(*given.values())
    except TypeError:
        kinds = ", ".join(f"{name} a {type(v).__module__.partition('.')[0]} array" for name, v in given.items())
        raise ArgumentError(f"the arrays belong to different libraries ({kinds}); convert them to one.") from None
    if not xp.isdtype(xp.asarray(0.0, dtype=xp.float64).dtype, xp.float64):
        raise ArgumentError("JAX computes in single precision here; call jax.config.update('jax_enable_x64', True) first.")
    return xp


def _weights(w: Array, y: Array) -> Array:
    w = real_floating(w, "sample_weight")
    if tuple(w.shape) != tuple(y.shape[:1]):
        raise ShapeError(f"sample_weight must have shape {tuple(y.shape[:1])}, not {tuple(w.shape)}.")
    _check_finite("sample_weight", w)
    xp = array_namespace(w)
    if bool(xp.any(w < 0)):
        raise ArgumentError("sample_weight holds negative weights; they must be ≥ 0.")
    largest = float(xp.max(w)) if w.shape[0] else 0.0
    if largest and not LIMITS.weights[0] < largest < LIMITS.weights[1]:
        raise ArgumentError(f"sample_weight goes up to {largest:.0e}, whose powers vanish or overflow; divide by its mean.")
    return w


def _check_finite(name: str, x: Array, names: tuple[str, ...] | None = None) -> None:
    """names: of the columns."""
    values = 2**20 if on_host(device(x)) else 2**26
    step = max(1, values // max(1, int(x.shape[1]) if x.ndim == 2 else 1))
    for i, j in row_ranges(x.shape[0], step):
        if not all_finite(x[i:j, ...]):
            xp = array_namespace(x)
            row, *column = (int(v[0]) for v in xp.nonzero(~xp.isfinite(x[i:j, ...])))
            where = f"row {i + row}" + "".join(f", column {c if names is None else repr(names[c])}" for c in column)
            raise NotFiniteError(f"{name} holds NaN or infinity, first in {where}, counted from 0; drop or impute those rows.")
