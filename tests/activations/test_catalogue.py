"""Names, scaled versions, files, pickles, and activations of the user's own."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from tests.catalogue import ENTRIES, EVERY, name

from weightlift import activations
from weightlift.errors import ActivationError

EXAMPLES = [
    *EVERY,
    activations.polynomial([0.1, 0.0, -1.0 / 3.0]),
    activations.scaled("tanh", 1.0 / 3.0),
    activations.scaled(activations.polynomial([1.0, 2.0]), 1e-7),
]


def swish(z):
    return z * activations.sigmoid(z)


def swish_derivative(z):
    return activations.sigmoid(z) + z * activations.sigmoid.derivative(z)


def clipped(z):
    return np.clip(z, -1.0, 2.0)


def clipped_derivative(z):
    return ((z > -1.0) & (z <= 2.0)).astype(float)


@pytest.mark.parametrize("activation", EXAMPLES, ids=name)
def test_round_trips(activation):
    text = json.dumps(activations.to_json(activation))
    for copy in (activations.from_json(json.loads(text)), pickle.loads(pickle.dumps(activation))):
        assert copy == activation
        assert hash(copy) == hash(activation)
        assert copy.hermite(2, 1.3, 0.4) == activation.hermite(2, 1.3, 0.4)
    assert activations.get(activation) is activation
    assert activation in {activation: 1}


def test_all_examples_differ():
    assert len(set(EXAMPLES)) == len(EXAMPLES)


def test_names_and_aliases():
    assert activations.get("identity") is activations.linear
    assert activations.get("logistic") is activations.sigmoid
    assert activations.get(" relu ") is activations.get("ReLU") is activations.relu
    for theirs, ours in (("GELU", "gelu"), ("Gelu", "gelu"), ("SiLU", "silu"), ("Sin", "sine"), ("Abs", "absolute")):
        assert activations.get(theirs) is activations.get(ours)
    assert activations.get("LeakyReLU", slope=0.2) == activations.get("LeakyRelu", slope=0.2) == activations.leaky_relu(0.2)
    assert activations.get("ELU", alpha=0.5) == activations.get("Elu", alpha=0.5) == activations.elu(0.5)
    assert activations.get("leaky_relu").parameters == (("slope", 0.01),)
    assert activations.get("leaky_relu", slope=0.2) == activations.leaky_relu(0.2)
    assert activations.get("polynomial", coefficients=[1, 2, 0]) == activations.polynomial((1.0, 2.0))
    assert repr(activations.leaky_relu(0.2)) == "Activation('leaky_relu', slope=0.2)"


def test_what_is_known_of_each():
    """Analytic without kinks, a polynomial or not, unique or not; a factor of z changes none of it."""
    for activation in EXAMPLES:
        base = activations.get(activations.to_json(activation)["name"], **dict(activation.parameters, factor=1.0))
        assert activation.analytic == (not activation.kinks) == base.analytic
        assert activation.polynomial == (base.name in ("linear", "quadratic", "polynomial"))
        assert activation.uniqueness == base.uniqueness
        assert bool(activation.uniqueness) != (activation.polynomial or base.name in ("sine", "elu"))
    assert "awasthi2021" in activations.leaky_relu(0.3).uniqueness
    assert not activations.custom("swish", swish, swish_derivative).analytic
    assert activations.custom("swish", swish, swish_derivative, analytic=True).analytic


@pytest.mark.parametrize("name", ["tanh(2.5x)", "tanh(5x/2)", "tanh(25e-1x)"])
def test_scaled_names(name):
    tanh = activations.get(name)
    assert tanh == activations.scaled(activations.tanh, 2.5) == activations.get("tanh", factor=2.5)
    assert tanh.name == "tanh(2.5x)"
    assert activations.scaled("tanh", 2).name == "tanh(2x)"


def test_scaled_is_the_function_of_the_scaled_argument(rng):
    z = rng.normal(size=50)
    scale, offset = rng.uniform(0.2, 3.0, size=8), rng.normal(size=8)
    for base in (activations.softplus, activations.squared_relu, activations.leaky_relu(0.1), activations.erf):
        c = float(rng.uniform(0.3, 3.0))
        stretched = activations.scaled(base, c)
        assert np.allclose(stretched(z), base(c * z), rtol=1e-15, atol=0)
        assert np.allclose(stretched.derivative(z), c * base.derivative(c * z), rtol=1e-15, atol=0)
        assert np.allclose(stretched.second_derivative(z), c**2 * base.second_derivative(c * z), rtol=1e-15, atol=0)
        assert np.allclose(stretched.hermites(6, scale, offset), base.hermites(6, c * scale, c * offset), rtol=1e-13, atol=0)
        assert np.allclose(stretched.alpha(2, scale), c * base.alpha(2, c * scale), rtol=1e-13, atol=0)
        assert np.allclose(stretched.beta(2, scale), c**2 * base.beta(2, c * scale), rtol=1e-13, atol=0)
        assert np.allclose(stretched.rho(scale), c**2 * base.rho(c * scale), rtol=1e-12, atol=0)
        assert stretched.degree == base.degree
        assert stretched.jumps == tuple(c * jump for jump in base.jumps)


def test_scaling_composes():
    assert activations.scaled(activations.scaled("tanh", 2.0), 1.25) == activations.scaled("tanh", 2.5)
    assert activations.scaled(activations.scaled("squared_relu", 2.0), 0.5) is activations.squared_relu
    assert activations.scaled("squared_relu", 3.0).reflection == (-1, (0.0, 0.0, 9.0))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: activations.get("rleu"), ["'rleu'", "Did you mean 'relu'", "squared_relu"]),
        (lambda: activations.get("ReLu6"), ["Did you mean 'relu'"]),
        (lambda: activations.get("zzz"), ["zzz", "tanh", "custom"]),
        (lambda: activations.get(3), ["int"]),
        (lambda: activations.get("relu", slope=1), ["slope"]),
        (lambda: activations.get("leaky_relu", slop=1), ["slop", "leaky_relu(slope"]),
        (lambda: activations.get(activations.relu, slope=1), ["slope"]),
        (lambda: activations.get("polynomial"), ["coefficients"]),
        (lambda: activations.get("tanh(ax)"), ["tanh(ax)", "number"]),
        (lambda: activations.get("tanh(2x/0)"), ["number"]),
        (lambda: activations.get("tanh(2x)", factor=2.0), ["twice"]),
        (lambda: activations.get("tnah(2x)"), ["Did you mean 'tanh'"]),
        (lambda: activations.scaled("tanh", 0.0), ["factor", "positive"]),
        (lambda: activations.scaled("tanh", -2.0), ["factor", "positive"]),
        (lambda: activations.scaled("tanh", float("nan")), ["factor", "finite"]),
        (lambda: activations.leaky_relu("steep"), ["slope"]),
        (lambda: activations.elu(0.0), ["alpha", "relu"]),
        (lambda: activations.leaky_relu(1.0), ["linear"]),
        (lambda: activations.polynomial([]), ["coefficients"]),
        (lambda: activations.polynomial([0.0, 0.0]), ["zero"]),
        (lambda: activations.polynomial(3.0), ["coefficients"]),
        (lambda: activations.polynomial([1.0, np.inf]), ["coefficients", "finite"]),
        (lambda: activations.from_json({"parameters": {}}), ["name"]),
        (lambda: activations.from_json({"name": "relu", "parameters": [1]}), ["parameters"]),
        (lambda: activations.from_json({"name": "mish"}), ["mish"]),
        (lambda: activations.to_json(activations.custom("swish", swish, swish_derivative)), ["swish", "custom"]),
    ],
)
def test_errors_name_the_argument(call, words):
    with pytest.raises(ActivationError) as caught:
        call()
    assert isinstance(caught.value, ValueError)
    for word in words:
        assert word in str(caught.value)


# ---------------------------------------------------------------------------------------- custom


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
        (("f", relu, step), {"kinks": [0], "analytic": True}, "analytic"),
        (("f", relu, step), {"kinks": [0], "closed_form": lambda k, s, b: 0.0 * s}, "closed_form"),
    ],
)
def test_custom_refuses_what_does_not_hold(arguments, options, word):
    with np.errstate(all="ignore"), pytest.raises(ActivationError, match=word):
        activations.custom(*arguments, **options)
