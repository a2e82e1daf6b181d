"""Several targets, or a linear part: one joint search with all that is linear projected out, and its certificate.

Route   targets are scaled to one size, inputs are whitened; annealed starts are searched on the rows that are not held out, the
        fit is refined on all of them, units that the function does not need are dropped, and the rest is judged.
"""

from __future__ import annotations

import math
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace

import numpy as np

from weightlift.activations import Activation
from weightlift.certificate import Certificate, Kind, Statement, Status, Topic
from weightlift.certificate.joint import Agreement, certify_joint
from weightlift.errors import ActivationError, ArgumentError, DataWarning, SingularError, warn
from weightlift.namespaces import as_like, to_numpy
from weightlift.network import Network
from weightlift.recovery.reports import Recovery, StageReport
from weightlift.recovery.request import Callback, Event, Request
from weightlift.refinement.gauss_newton import NEAR_ROUNDING
from weightlift.refinement.variable_projection import Model, output_losses, variable_projection
from weightlift.samples import Block, Covariance, Samples, Standardized
from weightlift.search import Budget
from weightlift.search.joint import joint_candidates
from weightlift.threads import limited

HELDOUT, LEAST_HELDOUT = 0.05, 4.0  # share of the rows, and rows: one proves where φ is analytic
ROWS_A_PARAMETER = 12.0  # equations beyond which the search runs on a part of the rows
REFINEMENT_STEPS, POLISH_STEPS = 80, 6
NOT_NEEDED = 1e-20  # of ½ E ‖y‖²: what a unit may add to the risk when it is dropped and still be superfluous
SMALL_ROWS, SMALL_SYSTEM = 4_000_000, 400  # values of X, and unknowns, up to which a second thread only waits
DEPENDENT = 1e-12  # least eigenvalue of the targets' correlations


@dataclass(frozen=True, eq=False)
class JointProblem:
    """Rows with scaled targets, split, and what is asked of them."""

    rows: Samples
    train: Samples
    heldout: Samples
    scale: np.ndarray  # (m,) powers of two
    activation: Activation
    model: Model
    energy: float  # ½ E ‖y‖² of the scaled targets
    rng: np.random.Generator

    @classmethod
    def of(cls, rows: Samples, width: int, activation: Activation, model: Model, rng: np.random.Generator) -> JointProblem:
        if not math.isfinite(rows.n):
            raise ArgumentError("X is a population without rows; draw some with weightlift.draw(network, n).")
        if model.linear and activation.polynomial and (activation.degree == 1 or activation.name == "linear"):
            raise ActivationError("linear units beside a linear part are part of it; choose another φ, or linear=False.")
        scale, energy = _target_sizes(rows, width + model.linear * rows.d)
        scaled = rows.map(ScaledTargets(scale)).persist()
        share = min(0.5, max(HELDOUT, LEAST_HELDOUT / rows.n))
        heldout, train = (part.persist() for part in scaled.split(share, 1 - share, seed=int(rng.integers(2**31))))
        return cls(scaled, train if train.n >= 2 else scaled, heldout, scale, activation, model, energy, rng)

    def exact(self, risk: float) -> bool:
        return bool(risk <= NEAR_ROUNDING * self.energy)

    def certify(self, network: Network, rows: Samples, heldout: Samples | None, tries: int) -> Certificate:
        """Of the network of scaled targets; sizes of outputs do not matter to it."""
        return certify_joint(network, rows, self.model, heldout=heldout, tries=tries, rng=np.random.default_rng(0))


def recovered_jointly(samples: Samples, request: Request, rng: np.random.Generator) -> Recovery:
    """Without linear part, then with it, as asked for; the first that is certified, else the last."""
    if request.outputs is not None or request.method == "tensor" or request.n_units == "auto":
        needs = "several targets, or a linear part, need n_units, output_weights='free' and method 'auto' or 'search'"
        raise ArgumentError(f"{needs}; not {request.n_units!r}, {request.output_weights!r} and {request.method!r}.")
    width, budget = int(request.n_units), request.budget()
    several = samples.n_outputs is not None and samples.n_outputs > 1
    stages: tuple[StageReport, ...] = ()
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"), few_threads(samples, width):
        for linear in (False, True) if request.linear == "auto" and several else (bool(request.linear),):
            problem = JointProblem.of(samples, width, request.phi, Model(request.bias, linear, request.offset), rng)
            network, certificate, reports = _best(problem, width, budget, request.callback)
            stages += reports
            if certificate:
                break
    return Recovery(network, certificate, stages)


