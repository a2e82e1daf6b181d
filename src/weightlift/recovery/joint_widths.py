"""Which widths a joint recovery tries when none is given: doubled until one is wide enough, then halved in between."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from weightlift.certificate import Certificate, Topic
from weightlift.errors import WeightliftError
from weightlift.evidence.stacked import Combined
from weightlift.moments import remove_linear
from weightlift.samples import Standardized
from weightlift.subspace import SecondMoment, estimate_rank

if TYPE_CHECKING:
    from weightlift.recovery.joint import JointProblem


@dataclass(frozen=True)
class Widths:
    """The largest width that was too narrow, the smallest that was wide enough (None so far), and the next to be tried."""

    narrow: int
    wide: int | None
    most: int  # that the rows allow
    next: int | None

    @classmethod
    def of(cls, problem: JointProblem) -> Widths:
        """From the rank of the second moment of a combination of the outputs, one at least."""
        most = 1
        while problem.allows(2 * most):
            most *= 2
        most += sum(problem.allows(width) for width in range(most + 1, 2 * most))
        return cls(0, None, most, min(most, max(1, _rank(problem))))

    def after(self, width: int, certificate: Certificate) -> Widths:
        """What is known once that width was tried."""
        if wide_enough(certificate):
            this = replace(self, wide=min(width, certificate.network.n_units))
        else:
            this = replace(self, narrow=max(self.narrow, width))
        return replace(this, next=this._following)

    @property
    def _following(self) -> int | None:
        if self.wide is None:
            return min(2 * self.narrow, self.most) if self.narrow < self.most else None
        return (self.narrow + self.wide) // 2 if self.wide - self.narrow > 1 else None


def wide_enough(certificate: Certificate) -> bool:
    """Whether the rows are explained: to rounding, or up to residuals without structure."""
    structure = [s for s in certificate.statements if s.topic is Topic.STRUCTURE]
    return certificate.explained or any(s.holds for s in structure)


def _rank(problem: JointProblem) -> int:
    rng = np.random.default_rng(0)
    one = problem.train.map(Combined(rng.normal(size=len(problem.targets.scale))))
    try:
        white = Standardized.of(one, centred=True).rows
        return estimate_rank(remove_linear(white), SecondMoment(), rng=rng).rank
    except WeightliftError:
        return 1
