"""The figures of zhang2019, §6: ReLU units with output weights 1, gradient descent on all rows.

Teacher   W = U diag(1 … 2) Vᵀ with K units, x ~ N(0, I); noise only in fig2d, N(0, 0.1) read as variance 0.1.
Method    tensor initialization of zhong2017 or a Gaussian start, then gradient descent with η = 0.5; fig2c, where that diverges
          at K = 15, takes η = 1/λ_max(JᵀJ) at the start. The paper gives no numbers of rows or steps: ours are in the grids.
Ours      `recover` with free output weights, which it is not told are 1. All on the same data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import weightlift as wl
from weightlift.learning import learn_relu
from weightlift.reproduce.convergence import at_step, draw_quartiles, quartiles, rate, rates_in_words, steps_to, thinned
from weightlift.reproduce.fits import Line
from weightlift.reproduce.recipe import Claim, Grid, Recipe, Row, every, none_wrong
from weightlift.reproduce.style import curve, key
from weightlift.reproduce.tables import column, grouped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEP = 0.5
SUCCESS = 1e-3  # ‖W − W* M‖_F / ‖W*‖_F
DECIDED, STEPS = 1e-9, 5000  # relative risk at which a noiseless descent is right to 2e-4, and the most steps
ITERATIONS, EVERY = 1000, 5
NOISE = 0.1**0.5
NOISY_STEPS, NOISY_WORK = 1000, 1000.0
REACHED = 4.0  # times the bound: more is another minimum, not noise
STARTS = {"tensor": "tensor start", "random": "random start", "ours": "Weightlift: tensor start, Gauss–Newton"}


def descent_trial(rng: np.random.Generator, *, d: int, n: int, k: int) -> Row:
    """Relative risks before every fifth step, from a tensor and from a Gaussian start; of Gauss–Newton before every step."""
    _, X, y = _problem(rng, d, n, k)
    seed, energy = int(rng.integers(2**31)), float(np.mean(y**2)) / 2
    risks = {}
    for start in ("tensor", "random"):
        learned = learn_relu(X, y, n_units=k, preset="paper", initialization=start, step=STEP, iterations=ITERATIONS, rng=seed)
        risks[start] = thinned(learned.descent.risks / energy, EVERY)
    rows = wl.samples.open(X, y)
    ours = wl.initialization.tensor_init(rows, k, "relu", rng=seed).network.absorbed()
    risks["ours"] = (wl.refinement.gauss_newton(rows, ours, iterations=100).history[:, 0] / energy).tolist()
    return {"risks": risks}


def recovery_trial(rng: np.random.Generator, *, d: int, n: int, k: int, start: str) -> Row:
    """Whether the paper's method and ours recover W."""
    truth, X, y = _problem(rng, d, n, k)
    seed, step = int(rng.integers(2**31)), STEP if start == "tensor" else "curvature"
    learned = learn_relu(
        X, y, n_units=k, preset="paper", initialization=start, step=step, iterations=STEPS, tol=DECIDED, rng=seed
    )
    found = wl.recover(X, y, n_units=k, activation="relu", rng=seed)
    error = wl.match(found.network, truth).relative_frobenius_error
    return {
        "recovered": bool(learned.errors(truth)[1].relative_frobenius_error <= SUCCESS),
        "steps": len(learned.descent.risks) - 1,
        "our_recovered": bool(error <= SUCCESS),
        "certified": bool(found.certificate),
    }


def noisy_trial(rng: np.random.Generator, *, d: int, n: int, k: int) -> Row:
    """Squared Frobenius errors of both methods, and the Cramér–Rao bound on the same inputs."""
    truth, X, y = _problem(rng, d, n, k, noise_std=NOISE)
    seed = int(rng.integers(2**31))
    learned = learn_relu(X, y, n_units=k, preset="paper", step=STEP, iterations=NOISY_STEPS, rng=seed)
    found = wl.recover(X, y, n_units=k, activation="relu", max_work=NOISY_WORK, rng=seed)
    return {
        "squared_error": learned.errors(truth)[1].squared_error,
        "our_squared_error": wl.match(found.network, truth).squared_error,
        "bound": wl.certificate.cramer_rao(truth, X, NOISE),
    }


