"""A source with blocks of 0, 1 and 7 rows and no array to peek at: what an algorithm may not assume, it refuses."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import array_api_compat.numpy as xp
import numpy as np

from weightlift.samples import ArraySamples, Block, Stream


@dataclass(frozen=True, eq=False)
class Awkward(Stream):
    """Wraps an array source; ignores the asked block size."""

    source: ArraySamples

    @property
    def d(self) -> int:
        return self.source.d

    @property
    def xp(self) -> Any:
        return xp

    @property
    def device(self) -> str:
        return "cpu"

    @property
    def dtype(self) -> Any:
        return np.dtype("float64")

    def read(self, rows: int) -> Iterator[Block]:
        sizes = itertools.cycle([0, 1, 7])
        whole = next(iter(self.source.blocks(max(1, self.source.n))))
        start = 0
        while start < self.source.n:
            part = slice(start, start + next(sizes))
            keys = whole.key[part]
            w = None if whole.w is None else whole.w[part]
            yield Block(whole.X[part], whole.y[part], w, lambda keys=keys: keys)
            start = part.stop

    def persist(self) -> Awkward:
        return self
