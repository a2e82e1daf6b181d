"""Sums of contracted Hermite tensors, Σ_rows g(x) He_{p+q}(x)(V, …, V, α, …, α), without any tensor of size d^k.

With s = Vᵀx, G = VᵀV, b = Vᵀα, t = ⟨α, x⟩, ‖α‖ = 1, p free slots and q slots filled by α,

    He_{p+q}(x)(Vᵖ, α^q) = Σ_j (−1)ʲ (q)_j He_{q−j}(t) Σ_{S ⊂ [p], |S| = j} b^{⊗S} ⊗ He_{p−j}(s)^{rest},      (*)

where He_m(s) = Σ_r (−1)^r Σ_{r pairs} G^{⊗pairs} ⊗ s^{⊗rest} is the Hermite tensor of N(0, G). Both follow from the
recursion He_{k+1}(x)(·, u) = ⟨u, x⟩ He_k(x) − Σ_j u^{(j)} ⊗ He_{k−1}(x)^{(others)}.
Cost O(n k'^p) for V of k' columns; corrections are made once on the sums, not on the rows.
"""

from __future__ import annotations

import itertools
import math

from weightlift.hermite.polynomials import polynomials
from weightlift.namespaces import Array, array_namespace, matmul_transposed, weighted_gram


def contraction(
    g: Array, S: Array, *, free: int, gram: Array, filled: int = 0, t: Array | None = None, b: Array | None = None
) -> Array:
    """Σ_rows g He_{free+filled}(x)(Vᵖ, α^q) by (*): an array with `free` axes of length k'.

    g (m,) row weights; S = X V (m, k'); gram = VᵀV; t = X α (m,) and b = Vᵀα (k',) when filled > 0, ‖α‖ = 1.
    """
    heights = polynomials(filled, t) if filled else []
    total: Array = None
    for j in range(min(free, filled) + 1):
        weight = g * heights[filled - j] if filled else g
        term = power_sums(weight, S, free - j)
        for r in range(1, (free - j) // 2 + 1):
            term = term + (-1.0) ** r * symmetric_product(_pairings(gram, r), power_sums(weight, S, free - j - 2 * r))
        if j:
            term = (-1.0) ** j * math.perm(filled, j) * symmetric_product(_power(b, j), term)
        total = term if total is None else total + term
    return total


def power_sums(g: Array, S: Array, order: int) -> Array:
    """Σ_rows g s^{⊗order}: one matrix product of row-wise Kronecker powers, (k',)*order.

    S  s, a row each (n, k')
    """
    xp = array_namespace(g, S)
    if order == 0:
        return xp.sum(g)
    k = S.shape[1]
    left = _kronecker_rows(S, (order + 1) // 2)
    if order == 1:
        return xp.matmul(xp.matrix_transpose(left), g)
    if order % 2 == 0:
        return xp.reshape(weighted_gram(left, g), (k,) * order)
    right = _kronecker_rows(S, order // 2)
    return xp.reshape(matmul_transposed(left, g[:, None] * right), (k,) * order)


def symmetric_product(A: Array, B: Array) -> Array:
    """Σ over the choices S of A's slots among all of A^{(S)} ⊗ B^{(rest)}, for symmetric A and B."""
    xp = array_namespace(A, B)
    if A.ndim == 0 or B.ndim == 0:
        return A * B
    order = A.ndim + B.ndim
    outer = xp.reshape(A, tuple(A.shape) + (1,) * B.ndim) * B
    total: Array = None
    for slots in itertools.combinations(range(order), A.ndim):
        rest = [i for i in range(order) if i not in slots]
        axes = sorted(range(order), key=[*slots, *rest].__getitem__)
        placed = xp.permute_dims(outer, tuple(axes))
        total = placed if total is None else total + placed
    return total


def _pairings(gram: Array, pairs: int) -> Array:
    """Σ over the perfect matchings of 2·pairs slots of G^{⊗matching}: a symmetric tensor."""
    matched = gram
    for r in range(2, pairs + 1):
        matched = symmetric_product(matched, gram) / r
    return matched


def _power(b: Array, order: int) -> Array:
    xp = array_namespace(b)
    power = b
    for _ in range(order - 1):
        power = xp.expand_dims(power, axis=-1) * b
    return power


def _kronecker_rows(S: Array, order: int) -> Array:
    """Row-wise Kronecker power (m, k'^order)."""
    xp = array_namespace(S)
    power = S
    for _ in range(order - 1):
        power = xp.reshape(power[:, :, None] * S[:, None, :], (S.shape[0], power.shape[1] * S.shape[1]))
    return power
