"""The figure of mondelli2019, §6, and a phase diagram of the decompositions that its reductions speak of.

fig1    SGD with averaged iterates, one fresh row a step, tanh(5x/2), r = d, about d^{3/2}, and d² units; Haar weights, and the
        random ones of (11) in fig1_gaussian. The paper gives neither start nor step sizes: here w₀ ~ N(0, I/d) and s ∝ 1/r.
phase   symmetric tensors of orders 3 and 4 with k random unit components in d dimensions, exact: which method finds them.
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
from weightlift.reproduce.limits import LIMITS
from weightlift.reproduce.recipe import Claim, Grid, Recipe, Row
from weightlift.reproduce.style import curve, heat
from weightlift.reproduce.tables import column, grouped
from weightlift.samples import Fresh

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENSEMBLES = {"haar": wl.teachers.haar, "gaussian": wl.teachers.centered_gaussian}
PANELS = (("kcl", 3), ("implicit_cp", 3), ("kcl", 4), ("subspace_power", 4))


def sgd_trial(rng: np.random.Generator, *, ensemble: str, d: int, r: int, scale: float, steps: int) -> Row:
    """Both measures at the ends of a hundred windows, for the step s = scale/r; those of a run that diverged until then."""
    truth = ENSEMBLES[ensemble](d, r, rng=rng)
    start = wl.Network(rng.standard_normal((d, r)) / math.sqrt(d), activation=truth.activation)
    stream = Fresh(truth, seed=int(rng.integers(2**31)), arithmetic="float32")
    window = steps // LIMITS.windows
    try:
        run = wl.refinement.sgd(
            stream, start, step=scale / r, steps=steps, window=window, truth=truth, dtype="float32", progress=False
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
        "diverged": diverged,
    }


def summarize_sgd(trials: list[Row]) -> list[Row]:
    """One row a window; means over the trials, infinite once one diverged."""
    table = []
    for (d, r, scale), rows in grouped(trials, "d", "r", "scale"):
        ends = max((row["steps_at"] for row in rows), key=len) or [0]
        for i, end in enumerate(ends):
            means = {
                name: float(np.mean([row[name][i] if i < len(row[name]) else np.inf for row in rows]))
                for name in ("ratio", "last_ratio", "nearest")
            }
            means["nearest_start"] = float(np.mean(column(rows, "nearest_start")))
            table.append({"d": d, "r": r, "step": scale / r, "steps": end, **means, "trials": len(rows)})
    return table


def draw_sgd(figure: Figure, rows: list[Row]) -> None:
    units = sorted({row["r"] for row in rows})
    axes = figure.subplots(2, len(units), sharex=True, sharey="row", squeeze=False)
    for (top, bottom), r in zip(axes.T, units, strict=True):
        for i, ((step,), part) in enumerate(grouped([row for row in rows if row["r"] == r], "step")):
            steps = column(part, "steps") / 1e6
            curve(top, i, steps, np.clip(column(part, "ratio"), 0, 10), marker="", label=f"s = {step:.1e}")
            color = top.lines[-1].get_color()
            top.plot(steps, np.clip(column(part, "last_ratio"), 0, 10), color=color, linewidth=0.9, linestyle="--")
            curve(bottom, i, steps, np.clip(column(part, "nearest"), 0, 10), marker="")
        top.axhline(1.0, color=FAINT, linewidth=0.8, linestyle=":")
        top.set(title=f"r = {r:,}", ylim=(0, 2))
        bottom.set(xlabel="steps / 10⁶", ylim=(0, None))
        top.legend(fontsize=7.5)
    axes[0, 0].set_ylabel("error / that of the\nbest predictor in ‖x‖²")
    axes[1, 0].set_ylabel("weight error")


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
    return [
        Claim(
            f"r = {units[0]}: with a stable step the running average ends at most at 0.15 of the trivial error, the last "
            "iterate at 0.01",
            f"average {few['ratio']:.3f} (s = {few['step']:.1e}), last iterate {last:.1e}",
            bool(few["ratio"] <= 0.15 and last <= 0.01),
        ),
        Claim(
            f"r = {units[-1]:,}: the generalization error stays near the trivial one (at least 0.8), and the weights as far as "
            "they were (at least 0.8 of the start's distance), for every step",
            f"best step: {many['ratio']:.2f} of the trivial error, {kept:.2f} of the first distance",
            bool(many["ratio"] >= 0.8 and kept >= 0.8) if d >= 50 else None,
        ),
        Claim(
            "learning becomes harder and harder as r grows: the best final error increases with r",
            ", ".join(f"r = {r:,}: {value:.3f}" for r, value in zip(units, finals, strict=True)),
            bool(np.all(np.diff(finals) > 0)),
        ),
        Claim(
            "the network generalizes if and only if the weights are learned: the two measures rise together (correlation of "
            "their logarithms at least 0.8)",
            f"correlation {correlation:.2f} over {len(pairs)} runs",
            bool(correlation >= 0.8),
        ),
    ]


def decomposition_trial(rng: np.random.Generator, *, d: int, k: int, order: int, method: str) -> Row:
    """Random unit components with equal weights; whether all of them are found."""
    U = rng.standard_normal((d, k))
    U /= np.linalg.norm(U, axis=0)
    T = wl.decomposition.compose(np.ones(k), U, order)
    if k > (d if method == "kcl" else d * (d + 1) // 2):  # more components than the method can hold
        return {"found": False, "residual": 1.0}
    found = wl.decompose(T, k, method=method, rng=int(rng.integers(2**31)))
    worst = float(np.min(np.max(np.abs(U.T @ found.factors), axis=1)))
    return {"found": bool(1 - worst <= LIMITS.found), "residual": float(found.residual)}


def summarize_decomposition(trials: list[Row]) -> list[Row]:
    return [
        {
            "method": method,
            "order": order,
            "d": d,
            "k": k,
            "k/d": k / d,
            "trials": len(rows),
            "found": float(np.mean(column(rows, "found"))),
            "other_decomposition": float(np.mean((column(rows, "residual") < 1e-9) & (column(rows, "found") == 0))),
        }
        for (method, order, d, k), rows in grouped(trials, "method", "order", "d", "k")
    ]


def draw_decomposition(figure: Figure, rows: list[Row]) -> None:
    axes = figure.subplots(1, len(PANELS), sharey=True)
    ratios, inputs = sorted({row["k/d"] for row in rows}), sorted({row["d"] for row in rows})
    for ax, (method, order) in zip(axes, PANELS, strict=True):
        values = np.full((len(ratios), len(inputs)), np.nan)
        for row in rows:
            if (row["method"], row["order"]) == (method, order):
                values[ratios.index(row["k/d"]), inputs.index(row["d"])] = row["found"]
        heat(ax, inputs, ratios, values, low=0, high=1, label="share found" if ax is axes[-1] else "")
        bound = [_unique(d, order) / d for d in inputs]
        ax.plot(range(len(inputs)), np.interp(bound, ratios, range(len(ratios))), color="white", marker="o", markersize=3)
        ax.set(title=f"{method.replace('_', ' ')}, order {order}", xlabel="d")
    axes[0].set_ylabel("components k / d")


def _unique(d: int, order: int) -> float:
    """Where components stop to be unique: k < C(d+2, 3)/d for order 3, generically; k ≤ d(d−1)/2 for the squares' span."""
    return (d + 1) * (d + 2) / 6 if order == 3 else d * (d - 1) / 2


