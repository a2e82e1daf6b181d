"""E[y He_j(⟨uᵢ, x⟩)] for unit directions uᵢ: what sizes and signs are solved from  [zhong2017, RECMAGSIGN].

T_j(u, …, u) = E[y He_j(⟨u, x⟩)] for ‖u‖ = 1, so no tensor is needed. O(n d k).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weightlift.hermite import polynomials
from weightlift.moments.hermite_moment import unit_moments
from weightlift.namespaces import Array, array_namespace, as_like, to_numpy
from weightlift.network import Network
from weightlift.samples import Block, Sums


@dataclass(frozen=True, eq=False)
class DirectionalMoments:
    """One array (k,) an order: E[y He_j(⟨uᵢ, x⟩)], uᵢ the unit columns of U (d, k)."""

    U: Array
    orders: tuple[int, ...]

    @property
    def floats_per_row(self) -> int:
        return int(self.U.shape[1]) * (max(self.orders) + 2)

    def __call__(self, block: Block) -> Sums:
        xp = array_namespace(block.X)
        values = polynomials(max(self.orders), xp.matmul(block.X, as_like(self.U, block.X)))
        return tuple(xp.matmul(block.wy, values[j]) for j in self.orders)

    def expectation(self, network: Network) -> tuple[np.ndarray, ...]:
        U, results = to_numpy(self.U), []
        for j in self.orders:
            coefficients, directions = unit_moments(network, j)
            results.append((U.T @ directions) ** j @ coefficients + (network.c if j == 0 else 0.0))
        return tuple(results)
