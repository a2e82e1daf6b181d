"""zhong2017, §7, with the two laws of its text measured: rows for recovery over d, and the start's error over n and d.

fig1a_rows   the paper's method alone, at fixed n/d and with many trials: where 90 % recover, with an interval. On the paper's
             own grid the least n with ten of ten trials right scatters too much for a law to show.
fig1b_rate   both starts at n = 10⁴ … 10⁵, where errors are small: n and d have an exponent each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import weightlift as wl
from weightlift.plots import FAINT
from weightlift.reproduce.fits import Powers
from weightlift.reproduce.recipe import Claim, Grid, Recipe, Row
from weightlift.reproduce.style import curve
from weightlift.reproduce.tables import column, grouped
from weightlift.reproduce.zhong2017 import (
    ACTIVATION,
    METHODS,
    UNITS,
    Thresholds,
    claim_proportional,
    in_words,
    paper_recovers,
    problem,
    summarize_start,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def rows_trial(rng: np.random.Generator, *, d: int, n: int) -> Row:
    """Whether the paper's method recovers, and whether its start has the right signs."""
    truth, X, y = problem(rng, d, n)
    rows, seed = wl.samples.open(X, y), int(rng.integers(2**31))
    first = wl.initialization.tensor_init(rows, UNITS, ACTIVATION, preset="paper", rng=seed).network
    return {"start_signs": wl.match(first, truth).signs_agree, "recovered": paper_recovers(rows, first, truth)}


def summarize_rows(trials: list[Row]) -> list[Row]:
    return [
        {
            "d": d,
            "n": n,
            "n/d": n / d,
            "trials": len(rows),
            "paper": float(np.mean(column(rows, "recovered"))),
            "paper_failed": sum(not row["recovered"] for row in rows),
            "paper_failed_by_signs": sum(not row["recovered"] and not row["start_signs"] for row in rows),
        }
        for (d, n), rows in grouped(trials, "d", "n")
    ]


def draw_rows(figure: Figure, rows: list[Row]) -> None:
    left, right = figure.subplots(1, 2)
    for i, ((d,), part) in enumerate(grouped(rows, "d")):
        curve(left, i, column(part, "n/d"), column(part, "paper"), label=f"d = {d}")
    left.axhline(0.9, color=FAINT, linewidth=0.8, linestyle=":")
    left.set(xscale="log", xlabel="n / d", ylabel="share of trials recovered", ylim=(-0.03, 1.03))
    left.legend()
    found = Thresholds.of(rows, "paper")
    spread = np.abs(np.stack([found.low, found.high]) - found.ratio)
    right.errorbar(found.d, found.ratio, yerr=spread, marker="o", capsize=3, color=left.lines[0].get_color())
    right.set(xscale="log", xlabel="inputs d", ylabel="n / d for 90 %, 95 % interval", ylim=(0, None))
    right.set_xticks(found.d, [f"{d:g}" for d in found.d])


def claim_rows(rows: list[Row]) -> list[Claim]:
    return [claim_proportional(rows)]


def start_trial(rng: np.random.Generator, *, d: int, n: int) -> Row:
    """Largest errors of a unit and agreement of signs at both starts."""
    truth, X, y = problem(rng, d, n)
    rows, seed = wl.samples.open(X, y), int(rng.integers(2**31))
    found: Row = {}
    for prefix, preset in (("", "paper"), ("our_", "default")):
        start = wl.match(wl.initialization.tensor_init(rows, UNITS, ACTIVATION, preset=preset, rng=seed).network, truth)
        found |= {f"{prefix}start_error": start.max_error, f"{prefix}start_signs": start.signs_agree}
    return found


def draw_rate(figure: Figure, rows: list[Row]) -> None:
    axes = figure.subplots(1, 2, sharey=True)
    for ax, (method, label) in zip(axes, METHODS.items(), strict=True):
        for i, ((d,), part) in enumerate(grouped(rows, "d")):
            curve(ax, i, column(part, "n"), column(part, method), label=f"d = {d}")
        n = np.array(sorted({row["n"] for row in rows}), dtype=float)
        last = np.median([row[method] for row in rows if row["n"] == n[-1]])
        ax.plot(n, last * np.sqrt(n[-1] / n), color=FAINT, linestyle=":", label="n^(−1/2)")
        ax.set(title=label, xlabel="samples n", xscale="log", yscale="log")
    axes[0].set_ylabel("mean error of the start")
    axes[1].legend()


