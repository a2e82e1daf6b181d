"""Tensor power method: whiten with a definite matrix of the same factors, then iterate v ← R(I, v, …, v).

Model       R = Σᵢ cᵢ uᵢ^{⊗p},  P = Σᵢ πᵢ uᵢ uᵢᵀ with all πᵢ > 0 (or all < 0), uᵢ independent.
Method      WᵀPW = I makes vᵢ = √πᵢ Wᵀuᵢ orthonormal, and R(W, …, W) = Σᵢ cᵢ πᵢ^{−p/2} vᵢ^{⊗p}. The vᵢ of such a tensor
            attract the power iteration with order p − 1, whatever the signs of cᵢ. Each is found from many starts,
            then subtracted; at the end all are iterated once more on the whole tensor. uᵢ ∝ P W vᵢ.
            [Anandkumar, Ge, Hsu, Kakade & Telgarsky 2014.]
Whitening   P is the second moment when it is definite (in zhang2019 all output weights are equal). Without it
            P = R(I, I, G) with a G that makes cᵢ⟨uᵢ^{⊗p−2}, G⟩ > 0 for all i: linear inequalities, with a solution
            whenever the uᵢ are independent. The perceptron finds one in finitely many steps: as long as P has
            eigenvectors x that are not positive, add Σ R(x, x, ·) to G.
Cost        O(rᵖ) a start and iteration, O(r³ + rᵖ) a step of the perceptron.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from weightlift.arguments import generator
from weightlift.decomposition.components import Decomposition, DecompositionStatus, fit_components, unit_columns
from weightlift.decomposition.limits import LIMITS
from weightlift.decomposition.tensors import Real, apply_powers, compose, multilinear, symmetric_tensor
from weightlift.errors import ArgumentError, NotFiniteError, ShapeError


def power_method(
    R: ArrayLike,
    *,
    second_moment: ArrayLike | None = None,
    starts: int = 20,
    rng: int | np.random.Generator = 0,
) -> Decomposition:
    """Decompose R (r, …, r) of rank r; `second_moment` (r, r) is a definite matrix Σ πᵢ uᵢuᵢᵀ of the same factors.

    starts  random starts of every component
    rng     a seed or a generator
    """
    T = symmetric_tensor(R, "R")
    rng = generator(rng)
    if second_moment is None:
        P = definite_contraction(T)
    else:
        P = _definite(second_moment, len(T))
    values, Q = np.linalg.eigh(P)
    W = Q / np.sqrt(values)
    whitened = multilinear(T, W)
    V, settled = _orthogonal_components(whitened, starts, rng)
    failure = None if settled else DecompositionStatus.NOT_SETTLED
    return fit_components(T, P @ W @ V, method="power", failure=failure)


def definite_contraction(T: Real, *, max_steps: int = 1000) -> Real:
    """A positive definite T(I, I, G), by the perceptron; the best conditioned of its first steps."""
    n = len(T)
    A = T.reshape(n * n, -1)
    G = np.eye(n).reshape(-1) @ A  # Σⱼ cⱼ uⱼ^{⊗p−2}: of orthogonal factors it gives cᵢ² > 0 at once
    G /= np.linalg.norm(G)
    best, ratio = np.zeros((n, n)), LIMITS.definite
    for step in range(max_steps):
        P = (A @ G).reshape(n, n)
        P = (P + P.T) / 2
        values, X = np.linalg.eigh(P)
        if values[0] > ratio * values[-1]:
            best, ratio = P, float(values[0] / values[-1])
        if ratio > LIMITS.definite and step >= LIMITS.extra_steps:
            break
        low = X[:, values <= max(LIMITS.margin * values[-1], values[0])]
        correction = (low @ low.T).reshape(-1) @ A
        G = G + correction / np.linalg.norm(correction)
    if ratio <= LIMITS.definite:
        raise ArgumentError(
            f"R: no definite contraction R(I, I, G) was found in {max_steps} steps, so it cannot be whitened: noise is "
            "large, or the factors are nearly dependent. Pass second_moment, a definite matrix of the same factors, or "
            "use method='kcl'."
        )
    return best


def _definite(second_moment: ArrayLike, n: int) -> Real:
    P = np.asarray(second_moment)
    if P.shape != (n, n):
        raise ShapeError(f"second_moment must have shape {(n, n)}, not {P.shape}.")
    if P.dtype.kind not in "biuf" or not np.isfinite(P).all():
        raise NotFiniteError("second_moment must be real and finite.")
    P = (P + P.T).astype(np.float64) / 2
    P = P if np.trace(P) > 0 else -P
    values = np.linalg.eigvalsh(P)
    if values[0] <= LIMITS.definite * values[-1]:
        raise ArgumentError(
            f"second_moment must be definite to whiten: its eigenvalues run from {values[0]:.3g} to {values[-1]:.3g}, "
            "as they do when output weights have both signs. Leave it out, or use method='kcl', which whitens nothing."
        )
    return np.asarray(P)


def _orthogonal_components(T: Real, starts: int, rng: np.random.Generator) -> tuple[Real, bool]:
    """The orthonormal vᵢ (r, r) of Σ λᵢ vᵢ^{⊗p}: iterate, deflate; then all together on the whole tensor."""
    n, order = len(T), T.ndim
    rest, found, settled = T, np.empty((n, n)), True
    for i in range(n):
        V, _ = _iterate(rest, unit_columns(rng.standard_normal((n, starts))), LIMITS.first_iterations)
        best = int(np.abs(apply_powers(rest, V, 0)[0]).argmax())
        v, still = _iterate(rest, V[:, [best]], LIMITS.last_iterations)
        found[:, [i]], settled = v, settled and still
        rest = rest - compose(apply_powers(rest, v, 0)[0], v, order)
    whole, _ = _iterate(T, found, LIMITS.last_iterations)  # frees each from the errors of those before it
    stayed = np.abs((whole * found).sum(axis=0)) > LIMITS.stayed  # with much noise it may fall to a larger neighbour
    return np.where(stayed, whole, found), settled


def _iterate(T: Real, V: Real, iterations: int) -> tuple[Real, bool]:
    """Columns v ← T(I, v, …, v) / |·|, up to sign, until none moves."""
    for _ in range(iterations):
        following = unit_columns(apply_powers(T, V, 1))
        following = following * np.where((following * V).sum(axis=0) < 0, -1.0, 1.0)
        moved = float(np.abs(following - V).max())
        V = following
        if moved <= LIMITS.subspace_tolerance:
            return V, True
    return V, False
