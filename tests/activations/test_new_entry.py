"""An entry by the recipe of CONTRIBUTING.md, and all that follows from it without another line."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.catalogue import name
from tests.conftest import optional

import weightlift as wl
from weightlift import activations, export
from weightlift.activations import Activation
from weightlift.activations.activation import Names
from weightlift.activations.catalogue import CATALOGUE
from weightlift.errors import ActivationError, ArgumentError
from weightlift.namespaces import array_namespace
from weightlift.search.annealing import annealing


def softsign(z):
    return z / (1.0 + array_namespace(z).abs(z))


def softsign_derivative(z):
    return (1.0 + array_namespace(z).abs(z)) ** -2.0


def softsign_second_derivative(z):
    xp = array_namespace(z)
    return -2.0 * xp.sign(z) * (1.0 + xp.abs(z)) ** -3.0


@pytest.fixture
def entry(monkeypatch):
    phi = Activation(
        "softsign",
        softsign,
        softsign_derivative,
        softsign_second_derivative,
        kinks=(0.0,),
        jumps=(0.0,),
        reflection=(-1, ()),
        names=Names(torch="Softsign", onnx="Softsign"),
    )
    monkeypatch.setitem(CATALOGUE, phi.name, phi)
    return phi


@pytest.fixture
def network(entry):
    rng = np.random.default_rng(0)
    return wl.Network(rng.normal(size=(4, 2)), [1.0, -0.8], 0.3 * rng.normal(size=2), 0.4, "softsign")


def test_names_and_files(entry, network, tmp_path):
    assert activations.get("softsign") is activations.get("Softsign") is entry
    assert entry in activations.examples()
    assert activations.from_json(json.loads(json.dumps(activations.to_json(activations.scaled(entry, 2.0))))).degree is None
    network.save(tmp_path / "net.safetensors")
    assert wl.Network.load(tmp_path / "net.safetensors").activation is entry
    with pytest.raises(ActivationError, match="name"):
        activations.custom("softsign", softsign, softsign_derivative)
    assert name(entry) == "'softsign'"


def test_integrals(entry, rng):
    """Stein: E φ(σz+b) z = σ E φ′(σz+b)."""
    scale, offset = rng.uniform(0.3, 3.0, size=5), rng.normal(size=5)
    copy = activations.custom("copy", softsign_derivative, softsign_second_derivative, kinks=(0.0,))
    assert np.allclose(entry.hermite(1, scale, offset), scale * copy.hermite(0, scale, offset), rtol=1e-11, atol=0)
    assert entry.m(2) == 0.0


def test_exports(network, torch, tmp_path):
    X = 2.0 * np.random.default_rng(1).normal(size=(50, 4))
    wanted = network.predict(X)
    with torch.no_grad():
        np.testing.assert_allclose(export.to_torch(network)(torch.as_tensor(X)).numpy()[:, 0], wanted, atol=1e-13)
    np.testing.assert_allclose(export.from_torch(export.to_torch(network)).predict(X), wanted, atol=1e-13)
    with pytest.raises(ActivationError, match=r"MLPRegressor has no activation 'softsign'"):
        export.to_sklearn(network)
    export.to_safetensors(network, tmp_path / "state.safetensors")
    np.testing.assert_array_equal(export.from_safetensors(tmp_path / "state.safetensors").predict(X), wanted)


def test_onnx(network, tmp_path):
    optional("onnx")
    runtime = optional("onnxruntime")
    X = 2.0 * np.random.default_rng(1).normal(size=(50, 4))
    export.to_onnx(network, tmp_path / "net.onnx")
    session = runtime.InferenceSession((tmp_path / "net.onnx").read_bytes(), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, {"X": X})[0][:, 0], network.predict(X), atol=1e-13)
    np.testing.assert_allclose(export.from_onnx(tmp_path / "net.onnx").predict(X), network.predict(X), atol=1e-13)


def test_what_onnx_cannot_say_is_refused(entry, network, monkeypatch):
    optional("onnx")
    sums = Activation("cumulative", lambda z: array_namespace(z).cumulative_sum(z), softsign, softsign)
    monkeypatch.setitem(CATALOGUE, "cumulative", sums)
    with pytest.raises(ActivationError, match=r"ONNX cannot say 'cumulative'.*cumulative_sum"):
        export.to_onnx(wl.Network(network.W, network.a, activation="cumulative"))


def test_sgd(network):
    """By NumPy; a device has no kernel of it, and says so."""
    start = wl.Network(network.W + 0.05, network.a, network.b, network.c, network.activation)
    run = wl.refinement.sgd(wl.samples.Fresh(network, seed=1), start, steps=2_000, window=500, bias=True)
    assert run.windows.last_squared_error[-1] < 0.2 * run.windows.last_squared_error[0]
    with pytest.raises(ArgumentError, match="softsign"):
        wl.refinement.sgd(wl.samples.Fresh(network), start, steps=100, device="cuda")


def test_recovery_and_its_claims(entry, network):
    """Units are found, and called exact by tests alone: no theorem is entered."""
    assert annealing(entry)[-1].activation is entry
    X, y = wl.draw(network, 200, rng=2)
    recovered = wl.recover(X, y, n_units=2, activation="softsign", bias=True, offset=True, rng=0)
    assert wl.match(recovered.network, network).max_error < 1e-6
    assert not recovered.certificate.proved
    assert "tested, not proved" in recovered.certificate.headline
    answer = wl.diagnose.shape(4, 2, activation="softsign")
    assert "no uniqueness theorem" in str(answer)
