"""Every subset of the columns of C (rows, k) whose sum is small: all f ∈ {0, 1}ᵏ with ‖C f‖ ≤ size.

Pivots      C P = Q R by pivoted QR, r pivots. ‖C f‖ ≤ size bounds R₁ f_pivot + R₂ f_free, so that, coordinate by coordinate,
            |f_pivot + R₁⁻¹R₂ f_free| ≤ size · ‖row of R₁⁻¹‖. With r the largest number of pivots for which these bounds stay
            below 1/4, each of the 2^{k−r} values of f_free leaves at most one f_pivot: nothing is missed, whatever the
            numerical rank.
Halves      Meet in the middle: the 2^{k/2} sums over one half of the columns, hashed by cells of a grid and sorted, are
            searched for the negatives of those over the other half; a sum next to a wall is looked up in both cells.

Both only propose subsets; each is then tested. The cheaper is taken. Cost O(2^{k−r}) or O(2^{k/2}), memory O(1) or 2^{k/2}
words: 512 MB at k = 52, the most that is tried.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from weightlift.namespaces import row_ranges

MAX_FREE = 25  # 2^25 values of the free coordinates take about a second
MAX_HALF = 26  # 2^26 sorted keys
MAX_CANDIDATES = 2**28
PIVOT_BOUND = 0.25
KEY_ROWS = 12
EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class SubsetSums:
    """The columns to add up, triangular: C P = Q R, with P given by `order`."""

    R: np.ndarray  # (min(rows, k), k)
    order: np.ndarray  # (k,)

    @classmethod
    def of(cls, C: np.ndarray) -> SubsetSums:
        R, order = scipy.linalg.qr(C, mode="r", pivoting=True, check_finite=False)
        return cls(np.ascontiguousarray(R[: min(C.shape)]), order)

    def small(self, size: float, *, limit: int) -> tuple[np.ndarray, bool] | None:
        """The f with ‖C f‖ ≤ size, (n, k) booleans, at most `limit`, and whether these are all; None if too many to try."""
        R, k = self.R, self.R.shape[1]
        r = self.pivots(size)
        if k - r <= min(MAX_FREE, k // 2 + 3):
            proposals = _by_pivots(R, r, size)
        elif (k + 1) // 2 <= MAX_HALF:
            proposals = _by_halves(R, size)
        elif k - r <= MAX_FREE:
            proposals = _by_pivots(R, r, size)
        else:
            return None
        found: list[np.ndarray] = []
        tried = kept = 0
        for F in proposals:
            good = F[np.linalg.norm(F @ R.T, axis=1) <= size]
            found.append(good)
            tried, kept = tried + len(F), kept + len(good)
            if kept > limit or tried > MAX_CANDIDATES:
                break
        patterns = np.zeros((min(kept, limit), k), dtype=bool)
        patterns[:, self.order] = np.concatenate(found)[:limit]
        return patterns, kept <= limit and tried <= MAX_CANDIDATES

    def pivots(self, size: float) -> int:
        """The largest r with size · ‖row of R₁⁻¹‖ < 1/4, R₁ the leading (r, r) block, whose inverse is that of R's inverse."""
        diagonal = np.abs(np.diagonal(self.R))
        r = int(np.count_nonzero(diagonal > max(size, EPS * diagonal[0])))
        inverse = scipy.linalg.solve_triangular(self.R[:r, :r], np.eye(r), check_finite=False)
        worst = np.sqrt(np.cumsum(inverse**2, axis=1)).max(axis=0) if r else np.zeros(0)
        return int(np.count_nonzero(size * worst < PIVOT_BOUND))


def _by_pivots(R: np.ndarray, r: int, size: float) -> Iterator[np.ndarray]:
    """For every f_free the f_pivot that the rows of R allow, as batches (m, k)."""
    k = R.shape[1]
    inverse = scipy.linalg.solve_triangular(R[:r, :r], np.eye(r), check_finite=False)
    G = -inverse @ R[:r, r:]
    bound = size * np.linalg.norm(inverse, axis=1) + 1e-6
    low = min(14, k - r)
    bits = _bits(np.arange(2**low), low)
    table = np.asfortranarray(bits @ G[:, :low].T)  # (2^low, r): sums over the first free columns
    for high in range(2 ** (k - r - low)):
        top = _bits(np.array([high]), k - r - low)[0]
        base = G[:, low:] @ top
        rows = np.arange(2**low)
        for j in range(r):
            value = table[rows, j] + base[j] if j else table[:, 0] + base[0]
            rows = rows[np.abs(value - (value > 0.5)) <= bound[j]]
            if not rows.size:
                break
        if rows.size:
            pivots = table[rows] + base > 0.5
            yield np.hstack([pivots, bits[rows], np.broadcast_to(top, (rows.size, top.size))])


