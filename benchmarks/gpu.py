"""Passes, normal equations and batches of starts on a GPU, against the bare product and against the processor, in one run.

    python -m benchmarks.gpu                       an NVIDIA GPU with PyTorch
    python -m benchmarks.gpu --share 0.01 --device cpu     the same code, a hundredth of the rows, anywhere

Moment        `samples.open(X, y).mean(HermiteMoment(d, 2))` against XᵀZ with Z another array, n = 4·10⁶, d = 500.
Gauss–Newton  784 inputs, 32 ReLU units, 25,088 parameters, n = 100,000: seconds a step, dense normal equations and
              conjugate gradients, from a start at 10 % from the truth.
Starts        256 random starts of a ReLU problem, k = 5, d = 50, n = 3,000, 20 Gauss–Newton steps each, in one batch;
              one after another on the same device; on the processor with two threads, in batches of 16 and one after another:
              these three from the first 16 starts (≈).
Waiting       times the host waits for the device in a pass of moments, and in a Gauss–Newton step (PyTorch's sync debug mode).
float64 throughout; the least of three passes, the mean over the steps.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import weightlift as wl
from weightlift.moments import HermiteMoment
from weightlift.refinement import gauss_newton
from weightlift.risk import Students

SKIPPED = 77
ROWS, INPUTS = 4_000_000, 500
WIDE_ROWS, WIDE_INPUTS, WIDE_UNITS, WIDE_STEPS = 100_000, 784, 32, 4
STARTS, START_ROWS, START_INPUTS, START_UNITS, START_STEPS = 256, 3_000, 50, 5, 20
SEQUENTIAL = 16  # starts timed one by one
LINE = "| {:<74} | {:>12} | {:>12} |"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="the package on a GPU, against rooflines and the processor")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--share", type=float, default=1.0, help="of the rows")
    parser.add_argument("--only", nargs="*", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--solver", nargs="*", choices=["dense", "cg"], default=["dense", "cg"])
    parser.add_argument("--threads", type=int, default=2, help="of the processor, for the comparison")
    options = parser.parse_args(arguments)
    if importlib.util.find_spec("torch") is None:
        print("PyTorch is not installed; nothing was measured.")
        return SKIPPED
    import torch

    if options.device == "cuda" and not torch.cuda.is_available():
        print("There is no CUDA device; nothing was measured.")
        return SKIPPED
    torch.set_num_threads(options.threads)
    gpu = torch.cuda.get_device_name() if options.device == "cuda" else "the processor"
    print(f"{gpu}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}; processor with {options.threads} threads.\n")
    print(LINE.format("quantity", "measured", "wanted"))
    print(LINE.format("-" * 74, "-" * 12, "-" * 12))
    with threadpool_limits(limits=options.threads):
        for name in options.only:
            PARTS[name](torch, options)
    return 0


def moment(torch: Any, options: argparse.Namespace) -> None:
    n, d, where = max(1000, int(options.share * ROWS)), INPUTS, options.device
    generator = torch.Generator(device=where).manual_seed(0)
    X, Z = (torch.randn((n, d), generator=generator, device=where, dtype=torch.float64) for _ in range(2))
    y = torch.randn((n,), generator=generator, device=where, dtype=torch.float64)
    samples, statistic = wl.samples.open(X, y), HermiteMoment(d, 2)
    contenders: list[Callable[[], object]] = [lambda: X.T @ Z, lambda: samples.mean(statistic)]
    times = np.array([[timed(torch, f) for f in contenders] for _ in range(4)])[1:].min(axis=0)
    report(f"XᵀZ, n={n}, d={d}: TFLOP/s", f"{2 * n * d * d / times[0] / 1e12:.1f}")
    report("second moment as a share of that product's rate", f"{times[0] / times[1]:.0%}", "≥ 60 %")


def wide(torch: Any, options: argparse.Namespace) -> None:
    n, d, k = max(1000, int(options.share * WIDE_ROWS)), WIDE_INPUTS, WIDE_UNITS
    if options.share < 0.1:
        d, k = 80, 8
    rng = np.random.default_rng(0)
    truth = wl.teachers.conditioned(d, k, activation="relu", rng=rng)
    generator = torch.Generator(device=options.device).manual_seed(1)
    X = torch.randn((n, d), generator=generator, device=options.device, dtype=torch.float64)
    W, a = (torch.as_tensor(np.array(v), device=options.device) for v in (truth.W, truth.a))
    y = torch.relu(X @ W) @ a
    noise = rng.normal(size=truth.W.shape)
    start = wl.Network(truth.W + 0.1 * noise * np.linalg.norm(truth.W) / np.linalg.norm(noise), truth.a, activation="relu")
    samples = wl.samples.open(X, y)
    for solver in options.solver:
        if torch.cuda.is_available():
            torch.cuda.reset_peak_memory_stats()
        timed(torch, lambda solver=solver: gauss_newton(samples, start, iterations=1, solver=solver))
        found: list[Any] = []
        seconds = timed(
            torch,
            lambda solver=solver, found=found: found.append(
                gauss_newton(samples, start, iterations=WIDE_STEPS, solver=solver)
            ),
        )
        fit = found[0]
        report(f"Gauss–Newton {d}-{k}, n={n}, {solver}: s a step", f"{seconds / fit.iterations:.2f}", "≤ 10")
        report(f"  risk after {fit.iterations} steps, of the first", f"{fit.history[-1, 0] / fit.history[0, 0]:.1e}")
        if torch.cuda.is_available():
            report("  peak memory, GiB", f"{torch.cuda.max_memory_allocated() / 2**30:.1f}")


def starts(torch: Any, options: argparse.Namespace) -> None:
    S = max(SEQUENTIAL, int(min(1.0, 10 * options.share) * STARTS))
    rng = np.random.default_rng(0)
    truth = wl.teachers.conditioned(START_INPUTS, START_UNITS, activation="relu", rng=rng)
    X, y = wl.draw(truth, START_ROWS, rng=1)
    batch = [
        wl.Network(rng.normal(size=(START_INPUTS, START_UNITS)) / 7, rng.choice([-1.0, 1.0], START_UNITS), activation="relu")
        for _ in range(S)
    ]
    device = wl.samples.open(torch.as_tensor(X, device=options.device), torch.as_tensor(y, device=options.device))
    processor = wl.samples.open(X, y)

    def together(source: Any, networks: list[wl.Network]) -> None:
        gauss_newton(source, Students.of(*networks), free="Wa", iterations=START_STEPS, tol=0.0, unit=True)

    def one_by_one(source: Any, networks: list[wl.Network]) -> None:
        for network in networks:
            together(source, [network])

    together(device, batch[:2])
    few = batch[:SEQUENTIAL]
    ours = min(timed(torch, lambda: together(device, batch)) for _ in range(3))
    device_each = timed(torch, lambda: one_by_one(device, few)) * S / len(few)
    host_batch = timed(torch, lambda: together(processor, few)) * S / len(few)
    host_each = timed(torch, lambda: one_by_one(processor, few)) * S / len(few)
    report(f"{S} starts, k={START_UNITS}, d={START_INPUTS}, {START_STEPS} steps, one batch: s", f"{ours:.2f}")
    report("one after another on the same device: times slower", f"≈ {device_each / ours:.0f}", "≥ 20")
    host = f"processor, {options.threads} threads"
    report(f"{host}, in batches of {len(few)}: times slower", f"≈ {host_batch / ours:.0f}", "≥ 30")
    report(f"{host}, one after another: times slower", f"≈ {host_each / ours:.0f}", "≥ 30")


def waiting(torch: Any, options: argparse.Namespace) -> None:
    if options.device != "cuda":
        return
    truth = wl.teachers.conditioned(START_INPUTS, START_UNITS, activation="relu", rng=0)
    X, y = wl.draw(truth, START_ROWS, rng=1)
    samples = wl.samples.open(torch.as_tensor(X, device="cuda"), torch.as_tensor(y, device="cuda"))
    V = np.linalg.qr(np.random.default_rng(0).normal(size=(START_INPUTS, START_UNITS)))[0]
    start = wl.Network(truth.W + 0.05, truth.a, activation="relu")

    def steps(count: int) -> Callable[[], object]:
        return lambda: gauss_newton(samples, start, iterations=count, tol=0.0)

    statistic = HermiteMoment(START_INPUTS, 3, V)
    samples.mean(statistic)
    report("the host waits, in a pass of moments: times", str(waits(torch, lambda: samples.mean(statistic))))
    steps(1)()
    three, one = waits(torch, steps(3)), waits(torch, steps(1))
    report("the host waits, in a Gauss–Newton step: times", f"{(three - one) / 2:.1f}", "1")


def waits(torch: Any, f: Callable[[], object]) -> int:
    """Synchronising calls that PyTorch sees."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            f()
        finally:
            torch.cuda.set_sync_debug_mode("default")
    return sum("synchronizing" in str(w.message) for w in caught)


def timed(torch: Any, f: Callable[[], object]) -> float:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    started = time.perf_counter()
    f()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - started


def report(quantity: str, measured: str, wanted: str = "") -> None:
    print(LINE.format(quantity, measured, wanted), flush=True)


PARTS: dict[str, Callable[[Any, argparse.Namespace], None]] = {
    "moment": moment,
    "wide": wide,
    "starts": starts,
    "waiting": waiting,
}

if __name__ == "__main__":
    sys.exit(main())
