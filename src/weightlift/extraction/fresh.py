"""Random rows for the certificate: from a density, whatever the answers.

Half of them are N(0, I) in standardised inputs; the others are moved along a random unit's normal until they lie around its
kink or bend, so that both sides of every unit are seen, however far out it lies. Which units were found decides the law of the
rows, never a row: each is drawn independently from a density that was fixed before.
"""

from __future__ import annotations

import math

import numpy as np

from weightlift.extraction.estimate import Estimate
from weightlift.extraction.limits import LIMITS
from weightlift.identifiability.parameters import parameters_of_shape


def rows_to_prove(estimate: Estimate, *, kinked: bool) -> int:
    """How many rows can prove the units: one a parameter and a few, for kinked φ enough for d + 2 bases  (certificate T1, T2).

    With m outputs every row is m equations, and fewer rows test what they cannot prove.
    """
    d, k, m = len(estimate.N), estimate.k, len(estimate.c)
    p = degrees_of_freedom(estimate)
    if estimate.N.size > LIMITS.dense:  # no dense equations: tested, not proved
        return math.ceil(LIMITS.rows_tested * p / m) + LIMITS.row_margin
    if m > 1:
        return math.ceil(LIMITS.row_spare * p / m) + LIMITS.row_margin + 2 * k
    return math.ceil(LIMITS.row_spare * (max(p, (d + 2) * (k + 1)) if kinked else p)) + LIMITS.row_margin


def degrees_of_freedom(estimate: Estimate) -> int:
    """Parameters that answers can see: the scale of homogeneous units is none."""
    shape = len(estimate.N), estimate.k, estimate.activation
    return parameters_of_shape(*shape, bias=True, offset=True, linear=bool(estimate.V.any()), n_outputs=len(estimate.c))


def fresh_rows(n: int, estimate: Estimate, rng: np.random.Generator) -> np.ndarray:
    """(n, d) standardised rows."""
    xi = rng.standard_normal((n, len(estimate.N)))
    length = np.linalg.norm(estimate.N, axis=0)
    alive = np.flatnonzero(length > 0)
    if not alive.size:
        return xi
    moved = np.arange(n) % 2 == 1
    unit = rng.choice(alive, size=n)
    N = estimate.N[:, unit].T / length[unit, None]  # (n, d)
    height = (xi * N).sum(axis=1) + estimate.beta[unit] / length[unit]
    return np.where(moved[:, None], xi + (rng.standard_normal(n) - height)[:, None] * N, xi)
