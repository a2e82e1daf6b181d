"""A wide start for kinked units of several outputs, narrowed to the asked width.

Fit     1.5k units, annealed as in `joint`, with more steps at each temperature: so many units that the descent seldom ends
        anywhere but at zero, so few that the equations still determine them. A start of k units ends in a minimum where some
        stand for two units and others for none: always with trained weights and correlated rows.
Narrow  units whose absence costs nothing go at once, A, V and c having adapted; of the others the cheapest goes, and the rest
        is fitted again.
Work    is counted in steps of one start of the asked width; a step's work grows with the square of the width.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from weightlift.activations import Activation
from weightlift.namespaces import to_numpy
from weightlift.refinement.gauss_newton import NEAR_ROUNDING
from weightlift.refinement.variable_projection import Hidden, JointFit, Model, output_losses, variable_projection
from weightlift.samples import Samples
from weightlift.search.annealing import annealing, softened


@dataclass(frozen=True)
class Limits:
    width: float = 1.5  # units of a start, for every one that is asked for
    units: int = 3  # from which a wide start is worth its cost: one of 20-5-10 takes a tenth of a batch's time
    least: float = 1.2  # the same, from which a start is worth its cost
    equations: float = 1.25  # a parameter of the wide start: with fewer it interpolates, and there is nothing to narrow
    soft_steps: int = 30  # at each temperature; with 15 one of five starts stopped short of zero on jittered digits, 64-32-10
    slow: float = 0.003  # of the risk: a soft step that gains less is the last at its temperature
    coolest: float = 0.02  # temperature after those of `annealing`, from which the kinks themselves are reached
    sharp_steps: int = 60  # with the kinks themselves
    stalled: float = 0.01  # of the risk: a sharp step that gains less leaves the rest to the narrowing
    free: float = 1e-3  # of the risk: what units may add together and go without a refit
    steps: int = 6  # of a refit, once a unit that is not free has gone
    last_steps: int = 30  # at the asked width


LIMITS = Limits()


def wide_enough(samples: Samples, n_units: int, activation: Activation, model: Model) -> int:
    """The width of a wide start; 0 where φ has no kinks, units are few, or equations are."""
    if not (activation.kinks and activation.degree) or n_units < LIMITS.units:
        return 0
    d, m = samples.d, samples.n_outputs or 1
    unknowns = samples.n * m / LIMITS.equations - m * (d * model.linear + model.offset)
    width = min(math.ceil(LIMITS.width * n_units), int(unknowns / (model.inputs(d) + m)))
    return width if width >= LIMITS.least * n_units else 0


def wide_start(
    samples: Samples, start: Hidden, n_units: int, model: Model, energy: float, until: float
) -> tuple[JointFit, float]:
    """One start, annealed and narrowed, and its work.

    samples  rows, as `samples.open` gives them
    start    one hidden layer, wider than asked
    n_units  k
    model    which parts the network has
    energy   ½ E ‖y‖²
    until    a moment of time.perf_counter after which no further step begins
    """
    hidden, weight, steps = start, (start.shape[2] / n_units) ** 2, 0
    stages = [stage.activation for stage in annealing(start.activation)[:-1]]
    for phi in (*stages, softened(start.activation, LIMITS.coolest)):
        soft = replace(hidden, activation=phi)
        fit = variable_projection(
            samples, soft, model, iterations=LIMITS.soft_steps, tol=LIMITS.slow, damping=1.0, unit=True, deadline=until
        )
        hidden, steps = fit.hidden, steps + fit.iterations
    sharp = replace(hidden, activation=start.activation)
    fit = variable_projection(
        samples, sharp, model, iterations=LIMITS.sharp_steps, tol=LIMITS.stalled, damping=0.01, unit=True, deadline=until
    )
    narrow, work = _narrowed(samples, fit, n_units, model, energy, until)
    return narrow, work + weight * (steps + fit.iterations)


def _narrowed(
    samples: Samples, fit: JointFit, n_units: int, model: Model, energy: float, until: float
) -> tuple[JointFit, float]:
    work = 0.0
    while (width := fit.hidden.shape[2]) > n_units:
        allowed = LIMITS.free * float(fit.risks[0]) + NEAR_ROUNDING * energy
        rest, free = _without_refit(samples, fit, n_units, model, allowed)
        last = rest.shape[2] == n_units
        steps = LIMITS.last_steps if last else 0 if free else LIMITS.steps
        fit = variable_projection(samples, rest, model, iterations=steps, damping=1e-3, unit=True, deadline=until)
        work += fit.iterations * (width / n_units) ** 2
    return fit, work


def _without_refit(samples: Samples, fit: JointFit, n_units: int, model: Model, allowed: float) -> tuple[Hidden, bool]:
    """Without the units that together cost no more than allowed, down to n_units; where there is none, without the cheapest."""
    rest, spent, free = fit, 0.0, False
    while rest.hidden.shape[2] > n_units:
        losses = output_losses(samples, rest.network, model)
        least = int(np.argmin(losses))
        spent += float(losses[least])
        if spent > allowed and (free or rest is not fit):
            break
        free = free or spent <= allowed
        rest = variable_projection(samples, _without(rest.hidden, least), model, iterations=0)
        if not free:
            break
    return rest.hidden, free


def _without(hidden: Hidden, unit: int) -> Hidden:
    W, b = to_numpy(hidden.W), to_numpy(hidden.b)
    return replace(hidden, W=np.delete(W, unit, axis=2), b=np.delete(b, unit, axis=1))
