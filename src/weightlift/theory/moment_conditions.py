"""What tensor initialization asks of an activation, checked with evidence  [zhong2017, Assumption 5.3].

1. A moment M_j, j ≤ 4, that does not vanish has m_j(σ) ≠ 0 at every σ.   2. M3 or M4 does not vanish.
3. If M1 and M3 vanish, φ is even.   4. If M2 and M4 vanish, φ is odd.
The sigmoid violates the letter of 4: φ − ½ is odd. Its constant disappears from every He_k, k ≥ 1, and when y is centred.
Judged from m_j(σ) = E φ(σz) He_j(z) on a grid of scales.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weightlift.activations import Activation
from weightlift.theory.limits import LIMITS
from weightlift.theory.verdict import Verdict, settled_integrals

ARGUMENTS = np.logspace(-2, 2, 801)  # at which parity is tested


@dataclass(frozen=True)
class Moments:
    """Assumption 5.3: its four conditions, and the orders j ≤ 4 whose moments vanish at all scales."""

    conditions: tuple[Verdict, Verdict, Verdict, Verdict]
    vanishing: tuple[int, ...]
    centring: float | None  # φ minus it is odd: then condition 4 holds once the mean of y is taken off

    @property
    def holds(self) -> bool:
        return all(condition.holds for condition in self.conditions)

    @property
    def holds_after_centring(self) -> bool:
        return all(c.holds for c in self.conditions[:3]) and (self.conditions[3].holds or self.centring is not None)


def moments(phi: Activation, scales: np.ndarray) -> Moments:
    """Assumption 5.3, with m_j at the given scales."""
    sigma, beta, *m = settled_integrals(scales, lambda s: np.vstack([phi.beta(0, s), phi.hermite_normalized(4, s)]))
    zero = [np.abs(values) <= LIMITS.vanishing * sigma * np.sqrt(beta) for values in m]
    vanishing = tuple(j for j in range(1, 5) if zero[j].all())
    crossings = [text for j in range(1, 5) if j not in vanishing for text in _sign_changes(j, sigma, m[j], zero[j])]
    first = Verdict(not crossings, "; ".join(crossings) or "no m_j(σ) changes sign")
    survivors = [f"M{j} ≠ 0" for j in (3, 4) if j not in vanishing]
    second = Verdict(bool(survivors), " and ".join(survivors) or "M3 = M4 = 0")
    even, odd, centre = _parities(phi)
    third = _if_vanishing((1, 3), vanishing, even, "even")
    fourth = _if_vanishing((2, 4), vanishing, odd, "odd")
    if not fourth.holds and centre is not None:
        fourth = Verdict(False, f"φ − {centre:g} is odd: holds after centring")
    else:
        centre = None
    return Moments((first, second, third, fourth), vanishing, centre)


def _sign_changes(j: int, sigma: np.ndarray, m: np.ndarray, zero: np.ndarray) -> list[str]:
    """Where m_j changes sign, among the scales at which it is more than rounding."""
    s, signs = sigma[~zero], np.sign(m[~zero])
    return [f"m_{j}(σ) = 0 at σ between {s[i]:.3g} and {s[i + 1]:.3g}" for i in np.flatnonzero(signs[1:] != signs[:-1])]


def _parities(phi: Activation) -> tuple[bool, bool, float | None]:
    """Whether φ is even, whether it is odd, and c if φ − c is odd with c ≠ 0."""
    z = ARGUMENTS
    right, left, centre = np.asarray(phi.value(z)), np.asarray(phi.value(-z)), float(phi.value(np.zeros(1))[0])
    size = LIMITS.parity * (np.abs(right) + np.abs(left))
    even = bool(np.all(np.abs(right - left) <= size))
    odd = bool(np.all(np.abs(right + left) <= size))
    point = not odd and bool(np.all(np.abs(right + left - 2.0 * centre) <= size + LIMITS.parity * abs(centre)))
    return even, odd, centre if point else None


def _if_vanishing(orders: tuple[int, int], vanishing: tuple[int, ...], parity: bool, name: str) -> Verdict:
    """If both moments vanish, φ must have the parity."""
    survivors = [f"M{j} ≠ 0" for j in orders if j not in vanishing]
    if survivors:
        return Verdict(True, f"{' and '.join(survivors)}: nothing is asked")
    return Verdict(parity, f"M{orders[0]} = M{orders[1]} = 0 and φ is {'' if parity else 'not '}{name}")
