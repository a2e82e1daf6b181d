"""Rows that tell less than their number: on kinks, along rays, on two hyperplanes. Networks that only seem unique there."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from tests.catalogue import UNIQUE

import weightlift as wl
from weightlift import activations, samples
from weightlift.evidence.rows import Directions, DistinctRows
from weightlift.refinement.gauss_newton import gauss_newton


def exchangeable(activation: str, seed: int, rows: int) -> tuple[wl.Network, wl.Network, np.ndarray]:
    """Two units that differ along a binary column alone, the same two with their halves exchanged, and inputs."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([2.0 * rng.standard_normal((rows, 2)), rng.integers(0, 2, rows)])
    w, b, u = rng.standard_normal(2), np.array([0.7, -0.8]), np.array([0.5, -0.6])
    one = wl.Network(np.column_stack([[*w, u[0]], [*w, u[1]]]), [1, 1], b, 0.0, activation)
    there = (b + u)[::-1]  # what the units have where the binary column is 1, exchanged
    other = replace(one, W=np.vstack([one.W[:2], there - b]))
    return one, other, X


@pytest.mark.parametrize("activation", UNIQUE)
def test_units_that_may_exchange_their_halves_are_ambiguous(activation: str, seed: int) -> None:
    one, other, X = exchangeable(activation, seed, 80)
    y = one.predict(X)
    assert np.abs(other.predict(X) - y).max() < 1e-13 * np.abs(y).max()
    assert not one.equivalent(other, 1e-2)
    for net in (one, other):
        assert wl.certify(net, X, y).status is wl.Status.AMBIGUOUS
    apart = replace(one, W=np.column_stack([one.W[:, 0], one.W[[1, 0, 2], 1] * [-1, 1, 1]]))  # at right angles
    assert wl.certify(apart, X, apart.predict(X)).status is wl.Status.EXACT
    X = 2.0 * np.random.default_rng(seed).standard_normal(X.shape)
    assert wl.certify(one, X, one.predict(X)).status is wl.Status.EXACT


def test_exchanges_among_many_binary_columns(seed: int) -> None:
    """Two units that differ along one of thirty, and, beside them, units in general position."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (600, 30)) - 0.5
    w = rng.standard_normal(30)
    W = np.column_stack([w, w, rng.standard_normal((30, 2))])
    W[7, :2] = 0.9, -1.4
    net = wl.Network(W, [1, 1, 1, -1], [0.3, -0.2, 0.5, -0.4])
    assert wl.certify(net, X, net.predict(X)).status is wl.Status.AMBIGUOUS
    W = rng.standard_normal((30, 4))
    net = replace(net, W=W)
    assert not wl.certify(net, X, net.predict(X))  # no input is continuous: no theorem holds
    X[:, 0] = rng.standard_normal(600)
    assert wl.certify(net, X, net.predict(X)).status is wl.Status.EXACT


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_with_noise_too(activation: str, seed: int) -> None:
    one, other, X = exchangeable(activation, seed, 2000)
    y = one.predict(X) + 0.01 * np.random.default_rng(seed).standard_normal(len(X))
    net = gauss_newton(samples.open(X, y), other, free="Wb" if activation == "relu" else "Wab").network
    assert wl.certify(net, X, y).status is wl.Status.AMBIGUOUS


def test_rows_on_a_kink_do_not_determine_it() -> None:
    """Kinks at 0.2 and 3, the second one on a row: the slope between 1 and 3 may be any smaller one."""
    X = np.setdiff1d(np.arange(-15.0, 16.0), [2.0])[:, None]
    one = wl.Network([[2.5, 0.5]], [-1.0, -1.0], [-0.5, -1.5], activation="absolute")
    other = wl.Network([[2.0, 1.0]], [-1.0, -1.0], [0.0, -2.0], activation="absolute")
    y = one.predict(X)
    assert np.abs(other.predict(X) - y).max() < 1e-13
    assert wl.certify(one, X, y).status is wl.Status.AMBIGUOUS


def test_a_rounding_error_does_not_put_rows_beside_a_kink(seed: int) -> None:
    """A unit of a binary input alone is linear on the rows: rows with z = 0 are on neither side, nor those with 1e-15 x."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.standard_normal(100), rng.integers(0, 2, 100)])
    truth = wl.Network([[0.0, 1.0], [1.0, 2.0]], activation="leaky_relu")
    net = wl.Network([[1e-15, 1.0], [-100.0, 2.0]], [-1.0, 1.0], activation="leaky_relu")
    y = truth.predict(X)
    assert np.abs(net.predict(X) - y).max() < 1e-13
    assert wl.certify(net, X, y).status is wl.Status.AMBIGUOUS


