"""Averaged stochastic gradient descent: one fresh row a step  [mondelli2019, §6].

Step      w_j = w_{j−1} − s_j (ŷ(x_j) − y_j) ∇ŷ(x_j): the gradient of ½(ŷ − y)² in the hidden weights, output weights fixed.
Average   w̄_j = w̄_{j−1} + (w_j − w̄_{j−1})/j  (Polyak–Ruppert), w̄_0 = w_0.
Measures  of w̄_{j−1} at (x_j, y_j), a row that it has not seen, summed over windows of steps; see `sgd_measures`.
Cost      O(d k) a step, in blocks that give the sequential iteration to rounding; see `sgd_kernels`. Memory O(d k)
          beside a few thousand rows. A custom φ is run by NumPy, slower.
Stability near a fit w − w* is multiplied by I − s ggᵀ with g = ∇ŷ(x_j), and contracts in mean square where
          s E[‖g‖² ggᵀ] < 2 E[ggᵀ]. The "stable" step is half of that for the traces, s = E‖g‖²/E‖g‖⁴, at the start and over
          the first rows; it is also what a run that diverges suggests.
"""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from weightlift.arguments import count
from weightlift.errors import ArgumentError, DivergedError, ShapeError
from weightlift.network import Network
from weightlift.refinement import sgd_checkpoint
from weightlift.refinement.sgd_checkpoint import State
from weightlift.refinement.sgd_measures import SUMS, Windows, nearest_weight_distance, window_sums
from weightlift.refinement.sgd_progress import Progress
from weightlift.refinement.sgd_runners import BLOCK, advancer
from weightlift.refinement.sgd_stream import PIECE, Stream, first_rows, pieces

DIVERGED = 1e4  # times the root mean square of y and of the first residuals
SAVE_SECONDS = 30.0
PROBES = np.array([1, 2, 3, 10, 99, 1_000, 10_007, 100_000, 10**6, 10**7, 10**9])  # where two schedules are compared

Schedule = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class StochasticDescent:
    """The last iterate, the average of all iterates, and what was measured on the way."""

    network: Network
    average: Network
    windows: Windows
    steps: int


