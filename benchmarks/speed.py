"""`recover` beside gradient descent and PyTorch's optimizers, to the same error, on the same rows, in one run.

    python -m benchmarks.speed            3 problems
    python -m benchmarks.speed --full     10 problems

Problem   squared ReLU, d = 50, k = 5, κ = 2, n = 7,000, noiseless; solved when every unit is right to 1e-8 (relative).
Ours      `recover` from the raw rows, whose time holds everything: moments, refinement, certificate. Beside it the certificate
          alone, which no peer has, and the refinement alone, Gauss–Newton from the tensor start.
Paper     gradient descent with η = 0.02 from the same tensor start, as bare NumPy products [zhong2017, §7]; its time does not
          hold the start.
PyTorch   float64, full batch, all parameters free, random starts until one is solved: L-BFGS (strong Wolfe), and Adam with a
          decaying step. Optional: without PyTorch these lines are left out.
Times     of the CPU, one thread each, errors measured off the clock. A method that is given up after its time limit, a multiple
          of ours, is reported with >.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np
from threadpoolctl import threadpool_limits

import weightlift as wl
from weightlift.initialization import tensor_init
from weightlift.refinement import gauss_newton

INPUTS, UNITS, ROWS, ERROR = 50, 5, 7_000, 1e-8
ETA = 0.02
LIMIT = 60.0  # times ours, after which a peer is given up
LINE = "| {:<40} | {:>8} | {:>14} | {:>14} | {:>8} |"

Networks = Iterator[wl.Network]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="recover, gradient descent and PyTorch to the same error")
    parser.add_argument("--full", action="store_true", help="10 problems instead of 3")
    parser.add_argument("--seed", type=int, help="fresh from the clock by default")
    options = parser.parse_args(arguments)
    seed = time.time_ns() // 1000 % 2**31 if options.seed is None else options.seed
    print(f"seed {seed}\n")
    times: dict[str, list[tuple[float, bool]]] = {}
    with threadpool_limits(limits=1):
        compare([seed, 0], rows=500, limit=0.0)  # modules are loaded off the clock
        for number in range(10 if options.full else 3):
            for name, outcome in compare([seed, number]).items():
                times.setdefault(name, []).append(outcome)
    _print(times)
    return 0


def compare(seed: list[int], *, rows: int = ROWS, limit: float = LIMIT) -> dict[str, tuple[float, bool]]:
    """Seconds to the error, and whether it was reached, for every method on one problem; peers stop at `limit` times ours."""
    truth = wl.teachers.conditioned(INPUTS, UNITS, activation="squared_relu", rng=np.random.default_rng([*seed, 0]))
    X, y = wl.draw(truth, rows, rng=np.random.default_rng([*seed, 1]))
    samples = wl.samples.open(X, y)
    start = tensor_init(samples, UNITS, "squared_relu").network

    def timed(method: Callable[[], Networks], limit: float = math.inf) -> tuple[float, bool]:
        return _time_to_error(method(), truth, limit)

    found = {"recover": timed(lambda: _once(lambda: wl.recover(X, y, n_units=UNITS, activation="squared_relu").network))}
    limit *= found["recover"][0]
    found["its certificate alone"] = timed(lambda: _once(lambda: wl.certify(truth, X, y).network))
    found["Gauss–Newton from the tensor start"] = timed(
        lambda: _once(lambda: gauss_newton(samples, start, free="W", iterations=50).network)
    )
    found["gradient descent from the tensor start"] = timed(lambda: _gradient_descent(X, y, start), limit)
    if importlib.util.find_spec("torch") is not None:
        for name, optimizer in (("PyTorch L-BFGS, restarts", _lbfgs), ("PyTorch Adam, restarts", _adam)):
            found[name] = timed(lambda optimizer=optimizer: _restarts(X, y, optimizer), limit)
    return found


def _time_to_error(networks: Networks, truth: wl.Network, limit: float) -> tuple[float, bool]:
    """CPU seconds that `networks` spends until it gives one with the error, at most about `limit`."""
    seconds = 0.0
    while seconds < limit:
        started = time.process_time()
        network = next(networks, None)
        seconds += time.process_time() - started
        if network is None:
            return seconds, False
        if wl.match(network, truth).max_error <= ERROR:
            return seconds, True
    return seconds, False


def _once(method: Callable[[], wl.Network]) -> Networks:
    yield method()


def _gradient_descent(X: np.ndarray, y: np.ndarray, start: wl.Network) -> Networks:
    W, a, n = start.absorbed().W.copy(), np.sign(start.a), len(y)
    while np.isfinite(W).all():
        for _ in range(50):
            ramp = np.maximum(X @ W, 0.0)
            r = (ramp * ramp) @ a - y
            W = W - ETA / n * (X.T @ (r[:, None] * (2.0 * a * ramp)))
        if np.isfinite(W).all():
            yield wl.Network(W, a, activation="squared_relu")


def _restarts(X: np.ndarray, y: np.ndarray, optimizer: Callable[..., Networks]) -> Networks:
    """Random starts, one after another: W of the teacher's size, output weights ±1."""
    import torch

    torch.set_num_threads(1)
    rows = torch.asarray(X), torch.asarray(y)
    rng = np.random.default_rng(0)
    while True:
        W = torch.asarray(rng.normal(size=(INPUTS, UNITS)) * 1.5 / math.sqrt(INPUTS)).requires_grad_()
        a = torch.asarray(rng.choice([-1.0, 1.0], size=UNITS)).requires_grad_()

        def loss(W: object = W, a: object = a) -> object:
            ramp = torch.relu(rows[0] @ W)
            return torch.mean(((ramp * ramp) @ a - rows[1]) ** 2) / 2

        for _ in optimizer([W, a], loss):
            yield wl.Network(W.detach().numpy().copy(), a.detach().numpy().copy(), activation="squared_relu")