def _problem(
    rng: np.random.Generator, d: int, n: int, k: int, noise_std: float = 0.0
) -> tuple[wl.Network, np.ndarray, np.ndarray]:
    truth = wl.teachers.conditioned(d, k, kappa=2.0, signs=False, activation="relu", rng=rng)
    return truth, *wl.draw(truth, n, noise_std=noise_std, rng=rng)


def draw_descent(figure: Figure, rows: list[Row]) -> None:
    ax = figure.subplots()
    draw_quartiles(ax, rows, STARTS)
    ax.set(ylabel="loss, relative to ½ E y²", xlim=(0, ITERATIONS), ylim=(1e-20, 10))
    ax.legend(loc="lower right", bbox_to_anchor=(0.88, 0.0))


def claim_descent(rows: list[Row]) -> list[Claim]:
    level, early = 1e-6, 50
    needed = {start: steps_to(rows, start, level) for start in STARTS}
    at = {start: at_step(rows, start, early)["median"] for start in STARTS}
    lines = {start: rate(rows, start, below=1e-4) for start in ("tensor", "random")}
    return [
        Claim(
            "tensor initialization converges faster than a random start at the early stage",
            f"median relative loss after {early} steps {at['tensor']:.1e} against {at['random']:.1e}; steps to {level:g}: "
            f"{needed['tensor']:g} against {needed['random']:g}",
            bool(at["tensor"] < at["random"]),
            "too few trials: the medians of both starts lie within each other's quartiles",
        ),
        Claim(
            "both converge at a linear rate after some steps (R² ≥ 0.95)",
            rates_in_words(lines),
            all(line.points > 4 and line.r2 >= 0.95 and line.slope < 0 for line in lines.values()),
            "the median is small at few steps: " + ", ".join(f"{name} {line.points}" for name, line in lines.items()),
        ),
        Claim(
            "Gauss–Newton from our start needs a tenth of the steps",
            f"{needed['ours']:g} steps to {level:g}",
            bool(needed["ours"] <= needed["tensor"] / 10) if np.isfinite(needed["ours"]) else None,
            f"the descent from the tensor start takes {needed['tensor']:g}; the median of {rows[0]['trials']} trials",
        ),
    ]


def summarize_recovery(trials: list[Row]) -> list[Row]:
    return [
        {
            "d": d,
            "k": k,
            "n": n,
            "n/d": n / d,
            "n/k": n / k,
            "trials": len(rows),
            "paper": float(np.mean(column(rows, "recovered"))),
            "ours": float(np.mean(column(rows, "our_recovered"))),
            "certified_but_wrong": sum(row["certified"] and not row["our_recovered"] for row in rows),
            "median_steps": float(np.median(column(rows, "steps"))),
        }
        for (d, k, n), rows in grouped(trials, "d", "k", "n")
    ]


def draw_recovery(figure: Figure, rows: list[Row], *, by: str, ratio: str) -> None:
    axes = figure.subplots(1, 2, sharey=True)
    for ax, (method, label) in zip(axes, (("paper", "zhang2019"), ("ours", "Weightlift, same data")), strict=True):
        for i, ((value,), part) in enumerate(grouped(rows, by)):
            curve(ax, i, column(part, ratio), column(part, method), label=f"{by} = {value}")
        ax.set(title=label, xlabel=ratio.replace("n", "N").replace("k", "K"), ylim=(-0.03, 1.03))
    axes[0].set_ylabel("share of trials recovered")
    axes[0].legend()


