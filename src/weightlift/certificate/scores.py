"""Scores of the rows at a fit: residuals, leverages, and rows of J in coordinates where JᵀJ is the identity.

With j the rows of J, H = Σ w jjᵀ = (L Lᵀ)⁻¹, h = w jᵀH⁻¹j the leverages and r the residuals,

    classical covariance   σ̂² H⁻¹,  σ̂² = Σ w r²/(n − p)
    sandwich               H⁻¹ (Σ w² r² jjᵀ) H⁻¹           (HC0) [White 1980]
    its jackknife form     r replaced by r/(1 − h)         (HC3) [MacKinnon & White 1985]

The sandwich is right for noise whose size depends on x, not for a wrong model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weightlift.evidence.gauge import Gauge
from weightlift.evidence.rows import SKETCH, Directions, double, rounded_keys
from weightlift.namespaces import Array, array_namespace, matmul_transposed, matmul_upper, to_numpy
from weightlift.risk import Students
from weightlift.samples import Block, Sums

LARGEST_LEVERAGE = 1 - 1e-6  # beyond it 1 − h is rounding


@dataclass(frozen=True, eq=False)
class WhiteRows:
    """√w, √w r, √w J L, the leverages h, and 1 − h."""

    root: Array
    r: Array
    white: Array
    leverage: Array
    left: Array

    @classmethod
    def of(cls, block: Block, gauge: Gauge, half_inverse: np.ndarray) -> WhiteRows:
        X, y, w = double(block)
        xp = array_namespace(X)
        students = Students.of(gauge.network).like(X)
        z = students.preactivations(X)
        root = xp.sqrt(w)
        r = root * students.residuals(students.activation(z), y)[:, 0]
        J = gauge.jacobian(X, z, students)
        white = matmul_upper(J if block.w is None else root[:, None] * J, half_inverse)
        leverage = xp.vecdot(white, white)
        left = 1.0 - xp.where(leverage < LARGEST_LEVERAGE, leverage, xp.full_like(leverage, LARGEST_LEVERAGE))
        return cls(root, r, white, leverage, left)


@dataclass(frozen=True, eq=False)
class Scores:
    """Lᵀ (Σ w² r² jjᵀ) L."""

    gauge: Gauge
    half_inverse: np.ndarray

    @property
    def floats_per_row(self) -> int:
        return 3 * self.gauge.size + 8 * self.gauge.network.n_units

    def __call__(self, block: Block) -> Sums:
        rows = WhiteRows.of(block, self.gauge, self.half_inverse)
        scores = rows.r[:, None] * rows.white
        return (matmul_transposed(scores, scores),)


@dataclass(frozen=True, eq=False)
class DecidingRows:
    """(m, p) the rows √w J L whose leverage is above a limit; at most p/limit of them."""

    gauge: Gauge
    half_inverse: np.ndarray
    limit: float

    @property
    def floats_per_row(self) -> int:
        return 3 * self.gauge.size + 8 * self.gauge.network.n_units

    def __call__(self, block: Block) -> Sums:
        rows = WhiteRows.of(block, self.gauge, self.half_inverse)
        return (to_numpy(rows.white)[to_numpy(rows.leverage) > self.limit],)

    def merge(self, left: Sums, right: Sums) -> Sums:
        return (np.concatenate([left[0], right[0]]),)


@dataclass(frozen=True, eq=False)
class SharedLeverages:
    """Keys of the inputs and their leverages, each summed over the copies of an input, whose rows of J are parallel.

    With more than `SKETCH` inputs the smallest sums are dropped.
    """

    gauge: Gauge
    half_inverse: np.ndarray

    @property
    def floats_per_row(self) -> int:
        return 3 * self.gauge.size + 8 * self.gauge.network.n_units

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
