"""What a recovery may spend: work, which repeats with the seed, and seconds, which do not."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Budget:
    """Work in Gauss–Newton steps of one start of the asked width, and a moment on the clock; every stage asks.

    >>> Budget(max_work=100).spent(99), Budget(max_work=100).spent(100), Budget.within(100, seconds=0).spent(0)
    (False, True, True)
    """

    max_work: float = math.inf
    deadline: float = math.inf  # of time.perf_counter

    @classmethod
    def within(cls, max_work: float, seconds: float | None) -> Budget:
        """So much work, and so many seconds from now; None is for ever."""
        return cls(max_work, math.inf if seconds is None else time.perf_counter() + seconds)

    def late(self) -> bool:
        return time.perf_counter() >= self.deadline

    def spent(self, work: float) -> bool:
        """Whether nothing is left after so much work, at this moment."""
        return work >= self.max_work or self.late()

    def steps(self, wanted: int, work: float, starts: int = 1) -> int:
        """As many steps of a batch of starts, of those wanted, as are left after so much work."""
        left = max(0.0, self.max_work - work) / starts
        return wanted if left >= wanted else int(left)
