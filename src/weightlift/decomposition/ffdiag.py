"""FFDIAG: joint diagonalisation by small multiplicative steps, all pairs of rows at once.

Model       M_l = U diag(d_l) Uᵀ + noise, l = 1…L, symmetric, of any signature; B = U⁻¹ is wanted, up to scaled and
            permuted rows. Put M_l ← B M_l Bᵀ = D_l + E_l, diagonal and off-diagonal part.
Step        (I + W) M_l (I + W)ᵀ ≈ D_l + W D_l + D_l Wᵀ + E_l to first order; the least squares over l fall apart
            into 2×2 systems in (W_ij, W_ji). With z_ij = Σ_l D_i D_j and y_ij = Σ_l D_j E_ij,
                W_ij = (z_ij y_ji − z_ii y_ij) / (z_ii z_jj − z_ij²),   W_ii = 0.
            [Ziehe, Laskov, Nolte & Müller 2004.] Rows are scaled to z_ii = 1, and |W| is kept below 0.9,
            so that I + W stays invertible. Where steps turn back on each other, as they do with much noise, they are halved.
Converges   quadratically on exact input, geometrically with noise: there it ends once a step is far below what the choice
            of the criterion moves, `settled`.   Cost O(L n³) a sweep, four matrix products.
"""

from __future__ import annotations

import numpy as np

from weightlift.decomposition.limits import LIMITS
from weightlift.decomposition.tensors import Real


def ffdiag(M: Real, tol: float, max_sweeps: int) -> tuple[Real, int, bool]:
    """B with every B M_l Bᵀ near diagonal, for slices M (L, n, n) that need not be scaled; sweeps used; settled."""
    _, n, _ = M.shape
    B, last, share = np.eye(n), np.zeros((n, n)), 1.0
    for sweep in range(1, max_sweeps + 1):
        scale = balance(M)
        B, M = scale[:, None] * B, scale[:, None] * M * scale
        W = _step(M)
        size = float(np.linalg.norm(W))
        along = float(np.vdot(W, last)) / max(size * float(np.linalg.norm(last)), np.finfo(np.float64).tiny)
        share = share / 2 if along < LIMITS.turned else min(1.0, LIMITS.growth * share) if along > LIMITS.ahead else share
        A, last = np.eye(n) + min(share, LIMITS.largest_step / max(size, LIMITS.largest_step)) * W, W
        B, done = A @ B, settled(size, M, tol)
        if done:
            return B, sweep, True
        M = A @ M @ A.T
    return B, max_sweeps, False


def settled(size: float, M: Real, tol: float) -> bool:
    """Whether a step of that size no longer matters: off = Σ_l ‖M_l‖²/n − 1 of balanced slices is what noise has left."""
    _, n, _ = M.shape
    off = max(float(np.vdot(M, M)) / n - 1.0, 0.0)
    return bool(size <= max(tol, LIMITS.noise_share * off))


def balance(M: Real) -> Real:
    """Row scales s with Σ_l (s_i² M_l[i, i])² = 1; a row without diagonal is scaled by all its entries instead."""
    z = np.einsum("lii,lii->i", M, M)
    rows = np.einsum("lij,lij->i", M, M)
    smallest = np.finfo(np.float64).eps * np.where(rows > 0, rows, 1.0)
    return np.asarray(np.maximum(z, smallest) ** -0.25)


def _step(M: Real) -> Real:
    D = np.einsum("lii->li", M)
    z = D.T @ D
    y = np.einsum("lij,lj->ij", M, D)
    own = np.diag(z)
    determinant = np.maximum(np.outer(own, own) - z * z, np.finfo(np.float64).eps * np.outer(own, own))
    W = (z * y.T - own[:, None] * y) / determinant
    np.fill_diagonal(W, 0.0)
    return np.asarray(W)
