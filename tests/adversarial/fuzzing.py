"""Files that were damaged or forged at random: each is refused by one class of error, or means what it says.

    python -m tests.adversarial.fuzzing --mutants 1000000 --jobs 16

Mutants are structured: bits and pieces of the bytes, entries of the JSON headers, messages of the ONNX graph. Of every one,

    refused     the reader raised a WeightliftError, and nothing else
    loaded      what it returned is what the file says: of a sealed file, bit for bit what was saved; of a state dictionary and
                an ONNX model, what an independent reader computes from it
    nothing ran an audit hook saw no code compiled or executed, no module or process started, no other file opened
    memory      the process never took more than 64 MB beside the largest file
"""

from __future__ import annotations

import argparse
import copy
import importlib.util
import json
import multiprocessing
import os
import random
import resource
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import weightlift as wl
from weightlift.errors import WeightliftError
from weightlift.network import column_names
from weightlift.refinement.sgd import checkpoint
from weightlift.samples.journal import Journal

MEMORY = 64 * 2**20
FORBIDDEN = ("exec", "compile", "import", "os.system", "os.exec", "os.fork", "os.posix_spawn", "subprocess", "socket", "pickle")
TRUTH = wl.Network([[1.0, 0.2], [-0.5, 1.0], [0.3, 0.7]], [1.0, -0.8], [0.1, -0.4], 0.7, wl.activations.leaky_relu(0.125))
TWO = wl.Network(TRUTH.W, [[1.0, 2.0], [0.5, -0.7]], c=[0.0, 1.0], activation="tanh", V=np.arange(6.0).reshape(3, 2))
ROWS = np.random.default_rng(0).normal(size=(5, 3))


class Different(Exception):  # noqa: N818
    """A mutant that loads and means something else than it says."""


@dataclass(frozen=True)
class Kind:
    """A kind of file: examples, ways to change them beside those of bytes, and a reader that checks what it read."""

    name: str
    examples: tuple[bytes, ...]
    change: Callable[[bytes, random.Random], bytes] | None
    read: Callable[[Path, bytes], None]  # raises a WeightliftError, or Different, or nothing


def kinds(folder: Path) -> tuple[Kind, ...]:
    """Every kind of file that the package reads."""
    nets = (TRUTH, TWO)
    path = folder / "example"
    models = []
    for net, names in zip(nets, (["a", "b", "c"], None), strict=True):
        net.save(path, inputs=names)
        models.append(path.read_bytes())
    checkpoint.save(path, checkpoint.State.start(TRUTH.W), {"step": 0.5, "start": "here"})
    run = path.read_bytes()
    states = []
    for net in nets:
        wl.export.to_safetensors(net, path)
        states.append(path.read_bytes())
    path.unlink()
    book = Journal(path, 3)
    for rows in (ROWS, ROWS[:2] + 1):
        book.write(rows, TRUTH.predict(rows)[:, None])
    book.close()
    journal = path.read_bytes()
    plain = (
        Kind("network", tuple(models), headers, _read_network),
        Kind("run", (run,), headers, _read_run),
        Kind("state", tuple(states), headers, _read_state),
        Kind("journal", (journal,), None, _read_journal),
    )
    if importlib.util.find_spec("onnx") is None:
        return plain
    graphs = tuple(wl.export.to_onnx(net).SerializeToString() for net in (*nets, _plain_relu()))
    return (*plain, Kind("onnx", graphs, messages, _read_onnx))


def _plain_relu() -> wl.Network:
    return wl.Network(TRUTH.W, TRUTH.a, TRUTH.b)


# Ways to change a file


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Bits flipped, bytes set, pieces cut, doubled, exchanged, or the end torn off."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        if not data:
            break
        i, j = sorted(rng.randrange(len(data) + 1) for _ in range(2))
        j = min(j, i + rng.choice((1, 4, 8, 64)))
        way = rng.randrange(7)
        if way == 0 and i < len(data):
            data[i] ^= 1 << rng.randrange(8)
        elif way == 1 and i < len(data):
            data[i] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        elif way == 2:
            del data[i:j]
        elif way == 3:
            data[i:i] = data[i:j]
        elif way == 4:
            data[i:j] = rng.randbytes(j - i)
        elif way == 5:
            data[i : i + 8] = struct.pack("<Q", rng.choice((0, 1, 2**31, 2**40, 2**63, len(data), rng.randrange(2**20))))
        else:
            del data[i:]
    return bytes(data)


