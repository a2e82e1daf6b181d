"""Closed-form Gaussian integrals of φ(u) = l(u) for u ≤ 0, r(u) for u > 0, with polynomials l and r.

ReLU, leaky ReLU, squared ReLU, absolute value, linear, quadratic and every polynomial are of this kind. By Stein's
lemma in the sense of distributions, with β = b/σ and h_k = He_k/√k!,

    E φ(σz+b) h_k(z) = σᵏ/√k! E φ⁽ᵏ⁾(σz+b) + Σ_{i<k} σⁱ i! (rᵢ − lᵢ) (−1)^{k−i−1} He_{k−i−1}(β) e^{−β²/2}/√(2π k!),

where φ⁽ᵏ⁾ is taken piece by piece and the sum carries the jumps of the i-th derivatives at 0; for ReLU it is
[awasthi2021, Lemma 3.5]. Only E(σz+b)₊ᵐ is left. No sum of terms of opposite sign beyond those that φ itself has.
Cost O(K) a pair (σ, b) for the orders up to K.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from weightlift.activations.limits import LIMITS
from weightlift.activations.quadrature import Quadrature, damped_hermites, normal_density, root_factorial


@dataclass(frozen=True)
class PiecewisePolynomial(Quadrature):
    """Coefficients of l and r in ascending order, of equal length."""

    left: tuple[float, ...]
    right: tuple[float, ...]

    @property
    def polynomial(self) -> bool:
        return self.left == self.right

    def hermites(self, max_order: int, scale: np.ndarray, offset: np.ndarray) -> np.ndarray:
        left, right = np.array(self.left), np.array(self.right)
        degree = left.size - 1
        coefficients = np.zeros((max_order + 1, scale.size))
        for k in range(min(degree, max_order) + 1):
            coefficients[k] = scale**k / root_factorial(k) * _mean(left, right, scale, offset)
            left, right = _differentiate(left), _differentiate(right)
        if self.left != self.right and max_order:
            coefficients[1:] += self._jump_terms(max_order, scale, offset)
        return coefficients

    def derivative_moment(self, power: int, q: int, scale: np.ndarray) -> np.ndarray:
        """E φ′(σz)^power z^q = Σ_m (r_m + (−1)^{m+q} l_m) σᵐ E z₊^{m+q}, with the coefficients of (φ′)^power."""
        left, right = (_differentiate(np.array(side)) for side in (self.left, self.right))
        if power == 2:
            left, right = np.convolve(left, left), np.convolve(right, right)
        total = np.zeros_like(scale)
        for m, (low, high) in enumerate(zip(left, right, strict=True)):
            total = total + (high + (-1.0) ** (m + q) * low) * scale**m * _half_moment(m + q)
        return total

    def _jump_terms(self, max_order: int, scale: np.ndarray, offset: np.ndarray) -> np.ndarray:
        """The terms of the orders 1 … max_order that come from the jumps at 0."""
        bells = damped_hermites(max_order - 1, _ratio(offset, scale))
        orders = np.arange(1.0, max_order + 1)
        terms = np.zeros((max_order, scale.size))
        factor = np.ones_like(orders)  # i! √((k−i−1)!/k!)
        for i, (low, high) in enumerate(zip(self.left[:max_order], self.right[:max_order], strict=True)):
            factor = factor[min(i, 1) :] * max(i, 1) / np.sqrt(orders[: max_order - i])
            signs = (-1.0) ** np.arange(max_order - i)
            terms[i:] += (high - low) * scale**i * (signs * factor)[:, None] * bells[: max_order - i]
        return terms


def _mean(left: np.ndarray, right: np.ndarray, scale: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """E of the piecewise polynomial at u = σz+b."""
    from scipy.special import erf

    if np.array_equal(left, right):
        return np.tensordot(right, np.stack(_moments(right.size - 1, scale, offset)), 1)
    above = _truncated_moments(right.size - 1, scale, offset)
    below = _truncated_moments(left.size - 1, scale, -offset)
    if left[0] * right[0] < 0:  # their difference, which Φ(β) − Φ(−β) would lose near β = 0
        total = (right[0] + left[0]) / 2 + (right[0] - left[0]) / 2 * erf(_ratio(offset, scale) / math.sqrt(2.0))
    else:
        total = right[0] * above[0] + left[0] * below[0]
    for m in range(1, right.size):
        total = total + right[m] * above[m] + left[m] * (-1.0) ** m * below[m]
    return np.asarray(total)


def _moments(degree: int, scale: np.ndarray, offset: np.ndarray) -> list[np.ndarray]:
    """E uᵐ for m ≤ degree, by E uᵐ = b E uᵐ⁻¹ + (m−1)σ² E uᵐ⁻² (Stein)."""
    moments = [np.ones_like(scale), offset]
    for m in range(2, degree + 1):
        moments.append(offset * moments[-1] + (m - 1) * scale**2 * moments[-2])
    return moments[: degree + 1]


def _truncated_moments(degree: int, scale: np.ndarray, offset: np.ndarray) -> list[np.ndarray]:
    """E u₊ᵐ for m ≤ degree.

    Same recurrence, started by E u₊⁰ = Φ(β), E u₊ = bΦ(β) + σ e^{−β²/2}/√(2π). Far below zero it cancels; there
    E u₊ᵐ = σᵐ m! I_m with I_m = ∫_x^∞ (t−x)ᵐ/m! e^{−t²/2}/√(2π) dt, x = −β, and the ratios of neighbours are the
    continued fraction of positive terms I_m/I_{m−1} = 1/(x + (m+1) I_{m+1}/I_m).
    """
    from scipy.special import ndtr

    beta = _ratio(offset, scale)
    density = normal_density(beta)
    near = [ndtr(beta), offset * ndtr(beta) + scale * density]
    for m in range(2, degree + 1):
        near.append(offset * near[-1] + (m - 1) * scale**2 * near[-2])
    if not np.any(beta < -LIMITS.far):
        return near[: degree + 1]
    x = np.maximum(-beta, LIMITS.far)
    ratio = np.zeros_like(x)
    ratios: list[np.ndarray] = []
    for m in range(degree + 70, -1, -1):
        ratio = 1.0 / (x + (m + 1) * ratio)
        ratios.append(ratio)
    moments, far = [], density
    for m in range(degree + 1):
        far = far * ratios[-1 - m] * (m * scale if m else 1.0)
        moments.append(np.where(beta < -LIMITS.far, far, near[m]))
    return moments


def _ratio(offset: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """β = b/σ, clipped where the density has long vanished."""
    with np.errstate(over="ignore"):
        beta: np.ndarray = np.clip(offset / scale, -LIMITS.clip, LIMITS.clip)
    return beta


def _half_moment(n: int) -> float:
    """E z₊ⁿ = (n−1)!!/2 for even n, 2^{(n−1)/2} ((n−1)/2)!/√(2π) for odd n."""
    if n % 2:
        return math.ldexp(math.factorial(n // 2), n // 2) / math.sqrt(2.0 * math.pi)
    return math.prod(range(1, n, 2)) / 2.0


def _differentiate(coefficients: np.ndarray) -> np.ndarray:
    if coefficients.size == 1:
        return np.zeros(1)
    return np.asarray(coefficients[1:] * np.arange(1.0, coefficients.size))
