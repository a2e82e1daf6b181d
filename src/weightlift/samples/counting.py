"""A source that counts the passes over another one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from weightlift.namespaces import Namespace
from weightlift.samples.protocol import Block, Map, Samples, Statistic, Sums


@dataclass
class Tally:
    """Passes so far, shared by a source and all that is derived from it."""

    passes: int = 0


@dataclass(frozen=True, eq=False)
class Counted:
    """Behaves as `source`; every fold adds one to the tally."""

    source: Samples
    tally: Tally = field(default_factory=Tally)

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
        self.tally.passes += 1
        return self.source.fold(statistic)

    def mean(self, statistic: Statistic) -> Sums:
        self.tally.passes += 1
        return self.source.mean(statistic)

    def split(self, *fractions: float, seed: int) -> tuple[Counted, ...]:
        return tuple(Counted(part, self.tally) for part in self.source.split(*fractions, seed=seed))

    def map(self, f: Map) -> Counted:
        return Counted(self.source.map(f), self.tally)

    def persist(self) -> Counted:
        return Counted(self.source.persist(), self.tally)

    def blocks(self, rows: int, *, start: int = 0) -> Iterator[Block]:
        return self.source.blocks(rows, start=start)
