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
from weightlift.certificate.joint import certify_joint
from weightlift.errors import ActivationError, ArgumentError, DataWarning, TooFewRowsError, warn
from weightlift.evidence.rows import Agreement
from weightlift.evidence.stacked import ScaledTargets, target_moments
from weightlift.identifiability import parameters_of_shape, rows_needed
from weightlift.identifiability.reflections import turned_by_a_constant
from weightlift.network import Network
from weightlift.recovery.joint_reduction import arrangements
from weightlift.recovery.joint_widths import Widths, wide_enough
from weightlift.recovery.limits import LIMITS
from weightlift.recovery.problem import Counted
from weightlift.recovery.reports import Recovery, StageReport
from weightlift.recovery.request import Callback, Event, Request
from weightlift.recovery.signs_last import facing
from weightlift.refinement.gauss_newton import NEAR_ROUNDING
from weightlift.refinement.variable_projection import Hidden, Model, output_losses, variable_projection
from weightlift.samples import Block, Samples, Standardized
from weightlift.search import Budget
from weightlift.search.joint import joint_candidates
from weightlift.threads import limited


@dataclass(frozen=True, eq=False)
class JointProblem:
    """Rows with scaled targets, split, and what is asked of them."""

    rows: Counted
    train: Counted
    heldout: Counted
    targets: ScaledTargets
    activation: Activation
    model: Model
    energy: float  # ½ E ‖y‖² of the scaled targets
    rng: np.random.Generator

    @classmethod
    def of(cls, source: Samples, width: int, activation: Activation, model: Model, rng: np.random.Generator) -> JointProblem:
        rows = Counted(source)
        if not math.isfinite(rows.n):
            raise ArgumentError("X is a population without rows; draw some with weightlift.draw(network, n).")
        _check_size(rows, width, activation, model)
        if model.linear and activation.polynomial and (activation.degree == 1 or activation.name == "linear"):
            raise ActivationError("linear units beside a linear part are part of it; choose another φ, or linear=False.")
        targets, energy = _target_sizes(rows, width + model.linear * rows.d)
        scaled = rows.map(targets).persist()
        share = min(0.5, max(LIMITS.heldout_share, LIMITS.joint_heldout_rows / rows.n))
        heldout, train = (part.persist() for part in scaled.split(share, 1 - share, seed=int(rng.integers(2**31))))
        return cls(scaled, train if train.n >= 2 else scaled, heldout, targets, activation, model, energy, rng)

    def exact(self, risk: float) -> bool:
        return bool(risk <= NEAR_ROUNDING * self.energy)

    def allows(self, width: int) -> bool:
        """Whether there are rows for so many units and one more, without which nothing can be certified."""
        model, sizes = self.model, (self.rows.d, width, len(self.targets.scale))
        needed = rows_needed(*sizes, self.activation, bias=model.bias, linear=model.linear, offset=model.offset)
        return needed < self.rows.n

    def certify(self, network: Network, rows: Samples, heldout: Samples | None, tries: int) -> Certificate:
        """Of a network of scaled targets, as one of the targets that were given."""
        back = ScaledTargets(1 / self.targets.scale)
        given = [None if part is None else part.map(back) for part in (rows, heldout)]
        assert given[0] is not None
        chance = np.random.default_rng(0)
        return certify_joint(self.targets.undo(network), given[0], self.model, heldout=given[1], tries=tries, rng=chance)


def recovered_jointly(samples: Samples, request: Request, rng: np.random.Generator) -> Recovery:
    """Without linear part, then with it, as asked for; the first that is certified, else the last."""
    if request.outputs is not None or request.method == "tensor":
        needs = "several targets, or a linear part, need output_weights='free' and method 'auto' or 'search'"
        raise ArgumentError(f"{needs}; not {request.output_weights!r} and {request.method!r}.")
    budget, auto = request.budget(), request.n_units == "auto"
    several = samples.n_outputs is not None and samples.n_outputs > 1
    tried: list[Recovery] = []
    for linear in (False, True) if request.linear == "auto" and several else (bool(request.linear),):
        width = 1 if auto else int(request.n_units)
        problem = JointProblem.of(samples, width, request.phi, Model(request.bias, linear, request.offset), rng)
        every = (problem, budget, request.callback)
        found = of_any_width(*every) if auto else of_that_width(*every, width)
        opening = problem.rows.passes - sum(stage.passes for stage in found.stages)
        first = replace(found.stages[0], passes=found.stages[0].passes + opening)
        tried.append(replace(found, stages=(first, *found.stages[1:])))
        if found.certificate:
            break
    return replace(tried[-1], stages=tuple(stage for found in tried for stage in found.stages))


