"""Bad models of other tools, Parquet files and Dask collections: what needs an extra."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from tests.adversarial.arrays import TRUTH, X, Y
from tests.adversarial.cases import Case, refused, same
from tests.adversarial.disk import BAD, DEEP_JSON
from tests.conftest import optional

import weightlift as wl
from weightlift import errors, export

onnx = optional("onnx")
pa, pq = optional("pyarrow"), optional("pyarrow.parquet")
da, pd, dd = optional("dask.array"), optional("pandas"), optional("dask.dataframe")
helper, numpy_helper = onnx.helper, onnx.numpy_helper

MODEL, ROWS = Path("model.onnx"), Path("rows.parquet")


def model(*nodes: tuple[str, list[str], str], output: str = "y", **weights: np.ndarray) -> Any:
    """A graph from nodes (operator, inputs, output) and weights."""
    graph = helper.make_graph(
        [helper.make_node(operator, inputs, [out]) for operator, inputs, out in nodes],
        "g",
        [helper.make_tensor_value_info("X", 11, ["n", 3])],
        [helper.make_tensor_value_info(output, 11, ["n", 1])],
        [numpy_helper.from_array(np.asarray(value, dtype=float), name) for name, value in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def ours(change: Any = None, net: wl.Network = TRUTH) -> Any:
    made = export.to_onnx(net)
    if change is not None:
        change(made)
    return export.from_onnx(made)


def described(text: str) -> Any:
    return lambda made: made.metadata_props[0].__setattr__("value", text)


W, A = TRUTH.W, TRUTH.a[:, None]
CHAIN = (("MatMul", ["X", "W"], "u"), ("Relu", ["u"], "v"), ("MatMul", ["v", "A"], "y"))

ONNX = [
    refused("an ONNX file of text", lambda: (MODEL.write_text("model"), export.from_onnx(MODEL)), "not an ONNX model", BAD),
    refused("an empty ONNX file", lambda: (MODEL.write_bytes(b""), export.from_onnx(MODEL)), "not an ONNX model", BAD),
    refused("no ONNX file", lambda: export.from_onnx(MODEL), "model.onnx", FileNotFoundError),
    refused(
        "φ beside the wires",
        lambda: export.from_onnx(model(CHAIN[0], CHAIN[1], ("MatMul", ["u", "A"], "y"), W=W, A=A)),
        "wiring",
    ),
    refused("a final Cast to integers", lambda: export.from_onnx(with_cast(7)), "Cast"),
    refused("an output from the middle", lambda: export.from_onnx(model(*CHAIN, output="v", W=W, A=A)), "output is 'v'"),
    refused("one layer", lambda: export.from_onnx(model(("MatMul", ["X", "W"], "y"), W=W)), "1 linear layers"),
    refused(
        "three layers",
        lambda: export.from_onnx(model(*CHAIN, ("MatMul", ["y", "B"], "z"), output="z", W=W, A=A, B=np.ones((1, 1)))),
        "3 linear",
    ),
    refused(
        "two activations",
        lambda: export.from_onnx(model(CHAIN[0], CHAIN[1], ("Tanh", ["v"], "t"), ("MatMul", ["t", "A"], "y"), W=W, A=A)),
        "Tanh",
    ),
    refused("an unknown operator", lambda: export.from_onnx(model(CHAIN[0], ("Cos", ["u"], "v"), CHAIN[2], W=W, A=A)), "Cos"),
    refused(
        "layers that do not fit",
        lambda: export.from_onnx(model(*CHAIN, W=W, A=np.ones((7, 1)))),
        "a must have|damaged",
        errors.WeightliftError,
    ),
    refused(
        "weights of one axis", lambda: export.from_onnx(model(*CHAIN, W=np.ones(3), A=A)), "W|damaged", errors.WeightliftError
    ),
    refused(
        "weights of three axes",
        lambda: export.from_onnx(model(*CHAIN, W=np.ones((3, 2, 1)), A=A)),
        "W|damaged",
        errors.WeightliftError,
    ),
    refused("NaN in the weights", lambda: export.from_onnx(model(*CHAIN, W=W * np.nan, A=A)), "NaN", errors.NotFiniteError),
    refused("an operator of another domain", lambda: export.from_onnx(foreign()), "operators or functions of its own"),
    refused(
        "float32 that overflows", lambda: export.to_onnx(wl.Network(W * 1e60), dtype="float32"), "float32 ends at 3.4e"
    ),
    refused("a model to a folder", lambda: export.to_onnx(TRUTH, "."), "directory", OSError),
    refused("no input", lambda: ours(lambda m: m.graph.ClearField("input")), "model|input", errors.WeightliftError),
    refused("no output", lambda: ours(lambda m: m.graph.ClearField("output")), "output", errors.WeightliftError),
    refused("a property that is no JSON", lambda: ours(described("{relu")), "describes no activation", BAD),
    refused("a property of deep JSON", lambda: ours(described(DEEP_JSON)), "describes no activation", BAD),
    refused("a property of another kind", lambda: ours(described("[1]")), "describes no activation", BAD),
    refused("weights in a file that is not there", lambda: external(), "lacks its weights", BAD),
    same("weights beside the model, others where we stand", lambda: (beside().predict(X), TRUTH.predict(X))),
    refused(
        "a weight that claims 10¹² numbers", lambda: ours(lambda m: m.graph.initializer[0].dims.append(10**12)), "damaged", BAD
    ),
    same(
        "a property that lies is not believed", lambda: (ours(described(json.dumps({"name": "tanh"}))).activation.name, "relu")
    ),
    same(
        "an operator that was exchanged",
        lambda: (ours(lambda m: setattr(m.graph.node[2], "op_type", "Tanh")).activation.name, "tanh"),
    ),
    same("what was exported is imported", lambda: (ours().canonical().W, TRUTH.canonical().W)),
    same("a gelu too", lambda: (ours(net=wl.Network(W, activation="silu")).activation.name, "silu")),
]


def with_cast(to: int) -> Any:
    made = model(*CHAIN[:2], ("MatMul", ["v", "A"], "t"), ("Cast", ["t"], "y"), W=W, A=A)
    made.graph.node[3].attribute.append(helper.make_attribute("to", to))
    return made


def foreign() -> Any:
    made = model(*CHAIN, W=W, A=A)
    made.graph.node[1].domain = "com.example"
    return made


def external() -> Any:
    made = export.to_onnx(TRUTH)
    onnx.save_model(made, MODEL, save_as_external_data=True, location="weights.bin", size_threshold=0)
    os.unlink("weights.bin")
    return export.from_onnx(MODEL)


def beside() -> Any:
    """A model in a folder with its weights, and another's weights under the same name in the working directory."""
    for place, net in (("there", TRUTH), (".", wl.Network(-TRUTH.W, 3 * TRUTH.a))):
        Path(place).mkdir(exist_ok=True)
        file = Path(place) / MODEL
        onnx.save_model(export.to_onnx(net), file, save_as_external_data=True, location="weights.bin", size_threshold=0)
    return export.from_onnx("there" / MODEL)


