"""The data's door against rooflines: a moment against one bare product, its memory, and the time of `import weightlift`.

    python -m benchmarks.foundation

Moment    `samples.open(X, y).mean(HermiteMoment(d, 2))`, E y (xxᵀ − I), against XᵀZ with Z another array (XᵀX would be a
          symmetric product, half the work), n = 200,000 and d = 200, in turns, the least of several.
Memory    peak of the arrays allocated beyond X and y while the mean is taken (tracemalloc), in row blocks of the source.
Import    against `import numpy, scipy.linalg`, fresh interpreters in turns.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

import weightlift as wl
from weightlift.moments import HermiteMoment
from weightlift.samples.limits import LIMITS

ROWS, INPUTS = 200_000, 200
REPEATS, IMPORTS = 9, 15
LINE = "| {:<52} | {:>10} | {:>10} |"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="moments, memory and import time against rooflines")
    parser.add_argument("--full", action="store_true", help="three times as many repetitions")
    parser.add_argument("--threads", type=int, default=1, help="BLAS threads of both products")
    options = parser.parse_args(arguments)
    times = 3 if options.full else 1
    print(LINE.format("quantity", "measured", "at most"))
    print(LINE.format("-" * 52, "-" * 10, "-" * 10))
    with threadpool_limits(limits=options.threads):
        wall, cpu = moment_ratio(times * REPEATS)
        blocks = traced_blocks()
    ratio = import_ratio(times * IMPORTS)
    print(LINE.format(f"second moment / XᵀZ, n={ROWS}, d={INPUTS}, elapsed", f"{wall:.2f}", "1.3"))
    print(LINE.format("the same, CPU time", f"{cpu:.2f}", "1.3"))
    print(LINE.format(f"arrays beside the data, in blocks of {LIMITS.block_bytes / 2**20:g} MiB", f"{blocks:.2f}", "2"))
    print(LINE.format("import weightlift / import numpy, scipy.linalg", f"{ratio:.2f}", "1.5"))
    return 0


def moment_ratio(repeats: int) -> tuple[float, float]:
    """Least times of the mean over those of the product: elapsed, and of the CPU."""
    rng = np.random.default_rng(0)
    X, Z, y = rng.normal(size=(ROWS, INPUTS)), rng.normal(size=(ROWS, INPUTS)), rng.normal(size=ROWS)
    samples = wl.samples.open(X, y)
    statistic = HermiteMoment(INPUTS, 2)
    contenders: list[Callable[[], object]] = [lambda: samples.mean(statistic), lambda: X.T @ Z]
    times = np.array([[_timed(f) for f in contenders] for _ in range(repeats)])
    least = times.min(axis=0)  # (contender, clock)
    wall, cpu = least[0] / least[1]
    return float(wall), float(cpu)


def _timed(f: Callable[[], object]) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    f()
    return time.perf_counter() - wall, time.process_time() - cpu


def traced_blocks() -> float:
    """Peak of the arrays allocated while the mean is taken."""
    rng = np.random.default_rng(0)
    samples = wl.samples.open(rng.normal(size=(ROWS, INPUTS)), rng.normal(size=ROWS))
    tracemalloc.start()
    samples.mean(HermiteMoment(INPUTS, 2))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / LIMITS.block_bytes


def import_ratio(repeats: int) -> float:
    """Median CPU time of the import over that of NumPy's and SciPy's, each in a fresh interpreter."""
    times = [[_import_time(code) for code in ("weightlift", "numpy, scipy.linalg")] for _ in range(repeats)]
    ours, theirs = np.median(times, axis=0)
    return float(ours / theirs)


def _import_time(modules: str) -> float:
    return float(_python("-c", f"import time; t = time.process_time(); import {modules}; print(time.process_time() - t)"))


def _python(*arguments: str) -> str:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    sys.exit(main())
