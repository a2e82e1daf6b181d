"""How often an answer is certified: against rows, noise and width.

Teacher   as in `weightlift`, Gaussian x, ratio · p rows, Gaussian noise of standard deviation σ.
Right     without noise, every unit within 10⁻⁶; with noise, within 4 times the root of the Cramér–Rao bound on the same rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import weightlift as wl
from weightlift.plots import FAINT
from weightlift.reproduce.limits import LIMITS
from weightlift.reproduce.recipe import Claim, Grid, Recipe, Row, every
from weightlift.reproduce.style import curve, key
from weightlift.reproduce.tables import column, grouped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AXES = {"rows": ("ratio", "rows a parameter"), "noise": ("noise", "noise σ"), "width": ("k", "units k, d = 2k")}
REACHED = 16.0  # times the bound on the squared error: more is another network, not noise


def certified_trial(rng: np.random.Generator, *, axis: str, activation: str, d: int, k: int, ratio: float, noise: float) -> Row:
    """The certificate of `recover`, and whether the units are right."""
    truth = wl.teachers.conditioned(d, k, activation=activation, rng=rng)
    X, y = wl.draw(truth, round(ratio * wl.identifiability.count_parameters(truth)), noise_std=noise, rng=rng)
    found = wl.recover(X, y, n_units=k, activation=activation, max_work=LIMITS.work, rng=int(rng.integers(2**31)))
    match = wl.match(found.network, truth)
    right = match.max_error <= LIMITS.right if not noise else _within_noise(match.squared_error, truth, X, noise)
    return {"status": found.certificate.status.name, "right": bool(right and match.signs_agree)}


def _within_noise(squared_error: float, truth: wl.Network, X: np.ndarray, noise: float) -> bool:
    return squared_error <= REACHED * wl.certificate.cramer_rao(truth, X, noise)


def summarize_certified(trials: list[Row]) -> list[Row]:
    return [
        {
            "axis": axis,
            "activation": activation,
            "d": d,
            "k": k,
            "ratio": ratio,
            "noise": noise,
            "trials": len(rows),
            "right": float(np.mean(column(rows, "right"))),
            "certified": float(np.mean([row["status"] in ("EXACT", "STATISTICAL") for row in rows])),
            "ambiguous": float(np.mean([row["status"] == "AMBIGUOUS" for row in rows])),
            "certified_but_wrong": sum(row["status"] in ("EXACT", "STATISTICAL") and not row["right"] for row in rows),
            "right_but_refused": sum(row["status"] not in ("EXACT", "STATISTICAL") and row["right"] for row in rows),
        }
        for (axis, activation, d, k, ratio, noise), rows in grouped(trials, "axis", "activation", "d", "k", "ratio", "noise")
    ]


def draw_certified(figure: Figure, rows: list[Row]) -> None:
    shown = [axis for axis in AXES if any(row["axis"] == axis for row in rows)]
    axes = figure.subplots(1, len(shown), sharey=True, squeeze=False)[0]
    for ax, axis in zip(axes, shown, strict=True):
        name, label = AXES[axis]
        for i, ((activation,), part) in enumerate(grouped([row for row in rows if row["axis"] == axis], "activation")):
            x = np.maximum(column(part, name), 1e-4)
            curve(ax, i, x, column(part, "certified"), label=activation.replace("_", " "))
            curve(ax, i, x, column(part, "right"), linestyle=":", marker="", linewidth=1.2)
        ax.axhline(1.0, color=FAINT, linewidth=0.6)
        ax.set(xlabel=label, xscale="linear" if axis == "width" else "log", ylim=(-0.03, 1.05))
    key(axes[0], "right, certified or not", linestyle=":")
    axes[0].set_ylabel("share certified")
    axes[0].legend()


def claim_certified(rows: list[Row]) -> list[Claim]:
    exact = [row for row in rows if not row["noise"]]
    enough = [row for row in exact if row["ratio"] >= 3]
    noisy = [row for row in rows if row["noise"] and row["ratio"] >= 20 and row["noise"] <= 0.3]
    wrong, trials = sum(row["certified_but_wrong"] for row in rows), sum(row["trials"] for row in rows)
    refused, right = sum(row["right_but_refused"] for row in rows), sum(round(row["right"] * row["trials"]) for row in rows)
    return [
        Claim(
            "no answer is certified that is wrong",
            f"{wrong} of {trials} answers",
            wrong == 0,
            "a defect of the certificate, and not chance: "
            + "; ".join(f"{_point(row)}: {row['certified_but_wrong']}" for row in rows if row["certified_but_wrong"]),
        ),
        Claim(
            "right answers are certified: at least 90 % of them",
            f"{right - refused} of {right}",
            bool(right - refused >= 0.9 * right) if right else None,
            "refused: " + "; ".join(f"{_point(row)}: {row['right_but_refused']}" for row in rows if row["right_but_refused"])
            if right
            else "the setting: no answer of this grid is right",
        ),
        Claim(
            "without noise, from 3 rows a parameter on, at least 90 % are certified at every width",
            _below(enough),
            every(row["certified"] >= 0.9 for row in enough),
            _rights(enough),
        ),
        Claim(
            "with noise up to 0.3 and 20 rows a parameter at least 90 % are certified",
            _below(noisy),
            every(row["certified"] >= 0.9 for row in noisy),
            _rights(noisy),
        ),
    ]


def _below(rows: list[Row]) -> str:
    """The shares that are certified where they are not all."""
    short = [row for row in rows if row["certified"] < 1]
    if not short:
        return f"100 % at {len(rows)} points" if rows else "no such points"
    return f"100 % at {len(rows) - len(short)} of {len(rows)} points; " + ", ".join(
        f"{_point(row)}: {row['certified']:.0%}" for row in short
    )


def _rights(rows: list[Row]) -> str:
    """Whether it is the search or the certificate that stops short; AMBIGUOUS is said where the rows leave a unit open."""
    if not rows:
        return "the setting: this grid has no such points"
    short = [row for row in rows if row["certified"] < 0.9]
    found = ", ".join(f"{_point(row)}: {row['right']:.0%} right, {row['ambiguous']:.0%} AMBIGUOUS" for row in short)
    return f"{found}. A right answer is AMBIGUOUS where the noise hides a unit, or what tells two apart, from so many rows"


def _point(row: Row) -> str:
    return f"{row['activation'].replace('_', ' ')}, k = {row['k']}, {row['ratio']:g} rows a parameter, σ = {row['noise']:g}"


def _certified_grid(
    trials: int, names: tuple[str, ...], ratios: tuple[float, ...], noises: tuple[float, ...], units: tuple[int, ...]
) -> Grid:
    rows = Grid.product(trials, axis="rows", activation=names, d=10, k=3, ratio=ratios, noise=0.0)
    noise = Grid.product(trials, axis="noise", activation=names, d=10, k=3, ratio=20.0, noise=noises)
    width = Grid.product(trials, axis="width", activation=names, k=units, ratio=4.0, noise=0.0)
    return rows + noise + Grid(tuple({**point, "d": 2 * point["k"]} for point in width.points), trials)


RECIPES = [
    Recipe(
        "weightlift",
        "certified",
        "Share of answers that are certified",
        "`recover` of d = 10, k = 3 without noise against rows, and at 20 rows a parameter against noise; of d = 2k at 4 rows "
        "a parameter against width.",
        "right answers are certified, wrong ones never.",
        {
            "quick": _certified_grid(4, ("relu", "tanh"), (1.25, 2.0, 4.0), (0.01, 0.1), (2, 4)),
            "paper": _certified_grid(
                20,
                ("relu", "leaky_relu", "squared_relu", "tanh", "sigmoid"),
                (1.0, 1.125, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0),
                (0.001, 0.01, 0.03, 0.1, 0.3, 1.0),
                (2, 4, 6, 8, 10, 15),
            ),
        },
        certified_trial,
        summarize_certified,
        draw_certified,
        claim_certified,
        cost=lambda point: (1 + point["k"] ** 2 / 20) * (4 if point["ratio"] < 2 else 1),
        width=11.0,
    ),
]
