"""awasthi2021's robust stage and overcomplete networks in numbers: large biases, k > d, the objective order by order.

    python -m benchmarks.awasthi2021_robust                   all, a few minutes
    python -m benchmarks.awasthi2021_robust overcomplete      these
    python -m benchmarks.awasthi2021_robust --full            ten seeds each

Errors are exact L² distances under N(0, I) relative to the truth's norm. Times are CPU times of one thread.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterator

import numpy as np
from threadpoolctl import threadpool_limits

import weightlift as wl
from weightlift import samples
from weightlift.decomposition import decompose
from weightlift.geometry import norm
from weightlift.initialization import overcomplete_init, robust_init, with_large_biases
from weightlift.initialization.robust import largest_bias, paper_threshold
from weightlift.moments import HermiteMoment
from weightlift.network import Network
from weightlift.refinement import fit_affine, gauss_newton, refine_up_to_signs
from weightlift.refinement.up_to_signs import signed
from weightlift.theory import hermite_objective

Row = tuple[str, str, str]  # what, measured, asked
LINE = "| {:<92} | {:>14} | {:>10} |"
D, K, N = 20, 6, 200_000  # of the networks with large biases


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="awasthi2021: the robust stage and overcomplete networks")
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--full", action="store_true", help="ten seeds instead of three")
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    print(LINE.format("", "measured", "asked"))
    print(LINE.format("-" * 92, "-" * 14, "-" * 10))
    with threadpool_limits(limits=1):
        for name in options.names or PARTS:
            for row in PARTS[name](10 if options.full else 3):
                print(LINE.format(*row), flush=True)
    return 0


def large(seeds: int) -> Iterator[Row]:
    """Three units with |b| between 1.5 and 3, one of them at 3, beside three moderate ones."""
    errors, widths, refined, units, spent = [], [], [], [], []
    for seed in range(seeds):
        truth = with_biases(seed, 3.0)
        rows, size = drawn(truth, seed), norm(truth)
        began = time.process_time()
        found = robust_init(rows, K, rng=seed)
        errors.append(float(wl.distance(found.network, truth)) / size)
        widths.append(found.network.n_units)
        fit = with_large_biases(rows, found.function, K)
        spent.append(time.process_time() - began)
        refined.append(float(wl.distance(fit.function.consolidated(), truth)) / size)
        units.append(math.inf if fit.network is None else wl.match(fit.network, truth).max_error)
    what = f"biases to ±3, d={D}, k={K}, n={N:.0e}, {seeds} seeds"
    yield f"{what}: robust stage, largest relative error", f"{max(errors):.2%}", "≤ 2 %"
    yield f"{what}: robust stage, most units", f"{max(widths)}", f"≤ {K + 2}"
    yield f"{what}: after refinement, largest relative error", f"{max(refined):.1e}", "≤ 1e-6"
    yield f"{what}: after refinement, largest error of a unit", f"{max(units):.1e}", ""
    yield f"{what}: seconds, median", f"{np.median(spent):.0f}", ""


def beyond(seeds: int) -> Iterator[Row]:
    """The same with |b| up to 6: units with fewer than 2(d + 1) rows on their emptier side may not be claimed."""
    errors, claimed, false, reachable = [], 0, 0, 0
    for seed in range(seeds):
        truth = with_biases(seed, 6.0)
        X, y = wl.draw(truth, N, rng=seed + 100)
        rows = samples.open(X, y)
        fit = with_large_biases(rows, robust_init(rows, K, rng=seed).function, K)
        errors.append(float(wl.distance(fit.function.consolidated(), truth)) / norm(truth))
        sides = X @ truth.W + truth.b > 0
        within = np.minimum(sides.sum(axis=0), (~sides).sum(axis=0)) >= 2 * (D + 1)
        assert fit.function.units is not None
        hits = partners(fit.function.units, truth)
        claimed, reachable = claimed + len(hits), reachable + int(within.sum())
        false += sum(i is None or not within[i] for i in hits)
    what = f"biases to ±6, {seeds} seeds"
    yield f"{what}: claimed units that are beyond reach or no units of the truth", f"{false}", "0"
    yield f"{what}: units claimed / within reach of {K * seeds}", f"{claimed} / {reachable}", ""
    yield f"{what}: largest relative error of the function", f"{max(errors):.1e}", ""
    yield f"largest bias within reach of {N:.0e} rows", f"{largest_bias(rows):.2f}", ""
    printed = paper_threshold(0.02, K, D, 3.0)
    yield "awasthi2021's printed threshold √log(1/(ε m d B)) at ε = 2 %, B = 3", f"{printed}", ""


def overcomplete(seeds: int) -> Iterator[Row]:
    """d = 6, k = 9 from rows, without noise; exact coefficients; smoothed instances."""
    d, k = 6, 9
    good, right, errors, starts, spent = 0, 0, [], [], []
    for seed in range(seeds):
        truth = wl.teachers.biased(d, k, rng=seed)
        X, y = wl.draw(truth, N, rng=seed + 100)
        began = time.process_time()
        start = overcomplete_init(samples.open(X, y), k, rng=seed)
        fit = refine_up_to_signs(samples.open(X[:4000], y[:4000]), *start.starts)
        if fit.network is not None:
            net = gauss_newton(samples.open(X, y), fit.network, free="Wab", iterations=5, damping=1e-12).network
            right += wl.match(net, truth).max_error < 1e-8
        spent.append(time.process_time() - began)
        starts.append(float(wl.distance(start.network, truth)) / norm(truth))
        errors.append(float(wl.distance(fit.function.consolidated(), truth)) / norm(truth))
        good += errors[-1] < 1e-6
    what = f"overcomplete d={d}, k={k}, n={N:.0e}"
    yield f"{what}: function to 1e-6", f"{good} of {seeds}", "8 of 10"
    yield f"{what}: units up to sign classes, to 1e-8", f"{right} of {seeds}", "8 of 10"
    yield f"{what}: relative error at the start, median", f"{np.median(starts):.1%}", ""
    yield f"{what}: relative error at the end, median", f"{np.median(errors):.1e}", ""
    yield f"{what}: seconds, median", f"{np.median(spent):.1f}", ""
    for d, k in ((4, 6), (5, 9), (6, 14)):
        found = [from_coefficients(wl.teachers.biased(d, k, rng=seed)) for seed in range(seeds)]
        yield f"exact coefficients d={d}, k={k}, {seeds} seeds: largest error of a unit", f"{max(found):.1e}", "≤ 1e-8"
    found = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        worst = Network(np.repeat(np.eye(6), 2, axis=1), rng.choice([-1.0, 1.0], 12), rng.uniform(-1, 1, 12))
        found.append(from_coefficients(wl.teachers.smoothed(worst, 0.3, rng=seed)))
    yield f"smoothed d=6, k=12, pairs of parallel units, τ=0.3, {seeds} seeds: largest error of a unit", f"{max(found):.1e}", ""


def objective(seeds: int) -> Iterator[Row]:
    """Σ_k ‖T_k(f) − T_k(g)‖²/k! against the exact distance, and the zero-error regression."""
    gaps, zero = [], []
    for seed in range(seeds):
        f, g = (wl.teachers.biased(5, k, activation="tanh", rng=10 * seed + k) for k in (4, 7))
        gaps.append(abs(hermite_objective(f, g, 160).value / wl.distance(f, g).squared - 1))
        truth = wl.teachers.biased(5, 8, bias=2.0, rng=seed)
        signs = np.random.default_rng([seed, 1]).choice([-1.0, 1.0], 8)
        found = fit_affine(samples.population(truth), Network(truth.W * signs, np.ones(8), truth.b * signs))
        zero.append(float(wl.distance(found.consolidated(), truth)) / norm(truth))
    yield "objective of orders ≤ 160 against ‖f − g‖², tanh: largest relative gap", f"{max(gaps):.1e}", "0"
    yield "regression with the exact Gram matrix, signs unknown, d=5, k=8: largest relative error", f"{max(zero):.1e}", "0"


def methods(seeds: int) -> Iterator[Row]:
    """The overcomplete decompositions side by side on exact order-4 moments."""
    for method in ("subspace_power", "implicit_cp"):
        right, spent = 0, 0.0
        for seed in range(seeds):
            truth = wl.teachers.biased(6, 12, bias=0.5, rng=seed)
            T = samples.population(truth).mean(HermiteMoment(6, 4))[0]
            began = time.process_time()
            found = decompose(T, 12, method=method, rng=seed)
            spent += time.process_time() - began
            right += bool(np.abs(np.abs(found.factors.T @ truth.W).max(axis=0) - 1).max() < 1e-8)
        what = f"decompose T_4, n=6, rank 12, method={method!r}: right, seconds each"
        yield what, f"{right} of {seeds}, {spent / seeds:.2f}", ""


def with_biases(seed: int, top: float) -> Network:
    rng, net = np.random.default_rng(seed), wl.teachers.biased(D, K, rng=seed)
    b = np.array(net.b)
    b[:3] = rng.choice([-1.0, 1.0], 3) * np.array([*rng.uniform(1.5, top, 2), top])
    return Network(net.W, net.a, b)


def drawn(truth: Network, seed: int) -> samples.Samples:
    return samples.open(*wl.draw(truth, N, rng=seed + 100))


def partners(found: Network, truth: Network) -> list[int | None]:
    """For every unit found the unit of the truth with the same hyperplane, to 1e-2; None if there is none."""
    planes = [np.vstack([net.W, net.b]) / np.linalg.norm(net.W, axis=0) for net in (found, truth)]
    gaps = np.minimum(*(np.linalg.norm(planes[0][:, :, None] - s * planes[1][:, None, :], axis=0) for s in (1, -1)))
    return [int(row.argmin()) if row.min() < 1e-2 else None for row in gaps]


def from_coefficients(truth: Network) -> float:
    """The largest error of a unit from exact Hermite coefficients."""
    net, _, _ = signed(overcomplete_init(samples.population(truth), truth.n_units).function)
    return math.inf if net is None else wl.match(net, truth).max_error


PARTS = {"large": large, "beyond": beyond, "overcomplete": overcomplete, "objective": objective, "methods": methods}


if __name__ == "__main__":
    sys.exit(main())
