"""`recover`: from rows (x, y) to the units, with a certificate.

Route   inputs are whitened; a tensor start is refined by Gauss–Newton where moments can give one; else, or when its
        certificate says no, annealed starts are searched; each answer is judged by `certify` on rows that the fit never saw.
Needs   moments: Gaussian x and k ≤ d. Search, refinement and certificate: nothing of the inputs' law.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from weightlift.activations import Activation, get
from weightlift.certificate import Certificate, Status, certify
from weightlift.errors import ActivationError, ArgumentError, NotGaussianWarning, SingularError, WeightliftError
from weightlift.initialization import tensor_init
from weightlift.moments import DirectionalMoments, choose_moments, remove_linear
from weightlift.moments.gaussianity import gaussianity
from weightlift.namespaces import to_numpy
from weightlift.network import Network
from weightlift.refinement import gauss_newton
from weightlift.risk import Risk, Students
from weightlift.samples import Covariance, Samples, Whitening
from weightlift.samples import open as open_samples
from weightlift.samples.counting import Counted
from weightlift.search import expand_prune
from weightlift.search.expand_prune import without_offset
from weightlift.subspace import SecondMoment, estimate_rank

METHODS = ("auto", "tensor", "search")
HELDOUT, LEAST_HELDOUT = 0.05, 16
DEFAULT_WORK = 15_000.0
ROWS_A_PARAMETER = 12.0  # beyond these the search runs on a part of the rows, and the fit on all
REFINEMENT_STEPS, POLISH_STEPS = 80, 8
MEAN_LEVEL = 6.0  # standard deviations of n‖ν‖² ~ χ² above which the inputs have a mean
WIDTHS_AROUND = (0, 1, -1, 2, -2, 3)


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


@dataclass(frozen=True)
class Recovery:
    """The network, its certificate, what was tried, and the evidence for the width when it was not given."""

    network: Network
    certificate: Certificate
    stages: tuple[StageReport, ...]
    width_evidence: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        lines = [f"{self.network!r}: {self.certificate.status.name}", *(f"  {r}" for r in self.certificate.reasons)]
        columns = ("units", "starts", "work", "passes", "seconds", "risk")
        header = f"  {'stage':<34}" + "".join(f"{name:>9}" for name in columns) + "  outcome"
        rows = [
            f"  {s.name:<34}{s.width:>9}{s.starts:>9}{s.work:>9.0f}{s.passes:>9}{s.seconds:>9.2f}{s.risk:>9.1e}  {s.outcome}"
            for s in self.stages
        ]
        return "\n".join([*lines, header, *rows, *(f"  {e}" for e in self.width_evidence)])


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
    max_work: float | None = None,
    rng: np.random.Generator | int = 0,
) -> Recovery:
    """Recover the units of y = Σ aᵢ φ(⟨wᵢ, x⟩ + bᵢ) + c from rows; X may be any `Samples`, then y is None.

    n_units: the width, or "auto". bias, offset: whether b and c are fitted. output_weights: "free", or the known aᵢ, in any
    order. method: "tensor" (moments alone, refined), "search", or "auto", both. max_work bounds the search in Gauss–Newton
    steps of one start, so that the same seed gives the same answer.

    >>> import weightlift as wl
    >>> truth = wl.teachers.conditioned(8, 3, activation="relu", rng=0)
    >>> X, y = wl.draw(truth, 100, rng=1)
    >>> found = recover(X, y, n_units=3, activation="relu")
    >>> found.certificate.status.name, wl.match(found.network, truth).max_error < 1e-10
    ('EXACT', True)
    """
    outputs = _known_outputs(output_weights, n_units)
    problem = _Problem.of(X, y, sample_weight, get(activation), bias, offset, outputs, method, np.random.default_rng(rng))
    work = DEFAULT_WORK if max_work is None else float(max_work)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"), problem.threads():
        if n_units == "auto":
            return _auto(problem, work)
        if isinstance(n_units, bool) or not isinstance(n_units, (int, np.integer)) or n_units < 1:
            raise ArgumentError(f"n_units must be a positive integer or 'auto', not {n_units!r}.")
        return _recover(problem, int(n_units), work)


@dataclass(frozen=True, eq=False)
class _Problem:
    """The rows, split and whitened, and what is asked of them."""

    rows: Samples  # all
    train: Samples
    heldout: Samples
    white: Counted  # training rows, whitened
    whitening: Whitening | None  # None where the covariance is singular
    activation: Activation
    bias: bool
    offset: bool
    outputs: np.ndarray | None  # known output weights
    method: str
    energy: float  # ½ E y²
    rng: np.random.Generator

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        sample_weight: Any,
        activation: Activation,
        bias: bool,
        offset: bool,
        outputs: np.ndarray | None,
        method: str,
        rng: np.random.Generator,
    ) -> _Problem:
        if method not in METHODS:
            raise ArgumentError(f"method must be one of {METHODS}, not {method!r}.")
        rows = open_samples(X, y, sample_weight=sample_weight)
        if not math.isfinite(rows.n):
            raise ArgumentError("X is a population without rows; draw some with weightlift.draw(network, n).")
        energy, spread = _target(rows)
        if not spread > 1e-24 * energy:
            raise ArgumentError("y is constant; there is no unit to recover.")
        share = min(0.5, max(HELDOUT, LEAST_HELDOUT / rows.n))
        heldout, train = (part.persist() for part in rows.split(share, 1 - share, seed=int(rng.integers(2**31))))
        train = train if train.n >= 2 else rows
        whitening = _whitening(train, centred=bias)
        white = train if whitening is None else train.map(whitening)
        counted = Counted(white.persist())
        return cls(rows, train, heldout, counted, whitening, activation, bias, offset, outputs, method, energy, rng)

    def undo(self, network: Network) -> Network:
        """From whitened to raw inputs; a bias that should be zero is."""
        net = network if self.whitening is None else self.whitening.undo(network)
        return net if self.bias else replace(net, b=np.zeros(net.n_units))

    def certify(self, network: Network) -> Certificate:
        return self._certify(network, self.train, self.heldout if self.heldout.n else None)

    def certify_all(self, network: Network) -> Certificate:
        return self._certify(network, self.rows, None)

    def _certify(self, network: Network, rows: Samples, heldout: Samples | None) -> Certificate:
        return certify(network, rows, bias=self.bias, offset=self.offset, heldout=heldout, rng=0)

    @property
    def free(self) -> str:
        return "Wa" + "b" * self.bias + "c" * self.offset

    def parameters(self, width: int) -> int:
        return width * (self.rows.d + self.bias + (self.activation.degree is None)) + self.offset

    @contextmanager
    def threads(self) -> Iterator[None]:
        """Small products run fastest on one thread."""
        if self.rows.n * self.rows.d <= 4_000_000:
            from threadpoolctl import threadpool_limits

            with threadpool_limits(limits=1):
                yield
        else:
            yield


def _recover(problem: _Problem, width: int, max_work: float) -> Recovery:
    """The stages in the order of their cost, until one is certified."""
    stages: list[StageReport] = []
    answers: list[tuple[float, Network, Certificate]] = []
    if problem.rows.n <= problem.parameters(width):
        _single_fit(problem, width, stages, answers)
    else:
        if problem.method in ("auto", "tensor"):
            _tensor_stage(problem, width, stages, answers)
        if problem.method != "tensor" and not _certified(answers):
            _search_stage(problem, width, max_work, stages, answers)
    certified = [answer for answer in answers if answer[2]]
    _, network, certificate = min(certified or answers, key=lambda answer: answer[0])
    return Recovery(network, certificate, tuple(stages))


def _tensor_stage(
    problem: _Problem, width: int, stages: list[StageReport], answers: list[tuple[float, Network, Certificate]]
) -> None:
    """Moments, then Gauss–Newton; where moments cannot help, the reason is the outcome."""
    passes, began = problem.white.tally.passes, time.perf_counter()
    try:
        centred, center = _centred(problem)
        _check_moments(problem, centred)
        start = tensor_init(centred, width, problem.activation, center=center, rng=problem.rng)
        network = replace(start.network, b=np.zeros(width))
        _finish(problem, network, "tensor start + Gauss–Newton", passes, began, stages, answers)
    except WeightliftError as error:
        if problem.method == "tensor":
            raise
        spent = problem.white.tally.passes - passes
        seconds = time.perf_counter() - began
        stages.append(StageReport("tensor start", width, 0, 0.0, spent, math.nan, str(error), seconds))


def _search_stage(
    problem: _Problem,
    width: int,
    max_work: float,
    stages: list[StageReport],
    answers: list[tuple[float, Network, Certificate]],
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


def _finish(
    problem: _Problem,
    network: Network,
    name: str,
    passes: int,
    began: float,
    stages: list[StageReport],
    answers: list[tuple[float, Network, Certificate]],
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


def _refit(
    problem: _Problem, network: Network, certificate: Certificate, free: str
) -> tuple[Network, Certificate]:
    """Least squares on every row, held-out ones too: no row's information is wasted."""
    fit = gauss_newton(problem.rows, network, free=free, iterations=100, tol=1e-14)
    again = problem.certify_all(fit.network)
    return (fit.network, again) if again else (network, certificate)


