"""Maps beside whitening: residual targets and random signs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from weightlift.namespaces import Array, array_namespace
from weightlift.network import Network
from weightlift.samples.keys import uniforms
from weightlift.samples.protocol import Block


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
        signs = xp.where(uniforms(block.key, self.seed) < 0.5, -1.0 + 0.0 * block.y, 1.0 + 0.0 * block.y)
        return replace(block, y=block.y * signs)

    def on_network(self, network: Network) -> Network:
        """Every moment with fair signs is zero."""
        return replace(network, a=np.zeros(network.n_units), c=0.0)
