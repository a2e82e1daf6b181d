"""Output weights, biases and lengths of units whose directions are known up to sign  [awasthi2021, Alg. 2: RECOVERSCALARS].

Model   T_j = Σᵢ ζ_j(i) uᵢ^{⊗j},  ζ_j(i) = aᵢ ξᵢʲ m_j(‖wᵢ‖, bᵢ),  w̄ᵢ = ξᵢ uᵢ,  ξᵢ = ±1.
Solve   (UᵀU)^{∘j} ζ_j = [E y He_j(⟨uᵢ, x⟩)]ᵢ, the least-squares solution of Σ ζ_j(i) vec(uᵢ^{⊗j}) = vec(T_j).
ReLU    ‖wᵢ‖ = 1: ζ_j = (−1)ʲ ξʲ β He_{j−2}(b) for j ≥ 2, β = a e^{−b²/2}/√(2π)  [awasthi2021, Lemma 3.5].
        He_{n+1} = t He_n − n He_{n−1} with n = q − 2 gives
            ξ b = −(ζ_{q+1} + (q−2) ζ_{q−1})/ζ_q,      a = √(2π) e^{b²/2} (−1)^q ζ_q/He_{q−2}(ξ b),
        q the larger of |ζ_{ℓ+1}|, |ζ_{ℓ+2}|, each over √j!. The paper prints q ζ_{q−1} and He_q: its Lemma 4.5 counts Hermite
        degrees, which are the tensors' orders less 2.
Other φ, and noise: all orders at once, min Σ_j (ζ_j − a ξʲ m_j(σ, b))²/j! over ξ, a, b and, unless φ is homogeneous, σ.
Cost    one pass O(n d k), then O(k³).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from weightlift.activations import Activation
from weightlift.errors import ActivationError
from weightlift.hermite import polynomials
from weightlift.initialization.limits import LIMITS

BIASES_TRIED = np.linspace(-5.0, 5.0, 201)  # b/σ; every fifth where lengths are tried too
LENGTHS_TRIED = np.geomspace(0.05, 20.0, 25)  # ‖w‖, white inputs: from a linear unit to a step, a quarter apart


@dataclass(frozen=True)
class Scalars:
    """w = ξ σ u, a and b of each unit."""

    xi: np.ndarray  # (k,) ±1: ones where the sign was left open
    a: np.ndarray
    b: np.ndarray
    sigma: np.ndarray
    residual: np.ndarray  # (k,) what the fit leaves of the ζ's, relative to them


def reach(n: float, n_inputs: int) -> float:
    """The largest |b|/σ of a unit that n rows can show: at least 2 (d + 1) of them must lie on its minority side."""
    from scipy.special import ndtri

    side = min(0.3, LIMITS.side_rows * (n_inputs + 1) / n)
    return min(LIMITS.farthest, float(-ndtri(side))) if side > 0 else LIMITS.farthest


def kink_scalars(
    zeta: dict[int, np.ndarray], order: int, activation: Activation, *, farthest: float = LIMITS.farthest
) -> Scalars:
    """RECOVERSCALARS, corrected, for φ with one kink: ReLU, leaky ReLU, |z|. ζ of the orders ℓ … ℓ+3; 2 and 3 do for ℓ = 1."""
    if activation.degree != 1.0 or activation.kinks != (0.0,):
        raise ActivationError(f"activation must be ReLU, leaky ReLU or |z| for RECOVERSCALARS, not {activation.name}.")
    k = len(next(iter(zeta.values())))
    candidates = (2,) if order == 1 else (order + 1, order + 2)
    sizes = np.stack([np.abs(zeta[j]) / math.sqrt(math.factorial(j)) for j in candidates])
    q, unit = np.array(candidates)[np.argmax(sizes, axis=0)], np.arange(k)
    table = np.stack([zeta.get(j, np.zeros(k)) for j in range(max(candidates) + 2)])
    top = table[q, unit]
    safe = np.where(top != 0, top, np.finfo(float).tiny)
    b = np.clip(-(table[q + 1, unit] + (q - 2) * table[q - 1, unit]) / safe, -farthest, farthest)
    heights = np.stack(polynomials(max(candidates) - 2, b))[q - 2, unit]
    heights = np.where(heights != 0, heights, np.finfo(float).tiny)
    a = math.sqrt(2 * math.pi) * np.exp(b**2 / 2) * (-1.0) ** q * top / heights / activation.jumps[0]
    return Scalars(np.ones(k), a, b, np.ones(k), np.zeros(k))


def fitted_scalars(
    zeta: dict[int, np.ndarray],
    activation: Activation,
    *,
    xi: np.ndarray | None = None,
    start: Scalars | None = None,
    farthest: float = LIMITS.farthest,
) -> Scalars:
    """Least squares on all the ζ's, weighted by 1/j!, the inverse of their variances; from a grid, or from `start`.

    xi fixes the signs; without it both are tried, and orders that do not tell keep ξ = 1. farthest bounds |b|/σ, see `reach`.
    """
    orders = np.array(sorted(zeta))
    weights = np.array([1 / math.sqrt(math.factorial(int(j))) for j in orders])
    target = weights[:, None] * np.stack([zeta[int(j)] for j in orders])  # (J, k)
    if start is None:
        signs, sigma, beta = _from_grid(target, weights, orders, activation, xi, farthest)
    else:
        signs, sigma, beta = (start.xi if xi is None else xi), start.sigma, start.b / start.sigma
    a, sigma, beta, residual = _polish(target, weights, orders, signs, sigma, beta, activation, farthest)
    return Scalars(signs, a, sigma * beta, sigma, residual)


def _from_grid(
    target: np.ndarray,
    weights: np.ndarray,
    orders: np.ndarray,
    activation: Activation,
    xi: np.ndarray | None,
    farthest: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(ξ, σ, b/σ) that explain most, a solved for."""
    lengths = LENGTHS_TRIED if activation.degree is None else np.ones(1)
    biases = BIASES_TRIED[:: 1 if len(lengths) == 1 else 5] * min(1.0, farthest / BIASES_TRIED[-1])
    moments = activation.hermites(int(orders.max()), lengths[:, None], lengths[:, None] * biases)[orders]  # (J, L, B)
    shapes = weights[:, None, None] * moments
    best = np.full(target.shape[1], -np.inf)
    signs, sigma, beta = (np.ones(target.shape[1]) for _ in range(3))
    for sign in (1.0, -1.0):
        shape = (shapes * (sign**orders)[:, None, None]).reshape(len(orders), -1)
        square = np.maximum(np.sum(shape**2, axis=0), np.finfo(float).tiny)
        explained = (shape.T @ target) ** 2 / square[:, None]  # (L B, k)
        chosen = np.argmax(explained, axis=0)
        value = explained[chosen, np.arange(target.shape[1])] * (1.0 + 1e-12 * (sign > 0))
        better = value > best if xi is None else xi == sign
        best = np.where(better, value, best)
        signs = np.where(better, sign, signs)
        sigma = np.where(better, lengths[chosen // len(biases)], sigma)
        beta = np.where(better, biases[chosen % len(biases)], beta)
    return signs, sigma, beta


def _polish(
    target: np.ndarray,
    weights: np.ndarray,
    orders: np.ndarray,
    signs: np.ndarray,
    sigma: np.ndarray,
    beta: np.ndarray,
    activation: Activation,
    farthest: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Levenberg–Marquardt in (a, log σ, β = b/σ) for every unit at once; σ stays where φ is homogeneous.

    σ ∂σ m_j(σ, σβ) = m_{j+2} + j m_j + β m_{j+1} and ∂β m_j(σ, σβ) = m_{j+1}, by Stein's lemma.
    """
    scale = weights[:, None] * signs[None, :] ** orders[:, None]  # (J, k)
    lengths_free = activation.degree is None
    damping = np.full(target.shape[1], 1e-3)
    a, shape, tangents, value = _linearized(target, scale, orders, sigma, beta, activation, lengths_free)
    for _ in range(LIMITS.scalar_steps):
        step = _steps(target - a * shape, shape, tangents, damping)
        trial_beta = np.clip(beta + step[0], -farthest, farthest)
        trial_sigma = np.clip(sigma * np.exp(step[1]), 1e-3, 1e3) if lengths_free else sigma
        found = _linearized(target, scale, orders, trial_sigma, trial_beta, activation, lengths_free)
        better = found[3] <= value
        a, value = np.where(better, found[0], a), np.where(better, found[3], value)
        shape, tangents = np.where(better, found[1], shape), np.where(better, found[2], tangents)
        sigma, beta = np.where(better, trial_sigma, sigma), np.where(better, trial_beta, beta)
        damping = np.clip(np.where(better, damping / 10, damping * 10), 1e-12, 1e12)
        if np.abs(step).max() < 1e-15:
            break
    size = np.maximum(np.linalg.norm(target, axis=0), np.finfo(float).tiny)
    return a, sigma, beta, np.sqrt(value) / size


def _linearized(
    target: np.ndarray,
    scale: np.ndarray,
    orders: np.ndarray,
    sigma: np.ndarray,
    beta: np.ndarray,
    activation: Activation,
    lengths_free: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The best a (k,), the shape (J, k), its tangents by β and log σ (2, J, k) times a, and the square left (k,)."""
    m = activation.hermites(int(orders.max()) + 2, sigma, sigma * beta)
    shape = scale * m[orders]
    a = np.sum(shape * target, axis=0) / np.maximum(np.sum(shape**2, axis=0), np.finfo(float).tiny)
    by_beta = scale * m[orders + 1]
    by_sigma = scale * (m[orders + 2] + orders[:, None] * m[orders] + beta * m[orders + 1]) * lengths_free
    return a, shape, a * np.stack([by_beta, by_sigma]), np.sum((target - a * shape) ** 2, axis=0)


def _steps(residual: np.ndarray, shape: np.ndarray, tangents: np.ndarray, damping: np.ndarray) -> np.ndarray:
    """The step in (β, log σ), (2, k), with a projected out."""
    square = np.maximum(np.sum(shape**2, axis=0), np.finfo(float).tiny)
    T = tangents - shape * (np.sum(tangents * shape, axis=1) / square)[:, None, :]
    gram = np.einsum("pjk,qjk->kpq", T, T)
    diagonal = np.einsum("kpp->kp", gram)
    floor = np.finfo(float).tiny
    gram = gram + np.einsum("kp,pq->kpq", damping[:, None] * diagonal + np.where(diagonal > floor, 0.0, 1.0), np.eye(2))
    right = np.einsum("pjk,jk->kp", T, residual)
    return np.clip(np.linalg.solve(gram, right[..., None])[..., 0].T, -LIMITS.scalar_step, LIMITS.scalar_step)