def _best(
    problem: JointProblem, width: int, budget: Budget, callback: Callback | None
) -> tuple[Network, Certificate, tuple[StageReport, ...]]:
    """The best network with its certificate; rows that were held out join the search where the others did not suffice."""
    held = problem.heldout if problem.heldout.n and problem.train.n < problem.rows.n else None
    parts = [("joint search", problem.train, held)] + ([("joint search on all rows", problem.rows, None)] if held else [])
    answers: list[tuple[Network, Certificate]] = []
    stages: list[StageReport] = []
    for name, part, heldout in parts:
        network, certificate, report = _searched(problem, Part(name, part, heldout), width, budget, callback)
        if heldout is not None and certificate.explained and not certificate:
            whole = problem.certify(network, problem.rows, None, 1)  # more rows on every side, and none held out
            certificate = whole if whole else certificate
        answers.append((network, certificate))
        stages.append(report)
        if certificate.status in (Status.EXACT, Status.AMBIGUOUS) or budget.late():
            break
    chosen = [a for a in answers if a[1]] or [a for a in answers if a[1].explained] or answers
    network, certificate = min(chosen, key=lambda answer: answer[1].residual_max)
    back = ScaledTargets(problem.scale).undo(network)
    return back, replace(certificate, network=back), tuple(stages)


@dataclass(frozen=True, eq=False)
class Part:
    """Rows that a search sees, and rows that it does not."""

    name: str
    rows: Samples
    heldout: Samples | None


def few_threads(rows: Samples, width: int) -> AbstractContextManager[None]:
    """Small products and systems run fastest on one thread."""
    small = rows.n * rows.d <= SMALL_ROWS and rows.d * width <= SMALL_SYSTEM
    return limited(1) if small else nullcontext()


def _searched(
    problem: JointProblem, part: Part, width: int, budget: Budget, callback: Callback | None
) -> tuple[Network, Certificate, StageReport]:
    """The first candidate that agrees to rounding, or the best one, refined on the part and judged."""
    began = time.perf_counter()
    standard = _standardized(part.rows, problem.model)
    seen = _some(standard.rows, width, problem)
    tries = 0
    for candidate in joint_candidates(seen, width, problem.activation, problem.model, budget=budget, rng=problem.rng):
        seconds, share = time.perf_counter() - began, candidate.risk / problem.energy
        if callback is not None:
            spent = 1.0 if candidate.ending else min(1.0, candidate.work / budget.max_work)
            network = ScaledTargets(problem.scale).undo(standard.undo(candidate.network))
            callback(Event(part.name, len(candidate.attempts), share, spent, seconds, network))
        if not (candidate.improved and problem.exact(candidate.risk)) and candidate.ending is None:
            continue
        tries += 1
        network = _refined(problem, standard, part.rows, candidate.network, whole=seen is standard.rows)
        certificate = problem.certify(network, part.rows, part.heldout, tries)
        if network.n_units < width:
            certificate = certificate.adding(_superfluous(width - network.n_units, problem.model))
        ended = "exact, and not certified" if candidate.ending is None else candidate.ending.value
        outcome = "a candidate was certified" if certificate else ended
        report = StageReport(part.name, width, candidate.starts, candidate.work, 0, share, outcome, seconds)
        if certificate.explained or candidate.ending is not None:
            return network, certificate, report
    raise AssertionError("the last candidate has an ending")


def _standardized(part: Samples, model: Model) -> Standardized:
    """White inputs, centred where what that moves is free; inputs of a singular covariance stay as they are."""
    try:
        return Standardized.of(part, centred=model.bias and (model.offset or not model.linear))
    except SingularError as error:
        warn(f"{error} Inputs are left as they are.")
        return Standardized.unchanged(part)


def _some(rows: Samples, width: int, problem: JointProblem) -> Samples:
    """A part of the rows where they are many."""
    d, m = rows.d, len(problem.scale)
    p = width * (problem.model.inputs(d) + m) + m * (d * problem.model.linear + 1)
    wanted = ROWS_A_PARAMETER * max(p / m, problem.model.inputs(d))
    if rows.n <= 2 * wanted:
        return rows
    return rows.split(wanted / rows.n, 1 - wanted / rows.n, seed=1)[0].persist()


