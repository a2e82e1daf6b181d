"""T3: rows that depend on each other are counted; what no rows of this spread could have is not asked for."""

from __future__ import annotations

import numpy as np
import pytest

import weightlift as wl
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.rivals.equations import random_units, shown_equations, spare_equations


def spared(net: wl.Network, X: np.ndarray, bias: bool, seed: int) -> bool:
    gauge = Gauge.of(net, bias=bias, offset=False)
    information = Information.of(wl.samples.open(X, net.predict(X)), gauge)
    return spare_equations(wl.samples.open(X, net.predict(X)), information, rng=np.random.default_rng(seed)) is None


@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "erf", "softplus", "gelu", "silu"])
@pytest.mark.parametrize("bias", [False, True])
def test_one_input_has_as_many_equations_as_there_are(activation: str, bias: bool, seed: int) -> None:
    """Units of one input span few dimensions to rounding: four to ten of tanh, and more rows are not more of them."""
    rng = np.random.default_rng(seed)
    net = wl.Network([[1.3]], [0.8], [0.4 * bias], activation=activation)
    X = rng.standard_normal((60, 1))
    assert spared(net, X, bias, seed)
    assert wl.certify(net, X, net.predict(X), bias=bias).status is wl.Status.EXACT


def test_levels_of_one_input_are_still_counted(seed: int) -> None:
    rng = np.random.default_rng(seed)
    net = wl.Network([[1.3, -0.7]], [0.8, 1.1], [0.4, 0.2], activation="tanh")
    levels = np.sort(rng.standard_normal((8, 1)), axis=0)  # two more than parameters, of which there could be seven more
    assert spared(net, rng.standard_normal((200, 1)), True, seed)
    assert not spared(net, levels[rng.integers(8, size=200)], True, seed)


@pytest.mark.parametrize(("activation", "d"), [("sigmoid", 3), ("softplus", 3)])
def test_mirror_images_are_still_counted(activation: str, d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    net = wl.Network(rng.standard_normal((d, 3)), rng.standard_normal(3), activation=activation)
    half = rng.standard_normal((11, d))
    assert not spared(net, np.vstack([half, -half]), False, seed)
    assert spared(net, rng.standard_normal((44, d)), False, seed)


@pytest.mark.parametrize("size", [1e-3, 1e3])
def test_neither_the_inputs_units_nor_their_origin_matter(size: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    net = wl.Network([[1.3 / size]], [0.8], [0.4 - 1.3 * 5.0], activation="tanh")
    assert spared(net, size * (rng.standard_normal((60, 1)) + 5.0), True, seed)


@pytest.mark.parametrize("bias", [False, True])
def test_copies_are_as_many_equations_as_there_are_different_rows(bias: bool, seed: int) -> None:
    """Fourteen rows, seventy times, with weights and inputs off centre; perturbed by less than 1e-7, and by more."""
    rng = np.random.default_rng(seed)
    net = wl.Network(rng.standard_normal((3, 2)), [1.0, -0.7], [0.4 * bias, -0.3 * bias], activation="tanh")
    p = 2 * (4 + bias)
    X, w = np.repeat(rng.standard_normal((14, 3)) + 0.3, 5, axis=0), rng.uniform(0.1, 3.0, 70)
    gauge = Gauge.of(net, bias=bias, offset=False)
    change = rng.standard_normal(X.shape)
    for size, new in ((0.0, False), (1e-10, False), (1e-5, True)):
        source = wl.samples.open(X + size * change, net.predict(X), sample_weight=w)
        found = spare_equations(source, Information.of(source, gauge), rng=np.random.default_rng(seed))
        assert (found is None) == new
        if found is not None:
            assert (found.number, found.limit) == (14.0, p + 8.0)


@pytest.mark.parametrize("bias", [False, True])
def test_random_units_have_the_sizes_of_the_networks(bias: bool, seed: int) -> None:
    """Spread of z as the network's, to which each input adds alike, z at the centre a value of the network's, values of mean
    square one. Mean squares of 24 normal numbers lie within a factor of four but once in 10⁵."""
    rng = np.random.default_rng(seed)
    scale = np.array([1e3, 1.0, 1e-3, 1.0])
    X = rng.normal([3.0, -4.0, 2.0, 5.0], 1.0, (300, 4)) * scale
    X[:, 3] = 7.0  # of no spread: constants are the biases'
    X[:, 3] *= bias
    W = rng.standard_normal((4, 2)) / scale[:, None]
    net = wl.Network(W, [2.0, -0.5], (-X.mean(axis=0) @ W + [0.6, 4.0]) * bias, 0.0, "softplus")
    units = random_units(X, Gauge.of(net, bias=bias, offset=False), np.random.default_rng(seed))
    Z, own = X @ units.W + units.b, X @ net.W + net.b
    centre = X.mean(axis=0) if bias else np.zeros(4)
    size = np.mean((own - own.mean(axis=0) * bias) ** 2)
    spread = np.sqrt(np.mean((X - centre) ** 2, axis=0))
    shares = np.mean((units.W * spread[:, None]) ** 2, axis=1) * 4 / size
    assert not units.W[3].any()
    assert (shares[:3] > 0.25).all()
    assert (shares[:3] < 4.0).all()
    np.testing.assert_allclose(np.mean((units.a * units.activation(Z)) ** 2, axis=0), 1.0, rtol=1e-12)
    if bias:
        gaps = np.abs((centre @ units.W + units.b)[:, None] - own.ravel()).min(axis=1)
        assert gaps.max() < 1e-9 * np.abs(own).max()
    else:
        assert not units.b.any()


@pytest.mark.parametrize("activation", ["softplus", "tanh"])
def test_noise_hides_equations(activation: str, seed: int) -> None:
    """In seven tight clusters noise leaves seven equations for two units of two inputs; spread rows are enough for them, as are
    the clusters without noise, and with a unit's whole size as the margin none are."""
    rng = np.random.default_rng(seed)
    net = wl.Network(rng.standard_normal((2, 2)), [1.0, -1.0], [0.3, 0.5], activation=activation)
    centres = 2.0 * rng.standard_normal((7, 2))
    clusters = centres[rng.integers(7, size=210)] + 1e-4 * rng.standard_normal((210, 2))
    for X, margin, enough in (
        (clusters, 30 * 1e-2**2, False),
        (rng.standard_normal((210, 2)), 30 * 1e-2**2, True),
        (clusters, 30 * 1e-10**2, True),
        (rng.standard_normal((210, 2)), 1e3 * 210, False),
    ):
        rows = wl.samples.open(X, net.predict(X))
        information = Information.of(rows, Gauge.of(net, bias=True, offset=False))
        found = shown_equations(rows, information, margin, rng=np.random.default_rng(seed))
        assert (found is None) is enough
        assert enough or (found is not None and found.number <= information.gauge.size + 1 < found.limit)
