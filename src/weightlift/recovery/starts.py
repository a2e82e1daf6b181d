"""Where a fit may begin: moments, units up to sign, a search; generators, so that nothing is worked that nobody asks for.

Moments   need Gaussian inputs, or elliptical ones for homogeneous φ without biases and offset, and k ≤ d but for biased ReLU.
Search    needs more rows than parameters, and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from weightlift import activations
from weightlift.certificate.limits import LIMITS as CERTIFICATE
from weightlift.errors import ArgumentError, SingularError, TimeSpentError, TooFewRowsError, WeightliftError
from weightlift.initialization import hermite_init, overcomplete_init, robust_init, tensor_init, with_large_biases
from weightlift.initialization.overcomplete import most_units
from weightlift.moments import choose_moments
from weightlift.moments.gaussianity import gaussianity
from weightlift.namespaces import on_host
from weightlift.network import Network
from weightlift.recovery.limits import LIMITS
from weightlift.recovery.problem import Problem
from weightlift.recovery.reports import Cost, StageReport
from weightlift.refinement import SignlessFit, gauss_newton, refine_up_to_signs
from weightlift.samples import Radial, Samples, Scaling
from weightlift.search import Attempt, Budget, candidates

NOTHING = Cost()


@dataclass(frozen=True, eq=False)
class Start:
    """A network of standard inputs, to be refined and judged unless it waits; or none, and what its stage has done so far."""

    stage: str
    number: int  # within its stage, from 1
    network: Network | None
    budget: Budget  # for the stage's refinements
    name: str = "Gauss–Newton on all rows"  # of the refinement's report
    cost: Cost = NOTHING  # of the start, reported with its refinement
    risk: float | None = None  # ½ E r² on the training rows, where it is known
    steps: int = LIMITS.steps  # of its refinement, at most
    hasty: bool = False  # whether a refinement that takes more is given up: another stage follows
    waits: bool = False  # whether nothing would come of judging it now: the best so far, for the callback alone
    report: StageReport | None = None  # of the stage itself, so far


Stage = Callable[[Problem, int, Budget, np.random.Generator], Iterator[Start]]


def stages(problem: Problem, width: int) -> tuple[Stage, ...]:
    """What can be tried, in the order of its cost."""
    if problem.rows.n <= problem.parameters(width):
        return (one_fit,)
    method, found = problem.request.method, list[Stage]()
    if method != "search":
        up_to_sign = seen_up_to_signs(problem, width)
        found += [moments] if width <= problem.rows.d or not up_to_sign else []
        found += [units_up_to_sign] if up_to_sign else []
    return (*found, search) if method != "tensor" else tuple(found)


def one_fit(problem: Problem, width: int, budget: Budget, rng: np.random.Generator) -> Iterator[Start]:
    """A random network: where no certificate can follow, one fit is enough."""
    W = rng.normal(size=(problem.rows.d, width)) / math.sqrt(problem.rows.d)
    start = Network(W, rng.choice([-1.0, 1.0], size=width), activation=problem.request.phi)
    name = "one fit: rows ≤ parameters" if problem.rows.n <= problem.parameters(width) else "one fit"
    yield Start("one fit", 1, start, budget, name)


def moments(problem: Problem, width: int, budget: Budget, rng: np.random.Generator) -> Iterator[Start]:
    """A tensor start; where moments cannot help, the reason."""
    began, request, spent = problem.now(), problem.request, 0
    followed = request.method != "tensor"
    steps, hasty = LIMITS.moment_steps if followed else LIMITS.steps, followed and not request.bias
    try:
        rows, name = _gaussian_rows(problem, budget, rng)
        _check_rows(problem, width)
        few, refining = (budget.share(part) for part in (LIMITS.refining_share, 1 - LIMITS.refining_share))
        for number, part in enumerate(_fewest_first(problem, rows, width, rng), start=1):
            if request.bias:
                network = hermite_init(part, width, request.phi, offset=request.offset, rng=rng.spawn(1)[0]).network
                risk, work = None, 0
            else:
                start = tensor_init(part, width, request.phi, center=problem.standard.center, rng=rng).network
                network, risk, work = _on_few_rows(problem, replace(start, b=np.zeros(width)), few.less(spent), rng)
            spent, cost = spent + work, problem.since(began, work)
            yield Start("moments", number, network, refining, f"{name} + Gauss–Newton", cost, risk, steps, hasty)
            began = problem.now()
    except WeightliftError as error:
        if not followed and not isinstance(error, TimeSpentError):
            raise
        yield _none("moments", "tensor start", width, problem.since(began), error)


def units_up_to_sign(problem: Problem, width: int, budget: Budget, rng: np.random.Generator) -> Iterator[Start]:
    """Biased ReLU units that moments show up to sign only: more of them than inputs, or some with large biases."""
    began = problem.now()
    try:
        _gaussian_rows(problem, budget, rng)
        known = _overcomplete if width > problem.rows.d else _large_biases
        fit = known(problem, width, budget, rng)
        network, name = fit.network, "units up to sign + Gauss–Newton"
        if network is None:
            network, name = fit.function.consolidated(), f"{fit.function.n_units} units beside an affine function"
        elif network.n_units < width:
            raise SingularError(f"{network.n_units} of {width} units were found, and no row shows another; ask for fewer.")
    except WeightliftError as error:
        alone = problem.request.method == "tensor" and width > problem.rows.d
        if alone and not isinstance(error, TimeSpentError):
            raise
        yield _none("units up to sign", "units up to sign", width, problem.since(began), error)
        return
    cost = problem.since(began, fit.iterations)
    yield Start("units up to sign", 1, network, budget.less(fit.iterations), name, cost)


def search(problem: Problem, width: int, budget: Budget, rng: np.random.Generator) -> Iterator[Start]:
    """Annealed starts on as many rows as they need, one a round: the best network so far, which waits unless it is a new one.

    Where rows are too few for a fit to noise to be certified, all but exact ones wait for the end."""
    cost, began, done = Cost(), problem.now(), tuple[Attempt, ...]()
    noisy = problem.rows.n >= CERTIFICATE.noisy_rows[0] * problem.parameters(width) + CERTIFICATE.noisy_rows[1]
    request, scaling, risk = problem.request, _scaling(problem), math.inf
    for part, share in _searched_parts(problem, scaling, width, rng):
        spent = sum(a.work for a in done)
        left = budget.share(1 - LIMITS.refining_share).less(spent)
        patience = _patience(problem, part, width)
        left = replace(left, enough=min(budget.enough - spent, share * budget.max_work), patience=patience)
        found = candidates(part, width, request.phi, bias=request.bias, offset=request.offset, budget=left, rng=rng)
        waiting = False
        for number, candidate in enumerate(found, start=len(done) + 1):
            cost += problem.since(began)
            attempts, risk = done + candidate.attempts, min(risk, candidate.risk)
            report = StageReport(
                f"search, {len(attempts)} rounds on {part.n} rows",
                width,
                sum(a.starts for a in attempts),
                sum(a.work for a in attempts),
                cost.passes,
                risk / problem.energy,
                "" if candidate.ending is None else candidate.ending.value,
                cost.seconds,
            )
            network = candidate.network
            if scaling is not None:
                network = problem.standard.on_network(scaling.undo(network))
            waiting |= candidate.improved
            due = noisy or candidate.risk <= LIMITS.polished * problem.energy or candidate.ending is not None
            steps = LIMITS.same_rows_steps if part.n == problem.white.n else LIMITS.steps
            refining, waits = budget.share(LIMITS.refining_share), not (waiting and due)
            yield Start("search", number, network, refining, steps=steps, waits=waits, report=report)
            waiting &= waits
            began = problem.now()
        done = attempts
        if budget.spent(sum(a.work for a in done)):
            return


def seen_up_to_signs(problem: Problem, width: int) -> bool:
    """Whether that stage applies: σ(u) = u + σ(−u), output weights that are free, rows enough, squares of w that are unique."""
    request, d, n = problem.request, problem.rows.d, problem.white.n
    relu = request.bias and request.phi == activations.relu and request.outputs is None
    rows = n >= LIMITS.sign_free_rows or (request.method == "tensor" and width > d)
    return relu and rows and width <= most_units(d)


def _none(stage: str, name: str, width: int, cost: Cost, error: WeightliftError) -> Start:
    """No start, and why."""
    report = StageReport(name, width, 0, cost.work, cost.passes, math.nan, str(error), cost.seconds)
    return Start(stage, 1, None, Budget(0.0), report=report)


def _gaussian_rows(problem: Problem, budget: Budget, rng: np.random.Generator) -> tuple[Samples, str]:
    """Rows that moments can use, and the stage's name: a covariance, moments that do not vanish, Gaussian inputs; elliptical
    ones are given Gaussian radii where φ allows it and nothing but units without biases is fitted."""
    request, standard = problem.request, problem.standard
    if standard.whitening is None:
        raise SingularError("the inputs cannot be whitened; moments need independent columns.")
    choose_moments(request.phi)
    centred = replace(standard, rows=problem.white.until(budget.deadline)).centred
    test = gaussianity(centred)
    if test.gaussian:
        return centred, "tensor start"
    if request.phi.degree and standard.center is None and not (request.bias or request.offset):
        radial = centred.map(Radial(request.phi.degree, int(rng.integers(2**31)))).persist()
        if gaussianity(radial).gaussian:
            return radial, "tensor start, radial correction"
    if request.method == "auto":
        raise ArgumentError(f"moments were not used: {test}; a search needs no law.")
    test.warn()
    return centred, "tensor start"


def _check_rows(problem: Problem, width: int) -> None:
    """Tensors in k dimensions drown in noise below some rows; the search is then the shorter way."""
    if problem.request.method == "tensor":
        return
    n, d = problem.white.n, problem.rows.d
    if width > d:
        raise ArgumentError(f"moments were not used: {width} units with {d} inputs take orders up to 6; the search is shorter.")
    bias = problem.request.bias
    free_lengths = LIMITS.free_lengths if bias and not problem.request.unit else 1.0
    together = LIMITS.biased_rows_a_pair * width**2 if bias else LIMITS.unbiased_rows_an_entry * width**3
    single = (LIMITS.biased_rows_a_parameter if bias else LIMITS.unbiased_rows_a_parameter) * problem.parameters(width)
    needed = free_lengths * max(single, together)
    if n < needed:
        units = f"{width} units with biases" if bias else f"{width} units"
        raise TooFewRowsError(f"moments were not used: {n} rows, and {units} take about {needed:.0f}; give more.")


def _fewest_first(problem: Problem, centred: Samples, width: int, rng: np.random.Generator) -> Iterator[Samples]:
    """Rows for the moments: without biases fewer than all often do."""
    wanted = max(LIMITS.moment_rows * problem.parameters(width), LIMITS.moment_rows_an_entry * width**3)
    if not problem.request.bias and centred.n > 2 * wanted:
        yield centred.split(wanted / centred.n, seed=int(rng.integers(2**31)))[0].persist()
    yield centred


def _on_few_rows(
    problem: Problem, start: Network, budget: Budget, rng: np.random.Generator
) -> tuple[Network, float | None, int]:
    """The start refined on a few rows a parameter, which cost little, where that is better on all of them; and the steps."""
    wanted = LIMITS.few_rows * problem.parameters(start.n_units)
    if problem.white.n <= 2 * wanted:
        return start, None, 0
    part = problem.white.split(wanted / problem.white.n, seed=int(rng.integers(2**31)))[0].persist()
    free = problem.request.free + "c" * (start.c != 0.0 and not problem.request.offset)
    steps = budget.steps(LIMITS.few_steps if problem.request.method == "tensor" else LIMITS.moment_steps)
    fit = gauss_newton(
        part,
        start,
        free=free,
        iterations=steps,
        tol=LIMITS.few_tolerance,
        unit=problem.request.unit,
        window=LIMITS.few_window,
        deadline=budget.deadline,
    )
    before, after = (float(r) for r in problem.risks(start, fit.network))
    return (fit.network, after, fit.iterations) if after < before else (start, before, fit.iterations)


def _scaling(problem: Problem) -> Scaling | None:
    """Columns of unit spread for φ that is not homogeneous: white ones would turn small weights on nearly collinear inputs
    into large ones, and the search shrinks large ones. None where white rows, or rows as they are, serve."""
    whitening = problem.standard.whitening
    if problem.request.unit or whitening is None:
        return None
    spread = np.sqrt(np.diagonal(whitening.covariance))
    least = np.linalg.eigvalsh(whitening.covariance / np.outer(spread, spread))[0]
    return Scaling(whitening.mean, spread) if least > LIMITS.collinear else None


def _searched_parts(
    problem: Problem, scaling: Scaling | None, width: int, rng: np.random.Generator
) -> Iterator[tuple[Samples, float]]:
    """Few rows for a share of the work, where that is enough to find up to d units, then as many as a search may need."""
    rows = problem.white if scaling is None else problem.train.map(scaling).persist()
    many = _searched_rows(problem, rows, width, LIMITS.search_rows, rng)
    few = LIMITS.first_search_rows * problem.parameters(width)
    if width <= problem.rows.d and many.n > max(LIMITS.search_slack * few, LIMITS.least_search_rows):
        yield _searched_rows(problem, many, width, LIMITS.first_search_rows, rng), LIMITS.first_share
    yield many, math.inf


def _searched_rows(problem: Problem, rows: Samples, width: int, ratio: float, rng: np.random.Generator) -> Samples:
    """So many rows a parameter: beyond them more rows cost time, and the refinement sees them all."""
    wanted = max(ratio * problem.parameters(width), LIMITS.least_search_rows)
    if rows.n <= LIMITS.search_slack * wanted:
        return rows
    return rows.split(wanted / rows.n, seed=int(rng.integers(2**31)))[0].persist()


def _patience(problem: Problem, part: Samples, width: int) -> float:
    """The work that a search may do without a fall of its risk: as much as can be waited for, and more where more is allowed.

    A step forms JᵀJ by pairs of inputs and of units, n q²k²/4 products, and factors it for three dampings, (qk)³/2 of them.
    """
    request, inputs = problem.request, problem.rows.d + problem.request.bias
    assert request.max_work is not None
    if not on_host(part.device):
        return request.max_work
    step = part.n * (inputs * width) ** 2 / 4 + (inputs * width) ** 3 / 2
    share = LIMITS.patient_products / (step * LIMITS.default_work)
    return request.max_work * min(1.0, max(LIMITS.least_patience, share))


def _overcomplete(problem: Problem, width: int, budget: Budget, rng: np.random.Generator) -> SignlessFit:
    """The subspace power method on T_4 and T_5 of all rows, refined on as many as a search needs."""
    starts = overcomplete_init(problem.white.until(budget.deadline), width, rng=rng.spawn(1)[0]).starts
    steps = budget.steps(LIMITS.steps, starts=len(starts))
    rows = _searched_rows(problem, problem.white, width, LIMITS.search_rows, rng)
    fit = refine_up_to_signs(rows, *starts, offset=problem.request.offset, iterations=steps)
    return replace(fit, iterations=fit.iterations * len(starts))


def _large_biases(problem: Problem, width: int, budget: Budget, rng: np.random.Generator) -> SignlessFit:
    """The units that T_2 shows, then the others from the rows beyond their kinks."""
    white = problem.white.until(budget.deadline)
    visible = robust_init(white, width, rng=rng.spawn(1)[0])
    steps = budget.steps(LIMITS.large_bias_steps, starts=width + 1)
    return with_large_biases(white, visible.function, width, offset=problem.request.offset, iterations=steps)
