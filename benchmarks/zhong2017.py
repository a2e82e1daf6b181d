"""zhong2017 in numbers: exact moments, the gradient step, the rate and the cost of tensor initialization, rows to recovery.

    python -m benchmarks.zhong2017                  all, a few minutes
    python -m benchmarks.zhong2017 gradient rate    these
    python -m benchmarks.zhong2017 --full           more seeds, more repetitions, finer grids

Times are CPU times of one thread; those that are compared alternate, and the least of each counts. Exponents are slopes of
logarithms over a factor of 16. Memory is the peak of a process of its own.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np
from threadpoolctl import threadpool_limits

import weightlift as wl
from weightlift import samples
from weightlift.activations import Activation, custom, get
from weightlift.initialization import tensor_init
from weightlift.refinement import gauss_newton, gradient_descent
from weightlift.risk import Gradient, Students
from weightlift.samples import Whitening

Row = tuple[str, str, str]  # what, measured, asked
LINE = "| {:<88} | {:>9} | {:>12} |"
TABLE = ("relu", "leaky_relu", "squared_relu", "absolute", "erf", "tanh", "sigmoid")
SIGNED_SQUARE = custom(
    "z|z|",
    lambda z: z * abs(z),
    lambda z: 2 * abs(z),
    second_derivative=lambda z: 2 * np.sign(z),
    kinks=(0.0,),
    degree=2,
    reflection=(-1, (0.0,)),
)
CUBE = custom("z³", lambda z: z**3, lambda z: 3 * z**2, second_derivative=lambda z: 6 * z, degree=3, reflection=(-1, (0.0,)))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="the numbers of zhong2017's method")
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--full", action="store_true", help="more seeds, more repetitions, finer grids")
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    print(LINE.format("", "measured", "asked"))
    print(LINE.format("-" * 88, "-" * 9, "-" * 12))
    with threadpool_limits(limits=1):
        for name in options.names or PARTS:
            for row in PARTS[name](options.full):
                print(LINE.format(*row), flush=True)
    return 0


def exact(full: bool) -> Iterator[Row]:
    """Every activation of the paper's kind from exact moments: the largest unit error, over seeds."""
    errors = {}
    for phi in (*(get(name) for name in TABLE), SIGNED_SQUARE, CUBE):
        truths = [wl.teachers.conditioned(20, 5, activation=phi, rng=seed) for seed in range(20 if full else 4)]
        errors[phi.name] = max(wl.match(start(samples.population(t), phi), t).max_error for t in truths)
    worst = max(errors, key=lambda name: errors[name])
    yield f"exact moments, {len(errors)} activations, d=20, k=5: largest error ({worst})", f"{errors[worst]:.1e}", "≤ 1e-8"


def gradient(full: bool) -> Iterator[Row]:
    """One full-batch gradient step against its two bare products."""
    for name in ("squared_relu", "relu", "tanh"):
        step, first, second = gradient_times(name, 50_000, 100, 10, repeats=60 if full else 20)
        what = f"{name} gradient step / (X W and Xᵀ G), n=50,000, d=100, k=10"
        yield what, f"{step / (first + second):.2f}", "≤ 1.3"


def rate(full: bool) -> Iterator[Row]:
    """The exponent of the initialization error in n, from below 0.3 on; 20 seeds."""
    d, k = (20, 5) if full else (10, 3)
    for name, first in (("squared_relu", 2000 * k), ("relu", 4000 * k)):
        sizes = [first * 4**i for i in range(3)] if not full else [first * 2**i for i in range(5)]
        errors = [np.median([sampled_error(name, n, d, k, seed) for seed in range(20)]) for n in sizes]
        shown = ", ".join(f"{e:.3f}" for e in errors)
        what = f"{name}, d={d}, k={k}, n={sizes[0]:,} … {sizes[-1]:,}: error {shown}: exponent"
        yield what, f"{slope(sizes, errors):.2f}", "−0.6 … −0.4"


def cost(full: bool) -> Iterator[Row]:
    """Exponents of the time of tensor initialization in n and in d: by products alone, with a dense P2, after whitening."""
    factors = [1, 2, 4, 8, 16] if full else [1, 4, 16]
    for route, limit in (("lanczos", 1.15), ("dense", 2.1), ("whitened", 2.1)):
        repeats = 5 if full else 2 if route == "lanczos" else 1
        rows, inputs = [5000 * f for f in factors], [60 * f for f in factors]
        in_n = [start_time(route, n, 100, repeats) for n in rows]
        in_d = [start_time(route, 40_000, d, repeats) for d in inputs]
        what = f"time of tensor_init, {route}, d=100, n={rows[0]:,} … {rows[-1]:,} ({in_n[-1]:.2g} s): exponent in n"
        yield what, f"{slope(rows, in_n):.2f}", "≤ 1.15"
        what = f"time of tensor_init, {route}, n=40,000, d={inputs[0]} … {inputs[-1]} ({in_d[-1]:.2g} s): exponent in d"
        yield what, f"{slope(inputs, in_d):.2f}", f"≤ {limit}"


def memory(full: bool) -> Iterator[Row]:
    """Peak memory of tensor initialization by products above its data."""
    for name in ("squared_relu", "relu"):
        script = MEASURE_MEMORY.format(name=name, n=100_000, d=1000, k=10)
        found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        what = f"memory of tensor_init above the data, {name}, d=1,000, k=10, n=100,000"
        yield what, f"{float(found.stdout):.0f} MB", "≤ 300 MB"


