"""Moments of two units: the two routes against each other, Stein's identities, closed forms, and a third quadrature."""

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.catalogue import HOMOGENEOUS as KINKED
from tests.catalogue import SMOOTH as ANALYTIC

from weightlift import activations
from weightlift.errors import ActivationError
from weightlift.theory.pair_moments import Pairs, _by_angles, _by_conditioning, dirac_moments, pair_moments

HOMOGENEOUS = [*KINKED, "linear", "quadratic"]
SMOOTH = [*ANALYTIC, "tanh(2.5x)"]


def pairs_of(phi, psi, rng, *, bias, k=2, m=3, d=3):
    phi, psi = activations.get(phi), activations.get(psi)
    W, V = rng.normal(size=(d, k)), rng.normal(size=(d, m))
    V[:, 0] = W[:, 0]  # a parallel pair
    return Pairs.of(phi, W, bias * rng.normal(size=k), psi, V, bias * rng.normal(size=m))


@pytest.mark.parametrize("name", HOMOGENEOUS)
@pytest.mark.parametrize("orders", [(1, 1), (1, 0), (2, 0)])
def test_both_routes_agree(rng, name, orders):
    """Also for parallel and opposite units, and for those 10⁻³, 10⁻⁶, 10⁻⁹ away from it."""
    phi, W = activations.get(name), rng.normal(size=(4, 1))
    near = [sign * W + gap * rng.normal(size=W.shape) for gap in (1e-3, 1e-6, 1e-9) for sign in (1, -1)]
    V = np.hstack([W, -2 * W, 5 * rng.normal(size=W.shape), *near])
    pairs = Pairs.of(phi, W, np.zeros(1), phi, V, np.zeros(V.shape[1]))
    angles, conditioned = _by_angles(pairs, *orders), _by_conditioning(pairs, *orders)
    np.testing.assert_allclose(conditioned, angles, rtol=0, atol=1e-13 * (1 + np.abs(angles).max()))


@pytest.mark.parametrize("name", [*HOMOGENEOUS, *SMOOTH])
@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_stein_identities(rng, name, bias):
    """E φ′ψ z₁ = σ E φ″ψ + τr E φ′ψ′ with the Dirac part of φ″, and E φ′ψ z₂ = τs E φ′ψ′."""
    pairs = pairs_of(name, name, rng, bias=bias)
    first, mixed = pair_moments(pairs, 1, 0), pair_moments(pairs, 1, 1)
    second = pair_moments(pairs, 2, 0) + dirac_moments(pairs)
    size = 1 + np.abs(first).max() + np.abs(second).max()
    np.testing.assert_allclose(pairs.sigma * second[0] + pairs.tau * pairs.r * mixed[0], first[1], atol=1e-12 * size)
    np.testing.assert_allclose(pairs.tau * pairs.s * mixed[0], first[2], atol=1e-12 * size)


@pytest.mark.parametrize("name", ["elu", "hard_tanh", "swish"])
def test_stein_identities_of_users_activations(users, name):
    rng = np.random.default_rng(5)
    pairs = pairs_of(users[name], users[name], rng, bias=1.0, k=1, m=2)
    first, mixed = pair_moments(pairs, 1, 0), pair_moments(pairs, 1, 1)
    second = pair_moments(pairs, 2, 0) + dirac_moments(pairs)
    tolerance = 1e-9 if name == "swish" else 1e-12  # φ″ of the swish is a difference quotient
    np.testing.assert_allclose(pairs.sigma * second[0] + pairs.tau * pairs.r * mixed[0], first[1], atol=tolerance)
    np.testing.assert_allclose(pairs.tau * pairs.s * mixed[0], first[2], atol=tolerance)


