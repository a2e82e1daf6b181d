"""Superfluous units: found, removed, and the function stays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.identifiability.networks import AMBIGUOUS, SYMMETRIC, random_network

from weightlift import activations, errors
from weightlift.geometry import distance
from weightlift.identifiability import Redundancy, irreducible, minimal, twin
from weightlift.network import Network


def assert_same_function(f, g, rng, tol=1e-12):
    X = rng.normal(size=(100, f.n_inputs))
    np.testing.assert_allclose(g.predict(X), f.predict(X), rtol=tol, atol=tol * max(1.0, np.abs(f.a).sum()))


def kinds(found):
    return [(finding.kind.name, finding.units) for finding in found]


@pytest.mark.parametrize("activation", [*AMBIGUOUS, *SYMMETRIC])
def test_separated_networks_stay_as_they_are(rng, activation):
    net = random_network(rng, activation, d=4, k=9)
    found = irreducible(net)
    assert found.irreducible
    assert found.separated
    assert not found.near
    assert minimal(net) is net


@pytest.mark.parametrize("activation", [*AMBIGUOUS, *SYMMETRIC])
def test_superfluous_units_are_found_and_removed(rng, activation):
    core = random_network(rng, activation, d=4, k=3)
    t = rng.uniform(0.5, 2) if core.activation.degree else 1.0
    W = np.column_stack([core.W, rng.normal(size=4), np.zeros(4), t * core.W[:, 1], core.W[:, 2]])
    b = np.concatenate([core.b, [0.2, 0.8, t * core.b[1], core.b[2]]])
    a = np.concatenate([core.a, [0.0, 1.5, 0.3, 0.4]])
    wide = Network(W, a, b, 0.7, activation)
    found = irreducible(wide)
    assert kinds(found.exact) == [("ZERO", (3,)), ("CONSTANT", (4,)), ("DUPLICATE", (1, 5)), ("DUPLICATE", (2, 6))]
    assert found.width == 3
    assert not found.irreducible
    assert not found.separated
    narrow = minimal(wide)
    assert narrow.n_units == 3
    assert_same_function(wide, narrow, rng)
    assert narrow.c == pytest.approx(0.7 + 1.5 * float(core.activation(0.8)))
    assert irreducible(narrow).irreducible


@pytest.mark.parametrize("activation", SYMMETRIC)
def test_opposite_units_merge_where_reflection_is_a_symmetry(rng, activation):
    core = random_network(rng, activation, d=4, k=3)
    wide = Network(
        np.column_stack([core.W, -core.W[:, 1]]), np.append(core.a, 0.6), np.append(core.b, -core.b[1]), 0.1, activation
    )
    assert kinds(irreducible(wide).exact) == [("DUPLICATE", (1, 3))]
    assert minimal(wide).n_units == 3
    assert_same_function(wide, minimal(wide), rng)


def test_units_that_cancel(rng):
    core = random_network(rng, d=4, k=3)
    W, b, a = np.column_stack([core.W, 2 * core.W[:, 0]]), np.append(core.b, 2 * core.b[0]), np.append(core.a, -core.a[0] / 2)
    wide = Network(W, a, b)
    assert irreducible(wide).width == 2
    assert minimal(wide).n_units == 2
    assert_same_function(wide, minimal(wide), rng)
    nothing = Network(np.ones((2, 2)), [1.0, -1.0], [0.5, 0.5], 3.0)
    assert irreducible(nothing).width == 0
    assert minimal(nothing).predict(np.array([[1.0, 2.0]])) == 3.0
    constant = minimal(Network(np.zeros((2, 1)), [2.0], [0.5], 1.0))
    assert (constant.c, constant.a[0]) == (2.0, 0.0)


@pytest.mark.parametrize("activation", AMBIGUOUS)
def test_opposite_units_stay_unless_their_polynomials_cancel(rng, activation):
    core = random_network(rng, activation, d=3, k=4, c=0.0)
    pair = replace(
        core, W=np.column_stack([core.W, -core.W[:, 0]]), b=np.append(core.b, -core.b[0]), a=np.append(core.a, 0.35)
    )
    found = irreducible(pair)
    assert kinds(found.exact) == [("OPPOSITE", (0, 4))]
    assert found.irreducible
    assert not found.separated
    assert minimal(pair) is pair
    # f from a twin: reflect S, then add the opposite of one of its units. Reflecting S again makes the two equal.
    f, g = twin(random_network(rng, activation, d=2, k=9), list(range(8)), rng=rng)
    wide = replace(f, W=np.column_stack([f.W, -f.W[:, 2]]), b=np.append(f.b, -f.b[2]), a=np.append(f.a, 0.35))
    found = irreducible(wide)
    assert ("OPPOSITE", (2, 9)) in kinds(found.exact)
    assert found.width == 9
    assert minimal(wide).n_units == 9
    assert_same_function(wide, minimal(wide), rng)
    assert not wide.equivalent(g)


def test_linear_parts_of_several_pairs(rng):
    """u + v + w = 0: three pairs are three units. Otherwise two units carry all linear parts [awasthi2021, Claim D.14]."""
    u, v = rng.normal(size=(2, 3))
    U = np.column_stack([u, v, -u - v])
    wide = Network(np.hstack([U, -U]), np.concatenate([[1.0, 2.0, -0.5], np.full(3, 0.7)]))
    assert minimal(wide).n_units == 3
    assert irreducible(wide).width == 3
    assert_same_function(wide, minimal(wide), rng)
    V = rng.normal(size=(5, 4))
    four = Network(np.hstack([V, -V]), rng.uniform(0.5, 1.5, 8), np.tile([0.2, -0.3, 1.0, 0.4], 2) * np.repeat([1, -1], 4))
    found = irreducible(four)
    assert (found.width, found.irreducible) == (6, False)
    linear = Network(np.hstack([V[:, :3], -V[:, :3]]), np.repeat([1.0, -1.0], 3))
    assert irreducible(linear).width == 2
    assert irreducible(replace(four, activation=activations.squared_relu)).irreducible


def test_near_redundancies_carry_their_gap(rng):
    net = random_network(rng, d=4, k=4)
    W, b, a = net.W.copy(), net.b.copy(), net.a.copy()
    W[:, 3], b[3] = 2 * W[:, 0] + 1e-5 * W[:, 1], 2 * b[0]
    a[2] = 1e-6
    found = irreducible(replace(net, W=W, b=b, a=a))
    assert not found.exact
    assert found.irreducible
    assert kinds(found.near) == [("ZERO", (2,)), ("DUPLICATE", (0, 3))]
    assert 1e-8 < found.near[0].gap < 1e-4
    assert 1e-7 < found.near[1].gap < 1e-4
    assert irreducible(replace(net, W=W, b=b, a=a), tol=1e-3).width == 2
    assert all(kind.value.endswith(".") for kind in Redundancy)
    W, b = np.column_stack([net.W, net.W[:, 0]]), np.append(net.b, net.b[0])
    small = Network(W, 1e-5 ** np.array([1, 0, 0, 0, 1]), b)
    assert ("DUPLICATE", (0, 4)) in kinds(irreducible(small).exact)  # small units are compared as well


def test_parallel_units_with_other_biases_are_different(rng):
    net = Network(np.tile(rng.normal(size=(3, 1)), 3), [1.0, -2.0, 1.0], [0.0, 1.0, 2.0])
    assert irreducible(net).separated
    with pytest.raises(errors.ArgumentError, match="near"):
        irreducible(net, tol=0.1, near=0.01)


@pytest.mark.parametrize("activation", ["relu", "squared_relu", "tanh"])
def test_near_duplicates_become_their_weighted_mean(activation: str, rng: np.random.Generator) -> None:
    w, v = rng.normal(size=3), rng.normal(size=3)
    other = 2.0 * (w + 1e-6 * v) if activation != "tanh" else w + 1e-6 * v
    f = Network(np.stack([w, other], axis=1), [1.0, 0.6], [0.2, 0.4 if activation != "tanh" else 0.2], activation=activation)
    g = minimal(f, tol=1e-5)
    assert g.n_units == 1
    assert distance(f, g).value < 1e-8  # of order ε^{3/2}; the first unit's direction alone is off by ε


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0, 1e4])
@pytest.mark.parametrize("activation", ["sine", "tanh", "relu"])
def test_no_scale_of_the_inputs_makes_units_vanish(activation: str, scale: float, rng: np.random.Generator) -> None:
    """The first Hermite coefficients of a fast sine do: e^{−σ²/2}."""
    network = Network(scale * rng.standard_normal((4, 3)), [1.0, -2.0, 0.5], activation=activation)
    assert irreducible(network, tol=1e-14, near=1e-6).separated
    silent = replace(network, a=np.array([1.0, 0.0, 0.5]))
    assert [(f.kind, f.units) for f in irreducible(silent).exact] == [(Redundancy.ZERO, (1,))]
