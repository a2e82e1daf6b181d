"""Symmetric tensor decomposition beside TensorLy's, on the same tensors, in one run.

    python -m benchmarks.decomposition            under two minutes
    python -m benchmarks.decomposition --full     50 tensors a row, and the peers at order 4, k = 30 too

Tensors: Σ c u^{⊗p}, c of both signs in ±[1/2, 2], factors of condition number κ before their columns are
normalised (κ = 1: orthogonal, what power iteration without whitening asks for).
A decomposition is right to δ when every factor (up to sign) and every weight (relative) is. Times are medians over the
tensors that all methods of a row have seen, given as ratios to `decompose`; one BLAS thread for everyone.
TensorLy is optional: without it the table has our rows only.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from weightlift.decomposition import compose, decompose

try:
    import tensorly
    from tensorly.decomposition import parafac, symmetric_parafac_power_iteration
except ImportError:
    tensorly = None

Components = tuple[np.ndarray, np.ndarray]  # weights (k,), unit factors (n, k)
Method = Callable[[np.ndarray, int, int], Components]


class Setting(NamedTuple):
    order: int
    k: int
    kappa: float
    noise: float = 0.0  # Frobenius, relative
    tensors: int = 50  # seen by our methods
    peers: int = 10  # of them, seen by the peers too


QUICK = [
    Setting(3, 10, 1),
    Setting(3, 5, 2),
    Setting(3, 10, 10),
    Setting(3, 30, 10, peers=3),
    Setting(3, 10, 3, noise=1e-2),
    Setting(4, 5, 2),
    Setting(4, 10, 10),
    Setting(4, 30, 10, tensors=10, peers=0),
]
FULL = [s._replace(tensors=50, peers=2 if s.order == 4 and s.k == 30 else 20) for s in QUICK]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="decompose() and TensorLy on the same symmetric tensors")
    parser.add_argument("--full", action="store_true", help="50 tensors a row, and the slowest peers")
    full = parser.parse_args(arguments).full
    if tensorly is None:
        print("TensorLy is not installed (pip install tensorly): our methods alone.\n")
    else:
        print(f"TensorLy {tensorly.__version__}; peers see the first tensors of a row only (column `tensors`).\n")
    header = f"{'order':>5} {'k':>3} {'κ':>3} {'noise':>6}  {'method':<32} {'tensors':>7} {'to 1e-2':>8} {'to 1e-9':>8}"
    print(f"{header} {'median error':>13} {'time':>9} {'ratio':>8}")
    with threadpool_limits(limits=1):
        for setting in FULL if full else QUICK:
            report(setting)


def report(setting: Setting) -> None:
    """One row a method."""
    tensors = [planted(setting, seed) for seed in range(setting.tensors)]
    rows = {name: [score(method, *tensors[seed], seed) for seed in range(setting.tensors)] for name, method in OURS.items()}
    if tensorly is not None and setting.peers:
        for name, method in PEERS.items():
            rows[name] = [score(method, *tensors[seed], seed) for seed in range(setting.peers)]
    common = min(len(scores) for scores in rows.values())
    unit = np.median([seconds for _, seconds in rows["decompose"][:common]])
    for name, scores in rows.items():
        errors = np.array([error for error, _ in scores])
        seconds = np.median([seconds for _, seconds in scores[:common]])
        print(
            f"{setting.order:>5} {setting.k:>3} {setting.kappa:>3.0f} {setting.noise:>6.0e}  {name:<32} {len(scores):>7} "
            f"{(errors < 1e-2).mean():>8.0%} {(errors < 1e-9).mean():>8.0%} {np.median(errors):>13.1e} "
            f"{seconds * 1e3:>6.0f} ms {seconds / unit:>7.1f}×",
            flush=True,
        )
    print()


def planted(setting: Setting, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A tensor, its weights and its factors."""
    rng = np.random.default_rng([setting.order, setting.k, seed])
    k = setting.k
    left, right = (np.linalg.qr(rng.standard_normal((k, k)))[0] for _ in range(2))
    U = left * np.linspace(1, setting.kappa, k) @ right.T
    U /= np.linalg.norm(U, axis=0)
    c = rng.choice([-1.0, 1.0], k) * rng.uniform(0.5, 2, k)
    T = compose(c, U, setting.order)
    if setting.noise:
        N = rng.standard_normal(T.shape)
        N = sum(N.transpose(axes) for axes in itertools.permutations(range(setting.order)))
        T = T + setting.noise * np.linalg.norm(T) / np.linalg.norm(N) * N
    return T, c, U


def score(method: Method, T: np.ndarray, c: np.ndarray, U: np.ndarray, seed: int) -> tuple[float, float]:
    """Worst error of a factor or a weight, 2 when a component is missing; seconds."""
    started = time.perf_counter()
    try:
        weights, factors = method(T, len(c), seed)
    except ValueError:  # ours raise one when they cannot whiten, NumPy's errors derive from it
        return 2.0, time.perf_counter() - started
    seconds = time.perf_counter() - started
    cosines = factors.T @ U
    match = np.abs(cosines).argmax(axis=0)
    if not np.isfinite(cosines).all() or len(set(match)) < len(match):
        return 2.0, seconds
    signs = np.sign(cosines[match, np.arange(len(c))])
    factor_error = np.linalg.norm(factors[:, match] * signs - U, axis=0).max()
    weight_error = np.abs(weights[match] * signs**T.ndim / c - 1).max()
    return float(max(factor_error, weight_error)), seconds


def ours(T: np.ndarray, rank: int, seed: int, *, method: str) -> Components:
    found = decompose(T, rank, method=method, rng=seed)
    return found.weights, found.factors


def symmetric_power(T: np.ndarray, rank: int, seed: int) -> Components:
    """TensorLy's symmetric CP: power iteration and deflation, no whitening; its defaults."""
    np.random.seed(seed)  # noqa: NPY002  (TensorLy draws from the global generator)
    weights, factors = symmetric_parafac_power_iteration(T, rank)
    return np.asarray(weights), np.asarray(factors)


def alternating(T: np.ndarray, rank: int, seed: int, *, init: str, iterations: int, tol: float) -> Components:
    """TensorLy's ALS, not symmetric: factors of the first mode, signs of the others moved into the weights."""
    weights, factors = parafac(T, rank, init=init, n_iter_max=iterations, tol=tol, random_state=seed, normalize_factors=True)
    first = np.asarray(factors[0])
    signs = np.prod([np.sign((first * np.asarray(other)).sum(axis=0)) for other in factors[1:]], axis=0)
    return np.asarray(weights) * signs, first


OURS: dict[str, Method] = {
    "decompose": functools.partial(ours, method="auto"),
    "decompose, jennrich": functools.partial(ours, method="jennrich"),
    "decompose, power": functools.partial(ours, method="power"),
}
PEERS: dict[str, Method] = {
    "tensorly symmetric power": symmetric_power,
    "tensorly parafac, defaults": functools.partial(alternating, init="svd", iterations=100, tol=1e-8),
    "tensorly parafac, svd, 1000": functools.partial(alternating, init="svd", iterations=1000, tol=1e-14),
    "tensorly parafac, random, 1000": functools.partial(alternating, init="random", iterations=1000, tol=1e-14),
}

if __name__ == "__main__":
    main()
