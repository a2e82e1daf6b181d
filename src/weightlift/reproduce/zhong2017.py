"""The figures of zhong2017, §7: rows to recovery, tensor initialization, and three ways to begin the descent.

Teacher   W = U diag(1 … 2) Vᵀ with k = 5 units of squared ReLU, v = ±1 at random; x ~ N(0, I), no noise.
Method    Algorithm 1 literally (raw y, KCL with 100 projections), then gradient descent with η = 0.02, no resampling.
Ours      `recover`; for the initialization `tensor_init` with its default preset. All on the same data.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

import weightlift as wl
from weightlift.plots import FAINT
from weightlift.reproduce.convergence import at_step, draw_quartiles, quartiles, rate, rates_in_words, steps_to, thinned
from weightlift.reproduce.fits import Logistic, Powers, logistic_exponent
from weightlift.reproduce.recipe import Claim, Grid, Recipe, Row, every, none_wrong
from weightlift.reproduce.style import curve, heat
from weightlift.reproduce.tables import column, grouped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

UNITS, ACTIVATION = 5, "squared_relu"
STEP, STEPS = 0.02, 10_000
PRINTED = 1000  # the least n of the paper's grid
SUCCESS = 0.01  # largest relative error of a unit
NEAR, BASIN = 1e-4, 0.15  # relative risk and largest error from which 437 of 437 descents went on to the planted units
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
    """The start and the end of both methods."""
    truth, X, y = problem(rng, d, n)
    rows, seed = wl.samples.open(X, y), int(rng.integers(2**31))
    first = wl.initialization.tensor_init(rows, UNITS, ACTIVATION, preset="paper", rng=seed).network
    ours = wl.initialization.tensor_init(rows, UNITS, ACTIVATION, rng=seed).network
    start, our_start = wl.match(first, truth), wl.match(ours, truth)
    found = wl.recover(X, y, n_units=UNITS, activation=ACTIVATION, rng=seed)
    return {
        "start_error": start.max_error,
        "start_signs": start.signs_agree,
        "recovered": paper_recovers(rows, first, truth),
        "our_start_error": our_start.max_error,
        "our_start_signs": our_start.signs_agree,
        "our_recovered": _recovered(wl.match(found.network, truth)),
        "certified": bool(found.certificate),
    }


def problem(rng: np.random.Generator, d: int, n: int) -> tuple[wl.Network, np.ndarray, np.ndarray]:
    truth = wl.teachers.conditioned(d, UNITS, kappa=2.0, activation=ACTIVATION, rng=rng)
    return truth, *wl.draw(truth, n, rng=rng)


def paper_recovers(rows: wl.samples.Samples, first: wl.Network, truth: wl.Network) -> bool:
    """Whether gradient descent from this start ends at the planted units. With a wrong count of signs it is not begun, and
    it is not followed further once its end is decided, which takes half of the steps."""
    if not wl.match(first, truth).signs_agree:
        return False
    descend = partial(wl.refinement.gradient_descent, rows, step=STEP)
    first_part = descend(first.absorbed(), iterations=STEPS, tol=NEAR)
    there = wl.match(first_part.network, truth)
    if there.signs_agree and there.max_error <= BASIN and first_part.ending.name == "CONVERGED":
        return True
    whole = descend(first_part.network, iterations=STEPS + 1 - len(first_part.risks), tol=DECIDED)
    return _recovered(wl.match(whole.network, truth))


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
            "paper_failed": sum(not row["recovered"] for row in rows),
            "paper_failed_by_signs": sum(not row["recovered"] and not row["start_signs"] for row in rows),
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
    """Left: the paper's figure, on the paper's n; right: the n with 90 % recovery of both methods."""
    left, right = figure.subplots(1, 2)
    printed = [row for row in rows if row["n"] >= PRINTED]
    inputs, sizes, rates = _matrix(printed, "paper")
    heat(left, inputs, sizes, rates, low=0, high=1, label="recovery rate")
    d, least = boundary(printed, "paper")
    at = [sizes.index(n) if np.isfinite(n) else np.nan for n in least]
    left.plot([inputs.index(value) for value in d], at, color="white", marker="o", markeredgecolor="black", linewidth=1)
    left.set(title="zhong2017; line: all trials recover", xlabel="inputs d", ylabel="samples n")
    for i, (method, label) in enumerate(METHODS.items()):
        draw_thresholds(right, i, Thresholds.of(rows, method), boundary(rows, method)[1], label)
    right.plot(inputs, UNITS * np.array(inputs), color=FAINT, linestyle=":", label="as many rows as parameters")
    right.set(title="90 % recovery, 95 % interval", xlabel="inputs d", ylabel="samples n", xscale="log", yscale="log")
    shown = [value for value in inputs if value not in (60, 70, 80, 90)]  # whose labels would touch
    right.set_xticks(shown, [f"{value:g}" for value in shown])
    right.set_ylim(top=10 * right.get_ylim()[1])  # room for the legend
    right.legend(loc="upper left")


def draw_thresholds(ax: Axes, i: int, found: Thresholds, least: np.ndarray, label: str) -> None:
    """n over d with intervals; a triangle that points down at the least n of the grid where no trial failed."""
    told = found.high < 100 * found.low
    d, n, low, high = (values[told] for values in (found.d, *(found.d * r for r in (found.ratio, found.low, found.high))))
    curve(ax, i, d, n, label=label if told.any() else None)
    color = ax.lines[-1].get_color()
    ax.errorbar(d, n, yerr=[n - low, high - n], fmt="none", capsize=3, elinewidth=1, ecolor=color)
    if not told.all():
        ax.plot(found.d[~told], least[~told], marker="v", linestyle="", color=color, label=f"{label}, at most")


@dataclass(frozen=True)
class Thresholds:
    """The n at which 90 % of the trials recover, over d, with 95 % intervals, and the γ of n ∝ d^γ, by logistic regression."""

    d: np.ndarray
    ratio: np.ndarray  # n/d
    low: np.ndarray
    high: np.ndarray
    exponent: float
    error: float  # standard error of the exponent

    @classmethod
    def of(cls, rows: list[Row], method: str) -> Thresholds:
        parts = [part for _, part in grouped(rows, "d")]
        d = np.array([float(part[0]["d"]) for part in parts])
        trials = np.stack([column(part, "trials") for part in parts])
        hits = trials * np.stack([column(part, method) for part in parts])
        sizes = np.stack([column(part, "n") for part in parts])
        n, low, high = Logistic.fitted(sizes, hits, trials).thresholds(0.9)
        law = logistic_exponent(sizes.ravel(), np.repeat(d, sizes.shape[1]), hits.ravel(), trials.ravel())
        return cls(d, n / d, low / d, high / d, *(law if len(d) > 1 else (np.nan, np.nan)))

    @property
    def proportional(self) -> bool | None:
        """Whether γ = 1 ± 0.25; None where its 95 % interval is wider than that."""
        return bool(abs(self.exponent - 1) <= 0.25) if 1.96 * self.error <= 0.25 else None

    def __str__(self) -> str:
        each = zip(self.d, self.ratio, self.low, self.high, strict=True)
        told = [(d, f"{ratio:.0f} ({low:.0f}–{high:.0f})" if high < 100 * low else "not told") for d, ratio, low, high in each]
        places = ", ".join(f"{words} at d = {d:g}" for d, words in told)
        return f"n ∝ d^γ, γ = {self.exponent:.2f} ± {1.96 * self.error:.2f}; n/d = {places}"


def claim_proportional(rows: list[Row]) -> Claim:
    """Of the n with 90 % recovery: the least n with all trials right is decided by chance, even under a law that is exact."""
    failed, signs = (sum(row[name] for row in rows) for name in ("paper_failed", "paper_failed_by_signs"))
    found = Thresholds.of(rows, "paper")
    return Claim(
        "the n with 90 % recovery by the paper's method is about proportional to d: n ∝ d^γ, γ = 1 ± 0.25",
        f"{found}. Of {failed} failures {signs} are a wrong count of signs at the start, which no descent repairs",
        found.proportional,
        "too few trials for an interval below ± 0.25"
        if found.proportional is None
        else "the literal start decides, not the descent: the signs' count needs more rows than the directions",
    )


def claim_recovery(rows: list[Row]) -> list[Claim]:
    (d, least), (_, ours) = boundary(rows, "paper"), boundary(rows, "ours")
    p = UNITS * d
    ratio = np.nanmedian(least / ours) if np.isfinite(least / ours).any() else np.nan
    fewer = np.nan_to_num(ours, nan=np.inf) <= np.nan_to_num(least, nan=np.inf)  # where one of them is known
    short = [f"d = {row['d']}, n = {row['n']:,}: {row['ours']:.0%}" for row in rows if row["ours"] < 1]
    return [
        claim_proportional(rows),
        Claim(
            "`recover` needs no more rows than the paper's method at any d",
            f"median ratio of the two least n with all trials right: {ratio:.1f}; ours at most {np.nanmax(ours / p):.1f} rows "
            "a parameter"
            if np.isfinite(ours).any()
            else "no 100 % in this grid",
            every(fewer[np.isfinite(least) | np.isfinite(ours)]),
            f"`recover` is not always right at {'; '.join(short)}",
        ),
        none_wrong(rows),
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
            "too few trials: the mean of a few errors, each up to 2, is decided by single wrong signs",
        )
    )
    laws = {method: Powers.fitted([column(rows, "n"), column(rows, "d")], column(rows, method)) for method in METHODS}
    law = laws["paper"]
    claims.append(
        Claim(
            "the error depends on n and on d, falling with one and rising with the other (by two standard errors each)",
            "; ".join(f"{label}: {in_words(laws[name])}" for name, label in METHODS.items()),
            bool(law.exponents[0] < -2 * law.errors[0] and law.exponents[1] > 2 * law.errors[1]),
            "too few trials, or errors near one, where they no longer grow",
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
            "with few rows a parameter both are near one",
        )
    )
    return claims


def in_words(law: Powers) -> str:
    (n, d), (dn, dd) = law.exponents, law.errors
    return f"error ∝ n^({n:.2f} ± {dn:.2f}) d^({d:.2f} ± {dd:.2f}), R² = {law.r2:.2f}"


def descent_trial(rng: np.random.Generator, *, d: int, n: int) -> Row:
    """Relative risks of the approaches before every tenth step."""
    truth, X, y = problem(rng, d, n)
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
        Claim(
            f"approach I is the fastest: fewest steps to {level:g}",
            f"I {first:g}, III {third:g}",
            bool(first < third),
            "too few trials: the median of the tensor starts is not yet near the truth",
        ),
        Claim(
            "approach II does not converge: at most half of its runs",
            f"{second['II']:.0%} of the trials have, after {ITERATIONS} steps; {second['II ±1']:.0%} with v projected to ±1",
            bool(second["II"] <= 0.5),
            "too few trials, or the paper's claim: some random starts do converge",
        ),
        Claim(
            "I and III converge at a linear rate once the objective is small (R² ≥ 0.9)",
            rates_in_words(lines),
            all(line.points > 4 and line.r2 >= 0.9 and line.slope < 0 for line in lines.values()),
            "the median is small at few steps: " + ", ".join(f"{name} {line.points}" for name, line in lines.items()),
        ),
        Claim(
            "Gauss–Newton from our start is exact within 30 steps",
            f"{ours:g} steps to 1e-20",
            bool(ours <= 30),
            "too few trials: the median start is not yet near the truth",
        ),
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


def _with_few_rows(size: str, *ratios: float) -> Grid:
    """The grid, and fewer rows at each d: so many a parameter, from where on `recover` succeeds."""
    grid = RECOVERY_GRIDS[size]
    inputs = sorted({point["d"] for point in grid.points})
    return grid + Grid(tuple({"d": d, "n": round(ratio * UNITS * d)} for d in inputs for ratio in ratios), grid.trials)


RECIPES = [
    Recipe(
        "zhong2017",
        "fig1a",
        "Sample complexity for recovery",
        "k = 5 units of squared ReLU, κ = 2, v = ±1; tensor initialization and gradient descent with η = 0.02 as in the paper, "
        "and `recover`. Recovered: every unit within 1 % and every sign of v right. Left: the paper's grid. Right: where 90 % "
        "recover, by logistic regression on log n, one slope for all d; for `recover` with fewer rows than the paper has.",
        "the least number of samples for 100 % recovery is about proportional to the dimension.",
        {"quick": _with_few_rows("quick", 1.2, 1.6, 2.4), "paper": _with_few_rows("paper", 1.2, 1.4, 1.8)},
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
