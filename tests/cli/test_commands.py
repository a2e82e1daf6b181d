"""`weightlift recover`, `predict` and `show`: from files to files, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import optional
from typer.testing import CliRunner

import weightlift as wl
from weightlift.cli import app
from weightlift.cli.data import read_table
from weightlift.errors import ArgumentError, FileFormatError


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[wl.Network, np.ndarray, np.ndarray]:
    """A network, and its samples in files of every kind: data.csv (columns p, y, q, r), data.npy (y in column 1), data.npz."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    truth = wl.teachers.conditioned(3, 2, activation="relu", rng=4)
    X, y = wl.draw(truth, 60, rng=5)
    table = np.insert(X, 1, y, axis=1)
    np.savetxt("data.csv", table, delimiter=",", header="p,y,q,r", comments="", fmt="%.17g")
    np.save("data.npy", table)
    np.savez("data.npz", X=X, y=y)
    return truth, X, y


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


Planted = tuple[wl.Network, np.ndarray, np.ndarray]


@pytest.mark.parametrize("source", [["data.csv", "--target", "y"], ["data.npy", "--target", "1"], ["data.npz"]])
def test_recover_show_predict_round_trip(planted: Planted, source: list[str]) -> None:
    truth, X, y = planted
    result = run("recover", *source, "--units", "2", "--out", "net.safetensors")
    assert result.exit_code == 0, result.output
    assert "EXACT" in result.stdout
    network = wl.Network.load("net.safetensors")
    assert wl.match(network, truth).max_error < 1e-12
    shown = json.loads(run("show", "net.safetensors", "--json").stdout)
    np.testing.assert_array_equal(shown["W"], network.normalized().W)
    assert "2 units, relu" in run("show", "net.safetensors").stdout
    lines = run("predict", "net.safetensors", *source).stdout.split()
    np.testing.assert_array_equal([float(line) for line in lines], network.predict(X))
    assert run("predict", "net.safetensors", *source, "--out", "p.csv").exit_code == 0
    np.testing.assert_array_equal(np.loadtxt("p.csv", skiprows=1), network.predict(X))
    assert run("predict", "net.safetensors", *source, "--out", "p.npy").exit_code == 0
    np.testing.assert_array_equal(np.load("p.npy"), network.predict(X))
    printed = json.loads(run("predict", "net.safetensors", *source, "--json").stdout)
    np.testing.assert_allclose(printed["predictions"], y, atol=1e-12)


@pytest.mark.parametrize(("bias", "offset"), [(True, False), (False, True)])
def test_biases_and_a_constant_are_fitted_when_asked_for(planted: Planted, bias: bool, offset: bool) -> None:
    W, a = planted[0].W, planted[0].a
    truth = wl.Network(W, a, [0.5, -0.3] if bias else None, 0.7 if offset else 0.0)
    X, y = wl.draw(truth, 200, rng=6)
    np.savez("data.npz", X=X, y=y)
    options = ["--bias"] * bias + ["--offset"] * offset
    assert run("recover", "data.npz", "--units", "2", *options, "--out", "net.safetensors").exit_code == 0
    found = wl.match(wl.Network.load("net.safetensors"), truth)
    assert max(found.max_error, found.b_error, found.c_error) < 1e-11


def test_recover_json_is_the_library_s_answer(planted: Planted) -> None:
    _, X, y = planted
    result = run("recover", "data.npz", "--units", "auto", "--seed", "3", "--json")
    found, expected = json.loads(result.stdout), wl.recover(X, y, n_units="auto", rng=3)
    assert result.exit_code == 0
    assert found["status"] == expected.certificate.status.name == "EXACT"
    np.testing.assert_array_equal(found["network"]["W"], expected.network.W)
    assert found["width_evidence"] == list(expected.width_evidence)
    assert [stage["passes"] for stage in found["stages"]] == [stage.passes for stage in expected.stages]
    assert found["file"] is None


def test_not_certified_is_exit_code_3_with_the_network_written(planted: Planted) -> None:
    result = run("recover", "data.npz", "--units", "1", "--max-work", "20", "--out", "net.safetensors")
    assert result.exit_code == 3
    assert "FAILED" in result.stdout
    assert wl.Network.load("net.safetensors").n_units == 1


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


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("1,2\n3,4\n", ("0", "1")),
        ("a;b\n1;2\n3;4\n", ("a", "b")),
        ('"a"\t"the b"\n1\t2\n3\t4\n', ("a", "the b")),
        ("\ufeffa,b\r\n1,2\r\n3,4\r\n", ("a", "b")),
    ],
)
def test_text_tables(tmp_path: Path, text: str, names: tuple[str, ...]) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode())
    table = read_table(path)
    assert table.names == names
    np.testing.assert_array_equal(table.values, [[1, 2], [3, 4]])
    X, y = table.split(names[0])
    np.testing.assert_array_equal(X, [[2], [4]])
    np.testing.assert_array_equal(y, [1, 3])
    np.testing.assert_array_equal(table.split("-1")[1], [2, 4])
    with pytest.raises(ArgumentError, match="no column"):
        table.split("2")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", b"", "no rows"),
        ("a.csv", b"x,y\n", "no rows"),
        ("a.csv", b"x,y\n1,2,3\n", "header"),
        ("a.csv", b"x,y\n1,two\n", "two"),
        ("a.csv", b"x,y\n1,\n", "convert"),
        ("a.csv", b"x,y\n1,2\n3\n", "columns"),
        ("a.csv", b"\xff\xfe\x00", "UTF-8"),
        ("a.csv", b"x" * 200_000, "no table"),
        ("a.npy", b"", "damaged"),
        ("a.npy", b"\x80\x04N.", "damaged"),
        ("a.npz", b"PK\x03\x04", "damaged"),
        ("a.xls", b"", "suffix"),
    ],
)
def test_files_that_are_no_tables(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=words):
        read_table(path)


