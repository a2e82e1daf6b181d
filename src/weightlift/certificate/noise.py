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

from weightlift.certificate.breadth import breadth
from weightlift.certificate.curvature import curvature
from weightlift.certificate.lack_of_fit import ANGLES, LackOfFit, lack_of_fit
from weightlift.certificate.limits import LIMITS
from weightlift.certificate.minimum import distance_to_minimum, minimum
from weightlift.certificate.precision import UnitRegions, on_sides
from weightlift.certificate.scores import Deciding, SharedLeverages
from weightlift.certificate.significance import TINY, chance, odds, significance
from weightlift.certificate.statement import Kind, Statement, Topic, named
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information, blocks_of
from weightlift.evidence.rows import DistinctRows, count_distinct
from weightlift.namespaces import to_numpy
from weightlift.samples import Columns, Samples
from weightlift.samples.columns import NO_NAMES

BETWEEN = float(ANGLES[-1] / ANGLES[-2])
UNBOUNDED = 1e100  # a shift that nothing limits; its square is finite. Where a probe moves nothing, ∞ · 0 is no shift


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
    single: np.ndarray | None = None  # (k,) the largest 95 % half-width of a weight by itself

    @property
    def regular(self) -> bool:
        return self.regions is not None


def examine_noise(
    samples: Samples,
    information: Information,
    n_rows: int,
    effective_rows: float,
    distinct: bool,
    rng: np.random.Generator,
    columns: Columns = NO_NAMES,
) -> NoisyFit:
    """Statements of a noisy fit, and its regions if none of them is fatal; distinct: no input is known to occur twice."""
    p, gauge = information.gauge.size, information.gauge
    scale = n_rows / information.total
    variance = information.rss / max(n_rows - p, 1)
    noise = math.sqrt(scale * variance)
    before = (_independent(samples, distinct), _rows(min(float(n_rows), effective_rows), p))
    if not all(s.holds for s in before):
        return NoisyFit(before, variance, noise)
    shift = distance_to_minimum(samples, information, variance)
    fit = lack_of_fit(samples, information, n_rows, rng=rng)
    shared = _shared_leverage(samples, information, fit, n_rows, distinct)
    told = shared or _influence(fit), structure(fit.p_value, fit.detection_limit)
    first: tuple[Statement, ...] = (*before, minimum(shift, p), *told)
    if not all(s.holds for s in first):
        return NoisyFit(first, variance, noise, fit)
    first = (*first, *_decided(samples, information, fit.leverage, n_rows))
    covariances = variance * information.inverse, information.sandwich(fit.meat)
    inputs = gauge.free.inputs(gauge.network.n_inputs)
    q, rest = gauge.unit_size, n_rows - p
    radius = math.sqrt(q * _fisher(q, rest)) + math.sqrt(shift)
    regions = radius**2 * np.stack([blocks_of(C, gauge) for C in covariances])
    needed = chance(gauge, n_rows)
    reach = needed / radius**2 * regions
    bent = curvature(samples, information, covariances, variance, rng)
    units = range(gauge.network.n_units)
    if bent.bends.size:
        regions = np.stack([[enclosing(R[i], bent.bends[gauge.coordinates(i)]) for i in units] for R in regions])
    wide = np.stack([[_wide(gauge, i, R[i], fit) for i in units] for R in regions])
    relative = np.max([gauge.relative_sizes(R) for R in regions], axis=0)
    single = _single(gauge, covariances)
    statements = (
        *first,
        significance(samples, information, covariances, variance, needed, regions),
        *_precisions(information, regions, relative, single, columns),
        *on_sides(
            samples,
            UnitRegions(gauge.network, reach[:, :, :inputs, :inputs]),
            relative,
            (needed * variance, odds(gauge.network.n_units) * variance),
            _open_sizes(information),
            lambda sides: _open_sizes(information.without(samples.map(sides.alone))),
            LIMITS.noisy_region,
            gauge.called(units),
        ),
        bent.statement,
    )
    return NoisyFit(statements, variance, noise, fit, relative, regions, wide, single)


def _fisher(q: int, rest: int) -> float:
    """The quantile of Fisher's law beyond which a unit lies outside of its region."""
    return float(fdtri(q, rest, 1.0 - LIMITS.region))


