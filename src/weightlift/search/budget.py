"""What a recovery may spend: work, which repeats with the seed, and seconds, which do not."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Self


@dataclass(frozen=True)
class Budget:
    """Work in Gauss–Newton steps of one start of the asked width, and a moment on the clock; every stage asks.

    No step is made beyond `max_work`, or after the deadline; no new round of a search begins beyond `enough`,
    or after `patience` without a fall of the risk.

    >>> Budget(max_work=100).spent(99), Budget(max_work=100).spent(100), Budget.within(100, seconds=0).spent(0)
    (False, True, True)
    >>> Budget(max_work=100).steps(80, 50), Budget(max_work=100).steps(80, 50, starts=8), Budget(max_work=100).less(30).max_work
    (50, 6, 70)
    """

    max_work: float = math.inf
    deadline: float = math.inf  # of time.perf_counter
    enough: float = math.inf
    patience: float = math.inf  # work since the risk last halved

    @classmethod
    def within(cls, max_work: float, seconds: float | None) -> Self:
        """So much work, and so many seconds from now; None is for ever.

        max_work  Gauss–Newton steps of one start
        """
        return cls(max_work, math.inf if seconds is None else time.perf_counter() + seconds)

    def late(self) -> bool:
        return time.perf_counter() >= self.deadline

    def spent(self, work: float) -> bool:
        """Whether nothing may begin after so much work, at this moment: not a whole step is left."""
        return work + 1 > self.max_work or work >= self.enough or self.late()

    def steps(self, wanted: int, work: float = 0.0, *, starts: float = 1.0) -> int:
        """As many steps of a batch of starts, of those wanted, as are left after so much work; none after the deadline."""
        if self.late():
            return 0
        left = max(0.0, self.max_work - work) / starts
        return wanted if left >= wanted else int(left)

    def less(self, work: float) -> Self:
        """What is left after so much work."""
        return replace(self, max_work=max(0.0, self.max_work - work))

    def share(self, share: float) -> Self:
        """That share of the work, until the same deadline."""
        return replace(self, max_work=share * self.max_work)


UNBOUNDED = Budget()
