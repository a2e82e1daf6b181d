"""What the stages of a recovery reached, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from weightlift.errors import ArgumentError
from weightlift.plots import BLUE, FAINT, VERMILLION, _axes, _tidy
from weightlift.plots.limits import LIMITS
from weightlift.recovery import Recovery, StageReport

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CERTIFIED = ("EXACT", "STATISTICAL", "a candidate was certified")


class StagesDisplay:
    """One point a stage: its relative risk E r²/E y² against the Gauss–Newton steps spent until its end, from 1 on.

    Blue: a certified end; vermillion: not. Stages that did not run are named without a point.

    >>> display = StagesDisplay([StageReport("search", 3, 8, 100.0, 50, 1e-30, "EXACT")]).plot()
    >>> display.points_.get_offsets().shape
    (1, 2)
    """

    ax_: Axes
    figure_: Any
    points_: Any

    def __init__(self, stages: Sequence[StageReport]) -> None:
        self.stages = tuple(stages)

    @classmethod
    def from_recovery(cls, recovery: Recovery, *, ax: Axes | None = None) -> StagesDisplay:
        """Draw the stages of `recover`.

        recovery  what `recover` returned
        ax        axes to draw on; a new figure's where None
        """
        return cls(recovery.stages).plot(ax=ax)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> StagesDisplay:
        """Those behind a fitted estimator.

        ax  axes to draw on; a new figure's where None
        """
        if estimator.recovery_ is None:
            raise ArgumentError("the estimator has no stages; its network did not come from a recovery.")
        return cls.from_recovery(estimator.recovery_, ax=ax)

    def plot(self, *, ax: Axes | None = None) -> StagesDisplay:
        """Draw on `ax`, or on a new figure."""
        self.ax_ = ax = _axes(ax)
        self.figure_ = ax.figure
        work = np.cumsum([stage.work for stage in self.stages])
        risk = np.array([stage.risk for stage in self.stages], dtype=float)
        ran = np.isfinite(risk)
        drawn = np.maximum(risk, LIMITS.least_risk)
        colors = [BLUE if stage.outcome.startswith(CERTIFIED) else VERMILLION for stage in self.stages]
        ax.set_yscale("log")
        ax.plot([0.0, *work[ran]], [1.0, *drawn[ran]], color=FAINT, linewidth=0.8, zorder=1)
        self.points_ = ax.scatter(work[ran], drawn[ran], color=[c for c, r in zip(colors, ran, strict=True) if r], zorder=3)
        for number, i in enumerate(np.flatnonzero(ran)):
            stage, offset = self.stages[i], (6, -18 if number % 2 else 6)  # in turn below and above
            label = f"{stage.name}\n{stage.width} units"
            ax.annotate(label, (work[i], drawn[i]), xytext=offset, textcoords="offset points", fontsize="x-small")
        skipped = [stage.name for stage, r in zip(self.stages, ran, strict=True) if not r]
        if skipped:
            ax.set_title("not run: " + ", ".join(dict.fromkeys(skipped)), fontsize="small", color=FAINT, loc="left")
        ax.set_xlim(0.0, 1.4 * max(float(work.max(initial=0.0)), 1.0))
        ax.set_ylim(0.1 * float(drawn[ran].min(initial=1.0)), 3.0 * float(drawn[ran].max(initial=1.0)))
        ax.set_xlabel("work, in Gauss–Newton steps of one start")
        ax.set_ylabel("relative risk")
        _tidy(ax)
        return self
