"""The stages of a recovery: a tensor start or a search, refined by Gauss–Newton and judged by the certificate."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from weightlift import activations
from weightlift.certificate import Certificate, Status
from weightlift.errors import ArgumentError, SingularError, TooFewRowsError, WeightliftError
from weightlift.initialization import hermite_init, overcomplete_init, robust_init, tensor_init, with_large_biases
from weightlift.initialization.overcomplete import most_units
from weightlift.moments import choose_moments
from weightlift.moments.gaussianity import gaussianity
from weightlift.network import Network
from weightlift.recovery.problem import Problem
from weightlift.refinement import SignlessFit, gauss_newton, refine_up_to_signs
from weightlift.samples import Radial, Samples
from weightlift.samples.counting import Counted
from weightlift.search import Budget, candidates
from weightlift.search.expand_prune import without_offset

ROWS_A_PARAMETER = 12.0  # beyond these the search runs on a part of the rows, and the fit on all
MOMENT_ROWS, FEW_ROWS = 8.0, 4.0  # a parameter, from which the tensor start comes first, and on which it is refined first
REFINEMENT_STEPS, BIASED_STEPS, POLISH_STEPS = 80, 30, 8  # a biased tensor start settles in 20 steps, or the search is shorter
TOLERANCE = 1e-8  # relative decrease of the risk: with noise far below the 1/n that one parameter gains by chance
MOMENT_ROWS_A_PARAMETER, MOMENT_ROWS_A_PAIR = 2.8, 12.0  # with biases: where one tensor start in two led to the network
SIGN_FREE_ROWS = 5_000  # below, few rows lie beyond a kink that T_2 does not show, and T_5 is noise: the search is shorter
FREE_LENGTHS = 6.0  # times as many where lengths are read from moments too
TINY_OFFSET = 1e-10  # relative to the target's root mean square
CERTIFIED = "a candidate was certified"

Answer = tuple[float, Network, Certificate]  # risk, network in raw inputs, its certificate


@dataclass(frozen=True)
class StageReport:
    """One stage of a recovery: what it did, at what cost, and why it ended."""

    name: str
    width: int
    starts: int
    work: float  # Gauss–Newton steps of one start
    passes: int  # over the data
    risk: float  # ½ E r², relative to ½ E y²
    outcome: str
    seconds: float = field(default=0.0, compare=False)


def tensor_stage(
    problem: Problem, width: int, stages: list[StageReport], answers: list[Answer]
) -> None:
    """Moments, then Gauss–Newton; where moments cannot help, the reason is the outcome."""
    passes, began = problem.white.tally.passes, time.perf_counter()
    try:
        centred, center = problem.standard.centred, problem.standard.center
        centred, name = _gaussian_rows(problem, centred, center)
        if problem.bias:
            _check_rows(problem, width)
            rng = problem.rng.spawn(1)[0]
            network = hermite_init(centred, width, problem.activation, offset=problem.offset, rng=rng).network
            risk, steps = None, BIASED_STEPS
        else:
            network, risk = _unbiased_start(problem, centred, center, width)
            steps = REFINEMENT_STEPS
        _finish(problem, network, f"{name} + Gauss–Newton", passes, began, stages, answers, risk=risk, steps=steps)
    except WeightliftError as error:
        if problem.method == "tensor":
            raise
        spent = problem.white.tally.passes - passes
        seconds = time.perf_counter() - began
        stages.append(StageReport("tensor start", width, 0, 0.0, spent, math.nan, str(error), seconds))


def _unbiased_start(
    problem: Problem, centred: Samples, center: np.ndarray | None, width: int
) -> tuple[Network, float | None]:
    """From few rows where that is exact, which without noise it often is; else from all. With the risk, if it is known."""
    for rows in _fewest_first(problem, centred, width):
        start = tensor_init(rows, width, problem.activation, center=center, rng=problem.rng)
        network, risk = _on_few_rows(problem, replace(start.network, b=np.zeros(width)))
        if risk is not None and problem.exact(risk):
            break
    return network, risk


def _fewest_first(problem: Problem, centred: Samples, width: int) -> Iterator[Samples]:
    """Rows for the moments: without noise eight a parameter often do."""
    wanted = MOMENT_ROWS * problem.parameters(width)
    if centred.n > 2 * wanted:
        yield centred.split(wanted / centred.n, seed=int(problem.rng.integers(2**31)))[0].persist()
    yield centred


def _on_few_rows(problem: Problem, start: Network) -> tuple[Network, float | None]:
    """The start refined on a few rows a parameter, which cost little, where that is better on all of them."""
    wanted = FEW_ROWS * problem.parameters(start.n_units)
    if problem.white.n <= 2 * wanted:
        return start, None
    part = problem.white.split(wanted / problem.white.n, seed=int(problem.rng.integers(2**31)))[0].persist()
    unit = problem.activation.degree is not None
    free = problem.free + "c" * (start.c != 0.0 and not problem.offset)
    fit = gauss_newton(part, start, free=free, tol=1e-6, unit=unit)
    before, after = (float(r) for r in problem.risks(start, fit.network))
    return (fit.network, after) if after < before else (start, before)


def up_to_signs_stage(
    problem: Problem, width: int, stages: list[StageReport], answers: list[Answer]
) -> None:
    """Biased ReLU units that moments show up to sign only: more of them than inputs, or some with large biases."""
    passes, began = problem.white.tally.passes, time.perf_counter()
    try:
        _gaussian_rows(problem, problem.white, None)
        fit = _overcomplete(problem, width) if width > problem.rows.d else _large_biases(problem, width)
        network, name = fit.network, "units up to sign + Gauss–Newton"
        if network is None:
            network, name = fit.function.consolidated(), f"{fit.function.n_units} units beside an affine function"
        elif network.n_units < width:
            raise SingularError(f"{network.n_units} of {width} units were found, and no row shows another; ask for fewer.")
        _finish(problem, network, name, passes, began, stages, answers)
    except WeightliftError as error:
        if problem.method == "tensor" and not answers:
            raise
        spent = problem.white.tally.passes - passes
        seconds = time.perf_counter() - began
        stages.append(StageReport("units up to sign", width, 0, 0.0, spent, math.nan, str(error), seconds))


def seen_up_to_signs(problem: Problem, width: int) -> bool:
    """Whether that stage applies: σ(u) = u + σ(−u), output weights that are free, rows enough, squares of w that are unique."""
    d, n = problem.rows.d, problem.white.n
    relu = problem.bias and problem.activation == activations.relu and problem.outputs is None
    rows = n >= SIGN_FREE_ROWS or (problem.method == "tensor" and width > d)
    return relu and rows and width <= most_units(d)


def search_stage(
    problem: Problem,
    width: int,
    max_work: float,
    stages: list[StageReport],
    answers: list[Answer],
) -> None:
    """Annealed starts on as many rows as they need; every candidate is refined on all training rows and judged."""
    part, began = _searched_rows(problem, width), time.perf_counter()
    passes = part.tally.passes
    judged: list[StageReport] = []
    found = candidates(
        part,
        width,
        problem.activation,
        bias=problem.bias,
        offset=problem.offset,
        budget=Budget(max_work),
        rng=problem.rng,
    )
    for candidate in found:
        if candidate.improved:
            start = problem.white.tally.passes, time.perf_counter()
            _finish(problem, candidate.network, "Gauss–Newton on all rows", *start, judged, answers)
            if answers[-1][2]:
                break
    stages.append(
        StageReport(
            f"search, {len(candidate.attempts)} rounds on {part.n} rows",
            width,
            candidate.starts,
            candidate.work,
            part.tally.passes - passes,
            candidate.risk / problem.energy,
            CERTIFIED if answers[-1][2] or candidate.ending is None else candidate.ending.value,
            time.perf_counter() - began,
        )
    )
    stages.extend(judged[-1:])


def single_fit(
    problem: Problem, width: int, stages: list[StageReport], answers: list[Answer]
) -> None:
    """No more rows than parameters: one fit, which no certificate can follow."""
    W = problem.rng.normal(size=(problem.rows.d, width)) / math.sqrt(problem.rows.d)
    start = Network(W, problem.rng.choice([-1.0, 1.0], size=width), activation=problem.activation)
    began = problem.white.tally.passes, time.perf_counter()
    _finish(problem, start, "one fit: rows ≤ parameters", *began, stages, answers)


def _finish(
    problem: Problem,
    network: Network,
    name: str,
    passes: int,
    began: float,
    stages: list[StageReport],
    answers: list[Answer],
    *,
    risk: float | None = None,
    steps: int = REFINEMENT_STEPS,
) -> None:
    """Refine a network of whitened inputs on the training rows, and judge it; with noise, refit on all rows first."""
    unit = problem.activation.degree is not None
    free = problem.free + "c" * (network.c != 0.0 and not problem.offset)
    risk = float(problem.risks(network)[0]) if risk is None else risk
    steps = 0 if problem.exact(risk) else steps  # the polish does the rest
    fit = gauss_newton(problem.white, network, free=free, iterations=steps, tol=TOLERANCE, unit=unit)
    net, risk = fit.network, float(fit.risks[0])
    if not problem.offset and net.c:
        net = replace(without_offset(net), c=0.0)
    final, fixed = problem.undo(net), problem.free
    if problem.outputs is not None and net.n_units == len(problem.outputs):
        final, fixed = _with_outputs(final, problem.outputs), problem.free.replace("a", "")
    elif unit:
        final, fixed = final.absorbed(), problem.free.replace("a", "")
    polished = gauss_newton(problem.train, final, free=fixed, iterations=POLISH_STEPS, damping=1e-12)
    work = fit.iterations + polished.iterations
    final = _without_tiny_offset(problem, polished.network, fixed)
    certificate = problem.certify(final)
    if certificate.status is Status.STATISTICAL:
        final, certificate, steps = _refit(problem, final, certificate, fixed)
        work += steps
    spent = problem.white.tally.passes - passes
    outcome = certificate.status.name if certificate else f"{certificate.status.name}: {certificate.reasons[0]}"
    seconds = time.perf_counter() - began
    stages.append(StageReport(name, net.n_units, 1, work, spent, risk / problem.energy, outcome, seconds))
    answers.append((risk, final, certificate))


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


def _without_tiny_offset(problem: Problem, network: Network, free: str) -> Network:
    """c = 0 where the fitted c is a rounding error: rows on which every unit is silent would show it."""
    if not network.c or abs(network.c) > TINY_OFFSET * math.sqrt(2 * problem.energy):
        return network
    start = replace(network, c=0.0)
    return gauss_newton(problem.train, start, free=free.replace("c", ""), iterations=POLISH_STEPS, damping=1e-12).network


def _refit(
    problem: Problem, network: Network, certificate: Certificate, free: str
) -> tuple[Network, Certificate, int]:
    """Least squares on every row, held-out ones too: no row's information is wasted. With the steps it took."""
    fit = gauss_newton(problem.rows, network, free=free, iterations=REFINEMENT_STEPS, tol=TOLERANCE, damping=1e-6)
    again = problem.certify_all(fit.network)
    return (fit.network, again, fit.iterations) if again else (network, certificate, fit.iterations)