def sgd(
    stream: Stream,
    start: Network,
    *,
    step: float | str | Schedule = "stable",
    steps: int | None = None,
    window: int = 10_000,
    truth: Network | None = None,
    bias: bool = False,
    dtype: str = "float64",
    threads: int = 1,
    device: str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> StochasticDescent:
    """One step a row of the stream, from `start`.

    step        s, or a function from step numbers 1, 2, … (an array) to step sizes, or "stable" (see above); a row's weight
                multiplies it
    steps       as many as the stream has rows unless given
    window      steps over which the measures are summed
    truth       measure the distance to its weights after every window
    bias        move the biases too
    threads     of the matrix products
    device      "cuda" runs on a GPU through PyTorch and Triton
    checkpoint  a file in which the run is kept, and from which it goes on where it is there already
    progress    True or False instead of a bar on terminals only

    >>> from weightlift.samples import Fresh
    >>> from weightlift.teachers import haar
    >>> truth = haar(10, 10)
    >>> start = Network(0.3 * np.random.default_rng(0).normal(size=(10, 10)), activation=truth.activation)
    >>> run = sgd(Fresh(truth, seed=1), start, step=0.005, steps=4_000, window=1_000)
    >>> bool((np.diff(run.windows.ratio()) < 0).all()), run.steps
    (True, 4000)
    """
    total = _checked(stream, start, steps, window, truth, dtype, threads)
    W, ones = _weights(start, bias, np.dtype(dtype))
    X, y, w = first_rows(stream)
    schedule = _schedule(stable_step(start, X, y, w, bias=bias) if isinstance(step, str) and step == "stable" else step)
    limit = _limit(start, X, y)
    settings = {
        "start": _digest(start), "step": [float(s) for s in schedule(PROBES)], "window": int(window), "bias": bool(bias),
        "dtype": dtype, "device": device, "first rows": [float(X.sum()), float(y.sum())],
        "truth": None if truth is None else _digest(truth),
    }  # fmt: skip
    state = State.start(W)
    if checkpoint is not None and Path(checkpoint).exists():
        state, saved = sgd_checkpoint.load(checkpoint)
        sgd_checkpoint.check_same(checkpoint, saved, settings)
        if state.steps > total:
            raise ArgumentError(f"checkpoint {checkpoint} has {state.steps} steps already; steps = {total} are fewer.")
    advance = advancer(start, np.dtype(dtype), ones, limit, device, min(_piece_rows(window), total))

    from threadpoolctl import threadpool_limits

    kept = time.monotonic()
    result = state
    with threadpool_limits(limits=threads, user_api="blas"), Progress(total, "SGD", done=state.steps, shown=progress) as bar:
        try:
            for result in _windows(stream, state, total, window, schedule, advance, truth, start):
                bar.reach(result.steps, f"error {result.sums[-1][1] / result.sums[-1][2]:.3g}")
                if result.steps % window == 0:
                    state = result
                    if checkpoint is not None and time.monotonic() - kept > SAVE_SECONDS:
                        sgd_checkpoint.save(checkpoint, state, settings)
                        kept = time.monotonic()
        except _StoppedError as stop:
            s = float(schedule(np.array([stop.number]))[0])
            smaller = _smaller(s, start, X, y, w, bias)
            raise DivergedError(
                f"step = {s:.3g} is too large: at step {stop.number} the residual left ±{limit:.3g}, {DIVERGED:g} times the "
                f"size of y and of the first residuals. Try step = {smaller:.2g}.",
                step_number=stop.number, suggested_step=smaller, result=_result(state, start, truth),
            ) from None  # fmt: skip
        finally:
            if checkpoint is not None and state.steps:
                sgd_checkpoint.save(checkpoint, state, settings)
    return _result(result, start, truth)


def stable_step(net: Network, X: np.ndarray, y: np.ndarray, w: np.ndarray | None = None, *, bias: bool = False) -> float:
    """E w‖g‖²/E w²‖g‖⁴ over the rows, g = ∇ŷ(x): ‖g‖² = (‖x‖² + 1 where biases move) Σᵢ aᵢ² φ′(zᵢ)².

    For φ of degree q > 1 the gradients grow with the weights; where y is larger than the start's predictions, they are taken
    at the weights that are scaled up to the size of y.
    """
    slopes = net.activation.derivative(X @ net.W + net.b)
    size = (np.sum(X * X, axis=1) + bias) * (slopes**2 @ net.a**2) * (1.0 if w is None else w)
    q, predicted = net.activation.degree or 1.0, float(np.linalg.norm(net.predict(X)))
    if q > 1 and 0 < predicted < np.linalg.norm(y):
        size = size * (float(np.linalg.norm(y)) / predicted) ** (2 * (q - 1) / q)
    mean, square = float(np.mean(size)), float(np.mean(size**2))
    if not 0 < square < math.inf:
        raise ArgumentError(f"start: the gradient is zero or not finite on the first {len(y)} rows; start elsewhere.")
    return mean / square


class _StoppedError(Exception):
    """The residual left its bound at this step."""

    def __init__(self, number: int) -> None:
        self.number = number


def _windows(
    stream: Stream, state: State, total: int, window: int, schedule: Schedule, advance: Callable[..., int],
    truth: Network | None, start: Network,
) -> Iterator[State]:  # fmt: skip
    """The states at the ends of the windows; the last one may be short."""
    W, average, done = state.W.copy(), state.average.copy(), state.steps
    m = state.windows
    ends, sums, nearest = state.ends[:m], state.sums[:m], state.nearest[:m]
    edges, rows = [*range(done, total, window), total], _piece_rows(window)
    sizes = [min(rows, b - i) for a, b in pairwise(edges) for i in range(a, b, rows)]
    current = np.zeros(SUMS)
    for X, y, w in pieces(stream, done, sizes, W.dtype):
        s = np.array(schedule(np.arange(done + 1, done + len(y) + 1)), W.dtype)
        residual, averaged = np.empty_like(y), np.empty_like(y)
        taken = advance(W, average, X, y, s if w is None else s * w, done, residual, averaged)
        if taken < len(y):
            raise _StoppedError(done + taken + 1)
        done += len(y)
        current = current + window_sums(X, y, w, residual, averaged)
        if done % window == 0 or done == total:
            ends.append(done)
            sums.append(current)
            if truth is not None:
                nearest.append(nearest_weight_distance(average[: start.n_inputs], truth.W))
            current = np.zeros(SUMS)
            yield State(W.copy(), average.copy(), done, len(ends), ends, sums, nearest)
    if done < total:
        raise ArgumentError(f"steps = {total}, but the stream ended after {done} rows; ask for at most as many steps.")


def _piece_rows(window: int) -> int:
    """Rows of a piece: a window in equal parts of at most PIECE rows, whole blocks each."""
    return BLOCK * math.ceil(window / (BLOCK * math.ceil(window / PIECE)))


def _smaller(s: float, start: Network, X: np.ndarray, y: np.ndarray, w: np.ndarray | None, bias: bool) -> float:
    """A step to try after s has failed."""
    try:
        return min(stable_step(start, X, y, w, bias=bias), s / 4)
    except ArgumentError:
        return s / 4


def _limit(net: Network, X: np.ndarray, y: np.ndarray) -> float:
    residual = net.predict(X) - y
    size = math.sqrt(float(np.mean(y * y))) + math.sqrt(float(np.mean(residual * residual)))
    return DIVERGED * (size if size > 0 else 1.0)


def _weights(start: Network, bias: bool, dtype: np.dtype[Any]) -> tuple[np.ndarray, float | None]:
    """W, with the biases as a last row where there are any, and by how much a step moves that row (None: no such row)."""
    if not bias and not start.b.any():
        return start.W.astype(dtype), None
    return np.vstack([start.W, start.b]).astype(dtype), float(bias)


def _result(state: State, start: Network, truth: Network | None) -> StochasticDescent:
    d = start.n_inputs
    last, average = (
        Network(W[:d], start.a, W[d] if len(W) > d else None, start.c, start.activation) for W in (state.W, state.average)
    )
    measured = state.measured()
    windows = Windows(measured["ends"], measured["sums"], d, None if truth is None else measured["nearest"])
    return StochasticDescent(last, average, windows, state.steps)


def _schedule(step: float | str | Schedule) -> Schedule:
    if callable(step):
        sizes = np.asarray(step(PROBES), dtype=float)
        if sizes.shape != PROBES.shape or not np.isfinite(sizes).all() or (sizes < 0).any():
            raise ArgumentError(f"step: of step numbers {PROBES.shape} it must make step sizes ≥ 0 of that shape, not {sizes}.")
        return step
    if isinstance(step, str) or not 0 < step < math.inf:
        raise ArgumentError(f"step must be a positive number, a function of the step number, or 'stable', not {step!r}.")
    return lambda numbers: np.full(len(numbers), float(step))


def _checked(
    stream: Stream, start: Network, steps: int | None, window: int, truth: Network | None, dtype: str, threads: int
) -> int:
    """The number of steps."""
    if not hasattr(stream, "blocks"):
        raise ArgumentError("stream must give blocks of rows: weightlift.samples.open(X, y), or samples.Fresh(network).")
    if stream.d != start.n_inputs:
        raise ShapeError(f"start has {start.n_inputs} inputs, the stream's rows have {stream.d}.")
    if truth is not None and truth.n_inputs != start.n_inputs:
        raise ShapeError(f"truth has {truth.n_inputs} inputs, start has {start.n_inputs}.")
    if dtype not in ("float32", "float64"):
        raise ArgumentError(f"dtype must be 'float32' or 'float64', not {dtype!r}.")
    if steps is None and stream.n == math.inf:
        raise ArgumentError("steps must be given, for the stream has no end.")
    total = int(stream.n) if steps is None else steps
    for name, value in (("steps", total), ("window", window), ("threads", threads)):
        count(name, value)
    if total > stream.n:
        raise ArgumentError(f"steps = {total}, but the stream has {int(stream.n)} rows, one for each step; ask for fewer.")
    return total


def _digest(net: Network) -> str:
    content = repr((net.activation.name, net.activation.parameters)).encode()
    content += b"".join(np.ascontiguousarray(v, "<f8").tobytes() for v in (net.W, net.a, net.b, np.float64(net.c)))
    return hashlib.sha256(content).hexdigest()
