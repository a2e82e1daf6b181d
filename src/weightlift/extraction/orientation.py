"""Which way the units face: flips that leave no linear part.

A kink shows a unit's hyperplane and the jump across it, not its side: with slopes l and r of φ on the sides of its kink,

    φ(z) = φ(−z) + (l + r) z

so that units may face either way beside a linear part V that makes up for it. Without one in the truth, V = −(l + r) Σ Aᵢ nᵢ
over the units that must be flipped: one of 2ᵏ sums, found by least squares and rounding where the Aᵢ nᵢ are independent, else
by meeting in the middle.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from weightlift.extraction.estimate import Estimate
from weightlift.extraction.limits import LIMITS


def turned(estimate: Estimate, slopes: tuple[float, float], error: float) -> Estimate | None:
    """The estimate with units flipped so that no linear part is left, to relative `error`; None if no flips do that."""
    total = slopes[0] + slopes[1]
    if not estimate.k:
        return None
    J = (estimate.N[:, None, :] * estimate.A.T[None, :, :]).reshape(-1, estimate.k)  # (d m, k)
    size = np.linalg.norm(J, axis=0)
    scale = max(float(size.max()), float(np.linalg.norm(estimate.V)))
    target = estimate.V.reshape(-1)
    if np.linalg.norm(target) <= error * scale:
        return replace(estimate, V=np.zeros_like(estimate.V))
    if total == 0:
        return None
    target = -target / total
    independent = estimate.k <= len(J) and np.linalg.cond(J / size) < 0.1 / error
    bits = _rounded(J, target) if independent else _listed(J, target, error * scale)
    if bits is None or np.linalg.norm(target - J @ bits) > error * scale * np.sqrt(estimate.k):
        return None
    sign = 1 - 2 * bits
    return replace(
        estimate,
        N=estimate.N * sign,
        beta=estimate.beta * sign,
        V=np.zeros_like(estimate.V),
        c=estimate.c + total * (bits * estimate.beta) @ estimate.A,
    )


def _rounded(J: np.ndarray, target: np.ndarray) -> np.ndarray | None:
    x = np.linalg.lstsq(J, target, rcond=None)[0]
    bits = np.round(np.clip(x, 0, 1))
    return bits if bool((np.abs(x - bits) < LIMITS.side_near).all()) else None


def _listed(J: np.ndarray, target: np.ndarray, tolerance: float) -> np.ndarray | None:
    """Bits with Σ bits J = target: sums of the two halves that meet, nearest in one random coordinate, then in all."""
    k = J.shape[1]
    if k > LIMITS.side_listed:
        return None
    first, second = _sums(J[:, : k // 2]), _sums(J[:, k // 2 :])
    axis = np.random.default_rng(0).standard_normal(len(J))
    axis /= np.linalg.norm(axis)
    wanted, keys = (target - first) @ axis, second @ axis
    order = np.argsort(keys)
    low = np.searchsorted(keys[order], wanted - tolerance)
    counts = np.searchsorted(keys[order], wanted + tolerance) - low
    i = np.repeat(np.arange(len(first)), counts)
    j = order[np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(low, counts)]
    gaps = np.abs(target - first[i] - second[j]).max(axis=1, initial=0.0)
    good = np.flatnonzero(gaps <= tolerance)
    if good.size != 1:
        return None
    n = k // 2
    return np.concatenate([(i[good[0]] >> np.arange(n)) & 1, (j[good[0]] >> np.arange(k - n)) & 1]).astype(float)


def _sums(J: np.ndarray) -> np.ndarray:
    """(2ᵏ, d m): entry b is the sum over the bits of b."""
    sums = np.zeros((1, len(J)))
    for column in J.T:
        sums = np.concatenate([sums, sums + column])
    return sums
