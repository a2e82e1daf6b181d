"""Whether a noisy fit is regular: everything that its regions rest on, as statements.

    rows            3 p + 30 effective ones at least, hardly a copy among them
    minimum         gᵀ(JᵀJ)⁻¹g/σ² small: the distance to the minimum in standard errors
    influence       no row is half of the sandwich: then the estimates are sums of many small terms, and nearly Gaussian
    structure       `lack_of_fit`
    significance    every unit, and the difference of any two, beyond what fitting noise gives: for hyperplanes in d
                    dimensions the best of (en/d)^d patterns gains about 2 d ln(en/d)
    regions         the 99.99 % ellipsoid of a unit's classical or its robust covariance, corrected for the degrees of freedom
                    and for the distance to the minimum. They suppose that the width is right; the wide ones add what a
                    further unit just below the detection limit, or two units that the fit took for one, would have moved
    curvature       Σ w r² on the regions' boundaries is what the quadratic approximation says
The detection limit is reported and refuses nothing. Inputs are standard ones, and so are the regions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import fdtri

from weightlift.certificate.lack_of_fit import LackOfFit, lack_of_fit
from weightlift.certificate.limits import LIMITS
from weightlift.certificate.precision import Near, NearSquares, Reach, relative_size
from weightlift.certificate.scores import SharedLeverages
from weightlift.certificate.statement import Kind, Statement, Topic, named
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.evidence.rows import DistinctRows, count_distinct
from weightlift.namespaces import to_numpy
from weightlift.risk import Risk
from weightlift.samples import Samples

TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True, eq=False)
class NoisyFit:
    """What was found; regions are None where the fit is not regular."""

    statements: tuple[Statement, ...]
    variance: float  # σ² as it belongs to Σ w r²
    noise_std: float  # of a row of mean weight
    fit: LackOfFit | None = None
    relative: np.ndarray | None = None  # (k,)
    regions: np.ndarray | None = None  # (2, k, q, q)
    wide_regions: np.ndarray | None = None

    @property
    def regular(self) -> bool:
        return self.regions is not None


def examine_noise(
    samples: Samples, information: Information, n_rows: int, effective_rows: float, rng: np.random.Generator
) -> NoisyFit:
    """Statements of a noisy fit, and its regions if none of them is fatal."""
    p, gauge = information.gauge.size, information.gauge
    scale = n_rows / information.total
    variance = information.rss / max(n_rows - p, 1)
    noise = math.sqrt(scale * variance)
    before = (_independent(samples), _rows(min(float(n_rows), effective_rows), p))
    if not all(s.holds for s in before):
        return NoisyFit(before, variance, noise)
    shift = float(np.sum((information.half_inverse.T @ information.gradient) ** 2)) / max(variance, TINY)
    fit = lack_of_fit(samples, information, n_rows, rng=rng)
    first = (*before, _minimum(shift, p), _influence(samples, information, fit, n_rows), _structure(fit))
    if not all(s.holds for s in first):
        return NoisyFit(first, variance, noise, fit)
    covariances = variance * information.inverse, information.sandwich(fit.meat)
    units = np.array([gauge.coordinates(i) for i in range(gauge.network.n_units)])
    q, rest = gauge.unit_size, n_rows - p
    radius = math.sqrt(q * _fisher(q, rest)) + math.sqrt(shift)
    regions = np.stack([[radius**2 * C[np.ix_(at, at)] for at in units] for C in covariances])
    wide = np.stack([[_wide(gauge, i, R[i], fit) for i in range(len(units))] for R in regions])
    relative = np.max([[gauge.relative_size(i, R[i]) for i in range(len(units))] for R in regions], axis=0)
    chance = _chance(gauge, n_rows)
    statements = (
        *first,
        _significance(gauge, covariances, chance),
        _precision(relative),
        *_sides(samples, information, chance / radius**2 * regions, relative, chance * variance),
        _curvature(samples, information, variance, rng),
    )
    return NoisyFit(statements, variance, noise, fit, relative, regions, wide)


def _fisher(q: int, rest: int) -> float:
    """The quantile of Fisher's law beyond which a unit lies outside of its region."""
    return float(fdtri(q, rest, 1.0 - LIMITS.region))


