"""`weightlift diagnose`: a shape, a network file, a data file; table, JSON and figure; what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import weightlift as wl
from weightlift.cli import app


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["diagnose", *arguments])


def test_a_shape_is_the_library_s_answer() -> None:
    arguments = ["--inputs", "20", "--units", "5", "--rows", "300", "--activation", "tanh", "--bias", "--offset"]
    expected = wl.diagnose.shape(20, 5, n=300, activation="tanh", bias=True, offset=True)
    found = json.loads(run(*arguments, "--json").stdout)
    assert found["parameters"] == expected.parameters == 111
    assert found["samples"]["enough"] == expected.samples.enough
    text = run(*arguments)
    assert text.exit_code == 0
    assert "5 biased tanh units of 20 inputs, 300 rows" in text.stdout
    for name, value, _ in expected.table():
        assert name in text.stdout
        assert value in text.stdout


def test_a_network_file() -> None:
    wl.Network([[1.0, 0.0, -1.0], [0.0, 1.0, -1.0]]).save("net.safetensors")
    found = json.loads(run("net.safetensors", "--rows", "50", "--json").stdout)
    assert found["identifiability"]["answer"] == "AMBIGUOUS"
    assert found["regime"]["order"] == 2
    assert found["regime"]["smallest"] > 0
    assert found["hopeful"] is False


@pytest.mark.parametrize("source", [["data.csv", "--target", "y"], ["data.npz"]])
def test_a_data_file(source: list[str]) -> None:
    X, y = wl.draw(wl.teachers.conditioned(4, 2, activation="relu", rng=1), 3000, rng=2)
    np.savez("data.npz", X=X, y=y)
    np.savetxt("data.csv", np.column_stack([X, y]), delimiter=",", header="a,b,c,d,y", comments="", fmt="%.17g")
    found = json.loads(run(*source, "--json").stdout)
    assert (found["n_inputs"], found["n_units"], found["n_rows"]) == (4, 2, 3000)
    assert json.loads(run(*source, "--units", "3", "--json").stdout)["n_units"] == 3


@pytest.mark.parametrize("kind", ["png", "pdf"])
def test_the_figure(kind: str) -> None:
    arguments = ["--inputs", "50", "--units", "350", "--out", f"phases.{kind}"]
    assert run(*arguments).exit_code == 0
    content = Path(f"phases.{kind}").read_bytes()
    assert content[:4] in (b"\x89PNG", b"<?xm", b"%PDF")
    again = run(*arguments)
    assert again.exit_code == 2
    assert "--force" in again.output
    assert run(*arguments, "--force").exit_code == 0
    assert Path(f"phases.{kind}").read_bytes() == content


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "--inputs"),
        (["--inputs", "5"], "--units"),
        (["--inputs", "0", "--units", "2"], "--inputs"),
        (["--inputs", "5", "--units", "2", "--activation", "rellu"], "relu"),
        (["--inputs", "5", "--units", "2", "--out", "figure.txt"], ".png"),
        (["missing.csv", "--target", "y"], "No such file"),
        (["missing.safetensors"], "No such file"),
        (["data.csv", "--inputs", "3"], "own number"),
        (["data.csv"], "column"),
    ],
)
def test_mistakes_end_in_plain_words(arguments: list[str], words: str) -> None:
    Path("data.csv").write_text("x,y\n1,2\n3,5\n4,5\n")
    result = run(*arguments)
    assert result.exit_code == 2
    assert words in result.output
    assert "Traceback" not in result.output


def test_a_real_table_without_a_width_that_shows() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    X[:, 2] = X[:, 1] + 0.1 * rng.normal(size=60)
    table = np.column_stack([X, X[:, 0] + rng.normal(size=60)])
    np.savetxt("table.csv", table, delimiter=",", header="age,left,right,y", comments="")
    shown = run("table.csv", "--target", "y")
    assert shown.exit_code == 0
    assert "shows no direction above its noise" in shown.stdout
    assert "column 'left'" in shown.stdout
    assert json.loads(run("table.csv", "--target", "y", "--json").stdout)["n_units"] == 1
