"""Gaussian moments of two units: E A(⟨w, x⟩ + b) B(⟨v, x⟩ + c) {1, z₁, z₂, z₁², z₁z₂, z₂²} for x ~ N(0, I).

A is φ, φ′ or φ″ (almost everywhere), B is ψ or ψ′. In the plane of w and v take w̄ and q orthonormal: z₁ = ⟨w̄, x⟩ and
z₂ = ⟨q, x⟩ are independent and standard normal, and with the cosine r and the sine s of the angle between w and v

    ⟨w, x⟩ + b = σ z₁ + b,      ⟨v, x⟩ + c = τ (r z₁ + s z₂) + c.

Two routes, vectorised over the pairs:
angles        φ and ψ positively homogeneous of integer degree, b = c = 0. In polar coordinates the radial integral is
              E Rⁿ = 2^{n/2} Γ(1 + n/2); the angular one is that of a trigonometric polynomial on each of the four arcs
              between the rays on which an argument vanishes, where Gauss–Legendre is exact to rounding. O(100) a pair.
conditioning  any φ and ψ, kinks anywhere, biases. Given z₁, the integrals over z₂ are those of ψ alone, closed where ψ has
              closed forms. The outer panels shrink geometrically towards the points where an argument meets 0 or a kink,
              down to the width s/|r| over which z₂ blurs a kink of ψ. Functions without kinks are summed over equispaced
              nodes. Refined until two resolutions agree. O(10³ … 10⁶) a pair, absolute accuracy about 1e-12.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from weightlift import hermite
from weightlift.activations import Activation
from weightlift.activations.limits import LIMITS as QUADRATURE
from weightlift.activations.quadrature import Function, normal_density
from weightlift.errors import ActivationError
from weightlift.theory.limits import LIMITS

Nodes = tuple[np.ndarray, np.ndarray]  # z and weights that contain the normal density


@dataclass(frozen=True, eq=False)
class Pairs:
    """P pairs φ(σz₁ + b), ψ(τ(rz₁ + sz₂) + c) with their frames (w̄, q)."""

    phi: Activation
    psi: Activation
    sigma: np.ndarray  # (P,), like b, tau, c, r and s
    b: np.ndarray
    tau: np.ndarray
    c: np.ndarray
    r: np.ndarray
    s: np.ndarray
    frames: np.ndarray  # (P, d, 2)

    @classmethod
    def of(cls, phi: Activation, W: np.ndarray, b: np.ndarray, psi: Activation, V: np.ndarray, c: np.ndarray) -> Pairs:
        """Every column of W (d, k) with every column of V (d, m): P = k m, the columns of V running faster."""
        (w, sigma), (v, tau) = _directions(W), _directions(V)
        k, m = W.shape[1], V.shape[1]
        w, sigma, b = np.repeat(w, m, axis=1), np.repeat(sigma, m), np.repeat(b, m)
        v, tau, c = np.tile(v, (1, k)), np.tile(tau, k), np.tile(c, k)
        r = np.sum(w * v, axis=0)
        q = v - r * w
        q -= np.sum(q * w, axis=0) * w  # once more, for parallel units
        s = np.linalg.norm(q, axis=0)
        s = np.where(s > LIMITS.parallel, s, 0.0)
        q = np.divide(q, s, out=np.zeros_like(q), where=s > 0)
        return cls(phi, psi, sigma, b, tau, c, np.where(s > 0, r, np.sign(r)), s, np.stack([w.T, q.T], axis=2))

    def __len__(self) -> int:
        return self.sigma.size

    def __getitem__(self, index: np.ndarray) -> Pairs:
        names = ("sigma", "b", "tau", "c", "r", "s", "frames")
        return replace(self, **{name: getattr(self, name)[index] for name in names})


def pair_moments(pairs: Pairs, left: int, right: int) -> np.ndarray:
    """(6, P): E φ⁽ˡ⁾(u) ψ⁽ʳ⁾(t) times 1, z₁, z₂, z₁², z₁z₂, z₂², with the derivatives l = left ≤ 2 and r = right ≤ 1."""
    homogeneous = all(phi.degree is not None and float(phi.degree).is_integer() for phi in (pairs.phi, pairs.psi))
    if homogeneous and not (pairs.b.any() or pairs.c.any()):
        return _by_angles(pairs, left, right)
    return _by_conditioning(pairs, left, right)


def dirac_moments(pairs: Pairs) -> np.ndarray:
    """(6, P): the same with Σ jump·δ(u − kink), the singular part of φ″, and ψ.

    δ(σz₁ + b − kink) is the density at z₁ = (kink − b)/σ over σ; what is left is the integral of ψ over z₂ given that z₁.
    """
    total = np.zeros((6, len(pairs)))
    for kink, jump in zip(pairs.phi.kinks, pairs.phi.jumps, strict=True):
        hit = np.flatnonzero(np.abs(kink - pairs.b) < LIMITS.reach * pairs.sigma)
        if jump and hit.size:
            p = pairs[hit]
            z = (kink - p.b) / p.sigma
            n = p.psi.hermites(2, p.tau * p.s, p.tau * p.r * z + p.c)
            total[:, hit] += jump / p.sigma * normal_density(z) * _products(z, n)
    return total


def _directions(W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Unit columns and their lengths; a zero column gets the first axis."""
    length = np.linalg.norm(W, axis=0)
    axis = np.zeros_like(W)
    axis[0] = 1.0
    return np.divide(W, length, out=axis, where=length > 0), length


