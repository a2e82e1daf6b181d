"""ONNX: the network as a graph of standard operators, in float64 or float32, and back.

    X (n, d) → MatMul W → Add b → φ → MatMul a → Add c → y (n, 1)

φ is one operator where ONNX has it with enough digits, else a few: LeakyRelu stores its slope in float32, and onnxruntime has
kernels of some operators in float32 alone. The IR version is held at one that onnxruntime reads.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from weightlift import activations
from weightlift._version import __version__
from weightlift.activations import Activation
from weightlift.errors import ActivationError, ArgumentError, FileFormatError
from weightlift.export.plain import checked_dtype, needed, refuse_unknown, slope_of, unscaled
from weightlift.files import read_checked, write_atomically
from weightlift.network import MAX_FILE_BYTES, Network

IR_VERSION, OPSET = 8, 17
KEY = "weightlift.activation"
PASSING = {"Identity", "Cast", "Squeeze", "Flatten", "Reshape", "Dropout"}
OPERATORS = {"Relu": "relu", "Sigmoid": "sigmoid", "Tanh": "tanh", "Softplus": "softplus", "Erf": "erf", "Abs": "absolute"}


def to_onnx(network: Network, path: str | os.PathLike[str] | None = None, *, dtype: str = "float64") -> Any:
    """The network as an `onnx.ModelProto`, written to `path` if there is one."""
    net, kind = unscaled(network), checked_dtype(dtype)
    refuse_unknown(net, "ONNX", BUILDERS)
    onnx = needed("onnx")
    from onnx import TensorProto, helper, numpy_helper

    if net.activation.name == "erf" and dtype == "float64":
        raise ActivationError("onnxruntime has no float64 kernel for Erf; export 'erf' with dtype='float32'.")
    element = TensorProto.DOUBLE if kind == np.float64 else TensorProto.FLOAT
    graph = Builder(helper, numpy_helper, kind)
    for name, value in (("W", net.W), ("b", net.b), ("a", net.a[:, None]), ("c", np.array([net.c]))):
        graph.constant(name, value)
    z = graph.node("Add", graph.node("MatMul", "X", "W"), "b")
    values = BUILDERS[net.activation.name](graph, z, net.activation)
    graph.node("Add", graph.node("MatMul", values, "a"), "c", output="y")
    inputs = [helper.make_tensor_value_info("X", element, ["n", net.n_inputs])]
    outputs = [helper.make_tensor_value_info("y", element, ["n", 1])]
    model = helper.make_model(
        helper.make_graph(graph.nodes, "weightlift", inputs, outputs, graph.constants),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="weightlift",
        producer_version=__version__,
    )
    helper.set_model_props(model, {KEY: json.dumps(activations.to_json(net.activation))})
    onnx.checker.check_model(model)
    if path is not None:
        write_atomically(path, model.SerializeToString())
    return model


def from_onnx(model: Any) -> Network:
    """The network of a model or of its file: one of ours, or a chain of two linear layers around one activation."""
    onnx = needed("onnx")
    from onnx import numpy_helper

    if isinstance(model, str | os.PathLike):
        content = read_checked(model, max_bytes=MAX_FILE_BYTES)
        try:
            model = onnx.load_model_from_string(content)
        except Exception as error:  # protobuf's own error class is not public
            raise FileFormatError(f"{Path(model).name} is not an ONNX model ({error}).") from error
    constants = {c.name: numpy_helper.to_array(c).astype(np.float64) for c in model.graph.initializer}
    described = {p.key: p.value for p in model.metadata_props}.get(KEY)
    if described is not None and {"W", "a", "b", "c"} <= set(constants):
        phi = activations.from_json(json.loads(described))
        return Network(constants["W"], constants["a"][:, 0], constants["b"], constants["c"][0], activation=phi)
    return _chain(model.graph, constants)


class Builder:
    """Nodes and constants of a graph."""

    def __init__(self, helper: Any, numpy_helper: Any, kind: np.dtype) -> None:
        self.helper, self.numpy_helper, self.kind = helper, numpy_helper, kind
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, name: str, value: Any) -> str:
        self.constants.append(self.numpy_helper.from_array(np.array(value, dtype=self.kind), name))
        return name

    def node(self, operator: str, *inputs: str, output: str | None = None) -> str:
        """The name of the node's output."""
        name = output or f"v{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(operator, list(inputs), [name]))
        return name


def _operator(name: str) -> Callable[[Builder, str, Activation], str]:
    return lambda graph, z, phi: graph.node(name, z)


