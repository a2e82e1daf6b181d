"""One sample a step, a block of B steps at a time, without changing what is computed  [mondelli2019, §6].

Within a block that starts at weights W₀ and at the average W̄₀ of J earlier iterates, every iterate is W₀ less a sum of rank-one
terms, so that with g_j = a ∘ φ′(z_j), residuals e_j and steps s_j

    z_t = W₀ᵀx_t − Σ_{j<t} s_j e_j ⟨x_j, x_t⟩ g_j                                                  before step t = 0 … B − 1,
    z̄_t = (J W̄₀ᵀx_t + t W₀ᵀx_t − Σ_{j<t} (t − j) s_j e_j ⟨x_j, x_t⟩ g_j)/(J + t)                    at the running average.

W and W̄ are read by one matrix product a block and written by another; between them the loop touches vectors of length k only.
Cost a step: 4dk multiplications in products, Bk in the loop, two evaluations of φ for each unit.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# The compiler infers the types of its functions.

from __future__ import annotations

import numpy as np
from numba import njit

from weightlift.refinement.sgd_activations import LOOP, evaluate


@njit(**LOOP)
def run(W, average, a, c, kind, coefficients, X, moving, y, steps, done, size, limit, residual, averaged):
    """Take one step a row of X (n, d), y (n,), in blocks of `size`; W and average (d, k) are changed in place.

    moving (n, d) is X with zeros where weights are held; done counts the steps before. The residuals of the iterate and of the
    running average, before each row is used, go to residual and averaged (n,). Returns the steps taken: n, or fewer where the
    residual is not within `limit` any more.
    """
    d, k = W.shape
    P = np.empty((size, k), W.dtype)
    Z, Zbar = np.empty_like(P), np.empty_like(P)
    change = np.empty((2 * d, k), W.dtype)
    for first in range(0, y.size, size):
        last = min(first + size, y.size)
        m = last - first
        x, u = X[first:last], moving[first:last]
        np.dot(x, W, Z[:m])
        np.dot(x, average, Zbar[:m])
        taken = block(
            Z, Zbar, P, np.dot(u, x.T), a, c, kind, coefficients,
            y[first:last], steps[first:last], done + first, limit, residual[first:last], averaged[first:last],
        )  # fmt: skip
        if taken < m:
            return first + taken
        factors = np.empty((2 * d, m), W.dtype)
        for t in range(m):
            scale = steps[first + t] * residual[first + t]
            for i in range(d):
                factors[i, t] = scale * u[t, i]
                factors[d + i, t] = (m - t) * factors[i, t]
        np.dot(factors, P[:m], change)
        share, rate = W.dtype.type(m), W.dtype.type(1 / (done + last))
        for i in range(d):
            for l in range(k):  # noqa: E741
                average[i, l] += rate * (share * (W[i, l] - average[i, l]) - change[d + i, l])
                W[i, l] -= change[i, l]
    return y.size


@njit(**LOOP)
def block(Z, Zbar, P, gram, a, c, kind, coefficients, y, steps, done, limit, residual, averaged):
    """The steps of one block: Z and Zbar (B, k) hold W₀ᵀx_t and W̄₀ᵀx_t, P (B, k) receives the g_t. Returns the steps taken."""
    T = Z.dtype.type
    value, unused = np.empty_like(Z[0]), np.empty_like(Z[0])
    alpha, beta = np.zeros(y.size + 4, Z.dtype), np.zeros(y.size + 4, Z.dtype)
    for t in range(y.size):
        z, zbar, g = Z[t], Zbar[t], P[t]
        count = max(1, done + t)
        share = T(t / count)
        for i in range(z.size):
            zbar[i] += share * (z[i] - zbar[i])
        for j in range(t):
            alpha[j] = steps[j] * residual[j] * gram[j, t]
            beta[j] = alpha[j] * T((t - j) / count)
        subtract(P, t, alpha, beta, z, zbar)
        evaluate(kind, coefficients, z, value, g)
        predicted = T(0)
        for i in range(z.size):
            predicted += a[i] * value[i]
            g[i] *= a[i]
        evaluate(kind, coefficients, zbar, value, unused)
        smooth = T(0)
        for i in range(z.size):
            smooth += a[i] * value[i]
        residual[t] = predicted + c - y[t]
        averaged[t] = smooth + c - y[t]
        if not abs(residual[t]) <= limit:
            return t
    return y.size


@njit(**LOOP)
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