def test_arrays_that_are_no_tables(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    arrays: list[tuple[dict[str, Any], str]] = [
        ({"Z": np.ones(3)}, "array X"),
        ({"X": np.ones((3, 2)), "y": np.ones(4)}, "each of the 3 rows"),
        ({"X": np.ones((3, 2)) * 1j}, "real numbers"),
        ({"X": np.ones((3, 2, 2))}, "one or two axes"),
        ({"X": np.array([[object()]])}, "damaged, or holds"),
    ]
    for content, words in arrays:
        np.savez(path, **content)
        with pytest.raises(FileFormatError, match=words):
            read_table(path)
    np.savez(path, X=np.arange(6).reshape(3, 2))
    assert read_table(path).target is None


def test_parquet_tables(planted: Planted) -> None:
    pa = optional("pyarrow")
    from pyarrow import parquet

    truth, X, y = planted
    columns = {"p": X[:, 0], "y": y, "q": X[:, 1], "r": X[:, 2]}
    parquet.write_table(pa.table(columns), "data.parquet")
    assert run("recover", "data.parquet", "--units", "2", "--target", "y", "--out", "net.safetensors").exit_code == 0
    assert wl.Network.load("net.safetensors").equivalent(truth, tol=1e-9)
    lines = run("predict", "net.safetensors", "data.parquet", "--target", "y").stdout.split()
    np.testing.assert_allclose([float(line) for line in lines], y, atol=1e-12)
    parquet.write_table(pa.table({"whole": [1, 2], "single": pa.array([0.5, 1.5], pa.float32())}), "ints.parquet")
    np.testing.assert_array_equal(read_table(Path("ints.parquet")).values, [[1, 0.5], [2, 1.5]])
    for content, words in (({"t": ["1", "2"]}, "column 't' holds"), ({"s": [[1.0], [2.0]]}, "column 's' holds")):
        parquet.write_table(pa.table(content), "bad.parquet")
        with pytest.raises(FileFormatError, match=words):
            read_table(Path("bad.parquet"))
    Path("bad.parquet").write_bytes(b"PAR1")
    with pytest.raises(FileFormatError, match="damaged"):
        read_table(Path("bad.parquet"))


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


def test_columns_are_matched_by_name(planted: Planted) -> None:
    """The order of the columns does not matter; one that is missing or one too many is refused, also the target's own."""
    _, X, y = planted
    assert run("recover", "data.csv", "--target", "y", "--units", "2", "--out", "net.safetensors").exit_code == 0
    assert wl.network.column_names("net.safetensors") == (("p", "q", "r"), ("y",))
    assert "w: p, q, r" in run("show", "net.safetensors").stdout
    expected = wl.Network.load("net.safetensors").predict(X)
    for header, columns in (("r,q,p", X[:, ::-1]), ("r,y,p,q", np.c_[X[:, 2], y, X[:, :2]])):
        np.savetxt("new.csv", columns, delimiter=",", header=header, comments="", fmt="%.17g")
        values = [float(line) for line in run("predict", "net.safetensors", "new.csv").stdout.split()]
        np.testing.assert_array_equal(values, expected)
    for header, word in (("r,q,s", "no single column 'p'"), ("r,q,p,s", "'s' beside them")):
        columns = np.c_[X, X][:, : header.count(",") + 1]
        np.savetxt("new.csv", columns, delimiter=",", header=header, comments="", fmt="%.17g")
        result = run("predict", "net.safetensors", "new.csv")
        assert result.exit_code == 2
        assert word in result.output


def test_recover_and_show_number_the_units_alike(planted: Planted) -> None:
    shown = run("recover", "data.csv", "--target", "y", "--units", "2", "--out", "net.safetensors").stdout
    again = run("show", "net.safetensors").stdout
    units = [line for line in again.splitlines() if line.strip()[:1] in ("0", "1")]
    assert len(units) == 2
    assert all(line in shown for line in units)


def test_names_are_checked(tmp_path: Path) -> None:
    net = wl.Network([[1.0], [2.0]])
    with pytest.raises(ArgumentError, match="2 names"):
        net.save(tmp_path / "n.safetensors", inputs=["a", "a"])
    net.save(tmp_path / "n.safetensors")
    assert wl.network.column_names(tmp_path / "n.safetensors") == (None, None)
