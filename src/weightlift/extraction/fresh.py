"""Random rows for the certificate: from a density, whatever the answers.

Half of them are N(0, I) in standardised inputs; the others are moved along a random unit's normal until they lie around its
kink or bend, so that both sides of every unit are seen, however far out it lies. Which units were found decides the law of the
rows, never a row: each is drawn independently from a density that was fixed before.
"""

from __future__ import annotations

import math

import numpy as np

from weightlift.extraction.estimate import Estimate

SPARE = 1.03  # rows over the least number that could do, for those that repeat what others say
MARGIN = 16
LARGE, TESTED = 4500, 0.2  # weights beyond which nothing is proved, and rows a parameter that test them


def rows_needed(estimate: Estimate, *, kinked: bool) -> int:
    """How many rows can prove the units: one a parameter and a few, for kinked φ enough for d + 2 bases  (certificate T1, T2).

    With m outputs every row is m equations, and fewer rows test what they cannot prove.
    """
    d, k, m = len(estimate.N), estimate.k, len(estimate.c)
    p = degrees_of_freedom(estimate)
    if estimate.N.size > LARGE:  # no dense equations: tested, not proved
        return math.ceil(TESTED * p / m) + MARGIN
    if m > 1:
        return math.ceil(SPARE * p / m) + MARGIN + 2 * k
    return math.ceil(SPARE * (max(p, (d + 2) * (k + 1)) if kinked else p)) + MARGIN


def degrees_of_freedom(estimate: Estimate) -> int:
    """Parameters that answers can see: the scale of homogeneous units is none."""
    d, k, m = len(estimate.N), estimate.k, len(estimate.c)
    linear = d * m if estimate.V.any() else 0
    return k * (d + 1 + m) + m + linear - (k if estimate.activation.degree else 0)


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
