"""The rows of a stream in pieces of given sizes, on the host, whatever its own blocks are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from weightlift.errors import ArgumentError, NotFiniteError
from weightlift.namespaces import to_numpy
from weightlift.refinement.sgd.limits import LIMITS
from weightlift.samples.protocol import Block


class RowsInOrder(Protocol):
    """Rows in order: any Samples, or `samples.Fresh`."""

    @property
    def n(self) -> float: ...
    @property
    def d(self) -> int: ...
    def blocks(self, rows: int, *, start: int = 0) -> Iterator[Block]: ...


def pieces(stream: RowsInOrder, start: int, sizes: list[int], dtype: np.dtype[Any]) -> Iterator[tuple[Any, Any, Any]]:
    """Rows from `start` on in pieces of the given sizes, on the host, whatever the stream's blocks."""
    blocks = stream.blocks(LIMITS.piece, start=start)
    held: list[tuple[Any, Any, Any]] = []
    ready = 0
    for size in sizes:
        while ready < size and (block := next(blocks, None)) is not None:
            held.append(_host(block, dtype))
            ready += len(held[-1][1])
        if not ready:
            return
        columns = [None if v[0] is None else v[0] if len(v) == 1 else np.concatenate(v) for v in zip(*held, strict=True)]
        yield tuple(None if v is None else v[:size] for v in columns)  # type: ignore[misc]
        held = [tuple(None if v is None else v[size:] for v in columns)]  # type: ignore[list-item]
        ready = max(0, ready - size)


def _host(block: Block, dtype: np.dtype[Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    X, y, *w = (np.require(to_numpy(v), dtype, ["C", "W"]) for v in (block.X, block.y, block.w) if v is not None)
    if not (np.isfinite(X).all() and np.isfinite(y).all()):
        raise NotFiniteError("the stream holds NaN or infinity; drop or impute those rows.")
    return X, y, w[0] if w else None


def first_rows(stream: RowsInOrder) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    for block in stream.blocks(LIMITS.first_rows):
        return _host(block, np.dtype(np.float64))
    raise ArgumentError("the stream has no rows; give it some.")
