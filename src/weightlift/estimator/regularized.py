"""A useful fit where no units can be certified: a line, and beside it penalised units where held-out rows gain by them.

Model   Σᵢ aᵢ φ(⟨wᵢ, z⟩ + bᵢ) + ⟨v, z⟩ + c in standardised inputs and target.
Line    ½ E r² + ½ λ ‖v‖²; λ of the least leave-one-out error, which one decomposition of the inputs gives for all λ.
Units   ½ E r² + ½ λ ‖v‖² + ½ α ‖(W, b, a)‖², started at that line, from a large α to smaller ones (`penalized`).
Wide    networks that Gauss–Newton is too dear for go by L-BFGS (`quasi_newton`), one width for all: α bounds what they say.
Choice  the α, and among several widths the width, of the least risk in five folds. Where no width was asked for, units are
        taken only if they lower the risk of the line by g, more than a standard error s of the rows' paired differences, and
        the answer is the network with the share 1 − (s/g)² and the line with the rest: a small gain is half chance.
Folds   rows stand in the order of their targets, and every five neighbours go to five folds by chance: neither the order of the
        rows nor the unit of a column changes the choice.
Work    counted in Gauss–Newton steps of one start; no new α or width is tried once it is spent.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from weightlift.activations import Activation
from weightlift.estimator.folds import Folds, spread_rows, standard_error
from weightlift.estimator.limits import LIMITS
from weightlift.estimator.penalized import Data, Parameters, Penalty, descend
from weightlift.estimator.quasi_newton import descend_cheaply
from weightlift.network import Network
from weightlift.recovery import Request
from weightlift.samples import Scaling

ALPHAS = tuple(0.3 * 5.0**-i for i in range(7))  # 0.3 … 2e-5
LAMBDAS = tuple(10.0 ** (i / 4) for i in range(-24, 13))  # 1e-6 … 1e3


@dataclass(frozen=True)
class Tried:
    """One width and α, with the mean risk E r² of the folds; width 0 is the line alone.

    Where α has silenced the units of every fold, the fits are the line to rounding, and `speaks` is false."""

    width: int
    alpha: float
    risk: float
    speaks: bool = True


@dataclass(frozen=True)
class Regularized:
    """The network of the raw inputs, the ridges it was fitted with (in standardised ones), and what was compared."""

    network: Network
    alpha: float
    linear_alpha: float
    work: float
    trials: tuple[Tried, ...]
    risk: float  # E r² on rows held out


def regularized_fit(
    rows: tuple[np.ndarray, np.ndarray, np.ndarray | None],
    request: Request,
    *,
    alpha: float | str,
    standardize: bool = True,
    tol: float,
    rng: np.random.Generator,
) -> Regularized:
    """See the module's docstring; a width and a positive α that are asked for are taken."""
    X, y, w = _ordered(*rows)
    auto = request.n_units == "auto"
    widths = LIMITS.widths if auto else (int(request.n_units),)
    alphas = ALPHAS if alpha in ("auto", 0) else (float(alpha),)
    centred = request.bias and request.offset  # else a shift of the line would need an offset
    raw = StandardRows.trivial(X.shape[1])
    frame = StandardRows.of(X, y, w, centred=centred, offset=request.offset) if standardize else raw
    data = Data(frame.columns.inputs(X), frame.targets(y), w)
    ridge, seed = _line_ridge(data, request.offset), int(rng.integers(2**31))
    plan = Plan(request.phi, request.bias, request.offset, ridge, seed, cheap=len(alphas) > 1)
    choice = _choose(data, widths, alphas, plan, request.budget().max_work, optional=auto)
    best, work = choice.best, choice.work
    fits = [plan.line(data)]
    if best.width:
        fits = starts = plan.starts(data, best.width, LIMITS.last_starts)
        for larger in [a for a in sorted(alphas, reverse=True) if a > best.alpha]:
            fits = [plan.lowered(data, fit, larger) for fit in _awake(fits, starts)]
            work += sum(fit.steps for fit in fits)
        last = plan.taken(data, best)
        fits = [plan.lowered(data, fit, last, steps=LIMITS.last_steps, tol=tol) for fit in _awake(fits, starts)]
    winner = min(fits, key=lambda fit: fit.value)
    work += sum(fit.steps for fit in fits)
    if choice.share < 1:
        winner = winner.mixed(plan.line(data), choice.share)
    network = frame.undo(winner.network(plan.activation))
    risk = best.risk * frame.spread * frame.spread  # a power would raise where it overflows
    return Regularized(network, plan.taken(data, best), plan.ridge, work, choice.trials, risk)


