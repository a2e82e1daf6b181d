"""How a fit goes: recover and certify; where that fails, the fit, with a ridge or without, of the least held-out risk."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from weightlift.activations import Activation, get
from weightlift.certificate import Certificate, Evidence, Inference, Status, certify, inference
from weightlift.errors import ArgumentError, NotFiniteError, WeightliftError
from weightlift.estimator.limits import LIMITS
from weightlift.estimator.regularized import ALPHAS, Ridge, regularized_fit
from weightlift.estimator.rows import Rows
from weightlift.initialization import gaussian_init
from weightlift.learning import learn_1nn
from weightlift.moments import remove_linear
from weightlift.network import Network
from weightlift.recovery import Recovery, recover
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
    inference: Inference | None


@dataclass(frozen=True)
class Options:
    """An estimator's options, resolved."""

    n_units: int | str
    activation: Activation
    bias: bool
    offset: bool
    method: str
    refine: bool
    standardize: bool
    alpha: float | str
    max_work: float
    tol: float

    @classmethod
    def of(cls, estimator: Any) -> Options:
        """From attributes of the same names."""
        values = {field.name: getattr(estimator, field.name) for field in fields(cls)}
        work = LIMITS.work if estimator.max_work is None else float(estimator.max_work)
        return cls(**{**values, "activation": get(estimator.activation), "max_work": work})


@dataclass(frozen=True, eq=False)
class Task(Options):
    """What is asked of the rows."""

    rows: Rows
    rng: np.random.Generator

    @property
    def samples(self) -> Samples:
        return open_samples(self.rows.X, self.rows.y, sample_weight=self.rows.w)

    @property
    def free(self) -> str:
        return "Wa" + "b" * self.bias + "c" * self.offset

    def certify(self, network: Network) -> Certificate:
        """In raw inputs; rows that certify cannot even look at certify nothing."""
        X, y, w = self.rows.host
        try:
            return certify(network, X, y, sample_weight=w, bias=self.bias, offset=self.offset)
        except (WeightliftError, ValueError) as error:  # NumPy's, for values near the ends of double precision
            overflow = "The network's values overflow double precision; rescale X and y."
            reason = overflow if isinstance(error, NotFiniteError) else str(error)
            return Certificate(Status.FAILED, (reason,), network, self.bias, self.offset, Evidence(n_rows=len(y)))


def fit_rows(rows: Rows, options: Options, *, previous: Network | None, rng: np.random.Generator) -> Fit:
    """The fit behind the estimators; see the module's docstring."""
    task = Task(**vars(options), rows=rows, rng=rng)
    with np.errstate(all="ignore"):
        return _fit(task, previous)


def fit_collection(samples: Samples, options: Options, *, rng: np.random.Generator) -> Fit:
    """Rows that live elsewhere: `recover` on the source as it is."""
    if not options.refine or options.alpha not in ("auto", 0):
        raise ArgumentError("Dask collections are recovered without a ridge: use refine=True and alpha='auto' or 0.")
    found = _recover(options, samples, None, None, rng)
    bias, offset = options.bias, options.offset
    errors = inference(found.network, samples, bias=bias, offset=offset) if found.certificate else None
    return Fit(found.network, found.certificate, found, 0.0, _work(found), errors)


def _recover(options: Options, X: Any, y: Any, w: Any, rng: np.random.Generator) -> Recovery:
    return recover(
        X,
        y,
        sample_weight=w,
        n_units=options.n_units,
        activation=options.activation,
        bias=options.bias,
        offset=options.offset,
        method=options.method,
        max_work=options.max_work,
        rng=rng,
    )


def _work(recovery: Recovery) -> float:
    return sum(stage.work for stage in recovery.stages)


def _fit(task: Task, previous: Network | None) -> Fit:
    try:
        if previous is not None and (warm := _warm(task, previous)) is not None:
            return warm
        if not task.refine:
            return _unrefined(task)
        if task.alpha != "auto" and float(task.alpha) > 0:
            return _ridge(task, None, "The fit has a ridge (alpha > 0), which moves every unit; alpha=0 asks for the units.")
        return _recovered(task)
    except NotFiniteError as error:
        raise NotFiniteError("X or y holds values whose network overflows double precision; rescale them.") from error


def _recovered(task: Task) -> Fit:
    rows = task.rows
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*Inputs are left as they are")  # `findings` has named the columns
            found = _recover(task, rows.X, rows.y, rows.w, task.rng)
    except WeightliftError as error:
        return _ridge(task, None, str(error))
    network = rows.undo(found.network)
    certificate = task.certify(network) if rows.scaled else found.certificate
    recovery = replace(found, network=network, certificate=certificate)
    work = _work(found)
    if certificate or task.alpha == 0:
        return Fit(network, certificate, recovery, 0.0, work, _inference(task, network, certificate))
    return _ridge(task, recovery, certificate.reasons[0])