def of_any_width(problem: JointProblem, budget: Budget, callback: Callback | None) -> Recovery:
    """The first width that is certified, doubled from the rank of a second moment on and then halved in between.

    Superfluous units of an exact fit are dropped, so that a width above the truth's is as good; with noise one that leaves no
    structure in the residuals is wide enough. Where none is certified: the narrowest that is wide enough, else the widest.
    What passes for noise may be units that are missing: a wider fit that is exact overrules a certificate that is statistical.
    """
    widths = Widths.of(problem)
    tried: list[Recovery] = []
    while (width := widths.next) is not None and not (tried and budget.spent(0.0)):
        found = of_width(problem, width, replace(budget, enough=budget.max_work / LIMITS.tried_widths), callback, parts=1)
        budget = budget.less(found.work)
        widths = widths.after(width, found.certificate)
        tried.append(found)
        if not found.certificate:
            continue
        exact = found if found.certificate.explained else _exact_if_wider(problem, width, widths.most, budget, callback)
        if exact is None or exact is found:
            break
        budget, widths = budget.less(exact.work), replace(widths, narrow=width, wide=None).after(2 * width, exact.certificate)
        tried[-1] = exact  # in the place of what passed for noise
        if exact.certificate:
            break
    best = min(tried, key=lambda found: (not found.certificate, not wide_enough(found.certificate), _narrowness(found)))
    evidence = tuple(
        f"width {found.stages[0].width}: {found.certificate.status.name}, {found.certificate.reasons[0]}" for found in tried
    )
    return replace(best, stages=tuple(s for found in tried for s in found.stages), width_evidence=evidence)


def of_that_width(problem: JointProblem, budget: Budget, callback: Callback | None, width: int) -> Recovery:
    """Of the width that is given; what passes for noise is none where a wider fit is exact, and then units are missing."""
    found = of_width(problem, width, budget, callback)
    noise = any(s.topic is Topic.STRUCTURE and s.holds for s in found.certificate.statements)
    if found.certificate.explained or not noise:
        return found
    units = min(2 * width, Widths.of(problem).most)
    if units == width or budget.late() or not _explained_by(problem, units, replace(budget, enough=found.work / 4)):
        return found
    sentence = f"At most {units} units explain the rows to rounding: what {width} leave is no noise; ask for more units."
    missing = Statement(Topic.STRUCTURE, Kind.TESTED, False, sentence, units, width)
    return replace(found, certificate=found.certificate.adding(missing))


def _explained_by(problem: JointProblem, width: int, budget: Budget) -> bool:
    """Whether a search of that width ends in an exact fit."""
    standard = _standardized(problem.rows, problem.model)
    seen = _some(standard.rows, width, problem)
    with np.errstate(all="ignore"), few_threads(problem.rows, width):
        found = joint_candidates(seen, width, problem.activation, problem.model, budget=budget, rng=problem.rng)
        best = next(c for c in found if problem.exact(c.risk) or c.ending is not None)
        network = _refined(problem, standard, problem.rows, best.network, whole=seen is standard.rows)
        return problem.exact(best.risk) and problem.exact(_risk(problem, problem.rows, network))


def _exact_if_wider(problem: JointProblem, width: int, most: int, budget: Budget, callback: Callback | None) -> Recovery | None:
    """The search at twice the width, with a width's share of the work, where it ends in an exact fit."""
    if width >= most or budget.spent(0.0):
        return None
    share = replace(budget, enough=budget.max_work / LIMITS.tried_widths)
    found = of_width(problem, min(2 * width, most), share, callback, parts=1)
    return found if found.certificate.explained else None


def _narrowness(found: Recovery) -> float:
    return found.network.n_units if wide_enough(found.certificate) else -found.network.n_units


