"""Closed inner products of units whose φ and ψ are positively homogeneous of one degree q = 1 or 2.

ReLU, leaky ReLU, absolute value, linear; squared ReLU, quadratic. Each is φ(z) = m z^q + κ z₊^q. Products with z^q are series
that end at k = q; E U₊^q V₊^q follows from the bivariate normal distribution, its orthant probability from Owen's function.
Absolute error a few eps times E^½ U^{2q} · E^½ V^{2q}, also for cosines at and near ±1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from weightlift.activations.quadrature import normal_density
from weightlift.geometry.units import Units, power_hermites, split


def homogeneous_products(left: Units, right: Units) -> Callable[[slice, slice, np.ndarray], np.ndarray]:
    """The function that gives, from the cosines r, the inner products of left[rows] and right[columns].

    m n E U^q V^q + n κ E U₊^q V^q + m λ E U^q V₊^q + κ λ E U₊^q V₊^q for φ = m z^q + κ z₊^q and ψ = n z^q + λ z₊^q.

    The first three are E φ(U) n V^q + E m U^q ψ(V) − E m U^q n V^q: series that end at k = q.
    """
    q = int(left.activation.degree or 0)
    (m, kappa), (n, lamda) = (split(units.activation) for units in (left, right))
    P, Q = m * power_hermites(q, left), n * power_hermites(q, right)
    F, G = left.hermites(q), right.hermites(q)
    beta, gamma = (np.divide(u.offset, u.scale, out=np.zeros(len(u)), where=u.scale > 0) for u in (left, right))
    sigma, tau = left.scale**q, right.scale**q

    def block(rows: slice, columns: slice, r: np.ndarray) -> np.ndarray:
        value = np.zeros_like(r)
        for k in range(q, -1, -1):
            value = value * r + np.outer(F[k, rows], Q[k, columns]) + np.outer(P[k, rows], G[k, columns] - Q[k, columns])
        if kappa * lamda:
            both = _orthant_products(q, beta[rows, None], gamma[None, columns], r)
            value += kappa * lamda * np.outer(sigma[rows], tau[columns]) * both
        still = np.logical_or.outer(sigma[rows] == 0, tau[columns] == 0)
        value[still] = np.outer(F[0, rows], G[0, columns])[still]
        return value

    return block


def _orthant_products(q: int, b: np.ndarray, c: np.ndarray, r: np.ndarray) -> np.ndarray:
    """E U₊^q V₊^q, q ≤ 2, for U = u + b, V = v + c, u and v standard normal with correlation r.

    By parts, E U F = b E F + E ∂F/∂U + r E ∂F/∂V, from P(U > 0, V > 0); given U = 0, V is normal with mean x and deviation s.
    """
    from scipy.special import ndtr

    s = np.sqrt((1.0 - r) * (1.0 + r))
    sign = np.where(r < 0, -1.0, 1.0)
    x = (c - sign * b) + (sign - r) * b  # c − r b, accurate near r = ±1
    y = (b - sign * c) + (sign - r) * c
    tx, ty = _quotient(x, s), _quotient(y, s)
    p00 = _orthant_probability(b, c, r, tx, ty)
    at_u = normal_density(b) * ndtr(tx)  # E δ(U) 1{V > 0}
    at_v = normal_density(c) * ndtr(ty)
    both = s * normal_density(b) * normal_density(np.clip(tx, -40.0, 40.0))
    if q == 1:
        return np.asarray((r + b * c) * p00 + c * at_u + b * at_v + both)
    p01 = c * p00 + at_v + r * at_u  # E 1{U > 0} V₊
    p11 = b * p01 + x * at_u + both + r * p00
    p02 = c * p01 + p00 + r * (x * at_u + both)
    p12 = b * p02 + (x * x + s * s) * at_u + x * both + 2 * r * p01
    return np.asarray(b * p12 + p02 + 2 * r * p11)


def _orthant_probability(b: np.ndarray, c: np.ndarray, r: np.ndarray, tx: np.ndarray, ty: np.ndarray) -> np.ndarray:
    """P(U > 0, V > 0) = ½Φ(b) + ½Φ(c) − T(b, tx/b) − T(c, ty/c) − ½·[b and c of opposite sign], T Owen's function."""
    from scipy.special import ndtr, owens_t

    b, c = b + 0.0, c + 0.0  # −0 would change the sign of the infinite tx/b
    centred = 0.5 - np.arccos(r) / (2 * np.pi)
    if not (b.any() or c.any()):
        return np.asarray(centred)
    opposite = (np.minimum(b, c) < 0) & (np.maximum(b, c) >= 0)
    owen = owens_t(b, _quotient(tx, b)) + owens_t(c, _quotient(ty, c))
    probability = np.clip(0.5 * (ndtr(b) + ndtr(c)) - owen - 0.5 * opposite, 0.0, 1.0)
    return np.asarray(np.where((b == 0) & (c == 0), centred, probability))


def _quotient(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x / y with 0 / 0 = 0 and x / 0 = ±∞."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return np.asarray(np.where(x == 0, 0.0, x / y))
