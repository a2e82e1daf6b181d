"""Where a recovery failed: what a person would try next, each quickly and in this order, until something is certified.

    biases   offset   both   |   a linear part   |   other activations   |   width ± 1, ± 2

Constants, φ or a width that lower the risk by a tenth are kept for the next group; a linear part is not. Trials are ranked by
what they leave of the target's variance, corrected for their parameters: E r²/(1 − p/n)²/Var y. One that is certified and
leaves more than another is not taken: few rows let a poor model pass. Candidates of all count against the same held-out rows.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from weightlift.certificate.inference import target_spread
from weightlift.certificate.statement import assumed
from weightlift.errors import WeightliftError
from weightlift.evidence.stacked import target_moments
from weightlift.network import Network
from weightlift.recovery.limits import LIMITS
from weightlift.recovery.problem import Counted
from weightlift.recovery.reports import Recovery, StageReport, Trial
from weightlift.recovery.request import Request
from weightlift.samples import Residual, Samples

ACTIVATIONS = ("relu", "tanh", "sigmoid", "softplus", "gelu", "squared_relu")

Recoverer = Callable[[Samples, Request, np.random.Generator], Recovery]


def explored(samples: Samples, request: Request, failed: Recovery, recovered: Recoverer, rng: np.random.Generator) -> Recovery:
    """The first trial that is certified, else the recovery that failed; with the ranking of all."""
    began, rows = time.perf_counter(), Counted(samples)
    spread, tried = target_spread(rows), list[Recovery]()
    request = replace(request, n_units=failed.network.n_units, max_work=LIMITS.explored_share * (request.max_work or 0.0))
    judged = _judged(failed)
    best = Trial("as asked for", failed.certificate.status, _left(rows, failed.network, request, spread))
    trials, base, chosen = [best], request, failed
    for group in (_constants, _line, _activations, _widths):
        kept = base
        for change, wanted in group(base):
            late = request.max_time is not None and time.perf_counter() - began >= request.max_time
            if late or not wanted.workable(rows.n, rows.d, int(wanted.n_units)):
                continue
            found = _tried(rows, replace(wanted, judged=judged), recovered, rng)
            if found is None:
                continue
            tried.append(found)
            judged += _judged(found)
            trial = Trial(change, found.certificate.status, _left(rows, found.network, wanted, spread))
            trials.append(trial)
            if group is not _line and trial.left < LIMITS.explored_gain * best.left:
                best, kept = trial, wanted
            if found.certificate and trial.left <= _least(trials, rows.n):
                chosen = found
                break
        base = kept
        if chosen is not failed:
            break
    ranking = tuple(sorted(trials, key=lambda trial: trial.left))
    stages = (*failed.stages, _report(tried, chosen, rows.passes, time.perf_counter() - began))
    if chosen is failed:
        return replace(failed, trials=ranking, stages=stages)
    remark = assumed(f"The model was chosen among {len(trials)} that were tried on these rows.")
    return replace(
        chosen, certificate=chosen.certificate.adding(remark), trials=ranking, stages=(*stages, *chosen.stages)
    )


def _report(tried: list[Recovery], chosen: Recovery, passes: int, seconds: float) -> StageReport:
    """What the trials cost beside the one that was chosen, whose own stages follow."""
    others = [stage for found in tried if found is not chosen for stage in found.stages]
    own = [stage for found in tried if found is chosen for stage in found.stages]
    return StageReport(
        f"{len(tried)} other models",
        chosen.network.n_units,
        sum(stage.starts for stage in others),
        sum(stage.work for stage in others),
        passes - sum(stage.passes for stage in own),
        min((stage.risk for stage in others if math.isfinite(stage.risk)), default=math.nan),
        "one was certified" if own else "none was certified",
        seconds - sum(stage.seconds for stage in own),
    )


def _constants(base: Request) -> Iterator[tuple[str, Request]]:
    if not base.bias:
        yield "biases", replace(base, bias=True)
    if not base.offset:
        yield "an offset", replace(base, offset=True)
    if not (base.bias or base.offset):
        yield "biases and an offset", replace(base, bias=True, offset=True)


def _line(base: Request) -> Iterator[tuple[str, Request]]:
    if base.linear is False and base.outputs is None and base.method != "tensor":
        yield "a linear part", replace(base, linear=True, bias=True, offset=True)


def _activations(base: Request) -> Iterator[tuple[str, Request]]:
    from weightlift.activations import get

    for name in ACTIVATIONS:
        if name != base.phi.name:
            yield f"{name} units", replace(base, activation=get(name), bias=True, offset=True)


def _widths(base: Request) -> Iterator[tuple[str, Request]]:
    width = int(base.n_units)
    if base.outputs is None:
        for step in (1, -1, 2, -2):
            if width + step >= 1:
                yield f"{width + step} {base.phi.name} unit{'s' * (width + step > 1)}", replace(base, n_units=width + step)


def _tried(samples: Samples, wanted: Request, recovered: Recoverer, rng: np.random.Generator) -> Recovery | None:
    """None where the trial cannot be made of these rows."""
    try:
        with warnings.catch_warnings(action="ignore"):
            return recovered(samples, wanted, rng)
    except WeightliftError:
        return None


def _least(trials: list[Trial], n: float) -> float:
    """What the best trial leaves, and two standard errors of a mean of n squares."""
    return (1 + math.sqrt(8 / n)) * min(trial.left for trial in trials) + LIMITS.polished


def _judged(found: Recovery) -> int:
    """At least as many candidates as were held against held-out rows."""
    return sum(stage.starts for stage in found.stages)


def _left(samples: Samples, network: Network, request: Request, spread: float) -> float:
    """E r²/(1 − p/n)²/Var y; infinite without degrees of freedom."""
    mean, covariance = target_moments(samples.map(Residual(network.predict)))
    squares = samples.total * float(np.trace(covariance) + mean @ mean)
    free = 1 - request.parameters(samples.d, network.n_units) / samples.n
    return squares / spread / free**2 if free > 0 and spread else math.inf
