"""Standard inputs: what is judged does not depend on the inputs' units and, with biases, not on their origin.

    x̃ = (x − m)/s,   w̃ = s w,   b̃ = b + ⟨w, m⟩,      s a power of two near the root mean square of x − m,
                                                      m the mean, rounded to whole s; m = 0 without biases.

So x̃ is x up to its exponent, but for the last bit of x − m where m ≠ 0, and of data near the origin nothing changes at all.
What is known of x̃'s units is carried back with its rounding errors (`carried`): where an input hardly varies, w and b are far
less certain than b + ⟨w, m⟩, and the matrix of a region may have no digits left for the latter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from weightlift.evidence.rows import EPS
from weightlift.namespaces import array_namespace, to_numpy
from weightlift.network import Network
from weightlift.samples import Block, Covariance, Samples
from weightlift.samples.standardization import Scaling


@dataclass(frozen=True, eq=False)
class Standard:
    """A map of rows, and of what belongs to them."""

    mean: np.ndarray  # (d,)
    scale: np.ndarray  # (d,)

    @classmethod
    def of(cls, samples: Samples, *, bias: bool) -> Standard:
        weight, mean, scatter = (to_numpy(v) for v in samples.fold(Covariance(samples.d)))
        spread = np.diagonal(scatter) / weight
        square = np.where(spread > 1e-24 * mean**2, spread, mean**2) if bias else spread + mean**2
        usable = np.isfinite(square) & (square > 0)
        scale = np.where(usable, np.exp2(np.round(0.5 * np.log2(np.where(usable, square, 1.0)))), 1.0)
        return cls(np.where(usable & bias, scale * np.round(mean / scale), 0.0), scale)

    def __call__(self, block: Block) -> Block:
        xp = array_namespace(block.X)
        return self._map(replace(block, X=xp.astype(block.X, xp.float64, copy=False)))

    def rows(self, samples: Samples) -> Samples:
        """The rows in standard inputs, where they are kept; those that are standard in float64 already stay as they are."""
        same = not self.mean.any() and (self.scale == 1.0).all() and samples.dtype == samples.xp.float64
        return (samples if same else samples.map(self)).persist()

    def network(self, network: Network) -> Network:
        """The network as a function of x̃."""
        return self._map.on_network(network)

    def undo(self, network: Network) -> Network:
        return self._map.undo(network)

    @property
    def _map(self) -> Scaling:
        return Scaling(self.mean, self.scale)

    def unit(self, q: int) -> np.ndarray:
        """(q, q): w, b and what follows of a unit from its standard ones."""
        d = len(self.scale)
        T = np.eye(q)
        T[:d, :d] /= self.scale
        if self.mean.any():
            T[d, :d] = -self.mean / self.scale
        return T

    def units(self, L: np.ndarray, q: int, k: int) -> np.ndarray:
        """(p, r) changes of all coordinates from standard ones, of which the first q k are those of the units."""
        units = np.tensordot(self.unit(q), L[: q * k].reshape(q, k, L.shape[1]), axes=1)
        return np.concatenate([units.reshape(q * k, L.shape[1]), L[q * k :]])


def carried(T: np.ndarray, regions: np.ndarray) -> np.ndarray:
    """T R Tᵀ of regions R (…, q, q) and their rounding errors: it holds all that the exact one does.

    The product is off by E with |E| ≤ γ v vᵀ, v = |T| (Rᵢᵢ)^½, γ = 2 q ε, so that xᵀEx ≤ γ (Σ vᵢ |xᵢ|)² ≤ q γ Σ vᵢ² xᵢ². Twice
    that is added: as much again as E for what is lost where an equation is solved with it.
    """
    q = regions.shape[-1]
    v = np.sqrt(np.maximum(np.diagonal(regions, axis1=-2, axis2=-1), 0.0)) @ np.abs(T).T
    return np.asarray(T @ regions @ T.T + 4 * q**2 * EPS * (v**2)[..., None] * np.eye(len(T)))
