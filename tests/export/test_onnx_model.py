"""Foreign ONNX models are read, and their wiring followed."""

import numpy as np
import pytest
from tests.conftest import optional

import weightlift as wl
from weightlift import export
from weightlift.errors import ArgumentError, FileFormatError


def network(activation, seed=0):
    rng = np.random.default_rng(seed)
    return wl.Network(rng.normal(size=(5, 3)), rng.normal(size=3), rng.normal(size=3), 0.3, activation)


@pytest.fixture
def X():
    return 3.0 * np.random.default_rng(1).normal(size=(300, 5))


def near(values, net, X, tol=1e-12):
    wanted = net.predict(X)
    assert np.abs(np.ravel(values) - wanted).max() <= tol * np.abs(wanted).max()


def test_foreign_onnx_models(X, tmp_path):
    onnx = optional("onnx")
    from onnx import TensorProto, helper, numpy_helper

    net = network("tanh")
    weights = {"w": net.W.T, "v": net.b, "u": net.a[None, :], "t": np.array([net.c])}
    nodes = [
        helper.make_node("Gemm", ["x", "w", "v"], ["z"], transB=1),
        helper.make_node("Tanh", ["z"], ["h"]),
        helper.make_node("Gemm", ["h", "u", "t"], ["y"], transB=1),
    ]
    ends = [helper.make_tensor_value_info(name, TensorProto.DOUBLE, ["n", m]) for name, m in (("x", 5), ("y", 1))]
    constants = [numpy_helper.from_array(np.array(value), name) for name, value in weights.items()]
    model = helper.make_model(helper.make_graph(nodes, "g", ends[:1], ends[1:], constants))
    near(export.from_onnx(model).predict(X), net, X)
    for operator, options, phi in (
        ("Gelu", {}, "gelu"), ("Elu", {"alpha": 0.5}, wl.activations.elu(0.5)), ("Sin", {}, "sine"), ("Elu", {}, "elu"),
    ):  # fmt: skip
        nodes[1] = helper.make_node(operator, ["z"], ["h"], **options)
        model = helper.make_model(helper.make_graph(nodes, "g", ends[:1], ends[1:], constants))
        near(export.from_onnx(model).predict(X), network(phi), X)
    nodes[1] = helper.make_node("Gelu", ["z"], ["h"], approximate="tanh")
    with pytest.raises(ArgumentError, match="Gelu"):
        export.from_onnx(helper.make_model(helper.make_graph(nodes, "g", ends[:1], ends[1:], constants)))
    nodes[1] = helper.make_node("Softsign", ["z"], ["h"])
    with pytest.raises(ArgumentError, match="Softsign"):
        export.from_onnx(helper.make_model(helper.make_graph(nodes, "g", ends[:1], ends[1:], constants)))
    nodes[1] = helper.make_node("Tanh", ["z"], ["h"])
    last = helper.make_node("Gemm", ["g", "u", "t"], ["y"], transB=1)
    shifted = [*nodes[:2], helper.make_node("Add", ["h", "v"], ["g"]), last]
    with pytest.raises(ArgumentError, match="Add"):  # behind the activation it is no bias of the units
        export.from_onnx(helper.make_model(helper.make_graph(shifted, "g", ends[:1], ends[1:], constants)))
    turned = [helper.make_node("MatMul", ["w", "x"], ["z"]), *nodes[1:]]
    with pytest.raises(ArgumentError, match="MatMul"):  # W x, for inputs as columns
        export.from_onnx(helper.make_model(helper.make_graph(turned, "g", ends[:1], ends[1:], constants)))
    (tmp_path / "bad.onnx").write_bytes(b"\xff\xff nonsense")
    with pytest.raises(FileFormatError, match=r"bad\.onnx"):
        export.from_onnx(tmp_path / "bad.onnx")
    assert onnx.__version__


def test_onnx_wiring_is_followed(X, tmp_path):
    """A branch around the activation, an output in the middle, a cast to integers: no chain."""
    onnx = optional("onnx")
    from onnx import TensorProto, helper, numpy_helper

    net = network("relu")
    weights = {"W": net.W, "a": net.a[:, None]}
    constants = [numpy_helper.from_array(np.array(value), name) for name, value in weights.items()]
    ends = [helper.make_tensor_value_info(name, TensorProto.DOUBLE, ["n", m]) for name, m in (("x", 5), ("y", 1))]
    first = helper.make_node("MatMul", ["x", "W"], ["u"])
    relu = helper.make_node("Relu", ["u"], ["v"])

    def model(*nodes):
        return helper.make_model(helper.make_graph([first, relu, *nodes], "g", ends[:1], ends[1:], constants))

    good = model(helper.make_node("MatMul", ["v", "a"], ["y"]))
    expected = np.maximum(X @ net.W, 0) @ net.a
    np.testing.assert_allclose(export.from_onnx(good).predict(X), expected, atol=1e-12)
    with pytest.raises(ArgumentError, match="wiring"):
        export.from_onnx(model(helper.make_node("MatMul", ["u", "a"], ["y"])))
    last = helper.make_node("MatMul", ["v", "a"], ["z"])
    with pytest.raises(ArgumentError, match="output"):
        export.from_onnx(model(last))
    with pytest.raises(ArgumentError, match="Cast"):
        export.from_onnx(model(last, helper.make_node("Cast", ["z"], ["y"], to=TensorProto.INT64)))
    onnx.save_model(good, tmp_path / "net.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    np.testing.assert_allclose(export.from_onnx(tmp_path / "net.onnx").predict(X), expected, atol=1e-12)
    with pytest.raises(ArgumentError, match="another file"):
        export.from_onnx(onnx.load(tmp_path / "net.onnx", load_external_data=False))
