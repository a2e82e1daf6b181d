"""Maps beside whitening: residual targets, random signs, and Gaussian radii for elliptical inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from weightlift.namespaces import Array, array_namespace, from_numpy, to_numpy
from weightlift.network import Network
from weightlift.samples.keys import uniforms
from weightlift.samples.protocol import Block, refuse_several


@dataclass(frozen=True, eq=False)
class Residual:
    """y → y − predict(x): control variates, or what a fitted network leaves over.

    Moments E[y He_k(x)] of order k above the degree of a polynomial `predict` are unchanged in expectation.
    """

    predict: Callable[[Array], Array]

    def __call__(self, block: Block) -> Block:
        return replace(block, y=block.y - self.predict(block.X))

    def on_network(self, network: Network) -> Network:
        """The population's higher moments do not see a polynomial of lower degree."""
        return network


@dataclass(frozen=True)
class RandomSigns:
    """y → ±y, the sign decided by the row's key: what is left of a moment is its noise floor."""

    seed: int

    def __call__(self, block: Block) -> Block:
        xp = array_namespace(block.y)
        refuse_several(block.y)
        signs = xp.where(uniforms(block.key, self.seed) < 0.5, -1.0 + 0.0 * block.y, 1.0 + 0.0 * block.y)
        return replace(block, y=block.y * signs)

    def on_network(self, network: Network) -> Network:
        """Every moment with fair signs is zero."""
        return replace(network, a=np.zeros(network.n_units), c=0.0)


@dataclass(frozen=True)
class Radial:
    """x → t x, y → t^q y with t = χ_d/‖x‖: a spherical law becomes N(0, I), and f stays f where f(t x) = t^q f(x).

    Needs whitened elliptical inputs, and a network of homogeneous φ of degree q without biases and offset. χ_d is drawn by the
    row's key. Noise in y becomes noise of another size in each row.
    """

    degree: float
    seed: int

    def __call__(self, block: Block) -> Block:
        from scipy.special import gammaincinv

        refuse_several(block.y)
        xp, d = array_namespace(block.X), block.X.shape[1]
        chance = to_numpy(uniforms(block.key, self.seed)) + 2.0**-54
        radius = from_numpy(np.sqrt(2.0 * gammaincinv(d / 2.0, chance)), like=block.X)
        length = xp.sqrt(xp.sum(xp.astype(block.X, xp.float64, copy=False) ** 2, axis=1))
        t = xp.astype(xp.where(length > 0, radius / xp.where(length > 0, length, 1.0 + 0.0 * length), length), block.X.dtype)
        return replace(block, X=t[:, None] * block.X, y=t**self.degree * block.y)

    def on_network(self, network: Network) -> Network:
        """A Gaussian radius replaced by another one."""
        return network
