"""Units that take each other's places, two or more at once, on inputs with discrete columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.catalogue import KINDS
from tests.rivals.instances import small_difference, three_levels, with_common_part

import weightlift as wl
from weightlift import samples
from weightlift.refinement.gauss_newton import gauss_newton


@pytest.mark.parametrize("activation", KINDS)
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


@pytest.mark.parametrize("seed", [2, 8, 27, 52, 58])
def test_regions_hold_the_region_around_another_minimum_inside(seed: int) -> None:
    """tanh units that hardly differ at two corners: the two networks are one valley's minima, and either may be the truth."""
    rng = np.random.default_rng(seed)
    places, functions, others = small_difference(rng)
    X = np.hstack([1.5 * rng.standard_normal((300, 2)), places[rng.integers(len(places), size=300)]])
    one, other = (with_common_part(f, np.array([1.0, -0.7]), "tanh") for f in (functions, others))
    noisy = one.predict(X) + 1e-3 * rng.standard_normal(300)
    certificate = wl.certify(gauss_newton(samples.open(X, noisy), other, free="Wab").network, X, noisy)
    assert not certificate or all(certificate.locate(net, wide=False)[0].all() for net in (one, other))


def test_units_in_general_position_have_no_other_places(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = np.hstack([rng.standard_normal((400, 2)), rng.integers(-1, 2, (400, 3)), rng.integers(0, 2, (400, 2)) - 0.5])
    net = wl.Network(rng.standard_normal((7, 4)), None, 0.5 * rng.standard_normal(4), activation="tanh")
    assert wl.certify(net, X, net.predict(X)).status is wl.Status.EXACT
    discrete = replace(net, W=net.W[2:])
    assert not wl.certify(discrete, X[:, 2:], discrete.predict(X[:, 2:]))  # no input is continuous: no theorem holds
