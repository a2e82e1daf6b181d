"""Options are checked once, before any work, and sizes that cannot work are refused."""

import time

import numpy as np
import pytest

import weightlift as wl
from weightlift import errors
from weightlift.recovery.request import Request


@pytest.mark.parametrize("n_units", [101, 1_500, 10**6, 10**30, np.int64(1_500)])
def test_more_units_than_rows_can_determine_are_refused_at_once(n_units):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 4)), rng.normal(size=100)
    began = time.perf_counter()
    with pytest.raises(errors.TooFewRowsError, match=r"n_units = [\d,]+ of 4 inputs are .* there are 100 rows; ask for fewer"):
        wl.recover(X, y, n_units=n_units)
    assert time.perf_counter() - began < 1


def test_wide_inputs_beside_few_rows_are_refused_and_narrow_ones_fitted():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 1_200)), rng.normal(size=30)
    with pytest.raises(errors.TooFewRowsError, match="2,400 parameters"):
        wl.recover(X, y, n_units=2)
    with pytest.raises(errors.TooFewRowsError, match="parameters"):
        wl.recover(np.hstack([X, X, -X[:, :5]]), y, n_units="auto")
    assert wl.recover(X[:, :10], y, n_units=3).certificate.status is wl.Status.FAILED


def test_rows_of_any_number_do_not_make_every_width_workable():
    request = Request(6_000).checked()
    assert not request.workable(1e9, 3, 6_000)
    with pytest.raises(errors.ArgumentError, match="n_units = 6,000 is more than 5,000"):
        request.check_size(1e9, 3)


FORMS = [("relu", False, False), ("relu", True, True), ("tanh", True, False)]


@pytest.mark.parametrize(("activation", "bias", "offset"), FORMS)
def test_parameters_are_counted_as_identifiability_counts_them(activation, bias, offset):
    request = Request(3, activation, bias, offset).checked()
    net = wl.Network(np.ones((4, 3)), activation=activation)
    assert request.parameters(4, 3) == wl.identifiability.count_parameters(net, bias=bias, offset=offset)
    assert request.free == "Wa" + "b" * bias + "c" * offset


@pytest.mark.parametrize(
    ("option", "word"),
    [
        ({"max_time": -1}, "max_time must be a number, at least 0"),
        ({"max_time": "soon"}, "max_time"),
        ({"max_time": float("nan")}, "max_time"),
        ({"max_work": True}, "max_work"),
        ({"callback": 3}, "callback must be a function"),
    ],
)
def test_bad_budgets_are_named(option, word):
    with pytest.raises(errors.ArgumentError, match=word):
        wl.recover(np.eye(20, 3), np.arange(20.0), n_units=1, **option)
