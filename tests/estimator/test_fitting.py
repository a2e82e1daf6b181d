"""What a fit does: weights and copies, a warm start, starts left as they are, what explains the rows."""

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

import weightlift as wl
from weightlift.certificate import Kind, Statement, Topic
from weightlift.estimator.fitting import _predicts
from weightlift.estimator.rows import Rows

uncertified = pytest.mark.filterwarnings("ignore::weightlift.errors.NotCertifiedWarning")


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


def test_weights_copies_order_and_a_common_factor(planted):
    """A weight is a number of copies; zero removes; the order of rows and a factor 2 of all weights change nothing."""
    _, X, y = planted
    rng = np.random.default_rng(0)
    y = y + 0.1 * rng.normal(size=len(y))
    weights = rng.integers(0, 4, size=len(y))
    copies, shuffled = np.repeat(np.arange(len(y)), weights), rng.permutation(len(y))
    base = wl.OneHiddenLayerRegressor(2, max_work=50)
    with warnings.catch_warnings(action="ignore"):
        weighted = clone(base).fit(X, y, sample_weight=weights).network_
        repeated = clone(base).fit(X[copies], y[copies]).network_
        moved = clone(base).fit(X[shuffled], y[shuffled], sample_weight=weights[shuffled]).network_
        doubled = clone(base).fit(X, y, sample_weight=2 * weights).network_
    np.testing.assert_array_equal(weighted.W, repeated.W)
    np.testing.assert_array_equal(weighted.W, moved.W)
    np.testing.assert_allclose(doubled.predict(X), weighted.predict(X), atol=1e-6)


@uncertified
def test_an_ambiguous_network_is_kept_because_it_explains_the_rows():
    """Two units along w and −w with equal a are 'opposite': exact on every row, and not unique."""
    w = np.array([[0.6, -0.6], [0.8, -0.8]])
    truth = wl.Network(w, [1.0, 1.0])
    X, y = wl.draw(truth, 80, rng=0)
    model = wl.OneHiddenLayerRegressor(2, bias=False, offset=False).fit(X, y)
    assert not model.certificate_
    np.testing.assert_allclose(model.predict(X), y, atol=1e-9)


def test_warm_start_refines_the_network_at_hand(noisy, statistical):
    _, X, y = noisy
    model = clone(statistical).set_params(warm_start=True).fit(X[:2000], y[:2000])
    cold = model.n_iter_
    model.fit(X, y)
    assert model.recovery_ is None
    assert model.n_iter_ < cold
    assert model.certificate_.status is wl.Status.STATISTICAL
    np.testing.assert_allclose(model.predict(X), statistical.predict(X), atol=1e-5)


@uncertified
def test_without_refinement_the_start_stays():
    truth = wl.teachers.conditioned(5, 2, activation="relu", rng=0)
    X, y = wl.draw(truth, 4000, rng=0)
    options = {"bias": False, "offset": False, "refine": False}
    moments = wl.OneHiddenLayerRegressor(2, **options).fit(X, y)
    random = wl.OneHiddenLayerRegressor(2, method="search", **options).fit(X, y)
    assert not moments.certificate_
    assert wl.match(moments.network_, truth).max_error < 0.5
    assert wl.match(random.network_, truth).max_error > 0.5
    assert wl.OneHiddenLayerRegressor("auto", **options).fit(X, y).n_units_ == 2


def test_the_moments_route_takes_biases(planted):
    truth, X, y = planted
    found = wl.OneHiddenLayerRegressor(2, method="tensor").fit(X, y)
    assert bool(found.certificate_) == (wl.match(found.network_, truth).max_error < 1e-8)
    assert "tensor" in found.recovery_.stages[0].name
    with pytest.raises(ValueError, match="rellu"):
        wl.OneHiddenLayerRegressor(2, activation="rellu").fit(X, y)


def test_of_networks_that_rows_leave_open_none_is_kept_unless_columns_are_the_cause():
    """Units that too few rows see are one of many answers, in other units another; columns leave one function."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 4))
    truth = wl.Network([[1.0], [0.5], [0.7], [0.7]])
    y = truth.predict(X) + 0.3 * rng.normal(size=400)
    sure = wl.recover(X, y, n_units=1)
    wide = Statement(Topic.PRECISION, Kind.TESTED, False, "wide.", 2.0, 1.25, (0,))
    loose = Statement(Topic.DETERMINED, Kind.TESTED, False, "open.", math.inf, units=(0,))
    risk = float(np.mean((sure.network.predict(X) - y) ** 2))
    for inputs, statement, kept in ((X, wide, True), (X, loose, False), (X[:, [0, 1, 2, 2]], loose, True)):
        found = replace(sure, certificate=sure.certificate.adding(statement))
        assert found.certificate.status is wl.Status.AMBIGUOUS
        rows = Rows.of(inputs, found.network.predict(inputs) + y - sure.network.predict(X), None, scaled=True)
        assert _predicts(found, rows, risk) is kept


@uncertified
def test_a_column_that_occurs_twice_is_named_and_the_units_are_kept():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 3))
    X = np.column_stack([X, X[:, 2]])
    y = wl.Network([[1.0], [0.5], [0.7], [0.7]]).predict(X) + 0.3 * rng.normal(size=400)
    with pytest.warns(wl.errors.DataWarning, match="linear in other columns"):
        model = wl.OneHiddenLayerRegressor(1, bias=False, offset=False, max_work=200).fit(X, y)
    assert model.certificate_.status is wl.Status.AMBIGUOUS
    assert "column 2 (∞), column 3 (∞)" in str(model.summary())
    with pytest.warns(wl.errors.DataWarning):
        free = wl.OneHiddenLayerRegressor(bias=False, offset=False, max_work=200).fit(X, y)
    assert free.recovery_.certificate.status is wl.Status.AMBIGUOUS
    assert free.certificate_.status is wl.Status.FAILED  # no width was asked for, and nothing in doubt predicts
