"""Which shapes of networks are easy, conjectured hard or open, and where a diagnosed one stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from weightlift.plots import INK, PHASES, VERMILLION, _axes, _tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from weightlift.diagnose import Diagnosis


class PhaseDisplay:
    """The regimes of an activation over inputs d and units k, for weights in general position; a diagnosed shape is the star.

    Dots are shapes at which `recover` was measured to succeed. Borders are powers of d without constants or logarithms: the
    theorems are asymptotic.

    >>> from weightlift import diagnose
    >>> display = PhaseDisplay.from_diagnosis(diagnose.shape(50, 350, activation="tanh"))
    >>> display.point_.get_xdata(), display.point_.get_ydata()
    (array([50]), array([350]))
    """

    ax_: Axes
    figure_: Any
    regions_: list[Any]  # one filled region each, from few units to many
    measured_: Any  # the artist of the measured shapes
    point_: Any  # that of the diagnosed shape

    def __init__(self, diagnosis: Diagnosis) -> None:
        self.diagnosis = diagnosis

    @classmethod
    def from_diagnosis(cls, diagnosis: Diagnosis, *, ax: Axes | None = None) -> PhaseDisplay:
        """Draw the diagram of the diagnosis's activation.

        ax  axes to draw on; a new figure's where None
        """
        return cls(diagnosis).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> PhaseDisplay:
        """Draw on `ax`, or on a new figure."""
        from weightlift.diagnose import MEASURED, regions

        self.ax_ = ax = _axes(ax)
        self.figure_ = ax.figure
        found = self.diagnosis
        d = np.geomspace(min(5.0, found.n_inputs / 2), max(300.0, 4.0 * found.n_inputs), 100)
        highest = max(float(d[-1]) ** 2, 4.0 * found.n_units)
        columns = [regions(found.regime.degree, found.regime.symmetric, float(x)) for x in d]
        shapes = {(m.n_inputs, m.n_units) for m in MEASURED if m.all_right}
        lower, self.regions_ = np.full(len(d), 1.0), []
        for _, regime, label in columns[-1]:
            upper = np.array([next((end for end, _, name in column if name == label), 1.0) for column in columns])
            upper = np.clip(upper, lower, highest)
            self.regions_.append(ax.fill_between(d, lower, upper, color=PHASES[regime.name], linewidth=0, label=label))
            ax.plot(d, upper, color="white", linewidth=1.2)
            at = 4 + int(np.argmax((upper / lower)[4:-4]))  # where the region is highest, there its name has room
            side = "left" if at < len(d) // 3 else "right"
            ax.text(d[at], np.sqrt(lower[at] * upper[at]), label, ha=side, va="center", fontsize="small", color=INK)
            lower = upper
        (self.measured_,) = ax.plot(*zip(*sorted(shapes), strict=True), "o", color=INK, markersize=3.5, label="recovered")
        (self.point_,) = ax.plot(
            [found.n_inputs], [found.n_units], "*", color=VERMILLION, markersize=15, markeredgecolor="white", label=found.title
        )
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlim(d[0], d[-1])
        ax.set_ylim(1.0, highest)
        ax.set_xlabel("inputs d")
        ax.set_ylabel("units k")
        _tidy(ax)
        return self
