"""Exports: the same predictions in other tools, and back; what a target lacks is refused by its name."""

import warnings

import numpy as np
import pytest
from sklearn.neural_network import MLPRegressor
from tests.catalogue import EVERY, name
from tests.conftest import optional

import weightlift as wl
from weightlift import export
from weightlift.activations.stretching import unstretched
from weightlift.errors import ActivationError, ArgumentError, FileFormatError

POLYNOMIAL = wl.activations.polynomial([1.0, -0.5, 0.2, 0.1])
ALL = [*EVERY, POLYNOMIAL, wl.activations.polynomial([0.7])]


def network(activation, seed=0):
    rng = np.random.default_rng(seed)
    return wl.Network(rng.normal(size=(5, 3)), rng.normal(size=3), rng.normal(size=3), 0.3, activation)


@pytest.fixture
def X():
    return 3.0 * np.random.default_rng(1).normal(size=(300, 5))


def near(values, net, X, tol=1e-12):
    wanted = net.predict(X)
    assert np.abs(np.ravel(values) - wanted).max() <= tol * np.abs(wanted).max()


@pytest.mark.parametrize("activation", ALL, ids=name)
def test_scikit_learn(activation, X):
    net = network(activation)
    base = unstretched(net.activation)[0]
    if not base.names.sklearn:
        with pytest.raises(ActivationError, match=base.name):
            export.to_sklearn(net)
        return
    model = export.to_sklearn(net)
    near(model.predict(X), net, X)
    near(export.from_sklearn(model).predict(X), net, X)


@pytest.mark.filterwarnings("ignore")
def test_a_fitted_mlpregressor_comes_over(X):
    y = np.sin(X[:, 0])
    model = MLPRegressor(hidden_layer_sizes=(4,), activation="logistic", max_iter=20, random_state=0).fit(X, y)
    np.testing.assert_allclose(export.from_sklearn(model).predict(X), model.predict(X), rtol=1e-12, atol=1e-13)
    deep = MLPRegressor(hidden_layer_sizes=(4, 4), max_iter=2).fit(X, y)
    with pytest.raises(ArgumentError, match="one hidden layer"):
        export.from_sklearn(deep)
    with pytest.raises(ArgumentError, match="fitted"):
        export.from_sklearn(MLPRegressor())


@pytest.mark.parametrize("activation", ALL, ids=name)
def test_pytorch(activation, X, torch):
    net = network(activation)
    base = unstretched(net.activation)[0]
    if not base.names.torch:
        with pytest.raises(ActivationError, match=base.name):
            export.to_torch(net)
        return
    with torch.no_grad():
        near(export.to_torch(net)(torch.as_tensor(X)).numpy(), net, X)
        single = export.to_torch(net, dtype="float32")
        near(single(torch.as_tensor(X, dtype=torch.float32)).numpy(), net, X, tol=1e-5)
    near(export.from_torch(export.to_torch(net)).predict(X), net, X)


def test_foreign_pytorch_models(X, torch):
    nn = torch.nn
    model = nn.Sequential(nn.Linear(5, 4, bias=False), nn.LeakyReLU(0.2), nn.Linear(4, 1)).double()
    with torch.no_grad():
        np.testing.assert_allclose(export.from_torch(model).predict(X), model(torch.as_tensor(X)).numpy()[:, 0], atol=1e-12)
    with pytest.raises(ActivationError, match="Mish"):
        export.from_torch(nn.Sequential(nn.Linear(5, 4), nn.Mish(), nn.Linear(4, 1)))
    with pytest.raises(ActivationError, match="approximate='tanh'"):
        export.from_torch(nn.Sequential(nn.Linear(5, 4), nn.GELU("tanh"), nn.Linear(4, 1)))
    with pytest.raises(ActivationError, match="beta"):
        export.from_torch(nn.Sequential(nn.Linear(5, 4), nn.Softplus(beta=2), nn.Linear(4, 1)))
    with pytest.raises(ArgumentError, match="Sequential"):
        export.from_torch(nn.Sequential(nn.Linear(5, 4), nn.ReLU()))


