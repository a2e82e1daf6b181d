"""Which moments an activation leaves non-zero, and with them P2, P3 and the moments that signs come from.

[zhong2017, Def. 5.4]: j₂ = min{j ≥ 2 : M_j ≠ 0}, j₃ = min{j ≥ 3 : M_j ≠ 0},
P2 = M_{j₂}(I, I, α, …), P3 = M_{j₃}(I, I, I, α, …).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from weightlift.activations import Activation
from weightlift.errors import ActivationError
from weightlift.moments.limits import LIMITS

SCALES = np.array([0.5, 1.0, 2.0])


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


def nonzero_moments(activation: Activation) -> tuple[bool, bool, bool, bool, bool]:
    """Whether m_j(σ) ≠ 0, j = 0 … 4, relative to the size of φ: |m_j| ≤ √(j! E φ²) always."""
    values = np.asarray(activation.hermites(8, SCALES))  # (9, 3)
    weights = np.array([1.0 / math.factorial(j) for j in range(9)])
    size = np.sqrt(np.tensordot(weights, values**2, axes=1))
    flags = [bool(np.any(np.abs(values[j]) > LIMITS.vanishing * size * math.sqrt(math.factorial(j)))) for j in range(5)]
    return flags[0], flags[1], flags[2], flags[3], flags[4]
