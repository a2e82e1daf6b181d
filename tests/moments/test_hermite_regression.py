"""Moments by regression on Hermite polynomials, and moments through their values."""

from __future__ import annotations

import math

import numpy as np
import pytest

import weightlift as wl
from weightlift.errors import ArgumentError, TooFewRowsError
from weightlift.hermite import normalized, tensor
from weightlift.moments import DirectionalMoments, HermiteMoment, PowerMoments, hermite_regression, power_form, quadratic_fit
from weightlift.moments.hermite_regression import HermiteRegression, features, terms
from weightlift.namespaces import to_numpy
from weightlift.samples import Residual


def test_features_are_orthonormal_hermite_entries(as_xp, rng):
    X = rng.standard_normal((7, 3))
    F = to_numpy(features(as_xp(X), 4))
    index = terms(3, 4)
    assert F.shape == (7, math.comb(7, 4)) == (7, len(index))
    for k in range(5):
        whole = tensor(k, X)
        for column, term in enumerate(index):
            if len(term) == k:
                size = math.sqrt(math.prod(math.factorial(term.count(j)) for j in set(term)))
                np.testing.assert_allclose(F[:, column] * size, whole[(slice(None), *term)], atol=1e-12)
    x, w = np.polynomial.hermite_e.hermegauss(6)
    grid = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1).reshape(-1, 2)
    weight = np.outer(w, w).ravel() / (2 * np.pi)
    G = features(grid, 4)
    np.testing.assert_allclose(G.T @ (weight[:, None] * G), np.eye(15), atol=1e-12)


def test_population_tensors_are_exact(seed):
    base = wl.teachers.biased(4, 7, rng=seed)
    source = wl.samples.population(wl.Network(base.W, base.a, base.b, 0.4))
    fit = hermite_regression(source, 4)
    assert fit.tensor(0) == pytest.approx(source.mean(DirectionalMoments(np.eye(4)[:, :1], (0,)))[0][0], rel=1e-13)
    for k in (1, 2, 3, 4):
        np.testing.assert_allclose(fit.tensor(k), source.mean(HermiteMoment(4, k))[0], atol=1e-13)


def test_a_polynomial_is_fitted_to_rounding_and_others_better_than_by_averages(rng):
    X = rng.standard_normal((3000, 3))
    cubic = wl.Network(rng.standard_normal((3, 2)), activation=wl.activations.polynomial([0.3, -1.0, 0.5, 0.2]))
    fit = hermite_regression(wl.samples.open(X, cubic.predict(X)), 3)
    np.testing.assert_allclose(fit(X), cubic.predict(X), atol=1e-9)
    np.testing.assert_allclose(fit.tensor(3), wl.samples.population(cubic).mean(HermiteMoment(3, 3))[0], atol=1e-9)
    truth = wl.teachers.biased(3, 4, rng=rng)
    rows = wl.samples.open(X, truth.predict(X))
    exact = wl.samples.population(truth).mean(HermiteMoment(3, 4))[0]
    by_regression = np.linalg.norm(hermite_regression(rows, 4).tensor(4) - exact)
    assert by_regression < 0.3 * np.linalg.norm(rows.mean(HermiteMoment(3, 4))[0] - exact)
    left = rows.map(Residual(hermite_regression(rows, 4))).mean(HermiteRegression(3, 4))[1]
    np.testing.assert_allclose(left, 0.0, atol=1e-12)


@pytest.mark.parametrize("order", [2, 3, 5])
def test_powers_are_contractions_of_the_moment(order, as_xp, rng):
    truth = wl.teachers.biased(3, 4, rng=rng)
    X, y = wl.draw(truth, 200, rng=rng)
    U = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    for source in (wl.samples.open(as_xp(X), as_xp(y)), wl.samples.population(truth)):
        free = to_numpy(source.mean(PowerMoments(U, order))[0])
        whole = to_numpy(source.mean(HermiteMoment(3, order))[0])
        for i in range(3):
            T = whole
            for _ in range(order - 1):
                T = T @ U[:, i]
            np.testing.assert_allclose(free[:, i], T, atol=1e-10)
        values, _ = power_form(source, order)(U)
        np.testing.assert_allclose(values, np.sum(U * free, axis=0), atol=1e-12)


def test_refusals():
    truth = wl.teachers.biased(20, 3, rng=0)
    with pytest.raises(ArgumentError, match=r"10626 terms.*0\.8 GiB"):
        hermite_regression(wl.samples.population(truth), 4)
    for rows in (100, 461):
        with pytest.raises(TooFewRowsError, match="462"):
            hermite_regression(wl.samples.open(*wl.draw(truth, rows)), 2)
    with pytest.raises(ArgumentError, match="order must lie between 0 and the degree 2"):
        hermite_regression(wl.samples.population(truth), 2).tensor(3)


def test_polynomials_take_whole_numbers(rng):
    """Coefficients are not cut to the inputs' type."""
    rows = wl.samples.open(*wl.draw(wl.teachers.biased(3, 4, rng=0), 400, rng=1))
    X = rng.integers(-3, 4, size=(20, 3))
    for polynomial in (hermite_regression(rows, 2), quadratic_fit(rows, np.eye(3))):
        np.testing.assert_array_equal(polynomial(X), polynomial(X.astype(float)))


def test_weights_are_numbers_of_rows(rng):
    """A row of weight three is that row three times, in the equations and in the polynomial."""
    truth = wl.teachers.biased(3, 4, rng=0)
    X, y = wl.draw(truth, 60, noise_std=0.3, rng=1)
    times = rng.integers(1, 4, size=60)
    weighted = wl.samples.open(X, y, sample_weight=times.astype(float))
    repeated = wl.samples.open(np.repeat(X, times, axis=0), np.repeat(y, times))
    for left, right in zip(weighted.fold(HermiteRegression(3, 2)), repeated.fold(HermiteRegression(3, 2)), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-12, atol=1e-12)
    fits = [hermite_regression(rows, 2).tensor(2) for rows in (weighted, repeated)]
    np.testing.assert_allclose(*fits, rtol=1e-9, atol=1e-10)
    assert not np.allclose(fits[0], hermite_regression(wl.samples.open(X, y), 2).tensor(2), rtol=1e-3)


def test_features_of_one_input_are_the_polynomials(as_xp, rng):
    X = rng.standard_normal((7, 1))
    np.testing.assert_allclose(to_numpy(features(as_xp(X), 4)), np.stack(normalized(4, X[:, 0]), axis=1), rtol=1e-14)
