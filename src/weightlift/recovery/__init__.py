"""`recover`: from rows (x, y) to the units, with a certificate.

Route   inputs are whitened; a tensor start is refined by Gauss–Newton where moments can give one; else, or when its
        certificate says no, annealed starts are searched; each answer is judged by `certify` on rows that the fit never saw.
        A fit that agrees to rounding ends it, certified or not: no search can do better.
Needs   moments: Gaussian x, or elliptical x for homogeneous φ without biases and offset; k ≤ d, but for ReLU with biases.
        Search, refinement and certificate: nothing of the inputs' law.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from weightlift.activations import Activation
from weightlift.arguments import flag, generator
from weightlift.certificate import Certificate, Kind, Statement, Status, Topic
from weightlift.certificate.inflation import inflated, variance_inflation
from weightlift.certificate.limits import LIMITS as CERTIFICATE
from weightlift.evidence.information import MAX_CONDITION
from weightlift.moments import remove_linear
from weightlift.recovery.answers import Answer, fit, judge
from weightlift.recovery.exploring import explored
from weightlift.recovery.joint import as_column, recovered_jointly, target_column
from weightlift.recovery.limits import LIMITS
from weightlift.recovery.problem import Counted, Problem, threads
from weightlift.recovery.rare_columns import rare
from weightlift.recovery.reports import Recovery, StageReport, Trial
from weightlift.recovery.request import Event, Request
from weightlift.recovery.starts import Start, one_fit, stages
from weightlift.samples import Samples
from weightlift.samples import open as open_samples
from weightlift.samples.columns import columns_of
from weightlift.search import Budget, Ending
from weightlift.subspace import SecondMoment, estimate_rank

__all__ = ["Event", "Recovery", "Request", "StageReport", "Trial", "recover", "recovered"]

CERTIFIED = "a candidate was certified"
EXPLAINED = "a candidate agrees to rounding and is not certified: no search can do better"
RAYS = (
    "Without biases one input shows units of this kind on two rays only, of which a row each tells all; no number of rows can "
    "confirm them. bias=True looks for kinks elsewhere."
)
CONFIRMED = "two starts end at one minimum, which is not certified: a third would say no more"
TIME_SPENT, WORK_SPENT = Ending.TIME_SPENT.value, Ending.WORK_SPENT.value


def recover(
    X: Any,
    y: Any = None,
    *,
    n_units: int | str,
    activation: Activation | str = "relu",
    bias: bool = False,
    offset: bool = False,
    sample_weight: Any = None,
    output_weights: str | ArrayLike = "free",
    method: str = "auto",
    linear: bool | str = False,
    max_work: float | None = None,
    max_time: float | None = None,
    callback: Callable[[Event], object] | None = None,
    explore: bool = False,
    rng: np.random.Generator | int = 0,
) -> Recovery:
    """Recover the units of y = Σ aᵢ φ(⟨wᵢ, x⟩ + bᵢ) + Vᵀx + c from rows; X may be any `Samples`, then y is None.

    y (n,) gives a network of one output, y (n, m) one of m outputs, fitted jointly. linear: whether there is a linear part V;
    "auto" tries without first.

    n_units: the width, or "auto". activation: φ, by name or as an `Activation`. bias, offset: whether b and c are fitted.
    sample_weight: (n,) ≥ 0, counts or inverse variances. output_weights: "free", or the known aᵢ, in any order.
    method: "tensor" (moments alone, refined), "search", or "auto", both. max_work: a bound on all stages of a model in
    Gauss–Newton steps of one start; it counts work, not time, so that the same seed gives the same answer. max_time: seconds
    after which no further step begins; the best network so far is then judged and returned, and its certificate says so.
    callback: called with an `Event` at every start, round and answer; an error that it raises ends the recovery. explore:
    whether quick trials of biases, an offset, a linear part, other φ and other widths follow where it FAILED, or certified no
    unit of rows that it does not explain; the first that is certified is returned, and `trials` ranks them all. rng: the seed.

    >>> import weightlift as wl
    >>> truth = wl.teachers.conditioned(8, 3, activation="relu", rng=0)
    >>> X, y = wl.draw(truth, 100, rng=1)
    >>> found = recover(X, y, n_units=3, activation="relu")
    >>> found.certificate.status.name, wl.match(found.network, truth).max_error < 1e-10
    ('EXACT', True)
    """
    asked = Request(n_units, activation, bias, offset, output_weights, method, linear, max_work, max_time, callback)
    request = asked.checked()
    explore = flag("explore", explore)
    rows = open_samples(X, y, sample_weight=sample_weight)
    chance = generator(rng)
    found = recovered(rows, request, chance)
    if explore and _open(found.certificate):
        found = explored(rows, request, found, recovered, chance)
    return replace(_naming_columns(found, rows), rows=rows, call=asked.call(explore=explore, rng=rng))


def _open(certificate: Certificate) -> bool:
    """Whether another model may do better: nothing is known of the units, and the rows are not explained."""
    return certificate.status is Status.FAILED or not (certificate.certified_units or certificate.explained)


def recovered(samples: Samples, request: Request, rng: np.random.Generator) -> Recovery:
    """What `recover` does with a source of rows and a request that is checked.

    samples  rows, as `samples.open` gives them
    request  the options, `checked`
    rng      a generator
    """
    if request.linear is not False or samples.n_outputs is not None:
        return _general(samples, request, rng)
    budget, watch, rows = request.budget(), Watch(request, time.perf_counter()), Counted(samples)
    with np.errstate(all="ignore"), threads(rows):
        problem = Problem.of(rows, request, rng)
        if request.n_units == "auto":
            found = _auto(problem, budget, watch, rng)
        else:
            found, _ = _of_width(problem, int(request.n_units), budget, watch, rng, request.judged)
    certificate = _with_remarks(found.certificate, problem, cut=budget.late())
    opening = problem.rows.passes - sum(stage.passes for stage in found.stages)
    return _opened(replace(found, certificate=certificate), opening)


def _general(samples: Samples, request: Request, rng: np.random.Generator) -> Recovery:
    """Several targets or a linear part, jointly; a single column without linear part is one target, tried first by "auto"."""
    if request.linear is True or samples.n_outputs not in (None, 1):
        return recovered_jointly(samples, request, rng)
    rows = Counted(samples)
    found = recovered(target_column(rows), replace(request, linear=False), rng)
    found = _opened(found, rows.passes - sum(stage.passes for stage in found.stages))
    if found.certificate or request.linear is False:
        return found if samples.n_outputs is None else as_column(found)
    joint = recovered_jointly(samples, request, rng)
    return replace(joint, stages=(*found.stages, *joint.stages))


def _opened(found: Recovery, passes: int) -> Recovery:
    """With the passes that came before the first stage, which count with it."""
    first, *others = found.stages
    return replace(found, stages=(replace(first, passes=first.passes + passes), *others))


def _of_width(
    problem: Problem, width: int, budget: Budget, watch: Watch, rng: np.random.Generator, judged: int = 0
) -> tuple[Recovery, int]:
    """The stages in the order of their cost, until an answer is settled or the budget is spent.

    judged: candidates that were held against the held-out rows before, and, returned, after.
    """
    answers: list[Answer] = []
    reports: list[StageReport] = []
    if problem.rare_columns(width):
        budget = replace(budget, enough=min(budget.enough, LIMITS.doomed_share * budget.max_work))
    for stage in (*stages(problem, width), one_fit):  # one fit with what is left, where no stage had an answer
        if answers and (answers[-1].settled or budget.late() or stage is one_fit):
            break
        refined: list[Answer] = []
        watch.tell(problem, Start(stage.__name__.replace("_", " "), 0, None, budget), tuple(answers))
        for start in stage(problem, width, budget, rng):
            watch.tell(problem, start, (*answers, *refined))
            if start.network is None or start.waits:
                continue
            judged += 1
            answer = judge(problem, fit(problem, start, start.budget.less(_work(refined))), judged, (*answers, *refined))
            refined.append(answer)
            watch.tell(problem, start, (*answers, *refined))
            if answer.settled or start.budget.spent(_work(refined)):
                break
        done = _reported(start, refined, budget)
        answers, reports = answers + refined, reports + done
        work = sum(report.work for report in done)
        budget, watch = budget.less(work), replace(watch, work=watch.work + work)
    best = min([a for a in answers if a.certificate] or [a for a in answers if a.settled] or answers, key=lambda a: a.risk)
    return Recovery(best.network, _with_odds(best), tuple(reports)), judged


def _auto(problem: Problem, budget: Budget, watch: Watch, rng: np.random.Generator) -> Recovery:
    """The first width that is certified; else the narrowest that is exact, else the one that leaves the least."""
    estimate = estimate_rank(remove_linear(problem.white), SecondMoment(), rng=rng)
    above = ", ".join(f"{abs(v):.3g}" for v in estimate.eigenvalues[: estimate.rank + 1])
    evidence = [
        f"rank {estimate.rank} of the second moment: eigenvalues {above} against a noise floor of {estimate.floor:.3g}"
    ]
    tried: list[Recovery] = []
    for width, found in _widths(problem, max(1, estimate.rank), budget, watch, rng):
        if found is None:
            evidence.append(f"width {width}: more parameters than rows, not tried")
            continue
        tried.append(found)
        evidence.append(f"width {width}: {found.certificate.status.name}, {found.certificate.reasons[0]}")
    best = min(tried, key=_preference)
    return replace(best, stages=tuple(s for found in tried for s in found.stages), width_evidence=tuple(evidence))


def _widths(
    problem: Problem, guess: int, budget: Budget, watch: Watch, rng: np.random.Generator
) -> Iterator[tuple[int, Recovery | None]]:
    """Widths around the rank of the residual second moment, in haste, then with care; the certificate refuses wrong ones.

    None is tried again with less work than it had. An exact fit ends it; where its information is singular, narrower ones
    follow for as long as they are exact."""
    n, d, request = problem.rows.n, problem.rows.d, problem.request
    quick = LIMITS.quick_share * budget.max_work
    careful = (budget.max_work - quick * len(LIMITS.quick_widths)) / len(LIMITS.careful_widths)
    plan = [(guess + step, quick) for step in LIMITS.quick_widths] + [(guess + step, careful) for step in LIMITS.careful_widths]
    plan = [(width, enough) for width, enough in plan if width >= 1 and request.workable(n, d, width)] or [(1, quick)]
    judged = tried = request.judged
    had: dict[int, float] = {}
    while plan and not (judged > tried and budget.spent(0.0)):
        (width, enough), *plan = plan
        if width in had and budget.max_work <= had[width]:
            continue
        if judged > tried and n <= problem.parameters(width):
            yield width, None
            continue
        found, judged = _of_width(problem, width, replace(budget, enough=enough), watch, rng, judged)
        yield width, found
        had[width] = found.work
        budget, watch = budget.less(found.work), replace(watch, work=watch.work + found.work)
        if found.certificate:
            return
        if found.certificate.explained:
            plan = [(width - 1, careful)] if width > 1 and _may_be_narrower(found.certificate) else []


def _may_be_narrower(certificate: Certificate) -> bool:
    """Whether units are superfluous, or may be: JᵀJ is singular, or was not even looked at."""
    if any(s.topic in (Topic.SUPERFLUOUS, Topic.DETERMINED) and not s.holds for s in certificate.statements):
        return True
    condition = certificate.condition
    return certificate.sign_patterns is None and not (condition is not None and condition <= MAX_CONDITION)


def _preference(found: Recovery) -> tuple[bool, bool, float]:
    exact = found.certificate.explained
    return not found.certificate, not exact, found.network.n_units if exact else found.certificate.residual_max


def _reported(start: Start, refined: list[Answer], budget: Budget) -> list[StageReport]:
    """The stage's own report, if it has one, and one for all of its refinements, of which the last is described."""
    reports = []
    if start.report is not None:
        outcome = start.report.outcome or (TIME_SPENT if budget.late() else WORK_SPENT)
        if refined and refined[-1].settled:
            outcome = CONFIRMED if refined[-1].confirmed else CERTIFIED if refined[-1].certificate else EXPLAINED
        reports.append(replace(start.report, outcome=outcome))
    if refined:
        passes, seconds = sum(a.report.passes for a in refined), sum(a.report.seconds for a in refined)
        last = refined[-1].report
        reports.append(replace(last, starts=len(refined), work=_work(refined), passes=passes, seconds=seconds))
    return reports


