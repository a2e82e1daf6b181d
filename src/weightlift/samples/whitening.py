"""Whitening as a map: x → Rᵀ(x − μ) with RᵀSR = I, undone exactly in the network that comes back.

A unit ⟨w̃, Rᵀ(x − μ)⟩ + b̃ of the whitened problem is ⟨w, x⟩ + b with w = R w̃ and b = b̃ − ⟨w, μ⟩. R is S^{-1/2}; where the
columns' spreads D differ so much that S^{-1/2} would lose its digits it is D⁻¹C^{-1/2}, C the correlations.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from weightlift.errors import ArgumentError, NotFiniteError, ShapeError, SingularError
from weightlift.namespaces import array_namespace, as_like, matmul_transposed, to_numpy
from weightlift.network import Network
from weightlift.samples.protocol import Block, Samples, Sums

MAX_CONDITION = 1e12
CONSTANT = 1e-13  # spread of a column that is rounding, relative to its mean
ALIKE = 1e3  # ratio of spreads up to which S^{-1/2} has ten digits: it loses the square of it


@dataclass(frozen=True, eq=False)
class Whitening:
    """The map to zero mean and unit covariance."""

    mean: np.ndarray  # (d,)
    covariance: np.ndarray  # (d, d)
    root: np.ndarray  # (d, d) R

    @classmethod
    def given(cls, mean: np.ndarray | None, covariance: np.ndarray | None, *, n_inputs: int) -> Whitening:
        """From a known mean (zeros when None) and covariance (identity when None)."""
        mean = np.zeros(n_inputs) if mean is None else np.array(mean, dtype=np.float64)
        covariance = np.eye(n_inputs) if covariance is None else np.array(covariance, dtype=np.float64)
        if mean.shape != (n_inputs,):
            raise ShapeError(f"mean must have shape ({n_inputs},), not {mean.shape}.")
        if covariance.shape != (n_inputs, n_inputs):
            raise ShapeError(f"covariance must have shape ({n_inputs}, {n_inputs}), not {covariance.shape}.")
        if not (np.isfinite(mean).all() and np.isfinite(covariance).all()):
            raise NotFiniteError("mean or covariance holds NaN or infinity.")
        if not np.allclose(covariance, covariance.T, rtol=1e-10, atol=1e-12 * np.abs(covariance).max()):
            raise ArgumentError("covariance must be symmetric.")
        return cls(mean, covariance, _inverse_root(mean, covariance))

    @classmethod
    def estimated(cls, samples: Samples) -> Whitening:
        """From the rows' own mean and covariance (divisor Σw), in one pass."""
        with np.errstate(over="ignore", invalid="ignore"):
            _, mean, scatter = (to_numpy(s) for s in samples.fold(Covariance(samples.d)))
        if not np.isfinite(scatter).all():
            raise NotFiniteError("X has values whose squares overflow; divide its columns by their sizes.")
        return cls.given(mean, scatter / samples.total, n_inputs=samples.d)

    def __call__(self, block: Block) -> Block:
        xp = array_namespace(block.X)
        mean, root = as_like(self.mean, block.X), as_like(self.root, block.X)
        return replace(block, X=xp.matmul(block.X - mean, root))

    def on_network(self, network: Network) -> Network:
        """The network as a function of the whitened input: w̃ = R⁻¹w = RᵀS w, b̃ = b + ⟨w, μ⟩."""
        return replace(network, W=self.root.T @ (self.covariance @ network.W), b=network.b + self.mean @ network.W)

    def undo(self, network: Network) -> Network:
        """The network as a function of the raw input."""
        W = self.root @ network.W
        return replace(network, W=W, b=network.b - self.mean @ W)


@dataclass(frozen=True)
class Covariance:
    """Weight, mean and centred scatter Σ w (x − x̄)(x − x̄)ᵀ, merged without cancellation (Chan, Golub & LeVeque)."""

    n_inputs: int

    @property
    def floats_per_row(self) -> int:
        return 2 * self.n_inputs

    def __call__(self, block: Block) -> Sums:
        xp = array_namespace(block.X)
        m = block.y.shape[0]
        w = xp.ones_like(block.y) if block.w is None else block.w
        weight = xp.sum(w)
        mean = xp.matmul(w, block.X) / xp.where(weight > 0, weight, 1.0 + 0.0 * weight)
        centred = block.X - mean
        scatter = matmul_transposed(centred, w[:, None] * centred)
        return (weight, mean, scatter) if m else (weight, 0.0 * mean, scatter)

    def merge(self, left: Sums, right: Sums) -> Sums:
        xp = array_namespace(left[0])
        weight = left[0] + right[0]
        share = right[0] / xp.where(weight > 0, weight, 1.0 + 0.0 * weight)
        step = right[1] - left[1]
        scatter = left[2] + right[2] + left[0] * share * step[:, None] * step[None, :]
        return weight, left[1] + share * step, scatter


def _inverse_root(mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """R; singularity is judged on the correlations, so that the inputs' units do not matter."""
    spread = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    constant = np.flatnonzero(spread <= CONSTANT * np.abs(mean))
    if constant.size:
        raise SingularError(f"column {int(constant[0])} of X is constant; drop it.")
    correlation = covariance / spread[:, None] / spread
    values, vectors = np.linalg.eigh(correlation)
    if values[0] * MAX_CONDITION < values[-1]:
        raise SingularError("the covariance of X is singular: some columns are linearly dependent; drop the redundant ones.")
    if spread.max() > ALIKE * spread.min():
        return np.asarray(vectors / np.sqrt(values) @ vectors.T / spread[:, None])
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors / np.sqrt(values) @ vectors.T)
