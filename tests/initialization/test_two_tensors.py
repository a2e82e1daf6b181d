"""Mergers of the directions that two tensors give: against a search of all pairs, one at a time."""

import numpy as np
import pytest

from weightlift.initialization.two_tensors import TensorDirections, _distances, merge


def found(rng, U, error):
    k = U.shape[1]
    return TensorDirections(U, rng.uniform(1, 2, size=k), np.full(k, error), np.arange(k) / 10, np.ones(k), 0.0, 1.0)


def planted(rng, error):
    """Three directions of the first tensor; two of them again in the second, turned by `error` and reflected, and a new one."""
    U = np.linalg.qr(rng.normal(size=(6, 4)))[0]
    again = U[:, [0, 2]] + error * np.linalg.qr(rng.normal(size=(6, 2)))[0]
    again = -again / np.linalg.norm(again, axis=0)
    return U, [found(rng, U[:, :3], error), found(rng, np.hstack([again, U[:, 3:]]), error)]


def one_pair_at_a_time(parts, n_units, radius, half):
    """The same by brute force: the closest pair of different tensors loses its weaker direction."""
    gaps = _distances(np.hstack([part.U for part in parts]))
    source = np.concatenate([np.full(part.U.shape[1], i) for i, part in enumerate(parts)])
    kept = list(np.argsort(-np.concatenate([part.strength for part in parts])))
    for limit, least in ((radius, 0), (half, n_units)):
        while len(kept) > least:
            pairs = [(gaps[i, j], p) for p, i in enumerate(kept) for j in kept[:p] if source[i] != source[j]]
            if not pairs or min(pairs)[0] > limit:
                break
            kept.pop(min(pairs)[1])
    return kept[:n_units]


@pytest.mark.parametrize("error", [1e-6, 0.05])
def test_duplicates_and_antipodes_are_one(rng, error):
    U, parts = planted(rng, error)
    merged, impurity = merge(parts, 4)
    assert merged.shape == (6, 4)
    assert impurity.shape == (4,)
    cosines = np.abs(U.T @ merged)
    assert np.all(cosines.max(axis=0) > 1 - error - 1e-9)
    assert sorted(cosines.argmax(axis=0)) == [0, 1, 2, 3]


@pytest.mark.parametrize("n_units", [2, 4, 6])
def test_mergers_are_those_of_a_search_of_all_pairs(rng, n_units):
    error = 0.05
    _, parts = planted(rng, error)
    within = [_distances(part.U)[np.triu_indices(part.U.shape[1], 1)].min() for part in parts]
    half = 0.5 * min(within)
    kept = one_pair_at_a_time(parts, n_units, min(6 * error, half), half)
    merged, _ = merge(parts, n_units)
    np.testing.assert_array_equal(merged, np.hstack([part.U for part in parts])[:, kept])


def test_directions_of_one_tensor_never_merge(rng):
    U = np.linalg.qr(rng.normal(size=(5, 3)))[0]
    close = np.hstack([U, (U[:, :1] + 1e-4 * U[:, 1:2])])
    assert merge([found(rng, close, 1e-2)], None)[0].shape == (5, 4)
