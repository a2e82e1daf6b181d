"""Confidence intervals of a certified fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from weightlift.certificate import Inference
from weightlift.plots import BLUE, FAINT, FAINTER, _axes, _tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class IntervalsDisplay:
    """One line a parameter, in normal form: its estimate, and its interval at `level`.

    An interval that holds zero is grey. Where a truth is known, `truth` (in the order of `Inference.names`) is drawn as rings.
    """

    ax_: Axes
    figure_: Any
    lines_: Any
    points_: Any

    def __init__(self, inference: Inference, *, level: float = 0.95) -> None:
        self.inference, self.level = inference, level
        self.intervals = inference.intervals(level)

    @classmethod
    def from_estimator(cls, estimator: Any, *, level: float = 0.95, ax: Axes | None = None) -> IntervalsDisplay:
        """Those of a fitted estimator whose units are certified.

        level  the probability with which an interval covers
        ax     axes to draw on; a new figure's where None
        """
        return cls(estimator.summary(level).inference, level=level).plot(ax=ax)

    def plot(self, *, truth: np.ndarray | None = None, ax: Axes | None = None) -> IntervalsDisplay:
        """Draw on `ax`, or on a new figure.

        truth  (P,) true values, drawn beside the intervals
        """
        self.ax_ = ax = _axes(ax)
        self.figure_ = ax.figure
        names, (low, high) = self.inference.names, self.intervals.T
        rows = -np.arange(len(names))
        colors = np.where((low <= 0) & (high >= 0), FAINT, BLUE).tolist()
        ax.axvline(0.0, color=FAINTER, linewidth=0.8, zorder=1)
        self.lines_ = ax.hlines(rows, low, high, color=colors, linewidth=1.6, zorder=2)
        self.points_ = ax.scatter(self.inference.estimates, rows, color=colors, s=16, zorder=3)
        if truth is not None:
            ax.scatter(truth, rows, s=46, facecolors="none", edgecolors="black", linewidths=0.9, zorder=4, label="truth")
            ax.legend(frameon=False)
        ax.set_yticks(rows, names)
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel(f"estimate and {100 * self.level:g} % interval")
        _tidy(ax)
        return self
