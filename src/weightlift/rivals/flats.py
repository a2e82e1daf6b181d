"""Rows on few flats, where units may take each other's places from one to the next.

A unit u that is one of z₁ … z_m at every row puts each row on one of the hyperplanes u = zᵢ, and so all of them on a surface of
degree m: the polynomial (u − z₁) ⋯ (u − z_m) vanishes on every row. Where φ is even, z and −z are two of them, of one unit.
Rows of a density lie on no such surface, once they are more than its coefficients. So either the monomials of degree two, of
x̃ = (x, 1) or of x where biases are not fitted, are independent on the rows, or two units may have changed places; those of
degree three likewise for three. Surfaces that bend, a sphere or inputs beside their squares, leave no exchange: there the flat
that touches the surfaces at a row holds no others.
Levels of discrete columns are such hyperplanes, and are looked at one by one (`discrete`); here the rows of the most common one
stand for all.
Where monomials are more than the rows, neighbours show low flats, and of an exact fit the values of z who may change places:
u is one of z₁ … z_m at q independent rows, which gives it everywhere, and halves of these mᑫ choices meet at the others. Of
even φ, which have more choices than a list, reflections at the linear functions and at the values, in turn, end at such a u.
Cost  O(m²) for each of at most 1,024 rows, m monomials; 0.03 s for two units at q = 30, 0.7 s at q = 36; beyond, 0.2 s.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import scipy.linalg

from weightlift.evidence.gauge import Gauge
from weightlift.rivals.cells import inputs
from weightlift.rivals.discrete import tied
from weightlift.rivals.finding import Finding, Outcome
from weightlift.rivals.limits import LIMITS
from weightlift.rivals.trial import named


def rows_on_flats(X: np.ndarray, gauge: Gauge, tolerance: float) -> Finding | None:
    """Units that may have changed places, as far as the rows' shape says; tolerance: of output weights that count as one."""
    units = exchangeable(gauge, tolerance)
    even = gauge.network.activation.parity == "even"
    places, what = (2 * len(units), "be reflected, or ") if even else (len(units), "")
    rows, x = _of_one_level(X, gauge)
    size = np.sqrt(np.mean(x**2, axis=0))
    x = x[:, size > 0] / size[size > 0]
    for degree in range(2, 1 + min(3, places)):
        few = math.comb(x.shape[1] + degree - 1, degree) > len(x) - LIMITS.spare
        if _on_few(x, X[rows], gauge, tolerance, degree) if few else touching(x, vanishing(x, degree), degree) > 1:
            who = named(gauge, units)
            sentence = f"The rows lie on few flats, from one to the next of which {who} may {what}take each other's places."
            return Finding(Outcome.UNEXAMINED, f"{sentence} Give rows elsewhere.", units=units)
        if few:
            break
    return None


def exchangeable(gauge: Gauge, tolerance: float) -> tuple[int, ...]:
    """Units with the output weight of another, or the opposite one where φ(−z) = −φ(z) + p(z); all where φ(−z) = φ(z)."""
    if gauge.network.activation.parity == "even":
        return tuple(range(gauge.network.n_units))  # a unit may take the place of its own reflection, −z
    return tuple(np.flatnonzero(_alike(gauge, tolerance)[0].sum(axis=1) > 1).tolist())


