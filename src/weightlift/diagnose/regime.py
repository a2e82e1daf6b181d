"""How hard a shape is, given φ and what is known of the weights: which theorems speak, and which do not.

    k ≤ d, independent weights    polynomial time, by moments of low order                     [zhong2017, Thm 5.6; awasthi2021]
    k > d, φ no polynomial        no barrier is proved. For ReLU polynomial time up to 0.99 C(d+ℓ−1, ℓ) units, by moments up
                                  to order 2ℓ+2 of smoothed weights                            [awasthi2021, Cor. 3.3]
    σ = s₀ + s₁t + s₃t³           weights of eq. (2): decomposable for k ≪ d^{3/2} [Ma, Shi & Steurer 2016]; conjectured
                                  hard for d^{3/2} ≪ k ≪ d²                                    [mondelli2019, Theorem 1]
    other polynomials             separated isotropic weights: conjectured hard for d ≪ k ≪ d/ε, even ones for k ≪ d/ε², if
                                  decomposing the tensors up to the degree is                  [mondelli2019, Cor. 1]
Hardness is conditional on a conjecture about tensors, and proved for polynomials of low degree only. The paper's ≪ has no
constants: the borders here are the powers themselves, and logarithms are not counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np

from weightlift.activations import Activation
from weightlift.diagnose.limits import LIMITS
from weightlift.theory import Assumptions, polynomial_coefficients


class Regime(Enum):
    """Where a shape lies, for its φ."""

    INDEPENDENT = "no more units than inputs: polynomial time where the weights are independent"
    OVERCOMPLETE = "more units than inputs, and no barrier is proved for this activation"
    DECOMPOSABLE = "more units than inputs, and few enough for known tensor decompositions of generic weights"
    CONJECTURED_HARD = "conjectured hard: a polynomial-time method would decompose tensors that none is known to decompose"
    NOT_COVERED = "beyond the range of the theorems, of hardness and of feasibility alike"
    DEGENERATE = "the activation is a polynomial of degree ≤ 2: the units are not determined, nothing is to be recovered"


@dataclass(frozen=True)
class RegimeFinding:
    """The regime, what puts the shape there, and the order ℓ at which the weights' powers become independent."""

    regime: Regime
    reasons: tuple[str, ...]
    order: int  # ℓ
    smallest: float | None = None  # s_min of the matrix of w̄ᵢ^{⊗ℓ}, measured; None for a shape
    degree: int | None = None  # of φ; None where it is no polynomial
    symmetric: str = ""  # of a polynomial φ: "cubic" for s₀ + s₁t + s₃t³, "even"


def find_regime(
    d: int,
    k: int,
    phi: Activation,
    *,
    order: int | None = None,
    smallest: float | None = None,
    weights: Assumptions | None = None,
) -> RegimeFinding:
    """The regime of k units of d inputs; with a network's own ℓ, s_min and (A1)–(A4) where they are known."""
    known = order is not None
    order = generic_order(d, k) if order is None else order
    degree, symmetric = polynomial_kind(phi)
    regime, reasons = _regime(d, k, phi, order, known, weights)
    if weights is not None and regime not in (Regime.INDEPENDENT, Regime.DEGENERATE):
        reasons.append(
            f"The weights have δ = {weights.delta:.3g}, η_avg = {weights.eta_avg:.3g}, η_var = {weights.eta_var:.3g}: tensors "
            f"up to order log k/log(1/δ) = {weights.decomposition_order:.3g} would find them [Schramm & Weitz 2015]."
        )
    return RegimeFinding(regime, tuple(reasons), order, smallest, degree, symmetric)


def generic_order(d: int, k: int) -> int:
    """The least ℓ with k ≤ 0.99 C(d+ℓ−1, ℓ), or k ≤ d for ℓ = 1: then generic w̄ᵢ^{⊗ℓ} are independent.

    >>> generic_order(10, 10), generic_order(10, 54), generic_order(10, 55)
    (1, 2, 3)
    """
    if k <= d:
        return 1
    enough = (order for order in range(2, LIMITS.order) if k <= LIMITS.share * math.comb(d + order - 1, order))
    return next(enough, LIMITS.order)


def polynomial_kind(phi: Activation) -> tuple[int | None, str]:
    """The degree of a polynomial φ, and "cubic" for Theorem 1's s₀ + s₁t + s₃t³, "even" for even ones."""
    s = polynomial_coefficients(phi)
    if s is None:
        return None, ""
    if len(s) == 4 and s[2] == 0.0:
        return 3, "cubic"
    return len(s) - 1, "" if np.any(s[1::2]) else "even"