def _by_halves(R: np.ndarray, size: float) -> Iterator[np.ndarray]:
    """Pairs of halves whose sums fall into the same or neighbouring cells, as batches (m, k)."""
    k = R.shape[1]
    half = k // 2
    width = k - half
    grid = _Grid.of(R, size, bits=width + 6)
    tag = np.uint64(2**half - 1)  # the low bits of a key hold its subset, the high ones the hash of its cell
    keys = np.empty(2**half, dtype=np.uint64)
    for first, sums in _all_sums(R[: grid.rows, :half]):
        subset = np.arange(first, first + len(sums), dtype=np.uint64)
        keys[first : first + len(sums)] = (grid.cell(sums) & ~tag) | subset
    keys.sort()
    for first, sums in _all_sums(-R[: grid.rows, half:]):
        hashes, partner = grid.cells_nearby(sums)
        queue = np.argsort(hashes)  # neighbours in the queue then read neighbouring keys
        hashes, partner = hashes[queue], partner[queue] + first
        start = np.searchsorted(keys, hashes & ~tag, side="left")
        stop = np.searchsorted(keys, hashes | tag, side="right")
        ends = np.cumsum(stop - start)
        for i, j in row_ranges(int(ends[-1]), 2**16):
            index = np.arange(i, j)
            query = np.searchsorted(ends, index, side="right")
            left = keys[stop[query] - (ends[query] - index)] & tag
            yield np.hstack([_bits(left.astype(np.int64), half), _bits(partner[query], width)])


@dataclass(frozen=True)
class _Grid:
    """Cells of the first rows of R, numbered by a linear hash with random odd multipliers."""

    rows: int
    reach: np.ndarray  # (rows,) how far apart two matching sums may be
    side: np.ndarray  # (rows,)
    shift: np.ndarray  # (rows,) keeps sums of regular columns off the walls
    multiplier: np.ndarray  # (rows,)

    @classmethod
    def of(cls, R: np.ndarray, size: float, *, bits: int) -> _Grid:
        """As many cells as keep chance meetings rare, 2^bits, but none narrower than four times the reach."""
        length = np.linalg.norm(R, axis=1)[:KEY_ROWS]
        rows = max(1, int(np.count_nonzero(length > 8 * size)))
        length = length[:rows]
        reach = size + 64 * EPS * np.abs(R[:rows]).sum(axis=1)
        rng = np.random.default_rng(0)
        multiplier = rng.integers(0, 2**63, rows, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        return cls(rows, reach, np.maximum(4 * reach, length * 2.0 ** (-bits / rows)), rng.random(rows), multiplier)

    def cell(self, sums: np.ndarray) -> np.ndarray:
        cells = np.floor(sums / self.side + self.shift).astype(np.int64).view(np.uint64)
        return np.asarray((cells * self.multiplier).sum(axis=1, dtype=np.uint64))

    def cells_nearby(self, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The cells that each sum's neighbourhood touches, and which sum it is."""
        low = np.floor((sums - self.reach) / self.side + self.shift).astype(np.int64)
        high = np.floor((sums + self.reach) / self.side + self.shift).astype(np.int64)
        hashes = (low.view(np.uint64) * self.multiplier).sum(axis=1, dtype=np.uint64)
        partner = np.arange(len(sums))
        for j in range(self.rows):
            second = np.flatnonzero(high[partner, j] > low[partner, j])
            hashes = np.concatenate([hashes, hashes[second] + self.multiplier[j]])
            partner = np.concatenate([partner, partner[second]])
        return hashes, partner


def _all_sums(C: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """(first, sums): the sums (m, rows) over the subsets first, first + 1, …, bit i of a subset's number standing for column i."""
    k = C.shape[1]
    low = min(14, k)
    table = _bits(np.arange(2**low), low) @ C[:, :low].T
    for high in range(2 ** (k - low)):
        yield high << low, table + C[:, low:] @ _bits(np.array([high]), k - low)[0]


def _bits(numbers: np.ndarray, count: int) -> np.ndarray:
    """The lowest `count` binary digits of each number, (m, count) booleans."""
    return (numbers[:, None] >> np.arange(count)) & 1 == 1