def _independent(samples: Samples) -> Statement:
    _, copies = count_distinct(samples.fold(DistinctRows(targets=True)))
    holds = copies <= LIMITS.copies
    sentence = (
        f"A row occurs {copies:.2g} times on average: the errors can be independent."
        if holds
        else "Many rows are copies of others, whose noise is not independent; keep one of each."
    )
    return Statement(Topic.INDEPENDENCE, Kind.TESTED, holds, sentence, copies, LIMITS.copies)


def _rows(rows: float, p: int) -> Statement:
    needed = LIMITS.noisy_rows[0] * p + LIMITS.noisy_rows[1]
    sentence = (
        f"{rows:.0f} effective rows for {p} parameters."
        if rows >= needed
        else f"The residual is not at rounding level, and for noisy data {rows:.0f} effective rows are too few for {p} "
        f"parameters; give at least {needed}."
    )
    return Statement(Topic.ROWS, Kind.TESTED, rows >= needed, sentence, rows, needed)


def _minimum(shift: float, p: int) -> Statement:
    limit = LIMITS.shift * max(10.0, p)
    sentence = f"The network is {math.sqrt(shift):.2g} standard errors away from a minimum of the squared error"
    sentence += "." if shift <= limit else "; refine it, without a penalty."
    return Statement(Topic.MINIMUM, Kind.TESTED, shift <= limit, sentence, math.sqrt(shift), math.sqrt(limit))


def _influence(samples: Samples, information: Information, fit: LackOfFit, n_rows: int) -> Statement:
    gauge = information.gauge
    leverage, limit = fit.leverage, max(LIMITS.leverage, 4 * gauge.size / n_rows)
    if count_distinct(samples.fold(DistinctRows(targets=False)))[0] < n_rows:
        leverage = float(samples.fold(SharedLeverages(gauge, information.half_inverse))[0])
    if leverage > limit:
        sentence = f"A single input decides the fit (leverage {leverage:.2f}); remove outlying inputs or give more rows."
        return Statement(Topic.INFLUENCE, Kind.TESTED, False, sentence, leverage, limit)
    holds = fit.influence <= LIMITS.influence
    sentence = (
        f"No row makes up more than {fit.influence:.2g} of the squared error, nor of the estimates' covariance."
        if holds
        else f"One row alone makes up {fit.influence:.2g} of the squared error or of the estimates' covariance: outliers "
        "decide; remove them, or weight them down."
    )
    return Statement(Topic.INFLUENCE, Kind.TESTED, holds, sentence, fit.influence, LIMITS.influence)


def _structure(fit: LackOfFit) -> Statement:
    holds = fit.p_value > LIMITS.level
    sentence = (
        f"The residual shows no structure (p = {fit.p_value:.2g}, {LIMITS.features} random units, {LIMITS.flips} draws of "
        f"signs); a further unit above {fit.detection_limit:.2g} (root mean square) would have been found."
        if holds
        else f"The residual has structure left (p = {fit.p_value:.1g}): try another width, another activation, biases or an "
        "offset, or search for a better minimum."
    )
    return Statement(Topic.STRUCTURE, Kind.TESTED, holds, sentence, fit.p_value, LIMITS.level)


def _chance(gauge: Gauge, n: int) -> float:
    """What the best of many patterns of sides gains in Σ w r²/σ² by chance, and 40 beyond it."""
    d = gauge.network.n_inputs
    return gauge.unit_size + 2 * (d + 1) * math.log(math.e * n / (d + 1)) + 40.0


def _significance(gauge: Gauge, covariances: tuple[np.ndarray, np.ndarray], limit: float) -> Statement:
    """Wald statistics of units and of differences of two, against what the best of many patterns gains by chance."""
    k = gauge.network.n_units
    alone = np.array([_size(gauge, i, covariances) for i in range(k)])
    pairs = list(_differences(gauge, covariances, limit))
    weak = sorted({*np.flatnonzero(~(alone >= limit)).tolist(), *(i for value, pair in pairs if value < limit for i in pair)})
    least = float(min([*alone, *(value for value, _ in pairs)]))
    sentence = (
        f"Every unit, and the difference of any two, is beyond what fitting noise gives (Wald statistic ≥ {least:.3g})."
        if not weak
        else f"{named(weak)} not significant, or cannot be told apart; use fewer units or give more rows."
    )
    return Statement(Topic.SIGNIFICANCE, Kind.TESTED, not weak, sentence, least, limit, tuple(weak))


