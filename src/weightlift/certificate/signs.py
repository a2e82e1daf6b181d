"""Random signs that form a group, and sums over rows for all of them at once.

A row falls into one of 2ᵍ cells by g bits h of a hash of its key. The draws b = 0 … 2ᵍ − 1 give it the signs

    e_b = (−1)^{⟨h, b⟩},      e_b e_c = e_{b ⊕ c},      e_0 = 1.

For b ≠ 0 these are fair and independent from row to row, and for b ≠ c independent of each other, so that a share of the draws
has the variance that it has for independent ones. They are a group: a statistic of errors with symmetric laws is as likely to
be the largest as that of any other draw, exactly [lehmann2005, §15.2]. And Σ e_b v over rows is the Walsh
transform of the sums of v over cells: a row is added once, not once a draw.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from weightlift.certificate.limits import LIMITS
from weightlift.namespaces import Array, array_namespace, on_host, to_numpy
from weightlift.samples import Block
from weightlift.samples.keys import uniforms

CELLS = LIMITS.flips + 1


def cells_of(block: Block, seed: int) -> Array:
    """(m,) the rows' cells: the same whatever the source and the order, and the same for copies."""
    xp = array_namespace(block.X)
    return xp.astype(uniforms(block.key, seed) * CELLS, xp.int64)


def sums_over_cells(cells: Array, weights: Array, rows: Array) -> Array:
    """Σ weight · row of each cell (2ᵍ, c), from rows (m, c): additions on a host, a product where these are slow."""
    xp = array_namespace(rows)
    m = rows.shape[0]
    if on_host(rows.device):
        from scipy.sparse import csr_array

        placed = csr_array((to_numpy(weights), to_numpy(cells), np.arange(m + 1)), shape=(m, CELLS))
        return xp.asarray(placed.T @ to_numpy(rows), device=rows.device)
    places = xp.arange(CELLS, dtype=cells.dtype, device=rows.device)
    return xp.matmul(xp.astype(places[:, None] == cells, rows.dtype) * weights, rows)


def over_draws(sums: np.ndarray) -> np.ndarray:
    """Σ over cells of e_b · sum for every draw b ≠ 0, (2ᵍ − 1, …), from sums (2ᵍ, …): high bits, then low."""
    bits = CELLS.bit_length() - 1
    high, low = _walsh(bits // 2), _walsh(bits - bits // 2)
    halfway = (high @ sums.reshape(len(high), -1)).reshape(len(high), len(low), -1)
    return np.asarray((low @ halfway).reshape(sums.shape)[1:])


@cache
def _walsh(bits: int) -> np.ndarray:
    """(−1)^{⟨h, b⟩}, (2^bits, 2^bits)."""
    H = np.ones((1, 1))
    for _ in range(bits):
        H = np.block([[H, H], [H, -H]])
    return H
