"""Averaged SGD on a GPU: agreement with the sequential loop, and time a step; PyTorch with Triton and NumPy are enough.

    python3 benchmarks/sgd_gpu.py                 from the repository's root

Problem   that of `benchmarks.sgd`: d = 50, r weights, tanh(5x/2). Rows and labels are ready in the host's memory; the time
          holds their transfer, the steps, the running average and its predictions. Wall clock, after the graph is captured.
Beside it the same loop as PyTorch operations on the GPU, one row at a time, and the compiled blocks on one core where numba
          and the package's other dependencies are installed.
"""

from __future__ import annotations

import importlib.util
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
TANH = 1  # its kind in sgd.elements
INPUTS, FACTOR, ROWS = 50, 2.5, 3344  # rows of a piece: a third of a window of 10⁴
LINE = "| {:<58} | {:>10} | {:>10} |"

Run = Callable[..., Any]


def main(arguments: list[str] | None = None) -> int:
    torch_runner = _module("device")
    if torch_runner.MISSING:
        print(f"not run: this needs {torch_runner.MISSING}")
        return 1
    import torch

    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}\n")
    print(LINE.format("", "asked", "measured"))
    print(LINE.format("---", "---:", "---:"))
    met = True
    for dtype, tolerance in (("float64", 1e-11), ("float32", 1e-4)):
        for r in (50, 350):
            difference = agreement(torch_runner, r, dtype)
            met &= difference <= tolerance
            label = f"r = {r}, 10,032 steps, {dtype}: difference"
            print(LINE.format(label, f"≤ {tolerance:g}", f"{difference:.2g}"), flush=True)
    for r in (50, 350, 2500, 4000):
        print(LINE.format(f"r = {r}, float32: µs a step, GPU", "", f"{gpu_time(torch_runner, r):.2f}"), flush=True)
        print(LINE.format(f"r = {r}, float32: µs a step, GPU, plain PyTorch loop", "", f"{plain_time(r):.1f}"), flush=True)
        if (core := core_time(r)) is not None:
            print(LINE.format(f"r = {r}, float32: µs a step, one core, compiled", "", f"{core:.2f}"), flush=True)
    return int(not met)


def agreement(runner: ModuleType, r: int, dtype: str) -> float:
    """Largest difference of weights, average and residuals from the loop in NumPy, relative to the largest entry."""
    W, a, X, y = problem(r, 3 * ROWS, dtype)
    step = np.dtype(dtype).type(1e-4 * 50 / r)
    ours, average = W.copy(), W.copy()
    run = device_run(runner, a)
    residuals = []
    for i in range(0, len(y), ROWS):
        part = slice(i, i + ROWS)
        residuals.append(run(ours, average, piece_of(X[part], y[part], np.full(ROWS, step, dtype), i))[1])
    factor, mean, wanted = W.dtype.type(FACTOR), W.copy(), np.empty_like(y)
    for j, x in enumerate(X):
        wanted[j] = np.tanh(factor * (x @ mean)).sum() - y[j]
        v = np.tanh(factor * (x @ W))
        W = W - np.outer(x, step * (v.sum() - y[j]) * factor * (1 - v * v))
        mean += (W - mean) / W.dtype.type(j + 1)
    pairs = (ours, W), (average, mean), (np.concatenate(residuals), wanted)
    return max(float(np.abs(p - q).max() / np.abs(q).max()) for p, q in pairs)


def gpu_time(runner: ModuleType, r: int, pieces: int = 10) -> float:
    W, a, X, y = problem(r, ROWS, "float32")
    run, average = device_run(runner, a), W.copy()
    done = 0

    def piece() -> None:
        nonlocal done
        run(W, average, piece_of(X, y, np.full(ROWS, 1e-4 * 50 / r, "f4"), done))
        done += ROWS

    return _seconds(piece, pieces) / ROWS * 1e6


def plain_time(r: int, steps: int = 300) -> float:
    import torch

    W, _, X, y = (torch.as_tensor(v, device="cuda") for v in problem(r, steps, "float32"))
    average, squares = W.clone(), torch.zeros_like(y)

    def loop() -> None:
        for j in range(steps):
            x = X[j]
            squares[j] = torch.tanh((x @ average).mul_(FACTOR)).sum() - y[j]
            v = torch.tanh((x @ W).mul_(FACTOR))
            e = v.sum() - y[j]
            W.addr_(x, e * (1 - v * v), alpha=-1e-4 * 50 / r * FACTOR)
            average.lerp_(W, 1 / (j + 1))
        torch.cuda.synchronize()

    return _seconds(loop, 3) / steps * 1e6


def core_time(r: int) -> float | None:
    needed = ("numba", "scipy", "array_api_compat", "threadpoolctl", "weightlift")
    if not all(importlib.util.find_spec(name) for name in needed):
        return None
    from threadpoolctl import threadpool_limits

    from weightlift.refinement.sgd.blocks import CompiledRun
    from weightlift.refinement.sgd.runners import Output

    W, a, X, y = problem(r, ROWS, "float32")
    average, rows = W.copy(), piece_of(X, y, np.full(ROWS, 1e-4 * 50 / r, "f4"), 0)
    run = CompiledRun(Output(a, np.float32(0), np.float32(1e30)), (TANH, np.full((1, 1), FACTOR, "f4")))
    with threadpool_limits(limits=1):
        piece = _seconds(lambda: run(W, average, rows), 3)
    return piece / ROWS * 1e6


def device_run(runner: ModuleType, a: np.ndarray) -> Run:
    import torch

    output, code = SimpleNamespace(a=a, c=0.0, limit=math.inf), (TANH, np.full((1, 1), FACTOR, a.dtype))
    run: Run = runner.DeviceRun(output, code, lambda z: torch.tanh(FACTOR * z), inputs=INPUTS, rows=ROWS, device="cuda")
    return run


def piece_of(X: np.ndarray, y: np.ndarray, steps: np.ndarray, done: int) -> Any:
    """As `sgd.runners.Piece`, which other packages may be missing for."""
    return SimpleNamespace(X=X, moving=X, y=y, steps=steps, done=done)


def problem(r: int, rows: int, dtype: str) -> tuple[Any, Any, Any, Any]:
    """Start W (d, r), output weights, X and y of a network with random unit weights."""
    rng = np.random.default_rng(r)
    truth = rng.standard_normal((INPUTS, r))
    truth /= np.linalg.norm(truth, axis=0)
    X = rng.standard_normal((rows, INPUTS))
    y = np.tanh(FACTOR * (X @ truth)).sum(axis=1)
    W = rng.standard_normal((INPUTS, r)) / math.sqrt(INPUTS)
    return W.astype(dtype), np.ones(r, dtype), X.astype(dtype), y.astype(dtype)


def _seconds(call: Callable[[], object], repetitions: int) -> float:
    """Mean after two calls off the clock."""
    call()
    call()
    began = time.perf_counter()
    for _ in range(repetitions):
        call()
    return (time.perf_counter() - began) / repetitions


def _module(name: str) -> ModuleType:
    """A file of the package alone: the package itself imports what may not be there."""
    path = ROOT / "src" / "weightlift" / "refinement" / "sgd" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    sys.exit(main())
