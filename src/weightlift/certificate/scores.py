"""Scores of the rows at a fit: their covariance for the sandwich, leverages, and the tails of the residuals.

With j the rows of J, H = Σ w jjᵀ, h = w jᵀH⁻¹j the leverages and r the residuals,

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
from weightlift.namespaces import array_namespace, as_like, matmul_transposed, to_numpy
from weightlift.risk import Students
from weightlift.samples import Block, Sums

LARGEST_LEVERAGE = 1 - 1e-6


@dataclass(frozen=True, eq=False)
class Scores:
    """Lᵀ (Σ w² r² jjᵀ) L, the same with r/(1 − h), Σ (√w r)⁴, Σ w r², then max h and max √w |r|/(1 − h)^½."""

    gauge: Gauge
    half_inverse: np.ndarray  # L with L Lᵀ = H⁻¹

    @property
    def floats_per_row(self) -> int:
        return 4 * self.gauge.size + 8 * self.gauge.network.n_units

    def __call__(self, block: Block) -> Sums:
        X, y, w = double(block)
        xp = array_namespace(X)
        p = self.gauge.size
        if X.shape[0] == 0:
            zero, square = xp.sum(y), xp.zeros((p, p), dtype=xp.float64, device=X.device)
            return square, square, zero, zero, zero, zero
        students = Students.of(self.gauge.network).like(X)
        z = students.preactivations(X)
        root = xp.sqrt(w)
        r = root * students.residuals(students.activation(z), y)[:, 0]
        J = root[:, None] * self.gauge.jacobian(X, z, students)
        white = xp.matmul(J, as_like(self.half_inverse, X))
        leverage = xp.sum(white**2, axis=1)
        left = 1.0 - xp.where(leverage < LARGEST_LEVERAGE, leverage, LARGEST_LEVERAGE + 0.0 * leverage)
        scores, jackknife = r[:, None] * white, (r / left)[:, None] * white
        return (
            matmul_transposed(scores, scores),
            matmul_transposed(jackknife, jackknife),
            xp.sum(r**4),
            xp.sum(r * r),
            xp.max(leverage),
            xp.max(xp.abs(r) / xp.sqrt(left)),
        )

    def merge(self, left: Sums, right: Sums) -> Sums:
        xp = array_namespace(left[0])
        sums = tuple(a + b for a, b in zip(left[:4], right[:4], strict=True))
        return sums + tuple(xp.maximum(a, b) for a, b in zip(left[4:], right[4:], strict=True))


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
        X, _, w = double(block)
        xp = array_namespace(X)
        students = Students.of(self.gauge.network).like(X)
        J = self.gauge.jacobian(X, students.preactivations(X), students)
        leverage = to_numpy(w * xp.sum(xp.matmul(J, as_like(self.half_inverse, X)) ** 2, axis=1))
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