@pytest.mark.parametrize("activation", ALL, ids=name)
def test_state_dictionaries(activation, X, tmp_path):
    net, path = network(activation), tmp_path / "state.safetensors"
    export.to_safetensors(net, path)
    near(export.from_safetensors(path).predict(X), net, X, tol=0.0)
    export.to_safetensors(net, path, dtype="float32")
    near(export.from_safetensors(path).predict(X), net, X, tol=1e-5)
    net.save(path)
    near(export.from_safetensors(path).predict(X), net, X, tol=0.0)


def test_state_dictionaries_fit_pytorch(X, torch, tmp_path):
    from safetensors.torch import load_file, save_file

    net, path = network("tanh"), tmp_path / "state.safetensors"
    export.to_safetensors(net, path)
    model = export.to_torch(network("tanh", seed=5))
    model.load_state_dict(load_file(path))
    with torch.no_grad():
        near(model(torch.as_tensor(X)).numpy(), net, X)
    save_file(model.state_dict(), path)
    with pytest.raises(ArgumentError, match="activation"):
        export.from_safetensors(path)
    near(export.from_safetensors(path, activation="tanh").predict(X), net, X)
    path.write_bytes(b"nothing")
    with pytest.raises(FileFormatError, match="safetensors"):
        export.from_safetensors(path)


def test_state_dictionaries_of_others(X, torch, tmp_path):
    from safetensors.torch import save_file

    net, path = network("tanh"), tmp_path / "state.safetensors"
    model = export.to_torch(net)
    save_file(model.state_dict(), path, metadata={"activation": "tanh"})
    near(export.from_safetensors(path).predict(X), net, X)
    save_file(model.state_dict(), path, metadata={"activation": "softsign"})
    with pytest.raises(ArgumentError, match="softsign"):
        export.from_safetensors(path)
    save_file(model.bfloat16().state_dict(), path)
    with pytest.raises(FileFormatError, match=r"BF16.*float32"):
        export.from_safetensors(path, activation="tanh")


def test_unknown_dtypes_are_refused():
    with pytest.raises(ArgumentError, match="float16"):
        export.to_onnx(network("relu"), dtype="float16")


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("m", [1, 3])
def test_several_outputs_travel(activation, m, X, torch, tmp_path):
    """To each tool and back; one output comes back as (k,)."""
    runtime = optional("onnxruntime")
    rng = np.random.default_rng(4)
    net = wl.Network(rng.normal(size=(5, 4)), rng.normal(size=(4, m)), rng.normal(size=4), rng.normal(size=m), activation)
    expected = net.predict(X)
    found = export.to_sklearn(net).predict(X).reshape(len(X), m)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    with torch.no_grad():
        np.testing.assert_allclose(export.to_torch(net)(torch.as_tensor(X)).numpy(), expected, atol=1e-12)
    line = wl.Network(net.W, net.a, net.b, net.c, activation, V=rng.normal(size=(5, m)))
    export.to_onnx(line, tmp_path / "net.onnx")
    session = runtime.InferenceSession((tmp_path / "net.onnx").read_bytes(), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, {"X": X})[0], line.predict(X), atol=1e-12)
    export.to_safetensors(line, tmp_path / "state.safetensors")
    for back, sent in (
        (export.from_sklearn(export.to_sklearn(net)), net),
        (export.from_torch(export.to_torch(net)), net),
        (export.from_onnx(tmp_path / "net.onnx"), line),
        (export.from_safetensors(tmp_path / "state.safetensors"), line),
    ):
        assert back.a.shape == ((4,) if m == 1 else (4, m))
        np.testing.assert_allclose(back.predict(X).reshape(len(X), m), sent.predict(X), atol=1e-12)
    for refused in (export.to_sklearn, export.to_torch):
        with pytest.raises(ArgumentError, match="linear part"):
            refused(line)


def test_classifiers_give_their_logits(X):
    from sklearn.neural_network import MLPClassifier

    rng = np.random.default_rng(0)
    for classes in (2, 4):
        labels = rng.integers(0, classes, len(X))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = MLPClassifier((6,), max_iter=3, random_state=0).fit(X, labels)
        net = export.from_sklearn(model)
        logits = net.predict(X)
        if classes == 2:
            chances = 1 / (1 + np.exp(-logits))
            np.testing.assert_allclose(chances, model.predict_proba(X)[:, 1], atol=1e-12)
        else:
            chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
            np.testing.assert_allclose(chances, model.predict_proba(X), atol=1e-12)
