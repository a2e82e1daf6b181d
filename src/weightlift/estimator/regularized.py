"""A useful fit where no units can be certified: ridge on every parameter, its size and the width chosen on held-out rows.

Fit     ½ E r² + ½ α ‖(W, a, b)‖² by Gauss–Newton, inputs and target standardised. Random starts go from a large α to smaller
        ones, a network that was searched for from α = 0 to larger ones; every fit starts where the last one ended.
Choice  the α, and among several widths the width, of the least risk in three folds; folds are decided by the rows' hashes.
Work    counted in Gauss–Newton steps of one start; no new α or width is tried once it is spent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from weightlift.activations import Activation
from weightlift.estimator.limits import LIMITS
from weightlift.network import Network
from weightlift.recovery import Request
from weightlift.refinement import gauss_newton
from weightlift.risk import Students
from weightlift.samples import Samples, Scaling
from weightlift.samples import open as open_samples
from weightlift.samples.keys import row_keys, uniforms

ALPHAS = tuple(0.3 * 5.0**-i for i in range(7))  # 0.3 … 2e-5


@dataclass(frozen=True)
class Tried:
    """One width and α, with the mean risk E r² of the folds; whether it began at the network given."""

    width: int
    alpha: float
    risk: float
    given: bool = False


@dataclass(frozen=True)
class Regularized:
    """The network of the raw inputs, the ridge it was fitted with (in standardised ones), and what was compared."""

    network: Network
    alpha: float
    work: float
    trials: tuple[Tried, ...]


def regularized_fit(
    rows: tuple[np.ndarray, np.ndarray, np.ndarray | None],
    request: Request,
    *,
    alpha: float | str,
    standardize: bool = True,
    given: Network | None = None,
    tol: float,
    rng: np.random.Generator,
) -> Regularized:
    """See the module's docstring; a width and a positive α that are asked for are taken. given: to try beside random starts."""
    X, y, w = rows
    widths = LIMITS.widths if request.n_units == "auto" else (int(request.n_units),)
    alphas = ALPHAS if alpha in ("auto", 0) else (float(alpha),)
    frame = Frame.of(X, y, w, centred=request.bias, offset=request.offset) if standardize else Frame.trivial(X.shape[1])
    Z, t = frame.columns.inputs(X), frame.targets(y)
    start = None if given is None else balanced(frame.on_network(given))
    plan = Plan(request.phi, request.free, tol, int(rng.integers(2**31)), start)
    trials, work = _choose(Z, t, w, widths, alphas, plan, request.budget().max_work)
    best = min(trials, key=lambda trial: trial.risk)
    path = [larger for larger in sorted(alphas, reverse=True) if larger > best.alpha and not best.given]
    students = plan.starts(Z.shape[1], best.width, LIMITS.last_starts, given=best.given)
    samples = open_samples(Z, t, sample_weight=w)
    for ridge in [*path, best.alpha]:
        steps = LIMITS.last_steps if ridge == best.alpha else LIMITS.steps
        fit = gauss_newton(samples, students, free=plan.free, iterations=steps, tol=tol, ridge=ridge)
        students, work = fit.students, work + fit.iterations * students.shape[1]
    return Regularized(frame.undo(fit.network), best.alpha, work, trials)