def claim_rate(rows: list[Row]) -> list[Claim]:
    laws = {method: Powers.fitted([column(rows, "n"), column(rows, "d")], column(rows, method)) for method in METHODS}
    ratio = column(rows, "paper") / column(rows, "ours")
    wrong = {method: sum(row[f"{method}_wrong_signs"] for row in rows) for method in METHODS}
    claims = [
        Claim(
            f"{label}: the error falls as n^(−1/2) (± 0.15)",
            f"{in_words(laws[method])}; wrong counts of signs in {wrong[method]} trials",
            bool(abs(laws[method].exponents[0] + 0.5) <= 0.15) if laws[method].points > 3 else None,
            f"errors are {np.mean(column(rows, method)):.2f} in the mean: too large for a law of small ones, and single wrong "
            "signs weigh in them",
        )
        for method, label in METHODS.items()
    ]
    (n, d), (dn, dd) = laws["paper"].exponents, laws["paper"].errors
    gamma, error = -d / n, 1.96 * float(np.hypot(dd, dn * d / n)) / abs(n)
    return [
        *claims,
        Claim(
            "for the same error the rows are about proportional to the inputs: n ∝ d^γ, γ = 1 ± 0.3 (paper's start)",
            f"γ = {gamma:.2f} ± {error:.2f}",
            bool(abs(gamma - 1) <= 0.3) if error <= 0.3 else None,
            f"the paper's claim is an upper bound. Here {_in_parts(rows)}"
            if error <= 0.3
            else "too few trials for an interval below ± 0.3",
        ),
        Claim(
            "the default preset gives a better start than the paper's on the same data, at every point",
            f"mean errors differ by a factor of {np.median(ratio):.1f} in the median, {ratio.min():.1f} at least",
            bool(ratio.min() > 1),
            "too few trials at some points",
        ),
    ]


def _in_parts(rows: list[Row]) -> str:
    """n · error² = A + B d by least squares of relative deviations: B d is of span(W), found in d dimensions, A of the rest."""
    d, size = column(rows, "d"), column(rows, "n") * column(rows, "paper") ** 2
    Z = np.column_stack([np.ones_like(d), d]) / size[:, None]
    (fixed, slope), left, *_ = np.linalg.lstsq(Z, np.ones_like(d), rcond=None)
    shares = " and ".join(f"{slope * x / (fixed + slope * x):.0%} at d = {x:g}" for x in (d.min(), d.max()))
    return (
        f"n · error² = {fixed:.0f} + {slope:.0f} d within {np.sqrt(left[0] / len(d)):.0%}, the term in d being {shares}: the "
        "tensor and the lengths, estimated in k dimensions, err as much as the span does"
    )


def _by_ratio(trials: int, inputs: tuple[int, ...], ratios: tuple[int, ...]) -> Grid:
    return Grid(tuple({"d": d, "n": d * ratio} for d in inputs for ratio in ratios), trials)


RECIPES = [
    Recipe(
        "zhong2017",
        "fig1a_rows",
        "Rows an input for 90 % recovery",
        "The method of fig1a at fixed n/d. Where 90 % of the trials recover: logistic regression on log n, one slope for all "
        "d.",
        "the least number of samples for 100 % recovery is about proportional to the dimension.",
        {
            "quick": _by_ratio(10, (10, 20, 40), (5, 20, 80, 320)),
            "paper": _by_ratio(60, (10, 20, 40, 80), (4, 10, 25, 60, 150, 400)),
        },
        rows_trial,
        summarize_rows,
        draw_rows,
        claim_rows,
        cost=lambda point: 0.1 + point["n"] * point["d"] / 4e5,
    ),
    Recipe(
        "zhong2017",
        "fig1b_rate",
        "Tensor initialization error at many samples",
        "The largest relative error of a unit after tensor initialization, averaged over the trials; least squares of its "
        "logarithm on those of n and d.",
        "with d fixed, the more samples the better the initialization; for the same error the sample complexity is about "
        "proportional to the dimension.",
        {
            "quick": Grid.product(5, d=(10, 20, 30), n=(10_000, 30_000, 100_000)),
            "paper": Grid.product(20, d=(10, 20, 30, 40, 50), n=(10_000, 20_000, 40_000, 70_000, 100_000)),
        },
        start_trial,
        summarize_start,
        draw_rate,
        claim_rate,
        cost=lambda point: 0.2 + point["n"] * point["d"] / 1e6,
    ),
]
