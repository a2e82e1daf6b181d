"""Binary vectors of a space: all are found, by trial and by halves that meet."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from weightlift.rivals.bases import PRIME, _subset_sums, binary_vectors


@pytest.mark.parametrize("ones", [False, True])
def test_binary_vectors_of_a_space_are_all_found(ones: bool) -> None:
    rng = np.random.default_rng(3)
    checked = 0
    while checked < 60:
        r, n = int(rng.integers(1, 7)), int(rng.integers(4, 11))
        B = (rng.random((n, r)) < rng.uniform(0.2, 0.8)).astype(float)
        B = np.hstack([B, np.ones((n, 1))]) if ones else B
        if np.linalg.matrix_rank(B) < B.shape[1]:
            continue
        V = binary_vectors(B)
        assert V is not None
        found = {tuple(v) for v in V.T.astype(int)}
        for v in itertools.product([0, 1], repeat=n):
            rest = np.array(v) - B @ np.linalg.lstsq(B, np.array(v, dtype=float))[0]
            assert (np.linalg.norm(rest) < 1e-9) == (v in found)
        checked += 1


def test_halves_that_meet_find_what_all_trials_find(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        X = np.concatenate([3 * rng.standard_normal(3) + 0.2 * rng.standard_normal((9, 3)) for _ in range(5)])
        B = np.unique((X @ rng.standard_normal((3, 10)) > 0).astype(float), axis=0)
        ranks = [0, *(np.linalg.matrix_rank(B[:, : c + 1]) for c in range(10))]
        Q = [c for c in range(10) if ranks[c + 1] > ranks[c]]
        one_by_one = binary_vectors(B[:, Q])
        monkeypatch.setattr("weightlift.rivals.bases.LIMITS", type("Few", (), {**_limits(), "few_bits": 0})())
        by_halves = binary_vectors(B[:, Q])
        monkeypatch.undo()
        assert one_by_one is not None
        assert by_halves is not None
        assert {v.tobytes() for v in one_by_one.T} == {v.tobytes() for v in by_halves.T}


def test_many_columns_have_no_binary_vectors_but_their_own(seed: int) -> None:
    """Thirty columns, too many for trials one by one, and rows of which half are copies of others and tell nothing."""
    rng = np.random.default_rng(seed)
    B = (rng.random((45, 30)) < 0.5).astype(float)
    B = rng.permutation(np.vstack([B, B]))
    found = binary_vectors(B)
    assert found is not None
    assert {v.tobytes() for v in found.T} == {v.tobytes() for v in (B > 0).T} | {np.zeros(90, dtype=bool).tobytes()}


def test_columns_without_full_rank_are_not_listed() -> None:
    B = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0]])
    assert binary_vectors(B) is None


def test_sums_over_the_bits_of_each_number() -> None:
    g = np.random.default_rng(0).integers(0, PRIME, 5)
    expected = [sum(int(g[i]) for i in range(5) if number >> i & 1) % PRIME for number in range(32)]
    np.testing.assert_array_equal(_subset_sums(g), expected)


def _limits() -> dict[str, float]:
    from dataclasses import asdict

    from weightlift.rivals.limits import LIMITS

    return asdict(LIMITS)
