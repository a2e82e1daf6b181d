"""`extract`: the network inside a black box, by queries.

Route    kinked φ by lines, smooth φ by gradients and Hessians; then fresh random rows, a polish on all answers, a certificate.
Width    found, not given. Units are found wherever a line of a thousand times the inputs' scale meets them.
Needs    answers of a network with one hidden layer; if they are not, the certificate says so.
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from weightlift import activations
from weightlift.activations import Activation
from weightlift.certificate import Certificate
from weightlift.errors import ArgumentError, BudgetError
from weightlift.extraction.adapters import as_function
from weightlift.extraction.first_look import changed, first_look
from weightlift.extraction.judge import judge
from weightlift.extraction.kinked import is_curved, piecewise_linear
from weightlift.extraction.limits import LIMITS
from weightlift.extraction.noisy import by_samples
from weightlift.extraction.probe import Probe
from weightlift.extraction.request import ExtractionRequest
from weightlift.extraction.result import Extraction
from weightlift.extraction.routes import (
    Found,
    at_minimum,
    derivatives_route,
    from_nothing,
    lines_route,
    with_rows,
    with_weak_units,
)
from weightlift.extraction.searches import samples_route
from weightlift.samples import Samples
from weightlift.samples import open as open_samples
from weightlift.samples.oracle import Oracle, check_settings

__all__ = ["Extraction", "extract"]

SMOOTH = ("tanh", "gelu", "silu", "softplus", "erf", "sine", "elu", "squared_relu")  # tried in turn; a sigmoid is a tanh


def extract(
    oracle: Any,
    n_inputs: int,
    *,
    n_units: int | str = "auto",
    activation: Activation | str = "relu",
    linear: bool | str = "auto",
    budget: int | None = None,
    center: Any = None,
    scale: Any = None,
    batch_size: int | None = None,
    retries: int = 3,
    journal: str | os.PathLike[str] | None = None,
    max_time: float | None = None,
    callback: Callable[[int], None] | None = None,
    rng: int | np.random.Generator = 0,
) -> Extraction:
    """The network inside a black box: a function on (n, d) arrays, an estimator, a PyTorch module, an ONNX session.

    n_units: the most units allowed, or "auto". activation: φ, or "auto". linear: whether f may have a linear part. budget:
    queries that are never exceeded; None: as many as the units and their proof need. center, scale: where, and how wide,
    inputs are meant (numbers or one an input): standard deviations of the data, say. batch_size: rows a call. retries: of a
    call that raised, with pauses. journal: a file that keeps all answers, so that an interrupted run goes on without asking
    again. max_time: seconds. callback: called with the number of queries so far. rng: the seed.

    oracle    the black box
    n_inputs  d

    >>> import weightlift as wl
    >>> truth = wl.teachers.biased(6, 3, rng=0)
    >>> found = extract(truth.predict, 6)
    >>> found.certificate.status.name, found.network.n_units, wl.match(found.network, truth).max_error < 1e-10
    ('EXACT', 3, True)
    """
    request = ExtractionRequest.of(n_inputs, n_units, activation, linear, center, scale, rng)
    check_settings(budget, batch_size, retries, max_time, callback)
    request.check_budget(budget)
    box = Oracle(as_function(oracle), request.n_inputs, budget, batch_size, retries, journal, max_time, callback)
    try:
        return _extracted(box, request, time.perf_counter())
    finally:
        box.close()


def _extracted(box: Oracle, request: ExtractionRequest, began: float) -> Extraction:
    probe, noise = first_look(box, request.frame, request.rng)
    if noise:
        return _of_noisy(probe, request, noise, began)
    try:
        probe = probe.calibrated(request.rng) if probe.quantum.coarse else probe
        found = _found(probe, request)
    except BudgetError as error:
        found = from_nothing(probe, request.activation or activations.get("relu"), f"The budget is spent: {error}")
    found, certificate, fresh = _proved(found if len(found.xi) > 1 else _without_fresh_rows(found, probe), probe, request)
    network = found.estimate.network(request.frame)
    if not found.explained and (change := changed(box, probe)):
        certificate = certificate.refused(change)
    if request.n_units is not None and network.n_units > request.n_units:
        wide = f"{network.n_units} units were found, and n_units allows {request.n_units}."
        certificate = certificate.refused(wide)
    return Extraction(
        network,
        certificate,
        box.queries,
        box.calls,
        box.replayed,
        probe.quantum.name,
        time.perf_counter() - began,
        fresh,
        box.rows,
        found.notes,
        _unseen(found, probe, request),
    )


def _without_fresh_rows(found: Found, probe: Probe) -> Found:
    """Beside all that was asked, where the budget left no row that is fresh."""
    X, Y = probe.oracle.rows
    note = "The budget was spent before a fresh row could be asked; raise it."
    return replace(found, xi=probe.frame.into(X), Y=Y, explained=False, notes=(*found.notes, note), spent=True)


def _proved(found: Found, probe: Probe, request: ExtractionRequest) -> tuple[Found, Certificate, Samples]:
    """The certificate, on more rows where it finds too few; and on rows of their own for units that coarse answers hide."""
    judged = _judged(found, probe, request)
    with contextlib.suppress(BudgetError):  # what was judged before stands
        for _ in range(LIMITS.further):
            found, certificate, _ = judged
            named = [s.units for s in certificate.statements if not s.holds and s.units]  # the fewest are those that lack rows
            units = min(named, key=len, default=())
            parameters = len(units) * (probe.d + 2) or math.inf  # rows around a unit that know of it by themselves
            more = int(min(LIMITS.further_rows * len(found.xi), parameters, probe.oracle.left))
            if certificate or not found.explained or more < 1:
                break
            judged = _judged(with_rows(found, probe, more, request.linear, request.rng, units), probe, request)
        found, certificate, _ = judged
        if certificate and probe.quantum.coarse and certificate.precision is not None:
            exacter = with_weak_units(found, probe, certificate.precision, request.linear, request.rng)
            again = judged if exacter is found else _judged(exacter, probe, request)
            judged = again if again[1] else judged
    return judged


def _judged(found: Found, probe: Probe, request: ExtractionRequest) -> tuple[Found, Certificate, Samples]:
    """The certificate on fresh rows. Coarse answers may be judged as noise, which asks for the fit to those rows alone."""
    fresh = open_samples(request.frame.out(found.xi), found.Y[:, 0] if found.Y.shape[1] == 1 else found.Y)
    certificate = judge(found, probe, found.estimate.network(request.frame), fresh, request.rng)
    if not certificate and found.explained and probe.quantum.coarse:
        fitted = at_minimum(found, probe, request.linear)
        second = judge(fitted, probe, fitted.estimate.network(request.frame), fresh, request.rng)
        found, certificate = (fitted, second) if second else (found, certificate)
    return found, certificate, fresh


def _of_noisy(probe: Probe, request: ExtractionRequest, noise: float, began: float) -> Extraction:
    """Averages in place of differences: the recovery from random rows, with its certificate."""
    if request.activation is None:
        raise ArgumentError("activation='auto' needs answers without noise; name the activation.")
    if (probe.oracle.n_outputs or 1) > 1:
        raise ArgumentError("the oracle has several outputs and noise; extract one output at a time: lambda X: f(X)[:, 0].")
    found, rows = by_samples(probe, request.n_units, request.activation, request.rng)
    box = probe.oracle
    note = f"The same row was answered differently, by up to {noise:.2g}: noise, of which rows are averaged."
    certificate = found.certificate
    if certificate.evidence.residual_max < LIMITS.drift * noise:
        certificate = certificate.refused(
            f"The same row was answered differently in two calls, by up to {noise:.2g}, and rows of one call agree to "
            f"{certificate.evidence.residual_max:.2g}: the answers change from call to call. Ask a box that does not change."
        )
    cost = box.queries, box.calls, box.replayed
    seconds = time.perf_counter() - began
    return Extraction(found.network, certificate, *cost, probe.quantum.name, seconds, rows, box.rows, (note,))


def _found(probe: Probe, request: ExtractionRequest) -> Found:
    phi, most, linear, rng = request.activation, request.n_units, request.linear, request.rng
    curved = phi is None and not probe.quantum.coarse and is_curved(probe, rng)  # coarse differences are too long to tell
    if not curved and (phi is None or piecewise_linear(phi)):
        found = lines_route(probe, phi or activations.get("relu"), linear, rng)
        if found.explained or found.spent or (phi is not None and not probe.quantum.coarse):
            return found
        if phi is not None:  # float32 answers do not tell kinks apart that are close on a line
            return samples_route(probe, found, phi, most, linear, rng)
    candidates = (phi,) if phi is not None else tuple(activations.get(name) for name in SMOOTH)
    found = derivatives_route(probe, candidates, most, linear, rng)
    if found.explained:
        return found
    if phi is not None:
        return samples_route(probe, found, phi, most, linear, rng)
    tried = f"Tried as relu, {', '.join(SMOOTH[:-1])} and {SMOOTH[-1]}; name the activation, if it is known, to try harder."
    return replace(found, notes=(*found.notes, tried))


def _unseen(found: Found, probe: Probe, request: ExtractionRequest) -> tuple[str, ...]:
    """What no query could show."""
    if not found.explained:
        return ()
    small = f"a unit whose part of f is below {probe.noise():.1g} around the centre, the error of the answers"
    if request.n_units is None or found.estimate.k >= request.n_units:
        return (small,)
    missing = request.n_units - found.estimate.k
    dead = f"{missing} of the {request.n_units} units allowed: they are dead, linear or double in the probed region"
    return (dead, small)
