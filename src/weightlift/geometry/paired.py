"""‖f − g‖² for g close to f, free of the cancellation of its quadratic form.

f − g = Σ_p Δ_p + constant, Δ_p = α φ(σ⟨u,x⟩+b) − α' φ(σ'⟨u',x⟩+b'), with partners chosen so that the Δ_p are small. In Hermite
orders, A_k = α φ_k, B_k = α' φ'_k, C = B − A, δ = u' − u, and for another pair v, v' = v + ε,

    ‖f − g‖² = T₀² + ‖T₁‖² + ‖T₂‖² + Σ_p Σ_{k≥3} ‖A_k u^{⊗k} − B_k u'^{⊗k}‖² + Σ_{p≠q} Σ_{k≥3} ⟨Δ_p, Δ_q⟩_k,
    ⟨Δ_p, Δ_q⟩_k = C_p C_q P_k + C_p B_q X_k + B_p C_q Y_k + B_p B_q Z_k,      P_k = ⟨u,v⟩ᵏ,
    X_k = ⟨u,v'⟩ᵏ − P_k,   Y_k = ⟨u',v⟩ᵏ − P_k,   Z_k = ⟨u',v'⟩ᵏ − ⟨u,v'⟩ᵏ − ⟨u',v⟩ᵏ + P_k.

The differences of powers come from recurrences in the small numbers ⟨u,ε⟩, ⟨δ,v⟩, ⟨δ,ε⟩, never from subtraction. The orders
0, 1 and 2 are summed as tensors, so that partners may be mirror images where φ(−z) = ±φ(z) + a polynomial of degree ≤ 2 (ReLU).
For φ of degree 1 or 2, whose series is slow for parallel units, the orders ≥ 3 of one pair have a closed form.
Cost O(P² (d + K)) for P pairs and K orders, K ≈ 36/log(1/max |cos|); memory O(P²).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from weightlift.activations.quadrature import gaussian_means, normal_density
from weightlift.geometry.limits import LIMITS
from weightlift.geometry.units import (
    EPS,
    FLOOR,
    ROUNDING,
    Units,
    closed,
    coefficients,
    power_hermites,
    split,
)
from weightlift.namespaces import FADING


@dataclass(frozen=True)
class UnitPairs:
    """Δ_p = a φ(left) − b φ(right), with `mirror` ±1 the sign that turns the right direction towards the left one."""

    units: Units
    left: np.ndarray  # indices into units
    right: np.ndarray
    a: np.ndarray
    b: np.ndarray
    mirror: np.ndarray
    U: np.ndarray  # (d, P) left directions
    D: np.ndarray  # (d, P) mirrored right directions − U

    @property
    def angle(self) -> np.ndarray:
        return np.asarray(2 * np.arcsin(np.minimum(np.linalg.norm(self.D, axis=0) / 2, 1.0)))

    @property
    def sizes(self) -> np.ndarray:
        return np.asarray(np.abs(self.a) * self.units.sizes[self.left] + np.abs(self.b) * self.units.sizes[self.right])


def paired_square(
    units: Units, a: np.ndarray, n: int, constant: float, gram: np.ndarray, line: np.ndarray
) -> tuple[float, float]:
    """‖Σ aᵢ φᵢ + ⟨line, x⟩ + constant‖², the first n units against the others, and a bound on its error.

    That of rounding the units comes on top.
    gram: the inner products of all units, for pairs of units too parallel for the series.
    """
    pairs = _pair(units, a, n, gram)
    cosines, excluded, order = _plan(pairs)
    A, B, tails = _pair_coefficients(pairs, order)
    order = min(order, len(A) - 1)
    gaps = _gaps(A, B, pairs.angle)  # ‖A_k u^{⊗k} − B_k u'^{⊗k}‖², (K+1, P)
    if closed(units.activation):
        own, uncertain = _homogeneous_energy(pairs, gram, gaps)
    else:
        own, uncertain = gaps[3:].sum(axis=0), _tails(pairs, A, B, tails)
    square, error = _low_orders(pairs, A, B, constant, line) + own.sum(), uncertain.sum()
    if own.any():
        square += _cross_terms(pairs, A, B, excluded, order)
        left_out = np.sqrt(np.maximum(own - gaps[3 : order + 1].sum(axis=0), 0.0) + uncertain + FLOOR * own)
        error += left_out @ (cosines ** (order + 1) @ left_out) + ROUNDING * np.sqrt(own).sum() ** 2
        p, q = np.nonzero(excluded & ~np.eye(len(own), dtype=bool))
        square += _plain_blocks(pairs, gram, p, q).sum()
        error += ROUNDING * float(pairs.sizes[p] @ pairs.sizes[q])
    return float(square), float(error)


def _pair(units: Units, a: np.ndarray, n: int, gram: np.ndarray) -> UnitPairs:
    """Partners that minimise Σ_p ‖Δ_p‖² over the orders ≥ 3; a unit without partner is paired with 0 times itself."""
    from scipy.optimize import linear_sum_assignment

    V, f, g = units.directions, slice(None, n), slice(n, None)
    products = _high_orders(units, gram[f, g], V[:, f].T @ V[:, g], np.s_[:n, None], np.s_[None, n:])
    i, j = linear_sum_assignment(np.outer(a[f], a[g]) * products)
    alone = np.setdiff1d(np.arange(len(units)), np.concatenate([i, n + j]))
    left, right = np.concatenate([i, alone]), np.concatenate([n + j, alone])
    mirror = np.where((V[:, left] * V[:, right]).sum(axis=0) < 0, -1.0, 1.0)
    b = np.concatenate([-a[n + j], np.zeros(alone.size)])
    return UnitPairs(units, left, right, a[left], b, mirror, V[:, left], V[:, right] * mirror - V[:, left])


def _high_orders(units: Units, gram: np.ndarray, cosines: np.ndarray, i: Any, j: Any) -> np.ndarray:
    """Inner products over the orders ≥ 3: those of `gram`, between the units i and j, without the orders 0, 1 and 2."""
    F = units.hermites(2)
    low = [F[k][i] * F[k][j] for k in range(3)]
    return np.asarray(gram - (low[0] + cosines * (low[1] + cosines * low[2])))


def _plan(pairs: UnitPairs) -> tuple[np.ndarray, np.ndarray, int]:
    """Largest |cos| between the units of two pairs (P, P), 0 where their series is not used; where that is; its order."""
    U, V = pairs.U, pairs.U + pairs.D
    cosines = np.maximum(np.abs(U.T @ U), np.abs(V.T @ V))
    cross = np.abs(U.T @ V)
    cosines = np.maximum(cosines, np.maximum(cross, cross.T))
    most = int(np.clip(LIMITS.paired_work // cosines.size, 704, 2**14))
    slow = closed(pairs.units.activation) or most < LIMITS.order
    excluded = cosines > EPS ** (1 / most) if slow else np.zeros(cosines.shape, dtype=bool)
    np.fill_diagonal(excluded, True)
    cosines[excluded] = 0.0
    reach = float(cosines.max(initial=0.0))
    return cosines, excluded, most if reach >= 1 else min(most, math.ceil(math.log(EPS) / math.log(max(reach, 1e-3))) + 3)


def _pair_coefficients(pairs: UnitPairs, order: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A and B (K+1, P) and the norms of what the units have beyond K: all that matters, or `order` where the series is slow."""
    if closed(pairs.units.activation):
        F, tails = pairs.units.hermites(order), np.zeros(len(pairs.units))
    else:
        F, _, (tails, _) = coefficients(pairs.units, pairs.units, 1.0)
    signs = np.where(np.arange(len(F))[:, None] % 2, pairs.mirror, 1.0)
    return pairs.a * F[:, pairs.left], pairs.b * F[:, pairs.right] * signs, tails