def _work(answers: list[Answer]) -> float:
    return sum(answer.report.work for answer in answers)


def _with_odds(answer: Answer) -> Certificate:
    """Beside a refusal that ended the recovery: that no search followed, and how often the test refuses a right network."""
    if not answer.confirmed:
        return answer.certificate
    remark = "Two starts ended at this minimum, and nothing was looked for beyond"
    if any(s.topic is Topic.STRUCTURE for s in answer.certificate.failing):
        odds = f"of right networks the test of the residual refuses one in {1 / CERTIFICATE.level:.0f}"
        remark += f"; {odds}, and only rows that it has not seen can tell"
    return _remarked(answer.certificate, f"{remark}.")


def _with_remarks(certificate: Certificate, problem: Problem, *, cut: bool) -> Certificate:
    """Beside a refusal: columns that no network's units can be told from, what was held fixed, and that time cut it short."""
    request, width = problem.request, certificate.network.n_units
    held = "The output weights were held at output_weights; where their signs or sizes may be wrong, 'free' fits them."
    remarks = [rare(problem.departures, width, columns_of(problem.rows)), "" if request.outputs is None else held]
    remarks.append(RAYS if problem.rows.d == 1 and request.unit and not request.bias else "")
    if cut and not certificate.explained:
        remarks.append(f"max_time = {request.max_time:g} s was spent, and nothing was looked for beyond; raise it.")
    return certificate if certificate else _remarked(certificate, *(remark for remark in remarks if remark))


