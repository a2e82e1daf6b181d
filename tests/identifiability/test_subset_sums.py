"""Subsets of columns whose sum is small: every way of enumeration finds the same ones."""

from __future__ import annotations

import numpy as np
import pytest
from tests.identifiability.networks import rows

from weightlift.identifiability import sign_patterns, subset_sums
from weightlift.identifiability.subset_sums import SubsetSums
from weightlift.network import Network


@pytest.mark.parametrize("kind", ["generic", "integer", "graded", "planted"])
def test_all_ways_of_enumeration_agree(rng, kind):
    k = 15
    for size, n in ((1e-9, 4), (1e-3, 2), (3e-3, 2), (1e-2, 3), (0.1, 4)):
        C = rng.normal(size=(n, k))
        if kind == "integer":
            C = rng.integers(-2, 3, size=(n, k)).astype(float)
        if kind == "graded":
            C *= 10.0 ** rng.uniform(-6, 1, size=k)
        if kind == "planted":
            C[:, 3] = -C[:, [1, 5, 8, 9, 10, 14]].sum(axis=1)
        C /= np.linalg.norm(C)
        sums = SubsetSums.of(C)
        every = ((np.arange(2**k)[:, None] >> np.arange(k)) & 1) == 1
        expected = rows(every[np.linalg.norm(every @ C.T, axis=1) <= size])
        r = sums.pivots(size)
        for proposals in (sums._by_pivots(r, size), sums._by_halves(r, size), sums._by_halves(0, size)):
            patterns, complete = sums._tested(proposals, size, 2**k)
            assert complete
            assert rows(patterns) == expected
        assert rows(sums.small(size, limit=2**k)[0]) == expected
        few, complete = sums.small(size, limit=1)
        assert len(few) == 1
        assert complete == (len(expected) == 1)


def test_integer_columns_fall_back_on_plain_halves(rng, monkeypatch):
    """G is integer: every pair of halves matches modulo 1, and the way by pivots modulo 1 gives up."""
    monkeypatch.setattr(subset_sums, "FEW_FREE", 0)
    monkeypatch.setattr(subset_sums, "CHANCE", 100)
    k = 14
    W = np.vstack([np.ones(k), rng.integers(0, 2, size=(2, k))])
    a = np.ones(k)
    a[5], W[:, 5] = -1.0, W[:, [1, 2]].sum(axis=1)
    C = np.vstack([a * W, np.zeros(k)])
    sums = SubsetSums.of(C / np.linalg.norm(C))
    assert sums._tested(sums._by_halves(sums.pivots(1e-9), 1e-9), 1e-9, 2**k, 100) is None
    every = ((np.arange(2**k)[:, None] >> np.arange(k)) & 1) == 1
    expected = rows(every[np.abs(every @ C.T).max(axis=1) == 0])
    assert (1, 2, 5) in expected
    assert rows(sign_patterns(Network(W, a)).patterns) == expected
