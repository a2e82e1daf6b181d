"""Residuals of a fit: against its predictions, or their quantiles against a Gaussian's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from weightlift.errors import ArgumentError, ShapeError
from weightlift.plots import BLUE, FAINT, _axes, _tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = ("predicted", "quantiles")


class ResidualsDisplay:
    """y − ŷ. kind "predicted": against ŷ, where structure means a wrong model; "quantiles": sorted, against normal ones.

    >>> display = ResidualsDisplay([1.0, 2.0, 3.0], [1.1, 1.9, 3.0]).plot(kind="quantiles")
    >>> display.ax_.get_xlabel()
    'normal quantile'
    """

    ax_: Axes
    figure_: Any
    points_: Any
    line_: Any

    def __init__(self, y_true: Any, y_pred: Any) -> None:
        self.y_true, self.y_pred = np.asarray(y_true, dtype=float).ravel(), np.asarray(y_pred, dtype=float).ravel()
        if self.y_true.shape != self.y_pred.shape:
            raise ShapeError(f"y_true and y_pred must have one length, not {len(self.y_true)} and {len(self.y_pred)}.")
        if not self.y_true.size:
            raise ShapeError("y_true and y_pred hold no values; there is nothing to draw.")

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, kind: str = "predicted", ax: Axes | None = None
    ) -> ResidualsDisplay:
        """Predict X, and draw what is left of y.

        estimator  one that is fitted
        kind       "predicted" or "quantiles"
        ax         axes to draw on; a new figure's where None
        """
        return cls(y, estimator.predict(X)).plot(kind=kind, ax=ax)

    def plot(self, *, kind: str = "predicted", ax: Axes | None = None) -> ResidualsDisplay:
        """Draw, as "predicted" or "quantiles" (kind), on `ax` or on a new figure."""
        if kind not in KINDS:
            raise ArgumentError(f"kind must be one of {KINDS}, not {kind!r}.")
        self.ax_ = ax = _axes(ax)
        self.figure_ = ax.figure
        residual = self.y_true - self.y_pred
        if kind == "predicted":
            self.points_ = ax.scatter(self.y_pred, residual, s=9, color=BLUE, linewidths=0, alpha=0.6)
            self.line_ = ax.axhline(0.0, color=FAINT, linewidth=0.8)
            ax.set_xlabel("prediction")
            ax.set_ylabel("residual")
        else:
            from scipy.stats import norm

            n = len(residual)
            quantiles = norm.ppf((np.arange(n) + 0.5) / n)
            spread = float(residual.std()) or 1.0
            self.points_ = ax.scatter(quantiles, np.sort(residual - residual.mean()) / spread, s=9, color=BLUE, linewidths=0)
            self.line_ = ax.axline((0.0, 0.0), slope=1.0, color=FAINT, linewidth=0.8)
            ax.set_xlabel("normal quantile")
            ax.set_ylabel("residual, in standard deviations")
        _tidy(ax)
        return self