def _single_fit(
    problem: _Problem, width: int, stages: list[StageReport], answers: list[tuple[float, Network, Certificate]]
) -> None:
    """No more rows than parameters: one fit, which no certificate can follow."""
    W = problem.rng.normal(size=(problem.rows.d, width)) / math.sqrt(problem.rows.d)
    start = Network(W, problem.rng.choice([-1.0, 1.0], size=width), activation=problem.activation)
    began = problem.white.tally.passes, time.perf_counter()
    _finish(problem, start, "one fit: rows ≤ parameters", *began, stages, answers)


def _auto(problem: _Problem, max_work: float) -> Recovery:
    """Widths around the rank of the residual second moment, nearest first; the certificate refuses the wrong ones."""
    evidence, guess = _rank_evidence(problem)
    widths = [w for w in dict.fromkeys(guess + step for step in WIDTHS_AROUND) if w >= 1]
    best: Recovery | None = None
    stages: list[StageReport] = []
    for width in widths:
        if problem.rows.n <= problem.parameters(width) and best is not None:
            evidence.append(f"width {width}: more parameters than rows, not tried")
            continue
        found = _recover(problem, width, max_work / len(widths))
        stages.extend(found.stages)
        evidence.append(f"width {width}: {found.certificate.status.name}, {found.certificate.reasons[0]}")
        if found.certificate:
            return replace(found, stages=tuple(stages), width_evidence=tuple(evidence))
        if best is None or found.certificate.residual_max < best.certificate.residual_max:
            best = found
    assert best is not None
    return replace(best, stages=tuple(stages), width_evidence=tuple(evidence))


