"""Power iteration for more components than dimensions: fixed points, starts, deflation, and what it cannot do."""

from dataclasses import replace

import numpy as np
import pytest

from weightlift import teachers
from weightlift.decomposition import DecompositionStatus, compose, decompose, power_iteration
from weightlift.decomposition.components import unit_columns
from weightlift.decomposition.limits import LIMITS
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


@pytest.mark.parametrize("order", [3, 4])
def test_contracted_starts_are_leading_eigenvectors_of_slices(order, rng):
    """T(I, I, G) v = λ v with the eigenvalue of the largest magnitude, whatever its sign."""
    T = compose(rng.normal(size=6), rng.normal(size=(4, 6)), order)
    X = contracted_starts(T, 5, np.random.default_rng(7))
    G = np.random.default_rng(7).standard_normal((4 ** (order - 2), 5))
    for g, x in zip(G.T, X.T, strict=True):
        M = T.reshape(4, 4, -1) @ g
        value = x @ M @ x
        np.testing.assert_allclose(M @ x, value * x, atol=1e-11 * np.abs(M).max())
        assert abs(value) == pytest.approx(np.abs(np.linalg.eigvalsh(M)).max(), rel=1e-10)


@pytest.mark.parametrize("order", [3, 4])
def test_a_step_is_the_contraction_on_the_side_of_its_start(order, rng, limits):
    limits("weightlift.decomposition.power_iteration", iteration_steps=1)
    T = compose([3.0, -2.0, 1.5], rng.normal(size=(5, 3)), order)
    X = random_starts(T, 12, rng)
    image = apply_powers(T, X, 1)
    image *= np.sign((image * X).sum(axis=0)) / np.linalg.norm(image, axis=0)
    np.testing.assert_allclose(iterate(T, X), image, atol=1e-13)


def test_iteration_ends_once_none_moves(rng, monkeypatch):
    U, made = np.linalg.qr(rng.normal(size=(5, 5)))[0], []

    def counted(T, X, free):
        made.append(free)
        return apply_powers(T, X, free)

    monkeypatch.setitem(iterate.__globals__, "apply_powers", counted)
    iterate(compose([3.0, -2.0, 1.5, 1.2, 1.0], U, 3), U)
    assert len(made) <= 2


@pytest.mark.parametrize(("deflate", "starts"), [(True, None), (True, 7), (False, None)])
def test_starts_rounds_and_attempts_are_those_of_the_docstring(deflate, starts, rng, monkeypatch):
    """20 starts a component; rounds until there are enough components, attempts until the residual settles."""
    drawn = []

    def draw(T, count, rng):
        drawn.append(count)
        return unit_columns(np.ones((len(T), 1)))  # one end point alone: never enough

    monkeypatch.setitem(power_iteration.__globals__, "random_starts", draw)
    limited = replace(LIMITS, attempts=2, rounds=3)
    monkeypatch.setitem(power_iteration.__globals__, "LIMITS", limited)
    T = compose([1.0, 2.0], np.array([[1.0, 1.0], [0.2, 0.5], [0.1, -0.3]]), 3)
    monkeypatch.setitem(power_iteration.__globals__, "distinct", lambda T, X, most, *, beside: X[:, :1])
    found = power_iteration(T, rank=3, deflate=deflate, starts=starts, rng=rng)
    assert found.status is DecompositionStatus.NOT_SETTLED
    assert drawn == [60 if starts is None else starts] * (6 if deflate else 1)


def test_what_has_settled_is_not_tried_again(rng, monkeypatch):
    made, U = [], np.linalg.qr(rng.normal(size=(4, 4)))[0]

    def kept(T, start):
        made.append(start)
        return start

    monkeypatch.setitem(power_iteration.__globals__, "polish", kept)
    found = power_iteration(compose([3.0, 2.0, 1.5, 1.0], U, 3), rank=4, rng=rng)
    assert found is made[0]
    assert len(made) == 1