def state(tensors: dict[str, np.ndarray], **metadata: str) -> Any:
    from safetensors.numpy import save

    Path("state.safetensors").write_bytes(save(tensors, metadata=metadata or None))
    return export.from_safetensors("state.safetensors")


LAYERS = {"0.weight": W.T.copy(), "2.weight": A.T.copy()}
RELU = json.dumps({"name": "relu"})

STATES = [
    refused("a state without φ", lambda: state(LAYERS), "does not name its activation"),
    refused("a state of another φ", lambda: state(LAYERS, activation="magic"), "magic", errors.ActivationError),
    refused("a state with φ of deep JSON", lambda: state(LAYERS, activation=DEEP_JSON), "activation", errors.ActivationError),
    refused("a state of other layers", lambda: state({"w": W}, activation=RELU), "must hold", BAD),
    refused("a state of three layers", lambda: state({**LAYERS, "4.weight": A}, activation=RELU), "must hold", BAD),
    refused(
        "a state whose layers do not fit",
        lambda: state({**LAYERS, "2.weight": np.ones((1, 9))}, activation=RELU),
        "a must",
        errors.WeightliftError,
    ),
    refused(
        "a state with a bias too long",
        lambda: state({**LAYERS, "0.bias": np.ones(9)}, activation=RELU),
        "b must",
        errors.WeightliftError,
    ),
    refused(
        "a state with two constants",
        lambda: state({**LAYERS, "2.bias": np.ones(9)}, activation=RELU),
        "c must",
        errors.WeightliftError,
    ),
    refused(
        "a state with a matrix of biases",
        lambda: state({**LAYERS, "0.bias": np.ones((2, 2))}, activation=RELU),
        "b must",
        errors.WeightliftError,
    ),
    refused(
        "a state of vectors", lambda: state({"0.weight": np.ones(3), "2.weight": np.ones(3)}, activation=RELU), "must hold", BAD
    ),
    refused(
        "a state with NaN",
        lambda: state({**LAYERS, "0.bias": np.full(2, np.nan)}, activation=RELU),
        "NaN",
        errors.NotFiniteError,
    ),
    refused(
        "a state that is no file", lambda: (Path("s").write_text("x"), export.from_safetensors("s")), "not a safetensors", BAD
    ),
    refused(
        "a state of integers' text",
        lambda: state({**LAYERS, "linear.weight": np.ones((4, 4))}, activation=RELU),
        "V must",
        errors.WeightliftError,
    ),
]


