"""Kinked units: found along lines, wherever their kinks lie; dead ones are not invented."""

import numpy as np
import pytest
from tests.extraction.boxes import error, network

import weightlift as wl
from weightlift.extraction.estimate import Estimate, Frame
from weightlift.extraction.first_look import first_look
from weightlift.extraction.kinked import _corrected, is_curved
from weightlift.samples.oracle import Oracle


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("d", "k", "most"), [(10, 10, 3.0), (10, 15, 4.0), (10, 20, 4.0), (3, 8, 8.0), (1, 3, 40.0), (6, 1, 8.0)]
)
def test_relu_by_lines(d, k, most, seed):
    truth = network(d, k, seed)
    found = wl.extract(truth.predict, d, rng=seed)
    assert error(found.network, truth) < 1e-9
    assert found.queries <= most * (d * k + 2 * k + 1)
    if d >= 6:
        assert found.certificate.status is wl.Status.EXACT
    else:  # with more units than coordinates, sums of some may equal sums of others on all rows
        assert found.certificate.status in (wl.Status.EXACT, wl.Status.AMBIGUOUS)


@pytest.mark.parametrize("name", ["leaky_relu", "absolute"])
def test_other_kinks(name):
    truth = network(7, 5, 1, name)
    found = wl.extract(truth.predict, 7, activation=name)
    assert error(found.network, truth) < 1e-9


def test_beside_a_linear_part_relu_units_face_either_way():
    truth = network(10, 4, 5, linear=True)
    found = wl.extract(truth.predict, 10)
    X = np.random.default_rng(0).standard_normal((50, 10))
    np.testing.assert_allclose(found.network.predict(X), truth.predict(X), rtol=1e-9, atol=1e-9)
    assert any("moves the linear part" in symmetry for symmetry in found.certificate.symmetries)


def test_units_far_out_are_found():
    """A unit whose kink lies 18 standard deviations from the inputs, as in trained networks."""
    truth = network(8, 4, 2)
    b = truth.b.copy()
    b[1] = -18.0 * np.linalg.norm(truth.W[:, 1])
    truth = wl.Network(truth.W, truth.a, b, truth.c)
    found = wl.extract(truth.predict, 8)
    assert error(found.network, truth) < 1e-9


def test_dead_units_are_not_invented():
    truth = network(8, 4, 2)
    a = truth.a.copy()
    a[2] = 0.0
    found = wl.extract(wl.Network(truth.W, a, truth.b, truth.c).predict, 8, n_units=4)
    assert found.network.n_units == 3
    assert "1 of the 4 units" in found.unseen[0]


@pytest.mark.parametrize("name", ["relu", "leaky_relu", "absolute"])
def test_two_units_that_were_one_are_corrected(name, seed):
    """f̂ has one unit for two of f's; what f − f̂ shows, facing either way, takes it away and adds the two."""
    rng = np.random.default_rng(seed)
    phi, none = wl.activations.get(name), (np.zeros((6, 2)), np.zeros(2))
    N, beta, A = rng.standard_normal((6, 6)), rng.standard_normal(6), rng.standard_normal((6, 2))
    N /= np.linalg.norm(N, axis=0)
    start = Estimate(N[:, 2:], beta[2:], A[2:], *none, phi)  # the last one is wrong, the first two are missing
    turn, shown = rng.choice([-1.0, 1.0], 3), [0, 1, 5]
    sizes = np.array([1.0, 1.0, -1.0])[:, None] * A[shown]
    more = Estimate(N[:, shown] * turn, beta[shown] * turn, sizes, rng.standard_normal((6, 2)), rng.standard_normal(2), phi)
    xi = rng.standard_normal((40, 6))
    found = _corrected(start, more)
    np.testing.assert_allclose(found(xi), start(xi) + more(xi), rtol=1e-10, atol=1e-10)
    assert found.k == 5


@pytest.mark.parametrize(
    ("name", "curved"), [("relu", False), ("leaky_relu", False), ("tanh", True), ("gelu", True), ("sine", True)]
)
def test_three_rows_tell_a_kinked_box_from_a_curved_one(name, curved):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        oracle = Oracle(network(8, 6, seed, name, scale=0.5).predict, 8)
        probe, _ = first_look(oracle, Frame(np.zeros(8), np.ones(8)), rng)
        before = oracle.queries
        assert is_curved(probe, rng) is curved
        assert oracle.queries - before == (12 if curved else 3)
