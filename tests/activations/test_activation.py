"""An activation called on numbers, lists and arrays: its namespace, its dtype, its slopes, its symmetries."""

from __future__ import annotations

import numpy as np
import pytest
from tests.catalogue import EVERY, name

from weightlift import activations
from weightlift.namespaces import to_numpy


@pytest.mark.parametrize("activation", EVERY, ids=name)
def test_namespaces_agree_and_keep_the_dtype(activation, as_xp, rng):
    z = np.concatenate([3.0 * rng.normal(size=40), [0.0]])
    for function in (activation.value, activation.derivative, activation.second_derivative, activation):
        expected = function(z)
        for dtype, tolerance in (("float64", 1e-14), ("float32", 2e-5)):
            found = function(as_xp(z, dtype))
            assert dtype in str(found.dtype)
            error = np.abs(to_numpy(found) - expected)
            assert np.all(error <= tolerance * (1.0 + np.abs(expected) + z**2))
        assert function(z.reshape(1, 41)).shape == (1, 41)


@pytest.mark.parametrize("activation", EVERY, ids=name)
def test_derivatives_are_the_slopes(activation, rng):
    """Central differences err by h²|φ‴|/6 + eps|φ|/h: below 1e-8 (1 + |z|³) for h = 6e-6 and every |φ‴| ≤ 40."""
    z = 2.0 * rng.normal(size=200)
    z = z[np.abs(z) > 1e-4]
    h = 6e-6
    for function, slope in (
        (activation.value, activation.derivative),
        (activation.derivative, activation.second_derivative),
    ):
        difference = (function(z + h) - function(z - h)) / (2 * h)
        assert np.all(np.abs(difference - slope(z)) <= 1e-8 * (1.0 + np.abs(z) ** 3))


@pytest.mark.parametrize("activation", EVERY, ids=name)
def test_declared_symmetries_hold(activation, rng):
    z = 3.0 * rng.normal(size=100)
    if activation.reflection is None:
        assert activation.name == "elu"
        return
    sign, polynomial = activation.reflection
    shift = np.polynomial.polynomial.polyval(z, polynomial or (0.0,))
    size = 1.0 + np.abs(activation(z)) + np.abs(shift)
    assert np.all(np.abs(activation(-z) - sign * activation(z) - shift) <= 1e-14 * size)
    if activation.degree is not None:
        t = rng.uniform(0.1, 5.0, size=100)
        assert np.allclose(activation(t * z), t**activation.degree * activation(z), rtol=1e-13, atol=0)


@pytest.mark.parametrize("activation", [*EVERY, activations.scaled("sine", 2.5)], ids=name)
def test_declared_periods_hold_and_are_the_least(activation, rng):
    z = 3.0 * rng.normal(size=100)
    if activation.repeats is None:
        assert activation.name != "sine"
        return
    period, sign = activation.repeats
    assert np.allclose(activation(z + period), sign * activation(z), rtol=0, atol=1e-14)
    for part in (period / 2, period / 3):
        assert all(np.abs(activation(z + part) - s * activation(z)).max() > 0.1 for s in (1, -1))


def test_symmetries_of_the_catalogue():
    parity = {name: activations.get(name).parity for name in ("absolute", "quadratic", "linear", "tanh", "sine")}
    assert parity == {"absolute": "even", "quadratic": "even", "linear": "odd", "tanh": "odd", "sine": "odd"}
    assert activations.gelu.reflection == activations.silu.reflection == (1, (0.0, -1.0))
    assert activations.elu().reflection is None
    assert activations.sigmoid.reflection == (-1, (1.0,))
    assert activations.softplus.reflection == (1, (0.0, -1.0))
    assert activations.relu.reflection == (1, (0.0, -1.0))
    assert activations.squared_relu.reflection == (-1, (0.0, 0.0, 1.0))
    assert activations.sigmoid.parity is None
    assert activations.relu.parity is None
    degrees = {name: activations.get(name).degree for name in ("relu", "squared_relu", "absolute", "quadratic", "tanh")}
    assert degrees == {"relu": 1, "squared_relu": 2, "absolute": 1, "quadratic": 2, "tanh": None}
    assert activations.polynomial([0, 0, 0, 2]).degree == 3
    assert activations.polynomial([0, 0, 0, 2]).parity == "odd"
    assert activations.polynomial([1, 1]).degree is None


def test_python_numbers_and_lists():
    assert activations.relu(2) == 2.0
    assert activations.tanh(-0.5) == np.tanh(-0.5)
    assert activations.erf(0.5) == pytest.approx(0.5204998778130465, rel=1e-15, abs=0)
    assert np.array_equal(activations.quadratic([1, 2, 3]), [1.0, 4.0, 9.0])
