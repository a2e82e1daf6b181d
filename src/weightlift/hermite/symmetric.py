"""Symmetric tensors in coordinates: an orthonormal basis of Sym^m(Rᵈ), of D = C(d+m−1, m) elements instead of dᵐ entries.

Basis       E_κ = √(m!/κ!) Sym(e^κ) for multi-indices κ, |κ| = m. ⟨T, E_κ⟩ = √(m!/κ!) T_κ; norms are those of the tensors.
Rules       w^{⊗m} has the coordinates √(m!/κ!) w^κ, and He_m(x) has √(m!/κ!) Π_a He_{κ_a}(x_a).
            Sym[e_i ⊗ E_ν] = √((ν_i+1)/(m+1)) E_{ν+e_i}: raising an order is one gather for each input.
            He_{a+b}(x) as a matrix Sym^b → Sym^a is Σ_r (−1)^r r! C(a,r) C(b,r) Sym[I^{⊗r} ⊗ He_{a−r}(x) He_{b−r}(x)ᵀ]: the r
            identities are the matchings between the two groups of slots.
Cost        tables of d D indices an order; O(n D) for the Hermite tensors of n rows.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from weightlift.errors import ArgumentError
from weightlift.hermite.polynomials import polynomials
from weightlift.namespaces import Array, array_namespace, as_like, device


def symmetric_dimension(n_inputs: int, order: int) -> int:
    """dim Sym^order(Rᵈ) = C(d + order − 1, order)."""
    return math.comb(n_inputs + order - 1, order)


@lru_cache(maxsize=64)
def symmetric_basis(n_inputs: int, order: int) -> SymmetricBasis:
    """The basis of Sym^order(Rᵈ); its tables are kept."""
    if order < 0 or n_inputs < 1:
        raise ArgumentError(f"order must be at least 0 and n_inputs at least 1, not {order} and {n_inputs}.")
    if order >= len(_FACTORIALS):
        raise ArgumentError(f"order must be below {len(_FACTORIALS)}, not {order}: higher ones are not kept.")
    return SymmetricBasis(n_inputs, order)


@dataclass(frozen=True)
class SymmetricBasis:
    """{E_κ : |κ| = order}, in the order of `itertools.combinations_with_replacement`."""

    n_inputs: int
    order: int

    @cached_property
    def indices(self) -> np.ndarray:
        """(D, order): the coordinates in which κ counts, rising."""
        found = list(itertools.combinations_with_replacement(range(self.n_inputs), self.order))
        return np.array(found, dtype=np.int64).reshape(len(found), self.order)

    @cached_property
    def scale(self) -> np.ndarray:
        """√(m!/κ!), (D,)."""
        return np.asarray(np.sqrt(math.factorial(self.order) / np.prod(_FACTORIALS[self.exponents], axis=1)))

    @cached_property
    def exponents(self) -> np.ndarray:
        """κ, (D, d)."""
        kappa = np.zeros((self.size, self.n_inputs), dtype=np.int64)
        for position in range(self.order):
            np.add.at(kappa, (np.arange(self.size), self.indices[:, position]), 1)
        return kappa

    @property
    def size(self) -> int:
        return symmetric_dimension(self.n_inputs, self.order)

    @cached_property
    def raised(self) -> tuple[np.ndarray, np.ndarray]:
        """For Sym^m → Sym^{m+1}: where ν + e_i stands, (d, D), and √((ν_i+1)/(m+1)), (d, D)."""
        higher = symmetric_basis(self.n_inputs, self.order + 1)
        joined = [np.sort(np.insert(self.indices, 0, i, axis=1), axis=1) for i in range(self.n_inputs)]
        position = np.stack([np.searchsorted(higher.codes, higher.encode(rows)) for rows in joined])
        return position, np.sqrt((self.exponents.T + 1) / (self.order + 1))

    @cached_property
    def lowered(self) -> tuple[np.ndarray, np.ndarray]:
        """For Sym^{m−1} → Sym^m: where κ − e_i stands, (d, D), and √(κ_i/m), (d, D), zero where there is none."""
        position, _ = symmetric_basis(self.n_inputs, self.order - 1).raised
        back = np.zeros((self.n_inputs, self.size), dtype=np.int64)
        for i, places in enumerate(position):
            back[i, places] = np.arange(len(places))
        return back, np.sqrt(self.exponents.T / self.order)

    def powers(self, U: np.ndarray) -> np.ndarray:
        """Coordinates of uᵢ^{⊗m} for the columns of U (d, k): (D, k)."""
        values = np.ones((self.size, U.shape[1]))
        for position in range(self.order):
            values *= U[self.indices[:, position]]
        return np.asarray(self.scale[:, None] * values)

    def hermite(self, X: Array) -> Array:
        """Coordinates of He_m(x) for the rows of X (n, d): (n, D)."""
        xp = array_namespace(X)
        if self.order == 0:
            return xp.ones_like(X[:, :1])
        table = xp.concat([xp.ones_like(X[:, :1]), *polynomials(self.order, X)[1:]], axis=1)  # 1, He_1(x), He_2(x), …
        values: Array = None
        for columns in self._columns.T:
            factor = xp.take(table, xp.asarray(np.ascontiguousarray(columns), device=device(X)), axis=1)
            values = factor if values is None else values * factor
        return values * as_like(self.scale, X)

    def pack(self, T: np.ndarray) -> np.ndarray:
        """Coordinates (D,) of a symmetric tensor (d, …, d)."""
        return np.asarray(self.scale * T[tuple(self.indices.T)])

    def unpack(self, z: np.ndarray) -> np.ndarray:
        """The tensor (d, …, d) of coordinates z (D,)."""
        grid = np.indices((self.n_inputs,) * self.order).reshape(self.order, self.n_inputs**self.order).T
        place = np.searchsorted(self.codes, self.encode(np.sort(grid, axis=1)))
        return np.asarray((z / self.scale)[place].reshape((self.n_inputs,) * self.order))

    def direction(self, z: np.ndarray) -> tuple[np.ndarray, float]:
        """The unit u (d,) with z nearest to a multiple of u^{⊗m}'s unfolding d × d^{m−1}, and s₂/s₁: 0 for a power."""
        if self.order == 1:
            return z / np.linalg.norm(z), 0.0
        position, factor = symmetric_basis(self.n_inputs, self.order - 1).raised
        left, s, _ = np.linalg.svd(factor * z[position], full_matrices=False)
        return np.asarray(left[:, 0]), float(s[1] / s[0]) if len(s) > 1 else 0.0

    def raising(self, u: np.ndarray) -> np.ndarray:
        """The matrix (D', D) of Z → Sym[u ⊗ Z], Sym^m → Sym^{m+1}."""
        position, factor = self.raised
        matrix = np.zeros((symmetric_dimension(self.n_inputs, self.order + 1), self.size))
        for i in range(self.n_inputs):
            matrix[position[i], np.arange(self.size)] += u[i] * factor[i]
        return matrix

    @cached_property
    def codes(self) -> np.ndarray:
        """The indices as numbers in base d, rising."""
        return self.encode(self.indices)

    def encode(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(rows @ self.n_inputs ** np.arange(self.order)[::-1], dtype=np.int64)

    @cached_property
    def _columns(self) -> np.ndarray:
        """(D, m): columns of [1, He_1(x), He_2(x), …] whose product is Π He_{κ_a}(x_a); 0 within a run of equal indices."""
        kappa, d = self.exponents, self.n_inputs
        last = np.ones_like(self.indices, dtype=bool)
        last[:, :-1] = self.indices[:, 1:] != self.indices[:, :-1]
        count = np.take_along_axis(kappa, self.indices, axis=1)
        return np.where(last, 1 + (count - 1) * d + self.indices, 0)


def widen(B: Array, n_inputs: int, rows: int, columns: int) -> Array:
    """Sym[I ⊗ B]: from a matrix B, Sym^columns → Sym^rows, that of Z → Σ_i Sym[e_i ⊗ B Z(e_i, ·)], one order more each."""
    xp = array_namespace(B)
    left, left_factor = symmetric_basis(n_inputs, rows + 1).lowered
    right, right_factor = symmetric_basis(n_inputs, columns + 1).lowered
    total: Array = None
    for i in range(n_inputs):
        part = xp.take(B, _index(left[i], B), axis=0) * as_like(left_factor[i][:, None], B)
        part = xp.take(part, _index(right[i], B), axis=1) * as_like(right_factor[i][None, :], B)
        total = part if total is None else total + part
    return total


def flattening(g: Array, H: list[Array], n_inputs: int, rows: int, columns: int) -> Array:
    """Σ g He_{rows+columns}(x) as a matrix Sym^columns → Sym^rows, from the coordinates H[j] (n, D_j) of He_j(x)."""
    xp = array_namespace(g)
    total: Array = None
    for r in range(min(rows, columns) + 1):
        term = xp.matmul(xp.matrix_transpose(H[rows - r]), g[:, None] * H[columns - r])
        for step in range(r):
            term = widen(term, n_inputs, rows - r + step, columns - r + step)
        term = (-1.0) ** r * math.factorial(r) * math.comb(rows, r) * math.comb(columns, r) * term
        total = term if total is None else total + term
    return total


def flattening_product(g: Array, H: list[Array], Z: Array, n_inputs: int, rows: int, columns: int) -> Array:
    """The same matrix times Z (D_columns, s), without it: O(n d^columns s) at most."""
    xp, s = array_namespace(g, Z), Z.shape[1]
    total: Array = None
    unfolded = Z[:, None, :]  # (D_{columns−r}, d^r, s): r slots taken out
    for r in range(min(rows, columns) + 1):
        if r:
            unfolded = _split_slot(unfolded, n_inputs, columns - r + 1)
        flat = xp.reshape(unfolded, (unfolded.shape[0], -1))
        term = xp.matmul(xp.matrix_transpose(H[rows - r]), g[:, None] * xp.matmul(H[columns - r], flat))
        term = xp.reshape(term, (term.shape[0], n_inputs**r, s))
        for step in range(r):
            term = _join_slot(term, n_inputs, rows - r + step)
        term = (-1.0) ** r * math.factorial(r) * math.comb(rows, r) * math.comb(columns, r) * term
        total = term if total is None else total + term
    return total[:, 0, :]


def _split_slot(Z: Array, d: int, order: int) -> Array:
    """(D_order, q, s) → (D_{order−1}, q d, s): Z(e_i, ·) for every i."""
    xp = array_namespace(Z)
    position, factor = symmetric_basis(d, order - 1).raised
    parts = [xp.take(Z, _index(position[i], Z), axis=0) * as_like(factor[i][:, None, None], Z) for i in range(d)]
    return xp.reshape(xp.stack(parts, axis=2), (parts[0].shape[0], Z.shape[1] * d, Z.shape[2]))


def _join_slot(Y: Array, d: int, order: int) -> Array:
    """(D_order, q d, s) → (D_{order+1}, q, s): Σ_i Sym[e_i ⊗ Y_i], the transpose of `_split_slot`."""
    xp = array_namespace(Y)
    position, factor = symmetric_basis(d, order + 1).lowered
    Y = xp.reshape(Y, (Y.shape[0], Y.shape[1] // d, d, Y.shape[2]))
    total: Array = None
    for i in range(d):
        part = xp.take(Y[:, :, i, :], _index(position[i], Y), axis=0) * as_like(factor[i][:, None, None], Y)
        total = part if total is None else total + part
    return total


def _index(places: np.ndarray, like: Array) -> Array:
    return array_namespace(like).asarray(np.ascontiguousarray(places), device=device(like))


_FACTORIALS = np.array([math.factorial(j) for j in range(21)], dtype=float)
