"""The stages of a recovery: a tensor start or a search, refined by Gauss–Newton and judged by the certificate."""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass, field, replace

import numpy as np

from weightlift.certificate import Certificate, Status
from weightlift.errors import ActivationError, ArgumentError, NotGaussianWarning, SingularError, WeightliftError
from weightlift.initialization import tensor_init
from weightlift.moments import choose_moments
from weightlift.moments.gaussianity import gaussianity
from weightlift.namespaces import to_numpy
from weightlift.network import Network
from weightlift.recovery.problem import Problem
from weightlift.refinement import gauss_newton
from weightlift.samples import Covariance, Radial, Samples, Whitening
from weightlift.samples.counting import Counted
from weightlift.search import expand_prune
from weightlift.search.expand_prune import without_offset

ROWS_A_PARAMETER = 12.0  # beyond these the search runs on a part of the rows, and the fit on all
REFINEMENT_STEPS, POLISH_STEPS = 80, 8
TINY_OFFSET = 1e-10  # relative to the target's root mean square
MEAN_LEVEL = 6.0  # standard deviations of n‖ν‖² ~ χ² above which the inputs have a mean

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
        centred, center = _centred(problem)
        centred, name = _gaussian_rows(problem, centred, center)
        start = tensor_init(centred, width, problem.activation, center=center, rng=problem.rng)
        network = replace(start.network, b=np.zeros(width))
        _finish(problem, network, f"{name} + Gauss–Newton", passes, began, stages, answers)
    except WeightliftError as error:
        if problem.method == "tensor":
            raise
        spent = problem.white.tally.passes - passes
        seconds = time.perf_counter() - began
        stages.append(StageReport("tensor start", width, 0, 0.0, spent, math.nan, str(error), seconds))


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

    def accept(network: Network) -> bool:
        start = problem.white.tally.passes, time.perf_counter()
        _finish(problem, network, "Gauss–Newton on all rows", *start, judged, answers)
        return bool(answers[-1][2])

    judged: list[StageReport] = []
    found = expand_prune(
        part,
        width,
        problem.activation,
        bias=problem.bias,
        offset=problem.offset,
        accept=accept,
        max_work=max_work,
        rng=problem.rng,
    )
    starts = sum(a.starts for a in found.attempts)
    stages.append(
        StageReport(
            f"search, {len(found.attempts)} rounds on {part.n} rows",
            width,
            starts,
            found.work,
            part.tally.passes - passes,
            found.risk / problem.energy,
            found.ending.value,
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
) -> None:
    """Refine a network of whitened inputs on the training rows, and judge it; with noise, refit on all rows first."""
    unit = problem.activation.degree is not None
    free = problem.free + "c" * (network.c != 0.0 and not problem.offset)
    fit = gauss_newton(problem.white, network, free=free, iterations=REFINEMENT_STEPS, tol=1e-12, unit=unit)
    net, risk = fit.network, float(fit.risks[0])
    if not problem.offset and net.c:
        net = replace(without_offset(net), c=0.0)
    final, fixed = problem.undo(net), problem.free
    if problem.outputs is not None and net.n_units == len(problem.outputs):
        final, fixed = _with_outputs(final, problem.outputs), problem.free.replace("a", "")
    final = gauss_newton(problem.train, final, free=fixed, iterations=POLISH_STEPS, damping=1e-12).network
    final = _without_tiny_offset(problem, final, fixed)
    certificate = problem.certify(final)
    if certificate.status is Status.STATISTICAL:
        final, certificate = _refit(problem, final, certificate, fixed)
    spent = problem.white.tally.passes - passes
    outcome = certificate.status.name if certificate else f"{certificate.status.name}: {certificate.reasons[0]}"
    seconds = time.perf_counter() - began
    stages.append(StageReport(name, net.n_units, 1, fit.iterations, spent, risk / problem.energy, outcome, seconds))
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
) -> tuple[Network, Certificate]:
    """Least squares on every row, held-out ones too: no row's information is wasted."""
    fit = gauss_newton(problem.rows, network, free=free, iterations=100, tol=1e-14)
    again = problem.certify_all(fit.network)
    return (fit.network, again) if again else (network, certificate)


def _centred(problem: Problem) -> tuple[Samples, np.ndarray | None]:
    """Whitened rows with zero mean, and the mean ν they had; None where it is zero within its error."""
    _, mean, _ = problem.white.fold(Covariance(problem.rows.d))
    nu = to_numpy(mean)
    d, n = problem.rows.d, problem.white.n
    if n * float(nu @ nu) <= d + MEAN_LEVEL * math.sqrt(2 * d):
        return problem.white, None
    shift = Whitening(nu, np.eye(d), np.eye(d))
    return problem.white.map(shift), nu


def _gaussian_rows(problem: Problem, centred: Samples, center: np.ndarray | None) -> tuple[Samples, str]:
    """Rows that moments can use, and the stage's name: no biases to fit, a covariance, moments that do not vanish, Gaussian
    inputs; elliptical ones are given Gaussian radii where φ allows it."""
    if problem.bias:
        raise ActivationError("moments of order ≤ 4 are used for networks without biases; biases go to the search.")
    if problem.whitening is None:
        raise SingularError("the inputs cannot be whitened; moments need independent columns.")
    choose_moments(problem.activation)
    test = gaussianity(centred)
    if test.gaussian:
        return centred, "tensor start"
    degree = problem.activation.degree
    if degree and center is None and not problem.offset:
        radial = centred.map(Radial(degree, int(problem.rng.integers(2**31)))).persist()
        if gaussianity(radial).gaussian:
            return radial, "tensor start, radial correction"
    if problem.method == "auto":
        raise ArgumentError(f"moments were not used: {test}.")
    warnings.warn(f"{test}; moment methods assume a Gaussian.", NotGaussianWarning, stacklevel=5)
    return centred, "tensor start"


def _searched_rows(problem: Problem, width: int) -> Counted:
    """As many rows as a search needs: beyond twelve a parameter more rows cost time and tell nothing new about the basin."""
    wanted = max(ROWS_A_PARAMETER * problem.parameters(width), 1000)
    if problem.white.n <= 2 * wanted:
        return problem.white
    return problem.white.split(wanted / problem.white.n, seed=int(problem.rng.integers(2**31)))[0].persist()
