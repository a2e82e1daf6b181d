"""Piecewise linear φ, by lines: every hyperplane crosses a random line, so that no unit hides and no minimum is local.

    repeat    rebuild f − f̂ on a random line                                    `lines`
              a gradient in each of its cells; jumps are the units              `cells`
              which way they face, from the first cell's gradient               `orientation`
    until     f − f̂ is straight on a line

Needs   φ with one kink at 0 and slopes l, r on its sides: ReLU, leaky ReLU, |z|.
Cost    (k + 1)(d − 1) + some 5 k queries for k units; the width is found.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from weightlift.activations import Activation
from weightlift.extraction.cells import Jumps, ProbedLine, jumps
from weightlift.extraction.estimate import Estimate
from weightlift.extraction.limits import LIMITS
from weightlift.extraction.lines import Broken, broken_line
from weightlift.extraction.orientation import turned
from weightlift.extraction.probe import Probe


@dataclass(frozen=True, eq=False)
class Crossed:
    """What a line shows of f."""

    estimate: Estimate | None  # None where no line is piecewise linear with kinks that can be told apart
    seen: int  # the most kinks on a line
    error: float = 0.0  # of the estimate's units, relative to f's size, as the steps of their gradients allow


def by_line(probe: Probe, start: Estimate, rng: np.random.Generator) -> Crossed:
    """One line on what the probe has left of f: the units found there beside those of `start`, which they may correct."""
    seen = 0
    for _ in range(LIMITS.attempts_coarse if probe.quantum.coarse else LIMITS.attempts):
        line = ProbedLine(rng.standard_normal(probe.d), _direction(probe.d, rng))
        broken = _rebuilt(probe, line)
        seen = max(seen, len(broken.kinks))
        if broken.resolved:
            dense = len(broken.kinks) * probe.d <= LIMITS.dense  # the polish does better
            noise = 0.0 if dense or probe.quantum.coarse else probe.noise()
            found = jumps(probe.ask, line, _affordable(broken, probe), noise)
            whole = _corrected(start, _estimate(found, start.activation))
            error = max(LIMITS.linear_error, LIMITS.linear_coarse * probe.unit) + probe.inexact
            faced = turned(whole, slopes_of(start.activation), error) or whole
            return Crossed(faced, seen, probe.inexact + _error(probe, found))
        if broken.curved:
            break
    return Crossed(None, seen)


def is_straight(probe: Probe, rng: np.random.Generator) -> bool:
    """Whether nothing bends on one more line, far out as well. No gradient is asked for."""
    broken = _rebuilt(probe, ProbedLine(rng.standard_normal(probe.d), _direction(probe.d, rng)))
    return broken.resolved and not len(broken.kinks)


def is_curved(probe: Probe, rng: np.random.Generator) -> bool:
    """Whether second differences show around each of a few places, one after the other: a kink seldom falls among three values.

    A straight place ends it, so that a piecewise linear box is asked three rows. A step h = (noise/size)^¼ makes the second
    difference, h² of f's size, as large beside the noise as it is small beside f.
    """
    h = float((probe.noise() / probe.growth) ** 0.25)
    for _ in range(LIMITS.curved_places):
        xi = rng.standard_normal(probe.d) + np.multiply.outer(np.array([-h, 0.0, h]), _direction(probe.d, rng))
        Y = probe.ask(xi)
        if np.linalg.norm(Y[0] - 2 * Y[1] + Y[2]) <= 4 * LIMITS.agrees * probe.bounds(xi).max():
            return False
    return True


def slopes_of(activation: Activation) -> tuple[float, float]:
    """Slopes on the two sides of the kink."""
    return float(activation.derivative(np.array(-1.0))), float(activation.derivative(np.array(1.0)))


def piecewise_linear(activation: Activation) -> bool:
    """Whether φ has one kink, at 0, and is straight on both sides of it."""
    z = np.array([-7.3, -1.1, -0.01, 0.02, 1.7, 9.1])
    return activation.kinks == (0.0,) and not np.asarray(activation.second_derivative(z)).any()


def _direction(d: int, rng: np.random.Generator) -> np.ndarray:
    u = rng.standard_normal(d)
    return np.asarray(u * np.sqrt(d) / np.linalg.norm(u))


def _rebuilt(probe: Probe, line: ProbedLine) -> Broken:
    """f on the line. Pieces of coarse answers reach no further than the next of some knots, which are dense around 0."""
    values = lambda t: probe.ask(line.at(t))  # noqa: E731
    if not probe.quantum.coarse:
        return broken_line(values, probe.rounding, (-LIMITS.span, LIMITS.span))
    half = np.sinh(np.linspace(0.0, math.asinh(LIMITS.span_coarse), LIMITS.knots))
    knots = tuple(float(t) for t in np.concatenate([-half[:0:-1], half]))
    return broken_line(values, probe.rounding, knots, LIMITS.coarse_beside, LIMITS.coarse_beside)


def _estimate(found: Jumps, activation: Activation) -> Estimate:
    """Units φ(⟨n, ξ⟩ + place), all turned along the line; what the first cell's gradient has beside them is a linear part."""
    left, right = slopes_of(activation)
    A = found.sizes / (right - left)
    linear = found.gradient - left * found.normals @ A
    estimate = Estimate(found.normals, found.places, A, linear, np.zeros(A.shape[1]), activation)
    point, value = found.origin
    return replace(estimate, c=value - estimate(point[None, :])[0])


def _affordable(broken: Broken, probe: Probe) -> Broken:
    """So many cells as the budget has gradients for, two at least; what lies behind them is left for the next line."""
    gradients = probe.oracle.left / max(probe.d - 1, 1)
    return broken.first(int(gradients)) if 2 <= gradients < len(broken.pieces) and broken.kinks.size else broken


def _error(probe: Probe, found: Jumps) -> float:
    """Relative error of f that the units' errors make: d of them in each gradient, of two answers over its shortest step."""
    steps = np.inf if found.steps is None else found.steps
    return float(np.linalg.norm(2 * probe.noise() / steps) * math.sqrt(probe.d) / probe.size)


def _corrected(start: Estimate, more: Estimate) -> Estimate:
    """The sum of the two, with normals of length one; where they have one hyperplane their units are one, or none.

    Two kinks that were one on a line made a wrong unit, which the next line shows as what takes it away.
    """
    if not start.k or not more.k:
        return start.joined(more)
    planes, others = (np.vstack([f.N, f.beta / (1 + np.abs(f.beta))]) for f in (start, more))
    total = sum(slopes_of(start.activation))
    N, beta, A, V, c = start.N, start.beta, start.A.copy(), start.V + more.V, start.c + more.c
    same = np.zeros(more.k, dtype=bool)
    for j, plane in enumerate(others.T):
        for sign in (1.0, -1.0):
            gaps = np.abs(planes - sign * plane[:, None]).max(axis=0)
            i = int(np.argmin(gaps))
            if gaps[i] < LIMITS.same_plane:
                same[j] = True
                A[i] += more.A[j]
                if sign < 0:  # φ(−z) = φ(z) − (l + r) z
                    V, c = V - total * np.outer(N[:, i], more.A[j]), c - total * beta[i] * more.A[j]
    size = np.linalg.norm(A, axis=1)
    kept = size > LIMITS.same_plane * size.max()
    known = Estimate(N[:, kept], beta[kept], A[kept], V, c, start.activation)
    rest = Estimate(more.N[:, ~same], more.beta[~same], more.A[~same], 0 * more.V, 0 * more.c, start.activation)
    return known.joined(rest)
