"""Twins: one function, other units."""

from __future__ import annotations

import numpy as np
import pytest
from tests.identifiability.networks import random_network, rows

from weightlift import errors
from weightlift.identifiability import sign_patterns, twin
from weightlift.network import Network


@pytest.mark.parametrize(("activation", "size"), [("relu", 5), ("leaky_relu", 5), ("softplus", 5), ("squared_relu", 11)])
def test_twins_have_one_function_and_different_units(rng, activation, size):
    """d + 2 units for a linear remainder, (d + 1)(d + 2)/2 + 1 for a quadratic one, d = 3."""
    net = random_network(rng, activation, d=3, k=13)
    S = sorted(rng.permutation(13)[:size].tolist())
    f, g = twin(net, S, rng=rng)
    X = rng.normal(size=(200, 3))
    np.testing.assert_allclose(f.predict(X), g.predict(X), atol=1e-12)
    assert not f.equivalent(g, tol=1e-3)
    outside = np.setdiff1d(np.arange(13), S)
    np.testing.assert_array_equal(f.a[outside], net.a[outside])
    np.testing.assert_array_equal(f.W, net.W)
    assert tuple(S) in rows(sign_patterns(f).patterns)
    assert sign_patterns(f).ambiguous
    with pytest.raises(errors.SingularError, match="independent"):
        twin(net, S[:-1])


def test_twins_of_weights_alone(rng):
    W = rng.normal(size=(4, 7))
    f, g = twin(W, [0, 2, 3, 4, 6], rng=3)
    X = rng.normal(size=(100, 4))
    np.testing.assert_allclose(f.predict(X), g.predict(X), atol=1e-12)
    assert (np.abs(f.a) > 0).all()
    np.testing.assert_array_equal(twin(W, [0, 2, 3, 4, 6], rng=3)[0].a, f.a)
    W[:, 2] = 2 * W[:, 0] - W[:, 1]
    with pytest.raises(errors.ArgumentError, match=r"units \[3\] take no part"):
        twin(W, [0, 1, 2, 3])
    with pytest.raises(errors.ArgumentError, match="different units"):
        twin(W, [0, 0, 1])
    with pytest.raises(errors.ArgumentError, match="non-empty"):
        twin(W, [])
    with pytest.raises(errors.ArgumentError, match="unit 1 is zero"):
        twin(W * (np.arange(7) != 1))
    with pytest.raises(errors.ActivationError, match="tanh"):
        twin(Network(W, activation="tanh"))
