"""A noisy fit of several outputs, or with a linear part: what its regions rest on, as statements.

The same as `noise` asks of one output, for the stacked Jacobian [evidence.stacked]:

    rows            effective ones: 3 p + 30 equations, and three times the rows that m outputs need at least, and 30
    minimum         the distance to the minimum of Σ w ‖r/s‖², s the outputs' sizes [joint_standard], in standard errors
    influence       no row decides alone
    structure       `joint_lack_of_fit`, over all outputs
    significance    every unit's a ∈ Rᵐ, and the difference of any two units, beyond what fitting noise gives
    regions         of (w, b, a): errors of a row may depend on each other, Σ̂ = Σ w rrᵀ/(n − p/m); the classical covariance is
                    H⁻¹(Σ w JᵀΣ̂J)H⁻¹, the robust one the jackknife's sandwich with one score a row
    curvature       Σ w ‖r‖² on the regions' boundaries is what the quadratic approximation says
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from weightlift.certificate.joint_lack_of_fit import JointLackOfFit, joint_lack_of_fit
from weightlift.certificate.joint_standard import StandardForm, relative_size
from weightlift.certificate.limits import LIMITS
from weightlift.certificate.minimum import minimum
from weightlift.certificate.noise import _fisher, _independent, _precision, enclosing
from weightlift.certificate.significance import TINY, wald
from weightlift.certificate.statement import Kind, Statement, Topic, named
from weightlift.evidence.stacked import Stacked, StackedInformation
from weightlift.identifiability import rows_needed
from weightlift.namespaces import Array, array_namespace, as_like, to_numpy
from weightlift.refinement.variable_projection import JointRisk
from weightlift.samples import Block, Samples, Sums


@dataclass(frozen=True, eq=False)
class JointNoise:
    """What was found, in standard inputs and scaled targets; regions are None where the fit is not regular."""

    statements: tuple[Statement, ...]
    fit: JointLackOfFit | None = None
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
    fit = joint_lack_of_fit(samples, information, noise, rng=rng)
    first = (*before, minimum(shift, p), _influence(fit, p / (n * m)), _structure(fit))
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
        *_sides(samples, information, chance / radius**2 * regions, relative, chance * float(np.trace(noise)) / m),
        _curvature(samples, information, noise, rng),
    )
    return JointNoise(statements, fit, regions, wide)


def _enough(stacked: Stacked, rows: float) -> Statement:
    """Equations for the parameters, and rows for the outputs."""
    net, model = stacked.network, stacked.model
    m = net.n_outputs
    sizes = net.n_inputs, net.n_units, m
    least = rows_needed(*sizes, net.activation, bias=model.bias, linear=model.linear, offset=model.offset)
    times, plus = LIMITS.noisy_rows
    needed = max(math.ceil((times * stacked.size + plus) / m), times * least + plus)
    sentence = (
        f"{rows:.0f} effective rows of {m} output{'s' * (m > 1)} for {stacked.size} parameters."
        if rows >= needed
        else f"The residual is not at rounding level, and for noisy data {rows:.0f} effective rows are too few for "
        f"{stacked.size} parameters, however many outputs they have; give at least {needed}."
    )
    return Statement(Topic.ROWS, Kind.TESTED, rows >= needed, sentence, rows, needed)


def _influence(fit: JointLackOfFit, share: float) -> Statement:
    limit = max(LIMITS.leverage, 4 * share)
    if fit.leverage > limit:
        sentence = f"A single row decides the fit (leverage {fit.leverage:.2f}); remove outlying inputs or give more rows."
        return Statement(Topic.INFLUENCE, Kind.TESTED, False, sentence, fit.leverage, limit)
    holds = fit.influence <= LIMITS.influence
    sentence = (
        f"No row makes up more than {fit.influence:.2g} of the squared error, nor of the estimates' covariance."
        if holds
        else f"One row alone makes up {fit.influence:.2g} of the squared error or of the estimates' covariance: outliers "
        "decide; remove them, or weight them down."
    )
    return Statement(Topic.INFLUENCE, Kind.TESTED, holds, sentence, fit.influence, LIMITS.influence)


def _structure(fit: JointLackOfFit) -> Statement:
    holds = fit.p_value > LIMITS.level
    sentence = (
        f"The residuals show no structure at any output (p = {fit.p_value:.2g}, {LIMITS.features} random units, "
        f"{LIMITS.flips} draws of signs)."
        if holds
        else f"The residuals have structure left (p = {fit.p_value:.1g}): try another width, another activation, biases, an "
        "offset or a linear part, or search for a better minimum."
    )
    return Statement(Topic.STRUCTURE, Kind.TESTED, holds, sentence, fit.p_value, LIMITS.level)


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
    pairs = list(_differences(stacked, covariances, limit))
    weak = sorted({*np.flatnonzero(~(alone >= limit)).tolist(), *(i for value, pair in pairs if value < limit for i in pair)})
    least = float(min([*alone, *(value for value, _ in pairs)], default=math.inf))
    sentence = (
        f"Every unit, and the difference of any two, is beyond what fitting noise gives (Wald statistic ≥ {least:.3g})."
        if not weak
        else f"{named(weak)} not significant, or cannot be told apart; use fewer units or give more rows."
    )
    return Statement(Topic.SIGNIFICANCE, Kind.TESTED, not weak, sentence, least, limit, tuple(weak))


def _differences(
    stacked: Stacked, covariances: tuple[np.ndarray, ...], limit: float
) -> Iterator[tuple[float, tuple[int, int]]]:
    """Those of (w, b)_i ∓ (w, b)_j that the covariances' traces do not already show apart; of one length for homogeneous φ."""
    V, k = stacked.hidden, stacked.network.n_units
    at = [stacked.coordinates(i)[: stacked.inputs] for i in range(k)]
    length = np.maximum(np.linalg.norm(V, axis=0), TINY)
    spread = np.max([[np.trace(C[np.ix_(i, i)]) for i in at] for C in covariances], axis=0)
    for i in range(k):
        for j in range(i):
            ratio = length[i] / length[j] if stacked.homogeneous else 1.0
            for t in (ratio, -ratio):
                delta = V[:, i] - t * V[:, j]
                if delta @ delta >= 2 * limit * (spread[i] + t * t * spread[j]):
                    continue
                across = _across(V[:, i]) if stacked.homogeneous else np.eye(len(delta))
                both = (across.T @ _of_both(C, at[i], at[j], t) @ across for C in covariances)
                yield min(wald(across.T @ delta, C) for C in both), (j, i)


