"""Theorem 2 at networks of every kind: never violated, vacuous when it must be; Theorem 3's quantities by definition."""

import numpy as np
import pytest

from weightlift import Network, distance, teachers
from weightlift.activations import get, polynomial
from weightlift.errors import ArgumentError, ShapeError
from weightlift.theory import random_weights, separated_bound, trivial_predictors

EVEN = [get("absolute"), polynomial([0.3, 0.0, -1.0, 0.0, 0.5])]
OTHERS = [get("relu"), get("tanh"), polynomial([0.0, 1.0, 0.0, 1.0])]


def unit(rng, d, k):
    W = rng.normal(size=(d, k))
    return W / np.linalg.norm(W, axis=0)


@pytest.mark.parametrize("phi", EVEN, ids=lambda phi: phi.name)
def test_even_bounds_hold_and_say_something(rng, phi):
    """ε² R/d is small at d = 40: (10) is not vacuous, and the exact error lies above it, for both versions of c₁."""
    d = 40
    told = 0
    for net in (teachers.simplex(d, activation=phi, rng=rng), teachers.haar(d, d, center=False, activation=phi, rng=rng)):
        for R in (4, d // 2, d):
            found = separated_bound(net, Network(unit(rng, d, R), activation=phi))
            assert found.even
            assert found.error >= found.halved >= found.bound >= 0.0
            told += not found.vacuous
    assert told >= 4


@pytest.mark.parametrize("phi", OTHERS, ids=lambda phi: phi.name)
def test_bounds_hold_and_say_something(rng, phi):
    """With few estimates R the factor 1 − c₂ is positive for any σ."""
    d = 60
    net = teachers.simplex(d, activation=phi, rng=rng)
    told = [separated_bound(net, Network(unit(rng, d, R), activation=phi)) for R in (2, 5, 10, 40)]
    assert all(found.error >= found.halved >= found.bound for found in told)
    assert not told[0].vacuous
    assert not told[0].even
    assert told[0].reason.startswith("the error is at least")


def test_the_constants_are_the_printed_ones(rng):
    d, r, R = 6, 9, 5
    net, guess = (Network(unit(rng, d, k), activation="softplus") for k in (r, R))
    found, a = separated_bound(net, guess), separated_bound(net, guess).assumptions
    s = net.activation.hermite(1), net.activation.hermite(2) / np.sqrt(2)
    assert found.c1 == pytest.approx(2 * s[0] ** 2 * a.eta_avg * r + 2 * s[1] ** 2 * a.eta_var**2 * r**2 / d)
    assert found.epsilon == np.abs(net.W.T @ guess.W).max()
    assert found.vacuous
    assert found.c2 == np.inf
    assert found.bound == 0.0
    assert found.error == pytest.approx(distance(net, guess).squared, rel=1e-10)
    assert found.trivial == pytest.approx(trivial_predictors(net).norm.risk)
    few = separated_bound(teachers.simplex(30, activation="relu", rng=rng), Network(unit(rng, 30, 3)))
    assert few.c2 == pytest.approx(2 * few.epsilon * 0.1 / (1 - 31 / 900), rel=1e-10)
    net, guess = teachers.simplex(30, activation="absolute", rng=rng), Network(unit(rng, 30, 3), activation="absolute")
    even = separated_bound(net, guess)
    assert even.c2 == pytest.approx(2 * even.epsilon**2 * 0.1 / (1 - 31 / 27000), rel=1e-10)


def test_the_truth_itself_makes_the_bound_vacuous():
    """Identity weights, ŵ = w: the printed product of two negative factors is positive, the error is 0."""
    net = Network(np.eye(10), activation="tanh")
    found = separated_bound(net, net)
    assert found.error == 0.0
    assert (found.trivial - found.c1) * (1 - found.c2) > 0.1
    assert found.vacuous
    assert found.bound == 0.0
    assert "vacuous" in str(found)


def test_weights_that_are_not_isotropic_make_the_bound_vacuous(rng):
    """Orthonormal weights have η_avg = 1: for tanh c₁ = 2σ̂₁² r exceeds Var y, and 1 − c₂ > 0 does not help."""
    net = teachers.haar(30, 30, center=False, activation="tanh", rng=rng)
    found = separated_bound(net, Network(unit(rng, 30, 1), activation="tanh"))
    assert found.c2 < 1.0
    assert found.trivial < found.c1
    assert found.vacuous
    assert found.bound == 0.0
    assert "isotropic" in found.reason


def test_networks_that_the_theorems_do_not_cover_are_refused():
    net = Network(np.eye(3), activation="tanh")
    for bad, words in [
        (Network(1.01 * np.eye(3), activation="tanh"), "length 1.01"),
        (Network(np.eye(3), [1.0, 2.0, 1.0], activation="tanh"), "a = 1"),
        (Network(np.eye(3), b=[0.0, 0.1, 0.0], activation="tanh"), "b = 0"),
        (Network(np.eye(3), c=1.0, activation="tanh"), "c = 0"),
        (Network(np.eye(3), activation="erf"), "must be one"),
    ]:
        for pair in ((net, bad), (bad, net)):
            for function in (separated_bound, random_weights):
                with pytest.raises(ArgumentError, match=words):
                    function(*pair)
    with pytest.raises(ArgumentError, match="length"):
        separated_bound(teachers.haar(5, 10), teachers.haar(5, 10))
    with pytest.raises(ShapeError, match="inputs"):
        separated_bound(net, Network(np.eye(4), activation="tanh"))
    with pytest.raises(ArgumentError, match="Network"):
        separated_bound(net, np.eye(3))


def test_quantities_of_theorem_3(rng):
    d, r, R = 12, 30, 20
    net = teachers.centered_gaussian(d, r, rng=rng)
    guess = Network(unit(rng, d, R), activation=net.activation)
    found = random_weights(net, guess)
    assert found.covers  # tanh is odd
    cubes = sum((net.W[:, i] @ guess.W[:, j]) ** 3 for i in range(r) for j in range(R)) / R
    assert found.third_order == pytest.approx(cubes, rel=1e-12)
    assert found.share_of_variance == pytest.approx(distance(net, guess).squared / trivial_predictors(net).variance)
    assert found.share_of_quadratic == pytest.approx(found.share_of_variance)
    assert found.width_ratio == pytest.approx(r * np.log(d) ** 2 / d**2)
    assert "not explicit" in str(found)
    assert not random_weights(*(Network(f.W, activation="relu") for f in (net, guess))).covers
    assert random_weights(net, net).error < 1e-20
