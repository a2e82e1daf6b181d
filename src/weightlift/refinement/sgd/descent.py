"""Averaged stochastic gradient descent: one fresh row a step  [mondelli2019, §6].

Step      w_j = w_{j−1} − s_j (ŷ(x_j) − y_j) ∇ŷ(x_j): the gradient of ½(ŷ − y)² in the hidden weights, output weights fixed.
Average   w̄_j = w̄_{j−1} + (w_j − w̄_{j−1})/j  (Polyak–Ruppert), w̄_0 = w_0.
Measures  of w̄_{j−1} at (x_j, y_j), a row that it has not seen, summed over windows of steps; see `measures`.
Cost      O(d k) a step, in blocks that give the sequential iteration to rounding; see `blocks`. Memory O(d k)
          beside a few thousand rows. A φ without an element is run by NumPy, slower.
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
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from weightlift.arguments import count
from weightlift.errors import ArgumentError, DivergedError, ShapeError
from weightlift.network import Network
from weightlift.refinement.sgd import checkpoint as files
from weightlift.refinement.sgd.checkpoint import State
from weightlift.refinement.sgd.limits import LIMITS
from weightlift.refinement.sgd.measures import SUMS, Windows, nearest_weight_distance, window_sums
from weightlift.refinement.sgd.pieces import RowsInOrder, first_rows, pieces
from weightlift.refinement.sgd.progress import Progress
from weightlift.refinement.sgd.runners import Output, Piece, Runner, runner
from weightlift.threads import limited

COMPARED_STEPS = np.array([1, 2, 3, 10, 99, 1_000, 10_007, 100_000, 10**6, 10**7, 10**9])  # where two schedules are compared

Schedule = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class StochasticDescent:
    """The last iterate, the average of all iterates, and what was measured on the way."""

    network: Network
    average: Network
    windows: Windows
    steps: int


def sgd(
    stream: RowsInOrder,
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
    dtype       "float64" or "float32", of the weights and the arithmetic

    >>> from weightlift.samples import Fresh
    >>> from weightlift.teachers import haar
    >>> truth = haar(10, 10)
    >>> start = Network(0.3 * np.random.default_rng(0).normal(size=(10, 10)), activation=truth.activation)
    >>> run = sgd(Fresh(truth, seed=1), start, step=0.005, steps=4_000, window=1_000)
    >>> bool((np.diff(run.windows.ratio()) < 0).all()), run.steps
    (True, 4000)
    """
    total = _checked(stream, start, steps, window)
    _check_options(start, truth, dtype, threads)
    rows = first_rows(stream)
    schedule = _schedule(stable_step(start, *rows, bias=bias) if isinstance(step, str) and step == "stable" else step)
    run = Run(stream, start, total, window, schedule, truth, bias, np.dtype(dtype), device, rows)
    state = run.begin() if checkpoint is None else _resumed(run, checkpoint)
    take = runner(start, Output.of(start, run.limit, run.dtype), device, inputs=len(state.W), rows=min(run.piece_rows, total))

    kept = time.monotonic()
    result = state
    with limited(threads, exactly=True), Progress(total, "SGD", done=state.steps, shown=progress) as bar:
        try:
            for result in run.windows(state, take):
                bar.reach(result.steps, f"error {result.sums[-1][1] / result.sums[-1][2]:.3g}")
                if result.steps % window == 0:
                    state = result
                    if checkpoint is not None and time.monotonic() - kept > LIMITS.save_seconds:
                        files.save(checkpoint, state, run.settings)
                        kept = time.monotonic()
        except _StoppedError as stop:
            raise run.diverged(stop.number, state) from None
        finally:
            if checkpoint is not None and state.steps:
                files.save(checkpoint, state, run.settings)
    return run.result(result)