def _lbfgs(parameters: list[object], loss: Callable[[], object]) -> Iterator[None]:
    """Until the loss is at rounding level or no longer falls."""
    import torch

    optimizer = torch.optim.LBFGS(
        parameters, max_iter=50, history_size=50, tolerance_grad=0.0, tolerance_change=0.0, line_search_fn="strong_wolfe"
    )

    def closure() -> object:
        optimizer.zero_grad()
        value = loss()
        value.backward()
        return value

    last = math.inf
    for _ in range(40):
        value = float(optimizer.step(closure).detach())  # the loss before these 50 steps
        yield
        if not math.isfinite(value) or value > 0.999 * last:
            return
        last = value


def _adam(parameters: list[object], loss: Callable[[], object]) -> Iterator[None]:
    """3,000 steps, the step size falling from 0.03 by a factor 10⁵; given up early where the loss stalls far from zero."""
    import torch

    steps, chunk = 3000, 100
    optimizer = torch.optim.Adam(parameters, lr=0.03)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=1e-5 ** (1 / steps))
    last = math.inf
    for _ in range(steps // chunk):
        for _ in range(chunk):
            optimizer.zero_grad()
            value = loss()
            value.backward()
            optimizer.step()
            schedule.step()
        yield
        now = float(value.detach())
        if now > 0.999 * last and now > 1e-6:
            return
        last = now


def _print(times: dict[str, list[tuple[float, bool]]]) -> None:
    print(LINE.format("method", "solved", "median CPU s", "median ratio", "least"))
    print(LINE.format("-" * 40, *("-" * w for w in (8, 14, 14, 8))))
    ours = np.array([seconds for seconds, _ in times["recover"]])
    for name, outcomes in times.items():
        seconds, solved = np.array([s for s, _ in outcomes]), [reached for _, reached in outcomes]
        mark = "" if sum(solved) > len(solved) / 2 else "> "
        ratios = seconds / ours
        print(
            LINE.format(
                name,
                f"{sum(solved)} of {len(solved)}",
                f"{mark}{np.median(seconds):.3g}",
                f"{mark}{np.median(ratios):.3g}",
                f"{ratios.min():.3g}",
            )
        )
    peers = [np.array([s for s, _ in outcomes]) for name, outcomes in times.items() if name.startswith("PyTorch")]
    if peers:
        print(f"\nThe better of PyTorch's two, problem by problem: median ratio {np.median(np.minimum(*peers) / ours):.3g}.")


if __name__ == "__main__":
    sys.exit(main())