def half(rows: list[Row], by: str, ratio: str, method: str = "paper") -> dict[int, float]:
    """For each d or K, the ratio at which half of the trials recover: between the points where the share crosses 1/2 last;
    infinite where the grid ends before."""
    found = {}
    for (value,), part in grouped(rows, by):
        x, share = column(part, ratio), column(part, method)
        below = np.flatnonzero(share < 0.5)
        i = below[-1] if len(below) else -1
        if i < 0 or i == len(x) - 1:
            found[value] = np.inf if i >= 0 else x[0]
        else:
            found[value] = x[i] + (0.5 - share[i]) / (share[i + 1] - share[i]) * (x[i + 1] - x[i])
    return found


def claim_recovery(rows: list[Row], *, by: str, ratio: str) -> list[Claim]:
    thresholds, ours = half(rows, by, ratio), half(rows, by, ratio, "ours")
    values, top = np.array(list(thresholds.values())), max(row[ratio] for row in rows)
    spread = min(values.max(), top) / values.min()  # at least, where the grid ends before half of the trials recover
    ended = bool(np.isinf(values).any())
    worst = sum(row["ours"] < row["paper"] for row in rows)
    name = ratio.replace("n", "N").replace("k", "K")
    return [
        Claim(
            f"the curves against {name} fall together: half the trials recover at ratios within a factor of 2",
            ", ".join(f"{by} = {value}: {name} {_at(x, top)}" for value, x in thresholds.items())
            + f"; factor {'above ' if ended else ''}{spread:.2f}",
            None if ended and spread <= 2 else bool(spread <= 2),
            _minima(rows, by),
        ),
        Claim(
            "`recover` succeeds wherever the paper's method does, from fewer rows",
            f"half recover at {name} {', '.join(_at(x, top) for x in ours.values())}; behind at {worst} of {len(rows)} points",
            bool(worst == 0),
            "; ".join(
                f"{by} = {row[by]}, {name} = {row[ratio]:.3g}: {row['ours']:.0%} against {row['paper']:.0%}"
                for row in rows
                if row["ours"] < row["paper"]
            ),
        ),
        none_wrong(rows),
    ]


def _at(ratio: float, top: float) -> str:
    return f"= {ratio:.3g}" if np.isfinite(ratio) else f"> {top:g}"


def _minima(rows: list[Row], by: str) -> str:
    """How often the descent fails on rows from which all networks can be recovered: there the rows are not what it lacks."""
    plenty = [row for row in rows if row["ours"] == 1.0]
    shares = ", ".join(
        f"{by} = {value}: {np.mean([1 - row['paper'] for row in part]):.0%}" for (value,), part in grouped(plenty, by)
    )
    return (
        f"not the rows decide: where `recover` has every trial right, {STEPS:,} steps of the descent end elsewhere in {shares} "
        f"of the trials; {min(row['trials'] for row in rows)} trials a point"
    )


def summarize_noise(trials: list[Row]) -> list[Row]:
    return [
        {
            "d": d,
            "n": n,
            "n/d": n / d,
            "trials": len(rows),
            "paper": float(np.mean(np.sqrt(column(rows, "squared_error")))),
            "ours": float(np.mean(np.sqrt(column(rows, "our_squared_error")))),
            "paper_squared": float(np.mean(column(rows, "squared_error"))),
            "paper_median_squared": float(np.median(column(rows, "squared_error"))),
            "paper_reached": float(np.mean(column(rows, "squared_error") <= REACHED * column(rows, "bound"))),
            "paper_reached_squared": _mean_reached(rows),
            "ours_squared": float(np.mean(column(rows, "our_squared_error"))),
            "ours_standard_error": _standard_error(column(rows, "our_squared_error") / np.mean(column(rows, "bound"))),
            "bound": float(np.mean(column(rows, "bound"))),
        }
        for (d, n), rows in grouped(trials, "d", "n")
    ]


