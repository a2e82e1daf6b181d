"""Lists of units φ(σ⟨u, x⟩ + b) with what their inner products need: Hermite coefficients, energies, sizes.

With h_k = He_k/√k! and z ~ N(0, 1): φ_k = E φ(σz+b) h_k(z), Σ_k φ_k² = E φ(σz+b)², Σ_k k φ_k² = σ² E φ′(σz+b)².
Each is computed once, when first asked for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from weightlift import activations
from weightlift.activations import Activation
from weightlift.activations.limits import LIMITS as QUADRATURE
from weightlift.activations.quadrature import Function, gaussian_means, normal_density
from weightlift.errors import ActivationError, NotFiniteError, ShapeError
from weightlift.geometry.limits import LIMITS

EPS = float(np.finfo(float).eps)
TINY = float(np.finfo(float).tiny)
ROUNDING = 4 * EPS  # of units and their products, relative to their sizes
FLOOR = 16 * EPS  # of energies that are what a series has left


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
        if not (np.isfinite(W).all() and np.isfinite(offset).all()):
            raise NotFiniteError("W and b must be finite; remove units that hold NaN or infinity.")
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
            known[:] = [self._hermites(max_order)]
            known[0].flags.writeable = False
        return known[0][: max_order + 1]

    def _hermites(self, max_order: int) -> np.ndarray:
        if not closed(self.activation):
            return self.activation.hermite_normalized(max_order, self.scale, self.offset)
        q, (m, kappa) = int(self.activation.degree or 0), split(self.activation)
        ramp = activations.relu if q == 1 else activations.squared_relu
        coefficients = kappa * ramp.hermite_normalized(max_order, self.scale, self.offset)
        coefficients[: q + 1] += m * power_hermites(q, self)[: max_order + 1]
        return np.asarray(coefficients)

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
        """What rounding errors are relative to: (E φ²)^½ and, of w, (σ² E φ′²)^½; in closed forms, |m| u^q + |κ| u^q."""
        if closed(self.activation):
            q, parts = int(self.activation.degree or 0), sum(map(abs, split(self.activation)))
            return np.asarray((q + 1) * parts * np.linalg.norm(power_hermites(q, self), axis=0))
        return np.asarray(np.sqrt(self.energy) + np.sqrt(self.slope_energy))

    def _mean_square(self, function: Function) -> np.ndarray:
        squares = np.asarray(function(self.offset)) ** 2
        moving = self.scale > 0
        if moving.any():
            _check_square_integrable(self.activation, function, self.scale[moving], self.offset[moving])
            squares[moving] = gaussian_means(
                lambda z, u: [function(u) ** 2], 1, self.scale[moving], self.offset[moving], self.activation.kinks
            )[0]
        return squares


def _check_square_integrable(activation: Activation, function: Function, scale: np.ndarray, offset: np.ndarray) -> None:
    """That φ(σz+b)² e^{−z²/2} has died out where quadrature ends, |z| = 15; else E φ² is infinite, or not what it finds."""
    z = np.linspace(-QUADRATURE.reach, QUADRATURE.reach, 121)
    with np.errstate(over="ignore", invalid="ignore"):
        integrand = np.asarray(function(scale[:, None] * z + offset[:, None])) ** 2 * normal_density(z)
    ends, largest = integrand[:, [0, -1]].max(axis=1), integrand.max(axis=1)
    lost = ~((ends <= LIMITS.unseen * largest) & np.isfinite(largest))
    if lost.any():
        i = int(np.argmax(lost))
        raise ActivationError(
            f"{activation.name} is not square-integrable at scale ‖w‖ = {scale[i]:g}: E φ(‖w‖z + b)², z ~ N(0, 1), is "
            "infinite, or beyond quadrature. Such a network has no L² norm; use smaller weights, or a φ that grows more slowly."
        )


def closed(*functions: Activation) -> bool:
    """Whether products of these activations have a closed form."""
    return functions[0].degree in (1, 2) and all(phi.degree == functions[0].degree for phi in functions)


def split(activation: Activation) -> tuple[float, float]:
    """(m, κ) with φ(z) = m z^q + κ z₊^q, φ homogeneous of degree q."""
    left, right = (float(activation(sign)) for sign in (-1.0, 1.0))
    m = left * (-1.0) ** int(activation.degree or 0)
    return m, right - m


def power_hermites(q: int, units: Units) -> np.ndarray:
    """E (σz+b)^q h_k(z), k = 0 … q ≤ 2."""
    sigma, b = units.scale, units.offset
    return np.stack([b, sigma] if q == 1 else [b * b + sigma * sigma, 2 * sigma * b, math.sqrt(2) * sigma * sigma])


def coefficients(left: Units, right: Units, cosine: float) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """φ_k and ψ_k up to the order after which |r| ≤ cosine leaves nothing but rounding, and the norms of what is left."""
    most = LIMITS.kinked_order if left.activation.kinks and right.activation.kinks else LIMITS.order
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
