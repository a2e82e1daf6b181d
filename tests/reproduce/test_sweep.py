"""The sweep: nothing is lost but the cells in flight, nothing is done twice, and the table is the same to the last bit."""

from __future__ import annotations

import importlib
import json
import math
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

from weightlift.errors import ArgumentError
from weightlift.reproduce.fingerprint import fingerprint
from weightlift.reproduce.recipe import Cell, Trial
from weightlift.reproduce.store import Store
from weightlift.reproduce.sweep import Pace, SweepError, sweep
from weightlift.reproduce.tables import as_csv

SCRIPT = """import signal

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs are born deaf to it
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import sweep_trials
from weightlift.reproduce.fingerprint import fingerprint
from weightlift.reproduce.recipe import Cell
from weightlift.reproduce.store import Store
from weightlift.reproduce.sweep import sweep

if __name__ == "__main__":
    code = fingerprint(sweep_trials.noisy)
    cells = [Cell(code, point, 0, 7) for point in json.loads(sys.argv[2])]
    try:
        with Store(Path(sys.argv[1]) / "cells.sqlite") as store:
            sweep(sweep_trials.noisy, cells, store, jobs=2)
    except KeyboardInterrupt:
        sys.exit(130)
"""


def cells_of(trial: Trial, points: list[dict[str, object]], seed: int = 7, repeats: int = 1) -> list[Cell]:
    return [Cell(fingerprint(trial), point, i, seed) for point in points for i in range(repeats)]


def table(trial: Trial, cells: list[Cell], path: Path, jobs: int = 1) -> str:
    with Store(path) as store:
        sweep(trial, cells, store, jobs=jobs)
        return as_csv(store.rows(cells))


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_interrupted_sweep_resumes_to_the_same_bits(tmp_path: Path, trials: ModuleType, ending: signal.Signals) -> None:
    log = tmp_path / "log"
    points = [{"n": n, "pause": 0.1, "log": str(log)} for n in range(1, 41)]
    cells = cells_of(trials.noisy, points)
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, "script.py", str(tmp_path), json.dumps(points)]
    run = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True)
    for _ in range(3000):
        if log.exists() and len(log.read_text().split()) >= 12:
            break
        time.sleep(0.02)
    if ending == signal.SIGINT:
        os.killpg(run.pid, ending)  # Ctrl-C reaches every process of the terminal
    else:
        run.send_signal(ending)
    _, complaints = run.communicate(timeout=60)
    assert run.returncode == (130 if ending == signal.SIGINT else -signal.SIGKILL)
    assert complaints == ""
    time.sleep(0.5)
    begun = len(log.read_text().split())
    with Store(tmp_path / "cells.sqlite") as store:
        stored = store.keys(cells)
        assert begun - 6 <= len(stored) < len(cells)  # a cell in flight in each of two workers, and those of one commit
        assert sweep(trials.noisy, cells, store, jobs=2) == len(cells) - len(stored)
        assert sweep(trials.noisy, cells, store) == 0
        resumed = as_csv(store.rows(cells))
    assert len(log.read_text().split()) == begun + len(cells) - len(stored)
    assert resumed == table(trials.noisy, cells, tmp_path / "straight.sqlite")


def test_table_does_not_depend_on_jobs_order_or_what_else_is_run(tmp_path: Path, trials: ModuleType) -> None:
    cells = cells_of(trials.noisy, [{"n": n} for n in (4, 9, 30)], repeats=4)
    few = cells[:5]
    assert table(trials.noisy, cells, tmp_path / "a.sqlite", jobs=3) == table(trials.noisy, cells, tmp_path / "b.sqlite")
    table(trials.noisy, cells[::-1], tmp_path / "c.sqlite")
    assert table(trials.noisy, few, tmp_path / "c.sqlite") == table(trials.noisy, few, tmp_path / "d.sqlite")
    assert len({row["mean"] for row in _rows(tmp_path / "a.sqlite", cells)}) == len(cells)
    other = cells_of(trials.noisy, [{"n": 4}], seed=8)
    table(trials.noisy, other, tmp_path / "a.sqlite")
    assert _rows(tmp_path / "a.sqlite", other)[0]["mean"] != _rows(tmp_path / "a.sqlite", cells)[0]["mean"]


