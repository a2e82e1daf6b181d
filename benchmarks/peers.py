"""`recover` beside what else can be fitted to the same rows, in one run.

    python -m benchmarks.peers            one problem of each kind
    python -m benchmarks.peers --full     five

Problem    y = Σ aᵢ φ(⟨wᵢ, x⟩), k = 5, d = 20, n = 1,500 noiseless Gaussian rows, ReLU and squared ReLU, both output signs.
Found      every unit right to 1 % (zhong2017, §7); else the share of the variance of y that is missed on fresh rows.
Peers      scikit-learn's MLPRegressor (exact width, L-BFGS and Adam, five restarts, the best loss counts; ReLU only); PyTorch's
           L-BFGS and Adam with restarts until solved or given up; pyscnn's convex reformulation (ReLU only; it keeps many more
           units); TensorLy's CP decomposition of the same projected third moment, in place of ours, before the same refinement.
Times      CPU seconds on one thread; ratios to `recover`. Packages that are not installed are left out and named.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import sys
import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

import weightlift as wl
from benchmarks.speed import _adam, _lbfgs
from weightlift.initialization import tensor_init
from weightlift.moments import HermiteMoment, remove_linear, remove_quadratic
from weightlift.namespaces import to_numpy
from weightlift.refinement import gauss_newton
from weightlift.subspace import SecondMoment, leading_subspace

INPUTS, UNITS, ROWS = 20, 5, 1_500
RESTARTS = 5
LINE = "| {:<13} | {:<44} | {:>9} | {:>15} | {:>9} | {:>8} |"

Rows = tuple[np.ndarray, np.ndarray]


class Outcome(NamedTuple):
    """What a method gives: a function, and the network behind it where it has the asked width."""

    predict: Callable[[np.ndarray], np.ndarray]
    network: wl.Network | None


Method = Callable[[Rows, str, int], Outcome | None]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="recover and its peers on the same rows")
    parser.add_argument("--full", action="store_true", help="five problems of each kind")
    options = parser.parse_args(arguments)
    missing = [name for name, package in PACKAGES.items() if importlib.util.find_spec(package) is None]
    if missing:
        print(f"Not installed, left out: {', '.join(missing)}.\n")
    print(LINE.format("φ", "method", "found", "variance missed", "CPU s", "ratio"))
    print(LINE.format(*("-" * w for w in (13, 44, 9, 15, 9, 8))))
    for module in ("sklearn.neural_network", "torch", "tensorly.decomposition", "scnn.optimize"):
        with contextlib.suppress(ImportError):
            importlib.import_module(module)  # off the clock
    methods = {name: m for name, m in METHODS.items() if not any(name.startswith(package) for package in missing)}
    with threadpool_limits(limits=1):
        for activation in ("relu", "squared_relu"):
            compare(activation, methods, 5 if options.full else 1)
    return 0


def compare(activation: str, methods: dict[str, Method], problems: int) -> None:
    rows: dict[str, list[tuple[bool, float, float]]] = {}
    for number in range(problems):
        truth = wl.teachers.conditioned(INPUTS, UNITS, activation=activation, rng=number)
        data, fresh = wl.draw(truth, ROWS, rng=100 + number), wl.draw(truth, 5_000, rng=200 + number)
        for name, method in methods.items():
            started = time.process_time()
            outcome = method(data, activation, number)
            seconds = time.process_time() - started
            if outcome is not None:
                missed = float(np.mean((outcome.predict(fresh[0]) - fresh[1]) ** 2) / np.var(fresh[1]))
                found = outcome.network is not None and wl.match(outcome.network, truth).max_error <= 0.01
                rows.setdefault(name, []).append((found, missed, seconds))
    ours = np.median([seconds for _, _, seconds in rows["recover"]])
    for name, outcomes in rows.items():
        found, missed, seconds = (np.array(v) for v in zip(*outcomes, strict=True))
        count, middle = f"{found.sum()} of {len(found)}", float(np.median(seconds))
        numbers = f"{np.median(missed):.1e}", f"{middle:.2f}", f"{middle / ours:.2g}"
        print(LINE.format(activation, name, count, *numbers), flush=True)


def recover(data: Rows, activation: str, seed: int) -> Outcome | None:
    network = wl.recover(*data, n_units=UNITS, activation=activation, rng=seed).network
    return Outcome(network.predict, network)


def tensor_start(data: Rows, activation: str, seed: int) -> Outcome | None:
    """Our moments and decomposition, then Gauss–Newton: what TensorLy's row is to be held against."""
    samples = wl.samples.open(*data)
    network = gauss_newton(samples, tensor_init(samples, UNITS, activation, rng=seed).network, free="Wa").network
    return Outcome(network.predict, network)


