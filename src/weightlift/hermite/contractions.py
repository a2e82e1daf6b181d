"""Sums of contracted Hermite tensors, Σ_rows g(x) He_{p+q}(x)(V, …, V, α, …, α), without any tensor of size d^k.

With s = Vᵀx, G = VᵀV, b = Vᵀα, t = ⟨α, x⟩, ‖α‖ = 1, p free slots and q slots filled by α,

    He_{p+q}(x)(Vᵖ, α^q) = Σ_j (−1)ʲ (q)_j He_{q−j}(t) Σ_{S ⊂ [p], |S| = j} b^{⊗S} ⊗ He_{p−j}(s)^{rest},      (*)

where He_m(s) = Σ_r (−1)^r Σ_{r pairs} G^{⊗pairs} ⊗ s^{⊗rest} is the Hermite tensor of N(0, G). Both follow from the
recursion He_{k+1}(x)(·, u) = ⟨u, x⟩ He_k(x) − Σ_j u^{(j)} ⊗ He_{k−1}(x)^{(others)}.
Cost O(n k'^p/m!²), m = p/2, for V of k' columns: monomials of half the degree on either side. Only `row_sums` see rows; what
has the tensor's size is made once, of the sums over all of them.
"""

from __future__ import annotations

import itertools
import math
from functools import lru_cache

import numpy as np

from weightlift.hermite.polynomials import polynomials
from weightlift.namespaces import Array, array_namespace, matmul_transposed, weighted_gram


def contraction(
    g: Array, S: Array, *, free: int, gram: Array, filled: int = 0, t: Array | None = None, b: Array | None = None
) -> Array:
    """Σ_rows g He_{free+filled}(x)(Vᵖ, α^q) by (*): an array with `free` axes of length k'.

    g (m,) row weights; S = X V (m, k'); gram = VᵀV; t = X α (m,) and b = Vᵀα (k',) when filled > 0, ‖α‖ = 1.
    """
    return contracted(row_sums(g, S, free=free, filled=filled, t=t), free=free, gram=gram, filled=filled, b=b)


def row_sums(g: Array, S: Array, *, free: int, filled: int = 0, t: Array | None = None) -> tuple[Array, ...]:
    """All of (*) that is summed over rows: Σ g He_{q−j}(t) s^{⊗(p−j−2r)} for every j and r, as `monomial_sums` has them."""
    heights = polynomials(filled, t) if filled else []
    weights = [g * heights[filled - j] if filled else g for j in range(min(free, filled) + 1)]
    return tuple(monomial_sums(weights[j], S, order) for j, order in _orders(free, filled))


def contracted(sums: tuple[Array, ...], *, free: int, gram: Array, filled: int = 0, b: Array | None = None) -> Array:
    """(*) from the sums over all rows."""
    total: Array = None
    for (j, order), monomials in zip(_orders(free, filled), sums, strict=True):
        r = (free - j - order) // 2
        term = unfolded(monomials, gram.shape[0], order)
        if r:
            term = (-1.0) ** r * symmetric_product(_pairings(gram, r), term)
        if j:
            term = (-1.0) ** j * math.perm(filled, j) * symmetric_product(_power(b, j), term)
        total = term if total is None else total + term
    return total


def _orders(free: int, filled: int) -> list[tuple[int, int]]:
    """(j, p − j − 2r) of the terms of (*)."""
    return [(j, order) for j in range(min(free, filled) + 1) for order in range(free - j, -1, -2)]


def power_sums(g: Array, S: Array, order: int) -> Array:
    """Σ_rows g s^{⊗order}, (k',)*order.

    S  s, a row each (n, k')
    """
    return unfolded(monomial_sums(g, S, order), S.shape[1], order)


def monomial_sums(g: Array, S: Array, order: int) -> Array:
    """Σ_rows g s^{⊗order} without its repetitions: one matrix product of the monomials of half the degree each."""
    xp = array_namespace(g, S)
    if order == 0:
        return xp.sum(g)
    if order == 1:
        return xp.matmul(xp.matrix_transpose(S), g)
    left = _monomials(S, (order + 1) // 2)
    if order % 2 == 0:
        return weighted_gram(left, g)
    return matmul_transposed(left, g[:, None] * _monomials(S, order // 2))


def unfolded(sums: Array, width: int, order: int) -> Array:
    """The symmetric tensor (k',)*order from `monomial_sums`."""
    xp = array_namespace(sums)
    if order < 2:
        return sums
    for axis, degree in enumerate(((order + 1) // 2, order // 2)):
        sums = xp.take(sums, xp.asarray(_places(width, degree), device=sums.device), axis=axis) if degree > 1 else sums
    return xp.reshape(sums, (width,) * order)


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


def _monomials(S: Array, degree: int) -> Array:
    """s_{i₁} ⋯ s_{i_degree} over i₁ ≤ … ≤ i_degree, in lexicographic order (m, C(k' + degree − 1, degree))."""
    xp, k = array_namespace(S), int(S.shape[1])
    products = S
    for m in range(1, degree):  # those of degree m whose first index is at least i are the last C(k' − i + m − 1, m)
        products = xp.concat([S[:, i : i + 1] * products[:, -math.comb(k - i + m - 1, m) :] for i in range(k)], axis=1)
    return products


@lru_cache(maxsize=32)
def _places(width: int, degree: int) -> np.ndarray:
    """For every (i₁, …, i_degree), flattened, the place of its monomial."""
    indices = np.sort(np.indices((width,) * degree).reshape(degree, -1), axis=0)
    return np.unique(np.ravel_multi_index(tuple(indices), (width,) * degree), return_inverse=True)[1].reshape(-1)