def parquet(table: dict[str, Any] | None = None, **options: Any) -> Any:
    given = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": Y} if table is None else table
    pq.write_table(pa.table(given), ROWS)
    return wl.samples.open(ROWS, **{"target": "y", **options})


def swapped() -> Any:
    """A file that is written anew between opening and reading."""
    source = parquet()
    pq.write_table(pa.table({"a": X[:9, 0], "b": X[:9, 1], "c": X[:9, 2], "y": Y[:9]}), ROWS)
    return wl.certify(TRUTH, source)


def removed() -> Any:
    source = parquet()
    ROWS.unlink()
    return wl.certify(TRUTH, source)


def cut() -> Any:
    source = parquet()
    ROWS.write_bytes(ROWS.read_bytes()[:-20])
    return wl.certify(TRUTH, source)


PARQUET = [
    refused("a Parquet file swapped between passes", swapped, "has changed since it was opened", BAD),
    refused("a Parquet file removed between passes", removed, "is gone", BAD),
    refused("a Parquet file cut between passes", cut, "has changed since it was opened", BAD),
    refused("no Parquet file", lambda: wl.samples.open("nowhere", target="y"), "does not exist"),
    refused("a folder without Parquet files", lambda: (os.mkdir("f"), wl.samples.open("f", target="y")), "must hold files"),
    refused(
        "a Parquet file of text",
        lambda: (ROWS.write_text("rows"), wl.samples.open(ROWS, target="y")),
        "not a Parquet file",
        BAD,
    ),
    refused("features as text", lambda: parquet(features="ab"), r"features must be a list of names.*\['ab'\]"),
    refused("weight is the target", lambda: parquet(weight="y"), "weight names the target"),
    refused(
        "weight is a feature", lambda: parquet(features=["a", "b"], weight="b"), "none of them twice, the target or the weight"
    ),
    refused("the target is a feature", lambda: parquet(features=["a", "y"]), "none of them twice"),
    refused("a feature twice", lambda: parquet(features=["a", "a"]), "none of them twice"),
    refused("no feature", lambda: parquet(features=[]), "at least one column"),
    refused("a feature that is not there", lambda: parquet(features=["z"]), "no column 'z'"),
    refused("a target twice", lambda: parquet(target=["y", "y"]), "target must name"),
    refused("no target", lambda: parquet(target=[]), "target must name"),
    refused("a column of text", lambda: parquet({"a": ["x"] * 60, "y": Y}), "holds string values"),
    refused("nulls", lambda: parquet({"a": [None, *X[1:, 0]], "y": Y}), "1 nulls", errors.NotFiniteError),
    refused(
        "NaN in Parquet",
        lambda: wl.certify(wl.Network([[1.0]]), parquet({"a": [np.nan, *X[1:, 0]], "y": Y})),
        "column 'a' holds NaN",
        errors.NotFiniteError,
    ),
    refused("one row of Parquet", lambda: parquet({"a": [1.0], "y": [1.0]}), "has 1 rows", errors.TooFewRowsError),
    refused(
        "negative weights in Parquet",
        lambda: wl.certify(wl.Network([[1.0]]), parquet({"a": X[:, 0], "w": -np.ones(60), "y": Y}, weight="w")),
        "negative",
    ),
    refused("y beside a path", lambda: wl.samples.open(ROWS, Y), "X is a path"),
]


