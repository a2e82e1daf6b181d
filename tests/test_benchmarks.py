"""Every benchmark can be run by its name, and one that fails does not keep the others from running."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from benchmarks import __main__ as bench


def test_every_module_with_a_main_is_listed() -> None:
    sources = Path(bench.__file__).parent.glob("*.py")
    modules = {path.stem for path in sources if "\ndef main(arguments" in path.read_text("utf-8")}
    assert modules - {"__main__"} == set(bench.BENCHMARKS)


def test_all_are_run_and_the_worst_status_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(arguments: list[str]) -> int:
        raise ValueError("no such rows")

    mains = {"trace": broken, "speed": lambda arguments: print("ratio", *arguments), "sgd": lambda arguments: bench.SKIPPED}
    for name, main in mains.items():
        monkeypatch.setitem(sys.modules, f"benchmarks.{name}", SimpleNamespace(main=main))
    monkeypatch.setattr(bench, "QUICK", tmp_path / "quick")
    monkeypatch.setattr(bench, "RESULTS", tmp_path / "full")
    assert bench.main(["trace", "speed", "sgd"]) == 1
    lines = capsys.readouterr().out.splitlines()[-3:]
    assert [line.split()[0] for line in lines] == ["trace", "speed", "sgd"]
    assert ["FAILED" in line for line in lines] == [True, False, False]
    assert "ratio" in (tmp_path / "quick" / "speed.md").read_text("utf-8")
    assert not (tmp_path / "quick" / "sgd.md").exists()  # it could not measure anything
    assert bench.main(["--full", "speed"]) == 0
    assert "ratio --full" in (tmp_path / "full" / "speed.md").read_text("utf-8")
