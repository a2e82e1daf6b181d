"""Least-squares refinement of a decomposition: Levenberg–Marquardt on |T − Σᵢ sᵢ xᵢ^{⊗p}|² in the n·r entries of X.

Model       xᵢ = |cᵢ|^{1/p} uᵢ, sᵢ = sign cᵢ (odd p: the sign moves into xᵢ), so there is no free scale.
Formulas    E = Σ s x^{⊗p} − T;  gradient of |E|²/2: gᵢ = p sᵢ E(xᵢ, …, xᵢ, I);  with G = XᵀX and ∘ entrywise,
                JᵀJ V = p [ V (S∘G^{∘p−1}) + (p−1) X (S∘G^{∘p−2}∘(XᵀV)ᵀ) ],  S = s sᵀ,
            from ⟨∂_{ia}, ∂_{jb}⟩ = p sᵢ sⱼ [ ⟨xᵢ,xⱼ⟩^{p−1} δ_ab + (p−1) ⟨xᵢ,xⱼ⟩^{p−2} x_ja x_ib ].
Method      damping × 4 / ÷ 4; a step of few entries is solved for densely, of many by conjugate gradients with the first term
            as preconditioner.
Trust       The best fit may run off to large components that cancel: an iterate is kept only while its largest
            weight and its condition number stay within twice those of the start.
Cost        O(nᵖ r) a step for E, O(n r²) a product with JᵀJ, (n r)³/3 where it is formed; no Jacobian is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from weightlift.decomposition.components import Decomposition, condition_number, fit_components
from weightlift.decomposition.limits import LIMITS
from weightlift.decomposition.tensors import Real, apply_powers, compose


def polish(T: Real, start: Decomposition, *, max_steps: int = 60, tol: float = 1e-14) -> Decomposition:
    """`start` improved by least squares on T, or `start` itself when nothing better lies near it.

    max_steps  of Levenberg and Marquardt
    tol        relative decrease of |E| of a step that is the last
    """
    p = T.ndim
    X = start.factors * np.abs(start.weights) ** (1 / p)
    s = np.where(start.weights < 0, -1.0, 1.0)
    size = float(np.linalg.norm(T))
    E = compose(s, X, p) - T
    loss, damping, moved = float(np.linalg.norm(E)), 1e-3, False
    for _ in range(max_steps):
        if loss <= LIMITS.residual_floor * size:
            break
        g = p * s * apply_powers(E, X, 1)
        step = _solve(X, s, p, damping, -g)
        candidate = X + step
        E_next = compose(s, candidate, p) - T
        loss_next = float(np.linalg.norm(E_next))
        if not loss_next < loss:
            if damping > 1e8:
                break
            damping *= 4
            continue
        if not _near(candidate, p, start):
            break
        settled = loss - loss_next <= tol * loss or np.abs(step).max() <= 1e-15 * np.abs(X).max()
        X, E, loss, moved = candidate, E_next, loss_next, True
        damping = max(damping / 4, 1e-12)
        if settled:
            break
    if not moved:
        return start
    failure = None if start.succeeded else start.status
    refined = fit_components(T, X, method=start.method, failure=failure, refined=True)
    return refined if refined.residual <= start.residual else start


def _near(X: Real, p: int, start: Decomposition) -> bool:
    lengths = np.linalg.norm(X, axis=0)
    if lengths.min() == 0 or lengths.max() ** p > LIMITS.trust * np.abs(start.weights).max():
        return False
    return condition_number(X / lengths) <= LIMITS.trust * start.condition


def _solve(X: Real, s: Real, p: int, damping: float, b: Real) -> Real:
    """V with (JᵀJ + damping · mean diagonal) V = b: dense where there are few entries, else by conjugate gradients."""
    G, S = X.T @ X, np.outer(s, s)
    first = p * S * G ** (p - 1)
    second = p * (p - 1) * S * G ** (p - 2)
    shift = damping * float(np.trace(first)) / len(s)
    if X.size <= LIMITS.dense_entries:
        return _dense_solution(X, first, second, shift, b)
    values, Q = np.linalg.eigh(first)

    def product(V: Real) -> Real:
        return np.asarray(V @ first + X @ (second * (X.T @ V).T) + shift * V)

    def precondition(V: Real) -> Real:
        return np.asarray((V @ Q) / (np.maximum(values, 0) + shift) @ Q.T)

    return _conjugate_gradients(product, precondition, b)


def _dense_solution(X: Real, first: Real, second: Real, shift: float, b: Real) -> Real:
    """By the matrix of V → V first + X (second ∘ (XᵀV)ᵀ) + shift V in the entries (a, i) of V, symmetric in them."""
    n, r = X.shape
    matrix = second[None, :, None, :] * X[:, None, None, :] * X.T[None, :, :, None]  # (a, i, b, j): second_ij x_aj x_bi
    matrix[range(n), :, range(n), :] += first
    matrix = matrix.reshape(n * r, n * r)
    matrix.reshape(-1)[:: n * r + 1] += shift
    return np.asarray(np.linalg.solve(matrix, b.reshape(-1)).reshape(n, r), dtype=np.float64)


def _conjugate_gradients(product: Callable[[Real], Real], precondition: Callable[[Real], Real], b: Real) -> Real:
    V, r = np.zeros_like(b), b
    z = precondition(r)
    d, rz = z, float((r * z).sum())
    target = LIMITS.cg_tolerance**2 * rz
    for _ in range(b.size):
        if rz <= target:
            break
        Ad = product(d)
        alpha = rz / float((d * Ad).sum())
        V, r = V + alpha * d, r - alpha * Ad
        z = precondition(r)
        rz_next = float((r * z).sum())
        d, rz = z + (rz_next / rz) * d, rz_next
    return V
