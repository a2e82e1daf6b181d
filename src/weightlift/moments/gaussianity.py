"""Are the inputs Gaussian? Moment methods assume so; refinement and certificates do not.

Statistics of whitened rows, each standard normal in the limit: skewness (variance 6/n) and excess kurtosis (24/n) of every
coordinate, and the radial E‖x‖⁴ against d(d + 2), which sees elliptical laws that the coordinates hide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from weightlift.namespaces import array_namespace, to_numpy
from weightlift.samples import Block, Samples, Sums

LEVEL = 5.0  # standard errors, beside what the largest of 2d + 1 normals reaches by chance


@dataclass(frozen=True)
class Gaussianity:
    """The largest deviation in standard errors, where it is, and whether chance explains it."""

    z: float
    where: str
    gaussian: bool

    def __str__(self) -> str:
        verdict = "compatible with a Gaussian" if self.gaussian else "not Gaussian"
        return f"inputs are {verdict}: {self.where} deviates by {self.z:.1f} standard errors"


@dataclass(frozen=True)
class StandardizedMoments:
    """Σ w x³, Σ w x⁴ by coordinate, and Σ w ‖x‖⁴, of whitened rows."""

    n_inputs: int

    @property
    def floats_per_row(self) -> int:
        return 3 * self.n_inputs

    def __call__(self, block: Block) -> Sums:
        xp, X = array_namespace(block.X), block.X
        w = xp.ones_like(block.y) if block.w is None else block.w
        squares = X * X
        radius = xp.sum(squares, axis=1)
        return xp.matmul(w, squares * X), xp.matmul(w, squares * squares), xp.sum(w * radius * radius)


def gaussianity(whitened: Samples) -> Gaussianity:
    """The test on whitened samples."""
    d, n = whitened.d, whitened.n
    third, fourth, radial = (to_numpy(s) for s in whitened.mean(StandardizedMoments(d)))
    spread = d * (d + 2) * ((d + 4) * (d + 6) - d * (d + 2))  # variance of ‖x‖⁴
    slope = 2 * (d + 2)  # estimating the covariance takes away the part of ‖x‖⁴ that is linear in ‖x‖²
    spread -= slope**2 * 2 * d
    z = np.concatenate([
        third / math.sqrt(6 / n),
        (fourth - 3) / math.sqrt(24 / n),
        [(float(radial) - d * (d + 2)) / math.sqrt(spread / n)],
    ])
    worst = int(np.argmax(np.abs(z)))
    names = [*(f"skewness of column {j}" for j in range(d)), *(f"kurtosis of column {j}" for j in range(d)), "radial kurtosis"]
    limit = LEVEL + math.sqrt(2 * math.log(2 * d + 1))
    return Gaussianity(float(abs(z[worst])), names[worst], bool(abs(z[worst]) <= limit))
