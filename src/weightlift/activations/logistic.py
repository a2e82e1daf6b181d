"""Gaussian integrals of the logistic family: sigmoid, tanh, softplus, SiLU.

By Stein's lemma, for every j ≤ k and with Taylor coefficients c_j(u) = φ⁽ʲ⁾(u)/j!,

    E φ(σz+b) h_k(z) = σʲ j! √((k−j)!/k!) E c_j(σz+b) h_{k−j}(z),      h_k = He_k/√k!,

and the rounding error is at most eps times B_j = σʲ j! √((k−j)!/k!) (E c_j²)^½ (Cauchy–Schwarz). The j with the least
B_j is taken for each (σ, b, k): B_j is then close to the coefficient itself, which keeps its relative accuracy however
small it is (up to order 32; beyond, at σ < 1, a j above 32 may be best, and the error is below 1e-22 instead).
Nodes are equispaced in z at distance h; the error is e^{−2π²/(σh)}, the poles being at u = ±iπ.
Cost O(J² + JK) for each of 150 max(1, σ) nodes a pair (σ, b), J = min(K, 32).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from weightlift import hermite
from weightlift.activations import functions
from weightlift.activations.limits import LIMITS
from weightlift.activations.quadrature import Quadrature, gaussian_means, normal_density

Taylor = Callable[[int, np.ndarray], list[np.ndarray]]  # (J, u) -> φ⁽ʲ⁾(u)/j! for j = 0 … J, up to a constant in j = 0


@dataclass(frozen=True)
class Sigmoid(Quadrature):
    def hermites(self, max_order: int, scale: np.ndarray, offset: np.ndarray) -> np.ndarray:
        mean = gaussian_means(lambda z, u: [functions.sigmoid(u)], 1, scale, offset)
        return np.concatenate([mean, logistic_hermites(max_order, scale, offset)])


@dataclass(frozen=True)
class Tanh(Quadrature):
    def hermites(self, max_order: int, scale: np.ndarray, offset: np.ndarray) -> np.ndarray:
        """tanh(u) = 2/(1+e^{−2u}) − 1."""
        mean = gaussian_means(lambda z, u: [np.tanh(u)], 1, scale, offset)
        return np.concatenate([mean, 2.0 * logistic_hermites(max_order, 2.0 * scale, 2.0 * offset)])


@dataclass(frozen=True)
class Softplus(Quadrature):
    def hermites(self, max_order: int, scale: np.ndarray, offset: np.ndarray) -> np.ndarray:
        """Its derivative is the sigmoid: the order k is σ/√k times the sigmoid's order k−1."""
        means = gaussian_means(lambda z, u: [functions.softplus(u), functions.sigmoid(u)], 2, scale, offset)
        slopes = np.concatenate([means[1:], logistic_hermites(max_order - 1, scale, offset)])[:max_order]
        return np.concatenate([means[:1], scale * slopes / np.sqrt(np.arange(1.0, max_order + 1))[:, None]])


@dataclass(frozen=True)
class Silu(Quadrature):
    def hermites(self, max_order: int, scale: np.ndarray, offset: np.ndarray) -> np.ndarray:
        mean = gaussian_means(lambda z, u: [functions.silu(u)], 1, scale, offset)
        return np.concatenate([mean, stein_hermites(self, _silu_taylor, max_order, scale, offset)])