def _refined(problem: JointProblem, standard: Standardized, part: Samples, found: Network, *, whole: bool) -> Network:
    """Fitted to all rows of the part, without superfluous units, and polished in the inputs as they were given."""
    unit, model = problem.activation.degree is not None, problem.model
    fit = variable_projection(
        standard.rows, found, model, iterations=POLISH_STEPS if whole else REFINEMENT_STEPS, damping=1e-6, unit=unit
    )
    network = fit.network
    while network.n_units and problem.exact(float(fit.risks[0])):
        losses = output_losses(standard.rows, network, model)
        least = int(np.argmin(losses))
        if losses[least] > NOT_NEEDED * problem.energy:
            break
        rest = np.delete(np.arange(network.n_units), least)
        fewer = replace(network, W=network.W[:, rest], a=network.a[rest], b=network.b[rest])
        if not len(rest):
            break
        fit = variable_projection(standard.rows, fewer, model, iterations=POLISH_STEPS, damping=1e-6, unit=unit)
        if not problem.exact(float(fit.risks[0])):
            break
        network = fit.network
    raw = standard.undo(network)
    polished = variable_projection(part, raw, model, iterations=POLISH_STEPS, damping=1e-10).network
    return min((raw, polished), key=lambda net: _largest(net, part))


def _superfluous(count: int, model: Model) -> Statement:
    one = "a unit that is on at every row is linear, part of V" if model.linear else "the others give the same function"
    sentence = f"{count} of the units asked for {'is' if count == 1 else 'are'} not needed: {one}."
    return Statement(Topic.SUPERFLUOUS, Kind.TESTED, True, sentence, count)


def _largest(network: Network, rows: Samples) -> float:
    return Agreement.of(network, rows).level


@dataclass(frozen=True, eq=False)
class ScaledTargets:
    """y → y/s, s a power of two for each column: a fit then minds all of them alike, and loses no bit."""

    scale: np.ndarray

    def __call__(self, block: Block) -> Block:
        s = as_like(self.scale, block.X)
        return replace(block, y=block.y / (s[0] if block.y.ndim == 1 else s))

    def undo(self, network: Network) -> Network:
        s = self.scale if network.a.ndim == 2 else self.scale[0]
        return replace(network, a=network.a * s, c=network.c * s, V=None if network.V is None else network.V * s)


def _target_sizes(rows: Samples, rank: int) -> tuple[np.ndarray, float]:
    """Powers of two near the columns' root mean squares, and ½ E ‖y/s‖²; columns without information are warned about.

    rank: that of the targets of a network, at most; more columns are dependent by nature.
    """
    m = rows.n_outputs or 1
    _, mean, scatter = (to_numpy(s) for s in rows.map(TargetsAlone()).fold(Covariance(m)))
    covariance = scatter / rows.total
    squares = np.diagonal(covariance) + mean**2
    if not squares.any():
        raise ArgumentError("y is zero on every row; there is no unit to recover.")
    constant = np.diagonal(covariance) <= 1e-24 * squares
    if constant.all():
        raise ArgumentError("y is constant, or so small that its squares vanish; there is no unit to recover.")
    if constant.any():
        warn(f"column {int(np.flatnonzero(constant)[0])} of y is constant; it tells nothing of the units.", DataWarning)
    spread = np.sqrt(np.diagonal(covariance)[~constant])
    values = np.linalg.eigvalsh(covariance[np.ix_(~constant, ~constant)] / spread[:, None] / spread)
    if np.count_nonzero(values > DEPENDENT) < min(len(values), rank):
        warn("columns of y are equal or linearly dependent; they tell no more than the others do.", DataWarning)
    scale = np.exp2(np.round(0.5 * np.log2(np.where(squares > 0, squares, 1.0))))
    return scale, 0.5 * float(np.sum(squares / scale**2))


def as_column(found: Recovery) -> Recovery:
    """The network with predictions (n, 1)."""
    net = found.network
    return replace(found, network=replace(net, a=net.A, c=np.atleast_1d(net.c)))


def target_column(rows: Samples) -> Samples:
    """Rows with y (n,), from a single column."""
    return rows if rows.n_outputs is None else rows.map(FirstColumn()).persist()


@dataclass(frozen=True)
class FirstColumn:
    """y (m, 1) → (m,)."""

    def __call__(self, block: Block) -> Block:
        return replace(block, y=block.y[:, 0])


@dataclass(frozen=True)
class TargetsAlone:
    """Rows whose inputs are the targets."""

    def __call__(self, block: Block) -> Block:
        return replace(block, X=block.y[:, None] if block.y.ndim == 1 else block.y)
