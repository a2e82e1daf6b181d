"""Every subset of the columns of C (rows, k) whose sum is small: all f ∈ {0, 1}ᵏ with ‖C f‖ ≤ size.

Pivots      C P = Q R by pivoted QR, r pivots. ‖C f‖ ≤ size bounds R₁ f_pivot + R₂ f_free, so that, coordinate by coordinate,
            |f_pivot − G f_free| ≤ size · ‖row of R₁⁻¹‖, G = −R₁⁻¹R₂. With r the largest number of pivots for which these
            bounds stay below 1/4, each of the 2^{k−r} values of f_free leaves at most one f_pivot: nothing is missed,
            whatever the numerical rank.
Halves      Meet in the middle: G f_free is nearly integer, so that its parts from one half of the free columns, modulo 1,
            are the negatives of those from the other: 2^{(k−r)/2} of each. Columns on a lattice, whose G has few
            fractional parts, are halved without pivots: R f ≈ 0 from 2^{k/2} sums of each half.

All only propose subsets; each is then tested. Cost O(2^{k−r}) for small k − r, else O(2^{(k−r)/2}), on a lattice O(2^{k/2}) or
O(2^{k−r}); memory 16 bytes for each sum of a half, 1 GiB for the most that are tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg

from weightlift.namespaces import row_ranges

FEW_FREE = 14  # up to 2^14 values of the free coordinates are tried one by one
MAX_BITS = 26  # at most 2^26 sums of a half, or values of the free coordinates
CHANCE = 2**21  # pairs of halves that may meet by chance (2^20 are expected at most) before a way counts as unfit
PIVOT_BOUND = 0.25  # of the error of a coefficient that is 0 or 1: half of what rounding it would bear
KEY_ROWS = 12  # coordinates of a sum that its cell is named by, the most telling ones
EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class SubsetSums:
    """The columns to add up, scaled to ‖C‖ = 1 and triangular: C P = Q R, with P given by `order`."""

    R: np.ndarray  # (min(rows, k), k)
    order: np.ndarray  # (k,)

    @classmethod
    def of(cls, C: np.ndarray) -> SubsetSums:
        R, order = scipy.linalg.qr(C, mode="r", pivoting=True, check_finite=False)
        return cls(np.ascontiguousarray(R[: min(C.shape)]), order)

    def small(self, size: float, *, limit: int, max_bits: int = MAX_BITS) -> tuple[np.ndarray, bool] | None:
        """The f with ‖C f‖ ≤ size, (n, k) booleans, at most `limit`, and whether these are all.

        None if that takes more than about 2^max_bits sums.
        """
        k, r = self.R.shape[1], self.pivots(size)
        if k - r > FEW_FREE and k - r <= 2 * max_bits:
            answer = self._tested(self._by_halves(r, size), size, limit, CHANCE)
            if answer is not None:
                return answer
        if k - r <= max_bits and (k - r <= k // 2 + 4 or k > 2 * max_bits):
            return self._tested(self._by_pivots(r, size), size, limit)
        if k <= 2 * max_bits:
            return self._tested(self._by_halves(0, size), size, limit, 8 * CHANCE)
        return None

    def pivots(self, size: float) -> int:
        """The largest r with size · ‖row of R₁⁻¹‖ < 1/4, R₁ the leading (r, r) block; its inverse leads that of R."""
        worst = np.sqrt(np.cumsum(self._inverse**2, axis=1)).max(axis=0) if self._inverse.size else np.zeros(0)
        return int(np.count_nonzero((size + self._rounding) * worst < PIVOT_BOUND))

    @cached_property
    def _inverse(self) -> np.ndarray:
        diagonal = np.abs(np.diagonal(self.R))
        r = int(np.count_nonzero(diagonal > self._rounding))
        return np.asarray(scipy.linalg.solve_triangular(self.R[:r, :r], np.eye(r), check_finite=False))

    @property
    def _rounding(self) -> float:
        return 8.0 * EPS * int(self.R.shape[1])

    def _tested(
        self, proposals: Iterator[np.ndarray], size: float, limit: int, budget: float = np.inf
    ) -> tuple[np.ndarray, bool] | None:
        """Those proposals that hold, until there are more than `limit`; None if more than `budget` had to be tried."""
        found = [np.zeros((0, self.R.shape[1]), dtype=bool)]
        tried = kept = 0
        for F in proposals:
            good = F[np.linalg.norm(F @ self.R.T, axis=1) <= size]
            found.append(good)
            tried, kept = tried + len(F), kept + len(good)
            if kept > limit:
                break
            if tried > budget:
                return None
        good = np.concatenate(found)[:limit]
        patterns = np.zeros_like(good)
        patterns[:, self.order] = good
        return np.unique(patterns, axis=0), kept <= limit

    def _solve(self, r: int, size: float) -> tuple[np.ndarray, np.ndarray]:
        """G (r, k − r), and how far f_pivot may be from G f_free (r,)."""
        inverse = self._inverse[:r, :r]
        return -inverse @ self.R[:r, r:], (size + self._rounding) * np.linalg.norm(inverse, axis=1)

    def _by_pivots(self, r: int, size: float) -> Iterator[np.ndarray]:
        """For every f_free the f_pivot that is near G f_free, as batches (m, k)."""
        G, bound = self._solve(r, size)
        for subsets, sums in _all_sums(G):
            rows = np.arange(len(subsets))
            for value, far in zip(sums, bound, strict=True):
                value = value[rows]
                rows = rows[np.abs(value - (value > 0.5)) <= far]
                if not rows.size:
                    break
            if rows.size:
                yield np.hstack([sums[:, rows].T > 0.5, _bits(subsets[rows], G.shape[1])])

    def _by_halves(self, r: int, size: float) -> Iterator[np.ndarray]:
        """Halves of f_free whose parts of G f_free add up to an integer, or for r = 0 of R f to zero, as batches (m, k)."""
        n = self.R.shape[1] - r
        if r:
            G, reach = self._solve(r, size)
            for F in _Grid.of(G, reach, np.ones(r), bits=n // 2 + 6, periodic=True).pairs():
                yield np.hstack([F @ G.T > 0.5, F])
        else:
            length = np.linalg.norm(self.R, axis=1)
            reach = np.full(len(length), size + self._rounding)
            yield from _Grid.of(self.R, reach, length, bits=n // 2 + 6, periodic=False).pairs()


@dataclass(frozen=True)
class _Grid:
    """Subset sums by cells of a grid, numbered by a linear hash with random odd multipliers."""

    M: np.ndarray  # (rows, n) the columns to add up, in units of a cell
    reach: np.ndarray  # (rows, 1) how far apart two matching sums may be, at most a quarter
    count: np.ndarray | None  # (rows, 1) of cells around, if sums count modulo that
    shift: np.ndarray  # (rows, 1) keeps the sums of regular columns off the walls
    multiplier: np.ndarray  # (rows, 1)

    @classmethod
    def of(cls, M: np.ndarray, reach: np.ndarray, length: np.ndarray, *, bits: int, periodic: bool) -> _Grid:
        """As many cells as keep chance meetings rare, about 2^bits, but none narrower than four times the reach."""
        rows = np.argsort(reach / np.maximum(length, EPS), kind="stable")[:KEY_ROWS]
        cells = np.minimum(length[rows] / (4 * reach[rows]), 2.0 ** np.ceil(bits / len(rows) + 1))
        rows, cells = rows[cells >= 2], np.floor(cells[cells >= 2])[:, None]
        side = length[rows][:, None] / cells
        rng = np.random.default_rng(0)
        multiplier = rng.integers(0, 2**63, (len(rows), 1), dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        shift = rng.random((len(rows), 1))
        return cls(M[rows] / side, reach[rows][:, None] / side, cells if periodic else None, shift, multiplier)

    def pairs(self) -> Iterator[np.ndarray]:
        """Subsets, batches (m, n), whose two halves have sums in cells that match."""
        n = self.M.shape[1]
        half = n // 2
        tag = np.uint64(2**half - 1)  # the low bits of a key hold its subset, the high ones the hash of its cell
        keys = np.empty(2**half, dtype=np.uint64)
        for subsets, sums in _all_sums(self.M[:, :half]):
            hashes = self._hash(sums + self.shift).sum(axis=0, dtype=np.uint64)
            keys[subsets] = (hashes & ~tag) | subsets.astype(np.uint64)
        keys.sort()
        prefix = np.uint64(61 - half)
        taken = np.zeros(2 ** (half + 3), dtype=bool)  # spares the search for seven hashes in eight
        taken[keys >> prefix] = True
        for subsets, sums in _all_sums(-self.M[:, half:]):
            hashes, partner = self._nearby(sums + self.shift)
            hit = np.flatnonzero(taken[hashes >> prefix])
            hashes, partner = hashes[hit], subsets[partner[hit]]
            start = np.searchsorted(keys, hashes & ~tag, side="left")
            stop = np.searchsorted(keys, hashes | tag, side="right")
            ends = np.cumsum(stop - start)
            for i, j in row_ranges(int(ends[-1]) if ends.size else 0, 2**16):
                index = np.arange(i, j)
                query = np.searchsorted(ends, index, side="right")
                left = keys[stop[query] - (ends[query] - index)] & tag
                yield np.hstack([_bits(left.astype(np.int64), half), _bits(partner[query], n - half)])

    def _nearby(self, position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Hashes of the cells that each sum's neighbourhood touches, and which sum it is."""
        low, high = self._hash(position - self.reach), self._hash(position + self.reach)
        hashes, partner = low.sum(axis=0, dtype=np.uint64), np.arange(position.shape[1])
        for below, above in zip(low, high, strict=True):
            second = np.flatnonzero(below[partner] != above[partner])
            step = above[partner[second]] - below[partner[second]]
            hashes = np.concatenate([hashes, hashes[second] + step])
            partner = np.concatenate([partner, partner[second]])
        return hashes, partner

    def _hash(self, position: np.ndarray) -> np.ndarray:
        """(rows, m): each row's share in the number of the cell, modulo 2⁶⁴."""
        cells = np.floor(position)
        if self.count is not None:
            cells -= self.count * np.floor(cells / self.count)
        return np.asarray(cells.astype(np.int64).view(np.uint64) * self.multiplier)


def _all_sums(M: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(subsets, sums): numbers (m,) of subsets and the sums (rows, m) of their columns; bit i of a number is column i."""
    n = M.shape[1]
    low = min(14, n)
    numbers = np.arange(2**low)
    table = M[:, :low] @ _bits(numbers, low).T
    for high in range(2 ** (n - low)):
        yield numbers + (high << low), table + M[:, low:] @ _bits(np.array([high]), n - low).T


def _bits(numbers: np.ndarray, count: int) -> np.ndarray:
    """The lowest `count` binary digits of each number, (m, count) booleans."""
    return np.asarray((numbers[:, None] >> np.arange(count)) & 1 == 1)
