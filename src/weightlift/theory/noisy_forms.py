"""What gradient descent on noisy rows asks for, and what it gives: Theorem 4.2 as functions of the network  [zhang2019].

    rows         N ≥ c₁ λ⁴κ¹⁰K⁹d/σ_K² · log(λκKd/σ_K) · (‖W*‖² + ν²)                                 [Thm 4.2]
    step         η ≤ 1/(c₂ κK²)                                                                      [Thm 4.2]
    start        ‖W₀ − W*‖ ≤ c σ_K/(λκ³K²)                                                           [Thm 4.2]
    error        ε(N) = c λ²κ⁴K⁵ (‖W*‖² + ν²) d log N/N, of the squared distance                     [Remark 4.4]
    iterations   T = O(λκ³K² log(1/ε)): with η at its bound, (1 − c₃η/(λκ²))^T ‖W₀ − W*‖² ≤ ε        [Remark 4.4]
    first error  ϵ ≤ c₁ σ_K/(λκ³K² poly(κ, K) ‖W*‖), what tensor initialization must reach           [Remark 4.6]

The paper leaves every constant c, and poly(κ, K), open: they are one here, so that these are forms, to be compared over
networks and not to be taken as numbers of rows or steps. `noisy_descent` measures what the constants are on a given problem.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from weightlift.errors import ArgumentError
from weightlift.network import Network
from weightlift.theory.conditioning import conditioning


@dataclass(frozen=True)
class NoisyForms:
    """The quantities of Theorem 4.2 without its constants."""

    kappa: float
    lambda_: float
    sigma_k: float
    size: float  # ‖W*‖² + ν²
    norm: float  # ‖W*‖
    n_inputs: int
    n_units: int

    @property
    def rows(self) -> float:
        """λ⁴κ¹⁰K⁹d/σ_K² · log(λκKd/σ_K) · (‖W*‖² + ν²)."""
        log = math.log(self.lambda_ * self.kappa * self.n_units * self.n_inputs / self.sigma_k)
        return self.lambda_**4 * self.kappa**10 * self.n_units**9 * self.n_inputs / self.sigma_k**2 * log * self.size

    @property
    def step(self) -> float:
        """1/(κK²)."""
        return 1.0 / (self.kappa * self.n_units**2)

    @property
    def start(self) -> float:
        """σ_K/(λκ³K²)."""
        return self.sigma_k / (self.lambda_ * self.kappa**3 * self.n_units**2)

    @property
    def first_error(self) -> float:
        """σ_K/(λκ³K² ‖W*‖): the relative error that a start may have."""
        return self.start / self.norm

    def error(self, n: float) -> float:
        """λ²κ⁴K⁵ (‖W*‖² + ν²) d log N/N, of ‖W_T − W*‖².

        n  rows
        """
        if not n > 1:
            raise ArgumentError(f"n must be above 1, not {n!r}.")
        return self.lambda_**2 * self.kappa**4 * self.n_units**5 * self.size * self.n_inputs * math.log(n) / n

    def iterations(self, epsilon: float, first: float | None = None) -> float:
        """λκ³K² log(first²/ε): steps after which the optimisation error ‖W_T − W*‖² is at most ε, from ‖W₀ − W*‖ = `first`.

        first is `start` unless given; nothing is to be done where it is small enough.

        epsilon  ε
        """
        first = self.start if first is None else first
        if not (epsilon > 0 and first >= 0):
            raise ArgumentError(f"epsilon must be positive and first at least 0, not {epsilon!r} and {first!r}.")
        return self.lambda_ * self.kappa**3 * self.n_units**2 * max(0.0, math.log(max(first, 1e-300) ** 2 / epsilon))


def noisy_forms(teacher: Network, *, noise_norm: float = 0.0) -> NoisyForms:
    """The forms of Theorem 4.2 for a teacher with ReLU units and output weights 1.

    teacher: the truth; κ, λ and σ_K are those of its W, which must have rank K. noise_norm: ν, as
    `Noise.sub_gaussian_norm` gives it.

    >>> net = Network(np.eye(3)[:, :2], activation="relu")
    >>> forms = noisy_forms(net, noise_norm=1.0)                   # κ = λ = σ_K = 1, ‖W*‖² + ν² = 3
    >>> forms.step, forms.start, round(forms.rows / 512 / 3 / 3, 6) == round(math.log(6), 6)
    (0.25, 0.25, True)
    """
    if not noise_norm >= 0:
        raise ArgumentError(f"noise_norm must be at least 0, not {noise_norm!r}.")
    c = conditioning(teacher)
    norm = float(np.linalg.norm(teacher.W))
    size = norm**2 + noise_norm**2
    return NoisyForms(c.kappa, c.lambda_, c.sigma_k, size, norm, teacher.n_inputs, teacher.n_units)