def of_width(problem: JointProblem, width: int, budget: Budget, callback: Callback | None, *, parts: int = 2) -> Recovery:
    """The best network with its certificate; rows that were held out join the search where the others did not suffice.

    Of a width that the rows cannot determine one round is enough: the fit is stated as such.
    """
    held = problem.heldout if problem.heldout.n and problem.train.n < problem.rows.n else None
    everything = Division("joint search on all rows", problem.rows, None)
    divisions = [Division("joint search", problem.train, held), everything] if held else [everything]
    if not problem.allows(width):
        divisions, budget = [everything], replace(budget, enough=min(budget.enough, LIMITS.doomed_share * budget.max_work))
    answers: list[tuple[Network, Certificate]] = []
    stages: list[StageReport] = []
    with np.errstate(all="ignore"), few_threads(problem.rows, width):
        for number, division in enumerate(divisions, 1):
            network, certificate, report = _searched(problem, division, width, budget, callback)
            answers.append((network, certificate))
            stages.append(report)
            if certificate.status in (Status.EXACT, Status.STATISTICAL, Status.AMBIGUOUS) or budget.late():
                break
            if number >= parts and not problem.exact(report.risk * problem.energy):
                break
    chosen = [a for a in answers if a[1]] or [a for a in answers if a[1].explained] or answers
    network, certificate = min(chosen, key=lambda answer: answer[1].residual_max)
    return Recovery(problem.targets.undo(network), certificate, tuple(stages))


@dataclass(frozen=True, eq=False)
class Division:
    """Rows that a search sees, and rows that it does not."""

    name: str
    rows: Samples
    heldout: Samples | None


def few_threads(rows: Samples, width: int) -> AbstractContextManager[None]:
    """Small products and systems run fastest on one thread."""
    small = rows.n * rows.d <= LIMITS.one_thread and rows.d * width <= LIMITS.small_system
    return limited(1) if small else nullcontext()


def _searched(
    problem: JointProblem, part: Division, width: int, budget: Budget, callback: Callback | None
) -> tuple[Network, Certificate, StageReport]:
    """The first candidate that agrees to rounding, or is certified, or the best one, refined and judged.

    One that is exact and disagrees with rows held out ends the search too: no risk is less, and more such fits would be found.
    A noisy minimum is judged once two starts share it: a deeper one that only one found may be a unit that a few rows make up.
    One that leaves no more than the rounding of targets in single precision is no chance, and judged at once.
    """
    began, before = time.perf_counter(), problem.rows.passes
    standard = _standardized(part.rows, problem.model)
    seen = _some(standard.rows, width, problem)
    tries, judged = 0, tuple[float, ...]()
    for candidate in joint_candidates(seen, width, problem.activation, problem.model, budget=budget, rng=problem.rng):
        seconds, share = time.perf_counter() - began, candidate.risk / problem.energy
        if callback is not None:
            spent = 1.0 if candidate.ending else min(1.0, candidate.work / budget.max_work)
            network = problem.targets.undo(standard.undo(candidate.network))
            callback(Event(part.name, len(candidate.attempts), share, spent, seconds, network))
        exact = problem.exact(candidate.risk)
        minimum = None if exact or len(judged) >= LIMITS.noisy_tries else candidate.found_again(judged)
        if minimum is None and not exact and candidate.improved and candidate.risk <= LIMITS.rounded * problem.energy:
            minimum = candidate.risk, Hidden.of(candidate.network)
        if not (candidate.improved and exact) and minimum is None and candidate.ending is None:
            continue
        if exact:
            tries += 1
            network = _refined(problem, standard, part.rows, candidate.network, whole=seen is standard.rows)
            certificate = _judged(problem, part, network, tries)
            if certificate.explained and not certificate and (fewer := _reduced(problem, part.rows, network)) is not None:
                network, certificate = fewer, _judged(problem, part, fewer, tries)
        else:
            risk, start = (candidate.risk, Hidden.of(candidate.network)) if minimum is None else minimum
            network, judged = _fitted(problem, standard, start), (*judged, risk)
            certificate = problem.certify(network, problem.rows, None, 1)
        if network.n_units < width:
            certificate = certificate.adding(_superfluous(width - network.n_units, problem.model))
        ended = "exact, and not certified" if candidate.ending is None else candidate.ending.value
        outcome = "a candidate was certified" if certificate else ended
        passes, seconds = problem.rows.passes - before, time.perf_counter() - began
        report = StageReport(part.name, width, candidate.starts, candidate.work, passes, share, outcome, seconds)
        overruled = exact and part.heldout is not None  # by rows that must join the others: these leave rivals
        if certificate or certificate.explained or overruled or candidate.ending is not None:
            return network, certificate, report
    raise AssertionError("the last candidate has an ending")


