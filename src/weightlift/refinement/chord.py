"""The last steps of a noisy fit on many rows: Gauss–Newton whose matrix is kept (the chord method), with a line search.

Near a minimum JᵀJ hardly changes from step to step, and errors of it do not move the minimum, which is where Jᵀr = 0:

    θ ← θ − t H⁻¹ Jᵀr,    H = JᵀJ at the start, where it may be in single precision,    t = 1, 1/2, 1/4, 1/8, whichever is best.

Where φ has kinks, rows change sides on the way, and a whole step goes from side to side of the minimum; shorter ones do not.
Cost  O(n p²/4) once, and two passes O(n d k) a step.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from weightlift.namespaces import Array, array_namespace, as_like, on_host, to_numpy
from weightlift.network import Network
from weightlift.refinement.gauss_newton import _damped_steps, _students
from weightlift.refinement.limits import LIMITS
from weightlift.refinement.normal_equations import Free, NormalEquations
from weightlift.risk import Gradient, Risk, Students
from weightlift.samples import Samples


@dataclass(frozen=True, eq=False)
class Chord:
    """Where the steps ended, how many they were, and what a further one promises."""

    network: Network
    steps: int
    gain: float  # ½ gᵀH⁻¹g, g = Jᵀr, as a share of the risk: times n, the squared distance to the minimum in standard errors


def along_chords(
    samples: Samples, start: Network, *, free: str, tol: float, iterations: int, deadline: float = math.inf
) -> Chord:
    """Lower ½ E r² from a start near its minimum.

    samples     rows, as `samples.open` gives them
    free        the parameters that move, all together, such as "Wb"
    tol         a step that lowers the risk by a lesser share is the last
    iterations  steps at most
    deadline    a moment of time.perf_counter after which no further step begins
    """
    moves, here = Free.of(free), _students(samples, start)
    if moves.size(start.n_inputs, start.n_units) > (LIMITS.dense if on_host(samples.device) else LIMITS.dense_on_device):
        return Chord(start, 0, math.inf)
    equations = NormalEquations(here, moves, coarse=on_host(samples.device))
    value, gradient, H = equations.assembled(samples.mean(equations))
    risk, step = float(to_numpy(value)[0]), 0
    while True:
        (delta,) = _damped_steps(H, gradient, as_like(np.full((1, 1), LIMITS.least_damping), gradient))
        gain = 0.5 * float(to_numpy(gradient)[0] @ to_numpy(delta)[0]) / risk if risk > 0 else 0.0
        if not gain > tol or step == iterations or time.perf_counter() >= deadline:
            return Chord(here.network(0), step, gain)
        step += 1
        ways = _ways(moves, here, delta)
        risks = to_numpy(samples.mean(Risk(ways))[0])
        best = int(np.argmin(np.where(np.isfinite(risks), risks, math.inf)))
        if not risks[best] < risk:
            return Chord(here.network(0), step, gain)
        here, last, risk = ways.take(np.array([best])), risk, float(risks[best])
        _, dW, da, db, dc = samples.mean(Gradient(here))
        gradient = moves.pack(Students(dW, da, db, dc, here.activation))
        iterations = step if last - risk <= tol * last else iterations


def _ways(moves: Free, here: Students, delta: Array) -> Students:
    """θ − t δ for every length t."""
    theta = moves.pack(here)
    steps = [theta - length * delta for length in LIMITS.chord_lengths]
    return moves.unpack(array_namespace(theta).concat(steps, axis=0), here.repeated(len(steps)))
