"""The search on random rows: widths, what it drops, and what it says where it finds nothing."""

from dataclasses import replace

import numpy as np
import pytest
from tests.extraction.boxes import error, network

import weightlift as wl
from weightlift.extraction.estimate import Estimate, Frame
from weightlift.extraction.first_look import first_look
from weightlift.extraction.routes import Found
from weightlift.extraction.searches import _needed, _widths
from weightlift.samples.oracle import Oracle


@pytest.mark.parametrize("n_units", [4, "auto"])
def test_more_smooth_units_than_inputs(n_units):
    truth = network(3, 4, 0, "tanh")
    found = wl.extract(truth.predict, 3, n_units=n_units, activation="tanh")
    assert found.certificate
    assert error(found.network, truth) < 1e-9


def test_a_search_that_is_too_wide_drops_what_it_does_not_need():
    truth = network(4, 6, 0, "softplus")
    found = wl.extract(truth.predict, 4, activation="softplus")
    assert found.certificate
    assert error(found.network, truth) < 1e-9


@pytest.mark.parametrize(
    ("name", "seen", "widths"), [("relu", 7, [7, 8, 9, 10]), ("tanh", 3, [3, 4, 5, 6]), ("tanh", 5, [5, 7, 10, 13])]
)
def test_widths_go_on_from_the_units_that_showed(name, seen, widths):
    phi = wl.activations.get(name)
    found = Found(Estimate.nothing(5, 1, phi), np.empty((0, 5)), np.empty((0, 1)), explained=False, seen=seen)
    assert _widths(found, phi, 5) == widths


def test_what_a_search_could_not_do_is_said():
    found = wl.extract(lambda X: np.sin(X[:, 0] * X[:, 1]) + X[:, 0] ** 3, 2, activation="tanh", budget=400)
    assert not found.certificate
    assert "Nor does a search of up to" in found.notes[-1]
    assert found.queries <= 400


def test_units_that_others_make_up_for_are_dropped():
    truth = Estimate.of(network(5, 3, 1))
    twice = truth.joined(replace(Estimate.of(network(5, 3, 1)), V=0 * truth.V, c=0 * truth.c))
    wide = replace(twice, A=twice.A * np.array([0.3, 1.0, 0.5, 0.7, 0.0, 0.5])[:, None])
    oracle = Oracle(network(5, 3, 1).predict, 5)
    probe, _ = first_look(oracle, Frame(np.zeros(5), np.ones(5)), np.random.default_rng(0))
    xi = np.random.default_rng(1).standard_normal((60, 5))
    rows = xi, probe.ask(xi)
    found = _needed(probe, wide, rows, linear=False)
    assert found.k == 3
    np.testing.assert_allclose(found(xi), rows[1], rtol=1e-10, atol=1e-10)
