"""The block of `sgd_kernels` in NumPy, for activations that are Python functions: the same numbers, some ten times slower."""

from __future__ import annotations

from typing import Any

import numpy as np

from weightlift.activations import Activation


def run(
    W: np.ndarray, average: np.ndarray, a: np.ndarray, c: Any, activation: Activation, X: np.ndarray, moving: np.ndarray,
    y: np.ndarray, steps: np.ndarray, done: int, size: int, limit: float, residual: np.ndarray, averaged: np.ndarray,
) -> int:  # fmt: skip
    """As `sgd_kernels.run`, with the activation itself instead of its kind and coefficients."""
    with np.errstate(over="ignore", invalid="ignore"):
        return _run(W, average, a, c, activation, X, moving, y, steps, done, size, limit, residual, averaged)


def _run(
    W: np.ndarray, average: np.ndarray, a: np.ndarray, c: Any, activation: Activation, X: np.ndarray, moving: np.ndarray,
    y: np.ndarray, steps: np.ndarray, done: int, size: int, limit: float, residual: np.ndarray, averaged: np.ndarray,
) -> int:  # fmt: skip
    dtype = W.dtype
    for first in range(0, y.size, size):
        rows = slice(first, min(first + size, y.size))
        x, u, s, e = X[rows], moving[rows], steps[rows], residual[rows]
        m, J = len(x), done + first
        Z, gram, P = x @ W, u @ x.T, np.empty((m, W.shape[1]), dtype)
        Zbar = x @ average
        for t in range(m):
            start = Z[t].copy()
            earlier = s[:t] * e[:t] * gram[:t, t]
            Z[t] -= earlier @ P[:t]
            shares = ((t - np.arange(t)) / max(1, J + t)).astype(dtype)
            Zbar[t] += dtype.type(t / max(1, J + t)) * (start - Zbar[t]) - (shares * earlier) @ P[:t]
            e[t] = a @ activation.value(Z[t]) + c - y[first + t]
            if not abs(e[t]) <= limit:
                return first + t
            P[t] = a * activation.derivative(Z[t])
        averaged[rows] = activation.value(Zbar) @ a + c - y[rows]
        scaled = (s * e)[:, None] * u
        late = (m - np.arange(m))[:, None].astype(dtype) * scaled
        average += dtype.type(1 / (J + m)) * (dtype.type(m) * (W - average) - late.T @ P)
        W -= scaled.T @ P
    return int(y.size)
