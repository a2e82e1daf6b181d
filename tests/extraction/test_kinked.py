"""Kinked units: found along lines, wherever their kinks lie; dead ones are not invented."""

import numpy as np
import pytest
from tests.extraction.boxes import error, network

import weightlift as wl


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
