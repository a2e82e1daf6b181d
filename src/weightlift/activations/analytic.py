"""Gaussian integrals of the error function (closed) and of the logistic family: sigmoid, tanh, softplus.

erf: E erf(σz+b) = erf(b/s) with s = √(1+2σ²), and E φ(σz+b) He_k(z) = σᵏ ∂ᵏ/∂bᵏ E φ(σz+b) gives the other orders.

Logistic family: by Stein's lemma, for every j ≤ k and with Taylor coefficients c_j(u) = φ⁽ʲ⁾(u)/j!,

    E φ(σz+b) h_k(z) = σʲ j! √((k−j)!/k!) E c_j(σz+b) h_{k−j}(z),      h_k = He_k/√k!,

and the rounding error is at most eps times B_j = σʲ j! √((k−j)!/k!) (E c_j²)^½ (Cauchy–Schwarz). The j with the least
B_j is taken for each (σ, b, k): B_j is then close to the coefficient itself, which keeps its relative accuracy however
small it is (up to order 32; beyond, at σ < 1, a j above 32 may be best, and the error is below 1e-22 instead).
Nodes are equispaced in z at distance h; the error is e^{−2π²/(σh)}, the poles being at u = ±iπ.
Cost O(J² + JK) for each of 150 max(1, σ) nodes a pair (σ, b), J = min(K, 32).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from weightlift import hermite
from weightlift.activations import functions
from weightlift.activations.quadrature import MAX_FLOATS, REACH, Quadrature, gaussian_means, normal_density

STEP = 0.2  # of z times max(1, σ): e^{−2π²/STEP} = 1e-43 pays for poles of order 32
MAX_DERIVATIVE = 32
MAX_SCALE = 8.0  # above it the coefficients decay slowly and one derivative is enough


@dataclass(frozen=True)
class Erf(Quadrature):
    def hermites(self, max_order: int, scale: np.ndarray, offset: np.ndarray) -> np.ndarray:
        """With t = √2σ/s, v = √2b/s: erf(b/s), then 2 tᵏ (−1)^{k−1} h_{k−1}(v) e^{−v²/2}/√(2πk)."""
        from scipy.special import erf

        s = np.hypot(1.0, math.sqrt(2.0) * scale)
        t, v = math.sqrt(2.0) * scale / s, math.sqrt(2.0) * offset / s
        coefficients = np.empty((max_order + 1, scale.size))
        coefficients[0] = erf(offset / s)
        damping = np.exp(-0.25 * np.minimum(v * v, 3e3))
        for k, h in enumerate(hermite.normalized(max(max_order - 1, 0), np.clip(v, -60.0, 60.0))[:max_order], 1):
            bell = h * damping * damping / math.sqrt(2.0 * math.pi)
            coefficients[k] = 2.0 * (-1.0) ** (k - 1) * t**k * bell / math.sqrt(k)
        return coefficients

    def derivative_moment(self, power: int, q: int, scale: np.ndarray) -> np.ndarray:
        """(2/√π)ᵖ E e^{−pσ²z²} z^q = (2/√π)ᵖ (q−1)!! (1+2pσ²)^{−(q+1)/2} for even q, p = power."""
        if q % 2:
            return np.zeros_like(scale)
        s = np.hypot(1.0, math.sqrt(2.0 * power) * scale)
        moment: np.ndarray = (2.0 / math.sqrt(math.pi)) ** power * math.prod(range(1, q, 2)) * s ** -(q + 1.0)
        return moment


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


def logistic_hermites(max_order: int, scale: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """E φ(σz+b) h_k(z), φ(u) = 1/(1+e^{−u}), for k = 1 … max_order: shape (max(max_order, 0), P)."""
    coefficients = np.empty((max(max_order, 0), scale.size))
    if max_order < 1:
        return coefficients
    octave = np.ceil(np.log2(np.maximum(scale, 1.0)))
    for level in np.unique(octave[scale <= MAX_SCALE]):
        pairs = np.flatnonzero((octave == level) & (scale <= MAX_SCALE))
        coefficients[:, pairs] = _stein_trapezoid(max_order, scale[pairs], offset[pairs], int(level))
    steep = np.flatnonzero(scale > MAX_SCALE)
    if steep.size:
        slopes = Quadrature(functions.sigmoid, functions.sigmoid_derivative, ()).derivative_hermites(
            max_order - 1, scale[steep], offset[steep]
        )
        coefficients[:, steep] = scale[steep] * slopes / np.sqrt(np.arange(1.0, max_order + 1))[:, None]
    return coefficients


def _stein_trapezoid(max_order: int, scale: np.ndarray, offset: np.ndarray, level: int) -> np.ndarray:
    """The orders 1 … max_order for scales up to 2^level: matrix products with weighted Hermite polynomials at common z.

    The best j falls like 1/σ, and so does the highest that is tried.
    """
    step, highest = STEP * 2.0**-level, min(max_order, MAX_DERIVATIVE >> level)
    reach = round(REACH / step)
    z = step * np.arange(-reach, reach + 1)
    weight = step * normal_density(z)
    polynomials = weight[:, None] * np.stack(hermite.normalized(max_order, z), axis=1)  # (nodes, max_order+1)
    coefficients = np.empty((scale.size, max_order + 1))
    rows = max(1, MAX_FLOATS // (z.size * (highest + 1)))
    for start in range(0, scale.size, rows):
        sigma, b = scale[start : start + rows, None], offset[start : start + rows, None]
        best = np.full((sigma.size, max_order + 1), np.inf)
        chosen = np.zeros_like(best)
        factor = np.ones(max_order + 1)  # j! √((k−j)!/k!) for k = j … max_order
        for j, c in enumerate(_logistic_taylor(highest, sigma * z + b)):
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