def _mean_reached(rows: list[Row]) -> float:
    """The paper's mean squared error over the trials that end near the truth."""
    error = column(rows, "squared_error")
    near = error[error <= REACHED * column(rows, "bound")]
    return float(near.mean()) if len(near) else float("nan")


def _standard_error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def draw_noise(figure: Figure, rows: list[Row]) -> None:
    axes = figure.subplots(1, 2, sharey=True)
    for ax, (method, label) in zip(axes, (("paper", "zhang2019"), ("ours", "Weightlift")), strict=True):
        for i, ((d,), part) in enumerate(grouped(rows, "d")):
            curve(ax, i, column(part, "n/d"), column(part, method), label=f"d = {d}")
            if method == "paper":
                median = np.sqrt(column(part, "paper_median_squared"))
                curve(ax, i, column(part, "n/d"), median, linestyle="--", markerfacecolor="white", linewidth=1)
            bound = np.sqrt(column(part, "bound"))
            ax.plot(column(part, "n/d"), bound, color="black", linewidth=0.9, linestyle=":", zorder=5)
        ax.set(title=label, xlabel="N/d", xscale="log", yscale="log")
    key(axes[1], "medians", linestyle="--", marker="o", markerfacecolor="white")
    key(axes[1], "√ Cramér–Rao bound", linestyle=":", color="black")
    axes[0].set_ylabel("error ‖W − W* M‖")
    axes[1].legend()


def claim_noise(rows: list[Row]) -> list[Claim]:
    columns = {"paper, means": "paper_squared", "paper, medians": "paper_median_squared", "ours, means": "ours_squared"}
    slopes = {method: _slopes(rows, name) for method, name in columns.items()}
    ratio, error = column(rows, "ours_squared") / column(rows, "bound"), column(rows, "ours_standard_error")
    far = column(rows, "n/d") >= 200
    reached = column(rows, "paper_reached")
    spread = max(float(np.max(column(part, "ours")) / np.min(column(part, "ours"))) for _, part in grouped(rows, "n/d"))
    near = ", ".join(f"d = {d}: {slope:.2f}" for d, slope in _slopes(rows, "paper_reached_squared").items())
    minima = (
        f"{1 - np.mean(reached):.0%} of the trials end at other minima, which noise did not make: above {REACHED:g} times the "
        f"bound; the others have slopes {near}"
    )
    return [
        Claim(
            "the error depends on N/d alone: at equal N/d the errors of all d are within a factor of 1.5 (ours)",
            f"largest factor {spread:.2f}",
            bool(spread <= 1.5),
            f"too few trials: {rows[0]['trials']} a point",
        ),
        *(
            Claim(
                f"the squared error falls as d/N: slope −1 ± 0.15 ({method})",
                ", ".join(f"d = {d}: {slope:.2f}" for d, slope in found.items()),
                every(abs(slope + 1) <= 0.15 for slope in found.values()),
                minima if method.startswith("paper") else f"too few trials: {rows[0]['trials']} a point",
            )
            for method, found in slopes.items()
        ),
        Claim(
            "least squares sits on the Cramér–Rao bound: mean squared error within 15 % of it from N/d = 200 on, as far as the "
            "trials tell (two standard errors) (ours)",
            f"ratios {', '.join(f'{r:.2f} ± {e:.2f}' for r, e in zip(ratio[far], error[far], strict=True))}",
            every((ratio - 1.15 <= 2 * error)[far]) if np.isfinite(error[far]).all() else None,
            f"two standard errors exclude one point in twenty by chance; {rows[0]['trials']} trials each",
        ),
        Claim(
            f"the paper's method ends within {REACHED:g} times the bound in every trial",
            f"in {np.mean(reached):.0%} of them; the others stay at other minima",
            bool(np.all(reached == 1)),
            "the paper's claim is local: from a start near enough. Its tensor start from N rows is not always one",
        ),
    ]


