"""Who takes the steps: the compiled blocks, NumPy for an activation that is a Python function, or a GPU."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from weightlift.errors import ArgumentError
from weightlift.network import Network

BLOCK = 16  # steps between products with W: the loop's cost grows with it, that of reading W falls


def advancer(
    start: Network, dtype: np.dtype[Any], ones: float | None, limit: float, device: str | None, rows: int
) -> Callable[..., int]:
    """advance(W, average, X, y, steps, done, residual, averaged) for at most `rows` rows; see `sgd_kernels.run`.

    ones: what a step adds to the last row of W, the biases, for one of g; None where W has no such row.
    """
    from weightlift.refinement.sgd_activations import compiled

    a, c, bound = start.a.astype(dtype), dtype.type(start.c), dtype.type(min(limit, np.finfo(dtype).max))
    code = compiled(start.activation, dtype)
    if device is not None:
        if code is None:
            raise ArgumentError(f"device: {start.activation.name} is a Python function; a device runs the catalogue's φ only.")
        inputs = start.n_inputs + (ones is not None)
        run: Callable[..., int] = _device_run(device)(a, float(c), *code, start.activation.value, inputs, rows, device)
    elif code is not None:
        from weightlift.refinement.sgd_kernels import run as run_compiled

        run = functools.partial(run_compiled, a=a, c=c, kind=code[0], coefficients=code[1], size=BLOCK)
    else:
        from weightlift.refinement.sgd_arrays import run as run_arrays

        run = functools.partial(run_arrays, a=a, c=c, activation=start.activation, size=BLOCK)

    def advance(W: Any, average: Any, X: Any, y: Any, steps: Any, done: int, residual: Any, averaged: Any) -> int:
        moving = X
        if ones is not None:
            X, moving = (np.column_stack([X, np.full(len(y), v, dtype)]) for v in (1.0, ones))
        return run(
            W=W, average=average, X=X, moving=moving, y=y, steps=steps, done=done, limit=bound, residual=residual,
            averaged=averaged,
        )  # fmt: skip

    return advance


def _device_run(device: str) -> Any:
    """`sgd_torch.DeviceRun`, or a sentence that says what is missing."""
    from weightlift.refinement import sgd_torch

    if sgd_torch.MISSING:
        raise ArgumentError(f"device = {device!r} needs {sgd_torch.MISSING}; leave it out to use the processor.")
    return sgd_torch.DeviceRun
