"""The search on random rows, where lines or derivatives do not tell the units apart.

Coarse answers hide kinks that are close on a line, and derivatives see no more smooth units than inputs. A width above the
truth's does no harm: units that the others make up for are dropped, and a fit without them converges.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np

from weightlift.activations import Activation
from weightlift.extraction.estimate import Estimate
from weightlift.extraction.kinked import piecewise_linear
from weightlift.extraction.limits import LIMITS
from weightlift.extraction.probe import Probe
from weightlift.extraction.routes import Found, agrees, agrees_far, polished, with_rows
from weightlift.recovery import recover


def samples_route(
    probe: Probe, found: Found, activation: Activation, most: int | None, linear: bool | None, rng: np.random.Generator
) -> Found:
    """The search on random rows where lines or derivatives do not tell the units apart: widths from what they have seen.

    As many rows as a width needs, then twice as many; what was found before, where none explains them.
    """
    widths = (most,) if most is not None else _widths(found, activation, probe.d)
    rows = found.xi, found.Y
    tried = 0
    for times, width in itertools.product(range(1, LIMITS.searches + 1), widths):
        missing = max(0, times * LIMITS.searched * (probe.d + 2) * width - len(rows[0]))
        if probe.oracle.left < missing or probe.oracle.seconds_left <= 0:
            break
        more = rng.choice(LIMITS.searched_scales, size=(missing, 1)) * rng.standard_normal((missing, probe.d))
        rows = np.vstack([rows[0], more]), np.vstack([rows[1], probe.ask(more)])
        start = _searched(*rows, width, activation, bool(linear), probe.oracle.seconds_left, rng)
        done = _confirmed(probe, polished(probe, start, bool(linear)), rows, linear, rng)
        rows, tried = (done.xi, done.Y), max(tried, width)
        if done.explained:
            return done
    note = f"Nor does a search of up to {tried} units on {len(rows[0])} random rows; a width that is known is tried as n_units."
    return replace(found, notes=(*found.notes, note)) if tried else found


def _widths(found: Found, activation: Activation, d: int) -> list[int]:
    """From the units that showed on. Gradients in all directions show d smooth units at least: widths grow faster then."""
    width = max(found.seen, found.estimate.k, 1)
    growth = LIMITS.searched_growth if width >= d and not piecewise_linear(activation) else 1.0
    widths = [width]
    while len(widths) < LIMITS.searched_widths:
        widths.append(max(widths[-1] + 1, math.ceil(growth * widths[-1])))
    return widths


def _confirmed(
    probe: Probe,
    estimate: Estimate,
    rows: tuple[np.ndarray, np.ndarray],
    linear: bool | None,
    rng: np.random.Generator,
) -> Found:
    """An estimate that agrees with its rows, less what it does not need, on a few further ones and far out.

    A fit with a unit too many converges slowly, its equations being singular at the truth: it need agree only without that.
    """
    nearly = agrees(replace(probe, inexact=LIMITS.rough), estimate, *rows)
    needed = _needed(probe, estimate, rows, bool(linear)) if nearly else estimate
    if not agrees(probe, needed, *rows):
        return Found(estimate, *rows, explained=False)
    tried = int(min(LIMITS.tried, probe.oracle.left))
    found = with_rows(Found(needed, *rows, explained=True), probe, tried, linear, rng)
    return replace(found, explained=found.explained and agrees_far(probe, found.estimate, rng))


def _needed(probe: Probe, estimate: Estimate, rows: tuple[np.ndarray, np.ndarray], linear: bool) -> Estimate:
    """Without units that the others can make up for: those of a width above the truth's."""
    while estimate.k > 1:
        fewer = [estimate.without(i) for i in range(estimate.k)]
        fewer.sort(key=lambda f: float(np.linalg.norm(rows[1] - f(rows[0]))))
        fits = (polished(probe, f, linear) for f in fewer)
        smaller = next((f for f in fits if agrees(probe, f, *rows)), None)
        if smaller is None:
            return estimate
        estimate = smaller
    return estimate


def _searched(
    xi: np.ndarray,
    Y: np.ndarray,
    width: int,
    activation: Activation,
    linear: bool,
    seconds: float,
    rng: np.random.Generator,
) -> Estimate:
    found = recover(
        xi,
        Y[:, 0] if Y.shape[1] == 1 else Y,
        n_units=width,
        activation=activation,
        bias=True,
        offset=True,
        linear=linear,
        max_work=LIMITS.search_work,
        max_time=None if math.isinf(seconds) else seconds,
        rng=rng,
    )
    return Estimate.of(found.network)