def _share(rows: list[Row], method: str, order: int, *, overcomplete: bool) -> tuple[float, int]:
    """The share found, and over how many points: k ≤ d, or k > d as far as components are unique."""
    part = [row for row in rows if (row["method"], row["order"], row["k/d"] > 1) == (method, order, overcomplete)]
    part = [row for row in part if not overcomplete or row["k"] <= _unique(row["d"], order)]
    return (float(np.mean(column(part, "found"))), len(part)) if part else (np.nan, 0)


def claim_decomposition(rows: list[Row]) -> list[Claim]:
    complete = {f"order {order}": _share(rows, "kcl", order, overcomplete=False)[0] for order in (3, 4)}
    fourth = _share(rows, "subspace_power", 4, overcomplete=True)
    third = _share(rows, "implicit_cp", 3, overcomplete=True)
    beyond = [row for row in rows if row["order"] == 3 and row["k"] > _unique(row["d"], 3)]
    reached = float(np.mean(column(beyond, "found"))) if beyond else np.nan
    return [
        Claim(
            "k ≤ d: joint diagonalisation finds all components",
            ", ".join(f"{name}: {value:.0%}" for name, value in complete.items()),
            all(value == 1 for value in complete.values()),
        ),
        Claim(
            "k > d, order 4: the subspace power method finds them up to k = d(d − 1)/2 (at least 90 %)",
            f"{fourth[0]:.0%} over {fourth[1]} points",
            bool(fourth[0] >= 0.9),
        ),
        Claim(
            "k > d, order 3: least squares from random starts finds them while they are unique (at least 90 %)",
            f"{third[0]:.0%} over {third[1]} points",
            bool(third[0] >= 0.9),
        ),
        Claim(
            "order 3, beyond (d + 1)(d + 2)/6 components: none is found, as they are not unique",
            f"{reached:.0%} over {len(beyond)} points" if beyond else "no such points",
            bool(reached <= 0.05) if beyond else None,
        ),
    ]


def _phase_grid(trials: int, inputs: tuple[int, ...], ratios: tuple[float, ...]) -> Grid:
    grid = Grid.product(trials, panel=PANELS, d=inputs, ratio=ratios)
    points = ((point["d"], round(point["ratio"] * point["d"]), *point["panel"]) for point in grid.points)
    return Grid(tuple({"d": d, "k": k, "order": order, "method": method} for d, k, method, order in points), trials)


def _sgd_recipe(figure: str, ensemble: str, words: str) -> Recipe:
    grid = partial(Grid.product, 1, ensemble=ensemble)
    return Recipe(
        "mondelli2019",
        figure,
        f"SGD with {words} weights",
        "One step a fresh row, constant step s, weights started at N(0, I/d). Top: squared error of the average (dashed: "
        "of the last iterate) over that of least squares on ‖x‖², in a hundred windows; bottom: mean squared distance to the "
        "nearest weight, both ways.",
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
    Recipe(
        "mondelli2019",
        "phase",
        "Phase diagram of symmetric decomposition",
        "Exact tensors Σ uᵢ^{⊗p} with k random unit vectors in d dimensions; found: every component within 1 − |cos| ≤ 10⁻⁶. "
        "Line: where components stop to be unique, k = (d+1)(d+2)/6 for order 3; for order 4, where the span of their squares "
        "holds other ones, k = d(d−1)/2.",
        "tensor decomposition is believed to be hard for random components and order 3 when r ≫ d^{3/2}; for a small d that "
        "border lies beyond uniqueness.",
        {
            "quick": _phase_grid(3, (4, 6, 8), (0.5, 1.0, 1.5, 2.0, 2.5, 3.0)),
            "paper": _phase_grid(10, (4, 6, 8, 10, 12), (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0)),
        },
        decomposition_trial,
        summarize_decomposition,
        draw_decomposition,
        claim_decomposition,
        cost=lambda point: (10 if point["method"] == "implicit_cp" else 1) * point["k"] ** 2 * point["d"] ** 2,
        width=11.0,
    ),
]
