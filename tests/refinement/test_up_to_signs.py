"""Fits before signs are known, and the signs after."""

from __future__ import annotations

import numpy as np
import pytest

import weightlift as wl
from weightlift import Network
from weightlift.errors import ArgumentError
from weightlift.refinement import AffineNetwork, fit_affine, refine_up_to_signs
from weightlift.refinement.up_to_signs import signed, with_far_unit, without_far_unit


def flipped(net, flips):
    """The affine network of the same function with these units reflected: a σ(u) = a σ(−u) + a u."""
    signs = np.where(flips, -1.0, 1.0)
    units = Network(net.W * signs, net.a, net.b * signs)
    return AffineNetwork(units, net.W @ (net.a * flips), float(net.a @ (net.b * flips)))


@pytest.mark.parametrize(("d", "k"), [(5, 4), (4, 7), (3, 12)])
def test_signs_are_found_from_the_affine_part(d, k, rng):
    net = wl.teachers.biased(d, k, rng=rng)
    flips = rng.random(k) < 0.5
    found, patterns, error = signed(flipped(net, flips))
    assert (patterns, error < 1e-12) == (1, True)
    assert found.equivalent(net)


def test_an_offset_takes_the_constant(rng):
    net = wl.teachers.biased(5, 4, rng=rng)
    flips = np.array([True, False, True, True])
    function = flipped(net, flips)
    shifted = AffineNetwork(function.units, function.v, function.c + 0.3)
    assert signed(shifted)[0] is None
    found, _, _ = signed(shifted, offset=True)
    assert found.c == pytest.approx(0.3)
    assert found.equivalent(Network(net.W, net.a, net.b, 0.3))


def test_ambiguous_signs_are_counted(rng):
    W = rng.standard_normal((3, 5))
    b = rng.standard_normal(5)
    null = np.linalg.svd(np.vstack([W, b]))[2][-1]  # Σ aᵢ (wᵢ, bᵢ) = 0: reflecting all units changes nothing
    net = Network(W, null, b)
    found, patterns, _ = signed(flipped(net, np.array([True, False, False, False, True])))
    assert patterns == 2
    assert float(wl.distance(found, net)) < 1e-12


def test_the_far_unit_is_the_affine_function(rng):
    net = wl.teachers.biased(4, 3, rng=rng)
    X = rng.standard_normal((200, 4))
    for function in (AffineNetwork(net, rng.standard_normal(4), 0.4), AffineNetwork(net, np.zeros(4), 0.0)):
        network = with_far_unit(function)
        np.testing.assert_allclose(network.predict(X), function.predict(X), atol=1e-12)
        back = without_far_unit(network)
        np.testing.assert_allclose(np.append(back.v, back.c), np.append(function.v, function.c), atol=1e-12)


@pytest.mark.parametrize(("d", "k"), [(4, 3), (3, 5)])
def test_a_rough_start_with_wrong_signs_becomes_exact(d, k, seed):
    rng = np.random.default_rng(seed)
    truth = wl.teachers.biased(d, k, rng=seed)
    rows = wl.samples.open(*wl.draw(truth, 1500, rng=seed))
    starts = []
    for _ in range(3):
        signs = rng.choice([-1.0, 1.0], k)
        W = (truth.W + 0.03 * rng.standard_normal((d, k))) * signs
        starts.append(fit_affine(rows, Network(W, np.ones(k), truth.b * signs)))
    found = refine_up_to_signs(rows, *starts)
    assert found.risk < 1e-22
    assert float(wl.distance(found.function.consolidated(), truth)) < 1e-10
    assert wl.match(found.network, truth).max_error < 1e-9


def test_starts_must_have_units():
    rows = wl.samples.open(np.eye(3), np.ones(3))
    with pytest.raises(ArgumentError, match="fit_affine"):
        refine_up_to_signs(rows, AffineNetwork(None, np.zeros(3), 1.0))
    with pytest.raises(ArgumentError, match="starts"):
        refine_up_to_signs(rows)