def headers(content: bytes, rng: random.Random) -> bytes:
    """The JSON header of a safetensors file, or the one inside it, with some entries changed."""
    length = struct.unpack("<Q", content[:8])[0]
    outer = json.loads(content[8 : 8 + length])
    metadata = outer.get("__metadata__", {})
    inside = [key for key in ("weightlift", "activation") if key in metadata]
    if inside and rng.random() < 0.6:
        inner = json.loads(metadata[inside[0]])
        _shake(inner, rng)
        metadata[inside[0]] = json.dumps(inner)
    else:
        _shake(outer, rng)
    text = json.dumps(outer).encode()
    return struct.pack("<Q", len(text)) + text + content[8 + length :]


VALUES: tuple[Any, ...] = (None, True, 0, 1, 3, -1, 0.5, 1e308, "", "relu", "tanh", "F64", "F32", [], {}, [0, 8], [2, 3], "é")


def _shake(value: Any, rng: random.Random) -> None:
    """One entry somewhere below removed, renamed, doubled or replaced."""
    while isinstance(value, dict | list) and value:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = rng.choice(keys)
        child = value[key]
        if isinstance(child, dict | list) and child and rng.random() < 0.7:
            value = child
            continue
        way = rng.randrange(5)
        if way == 0:
            del value[key]
        elif way == 1 and isinstance(value, dict):
            value[rng.choice((str(key) + "_", "V", "W", "a", "b", "c", "name"))] = value.pop(key)
        elif way == 2 and isinstance(child, int | float) and not isinstance(child, bool):
            value[key] = rng.choice((child + 1, -child, 2 * child, child / 3, float(child)))
        elif way == 3 and isinstance(value, list):
            rng.shuffle(value)
        elif way == 3:
            value[key] = copy.deepcopy(value[rng.choice(keys)])
        else:
            value[key] = rng.choice(VALUES)
        return


def messages(content: bytes, rng: random.Random) -> bytes:
    """Nodes, weights, attributes and properties of an ONNX model changed, exchanged, removed or doubled."""
    import onnx

    model = onnx.ModelProto.FromString(content)
    graph = model.graph
    parts = (graph.node, graph.node, graph.initializer, graph.input, graph.output, model.metadata_props, model.opset_import)
    for _ in range(rng.choice((1, 1, 2))):
        part = rng.choice(parts)
        if not part:
            continue
        one = rng.choice(part)
        way = rng.randrange(6)
        if way == 0:
            part.remove(one)
        elif way == 1:
            part.append(copy.deepcopy(one))
        elif hasattr(one, "op_type"):
            _shake_node(one, graph, rng)
        elif hasattr(one, "dims"):
            _shake_weight(one, rng)
        elif hasattr(one, "version"):
            one.version = rng.choice((0, 1, 6, 13, 17, 18, 99))
        elif hasattr(one, "key"):
            one.value = rng.choice(("{", "[1]", '{"name": "tanh"}', '{"name": "relu"}', "relu", ""))
    return bytes(model.SerializeToString())


OPERATORS = ("Relu", "Tanh", "Add", "MatMul", "Mul", "Neg", "Identity", "Cast", "Sigmoid", "Sub", "Gemm")


def _shake_node(node: Any, graph: Any, rng: random.Random) -> None:
    if rng.random() < 0.5:
        node.op_type = rng.choice(OPERATORS)
        return
    names = [*(name for one in graph.node for name in (*one.input, *one.output)), "X", ""]
    field = rng.choice((node.input, node.output))
    if field:
        field[rng.randrange(len(field))] = rng.choice(names)


def _shake_weight(weight: Any, rng: random.Random) -> None:
    way = rng.randrange(4)
    if way == 0 and weight.dims:
        weight.dims[rng.randrange(len(weight.dims))] = rng.choice((0, 1, 2, 3, 6, -1, 2**40))
    elif way == 1:
        weight.data_type = rng.choice((1, 10, 11, 16, 8))
    elif way == 2:
        weight.raw_data = damaged(weight.raw_data, rng)
    else:  # TensorProto.EXTERNAL: numbers in another file
        weight.data_location = 1
        weight.external_data.add(key="location", value=rng.choice(("../secret", "/etc/passwd", "mutant", "a/../../b", "")))
        weight.ClearField("raw_data")


