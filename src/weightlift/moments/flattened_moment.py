"""T_{2ℓ+q}(·, ·, α, …, α) as a symmetric matrix on Sym^ℓ(Rᵈ), dense or by products  [awasthi2021, eq. (6), Alg. 1: flatten].

For y = Σ aᵢ φ(⟨wᵢ, x⟩ + bᵢ) and x ~ N(0, I) it is Σ aᵢ m_{2ℓ+q}(‖wᵢ‖, bᵢ) ⟨α, w̄ᵢ⟩^q vec(w̄ᵢ^{⊗ℓ}) vec(w̄ᵢ^{⊗ℓ})ᵀ; for ReLU with
‖wᵢ‖ = 1, m_k(b) = (−1)ᵏ He_{k−2}(b) e^{−b²/2}/√(2π), k ≥ 2  [awasthi2021, Lemma 3.5].

Rows    with t = ⟨α, x⟩, ‖α‖ = 1, and A^s: Z → Sym[α^{⊗s} ⊗ Z],
            Σ_j (−1)ʲ (q)_j Σ_s C(ℓ,s) C(ℓ,j−s) A^s [y He_{q−j}(t) He_{2ℓ−j}(x)]_{(ℓ−s) × (ℓ−j+s)} (A^{j−s})ᵀ,
        s of the j removed slots on the left side, the others on the right.
Cost    D = C(d+ℓ−1, ℓ): O(n D²) and memory O(D²) dense; O(n dˡ) a vector by products. Nothing of size d^{2ℓ} is formed.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from weightlift.errors import ArgumentError
from weightlift.hermite import polynomials
from weightlift.hermite.polynomials import check_order
from weightlift.hermite.symmetric import flattening, flattening_product, symmetric_basis, symmetric_dimension
from weightlift.moments.hermite_moment import HermiteMoment, unit_moments
from weightlift.moments.limits import LIMITS
from weightlift.namespaces import Array, array_namespace, as_like, to_numpy
from weightlift.network import Network
from weightlift.samples import Block, Samples, Sums
from weightlift.samples.protocol import check_source

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator



@dataclass(frozen=True, eq=False)
class FlattenedMoment:
    """The matrix (D, D) of T_{2ℓ+q}(·, ·, α^q) in the basis of `symmetric_basis(d, ℓ)`; α of any length."""

    n_inputs: int
    half: int  # ℓ
    filled: int = 0  # q
    alpha: np.ndarray | None = None

    @property
    def floats_per_row(self) -> int:
        return 2 * sum(symmetric_dimension(self.n_inputs, j) for j in range(self.half + 1)) + 2 * self.filled + 4

    def __call__(self, block: Block) -> Sums:
        xp = array_namespace(block.X)

        def flat(g: Array, H: list[Array], rows: int, columns: int, left: Array, right: Array) -> Array:
            matrix = flattening(g, H, self.n_inputs, rows, columns)
            matrix = matrix if left is None else xp.matmul(left, matrix)
            return matrix if right is None else xp.matmul(matrix, xp.matrix_transpose(right))

        return (_over_slots(block, self.n_inputs, self.half, self.filled, self.alpha, flat),)

    def expectation(self, network: Network) -> tuple[np.ndarray]:
        coefficients, F = _population(network, self.half, self.filled, self.alpha)
        return ((F * coefficients) @ F.T,)


@dataclass(frozen=True, eq=False)
class FlattenedProduct:
    """The same matrix times Z (D, s), matrix-free."""

    n_inputs: int
    half: int
    Z: np.ndarray
    filled: int = 0
    alpha: np.ndarray | None = None

    @property
    def floats_per_row(self) -> int:
        return FlattenedMoment(self.n_inputs, self.half, self.filled).floats_per_row + 2 * int(
            self.Z.shape[1] * self.n_inputs**self.half
        )

    def __call__(self, block: Block) -> Sums:
        xp, Z = array_namespace(block.X), as_like(self.Z, block.X)

        def flat(g: Array, H: list[Array], rows: int, columns: int, left: Array, right: Array) -> Array:
            part = Z if right is None else xp.matmul(xp.matrix_transpose(right), Z)
            product = flattening_product(g, H, part, self.n_inputs, rows, columns)
            return product if left is None else xp.matmul(left, product)

        return (_over_slots(block, self.n_inputs, self.half, self.filled, self.alpha, flat),)

    def expectation(self, network: Network) -> tuple[np.ndarray]:
        coefficients, F = _population(network, self.half, self.filled, self.alpha)
        return ((F * coefficients) @ (F.T @ self.Z),)


def hermite_coefficient(samples: Samples, order: int) -> np.ndarray:
    """T_order = E[y He_order(x)], the whole tensor (d, …, d), for small d  [awasthi2021, eq. (6); exact by Lemma 3.5].

    samples  rows, as `samples.open` gives them
    order    of the tensor: d^order numbers are formed

    >>> import weightlift as wl
    >>> net = wl.Network([[1.0], [0.0]], a=[2.0], b=[1.0])
    >>> hermite_coefficient(wl.samples.population(net), 2)      # 2 e^{−1/2}/√(2π) e₁e₁ᵀ
    array([[0.48394145, 0.        ], [0.        , 0.        ]])
    """
    check_source(samples)
    check_order(order)
    check_memory(8.0 * samples.d**order, f"T_{order} in {samples.d} dimensions", "contract it: HermiteMoment, FlattenedMoment")
    return np.asarray(to_numpy(samples.mean(HermiteMoment(samples.d, order))[0]))


def moment_operator(samples: Samples, half: int, filled: int = 0, alpha: np.ndarray | None = None) -> LinearOperator:
    """T_{2ℓ+q}(·, ·, α^q) as a SciPy operator on Sym^ℓ; every product is one pass over the rows.

    samples  rows, as `samples.open` gives them
    half     ℓ
    filled   q, how many places α fills
    alpha    α (d,), needed where q > 0
    """
    from scipy.sparse.linalg import LinearOperator

    D = symmetric_dimension(samples.d, half)

    def times(Z: np.ndarray) -> np.ndarray:
        columns = np.asarray(Z, dtype=float).reshape(D, -1)
        product = samples.mean(FlattenedProduct(samples.d, half, columns, filled, alpha))[0]
        return np.asarray(to_numpy(product).reshape(Z.shape))

    return LinearOperator((D, D), matvec=times, rmatvec=times, matmat=times, rmatmat=times, dtype=np.float64)


def check_flattening(n_inputs: int, half: int, *, max_memory: float | None = None) -> None:
    """Refuse an ℓ whose matrices on Sym^ℓ do not fit in memory, and say how much they need."""
    D = symmetric_dimension(n_inputs, half)
    what = f"ℓ = {half} with {n_inputs} inputs: matrices of {D:,} × {D:,}"
    check_memory(8.0 * LIMITS.dense_copies * D**2, what, "take a smaller ℓ", max_memory)


def check_memory(needed: float, what: str, remedy: str, max_memory: float | None = None) -> None:
    at_hand = LIMITS.memory_share * _machine_memory() if max_memory is None else max_memory
    if needed > at_hand:
        raise ArgumentError(f"{what} need {needed / 2**30:,.3g} GiB, and {at_hand / 2**30:,.3g} GiB are at hand; {remedy}.")


def _over_slots(
    block: Block, d: int, half: int, filled: int, alpha: np.ndarray | None, flat: Callable[..., Array]
) -> Array:
    """The double sum over j and s of the module's formula; `flat` evaluates one term."""
    xp, X = array_namespace(block.X), block.X
    H = [symmetric_basis(d, j).hermite(X) for j in range(half + 1)]
    if not filled:
        return flat(block.wy, H, half, half, None, None)
    assert alpha is not None
    length = float(np.linalg.norm(alpha))
    unit = np.asarray(alpha) / length
    heights = polynomials(filled, xp.matmul(X, as_like(unit, X)))
    raising = [None, *(as_like(A, X) for A in _raisings(d, half, unit, min(filled, half)))]
    total: Array = None
    for j in range(min(filled, 2 * half) + 1):
        g = block.wy * heights[filled - j]
        for s in range(max(0, j - half), min(j, half) + 1):
            ways = (-1.0) ** j * math.perm(filled, j) * math.comb(half, s) * math.comb(half, j - s)
            term = ways * flat(g, H, half - s, half - j + s, raising[s], raising[j - s])
            total = term if total is None else total + term
    return length**filled * total


def _raisings(d: int, half: int, u: np.ndarray, most: int) -> list[np.ndarray]:
    """A^s: Sym^{ℓ−s} → Sym^ℓ for s = 1 … most."""
    found: list[np.ndarray] = []
    for s in range(1, most + 1):
        step = symmetric_basis(d, half - s).raising(u)
        found.append(step if not found else found[-1] @ step)
    return found


def _population(network: Network, half: int, filled: int, alpha: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    coefficients, directions = unit_moments(network, 2 * half + filled)
    if filled:
        coefficients = coefficients * (np.asarray(alpha) @ directions) ** filled
    return coefficients, symmetric_basis(network.n_inputs, half).powers(directions)


def _machine_memory() -> float:
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return 8.0 * 2**30
