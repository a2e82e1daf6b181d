"""Random rows for the certificate: from a density, whatever the answers.

Half of them are N(0, I) in standardised inputs; the others are moved along a random unit's normal until they lie around its
kink or bend, so that both sides of every unit are seen, however far out it lies. Which units were found decides the law of the
rows, never a row: each is drawn independently from a density that was fixed before.
"""

from __future__ import annotations

import math

import numpy as np

from weightlift.extraction.estimate import Estimate
from weightlift.extraction.fat import wide_point
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


def fresh_rows(n: int, estimate: Estimate, rng: np.random.Generator, units: tuple[int, ...] = ()) -> np.ndarray:
    """(n, d) standardised rows; units: those around which all of them lie, where some are known to have too few."""
    xi = rng.standard_normal((n, len(estimate.N)))
    length = np.linalg.norm(estimate.N, axis=0)
    alive = np.flatnonzero(length > 0)
    if not alive.size:
        return xi
    moved = (np.arange(n) % 2 == 1) | bool(units)
    unit = rng.choice(units or alive, size=n)
    N = estimate.N[:, unit].T / length[unit, None]  # (n, d)
    height = (xi * N).sum(axis=1) + estimate.beta[unit] / length[unit]
    return np.where(moved[:, None], xi + (rng.standard_normal(n) - height)[:, None] * N, xi)


def rows_on_sides(n: int, estimate: Estimate, rng: np.random.Generator) -> np.ndarray:
    """(., d): further rows beside n of `fresh_rows`, for kinked units that would be on in fewer of them than they have weights.

    With several outputs few rows hold equations enough, and a unit that is seldom on is in few of them. How often each is on
    is learnt from rows that are never asked about, so that the number and the law of these is fixed before they are drawn. The
    side on which φ is 0 needs a few, which tell a bias from the offset; beside a linear part, as many as the other.
    """
    length = np.linalg.norm(estimate.N, axis=0)
    N, places = estimate.N / length, estimate.beta / length
    signs = 1.0, -1.0
    full = math.ceil(LIMITS.side_rows * (len(N) + 1)) + LIMITS.side_spare
    zero = {sign: not np.any(estimate.activation(np.array(sign))) and not estimate.V.any() for sign in signs}

    def share(xi: np.ndarray, sign: float) -> np.ndarray:
        """(k,): of the rows, those on that side of each unit."""
        return np.asarray((sign * (xi @ N + places) > 0).mean(axis=0))

    pilot = fresh_rows(LIMITS.side_pilot, estimate, rng)
    mean = {sign: n * share(pilot, sign) for sign in signs}
    rows = [np.empty((0, len(N)))]
    for sign in signs:
        for unit in np.argsort(mean[sign]):
            short = math.ceil((LIMITS.side_spare if zero[sign] else full) - mean[sign][unit])
            if short <= 0:
                continue
            xi = rng.standard_normal((LIMITS.side_pilot, len(N)))
            height = sign * np.abs(rng.standard_normal(len(xi))) - xi @ N[:, unit] - places[unit]
            moved = xi + np.multiply.outer(height, N[:, unit])
            rows.append(moved[:short])
            for side in signs:
                mean[side] += short * share(moved, side)
    return np.vstack(rows)


def rows_alone(n: int, unit: int, size: float, estimate: Estimate, rng: np.random.Generator) -> np.ndarray:
    """(≤ n, d): standardised rows at which all other units are off, of φ that is 0 there; none where none is found.

    An answer is rounded by its largest term. Where the other units add nothing, a unit that is small beside them is seen as
    exactly as they are: rows are so wide that it is of `size`. In a third of them it is off as well, so that its bias is told
    from the offset. A small random step makes their law a density.
    """
    length = np.linalg.norm(estimate.N, axis=0)
    N, places = estimate.N / length, estimate.beta / length
    part = float(np.linalg.norm(estimate.A[unit])) * length[unit]
    width = float(np.clip(size / part, 1.0, LIMITS.alone_widest))
    others = np.arange(estimate.k) != unit
    starts = width * rng.standard_normal((n, len(N)))
    signs = np.where(np.arange(n) % 3 == 2, -1.0, 1.0)
    starts *= (signs * np.sign(starts @ N[:, unit]))[:, None]
    found = [wide_point(start, N, places, np.where(others, -1.0, sign)) for start, sign in zip(starts, signs, strict=True)]
    rows = np.array([point for point in found if point is not None]).reshape(-1, len(N))
    return np.asarray(rows + LIMITS.alone_step * LIMITS.wide_distances[-1] * rng.standard_normal(rows.shape))
