"""Planted networks over real inputs: recovery does not need Gaussian ones.

    python -m benchmarks.real_inputs            5 seeds; the peers on one of them
    python -m benchmarks.real_inputs --full     20 seeds; the peers on all
    python -m benchmarks.real_inputs digits     these inputs alone

Inputs     diabetes (442 × 10) and digits after PCA to 20 (1,797 × 20), standardised; and 2,000 × 8 synthetic ones after the
           California houses: skewed, heavy-tailed, whole-numbered and two-peaked columns. None is near a Gaussian.
Teacher    k = 3, 5 ReLU units, ‖w‖ = 1, |a| in [½, 1½] with either sign, b in [−1, 1], no noise (`teachers.biased`).
Right      certified EXACT, and every unit within 1e-8 of the truth's; "false" counts certificates of wrong units.
Peers      MLPRegressor of the true width, adam and lbfgs, the best of 10 restarts by its risk on the rows; it recovers if its
           largest unit error is below 1e-2 [zhong2017, §7].
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
from sklearn.datasets import load_diabetes, load_digits
from sklearn.decomposition import PCA
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import weightlift as wl
from weightlift.moments.gaussianity import gaussianity
from weightlift.samples import Whitening

WIDTHS, RESTARTS = (3, 5), 10
WANTED = 0.9
LINE = "| {:<10} | {:>2} | {:>9} | {:>5} | {:>9} | {:>9} | {:>10} | {:>11} | {:>10} | {:>11} | {:>9} |"
HEADER = ("inputs", "k", "certified", "false", "error", "CPU s", "adam", "adam 1 − R²", "lbfgs", "lbfgs 1−R²", "MLP CPU s")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="planted networks over real inputs")
    parser.add_argument("--full", action="store_true", help="20 seeds, the peers on all")
    parser.add_argument("inputs", nargs="*", help="diabetes, digits, houses; all by default")
    options = parser.parse_args(arguments)
    seeds, peers = (20, 20) if options.full else (5, 1)
    known: dict[str, Callable[[], np.ndarray]] = {"diabetes": diabetes, "digits": digits, "houses": houses}
    inputs = {name: known[name] for name in options.inputs or known}
    good = True
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, make in inputs.items():
            print(f"{name}: {law(make())}")
        print()
        print(LINE.format(*HEADER))
        print(LINE.format(*("-" * w for w in (10, 2, 9, 5, 9, 9, 10, 11, 10, 11, 9))))
        for name, make in inputs.items():
            for k in WIDTHS:
                good &= report(name, make(), k, seeds, peers)
    return 0 if good else 1


def report(name: str, X: np.ndarray, k: int, seeds: int, peers: int) -> bool:
    right, false, errors, began = 0, 0, [], time.process_time()
    for seed in range(seeds):
        truth, y = planted(X, k, seed)
        found = wl.recover(X, y, n_units=k, bias=True, rng=seed)
        error = largest_error(found.network, truth)
        certified = found.certificate.status is wl.Status.EXACT
        right += certified and error < 1e-8
        false += bool(found.certificate) and not error < 1e-8
        errors.append(error)
    seconds = (time.process_time() - began) / seeds
    cells, began = [], time.process_time()
    for solver in ("adam", "lbfgs"):
        results = [peer(X, *planted(X, k, seed), solver) for seed in range(peers)]
        cells += [f"{sum(e < 1e-2 for e, _ in results)}/{peers}", f"{np.median([r for _, r in results]):.1e}"]
    peer_seconds = (time.process_time() - began) / (2 * peers)
    ours = (f"{right}/{seeds}", f"{false}", f"{np.median(errors):.0e}", f"{seconds:.2f}")
    print(LINE.format(name, k, *ours, *cells, f"{peer_seconds:.1f}"), flush=True)
    return right >= WANTED * seeds and not false


def planted(X: np.ndarray, k: int, seed: int) -> tuple[wl.Network, np.ndarray]:
    truth = wl.teachers.biased(X.shape[1], k, rng=seed)
    return truth, truth.predict(X)


def largest_error(network: wl.Network, truth: wl.Network) -> float:
    found = wl.match(network, truth)
    return max(found.max_error, found.b_error)


def peer(X: np.ndarray, truth: wl.Network, y: np.ndarray, solver: str) -> tuple[float, float]:
    """The error of the best restart, and its 1 − R² on the rows."""
    fits = []
    for restart in range(RESTARTS):
        width = (truth.n_units,)
        model = MLPRegressor(hidden_layer_sizes=width, solver=solver, alpha=0.0, max_iter=2000, random_state=restart).fit(X, y)
        fits.append((1.0 - model.score(X, y), restart, model))
    rest, _, best = min(fits)
    return largest_error(wl.export.from_sklearn(best), truth), rest


def law(X: np.ndarray) -> str:
    samples = wl.samples.open(X, X[:, 0])
    return str(gaussianity(samples.map(Whitening.estimated(samples))))


def diabetes() -> np.ndarray:
    return np.asarray(StandardScaler().fit_transform(load_diabetes().data))


def digits() -> np.ndarray:
    return np.asarray(StandardScaler().fit_transform(PCA(20, random_state=0).fit_transform(load_digits().data)))


def houses() -> np.ndarray:
    """Income, age, rooms, bedrooms, people, people a house, latitude, longitude: laws like theirs, no data of theirs."""
    rng, n = np.random.default_rng(0), 2000
    income, north = rng.lognormal(1.2, 0.45, n), rng.random(n) < 0.45
    rooms = 3.0 + 0.5 * income + rng.gamma(2.0, 0.5, n)
    latitude = np.where(north, rng.normal(38.0, 0.7, n), rng.normal(34.0, 0.5, n))
    columns = (
        income,
        np.minimum(rng.integers(1, 60, n), 52).astype(float),
        rooms,
        1.0 + 0.05 * rooms * rng.lognormal(0.0, 0.3, n),
        np.round(rng.lognormal(7.0, 0.7, n)),
        2.0 + rng.pareto(4.0, n),
        latitude,
        -85.0 - latitude + rng.normal(0.0, 0.6, n),
    )
    return np.asarray(StandardScaler().fit_transform(np.column_stack(columns)))


if __name__ == "__main__":
    sys.exit(main())
