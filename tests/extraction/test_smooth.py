"""Smooth units by derivatives, also beside a linear part and under noise."""

import numpy as np
import pytest
from tests.extraction.boxes import error, network

import weightlift as wl


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", ["tanh", "sigmoid", "erf", "softplus"])
def test_smooth_by_derivatives(name, seed):
    truth = network(12, 5, seed, name, scale=12**-0.5)
    found = wl.extract(truth.predict, 12, activation=name, rng=seed)
    assert error(found.network, truth) < 1e-8
    assert found.queries <= 3.5 * (12 * 5 + 11)
    assert found.certificate


def test_linear_part_of_smooth_units_is_found():
    truth = network(10, 4, 5, "tanh", scale=0.4, linear=True)
    found = wl.extract(truth.predict, 10, activation="tanh")
    np.testing.assert_allclose(found.network.V, truth.V, rtol=1e-8)
    assert found.certificate.status is wl.Status.EXACT


def test_noisy_answers_have_intervals():
    truth = network(4, 2, 1)
    rng = np.random.default_rng(0)
    found = wl.extract(lambda X: truth.predict(X) + 0.01 * rng.standard_normal(len(X)), 4, n_units=2, budget=3000)
    assert found.queries <= 3000
    assert found.certificate.status is wl.Status.STATISTICAL
    assert found.certificate.locate(truth)[0].all()


def test_the_numbers_of_a_small_unit_are_exchanged_without_a_query():
    """GELU's unit of 0.0037 beside ones of 1.4: the rows choose its numbers wrongly until the others are polished."""
    rng = np.random.default_rng([52001, 20, 10])
    W, a, b = 20**-0.5 * rng.standard_normal((20, 10)), rng.standard_normal(10), rng.standard_normal(10)
    truth = wl.Network(W, a, b, rng.standard_normal(), "gelu")
    found = wl.extract(truth.predict, 20, activation="gelu", rng=52001)
    assert found.queries <= 2.75 * 221
    assert error(found.network, truth) < 1e-9
