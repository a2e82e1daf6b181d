"""Our own figures: how many rows recovery takes, how near the error comes to its bound, and how many units are within reach.

Teacher   W = U diag(1 … 2) Vᵀ with k units, output weights ±1, x ~ N(0, I)  [zhong2017, §7].
p         parameters with the scale fixed: k d for homogeneous φ, k (d + 1) for others. With fewer than p rows no method can
          recover all networks: n = p is the information limit.
Success   every unit within 10⁻⁶, signs included.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import weightlift as wl
from weightlift.plots import FAINT
from weightlift.reproduce.fits import Line
from weightlift.reproduce.limits import LIMITS
from weightlift.reproduce.recipe import Cell, Claim, Grid, Recipe, Row, every, missing, none_wrong
from weightlift.reproduce.style import curve
from weightlift.reproduce.tables import column, grouped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CATALOGUE = ("relu", "leaky_relu", "squared_relu", "tanh", "sigmoid", "erf", "softplus", "gelu", "silu", "elu", "sine")
NOISE = 0.1


def recovery_trial(rng: np.random.Generator, *, activation: str, d: int, k: int, ratio: float, work: float) -> Row:
    """`recover` from ratio · p rows, with so many Gauss–Newton steps for its search."""
    truth = wl.teachers.conditioned(d, k, activation=activation, rng=rng)
    X, y = wl.draw(truth, round(ratio * wl.identifiability.count_parameters(truth)), rng=rng)
    found = wl.recover(X, y, n_units=k, activation=activation, max_work=work, rng=int(rng.integers(2**31)))
    match = wl.match(found.network, truth)
    return {"recovered": bool(match.max_error <= LIMITS.right and match.signs_agree), "status": found.certificate.status.name}


def noise_trial(rng: np.random.Generator, *, activation: str, d: int, k: int, ratio: float) -> Row:
    """Squared error of `recover` over the Cramér–Rao bound, both in W with |a| = 1; n = ratio · p."""
    truth = wl.teachers.conditioned(d, k, activation=activation, rng=rng)
    X, y = wl.draw(truth, round(ratio * wl.identifiability.count_parameters(truth)), noise_std=NOISE, rng=rng)
    found = wl.recover(X, y, n_units=k, activation=activation, max_work=1000.0, rng=int(rng.integers(2**31)))
    error = wl.match(found.network, truth).squared_error
    return {"squared_error": error, "bound": wl.certificate.cramer_rao(truth, X, NOISE), "certified": bool(found.certificate)}


def summarize_recovery(trials: list[Row]) -> list[Row]:
    return [
        {
            "activation": activation,
            "d": d,
            "k": k,
            "ratio": ratio,
            "n": round(ratio * wl.identifiability.parameters_of_shape(d, k, wl.activations.get(activation))),
            "trials": len(rows),
            "recovered": float(np.mean(column(rows, "recovered"))),
            "certified": float(np.mean([row["status"] == "EXACT" for row in rows])),
            "certified_but_wrong": sum(row["status"] == "EXACT" and not row["recovered"] for row in rows),
        }
        for (activation, d, k, ratio), rows in grouped(trials, "activation", "d", "k", "ratio")
    ]


def from_the_most_rows(cells: Sequence[Cell], results: Mapping[str, Row]) -> list[Cell]:
    """At each shape, from the most rows down, the next trials of the first ratio that is not decided; none below one that
    failed, so that `needed` is what all trials would give."""
    lines: dict[tuple[str, int, int], dict[float, list[Cell]]] = {}
    for cell in sorted(cells, key=lambda cell: -cell.point["ratio"]):
        at = cell.point
        lines.setdefault((at["activation"], at["d"], at["k"]), {}).setdefault(at["ratio"], []).append(cell)
    return [cell for line in lines.values() for cell in _undecided(line.values(), results)]


def _undecided(ratios: Iterable[list[Cell]], results: Mapping[str, Row]) -> list[Cell]:
    for trials in ratios:
        lost = sum(not results[cell.key]["recovered"] for cell in trials if cell.key in results)
        if len(trials) - lost < LIMITS.share * len(trials):
            return []
        if left := missing(trials, results):
            return left[: LIMITS.together]
    return []


def needed(rows: list[Row]) -> float:
    """The least ratio of these rows from which on enough are recovered; infinite if none."""
    found = np.inf
    for row in sorted(rows, key=lambda row: -row["ratio"]):
        if row["recovered"] < LIMITS.share:
            break
        found = row["ratio"]
    return float(found)


def draw_needed(figure: Figure, rows: list[Row]) -> None:
    """Left: against d at the least k; right: against k at the least d."""
    axes = figure.subplots(1, 2, sharey=True)
    top = max(row["ratio"] for row in rows)
    names = [activation for (activation,), _ in grouped(rows, "activation")]
    for ax, axis, fixed in ((axes[0], "d", "k"), (axes[1], "k", "d")):
        value = _anchor(rows, fixed)
        here = [row for row in rows if row[fixed] == value]
        for (activation,), part in grouped(here, "activation"):
            i = names.index(activation)
            x, y = zip(*sorted((x, needed(at)) for (x,), at in grouped(part, axis)), strict=True)
            shift = 1 + 0.02 * (i - (len(names) - 1) / 2)  # curves that coincide stay visible
            curve(ax, i, np.array(x) * shift, np.where(np.isfinite(y), y, np.nan), label=activation.replace("_", " "))
        ax.axhline(1.0, color=FAINT, linestyle=":", linewidth=1)
        ax.set(title=f"{fixed} = {value}", xlabel="inputs d" if axis == "d" else "units k", ylim=(0.8, 1.05 * top))
        _ticks(ax, [row[axis] for row in here])
    axes[0].text(0.02, 1.02, "information limit", transform=axes[0].get_yaxis_transform(), color=FAINT, va="bottom", fontsize=8)
    axes[0].set_ylabel("rows a parameter\nfor 90 % recovery")
    axes[1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


def draw_shares(figure: Figure, rows: list[Row]) -> None:
    """One panel a shape: the share against rows a parameter."""
    shapes = list(grouped(rows, "d", "k"))
    axes = figure.subplots(1, len(shapes), sharey=True, squeeze=False)[0]
    for ax, ((d, k), part) in zip(axes, shapes, strict=True):
        for i, ((activation,), own) in enumerate(grouped(part, "activation")):
            curve(ax, i, column(own, "ratio"), column(own, "recovered"), label=activation.replace("_", " "))
        ax.set(title=f"d = {d}, k = {k}", xlabel="rows a parameter", ylim=(-0.03, 1.03))
    axes[0].set_ylabel("share of networks recovered")
    axes[-1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


def _ticks(ax: Axes, values: list[int]) -> None:
    """The numbers that occur, and they alone, on a logarithmic axis."""
    ax.set_xscale("log")
    ax.set_xticks(sorted(set(values)), [f"{value:g}" for value in sorted(set(values))])
    ax.minorticks_off()


def _anchor(rows: list[Row], name: str) -> int:
    """The value that most rows share."""
    values = [row[name] for row in rows]
    return int(max(sorted(set(values)), key=values.count))


def claim_needed(rows: list[Row]) -> list[Claim]:
    values = {key: needed(part) for key, part in grouped(rows, "activation", "d", "k")}
    reached = [value for value in values.values() if np.isfinite(value)]
    worst = max(values, key=lambda key: values[key])
    spreads = {}
    for (activation,), part in grouped(rows, "activation"):
        own = [values[activation, d, k] for (d, k), _ in grouped(part, "d", "k")]
        spreads[activation] = max(own) / min(own)
    return [
        Claim(
            "3 rows a parameter recover 90 % of the networks, whatever d, k and φ in this grid",
            f"median {np.median(reached):.3g}, at most {values[worst]:.3g} ({worst[0]}, d = {worst[1]}, k = {worst[2]})",
            bool(max(values.values()) <= 3),
            _short(rows, {key for key, value in values.items() if value > 3}),
        ),
        Claim(
            "the rows needed are proportional to the parameters: rows a parameter vary by less than a factor of 2 in d and k",
            ", ".join(f"{name.replace('_', ' ')} {spread:.2f}" for name, spread in spreads.items()),
            bool(max(spreads.values()) <= 2),
            "the search's budget is the same for all widths: "
            + ", ".join(
                f"{name.replace('_', ' ')}, d = {d}, k = {k}: {value:.3g}"
                for (name, d, k), value in values.items()
                if value > 2 * np.median(reached)
            ),
        ),
        none_wrong(rows, "certified EXACT"),
    ]


def _short(rows: list[Row], places: set[tuple[str, int, int]]) -> str:
    """The shares at the most rows, where 3 rows a parameter were too few."""
    top = max(row["ratio"] for row in rows)
    short = [row for row in rows if (row["activation"], row["d"], row["k"]) in places and row["ratio"] in (3.0, top)]
    return "the search's budget, or too few trials: " + ", ".join(
        f"{row['activation'].replace('_', ' ')}, d = {row['d']}, k = {row['k']} at {row['ratio']:g}: {row['recovered']:.0%}"
        for row in short
    )


def draw_units(figure: Figure, rows: list[Row]) -> None:
    axes = figure.subplots(1, len({row["ratio"] for row in rows}), sharey=True, squeeze=False)[0]
    for ax, ((ratio,), part) in zip(axes, grouped(rows, "ratio"), strict=True):
        for i, ((activation,), own) in enumerate(grouped(part, "activation")):
            curve(ax, i, column(own, "k"), column(own, "recovered"), label=activation.replace("_", " "))
        ax.set(title=f"{ratio:g} rows a parameter", xlabel="units k, d = 2k", ylim=(-0.03, 1.03))
        _ticks(ax, [row["k"] for row in part])
    axes[0].set_ylabel("share of networks recovered")
    axes[0].legend(loc="lower left")


def claim_units(rows: list[Row]) -> list[Claim]:
    most = max(row["ratio"] for row in rows)
    reach = {
        activation: max((row["k"] for row in part if row["ratio"] == most and row["recovered"] >= 0.9), default=0)
        for (activation,), part in grouped(rows, "activation")
    }
    largest = max(row["k"] for row in rows)
    return [
        Claim(
            f"at {most:g} rows a parameter 90 % of the networks are recovered up to the largest k of this grid, {largest}",
            ", ".join(f"{name.replace('_', ' ')} up to k = {k}" for name, k in reach.items()),
            all(k == largest for k in reach.values()),
            "the search's budget is the same for all widths: "
            + ", ".join(
                f"{row['activation'].replace('_', ' ')}, k = {row['k']}: {row['recovered']:.0%}"
                for row in rows
                if row["ratio"] == most and row["recovered"] < 0.9
            ),
        ),
        none_wrong(rows, "certified EXACT"),
    ]


def summarize_noise(trials: list[Row]) -> list[Row]:
    return [
        {
            "activation": activation,
            "d": d,
            "k": k,
            "ratio": ratio,
            "trials": len(rows),
            "mean_squared_error": float(np.mean(column(rows, "squared_error"))),
            "bound": float(np.mean(column(rows, "bound"))),
            "efficiency_ratio": float(np.mean(column(rows, "squared_error")) / np.mean(column(rows, "bound"))),
            "standard_error": _spread(column(rows, "squared_error") / column(rows, "bound")),
            "certified": float(np.mean(column(rows, "certified"))),
        }
        for (activation, d, k, ratio), rows in grouped(trials, "activation", "d", "k", "ratio")
    ]


def _spread(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def draw_noise(figure: Figure, rows: list[Row]) -> None:
    left, right = figure.subplots(1, 2)
    for i, ((activation,), part) in enumerate(grouped(rows, "activation")):
        label = activation.replace("_", " ")
        ratio = column(part, "ratio")
        curve(left, i, ratio, column(part, "mean_squared_error"), linestyle="", label=label)
        left.plot(ratio, column(part, "bound"), color=left.lines[-1].get_color(), linewidth=1)
        curve(right, i, ratio * (1 + 0.02 * i), column(part, "efficiency_ratio"), linestyle="")
        _bars(right, ratio * (1 + 0.02 * i), part, right.lines[-1].get_color())
    left.set(xscale="log", yscale="log", xlabel="rows a parameter", ylabel="mean ‖Ŵ − W‖²", title="error; lines: Cramér–Rao")
    right.axhline(1.0, color=FAINT, linestyle=":", linewidth=1)
    right.set(xscale="log", xlabel="rows a parameter", ylabel="error² over the bound", title="their ratio, ± standard error")
    right.set_ylim(0, max(2.0, min(4.0, 1.1 * float(np.max(column(rows, "efficiency_ratio"))))))
    left.legend()


def _bars(ax: Axes, x: np.ndarray, rows: list[Row], color: Any) -> None:
    height, error = column(rows, "efficiency_ratio"), column(rows, "standard_error")
    ax.errorbar(x, height, yerr=error, fmt="none", ecolor=color, elinewidth=1)


def claim_noise(rows: list[Row]) -> list[Claim]:
    far = [row for row in rows if row["ratio"] >= 100]
    excess = [(row["efficiency_ratio"] - 1.1) / row["standard_error"] for row in far]
    slopes = {
        name: Line.of_powers(column(part, "ratio"), column(part, "mean_squared_error")).slope
        for (name,), part in grouped([row for row in rows if row["ratio"] >= 20], "activation")
    }
    return [
        Claim(
            "from 100 rows a parameter on the mean squared error is within 10 % of the Cramér–Rao bound, as far as the trials "
            "tell (two standard errors)",
            ", ".join(f"{_plain(row)} {row['efficiency_ratio']:.2f} ± {row['standard_error']:.2f}" for row in far),
            all(e <= 2 for e in excess) if far and np.isfinite(excess).all() else None,
            "two standard errors exclude one point in twenty by chance",
        ),
        Claim(
            "the squared error falls as 1/n: slope −1 ± 0.15 from 20 rows a parameter on",
            ", ".join(f"{name.replace('_', ' ')} {slope:.2f}" for name, slope in slopes.items()),
            every(abs(slope + 1) <= 0.15 for slope in slopes.values()),
            f"too few trials: {rows[0]['trials']} a point",
        ),
    ]


def _plain(row: Row) -> str:
    return f"{row['activation'].replace('_', ' ')} at {row['ratio']:g}"


def _needed_grid(
    trials: int, names: tuple[str, ...], shapes: tuple[tuple[int, int], ...], ratios: tuple[float, ...], work: float
) -> Grid:
    grid = Grid.product(trials, activation=names, shape=shapes, ratio=ratios, work=work)
    return Grid(tuple({"d": point["shape"][0], "k": point.pop("shape")[1], **point} for point in grid.points), trials)


def _squares(*units: int) -> tuple[tuple[int, int], ...]:
    return tuple((2 * k, k) for k in units)


HOMOGENEOUS = ("relu", "leaky_relu", "squared_relu")
QUICK_SHAPES = ((10, 3), (20, 3), (20, 5))
PAPER_SHAPES = ((5, 2), (5, 5), (10, 5), (20, 5), (40, 5), (100, 5), (20, 2), (20, 10))
WIDE_SHAPES = ((10, 10), (20, 20), (40, 20), (60, 30))


def _recovery_cost(point: Row) -> float:
    p = point["k"] * point["d"] / 50
    hard = 8.0 if point["ratio"] < 2 else 2.0 if point["ratio"] < 3 else 1.0
    return float(0.1 + hard * p * (1 + p / 2))


RECIPES = [
    Recipe(
        "weightlift",
        "samples",
        "Rows a parameter that recovery needs",
        "`recover` from n = ratio · p rows without noise; the least ratio from which on 90 % of the networks are recovered, "
        "every unit to 10⁻⁶. From the most rows down: trials end where 90 % is out of reach, and fewer rows are not tried.",
        "a small constant number of rows a parameter, close to the information limit of one, whatever d, k and φ.",
        {
            "quick": _needed_grid(4, ("relu", "squared_relu", "tanh"), QUICK_SHAPES, (1.25, 1.5, 2.0, 3.0), 2000.0),
            "paper": _needed_grid(20, CATALOGUE, PAPER_SHAPES, (1.0, 1.125, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0), 15_000.0),
        },
        recovery_trial,
        summarize_recovery,
        draw_needed,
        claim_needed,
        following=from_the_most_rows,
        cost=_recovery_cost,
        width=10.0,
    ),
    Recipe(
        "weightlift",
        "samples_wide",
        "Rows a parameter that many units need",
        "As `samples`, for networks so wide that a search that fails takes minutes.",
        "a small constant number of rows a parameter here too.",
        {
            "quick": _needed_grid(4, ("relu",), WIDE_SHAPES[:1], (1.25, 1.5, 2.0, 3.0), 2000.0),
            "paper": _needed_grid(20, CATALOGUE, WIDE_SHAPES, (1.0, 1.125, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0), 15_000.0),
        },
        recovery_trial,
        summarize_recovery,
        draw_shares,
        claim_needed,
        following=from_the_most_rows,
        cost=_recovery_cost,
        width=13.0,
    ),
    Recipe(
        "weightlift",
        "units",
        "Recovery against the number of units",
        "d = 2k inputs, no noise, at a fixed number of rows a parameter; k = 20 and 30 are in `samples_wide`.",
        "recovery stays possible as k grows, at the same number of rows a parameter.",
        {
            "quick": _needed_grid(4, ("relu", "squared_relu"), _squares(2, 4, 6, 8), (2.0, 4.0), 2000.0),
            "paper": _needed_grid(20, (*HOMOGENEOUS, "tanh"), _squares(2, 4, 6, 8, 10, 15), (2.0, 3.0, 4.0), 15_000.0),
        },
        recovery_trial,
        summarize_recovery,
        draw_units,
        claim_units,
        cost=_recovery_cost,
    ),
    Recipe(
        "weightlift",
        "cramer_rao",
        "Squared error against the Cramér–Rao bound",
        "d = 10, k = 3, noise of standard deviation 0.1; the bound is σ² tr(JᵀJ)⁻¹ at the truth on the drawn inputs.",
        "least squares attains the bound as n grows.",
        {
            "quick": Grid.product(20, activation=("relu", "squared_relu"), d=10, k=3, ratio=(10.0, 30.0, 100.0)),
            "paper": Grid.product(100, activation=HOMOGENEOUS, d=10, k=3, ratio=(5.0, 10.0, 20.0, 50.0, 100.0, 300.0, 1000.0)),
        },
        noise_trial,
        summarize_noise,
        draw_noise,
        claim_noise,
        cost=lambda point: 1 + point["ratio"] / 30,
    ),
]
