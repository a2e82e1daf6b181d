"""How many directions the data show: the spectrum of the second moment and its noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from weightlift.evidence.stacked import Combined, target_moments
from weightlift.moments import remove_linear
from weightlift.plots import BLUE, FAINT, VERMILLION, _axes, _tidy
from weightlift.samples import Standardized
from weightlift.samples import open as open_samples
from weightlift.subspace import RankEstimate, SecondMoment, estimate_rank

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class SpectrumDisplay:
    """|λ| of E r (xxᵀ − I), r the residual of y on [1, x] and x whitened, largest first; blue above the noise floor.

    The floor is what random signs of r leave. The eigengap is that between the last eigenvalue above it and the next one. Its
    reading as the number of units needs Gaussian inputs, k ≤ d, and a φ that is not odd.

    >>> import weightlift as wl
    >>> X, y = wl.draw(wl.teachers.conditioned(8, 3, activation="relu", rng=0), 5000, rng=1)
    >>> SpectrumDisplay.from_data(X, y).estimate.rank
    3
    """

    ax_: Axes
    figure_: Any
    bars_: Any
    floor_: Any

    def __init__(self, estimate: RankEstimate) -> None:
        self.estimate = estimate

    @classmethod
    def from_data(cls, X: Any, y: Any, *, rng: int | np.random.Generator = 0, ax: Axes | None = None) -> SpectrumDisplay:
        """From rows X (n, d), y (n,); of several targets (n, m), a random combination of them, each at its own size.

        rng  a seed or a generator, for the random signs
        ax   axes to draw on; a new figure's where None
        """
        rows = open_samples(X, y)
        if rows.n_outputs is not None:
            spread = np.sqrt(np.diagonal(target_moments(rows)[1]))
            rows = rows.map(Combined(np.random.default_rng(0).normal(size=len(spread)) / np.where(spread > 0, spread, 1.0)))
        white = Standardized.of(rows, centred=True).rows
        return cls(estimate_rank(remove_linear(white), SecondMoment(), rng=rng)).plot(ax=ax)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Axes | None = None) -> SpectrumDisplay:
        """The spectrum of the rows that an estimator was fitted to, beside the width that it found.

        X   (n, d), the rows of the fit
        y   (n,), their targets
        ax  axes to draw on; a new figure's where None
        """
        display = cls.from_data(np.asarray(X, dtype=float), np.asarray(y, dtype=float), ax=ax)
        display.ax_.axvline(estimator.n_units_ - 0.5, color=FAINT, linestyle=(0, (1, 2)))
        display.ax_.set_title(f"{estimator.n_units_} units fitted", fontsize="small", loc="left")
        return display

    @property
    def eigengap(self) -> float:
        """|λ_r| − |λ_{r+1}| at the estimated rank r."""
        values, r = np.abs(self.estimate.eigenvalues), self.estimate.rank
        return float(values[r - 1] - values[r]) if 0 < r < len(values) else float("nan")

    def plot(self, *, ax: Axes | None = None) -> SpectrumDisplay:
        """Draw on `ax`, or on a new figure."""
        self.ax_ = ax = _axes(ax)
        self.figure_ = ax.figure
        values = np.abs(self.estimate.eigenvalues)
        colors = [BLUE if i < self.estimate.rank else FAINT for i in range(len(values))]
        self.bars_ = ax.bar(np.arange(len(values)), values, color=colors)
        self.floor_ = ax.axhline(self.estimate.floor, color=VERMILLION, linewidth=1.0, label="noise floor")
        ax.legend(frameon=False)
        ax.set_xlabel("eigenvalue, by magnitude")
        ax.set_ylabel("|λ|")
        _tidy(ax)
        return self
