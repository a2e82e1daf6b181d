"""Fresh rows: each kinked unit is on in as many as it has weights, however seldom it is on elsewhere."""

from dataclasses import replace

import numpy as np
import pytest
from tests.extraction.boxes import network

import weightlift as wl
from weightlift.extraction.estimate import Estimate
from weightlift.extraction.fresh import fresh_rows, rows_on_sides

D, K = 12, 5


def estimate(places, activation="relu", linear=False):
    """Units ⟨n, ξ⟩ + place with n of length one and two."""
    f = Estimate.of(network(D, K, 0, activation, outputs=4, linear=linear))
    length = np.linalg.norm(f.N, axis=0)
    stretched = np.array([1.0, 2.0, 1.0, 2.0, 1.0])
    return replace(f, N=f.N / length * stretched, beta=np.array(places) * stretched)


def sides(f, rows):
    z = rows @ f.N + f.beta
    return (z > 0).sum(axis=0), (z < 0).sum(axis=0)


@pytest.mark.parametrize("seed", range(3))
def test_units_that_are_seldom_on_or_off(seed):
    f, rng = estimate([0.0, -3.5, 3.5, -18.0, 0.5]), np.random.default_rng(seed)
    rows = fresh_rows(40, f, rng)
    assert (sides(f, rows)[0] < D + 1).any()
    on, off = sides(f, np.vstack([rows, rows_on_sides(40, f, rng)]))
    assert (on >= D + 1).all()
    assert (off >= 2).all()


@pytest.mark.parametrize(("activation", "linear"), [("leaky_relu", False), ("absolute", False), ("relu", True)])
def test_both_sides_where_both_say_something(activation, linear):
    f, rng = estimate([0.0, -3.5, 3.5, -18.0, 0.5], activation, linear), np.random.default_rng(0)
    on, off = sides(f, np.vstack([fresh_rows(40, f, rng), rows_on_sides(40, f, rng)]))
    assert (on >= D + 1).all()
    assert (off >= D + 1).all()


def test_no_rows_where_there_are_enough():
    f = estimate([0.0, 0.1, -0.1, 0.2, -0.2])
    assert rows_on_sides(60, f, np.random.default_rng(0)).shape == (0, D)
    assert len(rows_on_sides(10, f, np.random.default_rng(0)))


@pytest.mark.parametrize("seed", range(3))
def test_several_outputs_with_a_unit_that_is_seldom_on(seed):
    """0.1 per cent of N(0, I) are on its side: rows that do for the parameters hold two or three of them."""
    truth = network(15, 6, seed, outputs=5)
    b = truth.b.copy()
    b[0], b[1] = -3.0 * np.linalg.norm(truth.W[:, 0]), 3.0 * np.linalg.norm(truth.W[:, 1])
    truth = wl.Network(truth.W, truth.a, b, truth.c)
    found = wl.extract(truth.predict, 15, rng=seed)
    assert found.certificate.status is wl.Status.EXACT
    assert found.network.equivalent(truth, tol=1e-9)
    assert found.queries < 2.2 * found.n_parameters
