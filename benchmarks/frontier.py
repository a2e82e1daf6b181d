"""How far `recover` reaches: more units than inputs, many units, few rows, noise, real inputs, and what "auto" costs.

    python -m benchmarks.frontier                        every table that two cores can do
    python -m benchmarks.frontier rows --rows 'd=10' --trials 4 --jobs 2
    python -m benchmarks.frontier rows --rows 'k=(30|50|100) ' --device cuda
    python -m benchmarks.frontier noise auto real

rows    noiseless planted networks, as in benchmarks.sample_efficiency: right and EXACT of those tried, beside a goal.
        Resumable: every trial is appended to benchmarks/results/frontier.jsonl.
noise   100 rows a parameter, noise 0.1: CPU seconds beside those of the same rows without it, and the share of the certificate.
auto    method "auto" beside the faster of "tensor" and "search" that succeeds, twelve problems.
real    trained networks as teachers over real inputs: digits (ReLU 8, 3.6 rows a parameter), diabetes (ReLU 16, 2.5), breast
        cancer (tanh 8, 1.2 and 2.2 rows a parameter: there are no more): certified, or refused, in how many seconds.
Times are of the CPU, one thread; on a device of the clock. Rows, auto and real take --jobs.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import weightlift as wl
from benchmarks import sample_efficiency as efficiency
from benchmarks.sample_efficiency import Row

STORE = Path(__file__).parent / "results" / "frontier.jsonl"
GRID = [(d, k, ratio) for d, k in ((20, 5), (20, 10), (30, 16), (100, 50)) for ratio in (2, 10, 50)]


@dataclass(frozen=True)
class Overcomplete(Row):
    """Units without biases, more of them than inputs: Gaussian directions, either sign."""

    def problem(self, seed: list[int]) -> tuple[wl.Network, np.ndarray, np.ndarray]:
        networks, inputs = np.random.default_rng(seed).spawn(2)
        W = networks.normal(size=(self.n_inputs, self.n_units))
        truth = wl.Network(W, networks.choice([-1.0, 1.0], self.n_units), activation=self.activation)
        return truth, *wl.draw(truth, self.rows, rng=inputs)


TABLE: dict[Row, str] = {
    Row("relu", 20, 5, 1.25): "20 right",
    Row("squared_relu", 20, 5, 1.25): "20 right",
    Row("tanh", 20, 5, 1.5): "18",
    Row("sigmoid", 20, 5, 1.5): "18",
    Row("relu", 20, 5, 1.5, bias=True): "18",
    Row("relu", 10, 15, 4, bias=True): "20",
    Row("relu", 10, 20, 6, bias=True): "20",
    Row("relu", 10, 30, 8, bias=True): "20",
    Overcomplete("relu", 10, 15, 8): "18",
    Overcomplete("relu", 10, 20, 8): "18",
    Row("relu", 30, 16, 6): "median 3 s",
    Row("relu", 40, 24, 6): "median 12 s",
    Row("relu", 60, 30, 3, trials=5, device=True): "8 s",
    Row("relu", 100, 50, 3, trials=3, device=True): "30 s",
    Row("relu", 200, 100, 3, trials=3, device=True): "480 s",
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="how far recover reaches")
    parser.add_argument("tables", nargs="*", choices=[*TABLES, []], help="all by default")
    parser.add_argument("--rows", default="", help="regular expression that a row's name must contain")
    parser.add_argument("--trials", type=int, help="trials a row instead of the table's")
    parser.add_argument("--seed", type=int, help="seed of the run; fresh from the clock by default")
    parser.add_argument("--fresh", action="store_true", help="begin a new run even if the last one is unfinished")
    parser.add_argument("--device", default="cpu", help="where the rows live: cpu (NumPy), or a PyTorch device such as cuda")
    parser.add_argument("--jobs", type=int, default=1, help="trials side by side, each with one BLAS thread")
    parser.add_argument("--store", type=Path, default=STORE)
    options = parser.parse_args(arguments)
    status = 0
    for name in options.tables or TABLES:
        print(f"\n{name}\n")
        status = max(status, TABLES[name](options))
    return status


def rows(options: argparse.Namespace) -> int:
    given = ["--store", str(options.store), "--device", options.device, "--jobs", str(options.jobs), "--rows", options.rows]
    given += ["--fresh"] if options.fresh else []
    given += [f"--{name}={value}" for name in ("trials", "seed") if (value := getattr(options, name)) is not None]
    status = efficiency.main(given, list(TABLE))
    print("\ngoals: " + "; ".join(f"{row.name}: {goal}" for row, goal in TABLE.items()))
    return status


def noise(options: argparse.Namespace) -> int:
    line = "| {:>3} | {:>3} | {:>7} | {:>12} | {:>9} | {:>12} | {:>5} | {:<12} |"
    print(line.format("d", "k", "n", "without, s", "noisy, s", "certificate", "ratio", "status"))
    for d, k, n in ((20, 5, 10_000), (20, 5, 100_000), (60, 12, 72_000)):
        truth = wl.teachers.conditioned(d, k, activation="relu", rng=options.seed or 0)
        clean, noisy = (_timed(*wl.draw(truth, n, noise_std=s, rng=1), n_units=k) for s in (0.0, 0.1))
        began = time.process_time()
        X, y = wl.draw(truth, n, noise_std=0.1, rng=1)
        wl.certify(noisy[1].network, X, y)
        judged = time.process_time() - began
        ratio = f"{noisy[0] / clean[0]:.1f}"
        cells = (f"{clean[0]:.2f}", f"{noisy[0]:.2f}", f"{judged:.2f}", ratio, noisy[1].certificate.status.name)
        print(line.format(d, k, n, *cells), flush=True)
    return 0


def auto(options: argparse.Namespace) -> int:
    line = "| {:>3} | {:>3} | {:>5} | {:>14} | {:>14} | {:>14} | {:>5} |"
    print(line.format("d", "k", "n/p", "auto, s", "tensor, s", "search, s", "ratio"))
    for cells in _side_by_side(_methods, [(*cell, options.seed or 0) for cell in GRID], options.jobs):
        print(line.format(*cells), flush=True)
    return 0


def _methods(problem: tuple[int, int, float, int]) -> tuple[Any, ...]:
    """One line of `auto`; modules are loaded off the clock."""
    d, k, ratio, seed = problem
    _timed(*wl.draw(wl.teachers.conditioned(6, 2, rng=0, activation="squared_relu"), 100, rng=0), n_units=2)
    truth = wl.teachers.conditioned(d, k, activation="relu", rng=seed)
    X, y = wl.draw(truth, int(ratio * d * k), rng=1)
    found = {method: _timed(X, y, n_units=k, method=method) for method in ("auto", "tensor", "search")}
    right = [found[method][0] for method in ("tensor", "search") if found[method][1] and found[method][1].certificate]
    cells = [f"{s:.2f} {'raised' if got is None else got.certificate.status.name[:6]}" for s, got in found.values()]
    return d, k, ratio, *cells, f"{found['auto'][0] / min(right):.2f}" if right else "-"


def real(options: argparse.Namespace) -> int:
    line = "| {:<14} | {:<5} | {:>3} | {:>5} | {:>5} | {:>8} | {:<12} | {:>9} |"
    print(line.format("inputs", "φ", "k", "n", "n/p", "CPU s", "status", "error"))
    for cells in _side_by_side(_lifted, list(_trained()), options.jobs):
        print(line.format(*cells), flush=True)
    return 0


def _lifted(case: tuple[str, np.ndarray, wl.Network]) -> tuple[Any, ...]:
    """One line of `real`."""
    name, X, truth = case
    p = truth.n_units * (X.shape[1] + 1 + (truth.activation.degree is None)) + 1
    y = truth.predict(X)
    seconds, got = _timed(X, y, n_units=truth.n_units, activation=truth.activation, bias=True, offset=True)
    error = f"{wl.match(got.network, truth).max_error:.0e}" if got.network.n_units == truth.n_units else "-"
    cells = (truth.activation.name, truth.n_units, len(X), f"{len(X) / p:.1f}", f"{seconds:.1f}")
    return name, *cells, got.certificate.status.name, error


def _side_by_side(function: Callable[[Any], tuple[Any, ...]], cases: list[Any], jobs: int) -> Iterator[tuple[Any, ...]]:
    if jobs == 1:
        yield from map(function, cases)
        return
    with multiprocessing.get_context("spawn").Pool(jobs, maxtasksperchild=1) as pool:
        yield from pool.imap(function, cases, chunksize=1)


def _trained() -> Iterator[tuple[str, np.ndarray, wl.Network]]:
    """Inputs, and a network that scikit-learn has trained on their targets."""
    from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
    from sklearn.neural_network import MLPRegressor

    from weightlift.export import from_sklearn

    cases = (("digits", load_digits, "relu", 8, 1.0), ("diabetes", load_diabetes, "relu", 16, 1.0))
    cases += tuple(("breast cancer", load_breast_cancer, "tanh", 8, share) for share in (0.55, 1.0))
    for name, load, activation, k, share in cases:
        X, y = load(return_X_y=True)
        X, y = X[:, X.std(axis=0) > 0], (y - y.mean()) / y.std()
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        model = MLPRegressor(hidden_layer_sizes=(k,), activation=activation, max_iter=300, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        yield name, X[: int(share * len(X))], from_sklearn(model)


def _timed(X: np.ndarray, y: np.ndarray, **options: Any) -> tuple[float, Any]:
    began = time.process_time()
    with warnings.catch_warnings(), threadpool_limits(limits=1):
        warnings.simplefilter("ignore")
        try:
            found = wl.recover(X, y, **{"activation": "relu", **options})
        except wl.errors.WeightliftError:
            found = None
    return time.process_time() - began, found


TABLES: dict[str, Callable[[argparse.Namespace], int]] = {"rows": rows, "noise": noise, "auto": auto, "real": real}

if __name__ == "__main__":
    sys.exit(main())
