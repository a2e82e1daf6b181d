"""Subspace power method: symmetric tensors of order 4 with more components than dimensions  [Kileel & Pereira 2019].

Model       T = Σᵢ cᵢ uᵢ^{⊗4}, cᵢ ≠ 0 of any sign, and uᵢuᵢᵀ independent: r ≤ n(n+1)/2; for generic uᵢ they are the only
            rank-one matrices in their span as long as r ≤ n(n+1)/2 − n.
Subspace    The flattening M = Σ cᵢ vec(uᵢuᵢᵀ) vec(uᵢuᵢᵀ)ᵀ = V D⁻¹ Vᵀ has the range span{uᵢuᵢᵀ}, V its leading eigenvectors.
Search      f(x) = ‖Vᵀvec(xxᵀ)‖² ≤ 1 for ‖x‖ = 1, with equality at the components alone:
                x ← normalise(g + √(f(1−f)) x),   g = Σ_s (xᵀV_s x) V_s x,   f = ⟨x, g⟩ clipped to [½, 1],
            rises monotonically, from many starts at once.
Deflation   With α = Vᵀvec(uuᵀ), c = 1/(αᵀDα); M − c vec(uuᵀ)vec(uuᵀ)ᵀ has the range V Q, Q an orthonormal basis of (Dα)^⊥,
            and D becomes QᵀDQ. Indefinite D does no harm.
Cost        O(n⁶) for the eigenvectors, O(n² r) a start and step; memory O(n⁴). No larger array is formed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from weightlift.arguments import count, generator
from weightlift.decomposition.components import Decomposition, DecompositionStatus, fit_components, unit_columns
from weightlift.decomposition.limits import LIMITS
from weightlift.decomposition.tensors import Real, symmetric_tensor
from weightlift.errors import ArgumentError, ShapeError, SingularError


def subspace_power(
    T: ArrayLike, *, rank: int | None = None, starts: int = 40, rng: int | np.random.Generator = 0
) -> Decomposition:
    """Decompose T (n, n, n, n) into `rank` components; None counts the eigenvalues of the flattening above 1e-9.

    starts  random starts of every component
    rng     a seed or a generator

    >>> from weightlift.decomposition import compose
    >>> angles = np.array([0.1, 1.1, 2.3])
    >>> U = np.vstack([np.cos(angles), np.sin(angles), [0.5, -1.0, 0.2], [1.0, 0.3, 0.1]])
    >>> found = subspace_power(compose([1.0, -2.0, 0.5], U / np.linalg.norm(U, axis=0), 4))
    >>> found.weights.round(9), found.residual < 1e-9
    (array([-2. ,  1. ,  0.5]), True)
    """
    T = symmetric_tensor(T)
    if T.ndim != 4:
        raise ShapeError(f"tensor must have order 4 for the subspace power method, not {T.ndim}.")
    rng = generator(rng)
    V, D = flattened_range(T, None if rank is None else count("rank", rank))
    U, values = rank_one_search(V, D, starts=count("starts", starts), rng=rng)
    failure = None if values.min() > LIMITS.component else DecompositionStatus.NOT_SETTLED
    return fit_components(T, U, method="subspace_power", failure=failure)


def flattened_range(T: Real, rank: int | None) -> tuple[Real, Real]:
    """V (r, n, n), an orthonormal basis of symmetric matrices of the flattening's leading range, and D (r, r) = diag(1/λ)."""
    n = len(T)
    values, vectors = np.linalg.eigh(flattening(T))
    order = np.argsort(-np.abs(values))
    values, vectors = values[order], vectors[:, order]
    r = checked_overcomplete_rank(rank, values)
    i, j = np.triu_indices(n)
    V = np.zeros((r, n, n))
    V[:, i, j] = V[:, j, i] = vectors[:, :r].T / np.where(i == j, 1.0, np.sqrt(2.0))
    return V, np.diag(1.0 / values[:r])


def flattened_spectrum(T: Real) -> Real:
    """The eigenvalues of the flattening by falling magnitude: as many differ from zero as T has components."""
    values = np.linalg.eigvalsh(flattening(T))
    return np.asarray(values[np.argsort(-np.abs(values))])


def flattening(T: Real) -> Real:
    """M in an orthonormal basis of symmetric matrices: n(n+1)/2 rows instead of n²."""
    i, j = np.triu_indices(len(T))
    scale = np.where(i == j, 1.0, np.sqrt(2.0))
    return np.asarray(scale[:, None] * T[i, j][:, i, j] * scale)


def checked_overcomplete_rank(rank: int | None, values: Real) -> int:
    """The number of components: as asked, if the flattening's eigenvalues (by falling magnitude) have so many."""
    largest = len(values)
    counted = int((np.abs(values) > LIMITS.rank_floor * abs(values[0])).sum())
    r = counted if rank is None else rank
    if r > largest:
        raise ArgumentError(
            f"rank={r} exceeds n(n+1)/2 = {largest}, the number of independent squares uuᵀ; order 4 cannot hold more."
        )
    if abs(values[r - 1]) <= 64 * largest * np.finfo(np.float64).eps * abs(values[0]):
        raise SingularError(
            f"rank={r}, but the flattened tensor has rank {counted}: some components are missing, or their squares uuᵀ are "
            f"dependent (parallel factors, for one). Ask for rank={counted}, or rank=None to have them counted."
        )
    return r


def rank_one_search(V: Real, D: Real, *, starts: int, rng: np.random.Generator) -> tuple[Real, Real]:
    """The components U (n, r) one after the other, each from the best of `starts`, and f at each (r,)."""
    r, n, _ = V.shape
    U, values = np.empty((n, r)), np.empty(r)
    for c in range(r):
        X, f = _ascend(V, unit_columns(rng.standard_normal((n, starts))), LIMITS.subspace_steps)
        best = int(f.argmax())
        X, f = _ascend(V, X[:, [best]], LIMITS.subspace_last_steps)
        u = X[:, 0]
        U[:, c], values[c] = u, f[0]
        alpha = V @ u @ u
        Q = np.linalg.qr((D @ alpha)[:, None], mode="complete")[0][:, 1:]
        V, D = np.tensordot(Q.T, V, axes=1), Q.T @ D @ Q
    return U, values


def _ascend(V: Real, X: Real, steps: int) -> tuple[Real, Real]:
    """Columns of X (n, S) moved uphill until none moves; f (S,)."""
    r, n, _ = V.shape
    rows = V.reshape(r * n, n)
    for _ in range(steps):
        g, f = _forms(rows, X, r)
        clipped = np.clip(f, 0.5, 1.0)
        following = unit_columns(g + np.sqrt(clipped * (1.0 - clipped)) * X)
        moved = float(np.abs(following - X).max())
        X = following
        if moved <= LIMITS.subspace_tolerance:
            break
    return X, _forms(rows, X, r)[1]


def _forms(rows: Real, X: Real, r: int) -> tuple[Real, Real]:
    """g (n, S) and f (S,) for the columns of X."""
    P = (rows @ X).reshape(r, *X.shape)
    q = (P * X).sum(axis=1)
    return (P * q[:, None, :]).sum(axis=0), (q * q).sum(axis=0)
