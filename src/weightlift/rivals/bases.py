"""Disjoint bases among slope vectors, and the 0/1 vectors of a column space: exact arithmetic modulo a prime.

Ranks modulo p never exceed ranks over Q, and a 0/1 vector of a rational column space whose pivot minor is not divisible by p
is one modulo p. So a basis that is found is one, and the list of vectors holds every true one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weightlift.rivals.limits import LIMITS, PRIME


def residue(value: float) -> int:
    """A float, which is the rational m/2ᵉ, modulo p."""
    numerator, denominator = float(value).as_integer_ratio()
    return numerator % PRIME * pow(denominator % PRIME, -1, PRIME) % PRIME


@dataclass(frozen=True, eq=False)
class Slopes:
    """Rows α + (1 − α) B of a 0/1 matrix B (n, k), α a residue, and, where `ones`, a column of ones: S or [S, 1] modulo p."""

    B: np.ndarray  # (n, k) float 0/1
    alpha: int = 0
    ones: bool = False

    @property
    def width(self) -> int:
        return int(self.B.shape[1]) + self.ones

    def take(self, rows: np.ndarray) -> np.ndarray:
        """(m, width) residues."""
        S = (self.alpha + (1 - self.alpha) * self.B[rows].astype(np.int64)) % PRIME
        return np.hstack([S, np.ones((len(S), 1), dtype=np.int64)]) if self.ones else S

    def times(self, M: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """S[rows] M modulo p for residues M (width, m), by floating-point products that are exact."""
        k = self.B.shape[1]
        product = (self.B[rows] @ M[:k].astype(float)).astype(np.int64) % PRIME
        total = M[:k].sum(axis=0) % PRIME
        product = (self.alpha * total + (1 - self.alpha) % PRIME * product) % PRIME
        return np.asarray((product + M[k]) % PRIME) if self.ones else np.asarray(product)


@dataclass(frozen=True, eq=False)
class Bases:
    """How many disjoint bases were found, and the flat to which the rest of the rows belong where another one was not."""

    count: int
    missed: int = 0  # rows outside the flat
    codimension: int = 0
    units: tuple[int, ...] = ()  # coordinates that the flat's equations involve
    outside: np.ndarray | None = None  # (n,) which rows are not of the flat
    equations: np.ndarray | None = None  # (width, codimension) residues: the flat's

    def undecided(self, q: int) -> bool:
        """Whether a network may have other pieces at the rows outside the flat: they are no more than its coordinates there."""
        return self.missed <= q * self.codimension


def different(B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each different row of a 0/1 matrix stands first, in the order of the rows as numbers, and how often it occurs."""
    k = B.shape[1]
    if k <= LIMITS.word:
        codes = B @ np.exp2(np.arange(k)[::-1])
        codes = codes.astype(np.uint16 if k <= 16 else np.int64)  # of 16 bits sorting takes no comparisons
        return np.unique(codes, return_index=True, return_counts=True)[1:]
    return np.unique(np.packbits(B > 0, axis=1), axis=0, return_index=True, return_counts=True)[1:]


def disjoint_bases(slopes: Slopes, wanted: int) -> Bases:
    """Disjoint bases of R^width among the rows, by greedy search, at most `wanted`.

    Slopes that as many rows share and that span the space are all of them at once, one row of each. Else rows in common
    directions come first and at random; the rare ones, of high leverage, are spent one at a time.
    """
    first, counts = different(slopes.B)
    if not _independent(slopes.take(first[counts >= wanted]))[1].shape[1]:
        return Bases(wanted)
    order = _common_first(slopes)
    for found in range(wanted):
        used, equations = _basis(slopes, order)
        if equations.shape[1]:
            return _flat(slopes, equations, found)
        order = np.delete(order, used)
    return Bases(wanted)


def _flat(slopes: Slopes, equations: np.ndarray, found: int) -> Bases:
    """That of all these equations, or of the one that the fewest rows miss, whichever fewer rows a codimension do."""
    misses = slopes.times(equations, np.arange(len(slopes.B))) != 0
    one = int(np.argmin(misses.sum(axis=0)))
    if misses[:, one].sum() * misses.shape[1] <= misses.any(axis=1).sum():
        misses, equations = misses[:, [one]], equations[:, [one]]
    outside = np.asarray(misses.any(axis=1))
    units = np.flatnonzero(equations[: slopes.B.shape[1]].any(axis=1))
    return Bases(found, int(outside.sum()), int(equations.shape[1]), tuple(units.tolist()), outside, equations)


