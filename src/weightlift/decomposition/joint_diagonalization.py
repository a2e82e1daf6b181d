"""Joint diagonalisation of real symmetric matrices by one matrix that need not be orthogonal.

Model       M_l = U diag(d_l) Uᵀ + noise, l = 1…L, of any signature, U (n, n) invertible. Wanted: B with all B M_l Bᵀ
            near diagonal; its rows are fixed up to scale and order, and U = B⁻¹ up to the same.
            Unique when no two profiles (d_1i, …, d_Li) are collinear. Which slices to stack is the caller's choice.
Criterion   off(B) = (1/n) Σ_{i≠j} Σ_l (B M_l Bᵀ)_ij² / √(z_ii z_jj) with z_ii = Σ_l (B M_l Bᵀ)_ii²: it does not feel
            the scale of rows, and is large when two rows of B coincide.
Method      The sums over l do not change when the slices are mixed by an orthogonal matrix, so L slices that span m
            dimensions become m. Starts: eigenvectors of two random mixtures (Jennrich; exact on exact slices; a
            complex pair gives its real plane) and a random rotation; the least criterion wins.
Cost        O(L n² min(L, n²)) to compress, O(min(L, n²) n³) a sweep.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from weightlift.arguments import generator
from weightlift.decomposition.components import unit_columns
from weightlift.decomposition.ffdiag import balance, ffdiag
from weightlift.decomposition.jennrich import shared_directions
from weightlift.decomposition.limits import LIMITS
from weightlift.decomposition.qrj1d import qrj1d
from weightlift.decomposition.tensors import Real
from weightlift.errors import ArgumentError, NotFiniteError, ShapeError, SingularError

DIAGONALIZERS = {"ffdiag": ffdiag, "qrj1d": qrj1d}


@dataclass(frozen=True, eq=False)
class JointDiagonalization:
    """B and what it makes of the slices."""

    B: Real  # (n, n)  rows scaled to Σ_l slices[l, i, i]² = 1
    slices: Real  # (L, n, n)  B M_l Bᵀ
    off: float  # the criterion; 0 when all are diagonal, about 1 when none is
    sweeps: int
    converged: bool

    @property
    def factors(self) -> Real:
        """U = B⁻¹ with unit columns, (n, n): M_l ≈ Σᵢ (…) uᵢ uᵢᵀ."""
        return unit_columns(np.asarray(np.linalg.inv(self.B), dtype=np.float64))


def joint_diagonalize(
    M: ArrayLike,
    *,
    method: str = "ffdiag",
    start: ArrayLike | None = None,
    tol: float = 1e-10,
    max_sweeps: int = 200,
    rng: int | np.random.Generator = 0,
) -> JointDiagonalization:
    """Diagonalise the symmetric slices M (L, n, n) together.

    method "ffdiag" (all pairs of rows in one step, the faster) or "qrj1d" (rotations and shears); `start` (n, n) is the
    only start when it is given; `tol` bounds the last step, relative to balanced rows.

    max_sweeps  of every start
    rng         a seed or a generator

    >>> rng = np.random.default_rng(0)
    >>> U, D = rng.normal(size=(3, 3)), rng.normal(size=(5, 3))
    >>> found = joint_diagonalize(np.einsum("ir,lr,jr->lij", U, D, U))
    >>> found.converged, found.off < 1e-25
    (True, True)
    """
    M, B0 = _checked(M, method, start)
    compressed = _compress(M)
    rng = generator(rng)
    best: JointDiagonalization | None = None
    for B in _starts(compressed, rng) if B0 is None else [B0]:
        step, sweeps, settled = DIAGONALIZERS[method](B @ compressed @ B.T, tol, max_sweeps)
        run = _result(step @ B, M, sweeps, settled)
        if best is None or (run.converged, -run.off) > (best.converged, -LIMITS.better * best.off):
            best = run
        if best.converged and best.off <= LIMITS.exact_off:
            break
    assert best is not None
    return best


def off_criterion(M: Real) -> float:
    """(1/n) Σ_{i≠j} Σ_l M_ij² / √(z_ii z_jj) of slices M (L, n, n)."""
    scale = balance(M)
    E = np.einsum("lij,lij->ij", M, M) * (scale[:, None] * scale) ** 2
    np.fill_diagonal(E, 0.0)
    return float(E.sum() / len(E))


def _checked(M: ArrayLike, method: str, start: ArrayLike | None) -> tuple[Real, Real | None]:
    if method not in DIAGONALIZERS:
        raise ArgumentError(f"method must be one of {', '.join(DIAGONALIZERS)}, not {method!r}.")
    A = np.asarray(M)
    if A.ndim != 3 or A.shape[1] != A.shape[2] or 0 in A.shape:
        raise ShapeError(f"M must be slices of shape (L, n, n), not {A.shape}.")
    if A.dtype.kind not in "biuf" or not np.isfinite(A).all():
        raise NotFiniteError("M must be real and finite.")
    A = A.astype(np.float64)
    skew = float(np.abs(A - A.transpose(0, 2, 1)).max())
    if skew > 1e-8 * np.abs(A).max():
        raise ArgumentError(f"M must hold symmetric slices; entries differ from their transposes by up to {skew:.3g}.")
    A = (A + A.transpose(0, 2, 1)) / 2
    if start is None:
        return A, None
    B = np.asarray(start, dtype=np.float64)
    if B.shape != A.shape[1:]:
        raise ShapeError(f"start must have shape {A.shape[1:]}, not {B.shape}.")
    if not np.isfinite(B).all():
        raise NotFiniteError("start must be finite; it holds NaN or infinity.")
    if np.linalg.matrix_rank(B) < len(B):
        raise SingularError("start must be invertible.")
    return A, B


def _compress(M: Real) -> Real:
    """At most as many slices as they span, with the same criterion for every B."""
    _, n, _ = M.shape
    i, j = np.triu_indices(n)
    _, s, rows = np.linalg.svd(M[:, i, j], full_matrices=False)
    keep = s > np.finfo(np.float64).eps * s[0]
    C = np.zeros((int(keep.sum()), n, n))
    C[:, i, j] = C[:, j, i] = s[keep, None] * rows[keep]  # Qᵀ M_l with orthonormal Q
    values = np.linalg.svd(C.transpose(1, 0, 2).reshape(n, -1), compute_uv=False) if len(C) else np.zeros(n)
    if values[-1] <= n * np.finfo(np.float64).eps * values[0]:
        raise SingularError("M: the slices share a null vector. Project them onto their common range first.")
    return C


def _starts(M: Real, rng: np.random.Generator) -> Iterator[Real]:
    """The best of a few pencils, then a random rotation."""
    L, n, _ = M.shape
    if L > 1:
        yield _best_pencil(M, np.tensordot(rng.standard_normal((LIMITS.pencils, 2, L)), M, axes=1))
    yield np.linalg.qr(rng.standard_normal((n, n)))[0]


def _best_pencil(M: Real, mixtures: Real) -> Real:
    _, n, _ = M.shape
    best, least = np.eye(n), np.inf
    for A, B in mixtures:
        dual = shared_directions(A, B, rank=len(A)).dual
        off = off_criterion(dual @ M @ dual.T)
        if off < least:
            best, least = dual, off
        if least <= LIMITS.no_off:
            break
    return best


def _result(B: Real, M: Real, sweeps: int, settled: bool) -> JointDiagonalization:
    scale = balance(B @ M @ B.T)
    B = scale[:, None] * B
    D = B @ M @ B.T
    return JointDiagonalization(B, D, off_criterion(D), sweeps, settled)
