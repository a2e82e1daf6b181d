"""Reflected units: an involution, and the exact distance that it makes."""

from __future__ import annotations

import numpy as np
import pytest
from tests.identifiability.networks import AMBIGUOUS, EVERY_SUBSET, SYMMETRIC, random_network, rows

from weightlift import activations, errors
from weightlift.geometry import distance
from weightlift.identifiability import reflect, sign_patterns, twin
from weightlift.identifiability.reflections import reflection_polynomials


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("activation", [*AMBIGUOUS, "sigmoid"])
def test_sizes_are_exact_distances(rng, activation, offset):
    net = random_network(rng, activation, d=3, k=6)
    C = reflection_polynomials(net, offset=offset)
    for pattern in EVERY_SUBSET[6][rng.permutation(63)[:6] + 1]:
        expected = distance(net, reflect(net, pattern, offset=offset)).value
        assert np.linalg.norm(C @ pattern) == pytest.approx(expected, rel=1e-9, abs=3e-7)


def test_sizes_are_exact_for_a_cubic_remainder(rng):
    """φ = z₊³ has φ(−z) = φ(z) − z³: rows of order 1 and 3, and of order 0 and 2 with biases."""
    cubic = activations.custom(
        "cubed_relu",
        lambda z: np.maximum(z, 0) ** 3,
        lambda z: 3 * np.maximum(z, 0) ** 2,
        kinks=(0.0,),
        degree=3,
        reflection=(1, (0.0, 0.0, 0.0, -1.0)),
    )
    net = random_network(rng, cubic, d=2, k=6)
    pattern = np.array([True, False, True, True, False, False])
    size = np.linalg.norm(reflection_polynomials(net, offset=False) @ pattern)
    assert size == pytest.approx(distance(net, reflect(net, pattern, offset=False)).value, rel=1e-7)
    f, g = twin(random_network(rng, cubic, d=2, k=12), list(range(11)), rng=rng)  # C(2 + 3, 3) = 10 monomials
    X = rng.normal(size=(30, 2))
    np.testing.assert_allclose(f.predict(X), g.predict(X), atol=1e-11)
    assert rows(sign_patterns(f).patterns) == {(), tuple(range(11))}


@pytest.mark.parametrize("activation", [*AMBIGUOUS, *SYMMETRIC])
def test_reflection_is_an_involution(rng, activation):
    net = random_network(rng, activation)
    pattern = rng.random(7) < 0.5
    back = reflect(reflect(net, pattern), pattern)
    np.testing.assert_array_equal(back.W, net.W)
    np.testing.assert_array_equal(back.b, net.b)
    np.testing.assert_array_equal(back.a, net.a)
    assert back.c == pytest.approx(net.c, abs=1e-14)
    with pytest.raises(errors.ArgumentError, match="booleans"):
        reflect(net, pattern.astype(int))
    with pytest.raises(errors.ShapeError, match="7"):
        reflect(net, pattern[:3])
