"""Risks against steps, over several trials: quartiles, rates, and how they are drawn.

A trial's row holds `risks`, a list for each approach, with the risk before every `spacing`-th step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from weightlift.reproduce.fits import Line
from weightlift.reproduce.limits import LIMITS
from weightlift.reproduce.recipe import Row
from weightlift.reproduce.style import curve
from weightlift.reproduce.tables import column, grouped

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def quartiles(trials: list[Row], spacing: Mapping[str, int]) -> list[Row]:
    """One row an approach and step; a run that ended early stays where it was. `converged`: share of the trials below 1e-3."""
    table = []
    for name, every in spacing.items():
        runs = [trial["risks"][name] for trial in trials]
        length = max(len(run) for run in runs)
        curves = np.array([_extended(run, length) for run in runs])  # (trials, steps)
        levels = np.quantile(curves, (0.25, 0.5, 0.75), axis=0, method="inverted_cdf").T.tolist()
        shares = np.mean(curves <= LIMITS.converged, axis=0).tolist()
        for t, ((low, middle, high), share) in enumerate(zip(levels, shares, strict=True)):
            row = {"approach": name, "step": every * t, "lower_quartile": low, "median": middle, "upper_quartile": high}
            table.append({**row, "converged": share, "trials": len(trials)})
    return table


def thinned(risks: np.ndarray, every: int) -> list[float]:
    """The risk before every `every`-th step, and the last one: a run that diverged between two of them shows it there alone.

    >>> thinned(np.array([4.0, 2.0, 1.0, 1e9]), 2)
    [4.0, 1.0, 1000000000.0]
    """
    kept = [float(risk) for risk in risks[::every]]
    return kept if len(risks) % every == 1 % every else [*kept, float(risks[-1])]


def _extended(risks: list[float], length: int) -> list[float]:
    finite = [risk if np.isfinite(risk) else np.inf for risk in risks]
    last = np.inf if finite[-1] > LIMITS.diverged else finite[-1]
    return finite + [last] * (length - len(finite))


def draw_quartiles(ax: Axes, rows: list[Row], labels: Mapping[str, str]) -> None:
    """The medians as lines, the quartiles as bands, on logarithmic axes: a dozen steps are seen beside a thousand."""
    for i, ((name,), part) in enumerate(grouped(rows, "approach")):
        steps = column(part, "step")
        levels = (column(part, level) for level in ("lower_quartile", "median", "upper_quartile"))
        low, middle, high = (np.clip(values, LIMITS.least, 10 * LIMITS.diverged) for values in levels)
        curve(ax, i, steps, middle, marker="", label=labels[name])
        ax.fill_between(steps, low, high, color=ax.lines[-1].get_color(), alpha=0.2, linewidth=0)
    ax.set_xscale("symlog", linthresh=1.0)  # there is a step 0
    ax.set(yscale="log", xlabel="step")


def steps_to(rows: list[Row], name: str, level: float) -> float:
    """The first step at which the median is at most this; infinite if never."""
    return float(min((row["step"] for row in rows if row["approach"] == name and row["median"] <= level), default=np.inf))


def at_step(rows: list[Row], name: str, step: int) -> Row:
    """The row of the step, or of the last one before it."""
    return [row for row in rows if row["approach"] == name and row["step"] <= step][-1]


def rate(rows: list[Row], name: str, *, below: float, above: float = 1e-22) -> Line:
    """The line through the logarithm of the median where it lies between these; the slope is that of a step."""
    part = [row for row in rows if row["approach"] == name and above < row["median"] < below]
    return Line.fitted(column(part, "step"), np.log(column(part, "median")))


def rates_in_words(lines: Mapping[str, Line]) -> str:
    return "; ".join(f"{name}: a factor of {np.exp(fit.slope):.4f} a step, R² = {fit.r2:.3f}" for name, fit in lines.items())