def _rank_evidence(problem: _Problem) -> tuple[list[str], int]:
    """The number of directions in which the residual of y on [1, x] has a second moment above its noise."""
    estimate = estimate_rank(remove_linear(problem.white), SecondMoment(), rng=problem.rng)
    above = ", ".join(f"{abs(v):.3g}" for v in estimate.eigenvalues[: estimate.rank + 1])
    sentence = f"rank {estimate.rank} of the second moment: eigenvalues {above} against a noise floor of {estimate.floor:.3g}"
    return [sentence], max(1, estimate.rank)


def _known_outputs(output_weights: Any, n_units: int | str) -> np.ndarray | None:
    if isinstance(output_weights, str):
        if output_weights != "free":
            raise ArgumentError(f"output_weights must be 'free' or an array of known weights, not {output_weights!r}.")
        return None
    values = np.asarray(output_weights, dtype=float)
    if values.ndim != 1 or len(values) != n_units or not np.all(np.isfinite(values) & (values != 0)):
        raise ArgumentError(f"output_weights must be 'free' or {n_units} known weights, finite and not zero.")
    return values


def _target(rows: Samples) -> tuple[float, float]:
    """½ E y² and ½ Var y."""
    d = rows.d
    zero = Students(np.zeros((d, 1, 1)), np.zeros((1, 1)), np.zeros((1, 1)), np.zeros(1), get("linear"))
    energy = float(to_numpy(rows.mean(Risk(zero))[0])[0])
    mean = float(to_numpy(rows.mean(DirectionalMoments(np.eye(d)[:, :1], (0,)))[0])[0])
    shifted = replace(zero, c=np.array([mean]))
    return energy, float(to_numpy(rows.mean(Risk(shifted))[0])[0])


def _whitening(train: Samples, *, centred: bool) -> Whitening | None:
    """Zero mean and unit covariance; without biases the mean stays where it is, and only the covariance is removed."""
    try:
        found = Whitening.estimated(train)
    except SingularError as error:
        warnings.warn(f"{error} Inputs are left as they are.", stacklevel=4)
        return None
    return found if centred else replace(found, mean=np.zeros(train.d))


def _centred(problem: _Problem) -> tuple[Samples, np.ndarray | None]:
    """Whitened rows with zero mean, and the mean ν they had; None where it is zero within its error."""
    _, mean, _ = problem.white.fold(Covariance(problem.rows.d))
    nu = to_numpy(mean)
    d, n = problem.rows.d, problem.white.n
    if n * float(nu @ nu) <= d + MEAN_LEVEL * math.sqrt(2 * d):
        return problem.white, None
    shift = Whitening(nu, np.eye(d), np.eye(d))
    return problem.white.map(shift), nu


def _check_moments(problem: _Problem, centred: Samples) -> None:
    """What moments need: no biases to fit, a covariance, moments that do not vanish, Gaussian inputs."""
    if problem.bias:
        raise ActivationError("moments of order ≤ 4 are used for networks without biases; biases go to the search.")
    if problem.whitening is None:
        raise SingularError("the inputs cannot be whitened; moments need independent columns.")
    choose_moments(problem.activation)
    test = gaussianity(centred)
    if not test.gaussian:
        if problem.method == "auto":
            raise ArgumentError(f"moments were not used: {test}.")
        warnings.warn(f"{test}; moment methods assume a Gaussian.", NotGaussianWarning, stacklevel=5)


def _searched_rows(problem: _Problem, width: int) -> Counted:
    """As many rows as a search needs: beyond twelve a parameter more rows cost time and tell nothing new about the basin."""
    wanted = max(ROWS_A_PARAMETER * problem.parameters(width), 1000)
    if problem.white.n <= 2 * wanted:
        return problem.white
    return problem.white.split(wanted / problem.white.n, seed=int(problem.rng.integers(2**31)))[0].persist()


def _certified(answers: list[tuple[float, Network, Certificate]]) -> bool:
    return any(certificate for _, _, certificate in answers)
