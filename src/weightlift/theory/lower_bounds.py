"""Lower bounds on the error of any estimate that is not correlated with the weights  [mondelli2019, Theorems 2 and 3].

Model   y = Σᵢ σ(⟨wᵢ, x⟩), i ≤ r, and ŷ = Σⱼ σ(⟨ŵⱼ, x⟩), j ≤ R, unit weights, x ~ N(0, I); ε = max |⟨wᵢ, ŵⱼ⟩|.
Bound   E|y − ŷ|² ≥ (min_{a,b} E|y − a − b‖x‖²|² − c₁)(1 − c₂)                                              (8)
        c₁ = 2σ̂₁² η_avg r + 2σ̂₂² η_var² r²/d,   c₂ = 2ε(1+η_var)(R/d) / (1 − δ(1+η_var) r/d)                 (9)
        even σ: c₁ without its first term, δ and ε squared in c₂                                              (10)
Valid   only where the denominator of c₂ and both factors of (8) are positive: with orthonormal weights and ŵ = w the error is 0
        and the printed product of two negative factors is not. Else the bound says nothing, and is called vacuous.
Why     the error is Σ_k σ̂_k² ‖A_k − B_k‖², A_k = Σ wᵢ^{⊗k}, B_k = Σ ŵⱼ^{⊗k}. Drop k ≤ 2; for k ≥ 3,
        ‖A_k‖² ≥ r (1 − δ^{k−2}(1+η_var) r/d) and |⟨A_k, B_k⟩| ≤ ε^{k−2} R (1+η_var) r/d. The variance at k ≤ 2 beyond that of
        ‖x‖² is at most c₁/2, so (8) holds with c₁ halved too: `halved`.
Random  Theorem 3 has a vanishing η(r, d) that the paper does not make explicit: there is no number to evaluate. What it
        speaks of is measured instead: E/Var y, E/min_{a,A}, ε and the third-order correlation (1/R) Σᵢⱼ ⟨wᵢ, ŵⱼ⟩³. (Its (14)
        and (15) print a supremum over the estimates; as used, every one of them is bad: an infimum.)
Cost    that of the exact distance, O((r + R)² (d + K)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from weightlift.errors import ArgumentError, ShapeError
from weightlift.geometry import distance
from weightlift.namespaces import row_ranges
from weightlift.network import Network
from weightlift.theory.assumptions import Assumptions, assumptions, largest_product
from weightlift.theory.limits import LIMITS
from weightlift.theory.trivial import trivial_predictors


@dataclass(frozen=True)
class SeparatedBound:
    """Theorem 2 at one pair of networks: its constants, the bound, and the exact error that it bounds."""

    error: float  # E|y − ŷ|², exact
    trivial: float  # min_{a,b} E|y − a − b‖x‖²|²
    c1: float
    c2: float  # infinite where its denominator is not positive
    epsilon: float
    assumptions: Assumptions
    even: bool  # whether (10) was used

    @property
    def vacuous(self) -> bool:
        """Whether the theorem says nothing: a factor of (8) is not positive."""
        return not (self.c2 < 1.0 and self.trivial > self.c1)

    @property
    def bound(self) -> float:
        """The right side of (8); zero where it is vacuous."""
        return 0.0 if self.vacuous else (self.trivial - self.c1) * (1.0 - self.c2)

    @property
    def halved(self) -> float:
        """The right side with c₁/2, which the proof gives as well; zero where it says nothing."""
        return max(self.trivial - self.c1 / 2, 0.0) * max(1.0 - self.c2, 0.0)

    @property
    def reason(self) -> str:
        """Why the bound is vacuous, or what it guarantees."""
        found, symbol = self.assumptions, "δ²" if self.even else "δ"
        if math.isinf(self.c2):
            margin = found.even_margin if self.even else found.margin
            return f"vacuous: 1 − {symbol}(1 + η_var) r/d = {margin:.3g} is not positive; the weights are too many or too close"
        if self.c2 >= 1.0:
            return f"vacuous: c₂ = {self.c2:.3g} ≥ 1; ε = {self.epsilon:.3g} is too large for R/d"
        if self.trivial <= self.c1:
            return f"vacuous: c₁ = {self.c1:.3g} is not below the trivial risk {self.trivial:.3g}; weights not isotropic"
        return f"the error is at least {self.bound / self.trivial:.3g} of that of the best a + b‖x‖²"

    def __str__(self) -> str:
        return (
            f"E|y − ŷ|² = {self.error:.6g} ≥ ({self.trivial:.6g} − {self.c1:.4g})(1 − {self.c2:.4g}) = {self.bound:.6g}, "
            f"{'(10), even σ' if self.even else '(9)'}: {self.reason}"
        )


@dataclass(frozen=True)
class RandomWeights:
    """What Theorem 3 speaks of, measured; its vanishing constants are not explicit, so there is no bound to compare with."""

    error: float  # E|y − ŷ|²
    variance: float
    quadratic: float  # min_{a,A} E|y − a − xᵀAx|²
    epsilon: float
    third_order: float  # (1/R) Σᵢⱼ ⟨wᵢ, ŵⱼ⟩³
    sigma_2: float  # σ̂₂
    width_ratio: float  # r (log d)²/d², which must vanish
    covers: bool  # whether (14) is the statement: σ̂₂ = 0; else (15)

    @property
    def share_of_variance(self) -> float:
        """E|y − ŷ|²/Var y, which (14) says tends to at least 1."""
        return self.error / self.variance if self.variance else math.nan

    @property
    def share_of_quadratic(self) -> float:
        """E|y − ŷ|²/min_{a,A}, which (15) says tends to at least 1."""
        return self.error / self.quadratic if self.quadratic else math.nan

    def __str__(self) -> str:
        statement = "(14), σ̂₂ = 0" if self.covers else f"(15), σ̂₂ = {self.sigma_2:.3g}"
        return (
            f"E/Var y = {self.share_of_variance:.4g}, E/min_(a,A) = {self.share_of_quadratic:.4g}; ε = {self.epsilon:.3g}, "
            f"(1/R) Σ⟨w, ŵ⟩³ = {self.third_order:.3g}, r (log d)²/d² = {self.width_ratio:.3g}. Theorem 3, {statement}: "
            "its η(r, d) → 0 is not explicit, so these numbers stand for themselves; no bound is evaluated."
        )


def separated_bound(teacher: Network, student: Network) -> SeparatedBound:
    """Theorem 2 for the weights of `teacher` and the estimates of `student`: unit weights, a = 1, no biases, one σ.

    >>> from weightlift import teachers
    >>> truth, guess = (teachers.simplex(60, activation="absolute", rng=seed) for seed in (0, 1))
    >>> found = separated_bound(truth, guess)
    >>> found.even, found.vacuous, found.bound < found.error < found.trivial * 2.1
    (True, False, True)
    """
    _check_pair(teacher, student)
    (d, r), R, phi = teacher.W.shape, student.n_units, teacher.activation
    found = assumptions(teacher)
    epsilon = largest_product(teacher.W, student.W)
    even = phi.parity == "even"
    s1, s2 = (float(c) for c in phi.hermite_normalized(2)[1:])
    c1 = 2 * s2**2 * found.eta_var**2 * r**2 / d + (0.0 if even else 2 * s1**2 * found.eta_avg * r)
    margin = found.even_margin if even else found.margin
    numerator = 2 * (epsilon**2 if even else epsilon) * (1 + found.eta_var) * R / d
    c2 = numerator / margin if margin > 0 else math.inf
    error = distance(student, teacher).squared
    return SeparatedBound(error, trivial_predictors(teacher).norm.risk, c1, c2, epsilon, found, even)


def random_weights(teacher: Network, student: Network) -> RandomWeights:
    """The quantities of Theorem 3 for the weights of `teacher`, as `teachers.centered_gaussian` draws them, and estimates.

    student  the estimates, a network as wide
    """
    _check_pair(teacher, student)
    (d, r), phi = teacher.W.shape, teacher.activation
    trivial = trivial_predictors(teacher)
    coefficients = phi.hermite_normalized(2)
    sigma_2 = float(coefficients[2])
    size = math.sqrt(float(coefficients[0]) ** 2 + trivial.variance / r)
    return RandomWeights(
        distance(student, teacher).squared,
        trivial.variance,
        trivial.quadratic.risk,
        largest_product(teacher.W, student.W),
        _third_order(teacher.W, student.W) / student.n_units,
        sigma_2,
        r * math.log(d) ** 2 / d**2,
        abs(sigma_2) <= LIMITS.smallest * size,
    )


def _third_order(W: np.ndarray, V: np.ndarray) -> float:
    """Σᵢⱼ ⟨wᵢ, vⱼ⟩³."""
    blocks = row_ranges(W.shape[1], max(1, LIMITS.block // V.shape[1]))
    return sum(float(((W[:, i:j].T @ V) ** 3).sum()) for i, j in blocks)


def _check_pair(teacher: Network, student: Network) -> None:
    """The theorems' networks: equal σ, a = 1, b = 0, c = 0, and unit weights."""
    for name, net in (("teacher", teacher), ("student", student)):
        if not isinstance(net, Network):
            raise ArgumentError(f"{name} must be a Network, not {type(net).__name__}.")
        lengths = np.linalg.norm(net.W, axis=0)
        worst = int(np.argmax(np.abs(lengths - 1.0)))
        if abs(lengths[worst] - 1.0) > LIMITS.unit:
            raise ArgumentError(
                f"{name}: unit {worst} has weights of length {lengths[worst]:.6g}; the bounds are proved for unit weights "
                "(A1). Scale the weights to length one; a length may be moved into σ by activations.scaled if all are equal."
            )
        if np.any(net.a != 1.0) or np.any(net.b != 0.0) or net.c != 0.0:
            raise ArgumentError(f"{name} must have a = 1, b = 0 and c = 0: the bounds are for y = Σ σ(⟨w, x⟩).")
    if teacher.n_inputs != student.n_inputs:
        raise ShapeError(f"teacher has {teacher.n_inputs} inputs and student {student.n_inputs}; they must agree.")
    if teacher.activation != student.activation:
        raise ArgumentError(f"σ is {teacher.activation.name} in teacher, {student.activation.name} in student; it must be one.")
