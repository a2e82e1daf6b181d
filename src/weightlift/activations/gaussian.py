"""Closed Gaussian integrals of erf, GELU and the sine, from E φ(σz+b) He_k(z) = σᵏ ∂ᵏ/∂bᵏ E φ(σz+b).

    erf     E erf(σz+b) = erf(b/s),  s = √(1+2σ²)
    GELU    E (σz+b) Φ(σz+b) = bΦ(v) + σ²/s φ₀(v),  v = b/s,  s = √(1+σ²),  φ₀ = Φ′ the normal density; its derivatives in b,
            with (He_n φ₀)′ = −He_{n+1} φ₀, are Φ(v) + v φ₀(v)/s² and s^{1−k} (−1)ᵏ φ₀(v) (He_{k−2}(v) − He_k(v)/s²), k ≥ 2
    sine    E sin(σz+b) = e^{−σ²/2} sin b

Cost O(K) a pair (σ, b) for the orders up to K.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from weightlift import hermite
from weightlift.activations.limits import LIMITS
from weightlift.activations.quadrature import Quadrature, damped_hermites


@dataclass(frozen=True)
class Erf(Quadrature):
    def hermites(self, max_order: int, scale: np.ndarray, offset: np.ndarray) -> np.ndarray:
        """With t = √2σ/s, v = √2b/s: erf(b/s), then 2 tᵏ (−1)^{k−1} h_{k−1}(v) φ₀(v)/√k."""
        from scipy.special import erf

        s = np.hypot(1.0, math.sqrt(2.0) * scale)
        t, v = math.sqrt(2.0) * scale / s, math.sqrt(2.0) * offset / s
        k = np.arange(1.0, max_order + 1)[:, None]
        bells = damped_hermites(max(max_order - 1, 0), v)[:max_order]
        return np.concatenate([erf(offset / s)[None], 2.0 * (-1.0) ** (k - 1) * t**k * bells / np.sqrt(k)])

    def derivative_moment(self, power: int, q: int, scale: np.ndarray) -> np.ndarray:
        """(2/√π)ᵖ E e^{−pσ²z²} z^q = (2/√π)ᵖ (q−1)!! (1+2pσ²)^{−(q+1)/2} for even q, p = power."""
        if q % 2:
            return np.zeros_like(scale)
        s = np.hypot(1.0, math.sqrt(2.0 * power) * scale)
        moment: np.ndarray = (2.0 / math.sqrt(math.pi)) ** power * math.prod(range(1, q, 2)) * s ** -(q + 1.0)
        return moment


@dataclass(frozen=True)
class Gelu(Quadrature):
    def hermites(self, max_order: int, scale: np.ndarray, offset: np.ndarray) -> np.ndarray:
        """For k ≥ 2, with t = σ/s: s tᵏ (−1)ᵏ φ₀(v) (h_{k−2}(v)/√(k(k−1)) − h_k(v)/s²)."""
        from scipy.special import ndtr

        s = np.hypot(1.0, scale)
        t, v = scale / s, offset / s
        bells = damped_hermites(max(max_order, 1), v)
        below = ndtr(v)
        first = np.stack([offset * below + scale * t * bells[0], scale * (below + bells[1] / s**2)])
        k = np.arange(2.0, max_order + 1)[:, None]
        rest = s * (-t) ** k * (bells[:-2] / np.sqrt(k * (k - 1)) - bells[2:] / s**2) if max_order > 1 else first[:0]
        return np.concatenate([first, rest])[: max_order + 1]


@dataclass(frozen=True)
class Sine(Quadrature):
    def hermites(self, max_order: int, scale: np.ndarray, offset: np.ndarray) -> np.ndarray:
        """σᵏ/√k! e^{−σ²/2} sin(b + kπ/2), by logarithms: either factor alone may overflow."""
        from scipy.special import gammaln

        k = np.arange(max_order + 1)[:, None]
        waves = np.stack([np.sin(offset), np.cos(offset), -np.sin(offset), -np.cos(offset)])[k[:, 0] % 4]
        return np.asarray(waves * np.exp(k * np.log(scale) - 0.5 * (gammaln(k + 1.0) + scale**2)))

    def derivative_moment(self, power: int, q: int, scale: np.ndarray) -> np.ndarray:
        """E cos(σz) z^q = (−1)^{q/2} He_q(σ) e^{−σ²/2} for even q, and cos² = (1 + cos 2u)/2."""
        if q % 2:
            return np.zeros_like(scale)
        wave = (-1.0) ** (q // 2) * hermite.polynomials(q, power * scale)[q] * np.exp(-0.5 * (power * scale) ** 2)
        return np.asarray(wave if power == 1 else 0.5 * (math.prod(range(1, q, 2)) + wave))

    def nonlinearity(self, scale: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        """Nothing cancels at large σ, where cos(σz) would take many nodes."""
        beta = [self.derivative_moment(2, q, scale) for q in (0, 2)]
        terms = np.stack([beta[0] - alpha[0] ** 2, beta[1] - alpha[2] ** 2]) - alpha[1] ** 2
        near = np.flatnonzero(scale < LIMITS.steep)
        if near.size:
            terms[:, near] = super().nonlinearity(scale[near], alpha[:, near])
        return np.asarray(terms)
