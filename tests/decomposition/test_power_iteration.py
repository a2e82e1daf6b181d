"""Power iteration for more components than dimensions: fixed points, starts, deflation, and what it cannot do."""

import numpy as np
import pytest

from weightlift import teachers
from weightlift.decomposition import DecompositionStatus, compose, decompose, power_iteration
from weightlift.decomposition.power_iteration import contracted_starts, distinct, iterate, random_starts
from weightlift.decomposition.tensors import apply_powers
from weightlift.errors import ArgumentError


@pytest.mark.parametrize("begin", ["random", "contracted"])
@pytest.mark.parametrize("order", [3, 4])
def test_orthogonal_components_are_fixed_points(rng, begin, order):
    """No deflation is needed: every component attracts, and |T(u, …, u)| is its weight."""
    U = np.linalg.qr(rng.normal(size=(6, 6)))[0][:, :4]
    c = np.array([2.0, -1.5, 1.2, 1.0])
    found = power_iteration(compose(c, U, order), rank=4, begin=begin, deflate=False, starts=200, rng=rng)
    assert found.status is DecompositionStatus.EXACT
    np.testing.assert_allclose(np.abs(found.weights), np.abs(c), atol=1e-12)
    np.testing.assert_allclose(np.abs(found.factors.T @ U).max(axis=0), 1.0, atol=1e-12)


@pytest.mark.parametrize("method", ["power_iteration", "contracted_power"])
def test_more_components_than_dimensions(method, seed):
    """Two orthonormal bases in 16 dimensions, δ ~ ½: deflation and least squares make all 24 components exact."""
    W = teachers.haar(16, 24, center=False, rng=seed).W
    found = decompose(compose(np.ones(24), W, 3), 24, method=method, rng=seed + 50)
    np.testing.assert_allclose(found.weights, 1.0, atol=1e-9)
    np.testing.assert_allclose(np.abs(found.factors.T @ W).max(axis=0), 1.0, atol=1e-12)
    assert found.residual < 1e-12


def test_end_points_are_fixed_and_apart(rng):
    W = teachers.haar(10, 15, center=False, rng=rng).W
    T = compose(np.ones(15), W, 4)
    X = iterate(T, random_starts(T, 60, rng))
    image = apply_powers(T, X, 1)
    cosines = (image * X).sum(axis=0) / np.linalg.norm(image, axis=0)
    assert np.median(cosines) > 1 - 1e-9
    U = distinct(T, X, 15, beside=np.zeros((10, 0)))
    G = np.abs(U.T @ U) - np.eye(U.shape[1])
    assert G.max() < 0.9
    values = np.abs(apply_powers(T, U, 0)[0])
    assert np.all(np.diff(values) <= 0)


def test_contracted_starts_are_nearer_than_random_ones(rng):
    W = teachers.haar(20, 20, center=False, rng=rng).W
    T = compose(np.ones(20), W, 3)
    near = [np.abs(W.T @ draw(T, 100, rng)).max(axis=0).mean() for draw in (random_starts, contracted_starts)]
    assert near[1] > 0.99 > 0.6 > near[0]


def test_what_is_not_found_is_said(rng):
    W = rng.normal(size=(4, 12))
    found = power_iteration(compose(np.ones(12), W / np.linalg.norm(W, axis=0), 3), rank=12, deflate=False, starts=12, rng=rng)
    assert found.rank < 12
    assert found.status is DecompositionStatus.NOT_SETTLED
    with pytest.raises(ArgumentError, match="begin"):
        power_iteration(compose([1.0], [[1.0], [0.0]], 3), begin="somewhere")


def test_iterates_stop_where_they_stand(rng):
    """A fixed point is returned as it is; else the end is where T(I, x, …, x) ∥ x."""
    U = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    T = compose([3.0, -2.0, 1.5, 1.2, 1.0], U, 3)
    np.testing.assert_allclose(iterate(T, U), U, atol=1e-13)
    near = U + 0.05 * rng.normal(size=U.shape)
    X = iterate(T, near / np.linalg.norm(near, axis=0))
    np.testing.assert_allclose(np.abs((X * U).sum(axis=0)), 1.0, atol=1e-12)
    assert ((X * near).sum(axis=0) > 0).all()


def test_as_many_as_asked_for_and_none_twice(rng):
    U = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    T = compose([1.0, 4.0, 2.0, 3.0], U, 3)
    X = U[:, [0, 1, 1, 2, 3, 2]]
    kept = distinct(T, X, 3, beside=np.zeros((4, 0)))
    np.testing.assert_allclose(kept, U[:, [1, 3, 2]], atol=1e-14)
    beside = distinct(T, X, 3, beside=U[:, [3]])
    np.testing.assert_allclose(beside, U[:, [3, 1, 2]], atol=1e-14)
    close = U[:, [1]] + np.tan(np.arccos([0.91, 0.89])) * U[:, [0]]
    assert [distinct(T, close[:, [i]] / np.linalg.norm(close[:, i]), 2, beside=U[:, [1]]).shape[1] for i in (0, 1)] == [1, 2]
