"""Experiments for awasthi2021, which has none of its own: ReLU units with biases, from Hermite coefficients.

Teacher   wᵢ uniform on the sphere, |aᵢ| in [1/2, 3/2] with either sign, x ~ N(0, I), no noise.
Paper     Algorithms 1–3, preset "paper" of `hermite_init`: two tensors decomposed by Jennrich, RECOVERSCALARS, FIXSIGNS.
Joint     its default preset: one joint diagonalisation of T_2, T_3, T_4 of residual y, scalars by least squares.
Ours      `recover`: such a start, or a search, refined and certified. All on the same data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import weightlift as wl
from weightlift.errors import WeightliftError
from weightlift.plots import FAINT
from weightlift.reproduce.fits import Line, Powers
from weightlift.reproduce.limits import LIMITS
from weightlift.reproduce.recipe import Claim, Grid, Recipe, Row, every, none_wrong
from weightlift.reproduce.style import curve, key
from weightlift.reproduce.tables import column, grouped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROUTES = {"paper": "two tensors, Jennrich (paper)", "joint": "joint diagonalisation", "ours": "recover"}


def start_trial(rng: np.random.Generator, *, d: int, k: int, n: int, bias: float | None) -> Row:
    """Errors of both routes and of `recover`; biases uniform in [−1, 1], or all of size `bias`."""
    truth = wl.teachers.biased(d, k, rng=rng)
    if bias is not None:
        truth = wl.Network(truth.W, truth.a, bias * rng.choice([-1.0, 1.0], k), activation="relu")
    X, y = wl.draw(truth, n, rng=rng)
    rows, seed = wl.samples.open(X, y), int(rng.integers(2**31))
    errors = {name: _start_error(rows, truth, preset, seed) for name, preset in (("paper", "paper"), ("joint", "default"))}
    found = wl.recover(X, y, n_units=k, bias=True, max_work=LIMITS.work, rng=seed)
    return {**errors, "ours": wl.match(found.network, truth).worst_unit, "certified": bool(found.certificate)}


def _start_error(rows: wl.samples.Samples, truth: wl.Network, preset: str, seed: int) -> float:
    try:
        start = wl.initialization.hermite_init(rows, truth.n_units, "relu", order=1, preset=preset, rng=seed)
    except WeightliftError:
        return LIMITS.failed
    return min(LIMITS.failed, wl.match(start.network, truth).worst_unit)


def summarize_starts(trials: list[Row]) -> list[Row]:
    return [
        {
            "d": d,
            "k": k,
            "n": n,
            "bias": bias,
            "trials": len(rows),
            **{name: float(np.median(column(rows, name))) for name in ROUTES},
            **{f"{name}_within_half": float(np.mean(column(rows, name) <= 0.5)) for name in ("paper", "joint")},
            "recovered": float(np.mean(column(rows, "ours") <= LIMITS.right)),
            "certified_but_wrong": sum(row["certified"] and row["ours"] > LIMITS.right for row in rows),
        }
        for (d, k, n, bias), rows in grouped(trials, "d", "k", "n", "bias")
    ]


def draw_rate(figure: Figure, rows: list[Row]) -> None:
    ax = figure.subplots()
    for i, name in enumerate(("paper", "joint")):
        curve(ax, i, column(rows, "n"), column(rows, name), label=ROUTES[name])
    key(ax, f"recover: at most {np.max(column(rows, 'ours')):.0e}, far below", linestyle="")
    guide = column(rows, "n")
    ax.plot(guide, rows[-1]["joint"] * np.sqrt(guide[-1] / guide), color=FAINT, linestyle=":", label="n^(−1/2)")
    ax.set(xscale="log", yscale="log", xlabel="samples n", ylabel="median error of the worst unit")
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


def claim_rate(rows: list[Row]) -> list[Claim]:
    half = [row for row in rows if row["joint"] < 0.5]
    lines = {name: Line.of_powers(column(rows, "n"), column(rows, name)) for name in ("paper", "joint")}
    tail = Line.of_powers(column(half, "n"), column(half, "joint")) if len(half) > 1 else lines["joint"]
    error = float(Powers.fitted([column(half, "n")], column(half, "joint")).errors[0])
    ratio = float(np.median(column(rows, "paper") / column(rows, "joint")))
    return [
        Claim(
            "the paper's algorithm recovers the units from polynomially many samples: its error falls as n grows",
            f"median error {rows[0]['paper']:.2g} at n = {rows[0]['n']:,}, {rows[-1]['paper']:.2g} at n = {rows[-1]['n']:,}; "
            f"within 1/2 there: {rows[-1]['paper_within_half']:.0%} of the networks",
            bool(rows[-1]["paper"] < min(0.5, rows[0]["paper"])),
            f"too few rows for Jennrich on two slices: the joint route has {rows[-1]['joint']:.2g} there",
        ),
        Claim(
            "the joint route falls as n^(−1/2) (slope −0.5 ± 0.15) once it is below 1/2",
            f"slope {tail.slope:.2f} ± {error:.2f} over {tail.points} points",
            bool(abs(tail.slope + 0.5) <= 0.15) if tail.points > 2 else None,
            f"too few trials, {rows[0]['trials']} a point: {abs(tail.slope + 0.5) / error:.1f} standard errors from −1/2",
        ),
        Claim(
            "one joint diagonalisation is more accurate than two tensors",
            f"median ratio {ratio:.1f}",
            bool(ratio > 1),
            f"too few trials, {rows[0]['trials']} a point: medians "
            + ", ".join(f"{row['joint']:.2g} against {row['paper']:.2g}" for row in rows),
        ),
        Claim(
            "refined, the units are exact",
            "recovered " + ", ".join(f"{row['recovered']:.0%}" for row in rows),
            every(row["recovered"] >= 0.9 for row in rows),
            f"{rows[0]['trials']} trials a point, and a budget of {LIMITS.work:g} Gauss–Newton steps",
        ),
    ]


def draw_bias(figure: Figure, rows: list[Row]) -> None:
    left, right = figure.subplots(1, 2)
    x = column(rows, "bias")
    for i, name in enumerate(("paper", "joint")):
        curve(left, i, x, column(rows, name))
        curve(right, i, x, column(rows, f"{name}_within_half"), label=f"{ROUTES[name]}: within 1/2")
    curve(right, 2, x, column(rows, "recovered"), label="recover: exact")
    for ax in (left, right):
        for special in (0.0, 1.0, 3**0.5):
            ax.axvline(special, color=FAINT, linewidth=0.8, linestyle=":")
        ax.set(xlabel="|b| of all units; dotted: zeros of He₁, He₂, He₃")
    left.set(yscale="log", ylabel="median error of the worst unit")
    right.set(ylabel="share of networks", ylim=(-0.03, 1.03))
    right.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def claim_bias(rows: list[Row]) -> list[Claim]:
    at = {row["bias"]: row for row in rows}
    special = [at[bias] for bias in (0.0, 1.0) if bias in at]
    small, large = [row for row in rows if row["bias"] <= 1], rows[-1]
    return [
        Claim(
            "two consecutive orders leave no bias out: at |b| = 0, where T_3 vanishes, and |b| = 1, where T_4 does, the "
            "paper's route errs no more than twice the worst other |b| ≤ 1",
            ", ".join(f"|b| = {row['bias']:g}: {row['paper']:.2g}" for row in small),
            bool(max(row["paper"] for row in special) <= 2 * max(row["paper"] for row in small if row not in special)),
            f"too few trials: medians of {rows[0]['trials']}",
        ),
        Claim(
            "large |b| is the limit: the moments no longer show the unit",
            f"|b| = {large['bias']:g}: median error {large['paper']:.2g} (paper), {large['joint']:.2g} (joint)",
            bool(large["paper"] > 0.5),
            "the rows are so many that the moments still do",
        ),
        Claim(
            "`recover` finds the units at every |b| ≤ 2, at least 90 %",
            ", ".join(f"{row['bias']:g}: {row['recovered']:.0%}" for row in rows),
            every(row["recovered"] >= 0.9 for row in rows if row["bias"] <= 2),
            f"{rows[0]['trials']} trials a point, and a budget of {LIMITS.work:g} Gauss–Newton steps",
        ),
        none_wrong(rows),
    ]


BIASES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0)

RECIPES = [
    Recipe(
        "awasthi2021",
        "rate",
        "Error against n, two routes for ℓ = 1",
        "Biases uniform in [−1, 1]; the largest relative error of a unit's (w, b), medians over the trials; 2 where signs are "
        "wrong or no start is found.",
        "no experiments; Theorem 3.1 promises recovery from poly(d, 1/ε, …) samples.",
        {
            "quick": Grid.product(5, d=5, k=2, n=[4_000, 16_000, 64_000, 256_000], bias=None),
            "paper": Grid.product(20, d=5, k=2, n=[4**p * 1000 for p in range(1, 7)], bias=None),
        },
        start_trial,
        summarize_starts,
        draw_rate,
        claim_rate,
        cost=lambda point: point["n"],
        width=7.5,
    ),
    Recipe(
        "awasthi2021",
        "bias",
        "Recovery across the size of the biases",
        "All |b| equal, signs at random. T_j sees a unit through He_{j−2}(b): T_3 vanishes at b = 0, T_4 at |b| = 1, and all "
        "of them fade as e^{−b²/2}.",
        "no experiments; for every b one of two consecutive Hermite coefficients is large, and units with large |b| are "
        "replaced by linear ones.",
        {
            "quick": Grid.product(5, d=5, k=2, n=64_000, bias=(*BIASES[:9:2], 3.0, 4.0)),
            "paper": Grid.product(20, d=5, k=2, n=256_000, bias=BIASES),
        },
        start_trial,
        summarize_starts,
        draw_bias,
        claim_bias,
        width=11.5,
    ),
]
