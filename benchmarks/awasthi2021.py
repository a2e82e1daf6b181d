"""awasthi2021 in numbers: exact coefficients, rate and routes from rows, networks with biases through recover, memory.

    python -m benchmarks.awasthi2021                  all, a few minutes
    python -m benchmarks.awasthi2021 exact rate       these
    python -m benchmarks.awasthi2021 --full           more seeds

Errors are those of the starts, before any refinement, except in "recovery" and "overcomplete". Times are CPU times of one
thread. Memory is the peak of what the start allocates, in a process of its own.
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
from weightlift import identifiability, samples
from weightlift.errors import TooFewRowsError
from weightlift.initialization import hermite_init

Row = tuple[str, str, str]  # what, measured, asked
LINE = "| {:<88} | {:>26} | {:>12} |"
PRESETS = ("default", "paper")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="the numbers of awasthi2021's method")
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--full", action="store_true", help="more seeds")
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    print(LINE.format("", "measured", "asked"))
    print(LINE.format("-" * 88, "-" * 26, "-" * 12))
    with threadpool_limits(limits=1):
        for name in options.names or PARTS:
            for row in PARTS[name](options.full):
                print(LINE.format(*row), flush=True)
    return 0


def exact(full: bool) -> Iterator[Row]:
    """Exact coefficients, biases 0 and ±1 among others: the largest error of a direction, an output weight or a bias."""
    seeds = range(100 if full else 20)
    for d, k in ((10, 4), (10, 10), (4, 7), (5, 9)):
        truths = [planted(d, k, seed) for seed in seeds]
        for preset in PRESETS:
            found = [hermite_init(samples.population(t), k, preset=preset, rng=s) for s, t in enumerate(truths)]
            errors = [error(f.network, t) for f, t in zip(found, truths, strict=True)]
            ambiguous = sum(identifiability.sign_patterns(t).ambiguous for t in truths)
            what = f"exact, ℓ = {found[0].directions.order}, d={d}, k={k}, {preset}, {len(seeds)} seeds ({ambiguous} ambiguous)"
            yield f"{what}: largest error", f"{max(errors):.1e}", "≤ 1e-8"
            yield f"{what}: within 1e-8", f"{sum(e <= 1e-8 for e in errors)} of {len(seeds)}", "all"


def rate(full: bool) -> Iterator[Row]:
    """Rows, d=12, k=4: medians of the largest errors of a network's units, and their exponents."""
    sizes, seeds = [25_000, 100_000, 400_000], range(30 if full else 10)
    table = np.array([[sampled(12, 4, n, seed, "default") for seed in seeds] for n in sizes])
    medians = np.median(table, axis=1)  # (sizes, 3)
    for i, (name, asked) in enumerate((("direction", "≤ 0.03"), ("a", "≤ 0.02"), ("b", "≤ 0.02"))):
        what = f"d=12, k=4, n=400,000, median of {len(seeds)} seeds: largest error of a unit's {name}"
        yield what, f"{medians[-1, i]:.4f}", asked
        exponent = np.polyfit(np.log(sizes), np.log(medians[:, i]), 1)[0]
        shown = ", ".join(f"{e:.3f}" for e in medians[:, i])
        yield f"n={sizes[0]:,} … {sizes[-1]:,}: {name} error {shown}: exponent", f"{exponent:.2f}", "−0.5"


def routes(full: bool) -> Iterator[Row]:
    """The paper's two tensors against one joint diagonalisation, on the same rows."""
    seeds = range(10 if full else 5)
    for d, k, n in ((4, 2, 100_000), (12, 4, 400_000)):
        for preset in PRESETS:
            errors = [sampled(d, k, n, seed, preset)[0] for seed in seeds]
            refused = sum(np.isinf(errors))
            what = f"d={d}, k={k}, n={n:,}, {preset}: median direction error ({refused} of {len(seeds)} below the rank test)"
            yield what, f"{np.median(errors):.3f}", ""


def growth(full: bool) -> Iterator[Row]:
    """Rows in proportion to d: the default's error stays, the paper's grows or is refused."""
    seeds = range(10 if full else 5)
    for preset, inputs in (("default", (10, 20, 40, 80)), ("paper", (10, 20))):
        errors = [np.median([sampled(d, 3, 3000 * d, seed, preset)[0] for seed in seeds]) for d in inputs]
        shown = ", ".join(f"{e:.3f}" for e in errors)
        asked = "constant" if preset == "default" else ""
        yield f"k=3, n=3,000 d, d={inputs[0]} … {inputs[-1]}, {preset}: direction errors", shown, asked


