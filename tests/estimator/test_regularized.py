"""The ridge fit of data that no network explains: its choice, its invariances, its bits."""

import numpy as np
import pytest

import weightlift as wl
from weightlift.estimator.penalized import Data, Parameters, Penalty, _normal_equations, descend
from weightlift.estimator.regularized import LAMBDAS, _line_ridge, regularized_fit
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


def test_a_line_is_a_line(rng):
    """No units where the rows have none; then it is the ridge regression of its own λ."""
    from sklearn.linear_model import Ridge

    X = rng.normal(size=(120, 3)) * [1.0, 20.0, 0.1] + [5.0, 0.0, 1.0]
    y = X @ [1.0, 0.1, 3.0] + rng.normal(size=120)
    found = fit(X, y, n_units="auto")
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    peer = Ridge(alpha=120 * found.linear_alpha).fit(Z, y)
    assert found.network.n_units == 0
    np.testing.assert_allclose(found.network.predict(X), peer.predict(Z), rtol=1e-9)


@pytest.mark.parametrize("offset", [True, False])
def test_leave_one_out_error_agrees_with_leaving_one_out(rng, offset):
    """The λ chosen is the one of the least error when every row is left out in turn, weights and all."""
    X, y = rows(rng, n=25)
    w = rng.uniform(0.5, 2.0, size=25)
    data = Data(X, y, w)
    errors = []
    for ridge in LAMBDAS:
        total = 0.0
        for i in range(25):
            kept = np.arange(25) != i
            A = np.column_stack([X, np.ones(25)]) if offset else X
            B = A[kept] * w[kept, None]
            P = 25 * ridge * np.diag(np.arange(A.shape[1]) < 3) * w.mean()
            total += w[i] * (y[i] - A[i] @ np.linalg.solve(B.T @ A[kept] + P, B.T @ y[kept])) ** 2
        errors.append(total)
    assert _line_ridge(data, offset) == LAMBDAS[int(np.argmin(errors))]


@pytest.mark.parametrize("activation", ["tanh", "softplus"])
def test_the_gradient_of_the_penalised_risk_is_its_derivative(rng, activation):
    X, y = rows(rng, n=40)
    data = Data(X, y, rng.uniform(0.5, 2.0, size=40))
    phi = wl.activations.get(activation)
    penalty = Penalty(phi, 0.03, 0.2)
    fit = Parameters(rng.normal(size=(3, 2)), rng.normal(size=2), rng.normal(size=2), rng.normal(size=3), 0.3)
    _, gradient = _normal_equations(data, fit, penalty)
    steps = 1e-6 * np.eye(len(gradient))
    numerical = [(penalty.value(data, fit.moved(-h)) - penalty.value(data, fit.moved(h))) / 2e-6 for h in steps]
    np.testing.assert_allclose(gradient, numerical, atol=1e-8)
    ended = descend(data, fit, penalty, steps=200, tol=1e-14)
    assert np.max(np.abs(_normal_equations(data, ended, penalty)[1])) < 1e-4 * np.max(np.abs(gradient))


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


def test_the_order_of_the_rows_and_the_units_of_the_columns_do_not_change_the_choice(rng):
    X, y = rows(rng, n=150)
    order = rng.permutation(150)
    plain = fit(X, y, n_units="auto")
    for inputs, targets in ((X[order], y[order]), (X * [0.3, 70.0, 1.1], y), ((X - X.mean(axis=0)) / X.std(axis=0), y)):
        other = fit(inputs, targets, n_units="auto")
        assert (other.alpha, other.network.n_units) == (plain.alpha, plain.network.n_units)
        base = plain.network.predict(X[order] if inputs[0, 0] == X[order][0, 0] else X)
        np.testing.assert_allclose(other.network.predict(inputs), base, atol=1e-6)
