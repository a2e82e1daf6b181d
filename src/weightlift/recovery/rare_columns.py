"""Columns that hardly vary: k units have k weights on a column, and only rows where it leaves its usual value tell them.

Proof   Let x_j = c on all rows but s. Where w_ji moves by δᵢ and bᵢ by −c δᵢ, ⟨wᵢ, x⟩ + bᵢ changes on those s rows alone: k
        directions that s residuals see. For s < k one of them changes nothing to first order, whatever the network: no row
        determines its units. Without biases the same holds for c = 0.
Cost    the first rows, and one pass where they leave a doubt.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weightlift.namespaces import array_namespace, as_like, to_numpy
from weightlift.samples import Block, Samples, Sums
from weightlift.samples.columns import Columns

FIRST_ROWS = 1000  # in which a column that varies has left its usual value often enough
NAMED = 6  # columns in a sentence


def departures(samples: Samples, least: int, *, bias: bool) -> np.ndarray:
    """(d,) on how many rows each column leaves its usual value (zero without biases), or a smaller number from `least` on.

    >>> import weightlift as wl
    >>> X = np.array([[0.0, 7.0], [1.0, 7.0], [2.0, 7.0], [3.0, 9.0]])
    >>> departures(wl.samples.open(X, X[:, 0]), 2, bias=True).tolist()
    [4, 1]
    """
    first = to_numpy(next(iter(samples.blocks(FIRST_ROWS))).X)
    usual = np.median(first, axis=0) if bias else np.zeros(samples.d)
    seen: np.ndarray = np.count_nonzero(first != usual, axis=0)
    if len(first) == samples.n or (seen >= least).all():
        return seen
    counted: np.ndarray = np.rint(to_numpy(samples.fold(Departures(usual))[0])).astype(int)
    return counted


def rare(departures: np.ndarray, width: int, columns: Columns) -> str:
    """A sentence that names the columns with fewer departures than units, rarest first; "" where there are none."""
    chosen = [int(j) for j in np.argsort(departures, kind="stable") if departures[j] < width]
    if not chosen:
        return ""
    listed = ", ".join(f"{columns.input(j)} ({departures[j]})" for j in chosen[:NAMED])
    more = f" and {len(chosen) - NAMED} more" if len(chosen) > NAMED else ""
    return (
        f"Inputs that leave their usual value on fewer rows than there are units, {width}: {listed}{more}. Rows do not "
        "determine the units' weights on them, whatever the network; drop them, or give more rows on which they vary."
    )


@dataclass(frozen=True, eq=False)
class Departures:
    """(d,) rows on which x_j is not `usual`, whatever their weight."""

    usual: np.ndarray

    @property
    def floats_per_row(self) -> int:
        return 2 * len(self.usual)

    def __call__(self, block: Block) -> Sums:
        xp = array_namespace(block.X)
        return (xp.sum(xp.astype(as_like(self.usual, block.X) != block.X, xp.float64), axis=0),)
