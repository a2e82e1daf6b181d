"""ONNX: the network as a graph of standard operators, in float64 or float32, and back.

    X (n, d) → MatMul W → Add b → φ → MatMul a → Add c → y (n, m),    and + MatMul V of X where there is a linear part

φ is written down as it is computed; see `onnx_graph`. The IR version is held at one that onnxruntime reads.
"""

from __future__ import annotations

import json
import os
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from weightlift import activations
from weightlift._version import __version__
from weightlift.activations import Activation
from weightlift.errors import ArgumentError, FileFormatError, WeightliftError
from weightlift.export.onnx_graph import Graph
from weightlift.export.plain import checked_dtype, needed, unscaled
from weightlift.files import parsed_json, read_checked, write_atomically
from weightlift.network import MAX_FILE_BYTES, Network

IR_VERSION, OPSET = 8, 17  # what onnxruntime reads; onnx by itself writes newer ones
KEY = "weightlift.activation"
PASSING = {"Identity", "Squeeze", "Flatten", "Reshape", "Dropout"}
FLOATING = (1, 11)  # TensorProto.FLOAT, DOUBLE


def to_onnx(network: Network, path: str | os.PathLike[str] | None = None, *, dtype: str = "float64") -> Any:
    """The network as an `onnx.ModelProto`, written to `path` if there is one.

    dtype  of inputs, outputs and weights, "float64" or "float32"
    """
    net = unscaled(network)
    kind = checked_dtype(dtype, net)
    onnx = needed("onnx")
    from onnx import TensorProto, helper, numpy_helper

    element = TensorProto.DOUBLE if kind == np.float64 else TensorProto.FLOAT
    graph = Graph(helper, numpy_helper, kind)
    for name, value in (("W", net.W), ("b", net.b), ("a", net.A), ("c", np.atleast_1d(net.c))):
        graph.constant(name, value)
    z = graph.node("Add", graph.node("MatMul", "X", "W"), "b")
    values = graph.activation(net.activation, z)
    if net.V is None:
        graph.node("Add", graph.node("MatMul", values, "a"), "c", output="y")
    else:
        line = graph.node("MatMul", "X", graph.constant("V", net.V.reshape(net.n_inputs, -1)))
        graph.node("Add", graph.node("Add", graph.node("MatMul", values, "a"), "c"), line, output="y")
    inputs = [helper.make_tensor_value_info("X", element, ["n", net.n_inputs])]
    outputs = [helper.make_tensor_value_info("y", element, ["n", net.n_outputs])]
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
    """The network of a model or of its file: one of ours, or a chain of two linear layers around one activation.

    One output: a is (k,); else (k, m). Weights kept in other files are looked for beside the model's own.
    """
    if isinstance(model, str | os.PathLike):
        model = _read(Path(model))
    try:
        return _imported(model)
    except WeightliftError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, StopIteration, RuntimeError) as error:
        raise FileFormatError(f"the model is damaged; its shapes or types do not fit each other ({error}).") from error


def _imported(model: Any) -> Network:
    _refuse_foreign(model)
    constants = _constants(model.graph)
    described = {p.key: p.value for p in model.metadata_props}.get(KEY)
    if described is None or not {"W", "a", "b", "c"} <= set(constants):
        return _chain(model.graph, constants)
    try:
        phi = activations.from_json(parsed_json(described))
    except ValueError as error:
        raise FileFormatError(f"the model's property {KEY} describes no activation ({error}); export it again.") from error
    network = _network(phi, *(constants.get(name) for name in ("W", "a", "b", "c", "V")))
    return network if _computes(model, network) else _chain(model.graph, constants)


def _refuse_foreign(model: Any) -> None:
    """What may change the meaning of a node: operators of other domains, functions of the model's own, sparse weights."""
    graph = model.graph
    if model.functions or graph.sparse_initializer or any(node.domain not in ("", "ai.onnx") for node in graph.node):
        raise ArgumentError("the model has operators or functions of its own, or sparse weights; a network here has none.")
    names = [c.name for c in graph.initializer]
    if len(set(names)) < len(names) or len(graph.output) != 1:
        raise ArgumentError("the model has two weights of one name, or not one output; a network here has one.")


def _computes(model: Any, network: Network) -> bool:
    """Whether the graph is the one that we write for this network: the property alone proves nothing."""
    kind = "float64" if model.graph.input and model.graph.input[0].type.tensor_type.elem_type == FLOATING[1] else "float32"
    with np.errstate(over="ignore"):
        expected = to_onnx(network, dtype=kind)

    def wires(model: Any) -> list[bytes]:
        parts = (*model.graph.node, *model.graph.input, *model.graph.output, *model.graph.initializer, *model.opset_import)
        return [part.SerializeToString(deterministic=True) for part in parts]

    return wires(model) == wires(expected)


