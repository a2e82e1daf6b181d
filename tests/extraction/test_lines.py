"""Piecewise linear functions on a line: every kink, whatever its neighbours."""

import numpy as np
import pytest

from weightlift.extraction.lines import broken_line

EXACT = (-1e3, 1e3)


def values_of(kinks, jumps, slope=0.3):
    return lambda t: (slope * t + np.maximum(t[:, None] - kinks, 0.0) @ jumps)[:, None]


def rounding(t):
    return 1e-14 * (10 + 10 * np.abs(t))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("k", [1, 2, 3, 20, 40])
def test_all_kinks_are_found(k, seed):
    rng = np.random.default_rng(seed)
    kinks = np.sort(rng.standard_cauchy(2 * k).clip(-500, 500))
    apart = np.diff(kinks, prepend=-np.inf) > 2e-3 * (1 + np.abs(kinks))  # else a pair of values may hold two of them
    kinks = kinks[apart][:k]
    k = len(kinks)
    f = values_of(kinks, rng.choice([-1.0, 1.0], k) * rng.uniform(0.1, 3, k))
    found = broken_line(f, rounding, EXACT)
    assert found.resolved
    np.testing.assert_allclose(found.kinks, kinks, rtol=1e-6, atol=1e-6)
    slopes = np.array([piece.slope[0] for piece in found.pieces])
    middle = (found.edges[1:] + found.edges[:-1]) / 2
    h = 1e-3 * np.diff(found.edges)
    np.testing.assert_allclose(slopes, (f(middle + h) - f(middle - h))[:, 0] / (2 * h), rtol=1e-5, atol=1e-7)


def test_queries_grow_as_the_kinks():
    rng = np.random.default_rng(0)
    asked = []
    kinks = np.sort(rng.standard_cauchy(60).clip(-300, 300))
    f = values_of(kinks, rng.standard_normal(60))

    def counted(t):
        asked.append(len(t))
        return f(t)

    broken_line(counted, rounding, EXACT)
    assert sum(asked) <= 7 * 60
    assert len(asked) <= 40  # levels are asked in one batch


def test_a_big_kink_beside_a_small_one():
    """Their end pieces meet right beside the big kink: a pair of values there would straddle it."""
    kinks, jumps = np.array([0.139126, 0.139825]), np.array([3.66, 0.5])
    found = broken_line(values_of(kinks, jumps), rounding, EXACT)
    assert found.resolved
    np.testing.assert_allclose(found.kinks, kinks, atol=1e-8)


def test_end_pieces_that_meet_outside_the_cluster():
    """Three kinks left of where the end pieces meet: a value at that place lies on the right one, and shows nothing."""
    kinks, jumps = np.array([-1.0, -0.5, 0.0]), np.array([1.0, -3.0, 2.5])
    found = broken_line(values_of(kinks, jumps), rounding, EXACT)
    np.testing.assert_allclose(found.kinks, kinks, atol=1e-8)


def test_several_outputs_share_their_kinks():
    rng = np.random.default_rng(1)
    kinks, jumps = np.sort(rng.standard_normal(7)), rng.standard_normal((7, 3))
    found = broken_line(lambda t: np.maximum(t[:, None] - kinks, 0.0) @ jumps, rounding, EXACT)
    np.testing.assert_allclose(found.kinks, kinks, atol=1e-8)


def test_a_straight_line_has_no_kinks():
    found = broken_line(values_of(np.zeros(0), np.zeros(0)), rounding, EXACT)
    assert found.resolved
    assert len(found.kinks) == 0


@pytest.mark.parametrize("f", [np.tanh, np.square, np.sign, lambda t: np.sin(3 * t)])
def test_what_is_not_piecewise_linear_is_called_so(f):
    asked = []

    def values(t):
        asked.append(len(t))
        return f(t)[:, None]

    found = broken_line(values, lambda t: 1e-14 * (1 + t * t), EXACT)
    assert not found.resolved
    assert sum(asked) < 2000


def counted(f):
    asked = []

    def values(t):
        asked.extend(t)
        return f(t)

    return values, asked


def test_a_pair_that_straddles_a_kink_is_dropped():
    """The first pair lies where the end pieces meet, and there, between its two values, is the middle one of three kinks."""
    kinks, jumps = np.array([-2.0, 1.0, 3.0]), np.array([1.0, 0.7, 0.5])
    meeting = kinks @ jumps / jumps.sum()
    kinks = kinks + (np.array([0.0, meeting - 1.0, 0.0]) * jumps.sum() / (jumps.sum() - jumps[1]))  # the middle one is there
    assert kinks @ jumps / jumps.sum() == pytest.approx(kinks[1])
    for off in (-3e-6, 0.0, 4e-6):
        moved = kinks + np.array([0.0, off, 0.0])
        values, asked = counted(values_of(moved, jumps))
        found = broken_line(values, rounding, EXACT)
        assert found.resolved
        np.testing.assert_allclose(found.kinks, moved, atol=1e-8)
        assert len(asked) <= 24


@pytest.mark.parametrize("gap", [3e-5, 6e-5, 1e-4])
def test_two_kinks_between_the_first_pairs(gap):
    """Both are seen by a pair of values each, and what lies between those is asked for, not the same pairs again."""
    kinks, jumps = np.array([-1.3, -0.39, -0.39 + gap, 0.6]), np.array([-1.2, -0.56, 4.5, -0.2])
    values, asked = counted(values_of(kinks, jumps))
    found = broken_line(values, rounding, EXACT)
    assert found.resolved
    np.testing.assert_allclose(found.kinks, kinks, atol=1e-7)
    assert len(asked) < 60  # the same pairs again until the levels end: 130


def test_a_kink_within_the_last_pair_ends_the_line_before_it():
    kinks, jumps = np.array([-0.4, 1.7, 996.0]), np.array([2.0, -0.7, 0.3])
    found = broken_line(values_of(kinks, jumps), rounding, EXACT)
    assert found.resolved
    np.testing.assert_allclose(found.kinks, kinks[:2], atol=1e-8)
    assert found.edges[-1] < 996.0
