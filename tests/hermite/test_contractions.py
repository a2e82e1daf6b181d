"""Contractions of Hermite tensors are those of the whole tensors, in every namespace."""

import numpy as np
import pytest

from weightlift import hermite

SEEDS = [0, 1, 2]


@pytest.mark.parametrize(("free", "filled"), [(p, q) for p in range(5) for q in range(4) if 0 < p + q <= 6])
@pytest.mark.parametrize("seed", SEEDS)
def test_contraction_equals_brute_force(free, filled, seed):
    """The master formula against whole tensors, V not orthonormal."""
    rng = np.random.default_rng(seed)
    n, d, k = 5, 3, 2
    X, g, V = rng.normal(size=(n, d)), rng.normal(size=n), rng.normal(size=(d, k))
    alpha = rng.normal(size=d)
    alpha /= np.linalg.norm(alpha)
    expected = np.tensordot(g, hermite.tensor(free + filled, X), axes=1)
    for _ in range(filled):
        expected = expected @ alpha
    for _ in range(free):
        expected = np.tensordot(expected, V, axes=(0, 0))
    value = hermite.contraction(g, X @ V, free=free, gram=V.T @ V, filled=filled, t=X @ alpha, b=V.T @ alpha)
    np.testing.assert_allclose(value, expected, rtol=1e-10, atol=1e-10)


def test_contraction_follows_the_namespace(xp):
    rng = np.random.default_rng(3)
    X, g, V = rng.normal(size=(6, 4)), rng.normal(size=6), rng.normal(size=(4, 2))
    alpha = np.array([0.6, 0.0, -0.8, 0.0])
    arrays = {"g": g, "S": X @ V, "gram": V.T @ V, "t": X @ alpha, "b": V.T @ alpha}
    moved = {name: xp.asarray(value) for name, value in arrays.items()}
    value = hermite.contraction(**moved, free=3, filled=1)
    assert isinstance(value, type(moved["g"]))
    np.testing.assert_allclose(np.asarray(value), hermite.contraction(**arrays, free=3, filled=1), rtol=1e-12)
    np.testing.assert_allclose(np.asarray(hermite.tensor(3, xp.asarray(X))), hermite.tensor(3, X), atol=1e-13)