def _read(path: Path) -> Any:
    onnx = needed("onnx")
    content = read_checked(path, max_bytes=MAX_FILE_BYTES)
    try:
        model = onnx.load_model_from_string(content)
        _check_locations(model.graph)
        onnx.external_data_helper.load_external_data_for_model(model, str(path.parent))
    except Exception as error:  # protobuf's own error class is not public
        raise FileFormatError(f"{path.name} is not an ONNX model, or lacks its weights; export it again ({error}).") from error
    if not model.graph.node:
        raise FileFormatError(f"{path.name} is not an ONNX model, or one without operators; export it again.")
    return model


def _check_locations(graph: Any) -> None:
    """Weights in other files lie beside the model or below it: a model does not choose which of our files are read."""
    from onnx import external_data_helper

    for tensor in graph.initializer:
        if external_data_helper.uses_external_data(tensor):
            place = PurePath({entry.key: entry.value for entry in tensor.external_data}.get("location", ""))
            if not place.name or place.is_absolute() or ".." in place.parts:
                raise ValueError(f"the weights {tensor.name!r} are said to lie in {str(place)!r}, not beside the model")


def _constants(graph: Any) -> dict[str, np.ndarray]:
    from onnx import external_data_helper, numpy_helper

    outside = [c.name for c in graph.initializer if external_data_helper.uses_external_data(c)]
    if outside:
        raise ArgumentError(f"the weights {outside} lie in another file; pass the model's path instead of the model.")
    return {c.name: numpy_helper.to_array(c).astype(np.float64) for c in graph.initializer}


def _network(phi: Activation, W: Any, a: Any, b: Any, c: Any, V: Any = None) -> Network:
    """From matrices: W (d, k), a (k, m), b (k,), c (m,), V (d, m) or None; a single output without its axis."""
    if a.ndim == 2 and a.shape[1] == 1:
        if np.size(c) != 1:  # ONNX would copy the one output as often as c has entries
            raise FileFormatError(f"the constant has {np.size(c)} entries, and the last layer one output; they must agree.")
        return Network(W, a[:, 0], b, np.reshape(c, -1)[0], phi, None if V is None else V.reshape(-1))
    return Network(W, a, b, c, phi, V)


def _chain(graph: Any, constants: dict[str, np.ndarray]) -> Network:
    """Linear layers and one activation in a row, as PyTorch and skl2onnx write them; each node takes what the last one gave."""
    layers: list[list[np.ndarray]] = []
    phi: Activation | None = None
    value = next(i.name for i in graph.input if i.name not in constants)
    for node in graph.node:
        values = [constants[name] for name in node.input if name in constants]
        if [name for name in node.input if name and name not in constants] != [value]:
            raise ArgumentError(f"the model's {node.op_type} does not take the value before it alone; its wiring is no chain.")
        if node.op_type in ("Gemm", "MatMul") and values and node.input[0] not in constants:
            layers.append(_linear(node, values))
        elif node.op_type == "Add" and values and (len(layers) == 2 or (len(layers) == 1 and phi is None)):
            layers[-1][1] = layers[-1][1] + values[0].reshape(-1)
        elif phi is None and len(layers) == 1 and (found := _activation(node)) is not None:
            phi = found
        elif not _passes(node):
            raise ArgumentError(f"the model has an operator {node.op_type}; a network here is Linear, activation, Linear.")
        value = node.output[0]
    if value != graph.output[0].name:
        raise ArgumentError(f"the model's output is {graph.output[0].name!r}, not {value!r}; its layers must end there.")
    if len(layers) != 2:
        raise ArgumentError(f"the model has {len(layers)} linear layers; a network here has two.")
    (W, b), (a, c) = layers
    return _network(phi or activations.get("linear"), W, a, np.broadcast_to(b, W.shape[1]), c)


def _activation(node: Any) -> Activation | None:
    """The entry of the catalogue that has the node's operator, at the node's parameters; Identity counts as no activation."""
    for phi in activations.examples():
        if node.op_type == phi.names.onnx != "Identity":
            if any(a.s not in (b"", b"none") for a in node.attribute):  # the approximate Gelu is another function
                return None
            ours = {theirs: name for name, _, theirs in phi.names.options}
            return activations.get(phi.name, **{ours[a.name]: a.f for a in node.attribute if a.name in ours})
    return None


def _passes(node: Any) -> bool:
    """Whether a node leaves the values as they are; a Cast does, to a floating type."""
    if node.op_type != "Cast":
        return node.op_type in PASSING
    return next((a.i for a in node.attribute if a.name == "to"), 0) in FLOATING


def _linear(node: Any, values: list[np.ndarray]) -> list[np.ndarray]:
    """[W (inputs, outputs), bias (outputs,)]."""
    options = {a.name: (a.f if a.type == 1 else a.i) for a in node.attribute}
    if any(options.get(name, 1) != 1 for name in ("alpha", "beta")) or options.get("transA"):
        raise ArgumentError(f"the model's {node.op_type} has options {options}; only transB is understood.")
    W = values[0].T if options.get("transB") else values[0]
    bias = values[1].reshape(-1) if len(values) > 1 else np.zeros(W.shape[1])
    return [W, np.broadcast_to(bias, W.shape[1])]
