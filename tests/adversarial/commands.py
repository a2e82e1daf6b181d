"""Bad command lines: each ends in a sentence on stderr and exit code 2, never in a traceback."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
from tests.adversarial.arrays import TRUTH, X, Y
from tests.adversarial.cases import Case, refused, same
from typer.testing import CliRunner

import weightlift as wl
from weightlift.cli import app


class UsageError(Exception):
    """A command that ended with exit code 2, and what it said."""


def run(line: str) -> str:
    """What a command printed; a `UsageError` with all of it where it ended with 2, and what it raised where it raised."""
    np.savez("data.npz", X=X, y=Y)
    np.savetxt("data.csv", np.column_stack([X, Y]), delimiter=",", header="a,b,c,y", comments="")
    TRUTH.save("net.safetensors")
    Path("there.safetensors").write_text("taken")
    result = CliRunner().invoke(app, line.split())
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if result.exit_code == 2:
        raise UsageError(" ".join(result.output.replace("│", " ").split()))
    return result.output


def mistaken(line: str, words: str, before: Callable[[], object] | None = None) -> Case:
    return refused(line, lambda: (before() if before else None, run(line))[1], words, UsageError)


def deep_header() -> None:
    text = json.dumps({"__metadata__": {"weightlift": "[" * 100_000}}).encode()
    Path("deep.safetensors").write_bytes(len(text).to_bytes(8, "little") + text)


def other_database() -> None:
    os.mkdir("out")
    with sqlite3.connect("out/cells.sqlite") as db:
        db.execute("CREATE TABLE t (x)")


COMMANDS = [
    mistaken("recover", "Missing argument"),
    mistaken("recover data.npz", "--units"),
    mistaken("recover nowhere.csv --units 2", "nowhere.csv: No such file"),
    mistaken("recover data.npz --units 0", "positive whole number"),
    mistaken("recover data.npz --units 1e3", "positive whole number"),
    mistaken("recover data.npz --units ²", "positive whole number"),
    mistaken("recover data.npz --units 1500", "n_units = 1,500"),
    mistaken("recover data.npz --units 1000000000000000000000000000000", "n_units"),
    mistaken("recover data.npz --units 2 --activation rellu", "relu"),
    mistaken("recover data.npz --units 2 --linear maybe", "none of no, yes, auto"),
    mistaken("recover data.npz --units 2 --method magic", "method must be one of"),
    mistaken("recover data.npz --units 2 --max-work -1", "--max-work"),
    mistaken("recover data.npz --units 2 --max-work nan", "--max-work|max_work"),
    mistaken("recover data.npz --units 2 --seed -1", "--seed"),
    mistaken("recover data.npz --units 2 --out net.txt", "must end in .safetensors"),
    mistaken("recover data.npz --units 2 --out nowhere/net.safetensors", "does not exist"),
    mistaken("recover data.npz --units 2 --out there.safetensors", "--force"),
    mistaken("recover data.npz --units 2 --frobnicate", "No such option"),
    mistaken("recover data.csv --units 2", "name the column of y"),
    mistaken("recover data.csv --units 2 --target z", "no column 'z'"),
    mistaken("recover data.csv --units 2 --target 9", "no column '9'"),
    mistaken("recover data.csv --units 2 --target y,y", "twice"),
    mistaken("recover data.csv --units 2 --target a,b,c,y", "every column is a target"),
    mistaken("recover . --units 2", "suffix"),
    mistaken("predict net.safetensors data.npy", "data.npy: No such file"),
    mistaken("predict net.safetensors data.csv", "4 input columns and the network 3"),
    mistaken("predict there.safetensors data.npz", "there.safetensors"),
    mistaken("predict deep.safetensors data.npz", "not a network", deep_header),
    mistaken("predict net.safetensors data.npz --out p.txt", ".csv or .npy"),
    mistaken("show nowhere.safetensors", "No such file"),
    mistaken("show there.safetensors", "truncated|not a network"),
    mistaken("show deep.safetensors", "not a network", deep_header),
    mistaken("convert net.safetensors --to tensorflow", "none of onnx"),
    mistaken("convert net.safetensors --to onnx --dtype float16", "neither float64"),
    mistaken("convert there.safetensors --to safetensors --out n.safetensors", "not a safetensors"),
    mistaken("convert deep.safetensors --to onnx", "deep", deep_header),
    mistaken("convert data.npz --to onnx", "suffix must be one of"),
    mistaken("extract nothing --inputs 3", "must be a file"),
    mistaken("extract no.such.module:f --inputs 3", "cannot be imported"),
    mistaken("extract math:nothing --inputs 3", "cannot be imported"),
    mistaken("extract nowhere.onnx --inputs 3", "no file|onnxruntime"),
    mistaken("extract bad.onnx --inputs 3", "bad.onnx|pip install", lambda: Path("bad.onnx").write_text("x")),
    mistaken("extract net.safetensors --inputs 0", "--inputs"),
    mistaken("extract net.safetensors --inputs 5", "5|inputs"),
    mistaken("extract net.safetensors --inputs 3 --budget 4", "budget"),
    mistaken("extract net.safetensors --inputs 3 --units none", "n_units"),
    mistaken("extract net.safetensors --inputs 3 --scale 0", "scale"),
    mistaken("extract net.safetensors --inputs 3 --scale nan", "scale"),
    mistaken("extract net.safetensors --inputs 3 --journal there.safetensors", "journal"),
    mistaken("diagnose", "Error|--inputs|inputs"),
    mistaken("diagnose --inputs 3 --units 0", "--units|n_units"),
    mistaken("diagnose data.csv --target z", "no column 'z'"),
    mistaken("demo --units 9 --inputs 3", "at most as many"),
    mistaken("demo --noise nan", "--noise"),
    mistaken("demo --out picture.txt", "must end in"),
    mistaken("reproduce nobody", "nobody"),
    mistaken("reproduce zhong2017 fig99", "fig99"),
    mistaken("reproduce zhong2017 fig1a --size huge", "size"),
    mistaken("reproduce zhong2017 fig1a --jobs 0", "jobs"),
    mistaken("reproduce zhong2017 fig1a --trials 0", "trials"),
    mistaken("reproduce zhong2017 fig1a --out out", "another kind", other_database),
    mistaken("reproduce zhong2017 fig1a --out there.safetensors", "there.safetensors"),
    mistaken("reproduce page --merge nowhere", "nowhere"),
    mistaken("frobnicate", "No such command"),
    same("recover data.npz --units 2", lambda: ("EXACT" in run("recover data.npz --units 2"), True)),
    same("show prints the network", lambda: ("2 units, relu" in run("show net.safetensors"), True)),
    same(
        "the network of the library",
        lambda: (
            np.array(json.loads(run("recover data.npz --units 2 --json"))["network"]["W"]),
            wl.recover(X, Y, n_units=2).network.W,
        ),
    ),
]

CASES: dict[str, list[Case]] = {"command line": COMMANDS}
