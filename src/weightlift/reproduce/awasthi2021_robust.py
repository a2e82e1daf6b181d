"""awasthi2021, Theorem 3.2 and Corollary 3.3: units with large biases, and how smoothing makes powers of weights independent.

large_biases   half of the units have |b| ≤ 1, half one large |b|: the robust stage learns the function with at most k + 2
               units, and the units that the rows can tell
smoothing      the worst weights, all parallel, τ-smoothed: the least singular value of (w₁^{⊗ℓ}, …, w_k^{⊗ℓ}) over τ
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

import numpy as np

import weightlift as wl
from weightlift.identifiability.least_order import power_factors
from weightlift.reproduce.fits import Line
from weightlift.reproduce.limits import LIMITS
from weightlift.reproduce.recipe import Claim, Grid, Recipe, Row, every, none_wrong
from weightlift.reproduce.style import curve, key
from weightlift.reproduce.tables import column, grouped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FULL = 0.99  # of C(d + ℓ − 1, ℓ) units  [awasthi2021, Cor. 3.3]


def bias_trial(rng: np.random.Generator, *, d: int, k: int, n: int, bias: float) -> Row:
    """The robust stage, the units with large biases added to it, and `recover`."""
    truth = wl.teachers.biased(d, k, rng=rng)
    b = np.where(np.arange(k) < k // 2, truth.b, bias * rng.choice([-1.0, 1.0], k))
    truth = wl.Network(truth.W, truth.a, b, activation="relu")
    X, y = wl.draw(truth, n, rng=rng)
    rows, seed, size = wl.samples.open(X, y), int(rng.integers(2**31)), float(np.std(y))
    stage = wl.initialization.robust_init(rows, k, rng=seed)
    full = wl.initialization.with_large_biases(rows, stage.function, k)
    found = wl.recover(X, y, n_units=k, bias=True, max_work=LIMITS.work, rng=seed)
    beyond = np.minimum(*((side * (X @ truth.W + truth.b) > 0).sum(axis=0) for side in (1, -1)))
    return {
        "units": stage.network.n_units,
        "recoverable": int(stage.reach.recoverable.sum()),
        "error": float(wl.distance(stage.network, truth)) / size,
        "full_error": float(wl.distance(full.function.consolidated(), truth)) / size,
        "within_reach": bool((beyond >= 2 * (d + 1)).all()),
        "ours": bool(wl.match(found.network, truth).worst_unit <= LIMITS.right),
        "certified": bool(found.certificate),
    }


def summarize_biases(trials: list[Row]) -> list[Row]:
    return [
        {
            "d": d,
            "k": k,
            "n": n,
            "bias": bias,
            "trials": len(rows),
            "most_units": max(row["units"] for row in rows),
            "recoverable": float(np.mean(column(rows, "recoverable"))),
            "error": float(np.median(column(rows, "error"))),
            "full_error": float(np.median(column(rows, "full_error"))),
            "within_reach": float(np.mean(column(rows, "within_reach"))),
            "ours": float(np.mean(column(rows, "ours"))),
            "certified_but_wrong": sum(row["certified"] and not row["ours"] for row in rows),
        }
        for (d, k, n, bias), rows in grouped(trials, "d", "k", "n", "bias")
    ]


def draw_biases(figure: Figure, rows: list[Row]) -> None:
    left, right = figure.subplots(1, 2)
    for i, ((n,), part) in enumerate(grouped(rows, "n")):
        x = column(part, "bias")
        curve(left, i, x, column(part, "error"), label=f"robust stage, n = {n:,}")
        full = np.maximum(column(part, "full_error"), 1e-16)
        curve(left, i, x, full, linestyle="--", markerfacecolor="white", label=f"with large biases, n = {n:,}")
        curve(right, i, x, column(part, "ours"), label=f"recover, n = {n:,}")
        reach = column(part, "within_reach")
        curve(right, i, x, reach, linestyle=":", marker="", label=f"all units within reach, n = {n:,}")
    left.set(yscale="log", xlabel="|b| of half of the units", ylabel="relative L² error, median")
    right.set(xlabel="|b| of half of the units", ylabel="share of networks", ylim=(-0.03, 1.03))
    left.legend()
    right.legend()


def claim_biases(rows: list[Row]) -> list[Claim]:
    k = rows[0]["k"]
    few, many = ([row for row in rows if row["n"] == n] for n in (rows[0]["n"], max(row["n"] for row in rows)))
    pairs = [(a, b) for a in few for b in many if a["bias"] == b["bias"]]
    lower = [b["error"] < a["error"] for a, b in pairs]
    most = max(row["most_units"] for row in rows)
    worst = max(many, key=lambda row: row["error"])
    reached = [row for row in many if row["within_reach"] >= 0.9]
    return [
        Claim(
            "at every |b| a network with at most k + 2 units is found whose L² error falls with the rows",
            f"at most {most} units, k = {k}; relative error at most {worst['error']:.2g} with n = {worst['n']:,}, at "
            f"|b| = {worst['bias']:g}; lower with more rows at {sum(lower)} of {len(lower)} values",
            bool(most <= k + 2 and all(lower)),
            "units beyond reach stand as a linear function, whose error more rows do not lower: "
            + ", ".join(
                f"|b| = {a['bias']:g}: {a['error']:.2g} to {b['error']:.2g}, {b['recoverable']:.3g} of {k} units within reach"
                for a, b in pairs
            )
            + f"; {rows[0]['trials']} trials a point",
        ),
        Claim(
            "units whose kinks have 2(d + 1) rows on both sides are recovered by `recover`, at least 90 % of such networks",
            ", ".join(f"|b| = {row['bias']:g}: {row['ours']:.0%}" for row in many),
            every(row["ours"] >= 0.9 for row in reached),
            "median errors of the robust stage, and with large biases: "
            + ", ".join(f"|b| = {row['bias']:g}: {row['error']:.2g}, {row['full_error']:.2g}" for row in reached),
        ),
        none_wrong(rows),
    ]


def smoothing_trial(rng: np.random.Generator, *, d: int, order: int, tau: float) -> Row:
    """s_k of the ℓ-th powers of 0.99 C(d + ℓ − 1, ℓ) parallel weights after smoothing."""
    k = int(FULL * comb(d + order - 1, order))
    w = rng.standard_normal((d, 1))
    net = wl.teachers.smoothed(np.repeat(w / np.linalg.norm(w), k, axis=1), tau, rng=rng)
    factors = power_factors(net.W / np.linalg.norm(net.W, axis=0))
    *_, power = (next(factors) for _ in range(order + 1))
    return {"k": k, "smallest": float(np.linalg.svd(power, compute_uv=False)[-1])}


def summarize_smoothing(trials: list[Row]) -> list[Row]:
    return [
        {
            "d": d,
            "order": order,
            "k": rows[0]["k"],
            "tau": tau,
            "trials": len(rows),
            "median": float(np.median(column(rows, "smallest"))),
            "least": float(np.min(column(rows, "smallest"))),
        }
        for (d, order, tau), rows in grouped(trials, "d", "order", "tau")
    ]


def draw_smoothing(figure: Figure, rows: list[Row]) -> None:
    axes = figure.subplots(1, len({row["order"] for row in rows}), squeeze=False)[0]
    for ax, ((order,), part) in zip(axes, grouped(rows, "order"), strict=True):
        for i, ((d,), own) in enumerate(grouped(part, "d")):
            curve(ax, i, column(own, "tau"), column(own, "median"), label=f"d = {d}, k = {own[0]['k']}")
            color = ax.lines[-1].get_color()
            curve(ax, i, column(own, "tau"), column(own, "least"), linestyle="--", marker="", linewidth=1, color=color)
        key(ax, "least of the trials", linestyle="--")
        ax.set(title=f"ℓ = {order}", xlabel="τ", xscale="log", yscale="log")
        ax.legend(loc="upper left")
        ax.set_ylim(top=100 * ax.get_ylim()[1])
    axes[0].set_ylabel("s_k of the ℓ-th powers")


def claim_smoothing(rows: list[Row]) -> list[Claim]:
    small = [row for row in rows if row["tau"] <= 0.3]
    slopes = {
        (d, order): Line.of_powers(column(part, "tau"), column(part, "median")).slope
        for (d, order), part in grouped(small, "d", "order")
    }
    inputs = {
        order: Line.of_powers(column(part, "d"), column(part, "median")).slope
        for (order,), part in grouped([row for row in rows if row["tau"] == max(r["tau"] for r in rows)], "order")
    }
    return [
        Claim(
            "0.99 C(d + ℓ − 1, ℓ) smoothed weights have independent powers, whatever they were before: s_k > 0 in every trial",
            f"least s_k {min(row['least'] for row in rows):.1e} over {sum(row['trials'] for row in rows)} trials",
            bool(min(row["least"] for row in rows) > 0),
            "rounding: s_k below 10⁻¹⁶ s_1 cannot be told from zero",
        ),
        Claim(
            "s_k falls as a power of τ, so that 1/s_k is polynomial in 1/τ: the exponent is ℓ (± 0.3)",
            ", ".join(f"ℓ = {order}, d = {d}: {slope:.2f}" for (d, order), slope in slopes.items()),
            every(abs(slope - order) <= 0.3 for (_, order), slope in slopes.items()),
            "too few trials: s_k of a nearly square random matrix has a heavy tail at zero",
        ),
        Claim(
            "and as a power of d (exponent above −2 ℓ)",
            ", ".join(f"ℓ = {order}: {slope:.2f}" for order, slope in inputs.items()),
            every(slope > -2 * order for order, slope in inputs.items() if np.isfinite(slope)),
            "too few values of d",
        ),
    ]


TAUS = (0.01, 0.03, 0.1, 0.3, 1.0)

RECIPES = [
    Recipe(
        "awasthi2021",
        "large_biases",
        "The robust stage under large biases",
        "Half of the units have biases in [−1, 1], half ±|b|. The robust stage splits the units by what the rows show of their "
        "kinks and fits the others by a linear function; then units with large biases are added one by one.",
        "no experiments; Theorem 3.2 promises a network of at most m + 2 units with L² error ε, and the units with "
        "|b| < c √log(1/(ε m d B)).",
        {
            "quick": Grid.product(3, d=8, k=4, n=[16_000, 64_000], bias=(1.5, 2.5, 3.5)),
            "paper": Grid.product(20, d=10, k=6, n=[32_000, 256_000], bias=(1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0)),
        },
        bias_trial,
        summarize_biases,
        draw_biases,
        claim_biases,
        cost=lambda point: point["n"] * point["k"],
        width=11.0,
    ),
    Recipe(
        "awasthi2021",
        "smoothing",
        "Least singular value of smoothed powers",
        "k = 0.99 C(d + ℓ − 1, ℓ) weights that are all the same, plus N(0, τ² I/d) each, scaled to length one.",
        "no experiments; Corollary 3.3 promises polynomial time in 1/τ, as s_k(W^{⊗ℓ}) is at least polynomial in τ and 1/d.",
        {
            "quick": Grid.product(5, d=(4, 8, 12), order=(1, 2), tau=TAUS),
            "paper": Grid.product(50, d=(4, 6, 8, 12, 16), order=(1, 2), tau=TAUS)
            + Grid.product(50, d=(4, 6, 8), order=3, tau=TAUS),
        },
        smoothing_trial,
        summarize_smoothing,
        draw_smoothing,
        claim_smoothing,
        cost=lambda point: comb(point["d"] + point["order"] - 1, point["order"]) ** 2,
        width=10.0,
    ),
]