def _independent(samples: Samples, distinct: bool) -> Statement:
    copies = 1.0 if distinct else count_distinct(samples.fold(DistinctRows(targets=True)))[1]
    holds = copies <= LIMITS.copies
    sentence = (
        ("No row occurs twice" if copies == 1.0 else f"A row occurs {copies:.3g} times on average")
        + ": the errors can be independent."
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


def _shared_leverage(
    samples: Samples, information: Information, fit: LackOfFit, n_rows: int, distinct: bool
) -> Statement | None:
    """That copies of one input decide the fit together, where each alone does not."""
    limit = _most(information, n_rows)
    if distinct or count_distinct(samples.fold(DistinctRows(targets=False)))[0] >= n_rows:
        return None
    leverage = float(samples.fold(SharedLeverages(information.gauge, information.half_inverse))[0])
    if not leverage > limit >= fit.leverage:
        return None
    sentence = f"A single input decides the fit (leverage {leverage:.2f}); remove its copies or give more rows."
    return Statement(Topic.INFLUENCE, Kind.TESTED, False, sentence, leverage, limit)


def _influence(fit: LackOfFit) -> Statement:
    holds = fit.influence <= LIMITS.influence
    sentence = (
        f"No row makes up more than {fit.influence:.2g} of the squared error."
        if holds
        else f"One row alone makes up {fit.influence:.2g} of the squared error: outliers decide; remove or weight them down."
    )
    return Statement(Topic.INFLUENCE, Kind.TESTED, holds, sentence, fit.influence, LIMITS.influence)


def _most(information: Information, n_rows: int) -> float:
    """The largest leverage of a row that others confirm."""
    return max(LIMITS.leverage, 4 * information.gauge.size / n_rows)


def _decided(samples: Samples, information: Information, leverage: float, n_rows: int) -> Iterator[Statement]:
    """Units that rows of high leverage alone determine: whose regions are larger without them.

    With V (p, m) these rows in coordinates where JᵀJ = I, the inverse without them is L (I − VVᵀ)⁻¹ Lᵀ.
    """
    limit, gauge, L = _most(information, n_rows), information.gauge, information.half_inverse
    if leverage <= limit:
        return
    V = to_numpy(samples.fold(Deciding(gauge, L, L, limit))[0]).T
    values, vectors = np.linalg.eigh(np.eye(len(V)) - V @ V.T)
    half = L @ vectors / np.sqrt(np.maximum(values, TINY))
    before, after = (gauge.relative_sizes(blocks_of(A @ A.T, gauge)) for A in (L, half))
    units = tuple(np.flatnonzero(~(after <= (1.0 + LIMITS.decided) * before)).tolist())
    if units:
        many = f"{V.shape[1]} rows decide" if V.shape[1] > 1 else "A single row decides"
        who = named(gauge.called(units), verb=False)
        sentence = f"{many} on {who} (leverage {leverage:.2f}); remove outlying inputs or give more rows."
        yield Statement(Topic.DETERMINED, Kind.TESTED, False, sentence, leverage, limit, units)


def structure(p_value: float, limit: float | None = None) -> Statement:
    """limit: root mean square of a further unit that would have been found."""
    holds = p_value > LIMITS.level
    found = "" if limit is None else f"; a further unit above {limit:.2g} (root mean square) would have been found"
    sentence = (
        f"The residual shows no structure (p = {p_value:.2g}, {LIMITS.features} random units, {LIMITS.flips} draws of signs)"
        f"{found}."
        if holds
        else f"The residual has structure left (p = {p_value:.1g}): try another width, another activation, biases, an offset "
        "or a linear part, or search for a better minimum."
    )
    return Statement(Topic.STRUCTURE, Kind.TESTED, holds, sentence, p_value, LIMITS.level)


def _single(gauge: Gauge, covariances: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """(k,) the largest 95 % half-width of a single weight of each unit, relative to ‖w‖, in normal form."""
    d, widest = gauge.network.n_inputs, []
    for i in range(gauge.network.n_units):
        at, T = gauge.coordinates(i), gauge.normal_form_jacobian(i)
        length = 1.0 if not gauge.free.a else max(float(np.linalg.norm(gauge.network.W[:, i])), TINY)
        variances = np.max([np.diagonal(T @ C[np.ix_(at, at)] @ T.T)[:d] for C in covariances], axis=0)
        widest.append(1.96 * math.sqrt(max(float(variances.max()), 0.0)) / length)
    return np.array(widest)


def _precisions(
    information: Information, regions: np.ndarray, relative: np.ndarray, single: np.ndarray, columns: Columns
) -> Iterator[Statement]:
    """That regions are small; else one statement for each unit that is too wide, with the inputs that make it so."""
    wide = np.flatnonzero(~(relative <= LIMITS.noisy_region))
    if not len(wide):
        yield _precision(relative, float(single.max()))
    for i in wide.tolist():
        alone = f"the 95 % interval of a single weight is at most ±{single[i]:.2g} of ‖w‖"
        sentence = breadth(information, i, regions[:, i]).sentence(information.gauge.called([i])[0], columns, alone)
        yield Statement(Topic.PRECISION, Kind.TESTED, False, sentence, float(relative[i]), LIMITS.noisy_region, (i,))


def _precision(relative: np.ndarray, single: float | None = None) -> Statement:
    """single: the 95 % half-width of a weight alone, where it is known."""
    limit = LIMITS.noisy_region
    wide = tuple(np.flatnonzero(~(relative <= limit)).tolist())
    narrower = "intervals of single weights are narrower"
    alone = narrower if single is None else f"the 95 % interval of a single weight is at most ±{single:.2g} of ‖w‖"
    sentence = (
        f"The 99.99 % regions, of all weights of a unit at once, are at most {relative.max():.2g} of the units' sizes "
        f"({limit:g} allowed, inputs standardised); {alone}."
        if not wide
        else f"{named(wide)} known no better than to {relative.max():.2g} of the size ({limit:g} allowed), all weights at once "
        f"at 99.99 % ({alone}); give more rows, or drop inputs that depend on others."
    )
    return Statement(Topic.PRECISION, Kind.TESTED, not wide, sentence, float(relative.max()), limit, wide)


def _open_sizes(known: Information) -> np.ndarray:
    """(k,) relative sizes by (JᵀJ)⁻¹; infinite where its rank is not full."""
    sizes = known.gauge.relative_sizes(known.unit_inverses())
    return sizes if known.full_rank else np.full_like(sizes, math.inf)


def _wide(gauge: Gauge, i: int, region: np.ndarray, fit: LackOfFit) -> np.ndarray:
    """A region that holds e + s for all e of the given one and all s that a unit which the rows do not show would add.

    Two units that the fit took for one may be nearer to each other than any probe to the unit,

        a φ(v) = (1 − s) a φ(v − s δ) + s a φ(v + (1 − s) δ) − s (1 − s) a φ″(z) ⟨δ, x⟩²/2 + …,

    and at δ = 0 no row shows them. So of the size of either nothing is known but that it is the unit's own with the other's: it
    may be none, or twice that. Across, s δ is what they move by; the farther apart they are, the smaller is the s that rows
    hide. So between two angles it is at most the smaller one's share at the larger one. Probes are few, and their directions
    random: the farthest of these shifts counts for all directions.
    """
    at, scale = gauge.coordinates(i), _scale(gauge, i)
    shifts, splits = (_bounded(v[at]) for v in (fit.shifts, fit.splits))
    along = gauge.unit(i)[0] / scale
    along[: -1 if gauge.free.a else 0] = 0.0
    own = splits[:, i] / scale[:, None]
    size = BETWEEN * float(np.linalg.norm(own - np.outer(along, along @ own), axis=0).max(initial=0.0))
    others = np.delete(splits, i, axis=1).reshape(len(at), -1)
    both = 2.0 * np.diag(scale) @ (np.outer(along, along) + size**2 * np.eye(len(at))) @ np.diag(scale)  # of two sets' sum
    return enclosing(region, np.hstack([shifts, others]), both)


def _bounded(shifts: np.ndarray) -> np.ndarray:
    """Without infinite ones."""
    finite = np.isfinite(shifts).all()
    return shifts if finite else np.nan_to_num(shifts, posinf=UNBOUNDED, neginf=-UNBOUNDED)


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
    if not np.trace(A) > 0:  # rows without residuals; by rounding it may be below
        return B
    t = max(math.sqrt(float(np.trace(A)) / float(np.trace(B))), 1e-150)
    return np.asarray((1 + 1 / t) * A + (1 + t) * B)
