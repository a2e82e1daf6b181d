"""`recover(..., bias=True)`: moments first where the rows allow it, then the search; the stages say which."""

import numpy as np
import pytest
from tests.catalogue import HOMOGENEOUS

import weightlift as wl
from weightlift import errors


@pytest.mark.parametrize("activation", HOMOGENEOUS)
def test_the_tensor_start_is_enough_at_many_rows(activation, seed):
    truth = wl.teachers.biased(10, 3, activation=activation, rng=seed)
    X, y = wl.draw(truth, 20 * 3 * 11, rng=seed + 5)
    found = wl.recover(X, y, n_units=3, activation=activation, bias=True)
    assert found.certificate.status is wl.Status.EXACT, found
    assert found.network.equivalent(truth, tol=1e-9)
    assert [stage.name for stage in found.stages] == ["tensor start + Gauss–Newton"]


def test_other_activations_have_a_tensor_start_too():
    truth = wl.teachers.biased(6, 2, activation="sigmoid", rng=1)
    truth = wl.Network(2.0 * truth.W, truth.a, truth.b, activation="sigmoid")
    X, y = wl.draw(truth, 4000, rng=2)
    found = wl.recover(X, y, n_units=2, activation="sigmoid", bias=True, method="tensor")
    assert found.certificate.status is wl.Status.EXACT, found
    assert found.network.equivalent(truth, tol=1e-8)


def test_too_few_rows_for_moments_cost_nothing():
    truth = wl.teachers.biased(8, 3, rng=3)
    X, y = wl.draw(truth, 62, rng=4)
    found = wl.recover(X, y, n_units=3, bias=True, max_work=20)
    first = found.stages[0]
    assert first.name == "tensor start"
    assert first.starts == 0
    assert first.passes <= 7  # six open the rows, one asks whether they are Gaussian
    assert "rows" in first.outcome


def test_more_units_than_inputs_by_moments_alone():
    truth = wl.teachers.biased(3, 5, rng=3)
    X, y = wl.draw(truth, 60_000, rng=1)
    found = wl.recover(X, y, n_units=5, bias=True, method="tensor")
    assert found.certificate.status is wl.Status.EXACT, found
    assert found.network.equivalent(truth, tol=1e-8)


def test_more_units_than_inputs_go_to_the_search():
    truth = wl.teachers.biased(2, 3, rng=0)
    found = wl.recover(*wl.draw(truth, 300, rng=1), n_units=3, bias=True)
    assert "search" in found.stages[0].outcome
    assert found.certificate.status is wl.Status.EXACT


def test_noise_mean_covariance_and_a_constant():
    """The start is found in whitened inputs, the network comes back in raw ones."""
    truth = wl.teachers.biased(6, 3, rng=0)
    truth = wl.Network(truth.W, truth.a, truth.b, c=0.8)
    A = np.random.default_rng(0).normal(size=(6, 6)) / 3 + np.eye(6)
    X, y = wl.draw(truth, 6000, noise_std=0.05, mean=np.linspace(-0.5, 0.5, 6), covariance=A @ A.T, rng=2)
    found = wl.recover(X, y, n_units=3, bias=True, offset=True, method="tensor")
    assert found.certificate.status is wl.Status.STATISTICAL, found
    assert np.all(found.certificate.locate(truth)[0])
    assert wl.match(found.network, truth).max_error < 0.05


def test_inputs_that_are_not_gaussian_go_to_the_search():
    truth = wl.teachers.biased(5, 2, rng=0)
    X = np.random.default_rng(0).choice([-1.0, 0.0, 2.0], size=(400, 5)) + 0.1 * np.random.default_rng(1).uniform(size=(400, 5))
    y = truth.predict(X)
    found = wl.recover(X, y, n_units=2, bias=True)
    assert "not Gaussian" in found.stages[0].outcome
    with pytest.warns(errors.NotGaussianWarning, match="standard errors"):
        wl.recover(X, y, n_units=2, bias=True, method="tensor")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_fifty_inputs_ten_units_at_four_rows_a_parameter(seed):
    truth = wl.teachers.biased(50, 10, rng=seed)
    X, y = wl.draw(truth, 4 * 510, rng=seed + 100)
    found = wl.recover(X, y, n_units=10, bias=True)
    assert found.certificate.status is wl.Status.EXACT, found
    assert found.network.equivalent(truth, tol=1e-8)
