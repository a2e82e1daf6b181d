"""`weightlift extract`: files and functions, with the exit codes of a certificate."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import weightlift as wl
from weightlift.cli import app


@pytest.fixture
def net():
    return wl.teachers.biased(5, 3, rng=0)


def run(*arguments):
    return CliRunner().invoke(app, ["extract", *map(str, arguments)])


def test_a_saved_network(tmp_path, net):
    net.save(tmp_path / "net.safetensors")
    result = run(tmp_path / "net.safetensors", "--inputs", 5, "--out", tmp_path / "found.safetensors")
    assert result.exit_code == 0, result.output
    assert wl.Network.load(tmp_path / "found.safetensors").equivalent(net)


def test_json_and_journal(tmp_path, net):
    net.save(tmp_path / "net.safetensors")
    arguments = tmp_path / "net.safetensors", "--inputs", 5, "--journal", tmp_path / "answers", "--json"
    first, second = (json.loads(run(*arguments).stdout) for _ in range(2))
    assert first["status"] == "EXACT"
    assert second["replayed"] == second["queries"] == first["queries"]


def test_a_function_by_its_name(tmp_path, monkeypatch):
    (tmp_path / "shop_of_tests.py").write_text("def quote(X):\n    return abs(X[:, 0] - 1) + X[:, 1]\n")
    monkeypatch.chdir(tmp_path)
    result = run("shop_of_tests:quote", "--inputs", 2, "--activation", "absolute", "--json")
    assert json.loads(result.stdout)["network"]["n_units"] == 1


def test_an_onnx_model(tmp_path, net):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    wl.export.to_onnx(net, tmp_path / "net.onnx")
    result = run(tmp_path / "net.onnx", "--inputs", 5)
    assert result.exit_code == 0, result.output


def test_what_is_no_network_ends_with_three(tmp_path, monkeypatch):
    (tmp_path / "square_of_tests.py").write_text("def f(X):\n    return (X ** 2).sum(axis=1)\n")
    monkeypatch.chdir(tmp_path)
    assert run("square_of_tests:f", "--inputs", 3).exit_code == 3


@pytest.mark.parametrize("model", ["nothing", "no.such.module:f", "numpy:nothing", "missing.onnx"])
def test_mistakes_are_explained(model):
    result = run(model, "--inputs", 3)
    assert result.exit_code == 2
    assert np.any([word in result.output for word in ("must be", "cannot be imported", "there is no", "onnxruntime")])


def test_an_interrupt_says_what_was_kept(tmp_path, monkeypatch):
    (tmp_path / "shop_that_stops.py").write_text(
        "calls = 0\ndef quote(X):\n    global calls\n    calls += 1\n    if calls > 2:\n        raise KeyboardInterrupt\n"
        "    return abs(X[:, 0] - 1) + X[:, 1]\n"
    )
    monkeypatch.chdir(tmp_path)
    result = run("shop_that_stops:quote", "--inputs", 2, "--journal", "answers")
    assert result.exit_code == 130
    assert "their answers are in answers" in result.stderr
    assert (tmp_path / "answers").stat().st_size > 0