def _by_angles(pairs: Pairs, left: int, right: int) -> np.ndarray:
    """σ^α τ^β E R^{α+β+n} ∫ A(cos θ) B(cos(θ−δ)) e(θ) dθ/2π, where A and B have degrees α and β, and e has degree n."""
    alpha, beta = (pairs.phi.degree or 0.0) - left, (pairs.psi.degree or 0.0) - right
    delta = np.arctan2(pairs.s, pairs.r)[:, None]
    x, w = np.polynomial.legendre.leggauss(LIMITS.gauss_nodes + 2 * int(max(alpha + beta, 0.0)))
    starts = math.pi / 2 + np.stack([0.0 * delta, delta, math.pi + 0.0 * delta, math.pi + delta], axis=1)
    lengths = np.stack([delta, math.pi - delta, delta, math.pi - delta], axis=1)
    theta = (starts + lengths * (x + 1.0) / 2.0).reshape(len(pairs), -1)
    weight = (lengths * w / (4.0 * math.pi)).reshape(theta.shape)
    cos, sin = np.cos(theta), np.sin(theta)
    weight *= _derivative(pairs.phi, left)(cos) * _derivative(pairs.psi, right)(np.cos(theta - delta))
    angular = np.stack([np.sum(weight * e, axis=1) for e in (1.0, cos, sin, cos * cos, cos * sin, sin * sin)])
    radial = [2.0 ** (n / 2) * math.gamma(1.0 + n / 2) for n in alpha + beta + np.array([0, 1, 1, 2, 2, 2])]
    return np.asarray(pairs.sigma**alpha * pairs.tau**beta * np.array(radial)[:, None] * angular)


def _by_conditioning(pairs: Pairs, left: int, right: int) -> np.ndarray:
    result = np.empty((6, len(pairs)))
    pending = np.arange(len(pairs))
    pieces, agreement = (1.0, LIMITS.agreement) if pairs.phi.kinks or pairs.psi.kinks else (0.5, LIMITS.geometric)
    coarse, _ = _conditioned(pairs, left, right, pieces)
    for halving in range(1, LIMITS.halvings + 1):
        fine, size = _conditioned(pairs[pending], left, right, pieces * 2**halving)
        settled = np.all(np.abs(fine - coarse) <= agreement * size, axis=0)
        result[:, pending[settled]] = fine[:, settled]
        pending, coarse = pending[~settled], fine[:, ~settled]
        if pending.size == 0:
            return result
    raise ActivationError(
        f"the Gaussian integrals of {pairs.phi.name} and {pairs.psi.name} do not settle at the scales "
        f"{pairs.sigma[pending[0]]:g} and {pairs.tau[pending[0]]:g}; declare every kink, and keep φ smooth between them."
    )


def _conditioned(pairs: Pairs, left: int, right: int, pieces: float) -> tuple[np.ndarray, np.ndarray]:
    """The six moments, (6, P), and the size of the largest integrand, (P,), at one resolution."""
    sigma, b, tau, c, r, s = (v[:, None] for v in (pairs.sigma, pairs.b, pairs.tau, pairs.c, pairs.r, pairs.s))
    z, weight = _outer_nodes(pairs, pieces)
    weight = weight * _derivative(pairs.phi, left)(sigma * z + b)
    if not weight.any():  # φ″ of a piecewise linear φ
        return np.zeros((6, len(pairs))), np.zeros(len(pairs))
    scale, offset = np.broadcast_arrays(tau * s, tau * r * z + c)
    n = _inner_integrals(pairs.psi, right, scale.ravel(), offset.ravel(), pieces).reshape(3, *offset.shape)
    terms = weight * _products(z, n)
    return terms.sum(axis=2), np.abs(terms).sum(axis=2).max(axis=0)


def _products(z: np.ndarray, n: np.ndarray) -> np.ndarray:
    """1, z₁, z₂, z₁², z₁z₂, z₂² integrated over z₂ with ψ, from n_j = E ψ He_j(z₂), j = 0, 1, 2."""
    return np.stack([n[0], z * n[0], n[1], z * z * n[0], z * n[1], n[2] + n[0]])


