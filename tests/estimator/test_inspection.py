"""A fitted estimator shown: its layers, its errors, its certificate."""

import warnings

import numpy as np
import pytest
from sklearn.neural_network import MLPRegressor

import weightlift as wl


@pytest.fixture(scope="module")
def planted():
    truth = wl.Network(wl.teachers.biased(4, 2, rng=0).W, [1.3, -0.8], [0.3, -0.5], 0.7)
    X, y = wl.draw(truth, 150, rng=1)
    return truth, X, y


@pytest.fixture(scope="module")
def noisy():
    truth = wl.teachers.biased(4, 2, rng=1)
    return truth, *wl.draw(truth, 3000, noise_std=0.1, rng=2)


@pytest.fixture(scope="module")
def statistical(noisy):
    return wl.OneHiddenLayerRegressor(2).fit(*noisy[1:])


def test_its_layers_are_those_of_mlpregressor(planted):
    _, X, y = planted
    model = wl.OneHiddenLayerRegressor(2).fit(X, y)
    peer = MLPRegressor(hidden_layer_sizes=(2,), max_iter=1)
    with warnings.catch_warnings(action="ignore"):
        peer.fit(X, y)
    assert [c.shape for c in model.coefs_] == [c.shape for c in peer.coefs_]
    assert [c.shape for c in model.intercepts_] == [c.shape for c in peer.intercepts_]
    peer.coefs_, peer.intercepts_ = model.coefs_, model.intercepts_
    np.testing.assert_allclose(peer.predict(X), model.predict(X), atol=1e-13)


def test_standard_errors_of_a_noisy_fit(noisy, statistical):
    truth, _, _ = noisy
    assert statistical.certificate_.status is wl.Status.STATISTICAL
    assert np.all(statistical.certificate_.locate(truth)[0])
    intervals = statistical.conf_int(0.99)
    text = str(statistical.summary())
    assert "std error" in text
    names = statistical.summary().inference.names
    assert intervals.shape == (len(names), 2)
    assert np.all(intervals[:, 0] < intervals[:, 1])
    found = statistical.summary().inference
    width = found.intervals(0.99)[:, 1] - found.intervals(0.99)[:, 0]
    np.testing.assert_allclose(intervals[:, 1] - intervals[:, 0], width)


def test_html_shows_the_certificate(planted):
    _, X, y = planted
    model = wl.OneHiddenLayerRegressor(2)
    assert "weightlift-certificate" not in model._repr_html_()
    html = model.fit(X, y)._repr_html_()
    assert "weightlift-certificate" in html
    assert "EXACT" in html
    assert "rows agree to rounding" in html
