"""Additive noise of the labels: draws, absolute moments and the sub-Gaussian norm  [zhang2019, Def. 4.1].

Five families, each centred and scaled to the standard deviation asked for. Gaussian, uniform and Rademacher noise is
sub-Gaussian, as the guarantees of zhang2019 assume; Laplace and Student noise is not, and serves to violate them.

The norm ‖ε‖_ψ₂ = sup_{p≥1} p^{-1/2} (E|ε|^p)^{1/p} is E|ε|, since in all three sub-Gaussian families the supremum is
taken at p = 1. With m(p) = E|ε|^p, p² d/dp ln(p^{-1/2} m^{1/p}) = −p/2 + p (ln m)′ − ln m vanishes at p = 0, and its
derivative p (ln m)″ − 1/2 is negative:
    Gaussian    p ψ′(z)/4 < 1/2, where z = (p+1)/2 and ψ′(z) = Σ 1/(z+n)² < Σ 1/((z+n)² − 1/4) = 1/(z − 1/2) = 2/p;
    uniform     p/(1+p)² ≤ 1/4;
    Rademacher  m = 1.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from weightlift.arguments import generator
from weightlift.errors import ArgumentError

DEGREES_OF_FREEDOM = 5  # of Student's noise: its fourth moment is finite, its fifth is not
LARGEST_EXPONENT = math.log(sys.float_info.max)


@dataclass(frozen=True)
class Noise:
    """Noise of one family with standard deviation `std`.

    >>> Noise("uniform", 2.0).sub_gaussian_norm  # 2 √3 / 2
    1.7320508075688772
    >>> Noise("laplace", 2.0).sub_gaussian_norm
    inf
    """

    family: str
    std: float

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise ArgumentError(f"noise must be one of {', '.join(FAMILIES)}; not {self.family!r}.")
        if not (isinstance(self.std, int | float | np.integer | np.floating) and 0 <= self.std < math.inf):
            raise ArgumentError(f"noise_std must be a finite number that is not negative, not {self.std!r}.")

    def draw(self, n: int, *, rng: int | np.random.Generator) -> np.ndarray:
        """(n,) independent draws."""
        return self.std * FAMILIES[self.family].draw(generator(rng), n)

    def absolute_moment(self, p: float) -> float:
        """E|ε|^p for p ≥ 0; infinite for Student's noise from p = 5 on."""
        if not 0 <= p < math.inf:
            raise ArgumentError(f"p must be finite and not negative, not {p}.")
        if self.std == 0:
            return float(p == 0)
        log_moment = p * math.log(self.std) + FAMILIES[self.family].log_moment(p)
        return math.exp(log_moment) if log_moment < LARGEST_EXPONENT else math.inf

    @property
    def sub_gaussian_norm(self) -> float:
        """‖ε‖_ψ₂ = sup_{p≥1} p^{-1/2} (E|ε|^p)^{1/p}; infinite for Laplace and Student noise  [zhang2019, Def. 4.1]."""
        return float(self.std * FAMILIES[self.family].norm) if self.std > 0 else 0.0


@dataclass(frozen=True)
class _Family:
    """A law with mean 0 and variance 1."""

    draw: Callable[[np.random.Generator, int], np.ndarray]
    log_moment: Callable[[float], float]  # ln E|ε|^p
    norm: float  # ‖ε‖_ψ₂


def _gaussian(p: float) -> float:
    return p / 2 * math.log(2) + math.lgamma((p + 1) / 2) - math.log(math.pi) / 2


def _uniform(p: float) -> float:
    return p / 2 * math.log(3) - math.log1p(p)


def _rademacher(p: float) -> float:
    return 0.0


def _laplace(p: float) -> float:
    return math.lgamma(p + 1) - p / 2 * math.log(2)


def _student(p: float) -> float:
    nu = DEGREES_OF_FREEDOM
    if p >= nu:
        return math.inf
    gammas = math.lgamma((p + 1) / 2) + math.lgamma((nu - p) / 2) - math.lgamma(nu / 2)
    return p / 2 * math.log(nu - 2) + gammas - math.log(math.pi) / 2


_STUDENT_SCALE = math.sqrt((DEGREES_OF_FREEDOM - 2) / DEGREES_OF_FREEDOM)

FAMILIES = {
    "gaussian": _Family(lambda rng, n: rng.standard_normal(n), _gaussian, math.sqrt(2 / math.pi)),
    "uniform": _Family(lambda rng, n: rng.uniform(-math.sqrt(3), math.sqrt(3), n), _uniform, math.sqrt(3) / 2),
    "rademacher": _Family(lambda rng, n: 2.0 * rng.integers(0, 2, n) - 1.0, _rademacher, 1.0),
    "laplace": _Family(lambda rng, n: rng.laplace(scale=math.sqrt(0.5), size=n), _laplace, math.inf),
    "student": _Family(lambda rng, n: _STUDENT_SCALE * rng.standard_t(DEGREES_OF_FREEDOM, n), _student, math.inf),
}
