"""Keys of rows: every column and its place counts, and the signs that they give are fair."""

import numpy as np

from weightlift.samples.keys import row_keys, uniforms


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
