"""From a start to an answer: Gauss–Newton on the training rows, then the certificate; pure functions of what they are given."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from weightlift.certificate import Certificate, certify
from weightlift.certificate.limits import LIMITS as CERTIFICATE
from weightlift.identifiability.reflections import turned_by_a_constant, without_offset
from weightlift.namespaces import to_numpy
from weightlift.network import Network
from weightlift.recovery.limits import LIMITS
from weightlift.recovery.problem import Problem
from weightlift.recovery.reports import Cost, StageReport
from weightlift.recovery.signs_last import facing
from weightlift.recovery.starts import Start
from weightlift.refinement import Chord, along_chords, along_kinks, gauss_newton
from weightlift.refinement.gauss_newton import Refinement, RefinementEnding
from weightlift.refinement.limits import LIMITS as REFINEMENT
from weightlift.refinement.variable_projection import Model
from weightlift.risk import Risk, Students
from weightlift.rivals.cells import OwnTargets
from weightlift.samples import Samples
from weightlift.search import Budget


@dataclass(frozen=True, eq=False)
class Refined:
    """A refined network of raw inputs."""

    network: Network
    risk: float  # ½ E r² on the training rows
    free: str  # the parameters that move, once scales are fixed
    name: str
    began: Cost  # passes and seconds when it began
    work: float
    budget: Budget  # what is left
    borne: Cost  # by the start
    given_up: bool  # it did not settle in the few steps that it had, and a search follows


@dataclass(frozen=True, eq=False)
class Answer:
    """A network with its certificate, and what it took."""

    network: Network
    certificate: Certificate
    risk: float  # ½ E r² on the training rows
    report: StageReport
    confirmed: bool = False  # two starts ended at this minimum, and chance may have left what is seen in its residual

    @property
    def settled(self) -> bool:
        """Whether nothing is left to look for."""
        return bool(self.certificate) or self.certificate.explained or self.confirmed


def fit(problem: Problem, start: Start, budget: Budget) -> Refined:
    """Refine a network of standard inputs on the training rows, then polish it in raw ones."""
    assert start.network is not None
    began, request, network = problem.now(), problem.request, start.network
    risk = float(problem.risks(network)[0]) if start.risk is None else start.risk
    steps = 0 if problem.exact(risk) else budget.steps(start.steps)  # the polish does the rest
    either_way = steps > 0 and request.outputs is None and turned_by_a_constant(request.phi)
    shifts = not request.offset and (network.c != 0.0 or either_way)
    refined, work = _on_white_rows(problem, network, request.free + "c" * shifts, steps, budget)
    noisy = refined.risks[0] > LIMITS.polished * problem.energy
    if shifts and either_way and noisy and network.n_units <= LIMITS.facing_units:
        refined, more = _facing(problem, refined.network, start.steps, budget.less(work))
        work += more
    net = refined.network
    if shifts:
        net = replace(without_offset(net), c=0.0)
    final, fixed = problem.undo(net), request.free
    if request.outputs is not None and net.n_units == len(request.outputs):
        final, fixed = _with_outputs(final, request.outputs), request.free.replace("a", "")
    elif request.unit:
        final, fixed = final.absorbed(), request.free.replace("a", "")
    if refined.risks[0] <= LIMITS.polished * problem.energy or network.c or problem.request.outputs is not None:
        final, steps = _polished(problem, final, fixed, budget.less(work))
        work += steps
    unsettled = refined.endings[0] is RefinementEnding.ITERATIONS
    return Refined(
        final,
        float(refined.risks[0]),
        fixed,
        start.name,
        began,
        work,
        budget.less(work),
        start.cost,
        given_up=start.hasty and unsettled and refined.iterations == start.steps,
    )


def _on_white_rows(problem: Problem, network: Network, free: str, steps: int, budget: Budget) -> tuple[Refinement, int]:
    """The fit of the training rows, and its steps; of some of them where it ends above rounding: all are fitted later, and
    these no further than they know the network."""
    refined, done = partial(gauss_newton, free=free, unit=problem.request.unit, deadline=budget.deadline), 0
    if steps and (share := _some(problem, network)) <= 0.5 and problem.heldout is not None:
        some, tol = problem.white.split(share, seed=0)[0].persist(), min(LIMITS.known / LIMITS.some_rows, LIMITS.few_tolerance)
        first = refined(some, network, iterations=steps, tol=tol, window=LIMITS.few_window)
        if first.risks[0] > LIMITS.polished * problem.energy:
            return replace(first, risks=problem.risks(first.network)), first.iterations
        network, done = first.network, first.iterations
    tol = min(_tolerance(problem, problem.white, network), LIMITS.loosest)
    found = refined(problem.white, network, iterations=steps - done, tol=tol)
    return found, done + found.iterations


def _some(problem: Problem, network: Network) -> float:
    """The share of the training rows that a noisy fit begins with: above a half it is made to all of them."""
    return LIMITS.some_rows * problem.parameters(network.n_units) / problem.white.n


def _facing(problem: Problem, start: Network, steps: int, budget: Budget) -> tuple[Refinement, int]:
    """The fit without offset whose units face the way that leaves least; and its steps.

    All ways are fitted to some rows where there are many, and those that leave least on all rows to all.
    """
    request = problem.request
    share = max(LIMITS.ways_rows, LIMITS.some_rows * problem.parameters(start.n_units)) / problem.white.n
    some = problem.white.split(share, seed=0)[0].persist() if share <= 0.5 else problem.white
    model = Model(request.bias, linear=False, offset=False)
    each = budget.steps(steps, starts=LIMITS.ways_tried + 2)
    found = facing(some, start, model, steps=each, deadline=budget.deadline)
    ways = [found.network_of(i) for i in range(len(found.risks))]
    risks, work = problem.risks(*ways), found.iterations
    fits = []
    for i in np.argsort(risks, kind="stable")[: LIMITS.ways_fitted]:
        tol, left = _tolerance(problem, problem.white, ways[i]), budget.steps(steps, work)
        fits.append(gauss_newton(problem.white, ways[i], free=request.free, iterations=left, tol=tol, deadline=budget.deadline))
        work += fits[-1].iterations
    return min(fits, key=lambda fit: float(fit.risks[0])), work


def judge(problem: Problem, fit: Refined, tries: int = 1, others: tuple[Answer, ...] = ()) -> Answer:
    """The certificate of a fit; with noise, of least squares on every row, held-out ones too: no row is wasted.

    tries: the how manieth candidate this is that is held against the held-out rows. others: what was refused before; a fit
    that ends at the same minimum is no new evidence, and has the same certificate. Where chance may have left what is seen
    there, it ends the recovery: no third start could say more.
    """
    network, work, rows, heldout = fit.network, fit.work, problem.train, problem.heldout
    noisy = fit.risk > LIMITS.polished * problem.energy and problem.heldout is not None and not fit.given_up
    same: Answer | None = None
    if noisy and (steps := fit.budget.steps(LIMITS.steps)):
        network, done = _on_all_rows(problem, fit, steps)
        work, rows, heldout = work + done, problem.rows, None
        same = _at_the_same_minimum(problem, network, others)
    if same is None:
        bias, offset = problem.request.bias, problem.request.offset
        certificate = certify(network, rows, bias=bias, offset=offset, heldout=heldout, tries=tries, rng=0)
    else:
        network, certificate = same.network, same.certificate
    cost = fit.borne + problem.since(fit.began, work)
    outcome = certificate.status.name if certificate else f"{certificate.status.name}: {certificate.reasons[0]}"
    report = StageReport(
        fit.name, network.n_units, 1, cost.work, cost.passes, fit.risk / problem.energy, outcome, cost.seconds
    )
    return Answer(network, certificate, fit.risk, report, confirmed=same is not None and _by_chance(certificate))


def _on_all_rows(problem: Problem, fit: Refined, steps: int) -> tuple[Network, int]:
    """Least squares on every row, by so many steps, to the minimum itself where it lies on kinks; and the steps it took.

    The fit of some rows is a few standard errors away, from where JᵀJ need be formed only once. Where they are few, and φ has
    kinks, damped steps go on to lower minima.
    """
    share = problem.parameters(fit.network.n_units) / problem.rows.n  # of the risk, that the parameters gain by chance
    tol, deadline = min(LIMITS.settled * share, LIMITS.tolerance), fit.budget.deadline
    first = Chord(fit.network, 0, math.inf)
    if _some(problem, fit.network) <= 0.5:
        first = along_chords(problem.rows, fit.network, free=fit.free, tol=tol, iterations=steps, deadline=deadline)
    if first.gain <= _tolerance(problem, problem.rows, fit.network):
        return first.network, first.steps
    again = gauss_newton(
        problem.rows,
        first.network,
        free=fit.free,
        iterations=fit.budget.steps(LIMITS.steps, first.steps),
        tol=_tolerance(problem, problem.rows, fit.network),
        damping=1e-6,
        deadline=deadline,
    )
    done = first.steps + again.iterations
    last = gauss_newton(
        problem.rows, again.network, free=fit.free, iterations=fit.budget.steps(LIMITS.last_steps, done), damping=1e-12
    )
    done += last.iterations
    network, more = along_kinks(
        problem.rows,
        last.network,
        bias="b" in fit.free,
        offset="c" in fit.free,
        near=LIMITS.kink_distance,
        iterations=fit.budget.steps(REFINEMENT.kink_steps, done),
        deadline=deadline,
    )
    return network, done + more


def _at_the_same_minimum(problem: Problem, network: Network, others: tuple[Answer, ...]) -> Answer | None:
    """The best of these noisy fits, if it is the same function within a share of its standard errors.

    n E (f − g)²/σ² is the square of the distance of two fits in standard errors.
    """
    noisy = [answer for answer in others if answer.certificate.p_value is not None]
    if not noisy:
        return None
    best = min(noisy, key=lambda answer: answer.certificate.noise_std or math.inf)
    assert best.certificate.noise_std is not None
    half = float(to_numpy(problem.rows.map(OwnTargets(network)).mean(Risk(Students.of(best.network)))[0])[0])  # ½ E (f − g)²
    distance = 2 * half * problem.rows.n / best.certificate.noise_std**2
    return best if distance <= LIMITS.same_minimum * problem.parameters(network.n_units) else None


def _by_chance(certificate: Certificate) -> bool:
    """Whether chance may have left what the lack-of-fit test sees: some draw of signs shows as much.

    Of right networks 1 % are refused with a p-value between 0 and 0.01, a fifth of these with the least that the draws can
    give. Another minimum, or another class, has structure that no draw shows: the least p-value nearly always.
    """
    return certificate.p_value is not None and certificate.p_value > 1.5 / (1 + CERTIFICATE.flips)


def _tolerance(problem: Problem, rows: Samples, network: Network) -> float:
    """The relative decrease of the risk below which a step of a noisy fit is the last."""
    return max(LIMITS.chance * problem.parameters(network.n_units) / rows.n, LIMITS.tolerance)


def _with_outputs(network: Network, outputs: np.ndarray) -> Network:
    """The known output weights given to the units they fit best; for homogeneous φ sizes go into (w, b)."""
    from scipy.optimize import linear_sum_assignment

    q = network.activation.degree
    gaps = network.a[:, None] - outputs[None, :]
    if q:
        gaps = np.sign(network.a)[:, None] - np.sign(outputs)[None, :]
    _, chosen = linear_sum_assignment(np.abs(gaps))
    a = outputs[chosen]
    scale = np.abs(network.a / a) ** (1 / q) if q else np.ones_like(a)
    return replace(network, W=network.W * scale, b=network.b * scale, a=a)


def _polished(problem: Problem, network: Network, free: str, budget: Budget) -> tuple[Network, int]:
    """The last digits; c = 0 where the fitted c is a rounding error: rows on which every unit is silent would show it."""
    steps = budget.steps(LIMITS.polish_steps)
    first = gauss_newton(problem.train, network, free=free, iterations=steps, damping=1e-12, deadline=budget.deadline)
    c = first.network.c
    if not c or abs(c) > LIMITS.tiny_offset * math.sqrt(2 * problem.energy):
        return first.network, first.iterations
    start, free = replace(first.network, c=0.0), free.replace("c", "")
    steps = budget.steps(LIMITS.polish_steps, first.iterations)
    second = gauss_newton(problem.train, start, free=free, iterations=steps, damping=1e-12, deadline=budget.deadline)
    return second.network, first.iterations + second.iterations
