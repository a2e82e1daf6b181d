"""How a fit goes: recover and certify; where that fails, the fit, with a ridge or without, of the least held-out risk."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from weightlift.certificate import Certificate, Evidence, Inference, Status, Summary, Topic, certify, inference, summarize
from weightlift.errors import ArgumentError, NotFiniteError, WeightliftError
from weightlift.estimator.inspection import constant_columns, dependent_columns
from weightlift.estimator.limits import LIMITS
from weightlift.estimator.regularized import Regularized, regularized_fit
from weightlift.estimator.rows import Rows
from weightlift.identifiability import count_parameters
from weightlift.initialization import gaussian_init
from weightlift.learning import learn_1nn
from weightlift.moments import remove_linear
from weightlift.network import Network
from weightlift.recovery import Event, Recovery, Request, recovered
from weightlift.refinement import gauss_newton
from weightlift.refinement.gauss_newton import project_outputs
from weightlift.risk import Students
from weightlift.samples import Samples
from weightlift.samples import open as open_samples
from weightlift.subspace import SecondMoment, estimate_rank


@dataclass(frozen=True)
class Fit:
    """What an estimator keeps, in raw inputs."""

    network: Network
    certificate: Certificate
    recovery: Recovery | None
    alpha: float
    work: float
    table: Summary


@dataclass(frozen=True)
class Options:
    """What an estimator asks: of `recover`, and of the ridge that follows where it fails."""

    request: Request
    refine: bool
    standardize: bool
    alpha: float | str
    tol: float

    @classmethod
    def of(cls, estimator: Any) -> Options:
        """From attributes of the same names."""
        asked = {name: getattr(estimator, name) for name in ("n_units", "activation", "bias", "offset", "method")}
        work = LIMITS.work if estimator.max_work is None else estimator.max_work
        request = Request(**asked, max_work=work, callback=Told() if estimator.verbose else None).checked()
        return cls(request, estimator.refine, estimator.standardize, estimator.alpha, estimator.tol)


class Told:
    """Prints where a recovery stands, every few seconds."""

    def __init__(self) -> None:
        self.last = 0.0

    def __call__(self, event: Event) -> None:
        if event.seconds >= self.last + LIMITS.told_seconds:
            self.last = event.seconds
            print(f"{event.seconds:6.1f} s  {event}", flush=True)


@dataclass(frozen=True, eq=False)
class Task:
    """What is asked of the rows."""

    options: Options
    rows: Rows
    chance: np.random.Generator  # of the ridge: its draws do not depend on what a recovery took

    @property
    def request(self) -> Request:
        return self.options.request

    @property
    def samples(self) -> Samples:
        return open_samples(self.rows.X, self.rows.y, sample_weight=self.rows.w)

    def certify(self, network: Network) -> Certificate:
        """In raw inputs; rows that certify cannot even look at certify nothing."""
        X, y, w = self.rows.host
        bias, offset = self.request.bias, self.request.offset
        try:
            return certify(network, X, y, sample_weight=w, bias=bias, offset=offset)
        except (WeightliftError, ValueError) as error:  # NumPy's, for values near the ends of double precision
            overflow = "The network's values overflow double precision; rescale X and y."
            return self.refused(network, overflow if isinstance(error, NotFiniteError) else str(error))

    def refused(self, network: Network, *reasons: str) -> Certificate:
        """For a network that is not even examined."""
        bias, offset = self.request.bias, self.request.offset
        evidence = Evidence(n_rows=len(self.rows.host[1]), n_parameters=count_parameters(network, bias=bias, offset=offset))
        return Certificate(network, bias, offset, (), evidence).refused(*reasons)


def fit_rows(rows: Rows, options: Options, *, previous: Network | None, rng: np.random.Generator) -> Fit:
    """The fit behind the estimators; see the module's docstring."""
    with np.errstate(all="ignore"):
        return _fit(Task(options, rows, rng.spawn(1)[0]), previous, rng)