def recovery(full: bool) -> Iterator[Row]:
    """The least n of a grid with ten recoveries of ten, squared ReLU, d=50, k=5, κ=2."""
    grid = [500, 600, 700, 850, 1000, 1200, 1400, 1700, 2000, 2400, 2800, 3400, 4000, 4800, 5600, 6800, 8000]
    blocks = range(4 if full else 1)  # of ten trials
    needed = {preset: [least_rows(preset, grid, 10 * block) for block in blocks] for preset in ("default", "paper")}
    for preset, least in needed.items():
        yield f"rows for 10 of 10, d=50, k=5, squared ReLU, {preset} preset", ", ".join(str(n) for n in least), ""
    ratio = np.median(needed["default"]) / np.median(needed["paper"])
    yield "their ratio, default to paper", f"{ratio:.2f}", "≤ 0.5"


def start(source: samples.Samples, activation: Activation | str, *, k: int = 5, seed: int = 0) -> wl.Network:
    return tensor_init(source, k, activation, rng=seed).network


def sampled_error(name: str, n: int, d: int, k: int, seed: int) -> float:
    truth = wl.teachers.conditioned(d, k, activation=name, rng=seed)
    source = samples.open(*wl.draw(truth, n, rng=seed + 1000))
    return wl.match(start(source, name, k=k, seed=seed), truth).max_error


def gradient_times(name: str, n: int, d: int, k: int, *, repeats: int) -> list[float]:
    """CPU seconds of a gradient step, of X W and of Xᵀ G."""
    truth = wl.teachers.conditioned(d, k, activation=name, rng=0)
    X, y = wl.draw(truth, n, rng=0)
    source, statistic = samples.open(X, y), Gradient(Students.of(truth))
    W, G = np.array(truth.W), np.random.default_rng(0).standard_normal((n, k))
    return least_times(lambda: source.mean(statistic), lambda: X @ W, lambda: X.T @ G, repeats=repeats)


def start_time(route: str, n: int, d: int, repeats: int) -> float:
    """CPU seconds of tensor_init on n × d rows of a squared ReLU teacher with five units."""
    truth = wl.teachers.conditioned(d, 5, activation="squared_relu", rng=0)
    source = samples.open(*wl.draw(truth, n, rng=0))

    def run() -> object:
        white = source.map(Whitening.estimated(source)).persist() if route == "whitened" else source
        return tensor_init(white, 5, "squared_relu", subspace="lanczos" if route == "whitened" else route)

    return least_times(run, repeats=repeats)[0]


def least_rows(preset: str, grid: list[int], first_seed: int) -> int:
    """The first n of the grid at which ten trials succeed; the last one where none does."""
    seeds = range(first_seed, first_seed + 10)
    return next((n for n in grid if all(recovered(preset, n, seed) for seed in seeds)), grid[-1])


def recovered(preset: str, n: int, seed: int) -> bool:
    """Tensor start, then the paper's descent (η = 0.02) or Gauss–Newton; success as in [zhong2017, §7]."""
    truth = wl.teachers.conditioned(50, 5, activation="squared_relu", rng=seed)
    source = samples.open(*wl.draw(truth, n, rng=seed + 500))
    network = tensor_init(source, 5, "squared_relu", preset=preset, rng=seed).network
    if preset == "paper":
        end = gradient_descent(source, network, step=0.02, iterations=3000, tol=1e-7).network
    else:
        end = gauss_newton(source, network, iterations=200).network
    found = wl.match(end, truth)
    return bool(found.max_error <= 0.01 and found.signs_agree)


def slope(sizes: object, values: object) -> float:
    return float(np.polyfit(np.log(np.array(sizes)), np.log(np.array(values)), 1)[0])


def least_times(*runs: Callable[[], object], repeats: int) -> list[float]:
    """The least CPU time of each, in alternation."""
    rounds = [[cpu_time(run) for run in runs] for _ in range(repeats)]
    return [min(column) for column in zip(*rounds, strict=True)]


def cpu_time(run: Callable[[], object]) -> float:
    began = time.process_time()
    run()
    return time.process_time() - began


MEASURE_MEMORY = """
import resource, sys
import numpy as np
import weightlift as wl
from weightlift.initialization import tensor_init

def memory(kind):  # MB, now ("VmRSS") or at most so far ("VmHWM"); elsewhere than on Linux the latter always
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) / 2**10 for line in status if line.startswith(kind))
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)

warm = wl.teachers.conditioned(20, {k}, activation="{name}", rng=0)
tensor_init(wl.samples.open(*wl.draw(warm, 500, rng=0)), {k}, "{name}", subspace="lanczos")
truth = wl.teachers.conditioned({d}, {k}, activation="{name}", rng=0)
rng = np.random.default_rng(0)
X, y = np.empty(({n}, {d})), np.empty({n})
for i in range(0, {n}, 1000):
    X[i : i + 1000] = rng.standard_normal((1000, {d}))
    y[i : i + 1000] = truth.predict(X[i : i + 1000])
before = memory("VmRSS")
tensor_init(wl.samples.open(X, y), {k}, "{name}", subspace="lanczos")
print(memory("VmHWM") - before)
"""

PARTS: dict[str, Callable[[bool], Iterator[Row]]] = {
    "exact": exact,
    "gradient": gradient,
    "rate": rate,
    "cost": cost,
    "memory": memory,
    "recovery": recovery,
}

if __name__ == "__main__":
    sys.exit(main())