def tensorly(data: Rows, activation: str, seed: int) -> Outcome | None:
    """The projected third moment decomposed by TensorLy's ALS, scales by least squares, then the same Gauss–Newton."""
    from tensorly.decomposition import parafac

    samples = wl.samples.open(*data)
    residual = remove_linear(samples)
    V = leading_subspace(residual, SecondMoment(), UNITS).V
    order = 3 if activation == "squared_relu" else 4  # ReLU has no third moment
    T = to_numpy(remove_quadratic(residual, V).mean(HermiteMoment(INPUTS, order, V))[0])
    _, factors = parafac(T, UNITS, init="random", n_iter_max=1000, tol=1e-12, random_state=seed, normalize_factors=True)
    directions = V @ np.asarray(factors[0])
    both = np.hstack([directions, -directions])
    features = np.maximum(data[0] @ both, 0.0) ** (2 if activation == "squared_relu" else 1)
    weights = np.linalg.lstsq(features, data[1], rcond=None)[0].reshape(2, UNITS)
    side = np.argmax(np.abs(weights), axis=0)
    chosen = weights[side, np.arange(UNITS)]
    start = wl.Network(directions * np.where(side, -1.0, 1.0), chosen, activation=activation)
    network = gauss_newton(samples, start, free="Wa").network
    return Outcome(network.predict, network)


def mlp(solver: str) -> Method:
    def fit(data: Rows, activation: str, seed: int) -> Outcome | None:
        if activation != "relu":
            return None
        from sklearn.neural_network import MLPRegressor

        def one(restart: int) -> MLPRegressor:
            state = 1000 * seed + restart
            model = MLPRegressor(
                hidden_layer_sizes=(UNITS,), solver=solver, max_iter=2000, tol=1e-10, alpha=0.0, random_state=state
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return model.fit(*data)

        def square(model: MLPRegressor) -> float:
            return float(np.mean((model.predict(data[0]) - data[1]) ** 2))

        best = min(map(one, range(RESTARTS)), key=square)
        (W, a), (b, c) = best.coefs_, best.intercepts_
        return Outcome(best.predict, wl.Network(W, a[:, 0], b, float(c[0]), activation="relu"))

    return fit


def pytorch(optimizer: Callable[..., object]) -> Method:
    def fit(data: Rows, activation: str, seed: int) -> Outcome | None:
        import torch

        torch.set_num_threads(1)
        X, y = (torch.asarray(v) for v in data)
        rng = np.random.default_rng(seed)
        best: tuple[float, wl.Network] | None = None
        for _ in range(RESTARTS):
            W = torch.asarray(rng.normal(size=(INPUTS, UNITS)) * 1.5 / np.sqrt(INPUTS)).requires_grad_()
            a = torch.asarray(rng.choice([-1.0, 1.0], size=UNITS)).requires_grad_()

            def loss(W: object = W, a: object = a) -> object:
                ramp = torch.relu(X @ W)
                return torch.mean(((ramp * ramp if activation == "squared_relu" else ramp) @ a - y) ** 2) / 2

            for _ in optimizer([W, a], loss):
                pass
            value = float(loss().detach())
            network = wl.Network(W.detach().numpy().copy(), a.detach().numpy().copy(), activation=activation)
            if best is None or value < best[0]:
                best = value, network
            if value < 1e-12:
                break
        assert best is not None
        return Outcome(best[1].predict, best[1])

    return fit


def scnn(data: Rows, activation: str, seed: int) -> Outcome | None:
    if activation != "relu":
        return None
    from scnn.optimize import optimize
    from scnn.regularizers import NeuronGL1

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, _ = optimize("relu", 200, data[0], data[1][:, None], regularizer=NeuronGL1(1e-5), seed=seed)
    return Outcome(lambda X: np.asarray(model(X)).ravel(), None)


PACKAGES = {"scikit-learn": "sklearn", "PyTorch": "torch", "TensorLy": "tensorly", "pyscnn": "scnn"}
METHODS: dict[str, Method] = {
    "recover": recover,
    "tensor start + Gauss–Newton": tensor_start,
    "TensorLy CP + the same Gauss–Newton": tensorly,
    "scikit-learn MLPRegressor, L-BFGS, 5 starts": mlp("lbfgs"),
    "scikit-learn MLPRegressor, Adam, 5 starts": mlp("adam"),
    "PyTorch L-BFGS, up to 5 starts": pytorch(_lbfgs),
    "PyTorch Adam, up to 5 starts": pytorch(_adam),
    "pyscnn convex reformulation": scnn,
}

if __name__ == "__main__":
    sys.exit(main())
