"""The console: help, version, a light start, JSON that is JSON."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from tests.cli.running import run

import weightlift as wl
from weightlift.cli.console import print_json


def test_help_has_examples_and_version_is_printed() -> None:
    for command in ([], ["demo"], ["recover"], ["predict"], ["show"]):
        result = run(*command, "--help")
        assert result.exit_code == 0
        assert "Examples" in result.stdout
        assert " ".join(["weightlift", *command]) in result.stdout
    assert run("--version").stdout.strip() == f"weightlift {wl.__version__}"
    assert run().exit_code in (0, 2)  # help, by the version of typer
    assert run("lift").exit_code == 2


def test_start_up_loads_no_numerical_package() -> None:
    heavy = "('numpy', 'scipy', 'matplotlib', 'sklearn', 'torch', 'rich.progress')"
    code = f"import sys, weightlift.cli; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_the_package_runs_as_a_module() -> None:
    answer = subprocess.run([sys.executable, "-m", "weightlift", "--version"], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == f"weightlift {wl.__version__}"


def test_json_has_null_for_what_json_lacks(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"x": np.array([1.5, np.nan]), "y": (np.float64(np.inf), np.int64(3), True, "φ")})
    assert json.loads(capsys.readouterr().out) == {"x": [1.5, None], "y": [None, 3, True, "φ"]}
