"""Components in their gauge, with least-squares weights."""

from __future__ import annotations

import numpy as np
import pytest

from weightlift.decomposition import compose, decompose
from weightlift.decomposition.components import fit_components


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
    T = symmetric_noise(4, 3, seed)
    found = fit_components(T, U, method="given")
    columns = np.stack([compose([1.0], u[:, None], 3).ravel() for u in found.factors.T], axis=1)
    expected, squares = np.linalg.lstsq(columns, T.ravel(), rcond=None)[:2]
    np.testing.assert_allclose(found.weights, expected, rtol=1e-9)
    np.testing.assert_allclose(found.residual, np.sqrt(squares[0]), rtol=1e-9)
