"""Damped steps of one large system, in the memory that it has.

Step    (H + μD)⁻¹g for several dampings, D the diagonal of H = JᵀJ, as `gauss_newton` takes it.
Cost    p³/3 a damping, in single precision where μ allows it; no matrix of size p² is made but one of half its bytes: on a busy
        machine fresh memory took as long as the factors.
"""

from __future__ import annotations

import numpy as np

from weightlift.namespaces import solve
from weightlift.refinement.limits import LIMITS

TINY = 2.0**-1022  # the least normal number, as in `gauss_newton`


def large_steps(H: np.ndarray, gradient: np.ndarray, dampings: np.ndarray) -> np.ndarray:
    """(dampings, p) as `_damped_steps`, of one large system, which is overwritten; in single precision where damping allows it.

    With unit diagonal and damping μ the relative error is ε p/μ at most: a step need not be more precise than the model that
    it minimises, and the factor takes half the time.
    """
    diagonal = np.diagonal(H)
    root = np.sqrt(np.maximum(diagonal, 1e-10 * diagonal.max()) + TINY)
    H /= root[:, None]
    H /= root
    target, shifted = (gradient / root)[:, None], np.empty(H.shape, dtype=np.float32)
    steps = [_solution(H, target, mu, shifted) / root for mu in dampings.tolist()]
    return np.stack([np.where(np.isfinite(s), s, 0.0) for s in steps])


def _solution(H: np.ndarray, target: np.ndarray, damping: float, single: np.ndarray) -> np.ndarray:
    """(H + μI)⁻¹ g (p,); `single` is overwritten."""
    from scipy.linalg.lapack import sposv

    if damping >= LIMITS.single_damping:
        np.copyto(single, H, casting="same_kind")
        single.flat[:: len(H) + 1] += damping
        _, solution, failed = sposv(single.T, target.astype(np.float32), lower=1, overwrite_a=1)
        if not failed:
            return np.asarray(solution[:, 0], dtype=np.float64)
    shifted = H.copy()
    shifted.flat[:: len(H) + 1] += damping
    return np.asarray(solve(shifted[None], target[None])[0, :, 0])


def less_product(H: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """H − left · right, symmetric, in the place of H."""
    from scipy.linalg.blas import dgemm

    return np.asarray(dgemm(-1.0, left, right, 1.0, H.T, overwrite_c=1)).T
