"""`weightlift demo`: its tables, JSON, figure and exit codes; and what every command shares."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.cli.running import run

import weightlift as wl
from weightlift.cli.comparison import compare

SMALL = ["--units", "2", "--inputs", "5"]
ROWS = ["--rows", "60"]


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")  # error boxes are not broken inside the words that are looked for


def test_tables_figure_and_exit_code() -> None:
    result = run("demo", *SMALL, *ROWS)
    assert result.exit_code == 0, result.output
    for part in ("10 parameters", "60 samples, 6 a parameter", "EXACT", "tensor start", "passes", "same samples", "Figure: "):
        assert part in result.stdout
    assert Path("weightlift-demo.png").read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in Path().iterdir()] == ["weightlift-demo.png"]


def test_json_says_what_the_library_says(seed: int) -> None:
    result = run("demo", *SMALL, *ROWS, "--seed", str(seed), "--json", "--out", "figure.svg")
    found = json.loads(result.stdout)
    assert result.exit_code == (0 if found["certified"] else 3)
    planting, drawing, recovering, _ = np.random.default_rng(seed).spawn(4)
    truth = wl.teachers.conditioned(5, 2, activation="relu", rng=planting)
    X, y = wl.draw(truth, 60, rng=drawing)
    expected = wl.recover(X, y, n_units=2, activation="relu", rng=recovering)
    assert found["status"] == expected.certificate.status.name == "EXACT"
    np.testing.assert_array_equal(found["network"]["W"], expected.network.W)
    assert found["max_error"] == wl.match(expected.network, truth).max_error < 1e-12
    assert found["problem"]["rows_per_parameter"] == 6.0
    for unit in found["units"]:
        np.testing.assert_allclose(unit["truth"]["w"], unit["estimate"]["w"], atol=1e-12)
        assert unit["truth"]["a"] == pytest.approx(unit["estimate"]["a"], rel=1e-12)
    assert found["stages"][-1]["passes"] > 0
    assert found["figure"] == "figure.svg"
    assert "<svg" in Path("figure.svg").read_text(encoding="utf-8")


def test_not_certified_is_exit_code_3_and_still_shown() -> None:
    result = run("demo", *SMALL, "--rows", "8")  # fewer than the ten parameters
    assert result.exit_code == 3
    assert "FAILED" in result.stdout
    assert Path("weightlift-demo.png").stat().st_size > 10_000


def test_noise_takes_more_rows() -> None:
    result = run("demo", *SMALL, "--noise", "0.1", "--json", "--seed", "1")
    found = json.loads(result.stdout)
    assert found["problem"]["rows"] == 300
    assert found["status"] == "STATISTICAL"
    assert 0 < found["max_error"] < 0.1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--units", "6", "--inputs", "5"], "at most as many"),
        (["--units", "0"], "--units"),
        (["--units", "1.5"], "--units"),
        (["--rows", "-3"], "--rows"),
        (["--noise", "-1"], "--noise"),
        (["--noise", "inf"], "finite"),
        (["--activation", "rellu"], "Did you mean 'relu'"),
        (["--out", "figure.txt"], ".png or .pdf or .svg"),
        (["--out", "nowhere/figure.png"], "does not exist"),
        (["--out", "there.png"], "--force"),
        (["--colour"], "--colour"),
        (["extra"], "extra"),
    ],
)
def test_mistakes_end_in_plain_words_and_exit_code_2(arguments: list[str], words: str) -> None:
    Path("there.png").write_bytes(b"mine")
    result = run("demo", *arguments)
    assert result.exit_code == 2
    assert words in result.output
    assert "Traceback" not in result.output
    assert [path.name for path in Path().iterdir()] == ["there.png"]
    assert Path("there.png").read_bytes() == b"mine"


def test_force_overwrites() -> None:
    Path("there.png").write_bytes(b"mine")
    assert run("demo", *SMALL, *ROWS, "--out", "there.png", "--force").exit_code == 0
    assert Path("there.png").read_bytes().startswith(b"\x89PNG")


def test_routes_are_measured_against_the_truth(seed: int) -> None:
    truth = wl.teachers.conditioned(6, 2, activation="squared_relu", rng=seed)
    X, y = wl.draw(truth, 600, rng=seed + 10)
    routes = compare(X, y, truth, tolerance=0.01, rng=np.random.default_rng(seed))
    names = [route.name for route in routes]
    assert len(set(names)) == 4
    for route in routes:
        assert route.risks.ndim == 2
        assert route.risks.shape[1] == len(route.errors)
        if "Gauss" in route.name:
            assert (np.diff(route.risks, axis=0) <= 0).all()  # a step that raises the risk is not taken
        exact = route.risks[-1] < 1e-25
        assert (route.errors[exact] < 1e-9).all()  # a zero risk on fifty rows a parameter is the truth
    assert routes[0].recovered.all()
    assert len(routes[-1].errors) == 16


def test_risks_are_relative(seed: int) -> None:
    truth = wl.teachers.conditioned(6, 2, activation="squared_relu", rng=seed)
    X, y = wl.draw(truth, 600, noise_std=0.5, rng=seed + 10)
    best = compare(X, y, truth, tolerance=0.1, rng=np.random.default_rng(seed))[0]
    # at the minimum Σ r² ~ σ² χ² with n − p degrees of freedom: five standard deviations are 5 √(2/588) = 0.29
    assert best.risks[-1, 0] * np.mean(y**2) == pytest.approx(0.25 * 588 / 600, rel=0.3)
    assert best.recovered.all()


def test_routes_without_moments_are_left_out() -> None:
    truth = wl.teachers.conditioned(4, 2, activation="quadratic", rng=0)
    X, y = wl.draw(truth, 100, rng=1)
    assert all("tensor" not in route.name for route in compare(X, y, truth, tolerance=0.01, rng=np.random.default_rng(0)))
    assert compare(X[:5], y[:5], truth, tolerance=0.01, rng=np.random.default_rng(0)) == ()
