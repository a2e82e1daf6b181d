"""The penalised risk: its gradient, its line, the error of leaving one row out."""

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