def test_rows_on_a_ray_count_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lines = rng.standard_normal((6, 3))
    X = lines[rng.integers(6, size=200)] * rng.standard_normal((200, 1))
    net = wl.Network(rng.standard_normal((3, 3)))
    certificate = wl.certify(net, X, net.predict(X))
    assert certificate.evidence.n_distinct == 12
    assert certificate.status is wl.Status.FAILED
    biased = replace(net, b=rng.standard_normal(3))
    assert wl.certify(biased, X, biased.predict(X)).evidence.n_distinct == 200


@pytest.mark.parametrize(("activation", "classes"), [("relu", 4), ("absolute", 2), ("tanh", 4), ("softplus", 6)])
def test_copies_up_to_symmetries_of_the_function(activation: str, classes: int, as_xp) -> None:
    X = np.array([[0.0, 1.0], [0.0, 3.0], [-0.0, -3.0], [2.0, -1.0], [-2.0, 1.0], [4.0, -2.0], [0.0, 1.0]])
    source = samples.open(as_xp(X), as_xp(np.zeros(len(X)))).map(Directions(activations.get(activation)))
    assert int(source.fold(DistinctRows(targets=False))[0]) == classes


def test_copies_of_one_input_do_not_decide_a_weight(seed: int) -> None:
    """Beyond the kink of a unit with w₃ ≠ 0 lies one input, many times: noise there decides w₃, which is 0 in truth."""
    rng = np.random.default_rng(seed)
    places = np.concatenate([np.eye(3)[rng.integers(3, size=60)] * 2 * rng.standard_normal((60, 1)), [[0.0, 0.0, -8.0]]])
    X = np.tile(places, (6, 1))
    truth = wl.Network([[-2.0], [1.0], [0.0]], [-1.0], [-0.5])
    at = X[:, 2] == -8.0
    y = truth.predict(X) + 0.01 * (rng.standard_normal(len(X)) - 2.0 * at)
    start = replace(truth, W=np.array([[-2.0], [1.0], [-0.07]]))
    net = gauss_newton(samples.open(X, y), start, free="Wb").network
    certificate = wl.certify(net, X, y)
    assert certificate.status is wl.Status.FAILED
    assert "single input" in certificate.reasons[0]


def test_a_unit_of_one_binary_input_is_seen_twice_only(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = np.column_stack([2.0 * rng.standard_normal(150), rng.integers(0, 2, 150)])
    truth = wl.Network([[1.0, -2.0, 0.0], [2.0, 1.0, 2.0]], [1.0, 1.0, -1.0], [0.5, 1.5, -0.5], activation="leaky_relu")
    other = replace(truth, W=[[1.0, -2.0, 0.0], [2.0, 1.0, -150.005]], a=np.ones(3), b=[0.5, 1.5, 0.005])
    y = truth.predict(X)
    assert np.abs(other.predict(X) - y).max() < 1e-12
    for net in (truth, other):
        certificate = wl.certify(net, X, y)
        assert certificate.status is wl.Status.AMBIGUOUS
        assert certificate.ambiguous_units == (2,)


def test_noise_at_a_kink_determines_nothing() -> None:
    """Where x₁ = −1 the unit is silent but for noise, whose mean a fit takes for its slope: w₁ + b alone is known."""
    rng = np.random.default_rng(0)
    X = np.tile(np.array(list(itertools.product([-1.0, 1.0], repeat=5))), (8, 1))
    truth = wl.Network([[2.0], [-1.0], [0.0], [1.0], [0.0]], None, [-0.5])
    near = wl.Network([[1.745], [-1.0], [0.0], [1.0], [0.0]], None, [-0.245])  # z = 0.01 at x₁ = x₂ = −1, x₄ = 1
    at = near.predict(X) - truth.predict(X)
    y = truth.predict(X) + 0.01 * rng.standard_normal(len(X)) + at
    net = gauss_newton(samples.open(X, y), near, free="Wb").network
    assert np.linalg.norm(net.W - truth.W) > 0.1
    assert wl.certify(net, X, y).status is not wl.Status.STATISTICAL


def test_as_many_inputs_as_weights_confirm_nothing() -> None:
    """Three inputs on an axis determine the three weights along it, whatever the other rows are; two networks fit all."""
    rng = np.random.default_rng(0)
    X = np.concatenate([np.outer(rng.standard_normal(count), e) for count, e in zip((14, 3, 14), 2 * np.eye(3), strict=True)])
    W = np.array([[1.0, 2.0, 1.0], [-2.0, -1.0, 2.0], [-2.0, 1.0, -2.0]])
    truth = wl.Network(W, [1.0, 1.0, -1.0], [0.0, 2.0, 2.0], activation="softplus")
    certificate = wl.certify(truth, X, truth.predict(X))
    assert certificate.status is wl.Status.AMBIGUOUS