@dataclass(frozen=True)
class Plan:
    """What all fits share."""

    activation: Activation
    bias: bool
    offset: bool
    ridge: float  # λ
    seed: int
    cheap: bool  # whether wide networks may go by L-BFGS: not at an α that was asked for, whose minimum is meant

    def penalty(self, alpha: float) -> Penalty:
        return Penalty(self.activation, alpha, self.ridge, bias=self.bias, offset=self.offset)

    def many(self, data: Data, width: int) -> bool:
        """Whether a network has more parameters than Gauss–Newton is worth; one start will do then, for its units are many."""
        d = data.Z.shape[1]
        return self.cheap and width * (d + 2) + d + 1 > LIMITS.newton_parameters

    def lowered(
        self, data: Data, fit: Parameters, alpha: float, *, steps: int = LIMITS.steps, tol: float = LIMITS.rough
    ) -> Parameters:
        """By Gauss–Newton, or by L-BFGS, which has steps and a tolerance of its own."""
        if self.many(data, len(fit.a)):
            return descend_cheaply(data, fit, self.penalty(alpha))
        return descend(data, fit, self.penalty(alpha), steps=steps, tol=tol)

    def taken(self, data: Data, best: Tried) -> float:
        """α on all rows. An α is worth so many rows, and folds have four fifths; between α's far apart that is nothing."""
        return best.alpha * (1 - 1 / LIMITS.folds) if self.many(data, best.width) else best.alpha

    def line(self, data: Data) -> Parameters:
        """The ridge fit without units: a quadratic, at its minimum after one undamped step."""
        d = data.Z.shape[1]
        start = Parameters(np.zeros((d, 0)), np.zeros(0), np.zeros(0), np.zeros(d), 0.0)
        return descend(data, start, self.penalty(0.0), steps=2, tol=0.0, damping=0.0)

    def starts(self, data: Data, width: int, count: int) -> list[Parameters]:
        """The line, and units of about unit length with biases within the data that hardly speak; the same for all folds."""
        line, d = self.line(data), data.Z.shape[1]
        rng = np.random.default_rng([self.seed, width])
        fits = []
        for _ in range(count):
            W = rng.normal(size=(d, width)) / np.sqrt(d)
            a = LIMITS.first_output * rng.choice([-1.0, 1.0], size=width) / np.sqrt(width)
            b = 0.5 * rng.normal(size=width) * self.bias
            fits.append(replace(line, W=W, a=a, b=b))
        return fits


@dataclass(frozen=True)
class Choice:
    best: Tried
    trials: tuple[Tried, ...]
    work: float
    share: float = 1.0  # of the network in the answer; the rest is the line's


@dataclass(frozen=True, eq=False)
class Path:
    """One width: what each α gave, with r² of every held-out row, and the work."""

    trials: tuple[Tried, ...]
    errors: tuple[np.ndarray, ...]
    work: float

    @property
    def best(self) -> Tried:
        return min(self.trials, key=lambda tried: tried.risk)

    @property
    def best_errors(self) -> np.ndarray:
        return self.errors[self.trials.index(self.best)]


