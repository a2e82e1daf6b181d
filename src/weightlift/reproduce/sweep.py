"""The sweep: missing cells worked off by processes, each result stored as it comes.

Workers are fresh processes with one BLAS thread each; they get cells in batches of about a quarter of a second, the dearest
first, and answer cell by cell, so that whatever ends the sweep, Ctrl-C or the death of any process, loses at most the cells in
flight. What is missing is found by key: a second sweep does exactly the rest, and since a cell's random numbers do not depend
on the order of work, its table is the same to the last bit.
"""

from __future__ import annotations

import itertools
import json
import math
import multiprocessing
import os
import signal
import time
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from weightlift.errors import ArgumentError, WeightliftError
from weightlift.reproduce.limits import LIMITS
from weightlift.reproduce.machine import machine
from weightlift.reproduce.recipe import Cell, Row, Trial
from weightlift.reproduce.store import Store

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS")


class SweepError(WeightliftError):
    """Cells failed; the others are stored."""


@dataclass(frozen=True)
class Pace:
    """How far a sweep is."""

    done: int  # cells, counting those that were stored before
    total: int
    seconds_left: float  # NaN until a cell is done


@dataclass(frozen=True)
class CellResult:
    """A cell's result as JSON, or what went wrong."""

    cell: Cell
    result: str
    seconds: float  # CPU
    wall: float
    failure: str = ""


def sweep(
    trial: Trial,
    cells: Sequence[Cell],
    store: Store,
    *,
    jobs: int = 1,
    cost: Callable[[Row], float] = lambda point: 1.0,
    report: Callable[[Pace], None] = lambda progress: None,
) -> int:
    """Run the cells that the store lacks, and say how many; SweepError if some failed, once the others are done."""
    if jobs < 1:
        raise ArgumentError(f"jobs must be at least 1, not {jobs}.")
    wanted = {cell.key: cell for cell in cells}
    stored = store.keys(wanted.values())
    made_by = machine()
    queue = _Queue([cell for key, cell in wanted.items() if key not in stored], cost, len(wanted))
    missing = len(queue.cells)
    report(queue.progress())
    workers = [_Worker(trial) for _ in range(min(jobs, missing))]
    failures: list[CellResult] = []
    try:
        for answers in _finished(queue, workers):
            store.add([(a.cell, a.result, a.seconds) for a in answers if not a.failure], made_by)
            queue.finish(answers)
            failures += [answer for answer in answers if answer.failure]
            report(queue.progress())
    finally:
        for worker in workers:
            worker.stop()
    if failures:
        cell, reason = failures[0].cell, failures[0].failure
        raise SweepError(
            f"{len(failures)} of {missing} cells failed, the others are stored. Trial {cell.trial} at {cell.point}: {reason}"
        )
    return missing


def _finished(queue: _Queue, workers: list[_Worker]) -> Iterator[list[CellResult]]:
    """What came back each time that some worker had something, until nothing is left."""
    while queue.cells or any(worker.cells for worker in workers):
        for worker in workers:
            worker.refill(queue)
        yield list(itertools.chain.from_iterable(worker.answers(queue) for worker in _ready(workers)))


class _Queue:
    """Cells that no worker has, dearest first, and the pace so far."""

    def __init__(self, cells: list[Cell], cost: Callable[[Row], float], total: int) -> None:
        self.cells = deque(sorted(cells, key=lambda cell: -cost(cell.point)))
        self._cost, self._total = cost, total
        self._left, self._unfinished = sum(cost(cell.point) for cell in cells), len(cells)
        self._spent = self._seconds = 0.0
        self._began = time.monotonic()

    def predicted(self, cell: Cell) -> float:
        """Seconds; infinite while nothing is known, so that the first batches are single cells."""
        return self._cost(cell.point) * self._seconds / self._spent if self._spent else math.inf

    def finish(self, answers: list[CellResult]) -> None:
        for answer in answers:
            cost = self._cost(answer.cell.point)
            self._left, self._spent = self._left - cost, self._spent + cost
            self._seconds += answer.wall
            self._unfinished -= 1

    def progress(self) -> Pace:
        elapsed = time.monotonic() - self._began
        left = self._left * elapsed / self._spent if self._spent else (math.nan if self._unfinished else 0.0)
        return Pace(self._total - self._unfinished, self._total, left)


class _Worker:
    """A process, the pipe to it, and the cells that it has not answered yet, in their order."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self.cells: deque[Cell] = deque()
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs, self._trial), daemon=True)
        with _one_thread():
            self._process.start()
        theirs.close()

    def refill(self, queue: _Queue) -> None:
        """Send a batch when the work in hand is short: none waits behind a long cell while another worker is idle."""
        ahead = sum(queue.predicted(cell) for cell in self.cells)
        batch: list[Cell] = []
        while queue.cells and ahead < LIMITS.batch_seconds and len(batch) < LIMITS.batch_cells:
            batch.append(queue.cells.popleft())
            ahead += queue.predicted(batch[-1])
        if batch:
            self.cells.extend(batch)
            with suppress(OSError):  # a dead worker is met when its answers are asked for
                self.pipe.send(batch)

    def answers(self, queue: _Queue) -> Iterator[CellResult]:
        """Those that have come. If the process died, so did its first cell; a new process takes its place."""
        try:
            while self.pipe.poll():
                outcome = self.pipe.recv()
                yield CellResult(self.cells.popleft(), *outcome)
        except (EOFError, OSError):
            self.stop()
            if self.cells:
                yield CellResult(self.cells.popleft(), "", 0.0, 0.0, f"its process died, exit code {self._process.exitcode}.")
            queue.cells.extendleft(reversed(self.cells))
            self.cells.clear()
            self._start()

    def stop(self) -> None:
        self.pipe.close()
        self._process.terminate()
        self._process.join()


def _ready(workers: list[_Worker]) -> list[_Worker]:
    ready = wait([worker.pipe for worker in workers if worker.cells])
    return [worker for worker in workers if worker.pipe in ready]


def _work(pipe: Connection[Any, Any], trial: Trial) -> None:
    """A worker's life; it ends when the pipe does. Ctrl-C is the parent's business."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")
    try:
        while True:
            for cell in pipe.recv():
                pipe.send(_run(trial, cell))
    except (EOFError, OSError):
        return


def _run(trial: Trial, cell: Cell) -> tuple[str, float, float, str]:
    began, began_wall = time.process_time(), time.monotonic()
    try:
        result, failure = json.dumps(trial(cell.rng(), **cell.point), default=_plain, ensure_ascii=False), ""
    except Exception:
        result, failure = "", traceback.format_exc()
    return result, time.process_time() - began, time.monotonic() - began_wall, failure


def _plain(value: Any) -> Any:
    """NumPy's arrays and scalars as JSON's."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a trial returned {value!r}, which JSON cannot hold; it must be numbers and text.")


@contextmanager
def _one_thread() -> Iterator[None]:
    """Processes started inside have one BLAS thread: cells side by side use the cores better, and always to the same bits."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
