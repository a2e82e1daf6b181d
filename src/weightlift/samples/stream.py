"""What every source of rows shares: folding in a fixed order, lazy maps, splits by key.

A source gives `read(rows, start)`, blocks in order, and its size; the rest follows. Sums are float64, added block by
block from the first row to the last.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from weightlift.errors import OutOfMemoryError, TooFewRowsError
from weightlift.namespaces import NUMPY, Array, Namespace, array_namespace, memory_of, on_host, out_of_memory, release_memory
from weightlift.samples.columns import NO_NAMES, Columns
from weightlift.samples.keys import intervals, uniforms
from weightlift.samples.limits import LIMITS
from weightlift.samples.protocol import Block, Map, Samples, Statistic, Sums


@dataclass(frozen=True)
class Part:
    """The rows whose uniform number under `seed` falls in [low, high)."""

    seed: int
    low: float
    high: float

    def holds(self, keys: Array) -> Array:
        u = uniforms(keys, self.seed)
        return (u >= self.low) & (u < self.high)


@dataclass(frozen=True, eq=False, kw_only=True)
class Stream(ABC):
    """A source that reads its rows in blocks, keeps those of its parts, then applies its maps."""

    maps: tuple[Map, ...] = ()
    parts: tuple[Part, ...] = ()
    columns: Columns = NO_NAMES  # names of the raw rows' columns

    @property
    @abstractmethod
    def d(self) -> int: ...

    @property
    def n_outputs(self) -> int | None:
        """Columns of y; None where y is (n,)."""
        return None

    @property
    @abstractmethod
    def xp(self) -> Namespace: ...

    @property
    @abstractmethod
    def device(self) -> Any: ...

    @property
    @abstractmethod
    def dtype(self) -> Any: ...

    @abstractmethod
    def read(self, rows: int) -> Iterator[Block]:
        """Raw blocks of about `rows` rows in order; empty ones are allowed."""

    @abstractmethod
    def persist(self) -> Samples: ...

    @functools.cached_property
    def _sizes(self) -> tuple[int, float]:
        """Rows and weight, by one pass."""
        count, total = 0, 0.0
        for block in self._kept(self._rows(0)):
            rows = int(block.y.shape[0])
            count += rows
            total += rows if block.w is None else float(self.xp.sum(block.w, dtype=self.xp.float64))
        return count, total

    @property
    def sized(self) -> bool:
        """Whether n and total are known without a pass."""
        return "_sizes" in self.__dict__

    @property
    def n(self) -> int:
        return self._sizes[0]

    @property
    def total(self) -> float:
        return self._sizes[1]

    def fold(self, statistic: Statistic) -> Sums:
        """In smaller blocks where the device's memory runs out."""
        rows, merge = self._rows(statistic.floats_per_row), merge_of(statistic)
        while True:
            try:
                parts = (tuple(_float64(s) for s in statistic(block)) for block in self._mapped(rows))
                if (first := next(parts, None)) is None:
                    raise TooFewRowsError("the data have no rows; nothing can be averaged.")
                return finished(statistic, functools.reduce(merge, parts, first))
            except Exception as error:
                if not out_of_memory(error):
                    raise
                if rows <= LIMITS.least_rows:
                    raise OutOfMemoryError(
                        f"{self.device} has no memory for sums over {rows} rows at a time ({error}); free memory on it, use "
                        "fewer units or starts at once, or move the data to the processor's memory."
                    ) from None
            rows = max(LIMITS.least_rows, rows // 4)  # after the handler, whose traceback holds on to the arrays
            release_memory(self.xp)

    def mean(self, statistic: Statistic) -> Sums:
        return averages(self.fold(statistic), self.total)

    def split(self, *fractions: float, seed: int) -> tuple[Self, ...]:
        return tuple(replace(self, parts=(*self.parts, Part(seed, low, high))) for low, high in intervals(fractions))

    def map(self, f: Map) -> Self:
        mapped = replace(self, maps=(*self.maps, f))
        if self.sized:  # rows stay rows, and keep their weights
            mapped.__dict__["_sizes"] = self._sizes
        return mapped

    def blocks(self, rows: int, *, start: int = 0) -> Iterator[Block]:
        held: list[Block] = []
        ready, skip = 0, start
        for block in self._mapped(rows):
            if skip:
                skipped = min(skip, block.y.shape[0])
                block, skip = _rows_of(block, skipped, block.y.shape[0]), skip - skipped
            held.append(block)
            ready += block.y.shape[0]
            while ready >= rows:
                joined = _join(held)
                yield _rows_of(joined, 0, rows)
                held, ready = [with_keys(_rows_of(joined, rows, ready))], ready - rows
        if ready:
            yield _join(held)

    def _rows(self, floats_per_row: int) -> int:
        row_bytes = 8 * (self.d + floats_per_row)
        if not on_host(self.device):
            memory = memory_of(self.device, self.xp)
            block = int(LIMITS.device_share * memory) if memory else LIMITS.device_block_bytes
            return max(LIMITS.least_rows, block // row_bytes)
        return max(LIMITS.least_rows, LIMITS.cache_bytes // row_bytes, min(8 * self.d, LIMITS.block_bytes // row_bytes))

    def _kept(self, rows: int) -> Iterator[Block]:
        for block in self.read(rows):
            for part in self.parts:
                block = _where(block, part.holds(block.key))
            yield block

    def _mapped(self, rows: int) -> Iterator[Block]:
        return (functools.reduce(lambda rows, f: f(rows), self.maps, block) for block in self._kept(rows))


class HostStream(Stream):
    """A source whose blocks are NumPy arrays."""

    @property
    def xp(self) -> Namespace:
        return NUMPY

    @property
    def device(self) -> str:
        return "cpu"


def merge_of(statistic: Statistic) -> Callable[[Sums, Sums], Sums]:
    """The statistic's own merge, or addition."""
    merge: Callable[[Sums, Sums], Sums] = getattr(statistic, "merge", _add)
    return merge


def averages(sums: Sums, total: float) -> Sums:
    """Sums over rows of that total weight, divided by it."""
    if not total > 0:
        raise TooFewRowsError("the rows' weights sum to zero; nothing can be averaged.")
    return tuple(s / total for s in sums)


def finished(statistic: Statistic, sums: Sums) -> Sums:
    """What the statistic makes of its totals; the totals themselves where it says nothing."""
    finish: Callable[[Sums], Sums] | None = getattr(statistic, "finish", None)
    return sums if finish is None else finish(sums)


def with_keys(block: Block) -> Block:
    """Keys computed now, so that the block does not hold on to what it came from."""
    keys = block.key
    return replace(block, keys=lambda: keys)


def _add(left: Sums, right: Sums) -> Sums:
    return tuple(a + b for a, b in zip(left, right, strict=True))


def _float64(s: Array) -> Array:
    if isinstance(s, np.ndarray | np.generic) and s.dtype == np.float64:
        return s
    xp = array_namespace(s)
    return xp.astype(s, xp.float64, copy=False) if xp.isdtype(s.dtype, "real floating") else s


def _where(block: Block, keep: Array) -> Block:
    keys = block.keys
    return Block(block.X[keep, ...], block.y[keep, ...], None if block.w is None else block.w[keep], lambda: keys()[keep])


def _rows_of(block: Block, start: int, stop: int) -> Block:
    keys = block.keys
    part = slice(start, stop)
    return Block(block.X[part, :], block.y[part, ...], None if block.w is None else block.w[part], lambda: keys()[part])


def _join(blocks: list[Block]) -> Block:
    if len(blocks) == 1:
        return blocks[0]
    xp = array_namespace(blocks[0].X)
    w = None if blocks[0].w is None else xp.concat([b.w for b in blocks])
    X, y = xp.concat([b.X for b in blocks]), xp.concat([b.y for b in blocks])
    return Block(X, y, w, lambda: xp.concat([b.key for b in blocks]))