def _choose(
    data: Data, widths: Sequence[int], alphas: Sequence[float], plan: Plan, max_work: float, *, optional: bool
) -> Choice:
    """The folds' risks; wider networks while they help, smaller α while it helps. optional: units may be none, and are where
    rows or work do not suffice for a choice."""
    n = len(data.t)
    affordable = int(min(len(alphas), max_work // (LIMITS.folds * LIMITS.starts * LIMITS.steps)))
    if n < LIMITS.least_rows or not affordable or not (optional or len(alphas) > 1):
        middle = float(sorted(alphas)[len(alphas) // 2])
        taken = Tried(0, 0.0, np.nan) if optional else Tried(widths[0], middle, np.nan)
        return Choice(taken, (taken,), 0.0)
    part = data.take(spread_rows(n))
    folds = Folds.of(part, plan.seed)
    errors = folds.errors([plan.line(train) for train in folds.training], plan.activation)
    line = Tried(0, 0.0, part.mean(errors))
    best, trials, work, share = Path((line,), (errors,), 0.0), [line], 0.0, 1.0
    for width in _widths(widths, part, plan):
        path = _path(folds, width, _inner(alphas, affordable), plan, max_work - work)
        trials, work = [*trials, *path.trials], work + path.work
        slower = width > widths[0] and path.best.risk > LIMITS.enough * min(t.risk for t in trials if 0 < t.width < width)
        doubt = LIMITS.gain * standard_error(part, errors - path.best_errors)
        gain = line.risk - path.best.risk
        if not optional or (path.best.speaks and gain > doubt and path.best.risk < best.best.risk):
            best, share = path, 1 - (doubt / gain) ** 2 if optional else 1.0
        if slower or work >= max_work:
            break
    return Choice(best.best, tuple(trials), work, share)


def _widths(widths: Sequence[int], data: Data, plan: Plan) -> list[int]:
    """Those that Gauss–Newton is worth, and the widest that rows allow: with units to spare a network is bounded by α."""
    n, d = data.Z.shape
    allowed = [width for width in widths if width == widths[0] or width * (d + 2) <= LIMITS.parameters_a_row * n]
    return [width for width in allowed if width in (allowed[0], allowed[-1]) or not plan.many(data, width)]


def _inner(alphas: Sequence[float], count: int) -> list[float]:
    """So many of them from large to small; of fewer than all, the inner ones."""
    falling = sorted(alphas, reverse=True)
    places = np.linspace(0, len(falling) - 1, count + 2)[1:-1].round().astype(int)
    return falling if count == len(falling) else [falling[i] for i in places]


def _path(folds: Folds, width: int, alphas: Sequence[float], plan: Plan, max_work: float) -> Path:
    """One width, the α's in their order; in each fold the start of the least penalised risk speaks."""
    many = plan.many(folds.data, width)
    starts = [plan.starts(train, width, 1 if many else LIMITS.starts) for train in folds.training]
    fits = list(starts)
    trials: list[Tried] = []
    kept: list[np.ndarray] = []
    work, worse = 0.0, 0
    for alpha in _finer(alphas) if many else alphas:
        for i, train in enumerate(folds.training):
            fits[i] = [plan.lowered(train, fit, alpha) for fit in _awake(fits[i], starts[i])]
            work += sum(fit.steps for fit in fits[i])
        chosen = [min(group, key=lambda fit: fit.value) for group in fits]
        errors = folds.errors(chosen, plan.activation)
        risk, speaks = folds.data.mean(errors), any(_speaks(fit) for fit in chosen)
        worse = worse + 1 if speaks and trials and not risk < min(tried.risk for tried in trials) else 0
        trials.append(Tried(width, alpha, risk if np.isfinite(risk) else np.inf, speaks))
        kept.append(errors)
        if worse >= LIMITS.worse or work >= max_work:
            break
    return Path(tuple(trials), tuple(kept), work)


def _finer(alphas: Sequence[float]) -> list[float]:
    """With their geometric means in between: of many units, α alone says how many speak."""
    means = [math.sqrt(larger * smaller) for larger, smaller in itertools.pairwise(alphas)]
    return sorted([*alphas, *means], reverse=True)


def _awake(fits: Sequence[Parameters], starts: Sequence[Parameters]) -> list[Parameters]:
    """The fits; for one whose units a larger α has silenced, its start: a unit of size zero is stationary, and stays so."""
    return [fit if _speaks(fit) else start for fit, start in zip(fits, starts, strict=True)]


def _speaks(fit: Parameters) -> bool:
    return bool(np.max(np.abs(fit.a) * np.linalg.norm(np.vstack([fit.W, fit.b]), axis=0)) > LIMITS.silent)


def _line_ridge(data: Data, offset: bool) -> float:
    """λ of the least leave-one-out error Σ w (r/(1 − h))², with h the leverage."""
    n, w = len(data.t), np.ones(len(data.t)) if data.w is None else data.w / data.w.mean()
    root, t, Z = np.sqrt(w), data.t, data.Z
    if offset:
        t, Z = t - np.average(t, weights=w), Z - np.average(Z, axis=0, weights=w)
    U, s, _ = np.linalg.svd(root[:, None] * Z, full_matrices=False)
    projected, errors = U.T @ (root * t), []
    for ridge in LAMBDAS:
        shrink = s**2 / (s**2 + n * ridge)
        leverage = U**2 @ shrink + offset * w / n
        residual = root * t - U @ (shrink * projected)
        errors.append(float(np.sum((residual / np.maximum(1 - leverage, LIMITS.least_share)) ** 2)))
    return float(LAMBDAS[int(np.argmin(errors))])


def _ordered(X: np.ndarray, y: np.ndarray, w: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Rows by target, ties by inputs."""
    order = np.lexsort((*X.T[::-1], y))
    return X[order], y[order], None if w is None else w[order]


@dataclass(frozen=True, eq=False)
class StandardRows:
    """Standardised inputs, and the target (y − m)/s."""

    columns: Scaling
    mean: float
    spread: float

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray, w: np.ndarray | None, *, centred: bool, offset: bool) -> StandardRows:
        target = Scaling.estimated(y[:, None], w, centred=offset)
        return cls(Scaling.estimated(X, w, centred=centred), float(target.mean[0]), float(target.spread[0]) or 1.0)

    @classmethod
    def trivial(cls, d: int) -> StandardRows:
        return cls(Scaling.shift(np.zeros(d)), 0.0, 1.0)

    def targets(self, y: np.ndarray) -> np.ndarray:
        return np.asarray((y - self.mean) / self.spread)

    def undo(self, network: Network) -> Network:
        """The network of the raw inputs and target."""
        assert network.V is not None
        scaled = replace(network, a=network.a * self.spread, V=network.V * self.spread, c=network.c * self.spread + self.mean)
        return self.columns.undo(scaled)
