"""Gaussian integrals of the exponential linear unit: u for u > 0, α(eᵘ − 1) otherwise.

φ″ = αeᵘ 1{u<0} + (1−α)δ₀, so that Stein's lemma, with β = b/σ, h_k = He_k/√k! and i_k = E eᵘ 1{u<0} h_k(z), u = σz+b, gives

    E φ(u) h₁(z) = σ(Φ(β) + α i₀),
    E φ(u) h_k(z) = σ/√(k(k−1)) (ασ i_{k−2} + (1−α)(−1)ᵏ h_{k−2}(β) e^{−β²/2}/√(2π))      for k ≥ 2.

With z = −β − y, i_k = (−1)ᵏ e^{−β²/2}/√(2π) ∫₀^∞ e^{−(β+σ)y − y²/2} h_k(β+y) dy, by Gauss–Legendre panels: the small factor
stands before the integral, and no digits are lost however far away the kink is. Where β + σ is far below zero nothing is cut
off, and √k i_k = σ i_{k−1} + (−1)ᵏ h_{k−1}(β) e^{−β²/2}/√(2π) from i₀ = e^{b+σ²/2} Φ(−β−σ).
Cost O(512 K) a pair (σ, b) for the orders up to K.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weightlift import hermite
from weightlift.activations.limits import LIMITS
from weightlift.activations.quadrature import Quadrature, damped_hermites, gaussian_means

PANELS, NODES = 32, 16  # e^{−(β+σ)y} falls by e^{3.5} over each panel, h_k turns less than three times up to order 10³


@dataclass(frozen=True)
class ExponentialLinear(Quadrature):
    alpha: float

    def hermites(self, max_order: int, scale: np.ndarray, offset: np.ndarray) -> np.ndarray:
        from scipy.special import ndtr

        mean = gaussian_means(lambda z, u: [self.value(u)], 1, scale, offset, self.kinks)
        if max_order == 0:
            return mean
        with np.errstate(over="ignore"):
            beta = offset / scale
        below = exponential_hermites(max(max_order - 2, 0), scale, beta)
        first = scale * (ndtr(beta) + self.alpha * below[:1])
        k = np.arange(2.0, max_order + 1)[:, None]
        kinks = (1.0 - self.alpha) * (-1.0) ** k * damped_hermites(max(max_order - 2, 0), beta)[: max_order - 1]
        rest = scale / np.sqrt(k * (k - 1)) * (self.alpha * scale * below[: max_order - 1] + kinks)
        return np.concatenate([mean, first, rest])


def exponential_hermites(max_order: int, scale: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """i_k = E eᵘ 1{u<0} h_k(z) for k = 0 … max_order, (max_order+1, P)."""
    found = np.empty((max_order + 1, scale.size))
    far = beta + scale < -LIMITS.inside
    found[:, far] = _recurrence(max_order, scale[far], beta[far])
    near = np.flatnonzero(~far)
    rows = max(1, LIMITS.floats // (PANELS * NODES * (max_order + 2)))
    for i in range(0, near.size, rows):
        chunk = near[i : i + rows]
        found[:, chunk] = _beyond_the_kink(max_order, scale[chunk], np.minimum(beta[chunk], LIMITS.clip))
    return found


def _recurrence(max_order: int, scale: np.ndarray, beta: np.ndarray) -> np.ndarray:
    from scipy.special import ndtr

    bells = damped_hermites(max(max_order - 1, 0), beta)
    terms = [np.exp(scale * (beta + 0.5 * scale)) * ndtr(-beta - scale)]
    for k in range(1, max_order + 1):
        terms.append((scale * terms[-1] + (-1.0) ** k * bells[k - 1]) / k**0.5)
    return np.stack(terms)


def _beyond_the_kink(max_order: int, scale: np.ndarray, beta: np.ndarray) -> np.ndarray:
    x = (beta + scale)[:, None]
    root = np.hypot(np.maximum(x, 0.0), LIMITS.reach)
    reach = np.where(x > 0.0, LIMITS.reach**2 / (x + root), root - x)  # y²/2 + xy = reach²/2 beyond the peak at max(−x, 0)
    t, w = np.polynomial.legendre.leggauss(NODES)
    places = ((np.arange(PANELS)[:, None] + (t + 1.0) / 2.0) / PANELS).ravel()
    y = reach * places
    peak = 0.5 * np.minimum(x, 0.0) ** 2
    weight = reach * np.tile(w / (2.0 * PANELS), PANELS) * np.exp(-y * (x + 0.5 * y) - peak)
    sums = np.stack([np.sum(weight * h, axis=1) for h in hermite.normalized(max_order, beta[:, None] + y)])
    height = np.exp(peak[:, 0] - 0.5 * beta**2) / np.sqrt(2.0 * np.pi)
    return np.asarray((-1.0) ** np.arange(max_order + 1)[:, None] * height * sums)
