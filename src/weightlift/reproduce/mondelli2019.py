"""The figure of mondelli2019, §6: SGD with averaged iterates, one fresh row a step, tanh(5x/2), on networks ever wider.

fig1            r = d, about d^{3/2}, and d² units; Haar weights
fig1_gaussian   the same with the random weights of (11)

The paper gives neither start nor step sizes: here w₀ ~ N(0, I/d) and s ∝ 1/r. Three truths a step size; medians.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np

import weightlift as wl
from weightlift.errors import DivergedError
from weightlift.plots import FAINT
from weightlift.refinement import StochasticDescent
from weightlift.reproduce.fits import Line
from weightlift.reproduce.limits import LIMITS
from weightlift.reproduce.recipe import Claim, Grid, Recipe, Row, every
from weightlift.reproduce.style import curve, key
from weightlift.reproduce.tables import column, grouped
from weightlift.samples import Fresh

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENSEMBLES = {"haar": wl.teachers.haar, "gaussian": wl.teachers.centered_gaussian}
SHOWN = 100  # windows of a run in the table, evenly spaced


def sgd_trial(rng: np.random.Generator, *, ensemble: str, d: int, r: int, scale: float, steps: int) -> Row:
    """Both measures over windows of 10⁴ steps, for the step s = scale/r; those of a run that diverged until then."""
    truth = ENSEMBLES[ensemble](d, r, rng=rng)
    start = wl.Network(rng.standard_normal((d, r)) / math.sqrt(d), activation=truth.activation)
    stream = Fresh(truth, seed=int(rng.integers(2**31)), arithmetic="float32")
    try:
        run = wl.refinement.sgd(
            stream, start, step=scale / r, steps=steps, window=LIMITS.window, truth=truth, dtype="float32", progress=False
        )
        diverged = False
    except DivergedError as error:
        run, diverged = cast(StochasticDescent, error.result), True
    windows = run.windows
    nearest = [] if windows.nearest is None else windows.nearest.tolist()
    first = wl.refinement.nearest_weight_distance(start.W, truth.W)
    return {
        "steps_at": windows.ends.tolist(),
        "ratio": windows.ratio().tolist(),
        "last_ratio": windows.last_ratio().tolist(),
        "nearest": nearest,
        "nearest_start": first,
        "norm_share": windows.norm_share,
        "diverged": diverged,
    }


def summarize_sgd(trials: list[Row]) -> list[Row]:
    """One row a window, a hundred at most; medians over the truths, a run that diverged being infinite from there on."""
    table = []
    for (d, r, scale), rows in grouped(trials, "d", "r", "scale"):
        ends = max((row["steps_at"] for row in rows), key=len) or [0]
        once = {name: float(np.median(column(rows, name))) for name in ("nearest_start", "norm_share")}
        for i in sorted({round(at) for at in np.linspace(0, len(ends) - 1, SHOWN)}):
            medians = {
                name: float(np.median([row[name][i] if i < len(row[name]) else np.inf for row in rows]))
                for name in ("ratio", "last_ratio", "nearest")
            }
            table.append({"d": d, "r": r, "step": scale / r, "steps": ends[i], **medians, **once, "trials": len(rows)})
    return table


def draw_sgd(figure: Figure, rows: list[Row]) -> None:
    units = sorted({row["r"] for row in rows})
    axes = figure.subplots(2, len(units), sharex=True, sharey="row", squeeze=False)
    for (top, bottom), r in zip(axes.T, units, strict=True):
        for i, ((step,), part) in enumerate(grouped([row for row in rows if row["r"] == r], "step")):
            steps = column(part, "steps") / 1e6
            curve(top, i, steps, np.clip(column(part, "ratio"), 0, 10), marker="")
            color = top.lines[-1].get_color()
            top.plot(steps, np.clip(column(part, "last_ratio"), 0, 10), color=color, linewidth=0.9, linestyle="--")
            curve(bottom, i, steps, np.clip(column(part, "nearest"), 0, 10), marker="", label=f"s = {step:.1e}")
        top.axhline(1.0, color=FAINT, linewidth=0.8, linestyle=":")
        top.set(title=f"r = {r:,}", ylim=(0, 2))
        bottom.set(xlabel="steps / 10⁶")
        bottom.legend()
    key(axes[0, 0], "running average", linewidth=2.0)
    key(axes[0, 0], "last iterate", linestyle="--")
    key(axes[0, 0], "best predictor in ‖x‖²", linestyle=":", color=FAINT)
    axes[0, 0].legend(loc="upper right")
    axes[0, 0].set_ylabel("error / that of the\nbest predictor in ‖x‖²")
    axes[1, 0].set_ylabel("weight error")
    axes[1, 0].set_ylim(0, 1.05 * min(2.0, float(np.max(column(rows, "nearest")))))


def claim_sgd(rows: list[Row]) -> list[Claim]:
    """Of the running average, with the step that ends best; the dashed last iterate is better where it converges."""
    ends = [part[-1] for _, part in grouped(rows, "r", "step")]
    best = {r: min(part, key=lambda row: row["ratio"]) for (r,), part in grouped(ends, "r")}
    units, d = sorted(best), rows[0]["d"]
    few, many = best[units[0]], best[units[-1]]
    last = min(row["last_ratio"] for row in ends if row["r"] == units[0])
    kept = many["nearest"] / many["nearest_start"]
    pairs = np.array([(row["ratio"], row["nearest"]) for row in ends if np.isfinite(row["ratio"])])
    correlation = float(np.corrcoef(np.log(pairs.T))[0, 1]) if len(pairs) > 2 else np.nan
    finals = [best[r]["ratio"] for r in units]
    widest = ", ".join(f"s = {row['step']:.1e}: {row['ratio']:.2f}" for row in ends if row["r"] == units[-1])
    shares = [r for r in units if np.isfinite(best[r]["norm_share"])]
    falls = Line.of_powers(*(column([row for row in rows if _later(row, few)], name) for name in ("steps", "ratio"))).slope
    return [
        Claim(
            f"r = {units[0]}: with a stable step the running average ends at most at 0.15 of the trivial error, the last "
            "iterate at 0.01",
            f"average {few['ratio']:.3f} (s = {few['step']:.1e}), last iterate {last:.1e}",
            bool(few["ratio"] <= 0.15 and last <= 0.01),
            f"the setting: the average keeps its first steps, and still falls as steps^({falls:.2f}) over the second half of "
            f"the {few['steps']:,} steps",
        ),
        Claim(
            f"r = {units[-1]:,}: the generalization error stays near the trivial one (at least 0.8), and the weights as far as "
            "they were (at least 0.8 of the start's distance), for every step",
            f"best step: {many['ratio']:.2f} of the trivial error, {kept:.2f} of the first distance",
            bool(many["ratio"] >= 0.8 and kept >= 0.8) if d >= 50 else None,
            f"the setting: the paper names no step sizes, and the largest stable ones learn more ({widest})"
            if d >= 50
            else f"the setting: d = {d} is too small for r = d² to be hard ({widest})",
        ),
        Claim(
            "y_LS generalizes poorly: its loss is close to Var y (at least 0.95 of it)",
            ", ".join(f"r = {r:,}: {best[r]['norm_share']:.4f}" for r in shares) or "not measured when this table was made",
            every(best[r]["norm_share"] >= 0.95 for r in shares),
            "too few steps for the two to be told apart from chance" if shares else "an older table",
        ),
        Claim(
            "learning becomes harder and harder as r grows: the best final error increases with r",
            ", ".join(f"r = {r:,}: {value:.3f}" for r, value in zip(units, finals, strict=True)),
            bool(np.all(np.diff(finals) > 0)),
            "the setting: the step sizes and numbers of steps are ours",
        ),
        Claim(
            "the network generalizes if and only if the weights are learned: the two measures rise together (correlation of "
            "their logarithms at least 0.8)",
            f"correlation {correlation:.2f} over {len(pairs)} runs",
            bool(correlation >= 0.8),
            f"too few runs that did not diverge: {len(pairs)}",
        ),
    ]


def _later(row: Row, end: Row) -> bool:
    """Whether it is of the second half of the run that ended so."""
    return bool((row["r"], row["step"]) == (end["r"], end["step"]) and row["steps"] >= end["steps"] / 2)


def _sgd_recipe(figure: str, ensemble: str, words: str) -> Recipe:
    grid = partial(Grid.product, 3, ensemble=ensemble)
    return Recipe(
        "mondelli2019",
        figure,
        f"SGD with {words} weights",
        "One step a fresh row, constant step s, weights started at N(0, I/d). Top: squared error of the average (dashed: "
        "of the last iterate) over that of least squares on ‖x‖², in windows of 10⁴ steps; bottom: mean squared distance to "
        "the nearest weight, both ways. Medians over three truths a step.",
        "as r grows from d to d^{3/2} and d², learning the weights becomes harder and harder, and the network generalizes well "
        "if and only if the weights are learned accurately.",
        {
            "quick": grid(d=20, r=[20, 80, 400], scale=[3e-3, 1e-2, 2e-2], steps=400_000),
            "paper": grid(d=50, r=[50, 350, 2500], scale=[1e-3, 3e-3, 5e-3, 1e-2], steps=5_000_000),
        },
        sgd_trial,
        summarize_sgd,
        draw_sgd,
        claim_sgd,
        cost=lambda point: point["steps"] * (2e-6 + 5e-10 * point["d"] * point["r"]),
        width=10.0,
        height=5.5,
    )


RECIPES = [
    _sgd_recipe("fig1", "haar", "Haar distributed"),
    _sgd_recipe("fig1_gaussian", "gaussian", "centred Gaussian"),
]
