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

from weightlift.certificate.gauge import Gauge
from weightlift.certificate.rows import double
from weightlift.namespaces import array_namespace, as_like, matmul_transposed
from weightlift.risk import Students
from weightlift.samples import Block, Sums

LARGEST_LEVERAGE = 1 - 1e-6


@dataclass(frozen=True, eq=False)
class Scores:
    """Σ w² r² jjᵀ, the same with r/(1 − h), Σ (√w r)⁴, Σ w r², then max h and max √w |r|/(1 − h)^½."""

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
        leverage = xp.sum(xp.matmul(J, as_like(self.half_inverse, X)) ** 2, axis=1)
        left = 1.0 - xp.where(leverage < LARGEST_LEVERAGE, leverage, LARGEST_LEVERAGE + 0.0 * leverage)
        scores, jackknife = r[:, None] * J, (r / left)[:, None] * J
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