def _across(v: np.ndarray) -> np.ndarray:
    """(q, q − 1) an orthonormal basis of what is orthogonal to v."""
    return np.asarray(np.linalg.svd(v[None])[2][1:].T)


def _of_both(C: np.ndarray, left: np.ndarray, right: np.ndarray, t: float) -> np.ndarray:
    cross = t * C[np.ix_(left, right)]
    return np.asarray(C[np.ix_(left, left)] + t * t * C[np.ix_(right, right)] - cross - cross.T)


def _sides(
    samples: Samples, information: StackedInformation, regions: np.ndarray, relative: np.ndarray, cost: float
) -> Iterator[Statement]:
    """Rows on their side of a kink by no more than chance: regions that wide reach them, and all of them on the other side
    would cost no more in Σ w ‖r‖². Without them, a unit's region must not grow beyond its own size."""
    stacked = information.stacked
    if not stacked.network.activation.kinks:
        return
    near = NearKinks(stacked, regions[:, :, : stacked.inputs, : stacked.inputs])
    by_chance = to_numpy(samples.fold(near)[0]) <= cost
    if not by_chance.any():
        return
    without = StackedInformation.of(samples.map(near.without), stacked)
    units = range(len(relative))
    there, here = (
        np.array([relative_size(stacked, i, C[None][:, at][:, :, at]) for i in units for at in [stacked.coordinates(i)]])
        for C in (J.half_inverse @ J.half_inverse.T for J in (without, information))
    )
    there[list(without.weak(LIMITS.weak))] = math.inf
    open_ = ~(relative * there <= here * LIMITS.largest_region)
    found = tuple(np.flatnonzero(open_ & by_chance).tolist())
    if found:
        sentence = f"{named(found)} determined by rows on a kink alone, within the noise; give rows elsewhere, or more of them."
        yield Statement(Topic.SIGNIFICANCE, Kind.TESTED, False, sentence, units=found)