def _common_first(slopes: Slopes) -> np.ndarray:
    S = np.hstack([slopes.B, np.ones((len(slopes.B), 1))])
    gram = S.T @ S
    leverage = ((S @ np.linalg.pinv(gram, hermitian=True)) * S).sum(axis=1)
    rare = np.where(leverage > LIMITS.rare * S.shape[1] / len(S), leverage, 0.0)
    return np.lexsort((np.random.default_rng(0).permutation(len(S)), np.round(rare, 9)))


def _basis(slopes: Slopes, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions in `order` of the first independent rows, and (width, codimension) equations that all rows obey."""
    used, functionals = _independent(slopes.take(order[: 2 * slopes.width]))
    while functionals.shape[1]:
        row = _outside(slopes, functionals, order[: LIMITS.near])
        if row < 0 and (row := _outside(slopes, functionals, order)) < 0:
            break
        used = np.append(used, row)
        functionals = _annihilated(functionals, slopes.take(order[row : row + 1])[0])
    return used, functionals


def _outside(slopes: Slopes, functionals: np.ndarray, order: np.ndarray) -> int:
    """Position of the first row on which a functional does not vanish; −1 if there is none."""
    found = np.asarray(slopes.times(functionals, order).any(axis=1))
    return int(np.argmax(found)) if found.any() else -1


def _independent(S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first independent rows of S (m, K), and functionals (K, K − rank) that vanish on all of them."""
    K = S.shape[1]
    used: list[int] = []
    A, T = S.T.copy(), np.eye(K, dtype=np.int64)  # T A has the rows of S as its columns
    for step in range(K):
        alive = np.flatnonzero(A[step:].any(axis=0))
        if not len(alive):
            return np.array(used, dtype=int), T[step:].T
        column = int(alive[0])
        pivot = step + int(np.argmax(A[step:, column] != 0))
        A[[step, pivot]], T[[step, pivot]] = A[[pivot, step]], T[[pivot, step]]
        inverse = pow(int(A[step, column]), -1, PRIME)
        factor = A[step + 1 :, column] * inverse % PRIME
        A[step + 1 :] = (A[step + 1 :] - factor[:, None] * A[step]) % PRIME
        T[step + 1 :] = (T[step + 1 :] - factor[:, None] * T[step]) % PRIME
        used.append(column)
    return np.array(used, dtype=int), T[K:].T


def _annihilated(functionals: np.ndarray, row: np.ndarray) -> np.ndarray:
    """Those combinations of functionals (K, m) that vanish on the row as well, (K, m − 1)."""
    values = np.array([int(v) for v in (row[:, None] * functionals % PRIME).sum(axis=0) % PRIME])
    pivot = int(np.argmax(values != 0))
    factor = values * pow(int(values[pivot]), -1, PRIME) % PRIME
    return np.delete((functionals - functionals[:, [pivot]] * factor) % PRIME, pivot, axis=1)


def spanned(slopes: Slopes, columns: np.ndarray) -> np.ndarray:
    """(m,) which columns (n, m) of residues lie in the column space of S (n, K), of rank K modulo p."""
    every = np.arange(len(slopes.B))
    at, equations = _basis(slopes, every)
    if equations.shape[1] or not columns.shape[1]:
        return np.ones(columns.shape[1], dtype=bool)
    back = inverse(slopes.take(at))
    coordinates = np.zeros((slopes.width, columns.shape[1]), dtype=np.int64)
    for row in range(slopes.width):  # residues times residues: no floating-point product
        coordinates[row] = (back[row][:, None] * columns[at] % PRIME).sum(axis=0) % PRIME
    return np.asarray((slopes.times(coordinates, every) == columns).all(axis=0))


def binary_vectors(B: np.ndarray) -> np.ndarray | None:
    """(n, m) every vector of the column space of B (n, r), 0/1 and of rank r modulo p, whose entries are 0 and 1 alone.

    With u the entries at r pivot rows, v = G u, G = B B_pivots⁻¹; u = (u₁, u₂), and at a few check rows with random
    multipliers ρ the half sums meet: ρᵀG₁u₁ = ρᵀt − ρᵀG₂u₂ for some t ∈ {0, 1}ᴸ. None where that takes too long.
    """
    n, r = B.shape
    if r > LIMITS.listed_units:
        return None
    order = np.random.default_rng(0).permutation(n)
    at, equations = _basis(Slopes(B), order)
    if equations.shape[1]:
        return None
    back = inverse(B[order[at]].astype(np.int64))
    G = _times(B[np.delete(order, at)[: LIMITS.listed_rows * r]], back)
    U = _filtered(_bits(np.arange(2**r), r), G) if r <= LIMITS.few_bits or not len(G) else _met(G)
    if U is None:
        return None
    V = _times(B, _times(U, back.T).T)
    return np.asarray(V[:, (V <= 1).all(axis=0)] == 1)


def _met(G: np.ndarray) -> np.ndarray | None:
    """The u ∈ {0, 1}ʳ with G u ∈ {0, 1}, by halves that meet at the rows whose entries are most various."""
    r, half = G.shape[1], G.shape[1] // 2
    variety = np.array([len(np.unique(row)) for row in G])
    checks = G[np.argsort(-variety, kind="stable")[: LIMITS.check_rows]]
    rho = np.random.default_rng(0).integers(1, PRIME, len(checks))
    g = (rho[:, None] * checks % PRIME).sum(axis=0) % PRIME
    left, right = _subset_sums(g[:half]), _subset_sums(g[half:])
    order = np.argsort(left, kind="stable")
    left, down = left[order], np.argsort(-right, kind="stable")
    found, pairs = [], 0
    for target in _subset_sums(rho):
        turned = np.roll(down, -int(np.count_nonzero(right > target)))  # target − right modulo p, in ascending order
        wanted = (target - right[turned]) % PRIME
        start, stop = (np.searchsorted(left, wanted, side=side) for side in ("left", "right"))
        counts = stop - start
        pairs += int(counts.sum())
        if pairs > LIMITS.pairs:
            return None
        second = np.repeat(turned, counts)
        first = order[np.repeat(stop - np.cumsum(counts), counts) + np.arange(len(second))]
        found.append(_filtered(np.hstack([_bits(first, half), _bits(second, r - half)]), G))
    return np.unique(np.concatenate(found), axis=0)


def inverse(A: np.ndarray) -> np.ndarray:
    """A⁻¹ modulo p of a square matrix of residues."""
    K = len(A)
    M = np.hstack([A % PRIME, np.eye(K, dtype=np.int64)])
    for step in range(K):
        pivot = step + int(np.argmax(M[step:, step] != 0))
        M[[step, pivot]] = M[[pivot, step]]
        M[step] = M[step] * pow(int(M[step, step]), -1, PRIME) % PRIME
        factor = M[:, step].copy()
        factor[step] = 0
        M = (M - factor[:, None] * M[step]) % PRIME
    return M[:, K:]


def _times(B: np.ndarray, M: np.ndarray) -> np.ndarray:
    """B M modulo p for 0/1 B and residues M: exact in floating point."""
    return np.asarray((B.astype(float) @ M.astype(float)).astype(np.int64) % PRIME)


def _subset_sums(g: np.ndarray) -> np.ndarray:
    """(2ᵐ,) Σ of g over the bits of each number, modulo p."""
    sums = np.zeros(1, dtype=np.int64)
    for value in g:
        sums = np.concatenate([sums, (sums + value) % PRIME])
    return sums


def _filtered(U: np.ndarray, G: np.ndarray) -> np.ndarray:
    """The rows u of U with G u ∈ {0, 1} everywhere, more of G at a time as the candidates dwindle."""
    start, size = 0, 4
    while start < len(G) and len(U):
        parts = [U[i : i + LIMITS.block] for i in range(0, len(U), LIMITS.block)]
        U = np.concatenate([part[(_times(part, G[start : start + size].T) <= 1).all(axis=1)] for part in parts])
        start, size = start + size, 2 * size
    return U


def _bits(numbers: np.ndarray, count: int) -> np.ndarray:
    return np.asarray((numbers[:, None] >> np.arange(count)) & 1, dtype=np.int64)