def stable_step(net: Network, X: np.ndarray, y: np.ndarray, w: np.ndarray | None = None, *, bias: bool = False) -> float:
    """E w‖g‖²/E w²‖g‖⁴ over the rows, g = ∇ŷ(x): ‖g‖² = (‖x‖² + 1 where biases move) Σᵢ aᵢ² φ′(zᵢ)².

    For φ of degree q > 1 the gradients grow with the weights; where y is larger than the start's predictions, they are taken
    at the weights that are scaled up to the size of y.

    net   where the run begins
    X     (n, d) inputs
    bias  whether the biases move
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


@dataclass(frozen=True, eq=False)
class Run:
    """What is run, fixed before its first step."""

    stream: RowsInOrder
    start: Network
    total: int
    window: int
    schedule: Schedule
    truth: Network | None
    bias: bool
    dtype: np.dtype[Any]
    device: str | None
    first_rows: tuple[np.ndarray, np.ndarray, np.ndarray | None]

    @cached_property
    def settings(self) -> dict[str, Any]:
        """What a run that goes on must share with the one that was kept."""
        X, y, _ = self.first_rows
        return {
            "start": _digest(self.start), "step": [float(s) for s in self.schedule(COMPARED_STEPS)], "window": int(self.window),
            "bias": bool(self.bias), "dtype": self.dtype.name, "device": self.device,
            "first rows": [float(X.sum()), float(y.sum())], "truth": None if self.truth is None else _digest(self.truth),
        }  # fmt: skip

    @cached_property
    def limit(self) -> float:
        """Of residuals: a large multiple of the size of y and of the first ones."""
        X, y, _ = self.first_rows
        residual = self.start.predict(X) - y
        size = math.sqrt(float(np.mean(y * y))) + math.sqrt(float(np.mean(residual * residual)))
        return LIMITS.diverged * (size if size > 0 else 1.0)

    @property
    def piece_rows(self) -> int:
        """Rows of a piece: a window in equal parts, whole blocks each."""
        block = LIMITS.block
        return block * math.ceil(self.window / (block * math.ceil(self.window / LIMITS.piece)))

    @property
    def has_biases(self) -> bool:
        """Whether W has them as a last row."""
        return self.bias or bool(self.start.b.any())

    def begin(self) -> State:
        W = np.vstack([self.start.W, self.start.b]) if self.has_biases else self.start.W
        return State.start(W.astype(self.dtype))

    def windows(self, state: State, take: Runner) -> Iterator[State]:
        """The states at the ends of the windows; the last one may be short."""
        W, average, done, m = state.W.copy(), state.average.copy(), state.steps, state.windows
        ends, sums, nearest = state.ends[:m], state.sums[:m], state.nearest[:m]
        edges, rows = [*range(done, self.total, self.window), self.total], self.piece_rows
        sizes = [min(rows, b - i) for a, b in pairwise(edges) for i in range(a, b, rows)]
        current = np.zeros(SUMS)
        for X, y, w in pieces(self.stream, done, sizes, W.dtype):
            residual, averaged, taken = take(W, average, self.piece(X, y, w, done))
            if taken < len(y):
                raise _StoppedError(done + taken + 1)
            done += len(y)
            current = current + window_sums(X, y, w, residual, averaged)
            if done % self.window == 0 or done == self.total:
                ends.append(done)
                sums.append(current)
                if self.truth is not None:
                    nearest.append(nearest_weight_distance(average[: self.start.n_inputs], self.truth.W))
                current = np.zeros(SUMS)
                yield State(W.copy(), average.copy(), done, len(ends), ends, sums, nearest)
        if done < self.total:
            words = f"steps = {self.total}, but the stream ended after {done} rows"
            raise ArgumentError(f"{words}; ask for at most as many steps.")

    def piece(self, X: np.ndarray, y: np.ndarray, w: np.ndarray | None, done: int) -> Piece:
        """Rows with their steps; where W has a row of biases, x ends in 1, which moves them or not."""
        s = np.array(self.schedule(np.arange(done + 1, done + len(y) + 1)), self.dtype)
        moving = X
        if self.has_biases:
            X, moving = (np.column_stack([X, np.full(len(y), v, self.dtype)]) for v in (1.0, float(self.bias)))
        return Piece(X, moving, y, s if w is None else s * w, done)

    def result(self, state: State) -> StochasticDescent:
        net, d = self.start, self.start.n_inputs
        last, average = (
            Network(W[:d], net.a, W[d] if len(W) > d else None, net.c, net.activation) for W in (state.W, state.average)
        )
        measured = state.measured()
        nearest = None if self.truth is None else measured["nearest"]
        return StochasticDescent(last, average, Windows(measured["ends"], measured["sums"], d, nearest), state.steps)

    def diverged(self, number: int, state: State) -> DivergedError:
        """With the step that failed, one to try, and what was reached before."""
        s = float(self.schedule(np.array([number]))[0])
        try:
            smaller = min(stable_step(self.start, *self.first_rows, bias=self.bias), s / 4)
        except ArgumentError:
            smaller = s / 4
        return DivergedError(
            f"step = {s:.3g} is too large: at step {number} the residual left ±{self.limit:.3g}, {LIMITS.diverged:g} times the "
            f"size of y and of the first residuals. Try step = {smaller:.2g}.",
            step_number=number, suggested_step=smaller, result=self.result(state),
        )  # fmt: skip


def _resumed(run: Run, checkpoint: str | os.PathLike[str]) -> State:
    """Where the file stands, or the start where there is none yet."""
    if not Path(checkpoint).exists():
        return run.begin()
    state, saved = files.load(checkpoint)
    files.check_same(checkpoint, saved, run.settings)
    if state.steps > run.total:
        raise ArgumentError(f"checkpoint {checkpoint} has {state.steps} steps already; steps = {run.total} are fewer.")
    return state


def _schedule(step: float | str | Schedule) -> Schedule:
    if callable(step):
        sizes = np.asarray(step(COMPARED_STEPS), dtype=float)
        if sizes.shape != COMPARED_STEPS.shape or not np.isfinite(sizes).all() or (sizes < 0).any():
            shape = COMPARED_STEPS.shape
            raise ArgumentError(f"step: of step numbers {shape} it must make step sizes ≥ 0 of that shape, not {sizes}.")
        return step
    if isinstance(step, str) or not 0 < step < math.inf:
        raise ArgumentError(f"step must be a positive number, a function of the step number, or 'stable', not {step!r}.")
    return lambda numbers: np.full(len(numbers), float(step))


def _checked(stream: RowsInOrder, start: Network, steps: int | None, window: int) -> int:
    """The number of steps."""
    if not hasattr(stream, "blocks"):
        raise ArgumentError("stream must give blocks of rows: weightlift.samples.open(X, y), or samples.Fresh(network).")
    if stream.d != start.n_inputs:
        raise ShapeError(f"start has {start.n_inputs} inputs and the stream {stream.d}; they must agree.")
    if steps is None and stream.n == math.inf:
        raise ArgumentError("steps must be given, for the stream has no end.")
    total = int(stream.n) if steps is None else steps
    for name, value in (("steps", total), ("window", window)):
        count(name, value)
    if total > stream.n:
        raise ArgumentError(f"steps = {total}, but the stream has {int(stream.n)} rows, one for each step; ask for fewer.")
    return total


def _check_options(start: Network, truth: Network | None, dtype: str, threads: int) -> None:
    if start.a.ndim > 1 or start.V is not None:
        raise ArgumentError("start must have one output and no linear part for SGD; use refinement.variable_projection.")
    if truth is not None and truth.n_inputs != start.n_inputs:
        raise ShapeError(f"truth has {truth.n_inputs} inputs and start {start.n_inputs}; they must agree.")
    if dtype not in ("float32", "float64"):
        raise ArgumentError(f"dtype must be 'float32' or 'float64', not {dtype!r}.")
    count("threads", threads)


def _digest(net: Network) -> str:
    content = repr((net.activation.name, net.activation.parameters)).encode()
    content += b"".join(np.ascontiguousarray(v, "<f8").tobytes() for v in (net.W, net.a, net.b, np.float64(net.c)))
    return hashlib.sha256(content).hexdigest()