@dataclass(frozen=True)
class Plan:
    """What all fits share."""

    activation: Activation
    free: str
    tol: float
    seed: int
    given: Network | None

    def starts(self, d: int, width: int, count: int, *, given: bool) -> Students:
        """The network given, or units of about unit length with biases within the data, the same for every fold."""
        if given and self.given is not None:
            return Students.of(self.given)
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
) -> tuple[tuple[Tried, ...], float]:
    """The folds' risks; wider networks while they help, smaller α while it helps."""
    d = Z.shape[1]
    allowed = [k for k in widths if k == min(widths) or k * (d + 2) <= min(LIMITS.parameters, len(Z) // 2)]
    if len(allowed) == 1 and len(alphas) == 1:
        return (Tried(allowed[0], alphas[0], np.nan),), 0.0
    folds = _folds(Z, t, w, plan.seed)
    if folds is None:
        return (Tried(allowed[0], float(sorted(alphas)[len(alphas) // 2]), np.nan),), 0.0
    trials: list[Tried] = []
    work = 0.0
    if plan.given is not None:
        trials, work = _path(folds, plan.given.n_units, (0.0, *sorted(alphas)), plan, max_work, given=True)
    for width in allowed:
        before = min((trial.risk for trial in trials if not trial.given), default=np.inf)
        found, spent = _path(folds, width, sorted(alphas, reverse=True), plan, max_work - work, given=False)
        trials, work = trials + found, work + spent
        if min(trial.risk for trial in found) > LIMITS.enough * before or work >= max_work:
            break
    return tuple(trials), work


def _path(
    folds: list[tuple[Samples, Samples]], width: int, alphas: Sequence[float], plan: Plan, max_work: float, *, given: bool
) -> tuple[list[Tried], float]:
    """One width, the α's in their order, all folds side by side."""
    students = [plan.starts(fold.d, width, LIMITS.starts, given=given) for fold, _ in folds]
    total, work, worse = sum(held.total for _, held in folds), 0.0, 0
    trials: list[Tried] = []
    for alpha in alphas:
        risk = 0.0
        for i, (train, held) in enumerate(folds):
            fit = gauss_newton(train, students[i], free=plan.free, iterations=LIMITS.steps, tol=plan.tol, ridge=alpha)
            students[i], work = fit.students, work + fit.iterations * fit.students.shape[1]
            risk += held.total * _risk(held, fit.network) / total
        worse = worse + 1 if trials and risk >= min(trial.risk for trial in trials) else 0
        trials.append(Tried(width, alpha, risk, given))
        if worse >= LIMITS.worse or work >= max_work:
            break
    return trials, work


def _risk(held: Samples, network: Network) -> float:
    from weightlift.risk import Risk

    value = 2.0 * float(held.mean(Risk(Students.of(network)))[0][0])
    return value if np.isfinite(value) else np.inf


def _folds(Z: np.ndarray, t: np.ndarray, w: np.ndarray | None, seed: int) -> list[tuple[Samples, Samples]] | None:
    """Pairs of training and held-out rows; None for too few rows."""
    if len(Z) < LIMITS.least_rows:
        return None
    chance = uniforms(row_keys(Z, t), seed)
    if len(Z) > LIMITS.most_rows:
        chosen = np.argsort(chance)[:LIMITS.most_rows]
        Z, t, w = Z[chosen], t[chosen], None if w is None else w[chosen]
    rank = np.argsort(np.argsort(uniforms(row_keys(Z, t), seed + 1)))
    parts = [rank % LIMITS.folds == i for i in range(LIMITS.folds)]

    def rows(mask: np.ndarray) -> Samples:
        return open_samples(Z[mask], t[mask], sample_weight=None if w is None else w[mask])

    return [(rows(~part), rows(part)) for part in parts]


@dataclass(frozen=True, eq=False)
class Frame:
    """Standardised inputs, and the target (y − m)/s."""

    columns: Scaling
    mean: float
    spread: float

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray, w: np.ndarray | None, *, centred: bool, offset: bool) -> Frame:
        target = Scaling.estimated(y[:, None], w, centred=offset)
        return cls(Scaling.estimated(X, w, centred=centred), float(target.mean[0]), float(target.spread[0]) or 1.0)

    @classmethod
    def trivial(cls, d: int) -> Frame:
        return cls(Scaling.shift(np.zeros(d)), 0.0, 1.0)

    def targets(self, y: np.ndarray) -> np.ndarray:
        return np.asarray((y - self.mean) / self.spread)

    def on_network(self, network: Network) -> Network:
        """The network as a function of the standardised inputs, and of target."""
        return replace(self.columns.on_network(network), a=network.a / self.spread, c=(network.c - self.mean) / self.spread)

    def undo(self, network: Network) -> Network:
        """The inverse."""
        return replace(self.columns.undo(network), a=network.a * self.spread, c=self.spread * network.c + self.mean)


def balanced(network: Network) -> Network:
    """The same function with |a| = ‖(w, b)‖ for homogeneous φ, where a ridge is least: t^{q+1} = |a|/‖(w, b)‖."""
    q = network.activation.degree
    if not q:
        return network
    length = np.sqrt(np.sum(network.W**2, axis=0) + network.b**2)
    t = np.where((length > 0) & (network.a != 0), np.abs(network.a) / np.where(length > 0, length, 1.0), 1.0) ** (1 / (q + 1))
    return replace(network, W=network.W * t, b=network.b * t, a=network.a / t**q)