def regions(degree: int | None, symmetric: str, d: float) -> list[tuple[float, Regime, str]]:
    """For d inputs and generic weights: (most units, regime, what happens there), from few units to many.

    degree     of φ where it is a polynomial, else None
    symmetric  of a polynomial φ: "cubic" for s₀ + s₁t + s₃t³, "even"; else empty
    """
    below = (d, Regime.INDEPENDENT, "k ≤ d: moments of low order")
    if degree is None:
        ends = [LIMITS.share * _choose(d, order) for order in (2, 3)]
        names = [f"ℓ = {order}: moments of order {2 * order + 2}" for order in (2, 3, 4)]
        return [below, *((end, Regime.OVERCOMPLETE, name) for end, name in zip((*ends, math.inf), names, strict=True))]
    if degree <= 2:
        return [(math.inf, Regime.DEGENERATE, "units not determined")]
    if symmetric == "cubic":
        easy, hard = (d**1.5, "decomposable, random weights"), d**2
    else:
        half, hard = degree // 2, d**2 if symmetric == "even" else d**1.5
        easy = (max(d, _choose(d, half) - d if degree >= 4 else d), "decomposable, generic weights")
    middle = [] if easy[0] <= d else [(easy[0], Regime.DECOMPOSABLE, easy[1])]
    middle += [] if hard <= easy[0] else [(hard, Regime.CONJECTURED_HARD, "conjectured hard")]
    return [below, *middle, (math.inf, Regime.NOT_COVERED, "not covered")]


def _regime(
    d: int, k: int, phi: Activation, order: int, known: bool, weights: Assumptions | None
) -> tuple[Regime, list[str]]:
    s = polynomial_coefficients(phi)
    if s is not None and len(s) <= 3 and k > 1:
        return Regime.DEGENERATE, [f"{phi.name} has degree {len(s) - 1}: the function is a quadratic form at most."]
    if order == 1:
        kind = "are independent" if known else "are independent generically"
        return Regime.INDEPENDENT, [f"k = {k} ≤ d = {d}, and the weights {kind}: moments of order ≤ 4 hold the directions."]
    if s is None:
        return _overcomplete(phi, order, known)
    if polynomial_kind(phi)[1] == "cubic":
        return _cubic(d, k)
    return _polynomial(d, k, s, weights)


def _overcomplete(phi: Activation, order: int, known: bool) -> tuple[Regime, list[str]]:
    kind = "The weights have" if known else "Generic weights have"
    high = 2 * order + 2
    reasons = [
        f"{kind} independent powers w̄ᵢ^⊗ℓ from ℓ = {order} on: moments up to order 2ℓ + 2 = {high} hold the directions. "
        f"Sample means of those have variances of the order of {high}! = {math.factorial(high):.3g}."
    ]
    if phi.name in ("relu", "leaky_relu"):
        reasons.append("For ReLU with smoothed weights that is polynomial time [awasthi2021, Cor. 3.3].")
    else:
        reasons.append(f"For {phi.name} no theorem says that it is easy, nor that it is hard: that is proved for polynomials.")
    return Regime.OVERCOMPLETE, reasons


def _cubic(d: int, k: int) -> tuple[Regime, list[str]]:
    low, high = d**1.5, float(d**2)
    place = f"k = {k} against d^(3/2) = {low:.4g} and d² = {high:.4g}"
    if k <= low:
        return Regime.DECOMPOSABLE, [
            f"{place}: random weights are decomposed from T⁽³⁾ up to about d^(3/2), by the sum-of-squares hierarchy "
            "[Ma, Shi & Steurer 2016]; separated weights of other kinds may be harder [mondelli2019, Cor. 1]."
        ]
    if k < high:
        return Regime.CONJECTURED_HARD, [
            f"{place}: for random weights (eq. 2), under Conjecture 1, no polynomial-time method predicts better than the "
            "mean of y, whatever the number of rows [mondelli2019, Theorem 1]. The theorem is asymptotic, without constants."
        ]
    return Regime.NOT_COVERED, [f"{place}: Theorem 1 ends below d² (Theorem 3 at d²/log² d)."]


def _polynomial(d: int, k: int, s: np.ndarray, weights: Assumptions | None) -> tuple[Regime, list[str]]:
    degree, even = len(s) - 1, not np.any(s[1::2])
    power, least = ("ε²", f"d² = {d**2:.4g}") if even else ("ε", f"d^(3/2) = {d**1.5:.4g}")
    conditional = (
        f"For separated isotropic weights hardness is conjectured for d ≪ k ≪ d/{power}, ε the correlation to be found "
        f"(better than random, ε ~ d^(−1/2): up to {least}), if decomposing T⁽³⁾ … T⁽{degree}⁾ is hard [mondelli2019, Cor. 1]."
    )
    if weights is not None and weights.unit.holds and weights.decomposition_order <= degree:
        found = f"log k/log(1/δ) = {weights.decomposition_order:.3g} is within the degree {degree}"
        return Regime.DECOMPOSABLE, [f"{found}: the tensors that the labels hold suffice [Schramm & Weitz 2015].", conditional]
    half = degree // 2
    most = math.comb(d + half - 1, half) - d
    if degree >= 4 and k <= most:
        return Regime.DECOMPOSABLE, [
            f"Generic T⁽{2 * half}⁾ are decomposed by the subspace power method up to about C(d+{half - 1}, {half}) − d = "
            f"{most} units [Kileel & Pereira 2019], here {k}.",
            conditional,
        ]
    if weights is not None and not (weights.unit.holds and weights.eta_var < 1.0):
        return Regime.NOT_COVERED, ["The weights are not separated and isotropic, as Corollary 1 wants them.", conditional]
    regime = Regime.CONJECTURED_HARD if k <= (d**2 if even else d**1.5) else Regime.NOT_COVERED
    return regime, [f"k = {k} > d = {d}, and φ has degree {degree}.", conditional]


def _choose(d: float, order: int) -> float:
    """C(d+ℓ−1, ℓ) for real d."""
    return math.prod((d + i) / (i + 1) for i in range(order))