def test_changed_recipe_does_not_mix_with_old_cells(tmp_path: Path, trials: ModuleType) -> None:
    path, points = tmp_path / "cells.sqlite", [{"n": n} for n in (2, 3)]
    before = cells_of(trials.noisy, points)
    table(trials.noisy, before, path)
    source = Path(str(trials.__file__))
    for old, new, same in (
        ("return 3", "return 4", True),  # of a function that the trial does not use
        ("SCALE = 1.0", "SCALE = 2.0", False),  # a constant of its helper
        ("rng.normal(size=n).mean()", "rng.normal(size=n).sum()", False),  # its helper
    ):
        text = source.read_text()
        assert old in text
        source.write_text(text.replace(old, new))
        importlib.invalidate_caches()
        changed = importlib.reload(trials)
        after = cells_of(changed.noisy, points)
        assert ([cell.key for cell in after] == [cell.key for cell in before]) is same
        with Store(path) as store:
            assert len(store.keys(after)) == (2 if same else 0)
            assert len(store.keys(before)) == 2
    table(changed.noisy, after, path)
    old_rows, new_rows = _rows(path, before), _rows(path, after)
    for old_row, new_row in zip(old_rows, new_rows, strict=True):  # the data are the same, their scale and sum are not
        assert new_row["mean"] == pytest.approx(2 * old_row["n"] * old_row["mean"], rel=1e-12)


def test_failed_cells_are_named_and_the_others_stored(tmp_path: Path, trials: ModuleType) -> None:
    cells = cells_of(trials.fragile, [{"n": n} for n in range(8)])
    with Store(tmp_path / "cells.sqlite") as store:
        for _ in range(2):
            with pytest.raises(SweepError, match="2 of") as error:
                sweep(trials.fragile, cells, store, jobs=2)
            assert "three is too much" in str(error.value) or "died" in str(error.value)
            assert {row["n"]: row["n2"] for row in store.rows(cells)} == {n: n * n for n in range(8) if n not in (3, 5)}


def test_workers_have_one_blas_thread_and_the_parent_keeps_its_own(
    tmp_path: Path, trials: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    cells = cells_of(trials.threads, [{"n": n} for n in range(6)])
    table(trials.threads, cells, tmp_path / "cells.sqlite", jobs=2)
    rows = _rows(tmp_path / "cells.sqlite", cells)
    assert all(set(row["threads"]) == {1} for row in rows)
    assert os.getpid() not in {row["process"] for row in rows}
    assert os.environ["OMP_NUM_THREADS"] == "3"
    assert "OPENBLAS_NUM_THREADS" not in os.environ


def test_progress_counts_stored_cells_and_ends_at_zero_seconds(tmp_path: Path, trials: ModuleType) -> None:
    cells = cells_of(trials.noisy, [{"n": n} for n in range(1, 7)])
    seen: list[Pace] = []
    with Store(tmp_path / "cells.sqlite") as store:
        sweep(trials.noisy, cells[:2], store)
        sweep(trials.noisy, cells, store, jobs=2, report=seen.append, cost=lambda point: point["n"])
        with pytest.raises(ArgumentError, match="jobs"):
            sweep(trials.noisy, cells, store, jobs=0)
    assert seen[0].done == 2
    assert math.isnan(seen[0].seconds_left)
    assert seen[-1] == Pace(6, 6, 0.0)
    assert [progress.done for progress in seen] == sorted(progress.done for progress in seen)


@pytest.mark.slow
def test_overhead_is_below_five_percent_at_50_ms_a_cell(tmp_path: Path, trials: ModuleType) -> None:
    """Of the processor's time, which other processes do not lengthen: cells that only pause take none of it. The clock's is
    printed, and what is left of it on an idle machine is this."""
    jobs, pause = 2, 0.05
    cells = cells_of(trials.timed, [{"n": n, "pause": pause} for n in range(1, 1001)])
    seen: list[tuple[float, int]] = []
    before = _processor_seconds()
    with Store(tmp_path / "cells.sqlite") as store:
        sweep(trials.timed, cells, store, jobs=jobs, report=lambda progress: seen.append((time.monotonic(), progress.done)))
        own = sum(row["seconds"] for row in store.rows(cells)) / len(cells)
    (start, _), (first, already) = seen[0], next(point for point in seen if point[1] >= jobs)
    overhead = (seen[-1][0] - first) * jobs / (own * (len(cells) - already)) - 1
    spent = (_processor_seconds() - before) / (pause * len(cells))
    print(f"{spent:.1%} of the processor's time, {overhead:.1%} of the clock's, beside {first - start:.1f} s to start")
    assert own >= pause
    assert spent < 0.05


def _processor_seconds() -> float:
    """Of this process and of those that it has waited for."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def _rows(path: Path, cells: list[Cell]) -> list[dict[str, object]]:
    with Store(path) as store:
        return store.rows(cells)
