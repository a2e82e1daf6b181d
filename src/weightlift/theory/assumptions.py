"""Separated isotropic weights: the numbers δ, η_avg, η_var of assumptions (A1)–(A4)  [mondelli2019, §3.1].

    (A1)  ‖wᵢ‖ = 1                                 (A2)  |⟨wᵢ, wⱼ⟩| ≤ δ, i ≠ j
    (A3)  ‖Σ wᵢ‖² ≤ η_avg r                        (A4)  ‖Σ wᵢwᵢᵀ − (r/d) I‖ ≤ η_var r/d

for the columns wᵢ of W (d, r). The ensembles of the paper, in `teachers`:

    haar(d, d, center=False)   orthonormal weights             δ = 0            η_avg = 1    η_var = 0
    centred and rescaled ones  √(d/(d−1)) (eᵢ − 1/d)           δ = 1/(d−1)      η_avg = 0    η_var = 1
    simplex(d)                 r = d + 1                       δ = 1/d          η_avg = 0    η_var = 0
    simplex(d, m (d + 1))      m of them, independent          δ ~ (log r/d)^½  η_avg = 0    η_var = 0
    centered_gaussian(d, r)    eq. (2) and (11)                δ ~ (log r/d)^½  η_avg ~ 1/2d  η_var ~ 2 (d/r)^½

The paper prints δ = (d+1)/(d(d−1)) and η_var = 2 for the second line: true as upper bounds. `haar` with its mean
subtracted, the paper's experiment, has weights shorter than one and fails (A1). Cost O(d r²) in blocks of a few MB, and
O(d² r + d³).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from weightlift.namespaces import row_ranges
from weightlift.network import Network
from weightlift.theory.limits import LIMITS
from weightlift.theory.verdict import Verdict


@dataclass(frozen=True)
class Assumptions:
    """The least δ, η_avg, η_var with which (A2)–(A4) hold, and how far lengths are from (A1)."""

    n_inputs: int  # d
    n_units: int  # r
    length_error: float  # max | ‖wᵢ‖ − 1 |
    delta: float
    eta_avg: float
    eta_var: float

    @property
    def unit(self) -> Verdict:
        """(A1)."""
        return Verdict(self.length_error <= LIMITS.unit, f"lengths differ from 1 by at most {self.length_error:.2g}")

    @property
    def margin(self) -> float:
        """1 − δ (1 + η_var) r/d, which Theorem 2 wants to be positive."""
        return 1.0 - self.delta * (1.0 + self.eta_var) * self.n_units / self.n_inputs

    @property
    def even_margin(self) -> float:
        """1 − δ² (1 + η_var) r/d, the same for even φ."""
        return 1.0 - self.delta**2 * (1.0 + self.eta_var) * self.n_units / self.n_inputs

    @property
    def decomposition_order(self) -> float:
        """log r/log(1/δ): tensors up to this order suffice to find δ-separated vectors [Schramm & Weitz 2015]."""
        if self.n_units == 1 or self.delta == 0.0:
            return 0.0
        return math.log(self.n_units) / -math.log(self.delta) if self.delta < 1.0 else math.inf

    def __str__(self) -> str:
        return (
            f"(A1) {self.unit}\n(A2) δ = {self.delta:.4g}\n(A3) η_avg = {self.eta_avg:.4g}\n(A4) η_var = {self.eta_var:.4g}\n"
            f"margin 1 − δ(1 + η_var) r/d = {self.margin:.4g}, for even φ {self.even_margin:.4g}"
        )


def assumptions(weights: Network | np.ndarray) -> Assumptions:
    """δ, η_avg and η_var of a network's weights, or of W (d, r) alone.

    >>> from weightlift import teachers
    >>> found = assumptions(teachers.simplex(4, rng=0))
    >>> found.unit.holds, round(found.delta, 12), round(found.eta_avg, 12), round(found.eta_var, 12)
    (True, 0.25, 0.0, 0.0)
    """
    W = weights.W if isinstance(weights, Network) else Network(weights).W
    d, r = W.shape
    covariance = W @ W.T - (r / d) * np.eye(d)
    total = W.sum(axis=1)
    return Assumptions(
        d,
        r,
        float(np.abs(np.linalg.norm(W, axis=0) - 1.0).max()),
        largest_product(W),
        float(total @ total) / r,
        float(np.linalg.norm(covariance, ord=2)) * d / r,
    )


def largest_product(W: np.ndarray, V: np.ndarray | None = None) -> float:
    """max |⟨wᵢ, vⱼ⟩| over the columns of W and V; without V over i ≠ j of W."""
    other = W if V is None else V
    largest = 0.0
    for i, j in row_ranges(W.shape[1], max(1, LIMITS.block // max(1, other.shape[1]))):
        products = np.abs(W[:, i:j].T @ other)
        if V is None:
            products[np.arange(j - i), np.arange(i, j)] = 0.0
        largest = max(largest, float(products.max(initial=0.0)))
    return largest
