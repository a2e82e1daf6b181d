"""Bases among rows: greedy ones never exceed Edmonds' bound, and every binary vector of a space is found."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from weightlift.rivals.bases import (
    PRIME,
    Bases,
    Slopes,
    _common_first,
    _flat,
    different,
    disjoint_bases,
    inverse,
    residue,
    spanned,
)


def test_the_greedy_bases_never_exceed_edmonds_bound_and_mostly_reach_it() -> None:
    """t disjoint bases exist iff every flat V is missed by at least t · codim V rows; tiny instances, all flats."""
    rng = np.random.default_rng(1)
    reached = total = 0
    for _ in range(150):
        K, n = int(rng.integers(2, 4)), int(rng.integers(4, 13))
        B = (rng.random((n, K)) < 0.5).astype(float)
        most = n // K
        for size in range(K):
            for rows in itertools.combinations(range(n), size):
                flat = B[list(rows)].reshape(-1, K)
                rank = int(np.linalg.matrix_rank(flat)) if size else 0
                missed = sum(int(np.linalg.matrix_rank(np.vstack([flat, b]))) > rank for b in B)
                most = min(most, missed // (K - rank))
        found = disjoint_bases(Slopes(B), 99).count
        assert found <= most
        reached, total = reached + (found == most), total + 1
    assert reached >= 0.9 * total


def test_slopes_that_many_rows_share_are_as_many_bases() -> None:
    """Three rows of each of three independent cells are three bases, and no four."""
    cells = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    B = np.repeat(cells, 3, axis=0)
    assert disjoint_bases(Slopes(B), 3).count == disjoint_bases(Slopes(B), 4).count == 3
    assert disjoint_bases(Slopes(np.repeat(cells[:2], 9, axis=0)), 3).count == 0
    assert disjoint_bases(Slopes(B, residue(0.5), ones=True), 3).count == 0  # three cells do not span four dimensions


def test_residues_are_the_rationals_that_floats_are() -> None:
    for value in (0.01, -1.0, 0.3, 5.0, -0.125):
        numerator, denominator = value.as_integer_ratio()
        assert (residue(value) * denominator - numerator) % PRIME == 0
    A = np.random.default_rng(0).integers(0, PRIME, (5, 5))
    product = [[sum(int(a) * int(b) for a, b in zip(row, col, strict=True)) % PRIME for col in inverse(A).T] for row in A]
    np.testing.assert_array_equal(product, np.eye(5))
    B = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    inside = Slopes(B, residue(0.5)).take(np.arange(3)).sum(axis=1, keepdims=True) % PRIME
    assert spanned(Slopes(B, residue(0.5)), np.hstack([inside, inside + np.array([[0], [0], [1]])])).tolist() == [True, False]


@pytest.mark.parametrize("ones", [False, True])
def test_slopes_times_residues_are_exact(ones: bool, seed: int) -> None:
    """Against whole numbers of Python, of which none overflows."""
    rng = np.random.default_rng(seed)
    slopes = Slopes((rng.random((9, 4)) < 0.5).astype(float), residue(0.3), ones)
    assert slopes.width == 4 + ones
    S = [[(slopes.alpha + (1 - slopes.alpha) * int(b)) % PRIME for b in row] + [1] * ones for row in slopes.B]
    rows = np.array([7, 0, 3, 3])
    np.testing.assert_array_equal(slopes.take(rows), [S[i] for i in rows])
    M = rng.integers(0, PRIME, (slopes.width, 3))
    expected = [[sum(s * int(m) for s, m in zip(S[i], column, strict=True)) % PRIME for column in M.T] for i in rows]
    np.testing.assert_array_equal(slopes.times(M, rows), expected)


@pytest.mark.parametrize("ones", [False, True])
def test_columns_in_the_span_wherever_the_independent_rows_stand(ones: bool, seed: int) -> None:
    """A dozen copies of one cell come first, so that the other rows of a basis are looked for one by one."""
    rng = np.random.default_rng(seed)
    B = np.vstack([np.tile([1.0, 0.0, 1.0], (12, 1)), rng.permutation(np.eye(3)), np.ones((1, 3)), np.zeros((1, 3))])
    slopes = Slopes(B, residue(-0.7), ones)
    S = slopes.take(np.arange(len(B)))
    M = rng.integers(0, 1000, (slopes.width, 5))
    inside = S @ M % PRIME
    outside = inside.copy()
    outside[[13, 0, 12, 16, 15], np.arange(5)] += 1
    assert spanned(slopes, np.hstack([inside, outside])).tolist() == [True] * 5 + [False] * 5
    assert spanned(slopes, inside[:, :0]).shape == (0,)
    assert spanned(Slopes(B[:12]), inside[:12]).tolist() == [True] * 5  # of less than full rank: nothing is excluded


def test_rows_outside_the_flat_decide_when_they_are_more_than_its_coordinates() -> None:
    """q coordinates for each of the codimension's dimensions: six rows for three of two leave it open, seven do not."""
    assert Bases(0, missed=6, codimension=3).undecided(2)
    assert not Bases(0, missed=7, codimension=3).undecided(2)
    assert Bases(0, missed=9, codimension=3).undecided(3)


