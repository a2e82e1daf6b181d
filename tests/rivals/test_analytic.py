"""Analytic φ: rows that leave no other function, and the identities by which units may be others."""

import math

import numpy as np
import pytest

from weightlift import Network, activations
from weightlift.evidence.gauge import Gauge
from weightlift.rivals.analytic import examine_analytic, identity, period
from weightlift.rivals.finding import Outcome

EXPONENTIAL = activations.custom("exponential", np.exp, np.exp, analytic=True)


def gauge(activation, W=((1.0, 0.3), (0.2, -1.0), (0.5, 0.4)), *, bias=False):
    return Gauge.of(Network(np.array(W), activation=activation), bias=bias, offset=False)


def test_one_row_more_than_parameters_leaves_no_other_function():
    tanh = gauge("tanh")
    assert tanh.size == 8
    assert examine_analytic(8, tanh).outcome is Outcome.UNEXAMINED
    found = examine_analytic(9, tanh)
    assert found.outcome is Outcome.IMPOSSIBLE
    assert (found.number, found.limit) == (9.0, 9.0)
    assert examine_analytic(9, tanh, beside=3).outcome is Outcome.UNEXAMINED  # a linear part has parameters too


@pytest.mark.parametrize(("phi", "expected"), [("tanh", None), ("softplus", None), ("sine", True), (EXPONENTIAL, True)])
def test_identities_hold_where_they_are_found(phi, expected):
    phi = activations.get(phi) if isinstance(phi, str) else phi
    found = identity(phi)
    assert (found is not None) == bool(expected)
    if found is not None:
        alpha, beta = found
        t = np.linspace(-2.5, 2.5, 60)
        span = np.column_stack([phi(t), *(t**j for j in range(4))])
        values = phi(alpha * t + beta)
        left = values - span @ np.linalg.lstsq(span, values, rcond=None)[0]
        assert np.abs(left).max() < 1e-6 * np.abs(values).max()
        assert math.hypot(abs(alpha) - 1, beta) > 0.2  # not the trivial one


def test_the_sine_repeats_and_the_exponential_does_not():
    assert period(activations.get("sine")) == pytest.approx(2 * math.pi, rel=1e-6)
    assert period(EXPONENTIAL) is None
    assert period(activations.get("tanh")) is None


def test_units_of_an_exponential_are_found_to_be_others():
    assert examine_analytic(50, gauge(EXPONENTIAL, bias=True)).outcome is Outcome.FOUND  # e^{z + β} is a multiple of e^z
    parallel = gauge("sine", W=((1.0, 2.0), (0.5, 1.0), (0.0, 0.0)))
    assert examine_analytic(50, parallel).outcome is Outcome.UNEXAMINED
