"""`weightlift predict`, `show` and `convert`: from files to files, and what all commands refuse."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.cli.running import Planted, run
from tests.conftest import optional

import weightlift as wl
from weightlift.errors import ArgumentError


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["recover", "data.csv", "--units", "2"], "the columns p, y, q, r"),
        (["recover", "data.csv", "--units", "2", "--target", "z"], "no column 'z'"),
        (["recover", "data.npy", "--units", "2", "--target", "4"], "no column '4'"),
        (["recover", "data.npz"], "--units"),
        (["recover", "data.npz", "--units", "0"], "positive whole number"),
        (["recover", "data.npz", "--units", "-1"], "positive whole number"),
        (["recover", "data.npz", "--units", "1.5"], "positive whole number"),
        (["recover", "data.npz", "--units", "2", "--method", "magic"], "method"),
        (["recover", "data.npz", "--units", "2", "--activation", "rellu"], "relu"),
        (["recover", "data.npz", "--units", "2", "--out", "data.npz"], ".safetensors"),
        (["recover", "data.npz", "--units", "2", "--out", "there.safetensors"], "--force"),
        (["recover", "missing.csv", "--units", "2", "--target", "y"], "No such file"),
        (["recover", "data.xls", "--units", "2", "--target", "y"], "suffix"),
        (["recover", "hole.csv", "--units", "1", "--target", "y"], "NaN"),
        (["recover", "alone.csv", "--units", "1", "--target", "y"], "'y' is the only column"),
        (["diagnose", "alone.csv", "--target", "0"], "'y' is the only column"),
        (["recover", "twice.csv", "--units", "1", "--target", "y"], "2 columns are called 'y'"),
        (["predict", "there.safetensors", "data.npz"], "safetensors"),
        (["predict", "missing.safetensors", "data.npz"], "No such file"),
        (["predict", "net.safetensors", "data.csv"], "4 input columns and the network 3"),
        (["predict", "net.safetensors", "data.npz", "--out", "p.txt"], ".csv or .npy"),
        (["show", "data.csv"], "safetensors"),
        (["convert", "net.safetensors"], "--to"),
        (["convert", "net.safetensors", "--to", "tensorflow"], "none of onnx"),
        (["convert", "net.safetensors", "--to", "onnx", "--dtype", "float16"], "neither float64"),
        (["convert", "net.safetensors", "--to", "safetensors"], "--force"),
        (["convert", "missing.safetensors", "--to", "sklearn"], "No such file"),
        (["convert", "data.csv", "--to", "sklearn"], "suffix"),
        (["convert", "there.safetensors", "--to", "sklearn"], "not a safetensors file"),
        (["convert", "net.safetensors", "--to", "onnx", "--out", "net.pb"], ".onnx"),
        (["recover", "data.npz", "--units", "2", "--turbo"], "No such option"),
        (["show", "."], "directory"),
    ],
)
def test_mistakes_end_in_plain_words_and_nothing_is_touched(planted: Planted, arguments: list[str], words: str) -> None:
    planted[0].save("net.safetensors")
    Path("there.safetensors").write_bytes(b"mine")
    Path("hole.csv").write_text("x,y\n1,2\n3,nan\n4,5\n")
    Path("alone.csv").write_text("y\n1\n2\n3\n")
    Path("twice.csv").write_text("x,y,y\n1,2,2\n3,1,1\n4,5,5\n")
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert words in result.output
    assert "Traceback" not in result.output
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


def test_warnings_are_sentences_on_stderr(planted: Planted) -> None:
    _, X, y = planted
    np.savez("data.npz", X=np.hstack([X, X[:, :1]]), y=y)  # a column twice
    result = run("recover", "data.npz", "--units", "2", "--max-work", "20", "--json")
    assert json.loads(result.stdout)["certified"] is (result.exit_code == 0)
    assert result.exit_code == 3
    assert result.stderr.startswith("Warning: ")
    assert "linearly dependent" in result.stderr
    assert "UserWarning" not in result.stderr


@pytest.mark.parametrize("target", ["onnx", "torch", "sklearn", "safetensors"])
def test_convert_writes_what_other_tools_read(planted: Planted, target: str) -> None:
    truth, X, y = planted
    truth.save("net.safetensors")
    if target in ("onnx", "torch"):
        optional(target)
    names = {"onnx": "net.onnx", "torch": "net.torch.safetensors", "sklearn": "net.joblib", "safetensors": "copy.safetensors"}
    out = names[target]
    options = ["--out", out] if target == "safetensors" else []
    result = run("convert", "net.safetensors", "--to", target, *options)
    assert result.exit_code == 0, result.output
    assert out in result.stdout
    if target == "sklearn":
        import joblib

        np.testing.assert_allclose(joblib.load(out).predict(X), y, atol=1e-13)
    else:
        again = run("convert", out, "--to", "safetensors", "--out", "back.safetensors", "--json")
        assert json.loads(again.stdout)["n_units"] == 2
        np.testing.assert_allclose(wl.Network.load("back.safetensors").predict(X), y, atol=1e-13)
    assert run("convert", "net.safetensors", "--to", target, *options).exit_code == 2
    assert run("convert", "net.safetensors", "--to", target, *options, "--force").exit_code == 0


def test_convert_refuses_activations_by_name(planted: Planted) -> None:
    wl.Network([[1.0]], activation="squared_relu").save("odd.safetensors")
    for target in ("torch", "sklearn"):
        result = run("convert", "odd.safetensors", "--to", target)
        assert result.exit_code == 2
        assert "squared_relu" in result.output
    assert not Path("odd.joblib").exists()


def test_every_command_explains_itself_with_examples() -> None:
    for command in ("demo", "recover", "predict", "show", "convert"):
        result = run(command, "--help")
        assert result.exit_code == 0
        assert f"weightlift {command}" in result.output
    assert "--install-completion" in run("--help").output


def test_names_are_checked(tmp_path: Path) -> None:
    net = wl.Network([[1.0], [2.0]])
    with pytest.raises(ArgumentError, match="2 names"):
        net.save(tmp_path / "n.safetensors", inputs=["a", "a"])
    net.save(tmp_path / "n.safetensors")
    assert wl.network.column_names(tmp_path / "n.safetensors") == (None, None)
