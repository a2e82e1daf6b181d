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
MAX_ORDER = 1024
KINKED_ORDER = 256  # coefficients decay algebraically: more orders gain little
CLOSE = 0.9  # cosines above it take more orders than the bulk
BLOCK = 2**18
TINY = float(np.finfo(float).tiny)


def gram(
    activation: str | Activation, W: Any, b: Any = None, W2: Any = None, b2: Any = None, *, activation2: Any = None
) -> np.ndarray:
    """E φ(⟨wᵢ, x⟩ + bᵢ) ψ(⟨vⱼ, x⟩ + cⱼ), (k, k'), for the columns of W (d, k) and W2 (d, k'); W2, b2, ψ are W, b, φ if omitted.

    To about 1e-15 of the units' sizes; for a user's φ with kinks, nearly parallel units lose what lies beyond order 256.

    >>> gram("relu", np.eye(2)) * 2 * np.pi
    array([[3.14159265, 1.        ],
           [1.        , 3.14159265]])
    """
    left = Units.of(activations.get(activation), W, b)
    if W2 is None and activation2 is None:
        return products(left, left).values
    right = Units.of(activations.get(activation2 or activation), *((W, b) if W2 is None else (W2, b2)))
    if left.directions.shape[0] != right.directions.shape[0]:
        raise ShapeError(f"W has {left.directions.shape[0]} inputs, W2 has {right.directions.shape[0]}; pass equal numbers.")
    return products(left, right).values


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
        known: list[np.ndarray] = self._known
        if not known or len(known[0]) <= max_order:
            known[:] = [self.activation.hermite_normalized(max_order, self.scale, self.offset)]
            known[0].flags.writeable = False
        return known[0][: max_order + 1]

    @cached_property
    def _known(self) -> list[np.ndarray]:
        """The longest series computed so far."""
        return []

    @cached_property
    def energy(self) -> np.ndarray:
        """E φ(σz + b)²."""
        return self._mean_square(self.activation.value)

    @cached_property
    def slope_energy(self) -> np.ndarray:
        """σ² E φ′(σz + b)² = Σ_k k φ_k²."""
        return np.asarray(self.scale**2 * self._mean_square(self.activation.derivative))

    @cached_property
    def sizes(self) -> np.ndarray:
        """What rounding errors are relative to: (E φ²)^½ and, for those of w, (σ² E φ′²)^½; in closed forms, |m| u^q + |κ| u^q."""
        if closed(self.activation):
            q, parts = int(self.activation.degree or 0), sum(map(abs, split(self.activation)))
            return np.asarray((q + 1) * parts * np.linalg.norm(power_hermites(q, self), axis=0))
        return np.asarray(np.sqrt(self.energy) + np.sqrt(self.slope_energy))

    def _mean_square(self, function: Function) -> np.ndarray:
        squares = np.asarray(function(self.offset)) ** 2
        moving = self.scale > 0
        if moving.any():
            squares[moving] = gaussian_means(
                lambda z, u: [function(u) ** 2], 1, self.scale[moving], self.offset[moving], self.activation.kinks
            )[0]
        return squares