def _gaussian_rows(problem: Problem, centred: Samples, center: np.ndarray | None) -> tuple[Samples, str]:
    """Rows that moments can use, and the stage's name: a covariance, moments that do not vanish, Gaussian inputs; elliptical
    ones are given Gaussian radii where φ allows it and nothing but units without biases is fitted."""
    if problem.standard.whitening is None:
        raise SingularError("the inputs cannot be whitened; moments need independent columns.")
    choose_moments(problem.activation)
    test = gaussianity(centred)
    if test.gaussian:
        return centred, "tensor start"
    degree = problem.activation.degree
    if degree and center is None and not (problem.bias or problem.offset):
        radial = centred.map(Radial(degree, int(problem.rng.integers(2**31)))).persist()
        if gaussianity(radial).gaussian:
            return radial, "tensor start, radial correction"
    if problem.method == "auto":
        raise ArgumentError(f"moments were not used: {test}.")
    test.warn()
    return centred, "tensor start"


def _check_rows(problem: Problem, width: int) -> None:
    """Tensors in k dimensions drown in noise below some rows; the search is then the shorter way."""
    if problem.method == "tensor":
        return
    n, d = problem.white.n, problem.rows.d
    if width > d:
        raise ArgumentError(f"moments were not used: {width} units with {d} inputs take orders up to 6; the search is shorter.")
    free_lengths = FREE_LENGTHS if problem.activation.degree is None else 1.0
    needed = free_lengths * max(MOMENT_ROWS_A_PARAMETER * problem.parameters(width), MOMENT_ROWS_A_PAIR * width**2)
    if n < needed:
        raise TooFewRowsError(f"moments were not used: {n} rows, and {width} units with biases take about {needed:.0f}.")


def _searched_rows(problem: Problem, width: int) -> Counted:
    """As many rows as a search needs: beyond twelve a parameter more rows cost time and tell nothing new about the basin."""
    wanted = max(ROWS_A_PARAMETER * problem.parameters(width), 1000)
    if problem.white.n <= 2 * wanted:
        return problem.white
    return problem.white.split(wanted / problem.white.n, seed=int(problem.rng.integers(2**31)))[0].persist()


def _overcomplete(problem: Problem, width: int) -> SignlessFit:
    """The subspace power method on T_4 and T_5 of all rows, refined on as many as a search needs."""
    starts = overcomplete_init(problem.white, width, rng=problem.rng.spawn(1)[0]).starts
    return refine_up_to_signs(_searched_rows(problem, width), *starts, offset=problem.offset)


def _large_biases(problem: Problem, width: int) -> SignlessFit:
    """The units that T_2 shows, then the others from the rows beyond their kinks."""
    visible = robust_init(problem.white, width, rng=problem.rng.spawn(1)[0])
    return with_large_biases(problem.white, visible.function, width, offset=problem.offset)
