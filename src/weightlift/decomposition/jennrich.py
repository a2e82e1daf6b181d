"""Jennrich's algorithm: two contractions of a tensor share their factors, one eigenproblem finds them.

Model       M_a = U diag(α) Uᵀ, M_b = U diag(β) Uᵀ with independent columns U (N, r) and ratios αᵢ/βᵢ all different.
            For T = Σ cᵢ uᵢ^{⊗p}: M = T(I, I, G) with G random has αᵢ = cᵢ⟨uᵢ^{⊗p−2}, G⟩  [awasthi2021, Alg. 1].
Method      V = leading left singular vectors of [M_a M_b]; the eigenvectors X of VᵀM_aV x = λ VᵀM_bV x are dual
            to the factors, U = V X^{−ᵀ}.
Assumes     r ≤ N and noise small beside the gaps of the ratios; otherwise eigenvalues turn complex in pairs.
            N may be d^ℓ: then the columns found are vec(w^{⊗ℓ}).
Cost        O(N² r + r³) a pair of slices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from weightlift.arguments import count, generator
from weightlift.decomposition.components import Decomposition, DecompositionStatus, fit_components
from weightlift.decomposition.tensors import Real, slices, symmetric_tensor
from weightlift.errors import ArgumentError, NotFiniteError, ShapeError, SingularError

Complex = NDArray[np.complex128]


@dataclass(frozen=True, eq=False)
class Pencil:
    """Directions that two symmetric matrices share."""

    factors: Real  # (N, r)  unit columns; M_a ≈ U diag Uᵀ and M_b ≈ U diag Uᵀ
    dual: Real  # (r, N)  B with B M Bᵀ diagonal; a complex pair gives its real and imaginary parts
    gap: float  # least angle between two eigenvalues on the projective line, 0 to π/2: the stability of the factors
    n_complex: int  # eigenvalues that are not real; 0 in a success
    singular_values: Real  # of [M_a M_b]: the rank was read from them


def jennrich(R: ArrayLike, *, attempts: int = 8, rng: int | np.random.Generator = 0) -> Decomposition:
    """Decompose R (r, …, r), of rank r equal to its side, by the pair of random slices with the widest gap.

    A pair with complex eigenvalues is drawn again; when all `attempts` are complex, the status says so.

    rng  a seed or a generator
    """
    T = symmetric_tensor(R, "R")
    rng = generator(rng)
    n, order, attempts = len(T), T.ndim, count("attempts", attempts)
    pairs = slices(T, rng.standard_normal((n ** (order - 2), 2 * attempts))).reshape(attempts, 2, n, n)
    pencils = [shared_directions(M_a, M_b, rank=n) for M_a, M_b in pairs]
    best = max(pencils, key=lambda pencil: (-pencil.n_complex, pencil.gap))
    failure = DecompositionStatus.COMPLEX_EIGENVALUES if best.n_complex else None
    return fit_components(T, best.factors, method="jennrich", failure=failure)


def shared_directions(M_a: ArrayLike, M_b: ArrayLike, *, rank: int | None = None, floor: float = 1e-9) -> Pencil:
    """The directions U (N, r) with M_a = U diag(α) Uᵀ and M_b = U diag(β) Uᵀ.

    rank None counts the singular values of [M_a M_b] above `floor` times the largest; pass the level of the noise.

    >>> U = np.array([[1.0, 1.0], [0.0, 2.0]])
    >>> pencil = shared_directions(U @ np.diag([1.0, -3.0]) @ U.T, U @ np.diag([2.0, 1.0]) @ U.T)
    >>> pencil.n_complex, sorted(abs(pencil.factors[1] / pencil.factors[0]).round(12))
    (0, [np.float64(0.0), np.float64(2.0)])
    """
    A, B = _symmetric_pair(M_a, M_b)
    V, s = _common_range(A, B, rank, floor)
    (alpha, beta), X = scipy.linalg.eig(V.T @ A @ V, V.T @ B @ V, homogeneous_eigvals=True)
    X, n_complex = _real_basis(alpha, X)
    X /= np.linalg.norm(X, axis=0)
    U = V @ np.linalg.pinv(X).T
    return Pencil(U / np.linalg.norm(U, axis=0), X.T @ V.T, _projective_gap(alpha, beta), n_complex, s)


def _symmetric_pair(M_a: ArrayLike, M_b: ArrayLike) -> tuple[Real, Real]:
    A, B = np.asarray(M_a), np.asarray(M_b)
    if A.ndim != 2 or A.shape[0] != A.shape[1] or A.shape != B.shape or A.size == 0:
        raise ShapeError(f"M_a and M_b must be square matrices of one size, not {A.shape} and {B.shape}.")
    if "c" in (A.dtype.kind, B.dtype.kind) or not (np.isfinite(A).all() and np.isfinite(B).all()):
        raise NotFiniteError("M_a and M_b must be real and finite.")
    A, B = A.astype(np.float64), B.astype(np.float64)
    return (A + A.T) / 2, (B + B.T) / 2


def _common_range(A: Real, B: Real, rank: int | None, floor: float) -> tuple[Real, Real]:
    """Leading left singular vectors of [A B], each scaled to norm one so that neither drowns the other."""
    N = len(A)
    sizes = [float(np.linalg.norm(M)) for M in (A, B)]
    if min(sizes) == 0:
        raise SingularError("M_a or M_b is zero; draw other contractions.")
    left, s, _ = np.linalg.svd(np.hstack([A / sizes[0], B / sizes[1]]), full_matrices=False)
    r = int((s > floor * s[0]).sum()) if rank is None else rank
    if not 1 <= r <= N:
        raise ArgumentError(f"rank must lie between 1 and N = {N}, not {r}.")
    if s[r - 1] <= N * np.finfo(np.float64).eps * s[0]:
        raise SingularError(f"rank={r}, but [M_a M_b] has a smaller rank to rounding; lower it, or pass rank=None.")
    return np.asarray(left[:, :r]), np.asarray(s)


def _real_basis(alpha: Complex, X: Complex) -> tuple[Real, int]:
    """Real columns that span the same: of two conjugate eigenvectors the real part and the imaginary part."""
    complex_ones = alpha.imag != 0  # β of real matrices is real and not negative
    basis = X.real.copy()
    second = np.flatnonzero(complex_ones)[1::2]  # LAPACK puts conjugates side by side
    basis[:, second] = X[:, second].imag
    return basis, int(complex_ones.sum())


def _projective_gap(alpha: Complex, beta: Complex) -> float:
    """Least angle between the lines (αᵢ, βᵢ); conjugate pairs count by their real parts, hence 0."""
    if len(alpha) == 1:
        return float(np.pi / 2)
    # (α, β) and (−α, −β) are one line: modulo π their angles agree
    angles = np.sort(np.arctan2(alpha.real, beta.real) % np.pi)
    return float(min(np.diff(angles).min(), angles[0] + np.pi - angles[-1]))
