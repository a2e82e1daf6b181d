"""Gaussian integrals of an activation without closed form: Gauss–Legendre panels split at its kinks.

    E φ(σz+b) = Σ over panels ∫ φ(σz+b) e^{−z²/2}/√(2π) dz,   z ~ N(0, 1), |z| ≤ 15 (beyond, e^{−z²/4} < 4e-25).

Panels have unit width in z and shrink geometrically in u = σz+b towards 0 and the kinks, so that a φ which looks like a
step at large σ is resolved all the same. They are halved until two resolutions agree to 1e-13 of E|integrand|.
Assumes φ continuous, and smooth between its kinks on the scale of its argument; grows at most exponentially.
Orders k ≥ 1 go through Stein's lemma, E φ(σz+b) h_k(z) = σ/√k E φ′(σz+b) h_{k−1}(z) with h_k = He_k/√k!.
Cost O(10³ (K+1)) a pair (σ, b) for the orders up to K, vectorised over the pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weightlift import hermite
from weightlift.activations.limits import LIMITS
from weightlift.errors import ActivationError, ArgumentError
from weightlift.namespaces import FADING, Array

Function = Callable[[Array], Array]
Integrand = Callable[..., Sequence[np.ndarray]]  # (z, u, *columns of parameters) -> arrays of z's shape


@dataclass(frozen=True)
class Quadrature:
    """The integrals of one activation, for scales σ > 0 and offsets b of shape (P,)."""

    value: Function
    derivative: Function
    kinks: tuple[float, ...]

    @property
    def polynomial(self) -> bool:
        """Whether φ is known to be a polynomial."""
        return False

    def __call__(self, order: int, scale: Any, offset: Any) -> np.ndarray:
        """E φ(σz+b) He_order(z), broadcast."""
        sigma, b = np.broadcast_arrays(np.asarray(scale, dtype=float), np.asarray(offset, dtype=float))
        coefficient = self.hermites(order, sigma.ravel(), b.ravel())[order] * root_factorial(order)
        return np.reshape(coefficient, sigma.shape)

    def hermites(self, max_order: int, scale: np.ndarray, offset: np.ndarray) -> np.ndarray:
        """E φ(σz+b) h_k(z) for k = 0 … max_order, shape (max_order+1, P)."""
        mean = gaussian_means(lambda z, u: [self.value(u)], 1, scale, offset, self.kinks)
        if max_order == 0:
            return mean
        slopes = self.derivative_hermites(max_order - 1, scale, offset)
        return np.concatenate([mean, scale * slopes / np.sqrt(np.arange(1.0, max_order + 1))[:, None]])

    def derivative_hermites(self, max_order: int, scale: np.ndarray, offset: np.ndarray) -> np.ndarray:
        """E φ′(σz+b) h_k(z) for k = 0 … max_order."""

        def products(z: np.ndarray, u: np.ndarray) -> list[np.ndarray]:
            slope = self.derivative(u)
            return [slope * h for h in hermite.normalized(max_order, z)]

        return gaussian_means(products, max_order + 1, scale, offset, self.kinks)

    def derivative_moment(self, power: int, q: int, scale: np.ndarray) -> np.ndarray:
        """E φ′(σz)^power z^q: α_q for power 1, β_q for power 2 [zhong2017, Property 3.2]."""
        moment = gaussian_means(lambda z, u: [self.derivative(u) ** power * z**q], 1, scale, np.zeros_like(scale), self.kinks)
        return moment.reshape(scale.shape)

    def nonlinearity(self, scale: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        """β₀−α₀²−α₁² and β₂−α₁²−α₂² as the mean squares that they are, free of cancellation; alpha (3, P).

        E(φ′(σz) − α₀ − α₁z)²  and  E(zφ′(σz) − α₁ − α₂z)².
        """

        def residuals(z: np.ndarray, u: np.ndarray, *a: np.ndarray) -> list[np.ndarray]:
            slope = self.derivative(u)
            return [(slope - a[0] - a[1] * z) ** 2, (slope * z - a[1] - a[2] * z) ** 2]

        rounding = 8.0 * np.finfo(float).eps * np.max(np.abs(alpha), axis=0)
        return gaussian_means(
            residuals, 2, scale, np.zeros_like(scale), self.kinks, parameters=tuple(alpha), root_rounding=rounding
        )


def gaussian_means(
    integrand: Integrand,
    outputs: int,
    scale: np.ndarray,
    offset: np.ndarray,
    kinks: tuple[float, ...] = (),
    *,
    parameters: tuple[np.ndarray, ...] = (),
    root_rounding: np.ndarray | None = None,
) -> np.ndarray:
    """E of each of the integrand's outputs for every pair (σ, b): shape (outputs, P).

    `parameters` reach the integrand as columns. For squares, `root_rounding` (P,) is the rounding error of the root.
    """
    means = np.empty((outputs, scale.size))
    panels = _panels(scale, offset, kinks)
    rounding = np.zeros_like(scale) if root_rounding is None else root_rounding
    pending = np.arange(scale.size)
    coarse, size = _composite_rule(integrand, outputs, panels, scale, parameters, pending, 1)
    for halving in range(1, LIMITS.halvings + 1):
        fine, size = _composite_rule(integrand, outputs, panels, scale, parameters, pending, 2**halving)
        tolerance = LIMITS.agreement * size + rounding[pending] * (np.sqrt(size) + rounding[pending])
        settled = np.all(np.abs(fine - coarse) <= tolerance, axis=0)
        means[:, pending[settled]] = fine[:, settled]
        pending, coarse = pending[~settled], fine[:, ~settled]
        if pending.size == 0:
            return means
    raise ActivationError(
        f"the activation's Gaussian integral at scale {scale[pending[0]]:g}, offset {offset[pending[0]]:g} does not "
        f"settle to {LIMITS.agreement:g}; declare in `kinks` each point where φ or φ′ is not smooth, and keep both finite."
    )


Panels = tuple[np.ndarray, np.ndarray, np.ndarray]


def _panels(scale: np.ndarray, offset: np.ndarray, kinks: tuple[float, ...]) -> Panels:
    """Left ends in z and in u, and widths in u, each (P, E); panels outside the range have zero width.

    Both ends are kept, because near the centres u = σz+b would lose eps·b, and far from them z = (u−b)/σ eps·b/σ.
    """
    doublings = math.ceil(math.log2(max(2.0 * LIMITS.reach * float(np.max(scale, initial=0.0)), 2.0)))
    steps = 2.0 ** np.arange(-1, doublings + 1)
    around = np.concatenate([-steps[::-1], [0.0], steps])
    graded = np.unique(np.concatenate([centre + around for centre in (0.0, *kinks)]))
    uniform = np.linspace(-LIMITS.reach, LIMITS.reach, 31)
    sigma, b = scale[:, None], offset[:, None]
    with np.errstate(over="ignore"):
        z = np.concatenate([(graded - b) / sigma, np.broadcast_to(uniform, (scale.size, 31))], axis=1)
    u = np.concatenate([np.broadcast_to(graded, (scale.size, graded.size)), sigma * uniform + b], axis=1)
    z = np.sort(np.clip(z, -LIMITS.reach, LIMITS.reach), axis=1)
    u = np.sort(np.clip(u, b - LIMITS.reach * sigma, b + LIMITS.reach * sigma), axis=1)
    near = np.maximum(np.abs(u[:, :-1]), np.abs(u[:, 1:])) <= sigma * np.maximum(np.abs(z[:, :-1]), np.abs(z[:, 1:]))
    return z[:, :-1], u[:, :-1], np.where(near, np.diff(u, axis=1), sigma * np.diff(z, axis=1))


@FADING
def _composite_rule(
    integrand: Integrand,
    outputs: int,
    panels: Panels,
    scale: np.ndarray,
    parameters: tuple[np.ndarray, ...],
    pairs: np.ndarray,
    pieces: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Means and mean absolute values, (outputs, len(pairs)), with every panel cut into equal pieces."""
    x, w = np.polynomial.legendre.leggauss(16)
    places = ((np.arange(pieces)[:, None] + (x + 1.0) / 2.0) / pieces).ravel()
    lengths = np.tile(w / (2.0 * pieces), pieces)
    means = np.empty((outputs, pairs.size))
    sizes = np.empty((outputs, pairs.size))
    nodes = panels[0].shape[1] * places.size
    rows = max(1, LIMITS.floats // (nodes * (outputs + 2)))
    for start in range(0, pairs.size, rows):
        chunk = pairs[start : start + rows]
        shape = (chunk.size, nodes)
        left_z, left_u, width = (end[chunk, :, None] for end in panels)
        step = width / scale[chunk, None, None]
        z = (left_z + step * places).reshape(shape)
        weight = (step * lengths).reshape(shape) * normal_density(z)
        u = (left_u + width * places).reshape(shape)
        for i, f in enumerate(integrand(z, u, *(column[chunk, None] for column in parameters))):
            weighted = weight * f
            means[i, start : start + rows] = weighted.sum(axis=1)
            sizes[i, start : start + rows] = np.abs(weighted).sum(axis=1)
    return means, sizes


def root_factorial(k: int) -> float:
    """√k! to the last digit; representable up to k = 300."""
    if k > 300:
        raise ArgumentError(f"He_{k} is too large for double precision; use hermite_normalized beyond order 300.")
    return math.isqrt(math.factorial(k) << 128) / 2**64


@FADING
def normal_density(z: np.ndarray) -> np.ndarray:
    density: np.ndarray = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    return density


@FADING
def damped_hermites(max_order: int, v: np.ndarray) -> np.ndarray:
    """h_n(v) e^{−v²/2}/√(2π) for n = 0 … max_order; damped twice, |h_n(v)| e^{−v²/4} neither overflows nor vanishes early."""
    v = np.clip(v, -LIMITS.clip, LIMITS.clip)
    damping = np.exp(-0.25 * v * v)
    bells = np.stack([damping * h for h in hermite.normalized(max_order, v)])
    return np.asarray(bells * (damping / math.sqrt(2.0 * math.pi)))
