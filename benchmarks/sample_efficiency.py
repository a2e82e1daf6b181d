"""How few rows `recover` needs: noiseless planted networks, n rows a parameter, certified EXACT and right.

    python -m benchmarks.sample_efficiency                    every target row that two cores can do
    python -m benchmarks.sample_efficiency --moonshots        fewer rows still
    python -m benchmarks.sample_efficiency --rows 'relu d=20' --trials 5 --seed 7
    python -m benchmarks.sample_efficiency --rows 'k=30' --device cuda

p counts parameters with the scale fixed: k d for homogeneous φ without bias, k (d + 1) for ReLU with bias and for tanh and
sigmoid. n = ratio · p counts every row given, those that `recover` holds out too. Signs and sizes of the output weights are
unknown to the method. A trial is right when the certificate is EXACT, the largest relative error of a unit is at most 1e-6
and the networks are equivalent to 1e-6; an EXACT that is not right is counted as wrong, and must not occur.

Seeds are fresh in every run unless given. Every trial is appended to benchmarks/results/sample_efficiency.jsonl, and a run that
was interrupted is continued: the last run is taken up again if it lacks trials of the rows asked for, unless --fresh is given.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import re
import sys
import time
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import weightlift as wl

STORE = Path(__file__).parent / "results" / "sample_efficiency.jsonl"
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    activation: str
    n_inputs: int
    n_units: int
    ratio: float  # rows a parameter
    bias: bool = False
    trials: int = 20
    moonshot: bool = False
    device: bool = False  # too much for two cores

    @property
    def name(self) -> str:
        kind = f"biased {self.activation}" if self.bias else self.activation
        return f"{kind} d={self.n_inputs} k={self.n_units} n={self.ratio:g}p"

    @property
    def rows(self) -> int:
        free = self.bias + (wl.activations.get(self.activation).degree is None)
        return round(self.ratio * self.n_units * (self.n_inputs + free))

    def problem(self, seed: list[int]) -> tuple[wl.Network, np.ndarray, np.ndarray]:
        """A planted network and rows drawn from it."""
        networks, inputs = np.random.default_rng(seed).spawn(2)
        if self.bias:
            truth = wl.teachers.biased(self.n_inputs, self.n_units, activation=self.activation, rng=networks)
        else:
            truth = wl.teachers.conditioned(self.n_inputs, self.n_units, activation=self.activation, rng=networks)
        return truth, *wl.draw(truth, self.rows, rng=inputs)


def _pair(
    activation: str, d: int, k: int, target: float, moonshot: float, trials: int = 20, bias: bool = False, device: bool = False
) -> list[Row]:
    return [
        Row(activation, d, k, ratio, bias, trials, moonshot=ratio == moonshot, device=device) for ratio in (target, moonshot)
    ]


TABLE = [
    *(row for d in (20, 50, 100) for row in _pair("squared_relu", d, 5, 2.5, 1.5)),
    *(row for d in (20, 50, 100) for row in _pair("relu", d, 5, 3, 1.5)),
    *(row for name in ("leaky_relu", "tanh", "sigmoid") for row in _pair(name, 20, 5, 3, 2)),
    *_pair("relu", 30, 15, 4, 2),
    *_pair("relu", 20, 5, 4, 2, bias=True),
    *_pair("relu", 60, 30, 8, 4, 5, device=True),
    *_pair("relu", 100, 50, 10, 5, 3, device=True),
]


@dataclass(frozen=True)
class Trial:
    """One recovery, judged."""

    row: str
    run: int
    trial: int
    status: str
    right: bool
    error: float
    seconds: float  # of CPU
    wall: float
    work: float  # Gauss–Newton steps of one start
    reason: str


def main(arguments: list[str] | None = None, table: list[Row] | None = None) -> int:
    parser = argparse.ArgumentParser(description="rows a parameter that recover needs, noiseless")
    parser.add_argument("--rows", default="", help="regular expression that a row's name must contain")
    parser.add_argument("--moonshots", action="store_true", help="the moonshot rows too")
    parser.add_argument("--trials", type=int, help="trials a row instead of the table's")
    parser.add_argument("--seed", type=int, help="seed of the run; fresh from the clock by default")
    parser.add_argument("--fresh", action="store_true", help="begin a new run even if the last one is unfinished")
    parser.add_argument("--device", default="cpu", help="where the rows live: cpu (NumPy), or a PyTorch device such as cuda")
    parser.add_argument("--jobs", type=int, default=1, help="trials side by side, each with one BLAS thread")
    parser.add_argument("--max-work", type=float, help="the search's budget, instead of the default")
    parser.add_argument("--store", type=Path, default=STORE)
    options = parser.parse_args(arguments)
    rows = [row for row in (TABLE if table is None else table) if _wanted(row, options)]
    done = _read(options.store)
    run = _run(rows, done, options)
    trials = {(t.row, t.trial): t for t in done if t.run == run}
    left = [(row, i) for row in rows for i in range(options.trials or row.trials) if (row.name, i) not in trials]
    print(f"run {run}: {len(left)} trials to do, {len(trials)} done before\n\n{HEADER}\n{RULE}", flush=True)
    printed: set[str] = set()
    for trial in _results(left, run, options):
        _append(options.store, trial)
        trials[trial.row, trial.trial] = trial
        _print_finished(rows, trials, options, printed)
    _print_finished(rows, trials, options, printed)
    shown = [t for t in trials.values() if t.row in printed]
    failures = [t for t in shown if not t.right]
    print()
    for t in failures:
        print(f"* {t.row}, run {t.run}, trial {t.trial}: {t.status}, error {t.error:.1g}, work {t.work:.0f}. {t.reason}")
    return int(any(t.status == "EXACT" for t in failures))


def _wanted(row: Row, options: argparse.Namespace) -> bool:
    if options.rows:
        return re.search(options.rows, row.name) is not None and (options.moonshots or not row.moonshot)
    return not row.device and (options.moonshots or not row.moonshot)


def _run(rows: list[Row], done: list[Trial], options: argparse.Namespace) -> int:
    """The seed of this run: as given, or that of an unfinished run, or from the clock."""
    if options.seed is not None:
        return int(options.seed)
    if done and not options.fresh:
        last = done[-1].run
        have = {(t.row, t.trial) for t in done if t.run == last}
        if any((row.name, i) not in have for row in rows for i in range(options.trials or row.trials)):
            return last
    return time.time_ns() // 1000 % 2**31


def _results(left: list[tuple[Row, int]], run: int, options: argparse.Namespace) -> Iterator[Trial]:
    jobs = ((row, run, i, options.device, options.max_work) for row, i in left)
    if options.jobs == 1:
        yield from map(_attempt, jobs)
        return
    with multiprocessing.get_context("spawn").Pool(options.jobs, maxtasksperchild=20) as pool:
        yield from pool.imap_unordered(_attempt, jobs)


def _attempt(job: tuple[Row, int, int, str, float | None]) -> Trial:
    row, run, number, device, max_work = job
    truth, X, y = row.problem([run, zlib.crc32(row.name.encode()), number])
    return attempt(row, truth, X, y, run, number, device, max_work)


def attempt(
    row: Row, truth: wl.Network, X: Any, y: Any, run: int, number: int, device: str = "cpu", max_work: float | None = None
) -> Trial:
    """Recover from the rows alone, then judge with the truth."""
    if device != "cpu":
        import torch

        X, y = (torch.asarray(v).to(device) for v in (X, y))
    wall, cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings(), threadpool_limits(limits=1 if device == "cpu" else None):
        warnings.simplefilter("ignore", UserWarning)
        try:
            found = wl.recover(X, y, n_units=row.n_units, activation=row.activation, bias=row.bias, max_work=max_work)
        except Exception as raised:  # a failure like another, and a fault of its own
            spent = time.process_time() - cpu, time.perf_counter() - wall
            return Trial(row.name, run, number, "RAISED", False, math.inf, *spent, 0.0, repr(raised))
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    error = wl.match(found.network, truth).max_error
    exact = found.certificate.status is wl.Status.EXACT
    right = exact and error <= TOLERANCE and bool(found.network.equivalent(truth, TOLERANCE))
    work = sum(stage.work for stage in found.stages)
    reason = found.certificate.reasons[0]
    return Trial(row.name, run, number, found.certificate.status.name, right, error, cpu, wall, work, reason)


HEADER = (
    f"| {'setting (noiseless)':<34} | {'n':>6} | {'right and EXACT':>15} | {'wrong EXACT':>11} | "
    f"{'median CPU s':>12} | {'max CPU s':>9} | {'median work':>11} |"
)
RULE = "|" + "|".join("-" * len(cell) for cell in HEADER.split("|")[1:-1]) + "|"


def _print_finished(
    rows: list[Row], trials: dict[tuple[str, int], Trial], options: argparse.Namespace, printed: set[str]
) -> None:
    """The lines whose trials are all there, once, in the table's order."""
    for row in rows:
        numbers = range(options.trials or row.trials)
        if row.name in printed:
            continue
        if any((row.name, i) not in trials for i in numbers):
            return
        print(_line(row, [trials[row.name, i] for i in numbers]), flush=True)
        printed.add(row.name)


def _line(row: Row, trials: list[Trial]) -> str:
    right = f"{sum(t.right for t in trials)} of {len(trials)}"
    wrong = sum(t.status == "EXACT" and not t.right for t in trials)
    seconds = [t.seconds for t in trials]
    return (
        f"| {row.name:<34} | {row.rows:>6} | {right:>15} | {wrong:>11} | {np.median(seconds):>12.2f} | {max(seconds):>9.2f} | "
        f"{np.median([t.work for t in trials]):>11.0f} |"
    )


def _read(store: Path) -> list[Trial]:
    """Trials so far; a line torn by an interruption is left out."""
    trials = []
    for line in store.read_text().splitlines() if store.exists() else []:
        try:
            trials.append(Trial(**json.loads(line)))
        except (ValueError, TypeError):
            continue
    return trials


def _append(store: Path, trial: Trial) -> None:
    store.parent.mkdir(parents=True, exist_ok=True)
    line = json.dumps(trial.__dict__) + "\n"
    with store.open("ab+") as file:
        end = file.seek(0, os.SEEK_END)
        if end:
            file.seek(end - 1)
            line = line if file.read(1) == b"\n" else "\n" + line
        file.write(line.encode())


if __name__ == "__main__":
    sys.exit(main())