def _standardized(part: Samples, model: Model) -> Standardized:
    """White inputs, centred where what that moves is free; inputs of a singular covariance stay as they are."""
    return Standardized.or_unchanged(part, centred=model.bias and (model.offset or not model.linear))


def _some(rows: Samples, width: int, problem: JointProblem) -> Samples:
    """A part of the rows where they are many."""
    d, m = rows.d, len(problem.targets.scale)
    p = width * (problem.model.inputs(d) + m) + m * (d * problem.model.linear + 1)
    wanted = max(LIMITS.joint_least_rows, LIMITS.joint_search_rows * max(p / m, problem.model.inputs(d)))
    if rows.n <= 2 * wanted:
        return rows
    return rows.split(wanted / rows.n, 1 - wanted / rows.n, seed=1)[0].persist()


def _refined(problem: JointProblem, standard: Standardized, part: Samples, found: Network, *, whole: bool) -> Network:
    """Fitted to all rows of the part, without superfluous units, and polished in the inputs as they were given."""
    unit, model = problem.activation.degree is not None, problem.model
    fit = variable_projection(
        standard.rows, found, model, iterations=LIMITS.joint_polish_steps if whole else LIMITS.steps, damping=1e-6, unit=unit
    )
    network = fit.network
    while network.n_units and problem.exact(float(fit.risks[0])):
        losses = output_losses(standard.rows, network, model)
        least = int(np.argmin(losses))
        if losses[least] > LIMITS.not_needed * problem.energy:
            break
        rest = np.delete(np.arange(network.n_units), least)
        fewer = replace(network, W=network.W[:, rest], a=network.a[rest], b=network.b[rest])
        steps = LIMITS.joint_polish_steps if len(rest) else 0
        fit = variable_projection(standard.rows, fewer, model, iterations=steps, damping=1e-6, unit=unit)
        if not problem.exact(float(fit.risks[0])):
            break
        network = fit.network
    raw = standard.undo(network)
    steps = LIMITS.joint_polish_steps if raw.n_units else 0
    polished = variable_projection(part, raw, model, iterations=steps, damping=1e-10).network
    return min((raw, polished, _snapped(raw), _snapped(polished)), key=lambda net: _largest(net, part))


def _reduced(problem: JointProblem, rows: Samples, network: Network) -> Network | None:
    """The same values in fewer units, as few as arrangements give one after the other; None where none does."""
    found: Network | None = None
    while (fewer := _arranged(problem, rows, found or network)) is not None:
        found = fewer
    return found


def _arranged(problem: JointProblem, rows: Samples, network: Network) -> Network | None:
    """The first arrangement in fewer units that is exact on the rows."""
    for fewer in arrangements(network, offset=problem.model.offset):
        start = variable_projection(rows, fewer, problem.model, iterations=0)
        if float(start.risks[0]) <= LIMITS.nearly_exact * problem.energy:
            raw = Standardized.unchanged(rows)
            polished = _refined(problem, raw, rows, start.network, whole=True)
            if polished.n_units < network.n_units and problem.exact(_risk(problem, rows, polished)):
                return polished
    return None


def _risk(problem: JointProblem, rows: Samples, network: Network) -> float:
    return float(variable_projection(rows, network, problem.model, iterations=0).risks[0])


def _snapped(network: Network) -> Network:
    """V and c zero where they are rounding errors of targets of size one: rows on which every unit is silent would show it."""
    V, c = network.V, network.c
    V = None if V is None else np.where(np.abs(V) > LIMITS.tiny_offset, V, 0.0)
    return replace(network, V=V, c=np.where(np.abs(c) > LIMITS.tiny_offset, c, 0.0))