def collection(X: Any = X, y: Any = Y, **options: Any) -> Any:
    dX, dy = (da.from_array(v, chunks=(20, *v.shape[1:])) for v in (X, y))
    return wl.samples.open(dX, dy, **options)


def frame() -> Any:
    return dd.from_pandas(pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": Y}), npartitions=3)


DASK = [
    refused(
        "NaN in a chunk",
        lambda: collection(np.where(np.arange(60)[:, None] == 47, np.nan, X)).mean(wl.samples.Covariance(3)),
        r"chunk 2: X holds NaN.*row 7",
        errors.NotFiniteError,
    ),
    refused("y of NumPy beside Dask", lambda: wl.samples.open(da.from_array(X), Y), "y is a ndarray and X a Dask collection"),
    refused("chunks along columns", lambda: wl.samples.open(da.from_array(X, chunks=(20, 1)), da.from_array(Y)), "rechunk"),
    refused(
        "chunks of unknown size",
        lambda: wl.samples.open(*(lambda A: (A[A[:, 0] > 0], A[:, 0]))(da.from_array(X))),
        "compute_chunk_sizes",
    ),
    refused("y of other length in Dask", lambda: collection(X, Y[:40]), "y has 40 rows and X 60", errors.ShapeError),
    refused("X of one axis in Dask", lambda: collection(Y, Y), "X must have two axes", errors.ShapeError),
    refused("y missing in Dask", lambda: wl.samples.open(da.from_array(X)), "y is missing"),
    refused("no column of a frame", lambda: wl.samples.open(frame(), target="z"), "no column 'z'"),
    refused(
        "a frame's weight is its target", lambda: wl.samples.open(frame(), target="y", weight="y"), "weight names the target"
    ),
    refused("a frame's features as text", lambda: wl.samples.open(frame(), target="y", features="ab"), "list of names"),
    refused(
        "a frame's features twice", lambda: wl.samples.open(frame(), target="y", features=["a", "a"]), "none of them twice"
    ),
    refused("one row in Dask", lambda: collection(X[:1], Y[:1]), "X has 1 rows", errors.TooFewRowsError),
    refused(
        "weights zero in Dask",
        lambda: wl.samples.open(da.from_array(X), da.from_array(Y), sample_weight=da.zeros(60)),
        "zero on every row",
    ),
    refused(
        "objects in Dask",
        lambda: wl.samples.open(dd.from_pandas(pd.DataFrame({"a": ["x"] * 4, "y": [1.0] * 4}), npartitions=1), target="y").n,
        "must hold numbers",
    ),
    same("the same rows in Dask", lambda: (wl.certify(TRUTH, collection()).status, wl.certify(TRUTH, X, Y).status)),
]

CASES: dict[str, list[Case]] = {"onnx": ONNX, "states": STATES, "parquet": PARQUET, "clusters": DASK}