def _outer_nodes(pairs: Pairs, pieces: float) -> Nodes:
    """Nodes in z₁ for each pair: (P, N), or (1, N) where all are the same."""
    slope = pairs.tau * pairs.r
    steepest = float(np.max(np.maximum(pairs.sigma, np.abs(slope))))
    if not (pairs.phi.kinks or pairs.psi.kinks):
        return _equispaced(steepest, pieces)
    finest = 1.0 / max(1.0, steepest)
    blurred = (pairs.s > 0) & (np.abs(slope) > 0)
    if pairs.psi.kinks and blurred.any():
        finest = min(finest, float(np.min(pairs.s[blurred] / np.abs(pairs.r[blurred]))))
    centres = [_crossing(kink - pairs.b, pairs.sigma) for kink in {0.0, *pairs.phi.kinks}]
    centres += [_crossing(kink - pairs.c, slope) for kink in {0.0, *pairs.psi.kinks}]
    return _panels(np.unique(np.stack(centres, axis=1), axis=1), finest, pieces)


def _inner_integrals(psi: Activation, order: int, scale: np.ndarray, offset: np.ndarray, pieces: float) -> np.ndarray:
    """E ψ⁽ᵒʳᵈᵉʳ⁾(scale·z + offset) He_j(z), j = 0, 1, 2: (3, N), order ≤ 1."""
    if psi.closed_form is not None:
        n = psi.hermites(2 + order, scale, offset)
        if order == 0:
            return n
        still = np.stack([psi.derivative(offset), 0.0 * offset, 0.0 * offset])
        return np.asarray(np.divide(n[1:], scale, out=still, where=scale > 0))  # Stein: E ψ He_{j+1} = scale E ψ′ He_j
    function, steepest = _derivative(psi, order), float(np.max(scale))
    n = np.empty((3, scale.size))
    rows = max(1, QUADRATURE.floats // _inner_nodes(psi, scale[:1], offset[:1], steepest, pieces)[0].size)
    for i in range(0, scale.size, rows):
        sigma, b = scale[i : i + rows], offset[i : i + rows]
        z, weight = _inner_nodes(psi, sigma, b, steepest, pieces)
        values = weight * function(sigma[:, None] * z + b[:, None])
        for j, h in enumerate(hermite.polynomials(2, z)):
            n[j, i : i + rows] = values @ h[0] if len(h) == 1 else np.sum(values * h, axis=1)
    return n


def _inner_nodes(psi: Activation, scale: np.ndarray, offset: np.ndarray, steepest: float, pieces: float) -> Nodes:
    """Nodes in z₂ for each row, (N, M), or (1, M) where all are the same."""
    if not psi.kinks:
        return _equispaced(steepest, pieces)
    centres = np.stack([_crossing(kink - offset, scale) for kink in psi.kinks], axis=1)
    return _panels(centres, 1.0 / max(1.0, steepest), pieces)


def _derivative(activation: Activation, order: int) -> Function:
    return (activation.value, activation.derivative, activation.second_derivative)[order]


def _crossing(distance: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """z with slope·z = distance, or the end of the range where it is beyond."""
    beyond = np.abs(distance) >= LIMITS.reach * np.abs(slope)
    return np.where(beyond, LIMITS.reach, np.divide(distance, slope, out=np.zeros_like(distance), where=~beyond))


def _equispaced(steepest: float, pieces: float) -> Nodes:
    """The trapezoidal rule, which converges geometrically for analytic functions that vanish at both ends."""
    n = math.ceil(LIMITS.reach * pieces * max(1.0, steepest) / LIMITS.step)
    z = np.linspace(-LIMITS.reach, LIMITS.reach, 2 * n + 1)[None]
    return z, normal_density(z) * (LIMITS.reach / n)


def _panels(centres: np.ndarray, finest: float, pieces: float) -> Nodes:
    """Gauss–Legendre nodes, (P, N), on panels that halve towards the centres (P, C) until `finest`."""
    levels = min(math.ceil(math.log2(LIMITS.panel / finest)), LIMITS.levels)
    steps = LIMITS.panel * 2.0 ** np.arange(-levels, 1)
    around = np.concatenate([-steps[::-1], [0.0], steps])
    graded = np.clip(centres[:, :, None] + around, -LIMITS.reach, LIMITS.reach).reshape(len(centres), -1)
    uniform = np.arange(-LIMITS.reach, LIMITS.reach + LIMITS.panel, LIMITS.panel)
    edges = np.sort(np.concatenate([graded, np.broadcast_to(uniform, (len(centres), uniform.size))], axis=1), axis=1)
    x, w = np.polynomial.legendre.leggauss(LIMITS.gauss_nodes)
    count = math.ceil(pieces)
    places = ((np.arange(count)[:, None] + (x + 1.0) / 2.0) / count).ravel()
    width = np.diff(edges, axis=1)[:, :, None]
    z = (edges[:, :-1, None] + width * places).reshape(len(centres), -1)
    weight = (width * np.tile(w / (2.0 * count), count)).reshape(z.shape)
    return z, weight * normal_density(z)
