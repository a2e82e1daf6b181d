"""awasthi2021 beyond independent weights: more units than inputs, and networks that share their function with a twin.

Teacher   wᵢ uniform on the sphere, |aᵢ| in [1/2, 3/2] with either sign, ReLU, x ~ N(0, I), no noise.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

import weightlift as wl
from weightlift.errors import WeightliftError
from weightlift.plots import BLUE, FAINTER, ORANGE
from weightlift.reproduce.limits import LIMITS
from weightlift.reproduce.recipe import Claim, Grid, Recipe, Row, every, none_wrong
from weightlift.reproduce.style import curve
from weightlift.reproduce.tables import column, grouped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STATUSES = ("EXACT", "AMBIGUOUS", "FAILED")
ROUTES = {"tensor": "T₄ and T₅, refined", "search": "search"}


def overcomplete_trial(rng: np.random.Generator, *, d: int, k: int, n: int) -> Row:
    """Units from T_4 and T_5(·, u), refined up to signs; and `recover`."""
    truth = wl.teachers.biased(d, k, bias=0.5, rng=rng)
    X, y = wl.draw(truth, n, rng=rng)
    rows, seed = wl.samples.open(X, y), int(rng.integers(2**31))
    size = float(wl.distance(truth, wl.Network(truth.W[:, :1], a=[0.0])))
    learned: Row = {"start_distance": 1.0, "function_found": False, "units_found": False}  # where the rows are too few
    with suppress(WeightliftError):
        start = wl.initialization.overcomplete_init(rows, k, rng=seed)
        fit = wl.refinement.refine_up_to_signs(rows, *start.starts)
        learned = {
            "start_distance": float(wl.distance(start.network, truth)) / size,
            "function_found": bool(fit.risk <= 1e-20 * float(np.mean(y**2))),
            "units_found": bool(fit.network is not None and wl.match(fit.network, truth).worst_unit <= LIMITS.right),
        }
    found = wl.recover(X, y, n_units=k, bias=True, max_work=LIMITS.work, rng=seed)
    ours = bool(wl.match(found.network, truth).worst_unit <= LIMITS.right)
    return {**learned, "ours": ours, "status": found.certificate.status.name}


def twin_trial(rng: np.random.Generator, *, d: int, k: int, ratio: int, twins: bool) -> Row:
    """`recover` on rows of a network that has a twin, the same function by other units, or of one that has none."""
    truth = wl.teachers.biased(d, k, rng=rng)
    other = truth
    if twins:
        truth, other = wl.identifiability.twin(truth, list(range(d + 2)), rng=rng)
    X, y = wl.draw(truth, ratio * k * (d + 1), rng=rng)
    found = wl.recover(X, y, n_units=k, bias=True, max_work=LIMITS.work, rng=int(rng.integers(2**31)))
    size = float(np.sqrt(np.mean(y**2)))
    return {
        "status": found.certificate.status.name,
        "function_found": bool(float(wl.distance(found.network, truth)) <= LIMITS.right * size),
        "units": bool(wl.match(found.network, truth).worst_unit <= LIMITS.right),
        "twin_units": bool(twins and wl.match(found.network, other).worst_unit <= LIMITS.right),
        "twin_distance": float(wl.distance(truth, other)) / size,
    }


def route_trial(rng: np.random.Generator, *, d: int, k: int, ratio: float, route: str) -> Row:
    """`recover` by moments of orders 4 and 5 alone, or by the search alone, from ratio · p rows."""
    truth = wl.teachers.biased(d, k, bias=0.5, rng=rng)
    X, y = wl.draw(truth, round(ratio * k * (d + 1)), rng=rng)
    try:
        found = wl.recover(X, y, n_units=k, bias=True, method=route, max_work=LIMITS.work, rng=int(rng.integers(2**31)))
    except WeightliftError:  # too few rows for the moments
        return {"recovered": False, "status": "FAILED"}
    right = bool(wl.match(found.network, truth).worst_unit <= LIMITS.right)
    return {"recovered": right, "status": found.certificate.status.name}


def summarize_routes(trials: list[Row]) -> list[Row]:
    return [
        {
            "d": d,
            "k": k,
            "ratio": ratio,
            "n": round(ratio * k * (d + 1)),
            "route": route,
            "trials": len(rows),
            "recovered": float(np.mean(column(rows, "recovered"))),
            "certified_but_wrong": sum(row["status"] == "EXACT" and not row["recovered"] for row in rows),
        }
        for (d, k, ratio, route), rows in grouped(trials, "d", "k", "ratio", "route")
    ]


def draw_routes(figure: Figure, rows: list[Row]) -> None:
    units = sorted({row["k"] for row in rows})
    axes = figure.subplots(1, len(units), sharey=True, squeeze=False)[0]
    for ax, k in zip(axes, units, strict=True):
        for i, (route, label) in enumerate(ROUTES.items()):
            part = [row for row in rows if (row["k"], row["route"]) == (k, route)]
            curve(ax, i, column(part, "ratio"), column(part, "recovered"), label=label)
        ax.set(title=f"d = {rows[0]['d']}, k = {k}", xlabel="rows a parameter", xscale="log", ylim=(-0.03, 1.03))
    axes[0].set_ylabel("share of networks recovered")
    axes[0].legend()


def claim_routes(rows: list[Row]) -> list[Claim]:
    least = {
        (k, route): min((row["ratio"] for row in part if row["recovered"] >= 0.9), default=np.inf)
        for (k, route), part in grouped(rows, "k", "route")
    }
    units = sorted({row["k"] for row in rows})
    return [
        Claim(
            "the search recovers 90 % of the networks from fewer rows than the tensors, at every k",
            ", ".join(f"k = {k}: {least[k, 'search']:g} rows a parameter against {least[k, 'tensor']:g}" for k in units),
            every(least[k, "search"] < least[k, "tensor"] for k in units if np.isfinite(min(least[k, r] for r in ROUTES))),
            f"the search's budget is {LIMITS.work:g} Gauss–Newton steps, or too few trials",
        ),
        none_wrong(rows, "certified EXACT"),
    ]


def summarize_overcomplete(trials: list[Row]) -> list[Row]:
    names = ("function_found", "units_found", "ours")
    return [
        {
            "d": d,
            "k": k,
            "k/d": k / d,
            "n": n,
            "trials": len(rows),
            "start_distance": float(np.median(column(rows, "start_distance"))),
            **{name: float(np.mean(column(rows, name))) for name in names},
            "certified_but_wrong": sum(row["status"] == "EXACT" and not row["ours"] for row in rows),
        }
        for (d, k, n), rows in grouped(trials, "d", "k", "n")
    ]


def draw_overcomplete(figure: Figure, rows: list[Row]) -> None:
    left, right = figure.subplots(1, 2)
    for i, ((n,), part) in enumerate(grouped(rows, "n")):
        x = column(part, "k/d")
        curve(left, i, x, column(part, "start_distance"), label=f"n = {n:,}")
        curve(right, i, x, column(part, "units_found"), label=f"tensors, refined; n = {n:,}")
        curve(right, i, x, column(part, "ours"), linestyle="--", markerfacecolor="white", label=f"recover; n = {n:,}")
    left.set(xlabel="k / d", ylabel="relative L² distance of the start", yscale="log")
    right.set(xlabel="k / d", ylabel="share of networks recovered", ylim=(-0.03, 1.03))
    left.legend()
    right.legend()


def claim_overcomplete(rows: list[Row]) -> list[Claim]:
    most = [row for row in rows if row["n"] == max(other["n"] for other in rows)]
    beyond = [row for row in most if row["k/d"] > 1]
    return [
        Claim(
            "networks with k > d are learned from tensors of low order: at the most rows, 90 % are exact after refinement",
            ", ".join(f"k/d = {row['k/d']:g}: {row['units_found']:.0%}" for row in beyond),
            every(row["units_found"] >= 0.9 for row in beyond),
            "shares of exact functions, and relative distances of the starts: "
            + ", ".join(f"k/d = {row['k/d']:g}: {row['function_found']:.0%}, {row['start_distance']:.2g}" for row in beyond),
        ),
        Claim(
            "`recover` finds them too",
            ", ".join(f"k/d = {row['k/d']:g}: {row['ours']:.0%}" for row in beyond),
            every(row["ours"] >= 0.9 for row in beyond),
            f"the budget of {LIMITS.work:g} Gauss–Newton steps, or too few trials",
        ),
        none_wrong(rows, "certified EXACT"),
    ]


def summarize_twins(trials: list[Row]) -> list[Row]:
    return [
        {
            "d": d,
            "k": k,
            "twins": twins,
            "trials": len(rows),
            **{name.lower(): float(np.mean([row["status"] == name for row in rows])) for name in STATUSES},
            "function_found": float(np.mean(column(rows, "function_found"))),
            "units": float(np.mean(column(rows, "units"))),
            "twin_units": float(np.mean(column(rows, "twin_units"))),
            "largest_twin_distance": float(np.max(column(rows, "twin_distance"))),
        }
        for (d, k, twins), rows in grouped(trials, "d", "k", "twins")
    ]


def draw_twins(figure: Figure, rows: list[Row]) -> None:
    axes = figure.subplots(1, 2, sharey=True)
    for ax, ((twins,), part) in zip(axes, grouped(rows, "twins"), strict=True):
        base = np.zeros(len(part))
        labels = [f"{row['k']}" for row in part]
        for name, color, hatch in (("exact", BLUE, ""), ("ambiguous", ORANGE, "//"), ("failed", FAINTER, "")):
            height = column(part, name)
            ax.bar(labels, height, bottom=base, color=color, hatch=hatch, edgecolor="white", label=name.upper())
            base = base + height
        curve(ax, 4, labels, column(part, "function_found"), color="black", label="function found")
        ax.set(title="networks with a twin" if twins else "networks without a twin", xlabel="units k", ylim=(0, 1.03))
    axes[0].set_ylabel("share of networks")
    axes[1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def claim_twins(rows: list[Row]) -> list[Claim]:
    twins, others = [row for row in rows if row["twins"]], [row for row in rows if not row["twins"]]
    far = max(row["largest_twin_distance"] for row in twins)
    return [
        Claim(
            "d + 2 units can form two networks with one function: their distance is zero",
            f"largest relative L² distance {far:.1e}",
            bool(far <= 1e-7),
            "a defect: twins are made so that it is",
        ),
        Claim(
            "no certificate calls one of two twins EXACT",
            "EXACT " + ", ".join(f"k = {row['k']}: {row['exact']:.0%}" for row in twins),
            every(row["exact"] == 0 for row in twins),
            "a defect of the certificate, and not chance",
        ),
        Claim(
            "the function of twins is learned all the same, and AMBIGUOUS is said (at least 90 %)",
            ", ".join(f"k = {row['k']}: {row['function_found']:.0%} and {row['ambiguous']:.0%}" for row in twins),
            every(row["function_found"] >= 0.9 and row["ambiguous"] >= 0.9 for row in twins),
            _statuses(twins),
        ),
        Claim(
            "networks without a twin are EXACT (at least 90 %)",
            ", ".join(f"k = {row['k']}: {row['exact']:.0%}" for row in others),
            every(row["exact"] >= 0.9 for row in others),
            _statuses(others),
        ),
    ]


def _statuses(rows: list[Row]) -> str:
    """What happened to the networks that the search did not reach, or that the certificate does not call so."""
    return "of k > d units the search's budget decides: " + ", ".join(
        f"k = {row['k']}: function found in {row['function_found']:.0%}, units in {row['units'] + row['twin_units']:.0%}, "
        f"FAILED {row['failed']:.0%}, AMBIGUOUS {row['ambiguous']:.0%}"
        for row in rows
    )


def _twin_grid(trials: int, d: int, units: tuple[int, ...]) -> Grid:
    return Grid.product(trials, d=d, k=units, ratio=8, twins=[False, True])


RECIPES = [
    Recipe(
        "awasthi2021",
        "overcomplete",
        "More units than inputs",
        "Biases uniform in [−1/2, 1/2]; directions from M = T_4 + s T_5(·, u) by the subspace power method, then least squares "
        "up to signs.",
        "no experiments; Corollary 3.3 promises polynomial time for k up to 0.99 C(d+ℓ−1, ℓ) smoothed units.",
        {
            "quick": Grid.product(3, d=4, k=[3, 5, 6], n=[20_000]),
            "paper": Grid.product(10, d=5, k=[4, 6, 7, 8, 9, 10], n=[20_000, 100_000]),
        },
        overcomplete_trial,
        summarize_overcomplete,
        draw_overcomplete,
        claim_overcomplete,
        cost=lambda point: point["n"] * point["k"] ** 2,
    ),
    Recipe(
        "awasthi2021",
        "overcomplete_rows",
        "More units than inputs: rows for tensors and for the search",
        'Biases uniform in [−1/2, 1/2]. `recover` with method = "tensor", moments and their refinement alone, and with '
        'method = "search", annealed starts alone.',
        "no experiments; Corollary 3.3 promises polynomially many samples.",
        {
            "quick": Grid.product(3, d=4, k=[5, 6], ratio=[2.0, 8.0, 64.0], route=list(ROUTES)),
            "paper": Grid.product(20, d=5, k=[6, 8, 10], ratio=[1.5, 2.0, 4.0, 16.0, 64.0, 256.0, 1024.0], route=list(ROUTES)),
        },
        route_trial,
        summarize_routes,
        draw_routes,
        claim_routes,
        cost=lambda point: (1 + point["ratio"] / 20) * point["k"] ** 2,
        width=10.0,
    ),
    Recipe(
        "awasthi2021",
        "twins",
        "Ambiguous twins",
        "Networks of k units in d dimensions, eight rows a parameter; those with twins have output weights such that "
        "reflecting d + 2 units leaves the function as it is.",
        "Claim 4.8: dependent (w, b) allow two networks with the same function; signs cannot be told then.",
        {"quick": _twin_grid(4, 3, (5, 6)), "paper": _twin_grid(20, 4, (6, 7, 8))},
        twin_trial,
        summarize_twins,
        draw_twins,
        claim_twins,
    ),
]
