"""T_k(u, …, u) = E[y He_k(⟨u, x⟩)] with its gradient, for many u at once: a moment tensor seen through its values alone.

T_k(I, u, …, u) = E y [He_{k−1}(t) x − (k−1) He_{k−2}(t) u], t = ⟨u, x⟩, ‖u‖ = 1. Cost O(n d r) for r vectors, any order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from weightlift.hermite import polynomials
from weightlift.moments.hermite_moment import unit_moments
from weightlift.namespaces import Array, array_namespace, as_like, matmul_transposed, to_numpy
from weightlift.network import Network
from weightlift.samples import Block, Samples, Sums


@dataclass(frozen=True, eq=False)
class PowerMoments:
    """T_k(I, u, …, u) (d, r) for the unit columns of U (d, r), k ≥ 2; its products with u are T_k(u, …, u)."""

    U: Array
    order: int

    @property
    def floats_per_row(self) -> int:
        return int(self.U.shape[1]) * (self.order + 2)

    def __call__(self, block: Block) -> Sums:
        xp = array_namespace(block.X)
        U, k = as_like(self.U, block.X), self.order
        *_, low, high = polynomials(k - 1, xp.matmul(block.X, U))
        rising = matmul_transposed(block.X, block.wy[:, None] * high)
        return (rising - (k - 1) * U * xp.matmul(block.wy, low),)

    def expectation(self, network: Network) -> tuple[np.ndarray]:
        coefficients, directions = unit_moments(network, self.order)
        cosines = directions.T @ to_numpy(self.U)
        return (directions @ (coefficients[:, None] * cosines ** (self.order - 1)),)


def power_form(samples: Samples, order: int) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """The tensor T_order of the samples as `decomposition.fit_implicit` wants it: U → (T(uᵢ, …, uᵢ), T(I, uᵢ, …, uᵢ)).

    order  of the tensor

    >>> import weightlift as wl
    >>> from weightlift.decomposition import fit_implicit
    >>> truth = wl.teachers.biased(4, 6, rng=0)
    >>> fit = fit_implicit(power_form(wl.samples.population(truth), 4), 4, 6, 4, rng=0)
    >>> bool(np.abs(np.abs(fit.factors.T @ truth.W).max(axis=0) - 1).max() < 1e-6)
    True
    """

    def form(U: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        free = to_numpy(samples.mean(PowerMoments(U, order))[0])
        return np.asarray((U * free).sum(axis=0)), free

    return form
