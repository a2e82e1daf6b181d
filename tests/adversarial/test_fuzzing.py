"""Damaged and forged files: a few thousand of them here, a million in the slow run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.adversarial import fuzzing
from tests.conftest import optional

KINDS = ("network", "run", "state", "journal", "onnx")


@pytest.mark.parametrize("name", KINDS)
def test_mutants_are_refused_or_mean_what_they_say(name: str) -> None:
    if name == "onnx":
        optional("onnx")
    tally = fuzzing.fuzz((name, 600, 0))
    assert not tally.faults
    assert tally.fates["refused"] > 100
    assert tally.memory <= fuzzing.MEMORY


def test_the_watch_hears_what_is_done_and_a_lie_is_noticed(tmp_path: Path) -> None:
    def reads_another(path: Path, content: bytes) -> None:
        (tmp_path / "other").write_bytes(b"")
        eval("1 + 1")
        raise fuzzing.Different("it lies")

    kind = fuzzing.Kind("network", (b"x",), None, reads_another)
    fuzzing.WATCH.path, fuzzing.WATCH.seen = "", []
    assert fuzzing._one(kind, tmp_path / "mutant", b"x").startswith("another meaning")
    assert {event.split()[0] for event in fuzzing.WATCH.seen} >= {"open", "compile", "exec"}


@pytest.mark.slow
def test_a_million_mutants() -> None:
    for extra in ("onnx", "onnxruntime"):
        optional(extra)
    command = [sys.executable, "-m", "tests.adversarial.fuzzing", "--mutants", "1000000"]
    run = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert run.returncode == 0, run.stdout + run.stderr
