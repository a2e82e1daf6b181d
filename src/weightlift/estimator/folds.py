"""Rows held out in turn: what an α and a width are chosen by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from weightlift.activations import Activation
from weightlift.estimator.limits import LIMITS
from weightlift.estimator.penalized import Data, Parameters


@dataclass(frozen=True, eq=False)
class Folds:
    """Rows with the number of the fold that each is held out in."""

    data: Data
    number: np.ndarray  # (n,)
    training: tuple[Data, ...]

    @classmethod
    def of(cls, data: Data, seed: int) -> Self:
        """Every five neighbours in the order of the targets go to the folds in a random order."""
        blocks = -(-len(data.t) // LIMITS.folds)
        rng = np.random.default_rng(seed)
        order = np.argsort(rng.random((blocks, LIMITS.folds)), axis=1)
        number = order.ravel()[: len(data.t)]
        return cls(data, number, tuple(data.take(np.flatnonzero(number != i)) for i in range(LIMITS.folds)))

    def errors(self, fits: Sequence[Parameters], activation: Activation) -> np.ndarray:
        """(n,) r² of every row under the fit that has not seen it."""
        errors = np.empty(len(self.data.t))
        for i, fit in enumerate(fits):
            held = np.flatnonzero(self.number == i)
            errors[held] = (fit.network(activation).predict(self.data.Z[held]) - self.data.t[held]) ** 2
        return errors


def standard_error(data: Data, differences: np.ndarray) -> float:
    """Of the weighted mean of paired differences."""
    w = np.ones(len(differences)) if data.w is None else data.w
    centred = differences - data.mean(differences)
    return float(np.sqrt(np.sum((w * centred) ** 2)) / np.sum(w))


def spread_rows(n: int) -> np.ndarray:
    """All rows, or as many as a choice is made on, evenly over the order of the targets."""
    return np.unique(np.linspace(0, n - 1, min(n, LIMITS.most_rows)).round().astype(int))