def logistic_hermites(max_order: int, scale: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """E φ(σz+b) h_k(z), φ(u) = 1/(1+e^{−u}), for k = 1 … max_order: shape (max(max_order, 0), P)."""
    plain = Quadrature(functions.sigmoid, functions.sigmoid_derivative, ())
    return stein_hermites(plain, _logistic_taylor, max_order, scale, offset)


def stein_hermites(plain: Quadrature, taylor: Taylor, max_order: int, scale: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """E φ(σz+b) h_k(z) for k = 1 … max_order, of a φ with poles at ±iπ: shape (max(max_order, 0), P)."""
    coefficients = np.empty((max(max_order, 0), scale.size))
    if max_order < 1:
        return coefficients
    octave = np.ceil(np.log2(np.maximum(scale, 1.0)))
    for level in np.unique(octave[scale <= LIMITS.steep]):
        pairs = np.flatnonzero((octave == level) & (scale <= LIMITS.steep))
        coefficients[:, pairs] = _stein_trapezoid(taylor, max_order, scale[pairs], offset[pairs], int(level))
    steep = np.flatnonzero(scale > LIMITS.steep)
    if steep.size:
        slopes = plain.derivative_hermites(max_order - 1, scale[steep], offset[steep])
        coefficients[:, steep] = scale[steep] * slopes / np.sqrt(np.arange(1.0, max_order + 1))[:, None]
    return coefficients


def _stein_trapezoid(taylor: Taylor, max_order: int, scale: np.ndarray, offset: np.ndarray, level: int) -> np.ndarray:
    """The orders 1 … max_order for scales up to 2^level: matrix products with weighted Hermite polynomials at common z.

    The best j falls like 1/σ, and so does the highest that is tried.
    """
    step, highest = LIMITS.step * 2.0**-level, min(max_order, LIMITS.derivatives >> level)
    reach = round(LIMITS.reach / step)
    z = step * np.arange(-reach, reach + 1)
    weight = step * normal_density(z)
    polynomials = weight[:, None] * np.stack(hermite.normalized(max_order, z), axis=1)  # (nodes, max_order+1)
    coefficients = np.empty((scale.size, max_order + 1))
    rows = max(1, LIMITS.floats // (z.size * (highest + 1)))
    for start in range(0, scale.size, rows):
        sigma, b = scale[start : start + rows, None], offset[start : start + rows, None]
        best = np.full((sigma.size, max_order + 1), np.inf)
        chosen = np.zeros_like(best)
        factor = np.ones(max_order + 1)  # j! √((k−j)!/k!) for k = j … max_order
        for j, c in enumerate(taylor(highest, sigma * z + b)):
            if j:
                factor = j * factor[1:] / np.sqrt(np.arange(1.0, max_order - j + 2))
            lifted = sigma**j * factor
            bound = lifted * np.sqrt((c * c) @ weight)[:, None]
            better = bound < best[:, j:]
            best[:, j:] = np.where(better, bound, best[:, j:])
            chosen[:, j:] = np.where(better, lifted * (c @ polynomials[:, : max_order - j + 1]), chosen[:, j:])
        coefficients[start : start + rows] = chosen
    return coefficients[:, 1:].T


def _logistic_taylor(highest: int, u: np.ndarray) -> list[np.ndarray]:
    """Taylor coefficients of t(u) = 1/(1+e^{−u}) − 1/2 at u, from t′ = 1/4 − t²: (n+1) c_{n+1} = −Σ c_i c_{n−i}.

    Relative accuracy survives in the tails: c₁ is computed without cancellation and 2 c₀ c_n leads every later sum.
    """
    c = [0.5 * np.tanh(0.5 * u), functions.sigmoid_derivative(u)]
    for n in range(1, highest):
        total = c[0] * c[n]
        for i in range(1, (n + 1) // 2):
            total += c[i] * c[n - i]
        total *= 2.0
        if n % 2 == 0:
            total += c[n // 2] ** 2
        c.append(total / -(n + 1.0))
    return c[: highest + 1]


def _silu_taylor(highest: int, u: np.ndarray) -> list[np.ndarray]:
    """Those of u/(1+e^{−u}), by Leibniz: c_j = u t_j + t_{j−1}."""
    t = _logistic_taylor(highest, u)
    later = [u * t[j] + t[j - 1] for j in range(2, highest + 1)]
    return [functions.silu(u), functions.silu_derivative(u), *later][: highest + 1]
