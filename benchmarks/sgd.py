"""Averaged SGD of mondelli2019 §6 beside plain loops of the same arithmetic, on the same rows, in one run.

    python -m benchmarks.sgd            three repetitions, under a minute
    python -m benchmarks.sgd --full     seven repetitions

Problem   d = 50, r Haar weights, tanh(5x/2), one step a row, running average and its error at every row before it is used.
Plain     the iteration as it is written, row by row: NumPy (agreement), PyTorch in-place operations, a numba loop.
Ours      `refinement.sgd` from start to end with its windows; in the full run also the drawing of the rows, their labels
          and the distance of the weights at every window.
Times     of the CPU, one thread each, the median over interleaved repetitions. On a busy machine all of them grow, the ratios
          hardly.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import os
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
from numba import njit
from threadpoolctl import threadpool_limits

import weightlift as wl
from weightlift.refinement import nearest_weight_distance, sgd
from weightlift.samples import Fresh

INPUTS, FACTOR = 50, 2.5
STEPS = {50: 60_000, 350: 20_000, 2500: 8_000}  # ours; the loops take a quarter
TORCH, NAIVE = {50: 15.0, 350: 5.0, 2500: 3.0}, {2500: 1.8}
MINUTES, ROWS = 10.0, 5_000_000
LINE = "| {:<62} | {:>12} | {:>12} | {:>3} |"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="averaged SGD beside plain loops")
    parser.add_argument("--full", action="store_true", help="seven repetitions instead of three")
    options = parser.parse_args(arguments)
    repetitions = 7 if options.full else 3
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    print(LINE.format("", "asked", "measured", "met"))
    print(LINE.format("---", "---:", "---:", "---"))
    met = []
    with threadpool_limits(limits=1):
        for dtype, tolerance in (("float64", 1e-11), ("float32", 1e-4)):
            difference = agreement(dtype)
            met.append(_line(f"sequential loop, 10,000 steps, {dtype}: difference", difference, tolerance, "<="))
        for r, steps in STEPS.items():
            times = compare(r, steps, repetitions)
            met += _speed(r, times)
        met += _whole_run()
    return int(not all(met))


def agreement(dtype: str, r: int = 50, steps: int = 10_000) -> float:
    """Largest difference of weights, average (relative to the largest entry) and residuals from the sequential loop's."""
    X, y, start = problem(r, steps, dtype)
    step = 1e-4
    run = sgd(wl.samples.open(X, y, dtype=dtype), start, step=step, dtype=dtype)
    W, average, squares = sequential(X, y, start.W.astype(dtype), np.dtype(dtype).type(step))
    gaps = [np.abs(a - b).max() / np.abs(b).max() for a, b in ((run.network.W, W), (run.average.W, average))]
    return float(max(*gaps, abs(run.windows.squared_error[0] / squares - 1)))


def compare(r: int, steps: int, repetitions: int) -> dict[str, list[float]]:
    """Seconds a step of every method, one entry a repetition."""
    X, y, start = problem(r, steps, "float32")
    source, few = wl.samples.open(X, y, dtype="float32"), steps // 4
    W, step = start.W.astype(np.float32), 1e-4 * 50 / r
    methods: dict[str, tuple[int, Callable[[], object]]] = {
        "ours": (steps, lambda: sgd(source, start, step=step, dtype="float32")),
        "numba": (few, lambda: naive(X[:few], y[:few], W.copy(), np.float32(step))),
    }
    if importlib.util.find_spec("torch"):
        methods["torch"] = few, lambda: torch_loop(X[:few], y[:few], W, step)
    times: dict[str, list[float]] = {name: [] for name in methods}
    sgd(wl.samples.open(X[:100], y[:100]), start, step=step, dtype="float32")  # compiled off the clock
    naive(X[:2], y[:2], W.copy(), np.float32(step))
    for _ in range(repetitions):
        for name, (count, method) in methods.items():
            began = time.process_time()
            method()
            times[name].append((time.process_time() - began) / count)
    return times


def problem(r: int, rows: int, dtype: str) -> tuple[np.ndarray, np.ndarray, wl.Network]:
    truth = wl.teachers.haar(INPUTS, r, rng=r)
    block = next(Fresh(truth, seed=1, arithmetic=dtype).blocks(rows))
    W = np.random.default_rng(2).standard_normal((INPUTS, r)) / math.sqrt(INPUTS)
    return block.X, block.y, wl.Network(W, activation=truth.activation)


