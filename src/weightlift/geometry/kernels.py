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
from typing import Any

import numpy as np

from weightlift import activations
from weightlift.activations import Activation
from weightlift.errors import ShapeError
from weightlift.geometry.homogeneous import homogeneous_products
from weightlift.geometry.limits import LIMITS
from weightlift.geometry.units import Units, closed, coefficients


def gram(
    activation: str | Activation, W: Any, b: Any = None, W2: Any = None, b2: Any = None, *, activation2: Any = None
) -> np.ndarray:
    """E φ(⟨wᵢ, x⟩ + bᵢ) ψ(⟨vⱼ, x⟩ + cⱼ), (k, k'), for the columns of W (d, k) and W2 (d, k'); W2, b2, ψ are W, b, φ if omitted.

    To about 1e-15 of the units' sizes; for a user's φ with kinks, nearly parallel units lose what lies beyond order 256.

    activation   φ, or its name
    activation2  ψ, or its name

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
    if not closed(left.activation, right.activation):
        return _series_products(left, right, values)
    block = homogeneous_products(left, right)
    for rows, columns, r in _cosines(left, right):
        _store(values, rows, columns, block(rows, columns, r), symmetric=left is right)
    return result


def _series_products(left: Units, right: Units, values: np.ndarray) -> Products:
    """Σ_k φ_k ψ_k rᵏ by Horner's rule: most pairs together, nearly parallel ones by themselves to a higher order."""
    reach, found = 0.0, []
    for rows, columns, r in _cosines(left, right):
        i, j = np.nonzero(np.abs(r) > LIMITS.close)
        found.append((i + rows.start, j + columns.start, r[i, j]))
        reach = max(reach, float(np.abs(np.where(np.abs(r) > LIMITS.close, 0.0, r)).max()))
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
        m, n = np.unique(i), np.unique(j)
        if left is right and 2 * (m.size + n.size) > len(left):  # then the coefficients are kept for later
            m = n = np.arange(len(left))
            F, G, tails = coefficients(left, left, 1.0)
        else:
            F, G, tails = coefficients(left[m], right[n], 1.0)
        own, other = np.searchsorted(m, i), np.searchsorted(n, j)
        cut = np.abs(r) ** len(F) * tails[0][own] * tails[1][other]
        for part in np.array_split(np.arange(i.size), math.ceil(i.size * len(F) / (16 * LIMITS.block))):
            products = F[:, own[part]] * G[:, other[part]]
            values[i[part], j[part]] = np.polynomial.polynomial.polyval(r[part], products, tensor=False)
        if left is right:
            values[j, i] = values[i, j]
            i, j, cut = np.concatenate([i, j]), np.concatenate([j, i]), np.concatenate([cut, cut])
    return Products(values, i, j, cut)


def _cosines(left: Units, right: Units) -> Iterator[tuple[slice, slice, np.ndarray]]:
    """⟨uᵢ, vⱼ⟩ in blocks of rows; if left is right, those on and right of the diagonal only."""
    size = max(1, LIMITS.block // len(right))
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
