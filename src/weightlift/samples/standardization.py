"""Standard inputs: rows are centred, whitened or scaled by a map, and the network that comes back is that of the raw inputs.

Whitening   x → Rᵀ(x − μ) with RᵀSR = I. A unit ⟨w̃, Rᵀ(x − μ)⟩ + b̃ is ⟨w, x⟩ + b with w = R w̃ and b = b̃ − ⟨w, μ⟩. R is
            S^{-1/2}; where the columns' spreads D differ so much that it would lose its digits, R is D⁻¹C^{-1/2}, C the
            correlations.
Scaling     x → (x − μ)/σ, column by column.
Centring    without biases a shift of the inputs would need one: the covariance alone is removed, and what needs centred rows
            (moments) is told the mean ν of the white ones, where n‖ν‖² ~ χ²_d says that there is one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from weightlift.errors import ArgumentError, NotFiniteError, ShapeError, SingularError, warn
from weightlift.namespaces import array_namespace, as_like, matmul_transposed, to_numpy
from weightlift.network import Network
from weightlift.samples.limits import LIMITS
from weightlift.samples.protocol import Block, Samples, Sums


@dataclass(frozen=True, eq=False)
class Whitening:
    """The map to zero mean and unit covariance."""

    mean: np.ndarray  # (d,)
    covariance: np.ndarray  # (d, d)
    root: np.ndarray  # (d, d) R

    @classmethod
    def given(cls, mean: np.ndarray | None, covariance: np.ndarray | None, *, n_inputs: int) -> Whitening:
        """From a known mean (zeros when None) and covariance (identity when None).

        n_inputs  d
        """
        mean = np.zeros(n_inputs) if mean is None else np.array(mean, dtype=np.float64)
        covariance = np.eye(n_inputs) if covariance is None else np.array(covariance, dtype=np.float64)
        if mean.shape != (n_inputs,):
            raise ShapeError(f"mean must have shape ({n_inputs},), not {mean.shape}.")
        if covariance.shape != (n_inputs, n_inputs):
            raise ShapeError(f"covariance must have shape ({n_inputs}, {n_inputs}), not {covariance.shape}.")
        if not (np.isfinite(mean).all() and np.isfinite(covariance).all()):
            raise NotFiniteError("mean and covariance must be finite; one holds NaN or infinity.")
        if not np.allclose(covariance, covariance.T, rtol=1e-10, atol=1e-12 * np.abs(covariance).max()):
            raise ArgumentError("covariance must be symmetric.")
        return cls(mean, covariance, _inverse_root(mean, covariance))

    @classmethod
    def estimated(cls, samples: Samples) -> Whitening:
        """From the rows' own mean and covariance (divisor Σw), in one pass.

        samples  rows, as `samples.open` gives them
        """
        with np.errstate(over="ignore", invalid="ignore"):
            _, mean, scatter = (to_numpy(s) for s in samples.fold(Covariance(samples.d)))
        if not np.isfinite(scatter).all():
            raise NotFiniteError("X has values whose squares overflow; divide its columns by their sizes.")
        size = np.maximum(np.abs(mean), np.sqrt(np.abs(np.diagonal(scatter)) / samples.total))
        tiny = np.flatnonzero((size > 0) & (size < LIMITS.least_size))
        if tiny.size:
            found = f"column {int(tiny[0])} of X has the size {size[tiny[0]]:.0e}, whose square vanishes"
            raise ArgumentError(f"{found}; divide it by that.")
        return cls.given(mean, scatter / samples.total, n_inputs=samples.d)

    def __call__(self, block: Block) -> Block:
        xp = array_namespace(block.X)
        mean, root = as_like(self.mean, block.X), as_like(self.root, block.X)
        return replace(block, X=xp.matmul(block.X - mean, root))

    def on_network(self, network: Network) -> Network:
        """The network as a function of the whitened input: w̃ = R⁻¹w = RᵀS w, b̃ = b + ⟨w, μ⟩."""
        return _moved(network, lambda U: self.root.T @ (self.covariance @ U), self.mean, before=True)

    def undo(self, network: Network) -> Network:
        """The network as a function of the raw input."""
        return _moved(network, lambda U: self.root @ U, -self.mean, before=False)


@dataclass(frozen=True, eq=False)
class Scaling:
    """x → (x − μ)/σ, and 0 for columns without a spread σ, which are left out."""

    mean: np.ndarray  # (d,)
    spread: np.ndarray  # (d,)

    @classmethod
    def estimated(cls, X: np.ndarray, w: np.ndarray | None, *, centred: bool) -> Self:
        """Means (zero unless centred) and root mean squares about them; what only rounding makes vary has no spread.

        X  (n, d)
        w  (n,) weights, or None
        """
        size = power_of_two(np.max(np.abs(X), axis=0))
        Z = X / size
        mean = np.average(Z, axis=0, weights=w) if centred else np.zeros(X.shape[1])
        spread = np.sqrt(np.average((Z - mean) ** 2, axis=0, weights=w))
        spread = np.where(spread > LIMITS.constant * np.max(np.abs(Z), axis=0), spread, 0.0) * size
        return cls(mean * size, np.where(spread > LIMITS.least_spread, spread, 0.0))

    @classmethod
    def shift(cls, mean: np.ndarray) -> Self:
        """x → x − μ.

        mean  μ (d,)
        """
        return cls(mean, np.ones(len(mean)))

    def __call__(self, block: Block) -> Block:
        mean, spread = as_like(self.mean, block.X), as_like(np.where(self.spread > 0, self.spread, np.inf), block.X)
        return replace(block, X=(block.X - mean) / spread)

    def inputs(self, X: np.ndarray) -> np.ndarray:
        """The map on an array of the host.

        X  (n, d)
        """
        return np.asarray((X - self.mean) / np.where(self.spread > 0, self.spread, np.inf))

    def on_network(self, network: Network) -> Network:
        """The network as a function of the scaled input: w̃ = σ w, b̃ = b + ⟨w, μ⟩."""
        return _moved(network, lambda U: (self.spread * U.T).T, self.mean, before=True)

    def undo(self, network: Network) -> Network:
        """The network as a function of the raw input; weights of columns that were left out are zero."""
        spread = np.where(self.spread > 0, self.spread, 1.0)
        return _moved(network, lambda U: np.where(self.spread > 0, U.T / spread, 0.0).T, -self.mean, before=False)


@dataclass(frozen=True, eq=False)
class Standardized:
    """White rows, the mean they have, and the way back."""

    rows: Samples
    mean: np.ndarray  # (d,) ν
    whitening: Whitening | None  # None where the inputs were left as they are

    @classmethod
    def of(cls, samples: Samples, *, centred: bool) -> Self:
        """Unit covariance, and zero mean where `centred`; a singular covariance raises a SingularError.

        samples  rows, as `samples.open` gives them
        """
        found, zero = Whitening.estimated(samples), np.zeros(samples.d)
        mean, whitening = (zero, found) if centred else (found.mean @ found.root, replace(found, mean=zero))
        return cls(samples.map(whitening).persist(), mean, whitening)

    @classmethod
    def or_unchanged(cls, samples: Samples, *, centred: bool) -> Self:
        """The same; inputs of a singular covariance stay as they are, with a warning.

        samples  rows, as `samples.open` gives them
        centred  whether the mean is taken off
        """
        try:
            return cls.of(samples, centred=centred)
        except SingularError as error:
            warn(f"{error} Inputs are left as they are.")
            return cls.unchanged(samples)

    @classmethod
    def unchanged(cls, samples: Samples) -> Self:
        """The rows as they are, taken for standard ones.

        samples  rows, as `samples.open` gives them
        """
        return cls(samples, np.zeros(samples.d), None)

    @property
    def center(self) -> np.ndarray | None:
        """ν, or None where it is zero within its error."""
        return self.mean if has_mean(self.mean, self.rows.n) else None

    @property
    def centred(self) -> Samples:
        """The rows with zero mean, as moments need them."""
        return self.rows if self.center is None else self.rows.map(Scaling.shift(self.mean))

    def undo(self, network: Network) -> Network:
        """The network as a function of the raw input."""
        return network if self.whitening is None else self.whitening.undo(network)

    def on_network(self, network: Network) -> Network:
        """The network as a function of the white input."""
        return network if self.whitening is None else self.whitening.on_network(network)


def _moved(network: Network, move: Callable[[np.ndarray], np.ndarray], mean: np.ndarray, *, before: bool) -> Network:
    """W and V of other inputs, and what ⟨w, μ⟩ adds to b and Vᵀμ to c, of the weights before the move or after it."""
    W, V, c = move(network.W), network.V, network.c
    if V is not None:
        moved = move(V)
        V, c = moved, c + mean @ (V if before else moved)
    return replace(network, W=W, b=network.b + mean @ (network.W if before else W), c=c, V=V)


def has_mean(nu: np.ndarray, n: float) -> bool:
    """Whether the mean ν of n white rows is more than chance: n‖ν‖² ~ χ²_d has the mean d and the variance 2d."""
    return bool(n * float(nu @ nu) > len(nu) + LIMITS.mean_level * math.sqrt(2 * len(nu)))


def spreads(X: np.ndarray) -> np.ndarray:
    """(d,) standard deviations that neither overflow nor vanish before the values do."""
    size = power_of_two(np.max(np.abs(X), axis=0))
    return np.asarray(np.std(X / size, axis=0) * size)


def power_of_two(values: np.ndarray) -> np.ndarray:
    """The powers of two just above the values, 1 for zero; at most 2¹⁰²³."""
    _, exponents = np.frexp(values)
    return np.asarray(np.where(values > 0, np.ldexp(1.0, np.clip(exponents, -1020, 1023)), 1.0))


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
        w = xp.ones_like(block.X[:, 0]) if block.w is None else block.w
        weight = xp.sum(w)
        mean = xp.matmul(w, block.X) / xp.where(weight > 0, weight, 1.0 + 0.0 * weight)
        centred = block.X - mean
        scatter = matmul_transposed(centred, centred if block.w is None else w[:, None] * centred)
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
    constant = np.flatnonzero(spread <= LIMITS.constant * np.abs(mean))
    if constant.size:
        raise SingularError(f"column {int(constant[0])} of X is constant; drop it.")
    correlation = covariance / spread[:, None] / spread
    values, vectors = np.linalg.eigh(correlation)
    if values[0] * LIMITS.condition < values[-1]:
        raise SingularError("the covariance of X is singular: some columns are linearly dependent; drop the redundant ones.")
    if spread.max() > LIMITS.alike * spread.min():
        return np.asarray(vectors / np.sqrt(values) @ vectors.T / spread[:, None])
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors / np.sqrt(values) @ vectors.T)
