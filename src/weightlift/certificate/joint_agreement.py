"""Agreement of rows with a network of several outputs, or a linear part: residuals beside a bound on their rounding errors.

Cost  one pass, O(n (d k + k m)).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weightlift.namespaces import Array, array_namespace, as_like, to_numpy
from weightlift.network import Network
from weightlift.samples import Block, Samples, Sums

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class JointAgreement:
    """Rows with positive weight, the largest |r| and |r|/B, and Σ w (|r| + B)² (m,), B bounds rounding errors of f(x) − y."""

    rows: int
    residual: float
    level: float
    errors: np.ndarray

    @classmethod
    def of(cls, network: Network, samples: Samples) -> JointAgreement:
        rows, residual, level, errors = (to_numpy(v) for v in samples.fold(Residuals(network)))
        return cls(int(rows), float(residual), float(level), errors)


@dataclass(frozen=True, eq=False)
class Residuals:
    """Rows, max |r|, max |r|/B, Σ w (|r| + B)² (m,)."""

    network: Network

    @property
    def floats_per_row(self) -> int:
        return 6 * (self.network.n_units + self.network.n_outputs)

    def __call__(self, block: Block) -> Sums:
        xp, X = array_namespace(block.X), block.X
        r, bound = rounding_sizes(self.network, block)
        squares = (r + bound) ** 2
        if block.w is not None:
            squares = block.w[:, None] * squares
            keep = xp.astype(block.w > 0, X.dtype)[:, None]
            r, bound = r * keep, bound * keep
        level = xp.where(r > 0, r / xp.where(bound > 0, bound, xp.ones_like(bound)), r)
        count = xp.astype(xp.asarray(X.shape[0]), xp.float64) if block.w is None else xp.sum(keep)
        top = [xp.max(v) if X.shape[0] else xp.sum(v) for v in (r, level)]
        return count, *top, xp.sum(squares, axis=0)

    def merge(self, left: Sums, right: Sums) -> Sums:
        xp = array_namespace(*left)
        return left[0] + right[0], xp.maximum(left[1], right[1]), xp.maximum(left[2], right[2]), left[3] + right[3]


def rounding_sizes(network: Network, block: Block) -> tuple[Array, Array]:
    """|f(x) − y| and the bound on its rounding errors, (rows, m):

    B = ε((d + 2) Σ|aᵢφ′(zᵢ)|(|x|ᵀ|wᵢ| + |bᵢ|) + (k + d + 4)(Σ|aᵢφ(zᵢ)| + |x|ᵀ|V| + |c| + |y|)),

    where |aᵢ| is that of the unit at an output it is seen by, in the output's units: an output weight that is zero is fitted to
    rounding errors of the others.
    """
    xp, X = array_namespace(block.X), block.X
    W, b, A, size_A = (as_like(v, X) for v in (network.W, network.b, network.A, _unit_sizes(network.A)))
    d, k = network.W.shape
    V = as_like(np.zeros((d, network.n_outputs)) if network.V is None else network.V.reshape(d, -1), X)
    c, y = as_like(np.atleast_1d(network.c), X), block.y[:, None] if block.y.ndim == 1 else block.y
    z = xp.matmul(X, W) + b
    values, slopes = network.activation(z), network.activation.derivative(z)
    reach = xp.abs(slopes) * (xp.matmul(xp.abs(X), xp.abs(W)) + xp.abs(b))
    size = xp.matmul(xp.abs(values), size_A) + xp.matmul(xp.abs(X), xp.abs(V)) + xp.abs(c) + xp.abs(y)
    residuals = xp.matmul(values, A) + xp.matmul(X, V) + c - y
    return xp.abs(residuals), EPS * ((d + 2) * xp.matmul(reach, size_A) + (k + d + 4) * size)


def _unit_sizes(A: np.ndarray) -> np.ndarray:
    """(k, m) the largest |aᵢ| of a unit, relative to its output's largest, in every output."""
    largest = np.abs(A).max(axis=0, initial=0.0)
    relative = np.divide(np.abs(A), largest, out=np.zeros_like(A), where=largest > 0)
    return np.asarray(relative.max(axis=1, initial=0.0)[:, None] * largest)
