"""Values and derivatives: namespaces, dtypes, kinks, tails."""

from __future__ import annotations

import numpy as np
import pytest
from tests.catalogue import ENTRIES, EVERY, name

from weightlift import activations
from weightlift.namespaces import to_numpy


@pytest.mark.parametrize("activation", EVERY, ids=name)
def test_left_derivatives_and_jumps(activation):
    assert len(activation.kinks) == len(activation.jumps)
    h = 1e-9
    for kink, jump in zip(activation.kinks, activation.jumps, strict=True):
        left, at, right = activation.derivative(np.array([kink - h, kink, kink + h]))
        assert abs(at - left) < 1e-8
        assert abs(right - left - jump) < 1e-8
    if not activation.kinks:
        low, at, high = activation.derivative(np.array([-h, 0.0, h]))
        assert abs(high - at) < 1e-8
        assert abs(at - low) < 1e-8


def test_kink_conventions():
    zero = np.zeros(1)
    assert activations.relu.derivative(zero) == 0.0
    assert activations.leaky_relu(0.2).derivative(zero) == 0.2
    assert activations.absolute.derivative(zero) == -1.0
    assert activations.relu.jumps == (1.0,)
    assert activations.absolute.jumps == (2.0,)
    assert activations.leaky_relu(0.2).jumps == (0.8,)
    assert activations.squared_relu.kinks == (0.0,)
    assert activations.squared_relu.jumps == activations.elu().jumps == (0.0,)
    assert activations.elu().kinks == (0.0,)
    assert activations.elu(0.4).jumps == (0.6,)


@pytest.mark.parametrize("activation", [phi for phi in ENTRIES if not phi.polynomial], ids=name)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nothing_overflows(activation, dtype, as_xp):
    z = as_xp([-1e4, -700.0, -90.0, 0.0, 90.0, 700.0, 1e4], dtype)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        for function in (activation.value, activation.derivative, activation.second_derivative):
            assert np.all(np.isfinite(to_numpy(function(z))))


def test_gelu_tails():
    """zΦ(z) = −φ₀(z)(1 − 1/z² + 3/z⁴ − …) far below zero; 105/z⁸ is the next term."""
    z = np.array([-20.0, -30.0, -37.0])
    series = -np.exp(-z * z / 2) / np.sqrt(2 * np.pi) * (1 - z**-2.0 + 3 * z**-4.0 - 15 * z**-6.0)
    assert np.allclose(activations.gelu(z), series, rtol=106 * 20.0**-8, atol=0)


def test_the_complementary_error_function_in_any_namespace(as_xp, rng):
    """By each library, or by the standard's operations alone, to 1e-12 of its size in the upper tail too."""
    from scipy.special import erfc as scipy_erfc

    from weightlift.namespaces import erfc

    z = np.concatenate([3.0 * rng.normal(size=200), [0.0, -9.0, 9.0]])
    assert np.allclose(to_numpy(erfc(as_xp(z))), scipy_erfc(z), rtol=1e-12, atol=0)


def test_tails_keep_relative_accuracy():
    """1/(1+e⁻ᶻ) = eᶻ(1 − eᶻ + …), tanh′ = 4e^{−2z}(1 − 2e^{−2z} + …): the next term is below 1e-15 at |z| = 40."""
    z = np.array([40.0, 100.0, 300.0])
    assert np.allclose(activations.sigmoid(-z), np.exp(-z), rtol=1e-14, atol=0)
    assert np.allclose(activations.sigmoid.derivative(z), np.exp(-z), rtol=1e-14, atol=0)
    assert np.allclose(activations.tanh.derivative(-z), 4 * np.exp(-2 * z), rtol=1e-14, atol=0)
    assert np.allclose(activations.tanh.second_derivative(z), -8 * np.exp(-2 * z), rtol=1e-14, atol=0)
    assert np.allclose(activations.softplus(-z), np.exp(-z), rtol=1e-14, atol=0)
