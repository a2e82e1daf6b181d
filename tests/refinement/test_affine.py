"""Units beside an affine function: consolidation, the regression and its exact form, truncation."""

from __future__ import annotations

import numpy as np
import pytest

import weightlift as wl
from weightlift import Network
from weightlift.errors import ActivationError
from weightlift.geometry import norm
from weightlift.namespaces import to_numpy
from weightlift.refinement import AffineNetwork, fit_affine
from weightlift.refinement.affine import AffineRegression


def scrambled(net, rng):
    """The same units with random signs and other output weights."""
    signs = rng.choice([-1.0, 1.0], net.n_units)
    return Network(net.W * signs, np.ones(net.n_units), net.b * signs)


def test_consolidation_is_the_same_function_in_two_units_more(rng):
    net = wl.teachers.biased(4, 3, rng=rng)
    X = rng.standard_normal((50, 4))
    v, c = rng.standard_normal(4), float(rng.standard_normal())
    for function, units in (
        (AffineNetwork(net, v, c), 5),
        (AffineNetwork(net, 0 * v, c), 4),
        (AffineNetwork(net, 0 * v, 0.0), 3),
        (AffineNetwork(None, v, c), 2),
        (AffineNetwork(None, 0 * v, -c), 1),
    ):
        together = function.consolidated()
        assert together.n_units == units
        np.testing.assert_allclose(together.predict(X), function.predict(X), atol=1e-12)


@pytest.mark.parametrize(("d", "k"), [(5, 3), (3, 6)])
def test_zero_error_regression_with_the_exact_gram_matrix(d, k, rng):
    truth = wl.teachers.biased(d, k, bias=2.0, rng=rng)  # awasthi2021, Theorem 4.2, k <= d and k > d
    found = fit_affine(wl.samples.population(truth), scrambled(truth, rng))
    assert found.n_units == k
    assert float(wl.distance(found.consolidated(), truth)) < 1e-11 * norm(truth)
    np.testing.assert_allclose(np.abs(found.units.a), np.abs(truth.a), rtol=1e-9)


def test_expectation_is_the_limit_of_rows(rng):
    truth = Network(rng.standard_normal((3, 4)), rng.standard_normal(4), rng.standard_normal(4), 0.7)
    units = wl.teachers.biased(3, 2, rng=rng)
    statistic = AffineRegression(3, units)
    exact = statistic.expectation(truth)
    X, y = wl.draw(truth, 200_000, rng=rng)
    sampled = wl.samples.open(X, y).mean(statistic)
    for one, other in zip(exact, sampled, strict=True):
        np.testing.assert_allclose(one, other, atol=0.06)
    assert exact[0].shape == (6, 6)
    np.testing.assert_allclose(exact[0], exact[0].T)


def test_rows_beyond_the_truncation_do_not_count(as_xp, rng):
    truth = wl.teachers.biased(3, 2, rng=rng)
    X, y = wl.draw(truth, 300, rng=rng)
    X[0], y[0] = 50.0, -1e6
    wild = fit_affine(wl.samples.open(as_xp(X), as_xp(y)), truth)
    tame = fit_affine(wl.samples.open(as_xp(X), as_xp(y)), truth, truncation=10.0)
    assert float(wl.distance(tame.consolidated(), truth)) < 1e-10
    assert float(wl.distance(wild.consolidated(), truth)) > 1.0
    np.testing.assert_allclose(to_numpy(tame.predict(as_xp(X[1:]))), y[1:], atol=1e-10)


def test_dead_units_and_other_activations(rng):
    truth = wl.teachers.biased(3, 2, rng=rng)
    X, y = wl.draw(truth, 300, rng=rng)
    dead = Network(np.column_stack([truth.W, truth.W[:, 0]]), np.ones(3), np.append(truth.b, -40.0))
    found = fit_affine(wl.samples.open(X, y), dead)
    assert found.units.a[2] == 0.0
    assert float(wl.distance(found.consolidated(), truth)) < 1e-10
    with pytest.raises(ActivationError, match="ReLU units, not tanh"):
        fit_affine(wl.samples.open(X, y), Network(truth.W, activation="tanh"))


def test_whole_numbers_are_inputs_too(rng):
    """Parameters are not cut to the inputs' type."""
    truth = wl.teachers.biased(4, 3, rng=0)
    g = AffineNetwork(truth, rng.normal(size=4), 0.25)
    X = rng.integers(-3, 4, size=(20, 4))
    np.testing.assert_array_equal(g.predict(X), g.predict(X.astype(float)))
