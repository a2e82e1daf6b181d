"""The door through which a recovery sees its rows: every pass is counted, and none begins after the time is spent.

Parts, maps and persisted copies of a counted source share its count, so that nothing escapes it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from weightlift.errors import TimeSpentError
from weightlift.namespaces import Namespace
from weightlift.samples import Block, Map, Samples, Statistic, Sums


@dataclass
class Meter:
    """Passes over a source and all that is derived from it."""

    passes: int = 0


@dataclass(frozen=True, eq=False)
class Counted:
    """Behaves as `source`; every fold and every evaluation of its maps is a pass."""

    source: Samples
    meter: Meter = field(default_factory=Meter)
    deadline: float = math.inf  # of time.perf_counter, beyond which no pass begins

    @property
    def passes(self) -> int:
        """So far, by this source and all that share its count."""
        return self.meter.passes

    def until(self, deadline: float) -> Counted:
        """The same rows; a pass after the deadline raises a TimeSpentError."""
        return replace(self, deadline=deadline)

    @property
    def n(self) -> float:
        return self.source.n

    @property
    def d(self) -> int:
        return self.source.d

    @property
    def n_outputs(self) -> int | None:
        return self.source.n_outputs

    @property
    def total(self) -> float:
        return self.source.total

    @property
    def xp(self) -> Namespace:
        return self.source.xp

    @property
    def device(self) -> Any:
        return self.source.device

    @property
    def dtype(self) -> Any:
        return self.source.dtype

    def fold(self, statistic: Statistic) -> Sums:
        self._begin()
        return self.source.fold(statistic)

    def mean(self, statistic: Statistic) -> Sums:
        self._begin()
        return self.source.mean(statistic)

    def persist(self) -> Counted:
        kept = self.source.persist()
        if kept is not self.source:
            self._begin()
        return replace(self, source=kept)

    def blocks(self, rows: int, *, start: int = 0) -> Iterator[Block]:
        self._begin()
        return self.source.blocks(rows, start=start)

    def split(self, *fractions: float, seed: int) -> tuple[Counted, ...]:
        return tuple(replace(self, source=part) for part in self.source.split(*fractions, seed=seed))

    def map(self, f: Map) -> Counted:
        return replace(self, source=self.source.map(f))

    def _begin(self) -> None:
        if time.perf_counter() >= self.deadline:
            raise TimeSpentError("max_time was spent before this stage had an answer; raise it.")
        self.meter.passes += 1
