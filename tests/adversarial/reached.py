"""Which tests reach which lines of the core mathematics, and in how many seconds of CPU time."""

from __future__ import annotations

import json
import math
import os
import random
import sys
import time
from collections.abc import Callable
from multiprocessing.pool import Pool
from pathlib import Path
from typing import Any, TypeVar

from tests.adversarial.mutants import ROOT, SOURCE

T = TypeVar("T")
Reached = dict[str, tuple[float, set[tuple[str, int]]]]  # of a test: its seconds and its lines, (file, number)
COVERAGE = 4  # the number under which sys.monitoring knows us
QUIET = ["-q", "-m", "not slow", "-p", "no:xdist", "-p", "no:cacheprovider"]


def record(files: list[str], rooms: list[str], most: float, pool: Pool, kept: Path) -> Reached:
    """What the tests of the files reach, each file in a process of its own; `kept` spares the files that it knows.

    most  seconds of CPU time after which no further test of a file begins; their order is then a random one
    """
    known: dict[str, list[Any]] = json.loads(kept.read_text()) if kept.exists() else {}
    tasks = [(file, rooms, most) for file in files if file not in known]
    for file, found in pool.imap_unordered(_record, tasks):
        known[file] = found
        kept.write_text(json.dumps(known))
        print(f"{file}: {len(found)} tests, {sum(seconds for _, seconds, _ in found):.1f} s", flush=True)
    return {
        test: (seconds, {(path, line) for path, numbers in lines.items() for line in numbers})
        for file in files
        for test, seconds, lines in known[file]
    }


def _record(task: tuple[str, list[str], float]) -> tuple[str, list[Any]]:
    import pytest

    file, rooms, most = task
    recorder = Recorder(rooms, most)
    quietly(lambda: pytest.main([file, *QUIET], [recorder]))
    return file, [(t, recorder.seconds[t], _by_file(lines)) for t, lines in recorder.lines.items() if t not in recorder.failed]


def _by_file(lines: set[tuple[str, int]]) -> dict[str, list[int]]:
    return {path: sorted(number for p, number in lines if p == path) for path in {p for p, _ in lines}}


class Recorder:
    """A plugin of pytest: the lines of the rooms that each test reaches, and its seconds."""

    def __init__(self, rooms: list[str], most: float) -> None:
        self.lines: dict[str, set[tuple[str, int]]] = {}
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()
        self._now: set[tuple[str, int]] = set()
        self._most, self._began = most, 0.0
        self._session: Any = None
        self._places = {str(f): str(f.relative_to(SOURCE)) for room in rooms for f in _sources(SOURCE / room)}
        self._monitoring: Any = getattr(sys, "monitoring", None)  # from Python 3.12 on: a line costs once a test
        if self._monitoring is not None:
            self._monitoring.use_tool_id(COVERAGE, "mutation")
            self._monitoring.register_callback(COVERAGE, self._monitoring.events.LINE, self._first_time)

    def _first_time(self, code: Any, line: int) -> Any:
        if code.co_filename in self._places:
            self._now.add((self._places[code.co_filename], line))
        return self._monitoring.DISABLE

    def _call(self, frame: Any, event: str, argument: Any) -> Any:
        return self._line if frame.f_code.co_filename in self._places else None

    def _line(self, frame: Any, event: str, argument: Any) -> Any:
        self._now.add((self._places[frame.f_code.co_filename], frame.f_lineno))
        return self._line

    def pytest_sessionstart(self, session: Any) -> None:
        self._session = session

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        if self._most < math.inf:
            random.Random(0).shuffle(items)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._now, self._began = set(), time.process_time()
        if self._monitoring is None:
            sys.settrace(self._call)
        else:
            self._monitoring.restart_events()
            self._monitoring.set_events(COVERAGE, self._monitoring.events.LINE)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        if self._monitoring is None:
            sys.settrace(None)
        else:
            self._monitoring.set_events(COVERAGE, 0)
        if sum(self.seconds.values()) > self._most:
            self._session.shouldstop = "enough"

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.seconds[report.nodeid] = time.process_time() - self._began
        if report.failed or report.skipped:
            self.failed.add(report.nodeid)
        self.lines[report.nodeid] = self._now


def _sources(place: Path) -> list[Path]:
    return sorted(place.glob("*.py")) if place.is_dir() else [place]


def test_files(target: str) -> list[str]:
    return [str(f.relative_to(ROOT)) for f in _tests(ROOT / target)]


def _tests(place: Path) -> list[Path]:
    return sorted(place.glob("test_*.py")) if place.is_dir() else [place]


def quietly(call: Callable[[], T]) -> T:
    """The call, its output thrown away."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(nowhere, descriptor)
    return call()
