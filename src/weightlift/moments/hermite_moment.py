"""M_k = E[y He_k(x)] with its slots filled or restricted  [zhong2017, Def. 5.1; awasthi2021, eq. (6)].

For y = Σ aᵢ φ(⟨wᵢ, x⟩ + bᵢ) and x ~ N(0, I), M_k = Σ aᵢ m_k(‖wᵢ‖, bᵢ) w̄ᵢ^{⊗k} with m_k(σ, b) = E φ(σz + b) He_k(z)
[zhong2017, Claim 5.2]. zhong2017 prints I ⊗̃ I in M4 where ½ I ⊗̃ I is meant: the sum over the three pairings of four slots.

Which of them φ leaves non-zero decides what a start is made of  [zhong2017, Def. 5.4]: j₂ = min{j ≥ 2 : M_j ≠ 0},
j₃ = min{j ≥ 3 : M_j ≠ 0}, P2 = M_{j₂}(I, I, α, …), P3 = M_{j₃}(I, I, I, α, …); signs come from the least odd and even ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from weightlift.activations import Activation, get
from weightlift.errors import ActivationError
from weightlift.hermite import polynomials
from weightlift.hermite.contractions import contracted, row_sums
from weightlift.moments.limits import LIMITS
from weightlift.namespaces import Array, array_namespace, as_like, device, matmul_transposed, to_numpy
from weightlift.network import Network
from weightlift.samples import Block, Sums


@dataclass(frozen=True, eq=False)
class HermiteMoment:
    """M_{p+q}(V, …, V, α, …, α): p free slots restricted to V (d, k'), q slots filled by α of any length.

    V = None leaves the free slots unrestricted (k' = d). Cost O(n d k' + n k'^p), and k'^p once.
    """

    n_inputs: int
    free: int
    V: Array | None = None
    filled: int = 0
    alpha: Array | None = None

    @property
    def floats_per_row(self) -> int:
        width, degree = self._width, max(1, (self.free + 1) // 2)
        return width + 2 * math.comb(width + degree - 1, degree) + 2 + self.filled

    @property
    def _width(self) -> int:
        return self.n_inputs if self.V is None else int(self.V.shape[1])

    def __call__(self, block: Block) -> Sums:
        xp, X = array_namespace(block.X), block.X
        S = X if self.V is None else xp.matmul(X, as_like(self.V, X))
        t = xp.matmul(X, self._direction(X)[0]) if self.filled else None
        return row_sums(block.wy, S, free=self.free, filled=self.filled, t=t)

    def finish(self, sums: Sums) -> Sums:
        """What the sums over all rows say, once."""
        xp, like = array_namespace(sums[0]), sums[0]
        V = None if self.V is None else as_like(self.V, like)
        gram = xp.eye(self.n_inputs, dtype=like.dtype, device=device(like)) if V is None else matmul_transposed(V, V)
        if not self.filled:
            return (contracted(sums, free=self.free, gram=gram),)
        alpha, length = self._direction(like)
        b = alpha if V is None else xp.matmul(xp.matrix_transpose(V), alpha)
        return (length**self.filled * contracted(sums, free=self.free, gram=gram, filled=self.filled, b=b),)

    def _direction(self, like: Array) -> tuple[Array, Array]:
        """α/‖α‖ and ‖α‖."""
        xp, alpha = array_namespace(like), as_like(self.alpha, like)
        length = xp.sqrt(xp.sum(alpha * alpha))
        return alpha / length, length

    def expectation(self, network: Network) -> tuple[np.ndarray]:
        order = self.free + self.filled
        coefficients, directions = unit_moments(network, order)
        if self.filled:
            coefficients = coefficients * (to_numpy(self.alpha) @ directions) ** self.filled
        factors = directions if self.V is None else to_numpy(self.V).T @ directions
        return (symmetric_cp(coefficients, factors, self.free),)


@dataclass(frozen=True, eq=False)
class MomentProduct:
    """M_{2+q}(I, B, α, …, α): the matrix P2 applied to B (d, r) by products alone, O(n d r)  [zhong2017, POWERMETHOD].

    With s = Bᵀx, t = ⟨α, x⟩, ‖α‖ = 1: E y [He_q(t)(x sᵀ − B) − q He_{q−1}(t)(x αᵀB + α sᵀ) + q(q−1) He_{q−2}(t) α αᵀB].
    """

    B: Array
    filled: int = 0
    alpha: Array | None = None

    @property
    def floats_per_row(self) -> int:
        return int(2 * self.B.shape[1] + 2 + self.filled)

    def __call__(self, block: Block) -> Sums:
        xp, X, q = array_namespace(block.X), block.X, self.filled
        B = as_like(self.B, X)
        if not q:  # transposed, with the thin factor first, products with wide X are a third faster
            St = xp.matmul(xp.matrix_transpose(B), xp.matrix_transpose(X))
            return (xp.matrix_transpose(xp.matmul(block.wy * St, X)) - xp.sum(block.wy) * B,)
        S = xp.matmul(X, B)
        alpha = as_like(self.alpha, X)
        length = xp.sqrt(xp.sum(alpha * alpha))
        alpha = alpha / length
        b = xp.matmul(alpha, B)
        heights = polynomials(q, xp.matmul(X, alpha))
        top, mid = block.wy * heights[q], block.wy * heights[q - 1]
        value = matmul_transposed(X, top[:, None] * S - q * mid[:, None] * b) - xp.sum(top) * B
        value = value - q * alpha[:, None] * xp.matmul(mid, S)
        if q > 1:
            low = xp.sum(block.wy * heights[q - 2])
            value = value + q * (q - 1) * low * alpha[:, None] * b
        return (length**q * value,)

    def expectation(self, network: Network) -> tuple[np.ndarray]:
        coefficients, directions = unit_moments(network, 2 + self.filled)
        if self.filled:
            coefficients = coefficients * (to_numpy(self.alpha) @ directions) ** self.filled
        return (directions * coefficients @ (directions.T @ to_numpy(self.B)),)


@dataclass(frozen=True, eq=False)
class UnfoldedMoment:
    """M3(I, V, V) (d, k', k'): E y [x ⊗ s ⊗ s − x ⊗ G − V_{·b} s_c − V_{·c} s_b], s = Vᵀx; O(n d k'²)."""

    V: Array

    @property
    def floats_per_row(self) -> int:
        k = int(self.V.shape[1])
        return 2 * k * k + k

    def __call__(self, block: Block) -> Sums:
        xp, X = array_namespace(block.X), block.X
        V = as_like(self.V, X)
        S, k = xp.matmul(X, V), V.shape[1]
        pairs = xp.reshape(S[:, :, None] * S[:, None, :], (X.shape[0], k * k))
        gram = xp.reshape(matmul_transposed(V, V), (1, k * k))
        value = xp.reshape(matmul_transposed(X, block.wy[:, None] * (pairs - gram)), (X.shape[1], k, k))
        first = xp.matmul(block.wy, S)
        return (value - V[:, :, None] * first[None, None, :] - V[:, None, :] * first[None, :, None],)

    def expectation(self, network: Network) -> tuple[np.ndarray]:
        coefficients, directions = unit_moments(network, 3)
        restricted = to_numpy(self.V).T @ directions
        return (np.einsum("i,di,bi,ci->dbc", coefficients, directions, restricted, restricted),)


def unit_moments(network: Network, order: int) -> tuple[np.ndarray, np.ndarray]:
    """aᵢ m_order(‖wᵢ‖, bᵢ) (k,) and the directions w̄ᵢ (d, k)  [zhong2017, Claim 5.2]; c enters at order 0 only."""
    length = np.linalg.norm(network.W, axis=0)
    directions = network.W / np.where(length > 0, length, 1.0)
    return network.a * network.activation.hermite(order, length, network.b), directions


def symmetric_cp(coefficients: np.ndarray, factors: np.ndarray, order: int) -> np.ndarray:
    """Σᵢ cᵢ uᵢ^{⊗order}, uᵢ the columns of `factors` (n, k)."""
    if order == 0:
        return np.asarray(coefficients.sum())
    n = factors.shape[0]
    left, right = (_khatri_rao_power(factors, m) for m in ((order + 1) // 2, order // 2))
    return np.asarray((left * coefficients) @ right.T).reshape((n,) * order)


def _khatri_rao_power(factors: np.ndarray, order: int) -> np.ndarray:
    power = np.ones((1, factors.shape[1]))
    for _ in range(order):
        power = (power[:, None, :] * factors[None, :, :]).reshape(-1, factors.shape[1])
    return power


@dataclass(frozen=True)
class MomentChoice:
    """Orders of the first non-zero moments; None where every order up to 4 vanishes."""

    nonzero: tuple[bool, bool, bool, bool, bool]  # M0 … M4
    j2: int
    j3: int
    odd: int | None  # the least odd order, 1 or 3
    even: int | None  # the least even order ≥ 2


def choose_moments(activation: Activation) -> MomentChoice:
    """The first non-zero moments of φ at unit bias-free scale; an activation without them is refused by name."""
    activation = get(activation)
    nonzero = nonzero_moments(activation)
    second = [j for j in (2, 3, 4) if nonzero[j]]
    third = [j for j in (3, 4) if nonzero[j]]
    if not third:
        raise ActivationError(
            f"M3 and M4 vanish for {activation.name}: the units cannot be told apart by moments of order ≤ 4 "
            "[zhong2017, Assumption 5.3(2)]. Use an activation that is not a polynomial of degree ≤ 2."
        )
    odd = [j for j in (1, 3) if nonzero[j]]
    even = [j for j in (2, 4) if nonzero[j]]
    return MomentChoice(nonzero, second[0], third[0], odd[0] if odd else None, even[0] if even else None)


@lru_cache(maxsize=32)
def nonzero_moments(activation: Activation) -> tuple[bool, bool, bool, bool, bool]:
    """Whether m_j(σ) ≠ 0, j = 0 … 4, relative to the size of φ: |m_j| ≤ √(j! E φ²) always."""
    values = np.asarray(activation.hermites(8, np.array([0.5, 1.0, 2.0])))  # (9, 3): a moment may vanish at one scale by chance
    weights = np.array([1.0 / math.factorial(j) for j in range(9)])
    size = np.sqrt(np.tensordot(weights, values**2, axes=1))
    flags = [bool(np.any(np.abs(values[j]) > LIMITS.vanishing * size * math.sqrt(math.factorial(j)))) for j in range(5)]
    return flags[0], flags[1], flags[2], flags[3], flags[4]