# Readers


def _read_network(path: Path, content: bytes) -> None:
    net, names = wl.Network.load(path), column_names(path)
    if not any(_same(net, known) and names[0] == given for known, given in ((TRUTH, ("a", "b", "c")), (TWO, None))):
        raise Different(f"{net!r} with columns {names}")


def _read_run(path: Path, content: bytes) -> None:
    state, settings = checkpoint.load(path)
    if not np.array_equal(state.W, TRUTH.W) or state.steps or settings != {"step": 0.5, "start": "here"}:
        raise Different(f"{state} {settings}")


def _same(f: wl.Network, g: wl.Network) -> bool:
    pairs = ((f.W, g.W), (f.a, g.a), (f.b, g.b), (f.c, g.c), (f.V, g.V))
    return f.activation == g.activation and all(np.array_equal(x, y) for x, y in pairs)  # type: ignore[arg-type]


def _read_state(path: Path, content: bytes) -> None:
    """A state dictionary has no checksum: it means what safetensors and its own metadata say."""
    net = wl.export.from_safetensors(path)
    from safetensors.numpy import load

    tensors = load(content)
    metadata = json.loads(content[8 : 8 + struct.unpack("<Q", content[:8])[0]])["__metadata__"]
    if "weightlift" in metadata:
        raise Different("a sealed file that no checksum holds")
    try:
        phi = wl.activations.from_json(json.loads(metadata["activation"]))
    except ValueError:
        phi = wl.activations.get(metadata["activation"])
    W, A = tensors["0.weight"].T.astype(float), tensors["2.weight"].T.astype(float)
    with np.errstate(all="ignore"):
        b, c = (np.asarray(tensors.get(name, 0.0), dtype=float) for name in ("0.bias", "2.bias"))
        y = phi(ROWS @ W + b) @ A + c
        if "linear.weight" in tensors:
            y = y + ROWS @ tensors["linear.weight"].T.astype(float)
        _agree(net.predict(ROWS).reshape(y.shape), y)


def _read_journal(path: Path, content: bytes) -> None:
    """Whole records alone, each with the answers that were written."""
    book = Journal(path, 3)
    book.close()
    for row, answer in [*book._answers.items(), *book._second.items()]:
        if not np.array_equal(TRUTH.predict(np.frombuffer(row).reshape(1, 3)), answer):
            raise Different("another answer")


def _read_onnx(path: Path, content: bytes) -> None:
    """What the graph computes, whatever is said of it: by onnxruntime where it is there, else by onnx's own evaluator."""
    net = wl.export.from_onnx(path)
    if net.n_inputs != ROWS.shape[1] or (y := _evaluated(content)) is None:
        return  # no runtime takes it either
    with np.errstate(all="ignore"):
        _agree(net.predict(ROWS).reshape(len(ROWS), -1), y.reshape(len(ROWS), -1))


def _evaluated(content: bytes) -> np.ndarray | None:
    import onnx

    kind = onnx.ModelProto.FromString(content).graph.input[0].type.tensor_type.elem_type
    rows = ROWS.astype({1: np.float32, 10: np.float16}.get(kind, np.float64))
    try:
        try:
            import onnxruntime

            options = onnxruntime.SessionOptions()
            options.log_severity_level = 4
            session: Any = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
            return np.asarray(session.run(None, {session.get_inputs()[0].name: rows})[0], dtype=float)
        except ImportError:
            from onnx.reference import ReferenceEvaluator

            evaluator = ReferenceEvaluator(content)
            return np.asarray(evaluator.run(None, {evaluator.input_names[0]: rows})[0], dtype=float)
    except Exception:
        return None


def _agree(found: np.ndarray, expected: np.ndarray) -> None:
    size = 1.0 + np.abs(expected[np.isfinite(expected)]).max(initial=0.0)
    if found.shape != expected.shape or not np.allclose(found, expected, rtol=1e-5, atol=1e-5 * size, equal_nan=True):
        raise Different(f"it predicts {found.ravel()[:3]} where the file says {expected.ravel()[:3]}")


