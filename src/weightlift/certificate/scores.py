"""Scores of the rows at a fit: residuals, leverages, and rows of J in coordinates where JᵀJ is the identity.

With j the rows of J, H = Σ w jjᵀ = (L Lᵀ)⁻¹, h = w jᵀH⁻¹j the leverages and r the residuals,

    classical covariance   σ̂² H⁻¹,  σ̂² = Σ w r²/(n − p)
    sandwich               H⁻¹ (Σ w² r² jjᵀ) H⁻¹           (HC0) [White 1980]
    its jackknife form     r replaced by r/(1 − h)         (HC3) [MacKinnon & White 1985]

A row of m outputs has m rows of J, one score Jᵀr [Liang & Zeger 1986] and an (m, m) matrix of leverages. The sandwich is right
for noise whose size depends on x, not for a wrong model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from weightlift.certificate.limits import LIMITS
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.rows import SKETCH, Directions, double, rounded_keys
from weightlift.evidence.stacked import Coordinates, Known
from weightlift.namespaces import Array, array_namespace, from_numpy, matmul_transposed, matmul_upper, to_numpy
from weightlift.samples import Block, Sums

LARGEST_LEVERAGE = 1 - 1e-6  # beyond it 1 − h is rounding


@dataclass(frozen=True, eq=False)
class WhiteRows:
    """√w (n,), √w r (n, m) and √w J L (n, m, r) of m outputs, and the leverages of their combinations."""

    root: Array
    r: Array
    white: Array

    @classmethod
    def of(cls, block: Block, gauge: Coordinates, half_inverse: np.ndarray) -> WhiteRows:
        X, y, w = double(block)
        xp = array_namespace(X)
        J, values = gauge.linearized(X)
        n, m, p = J.shape
        root = xp.sqrt(w)
        J = xp.reshape(J if block.w is None else root[:, None, None] * J, (n * m, p))
        white = xp.reshape(matmul_upper(J, half_inverse), (n, m, half_inverse.shape[1]))
        return cls(root, root[:, None] * (values - (y[:, None] if y.ndim == 1 else y)), white)

    @cached_property
    def spectrum(self) -> tuple[Array, Array]:
        """Eigenvalues (n, m), the largest last, and vectors (n, m, m) of each row's H = √w JL (√w JL)ᵀ."""
        xp, white = array_namespace(self.white), self.white
        if white.shape[1] == 1:
            return xp.vecdot(white, white), xp.ones_like(white[:, :, :1])
        values, vectors = xp.linalg.eigh(xp.matmul(white, xp.matrix_transpose(white)))
        return values, vectors

    @property
    def leverage(self) -> Array:
        """(n,) the largest eigenvalue of H."""
        return self.spectrum[0][:, -1]

    @property
    def left(self) -> Array:
        """(n, m) those of I − H."""
        xp, values = array_namespace(self.white), self.spectrum[0]
        return 1.0 - xp.where(values < LARGEST_LEVERAGE, values, xp.full_like(values, LARGEST_LEVERAGE))

    def shrunk(self, r: Array) -> tuple[Array, Array]:
        """(I − H)^{½} and I − H undone in residuals: (I − H)^{-½} r and (I − H)⁻¹ r, (n, m)."""
        xp, left = array_namespace(r), self.left
        if r.shape[1] == 1:
            return r / xp.sqrt(left), r / left
        vectors = self.spectrum[1]
        along = xp.matmul(xp.matrix_transpose(vectors), r[:, :, None])[:, :, 0]
        half, whole = (xp.matmul(vectors, (along / v)[:, :, None])[:, :, 0] for v in (xp.sqrt(left), left))
        return half, whole

    def scores(self, r: Array) -> Array:
        """(n, r) √w (JL)ᵀr."""
        if r.shape[1] == 1:
            return r * self.white[:, 0, :]
        return array_namespace(r).matmul(r[:, None, :], self.white)[:, 0, :]


@dataclass(frozen=True, eq=False)
class Scores:
    """Lᵀ (Σ w² (Jᵀr)(Jᵀr)ᵀ) L, one score a row."""

    gauge: Coordinates
    half_inverse: np.ndarray

    @property
    def floats_per_row(self) -> int:
        return self.gauge.floats_per_row

    def __call__(self, block: Block) -> Sums:
        rows = WhiteRows.of(block, self.gauge, self.half_inverse)
        scores = rows.scores(rows.r)
        return (matmul_transposed(scores, scores),)


