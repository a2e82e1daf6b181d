"""Are the inputs Gaussian? Moment methods assume so; refinement and certificates do not.

Statistics of whitened rows, each standard normal in the limit: skewness (variance 6/n) and excess kurtosis (24/n) of every
coordinate and of random projections, and the radial E‖x‖⁴ against d(d + 2), which sees elliptical laws that the others hide.
Of weighted rows as many count as (Σw)²/Σw², by which the variance of a weighted mean falls.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from weightlift.errors import NotGaussianWarning, warn
from weightlift.moments.limits import LIMITS
from weightlift.namespaces import array_namespace, as_like, to_numpy
from weightlift.samples import Block, Samples, Sums
from weightlift.samples.columns import columns_of


@dataclass(frozen=True)
class Gaussianity:
    """The largest deviation in standard errors, where it is, and whether chance explains it."""

    z: float
    where: str
    gaussian: bool

    def __str__(self) -> str:
        verdict = "compatible with a Gaussian" if self.gaussian else "not Gaussian"
        return f"inputs are {verdict}: {self.where} deviates by {self.z:.1f} standard errors"

    def warn(self) -> None:
        """Warn of inputs that are not Gaussian."""
        if not self.gaussian:
            warn(f"{self}; moment methods assume a Gaussian.", NotGaussianWarning)

    def effects(self) -> tuple[str, ...]:
        """What it means for each route."""
        if self.gaussian:
            moments = "Moments: usable; their theorems assume Gaussian inputs, and these are compatible with it."
        else:
            moments = (
                f"Moments: not usable as they are ({self.where}); their theorems are lost. Elliptical inputs are made Gaussian "
                "by a radial correction, for homogeneous activations without biases and offset."
            )
        return (
            moments,
            "Search and refinement: unaffected; they are least squares on the rows, and promise nothing of success beforehand.",
            "Certificate: unaffected; it judges the rows at hand, and speaks for inputs of the same law.",
            "Exact L² distances and population risks: those of N(0, I), not of these inputs.",
        )


@dataclass(frozen=True, eq=False)
class StandardizedMoments:
    """Σ w u³, Σ w u⁴ by coordinate and projection u = ⟨q, x⟩, Σ w ‖x‖⁴ and Σ w², of whitened rows."""

    directions: np.ndarray  # (d, m), columns of length one

    @property
    def floats_per_row(self) -> int:
        return 3 * sum(self.directions.shape)

    def __call__(self, block: Block) -> Sums:
        xp, X = array_namespace(block.X), block.X
        w = xp.ones_like(block.y) if block.w is None else block.w
        radius = xp.sum(X * X, axis=1)
        X = xp.concat([X, xp.matmul(X, as_like(self.directions, X))], axis=1)
        squares = X * X
        return xp.matmul(w, squares * X), xp.matmul(w, squares * squares), xp.sum(w * radius * radius), xp.sum(w * w)


def gaussianity(whitened: Samples) -> Gaussianity:
    """The test on whitened samples."""
    d = whitened.d
    directions = np.random.default_rng(0).normal(size=(d, LIMITS.projections if d > 1 else 0))
    directions /= np.linalg.norm(directions, axis=0)
    third, fourth, radial, squares = (to_numpy(s) for s in whitened.mean(StandardizedMoments(directions)))
    n = whitened.total / float(squares)
    spread = d * (d + 2) * ((d + 4) * (d + 6) - d * (d + 2))  # variance of ‖x‖⁴
    slope = 2 * (d + 2)  # estimating the covariance takes away the part of ‖x‖⁴ that is linear in ‖x‖²
    spread -= slope**2 * 2 * d
    z = np.concatenate([
        third / math.sqrt(6 / n),
        (fourth - 3) / math.sqrt(24 / n),
        [(float(radial) - d * (d + 2)) / math.sqrt(spread / n)],
    ])
    worst = int(np.argmax(np.abs(z)))
    places = [f"whitened {columns_of(whitened).input(j)}" for j in range(d)]
    places += [f"random projection {j}" for j in range(directions.shape[1])]
    names = [*(f"skewness of {p}" for p in places), *(f"kurtosis of {p}" for p in places), "radial kurtosis"]
    limit = LIMITS.gaussian_level + math.sqrt(2 * math.log(len(names)))
    return Gaussianity(float(abs(z[worst])), names[worst], bool(abs(z[worst]) <= limit))
