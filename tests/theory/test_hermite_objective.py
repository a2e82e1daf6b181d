"""The objective order by order: its terms, its limit, its gradient."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import weightlift as wl
from weightlift import Network
from weightlift.errors import ArgumentError
from weightlift.moments import HermiteMoment
from weightlift.theory import hermite_objective, population_gradient


def pair(activation, rng):
    f, g = (wl.teachers.biased(4, k, activation=activation, rng=rng) for k in (3, 5))
    return Network(1.3 * f.W, f.a, f.b, 0.3, activation), g


def test_terms_are_distances_of_moment_tensors(rng):
    f, g = pair("relu", rng)
    terms = hermite_objective(f, g, 5).terms
    for k in range(1, 6):
        T = [wl.samples.population(net).mean(HermiteMoment(4, k))[0] for net in (f, g)]
        assert terms[k] == pytest.approx(np.sum((T[0] - T[1]) ** 2) / math.factorial(k), abs=1e-12)


@pytest.mark.parametrize(("activation", "rest"), [("relu", 1e-3), ("tanh", 1e-9), ("squared_relu", 1e-4)])
def test_the_sum_rises_to_the_exact_distance(activation, rest, rng):
    f, g = pair(activation, rng)
    exact = wl.distance(f, g).squared
    values = [hermite_objective(f, g, K).value for K in (3, 12, 96)]
    assert values[0] < values[1] < values[2] <= exact * (1 + 1e-12)
    assert exact - values[2] < rest * exact
    assert hermite_objective(f, f, 20).value < 1e-24


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("orders", [(0, 5), (2, 4)])
def test_gradient_against_differences(activation, orders, rng):
    f, g = pair(activation, rng)
    low, high = orders
    found = hermite_objective(f, g, high, min_order=low)
    for name in ("W", "a", "b", "c"):
        value = np.asarray(getattr(f, name))
        step = 1e-5 * rng.standard_normal(value.shape)
        up, down = (
            hermite_objective(replace(f, **{name: value + s * step}), g, high, min_order=low).value for s in (1, -1)
        )
        assert up - down == pytest.approx(2 * np.sum(getattr(found, name) * step), rel=1e-5, abs=1e-13)


def test_gradient_in_the_limit_is_that_of_the_population_risk(rng):
    f, g = pair("tanh", rng)
    np.testing.assert_allclose(hermite_objective(f, g, 120).W / 2, population_gradient(f, g), atol=1e-7)


def test_refusals(rng):
    f, g = pair("relu", rng)
    with pytest.raises(ArgumentError, match="min_order"):
        hermite_objective(f, g, 2, min_order=3)
    with pytest.raises(ArgumentError, match="weight zero"):
        hermite_objective(replace(f, W=np.zeros_like(f.W)), g, 2)
