"""Variance inflation against the inverse of the covariance, and where columns count as dependent or constant."""

from __future__ import annotations

import numpy as np
import pytest

from weightlift.certificate.inflation import inflated, variance_inflation
from weightlift.samples import Columns
from weightlift.samples import open as open_samples


def with_correlations(values: np.ndarray, rng: np.random.Generator, n: int = 200) -> np.ndarray:
    """Rows whose sample covariance has these eigenvalues exactly, along a random basis."""
    rows = rng.standard_normal((n, len(values)))
    Q = np.linalg.qr(rows - rows.mean(axis=0))[0]
    return np.sqrt(n) * Q * np.sqrt(values) @ np.linalg.qr(rng.standard_normal((len(values),) * 2))[0]


def test_inflation_is_the_diagonal_of_the_inverse(rng):
    X = with_correlations(np.array([4.0, 1.0, 0.3, 1e-3]), rng) * [1.0, 1e3, 1e-2, 7.0] + 5.0
    C = np.cov(X.T)
    np.testing.assert_allclose(variance_inflation(open_samples(X, X[:, 0])), np.diag(C) * np.diag(np.linalg.inv(C)), rtol=1e-9)
    weights = rng.uniform(0.5, 2.0, len(X))
    C = np.cov(X.T, aweights=weights)
    found = variance_inflation(open_samples(X, X[:, 0], sample_weight=weights))
    np.testing.assert_allclose(found, np.diag(C) * np.diag(np.linalg.inv(C)), rtol=1e-9)


@pytest.mark.parametrize(("share", "infinite"), [(3.0, True), (40.0, False)])
def test_dependence_is_judged_beside_the_largest_eigenvalue(rng, share, infinite):
    """Twenty nearly equal columns: correlations of largest eigenvalue near 20, the least in units of 1e-10."""
    common = rng.standard_normal((300, 1))
    X = common + 0.1 * rng.standard_normal((300, 20))
    X -= X.mean(axis=0)
    X /= np.sqrt(np.mean(X**2, axis=0))
    values, vectors = np.linalg.eigh(X.T @ X / 300)
    X += (X @ vectors[:, :1]) * (np.sqrt(share * 1e-10 / values[0]) - 1) @ vectors[:, :1].T
    found = variance_inflation(open_samples(X, X[:, 0]))
    assert np.isinf(found).any() == infinite


def test_a_column_that_varies_by_rounding_alone_has_no_inflation(rng):
    X = rng.standard_normal((50, 3))
    X[:, 1] = 1e3 * (1 + 1e-14 * X[:, 1])
    found = variance_inflation(open_samples(X, X[:, 0]))
    assert np.isnan(found).tolist() == [False, True, False]


def test_columns_are_named_largest_first() -> None:
    """From ten on, six at most and the others counted; the root of the largest says how much worse weights are known."""
    columns = Columns(tuple("abcdefghi"))
    said = inflated(np.array([9.9, 400.0, np.nan, 30.0, 900.0]), columns)
    assert said.index("'e' (900)") < said.index("'b' (400)") < said.index("'d' (30)")
    assert "'a'" not in said
    assert "'c'" not in said
    assert "30 times worse" in said
    assert inflated(np.array([9.9, np.nan, 1.0]), columns) == ""
    many = inflated(np.arange(20.0, 29.0), columns)
    assert "'d' (23) and 3 more;" in many
    assert "'c'" not in many
    assert "'a' (∞)" in inflated(np.array([np.inf, 12.0]), columns).split("'b' (12)")[0]
    assert "not determined at all" in inflated(np.array([np.inf, 12.0]), columns)


@pytest.mark.parametrize(("spread", "constant"), [(0.3e-9, True), (3e-9, False)])
def test_spreads_are_relative_to_the_mean(rng, spread, constant):
    """A column about a thousand whose spread is a third, or three times, of 1e-12 of it."""
    X = rng.standard_normal((50, 3))
    X[:, 1] = 0.0
    X[:25, 1] = 2.0
    X[:, 1] = 1e3 + spread * (X[:, 1] - 1.0)
    assert np.isnan(variance_inflation(open_samples(X, X[:, 0]))[1]) == constant