def _alike(gauge: Gauge, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """(k, k) whether two units may change places by their output weights, and (k,) the signs of z with which they do."""
    a, reflection = gauge.network.a, gauge.network.activation.reflection
    odd = reflection is not None and reflection[0] < 0
    sizes, signs = (np.abs(a), np.where(a < 0, -1.0, 1.0)) if odd else (a, np.ones(len(a)))
    largest = np.maximum(np.abs(a)[:, None], np.abs(a))
    return np.abs(sizes[:, None] - sizes) <= max(tolerance, LIMITS.same) * largest, signs


def _on_few(x: np.ndarray, X: np.ndarray, gauge: Gauge, tolerance: float, degree: int) -> bool:
    """Whether rows fewer than monomials of that degree lie on low flats or, of units that are known exactly, some u takes their
    values, as many of them at least: fewer are decided by lower degrees."""
    if dependent_neighbours(x):
        return True
    if tolerance > LIMITS.same:
        return False
    same, signs = _alike(gauge, tolerance)
    Z = (X @ gauge.network.W + gauge.network.b) * signs
    even = gauge.network.activation.parity == "even"
    pairs = [list(pair) for pair in itertools.combinations(range(len(same)), 2) if same[pair]]
    alone = [[i] for i in range(len(same)) if even]
    sets = [np.flatnonzero(row).tolist() for row in np.unique(same, axis=0)] + pairs + alone
    chart = independent_rows(x)
    asked = [s for s in sets[: LIMITS.suspects] if (1 + even) * len(s) >= degree]
    taken = [np.hstack([Z[:, s], -Z[:, s]]) if even else Z[:, s] for s in asked]
    if any(another(*chart, values) for values in taken):
        return True
    if not even or len(X) >= LIMITS.some:  # a search takes longer than all else; lists of other φ reach twice as many inputs
        return False
    many = [values for values in taken if _choices(len(chart[0]), values.shape[1]) > LIMITS.block]
    return any(found_another(x, values) for values in many[: LIMITS.searched_sets])


def independent_rows(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q independent rows of x, the others, and T that makes a linear function's values there from those at the q."""
    R, order = scipy.linalg.qr(x.T, mode="r", pivoting=True)
    q = int(np.sum(np.abs(np.diagonal(R)) > LIMITS.independent * abs(R[0, 0])))
    return order[:q], order[q:], x[order[q:]] @ np.linalg.pinv(x[order[:q]])


def another(basis: np.ndarray, rest: np.ndarray, T: np.ndarray, Z: np.ndarray) -> bool:
    """Whether some linear function of x (n, q) is one of z₁ … z_m (n, m) at every row, and none of them at all.

    What it is at q independent rows gives it everywhere; halves of the choices meet at a row, and are tried on the others.
    """
    q, m, width = len(basis), Z.shape[1], LIMITS.same * np.abs(Z).max()
    if m < 2 or len(rest) < LIMITS.excluding or _choices(q, m) > LIMITS.block:
        return False
    parts = np.arange(q // 2), np.arange(q // 2, q)
    left, right = (Z[basis[at][:, None], np.indices((m,) * len(at)).reshape(len(at), m ** len(at))] for at in parts)
    L, M = T[0, parts[0]] @ left, T[0, parts[1]] @ right
    ascending = np.argsort(M)
    first, last = (np.searchsorted(M, Z[rest[0], :, None] - L + side, sorter=ascending) for side in (-width, width))
    counts = (last - first).ravel()
    if counts.sum() > LIMITS.pairs:
        return False
    i = np.repeat(np.tile(np.arange(len(L)), m), counts)
    j = ascending[np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts - first.ravel(), counts)]
    at = 0
    while at < len(rest) and len(i):  # a few rows leave few choices, which are then tried on many at once
        rows = slice(at, at := at + max(1, LIMITS.block // (m * len(i))))
        values = T[rows] @ np.vstack([left[:, i], right[:, j]]) if len(i) <= len(L) else _sums(T[rows], left, right, i, j)
        kept = (np.abs(values[:, None] - Z[rest[rows], :, None]).min(axis=1) <= width).all(axis=0)
        i, j = i[kept], j[kept]
    u = np.vstack([left[:, i], right[:, j]])
    own = (np.abs(u[:, None] - Z[basis, :, None]) <= width).all(axis=0)
    return bool((~own.any(axis=0)).any())


def _sums(T: np.ndarray, left: np.ndarray, right: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """(rows, pairs) of many pairs of few halves: each half once."""
    return np.asarray((T[:, : len(left)] @ left)[:, i] + (T[:, len(left) :] @ right)[:, j])


def _choices(q: int, m: int) -> int:
    """Of one of m values at half of q rows."""
    return int(m ** (q - q // 2))


def found_another(x: np.ndarray, Z: np.ndarray) -> bool:
    """The same by a search: u ← u + β (P_Z(2 P_x u − u) − P_x u), P_x u the nearest linear function of x, P_Z v the nearest
    values at the rows [elser2018, relaxed reflections]. From random choices, on some of the rows; what is found holds on all.

    Of 150 pairs of units on two planes, q = 8 to 59, it misses one, of even φ one in five.
    """
    width, rng, most = LIMITS.same * np.abs(Z).max(), np.random.default_rng(0), LIMITS.searched_rows * x.shape[1]
    some, values = x[:most], Z[:most]
    Q = scipy.linalg.qr(some, mode="economic")[0]

    def nearest(u: np.ndarray) -> np.ndarray:
        at = np.abs(u[:, :, None] - values).argmin(axis=2)
        return np.asarray(values[np.arange(len(values)), at])

    u = values[np.arange(len(values)), rng.integers(Z.shape[1], size=(LIMITS.searches, len(values)))]
    for step in range(1, 1 + LIMITS.search_steps):
        linear = (u @ Q) @ Q.T
        if step % LIMITS.looked_every == 0:
            ended = (np.abs(nearest(linear) - linear) <= width).all(axis=1)
            own = (np.abs(linear[:, :, None] - values) <= width).all(axis=1).any(axis=1)
            for candidate in linear[ended & ~own]:
                everywhere = x @ np.linalg.lstsq(some, candidate)[0]
                if (np.abs(everywhere[:, None] - Z).min(axis=1) <= width).all():
                    return True
            u, linear = u[~ended], linear[~ended]
            if not len(u):
                return False
        u = u + LIMITS.relaxation * (nearest(2.0 * linear - u) - linear)
    return False


def _of_one_level(X: np.ndarray, gauge: Gauge) -> tuple[np.ndarray, np.ndarray]:
    """Rows, those with the most common level of discrete columns, and their x̃; one that is zero on some rows alone is none."""
    discrete = tied(X) & (np.ptp(X, axis=0) > 0)
    for j in np.flatnonzero(discrete):
        discrete[j] = np.sum(np.unique(X[:, j], return_counts=True)[1] == 1) <= LIMITS.atom * len(X)
    if not discrete.any():
        return np.arange(len(X)), inputs(X, gauge)
    _, level, sizes = np.unique(X[:, discrete], axis=0, return_inverse=True, return_counts=True)
    rows = np.flatnonzero(level.ravel() == np.argmax(sizes))
    return rows, np.hstack([X[rows][:, ~discrete], np.ones((len(rows), 1))])


def vanishing(x: np.ndarray, degree: int) -> np.ndarray:
    """(s, monomials) coefficients of the polynomials of this degree, homogeneous in x (n, q), that vanish on all rows."""
    index = np.array(_indices(x.shape[1], degree))
    for rows in (x[: len(index) + LIMITS.listed_rows], x):  # what does not vanish on some rows does not on all
        M = rows[:, index[:, 0]]
        for place in range(1, degree):
            M = M * rows[:, index[:, place]]
        length = np.linalg.norm(M, axis=0)
        length = np.where(length > 0, length, 1.0)
        if _independent(M / length):
            return np.zeros((0, len(index)))
    _, sizes, vectors = np.linalg.svd(M / length, full_matrices=False)
    return np.asarray(vectors[sizes <= LIMITS.independent * sizes[0]] / length)


def _independent(M: np.ndarray) -> bool:
    """Whether columns of length one are; by MᵀM, whose diagonal is that of R² up to 1e-13, where that leaves no doubt."""
    try:
        if np.diagonal(np.linalg.cholesky(M.T @ M)).min() > LIMITS.plainly:
            return True
    except np.linalg.LinAlgError:
        pass
    return bool(np.abs(np.diagonal(np.linalg.qr(M, mode="r"))).min() > LIMITS.independent)


def touching(x: np.ndarray, polynomials: np.ndarray, degree: int) -> int:
    """The most rows beyond its dimension on a flat that touches all the surfaces at a row, of some; a flat surface has many."""
    if not len(polynomials):
        return 0
    most, index = 0, _indices(x.shape[1], degree)
    for row in x[:: max(1, len(x) // LIMITS.touched)]:
        normals = np.zeros((len(polynomials), x.shape[1]))
        for at, coefficients in zip(index, polynomials.T, strict=True):
            for place in range(degree):
                normals[:, at[place]] += coefficients * np.prod(row[at[:place] + at[place + 1 :]])
        size = np.linalg.norm(normals, axis=1)
        kept = size > LIMITS.same * size.max(initial=0.0)
        normals = normals[kept] / size[kept, None]
        off = np.abs(x @ normals.T)
        rows = int(np.sum((off <= LIMITS.same * np.linalg.norm(x, axis=1)[:, None]).all(axis=1)))
        most = max(most, rows - x.shape[1] + int(np.linalg.matrix_rank(normals, LIMITS.same)))
    return most


def dependent_neighbours(x: np.ndarray) -> bool:
    """Whether the differences of some row to as many neighbours as there are inputs depend on each other: lines, low flats."""
    q = x.shape[1]
    count = q - bool(np.ptp(x[:, -1]) == 0)
    if len(x) <= q or not count:
        return False
    some = range(0, len(x), max(1, len(x) // LIMITS.touched))
    squares = np.vecdot(x, x) - 2.0 * x[some] @ x.T  # up to what is the same for all neighbours of a row
    for at, distances in zip(some, squares, strict=True):
        distances[at] = np.inf
        gaps = x[np.argpartition(distances, count - 1)[:count]] - x[at]
        columns = gaps.T / np.maximum(np.linalg.norm(gaps, axis=1), np.finfo(float).tiny)
        if not _independent(columns):
            return True
    return False


def _indices(q: int, degree: int) -> list[list[int]]:
    return [list(index) for index in itertools.combinations_with_replacement(range(q), degree)]
