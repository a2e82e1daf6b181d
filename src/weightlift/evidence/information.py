"""The information matrix JᵀJ of a network on rows, in coordinates with its scale fixed, and how well it is conditioned.

Conditioning is judged with unit diagonal, D^{-1/2} JᵀJ D^{-1/2}, so that the inputs' units of measurement do not matter.
Cost  one pass, O(n p²/4), and O(p³).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.linalg
from scipy.linalg.lapack import dlauum, dpotrf, dtrtri

from weightlift.evidence.gauge import Gauge
from weightlift.namespaces import to_numpy
from weightlift.refinement.normal_equations import NormalEquations
from weightlift.risk import Students
from weightlift.samples import Samples

DENSE = 120  # largest matrix whose spectrum is computed directly, in 0.2 ms; of 250 in 1 ms, and by products in a quarter of it
LANCZOS = 1e-6  # relative residual of the largest eigenvector of others; the eigenvalue's error is its square
MAX_CONDITION = 1e11  # of JᵀJ with unit diagonal; beyond it the inverse has fewer than five digits


@dataclass(frozen=True, eq=False)
class Information:
    """Σ w jjᵀ (p, p), Σ w r j (p,) and Σ w r², j the rows of J."""

    gauge: Gauge
    gram: np.ndarray
    gradient: np.ndarray
    rss: float
    total: float  # Σ w

    @classmethod
    def of(cls, samples: Samples, gauge: Gauge) -> Information:
        equations = NormalEquations(Students.of(gauge.network), gauge.free)
        risk, gradient, gram = (to_numpy(s)[0] for s in equations.assembled(samples.fold(equations)))
        return cls(gauge, 0.5 * (gram + gram.T), gradient, 2.0 * float(risk), samples.total)

    def without(self, rows: Samples) -> Information:
        """Of the rows that are left, as a share of all; these are few: a difference keeps its digits, and costs less."""
        gone = Information.of(rows, self.gauge)
        return replace(self, gram=self.gram - gone.gram, gradient=self.gradient - gone.gradient, rss=self.rss - gone.rss)

    @cached_property
    def _scale(self) -> np.ndarray:
        """Inverse root of the diagonal; zero for coordinates on which no row depends."""
        diagonal = np.diagonal(self.gram)
        return np.where(diagonal > 0, 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)), 0.0)

    @cached_property
    def _scaled(self) -> np.ndarray:
        return np.asarray(self.gram * self._scale[:, None] * self._scale)  # the product of two scales may overflow

    @cached_property
    def _spectrum(self) -> tuple[np.ndarray, np.ndarray]:
        values, vectors = scipy.linalg.eigh(self._scaled)
        return values, vectors

    @cached_property
    def _factor(self) -> np.ndarray | None:
        """L⁻ᵀ with L Lᵀ the matrix with unit diagonal; None where it is not positive definite."""
        L, info = dpotrf(self._scaled.T, lower=1)  # columns beside each other, as LAPACK has them
        return np.asarray(dtrtri(L, lower=1, overwrite_c=1)[0].T) if info == 0 else None

    @cached_property
    def _scaled_inverse(self) -> np.ndarray:
        """L⁻ᵀL⁻¹, a third of a product; where there is a factor."""
        assert self._factor is not None
        lower, _ = dlauum(self._factor.T, lower=1)
        inverse = np.asarray(lower + lower.T)
        np.fill_diagonal(inverse, np.diagonal(lower))
        return inverse

    @cached_property
    def condition(self) -> float:
        """Largest over least eigenvalue with unit diagonal; infinite where the matrix is not positive definite."""
        if self._factor is None:
            return math.inf
        return _largest(self._scaled) * _largest(self._scaled_inverse)

    @cached_property
    def full_rank(self) -> bool:
        return self.condition <= MAX_CONDITION and bool(np.isfinite(self.inverse).all())

    @cached_property
    def least_eigenvalue(self) -> float:
        """Of the mean JᵀJ, as it is; 0 where it is singular."""
        return 1.0 / (_largest(self.inverse) * self.total) if self.full_rank else 0.0

    def weak_coordinates(self) -> np.ndarray:
        """(p,) mass of each coordinate in the directions that the rows do not determine."""
        values, vectors = self._spectrum
        weak = vectors[:, values <= values[-1] / MAX_CONDITION]
        return np.asarray((weak**2).sum(axis=1))

    def open_directions(self) -> np.ndarray:
        """(p, r) an orthogonal basis, in the coordinates' own sizes, of what the rows do not determine; r = 0 at full rank."""
        if self.full_rank:
            return np.zeros((len(self.gram), 0))
        values, vectors = self._spectrum
        return np.asarray(self.sizes[:, None] * vectors[:, values <= values[-1] / MAX_CONDITION])

    @property
    def sizes(self) -> np.ndarray:
        """(p,) steps that change Σ w r² alike, coordinate by coordinate; one where no row depends on it."""
        return np.asarray(np.where(self._scale > 0, self._scale, 1.0))

    @cached_property
    def inverse(self) -> np.ndarray:
        """(Σ w jjᵀ)⁻¹; a pseudo-inverse, on the directions that the rows determine, where the rank is not full."""
        if self.condition <= MAX_CONDITION:
            return np.asarray(self._scaled_inverse * self._scale[:, None] * self._scale)
        return np.asarray(self.half_inverse @ self.half_inverse.T)

    @cached_property
    def half_inverse(self) -> np.ndarray:
        """L with L Lᵀ the inverse."""
        if self.condition <= MAX_CONDITION and self._factor is not None:
            return np.asarray(self._scale[:, None] * self._factor)
        values, vectors = self._spectrum
        strong = values > max(values[-1] / MAX_CONDITION, 0.0)
        return np.asarray(self._scale[:, None] * vectors[:, strong] / np.sqrt(values[strong]))

    def covariance(self, noise: np.ndarray) -> np.ndarray:
        """Lᵀ(Σ w j σ² jᵀ) L = σ² I, noise (1, 1) the errors' variance."""
        return float(noise[0, 0]) * np.eye(self.half_inverse.shape[1])

    def sandwich(self, scores: np.ndarray) -> np.ndarray:
        """L scores Lᵀ, L Lᵀ = (Σ w jjᵀ)⁻¹: a covariance, of scores Lᵀ(…)L that are well scaled whatever the conditioning."""
        return np.asarray(self.half_inverse @ scores @ self.half_inverse.T)

    def unit_inverse(self, i: int) -> np.ndarray:
        """The block of the inverse that belongs to unit i."""
        return np.asarray(self.unit_inverses()[i])

    def unit_inverses(self) -> np.ndarray:
        """(k, q, q) of all units."""
        return blocks_of(self.inverse, self.gauge)


def blocks_of(C: np.ndarray, gauge: Gauge) -> np.ndarray:
    """(k, q, q) the blocks of a matrix (p, p) that belong to the units."""
    at = np.array([gauge.coordinates(i) for i in range(gauge.network.n_units)])
    return np.asarray(C[at[:, :, None], at[:, None, :]])


def _largest(A: np.ndarray) -> float:
    """The largest eigenvalue of a symmetric matrix."""
    p = len(A)
    if p <= DENSE:
        return float(scipy.linalg.eigvalsh(A, subset_by_index=[p - 1, p - 1])[0])
    from scipy.linalg.blas import dsymv
    from scipy.sparse.linalg import LinearOperator, eigsh

    columns = A.T if A.flags.c_contiguous else A  # the same matrix, of which a symmetric product reads one half
    product = LinearOperator(A.shape, matvec=lambda v: dsymv(1.0, columns, v.ravel()), dtype=A.dtype)
    return float(eigsh(product, k=1, which="LM", return_eigenvectors=False, v0=np.ones(p), tol=LANCZOS)[0])
