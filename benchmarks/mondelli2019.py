"""mondelli2019 in numbers: the exact error against Monte Carlo, and the bounds (8)–(10) on instances of every kind.

    python -m benchmarks.mondelli2019                 10⁶ draws a pair, 500 instances: a few minutes
    python -m benchmarks.mondelli2019 --full          10⁷ draws a pair
    python -m benchmarks.mondelli2019 bounds          this part alone

error    50 random pairs of networks: activations in turn, unit and general norms, with and without biases, output weights and
         constants, unequal widths; |exact − Monte Carlo| in standard errors of the sample mean of (f − g)².
bounds   500 instances of Theorem 2: simplices, orthonormal and centred weights, random ones; even and other σ, R from 1 to d.
refused  weights that are not of length one.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import sys
from collections.abc import Iterator
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

import weightlift as wl
from weightlift.activations import Activation, get, polynomial
from weightlift.errors import ArgumentError
from weightlift.theory import separated_bound

Row = tuple[str, str, str]
LINE = "| {:<86} | {:>9} | {:>12} |"
ACTIVATIONS = (
    *map(get, ("relu", "leaky_relu", "squared_relu", "absolute", "tanh", "sigmoid", "erf", "softplus")),
    wl.teachers.STEEP_TANH,
    polynomial([0.5, 1.0, 0.0, -0.5]),
)
HE3, HE4 = polynomial([0.0, -3.0, 0.0, 1.0]), polynomial([3.0, 0.0, -6.0, 0.0, 1.0])
EVEN = (HE4, get("absolute"), polynomial([0.2, 0.0, -1.0, 0.0, 0.3]))
OTHERS = (HE3, get("tanh"), polynomial([0.0, 1.0, 0.0, 1.0]), get("relu"))
BLOCK = 50_000


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="the numbers of mondelli2019's error and bounds")
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--full", action="store_true", help="10⁷ draws a pair")
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    print(LINE.format("", "measured", "asked"))
    print(LINE.format("-" * 86, "-" * 9, "-" * 12))
    with threadpool_limits(limits=1):
        for name in options.names or PARTS:
            for row in PARTS[name](options.full):
                print(LINE.format(*row), flush=True)
    return 0


def error(full: bool) -> Iterator[Row]:
    """|exact − sampled| in standard errors, over 50 pairs."""
    draws = 10_000_000 if full else 1_000_000
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        deviations = np.array(pool.map(partial(seeded_deviation, draws=draws), range(50), chunksize=1))
    what = f"exact error against {draws:,} draws, 50 pairs: largest deviation in standard errors"
    yield what, f"{deviations.max():.2f}", "≤ 4"
    yield "  their root mean square (1 where the standard errors are right)", f"{np.sqrt(np.mean(deviations**2)):.2f}", ""


def bounds(full: bool) -> Iterator[Row]:
    """Theorem 2 on 500 instances; a violation beyond the rounding of the exact error counts."""
    found = [separated_bound(*instance(seed)) for seed in range(500)]
    told = [b for b in found if not b.vacuous]
    violated = sum(b.error < b.bound * (1 - 1e-12) for b in told)
    yield "bounds (8)–(10), 500 instances: violated", f"{violated}", "0"
    yield "  the same with c₁ halved", f"{sum(b.error < b.halved * (1 - 1e-12) for b in found)}", ""
    even = sum(b.even for b in told)
    yield f"  not vacuous ({even} of them by (10), {len(told) - even} by (9))", f"{len(told)}", "≥ 200"
    ratios = sorted(b.bound / b.error for b in told)
    yield "  bound over exact error, median and largest of these", f"{np.median(ratios):.2f} {ratios[-1]:.2f}", "≤ 1"


def refused(full: bool) -> Iterator[Row]:
    """Weights of other lengths, in the teacher or in the student."""
    teacher = wl.teachers.simplex(20, activation="tanh")
    count = 0
    for length, side in itertools.product((0.5, 0.99, 1.001, 2.0), (0, 1)):
        nets = [teacher, teacher]
        nets[side] = wl.Network(length * teacher.W, activation="tanh")
        try:
            separated_bound(*nets)
        except ArgumentError:
            count += 1
    yield "weights of lengths 0.5, 0.99, 1.001, 2 in teacher or student: refused", f"{count} of 8", "8 of 8"


def pair(seed: int) -> tuple[wl.Network, wl.Network]:
    """Two networks with one σ; seeds run through activations, unit and general norms, plain and general networks."""
    rng = np.random.default_rng(seed)
    phi: Activation = ACTIVATIONS[seed % len(ACTIVATIONS)]
    d, widths = int(rng.integers(2, 9)), rng.integers(1, 9, size=2)
    unit, plain = seed // len(ACTIVATIONS) % 2 == 0, seed % 3 == 0

    def network(k: int) -> wl.Network:
        W = rng.standard_normal((d, k))
        W = W / np.linalg.norm(W, axis=0) if unit else 0.8 * W
        if plain:
            return wl.Network(W, activation=phi)
        return wl.Network(W, rng.standard_normal(k), rng.standard_normal(k), float(rng.standard_normal()), phi)

    return network(int(widths[0])), network(int(widths[1]))


def seeded_deviation(seed: int, draws: int) -> float:
    found = deviation(*pair(seed), draws, seed)
    print(f"pair {seed}: {found:.2f}", file=sys.stderr, flush=True)
    return found


def deviation(f: wl.Network, g: wl.Network, draws: int, seed: int) -> float:
    """|‖f − g‖² − mean of (f − g)²| over the standard error of the mean."""
    rng = np.random.default_rng([seed, 1])
    total, squares = 0.0, 0.0
    for _ in range(draws // BLOCK):
        X = rng.standard_normal((BLOCK, f.n_inputs))
        sample = (f.predict(X) - g.predict(X)) ** 2
        total += float(sample.sum())
        squares += float(sample @ sample)
    mean = total / draws
    return abs(wl.distance(f, g).squared - mean) / np.sqrt(max(squares / draws - mean**2, 0.0) / draws)


def instance(seed: int) -> tuple[wl.Network, wl.Network]:
    """A teacher that (A1) allows, and unit estimates: random, near the teacher's, or the teacher's own in part."""
    rng = np.random.default_rng([seed, 2])
    phi = (EVEN if seed % 2 else OTHERS)[seed // 2 % (3 if seed % 2 else 4)]
    d = int(rng.integers(40, 121))
    teacher = (
        lambda: wl.teachers.simplex(d, activation=phi, rng=rng),
        lambda: wl.teachers.haar(d, d, center=False, activation=phi, rng=rng),
        lambda: wl.Network(np.sqrt(d / (d - 1)) * (np.eye(d) - 1 / d), activation=phi),
        lambda: wl.teachers.simplex(d, 2 * (d + 1), activation=phi, rng=rng),
        lambda: wl.teachers.centered_gaussian(d, int(rng.integers(d // 2, 3 * d)), activation=phi, rng=rng),
    )[seed // 10 % 5]()
    R = int(rng.choice([1, 2, 4, d // 8, d // 4, d // 2, d]))
    V = rng.standard_normal((d, R))
    if seed % 7 == 0:  # estimates that are right, where the bound must not speak
        V = teacher.W[:, rng.integers(0, teacher.n_units, R)] + 0.05 * V / np.sqrt(d)
    return teacher, wl.Network(V / np.linalg.norm(V, axis=0), activation=phi)


PARTS = {"error": error, "bounds": bounds, "refused": refused}


if __name__ == "__main__":
    sys.exit(main())