def _remarked(certificate: Certificate, *remarks: str) -> Certificate:
    """With sentences on the units that are in doubt already; their status stays what it is."""
    units = certificate.ambiguous_units
    notes = (Statement(Topic.ASSUMPTION, Kind.ASSUMED, None, remark, units=units) for remark in remarks)
    return replace(certificate, statements=(*certificate.statements, *notes))


def _naming_columns(found: Recovery, samples: Samples) -> Recovery:
    """Where units of a noisy fit are in doubt: the columns that nearly depend on others, which no further row helps."""
    certificate, rows = found.certificate, Counted(samples)
    if certificate.status is not Status.AMBIGUOUS or certificate.noise_std is None:
        return found
    sentence = inflated(variance_inflation(rows), columns_of(samples))
    last = replace(found.stages[-1], passes=found.stages[-1].passes + rows.passes)
    certificate = _remarked(certificate, sentence) if sentence else certificate
    return replace(found, certificate=certificate, stages=(*found.stages[:-1], last))


@dataclass(frozen=True, eq=False)
class Watch:
    """Who tells the callback where a recovery stands."""

    request: Request
    began: float  # of time.perf_counter
    work: float = 0.0  # of the stages that have ended

    def tell(self, problem: Problem, start: Start, answers: tuple[Answer, ...]) -> None:
        request = self.request
        if request.callback is None:
            return
        risk, network = math.inf, None if start.network is None else problem.undo(start.network)
        if start.report is not None and network is not None:
            risk = start.report.risk
        best = min(answers, key=lambda answer: answer.risk, default=None)
        if best is not None and not risk < best.risk / problem.energy:
            risk, network = best.risk / problem.energy, best.network
        seconds = time.perf_counter() - self.began
        own = start.cost.work if start.report is None else start.report.work
        share = (self.work + own) / request.max_work if request.max_work else 1.0
        if request.max_time is not None:
            share = max(share, seconds / request.max_time if request.max_time else 1.0)
        request.callback(Event(start.stage, start.number, risk, min(1.0, share), seconds, network))