def _size(gauge: Gauge, i: int, covariances: tuple[np.ndarray, np.ndarray]) -> float:
    theta, at = gauge.theta, gauge.coordinates(i)
    inner = at[:-1] if gauge.free.a else at
    values = [_wald(theta[inner], C[np.ix_(inner, inner)]) for C in covariances]
    if gauge.free.a:
        values += [theta[at[-1]] ** 2 / max(C[at[-1], at[-1]], TINY) for C in covariances]
    return float(min(values))


def _differences(
    gauge: Gauge, covariances: tuple[np.ndarray, np.ndarray], limit: float
) -> Iterator[tuple[float, tuple[int, int]]]:
    """Wald statistics of w_i ∓ w_j, of the pairs for which the trace of the covariance does not already show them apart."""
    k, theta = gauge.network.n_units, gauge.theta
    at = np.array([gauge.coordinates(i)[: gauge.free.inputs(gauge.network.n_inputs)] for i in range(k)])
    V = theta[at]  # (k, q)
    spread = np.max([[np.trace(C[np.ix_(a, a)]) for a in at] for C in covariances], axis=0)
    for i in range(k):
        for j in range(i):
            # lengths do not separate two units of homogeneous φ: one is scaled to the other
            ratio = 1.0 if gauge.free.a else float(np.linalg.norm(V[i])) / max(float(np.linalg.norm(V[j])), TINY)
            for t in (ratio, -ratio):
                delta = V[i] - t * V[j]
                if delta @ delta >= 2 * limit * (spread[i] + t * t * spread[j]):
                    continue
                yield min(_wald(delta, _difference(C, at[i], at[j], t)) for C in covariances), (j, i)


def _difference(C: np.ndarray, left: np.ndarray, right: np.ndarray, t: float) -> np.ndarray:
    cross = t * C[np.ix_(left, right)]
    return np.asarray(C[np.ix_(left, left)] + t * t * C[np.ix_(right, right)] - cross - cross.T)


def _wald(delta: np.ndarray, covariance: np.ndarray) -> float:
    scale = np.sqrt(np.maximum(np.diagonal(covariance), TINY))
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    return float((((vectors.T @ (delta / scale)) ** 2) / np.maximum(values, 1e-12)).sum())


def _precision(relative: np.ndarray) -> Statement:
    wide = tuple(np.flatnonzero(~(relative <= LIMITS.largest_region)).tolist())
    sentence = (
        f"The 99.99 % regions are at most {relative.max():.2g} of the units' sizes."
        if not wide
        else f"{named(wide)} known no better than to their own size; give more rows, or drop inputs that depend on others."
    )
    return Statement(Topic.PRECISION, Kind.TESTED, not wide, sentence, float(relative.max()), LIMITS.largest_region, wide)


def _sides(
    samples: Samples, information: Information, regions: np.ndarray, relative: np.ndarray, cost: float
) -> Iterator[Statement]:
    """Rows that are on their side of a kink by no more than chance: regions (2, k, q, q) that wide reach them, and all of them
    on the other side would cost no more in Σ w r². Without them, a unit's region must not grow beyond its own size."""
    gauge = information.gauge
    if not gauge.network.activation.kinks:
        return
    reach = Reach(gauge, regions)
    by_chance = to_numpy(samples.fold(NearSquares(reach))[0]) <= cost
    if not by_chance.any():
        return
    without = Information.of(samples.map(Near(reach).without), gauge)
    sizes = [relative_size(gauge, i, J.unit_inverse(i)) for J in (without, information) for i in range(len(relative))]
    there, here = np.split(np.array(sizes), 2)
    open_ = ~(relative * there <= here * LIMITS.largest_region) if without.full_rank else relative >= 0
    units = tuple(np.flatnonzero(open_ & by_chance).tolist())
    if units:
        sentence = f"{named(units)} determined by rows on a kink alone, within the noise; give rows elsewhere, or more of them."
        yield Statement(Topic.SIGNIFICANCE, Kind.TESTED, False, sentence, units=units)


