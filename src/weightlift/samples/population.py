"""The population of a known network: x ~ N(0, I), y = f(x). Means are exact; there are no rows.

An algorithm that runs on rows runs here unchanged as long as its statistics know their expectation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from weightlift.errors import ArgumentError, NoExpectationError
from weightlift.namespaces import Namespace, array_namespace
from weightlift.network import Network, require_single
from weightlift.samples.keys import intervals
from weightlift.samples.protocol import Block, Map, Statistic, Sums


@dataclass(frozen=True, eq=False)
class Population:
    """Infinitely many rows of a network's law; weights sum to one."""

    network: Network
    n = math.inf
    n_outputs = None
    total = 1.0
    device = "cpu"

    def __post_init__(self) -> None:
        if not isinstance(self.network, Network):
            raise ArgumentError(f"network must be a Network, not {type(self.network).__name__}.")
        require_single(self.network, "the population source")

    @property
    def d(self) -> int:
        return self.network.n_inputs

    @property
    def xp(self) -> Namespace:
        return array_namespace(self.network.W)

    @property
    def dtype(self) -> Any:
        return np.dtype(np.float64)

    def fold(self, statistic: Statistic) -> Sums:
        return self.mean(statistic)

    def mean(self, statistic: Statistic) -> Sums:
        expectation = getattr(statistic, "expectation", None)
        if expectation is None:
            name = type(statistic).__name__
            raise NoExpectationError(f"{name} has no closed-form expectation; draw rows from the network instead.")
        return tuple(np.asarray(value) for value in expectation(self.network))

    def split(self, *fractions: float, seed: int) -> tuple[Population, ...]:
        return (self,) * len(intervals(fractions))

    def map(self, f: Map) -> Population:
        on_network = getattr(f, "on_network", None)
        if on_network is None:
            raise ArgumentError(f"{type(f).__name__} acts on rows only; draw rows from the network instead.")
        return replace(self, network=on_network(self.network))

    def persist(self) -> Population:
        return self

    def blocks(self, rows: int, *, start: int = 0) -> Iterator[Block]:
        raise ArgumentError("a population has no rows; draw them with weightlift.draw(network, n).")
