"""Which units may be reflected without changing the function  [awasthi2021, Thm 3.4].

Reflecting the units of F changes f by the polynomial Σ_F s aᵢ p(⟨wᵢ, x⟩ + bᵢ), where φ(−z) = s φ(z) + p(z); f is unchanged
when it vanishes, or is a constant and c is free:

    ReLU, leaky ReLU, softplus    Σ_F aᵢ (wᵢ, bᵢ) = 0;  only Σ_F aᵢ wᵢ = 0 with c free
    squared ReLU                  Σ_F aᵢ (wᵢ, bᵢ)(wᵢ, bᵢ)ᵀ = 0;  its entry Σ_F aᵢ bᵢ² is exempt with c free
    sigmoid                       Σ_F aᵢ = 0;  every F with c free
    odd and even φ                every F

Several outputs: the same for each of them, with aᵢ ∈ Rᵐ. Beside a linear part what is linear in x is exempt: every F for ReLU,
leaky ReLU and softplus with c free, symmetries of networks with V.

For ReLU with ‖wᵢ‖ = 1 the first line is [awasthi2021, eq. (2)], Σ aᵢ ξᵢ wᵢ Φ(ξᵢbᵢ) = Σ aᵢ wᵢ Φ(bᵢ) and
Σ aᵢ ξᵢ bᵢ Φ(ξᵢbᵢ) = Σ aᵢ bᵢ Φ(bᵢ) with ξᵢ = −1 on F; the second is printed without its ξᵢ. By Theorem 3.4 these are all the
ReLU networks of the same width and function if no aᵢ is zero and no two wᵢ are parallel. The last two lines are symmetries
of φ: `Network.equivalent` already counts the reflected networks as the same, and they make nothing ambiguous.

Sizes are L² norms of the change under x ~ N(0, I), exact. Cost: see `subset_sums`; one triangular solve where the unit
polynomials are independent (for ReLU: independent (wᵢ, bᵢ)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from weightlift.errors import ArgumentError
from weightlift.identifiability.reflections import reflect, reflection, reflection_polynomials
from weightlift.identifiability.subset_sums import MAX_BITS, SubsetSums
from weightlift.network import Network

SUM_ROUNDING = 1e-14  # of the sums, relative to their terms
NEAR_BITS = 16  # near patterns are searched for among at most 2^32, which takes less than a second


@dataclass(frozen=True, eq=False)
class SignPatterns:
    """The sets F, as rows of booleans; row 0 of `patterns` is the empty set, fewer reflections come first."""

    patterns: np.ndarray  # (n, k): f is unchanged to tol · scale
    distinct: np.ndarray  # (n,): whether the reflected network has other units, up to the symmetries of φ and order
    near: np.ndarray  # (m, k): f changes by more than that, but at most reach · scale; smallest first
    near_sizes: np.ndarray  # (m,): L² norms of those changes under N(0, I)
    scale: float  # (Σᵢ ‖change by unit i alone‖²)^½
    rank: int  # r, of the unit polynomials
    every: bool  # every F leaves f unchanged; `patterns` then holds the empty set alone
    symmetry: bool  # reflections are symmetries of φ, with c
    complete: bool  # whether `patterns` holds all
    reach: float  # changes up to reach · scale were searched for; less than `near` where there are too many

    @property
    def free(self) -> int:
        """k − r: 2^free is the most patterns there can be."""
        return int(self.patterns.shape[1]) - self.rank

    @property
    def ambiguous(self) -> bool:
        """Whether another network of this width, not the same up to symmetries, is the same function; True if in doubt."""
        return not self.symmetry and (self.every or not self.complete or bool(self.distinct.any()))


def sign_patterns(
    network: Network, *, offset: bool = False, tol: float = 1e-9, near: float = 1e-3, max_patterns: int = 4096
) -> SignPatterns:
    """Every set F of units whose reflection changes f by at most tol · scale, and those up to near · scale.

    offset: whether c is free. Where more than max_patterns are near, or too many must be tried, only exact ones are
    searched for (`reach` = tol); where more than max_patterns are exact, `complete` is False. Symmetries of φ (the
    sigmoid's) are listed only where that is cheap. A user's φ without a declared reflection has the empty set alone.

    network  the network

    >>> f = Network([[1.0, 0.0, -1.0, 0.0], [0.0, 1.0, -1.0, 2.0]])
    >>> sign_patterns(f).patterns.astype(int)
    array([[0, 0, 0, 0],
           [1, 1, 1, 0]])
    """
    if not SUM_ROUNDING <= tol <= near < 1.0:
        raise ArgumentError(f"tol and near must satisfy {SUM_ROUNDING:g} ≤ tol ≤ near < 1, not tol={tol!r}, near={near!r}.")
    if max_patterns < 1:
        raise ArgumentError(f"max_patterns must be at least 1, not {max_patterns!r}.")
    k = network.n_units
    if network.activation.reflection is None:
        return _only_identity(k, rank=k)
    symmetry = len(reflection(network.activation)[1]) <= 1 or (network.turns and offset)
    C = reflection_polynomials(network, offset=offset)
    scale = float(np.linalg.norm(C))
    if scale == 0.0:
        return _only_identity(k, rank=0, every=True, symmetry=symmetry)
    sums = SubsetSums.of(C / scale)
    rank = sums.pivots(tol)
    reach = near
    answer = sums.small(near, limit=max_patterns, max_bits=NEAR_BITS)
    if answer is None or not answer[1]:
        reach = tol
        answer = sums.small(tol, limit=max_patterns, max_bits=NEAR_BITS if symmetry else MAX_BITS)
    if answer is None and symmetry:
        answer = np.zeros((1, k), dtype=bool), False
    if answer is None:
        raise ArgumentError(
            f"the signs of {k} units obey {rank} independent conditions only: 2^{k - rank} patterns are too many to search "
            f"(at most about 2^{2 * MAX_BITS}, in 1 GiB). Compare single patterns with the network by `reflect` and `distance`."
        )
    patterns, complete = answer
    sizes = scale * np.linalg.norm(patterns @ (C / scale).T, axis=1)
    exact = sizes <= tol * scale
    unchanged = _fewest_first(patterns[exact & patterns.any(axis=1)])
    unchanged = np.vstack([np.zeros((1, k), dtype=bool), unchanged])
    closest = np.argsort(sizes[~exact], kind="stable")
    return SignPatterns(
        unchanged,
        _distinct(network, unchanged, symmetry, tol),
        patterns[~exact][closest],
        sizes[~exact][closest],
        scale,
        rank,
        every=False,
        symmetry=symmetry,
        complete=complete,
        reach=reach,
    )


def _only_identity(k: int, *, rank: int, every: bool = False, symmetry: bool = False) -> SignPatterns:
    none = np.zeros((0, k), dtype=bool)
    identity = np.zeros((1, k), dtype=bool)
    return SignPatterns(identity, identity[:, 0], none, np.zeros(0), 0.0, rank, every, symmetry, True, math.inf)


def _fewest_first(patterns: np.ndarray) -> np.ndarray:
    order = np.lexsort((*~patterns.T[::-1], patterns.sum(axis=1)))
    return np.asarray(patterns[order])


def _distinct(network: Network, patterns: np.ndarray, symmetry: bool, tol: float) -> np.ndarray:
    """Whether reflection gives other units. It may permute them: a φ(z) + a φ(−z) is its own reflection for s = 1.

    Each reflected unit must then have its opposite in the network, so only patterns of such units need to be compared.
    """
    distinct = np.asarray(patterns.any(axis=1)) & (not symmetry)
    V = np.vstack([network.W, network.b])
    length = np.linalg.norm(V, axis=0)
    V = V / np.where(length > 0, length, 1.0)
    opposite = (V.T @ V < -1 + 1e-6).any(axis=1)
    for i in np.flatnonzero(distinct & ~(patterns & ~opposite).any(axis=1)):
        distinct[i] = not reflect(network, patterns[i], offset=False).equivalent(network, tol)
    return distinct
