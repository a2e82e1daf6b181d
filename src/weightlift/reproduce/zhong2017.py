"""The figures of zhong2017, §7: rows to recovery, tensor initialization, and three ways to begin the descent.

Teacher   W = U diag(1 … 2) Vᵀ with k = 5 units of squared ReLU, v = ±1 at random; x ~ N(0, I), no noise.
Method    Algorithm 1 literally (raw y, KCL with 100 projections), then gradient descent with η = 0.02, no resampling.
Ours      `recover`; for the initialization `tensor_init` with its default preset. All on the same data.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

import weightlift as wl
from weightlift.plots import FAINT
from weightlift.reproduce.convergence import at_step, draw_quartiles, quartiles, rate, rates_in_words, steps_to, thinned
from weightlift.reproduce.recipe import Claim, Grid, Recipe, Row, every
from weightlift.reproduce.style import heat
from weightlift.reproduce.tables import Line, column, grouped, logistic_thresholds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UNITS, ACTIVATION = 5, "squared_relu"
STEP, STEPS = 0.02, 10_000
SUCCESS = 0.01  # largest relative error of a unit
DECIDED = 1e-7  # relative risk: units are then right to about 0.003
ITERATIONS, EVERY = 1000, 10
METHODS = {"paper": "zhong2017", "ours": "Weightlift"}
APPROACHES = {
    "I": "I: tensor start, v fixed",
    "II": "II: random v and W, both descend",
    "II ±1": "II with v projected to ±1",
    "III": "III: true v, random W",
    "ours": "Weightlift: tensor start, Gauss–Newton",
}


def recovery_trial(rng: np.random.Generator, *, d: int, n: int) -> Row:
    """The start and the end of both methods. v is fixed in the descent: with a wrong count of signs it is not begun."""
    truth, X, y = _problem(rng, d, n)
    rows, seed = wl.samples.open(X, y), int(rng.integers(2**31))
    first = wl.initialization.tensor_init(rows, UNITS, ACTIVATION, preset="paper", rng=seed).network
    ours = wl.initialization.tensor_init(rows, UNITS, ACTIVATION, rng=seed).network
    start, our_start = wl.match(first, truth), wl.match(ours, truth)
    end = start
    if start.signs_agree:
        descent = wl.refinement.gradient_descent(rows, first.absorbed(), step=STEP, iterations=STEPS, tol=DECIDED)
        end = wl.match(descent.network, truth)
    found = wl.recover(X, y, n_units=UNITS, activation=ACTIVATION, rng=seed)
    our_end = wl.match(found.network, truth)
    return {
        "start_error": start.max_error,
        "start_signs": start.signs_agree,
        "recovered": _recovered(end),
        "our_start_error": our_start.max_error,
        "our_start_signs": our_start.signs_agree,
        "our_recovered": _recovered(our_end),
        "certified": bool(found.certificate),
    }


def _problem(rng: np.random.Generator, d: int, n: int) -> tuple[wl.Network, np.ndarray, np.ndarray]:
    truth = wl.teachers.conditioned(d, UNITS, kappa=2.0, activation=ACTIVATION, rng=rng)
    return truth, *wl.draw(truth, n, rng=rng)


def _recovered(found: Any) -> bool:
    return bool(found.max_error <= SUCCESS and found.signs_agree)


def summarize_recovery(trials: list[Row]) -> list[Row]:
    return [
        {
            "d": d,
            "n": n,
            "trials": len(rows),
            "paper": float(np.mean(column(rows, "recovered"))),
            "ours": float(np.mean(column(rows, "our_recovered"))),
            "ours_certified": float(np.mean(column(rows, "certified"))),
            "certified_but_wrong": sum(row["certified"] and not row["our_recovered"] for row in rows),
        }
        for (d, n), rows in grouped(trials, "d", "n")
    ]


def boundary(rows: list[Row], method: str) -> tuple[np.ndarray, np.ndarray]:
    """d, and the least n of the grid with all trials recovered, NaN where there is none."""
    inputs, least = [], []
    for (d,), part in grouped(rows, "d"):
        inputs.append(d)
        least.append(min((row["n"] for row in part if row[method] == 1.0), default=np.nan))
    return np.array(inputs, dtype=float), np.array(least, dtype=float)


def draw_recovery(figure: Figure, rows: list[Row]) -> None:
    axes = figure.subplots(1, 2, sharey=True)
    for ax, (method, label) in zip(axes, METHODS.items(), strict=True):
        inputs, sizes, rates = _matrix(rows, method)
        heat(ax, inputs, sizes, rates, low=0, high=1, label="recovery rate")
        d, least = boundary(rows, method)
        at = [sizes.index(n) if np.isfinite(n) else np.nan for n in least]
        ax.plot([inputs.index(value) for value in d], at, color="white", marker="o", markeredgecolor="black", linewidth=1)
        ax.set(title=f"{label}; line: all trials recover", xlabel="inputs d")
    axes[0].set_ylabel("samples n")


def claim_recovery(rows: list[Row]) -> list[Claim]:
    d, least = boundary(rows, "paper")
    line, (_, ours) = Line.fitted(d, least), boundary(rows, "ours")
    inputs, sizes, rates = _matrix(rows, "paper")
    smooth = logistic_thresholds(sizes, rates.T, 0.9)
    fitted = Line.fitted(inputs, smooth)
    p = UNITS * d
    enough = np.isfinite(line.r2) and line.points >= 3
    ratio = np.nanmedian(least / ours) if np.isfinite(least / ours).any() else np.nan
    fewer = np.nan_to_num(ours, nan=np.inf) <= np.nan_to_num(least, nan=np.inf)  # where one of them is known
    wrong = sum(row["certified_but_wrong"] for row in rows)
    fit = f"n = {line.slope:.0f} d {line.intercept:+.0f}, R² = {line.r2:.2f} over {line.points} values of d"
    return [
        Claim(
            "the least n with 100 % recovery by the paper's method is about proportional to d: a line with R² ≥ 0.9",
            fit if enough else f"100 % is reached at {line.points} values of d only",
            bool(line.r2 >= 0.9 and line.slope > 0) if enough else None,
        ),
        Claim(
            "the same of the n with 90 % recovery by a logistic fit, which chance moves less",
            f"n = {fitted.slope:.0f} d {fitted.intercept:+.0f}, R² = {fitted.r2:.2f}",
            bool(fitted.r2 >= 0.9 and fitted.slope > 0) if fitted.points >= 3 else None,
        ),
        Claim(
            "`recover` needs no more rows than the paper's method at any d",
            f"median ratio of the two least n: {ratio:.1f} (ours is bounded by the grid); ours at most "
            f"{np.nanmax(ours / p):.1f} rows a parameter" if np.isfinite(ours).any() else "no 100 % in this grid",
            every(fewer[np.isfinite(least) | np.isfinite(ours)]),
        ),
        Claim("no network is certified that is not the planted one", f"{wrong} wrong certificates", wrong == 0),
    ]


def summarize_start(trials: list[Row]) -> list[Row]:
    return [
        {
            "d": d,
            "n": n,
            "trials": len(rows),
            "paper": float(np.mean(column(rows, "start_error"))),
            "paper_wrong_signs": int(np.sum(column(rows, "start_signs") == 0)),
            "ours": float(np.mean(column(rows, "our_start_error"))),
            "ours_wrong_signs": int(np.sum(column(rows, "our_start_signs") == 0)),
        }
        for (d, n), rows in grouped(trials, "d", "n")
    ]


def draw_start(figure: Figure, rows: list[Row]) -> None:
    axes = figure.subplots(1, 2, sharey=True)
    for ax, (method, label) in zip(axes, METHODS.items(), strict=True):
        inputs, sizes, errors = _matrix(rows, method)
        _, _, wrong = _matrix(rows, f"{method}_wrong_signs")
        heat(ax, inputs, sizes, np.where(wrong > 0, np.nan, errors), low=0, high=1.5, label="mean error", colors="cividis_r")
        ax.set(title=f"{label}; black: Σv wrong in some trial", xlabel="inputs d")
    axes[0].set_ylabel("samples n")


def claim_start(rows: list[Row]) -> list[Claim]:
    claims = []
    falls = [row["paper"] > later["paper"] for _, part in grouped(rows, "d") for row, later in pairwise(part)]
    whole = [part[0]["paper"] > part[-1]["paper"] for _, part in grouped(rows, "d")]
    claims.append(
        Claim(
            "with d fixed, more samples give a better start: the error at the largest n is below that at the smallest",
            f"at {sum(whole)} of {len(whole)} values of d; {np.mean(falls):.0%} of single steps in n lower it",
            all(whole),
        )
    )
    near = Line.of_powers(column(rows, "n") / column(rows, "d"), column(rows, "paper"))
    own = Line.of_powers(column(rows, "n") / column(rows, "d"), column(rows, "ours"))
    claims.append(
        Claim(
            "the error depends on n/d: a power of n/d explains most of its variation (R² ≥ 0.5)",
            f"error ∝ (n/d)^{near.slope:.2f}, R² = {near.r2:.2f}; ours (n/d)^{own.slope:.2f}, R² = {own.r2:.2f}",
            bool(near.r2 >= 0.5 and near.slope < 0),
        )
    )
    better = np.mean(column(rows, "ours") < column(rows, "paper"))
    wrong = [sum(row[f"{method}_wrong_signs"] for row in rows) for method in METHODS]
    ratio = np.median(column(rows, "paper") / column(rows, "ours"))
    claims.append(
        Claim(
            "the default preset gives a better start than the paper's on the same data",
            f"smaller mean error at {better:.0%} of the grid, median ratio {ratio:.1f}; wrong counts of signs in {wrong[1]} "
            f"trials against {wrong[0]}",
            bool(better >= 0.9),
        )
    )
    return claims


def descent_trial(rng: np.random.Generator, *, d: int, n: int) -> Row:
    """Relative risks of the approaches before every tenth step."""
    truth, X, y = _problem(rng, d, n)
    rows, seed, energy = wl.samples.open(X, y), int(rng.integers(2**31)), float(np.mean(y**2)) / 2
    tensor = wl.initialization.tensor_init(rows, UNITS, ACTIVATION, preset="paper", rng=seed).network.absorbed()
    random = wl.initialization.gaussian_init(d, UNITS, ACTIVATION, rng=seed)
    known = wl.initialization.gaussian_init(d, UNITS, ACTIVATION, output_weights=truth.a, rng=seed)
    starts = {"I": (tensor, "fixed"), "II": (random, "free"), "II ±1": (random, "signs"), "III": (known, "fixed")}
    risks = {}
    for name, (start, weights) in starts.items():
        descent = wl.refinement.gradient_descent(rows, start, step=STEP, iterations=ITERATIONS, output_weights=weights)
        risks[name] = thinned(descent.risks / energy, EVERY)
    ours = wl.initialization.tensor_init(rows, UNITS, ACTIVATION, rng=seed).network
    risks["ours"] = (wl.refinement.gauss_newton(rows, ours, iterations=50).history[:, 0] / energy).tolist()
    return {"risks": risks, "start_signs": wl.match(tensor, truth).signs_agree}


def draw_descent(figure: Figure, rows: list[Row]) -> None:
    ax = figure.subplots()
    draw_quartiles(ax, rows, APPROACHES)
    ax.axhline(1.0, color=FAINT, linewidth=0.8, linestyle=":")
    ax.set(ylabel="objective, relative to ½ E y²", xlim=(0, ITERATIONS), ylim=(1e-16, 1e3))
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def claim_descent(rows: list[Row]) -> list[Claim]:
    level = 1e-4
    first, third, ours = steps_to(rows, "I", level), steps_to(rows, "III", level), steps_to(rows, "ours", 1e-20)
    second = {name: at_step(rows, name, ITERATIONS)["converged"] for name in ("II", "II ±1")}
    lines = {name: rate(rows, name, below=1e-2) for name in ("I", "III")}
    return [
        Claim(f"approach I is the fastest: fewest steps to {level:g}", f"I {first:g}, III {third:g}", bool(first < third)),
        Claim(
            "approach II does not converge: at most half of its runs",
            f"{second['II']:.0%} of the trials have, after {ITERATIONS} steps; {second['II ±1']:.0%} with v projected to ±1",
            bool(second["II"] <= 0.5),
        ),
        Claim(
            "I and III converge at a linear rate once the objective is small (R² ≥ 0.9)",
            rates_in_words(lines),
            all(line.points > 4 and line.r2 >= 0.9 and line.slope < 0 for line in lines.values()),
        ),
        Claim("Gauss–Newton from our start is exact within 30 steps", f"{ours:g} steps to 1e-20", bool(ours <= 30)),
    ]


def _matrix(rows: list[Row], name: str) -> tuple[list[int], list[int], np.ndarray]:
    """d, n, and the column as a matrix over n × d."""
    inputs, sizes = sorted({row["d"] for row in rows}), sorted({row["n"] for row in rows})
    values = np.full((len(sizes), len(inputs)), np.nan)
    for row in rows:
        values[sizes.index(row["n"]), inputs.index(row["d"])] = row[name]
    return inputs, sizes, values


RECOVERY_GRIDS = {
    "quick": Grid.product(5, d=(10, 20, 30, 40), n=(1000, 2000, 3000, 4000, 6000, 8000)),
    "paper": Grid.product(10, d=tuple(range(10, 101, 10)), n=tuple(range(1000, 10_001, 1000))),
}

RECIPES = [
    Recipe(
        "zhong2017",
        "fig1a",
        "Sample complexity for recovery",
        "k = 5 units of squared ReLU, κ = 2, v = ±1; tensor initialization and gradient descent with η = 0.02 as in the paper, "
        "and `recover`. Recovered: every unit within 1 % and every sign of v right.",
        "the least number of samples for 100 % recovery is about proportional to the dimension.",
        RECOVERY_GRIDS,
        recovery_trial,
        summarize_recovery,
        draw_recovery,
        claim_recovery,
        cost=lambda point: 0.2 + point["n"] * point["d"] / 2e5,
    ),
    Recipe(
        "zhong2017",
        "fig1b",
        "Tensor initialization error",
        "The largest relative error of a unit after tensor initialization, averaged over the trials of fig1a.",
        "with d fixed, the more samples the better the initialization, and for the same error the sample complexity is about "
        "proportional to the dimension; black blocks, where Σv is wrong in a trial, fill the corner of few samples.",
        RECOVERY_GRIDS,
        recovery_trial,
        summarize_start,
        draw_start,
        claim_start,
        cost=lambda point: 0.2 + point["n"] * point["d"] / 2e5,
    ),
    Recipe(
        "zhong2017",
        "fig1c",
        "Objective against iterations",
        "d = 10, n = 10,000; η = 0.02. Medians and quartiles over the trials. Approach II descends on v too: as the text has "
        "it, and with v projected to ±1 after every step, without which it may diverge.",
        "approach I is the fastest, II does not converge even if more iterations are allowed, and I and III converge linearly "
        "once the objective is small.",
        {"quick": Grid.product(5, d=10, n=10_000), "paper": Grid.product(20, d=10, n=10_000)},
        descent_trial,
        lambda trials: quartiles(trials, {name: 1 if name == "ours" else EVERY for name in APPROACHES}),
        draw_descent,
        claim_descent,
        width=9.5,
    ),
]
