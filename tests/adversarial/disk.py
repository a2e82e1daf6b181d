"""Bad files: damaged, altered, disguised, swapped, too large; each is made in the working directory and read by its reader."""

from __future__ import annotations

import json
import os
import pickle
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tests.adversarial.arrays import TRUTH, X, Y
from tests.adversarial.cases import Case, refused, same

import weightlift as wl
from weightlift import activations, errors
from weightlift.cli.data import read_table
from weightlift.network import column_names
from weightlift.refinement.sgd import checkpoint
from weightlift.samples.journal import HEAD, Journal

NET, BAD = Path("net.safetensors"), errors.FileFormatError
DEEP_JSON = "[" * 100_000


def saved(**options: Any) -> bytes:
    wl.Network(TRUTH.W, TRUTH.a, activation=activations.leaky_relu(0.125)).save(NET, inputs=["a", "b", "c"], **options)
    return NET.read_bytes()


def loaded(content: bytes) -> wl.Network:
    NET.write_bytes(content)
    return wl.Network.load(NET)


def reheaded(change: Callable[[dict[str, Any], dict[str, Any]], object], content: bytes | None = None) -> bytes:
    """The file with its inner and outer headers changed."""
    content = saved() if content is None else content
    length = struct.unpack("<Q", content[:8])[0]
    outer = json.loads(content[8 : 8 + length])
    inner = json.loads(outer["__metadata__"]["weightlift"])
    change(inner, outer)
    if "__metadata__" in outer and "weightlift" in outer["__metadata__"]:
        outer["__metadata__"]["weightlift"] = json.dumps(inner)
    text = json.dumps(outer).encode()
    return struct.pack("<Q", len(text)) + text + content[8 + length :]


def with_outer(text: bytes) -> bytes:
    return struct.pack("<Q", len(text)) + text


def altered(name: str, change: Callable[[dict[str, Any], dict[str, Any]], object]) -> Case:
    return refused(name, lambda: loaded(reheaded(change)), "checksum|version|not a network|cannot be read", BAD)


