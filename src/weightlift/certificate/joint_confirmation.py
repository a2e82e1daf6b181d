"""Whether every smooth unit of several outputs, or beside a linear part, is known without the equations that place it alone.

As `confirmation`, with the stacked Jacobian. In coordinates where JᵀWJ = I a row is the m vectors √w JL; a combination u of its
outputs with leverage ‖√w uᵀJL‖² = 1 is an equation for a parameter that no other has, and fits whatever that is. Such equations
are left out, not their rows, whose other combinations may confirm: with V (r, e) of them the inverse that is left is

    L (I − VVᵀ)⁻¹ Lᵀ,

and what a unit's part of it is larger than that of LLᵀ its precision is worse. Leverages are first estimated from a sketch.
Cost  that of JᵀJ and its spectrum, and O(n m p) for the sketch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from weightlift.certificate.confirmation import unconfirmed
from weightlift.certificate.joint_standard import StandardForm, relative_size
from weightlift.certificate.limits import LIMITS
from weightlift.certificate.scores import WhiteRows
from weightlift.certificate.statement import Statement
from weightlift.evidence.information import MAX_CONDITION
from weightlift.evidence.rows import EPS
from weightlift.evidence.stacked import Stacked, StackedInformation
from weightlift.namespaces import array_namespace, from_numpy, to_numpy
from weightlift.samples import Block, Sums


def confirmed_jointly(form: StandardForm, precision: np.ndarray, rng: np.random.Generator) -> Statement | None:
    """None where every unit is known within the limit without the equations that decide, too.

    precision  (k,) of the units from all rows
    """
    V = to_numpy(form.rows.fold(DecidingEquations.of(form.information, rng))[0]).T
    return unconfirmed(V.shape[1], precision * growth(form.information, V), LIMITS.precision) if V.size else None


def growth(information: StackedInformation, V: np.ndarray) -> np.ndarray:
    """(k,) times that a unit's relative size is larger without V; eigenvalues below their own rounding errors are none."""
    stacked, L = information.gauge, information.half_inverse
    values, vectors = np.linalg.eigh(np.eye(len(V)) - V @ V.T)
    inexact = len(V) * EPS * min(information.condition, MAX_CONDITION)
    half = L @ vectors / np.sqrt(np.where(values > inexact, values, EPS**2))
    grown = []
    for i in range(stacked.network.n_units):
        at = stacked.coordinates(i)
        before, after = (relative_size(stacked, i, (A[at] @ A[at].T)[None]) for A in (L, half))
        grown.append(after / before if before < math.inf else 1.0)
    return np.array(grown)


@dataclass(frozen=True, eq=False)
class DecidingEquations:
    """(e, r) the vectors √w uᵀJL with leverage above the limit, u the eigenvectors of a row's √w JL(√w JL)ᵀ."""

    stacked: Stacked
    half_inverse: np.ndarray
    sketch: np.ndarray

    @classmethod
    def of(cls, information: StackedInformation, rng: np.random.Generator) -> DecidingEquations:
        L, m = information.half_inverse, LIMITS.sketched
        sketch = L if L.shape[1] <= m else L @ rng.standard_normal((L.shape[1], m)) / math.sqrt(m)
        return cls(information.gauge, L, sketch)

    @property
    def floats_per_row(self) -> int:
        return 3 * self.stacked.network.n_outputs * self.stacked.full

    def __call__(self, block: Block) -> Sums:
        """The largest eigenvalue of a sketch is no less than its estimate of the largest leverage."""
        rough = to_numpy(WhiteRows.of(block, self.stacked, self.sketch).white)
        likely = np.linalg.norm(rough, ord=2, axis=(1, 2)) ** 2 > 0.25 * LIMITS.deciding
        if not likely.any():
            return (np.zeros((0, self.half_inverse.shape[1])),)
        xp, some = array_namespace(block.X), from_numpy(np.flatnonzero(likely), like=block.X)
        X, y, w = (None if v is None else xp.take(v, some, axis=0) for v in (block.X, block.y, block.w))
        white = to_numpy(WhiteRows.of(replace(block, X=X, y=y, w=w), self.stacked, self.half_inverse).white)
        values, vectors = np.linalg.eigh(white @ np.swapaxes(white, 1, 2))
        along = np.swapaxes(vectors, 1, 2) @ white  # (rows, m, r)
        return (along[values > LIMITS.deciding],)

    def merge(self, left: Sums, right: Sums) -> Sums:
        return (np.concatenate([left[0], right[0]]),)
