"""How few queries `extract` needs: random and trained black boxes, width unknown, queries of the certificate included.

    python -m benchmarks.extraction                          every row, ten seeds
    python -m benchmarks.extraction --rows 784 --seeds 2 --jobs 2
    python -m benchmarks.extraction --impostors 500          oracles that are no such networks: none may be certified

Queries a parameter count all d k + k + k m + m of them. The error is the largest relative error of (w, b) and of a over the
units after matching; the prediction's is over 2,000 random rows. Seeds are fresh unless --first is given.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
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
        began = time.perf_counter()
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
        "seconds": time.perf_counter() - began,
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


ASKED = ("relu", "leaky_relu", "tanh", "sigmoid", "gelu", "silu", "softplus", "erf", "sine", "auto")
SAME = ({"relu", "leaky_relu"}, {"tanh", "sigmoid"})  # one is the other, with a linear part or an offset


def impostor(seed: int) -> tuple[str, str, bool]:
    """An oracle that is no network of the kind asked for: its kind, the activation asked for, and whether it was certified.

    Kinds change fastest, then activations, then whether the width is given: 240 seeds in a row have each of them once.
    """
    rng = np.random.default_rng(seed)
    kinds = _impostors(rng)
    turn, kind = divmod(seed, len(kinds))
    turn, phi = turn // len(ASKED), ASKED[turn % len(ASKED)]
    name = list(kinds)[kind]
    arguments: dict[str, Any] = {"n_units": "auto" if turn % 2 else 4}
    oracle, d = kinds[name]
    if name == "too wide":
        hidden = "relu" if phi == "auto" else phi
        oracle, arguments = _random(rng, d, 1, 5, hidden).predict, {"n_units": 4}
    elif name == "other φ":
        same = next((group for group in SAME if phi in group), {phi})
        others = ["elu", "squared_relu"] if phi == "auto" else [name for name in (*ASKED[:-1], "elu") if name not in same]
        oracle = _random(rng, d, 1, 3, str(rng.choice(others))).predict
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = wl.extract(_single(oracle), d, activation=phi, budget=5_000, rng=seed, **arguments)
        except wl.errors.OracleError:  # a constant, say
            return name, phi, False
    return name, phi, bool(found.certificate)


def _impostors(rng: np.random.Generator) -> dict[str, tuple[Callable[[np.ndarray], np.ndarray], int]]:
    """Kinds of oracles that are no network with one hidden layer of one φ, with their inputs."""
    d = int(rng.integers(2, 8))
    first, second = _random(rng, d, 5, 4), _random(rng, 5, 1, 3)
    X = rng.standard_normal((500, d))
    while not _bends(second, first.predict(X)):  # else the two layers are one
        second = _random(rng, 5, 1, 3)
    bent, deeper = _random(rng, d, 5, 4, "tanh"), _random(rng, 5, 1, 3, "tanh")
    smooth, wave = _random(rng, d, 1, 2, "gelu"), _random(rng, d, 1, 2, "sine")
    oracles: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "deep": lambda X: second.predict(first.predict(X)),
        "deep tanh": lambda X: deeper.predict(bent.predict(X)),
        "mixed": lambda X: first.predict(X)[:, 0] + bent.predict(X)[:, 0],
        "mixed smooth": lambda X: smooth.predict(X)[:, 0] + wave.predict(X)[:, 0],
        "tree": lambda X: 1.0 * (X[:, 0] > 0.2) + 2.0 * (X[:, 1] > 0) * (X[:, -1] > 0.5),
        "polynomial": lambda X: X[:, 0] * X[:, 1] + X[:, -1] ** 3,
        "product": lambda X: first.predict(X)[:, 0] * first.predict(X)[:, 1],
        "maximum": lambda X: first.predict(X).max(axis=1),
        "distance": lambda X: np.linalg.norm(X - 0.3, axis=1),
        "wave": lambda X: np.sin(X @ np.arange(1, d + 1)) * X[:, 0],
        "too wide": first.predict,
        "other φ": first.predict,
    }
    return {name: (oracle, d) for name, oracle in oracles.items()}


def _random(rng: np.random.Generator, d: int, m: int, k: int, phi: str = "relu") -> wl.Network:
    return wl.Network(
        rng.standard_normal((d, k)), rng.standard_normal((k, m)), rng.standard_normal(k), rng.standard_normal(m), phi
    )


def _single(oracle: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    return lambda X: oracle(X).reshape(len(X))


def _bends(network: wl.Network, X: np.ndarray) -> bool:
    """Whether every unit is on in 5 to 95 per cent of the rows."""
    on = (X @ network.W + network.b > 0).mean(axis=0)
    return bool(((on > 0.05) & (on < 0.95)).all())


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default="", help="only rows whose name holds this")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=None, help="the first seed; fresh ones if it is not given")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--impostors", type=int, default=0)
    options = parser.parse_args(arguments)
    first = int(time.time()) % 10**6 if options.first is None else options.first
    with ProcessPoolExecutor(options.jobs) as pool:
        if options.impostors:
            verdicts = list(pool.map(impostor, range(first, first + options.impostors)))
            wrong = [verdict[:2] for verdict in verdicts if verdict[2]]
            print(f"{len(verdicts)} oracles that are no such networks, first seed {first}: {len(wrong)} certified {wrong}")
            return int(bool(wrong))
        print(f"first seed {first}\n| oracle | queries a parameter | asked | error | asked | prediction | status | s | met |")
        print("|---|---|---|---|---|---|---|---|---|")
        for row in ROWS:
            if options.rows in row.name:
                print(line(row, list(pool.map(partial(trial, row), range(first, first + options.seeds)))), flush=True)
    return 0


def line(row: Row, trials: list[dict[str, Any]]) -> str:
    q, e, gap, s = (np.array([t[name] for t in trials]) for name in ("queries", "error", "gap", "seconds"))
    met = (q <= row.queries) & ((e <= row.error) | ((row.name.split()[0] in ("diabetes", "friedman1")) & (gap <= row.error)))
    counts = {t["status"]: sum(u["status"] == t["status"] for u in trials) for t in trials}
    status = ", ".join(f"{name} {n}" for name, n in counts.items()) + f" ({sum(t['proved'] for t in trials)} proved)"
    return (
        f"| {row.name} | {q.min():.2f}–{q.max():.2f} | {row.queries} | {e.max():.1e} | {row.error:.0e} | {gap.max():.1e} | "
        f"{status} | {np.median(s):.1f}–{s.max():.1f} | {met.sum()} of {len(met)} |"
    )


if __name__ == "__main__":
    raise SystemExit(main())
