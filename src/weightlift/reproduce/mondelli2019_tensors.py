"""Tensors and networks [mondelli2019, §§3–5]: which decompositions succeed, and what Theorem 2 says of those that do not.

phase    symmetric tensors of orders 3 and 4 with k random unit components in d dimensions, exact: which method finds them
bounds   estimates of the weights by a decomposition under noise, by SGD and by chance: their exact error beside the bound (8)
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

import weightlift as wl
from weightlift.plots import FAINT
from weightlift.reproduce.limits import LIMITS
from weightlift.reproduce.recipe import Claim, Grid, Recipe, Row, every
from weightlift.reproduce.style import curve, heat
from weightlift.reproduce.tables import column, grouped
from weightlift.samples import Fresh

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PANELS = (("kcl", 3), ("implicit_cp", 3), ("kcl", 4), ("subspace_power", 4))
DECOMPOSERS = {"kcl": "joint diagonalisation", "implicit_cp": "least squares", "subspace_power": "subspace power"}
SOURCES = {"chance": "independent of the truth", "decomposition": "T⁽³⁾ + noise, decomposed", "sgd": "SGD"}
SGD_STEP = 1e-2  # times 1/r; three times as much is unstable at d = 50


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
        steps = [*ratios, 2 * ratios[-1] - ratios[-2]]  # a bound beyond the last ratio leaves the picture
        ax.plot(range(len(inputs)), np.interp(bound, steps, range(len(steps))), color="white", marker="o", markersize=3)
        ax.set(ylim=(-0.5, len(ratios) - 0.5), title=f"order {order}, {DECOMPOSERS[method]}", xlabel="inputs d")
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
            "components that are nearly dependent, by chance",
        ),
        Claim(
            "k > d, order 4: the subspace power method finds them up to k = d(d − 1)/2 (at least 90 %)",
            f"{fourth[0]:.0%} over {fourth[1]} points",
            bool(fourth[0] >= 0.9),
            _misses(rows, "subspace_power", 4),
        ),
        Claim(
            "k > d, order 3: least squares from random starts finds them while they are unique (at least 90 %)",
            f"{third[0]:.0%} over {third[1]} points",
            bool(third[0] >= 0.9),
            _misses(rows, "implicit_cp", 3),
        ),
        Claim(
            "order 3, beyond (d + 1)(d + 2)/6 components: none is found, as they are not unique",
            f"{reached:.0%} over {len(beyond)} points" if beyond else "no such points",
            bool(reached <= 0.05) if beyond else None,
            "found at " + ", ".join(f"d = {row['d']}, k = {row['k']}: {row['found']:.0%}" for row in beyond if row["found"])
            if beyond
            else "the setting: this grid ends before that number",
        ),
    ]


def _misses(rows: list[Row], method: str, order: int) -> str:
    """The points beyond k = d where components that are unique were missed, and how: at other minima, or by others that fit."""
    part = [row for row in rows if (row["method"], row["order"]) == (method, order) and row["k"] > row["d"]]
    short = [row for row in part if row["k"] <= _unique(row["d"], order) and row["found"] < 0.9]
    listed = ", ".join(f"d = {row['d']}, k = {row['k']}: {row['found']:.0%}" for row in short)
    other = float(np.mean(column(short, "other_decomposition"))) if short else 0.0
    return (
        f"local minima, near the border: missed at {listed}; {other:.0%} of the trials there end at other components that fit, "
        "the others at none that do"
    )


def bound_trial(rng: np.random.Generator, *, d: int, source: str, amount: float) -> Row:
    """Theorem 2 at orthonormal weights, |z| units, and an estimate of them with R = r = d.

    amount: noise in T⁽³⁾ relative to its norm, or steps of SGD.
    """
    truth = wl.teachers.haar(d, d, center=False, activation="absolute", rng=rng)
    W = _estimate(rng, truth, source, amount)
    student = wl.Network(W / np.linalg.norm(W, axis=0), activation=truth.activation)
    found = wl.theory.separated_bound(truth, student)
    return {
        "epsilon": found.epsilon,
        "error": found.error / found.trivial,
        "bound": found.bound / found.trivial,
        "vacuous": found.vacuous,
        "reached": wl.match(student, truth).max_error,
    }


def _estimate(rng: np.random.Generator, truth: wl.Network, source: str, amount: float) -> np.ndarray:
    d = truth.n_inputs
    if source == "decomposition":
        T = wl.decomposition.compose(np.ones(d), truth.W, 3)
        G = rng.standard_normal((d, d, d))
        noise = np.sum([G.transpose(order) for order in itertools.permutations(range(3))], axis=0)
        T = T + amount * np.linalg.norm(T) / np.linalg.norm(noise) * noise
        return np.asarray(wl.decompose(T, d, method="kcl", rng=int(rng.integers(2**31))).factors)
    start = wl.Network(rng.standard_normal((d, d)) / math.sqrt(d), activation=truth.activation)
    if source == "chance" or not amount:
        return start.W
    stream = Fresh(truth, seed=int(rng.integers(2**31)), arithmetic="float32")
    run = wl.refinement.sgd(stream, start, step=SGD_STEP / d, steps=int(amount), dtype="float32", progress=False)
    return run.network.W


def summarize_bounds(trials: list[Row]) -> list[Row]:
    """One row a trial, and none left out: the bound is for every estimate."""
    names = ("d", "source", "amount", "trial", "epsilon", "error", "bound", "vacuous", "reached")
    return [{name: row[name] for name in names} for row in trials]


def draw_bounds(figure: Figure, rows: list[Row]) -> None:
    inputs = sorted({row["d"] for row in rows})
    axes = figure.subplots(1, len(inputs), sharey=True, squeeze=False)[0]
    for ax, d in zip(axes, inputs, strict=True):
        for i, (source, label) in enumerate(SOURCES.items()):
            part = [row for row in rows if (row["d"], row["source"]) == (d, source)]
            curve(ax, i, column(part, "epsilon"), column(part, "error"), linestyle="", markersize=4, alpha=0.6, label=label)
        epsilon = np.linspace(0, 1, 101)
        ax.plot(epsilon, np.maximum(1 - 2 * epsilon**2, 0), color=FAINT, label="bound (8), orthonormal w")
        ax.set(title=f"d = r = {d}", xlabel="ε = max |⟨wᵢ, ŵⱼ⟩|", yscale="symlog", ylim=(0, None))
    axes[0].set_ylabel("E|y − ŷ|² / that of the best a + b‖x‖²")
    axes[-1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


def claim_bounds(rows: list[Row]) -> list[Claim]:
    below = [row for row in rows if row["error"] < row["bound"] - 1e-9]
    told = [row for row in rows if not row["vacuous"]]
    nearest = min(((row["error"] - row["bound"]) / row["error"] for row in told), default=np.nan)
    large = [row for row in rows if row["d"] >= 50]
    shares = {source: float(np.mean([not row["vacuous"] for row in part])) for (source,), part in grouped(large, "source")}
    good = [row for row in rows if row["error"] <= 0.1]
    learned = {source: sum(row["source"] == source for row in good) for source in SOURCES}
    return [
        Claim(
            "no estimate has an error below the bound (8)",
            f"{len(below)} of {len(rows)} estimates; the nearest stays {nearest:.0%} above it",
            not below,
            "a defect: the bound is a theorem; below it are "
            + ", ".join(f"d = {row['d']}, {SOURCES[row['source']]} {row['amount']:g}" for row in below),
        ),
        Claim(
            "the bound says something of estimates that are independent of the weights: for most of them, from d = 50 on",
            ", ".join(f"{SOURCES[source]}: not vacuous for {share:.0%}" for source, share in shares.items()) or "no such d",
            bool(shares["chance"] > 0.5) if shares else None,
            "the setting: ε of d² random pairs is about √(4 log d/d), which is below 1/√2 from d of about 40 on",
        ),
        Claim(
            "what generalizes has learned the weights: wherever the error is at most a tenth of the trivial one, ε ≥ 0.9",
            ", ".join(f"{SOURCES[source]}: {count} such estimates" for source, count in learned.items()),
            every(row["epsilon"] >= 0.9 for row in good),
            ", ".join(
                f"d = {row['d']}, error {row['error']:.2g}: ε = {row['epsilon']:.2f}" for row in good if row["epsilon"] < 0.9
            )
            or "too few steps and too much noise: no estimate has so small an error",
        ),
    ]


def _bounds_grid(trials: int, inputs: tuple[int, ...], steps: tuple[int, ...]) -> Grid:
    noise = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
    sources = [("chance", 0.0), *(("decomposition", x) for x in noise), *(("sgd", float(count)) for count in steps)]
    return Grid(tuple({"d": d, "source": source, "amount": x} for d in inputs for source, x in sources), trials)


def _phase_grid(trials: int, inputs: tuple[int, ...], ratios: tuple[float, ...]) -> Grid:
    grid = Grid.product(trials, panel=PANELS, d=inputs, ratio=ratios)
    points = ((point["d"], round(point["ratio"] * point["d"]), *point["panel"]) for point in grid.points)
    return Grid(tuple({"d": d, "k": k, "order": order, "method": method} for d, k, method, order in points), trials)


RECIPES = [
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
    Recipe(
        "mondelli2019",
        "bounds",
        "Theorem 2 beside what decompositions and SGD reach",
        "Orthonormal weights, r = R = d, σ = |z|, for which (8) with (10) reads 1 − 2ε². Estimates: independent ones; those of "
        "a joint diagonalisation of T⁽³⁾ with noise; those of SGD after some steps, scaled to length one.",
        "no experiments; if the estimates are not correlated with the weights, the error is that of a trivial predictor.",
        {
            "quick": _bounds_grid(3, (20, 50), (1000, 10_000, 100_000)),
            "paper": _bounds_grid(20, (20, 50, 100), (1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)),
        },
        bound_trial,
        summarize_bounds,
        draw_bounds,
        claim_bounds,
        cost=lambda point: point["d"] ** 2 * (point["amount"] / 2e8 if point["source"] == "sgd" else 1e-4),
        width=12.0,
    ),
]