@dataclass(frozen=True, eq=False)
class NearKinks:
    """Σ w ‖aᵢ‖² (zᵢ − kink)² over the rows within reach of unit i's kink, (k,); `without` gives all such rows no weight."""

    stacked: Stacked
    regions: np.ndarray  # (r, k, q, q) of (w, b)

    @property
    def floats_per_row(self) -> int:
        return 8 * self.stacked.network.n_units + 3 * self.stacked.network.n_inputs

    def __call__(self, block: Block) -> Sums:
        xp = array_namespace(block.X)
        gaps, on = self._gaps(block)
        w = xp.ones_like(gaps[:, 0]) if block.w is None else block.w
        squares = as_like((self.stacked.network.A**2).sum(axis=1), block.X) * gaps * gaps
        return (xp.sum(w[:, None] * xp.where(on, squares, xp.zeros_like(squares)), axis=0),)

    def without(self, block: Block) -> Block:
        xp = array_namespace(block.X)
        w = xp.ones_like(block.X[:, 0]) if block.w is None else block.w
        return replace(block, w=xp.where(xp.any(self._gaps(block)[1], axis=1), xp.zeros_like(w), w))

    def _gaps(self, block: Block) -> tuple[Array, Array]:
        """|zᵢ − kink| of the nearest kink (rows, k), and whether it is within reach."""
        xp, net = array_namespace(block.X), self.stacked.network
        X = xp.astype(block.X, xp.float64, copy=False)
        z = xp.matmul(X, as_like(net.W, X)) + as_like(net.b, X)
        gaps = xp.min(xp.stack([xp.abs(z - kink) for kink in net.activation.kinks]), axis=0)
        Xt = xp.concat([X, xp.ones_like(X[:, :1])], axis=1)[:, : self.stacked.inputs]
        squares = [
            xp.max(xp.stack([xp.abs(xp.sum(xp.matmul(Xt, as_like(R[i], X)) * Xt, axis=1)) for R in self.regions]), axis=0)
            for i in range(net.n_units)
        ]
        return gaps, gaps <= xp.sqrt(xp.stack(squares, axis=1))


def _curvature(samples: Samples, information: StackedInformation, noise: np.ndarray, rng: np.random.Generator) -> Statement:
    """Σ w ‖r‖² at θ ± R L v against what it should be, for random v and for each unit's least certain direction."""
    stacked, radius, random = information.stacked, 4.0, 8
    L = math.sqrt(float(np.trace(noise)) / len(noise)) * information.half_inverse
    v = rng.standard_normal((random, L.shape[1]))
    steps = [v @ L.T / np.linalg.norm(v, axis=1, keepdims=True)]
    for i in range(stacked.network.n_units):
        at = stacked.coordinates(i)
        values, vectors = np.linalg.eigh(L[at] @ L[at].T)
        worst = L @ (L[at].T @ vectors[:, -1]) / math.sqrt(max(values[-1], TINY))
        steps.append(np.stack([worst, -worst]))
    delta = radius * np.concatenate(steps)
    risks = 2.0 * to_numpy(samples.fold(JointRisk(*stacked.perturbed(delta), stacked.model))[0])
    slope = 2.0 * delta @ information.gradient
    expected = np.sum((delta @ information.gram()) * delta, axis=1)
    ratio = (risks - information.rss - slope) / np.maximum(expected, TINY)
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


def _wide(stacked: Stacked, i: int, region: np.ndarray, fit: JointLackOfFit) -> np.ndarray:
    """As `noise` has it: what a further unit at one output, or two units that the fit took for one, would have moved."""
    at, q = stacked.coordinates(i), stacked.inputs
    lengths = np.linalg.norm(stacked.hidden[:, i]), np.linalg.norm(stacked.network.A[i])
    scale = np.repeat(lengths, (q, len(at) - q))
    own = fit.splits[at, i]
    size = float(np.max(np.linalg.norm(own / scale[:, None], axis=0), initial=0.0))
    others = np.delete(fit.splits[at], i, axis=1).reshape(len(at), -1)
    return enclosing(region, np.hstack([fit.shifts[at], others]), np.diag((size * scale) ** 2))