@dataclass(frozen=True)
class Products:
    """Inner products (k, k'), and bounds `cut` on what the series of the pairs rows[n], columns[n] of units has left.

    Rounding, and what other series have left, is at most 4 eps times the product of the two sizes.
    """

    values: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    cut: np.ndarray

    def form(self, a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
        """Σ aᵢ values[i, j] bⱼ, and what was cut off it."""
        return float(a @ self.values @ b), float(np.abs(a[self.rows] * b[self.columns]) @ self.cut)


def products(left: Units, right: Units) -> Products:
    """The inner products of all pairs of units; each unordered pair is computed once if left is right."""
    values = np.empty((len(left), len(right)))
    nothing = np.empty(0, dtype=int)
    result = Products(values, nothing, nothing, np.empty(0))
    if values.size == 0:
        return result
    if closed(left.activation, right.activation):
        _homogeneous_products(left, right, values)
    else:
        result = _series_products(left, right, values)
    return result


def closed(*functions: Activation) -> bool:
    """Whether products of these activations have a closed form."""
    return functions[0].degree in (1, 2) and all(phi.degree == functions[0].degree for phi in functions)


def _homogeneous_products(left: Units, right: Units, values: np.ndarray) -> None:
    """m n E U^q V^q + n κ E U₊^q V^q + m λ E U^q V₊^q + κ λ E U₊^q V₊^q for φ = m z^q + κ z₊^q and ψ = n z^q + λ z₊^q.

    The first three are E φ(U) n V^q + E m U^q ψ(V) − E m U^q n V^q: series that end at k = q.
    """
    q = int(left.activation.degree or 0)
    (m, kappa), (n, lamda) = (split(units.activation) for units in (left, right))
    P, Q = m * power_hermites(q, left), n * power_hermites(q, right)
    F, G = left.hermites(q), right.hermites(q)
    beta, gamma = (np.divide(u.offset, u.scale, out=np.zeros(len(u)), where=u.scale > 0) for u in (left, right))
    sigma, tau = left.scale**q, right.scale**q
    for rows, columns, r in _cosines(left, right):
        value = np.zeros_like(r)
        for k in range(q, -1, -1):
            value = value * r + np.outer(F[k, rows], Q[k, columns]) + np.outer(P[k, rows], G[k, columns] - Q[k, columns])
        if kappa * lamda:
            both = _orthant_products(q, beta[rows, None], gamma[None, columns], r)
            value += kappa * lamda * np.outer(sigma[rows], tau[columns]) * both
        still = np.logical_or.outer(sigma[rows] == 0, tau[columns] == 0)
        value[still] = np.outer(F[0, rows], G[0, columns])[still]
        _store(values, rows, columns, value, symmetric=left is right)


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


def _series_products(left: Units, right: Units, values: np.ndarray) -> Products:
    """Σ_k φ_k ψ_k rᵏ by Horner's rule: most pairs together, nearly parallel ones by themselves to a higher order."""
    reach, found = 0.0, []
    for rows, columns, r in _cosines(left, right):
        i, j = np.nonzero(np.abs(r) > CLOSE)
        found.append((i + rows.start, j + columns.start, r[i, j]))
        reach = max(reach, float(np.abs(np.where(np.abs(r) > CLOSE, 0.0, r)).max()))
    F, G, _ = coefficients(left, right, reach)
    for rows, columns, r in _cosines(left, right):
        value = np.zeros_like(r)
        for phi, psi in zip(F[::-1, rows], G[::-1, columns], strict=True):
            value *= r
            if phi.any() and psi.any():
                value += np.outer(phi, psi)
        _store(values, rows, columns, value, symmetric=left is right)

    i, j, r = (np.concatenate(parts) for parts in zip(*found, strict=True))
    if left is right:
        np.fill_diagonal(values, left.energy)
        i, j, r = i[i < j], j[i < j], r[i < j]
    cut = np.zeros(i.size)
    if i.size:
        (m, own), (n, other) = (np.unique(index, return_inverse=True) for index in (i, j))
        F, G, tails = coefficients(left[m], right[n], 1.0)
        cut = np.abs(r) ** len(F) * tails[0][own] * tails[1][other]
        for part in np.array_split(np.arange(i.size), math.ceil(i.size * len(F) / (16 * BLOCK))):
            products = F[:, own[part]] * G[:, other[part]]
            values[i[part], j[part]] = np.polynomial.polynomial.polyval(r[part], products, tensor=False)
        if left is right:
            values[j, i] = values[i, j]
            i, j, cut = np.concatenate([i, j]), np.concatenate([j, i]), np.concatenate([cut, cut])
    return Products(values, i, j, cut)


def coefficients(left: Units, right: Units, cosine: float) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """φ_k and ψ_k up to the order after which |r| ≤ cosine leaves nothing but rounding, and the norms of what is left."""
    most = KINKED_ORDER if left.activation.kinks and right.activation.kinks else MAX_ORDER
    order = 16
    while True:
        order *= 4
        F = left.hermites(order)
        G = F if left is right else right.hermites(order)
        tails = [tail_norms(units.energy, (C * C).sum(axis=0), C) for units, C in ((left, F), (right, G))]
        shares = [np.max(t / np.sqrt(units.energy + TINY)) for units, t in zip((left, right), tails, strict=True)]
        left_over = shares[0] * shares[1]
        if cosine ** (order + 1) * left_over <= EPS or left_over <= 2 * FLOOR or order >= most:
            return F, G, tails


def tail_norms(energy: np.ndarray, reached: np.ndarray, C: np.ndarray) -> np.ndarray:
    """(Σ_{k>K} c_k²)^½ = (energy − Σ_{k≤K} c_k²)^½ up to rounding; zero where the series of C (K+1, k) has ended."""
    ended = ~C[len(C) // 2 :].any(axis=0)
    return np.where(ended, 0.0, np.sqrt(np.maximum(energy - reached, 0.0) + FLOOR * energy))


def _cosines(left: Units, right: Units) -> Iterator[tuple[slice, slice, np.ndarray]]:
    """⟨uᵢ, vⱼ⟩ in blocks of rows; if left is right, those on and right of the diagonal only."""
    size = max(1, BLOCK // len(right))
    for start in range(0, len(left), size):
        rows, columns = slice(start, start + size), slice(start if left is right else 0, None)
        r = np.clip(left.directions[:, rows].T @ right.directions[:, columns], -1.0, 1.0)
        if left is right:
            i = np.arange(len(r))
            r[i, i] = np.where(left.scale[rows] > 0, 1.0, 0.0)
        yield rows, columns, r


def _store(values: np.ndarray, rows: slice, columns: slice, block: np.ndarray, *, symmetric: bool) -> None:
    if symmetric:
        corner = block[:, : len(block)]
        corner[:] = np.triu(corner) + np.triu(corner, 1).T
        values[columns, rows] = block.T
    values[rows, columns] = block