def _gaps(A: np.ndarray, B: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """‖A_k u^{⊗k} − B_k u'^{⊗k}‖² = (A_k − B_k)² + 2 A_k B_k (1 − cosᵏ)."""
    with np.errstate(divide="ignore"):  # a right angle: the logarithm is −∞
        log_cosine = np.log1p(-2 * np.sin(angle / 2) ** 2)
    powers = -np.expm1(np.arange(1, len(A))[:, None] * log_cosine)
    gaps: np.ndarray = (A - B) ** 2
    gaps[1:] += 2 * A[1:] * B[1:] * powers
    return gaps


def _homogeneous_energy(pairs: UnitPairs, gram: np.ndarray, gaps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Σ_{k≥3} ‖A_k u^{⊗k} − B_k u'^{⊗k}‖² for φ(z) = m z^q + κ z₊^q, and its error; from `gram` unless the pair is close.

    The orders ≥ 3 are those of (κ/2) N, N(z) = |z| or z|z|: ±z^q on the two sides of 0. With U = ⟨u,x⟩ + β, V = ⟨u',x⟩ + β',
    E (A N(U) − B N(V))² = E (A U^q − B V^q)² + (−1)^q 4 A B E |U|^q |V|^q 1{UV < 0}.
    """
    units, i, j = pairs.units, pairs.left, pairs.right
    q = int(units.activation.degree or 0)
    m, kappa = split(units.activation)
    if kappa == 0:
        return np.zeros(len(i)), np.zeros(len(i))
    plain = pairs.a**2 * gram[i, i] + pairs.b**2 * gram[j, j] - 2 * pairs.a * pairs.b * gram[i, j] - gaps[:3].sum(axis=0)
    beta, beta2 = (units.offset / units.scale)[i], pairs.mirror * (units.offset / units.scale)[j]
    powers = power_hermites(q, units)
    bends = units.hermites(2).copy()
    bends[: q + 1] -= (m + kappa / 2) * powers  # coefficients of (κ/2) N, up to order 2
    signs = np.where(np.arange(3)[:, None] % 2, pairs.mirror, 1.0)
    right_powers = signs[: q + 1] * pairs.mirror * powers[:, j]  # N(V) = ± V^q turns with u'
    straight = _gaps(kappa / 2 * pairs.a * powers[:, i], kappa / 2 * pairs.b * right_powers, pairs.angle)
    low = _gaps(pairs.a * bends[:, i], pairs.b * bends[:, j] * signs, pairs.angle)
    sizes = kappa**2 * pairs.a * pairs.b * (units.scale[i] * units.scale[j]) ** q * pairs.mirror ** (q + 1)
    near = straight.sum(axis=0) + (-1) ** q * sizes * _opposite(q, beta, beta2, pairs.angle) - low.sum(axis=0)
    close = (np.abs(beta - beta2) < 1) & (pairs.angle < 0.5)
    terms = np.where(close, np.sqrt(straight.sum(axis=0) + low.sum(axis=0)), pairs.sizes)
    return np.maximum(np.where(close, near, plain), 0.0), terms * (ROUNDING * terms + EPS * pairs.sizes)


@FADING
def _opposite(q: int, b: np.ndarray, c: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """R_q = E |U|^q |V|^q 1{UV < 0}, q ≤ 2, for U = u + b, V = v + c of correlation ρ = cos(angle), |b − c| ≤ 1, angle ≤ 1/2.

    dR₀/dρ = −2 p(ρ), dR₁/dρ = −R₀, dR₂/dρ = −4 R₁ with p(ρ) the density of (u, v) at (b, c); hence, W_j being R_j at ρ = 1,
    R₁ = W₁ + (1−ρ) W₀ + 2 ∫_ρ¹ (r−ρ) p(r) dr,   R₂ = W₂ + 4 (1−ρ) W₁ + 2 (1−ρ)² W₀ + 4 ∫_ρ¹ (r−ρ)² p(r) dr, all positive.
    """
    x, weights = _legendre()
    width = np.abs(b - c)
    t = width * x
    inside = normal_density(t - np.maximum(b, c))
    W = [width * (weights @ ((t * (width - t)) ** j * inside)) for j in range(3)]
    ratio = np.divide(9 * angle, width, out=np.full(width.shape, np.inf), where=width > 0)
    reach = np.log(np.clip(ratio, 1.0, 1 / EPS))
    psi = angle * np.exp(-reach * x)  # r = cos ψ; below ψ = |b − c|/9, p is nothing
    gap = np.divide(width, np.sin(psi), out=np.zeros_like(psi), where=(psi > 0) & (width > 0))
    density = np.exp(-0.5 * gap**2 - b * c / (1 + np.cos(psi))) / (2 * np.pi)
    rise = 2 * np.sin((angle + psi) / 2) * np.sin((angle - psi) / 2)  # cos ψ − cos(angle)
    integral = reach * (weights @ (rise**q * psi * density))
    step = 2 * np.sin(angle / 2) ** 2
    if q == 1:
        return np.asarray(W[1] + step * W[0] + 2 * integral)
    return np.asarray(W[2] + 4 * step * W[1] + 2 * step**2 * W[0] + 4 * integral)


@lru_cache(maxsize=1)
def _legendre() -> tuple[np.ndarray, np.ndarray]:
    """Gauss–Legendre nodes (96, 1) and weights on [0, 1]."""
    x, weights = np.polynomial.legendre.leggauss(96)
    return (x[:, None] + 1) / 2, weights / 2


def _tails(pairs: UnitPairs, A: np.ndarray, B: np.ndarray, tails: np.ndarray) -> np.ndarray:
    """Bounds on Σ_{k>K} ‖A_k u^{⊗k} − B_k u'^{⊗k}‖² = Σ_{k>K} (A_k − B_k)² + 2 A_k B_k (1 − cosᵏ), (P,).

    The first sum is E (α φ(σz+b) − α' φ(σ'z+b') − its orders 0, 1, 2)² less the orders 3 … K. In the second
    2 (1 − cosᵏ) ≤ k angle² and Σ k A_k² = α² σ² E φ′(σz+b)². Both are as small as the
    pair is close. For far pairs, the two tails together.
    """
    units, i, j = pairs.units, pairs.left, pairs.right
    far = (np.abs(pairs.a) * tails[i] + np.abs(pairs.b) * tails[j]) ** 2
    if units.activation.kinks or not far.any():
        return np.asarray(far)
    phi = units.activation.value

    def square(z: np.ndarray, u: np.ndarray, *p: np.ndarray) -> list[np.ndarray]:
        low = p[4] + z * p[5] + (z * z - 1) / math.sqrt(2) * p[6]
        return [(p[0] * phi(u) - p[1] * phi(p[2] * z + p[3]) - low) ** 2]

    parameters = (pairs.a, pairs.b, pairs.mirror * units.scale[j], units.offset[j], *(A - B)[:3])
    rounding = 8 * EPS * pairs.sizes
    high = gaussian_means(square, 1, units.scale[i], units.offset[i], parameters=parameters, root_rounding=rounding)[0]
    k = np.arange(len(A))[:, None]
    slopes = [
        np.maximum(w**2 * units.slope_energy[own] - (k * C**2).sum(axis=0), 0.0) + FLOOR * w**2 * units.slope_energy[own]
        for w, own, C in ((pairs.a, i, A), (pairs.b, j, B))
    ]
    near = np.maximum(high - ((A - B)[3:] ** 2).sum(axis=0), 0.0) + FLOOR * high + rounding**2
    return np.asarray(np.minimum(far, near + pairs.angle**2 * np.sqrt(slopes[0] * slopes[1])))


def _low_orders(pairs: UnitPairs, A: np.ndarray, B: np.ndarray, constant: float, line: np.ndarray) -> float:
    """T₀² + ‖T₁‖² + ‖T₂‖², T_k = Σ_p A_k u^{⊗k} − B_k u'^{⊗k}, the constant being part of T₀ and the line of T₁."""
    U, D = pairs.U, pairs.D
    if len(U) > 2 * U.shape[1] and not line.any():
        U, D = np.hsplit(np.linalg.qr(np.hstack([U, D]), mode="r"), 2)
        line = line[: len(U)]
    T0 = float((A[0] - B[0]).sum()) + constant
    T1 = U @ (A[1] - B[1]) - D @ B[1] + line
    half = U @ (B[2, :, None] * D.T)
    T2 = U @ ((A[2] - B[2])[:, None] * U.T) - half - half.T - D @ (B[2, :, None] * D.T)
    return T0**2 + float(T1 @ T1) + float((T2 * T2).sum())


def _cross_terms(pairs: UnitPairs, A: np.ndarray, B: np.ndarray, excluded: np.ndarray, order: int) -> float:
    """Σ_{3≤k≤order} Σ_{p,q not excluded} C_p C_q P_k + C_p B_q X_k + B_p C_q Y_k + B_p B_q Z_k.

    X_{k+1} = ⟨u,v'⟩ X_k + ⟨u,ε⟩ P_k,   Y_{k+1} = ⟨u',v⟩ Y_k + ⟨δ,v⟩ P_k,
    Z_{k+1} = ⟨u',v'⟩ Z_k + ⟨δ,v'⟩ X_k + ⟨u',ε⟩ Y_k + ⟨δ,ε⟩ P_k.
    """
    U, D, C = pairs.U, pairs.D, B - A
    total = 0.0
    step = max(1, LIMITS.block // U.shape[1])
    for start in range(0, U.shape[1], step):
        rows = slice(start, start + step)
        uv, ue, dv, de = (S[:, rows].T @ T for S, T in ((U, U), (U, D), (D, U), (D, D)))
        P = np.where(excluded[rows], 0.0, 1.0)
        X, Y, Z = np.zeros_like(P), np.zeros_like(P), np.zeros_like(P)
        for k in range(1, order + 1):
            Z = (uv + ue + dv + de) * Z + (dv + de) * X + (ue + de) * Y + de * P
            X = (uv + ue) * X + ue * P
            Y = (uv + dv) * Y + dv * P
            P = uv * P
            if k >= 3 and (A[k].any() or B[k].any()):
                total += float(C[k, rows] @ (P @ C[k] + X @ B[k]) + B[k, rows] @ (Y @ C[k] + Z @ B[k]))
    return total


def _plain_blocks(pairs: UnitPairs, gram: np.ndarray, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Σ_{k≥3} ⟨Δ_p, Δ_q⟩_k from the inner products of the four units."""
    blocks = np.zeros(p.size)
    V = pairs.units.directions
    for s, side, weight in ((1, pairs.left, pairs.a), (-1, pairs.right, pairs.b)):
        for t, other, weight2 in ((1, pairs.left, pairs.a), (-1, pairs.right, pairs.b)):
            i, j = side[p], other[q]
            cosines = (V[:, i] * V[:, j]).sum(axis=0)
            blocks += s * t * weight[p] * weight2[q] * _high_orders(pairs.units, gram[i, j], cosines, i, j)
    return blocks