def fit_collection(samples: Samples, options: Options, *, rng: np.random.Generator) -> Fit:
    """Rows that live elsewhere: `recover` on the source as it is."""
    if not options.refine or options.alpha not in ("auto", 0):
        raise ArgumentError("Dask collections are recovered without a ridge; use refine=True and alpha='auto' or 0.")
    found = recovered(samples, options.request, rng)
    return Fit(found.network, found.certificate, found, 0.0, found.work, replace(found, rows=samples).summary())


def _fit(task: Task, previous: Network | None, rng: np.random.Generator) -> Fit:
    try:
        if previous is not None and (warm := _warm(task, previous)) is not None:
            return warm
        if not task.options.refine:
            return _unrefined(task, rng)
        if task.options.alpha != "auto" and float(task.options.alpha) > 0:
            moved = "The fit has a ridge (alpha > 0), which moves every unit; alpha=0 asks for the units."
            return _ridge(task, None, moved)
        return _recovered(task, rng)
    except NotFiniteError as error:
        raise NotFiniteError("X or y holds values whose network overflows double precision; rescale them.") from error


def _recovered(task: Task, rng: np.random.Generator) -> Fit:
    rows = task.rows
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*Inputs are left as they are")  # `findings` has named the columns
            found = recovered(task.samples, task.request, rng)
    except WeightliftError as error:
        return _ridge(task, None, str(error))
    network = rows.undo(found.network)
    certificate = task.certify(network) if rows.scaled else found.certificate
    recovery = replace(found, network=network, certificate=certificate)
    if certificate or task.options.alpha == 0:
        return _kept(task, recovery, found.work)
    return _ridge(task, recovery, certificate.reasons[0])


def _ridge(task: Task, recovery: Recovery | None, reason: str) -> Fit:
    """The fit of the least held-out risk, never certified; a recovered network that explains its rows is kept."""
    X, y, w = task.rows.host
    spent = 0.0 if recovery is None else recovery.work
    left = math.inf if recovery is None else _unexplained(recovery.network, X, y, w)
    if recovery is not None and left <= LIMITS.explained:
        return _kept(task, recovery, spent)
    found: Regularized = regularized_fit(
        task.rows.host,
        task.request,
        alpha=task.options.alpha,
        standardize=task.options.standardize,
        tol=task.options.tol,
        rng=task.chance,
    )
    asked = task.request.n_units != "auto"  # without a width, for predictions: the same in any unit of measurement
    if recovery is not None and asked and _predicts(recovery, task.rows, found.risk):
        return _kept(task, recovery, spent + found.work)
    units = f"{found.network.n_units} units (alpha = {found.alpha:.3g}) beside " if found.network.n_units else ""
    sentence = f"Predictions come from a ridge fit of {units}a line."
    certificate = task.refused(found.network, reason, sentence)  # a ridge moves units: none is worth an examination
    drawn = "a ridge draws estimates towards zero; alpha=0 asks for those without."
    table = _table(task, found.network, certificate, drawn=drawn)
    return Fit(found.network, certificate, recovery, found.alpha, spent + found.work, table)


def _predicts(recovery: Recovery, rows: Rows, risk: float) -> bool:
    """Whether a network whose units all are significant, only not precise, is within a standard error of `risk`.

    E r² is corrected for the parameters (generalised cross-validation), which is not enough where units fit noise; a mean of n
    squares is known to √(2/n) of itself. Units that rows do not determine are of many networks one, found by chance: in other
    units of measurement it is another. Columns that depend on each other leave weights open, and the function is one.
    """
    X, y, w = rows.host
    left = float(np.average((recovery.network.predict(X) - y) ** 2, weights=w))
    n, p = recovery.certificate.n_rows, recovery.certificate.n_parameters
    failing = recovery.certificate.failing
    noise = any(s.topic is Topic.SIGNIFICANCE and math.isfinite(s.number) for s in failing)
    loose = any(s.topic is Topic.DETERMINED for s in failing) and not (constant_columns(X) | dependent_columns(X)).any()
    doubtful = recovery.certificate.status is Status.AMBIGUOUS and not noise and not loose and p < n
    return doubtful and left <= (1 - p / n) ** 2 * (1 + math.sqrt(2 / n)) * risk


