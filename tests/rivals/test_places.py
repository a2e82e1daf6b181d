"""Noisy rows with discrete columns: the network that takes the units' places is proposed, near where it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.catalogue import KINDS
from tests.rivals.instances import small_difference, three_levels, with_common_part

import weightlift as wl
from weightlift import samples
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.refinement.gauss_newton import gauss_newton
from weightlift.rivals.places import Group, _groups, places_near


def noisy_pair(planted, activation: str, seed: int, noise: float = 1e-3):
    """Rows of two networks that agree on all of them, and a fit of the second to noisy targets."""
    rng = np.random.default_rng(seed)
    places, functions, others = planted(rng)
    X = np.hstack([1.5 * rng.standard_normal((300, 2)), places[rng.integers(len(places), size=300)]])
    one, other = (with_common_part(f, np.array([1.0, -0.7]), activation) for f in (functions, others))
    y = one.predict(X) + noise * rng.standard_normal(300)
    gauge = Gauge.of(other, bias=True, offset=False)
    fit = gauss_newton(samples.open(X, y), gauge.network, free=gauge.free.names, tol=1e-12).network
    return X, y, one, other, replace(gauge, network=fit)


@pytest.mark.parametrize("activation", KINDS)
@pytest.mark.parametrize("planted", [three_levels, small_difference])
def test_the_network_in_other_places_is_proposed(planted, activation: str, seed: int) -> None:
    X, y, one, _, gauge = noisy_pair(planted, activation, seed, 1e-7)
    known = Information.of(samples.open(X, y), gauge)
    if not known.full_rank:
        pytest.skip("three softplus units so alike that no certificate is given anyway")
    columns = np.arange(X.shape[1]) >= 2
    found = places_near(X, known, columns, 30 * known.rss / len(X))
    assert any(set(units) == set(range(one.n_units)) and rival.equivalent(one, 1e-2) for units, rival in found)
    left = [float(((rival.predict(X) - y) ** 2).sum()) - known.rss for _, rival in found]
    assert min(left) <= 30 * known.rss / len(X)


def test_the_nearest_solution_is_that_of_the_constrained_least_squares(seed: int) -> None:
    """By Lagrange's equations: min δᵀHδ with C(θ + δ) = 0."""
    X, y, _, _, gauge = noisy_pair(three_levels, "tanh", seed)
    known = Information.of(samples.open(X, y), gauge)
    q, p = gauge.unit_size, gauge.size
    group = Group(known, (0, 2), np.ones((2, q)), False)
    C = np.random.default_rng(seed).standard_normal((3, 2 * q))
    full = np.zeros((3, p))
    full[:, group.at.ravel()] = C
    K = np.block([[known.gram, full.T], [full, np.zeros((3, 3))]])
    size = np.append(known.sizes, np.ones(3))
    delta = size * np.linalg.solve(K * size[:, None] * size, size * np.append(np.zeros(p), -full @ gauge.theta))
    left, theta = group.solved(C)
    assert left == pytest.approx(delta[:p] @ known.gram @ delta[:p], rel=1e-5)
    np.testing.assert_allclose(full @ theta, 0, atol=1e-9)
    np.testing.assert_allclose(theta, gauge.theta + delta[:p], rtol=1e-5, atol=1e-7)


def test_units_alike_are_found_with_either_sign(seed: int) -> None:
    """tanh: (−a, −z) is (a, z); the unit turned takes the other's place as it would unturned."""
    X, y, one, _, gauge = noisy_pair(small_difference, "tanh", seed, 1e-5)
    net, flip = gauge.network, np.array([1.0, -1.0])
    turned = replace(gauge, network=replace(net, W=net.W * flip, b=net.b * flip, a=net.a * flip))
    known = Information.of(samples.open(X, y), turned)
    found = places_near(X, known, np.arange(4) >= 2, 30 * known.rss / len(X))
    assert any(rival.equivalent(one, 1e-2) for _, rival in found)


@pytest.mark.parametrize("activation", ["tanh", "absolute"])
def test_units_are_alike_up_to_what_the_equations_leave(activation: str, seed: int) -> None:
    X, y, _, _, gauge = noisy_pair(small_difference, activation, seed)
    known, columns = Information.of(samples.open(X, y), gauge), np.arange(4) >= 2
    group = Group(known, (0, 1), np.ones((2, gauge.unit_size)), False)
    left = group.solved(group.alike(columns))[0]
    assert [g.units for g in _groups(known, columns, 1.01 * left)] == [(0, 1)]
    assert not list(_groups(known, columns, 0.99 * left))


def test_units_that_differ_elsewhere_have_none(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = np.hstack([rng.standard_normal((400, 2)), rng.integers(0, 3, (400, 2))])
    truth = wl.Network(rng.standard_normal((4, 3)), [1.0, 1.0, 1.0], 0.5 * rng.standard_normal(3), 0.0, "tanh")
    y = truth.predict(X) + 1e-3 * rng.standard_normal(400)
    gauge = Gauge.of(truth, bias=True, offset=False)
    gauge = replace(gauge, network=gauss_newton(samples.open(X, y), truth, free="Wab", tol=1e-12).network)
    known = Information.of(samples.open(X, y), gauge)
    assert not places_near(X, known, np.arange(4) >= 2, 30 * known.rss / len(X))
