"""Keys of rows: every column and its place counts, and the signs that they give are fair."""

import numpy as np

from weightlift.namespaces import to_numpy
from weightlift.samples.keys import rounded_row_keys, row_keys, uniforms


def test_random_signs_are_fair_and_independent():
    rng = np.random.default_rng(0)
    keys = row_keys(rng.normal(size=(20_000, 3)), rng.normal(size=20_000))
    u = np.stack([uniforms(keys, s) for s in range(4)])
    assert np.abs(np.corrcoef(u) - np.eye(4)).max() < 5 / np.sqrt(20_000)
    histogram = np.histogram(u[0], bins=20, range=(0, 1))[0]
    assert np.abs(histogram - 1000).max() < 5 * np.sqrt(1000)
    nearby = row_keys(np.arange(20_000.0)[:, None], np.zeros(20_000))
    v = uniforms(nearby, 0)
    assert abs(np.corrcoef(v[1:], v[:-1])[0, 1]) < 5 / np.sqrt(20_000)
    assert len(set(nearby.tolist())) == 20_000


def test_keys_see_every_column_and_its_place():
    X, y = np.arange(12.0).reshape(3, 4), np.array([1.0, 2.0, 3.0])
    key = row_keys(X, y)
    for j in range(4):
        changed = X.copy()
        changed[:, j] += 1e-12 * np.maximum(1, np.abs(changed[:, j]))
        assert not np.any(row_keys(changed, y) == key)
    assert not np.any(row_keys(X[:, ::-1].copy(), y) == key)
    assert not np.any(row_keys(X, y + 1) == key)
    assert row_keys(np.array([[0.0, -0.0]]), np.array([0.0])) == row_keys(np.array([[-0.0, 0.0]]), np.array([-0.0]))


def test_rounded_keys_see_what_single_precision_does(xp):
    rng = np.random.default_rng(1)
    for d in (3, 4):  # two columns a word, and one by itself
        X, y = (rng.normal(size=shape).astype(np.float32).astype(float) for shape in ((50, d), 50))
        key = rounded_row_keys(X, y)
        np.testing.assert_array_equal(rounded_row_keys(X * (1 + 1e-10), y), key)
        np.testing.assert_array_equal(rounded_row_keys(X.astype(np.float32), y), key)
        np.testing.assert_array_equal(rounded_row_keys(np.asfortranarray(X), y), key)
        assert len(set(key.tolist()) | set(rounded_row_keys(X[:, ::-1].copy(), y).tolist())) == 100
        for j in range(d):
            changed = X.copy()
            changed[:, j] *= 1 + 1e-6
            assert not np.any(rounded_row_keys(changed, y) == key)
        assert not np.any(rounded_row_keys(X, y + 1) == key)
        assert not np.any(rounded_row_keys(X, y[:, None][:, :0]) == key)
        np.testing.assert_array_equal(to_numpy(rounded_row_keys(xp.asarray(X), xp.asarray(y))), key)
    zeros = np.array([[0.0, -0.0, 1.0]])
    assert rounded_row_keys(zeros, np.zeros(1)) == rounded_row_keys(np.abs(zeros), np.zeros(1))
