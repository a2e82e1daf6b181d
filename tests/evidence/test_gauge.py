"""Coordinates with the scale fixed: their Jacobians are derivatives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.catalogue import UNIQUE

from weightlift import Network, teachers
from weightlift.evidence.gauge import Gauge
from weightlift.identifiability import count_parameters
from weightlift.risk import Students


@pytest.mark.parametrize("activation", UNIQUE)
@pytest.mark.parametrize("offset", [False, True])
def test_jacobian_is_the_derivative(activation: str, offset: bool, rng: np.random.Generator) -> None:
    truth = replace(teachers.biased(3, 2, activation=activation, rng=1), c=0.4 if offset else 0.0)
    gauge = Gauge.of(truth, bias=True, offset=offset)
    assert gauge.size == count_parameters(truth, bias=True, offset=offset)
    X = rng.standard_normal((50, 3))
    students = Students.of(gauge.network)
    J = gauge.jacobian(X, students.preactivations(X), students)
    again, values = gauge.linearized(X)
    np.testing.assert_allclose(again[:, 0], J, rtol=1e-12)
    np.testing.assert_allclose(values[:, 0], gauge.network.predict(X), rtol=1e-12)
    step = 1e-6 * np.eye(gauge.size)
    up, down = gauge.perturbed(step), gauge.perturbed(-step)
    numerical = [(up.network(i).predict(X) - down.network(i).predict(X)) / 2e-6 for i in range(gauge.size)]
    smooth = np.abs(X @ gauge.network.W + gauge.network.b).min(axis=1) > 1e-4
    np.testing.assert_allclose(J[smooth], np.array(numerical).T[smooth], atol=1e-8)


@pytest.mark.parametrize("activation", ["relu", "squared_relu", "tanh"])
def test_normal_form_jacobian_is_the_derivative(activation: str) -> None:
    net = teachers.biased(4, 3, activation=activation, rng=2)
    gauge = Gauge.of(replace(net, W=net.W * np.array([0.5, 1.0, 2.0])), bias=True, offset=False)
    for i in range(3):
        theta, sign = gauge.unit(i)
        T = gauge.normal_form_jacobian(i)

        def normal(v: np.ndarray, sign: float = sign) -> np.ndarray:
            if gauge.free.a:
                return v
            length = np.linalg.norm(v[:4])
            return np.append(v / length, sign * length ** float(gauge.network.activation.degree or 1.0))

        steps = 1e-6 * np.eye(len(theta))
        numerical = np.array([(normal(theta + s) - normal(theta - s)) / 2e-6 for s in steps]).T
        np.testing.assert_allclose(T, numerical, atol=1e-8)


@pytest.mark.parametrize("activation", ["relu", "squared_relu", "tanh"])
def test_relative_sizes_are_the_farthest_points_of_the_regions(activation: str, seed: int) -> None:
    """Of many points on each unit's ellipsoid, scaled down to first order, none is farther, and some are nearly as far."""
    rng = np.random.default_rng(seed)
    gauge = Gauge.of(teachers.biased(2, 3, bias=0.5, activation=activation, rng=seed), bias=True, offset=True)
    roots = rng.standard_normal((3, gauge.unit_size, gauge.unit_size))
    found = gauge.relative_sizes(roots @ np.swapaxes(roots, 1, 2))
    assert found[1] == gauge.relative_size(1, roots[1] @ roots[1].T)
    for i, root in enumerate(roots):
        own, u = gauge.unit(i)[0], rng.standard_normal((gauge.unit_size, 4000))
        points = 1e-7 * root @ (u / np.linalg.norm(u, axis=0))
        far = max(gauge.relative_distance(own, own + point) for point in points.T) / 1e-7
        assert 0.9 * found[i] <= far <= 1.0001 * found[i]


def test_a_region_whose_squares_overflow_is_infinite(seed: int) -> None:
    net = teachers.biased(3, 2, bias=0.5, activation="relu", rng=seed)
    gauge = Gauge.of(replace(net, W=1e-6 * net.W, b=1e-6 * net.b), bias=True, offset=False)
    root = np.random.default_rng(seed).standard_normal((4, 4))
    region = root @ root.T
    assert gauge.relative_size(0, 1e305 * region) == np.inf
    assert gauge.relative_size(0, 1e-12 * region) < np.inf


def test_units_so_small_that_their_squares_vanish_have_a_distance() -> None:
    net = Network([[1e-200, 2e-200], [0.0, 1e-200]], [1.0, 1.0], activation="squared_relu")
    gauge = Gauge.of(net, bias=False, offset=False)
    assert np.isfinite(gauge.relative_distance(gauge.unit(0)[0], gauge.unit(1)[0]))


@pytest.mark.parametrize("activation", ["relu", "squared_relu", "tanh"])
def test_relative_distances_obey_the_triangle_inequality(activation: str, seed: int) -> None:
    """Near and far, so that it is nearly sharp for some."""
    rng = np.random.default_rng(seed)
    gauge = Gauge.of(teachers.biased(2, 1, bias=0.5, activation=activation, rng=seed), bias=True, offset=False)
    for size in 10.0 ** rng.uniform(-6, 1, 300):
        x = rng.standard_normal(gauge.unit_size)
        y = x + size * rng.standard_normal(gauge.unit_size)
        z = x + rng.uniform() * (y - x) + 0.1 * size * rng.uniform() * rng.standard_normal(gauge.unit_size)
        one, two, both = (gauge.relative_distance(*pair) for pair in ((x, z), (z, y), (x, y)))
        assert both <= (one + two) * (1 + 1e-9)


def test_distances_are_those_of_the_units_one_by_one(seed: int) -> None:
    one, other = (
        Gauge.of(teachers.biased(3, 4, activation="tanh", rng=s), bias=True, offset=False) for s in (seed, seed + 50)
    )
    found = one.distances(other)
    inner = [np.linalg.norm(np.append(g.network.W[:, 2], g.network.b[2])) for g in (one, other)]
    gap = np.append(one.network.W[:, 2] - other.network.W[:, 2], one.network.b[2] - other.network.b[2])
    a, b = one.network.a[2], other.network.a[2]
    assert found.shape == (4,)
    assert found[2] == pytest.approx(max(np.linalg.norm(gap) / max(inner), abs(a - b) / max(abs(a), abs(b))))
