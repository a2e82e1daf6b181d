"""Pictures of a recovery, in the manner of scikit-learn's displays: made from results, drawn on `ax`, kept with their artists.

    UnitsDisplay         the weights of each true unit, and of the estimated unit that it is matched to
    ConvergenceDisplay   the risk against the step, one curve a route, or a bundle of curves for a batch of starts
    PhaseDisplay         units against inputs: what is known to be easy, conjectured hard or open, and a diagnosed shape in it
    StagesDisplay        the risk that each stage of a recovery reached, against the work it cost
    DirectionsDisplay    the weights of all units as a heat map, under the features' names
    SpectrumDisplay      eigenvalues of the second moment against their noise: how many directions the data show
    ResidualsDisplay     residuals against predictions, or their quantiles against a Gaussian's
    IntervalsDisplay     confidence intervals of a certified fit

A display computes nothing but what it draws, and matplotlib loads when it is drawn. Colours are those of Okabe and Ito (2008),
which colour-blind readers can tell apart; shape and position say the same again.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from weightlift.errors import ArgumentError, ShapeError
from weightlift.matching import Match, match
from weightlift.network import Network
from weightlift.plots.limits import LIMITS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from weightlift.plots.directions import DirectionsDisplay
    from weightlift.plots.intervals import IntervalsDisplay
    from weightlift.plots.phase import PhaseDisplay
    from weightlift.plots.residuals import ResidualsDisplay
    from weightlift.plots.spectrum import SpectrumDisplay
    from weightlift.plots.stages import StagesDisplay

__all__ = [
    "AlignedUnits",
    "ConvergenceDisplay",
    "DirectionsDisplay",
    "IntervalsDisplay",
    "PhaseDisplay",
    "ResidualsDisplay",
    "SpectrumDisplay",
    "StagesDisplay",
    "UnitsDisplay",
]

BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY = "#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9"
PALETTE = (BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY)
PHASES = {  # pale, so that words can stand on them; from what is easy to what is hard
    "INDEPENDENT": "#c5e5da",
    "DECOMPOSABLE": "#d6ebf7",
    "OVERCOMPLETE": "#e3eef5",
    "CONJECTURED_HARD": "#f5d5c0",
    "NOT_COVERED": "#eeeeee",
    "DEGENERATE": "#eeeeee",
}
INK, FAINT, FAINTER = "#333333", "#9a9a9a", "#dddddd"
KINDS = ("auto", "strips", "scatter")
_HOMES = {
    "DirectionsDisplay": "directions",
    "IntervalsDisplay": "intervals",
    "PhaseDisplay": "phase",
    "ResidualsDisplay": "residuals",
    "SpectrumDisplay": "spectrum",
    "StagesDisplay": "stages",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'weightlift.plots' has no attribute {name!r}")
    return getattr(importlib.import_module(f"weightlift.plots.{_HOMES[name]}"), name)


@dataclass(frozen=True, eq=False)
class AlignedUnits:
    """Two networks' units side by side: the estimate's in the order and orientation of the truth's, NaN where one is missing.

    For homogeneous φ both have ‖w‖ = 1 and the sizes in a.
    """

    truth: np.ndarray  # (d, k) weights
    estimate: np.ndarray  # (d, k)
    a: np.ndarray  # (2, k) output weights: truth, estimate; their sizes ‖a‖ where there are several outputs
    b: np.ndarray  # (2, k) biases
    match: Match
    several: bool = False  # outputs

    @classmethod
    def of(cls, estimate: Network, truth: Network) -> AlignedUnits:
        """Match the two, then permute and reflect.

        estimate  the network that is permuted and reflected
        truth     the one that it is held against
        """
        found = match(estimate, truth)
        (W, a, b), (W_hat, a_hat, b_hat) = _normal(truth), _normal(estimate)
        aligned = np.full(W.shape, np.nan)
        outputs, biases = np.stack([a, np.full_like(a, np.nan)]), np.stack([b, np.full_like(b, np.nan)])
        has = found.permutation >= 0
        i, sign = found.permutation[has], found.signs[has]
        parity = truth.activation.reflection[0] if truth.activation.reflection else 1
        aligned[:, has], biases[1, has] = W_hat[:, i] * sign, b_hat[i] * sign
        turned = np.where(sign < 0, parity, 1)
        outputs[1, has] = a_hat[i] * (turned if a.ndim == 1 else turned[:, None])
        several = a.ndim == 2
        return cls(W, aligned, np.linalg.norm(outputs, axis=2) if several else outputs, biases, found, several)


class UnitsDisplay:
    """The weights of true units (rings) and of the estimated units that they are matched to (dots).

    kind "strips" has one strip a unit and one column an input; "scatter" has estimate against truth for all weights at once,
    for networks too large for strips; "auto" chooses. Dots are blue where the output weight is positive, vermillion where not;
    with several outputs ‖a‖ is given.

    truth  the network to compare with

    >>> truth = Network([[1.0, 0.0], [2.0, -1.0]], a=[1.0, -1.0])
    >>> display = UnitsDisplay.from_networks(Network(2 * truth.W, a=truth.a / 2), truth)
    >>> display.ax_.get_xlabel()
    'input'
    """

    ax_: Axes
    figure_: Any
    truth_: Any  # the artist of the true weights
    estimates_: list[Any]  # those of the estimated ones: units with positive, then with negative output weight

    def __init__(self, units: AlignedUnits, *, feature_names: Sequence[str] | None = None) -> None:
        if feature_names is not None and len(feature_names) != len(units.truth):
            raise ShapeError(f"feature_names must have one name an input: {len(units.truth)}, not {len(feature_names)}.")
        self.units = units
        self.feature_names = feature_names

    @classmethod
    def from_networks(
        cls,
        estimate: Network,
        truth: Network,
        *,
        feature_names: Sequence[str] | None = None,
        kind: str = "auto",
        ax: Axes | None = None,
    ) -> UnitsDisplay:
        """Match the units of two networks, and draw them.

        estimate       a network
        truth          the one to compare it with
        feature_names  names of the inputs; their numbers where None
        kind           "strips", "scatter", or "auto": strips where they fit
        ax             axes to draw on; a new figure's where None
        """
        return cls(AlignedUnits.of(estimate, truth), feature_names=feature_names).plot(kind=kind, ax=ax)

    @classmethod
    def from_estimator(cls, estimator: Any, truth: Network, *, kind: str = "auto", ax: Axes | None = None) -> UnitsDisplay:
        """The same for a fitted estimator beside the truth, under the names of its features.

        kind  "strips", "scatter", or "auto": strips where they fit
        ax    axes to draw on; a new figure's where None
        """
        return cls.from_networks(estimator.network_, truth, feature_names=feature_names(estimator), kind=kind, ax=ax)

    def plot(self, *, kind: str = "auto", ax: Axes | None = None) -> UnitsDisplay:
        """Draw, as "strips", "scatter" or what fits (kind "auto"), on `ax` or on a new figure."""
        if kind not in KINDS:
            raise ArgumentError(f"kind must be one of {KINDS}, not {kind!r}.")
        d, k = self.units.truth.shape
        self.ax_ = _axes(ax)
        self.figure_ = self.ax_.figure
        if kind == "strips" or (kind == "auto" and d <= LIMITS.inputs and k <= LIMITS.strips):
            self._strips()
        else:
            self._scatter()
        _tidy(self.ax_)
        return self

    def _strips(self) -> None:
        ax, units = self.ax_, self.units
        d, k = units.truth.shape
        both = np.concatenate([units.truth, units.estimate])
        height = 0.42 / max(float(np.nanmax(np.abs(both), initial=0.0)), np.finfo(float).tiny)
        x, base = np.arange(d)[:, None] + np.zeros((1, k)), -np.arange(k)[None, :] + np.zeros((d, 1))
        ring, dot = base + height * units.truth, base + height * units.estimate
        ax.hlines(base[0], -0.6, d - 0.4, color=FAINTER, linewidth=0.8, zorder=1)
        ax.vlines(x.ravel(), base.ravel(), ring.ravel(), color=FAINTER, linewidth=1.2, zorder=1)
        size = 46.0 if d <= 25 else 22.0
        self.truth_ = ax.scatter(x, ring, s=size, facecolors="none", edgecolors=INK, linewidths=1.0, zorder=3, label="truth")
        self.estimates_ = [
            ax.scatter(x[:, part], dot[:, part], s=0.28 * size, color=color, linewidths=0, zorder=4, label=label)
            for part, color, label in _by_sign(units)
        ]
        for j in range(k):
            ax.text(d - 0.1, -j, _unit_label(units, j), va="center", ha="left", fontsize="small", color=INK, linespacing=1.35)
        ax.set_xlim(-0.8, d - 0.3)
        ax.set_ylim(min(-k + 0.45, -0.55), 0.55)
        ax.set_yticks(-np.arange(k), [f"unit {j}" for j in range(k)])
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.set_xlabel("input")
        if self.feature_names is not None:
            ax.set_xticks(range(d), self.feature_names, rotation=90 if max(map(len, self.feature_names)) > 3 else 0)
        else:
            shown = np.arange(0, d, max(1, round(d / 10)))
            ax.set_xticks(shown, [f"{i}" for i in shown])

    def _scatter(self) -> None:
        ax, units = self.ax_, self.units
        size = 1.05 * max(float(np.abs(units.truth).max(initial=0.0)), float(np.nanmax(np.abs(units.estimate), initial=0.0)))
        (self.truth_,) = ax.plot([-size, size], [-size, size], color=FAINT, linewidth=0.8, zorder=1, label="truth")
        self.estimates_ = [
            ax.scatter(units.truth[:, part], units.estimate[:, part], s=9, color=color, linewidths=0, zorder=2, label=label)
            for part, color, label in _by_sign(units)
        ]
        ax.set_aspect("equal")
        ax.set_xlabel("true weight")
        ax.set_ylabel("estimated weight")


class ConvergenceDisplay:
    """Risk against step. `risks` maps a label to the risks before every step: (T + 1,), or (T + 1, S) for S starts, drawn thin.

    `level` is a risk to compare with, such as the recovered network's.

    >>> display = ConvergenceDisplay({"descent": [1.0, 0.1, 0.01]}, level=1e-4, level_label="noise").plot()
    >>> [line.get_label() for line in display.lines_]
    ['descent']
    """

    ax_: Axes
    figure_: Any
    lines_: list[Any]  # one a curve, in the order of `risks`

    def __init__(self, risks: Mapping[str, ArrayLike], *, level: float | None = None, level_label: str = "") -> None:
        self.risks = {label: np.asarray(values, dtype=float) for label, values in risks.items()}
        for label, values in self.risks.items():
            if values.ndim not in (1, 2) or not values.size:
                raise ShapeError(f"the risks of {label!r} must have shape (steps,) or (steps, starts), not {values.shape}.")
        self.level = level
        self.level_label = level_label

    def plot(self, *, ax: Axes | None = None, colors: Mapping[str, str] | None = None) -> ConvergenceDisplay:
        """Draw on `ax`, or on a new figure; labels without a colour take the next one of the palette.

        colors  a colour a label
        """
        self.ax_ = ax = _axes(ax)
        self.figure_ = ax.figure
        self.lines_ = []
        if self.level is not None:
            from matplotlib.patheffects import withStroke

            level = max(self.level, LIMITS.least_risk)
            ax.axhline(level, color=FAINT, linewidth=0.8, linestyle=(0, (1, 2)), zorder=1)
            where = ax.get_yaxis_transform()  # x of the axes, y of the data
            name = ax.text(1.0, level, self.level_label, transform=where, color=INK, ha="right", va="bottom", zorder=5)
            name.set_path_effects([withStroke(linewidth=3, foreground="white")])  # curves end there, too
        free = iter([*PALETTE] * len(self.risks))
        for label, values in self.risks.items():
            color = (colors or {}).get(label) or next(free)
            width, alpha, layer = (2.0, 1.0, 4) if values.ndim == 1 else (0.8, 0.7, 2)
            drawn = np.maximum(_until_it_ends(values), LIMITS.least_risk)
            lines = ax.plot(np.arange(len(values)), drawn, color=color, linewidth=width, alpha=alpha, zorder=layer)
            lines[0].set_label(label)
            self.lines_ += lines
        ax.set_yscale("log")
        ax.set_xscale("symlog", linthresh=1.0, linscale=0.4)
        ax.set_xlim(left=0)
        ax.set_xlabel("step")
        ax.set_ylabel("risk")
        _decades(ax)
        _tidy(ax)
        return self


def feature_names(estimator: Any) -> list[str] | None:
    """The names that the estimator's inputs had, if they had any."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _normal(net: Network) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """W, a, b with the units in their order; ‖w‖ = 1 for homogeneous φ."""
    q = net.activation.degree
    if q is None:
        return net.W, net.a, net.b
    length = np.linalg.norm(net.W, axis=0)
    length = np.where(length > 0, length, 1.0)
    return net.W / length, net.a * (length**q if net.a.ndim == 1 else (length**q)[:, None]), net.b / length