def recovery(full: bool) -> Iterator[Row]:
    """Biased ReLU through recover, noiseless: certified EXACT and right, and how many by the tensor start alone."""
    for d, k, ratio, trials in ((20, 5, 4, 20), (20, 5, 8, 20), (50, 10, 4, 10 if full else 4)):
        right = direct = 0
        spent = []
        for seed in range(trials):
            truth = wl.teachers.biased(d, k, rng=seed)
            X, y = wl.draw(truth, ratio * k * (d + 1), rng=seed + 100)
            began = time.process_time()
            found = wl.recover(X, y, n_units=k, bias=True)
            spent.append(time.process_time() - began)
            exact = found.certificate.status is wl.Status.EXACT and found.network.equivalent(truth, 1e-6)
            right, direct = right + exact, direct + (exact and len(found.stages) == 1)
        what = f"biased ReLU, d={d}, k={k}, n={ratio}p, recover ({np.median(spent):.2g} s, at most {max(spent):.2g} s)"
        yield f"{what}: right and EXACT", f"{right} of {trials}", "all"
        yield f"{what}: by the tensor start", f"{direct} of {trials}", ""


def overcomplete(full: bool) -> Iterator[Row]:
    """More units than inputs by ℓ = 2, orders 4 to 6, then Gauss–Newton."""
    trials, right = 10, 0
    for seed in range(trials):
        truth = wl.teachers.biased(6, 9, rng=seed)
        found = wl.recover(*wl.draw(truth, 200_000, rng=seed + 100), n_units=9, bias=True, method="tensor")
        right += wl.distance(found.network, truth).value <= 1e-6
    yield "d=6, k=9, n=200,000, moments alone (ℓ = 2) and refinement: function to 1e-6", f"{right} of {trials}", "≥ 8 of 10"


def memory(full: bool) -> Iterator[Row]:
    """Peak memory of ℓ = 2 at d = 12, beside interpreter and data."""
    for preset in PRESETS:
        script = MEASURE_MEMORY.format(preset=preset)
        found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        what = f"memory of hermite_init above the data, ℓ = 2, d=12, n=50,000, {preset}"
        yield what, f"{float(found.stdout):.0f} MB", "< 1 GB"


def planted(d: int, k: int, seed: int) -> wl.Network:
    net = wl.teachers.biased(d, k, bias=1.5, rng=seed)
    b = net.b.copy()
    b[:3] = 0.0, 1.0, -1.0
    return wl.Network(net.W, net.a, b)


def error(found: wl.Network, truth: wl.Network) -> float:
    m = wl.match(found, truth)
    return max(m.max_error, m.a_error, m.b_error) if m.signs_agree else np.inf


def sampled(d: int, k: int, n: int, seed: int, preset: str) -> tuple[float, float, float]:
    """Errors of directions (up to sign, ‖w‖ = 1), a and b; infinite where the start is refused."""
    truth = wl.teachers.biased(d, k, rng=seed)
    source = samples.open(*wl.draw(truth, n, rng=seed + 50))
    try:
        found = hermite_init(source, k, preset=preset, rng=seed).network
    except TooFewRowsError:
        return np.inf, np.inf, np.inf
    m = wl.match(found, truth)
    U = found.W[:, m.permutation] / np.linalg.norm(found.W[:, m.permutation], axis=0)
    gaps = [np.linalg.norm(truth.W - s * U, axis=0) for s in (1, -1)]
    return float(np.minimum(*gaps).max()), m.a_error, m.b_error


MEASURE_MEMORY = """
import tracemalloc
import weightlift as wl
from weightlift.initialization import hermite_init
from weightlift.errors import TooFewRowsError

truth = wl.teachers.biased(12, 3, rng=0)
source = wl.samples.open(*wl.draw(truth, 50_000, rng=0))
tracemalloc.start()
try:
    hermite_init(source, 3, order=2, preset="{preset}")
except TooFewRowsError:
    pass
print(tracemalloc.get_traced_memory()[1] / 2**20)
"""

PARTS: dict[str, Callable[[bool], Iterator[Row]]] = {
    "exact": exact,
    "rate": rate,
    "routes": routes,
    "growth": growth,
    "recovery": recovery,
    "overcomplete": overcomplete,
    "memory": memory,
}


if __name__ == "__main__":
    sys.exit(main())
