"""Components in their gauge, with least-squares weights."""

from __future__ import annotations

import numpy as np
import pytest

from weightlift.decomposition import DecompositionStatus, compose, decompose
from weightlift.decomposition.components import condition_number, fit_components, unit_columns


def test_permuting_coordinates_permutes_rows(plant, seed):
    c, U = plant(5, 3, seed)
    T, order = compose(c, U, 3), np.random.default_rng(seed).permutation(5)
    moved = decompose(T[np.ix_(order, order, order)], 5)
    np.testing.assert_allclose(moved.factors, decompose(T, 5).factors[order], atol=1e-10)


def test_gauge(plant, seed):
    """Odd order: positive weights; even order: the largest entry of a factor is positive; falling magnitude."""
    c, U = plant(6, 2, seed)
    odd, even = decompose(compose(c, U, 3), 6), decompose(compose(c, U, 4), 6)
    assert (odd.weights > 0).all()
    assert (even.factors[np.abs(even.factors).argmax(axis=0), np.arange(6)] > 0).all()
    falling = np.argsort(-np.abs(c))
    np.testing.assert_allclose(even.weights, c[falling], rtol=1e-10)
    np.testing.assert_allclose(odd.weights, np.abs(c[falling]), rtol=1e-10)
    np.testing.assert_allclose(odd.factors, (U * np.sign(c))[:, falling], atol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(odd.factors, axis=0), 1, rtol=1e-14)
    with pytest.raises(ValueError, match="read-only"):
        odd.weights[0] = 0.0


def test_weights_are_the_least_squares_ones(plant, symmetric_noise, seed):
    """Against lstsq on the vectorised powers, for directions that do not fit."""
    _, U = plant(4, 3, seed)
    T = 7.0 * symmetric_noise(4, 3, seed)
    found = fit_components(T, U, method="given")
    columns = np.stack([compose([1.0], u[:, None], 3).ravel() for u in found.factors.T], axis=1)
    expected, squares = np.linalg.lstsq(columns, T.ravel(), rcond=None)[:2]
    np.testing.assert_allclose(found.weights, expected, rtol=1e-9)
    np.testing.assert_allclose(found.residual, np.sqrt(squares[0]) / 7.0, rtol=1e-9)


def test_nearly_parallel_factors_are_said_to_be(plant):
    """Two unit factors at the angle t have the condition number cot(t/2): beyond 10⁸ the weights mean little."""
    for angle, status in ((1e-6, DecompositionStatus.EXACT), (1e-9, DecompositionStatus.ILL_CONDITIONED)):
        U = np.array([[1.0, np.cos(angle)], [0.0, np.sin(angle)]])
        found = fit_components(compose([1.0, 2.0], U, 3), U, method="given")
        assert found.condition == pytest.approx(2 / angle, rel=1e-3)
        assert found.status is status
    c, U = plant(4, 2, 0)
    T, failed = compose(c, U, 3), DecompositionStatus.NOT_SETTLED
    assert fit_components(T, U, method="given", failure=failed).status is DecompositionStatus.EXACT
    assert fit_components(T, U[:, :3], method="given", failure=failed).status is failed
    assert fit_components(T, U[:, :3], method="given").status is DecompositionStatus.APPROXIMATE


def test_conditions_of_few_many_and_parallel_factors(rng):
    """s₁/s_r, of the least powers that can be independent; exactly parallel factors have none."""
    U = unit_columns(rng.standard_normal((3, 7)))
    for r, columns in ((3, U), (6, np.stack([np.outer(u, u).ravel() for u in U.T], axis=1))):
        s = np.linalg.svd(columns[:, :r], compute_uv=False)
        assert condition_number(U[:, :r]) == pytest.approx(s[0] / s[-1], rel=1e-9)
    cubes = np.stack([np.multiply.outer(np.outer(u, u), u).ravel() for u in U.T], axis=1)
    s = np.linalg.svd(cubes, compute_uv=False)
    assert condition_number(U) == pytest.approx(s[0] / s[6], rel=1e-9)
    assert condition_number(np.array([[1.0, 1.0], [0.0, 0.0]])) == np.inf


def test_a_column_of_zeros_becomes_the_first_unit_vector():
    np.testing.assert_allclose(unit_columns(np.array([[0.0, 3.0], [0.0, -4.0]])), [[1.0, 0.6], [0.0, -0.8]], rtol=1e-15)