def sequential(X: np.ndarray, y: np.ndarray, W: np.ndarray, s: np.generic) -> tuple[np.ndarray, np.ndarray, float]:
    """The iteration in NumPy, in the dtype of its arguments: weights, average, mean square of the average's residuals."""
    average, total, factor = W.copy(), 0.0, W.dtype.type(FACTOR)
    for j, x in enumerate(X):
        total += float(np.tanh(factor * (x @ average)).sum() - y[j]) ** 2
        v = np.tanh(factor * (x @ W))
        e = v.sum() - y[j]
        W = W - np.outer(x, s * e * factor * (1 - v * v))
        average += (W - average) / W.dtype.type(j + 1)
    return W, average, total / len(y)


def torch_loop(X: np.ndarray, y: np.ndarray, W: np.ndarray, s: float) -> object:
    """The same in PyTorch, in place where it can be."""
    import torch

    torch.set_num_threads(1)
    rows, labels, weights = torch.from_numpy(X), torch.from_numpy(y), torch.from_numpy(W.copy())
    average, squares = weights.clone(), torch.zeros(len(y))
    with torch.inference_mode():
        for j in range(len(y)):
            x = rows[j]
            squares[j] = torch.tanh((x @ average).mul_(FACTOR)).sum() - labels[j]
            v = torch.tanh((x @ weights).mul_(FACTOR))
            e = v.sum() - labels[j]
            weights.addr_(x, e * (1 - v * v), alpha=-s * FACTOR)
            average.lerp_(weights, 1 / (j + 1))
    return average, squares


@njit(fastmath=True)
def naive(X, y, W, s):
    """The same as a compiled loop, two passes over the weights a step."""
    d, k = W.shape
    average, squares = W.copy(), np.empty_like(y)
    z, zbar = np.empty(k, W.dtype), np.empty(k, W.dtype)
    factor, one = W.dtype.type(FACTOR), W.dtype.type(1)
    for j in range(y.size):
        z[:] = 0
        zbar[:] = 0
        for i in range(d):
            x = X[j, i]
            for l in range(k):  # noqa: E741
                z[l] += x * W[i, l]
                zbar[l] += x * average[i, l]
        e, smooth = -y[j], -y[j]
        for l in range(k):  # noqa: E741
            v = np.tanh(factor * z[l])
            e += v
            smooth += np.tanh(factor * zbar[l])
            z[l] = factor * (one - v * v)
        squares[j] = smooth
        rate = W.dtype.type(1 / (j + 1))
        for i in range(d):
            x = s * e * X[j, i]
            for l in range(k):  # noqa: E741
                W[i, l] -= x * z[l]
                average[i, l] += rate * (W[i, l] - average[i, l])
    return W, average, squares


def _speed(r: int, times: dict[str, list[float]]) -> list[bool]:
    ours = statistics.median(times["ours"])
    print(LINE.format(f"r = {r}, float32: µs a step, ours", "", f"{1e6 * ours:.2f}", ""))
    met = []
    for name, wanted in (("torch", TORCH.get(r)), ("numba", NAIVE.get(r))):
        if name in times:
            ratio = statistics.median(t / u for t, u in zip(times[name], times["ours"], strict=True))
            label = f"r = {r}: {'PyTorch loop' if name == 'torch' else 'naive numba loop'} over ours"
            met.append(_line(label, ratio, wanted, ">="))
    return met


def _whole_run(r: int = 2500, steps: int = 100_000) -> list[bool]:
    """Rows drawn and labelled, steps, average, both measures; then the share of the distances."""
    truth = wl.teachers.haar(INPUTS, r, rng=r)
    start = problem(r, 1, "float32")[2]
    began, wall = time.process_time(), time.perf_counter()
    run = sgd(Fresh(truth, seed=1, arithmetic="float32"), start, step=1e-4 * 50 / r, steps=steps, dtype="float32", truth=truth)
    used, wall = time.process_time() - began, time.perf_counter() - wall
    began = time.process_time()
    for _ in range(3):
        nearest_weight_distance(run.average.W, truth.W)
    share = (time.process_time() - began) / 3 * len(run.windows.ends) / used
    print(LINE.format("r = 2500, all in: µs a step, CPU", "", f"{1e6 * used / steps:.1f}", ""))
    print(LINE.format("r = 2500, all in: µs a step, wall clock under this load", "", f"{1e6 * wall / steps:.1f}", ""))
    return [
        _line(f"r = 2500, n = 5·10⁶: minutes of one core, from {steps:,} steps", used / steps * ROWS / 60, MINUTES, "<="),
        _line("share of the weight distances, one every 10,000 steps", share, 0.5, "<="),
    ]


def _line(label: str, value: float, wanted: float | None, sense: str) -> bool:
    met = wanted is None or (value <= wanted if sense == "<=" else value >= wanted)
    asked = "" if wanted is None else f"{'≤' if sense == '<=' else '≥'} {wanted:g}"
    print(LINE.format(label, asked, f"{value:.3g}", "" if wanted is None else "yes" if met else "no"), flush=True)
    return met


if __name__ == "__main__":
    sys.exit(main())
