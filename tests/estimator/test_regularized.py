"""The ridge fit of data that no network explains: its choice, its invariances, its bits."""

import numpy as np
import pytest

from weightlift.activations import get
from weightlift.estimator.penalized import Parameters
from weightlift.estimator.regularized import regularized_fit
from weightlift.recovery.request import Request


def fit(X, y, *, n_units=2, alpha="auto"):
    request = Request(n_units, "tanh", bias=True, offset=True, max_work=3000.0).checked()
    return regularized_fit((X, y, None), request, alpha=alpha, tol=1e-8, rng=np.random.default_rng(0))


def rows(rng, n=90):
    X = rng.normal(size=(n, 3))
    return X, np.sin(X[:, 0]) + 0.3 * X[:, 1] ** 2 + 0.2 * rng.normal(size=n)


def test_the_choice_has_the_least_held_out_risk_of_all_that_were_tried(rng):
    X, y = rows(rng, n=200)
    found = fit(X, y, n_units="auto")
    best = min(found.trials, key=lambda tried: tried.risk)
    assert (found.alpha, found.network.n_units) == (best.alpha, best.width)
    assert best.width > 0
    assert all(np.isfinite(tried.risk) for tried in found.trials)
    assert np.mean((found.network.predict(X) - y) ** 2) < 0.3 * np.var(y)


def test_without_bias_and_offset_there_are_none(rng):
    X, y = rows(rng)
    request = Request(2, "relu", max_work=400.0).checked()
    net = regularized_fit((X + 3.0, y, None), request, alpha=0.1, tol=1e-8, rng=np.random.default_rng(0)).network
    assert net.c == 0.0
    assert not net.b.any()


def test_one_width_and_one_ridge_are_taken_as_they_are(rng):
    X, y = rows(rng)
    found = fit(X, y, alpha=0.1)
    assert (found.alpha, found.network.n_units, len(found.trials)) == (0.1, 2, 1)


@pytest.mark.parametrize("power", [-20, 13])
def test_units_of_measurement_do_not_matter(rng, power):
    """Powers of two change no digit: predictions on scaled columns are the scaled predictions."""
    X, y = rows(rng)
    scale = 2.0**power * np.array([1.0, 4.0, 0.5])
    plain = fit(X, y, alpha=0.1)
    scaled = fit(X * scale, 8.0 * y, alpha=0.1)
    np.testing.assert_allclose(scaled.network.predict(X * scale), 8.0 * plain.network.predict(X), rtol=1e-9, atol=1e-9)


def test_a_larger_ridge_makes_a_smaller_network(rng):
    X, y = rows(rng)
    sizes = []
    for alpha in (1e-3, 0.3):
        net = fit(X, y, alpha=alpha).network
        sizes.append(np.sum(net.W**2) + np.sum(net.a**2))
    assert sizes[1] < sizes[0]


def test_the_order_of_the_rows_and_the_units_of_the_columns_do_not_change_the_choice():
    rng = np.random.default_rng(0)
    X, y = rows(rng, n=150)
    order = rng.permutation(150)
    plain = fit(X, y, n_units="auto")
    for inputs, targets in ((X[order], y[order]), (X * [0.3, 70.0, 1.1], y), ((X - X.mean(axis=0)) / X.std(axis=0), y)):
        other = fit(inputs, targets, n_units="auto")
        assert (other.alpha, other.network.n_units) == (plain.alpha, plain.network.n_units)
        base = plain.network.predict(X[order] if inputs[0, 0] == X[order][0, 0] else X)
        np.testing.assert_allclose(other.network.predict(inputs), base, atol=1e-6)


def test_a_mixture_is_that_of_the_functions():
    rng = np.random.default_rng(0)
    net = Parameters(rng.normal(size=(3, 2)), rng.normal(size=2), rng.normal(size=2), rng.normal(size=3), 0.4)
    line = Parameters(np.zeros((3, 0)), np.zeros(0), np.zeros(0), rng.normal(size=3), -0.2)
    X, phi = rng.normal(size=(20, 3)), get("relu")
    mixed = net.mixed(line, 0.3).network(phi).predict(X)
    np.testing.assert_allclose(mixed, 0.3 * net.network(phi).predict(X) + 0.7 * line.network(phi).predict(X), atol=1e-14)