def _slopes(rows: list[Row], name: str) -> dict[int, float]:
    return {d: Line.of_powers(column(part, "n"), column(part, name)).slope for (d,), part in grouped(rows, "d")}


def _by_ratio(trials: int, inputs: tuple[int, ...], ratios: tuple[int, ...], **fixed: object) -> Grid:
    return Grid(tuple({"d": d, "n": ratio * d, **fixed} for d in inputs for ratio in ratios), trials)


def _by_units(trials: int, units: tuple[int, ...], ratios: tuple[int, ...]) -> Grid:
    return Grid(tuple({"d": 20, "n": ratio * k, "k": k, "start": "random"} for k in units for ratio in ratios), trials)


RECIPES = [
    Recipe(
        "zhang2019",
        "fig2a",
        "Convergence of gradient descent from two starts",
        "d = 10, N = 5,000, K = 5, no noise, η = 0.5. Medians and quartiles over the trials.",
        "both starts reach a linear rate after a certain number of iterations, and tensor initialization is faster at the "
        "early stage.",
        {"quick": Grid.product(5, d=10, n=5000, k=5), "paper": Grid.product(20, d=10, n=5000, k=5)},
        descent_trial,
        lambda trials: quartiles(trials, {start: 1 if start == "ours" else EVERY for start in STARTS}),
        draw_descent,
        claim_descent,
        width=7.5,
    ),
    Recipe(
        "zhang2019",
        "fig2b",
        "Recovery against N/d",
        "K = 5, no noise; tensor initialization and gradient descent with η = 0.5. Recovered: ‖W − W* M‖ ≤ 10⁻³ ‖W*‖.",
        "the sample complexity of tensor initialization followed by gradient descent is linear in d.",
        {
            "quick": _by_ratio(5, (20, 50), (5, 10, 20, 30, 40, 60, 80), k=5, start="tensor"),
            "paper": _by_ratio(10, (20, 50, 100), (5, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100), k=5, start="tensor"),
        },
        recovery_trial,
        summarize_recovery,
        lambda figure, rows: draw_recovery(figure, rows, by="d", ratio="n/d"),
        lambda rows: claim_recovery(rows, by="d", ratio="n/d"),
        cost=lambda point: 1 + point["n"] * point["d"] / 2e4,
    ),
    Recipe(
        "zhang2019",
        "fig2c",
        "Recovery against N/K",
        "d = 20, no noise; a random Gaussian start and gradient descent with η = 1/λ_max(JᵀJ) at the start.",
        "under random initialization the sample complexity is linear in the number of hidden units.",
        {
            "quick": _by_units(5, (5, 10), (20, 40, 80, 120, 200)),
            "paper": _by_units(10, (5, 10, 15), (20, 40, 60, 80, 100, 120, 160, 200, 300, 400)),
        },
        recovery_trial,
        summarize_recovery,
        lambda figure, rows: draw_recovery(figure, rows, by="k", ratio="n/k"),
        lambda rows: claim_recovery(rows, by="k", ratio="n/k"),
        cost=lambda point: point["k"] ** 2 / 25 * (1 + point["n"] / 1e3),
    ),
    Recipe(
        "zhang2019",
        "fig2d",
        "Estimation error against N/d under noise",
        "K = 5, noise of variance 0.1, tensor initialization, gradient descent with η = 0.5; means over the trials. Dotted: "
        "the root of the Cramér–Rao bound on the same inputs, with W alone unknown up to its scale.",
        "the averaged error is aligned with the rescaled sample size N/d under different d, which confirms the rate d/N.",
        {
            "quick": _by_ratio(5, (10, 25), (50, 100, 200, 400, 800), k=5),
            "paper": _by_ratio(10, (10, 25, 50), (50, 100, 200, 300, 400, 600, 800, 1000), k=5),
        },
        noisy_trial,
        summarize_noise,
        draw_noise,
        claim_noise,
        cost=lambda point: 1 + point["n"] * point["d"] / 2e4,
    ),
]