def test_relu_pairs_in_closed_form(rng):
    """With the angle δ: E 1{u>0}1{t>0} = (π−δ)/2π; E 1{u>0}1{t>0} z₁² = (π−δ+sin δ cos δ)/2π, z₂²: π−δ−sin δ cos δ."""
    pairs = pairs_of("relu", "relu", rng, bias=0.0)
    delta = np.arctan2(pairs.s, pairs.r)
    one, _, _, z11, z12, z22 = pair_moments(pairs, 1, 1) * 2 * math.pi
    np.testing.assert_allclose(one, math.pi - delta, rtol=1e-13)
    np.testing.assert_allclose(z11, math.pi - delta + np.sin(delta) * np.cos(delta), rtol=1e-13)
    np.testing.assert_allclose(z22, math.pi - delta - np.sin(delta) * np.cos(delta), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(z12, np.sin(delta) ** 2, atol=1e-13)


def test_dirac_part_of_relu_in_closed_form(rng):
    """On u = 0 the other unit is τs z₂: E δ(u) t₊ {1, z₂²} = τs/(2πσ) {1, 2}."""
    pairs = pairs_of("relu", "relu", rng, bias=0.0)
    dirac = dirac_moments(pairs)
    np.testing.assert_allclose(dirac[0], pairs.tau * pairs.s / (2 * math.pi * pairs.sigma), rtol=1e-13)
    np.testing.assert_allclose(dirac[5], 2 * dirac[0], rtol=1e-13)
    np.testing.assert_allclose(dirac[[1, 3, 4]], 0, atol=1e-15)


@pytest.mark.parametrize(("phi", "psi"), [("tanh", "sigmoid"), ("softplus", "erf"), ("quadratic", "tanh")])
def test_smooth_pairs_against_a_product_rule(rng, phi, psi):
    """Gauss–Hermite on a product grid, which converges fast at small scales."""
    pairs = pairs_of(phi, psi, rng, bias=1.0)
    pairs = replace(pairs, sigma=0.4 * pairs.sigma / pairs.sigma.max(), tau=0.4 * pairs.tau / pairs.tau.max())
    x, w = np.polynomial.hermite_e.hermegauss(120)
    z1, z2 = (z.ravel() for z in np.meshgrid(x, x))
    weight = np.outer(w, w).ravel() / (2 * math.pi)
    u = np.multiply.outer(pairs.sigma, z1) + pairs.b[:, None]
    t = pairs.tau[:, None] * (np.multiply.outer(pairs.r, z1) + np.multiply.outer(pairs.s, z2)) + pairs.c[:, None]
    for (left, right), values in {
        (1, 1): pairs.phi.derivative(u) * pairs.psi.derivative(t),
        (1, 0): pairs.phi.derivative(u) * pairs.psi.value(t),
        (2, 0): pairs.phi.second_derivative(u) * pairs.psi.value(t),
    }.items():
        expected = np.stack([(values * e) @ weight for e in (1, z1, z2, z1 * z1, z1 * z2, z2 * z2)])
        np.testing.assert_allclose(
            pair_moments(pairs, left, right), expected, rtol=0, atol=1e-12 * (1 + np.abs(expected).max())
        )


def test_frames(rng):
    """w̄ and q are orthonormal (q vanishes for parallel units) and rebuild both units."""
    W, V = rng.normal(size=(4, 2)), rng.normal(size=(4, 3))
    V[:, 1], V[:, 2] = 3 * W[:, 1], -2 * W[:, 0]
    pairs = Pairs.of(activations.relu, W, np.zeros(2), activations.relu, V, np.zeros(3))
    grams = pairs.frames.transpose(0, 2, 1) @ pairs.frames
    np.testing.assert_allclose(grams[:2], np.broadcast_to(np.eye(2), (2, 2, 2)), atol=1e-14)
    assert list(pairs.s == 0) == [False, False, True, False, True, False]
    assert list(pairs.r[[2, 4]]) == [-1, 1]
    w, q = pairs.frames[:, :, 0].T, pairs.frames[:, :, 1].T
    np.testing.assert_allclose(pairs.sigma * w, np.repeat(W, 3, axis=1), atol=1e-14)
    np.testing.assert_allclose(pairs.tau * (pairs.r * w + pairs.s * q), np.tile(V, (1, 2)), atol=1e-14)


def test_an_undeclared_kink_is_found_out():
    """activations.custom refuses most of them; one that slips through does not settle here."""
    hidden = replace(activations.tanh, value=lambda z: np.abs(z - 0.2), derivative=lambda z: np.sign(z - 0.2))
    pairs = Pairs.of(hidden, np.eye(2), np.zeros(2), hidden, np.eye(2) + 0.1, np.zeros(2))
    with pytest.raises(ActivationError, match="do not settle"):
        pair_moments(pairs, 1, 1)
