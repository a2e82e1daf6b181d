"""A useful fit where no units can be certified: ridge on every parameter, its size and the width chosen on held-out rows.

Fit     ½ E r² + ½ α ‖(W, a, b)‖² by Gauss–Newton, inputs and target standardised; from a large α to smaller ones, every fit
        starting where the last one ended.
Choice  the α, and among several widths the width, of the least risk in three folds; folds are decided by the rows' hashes.
Work    counted in Gauss–Newton steps of one start; no new α or width is tried once it is spent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from weightlift.activations import Activation
from weightlift.estimator.rows import LEAST_SPREAD, power_of_two
from weightlift.network import Network
from weightlift.refinement import gauss_newton
from weightlift.risk import Students
from weightlift.samples import Samples
from weightlift.samples import open as open_samples
from weightlift.samples.keys import row_keys, uniforms

ALPHAS = tuple(0.3 * 10 ** (-i / 2) for i in range(9))  # 0.3 … 3e-5
WIDTHS = (2, 4, 8, 16)
FOLDS, STARTS, LAST_STARTS = 3, 2, 4
STEPS, LAST_STEPS = 20, 60
LEAST_ROWS, MOST_ROWS = 30, 4000  # for a choice at all; that a choice is made on
MAX_PARAMETERS = 800
WORSE = 2  # times in a row that a smaller α may fail to help


@dataclass(frozen=True)
class Trial:
    """One width and α, with the mean risk of the folds, relative to the target's variance."""

    width: int
    alpha: float
    risk: float


@dataclass(frozen=True)
class Regularized:
    """The network of the raw inputs, the ridge it was fitted with (in standardised ones), and what was compared."""

    network: Network
    alpha: float
    work: float
    trials: tuple[Trial, ...]