def _kept(task: Task, recovery: Recovery, work: float) -> Fit:
    """The recovered network, certified or not."""
    table = _table(task, recovery.network, recovery.certificate)
    return Fit(recovery.network, recovery.certificate, recovery, 0.0, work, table)


def _unexplained(network: Network, X: np.ndarray, y: np.ndarray, w: np.ndarray | None) -> float:
    """E r²/Var y; infinite for a constant target."""
    size = float(np.max(np.abs(y))) or 1.0
    residual, spread = (network.predict(X) - y) / size, (y - np.average(y, weights=w)) / size
    value = float(np.average(residual**2, weights=w) / np.average(spread**2, weights=w))
    return value if math.isfinite(value) else math.inf


def _warm(task: Task, previous: Network) -> Fit | None:
    """The previous network, refined, if it is certified so."""
    request, options = task.request, task.options
    fits = request.n_units in ("auto", previous.n_units) and previous.n_inputs == task.rows.host[0].shape[1]
    if not fits or previous.activation != request.phi or not options.refine or options.alpha not in ("auto", 0):
        return None
    X, y, w = task.rows.host
    b, c = previous.b if request.bias else np.zeros(previous.n_units), previous.c if request.offset else 0.0
    samples, start = open_samples(X, y, sample_weight=w), replace(previous, b=b, c=c)
    try:
        refined = gauss_newton(samples, start, free=request.free, iterations=LIMITS.warm_steps, tol=1e-14, damping=1e-6)
    except WeightliftError:
        return None
    certificate = task.certify(refined.network)
    if not certificate:
        return None
    table = _table(task, refined.network, certificate)
    return Fit(refined.network, certificate, None, 0.0, float(refined.iterations), table)


def _unrefined(task: Task, rng: np.random.Generator) -> Fit:
    """Directions as the start has them; output weights and the constant by least squares."""
    samples, request = task.samples, task.request
    width = _rank(samples, rng) if request.n_units == "auto" else int(request.n_units)
    start = _start(request, samples, width, rng)
    students = project_outputs(samples, Students.of(start).like(task.rows.X), offset=request.offset)
    network = task.rows.undo(students.network(0))
    certificate = task.certify(network)
    return Fit(network, certificate, None, 0.0, 1.0, _table(task, network, certificate))


def _start(request: Request, samples: Samples, width: int, rng: np.random.Generator) -> Network:
    """From moments without biases, where they apply; else random directions, with biases within the data."""
    if not request.bias and request.method != "search":
        try:
            return learn_1nn(samples, n_units=width, activation=request.phi, iterations=1, rng=rng).start
        except WeightliftError:
            if request.method == "tensor":
                raise
    start = gaussian_init(samples.d, width, request.phi, rng=rng)
    return replace(start, b=rng.normal(size=width)) if request.bias else start


def _rank(samples: Samples, rng: np.random.Generator) -> int:
    try:
        return max(1, estimate_rank(remove_linear(samples), SecondMoment(), rng=rng).rank)
    except WeightliftError:
        return 1


def _table(task: Task, network: Network, certificate: Certificate, *, drawn: str = "") -> Summary:
    """drawn: why the estimates have no standard errors, if they have none."""

    def inferred() -> Inference:
        if drawn:
            raise ArgumentError(drawn)
        X, y, w = task.rows.host
        return inference(network, X, y, sample_weight=w, bias=task.request.bias, offset=task.request.offset)

    return summarize(network, certificate, inferred)
