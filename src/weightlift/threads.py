"""Threads of BLAS and OpenMP: a limit that overlapping fits share, and that ends with the last of them.

The number of threads belongs to the process. Were every fit to restore what it found, one that began inside another and ended
after it would leave the other's limit for ever.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def limited(threads: int, *, exactly: bool = False) -> Iterator[None]:
    """At most so many threads inside, whichever thread asks; of several limits at once the strictest holds.

    exactly  give BLAS that many even where it has fewer, unless others have asked for a limit

    >>> from threadpoolctl import threadpool_info
    >>> with limited(1):
    ...     sorted({pool["num_threads"] for pool in threadpool_info()})
    [1]
    """
    _LIMITS.enter(threads, exactly)
    try:
        yield
    finally:
        _LIMITS.leave(threads)


class _Limits:
    """The limits asked for at this moment, and the one that remembers what was there before all of them."""

    def __init__(self) -> None:
        self.lock, self.asked = threading.Lock(), list[int]()
        self.outermost: Any = None

    def enter(self, threads: int, exactly: bool) -> None:
        with self.lock:
            if not self.asked:
                self.outermost = _limit(threads, exactly)
            elif threads < min(self.asked):
                _limit(threads)
            self.asked.append(threads)

    def leave(self, threads: int) -> None:
        with self.lock:
            before = min(self.asked)
            self.asked.remove(threads)
            if not self.asked:
                self.outermost.restore_original_limits()
            elif before < min(self.asked):
                self.outermost.restore_original_limits()
                _limit(min(self.asked))


def _limit(threads: int, exactly: bool = False) -> Any:
    """The limit set, pools with fewer threads left as they are unless told otherwise; it knows what there was."""
    pools = _pools(len(sys.modules))
    limits: dict[str, int] = {}
    for pool in pools.info():
        name = str(pool["prefix"])
        most = threads if exactly and pool["user_api"] == "blas" else pool["num_threads"]
        limits[name] = min(threads, most, limits.get(name, threads))
    return pools.limit(limits=limits)


@functools.lru_cache(maxsize=1)
def _pools(modules: int) -> Any:
    """The libraries of the process, read anew (2 ms) where further modules have been loaded."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


_LIMITS = _Limits()
