"""Endless fresh rows of a known network: x ~ N(0, I), y = f(x) + ε. Row i is the same whenever it is asked for.

The rows come in chunks; the generator of a chunk is keyed by the seed and the chunk's number, so that a stream starts
anywhere without drawing what came before. Nothing is kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from weightlift.errors import ArgumentError
from weightlift.network import Network, require_single
from weightlift.noise import Noise
from weightlift.samples.keys import row_keys
from weightlift.samples.limits import LIMITS
from weightlift.samples.protocol import Block


@dataclass(frozen=True, eq=False)
class Fresh:
    """A stream for one-pass methods: blocks in order from any row, without end.

    >>> from weightlift.teachers import haar
    >>> stream = Fresh(haar(4, 8), seed=1)
    >>> late = next(stream.blocks(3, start=9_999))
    >>> early = next(stream.blocks(10_002))
    >>> bool((late.X == early.X[9_999:]).all() and (late.y == early.y[9_999:]).all())
    True
    """

    network: Network
    seed: int = 0
    noise_std: float = 0.0
    arithmetic: str = "float64"  # dtype of the rows: "float64" or "float32"
    n = math.inf

    def __post_init__(self) -> None:
        if self.arithmetic not in ("float32", "float64"):
            raise ArgumentError(f"arithmetic must be 'float32' or 'float64', not {self.arithmetic!r}.")
        if self.seed < 0:
            raise ArgumentError(f"seed must be at least 0, not {self.seed}.")
        Noise("gaussian", self.noise_std)
        require_single(self.network, "a stream of fresh rows")

    @property
    def d(self) -> int:
        return self.network.n_inputs

    @property
    def dtype(self) -> Any:
        return np.dtype(self.arithmetic)

    def blocks(self, rows: int, *, start: int = 0) -> Iterator[Block]:
        X, y = np.empty((rows, self.d), self.dtype), np.empty(rows, self.dtype)
        filled, number = 0, start // LIMITS.fresh_rows
        skip = start - number * LIMITS.fresh_rows
        while True:
            chunk_X, chunk_y = self._chunk(number)
            while skip < LIMITS.fresh_rows:
                taken = min(rows - filled, LIMITS.fresh_rows - skip)
                X[filled : filled + taken], y[filled : filled + taken] = (v[skip : skip + taken] for v in (chunk_X, chunk_y))
                filled, skip = filled + taken, skip + taken
                if filled == rows:
                    yield Block(X, y, None, partial(row_keys, X, y))
                    X, y, filled = np.empty_like(X), np.empty_like(y), 0
            number, skip = number + 1, 0

    def _chunk(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng([self.seed, number])
        X = rng.standard_normal((LIMITS.fresh_rows, self.d), dtype=self.dtype)
        y = self.network.predict(X)
        if self.noise_std > 0:
            y = (y + Noise("gaussian", self.noise_std).draw(LIMITS.fresh_rows, rng=rng)).astype(self.dtype)
        return X, y
