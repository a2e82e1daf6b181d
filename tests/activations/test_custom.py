"""A user's φ: derived from its values, held against the catalogue, refused where what is declared does not hold."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from tests.catalogue import ENTRIES

from weightlift import activations
from weightlift.errors import ActivationError


def swish(z):
    return z * activations.sigmoid(z)


def swish_derivative(z):
    return activations.sigmoid(z) + z * activations.sigmoid.derivative(z)


def clipped(z):
    return np.clip(z, -1.0, 2.0)


def clipped_derivative(z):
    return ((z > -1.0) & (z <= 2.0)).astype(float)


def test_custom_smooth(rng):
    """z s(z): E u s(u) = b E s + σ² E s′ (Stein), and m₁ = σ E (s + u s′)."""
    activation = activations.custom("swish", swish, swish_derivative, reflection=(1, (0.0, -1.0)))
    scale, offset = rng.uniform(0.2, 4.0, size=10), rng.normal(size=10)
    s = activations.sigmoid.hermites(1, scale, offset)
    assert np.allclose(activation.hermite(0, scale, offset), offset * s[0] + scale * s[1], rtol=1e-12, atol=0)
    assert activation.m(1, 2.0) == 1.0  # exact by reflection: −½ E(−z)σz
    z = rng.normal(size=20)
    exact = 2 * activations.sigmoid.derivative(z) + z * activations.sigmoid.second_derivative(z)
    assert np.allclose(activation.second_derivative(z), exact, rtol=0, atol=1e-9)
    copy = pickle.loads(pickle.dumps(activation))
    assert copy == activation
    assert activations.scaled(activation, 2.0).hermite(3, 0.5, 0.1) == pytest.approx(
        float(activation.hermite(3, 1.0, 0.2)), rel=1e-13, abs=0
    )


def test_custom_piecewise_linear(rng):
    """clip(u, −1, 2) = relu(u+1) − relu(u−2) − 1."""
    activation = activations.custom("clipped", clipped, clipped_derivative, kinks=(-1.0, 2.0))
    assert np.allclose(activation.jumps, (1.0, -1.0), rtol=0, atol=1e-12)
    assert np.array_equal(activation.second_derivative(np.array([-1.0, -1.0 + 1e-9, 0.0, 2.0, 5.0])), np.zeros(5))
    scale, offset = rng.uniform(0.2, 4.0, size=10), rng.normal(size=10)
    expected = activations.relu.hermites(8, scale, offset + 1) - activations.relu.hermites(8, scale, offset - 2)
    expected[0] -= 1.0
    assert np.allclose(activation.hermites(8, scale, offset), expected, rtol=1e-11, atol=1e-12)
    slope = activation.rho(scale)
    direct = activation.beta(0, scale) - activation.alpha(0, scale) ** 2 - activation.alpha(1, scale) ** 2
    assert np.all(slope <= direct + 1e-14)


def test_custom_copies_of_the_catalogue(rng):
    """The catalogue's own functions as custom ones: quadrature, measured jumps and differences find the same numbers."""
    scale = rng.uniform(0.2, 4.0, size=6)
    for known in ENTRIES:
        if known.polynomial:  # their integrals grow beyond what absolute tolerances below allow
            continue
        copy = activations.custom(
            "copy", known.value, known.derivative, kinks=known.kinks, degree=known.degree, reflection=known.reflection
        )
        assert np.allclose(copy.jumps, known.jumps, rtol=0, atol=1e-11)
        assert copy.parity == known.parity
        assert np.allclose(copy.hermites(6, scale), known.hermites(6, scale), rtol=1e-11, atol=1e-13)
        assert np.allclose(copy.rho(scale), known.rho(scale), rtol=1e-11, atol=1e-14)
        z = np.concatenate([rng.normal(size=30), [0.0]])
        error = np.abs(copy.second_derivative(z) - known.second_derivative(z))
        assert np.all(error <= np.where(z == 0, 1e-5, 1e-8))  # one-sided at a kink, h |φ‴|/2 with h = 6e-6
        assert copy != known


def test_custom_closed_form():
    calls = []

    def closed_form(order, scale, offset):
        calls.append(order)
        return activations.relu.hermite(order, scale, offset)

    relu = activations.relu
    activation = activations.custom("ramp", relu.value, relu.derivative, kinks=[0], closed_form=closed_form)
    calls.clear()
    assert np.allclose(activation.hermites(5, 1.2, 0.3), relu.hermites(5, 1.2, 0.3), rtol=1e-14, atol=0)
    assert calls == [0, 1, 2, 3, 4, 5]


def relu(z):
    return np.maximum(z, 0.0)


def step(z):
    return (z > 0).astype(float)


@pytest.mark.parametrize(
    ("arguments", "options", "word"),
    [
        (("relu", relu, step), {"kinks": [0]}, "name"),
        (("", relu, step), {"kinks": [0]}, "name"),
        (("f", relu, step), {}, "kinks"),
        (("f", relu, step), {"kinks": [1, 0]}, "kinks"),
        (("f", relu, step), {"kinks": [np.nan]}, "kinks"),
        (("f", relu, lambda z: -step(z)), {"kinks": [0]}, "derivative"),
        (("f", relu, step, lambda z: 1.0 + z), {"kinks": [0]}, "second_derivative"),
        (("f", step, lambda z: 0.0 * z), {"kinks": [0]}, "continuous"),
        (("f", lambda z: np.log(z), lambda z: 1 / z), {}, "value"),
        (("f", lambda z: z.sum(), lambda z: z), {}, "elementwise"),
        (("f", relu, step), {"kinks": [0], "jumps": [2.0]}, "jumps"),
        (("f", relu, step), {"kinks": [0], "jumps": []}, "jumps"),
        (("f", relu, step), {"kinks": [0], "degree": 2}, "degree"),
        (("f", relu, step), {"kinks": [0], "reflection": (-1, ())}, "reflection"),
        (("f", relu, step), {"kinks": [0], "reflection": (2, ())}, "reflection"),
        (("f", np.sin, np.cos), {"repeats": (np.pi, 1)}, r"not \+1"),
        (("f", np.sin, np.cos), {"repeats": (2 * np.pi, 1)}, "-1 φ.z. already"),
        (("f", np.sin, np.cos), {"repeats": (3 * np.pi, -1)}, "the least period"),
        (("f", np.sin, np.cos), {"repeats": (-np.pi, -1)}, "above 0"),
        (("f", relu, step), {"kinks": [0], "analytic": True}, "analytic"),
        (("f", relu, step), {"kinks": [0], "closed_form": lambda k, s, b: 0.0 * s}, "closed_form"),
    ],
)
def test_custom_refuses_what_does_not_hold(arguments, options, word):
    with np.errstate(all="ignore"), pytest.raises(ActivationError, match=word):
        activations.custom(*arguments, **options)
