"""How few queries `extract` needs: random and trained black boxes, width unknown, queries of the certificate included.

    python -m benchmarks.extraction                          every row, ten seeds
    python -m benchmarks.extraction --rows 784 --seeds 2 --jobs 2
    python -m benchmarks.extraction --store rows.jsonl       resumes where it stopped
    python -m benchmarks.impostors                           oracles that are no such networks: none may be certified

Queries a parameter count all d k + k + k m + m of them. The error is the largest relative error of (w, b) and of a over the
units after matching; the prediction's is over 2,000 random rows. Seconds are of CPU. Seeds are fresh unless --first is given.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

import weightlift as wl
from weightlift.network import unit_distances


@dataclass(frozen=True)
class Row:
    """A kind of oracle, and what is asked of it."""

    name: str
    queries: float  # a parameter, at most
    error: float
    oracle: Callable[[int], tuple[Any, wl.Network, dict[str, Any]]]  # seed -> oracle, truth, arguments of extract


def random_network(d: int, k: int, activation: str, scale: float, seed: int) -> tuple[Any, wl.Network, dict[str, Any]]:
    rng = np.random.default_rng([seed, d, k])
    W, a, b = scale * rng.standard_normal((d, k)), rng.standard_normal(k), rng.standard_normal(k)
    truth = wl.Network(W, a, b, rng.standard_normal(), activation)
    return truth.predict, truth, {"activation": activation}


def single_precision(seed: int) -> tuple[Any, wl.Network, dict[str, Any]]:
    """PyTorch's Sequential(Linear(20, 10), ReLU(), Linear(10, 1)) as it is initialised; without PyTorch the same in NumPy."""
    try:
        import torch
    except ImportError:
        rng = np.random.default_rng(seed)
        sizes = ((20, 10), 20), (10, 20), (10, 10), ((), 10)  # shape, and inputs of the layer: U(±1/√inputs)
        W, b, a, c = (np.float32(rng.uniform(-1, 1, shape) / np.sqrt(inputs)) for shape, inputs in sizes)
        truth = wl.Network(W.astype(float), a.astype(float), b.astype(float), float(c))
        return lambda X: np.maximum(X.astype(np.float32) @ W + b, 0) @ a + c, truth, {}
    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(20, 10), torch.nn.ReLU(), torch.nn.Linear(10, 1))
    return model, wl.export.from_torch(model), {}


def digits(seed: int) -> tuple[Any, wl.Network, dict[str, Any]]:
    from sklearn.datasets import load_digits
    from sklearn.neural_network import MLPClassifier

    X, y = load_digits(return_X_y=True)
    model = MLPClassifier(hidden_layer_sizes=(32,), max_iter=200, random_state=seed).fit(X / 16.0, y)
    return model, _of_layers(model), {"center": 0.5, "scale": 0.5}


def regressor(data: str, activation: str, k: int, seed: int) -> tuple[Any, wl.Network, dict[str, Any]]:
    from sklearn.datasets import load_diabetes, make_friedman1
    from sklearn.neural_network import MLPRegressor

    X, y = load_diabetes(return_X_y=True) if data == "diabetes" else make_friedman1(500, random_state=seed)
    X, y = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
    model = MLPRegressor(hidden_layer_sizes=(k,), activation=activation, max_iter=500, random_state=seed).fit(X, y)
    return model, _of_layers(model), {"activation": activation}


def _of_layers(model: Any) -> wl.Network:
    (W, A), (b, c) = model.coefs_, model.intercepts_
    single = A.shape[1] == 1
    return wl.Network(W, A[:, 0] if single else A, b, c[0] if single else c, activation=model.activation)


ROWS = [
    *(Row(f"ReLU {d}-{k}-1", q, e, partial(random_network, d, k, "relu", 1.0)) for d, k, q, e in (
        (10, 10, 3.0, 1e-9), (50, 20, 2.3, 1e-9), (100, 20, 2.3, 1e-9), (784, 32, 2.1, 1e-8), (784, 128, 2.1, 1e-8),
        (10, 15, 4.0, 1e-9), (10, 20, 4.0, 1e-9))),
    *(Row(f"{phi} 20-10-1", 3.0, 1e-8, partial(random_network, 20, 10, phi, 20**-0.5)) for phi in ("tanh", "sigmoid", "gelu")),
    Row("digits 64-32-10", 0.5, 1e-8, digits),
    *(Row(f"{data} {phi} {k}", 4.0, 1e-9, partial(regressor, data, phi, k))
      for data in ("diabetes", "friedman1") for phi, k in (("relu", 16), ("tanh", 8))),
    Row("float32 20-10-1", 6.0, 1e-4, single_precision),
]  # fmt: skip


