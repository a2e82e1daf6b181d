"""Gaussian inner products of units: E φ(⟨w, x⟩ + b) ψ(⟨v, x⟩ + c) for x ~ N(0, I), over all pairs of two lists of units.

With σ = ‖w‖, r the cosine of w and v, h_k = He_k/√k! and z ~ N(0, 1), Mehler's formula gives

    E φ(⟨w,x⟩+b) ψ(⟨v,x⟩+c) = Σ_k φ_k ψ_k rᵏ,   φ_k = E φ(σz+b) h_k(z).

What follows k = K is at most |r|^{K+1} (E φ² − Σ_{k≤K} φ_k²)^½ (E ψ² − Σ_{k≤K} ψ_k²)^½, by Cauchy–Schwarz. Where φ and ψ are
positively homogeneous of one degree q = 1 or 2 (ReLU, leaky ReLU, absolute value, squared ReLU, linear, quadratic) the sum is
closed: φ(z) = m z^q + κ z₊^q, products with z^q end at k = q, and E U₊^q V₊^q follows from the bivariate normal distribution.
Cost O(k k' (d + K)), closed O(k k' d); temporaries of a few MB beside arrays of the size of the result, (k, k').
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from weightlift import activations
from weightlift.activations import Activation
from weightlift.activations.quadrature import Function, gaussian_means, normal_density
from weightlift.errors import ShapeError

EPS = float(np.finfo(float).eps)
ROUNDING = 4 * EPS  # of units and their products, relative to their sizes
FLOOR = 16 * EPS  # of energies that are what a series has left
MAX_ORDER = 2048
CLOSE = 0.9  # cosines above it take more orders than the bulk
BLOCK = 2**18


def gram(
    activation: str | Activation, W: Any, b: Any = None, W2: Any = None, b2: Any = None, *, activation2: Any = None
) -> np.ndarray:
    """E φ(⟨wᵢ, x⟩ + bᵢ) ψ(⟨vⱼ, x⟩ + cⱼ), (k, k'), for the columns of W (d, k) and W2 (d, k'); W2, b2, ψ are W, b, φ if omitted.

    To about 1e-15 of the units' sizes; for a user's φ with kinks, nearly parallel units lose what lies beyond order 2048.

    >>> gram("relu", np.eye(2)) * 2 * np.pi
    array([[3.14159265, 1.        ],
           [1.        , 3.14159265]])
    """
    left = Units.of(activations.get(activation), W, b)
    if W2 is None and activation2 is None:
        return products(left, left)[0]
    right = Units.of(activations.get(activation2 or activation), *((W, b) if W2 is None else (W2, b2)))
    if left.directions.shape[0] != right.directions.shape[0]:
        raise ShapeError(f"W has {left.directions.shape[0]} inputs, W2 has {right.directions.shape[0]}; pass equal numbers.")
    return products(left, right)[0]


@dataclass(frozen=True)
class Units:
    """φ(σᵢ⟨uᵢ, x⟩ + bᵢ): directions U (d, k) of norm 1, scales σ (k,), offsets b (k,). A constant unit has σ = 0 and u = 0."""

    activation: Activation
    directions: np.ndarray
    scale: np.ndarray
    offset: np.ndarray

    @classmethod
    def of(cls, activation: Activation, W: Any, b: Any = None) -> Units:
        W = np.asarray(W, dtype=float)
        if W.ndim != 2:
            raise ShapeError(f"W must have shape (d, k), not {W.shape}.")
        offset = np.zeros(W.shape[1]) if b is None else np.asarray(b, dtype=float) + 0.0  # −0 becomes 0
        if offset.shape != W.shape[1:]:
            raise ShapeError(f"b must have shape {W.shape[1:]}, one entry a unit, not {offset.shape}.")
        scale = np.linalg.norm(W, axis=0)
        scale = np.where(scale > 1e-100 * np.abs(offset), scale, 0.0)
        return cls(activation, np.divide(W, scale, out=np.zeros_like(W), where=scale > 0), scale, offset)

    def __len__(self) -> int:
        return self.scale.size

    def __getitem__(self, index: np.ndarray) -> Units:
        return Units(self.activation, self.directions[:, index], self.scale[index], self.offset[index])

    def hermites(self, max_order: int) -> np.ndarray:
        """φ_k, (max_order + 1, k)."""
        return self.activation.hermite_normalized(max_order, self.scale, self.offset)

    @cached_property
    def energy(self) -> np.ndarray:
        """E φ(σz + b)²."""
        return self._mean_square(self.activation.value)

    @cached_property
    def slope_energy(self) -> np.ndarray:
        """σ² E φ′(σz + b)² = Σ_k k φ_k²."""
        return self.scale**2 * self._mean_square(self.activation.derivative)

    @cached_property
    def sizes(self) -> np.ndarray:
        """What rounding errors of a unit are relative to: (E φ²)^½, and (σ² E φ′²)^½ for those of w."""
        return np.sqrt(self.energy) + np.sqrt(self.slope_energy)

    def _mean_square(self, function: Function) -> np.ndarray:
        squares = np.asarray(function(self.offset)) ** 2
        moving = self.scale > 0
        if moving.any():
            squares[moving] = gaussian_means(
                lambda z, u: [function(u) ** 2], 1, self.scale[moving], self.offset[moving], self.activation.kinks
            )[0]
        return squares


def products(left: Units, right: Units) -> tuple[np.ndarray, np.ndarray]:
    """The inner products of all pairs of units and a bound on what was cut off their series, both (k, k').

    Rounding adds at most 4 eps times the product of the two sizes.
    """
    r = np.clip(left.directions.T @ right.directions, -1.0, 1.0)
    if r.size == 0:
        return r, r
    if left is right:
        np.fill_diagonal(r, np.where(left.scale > 0, 1.0, 0.0))
    if closed(left.activation, right.activation):
        return _homogeneous_products(left, right, r), np.zeros_like(r)
    return _series_products(left, right, r)


def closed(*functions: Activation) -> bool:
    """Whether products of these activations have a closed form."""
    return functions[0].degree in (1, 2) and all(phi.degree == functions[0].degree for phi in functions)


def _homogeneous_products(left: Units, right: Units, r: np.ndarray) -> np.ndarray:
    """m n E U^q V^q + n κ E U₊^q V^q + m λ E U^q V₊^q + κ λ E U₊^q V₊^q for φ = m z^q + κ z₊^q and ψ = n z^q + λ z₊^q.

    The first three are E φ(U) n V^q + E m U^q ψ(V) − E m U^q n V^q: series that end at k = q.
    """
    q = int(left.activation.degree or 0)
    (m, kappa), (n, lamda) = (split(units.activation) for units in (left, right))
    P, Q = (power_hermites(q, units) for units in (left, right))
    F, G = left.hermites(q), right.hermites(q)
    result = np.empty_like(r)
    scales = left.scale**q, right.scale**q
    beta, gamma = (np.divide(u.offset, u.scale, out=np.zeros(len(u)), where=u.scale > 0) for u in (left, right))
    still = np.logical_or.outer(left.scale == 0, right.scale == 0)
    for rows, columns in _blocks(r, symmetric=left is right):
        cosines = r[rows, columns]
        value = np.zeros_like(cosines)
        for k in range(q, -1, -1):
            value *= cosines
            value += np.outer(F[k, rows], n * Q[k, columns]) + np.outer(m * P[k, rows], G[k, columns] - n * Q[k, columns])
        if kappa * lamda:
            both = _orthant_products(q, beta[rows, None], gamma[None, columns], cosines)
            value += kappa * lamda * np.outer(scales[0][rows], scales[1][columns]) * both
        result[rows, columns] = np.where(still[rows, columns], np.outer(F[0, rows], G[0, columns]), value)
    return _mirrored(result) if left is right else result


def split(activation: Activation) -> tuple[float, float]:
    """(m, κ) with φ(z) = m z^q + κ z₊^q, φ homogeneous of degree q."""
    left, right = (float(activation(sign)) for sign in (-1.0, 1.0))
    m = left * (-1.0) ** int(activation.degree or 0)
    return m, right - m


def power_hermites(q: int, units: Units) -> np.ndarray:
    """E (σz+b)^q h_k(z), k = 0 … q ≤ 2."""
    sigma, b = units.scale, units.offset
    return np.stack([b, sigma] if q == 1 else [b * b + sigma * sigma, 2 * sigma * b, math.sqrt(2) * sigma * sigma])


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
        return (r + b * c) * p00 + c * at_u + b * at_v + both
    p01 = c * p00 + at_v + r * at_u  # E 1{U > 0} V₊
    p11 = b * p01 + x * at_u + both + r * p00
    p02 = c * p01 + p00 + r * (x * at_u + both)
    p12 = b * p02 + (x * x + s * s) * at_u + x * both + 2 * r * p01
    return b * p12 + p02 + 2 * r * p11


def _orthant_probability(b: np.ndarray, c: np.ndarray, r: np.ndarray, tx: np.ndarray, ty: np.ndarray) -> np.ndarray:
    """P(U > 0, V > 0) = ½Φ(b) + ½Φ(c) − T(b, tx/b) − T(c, ty/c) − ½·[b and c of opposite sign], T Owen's function."""
    from scipy.special import ndtr, owens_t

    b, c = b + 0.0, c + 0.0  # −0 would change the sign of the infinite tx/b
    centred = 0.5 - np.arccos(r) / (2 * np.pi)
    if not (b.any() or c.any()):
        return centred
    opposite = np.minimum(np.sign(b), np.sign(c)) + 0 * r < 0
    opposite &= np.sign(b) != np.sign(c)
    owen = owens_t(b + 0 * r, _quotient(tx, b)) + owens_t(c + 0 * r, _quotient(ty, c))
    probability = np.clip(0.5 * (ndtr(b) + ndtr(c)) - owen - 0.5 * opposite, 0.0, 1.0)
    return np.where((b == 0) & (c == 0), centred, probability)


def _quotient(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x / y with 0 / 0 = 0 and x / 0 = ±∞."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return np.where(x == 0, 0.0, x / y)


def _series_products(left: Units, right: Units, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Σ_k φ_k ψ_k rᵏ by Horner's rule: the bulk of the pairs together, nearly parallel ones by themselves to a higher order."""
    close = np.abs(r) > CLOSE
    if left is right:
        np.fill_diagonal(close, False)
    bulk = np.where(close, 0.0, r)
    if left is right:
        np.fill_diagonal(bulk, 0.0)
    F, G, tails = coefficients(left, right, float(np.abs(bulk).max(initial=0.0)))
    result = np.empty_like(r)
    for rows, columns in _blocks(r, symmetric=left is right):
        value = np.zeros_like(bulk[rows, columns])
        for phi, psi in zip(F[::-1, rows], G[::-1, columns], strict=True):
            value *= bulk[rows, columns]
            if phi.any() and psi.any():
                value += np.outer(phi, psi)
        result[rows, columns] = value
    if left is right:
        result = _mirrored(result)
    cut = np.abs(bulk) ** len(F) * np.outer(*tails)
    i, j = np.nonzero(close)
    if i.size:
        F, G, tails = coefficients(left, right, 1.0)
        for part in np.array_split(np.arange(i.size), math.ceil(i.size * len(F) / (16 * BLOCK))):
            I, J = i[part], j[part]  # noqa: E741
            result[I, J] = np.polynomial.polynomial.polyval(r[I, J], F[:, I] * G[:, J], tensor=False)
            cut[I, J] = np.abs(r[I, J]) ** len(F) * tails[0][I] * tails[1][J]
    if left is right:
        np.fill_diagonal(result, left.energy)
        np.fill_diagonal(cut, 0.0)
    return result, cut


def coefficients(left: Units, right: Units, cosine: float) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """φ_k and ψ_k up to the order after which |r| ≤ cosine leaves nothing but rounding, and the norms of what is left."""
    order = 32
    while True:
        order *= 2
        F = left.hermites(order)
        G = F if left is right else right.hermites(order)
        tails = [tail_norms(units.energy, (C * C).sum(axis=0), C) for units, C in ((left, F), (right, G))]
        shares = [np.max(t / np.sqrt(units.energy + 1e-300)) for units, t in zip((left, right), tails, strict=True)]
        if cosine ** (order + 1) * shares[0] * shares[1] <= 2 * FLOOR or order >= MAX_ORDER:
            return F, G, tails


def tail_norms(energy: np.ndarray, reached: np.ndarray, C: np.ndarray) -> np.ndarray:
    """(Σ_{k>K} c_k²)^½ = (energy − Σ_{k≤K} c_k²)^½, up to rounding; zero where the series of C (K+1, k) has ended (polynomial φ)."""
    ended = ~C[len(C) // 2 :].any(axis=0)
    return np.where(ended, 0.0, np.sqrt(np.maximum(energy - reached, 0.0) + FLOOR * energy))


def _blocks(r: np.ndarray, *, symmetric: bool) -> Iterator[tuple[slice, slice]]:
    """Blocks of rows; of a symmetric array, those on and right of the diagonal."""
    rows = max(1, BLOCK // max(1, r.shape[1]))
    for start in range(0, r.shape[0], rows):
        yield slice(start, start + rows), slice(start if symmetric else 0, None)


def _mirrored(A: np.ndarray) -> np.ndarray:
    upper = np.triu(A)
    return upper + np.triu(A, 1).T
