"""One sample a step, a block of B steps at a time, without changing what is computed  [mondelli2019, §6].

Within a block that starts at weights W₀ and at the average W̄₀ of J earlier iterates, every iterate is W₀ less a sum of rank-one
terms, so that with g_j = a ∘ φ′(z_j), residuals e_j and steps s_j

    z_t = W₀ᵀx_t − Σ_{j<t} s_j e_j ⟨x_j, x_t⟩ g_j                                                  before step t = 0 … B − 1,
    z̄_t = (J W̄₀ᵀx_t + t W₀ᵀx_t − Σ_{j<t} (t − j) s_j e_j ⟨x_j, x_t⟩ g_j)/(J + t)                    at the running average.

W and W̄ are read by one matrix product a block and written by another; between them the loop touches vectors of length k only.
The units are cut into panels that fit the cache. A unit that fills up the last panel has a = 0 and stays at zero.
Cost a step: 4dk multiplications in products, Bk in the loop, two evaluations of φ for each unit.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# The compiler infers the types of its functions. Its cache looks at this file alone: remove it after a change of another one.

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg.cython_blas  # noqa: F401  (the BLAS of the products below, loaded before its threads are limited)

from weightlift.refinement.sgd.elements import Compiled, evaluate, part, program
from weightlift.refinement.sgd.limits import LIMITS
from weightlift.refinement.sgd.runners import Output, Piece


@dataclass(frozen=True, eq=False)
class CompiledRun:
    output: Output
    code: Compiled

    def __call__(self, W: np.ndarray, average: np.ndarray, piece: Piece) -> tuple[np.ndarray, np.ndarray, int]:
        residual, averaged = np.empty_like(piece.y), np.empty_like(piece.y)
        Ws, means, outputs = pack(W), pack(average), pack(self.output.a[None, :])
        taken = blocks(
            Ws, means, outputs, self.output.c, *self.code, piece.X, piece.moving, piece.y, piece.steps, piece.done,
            LIMITS.block, self.output.limit, residual, averaged,
        )  # fmt: skip
        for packed, weights in ((Ws, W), (means, average)):
            weights[:] = np.hstack(list(packed))[:, : W.shape[1]]
        return residual, averaged, int(taken)


def pack(W: np.ndarray) -> np.ndarray:
    """(d, k) as (panels, d, width), the last panel filled up with zeros."""
    d, k = W.shape
    panels = -(-k * W.itemsize // LIMITS.panel_bytes)
    width = -(-k // panels)
    packed = np.zeros((panels, d, width), W.dtype)
    for p in range(panels):
        part = W[:, p * width : (p + 1) * width]
        packed[p, :, : part.shape[1]] = part
    return packed


@program
def blocks(W, average, a, c, kind, coefficients, X, moving, y, steps, done, size, limit, residual, averaged):
    """The steps of `Runner`, in blocks of `size`, on weights (panels, d, width); residual and averaged (n,) are filled in."""
    panels, d, width = W.shape
    P = np.empty((panels, size, width), W.dtype)
    Z, Zbar = np.empty_like(P), np.empty_like(P)
    change, factors = np.empty((2 * d, width), W.dtype), np.empty((2 * d, size), W.dtype)
    for first in range(0, y.size, size):
        last = min(first + size, y.size)
        m = last - first
        x, u = X[first:last], moving[first:last]
        for p in range(panels):
            np.dot(x, W[p], Z[p, :m])
            np.dot(x, average[p], Zbar[p, :m])
        taken = block(
            Z, Zbar, P, np.dot(u, x.T), a, c, kind, coefficients,
            y[first:last], steps[first:last], done + first, limit, residual[first:last], averaged[first:last],
        )  # fmt: skip
        if taken < m:
            return first + taken
        if m < size:
            factors = np.empty((2 * d, m), W.dtype)
        for t in range(m):
            scale = steps[first + t] * residual[first + t]
            for i in range(d):
                factors[i, t] = scale * u[t, i]
                factors[d + i, t] = (m - t) * factors[i, t]
        share, rate = W.dtype.type(m), W.dtype.type(1 / (done + last))
        for p in range(panels):
            np.dot(factors, P[p, :m], change)
            update(W[p], average[p], change, share, rate)
    return y.size


@part
def update(W, average, change, share, rate):
    """W −= Σ s_j e_j x_j g_jᵀ and W̄ += (m (W₀ − W̄) − Σ (m − j) s_j e_j x_j g_jᵀ)/(J + m); change holds the two sums."""
    d, k = W.shape
    for i in range(d):
        for l in range(k):  # noqa: E741
            average[i, l] += rate * (share * (W[i, l] - average[i, l]) - change[d + i, l])
            W[i, l] -= change[i, l]


@part
def block(Z, Zbar, P, gram, a, c, kind, coefficients, y, steps, done, limit, residual, averaged):
    """The steps of one block: Z and Zbar hold W₀ᵀx_t and W̄₀ᵀx_t, P receives the g_t; all are (panels, B, width).

    Returns the steps taken.
    """
    T = Z.dtype.type
    value, unused = np.empty_like(Z[0, 0]), np.empty_like(Z[0, 0])
    alpha, beta = np.zeros(y.size, Z.dtype), np.zeros(y.size, Z.dtype)
    for t in range(y.size):
        count = max(1, done + t)
        share = T(t / count)
        for j in range(t):
            alpha[j] = steps[j] * residual[j] * gram[j, t]
            beta[j] = alpha[j] * T((t - j) / count)
        predicted, smooth = T(0), T(0)
        for p in range(len(P)):
            z, zbar, g, outputs = Z[p, t], Zbar[p, t], P[p, t], a[p, 0]
            for i in range(z.size):
                zbar[i] += share * (z[i] - zbar[i])
            subtract(P[p], t, alpha, beta, z, zbar)
            evaluate(kind, coefficients, zbar, value, unused)
            smooth += dot(outputs, value)
            evaluate(kind, coefficients, z, value, g)
            predicted += dot(outputs, value)
            for i in range(z.size):
                g[i] *= outputs[i]
        residual[t] = predicted + c - y[t]
        averaged[t] = smooth + c - y[t]
        if not abs(residual[t]) <= limit:
            return t
    return y.size


@part
def dot(a, b):
    total = a.dtype.type(0)
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@part
def subtract(P, count, alpha, beta, z, zbar):
    """z −= Σ_{j<count} alpha_j P_j and zbar −= Σ_{j<count} beta_j P_j, four rows a pass."""
    j = 0
    while j + 4 <= count:
        p, q, r, s = P[j], P[j + 1], P[j + 2], P[j + 3]
        a0, a1, a2, a3 = alpha[j], alpha[j + 1], alpha[j + 2], alpha[j + 3]
        b0, b1, b2, b3 = beta[j], beta[j + 1], beta[j + 2], beta[j + 3]
        for i in range(z.size):
            z[i] -= a0 * p[i] + a1 * q[i] + a2 * r[i] + a3 * s[i]
            zbar[i] -= b0 * p[i] + b1 * q[i] + b2 * r[i] + b3 * s[i]
        j += 4
    while j < count:
        p = P[j]
        for i in range(z.size):
            z[i] -= alpha[j] * p[i]
            zbar[i] -= beta[j] * p[i]
        j += 1
