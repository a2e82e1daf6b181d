"""The least order ℓ at which the tensors w̄ᵢ^{⊗ℓ} are linearly independent, and how robustly  [awasthi2021, Thm 4.2].

With unit columns U = (w̄₁ … w̄_k), the matrix of the vec(w̄ᵢ^{⊗ℓ}) is the ℓ-fold Khatri–Rao power of U; its Gram matrix is
(UᵀU)^{∘ℓ}. Its least singular value s_k never falls with ℓ [Schur's product theorem], and is positive at ℓ = k − 1 unless
two of the w's are parallel [awasthi2021, Fact 4.7]; generic ones need C(d+ℓ−1, ℓ) ≥ k only.

An isometry of the rows changes neither, so each power is kept as a triangular factor F_ℓ of at most k rows, built from the
last by F_ℓ = R of the QR of F_{ℓ−1} ⊙ U: nothing of size d^ℓ, and, unlike in the Gram matrix, small singular values keep
their digits. Cost O(d k³) an order, memory O(k²) and blocks of a few MB.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from weightlift.errors import ArgumentError
from weightlift.namespaces import row_ranges
from weightlift.network import Network

BLOCK_ENTRIES = 2**21  # of products in memory at a time: 16 MB


@dataclass(frozen=True)
class LeastOrder:
    """order is None where no order up to the largest one tried is independent."""

    order: int | None  # ℓ
    smallest: float  # s_k of the matrix of the vec(w̄ᵢ^{⊗ℓ}), at the last order tried
    singular_values: tuple[float, ...]  # s_k for the orders 1, 2, … tried
    parallel: tuple[tuple[int, int], ...]  # pairs of units that no order tells apart


def least_order(network: Network | np.ndarray, *, max_order: int = 8, tol: float = 1e-9) -> LeastOrder:
    """The least ℓ ≤ max_order with s_k(w̄₁^{⊗ℓ}, …, w̄_k^{⊗ℓ}) > tol, for a network or its weights W (d, k).

    >>> least_order(np.array([[1.0, 0.0, 1.0, 1.0], [0.0, 1.0, 1.0, -2.0]])).order      # 4 vectors, C(ℓ + 1, ℓ) ≥ 4
    3
    """
    W = network.W if isinstance(network, Network) else Network(network).W
    if isinstance(max_order, bool) or not isinstance(max_order, (int, np.integer)) or max_order < 1:
        raise ArgumentError(f"max_order must be a positive integer, not {max_order!r}.")
    length = np.linalg.norm(W, axis=0)
    if not length.all():
        raise ArgumentError(f"unit {int(np.argmin(length))} has weight zero, hence no direction; remove it first.")
    U = W / length
    k = U.shape[1]
    smallest: list[float] = []
    for factor in itertools.islice(power_factors(U), 1, max_order + 1):
        smallest.append(float(np.linalg.svd(factor, compute_uv=False)[-1]) if factor.shape[0] >= k else 0.0)
        if smallest[-1] > tol:
            return LeastOrder(len(smallest), smallest[-1], tuple(smallest), ())
    return LeastOrder(None, smallest[-1], tuple(smallest), _parallel_pairs(U, tol))


def power_factors(U: np.ndarray) -> Iterator[np.ndarray]:
    """F_ℓ with F_ℓᵀ F_ℓ = (UᵀU)^{∘ℓ} for ℓ = 0, 1, 2, …, each of at most k rows."""
    k = U.shape[1]
    U = _triangle(U)
    factor = np.ones((1, k))
    while True:
        yield factor
        rows = max(1, BLOCK_ENTRIES // U.size)
        product = np.zeros((0, k))
        for i, j in row_ranges(len(factor), rows):
            block = (factor[i:j, None, :] * U[None, :, :]).reshape(-1, k)
            product = _triangle(np.vstack([product, block]))
        factor = product


def _triangle(A: np.ndarray) -> np.ndarray:
    """R of the QR decomposition: the same Gram matrix in at most k rows."""
    return A if A.shape[0] <= A.shape[1] else np.asarray(scipy.linalg.qr(A, mode="r", check_finite=False)[0][: A.shape[1]])


def _parallel_pairs(U: np.ndarray, tol: float) -> tuple[tuple[int, int], ...]:
    found = []
    for i in range(U.shape[1]):
        gap = np.minimum(np.linalg.norm(U[:, i, None] - U, axis=0), np.linalg.norm(U[:, i, None] + U, axis=0))
        found += [(i, int(j)) for j in np.flatnonzero(gap <= tol) if i < j]
    return tuple(found)
