"""Hermite polynomials He_0 = 1, He_1 = t, He_{k+1} = t He_k − k He_{k−1}, in any array namespace."""

from __future__ import annotations

import numpy as np

from weightlift.errors import ArgumentError
from weightlift.namespaces import Array, array_namespace


def polynomial(order: int, t: Array) -> Array:
    """He_order(t), elementwise.

    order  k ≥ 0

    >>> import numpy as np
    >>> polynomial(3, np.array([2.0]))      # t³ − 3t
    array([2.])
    """
    return polynomials(order, t)[-1]


def polynomials(max_order: int, t: Array) -> list[Array]:
    """[He_0(t), …, He_max_order(t)] by the three-term recurrence.

    max_order  the highest k
    """
    check_order(max_order)
    values = [array_namespace(t).ones_like(t)]
    if max_order:
        values.append(t)
    for k in range(1, max_order):
        values.append(t * values[k] - k * values[k - 1])
    return values


def normalized(max_order: int, t: Array) -> list[Array]:
    """[h_0(t), …], h_k = He_k/√k!, orthonormal under N(0, 1): h_{k+1} = (t h_k − √k h_{k−1})/√(k+1).

    max_order  the highest k
    """
    check_order(max_order)
    values = [array_namespace(t).ones_like(t)]
    if max_order:
        values.append(t)
    for k in range(1, max_order):
        values.append((t * values[k] - k**0.5 * values[k - 1]) / (k + 1) ** 0.5)
    return values


def check_order(order: int, name: str = "order") -> None:
    """ArgumentError for what is no order of a polynomial or a tensor."""
    if not isinstance(order, int | np.integer) or order < 0:
        raise ArgumentError(f"{name} must be a non-negative integer, not {order!r}.")