def _leaky(graph: Builder, z: str, phi: Activation) -> str:
    """s z + (1 − s) z₊."""
    slope = slope_of(phi)
    left = graph.node("Mul", graph.constant("slope", [slope]), z)
    return graph.node("Add", left, graph.node("Mul", graph.constant("rest", [1.0 - slope]), graph.node("Relu", z)))


def _sigmoid(graph: Builder, z: str, phi: Activation) -> str:
    """½ + ½ tanh(z/2)."""
    half = graph.constant("half", [0.5])
    return graph.node("Add", half, graph.node("Mul", half, graph.node("Tanh", graph.node("Mul", half, z))))


def _softplus(graph: Builder, z: str, phi: Activation) -> str:
    """z₊ + log(1 + e^{−|z|})."""
    tail = graph.node("Exp", graph.node("Neg", graph.node("Abs", z)))
    return graph.node("Add", graph.node("Relu", z), graph.node("Log", graph.node("Add", tail, graph.constant("one", [1.0]))))


def _squared_relu(graph: Builder, z: str, phi: Activation) -> str:
    positive = graph.node("Relu", z)
    return graph.node("Mul", positive, positive)


def _quadratic(graph: Builder, z: str, phi: Activation) -> str:
    return graph.node("Mul", z, z)


def _polynomial(graph: Builder, z: str, phi: Activation) -> str:
    """Horner's rule."""
    coefficients = [float(c) for c in dict(phi.parameters)["coefficients"]]
    value = graph.node("Add", graph.node("Sub", z, z), graph.constant("p", [coefficients[-1]]))
    for i, coefficient in enumerate(reversed(coefficients[:-1])):
        value = graph.node("Add", graph.node("Mul", value, z), graph.constant(f"p{i}", [coefficient]))
    return value


BUILDERS: dict[str, Callable[[Builder, str, Activation], str]] = {
    "relu": _operator("Relu"),
    "tanh": _operator("Tanh"),
    "absolute": _operator("Abs"),
    "linear": _operator("Identity"),
    "erf": _operator("Erf"),
    "leaky_relu": _leaky,
    "sigmoid": _sigmoid,
    "softplus": _softplus,
    "squared_relu": _squared_relu,
    "quadratic": _quadratic,
    "polynomial": _polynomial,
}


def _chain(graph: Any, constants: dict[str, np.ndarray]) -> Network:
    """Linear layers and one activation in a row, as PyTorch and skl2onnx write them."""
    layers: list[list[np.ndarray]] = []
    phi: Activation | None = None
    for node in graph.node:
        values = [constants[name] for name in node.input if name in constants]
        if node.op_type in ("Gemm", "MatMul") and values and node.input[0] not in constants:
            layers.append(_linear(node, values))
        elif node.op_type == "Add" and values and (len(layers) == 2 or (len(layers) == 1 and phi is None)):
            layers[-1][1] = layers[-1][1] + values[0].reshape(-1)
        elif node.op_type in OPERATORS and phi is None and len(layers) == 1:
            phi = activations.get(OPERATORS[node.op_type])
        elif node.op_type == "LeakyRelu" and phi is None and len(layers) == 1:
            phi = activations.leaky_relu(next((a.f for a in node.attribute if a.name == "alpha"), 0.01))
        elif node.op_type not in PASSING:
            raise ArgumentError(f"the model has an operator {node.op_type}; a network here is Linear, activation, Linear.")
    if len(layers) != 2 or layers[1][0].shape[1] != 1:
        raise ArgumentError(f"the model has {len(layers)} linear layers; a network here has two, the last with one output.")
    (W, b), (a, c) = layers
    return Network(W, a[:, 0], np.broadcast_to(b, W.shape[1]), c[0], activation=phi or "linear")


def _linear(node: Any, values: list[np.ndarray]) -> list[np.ndarray]:
    """[W (inputs, outputs), bias (outputs,)]."""
    options = {a.name: (a.f if a.type == 1 else a.i) for a in node.attribute}
    if any(options.get(name, 1) != 1 for name in ("alpha", "beta")) or options.get("transA"):
        raise ArgumentError(f"the model's {node.op_type} has options {options}; only transB is understood.")
    W = values[0].T if options.get("transB") else values[0]
    bias = values[1].reshape(-1) if len(values) > 1 else np.zeros(W.shape[1])
    return [W, np.broadcast_to(bias, W.shape[1])]