def _curvature(samples: Samples, information: Information, variance: float, rng: np.random.Generator) -> Statement:
    """Σ w r² at θ ± R L v against what it should be, for random v and for each unit's least certain direction."""
    gauge, radius, random = information.gauge, 4.0, 8
    L = math.sqrt(variance) * information.half_inverse
    v = rng.standard_normal((random, L.shape[1]))
    steps = [v @ L.T / np.linalg.norm(v, axis=1, keepdims=True)]
    for i in range(gauge.network.n_units):
        at = gauge.coordinates(i)
        values, vectors = np.linalg.eigh(L[at] @ L[at].T)
        worst = L @ (L[at].T @ vectors[:, -1]) / math.sqrt(max(values[-1], TINY))
        steps.append(np.stack([worst, -worst]))
    delta = radius * np.concatenate(steps)
    risks = 2.0 * to_numpy(samples.fold(Risk(gauge.perturbed(delta)))[0])
    slope = 2.0 * delta @ information.gradient
    ratio = (risks - information.rss - slope) / max(variance * radius**2, TINY)
    low, high = LIMITS.linearity
    bad = ~((ratio >= low) & (ratio <= high))
    units = tuple(np.flatnonzero(bad[random:].reshape(-1, 2).any(axis=1)).tolist())
    sentence = (
        f"On the regions' boundaries the squared error is between {ratio.min():.2g} and {ratio.max():.2g} of its quadratic "
        "approximation."
        if not bad.any()
        else f"Within the regions of {named(units, verb=False)} the squared error is not quadratic ({ratio.min():.2g} to "
        f"{ratio.max():.2g} of it), so that they cannot be trusted; give more rows."
    )
    return Statement(Topic.CURVATURE, Kind.TESTED, not bad.any(), sentence, float(ratio.max()), high, units)


def _wide(gauge: Gauge, i: int, region: np.ndarray, fit: LackOfFit) -> np.ndarray:
    """A region that holds e + s for all e of the given one and all s that a unit which the rows do not show would add.

    Nearly parallel probes are few, and their directions random: the longest of their shifts counts for all directions.
    """
    at, scale = gauge.coordinates(i), _scale(gauge, i)
    size = float(np.max(np.linalg.norm(fit.splits[at, i] / scale[:, None], axis=0), initial=0.0))
    others = np.delete(fit.splits[at], i, axis=1).reshape(len(at), -1)
    return enclosing(region, np.hstack([fit.shifts[at], others]), np.diag((size * scale) ** 2))


def _scale(gauge: Gauge, i: int) -> np.ndarray:
    """(q,): ‖(w, b)‖ for the coordinates w and b, |a| for a."""
    own, _ = gauge.unit(i)
    inner = own[:-1] if gauge.free.a else own
    return np.array([np.linalg.norm(inner)] * len(inner) + [abs(own[-1])] * gauge.free.a)


def enclosing(A: np.ndarray, points: np.ndarray, ball: np.ndarray | None = None) -> np.ndarray:
    """R of an ellipsoid xᵀR⁻¹x ≤ 1 that holds e + s for all e with eᵀA⁻¹e ≤ 1 and all columns s of points, or s of the ball.

    B = f Σ ssᵀ with f = max sᵀ(Σ ssᵀ)⁺s ≤ 1 holds the points, and (1 + 1/t) A + (1 + t) B the sum, for any t > 0.
    """
    B = np.zeros_like(A) if ball is None else ball
    if points.size and np.any(points):
        _, sizes, V = np.linalg.svd(points, full_matrices=False)
        leverages = (V[sizes > 1e-12 * sizes[0]] ** 2).sum(axis=0)
        B = B + points @ points.T * float(leverages.max())
    if not np.trace(B) > 0:
        return A
    t = math.sqrt(float(np.trace(A)) / float(np.trace(B)))
    return np.asarray((1 + 1 / t) * A + (1 + t) * B)
