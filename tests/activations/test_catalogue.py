"""Names, scaled versions, files, pickles, and activations of the user's own."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from tests.catalogue import EVERY, name

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