MODELS = [
    refused("no file", lambda: wl.Network.load("nowhere.safetensors"), "nowhere", FileNotFoundError),
    refused("a folder", lambda: (NET.mkdir(), wl.Network.load(NET)), "net", OSError),
    refused("nothing inside", lambda: loaded(b""), "truncated", BAD),
    refused("seven bytes", lambda: loaded(b"1234567"), "truncated", BAD),
    refused("a header longer than the file", lambda: loaded(struct.pack("<Q", 2**62)), "truncated", BAD),
    refused("half a file", lambda: loaded(saved()[: len(saved()) // 2]), "truncated|not a network|cannot be read", BAD),
    refused("one byte less", lambda: loaded(saved()[:-1]), "cannot be read|truncated", BAD),
    refused("one byte more", lambda: loaded(saved() + b"\0"), "cannot be read", BAD),
    refused("a weight's last bit", lambda: loaded(saved()[:-1] + bytes([saved()[-1] ^ 1])), "checksum", BAD),
    refused("a pickle", lambda: loaded(pickle.dumps(TRUTH)), "truncated|not a network", BAD),
    refused("text", lambda: loaded(b"W,a,b,c\n1,2,3,4\n"), "truncated|not a network", BAD),
    refused("a header of another encoding", lambda: loaded(with_outer("{ü}".encode("latin-1"))), "not a network", BAD),
    refused("deep JSON outside", lambda: loaded(with_outer(DEEP_JSON.encode())), "not a network", BAD),
    refused(
        "deep JSON inside",
        lambda: loaded(with_outer(json.dumps({"__metadata__": {"weightlift": DEEP_JSON}}).encode())),
        "not a",
        BAD,
    ),
    refused("a header that is a list", lambda: loaded(with_outer(b"[1, 2]")), "not a network", BAD),
    altered("slope 0.825 for 0.125", lambda h, _: h["activation"]["parameters"].update(slope=0.825)),
    altered("tanh for leaky_relu", lambda h, _: h.update(activation={"name": "tanh"})),
    altered("parameters renamed", lambda h, _: h["activation"].update(Parameters=h["activation"].pop("parameters"))),
    altered("another order of columns", lambda h, _: h.update(inputs=["b", "a", "c"])),
    altered("columns without names", lambda h, _: h.pop("inputs")),
    altered("names of outputs added", lambda h, _: h.update(outputs=["y"])),
    altered("a first version", lambda h, _: h.update(version=1)),
    altered("a later version", lambda h, _: h.update(version=99)),
    altered("version 3.0", lambda h, _: h.update(version=3.0)),
    altered("another format", lambda h, _: h.update(format="weightlift.sgd")),
    altered("no checksum", lambda h, _: h.pop("sha256")),
    altered("a checksum of null", lambda h, _: h.update(sha256=None)),
    altered("an entry more", lambda h, _: h.update(more=1)),
    altered("a tensor renamed", lambda _, o: o.update(V=o.pop("W"))),
    altered("W transposed", lambda _, o: o["W"].update(shape=o["W"]["shape"][::-1])),
    altered("a for b", lambda _, o: (lambda a, b: o.update(a=b, b=a))(o["a"], o["b"])),
    altered("single precision", lambda _, o: o["W"].update(dtype="F32", shape=[6, 2])),
    altered("a type that NumPy lacks", lambda _, o: o["W"].update(dtype="BF16", shape=[12, 2])),
    refused("a file of a run", lambda: (run_saved(), wl.Network.load("run"))[1], "not a network", BAD),
    refused("a network as a run", lambda: (saved(), checkpoint.load(NET)), "not a run", BAD),
    refused("steps of a run", lambda: altered_run(lambda h, _: h.update(steps=7)), "checksum", BAD),
    refused("settings of a run", lambda: altered_run(lambda h, _: h["settings"].update(step=7.0)), "checksum", BAD),
    refused("names of another number", lambda: TRUTH.save(NET, inputs=["a"]), "inputs must be 3 names"),
    refused("a name twice", lambda: TRUTH.save(NET, inputs=["a", "a", "b"]), "inputs must be 3 names"),
    refused("a custom activation", lambda: (custom().save(NET), wl.Network.load(NET)), "custom", errors.FileFormatError),
    refused("a folder that is not there", lambda: TRUTH.save("nowhere/net.safetensors"), "nowhere/net", FileNotFoundError),
    same("what was saved is loaded", lambda: (loaded(saved()).W, TRUTH.W)),
    same("names come back", lambda: (saved() and column_names(NET)[0], ("a", "b", "c"))),
]


def custom() -> wl.Network:
    phi = activations.custom("cube", lambda z: z**3, lambda z: 3 * z**2, lambda z: 6 * z)
    return wl.Network(TRUTH.W, activation=phi)


def run_saved() -> bytes:
    checkpoint.save("run", checkpoint.State.start(TRUTH.W), {"step": 1.0})
    return Path("run").read_bytes()


def altered_run(change: Callable[[dict[str, Any], dict[str, Any]], object]) -> object:
    Path("run").write_bytes(reheaded(change, run_saved()))
    return checkpoint.load("run")


def table(name: str, content: bytes | str) -> Any:
    path = Path(name)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_table(path)


def npz(**members: bytes) -> bytes:
    with zipfile.ZipFile("x.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for member, content in members.items():
            archive.writestr(f"{member}.npy", content)
    return Path("x.zip").read_bytes()


def npy(array: np.ndarray, *, claims: tuple[int, ...] | None = None) -> bytes:
    """An NPY file, perhaps one that claims to have another shape."""
    np.save("x.npy", array)
    content = Path("x.npy").read_bytes()
    if claims is None:
        return content
    length = struct.unpack("<H", content[8:10])[0]
    header = content[10 : 10 + length].decode().replace(str(array.shape), str(claims)).rstrip().ljust(length - 1) + "\n"
    return content[:8] + struct.pack("<H", len(header)) + header.encode() + content[10 + length :]


TABLES = [
    refused("an unknown suffix", lambda: table("data.xls", ""), "suffix must be one of", BAD),
    refused("an empty CSV", lambda: table("data.csv", ""), "no rows", BAD),
    refused("a header alone", lambda: table("data.csv", "a,b\n"), "no rows", BAD),
    refused(
        "text in a cell",
        lambda: table("data.csv", "a,b\n1,2\n3,x\n"),
        r"column 'b', row 1, counted from 0 below the header",
        BAD,
    ),
    refused("text, no header", lambda: table("data.csv", "1,2\n3,x\n"), r"column 1, row 1, counted from 0\.", BAD),
    refused(
        "a row too short",
        lambda: table("data.csv", "a,b\n1,2\n3\n"),
        r"row 1, counted from 0 below the header, has 1 columns",
        BAD,
    ),
    refused("a header too long", lambda: table("data.csv", "a,b,c\n1,2\n"), "header has 3 columns and the rows 2", BAD),
    refused("binary in a CSV", lambda: table("data.csv", b"\xff\xfe\x00\x01"), "UTF-8", BAD),
    refused("a NUL in a CSV", lambda: table("data.csv", "a,b\n1,\0\n"), "data.csv", BAD),
    refused("not a Parquet file", lambda: table("data.parquet", "PAR1"), "not a Parquet file|Parquet needs", BAD),
    refused("not an NPY file", lambda: table("data.npy", "numpy"), "damaged", BAD),
    refused("half an NPY file", lambda: table("data.npy", npy(X)[:200]), "damaged", BAD),
    refused("an NPY of objects", lambda: table("data.npy", pickled()), "pickled objects", BAD),
    refused("an NPY of text", lambda: table("data.npy", npy(X.astype(str))), "real numbers", BAD),
    refused(
        "an NPY that claims 10¹⁵ numbers", lambda: table("data.npy", npy(X, claims=(10**15, 3))), "says to have the shape", BAD
    ),
    refused("an NPZ that is no archive", lambda: table("data.npz", b"PK\3\4 and no more"), "damaged", BAD),
    refused("an NPZ without X", lambda: table("data.npz", npz(Z=npy(X))), "must hold an array X", BAD),
    refused("an NPZ with y too short", lambda: table("data.npz", npz(X=npy(X), y=npy(Y[:3]))), "y must have targets", BAD),
    refused("an NPZ that expands a thousandfold", lambda: table("data.npz", npz(X=bytes(2**27))), "expands to", BAD),
    refused(
        "an NPZ that claims 10¹⁵ numbers", lambda: table("data.npz", npz(X=npy(X, claims=(10**15, 3)))), "says to have", BAD
    ),
    refused("an NPZ of objects", lambda: table("data.npz", npz(X=pickled())), "pickled objects", BAD),
    same("a CSV of semicolons", lambda: (table("data.csv", "a;b\n1;2\n").values, np.array([[1.0, 2.0]]))),
    same("a byte order mark", lambda: (table("data.csv", "\ufeffa,b\n1,2\n").names, ("a", "b"))),
    same("an NPZ", lambda: (table("data.npz", npz(X=npy(X), y=npy(Y))).values, np.column_stack([X, Y]))),
]


def pickled() -> bytes:
    np.save("o.npy", np.array([{}, None], dtype=object), allow_pickle=True)
    return Path("o.npy").read_bytes()


def journal(content: bytes, n_inputs: int = 2) -> Journal:
    Path("j").write_bytes(content)
    book = Journal("j", n_inputs)
    book.close()
    return book


def written() -> bytes:
    book = Journal("k", 2)
    book.write(np.ones((3, 2)), np.ones((3, 1)))
    book.write(np.zeros((1, 2)), np.ones((1, 1)))
    book.close()
    return Path("k").read_bytes()


EMPTY = HEAD.pack(0, 2**60, 0, 0)  # the checksum of nothing is 0

JOURNALS = [
    refused("a journal of text", lambda: journal(b"answers\n"), "not one of this release", BAD),
    refused("a journal of deep JSON", lambda: journal(DEEP_JSON.encode() + b"\n"), "not one of this release", BAD),
    refused(
        "a journal of a later version", lambda: journal(written().replace(b'"version": 1', b'"version": 2')), "release", BAD
    ),
    refused("a journal of other inputs", lambda: (written(), Journal("k", 5)), "2 inputs, not 5", BAD),
    refused("a journal that is a folder", lambda: (os.mkdir("k"), Journal("k", 2)), "k", OSError),
    refused("a journal that is in use", lambda: (Journal("k", 2), Journal("k", 2)), "in use by another run", BAD),
    same("a torn tail is cut", lambda: (len(journal(written()[:-5])), 1)),
    same("a damaged record ends it", lambda: (len(journal(written()[:-1] + b"!")), 1)),
    same("a torn header is begun anew", lambda: (len(journal(written()[:10])), 0)),
    same("a record without rows that claims 2⁶⁰ outputs", lambda: (len(journal(written() + EMPTY)), 2)),
    same("a record that claims 2⁶⁰ rows", lambda: (len(journal(written() + struct.pack("<QQQQ", 2**60, 1, 0, 0))), 2)),
]

CASES: dict[str, list[Case]] = {"models": MODELS, "tables": TABLES, "journals": JOURNALS}
