"""Networks as ONNX graphs predict what they predict."""

import numpy as np
import pytest
from tests.catalogue import EVERY, name
from tests.conftest import optional

import weightlift as wl
from weightlift import export
from weightlift.errors import ActivationError

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
@pytest.mark.parametrize(("dtype", "tol"), [("float64", 1e-12), ("float32", 1e-5)])
def test_onnx(activation, dtype, tol, X, tmp_path):
    optional("onnx")
    runtime = optional("onnxruntime")
    net = network(activation)
    if net.activation.name in ("erf", "gelu") and dtype == "float64":
        with pytest.raises(ActivationError, match=f"Erf.*{net.activation.name}"):
            export.to_onnx(net)
        return
    path = tmp_path / "net.onnx"
    export.to_onnx(net, path, dtype=dtype)
    session = runtime.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"])
    near(session.run(None, {"X": X.astype(dtype)})[0], net, X, tol)
    near(export.from_onnx(path).predict(X), net, X, tol)
