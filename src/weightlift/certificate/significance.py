"""Whether every unit is needed: what one unit less would cost, the others refitted.

A Wald statistic of a unit, and of its difference to each other one, answers where the squared error is quadratic that far.
Where it leaves a doubt the unit is taken away and the others are refitted; with D the change of f and r₀ its residual,

    gain   Σ w (r₀² − r²)/σ²,      and, for noise whose size depends on x,      (Σ w D r₀)²/Σ (w D r/(1 − h))²,

must both exceed what the best of (en/d)^d patterns of sides gains by chance. The second is a sum over its own spread: for
errors with independent signs and a fixed D it exceeds t with probability 2 e^{−t/2} at most, whatever their sizes.
Where φ(z) + φ(−z) is a constant, a sigmoid, and the class has none, a pair of opposite units may carry one. So the others are
refitted with c as well. That is no narrower: with c (φ(z) + φ(−z)), z any of theirs, for c it has all units again, and it is a
rival if its gain is one's. Narrower it is with units reflected so that c vanishes, and refitted once more.
Cost  O(k²q³) for the Wald statistics; the refit of as many networks of k − 1 units as there are doubtful ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri

from weightlift.certificate.limits import LIMITS
from weightlift.certificate.scores import WhiteRows
from weightlift.certificate.statement import Kind, Statement, Topic, named
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.evidence.rows import double
from weightlift.identifiability.reflections import without_offset
from weightlift.namespaces import array_namespace, to_numpy
from weightlift.network import Network
from weightlift.refinement.gauss_newton import gauss_newton
from weightlift.risk import Students
from weightlift.samples import Block, Samples, Sums

TINY = float(np.finfo(float).tiny)


def significance(
    samples: Samples,
    information: Information,
    covariances: tuple[np.ndarray, ...],
    variance: float,
    limit: float,
    regions: np.ndarray,
) -> Statement:
    """The statement on units that fitting noise might have made, and on those that are elsewhere without one of these.

    limit    what fitting noise gains by chance
    regions  (2, k, q, q), outside of which a unit must not go where one that is not needed is taken away
    """
    gauge = information.gauge
    needed = _wald_statistics(gauge, covariances, limit)
    doubtful = np.flatnonzero(~(needed >= limit))
    moved = np.zeros(len(needed), dtype=bool)
    if doubtful.size and gauge.network.n_units > 1:
        needed[doubtful], narrower = _least(samples, information, doubtful, variance)
        for at in np.flatnonzero(~(needed[doubtful] >= limit)):
            rest = np.delete(np.arange(len(needed)), doubtful[at])
            moved[rest] |= ~_within(gauge, rest, narrower[at], regions)
    weak, least = tuple(np.flatnonzero(~(needed >= limit) | moved).tolist()), float(needed.min())
    sentence = (
        f"No unit is a product of noise: without any one Σ w r² is {least:.3g} σ² larger or more, {limit:.3g} by chance."
        if not weak
        else f"{named(gauge.called(weak))} not significant, or cannot be told apart (without one Σ w r² is {least:.3g} σ² "
        f"larger, {limit:.3g} by chance); use fewer units or give more rows."
    )
    return Statement(Topic.SIGNIFICANCE, Kind.TESTED, not weak, sentence, least, limit, weak)


def chance(gauge: Gauge, n: int) -> float:
    """What the best of many patterns of sides gains in Σ w r²/σ² by chance, and 40 beyond it."""
    d = gauge.network.n_inputs
    return gauge.unit_size + 2 * (d + 1) * math.log(math.e * n / (d + 1)) + 40.0


def odds(units: int) -> float:
    """What a network may be worse by, or better, in Σ w r²/σ² without being another: the best of 2ᵏ patterns gains less."""
    return LIMITS.rival + 2 * math.log(2) * units


def _least(
    samples: Samples, information: Information, units: np.ndarray, variance: float
) -> tuple[np.ndarray, list[Network]]:
    """The least loss without each of the units, and the network that has it; one that is no narrower counts as a rival does."""
    gauge = information.gauge
    fit = without(samples, gauge, units)
    least, networks = losses(samples, information, fit, variance), [fit.network(j) for j in range(len(units))]
    phi = gauge.network.activation
    if gauge.free.c or phi.reflection is None or len(phi.reflection[1]) != 1:
        return least, networks
    beside = without(samples, gauge, units, constant=True)
    turned = [replace(without_offset(beside.network(j)), c=0.0) for j in range(len(units))]
    narrower = _refitted(samples, gauge, Students.of(*turned), gauge.free.names)
    for fit, bar in ((narrower, math.inf), (beside, odds(gauge.network.n_units))):
        lost = losses(samples, information, fit, variance)
        for j in np.flatnonzero((lost < least) & (lost <= bar)):
            least[j], networks[j] = lost[j], fit.network(int(j))
    return least, networks


def without(samples: Samples, gauge: Gauge, units: np.ndarray, *, constant: bool = False) -> Students:
    """The network without each of the units, the others refitted, with c as well where a constant is to be beside them."""
    net = gauge.network
    rest = [np.delete(np.arange(net.n_units), i) for i in units]
    starts = Students.of(*(replace(net, W=net.W[:, j], a=net.a[j], b=net.b[j]) for j in rest))
    return _refitted(samples, gauge, starts, "".join(dict.fromkeys(gauge.free.names + "c" * constant)))


def _refitted(samples: Samples, gauge: Gauge, starts: Students, names: str) -> Students:
    free, scaled = "".join(dict.fromkeys(names + "a")), gauge.network.activation.degree is not None
    return gauss_newton(samples, starts, free=free, unit=scaled, iterations=LIMITS.refit, tol=1e-6).students


def losses(samples: Samples, information: Information, narrower: Students, variance: float) -> np.ndarray:
    """What the fit loses with each of these networks in σ²: the smaller of the plain number and the robust one."""
    statistic = Losses(information.gauge, information.half_inverse, narrower)
    along, plain, spread = (to_numpy(v) for v in samples.fold(statistic))
    return np.asarray(np.minimum(plain / max(variance, TINY), along**2 / np.maximum(spread, TINY)))


@dataclass(frozen=True, eq=False)
class Losses:
    """Σ w D r₀, Σ w (r₀² − r²) and Σ (w D r/(1 − h))² of narrower networks f₀ = f + D, (S,) each."""

    gauge: Gauge
    half_inverse: np.ndarray
    narrower: Students

    @property
    def floats_per_row(self) -> int:
        _, S, k = self.narrower.shape
        return 3 * self.gauge.size + 8 * self.gauge.network.n_units + 4 * S * k

    def __call__(self, block: Block) -> Sums:
        rows = WhiteRows.of(block, self.gauge, self.half_inverse)
        X, y, _ = double(block)
        xp = array_namespace(X)
        students = self.narrower.like(X)
        without = rows.root[:, None] * students.residuals(students.activation(students.preactivations(X)), y)
        D = without - rows.r
        jackknife = D * rows.r / rows.left
        return xp.sum(D * without, axis=0), xp.sum(without**2 - rows.r**2, axis=0), xp.sum(jackknife**2, axis=0)


def _within(gauge: Gauge, units: np.ndarray, narrower: Network, regions: np.ndarray) -> np.ndarray:
    """(k − 1,) whether each unit of a network without one of them is within the region that it has beside it."""
    other = Gauge.of(narrower, bias=gauge.free.b, offset=gauge.free.c)
    found = []
    for j, i in enumerate(units):
        own, sign = gauge.unit(int(i))
        gaps = [own - theta for theta, its in other.representatives(j) if its == sign]
        known = [R[i] for R in regions if np.isfinite(R[i]).all()]
        found.append(min((wald(gap, R) for gap in gaps for R in known if np.isfinite(gap).all()), default=math.inf) <= 1.0)
    return np.array(found)


def _wald_statistics(gauge: Gauge, covariances: tuple[np.ndarray, ...], limit: float) -> np.ndarray:
    """(k,) the least of each unit's own and of its differences."""
    least = np.array([_size(gauge, i, covariances) for i in range(gauge.network.n_units)])
    at = np.array([gauge.coordinates(i)[: gauge.free.inputs(gauge.network.n_inputs)] for i in range(gauge.network.n_units)])
    for value, pair in differences(gauge.theta[at], at, covariances, limit, scaled=not gauge.free.a):
        least[list(pair)] = np.minimum(least[list(pair)], value)
    return least