def _ridge(task: Task, recovery: Recovery | None, reason: str) -> Fit:
    """The fit of the least held-out risk, never certified; a recovered network that explains its rows is kept."""
    X, y, w = task.rows.host
    spent = 0.0 if recovery is None else sum(stage.work for stage in recovery.stages)
    if recovery is not None and _unexplained(recovery.network, X, y, w) <= LIMITS.explained:
        return Fit(recovery.network, recovery.certificate, recovery, 0.0, spent, None)
    ridge = Ridge(
        task.activation,
        widths=LIMITS.widths if task.n_units == "auto" else (int(task.n_units),),
        alphas=ALPHAS if task.alpha in ("auto", 0) else (float(task.alpha),),
        bias=task.bias,
        offset=task.offset,
        standardize=task.standardize,
        given=None if recovery is None or task.rows.scaled else recovery.network,
        tol=task.tol,
        max_work=task.max_work,
    )
    found = regularized_fit(X, y, w, ridge, rng=task.rng)
    sentence = f"Predictions come from a ridge fit of {found.network.n_units} units (alpha = {found.alpha:.3g})."
    judged = task.certify(found.network)
    status = Status.FAILED if judged else judged.status
    certificate = replace(judged, status=status, reasons=(reason, sentence), precision=None, regions=None)
    return Fit(found.network, certificate, recovery, found.alpha, spent + found.work, None)


def _unexplained(network: Network, X: np.ndarray, y: np.ndarray, w: np.ndarray | None) -> float:
    """E r²/Var y; infinite for a constant target."""
    size = float(np.max(np.abs(y))) or 1.0
    residual, spread = (network.predict(X) - y) / size, (y - np.average(y, weights=w)) / size
    value = float(np.average(residual**2, weights=w) / np.average(spread**2, weights=w))
    return value if math.isfinite(value) else math.inf


def _warm(task: Task, previous: Network) -> Fit | None:
    """The previous network, refined, if it is certified so."""
    fits = task.n_units in ("auto", previous.n_units) and previous.n_inputs == task.rows.host[0].shape[1]
    if not fits or previous.activation != task.activation or not task.refine or task.alpha not in ("auto", 0):
        return None
    X, y, w = task.rows.host
    start = replace(
        previous, b=previous.b if task.bias else np.zeros(previous.n_units), c=previous.c if task.offset else 0.0
    )
    try:
        refined = gauss_newton(
            open_samples(X, y, sample_weight=w), start, free=task.free, iterations=LIMITS.warm_steps, tol=1e-14, damping=1e-6
        )
    except WeightliftError:
        return None
    certificate = task.certify(refined.network)
    if not certificate:
        return None
    found = _inference(task, refined.network, certificate)
    return Fit(refined.network, certificate, None, 0.0, float(refined.iterations), found)


def _unrefined(task: Task) -> Fit:
    """Directions as the start has them; output weights and the constant by least squares."""
    samples = task.samples
    width = _rank(task, samples) if task.n_units == "auto" else int(task.n_units)
    start = _start(task, samples, width)
    students = project_outputs(samples, Students.of(start).like(task.rows.X), offset=task.offset)
    network = task.rows.undo(students.network(0))
    certificate = task.certify(network)
    return Fit(network, certificate, None, 0.0, 1.0, _inference(task, network, certificate))


def _start(task: Task, samples: Samples, width: int) -> Network:
    """From moments without biases, where they apply; else random directions, with biases within the data."""
    if not task.bias and task.method != "search":
        try:
            return learn_1nn(samples, n_units=width, activation=task.activation, iterations=1, rng=task.rng).start
        except WeightliftError:
            if task.method == "tensor":
                raise
    start = gaussian_init(samples.d, width, task.activation, rng=task.rng)
    return replace(start, b=task.rng.normal(size=width)) if task.bias else start


def _rank(task: Task, samples: Samples) -> int:
    try:
        return max(1, estimate_rank(remove_linear(samples), SecondMoment(), rng=task.rng).rank)
    except WeightliftError:
        return 1


def _inference(task: Task, network: Network, certificate: Certificate) -> Inference | None:
    if not certificate:
        return None
    X, y, w = task.rows.host
    try:
        return inference(network, X, y, sample_weight=w, bias=task.bias, offset=task.offset)
    except WeightliftError:
        return None
