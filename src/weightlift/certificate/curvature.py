"""Whether regions are ellipsoids: Σ w r² four standard errors away against its quadratic approximation.

For each unit, in the direction that each covariance C knows least, δ = 4 C u/(uᵀCu)^½ with u in the unit's coordinates, and in
some random ones. Far above the approximation the valley of the squared error bends, below it the valley is flatter there. So
it is followed: from θ ± tδ, the coordinate ⟨u, θ⟩ being held, Gauss–Newton steps s lead back to its floor, and t grows until
Σ w r² has risen as far as it was to. If that succeeds the regions are to hold (t − 1)δ + s as well.
Cost  one pass of O(n d k) for 4k + 8 networks; a few of O(n p²) for each direction that is followed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weightlift.certificate.limits import LIMITS
from weightlift.certificate.statement import Kind, Statement, Topic, named
from weightlift.evidence.information import Information
from weightlift.namespaces import to_numpy
from weightlift.refinement.normal_equations import NormalEquations
from weightlift.risk import Risk
from weightlift.samples import Samples

RADIUS, RANDOM = 4.0, 8  # standard errors, of which a coordinate is farther away with probability 6e-5; and random directions
TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True, eq=False)
class Curvature:
    statement: Statement
    bends: np.ndarray  # (p, m): from straight lines to the valley's floor


def curvature(
    samples: Samples,
    information: Information,
    covariances: tuple[np.ndarray, ...],
    variance: float,
    rng: np.random.Generator,
) -> Curvature:
    """covariances: σ²(JᵀJ)⁻¹ and the robust one; variance: σ²."""
    gauge = information.gauge
    L, at = math.sqrt(variance) * information.half_inverse, [gauge.coordinates(i) for i in range(gauge.network.n_units)]
    directions = _Directions(information, *boundary(L, covariances, at, rng))
    ratio = directions.ratio(samples, directions.delta)
    bent = np.flatnonzero(~_quadratic(ratio))
    bends = np.zeros((0, gauge.size))
    if bent.size:
        bends, ratio[bent] = directions.take(bent).followed(samples)
    followed = ", along its valley where that bends" * bool(bent.size)
    return Curvature(stated(ratio, directions.unit, gauge.called(range(len(at))), followed), bends.T)


def boundary(
    L: np.ndarray, covariances: tuple[np.ndarray, ...], coordinates: list[np.ndarray], rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """δ and u (m, p), and the unit (m,) of each: random ones, −1, of the ellipsoid L Lᵀ, then those that a unit knows least."""
    v = rng.standard_normal((RANDOM, L.shape[1]))
    delta = [v @ L.T / np.linalg.norm(v, axis=1, keepdims=True)]
    held, unit = [np.zeros_like(delta[0])], [-1] * RANDOM
    for C in covariances:
        for i, at in enumerate(coordinates):
            u = np.zeros(len(L))
            values, vectors = np.linalg.eigh(C[np.ix_(at, at)])
            u[at] = vectors[:, -1]
            worst = C @ u / math.sqrt(max(values[-1], TINY))
            delta, held, unit = [*delta, np.stack([worst, -worst])], [*held, np.stack([u, u])], [*unit, i, i]
    return RADIUS * np.concatenate(delta), np.concatenate(held), np.array(unit)


def stated(ratio: np.ndarray, unit: np.ndarray, numbers: Sequence[int], followed: str = "") -> Statement:
    """ratio: the increases of Σ w r² over the quadratic ones, of directions of these units; numbers: what they are called."""
    bad = ~_quadratic(ratio)
    units = tuple(sorted(set(unit[bad].tolist()) - {-1}))
    who = named((numbers[i] for i in units), verb=False)
    sentence = (
        f"On the regions' boundaries the squared error is between {ratio.min():.2g} and {ratio.max():.2g} of its quadratic "
        f"approximation{followed}."
        if not bad.any()
        else f"Within the regions of {who} the squared error is not quadratic ({ratio.min():.2g} to "
        f"{ratio.max():.2g} of it), so that they cannot be trusted; give more rows."
    )
    return Statement(Topic.CURVATURE, Kind.TESTED, not bad.any(), sentence, float(ratio.max()), LIMITS.linearity[1], units)


def _quadratic(ratio: np.ndarray) -> np.ndarray:
    return np.asarray((ratio >= LIMITS.linearity[0]) & (ratio <= LIMITS.linearity[1]))


@dataclass(frozen=True, eq=False)
class _Directions:
    information: Information
    delta: np.ndarray  # (m, p)
    along: np.ndarray  # (m, p) u; zero for random directions
    unit: np.ndarray  # (m,) −1 for random directions

    @property
    def held(self) -> np.ndarray:
        """(m, p) u; for random directions JᵀJ δ."""
        return np.where((self.unit < 0)[:, None], self.delta @ self.information.gram, self.along)

    def take(self, index: np.ndarray) -> _Directions:
        return _Directions(self.information, self.delta[index], self.along[index], self.unit[index])

    def ratio(self, samples: Samples, delta: np.ndarray) -> np.ndarray:
        """(m,) the increase of Σ w r² at θ + delta over the quadratic one along the straight line."""
        known = self.information
        risks = 2.0 * to_numpy(samples.fold(Risk(known.gauge.perturbed(delta)))[0])
        quadratic = np.einsum("mi,ij,mj->m", self.delta, known.gram, self.delta, optimize=True)
        return np.asarray((risks - known.rss - 2.0 * delta @ known.gradient) / np.maximum(quadratic, TINY))

    def followed(self, samples: Samples) -> tuple[np.ndarray, np.ndarray]:
        """(m, p) (t − 1) δ + s, and the increase there."""
        away = self.delta
        for _ in range(LIMITS.valley_steps):
            away = away + self._to_the_floor(samples, away)
            rise = self.ratio(samples, away)
            grown = np.clip(1.0 / np.sqrt(np.maximum(rise, TINY)), 1.0, LIMITS.valley_growth)
            away = np.where((rise < 1.0)[:, None], grown[:, None] * away, away)
        away = away + self._to_the_floor(samples, away)
        rise = self.ratio(samples, away)
        lost = ~(np.isfinite(away).all(axis=1) & (rise <= LIMITS.linearity[1]))
        away[lost] = self.delta[lost]
        return away - self.delta, np.where(np.isfinite(rise), rise, math.inf)

    def _to_the_floor(self, samples: Samples, away: np.ndarray) -> np.ndarray:
        """(m, p) s with ⟨u, s⟩ = 0, a step of (JᵀJ + μ D) s = −Jᵀr − λ u, D the diagonal; NaN where J is beyond all numbers."""
        gauge = self.information.gauge
        equations = NormalEquations(gauge.perturbed(away), gauge.free)
        _, gradient, gram = (to_numpy(v) for v in equations.assembled(samples.fold(equations)))
        root = np.sqrt(np.maximum(np.diagonal(gram, axis1=1, axis2=2), TINY))
        scaled = gram / (root[:, :, None] * root[:, None, :]) + LIMITS.valley_damping * np.eye(gauge.size)
        sides = np.stack([gradient / root, self.held / root], axis=2)
        lost = ~np.isfinite(scaled).all(axis=(1, 2))
        scaled[lost], sides[lost] = np.eye(gauge.size), np.nan
        down, across = np.moveaxis(np.linalg.solve(scaled, sides) / root[:, :, None], 2, 0)
        price = np.sum(self.held * down, axis=1) / np.sum(self.held * across, axis=1)
        return np.asarray(price[:, None] * across - down)
