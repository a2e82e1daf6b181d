"""Routes: φ need not be known, and what is no network is not certified."""

import time

import numpy as np
import pytest
from tests.extraction.boxes import error, network

import weightlift as wl


@pytest.mark.parametrize("name", ["relu", "tanh", "gelu"])
def test_activation_need_not_be_known(name):
    truth = network(9, 4, 7, name, scale=0.4)
    found = wl.extract(truth.predict, 9, activation="auto")
    assert found.network.activation.name == name
    assert error(found.network, truth) < 1e-8
    assert found.queries < 6 * found.n_parameters  # no line is tried on a curved box


def test_an_unknown_activation_that_is_not_found_says_what_was_tried():
    found = wl.extract(lambda X: np.arctan(2 * X @ np.arange(1.0, 4.0)) + np.arctan(X[:, 0]), 3, activation="auto")
    assert not found.certificate
    assert "Tried as relu, tanh" in " ".join(found.certificate.reasons)


def deep(X):
    return network(6, 3, 1).predict(network(5, 4, 0, outputs=6).predict(X))


NO_NETWORKS = {
    "deep": deep,
    "tree": lambda X: 1.0 * (X[:, 0] > 0.3) + 2.0 * (X[:, 1] > 0) * (X[:, 2] > 1),
    "polynomial": lambda X: X[:, 0] * X[:, 1] + X[:, 2] ** 3,
    "mixed": lambda X: network(5, 2, 0).predict(X) + network(5, 2, 1, "tanh").predict(X),
    "another activation": network(5, 3, 0, "tanh").predict,
    "rounded": lambda X: np.round(network(5, 3, 0).predict(X) * 2) / 2,
    "maximum": lambda X: X.max(axis=1),
    "product": lambda X: network(5, 2, 0).predict(X) * network(5, 2, 1).predict(X),
}


SLOW = [(name, phi) for name in NO_NETWORKS for phi in ("tanh", "auto") if name not in ("another activation", "deep")]


@pytest.mark.parametrize(
    ("name", "activation"),
    [
        *((name, "relu") for name in NO_NETWORKS),
        ("deep", "tanh"),
        pytest.param("deep", "auto", marks=pytest.mark.slow),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW),
    ],
)
def test_what_is_no_network_is_not_certified(name, activation):
    most = 3 if activation == "tanh" else "auto"  # a search over widths takes its time
    found = wl.extract(NO_NETWORKS[name], 5, n_units=most, activation=activation, budget=20_000)
    assert not found.certificate
    assert found.certificate.reasons


def test_an_exponential_side_alone_does_not_fix_a_unit():
    truth = network(8, 4, 1, "elu", scale=8**-0.5)
    found = wl.extract(truth.predict, 8, activation="elu")
    assert found.certificate
    assert error(found.network, truth) < 1e-9


def test_further_rows_take_part_in_the_fit():
    """A unit far out is fixed by few of the first rows, and to a few digits less."""
    rng = np.random.default_rng(1)
    weights = rng.standard_normal((8, 4)) * 8**-0.5, rng.standard_normal(4), rng.standard_normal(4)
    truth = wl.Network(*weights, 0.3, "relu")
    found = wl.extract(truth.predict, 8)
    assert found.certificate
    assert error(found.network, truth) < 1e-13


def test_max_time_ends_a_search_and_keeps_what_was_seen():
    began = time.perf_counter()
    found = wl.extract(lambda X: np.sin(X[:, 0] * X[:, 1]) + X[:, 2] ** 3 * X[:, 3], 4, activation="tanh", max_time=0.5)
    assert not found.certificate
    assert time.perf_counter() - began < 30


def test_a_slow_box_keeps_its_units():
    def slow(X):
        time.sleep(0.01 * len(X))
        return truth.predict(X)

    truth = network(6, 4, 0)
    found = wl.extract(slow, 6, max_time=1.0)
    assert not found.certificate
    assert "max_time" in found.certificate.reasons[0]


def test_units_seen_before_the_budget_ended_are_kept():
    truth = network(10, 10, 0)
    found = wl.extract(truth.predict, 10, budget=230)
    assert found.queries <= 230
    assert found.network.n_units == 10
    assert not found.certificate
    assert "The budget is spent" in found.certificate.reasons[0]


@pytest.mark.parametrize("seed", [600043, 600266, 600587, 700320, 710508])
def test_what_a_line_misses_is_asked_for_alone(seed):
    """A kink beyond the line's end, or in its last pair, or between two values, or beside another: never a second line."""
    rng = np.random.default_rng([seed, 10, 10])
    W, a, b = rng.standard_normal((10, 10)), rng.standard_normal(10), rng.standard_normal(10)
    truth = wl.Network(W, a, b, rng.standard_normal(), "relu")
    found = wl.extract(truth.predict, 10, rng=seed)
    assert error(found.network, truth) < 1e-9
    assert found.queries <= 2.85 * 121
    assert found.certificate.status is wl.Status.EXACT


@pytest.mark.parametrize("activation", ["relu", "auto"])
@pytest.mark.parametrize(("budget", "least"), [(100, 1), (150, 5), (180, 10)])
def test_a_small_budget_keeps_the_hyperplanes_it_paid_for(activation, budget, least):
    truth = network(10, 10, 0)
    found = wl.extract(truth.predict, 10, activation=activation, budget=budget)
    assert found.queries <= budget
    assert not found.certificate
    assert "queries prove" in found.certificate.reasons[0]
    planes = [np.vstack([net.W, net.b]) for net in (found.network, truth)]
    cosines = np.abs(np.divide(*[(planes[0].T @ planes[1]), np.outer(*(np.linalg.norm(P, axis=0) for P in planes))]))
    assert found.network.n_units >= least
    assert (cosines.max(axis=1) > 1 - 1e-10).all()
