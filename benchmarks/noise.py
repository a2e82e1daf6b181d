"""Recovery under noise: how near least squares comes to the Cramér–Rao bound, and what its intervals cover.

    python -m benchmarks.noise            60 fits a line
    python -m benchmarks.noise --full     300 fits a line, 1,000 for the coverage
    python -m benchmarks.noise --jobs 16  fits side by side, each with one BLAS thread

Teacher   k = 5 ReLU units, all output weights +1, κ = 2, noise N(0, σ² = 0.1), d = 10, 25, 50  [zhang2019, §6, Fig. 2(d)].
Bound     σ² tr(JᵀJ)⁻¹ at the truth on the drawn inputs, the scale fixed: what E ‖Ŵ − W‖² of any unbiased estimate is at least.
          The ratio is the mean of ‖Ŵ − W‖² over the mean bound, ± its standard error.
Fits      Gauss–Newton started at the truth (least squares as such), and `recover`, which knows nothing of it.
Rate      the squared error falls as d/N: slope −1 of its logarithm against that of N/d.
Coverage  share of the 95 % intervals, robust and classical, of all parameters in normal form (w/‖w‖, a‖w‖) that hold the truth.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
import warnings
from multiprocessing.pool import Pool
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

import weightlift as wl
from weightlift.certificate import cramer_rao, inference
from weightlift.refinement import gauss_newton

UNITS, SIGMA = 5, 0.1**0.5
STEPS = 12
INPUTS, RATIOS = (10, 25, 50), (200, 1000)
LIMITS = {200: 1.10, 1000: 1.05}
LINE = "| {:<22} | {:>3} | {:>5} | {:>5} | {:>17} | {:>7} | {:>13} | {:>9} |"


class Sizes(NamedTuple):
    """Fits a line."""

    fits: int
    large: int  # at d = 50, N/d = 1000
    recoveries: int
    coverage: int


QUICK, FULL = Sizes(60, 12, 5, 200), Sizes(300, 300, 300, 1000)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="squared errors over the Cramér–Rao bound, and coverage")
    parser.add_argument("--full", action="store_true", help="300 fits a line, 1,000 for the coverage")
    parser.add_argument("--seed", type=int, help="fresh from the clock by default")
    parser.add_argument("--jobs", type=int, default=1, help="fits side by side")
    options = parser.parse_args(arguments)
    sizes = FULL if options.full else QUICK
    seed = time.time_ns() // 1000 % 2**31 if options.seed is None else options.seed
    print(f"seed {seed}\n")
    header = ("fit", "d", "N/d", "fits", "error²/bound", "at most", "mean error²", "CPU s/fit")
    print(LINE.format(*header))
    print(LINE.format(*("-" * w for w in (22, 3, 5, 5, 17, 7, 13, 9))))
    with multiprocessing.get_context("spawn").Pool(options.jobs, initializer=_one_thread) as pool:
        errors = {(d, ratio): efficiency(d, ratio, sizes, seed, pool) for d in INPUTS for ratio in RATIOS}
        for d in INPUTS:
            _report("recover", d, RATIOS[0], sizes.recoveries, seed, pool, by_recover=True)
        print()
        for d in INPUTS:
            first, last = RATIOS[0], RATIOS[-1]
            slope = np.log(errors[d, last] / errors[d, first]) / np.log(last / first)
            print(f"d = {d}: error² ∝ (N/d)^{slope:.2f} between N/d = {first} and {last}")
        robust, classical = coverage(10, RATIOS[0], sizes.coverage, seed, pool)
    print(f"\nd = 10, N/d = {RATIOS[0]}, {sizes.coverage} fits: 95 % intervals hold the truth in {robust:.1%},", end=" ")
    print(f"classical ones in {classical:.1%}")
    return 0


def _one_thread() -> None:
    threadpool_limits(limits=1)
    warnings.simplefilter("ignore", UserWarning)


def efficiency(d: int, ratio: int, sizes: Sizes, seed: int, pool: Pool) -> float:
    """Least squares from the truth; the mean squared error."""
    fits = sizes.large if d * ratio >= 50_000 else sizes.fits
    return _report("least squares at truth", d, ratio, fits, seed, pool, by_recover=False)


def _report(name: str, d: int, ratio: int, fits: int, seed: int, pool: Pool, *, by_recover: bool) -> float:
    jobs = [(d, ratio, [seed, d, ratio, i], by_recover) for i in range(fits)]
    found = np.array(pool.starmap(_error_and_bound, jobs, chunksize=1))
    (error, bound, seconds), normed = found.mean(axis=0), found[:, 0] / found[:, 1]
    spread = normed.std(ddof=1) / np.sqrt(fits)
    measured = f"{error / bound:.3f} ± {spread:.3f}"
    print(LINE.format(name, d, ratio, fits, measured, f"{LIMITS[ratio]:.2f}", f"{error:.3e}", f"{seconds:.2f}"), flush=True)
    return float(error)


def _error_and_bound(d: int, ratio: int, seed: list[int], by_recover: bool) -> tuple[float, float, float]:
    """‖Ŵ − W‖², its bound, and the fit's CPU seconds."""
    truth, X, y = _problem(d, ratio, seed)
    started = time.process_time()
    if by_recover:
        network = wl.recover(X, y, n_units=UNITS, activation="relu").network
    else:
        network = _least_squares(truth, X, y)
    seconds = time.process_time() - started
    return wl.match(network, truth).squared_error, cramer_rao(truth, X, SIGMA), seconds


def _problem(d: int, ratio: int, seed: list[int]) -> tuple[wl.Network, np.ndarray, np.ndarray]:
    networks, rows = np.random.default_rng(seed).spawn(2)
    truth = wl.teachers.conditioned(d, UNITS, signs=False, activation="relu", rng=networks)
    return truth, *wl.draw(truth, d * ratio, noise_std=SIGMA, rng=rows)


def _least_squares(truth: wl.Network, X: np.ndarray, y: np.ndarray) -> wl.Network:
    """A dozen steps: what further ones gain, 1e-6 of the risk, is far below the p/n of it that chance decides."""
    return gauss_newton(wl.samples.open(X, y), truth, free="W", iterations=STEPS).network


def coverage(d: int, ratio: int, fits: int, seed: int, pool: Pool) -> tuple[float, float]:
    """Shares of intervals that hold the truth: robust, classical."""
    held = pool.starmap(_coverage, [(d, ratio, [seed, d, ratio, 10**6 + i]) for i in range(fits)])
    robust, classical = np.mean(held, axis=0)
    return float(robust), float(classical)


def _coverage(d: int, ratio: int, seed: list[int]) -> tuple[float, float]:
    truth, X, y = _problem(d, ratio, seed)
    fit = _least_squares(truth, X, y)
    return _held(fit, truth, X, y, True), _held(fit, truth, X, y, False)


def _held(fit: wl.Network, truth: wl.Network, X: np.ndarray, y: np.ndarray, robust: bool) -> float:
    result = inference(fit, X, y, robust=robust)
    normal = truth.canonical()
    order = wl.match(normal, result.network).permutation  # the true unit that each estimated one answers to
    values = np.concatenate([normal.W[:, order], normal.a[None, order]]).T.reshape(-1)
    low, high = result.intervals(0.95).T
    return float(np.mean((low <= values) & (values <= high)))


if __name__ == "__main__":
    sys.exit(main())