@dataclass(frozen=True, eq=False)
class Deciding:
    """(e, r) the vectors √w uᵀJL with leverage above the limit, u the eigenvectors of a row's H; at most r/limit of them.

    The largest eigenvalue of a sketch of H is no less than its estimate of the largest leverage: that of a row is below a
    quarter of it with probability P(χ²_s < s/4), 10⁻⁴ for s = 24 directions. The rows left are computed.
    """

    gauge: Coordinates
    half_inverse: np.ndarray
    sketch: np.ndarray  # (p, s) LG, G of independent N(0, 1/s); or L itself
    limit: float = LIMITS.deciding

    @classmethod
    def of(cls, information: Known, rng: np.random.Generator) -> Deciding:
        L, s = information.half_inverse, LIMITS.sketched
        few = L.shape[1] <= s
        return cls(information.gauge, L, L if few else L @ rng.standard_normal((L.shape[1], s)) / math.sqrt(s))

    @property
    def floats_per_row(self) -> int:
        return self.gauge.floats_per_row

    def __call__(self, block: Block) -> Sums:
        likely, rows = self._likely(block)
        if not likely.size:
            return (np.zeros((0, self.half_inverse.shape[1])),)
        values, vectors = (to_numpy(v) for v in rows.spectrum)
        high = values > self.limit
        some = high.any(axis=1)
        return ((np.swapaxes(vectors[some], 1, 2) @ to_numpy(rows.white)[some])[high[some]],)

    def merge(self, left: Sums, right: Sums) -> Sums:
        return (np.concatenate([left[0], right[0]]),)

    def without(self, block: Block) -> Block:
        """The rows of one output that are left: the weights of those above the limit are zero."""
        likely, rows = self._likely(block)
        w = array_namespace(block.X).ones_like(block.y) if block.w is None else block.w
        on = np.zeros(block.X.shape[0])
        if likely.size:
            on[likely] = to_numpy(rows.leverage) > self.limit
        return replace(block, w=w * (1.0 - from_numpy(on, like=block.y)))

    def _likely(self, block: Block) -> tuple[np.ndarray, WhiteRows]:
        """Rows whose leverage may be above the limit, and what they are."""
        rows = WhiteRows.of(block, self.gauge, self.sketch)
        likely = np.flatnonzero(to_numpy(rows.leverage) > 0.25 * self.limit)
        if likely.size:
            xp, some = array_namespace(block.X), from_numpy(likely, like=block.y)
            X, y, w = (None if v is None else xp.take(v, some, axis=0) for v in (block.X, block.y, block.w))
            rows = WhiteRows.of(replace(block, X=X, y=y, w=w), self.gauge, self.half_inverse)
        return likely, rows


@dataclass(frozen=True, eq=False)
class SharedLeverages:
    """Keys of the inputs and their leverages, each summed over the copies of an input, whose rows of J are parallel.

    With more than `SKETCH` inputs the smallest sums are dropped.
    """

    gauge: Gauge
    half_inverse: np.ndarray

    @property
    def floats_per_row(self) -> int:
        return self.gauge.floats_per_row

    def __call__(self, block: Block) -> Sums:
        leverage = to_numpy(WhiteRows.of(block, self.gauge, self.half_inverse).leverage)
        told = block if self.gauge.free.b else Directions(self.gauge.network.activation)(block)
        return _summed(rounded_keys(told, False, positive=False), leverage)

    def merge(self, left: Sums, right: Sums) -> Sums:
        return _summed(*(np.concatenate(pair) for pair in zip(left, right, strict=True)))

    def finish(self, sums: Sums) -> Sums:
        return (np.asarray(sums[1].max(initial=0.0)),)


def _summed(keys: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    keys, place = np.unique(keys, return_inverse=True)
    sums = np.bincount(place, values, len(keys))
    kept = slice(None) if len(keys) <= SKETCH else np.argsort(sums)[-SKETCH:]
    return keys[kept], sums[kept]