def regularized_fit(
    X: np.ndarray,
    y: np.ndarray,
    w: np.ndarray | None,
    widths: Sequence[int],
    activation: Activation,
    *,
    alphas: Sequence[float] = ALPHAS,
    bias: bool,
    offset: bool,
    standardize: bool = True,
    tol: float,
    max_work: float,
    rng: np.random.Generator,
) -> Regularized:
    """See the module's docstring; one width and one α are taken as they are."""
    frame = Frame.of(X, y, w, centred=bias, offset=offset) if standardize else Frame.trivial(X.shape[1])
    Z, t = frame.inputs(X), frame.targets(y)
    plan = Plan(activation, "Wa" + "b" * bias + "c" * offset, tol, int(rng.integers(2**31)))
    trials, work = _choose(Z, t, w, widths, alphas, plan, max_work)
    best = min(trials, key=lambda trial: trial.risk)
    path = [alpha for alpha in alphas if alpha > best.alpha][:: max(1, len(alphas) // 4)] + [best.alpha]
    students = plan.starts(Z.shape[1], best.width, LAST_STARTS)
    for alpha in path:
        steps = LAST_STEPS if alpha == best.alpha else STEPS
        fit = gauss_newton(open_samples(Z, t, sample_weight=w), students, free=plan.free, iterations=steps, tol=tol, ridge=alpha)
        students, work = fit.students, work + fit.iterations * LAST_STARTS
    return Regularized(frame.undo(fit.network), best.alpha, work, trials)


@dataclass(frozen=True)
class Plan:
    """What all fits share."""

    activation: Activation
    free: str
    tol: float
    seed: int

    def starts(self, d: int, width: int, count: int) -> Students:
        """Units of about unit length and biases within the data, the same for every fold."""
        rng = np.random.default_rng([self.seed, width])
        W = rng.normal(size=(d, count, width)) / np.sqrt(d)
        a = rng.choice([-1.0, 1.0], size=(count, width)) / np.sqrt(width)
        b = 0.5 * rng.normal(size=(count, width)) * ("b" in self.free)
        return Students(W, a, b, np.zeros(count), self.activation)


def _choose(
    Z: np.ndarray,
    t: np.ndarray,
    w: np.ndarray | None,
    widths: Sequence[int],
    alphas: Sequence[float],
    plan: Plan,
    max_work: float,
) -> tuple[tuple[Trial, ...], float]:
    """The folds' risks; wider networks while they help, smaller α while it helps."""
    d = Z.shape[1]
    allowed = [k for k in widths if k == min(widths) or k * (d + 2) <= min(MAX_PARAMETERS, len(Z) // 2)]
    if len(allowed) == 1 and len(alphas) == 1:
        return (Trial(allowed[0], alphas[0], np.nan),), 0.0
    folds = _folds(Z, t, w, plan.seed)
    if folds is None:
        return (Trial(allowed[0], float(np.sort(alphas)[len(alphas) // 2]), np.nan),), 0.0
    trials: list[Trial] = []
    work = 0.0
    for width in allowed:
        before = min((trial.risk for trial in trials), default=np.inf)
        found, spent = _path(folds, width, alphas, plan, max_work - work)
        trials, work = trials + found, work + spent
        if min(trial.risk for trial in found) >= before or work >= max_work:
            break
    return tuple(trials), work


def _path(
    folds: list[tuple[Samples, Samples]], width: int, alphas: Sequence[float], plan: Plan, max_work: float
) -> tuple[list[Trial], float]:
    """One width, from the largest α down, all folds side by side."""
    students = [plan.starts(fold.d, width, STARTS) for fold, _ in folds]
    total, work, worse = sum(held.total for _, held in folds), 0.0, 0
    trials: list[Trial] = []
    for alpha in sorted(alphas, reverse=True):
        risk = 0.0
        for i, (train, held) in enumerate(folds):
            fit = gauss_newton(train, students[i], free=plan.free, iterations=STEPS, tol=plan.tol, ridge=alpha)
            students[i], work = fit.students, work + fit.iterations * STARTS
            risk += held.total * _risk(held, fit.network) / total
        worse = worse + 1 if trials and risk >= min(trial.risk for trial in trials) else 0
        trials.append(Trial(width, alpha, risk))
        if worse >= WORSE or work >= max_work:
            break
    return trials, work


def _risk(held: Samples, network: Network) -> float:
    from weightlift.risk import Risk

    value = 2.0 * float(held.mean(Risk(Students.of(network)))[0][0])
    return value if np.isfinite(value) else np.inf


def _folds(Z: np.ndarray, t: np.ndarray, w: np.ndarray | None, seed: int) -> list[tuple[Samples, Samples]] | None:
    """Pairs of training and held-out rows; None for too few rows."""
    if len(Z) < LEAST_ROWS:
        return None
    chance = uniforms(row_keys(Z, t), seed)
    if len(Z) > MOST_ROWS:
        chosen = np.argsort(chance)[:MOST_ROWS]
        Z, t, w = Z[chosen], t[chosen], None if w is None else w[chosen]
    rank = np.argsort(np.argsort(uniforms(row_keys(Z, t), seed + 1)))
    parts = [rank % FOLDS == i for i in range(FOLDS)]

    def rows(mask: np.ndarray) -> Samples:
        return open_samples(Z[mask], t[mask], sample_weight=None if w is None else w[mask])

    return [(rows(~part), rows(part)) for part in parts]


@dataclass(frozen=True, eq=False)
class Frame:
    """Standardised inputs z = (x/s − μ)/σ and target, with the powers of two s taken out first: nothing overflows."""

    size: np.ndarray  # (d,) s
    mean: np.ndarray  # (d,)
    spread: np.ndarray  # (d,) 0 for a column without any, which is left out
    target_size: float
    target_mean: float
    target_spread: float

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray, w: np.ndarray | None, *, centred: bool, offset: bool) -> Frame:
        size, target_size = power_of_two(np.max(np.abs(X), axis=0)), float(power_of_two(np.max(np.abs(y))))
        mean, spread = _moments(X / size, w, centred)
        target_mean, target_spread = _moments((y / target_size)[:, None], w, offset)
        spread = np.where(spread * size > LEAST_SPREAD, spread, 0.0)
        return cls(size, mean, spread, target_size, float(target_mean[0]), float(target_spread[0]) or 1.0)

    @classmethod
    def trivial(cls, d: int) -> Frame:
        return cls(np.ones(d), np.zeros(d), np.ones(d), 1.0, 0.0, 1.0)

    def inputs(self, X: np.ndarray) -> np.ndarray:
        safe = np.where(self.spread > 0, self.spread, 1.0)
        return np.asarray(np.where(self.spread > 0, (X / self.size - self.mean) / safe, 0.0))

    def targets(self, y: np.ndarray) -> np.ndarray:
        return np.asarray((y / self.target_size - self.target_mean) / self.target_spread)

    def undo(self, network: Network) -> Network:
        safe = np.where(self.spread > 0, self.spread, 1.0)
        W = np.where(self.spread[:, None] > 0, network.W / safe[:, None], 0.0)
        b = network.b - self.mean @ W
        scale = self.target_size * self.target_spread
        c = self.target_size * (self.target_spread * network.c + self.target_mean)
        return replace(network, W=W / self.size[:, None], b=b, a=network.a * scale, c=c)


def _moments(X: np.ndarray, w: np.ndarray | None, centred: bool) -> tuple[np.ndarray, np.ndarray]:
    """Mean (zero unless centred) and root mean square about it; columns that only rounding makes vary have none."""
    mean = np.average(X, axis=0, weights=w) if centred else np.zeros(X.shape[1])
    spread = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=w))
    return mean, np.where(spread > 1e-13 * np.max(np.abs(X), axis=0), spread, 0.0)