# The watch


class Watch:
    """An audit hook: what is done while a file is read, beside reading it."""

    def __init__(self) -> None:
        self.on, self.path, self.seen = False, "", list[str]()
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.on:
            return
        named = event == "open" and not isinstance(arguments[0], int)  # a descriptor was opened by its name before
        elsewhere = named and os.path.realpath(str(arguments[0])) != self.path
        if elsewhere or event.startswith(FORBIDDEN):
            self.seen.append(f"{event} {str(arguments)[:100]}")


@dataclass(frozen=True)
class Tally:
    """What became of so many mutants of a kind."""

    kind: str
    fates: Counter[str]
    faults: tuple[str, ...]
    memory: int  # bytes that the process took beside what it had


def fuzz(job: tuple[str, int, int]) -> Tally:
    """So many mutants of one kind, from a seed."""
    name, number, seed = job
    rng, fates, faults = random.Random(f"{name} {seed}"), Counter[str](), list[str]()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        kind = next(kind for kind in kinds(Path(folder)) if kind.name == name)
        path, watch = Path(folder) / "mutant", WATCH
        for example in kind.examples:  # what is read for the first time loads what it needs
            _one(kind, path, example)
            _one(kind, path, damaged(example, random.Random(0)))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for i in range(number):
            example = rng.choice(kind.examples)
            structured = kind.change is not None and rng.random() < 0.7
            content = kind.change(example, rng) if structured and kind.change else damaged(example, rng)
            watch.path, watch.seen = os.path.realpath(path), []
            fate = "loaded" if content == example else _one(kind, path, content)
            fates[fate.partition(":")[0]] += 1
            if fate not in ("refused", "loaded") or watch.seen:
                faults.append(f"{name} {seed} #{i}: {fate} {watch.seen[:3]}")
        memory = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    if memory > MEMORY:
        faults.append(f"{name} {seed}: {memory / 2**20:.0f} MB")
    return Tally(name, fates, tuple(faults[:20]), memory)


def _one(kind: Kind, path: Path, content: bytes) -> str:
    path.write_bytes(content)
    WATCH.on = kind.name != "onnx" and kind.name != "state"  # their independent readers may do as they like
    try:
        if not WATCH.on:
            _watched_alone(kind, path)
        kind.read(path, content)
    except WeightliftError:
        return "refused"
    except Different as error:
        return f"another meaning: {error}"
    except Exception as error:
        return f"error: {type(error).__name__} {str(error)[:100]}"
    finally:
        WATCH.on = False
    return "loaded"


def _watched_alone(kind: Kind, path: Path) -> None:
    """The package's reader alone under the watch."""
    WATCH.on = True
    try:
        wl.export.from_onnx(path) if kind.name == "onnx" else wl.export.from_safetensors(path)
    finally:
        WATCH.on = False


WATCH = Watch()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=1_000_000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=600.0)
    options = parser.parse_args()
    began = time.monotonic()
    shares = {"network": 0.3, "run": 0.15, "state": 0.2, "journal": 0.15, "onnx": 0.2}
    piece = max(1, min(2000, options.mutants // 20))
    jobs = [
        (name, piece, options.seed + i) for i in range(int(0.3 * options.mutants / piece) + 1) for name, share in shares.items()
        if i < share * options.mutants / piece
    ]  # fmt: skip
    fates: dict[str, Counter[str]] = {}
    faults: list[str] = []
    most = 0
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        for tally in pool.imap_unordered(fuzz, jobs):
            fates.setdefault(tally.kind, Counter()).update(tally.fates)
            faults += tally.faults
            most = max(most, tally.memory)
            if time.monotonic() - began > 60 * options.minutes:
                pool.terminate()
                break
    for name, found in fates.items():
        print(f"{name:<10} {sum(found.values()):>9,} mutants: " + ", ".join(f"{n:,} {fate}" for fate, n in found.most_common()))
    total = sum(sum(found.values()) for found in fates.values())
    print(f"{total:,} mutants, {len(faults)} faults, at most {most / 2**20:.1f} MB taken; {time.monotonic() - began:.0f} s")
    print("\n".join(faults[:40]))
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
