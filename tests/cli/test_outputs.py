"""Several targets on the command line."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import weightlift as wl
from weightlift.cli import app


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def truth():
    net = wl.teachers.several(wl.teachers.biased(5, 2, bias=0.3, activation="tanh", rng=0), 2, rng=1)
    X, Y = wl.draw(net, 60, rng=2)
    np.savez("rows.npz", X=X, y=Y)
    np.savetxt("rows.csv", np.column_stack([X, Y]), delimiter=",", header="a,b,c,d,e,u,v", comments="", fmt="%.17g")
    return net


@pytest.mark.parametrize("data", [("rows.csv", "--target", "u,v"), ("rows.csv", "--target", "5,6"), ("rows.npz",)])
def test_several_targets_are_recovered_and_predicted(truth, data):
    options = ["--units", "2", "--activation", "tanh", "--bias", "--out", "net.safetensors", "--json"]
    result = CliRunner().invoke(app, ["recover", *data, *options])
    assert result.exit_code == 0, result.output
    assert json.loads(result.output)["status"] == "EXACT"
    assert wl.Network.load("net.safetensors").equivalent(truth)
    predicted = CliRunner().invoke(app, ["predict", "net.safetensors", *data, "--out", "found.csv"])
    assert predicted.exit_code == 0, predicted.output
    lines = Path("found.csv").read_text().splitlines()
    assert lines[0] == ("u,v" if "rows.csv" in data else "prediction 0,prediction 1")
    assert len(lines) == 61
    shown = CliRunner().invoke(app, ["show", "net.safetensors"])
    assert shown.exit_code == 0
    assert ("of u, v" in " ".join(shown.output.split())) == ("rows.csv" in data)


@pytest.mark.parametrize(("target", "words"), [("u,w", "w"), ("u,u", "twice"), ("a,b,c,d,e,u,v", "every column")])
def test_wrong_targets_are_named(truth, target, words):
    result = CliRunner().invoke(app, ["recover", "rows.csv", "--target", target, "--units", "2"])
    assert result.exit_code != 0
    assert words in str(result.exception or "") + result.output