def _until_it_ends(risks: np.ndarray) -> np.ndarray:
    """NaN once a curve stays where it is: that start had ended before the others."""
    same = np.cumprod((risks == risks[-1])[::-1], axis=0)[::-1].astype(bool)  # from here on nothing changes
    ended = np.concatenate([np.zeros_like(same[:1]), same[:-1]])
    return np.where(ended, np.nan, risks)


def _unit_label(units: AlignedUnits, j: int) -> str:
    name = "‖a‖" if units.several else "a"
    if np.isnan(units.a[1, j]):
        return f"{name} = {units.a[0, j]:.2f}\nnot found".replace("-", "−")
    return f"{name} = {units.a[1, j]:.2f}\nerror {units.match.errors[j]:.0e}".replace("-", "−")


def _by_sign(units: AlignedUnits) -> list[tuple[np.ndarray, str, str]]:
    """Units with a ≥ 0, those with a < 0, where there are any; their colour and label. Several outputs have no one sign."""
    a = units.a[0]
    if units.several:
        return [(np.ones(len(a), dtype=bool), BLUE, "estimate")]
    parts = [(a >= 0, BLUE, "estimate, a > 0"), (a < 0, VERMILLION, "estimate, a < 0")]
    return [part for part in parts if part[0].any()]


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    from matplotlib import pyplot

    _, new = pyplot.subplots(layout="constrained")
    return new


def _decades(ax: Axes) -> None:
    """A tick for every few decades of the risk, none between, and whole steps."""
    from matplotlib.ticker import LogLocator, NullLocator

    ax.yaxis.set_major_locator(LogLocator(numticks=8))
    ax.yaxis.set_minor_locator(NullLocator())
    ticks = [0, *(10**p for p in range(7) if 10**p <= ax.get_xlim()[1])]
    ax.set_xticks(ticks, [f"{t:,}" for t in ticks])


def _tidy(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
