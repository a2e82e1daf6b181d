"""T3: rows that depend on each other are counted; what no rows of this spread could have is not asked for."""

from __future__ import annotations

import numpy as np
import pytest

import weightlift as wl
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.rivals.equations import spare_equations


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