def _size(gauge: Gauge, i: int, covariances: tuple[np.ndarray, ...]) -> float:
    theta, at = gauge.theta, gauge.coordinates(i)
    inner = at[:-1] if gauge.free.a else at
    values = [wald(theta[inner], C[np.ix_(inner, inner)]) for C in covariances]
    if gauge.free.a:
        values += [theta[at[-1]] ** 2 / max(C[at[-1], at[-1]], TINY) for C in covariances]
    return float(min(values))


def differences(
    V: np.ndarray, at: np.ndarray, covariances: tuple[np.ndarray, ...], limit: float, *, scaled: bool, across: bool = False
) -> Iterator[tuple[float, tuple[int, int]]]:
    """Wald statistics of vᵢ ∓ vⱼ, of the pairs for which the trace of the covariance does not already show them apart.

    V       (k, q) the units' (w, b), with the coordinates `at` (k, q)
    scaled  lengths do not separate two units: one is scaled to the other
    across  nor are they estimated: what is orthogonal to vᵢ counts
    """
    spread = np.max([[np.trace(C[np.ix_(a, a)]) for a in at] for C in covariances], axis=0)
    for i in range(len(V)):
        basis = np.linalg.svd(V[i][None])[2][1:] if across else np.eye(len(V[i]))
        for j in range(i):
            ratio = float(np.linalg.norm(V[i])) / max(float(np.linalg.norm(V[j])), TINY) if scaled else 1.0
            for t in (ratio, -ratio):
                delta = V[i] - t * V[j]
                if delta @ delta >= 2 * limit * (spread[i] + t * t * spread[j]):
                    continue
                both = (basis @ _difference(C, at[i], at[j], t) @ basis.T for C in covariances)
                yield min(wald(basis @ delta, C) for C in both), (j, i)


def _difference(C: np.ndarray, left: np.ndarray, right: np.ndarray, t: float) -> np.ndarray:
    cross = t * C[np.ix_(left, right)]
    return np.asarray(C[np.ix_(left, left)] + t * t * C[np.ix_(right, right)] - cross - cross.T)


def wald(delta: np.ndarray, covariance: np.ndarray) -> float:
    """δᵀC⁻¹δ, eigenvalues of the correlations taken as 1e-12 at least; by Cholesky where ‖L⁻¹‖_F² bounds them from below."""
    scale = np.sqrt(np.maximum(np.diagonal(covariance), TINY))
    correlations = covariance / np.outer(scale, scale)
    L, info = dpotrf(correlations, lower=1)
    if info == 0 and np.sum((inverse := np.tril(dtrtri(L, lower=1)[0])) ** 2) <= 1e12:
        return float(np.sum((inverse @ (delta / scale)) ** 2))
    values, vectors = np.linalg.eigh(correlations)
    return float((((vectors.T @ (delta / scale)) ** 2) / np.maximum(values, 1e-12)).sum())