def trial(row: Row, seed: int) -> dict[str, Any]:
    """One extraction, and how far its units and predictions are from the truth's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        oracle, truth, arguments = row.oracle(seed)
        began = time.process_time()
        found = wl.extract(oracle, truth.n_inputs, rng=seed, **arguments)
    X = np.random.default_rng(seed).standard_normal((2000, truth.n_inputs))
    answers = truth.predict(X)
    gap = np.abs(found.network.predict(X) - answers.reshape(found.network.predict(X).shape)).max() / np.abs(answers).max()
    return {
        "queries": found.queries / (truth.W.size + truth.b.size + truth.a.size + np.size(truth.c)),
        "error": unit_error(found.network, truth),
        "gap": gap,
        "units": found.network.n_units,
        "status": found.certificate.status.name,
        "proved": bool(getattr(found.certificate, "proved", False)),
        "seconds": time.process_time() - began,
    }


def unit_error(found: wl.Network, truth: wl.Network) -> float:
    """The largest distance of a found unit from its true one; true units that no answer shows have no partner."""
    if truth.a.ndim == 2:
        u = np.random.default_rng(0).standard_normal(truth.n_outputs)
        found, truth = found.combined(u), truth.combined(u)
    if found.n_units == 0 or found.V is not None:
        return np.inf
    gaps = np.minimum(unit_distances(found.canonical(), truth.canonical()), 2.0)
    i, j = linear_sum_assignment(gaps)
    return float(gaps[i, j].max()) if len(i) == found.n_units else np.inf


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default="", help="only rows whose name holds this; several with commas")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=None, help="the first seed; fresh ones if it is not given")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--store", type=Path, default=None, help="where trials are kept; what is there is not run again")
    options = parser.parse_args(arguments)
    first = int(time.time()) % 10**6 if options.first is None else options.first
    print(f"first seed {first}\n| oracle | queries a parameter | asked | error | asked | prediction | status | CPU s | met |")
    print("|---|---|---|---|---|---|---|---|---|")
    with ProcessPoolExecutor(options.jobs) as pool:
        for row in ROWS:
            if any(name in row.name for name in options.rows.split(",")):
                print(line(row, _trials(row, range(first, first + options.seeds), options.store, pool)), flush=True)
    return 0


def _trials(row: Row, seeds: range, store: Path | None, pool: ProcessPoolExecutor) -> list[dict[str, Any]]:
    """Those of the store, and the others, which are written there as they are done."""
    lines = store.read_text().splitlines() if store is not None and store.exists() else []
    kept = [found for found in map(json.loads, lines) if found["row"] == row.name and found["seed"] in seeds]
    missing = [seed for seed in seeds if seed not in {found["seed"] for found in kept}]
    for seed, found in zip(missing, pool.map(partial(trial, row), missing), strict=True):
        kept.append({"row": row.name, "seed": seed, **found})
        if store is not None:
            with store.open("a") as file:
                file.write(json.dumps(kept[-1]) + "\n")
    return kept


def line(row: Row, trials: list[dict[str, Any]]) -> str:
    q, e, gap, s = (np.array([t[name] for t in trials]) for name in ("queries", "error", "gap", "seconds"))
    met = (q <= row.queries) & ((e <= row.error) | ((row.name.split()[0] in ("diabetes", "friedman1")) & (gap <= row.error)))
    counts = {t["status"]: sum(u["status"] == t["status"] for u in trials) for t in trials}
    status = ", ".join(f"{name} {n}" for name, n in counts.items()) + f" ({sum(t['proved'] for t in trials)} proved)"
    return (
        f"| {row.name} | {np.median(q):.2f}–{q.max():.2f} | {row.queries} | {e.max():.1e} | {row.error:.0e} | "
        f"{gap.max():.1e} | {status} | {np.median(s):.1f}–{s.max():.1f} | {met.sum()} of {len(met)} |"
    )


if __name__ == "__main__":
    raise SystemExit(main())
