"""Who takes the steps: the compiled blocks, NumPy for an activation that is a Python function, or a GPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from weightlift.errors import ArgumentError
from weightlift.network import Network


@dataclass(frozen=True, eq=False)
class Piece:
    """Rows that are used one after another, in the dtype of the weights."""

    X: np.ndarray  # (n, d), with a last column of ones where W has a row of biases
    moving: np.ndarray  # (n, d): X with zeros where weights are held
    y: np.ndarray  # (n,)
    steps: np.ndarray  # (n,) step sizes
    done: int  # steps before these


@dataclass(frozen=True, eq=False)
class Output:
    """What no step changes: ŷ = ⟨a, φ(Wᵀx)⟩ + c, and the bound that its residual must keep."""

    a: np.ndarray
    c: Any
    limit: Any

    @classmethod
    def of(cls, net: Network, limit: float, dtype: np.dtype[Any]) -> Output:
        return cls(net.a.astype(dtype), dtype.type(net.c), dtype.type(min(limit, np.finfo(dtype).max)))


class Runner(Protocol):
    """Takes one step a row; W and its average (d, k) are changed in place.

    Returns the residuals of the iterate and of the running average (n,), each before its row is used, and the steps taken: n,
    or fewer where the residual has left its bound.
    """

    def __call__(self, W: np.ndarray, average: np.ndarray, piece: Piece) -> tuple[np.ndarray, np.ndarray, int]: ...


def runner(start: Network, output: Output, device: str | None, *, inputs: int, rows: int) -> Runner:
    """For weights of `inputs` rows, and pieces of at most `rows`."""
    from weightlift.refinement.sgd.elements import compiled

    code = compiled(start.activation, output.a.dtype)
    if device is not None:
        if code is None:
            raise ArgumentError(f"device: {start.activation.name!r} has no compiled kernel; leave it out to use the processor.")
        from weightlift.refinement.sgd import device as gpu

        if gpu.MISSING:
            raise ArgumentError(f"device = {device!r} needs {gpu.MISSING}; leave it out to use the processor.")
        run: Runner = gpu.DeviceRun(output, code, start.activation.value, inputs=inputs, rows=rows, device=device)
        return run
    if code is None:
        from weightlift.refinement.sgd.arrays import ArrayRun

        return ArrayRun(output, start.activation)
    from weightlift.refinement.sgd.blocks import CompiledRun

    return CompiledRun(output, code)
