"""A noisy fit of several outputs, or with a linear part: what its regions rest on, as statements.

The same as `noise` asks of one output, for the stacked Jacobian [evidence.stacked]:

    rows            effective ones: three times those that m outputs need at least, and 30; so 3 p + 30 equations too
    minimum         the distance to the minimum of Σ w ‖r/s‖², s the outputs' sizes [joint_standard], in standard errors
    influence       no row decides alone
    structure       `lack_of_fit`, over all outputs
    significance    every unit's a ∈ Rᵐ, and the difference of any two units, beyond what fitting noise gives
    regions         of (w, b, a): errors of a row may depend on each other, Σ̂ = Σ w rrᵀ/(n − p/m); the classical covariance is
                    H⁻¹(Σ w JᵀΣ̂J)H⁻¹, the robust one the jackknife's sandwich with one score a row
    curvature       Σ w ‖r‖² on the regions' boundaries is what the quadratic approximation says
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from weightlift.certificate.curvature import boundary, stated
from weightlift.certificate.joint_standard import StandardForm, relative_size
from weightlift.certificate.lack_of_fit import LackOfFit, lack_of_fit
from weightlift.certificate.limits import LIMITS
from weightlift.certificate.minimum import minimum
from weightlift.certificate.noise import BETWEEN, _fisher, _independent, _precision, enclosing, structure
from weightlift.certificate.precision import UnitRegions, on_sides
from weightlift.certificate.significance import TINY, differences, odds, wald
from weightlift.certificate.statement import Kind, Statement, Topic, named
from weightlift.evidence.stacked import Stacked, StackedInformation
from weightlift.identifiability import rows_needed
from weightlift.namespaces import to_numpy
from weightlift.refinement.variable_projection import JointRisk
from weightlift.samples import Samples


@dataclass(frozen=True, eq=False)
class JointNoise:
    """What was found, in standard inputs and scaled targets; regions are None where the fit is not regular."""

    statements: tuple[Statement, ...]
    fit: LackOfFit | None = None
    regions: np.ndarray | None = None  # (2, k, q + m, q + m)
    wide_regions: np.ndarray | None = None


def examine_joint_noise(form: StandardForm, rng: np.random.Generator) -> JointNoise:
    """Statements of a noisy fit, and its regions if none of them is fatal."""
    samples, information, stacked, noise = form.rows, form.information, form.stacked, form.noise
    n, p, m = information.rows, stacked.size, stacked.network.n_outputs
    before = (_independent(samples, False), _enough(stacked, min(float(n), information.effective)))
    if not all(s.holds for s in before):
        return JointNoise(before)
    L, shift = information.half_inverse, form.distance
    fit = lack_of_fit(samples, information, n, rng=rng)
    first = (*before, minimum(shift, p), _influence(fit, p / (n * m)), structure(fit.p_value))
    if not all(s.holds for s in first):
        return JointNoise(first, fit)
    covariances = tuple(L @ C @ L.T for C in (information.covariance(noise), fit.meat))
    at = [stacked.coordinates(i) for i in range(stacked.network.n_units)]
    free = len(at[0]) - stacked.homogeneous if at else 1
    radius = math.sqrt(free * _fisher(free, max(int(n - p / m), 1))) + math.sqrt(shift)
    regions = np.stack([[radius**2 * C[np.ix_(i, i)] for i in at] for C in covariances])
    wide = np.stack([[_wide(stacked, i, R[i], fit) for i in range(len(at))] for R in regions])
    relative = np.array([relative_size(stacked, i, regions[:, i]) for i in range(len(at))])
    relative[list(form.weak)] = math.inf
    chance = _chance(stacked, n)
    statements = (
        *first,
        _significance(stacked, covariances, chance),
        _precision(relative),
        *on_sides(
            samples,
            UnitRegions(stacked.network, chance / radius**2 * regions[:, :, : stacked.inputs, : stacked.inputs]),
            relative,
            (chance * float(np.trace(noise)) / m, odds(len(at)) * float(np.trace(noise)) / m),
            _open_sizes(information),
            lambda sides: _open_sizes(StackedInformation.of(samples.map(sides.without), stacked)),
            LIMITS.largest_region,
            range(len(at)),
        ),
        _curvature(samples, information, noise, rng),
    )
    return JointNoise(statements, fit, regions, wide)


def _enough(stacked: Stacked, rows: float) -> Statement:
    """Rows for the outputs; their equations are then three times the parameters and 30, too."""
    net, model = stacked.network, stacked.model
    m = net.n_outputs
    sizes = net.n_inputs, net.n_units, m
    least = rows_needed(*sizes, net.activation, bias=model.bias, linear=model.linear, offset=model.offset)
    times, plus = LIMITS.noisy_rows
    needed = times * least + plus
    sentence = (
        f"{rows:.0f} effective rows of {m} output{'s' * (m > 1)} for {stacked.size} parameters."
        if rows >= needed
        else f"The residual is not at rounding level, and for noisy data {rows:.0f} effective rows are too few for "
        f"{stacked.size} parameters, however many outputs they have; give at least {needed}."
    )
    return Statement(Topic.ROWS, Kind.TESTED, rows >= needed, sentence, rows, needed)


def _influence(fit: LackOfFit, share: float) -> Statement:
    limit = max(LIMITS.leverage, 4 * share)
    if fit.leverage > limit:
        sentence = f"A single row decides the fit (leverage {fit.leverage:.2f}); remove outlying inputs or give more rows."
        return Statement(Topic.INFLUENCE, Kind.TESTED, False, sentence, fit.leverage, limit)
    largest = max(fit.influence, fit.pull)
    holds = largest <= LIMITS.influence
    sentence = (
        f"No row makes up more than {largest:.2g} of the squared error, nor of the estimates' covariance."
        if holds
        else f"One row alone makes up {largest:.2g} of the squared error or of the estimates' covariance: outliers "
        "decide; remove them, or weight them down."
    )
    return Statement(Topic.INFLUENCE, Kind.TESTED, holds, sentence, largest, LIMITS.influence)


def _chance(stacked: Stacked, n: int) -> float:
    """What the best of many patterns of sides gains in Σ w r²/σ² by chance, and 40 beyond it."""
    d = stacked.network.n_inputs
    return stacked.inputs + stacked.network.n_outputs + 2 * (d + 1) * math.log(math.e * n / (d + 1)) + 40.0


def _significance(stacked: Stacked, covariances: tuple[np.ndarray, ...], limit: float) -> Statement:
    """Wald statistics of a and, where its length is free, of (w, b), and of the differences of two (w, b)."""
    k, q = stacked.network.n_units, stacked.inputs
    at, theta = [stacked.coordinates(i) for i in range(k)], stacked.theta
    alone = np.full(k, np.inf)
    for i, own in enumerate(at):
        parts = [own[q:]] if stacked.homogeneous else [own[:q], own[q:]]
        alone[i] = min(wald(theta[part], C[np.ix_(part, part)]) for part in parts for C in covariances)
    inner, scaled = np.array([own[:q] for own in at]).reshape(k, q), stacked.homogeneous
    pairs = list(differences(stacked.hidden.T, inner, covariances, limit, scaled=scaled, across=scaled))
    weak = sorted({*np.flatnonzero(~(alone >= limit)).tolist(), *(i for value, pair in pairs if value < limit for i in pair)})
    least = float(min([*alone, *(value for value, _ in pairs)], default=math.inf))
    sentence = (
        f"Every unit, and the difference of any two, is beyond what fitting noise gives (Wald statistic ≥ {least:.3g})."
        if not weak
        else f"{named(weak)} not significant, or cannot be told apart; use fewer units or give more rows."
    )
    return Statement(Topic.SIGNIFICANCE, Kind.TESTED, not weak, sentence, least, limit, tuple(weak))


def _open_sizes(information: StackedInformation) -> np.ndarray:
    """(k,) relative sizes by (JᵀJ)⁻¹; infinite for units that the rows do not determine."""
    stacked, units = information.gauge, range(information.gauge.network.n_units)
    C = information.half_inverse @ information.half_inverse.T
    sizes = np.array([relative_size(stacked, i, C[None][:, at][:, :, at]) for i in units for at in [stacked.coordinates(i)]])
    sizes[list(information.weak(LIMITS.weak))] = math.inf
    return sizes


def _curvature(samples: Samples, information: StackedInformation, noise: np.ndarray, rng: np.random.Generator) -> Statement:
    """Σ w ‖r‖² at θ ± R L v against what it should be, for random v and for each unit's least certain direction."""
    stacked, units = information.gauge, range(information.gauge.network.n_units)
    L = math.sqrt(float(np.trace(noise)) / len(noise)) * information.half_inverse
    delta, _, unit = boundary(L, (L @ L.T,), [stacked.coordinates(i) for i in units], rng)
    risks = 2.0 * to_numpy(samples.fold(JointRisk(*stacked.perturbed(delta), stacked.model))[0])
    expected = np.sum((delta @ information.gram()) * delta, axis=1)
    return stated((risks - information.rss - 2.0 * delta @ information.gradient) / np.maximum(expected, TINY), unit, units)


def _wide(stacked: Stacked, i: int, region: np.ndarray, fit: LackOfFit) -> np.ndarray:
    """As `noise` has it: what a further unit at one output, or two units that the fit took for one, would have moved."""
    at, q = stacked.coordinates(i), stacked.inputs
    lengths = np.linalg.norm(stacked.hidden[:, i]), np.linalg.norm(stacked.network.A[i])
    scale = np.repeat(lengths, (q, len(at) - q))
    size = BETWEEN * float(np.max(np.linalg.norm(fit.splits[at[:q], i], axis=0), initial=0.0)) / lengths[0]
    others = np.delete(fit.splits[at], i, axis=1).reshape(len(at), -1)
    any_outputs = np.arange(len(at)) >= q  # either of two that are one may have any output weights
    both = 2.0 * np.diag((any_outputs + size**2) * scale**2)
    return enclosing(region, np.hstack([fit.shifts[at], others]), both)