def test_the_flat_where_another_basis_is_not_found(seed: int) -> None:
    """Two rows alone see the first unit against the others: two bases, then a flat in which it is not."""
    rng = np.random.default_rng(seed)
    others = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    B = np.vstack([np.repeat(others, 20, axis=0), [[1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]])
    order = rng.permutation(len(B))
    found = disjoint_bases(Slopes(B[order]), 5)
    assert (found.count, found.missed, found.codimension, found.units) == (2, 2, 1, (0,))
    assert found.outside is not None
    np.testing.assert_array_equal(found.outside, order >= 60)
    exactly = disjoint_bases(Slopes(B[order]), 2)
    assert (exactly.count, exactly.units, exactly.outside) == (2, (), None)
    beside = disjoint_bases(Slopes(B[order], residue(0.3), ones=True), 5)  # the three cells are independent beside them
    assert (beside.count, beside.missed, beside.codimension, beside.units) == (2, 2, 1, (0,))


def test_of_two_flats_the_one_that_fewer_rows_miss(seed: int) -> None:
    """Rows alike see two units, in turn: one of them on two rows, and on as many as the other or fewer."""
    rng = np.random.default_rng(seed)
    common = np.repeat(np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]), 20, axis=0)
    for rows, units in ((2, {(0,), (1,)}), (4, {(0,)}), (1, {(1,)})):
        B = np.vstack([common, np.repeat([[1.0, 0.0, 1.0]], 2, axis=0), np.repeat([[0.0, 1.0, 1.0]], rows, axis=0)])
        found = disjoint_bases(Slopes(B[rng.permutation(len(B))]), 6)
        assert (found.missed, found.codimension) == (min(2, rows), 1)
        assert found.units in units
    B = np.vstack([common, [[1.0, 1.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]])
    found = _flat(Slopes(B), np.eye(3, 2, dtype=np.int64), 0)  # two rows miss either equation, three both: fewer a codimension
    assert (found.missed, found.codimension, found.units) == (3, 2, (0, 1))


def test_rare_rows_come_last_by_their_leverage() -> None:
    """Cells independent beside the ones: a row's leverage is one over its cell's rows; the mean is 4 over all rows."""
    counts = {(0, 0, 0): 50, (1, 0, 0): 24, (0, 1, 0): 3, (0, 0, 1): 5}
    cells = np.repeat(np.array(list(counts), dtype=float), list(counts.values()), axis=0)[::-1]
    assert max(1 / 24, 1 / 50) < 4 / len(cells) < 1 / 5
    ordered = cells[_common_first(Slopes(cells))]
    np.testing.assert_array_equal(ordered[-8:], [[0, 0, 1]] * 5 + [[0, 1, 0]] * 3)
    common = ordered[:-8, 0]
    assert 2 < common[:37].sum() < 22  # mixed: twelve of 24 are expected in one half, with a standard deviation of two


@pytest.mark.parametrize("k", [1, 7, 16, 17, 52, 53, 70])
def test_different_rows_in_the_order_of_their_numbers(k: int, seed: int) -> None:
    """Short, long and longest sides by their digits, their bits and their bytes: as sorted tuples, first places and counts."""
    rng = np.random.default_rng(seed)
    B = rng.integers(0, 2, (6, k)).astype(float)[rng.integers(0, 6, 40)]
    rows = [tuple(row) for row in B]
    first, counts = different(B)
    assert [rows[i] for i in first] == sorted(set(rows))
    assert first.tolist() == [rows.index(row) for row in sorted(set(rows))]
    assert counts.tolist() == [rows.count(row) for row in sorted(set(rows))]
