"""Warnings point at the line that called the package, from whichever depth they come."""

import warnings

import numpy as np
import pytest

import weightlift as wl
from weightlift import errors
from weightlift.learning import learn_1nn


def skewed(n=300, d=4):
    rng = np.random.default_rng(0)
    X = rng.exponential(size=(n, d)) - 1
    return X, np.sin(3 * X[:, 0]) * X[:, 1] + 0.5 * rng.normal(size=n)  # no unit explains it


CALLS = [
    (lambda X, y: wl.recover(X, y, n_units=1, activation="tanh", method="tensor", max_work=50), errors.NotGaussianWarning),
    (lambda X, y: wl.recover(np.c_[X, X[:, 0]], y, n_units=1, max_work=50), UserWarning),
    (lambda X, y: learn_1nn(X, y, n_units=1, activation="relu", iterations=2), errors.NotGaussianWarning),
    (lambda X, y: learn_1nn(X, y, n_units=1, activation="relu", preset="paper", iterations=2), errors.NotGaussianWarning),
    (lambda X, y: wl.OneHiddenLayerRegressor(1, max_work=50).fit(X, y), errors.NotCertifiedWarning),
    (lambda X, y: wl.OneHiddenLayerRegressor(1, max_work=50).fit(np.c_[X, X[:, 0]], y), errors.DataWarning),
    (
        lambda X, y: wl.OneHiddenLayerRegressor(1, method="tensor", bias=False, max_work=50).fit(X, y),
        errors.NotGaussianWarning,
    ),
    (
        lambda X, y: wl.OneHiddenLayerClassifier(1, max_work=50).fit(X, 1 / (1 + np.exp(-9 * y))),
        errors.DataWarning,
    ),
]


@pytest.mark.parametrize(("call", "category"), CALLS)
def test_warnings_name_the_callers_file(call, category):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(*skewed())
    given = [w for w in caught if issubclass(w.category, category)]
    assert given
    assert {w.filename for w in given} == {__file__}


def test_a_pipeline_is_not_the_caller():
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = skewed()
    with pytest.warns(errors.NotCertifiedWarning) as caught:
        make_pipeline(StandardScaler(), wl.OneHiddenLayerRegressor(1, max_work=50)).fit(X, y)
    assert {w.filename for w in caught} == {__file__}


def test_nor_is_a_cross_validation():
    from sklearn.model_selection import cross_val_score

    X, y = skewed()
    with pytest.warns(errors.NotCertifiedWarning) as caught:
        cross_val_score(wl.OneHiddenLayerRegressor(1, max_work=50), X, y, cv=2)
    assert {w.filename for w in caught} == {__file__}