def _judged(problem: JointProblem, part: Division, network: Network, tries: int) -> Certificate:
    """On the part and the rows held out; where that does not suffice, on all rows: more on every side, and none held out."""
    certificate = problem.certify(network, part.rows, part.heldout, tries)
    if part.heldout is None or certificate or not certificate.explained:
        return certificate
    whole = problem.certify(network, problem.rows, None, 1)
    return whole if whole else certificate


def _fitted(problem: JointProblem, standard: Standardized, start: Hidden) -> Network:
    """The minimum of the squared error over all rows, from there; two last steps without damping."""
    everything, model, unit = _standardized(problem.rows, problem.model), problem.model, problem.activation.degree is not None
    first = variable_projection(standard.rows, start, model, iterations=0).network
    network = everything.on_network(standard.undo(first))
    if turned_by_a_constant(problem.activation) and not model.offset and network.n_units <= LIMITS.facing_units:
        network = facing(_some(everything.rows, network.n_units, problem), network, model, steps=LIMITS.steps).network
    for steps, damping in ((LIMITS.steps, 1e-6), (LIMITS.last_steps, 1e-12)):
        network = variable_projection(
            everything.rows, network, model, iterations=steps, tol=LIMITS.noisy_tolerance, damping=damping, unit=unit
        ).network
    return everything.undo(network)


def _superfluous(count: int, model: Model) -> Statement:
    one = "the others give the same values" + ", and what is on at every row is part of V" * model.linear
    sentence = f"{count} of the units asked for {'is' if count == 1 else 'are'} not needed on these rows: {one}."
    return Statement(Topic.SUPERFLUOUS, Kind.TESTED, True, sentence, count)


def _largest(network: Network, rows: Samples) -> float:
    return Agreement.of(network, rows).level


def _check_size(rows: Samples, width: int, activation: Activation, model: Model) -> None:
    """Refuse a width that the rows cannot determine by far, before any work."""
    m = rows.n_outputs or 1
    p = parameters_of_shape(
        rows.d, width, activation, bias=model.bias, offset=model.offset, linear=model.linear, n_outputs=m
    )
    if width > rows.n or (p > rows.n * m and p > LIMITS.most_undetermined):
        raise TooFewRowsError(
            f"n_units = {width:,} of {rows.d} inputs are {p:,} parameters, and {int(rows.n):,} rows of {m} outputs cannot "
            "determine them; ask for fewer units, or give more rows."
        )


def _target_sizes(rows: Samples, rank: int) -> tuple[ScaledTargets, float]:
    """Targets of about one size, and ½ E ‖y/s‖² of them; columns without information are warned about.

    rank: that of the targets of a network, at most; more columns are dependent by nature.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        mean, covariance = target_moments(rows)
        squares = np.diagonal(covariance) + mean**2
    if not np.isfinite(squares).all():
        raise ArgumentError("y has values whose squares overflow; divide y by the largest of them.")
    if not squares.any():
        raise ArgumentError("y is zero on every row, or so small that its squares vanish; there is no unit to recover.")
    constant = np.diagonal(covariance) <= 1e-24 * squares
    if constant.all():
        raise ArgumentError("y is constant, or so small that its squares vanish; there is no unit to recover.")
    if constant.any():
        warn(f"column {int(np.flatnonzero(constant)[0])} of y is constant; it tells nothing of the units.", DataWarning)
    spread = np.sqrt(np.diagonal(covariance)[~constant])
    correlations = covariance[np.ix_(~constant, ~constant)] / spread[:, None] / spread
    values = np.linalg.eigvalsh(correlations)
    if np.count_nonzero(values > LIMITS.dependent_targets) < min(len(values), rank) or (rank > 1 and _equal(correlations)):
        warn("columns of y are equal or linearly dependent; they tell no more than the others do.", DataWarning)
    scaled = ScaledTargets.of(squares)
    return scaled, 0.5 * float(np.sum(squares / scaled.scale**2))


def _equal(correlations: np.ndarray) -> bool:
    """Whether two columns are one, up to a factor and a constant."""
    return bool((np.abs(correlations[np.triu_indices(len(correlations), 1)]) > 1 - LIMITS.dependent_targets).any())


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
