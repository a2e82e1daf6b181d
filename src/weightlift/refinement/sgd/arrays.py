"""The block of `blocks` in NumPy, for activations that are Python functions: the same numbers, some ten times slower."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weightlift.activations import Activation
from weightlift.refinement.sgd.limits import LIMITS
from weightlift.refinement.sgd.runners import Output, Piece


@dataclass(frozen=True, eq=False)
class ArrayRun:
    output: Output
    activation: Activation

    def __call__(self, W: np.ndarray, average: np.ndarray, piece: Piece) -> tuple[np.ndarray, np.ndarray, int]:
        residual, averaged = np.empty_like(piece.y), np.empty_like(piece.y)
        with np.errstate(over="ignore", invalid="ignore"):
            for first in range(0, piece.y.size, LIMITS.block):
                rows = slice(first, min(first + LIMITS.block, piece.y.size))
                taken = self._block(W, average, piece, rows, residual[rows], averaged[rows])
                if taken < rows.stop - first:
                    return residual, averaged, first + taken
        return residual, averaged, int(piece.y.size)

    def _block(
        self, W: np.ndarray, average: np.ndarray, piece: Piece, rows: slice, e: np.ndarray, averaged: np.ndarray
    ) -> int:  # fmt: skip
        a, c, phi, dtype = self.output.a, self.output.c, self.activation, W.dtype
        x, u, y, s = piece.X[rows], piece.moving[rows], piece.y[rows], piece.steps[rows]
        m, J = len(x), piece.done + rows.start
        Z, gram, P = x @ W, u @ x.T, np.empty((m, W.shape[1]), dtype)
        Zbar = x @ average
        for t in range(m):
            start = Z[t].copy()
            earlier = s[:t] * e[:t] * gram[:t, t]
            Z[t] -= earlier @ P[:t]
            shares = ((t - np.arange(t)) / max(1, J + t)).astype(dtype)
            Zbar[t] += dtype.type(t / max(1, J + t)) * (start - Zbar[t]) - (shares * earlier) @ P[:t]
            e[t] = a @ phi.value(Z[t]) + c - y[t]
            if not abs(e[t]) <= self.output.limit:
                return t
            P[t] = a * phi.derivative(Z[t])
        averaged[:] = phi.value(Zbar) @ a + c - y
        scaled = (s * e)[:, None] * u
        late = (m - np.arange(m))[:, None].astype(dtype) * scaled
        average += dtype.type(1 / (J + m)) * (dtype.type(m) * (W - average) - late.T @ P)
        W -= scaled.T @ P
        return m
