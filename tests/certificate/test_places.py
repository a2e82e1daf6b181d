"""Units that take each other's places, two or more at once, on inputs with discrete columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import weightlift as wl
from weightlift import samples
from weightlift.refinement.gauss_newton import gauss_newton


def three_levels(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three units along a column of three levels: all change places, and no two of them alone can.

    zᵢ = bᵢ + uᵢ x in the order (0 1 2) at x = 0, (2 0 1) at x = 1 and (1 2 0) at x = 2: affine again where
    b₀ − 2(b₂ + u₂) + b₁ + 2u₁ = 0 and so on in turn, of which two are independent.
    """
    M = np.zeros((3, 6))
    for i in range(3):
        M[i, i] += 1.0  # b of unit i, at x = 0
        M[i, (i + 2) % 3] -= 2.0
        M[i, 3 + (i + 2) % 3] -= 2.0
        M[i, (i + 1) % 3] += 1.0
        M[i, 3 + (i + 1) % 3] += 2.0
    null = np.linalg.svd(M)[2][2:]
    theta = rng.standard_normal(len(null)) @ null
    b, u = 1.5 * theta[:3] / np.abs(theta).max(), 1.5 * theta[3:] / np.abs(theta).max()
    there = np.roll(b + u, 1)
    return np.arange(3.0)[:, None], np.stack([u, b], axis=1), np.stack([there - b, b], axis=1)


def small_difference(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two units on the corners of a square that differ little on two of them: they change places at one of these alone."""
    h = 0.08 + 0.04 * rng.random()
    one = np.array([0.2, -0.3, 0.6])
    other = one + np.array([0.785 - h, 0.785 + h, -0.785])  # the difference is −0.785, −h, h, 0.785 on 00, 10, 01, 11
    e = np.array([-h, h, 0.0])  # the difference on 10 and 01, zero on 00 and 11
    places = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    return places, np.stack([one, other]), np.stack([one + e, other - e])


def with_common_part(functions: np.ndarray, v: np.ndarray, activation: str) -> wl.Network:
    m = len(functions)
    W = np.vstack([np.tile(v[:, None], (1, m)), functions[:, :-1].T])
    return wl.Network(W, np.ones(m), functions[:, -1], 0.0, activation)


@pytest.mark.parametrize("activation", ["relu", "squared_relu", "absolute", "tanh", "sigmoid", "softplus"])
@pytest.mark.parametrize("planted", [three_levels, small_difference])
def test_units_in_other_places_are_ambiguous(planted, activation: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    places, functions, others = planted(rng)
    X = np.hstack([1.5 * rng.standard_normal((300, 2)), places[rng.integers(len(places), size=300)]])
    v = np.array([1.0, -0.7])
    one, other = (with_common_part(f, v, activation) for f in (functions, others))
    y = one.predict(X)
    assert np.abs(other.predict(X) - y).max() < 1e-13 * np.abs(y).max()
    assert not one.equivalent(other, 1e-2)
    for net in (one, other):
        assert wl.certify(net, X, y).status is not wl.Status.EXACT
    noisy = y + 1e-3 * rng.standard_normal(len(y))
    net = gauss_newton(samples.open(X, noisy), other, free="Wb" if one.activation.degree else "Wab").network
    assert wl.certify(net, X, noisy).status is not wl.Status.STATISTICAL


def test_units_in_general_position_have_no_other_places(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = np.hstack([rng.standard_normal((400, 2)), rng.integers(-1, 2, (400, 3)), rng.integers(0, 2, (400, 2)) - 0.5])
    net = wl.Network(rng.standard_normal((7, 4)), None, 0.5 * rng.standard_normal(4), activation="tanh")
    assert wl.certify(net, X, net.predict(X)).status is wl.Status.EXACT
    discrete = replace(net, W=net.W[2:])
    assert not wl.certify(discrete, X[:, 2:], discrete.predict(X[:, 2:]))  # no input is continuous: no theorem holds
