"""Algebra of symmetric tensors held as whole arrays T (n, …, n) with p axes, for small n.

Notation    u^{⊗q}: the q-fold outer power;  T(V, …, V): every slot multiplied by Vᵀ;
            T(I^f, u^{p−f}): f slots left free, u in the others.
Cost        O(nᵖ r) for r vectors, by matrix products.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from weightlift.decomposition.limits import LIMITS
from weightlift.errors import ArgumentError, NotFiniteError, ShapeError

Real = NDArray[np.float64]



def power_columns(U: Real, q: int) -> Real:
    """vec(uᵢ^{⊗q}) for the columns of U (n, r): the q-th Khatri–Rao power, (n^q, r)."""
    r = U.shape[1]
    K = np.ones((1, r))
    for _ in range(q):
        K = (K[:, None, :] * U[None, :, :]).reshape(-1, r)
    return K


def compose(weights: ArrayLike, factors: ArrayLike, order: int) -> Real:
    """Σᵢ cᵢ uᵢ^{⊗order} for weights c (r,) and factors U (n, r).

    >>> compose([2.0], [[1.0], [-1.0]], 3)[0]
    array([[ 2., -2.], [-2.,  2.]])
    """
    c, U = np.asarray(weights, dtype=np.float64), np.asarray(factors, dtype=np.float64)
    if U.ndim != 2 or c.shape != U.shape[1:]:
        raise ShapeError(f"weights must have shape (r,) and factors (n, r), not {c.shape} and {U.shape}.")
    if order < 0 or order * math.log(max(2, U.shape[0])) > math.log(LIMITS.entries):
        raise ArgumentError(f"order must be at least 0, and {U.shape[0]}^order at most {LIMITS.entries:.0e}, not {order!r}.")
    left = power_columns(U, order // 2)
    right = left if order % 2 == 0 else power_columns(U, order - order // 2)
    return np.asarray(((left * c) @ right.T).reshape((U.shape[0],) * order))


def apply_powers(T: Real, U: Real, free: int) -> Real:
    """T(I^free, uᵢ, …, uᵢ) for every column of U (n, r), free < p: (n^free, r)."""
    n, r = U.shape
    at_once = min(2, T.ndim - free)
    Y = T.reshape(-1, n**at_once) @ power_columns(U, at_once)  # the only step over all entries: one matrix product
    for _ in range(T.ndim - free - at_once):
        Y = np.einsum("anr,nr->ar", Y.reshape(-1, n, r), U)
    return np.asarray(Y)


def slices(T: Real, G: Real) -> Real:
    """The matrices T(I, I, G_l), (L, n, n), for the columns G_l (n^{p−2}, L), read as tensors of order p − 2.

    T sees only the symmetric part of G_l, so that a Gaussian column is a random symmetric tensor.
    """
    n = len(T)
    return np.ascontiguousarray((T.reshape(n * n, -1) @ G).T).reshape(-1, n, n)


def multilinear(T: Real, V: Real) -> Real:
    """T(V, …, V) for V (n, r): the tensor (r, …, r) of T in the columns of V."""
    for _ in range(T.ndim):
        T = np.tensordot(T, V, axes=(0, 0))  # takes the first axis, appends the new one: p turns restore the order
    return T


def symmetric_tensor(tensor: ArrayLike, name: str = "tensor") -> Real:
    """The argument as a float64 array, once it is found real, finite, cubic, of order ≥ 3, symmetric and not zero."""
    T = _array(name, tensor)
    if T.dtype.kind == "c":
        raise NotFiniteError(f"{name} is complex; pass {name}.real if its imaginary part is only rounding.")
    if T.dtype.kind not in "biuf":
        raise ArgumentError(f"{name} must hold real numbers, not dtype {T.dtype}.")
    if T.ndim < 3:
        raise ShapeError(f"{name} must have order 3 or more, not {T.ndim}: a matrix has no unique decomposition.")
    if len(set(T.shape)) != 1 or T.size == 0:
        raise ShapeError(f"{name} must have equal axes (n, …, n) with n ≥ 1, not shape {T.shape}.")
    T = np.ascontiguousarray(T, dtype=np.float64)
    if not np.isfinite(T).all():
        raise NotFiniteError(f"{name} holds {np.count_nonzero(~np.isfinite(T))} entries that are NaN or infinite; mend them.")
    largest = float(np.abs(T).max())
    if largest == 0:
        raise ArgumentError(f"{name} must not be zero; it has no components.")
    for twin in (np.swapaxes(T, 0, 1), np.moveaxis(T, 0, -1)):  # a transposition and a cycle generate all permutations
        gap = np.abs(T - twin)
        worst = np.unravel_index(int(gap.argmax()), T.shape)
        if gap[worst] > LIMITS.symmetry * largest:
            here = ", ".join(map(str, worst))
            raise ArgumentError(
                f"{name} is not symmetric: {name}[{here}] = {T[worst]:.6g}, but {twin[worst]:.6g} with its indices "
                f"permuted (largest entry {largest:.3g}). Average over the permutations of its axes if that is noise."
            )
    return T


def _array(name: str, tensor: ArrayLike) -> np.ndarray:
    if np.ma.is_masked(tensor):
        raise NotFiniteError(f"{name} has masked values; fill them first.")
    try:
        return np.asarray(tensor)
    except ValueError as error:
        raise ShapeError(f"{name} must be a rectangular array ({error}).") from error


def range_basis(T: Real, rank: int | None) -> tuple[Real, Real]:
    """Basis V (n, r) of the leading range of the unfolding (n, n^{p−1}), and all its singular values (n,).

    r is `rank`, or what the unfolding has to rounding where that is less: components are then dependent, or fewer. rank None
    counts the singular values above 1e-9 times the largest  [awasthi2021, Alg. 1: rank by a threshold].
    """
    n = len(T)
    triangle = scipy.linalg.qr(T.reshape(n, -1).T, mode="r", check_finite=False)[0][:n]  # as the unfolding, unsquared
    left, s, _ = np.linalg.svd(triangle.T)
    least = LIMITS.rank_floor if rank is None else 8 * n * np.finfo(np.float64).eps
    counted = int((s > least * s[0]).sum())
    return np.asarray(left[:, : counted if rank is None else min(rank, counted)]), np.asarray(s)
