"""Bases among rows: greedy ones never exceed Edmonds' bound, and every binary vector of a space is found."""

from __future__ import annotations

import itertools

import numpy as np

from weightlift.rivals.bases import PRIME, Slopes, disjoint_bases, inverse, residue, spanned


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
