"""`weightlift recover`: the network behind a file, written, shown and told in JSON."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.running import Planted, run

import weightlift as wl


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


def test_recover_and_show_number_the_units_alike(planted: Planted) -> None:
    shown = run("recover", "data.csv", "--target", "y", "--units", "2", "--out", "net.safetensors").stdout
    again = run("show", "net.safetensors").stdout
    units = [line for line in again.splitlines() if line.strip()[:1] in ("0", "1")]
    assert len(units) == 2
    assert all(line in shown for line in units)


def test_summary_has_standard_errors_and_the_columns_names(tmp_path: Path) -> None:
    truth = wl.Network([[1.0], [-0.5]], [2.0])
    X, y = wl.draw(truth, 300, noise_std=0.1, rng=0)
    table = tmp_path / "noisy.csv"
    np.savetxt(table, np.column_stack([y, X]), delimiter=",", header="load,age,bmi", comments="")
    arguments = ["recover", str(table), "--target", "load", "--units", "1"]
    shown = run(*arguments, "--summary")
    assert shown.exit_code == 0
    found = wl.recover(X, y, n_units=1).inference()
    for word in ("w[0,age]", "95 % low", "Adjusted R²", f"({found.standard_errors[0]:.2g})", "single weights to ±"):
        assert word in " ".join(shown.stdout.split())
    answer = json.loads(run(*arguments, "--summary", "--json").stdout)
    assert (answer["inputs"], answer["outputs"]) == (["age", "bmi"], ["load"])
    assert answer["summary"]["parameter"] == ["w[0,age]", "w[0,bmi]", "a[0]"]
    np.testing.assert_allclose(answer["summary"]["std error"], found.standard_errors)
    assert answer["caveats"] == []


def test_explore_prints_a_short_ranking(tmp_path: Path) -> None:
    truth = wl.teachers.biased(2, 1, activation="tanh", rng=1)
    X, y = wl.draw(truth, 60, rng=2)
    np.savez(tmp_path / "data.npz", X=X, y=y)
    arguments = ["recover", str(tmp_path / "data.npz"), "--units", "1", "--activation", "tanh", "--max-work", "600"]
    assert run(*arguments).exit_code == 3
    shown = run(*arguments, "--explore")
    assert shown.exit_code == 0
    assert "What else was tried" in shown.stdout
    assert shown.stdout.index("biases") < shown.stdout.index("as asked for")


def test_a_report_is_written_beside_the_network(tmp_path: Path) -> None:
    X, y = wl.draw(wl.Network([[1.0], [-0.5]], [2.0]), 40, rng=0)
    np.savez(tmp_path / "data.npz", X=X, y=y)
    arguments = ["recover", str(tmp_path / "data.npz"), "--units", "1", "--report", str(tmp_path / "page.html")]
    shown = run(*arguments)
    assert shown.exit_code == 0
    assert f"Report: {tmp_path / 'page.html'}" in shown.stdout.replace("\n", "")
    assert "EXACT" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "--report" in run(*arguments).stderr.replace("\n", " ")  # there already


def test_an_interrupt_says_what_was_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = wl.draw(wl.teachers.conditioned(3, 2, activation="relu", rng=0), 60, noise_std=0.1, rng=0)
    np.savez(tmp_path / "data.npz", X=X, y=y)
    original = wl.recover

    def interrupted(rows: Any, *, callback: Any, **options: Any) -> Any:
        def stop(event: Any) -> None:
            callback(event)
            if event.network is not None:
                callback(replace(event, start=0, best_risk=math.inf, network=None))  # another width begins, without one
                raise KeyboardInterrupt

        return original(rows, callback=stop, **options)

    monkeypatch.setattr(wl, "recover", interrupted)
    arguments = ["recover", str(tmp_path / "data.npz"), "--units", "2"]
    shown = run(*arguments, "--out", str(tmp_path / "net.safetensors"))
    assert shown.exit_code == 130
    assert "Interrupted after" in shown.stderr
    assert "the best network so far is in" in shown.stderr
    assert wl.Network.load(tmp_path / "net.safetensors").n_units == 2
    assert "nothing was kept. --out NET" in run(*arguments).stderr
