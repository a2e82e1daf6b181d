"""Rows on a lattice, or on equidistant hyperplanes, where a φ that repeats has aliases.

If φ(t + T) = φ(t), the unit (w + Tδ, b − T⟨δ, x₀⟩) has the values of (w, b) on every row exactly if

    ⟨δ, x − x₀⟩ is a whole number for every row x           (⟨δ, x⟩ where b is not free).

With D₀ (d, d) some independent differences, δ = D₀⁻¹m, m whole; and C m is whole for the other differences, C = D₁D₀⁻¹. The m
with both C m − l and m small are short vectors of a lattice of dimension d + r, r rows of C, that a reduction finds
[lenstra1982]. Of rows from a density there is none: a candidate is held against all of them. So a discrete column is one
case, whatever has rotated it, and a full lattice another.
Cost  O((d + r)³) for φ that repeat: 15 ms at d = 4, 0.3 s at d = 20, none is looked for beyond 40 inputs; others have none.
"""

from __future__ import annotations

import math

import numpy as np

from weightlift.evidence.gauge import Gauge
from weightlift.rivals.analytic import period
from weightlift.rivals.finding import Finding, Outcome
from weightlift.rivals.limits import LIMITS


def aliased(X: np.ndarray, gauge: Gauge) -> Finding | None:
    """Other weights of a φ that repeats; where the rows are fine beside their number, the assumption that excludes them."""
    T = period(gauge.network.activation)
    found = None if T is None else repetition(X - X[0] if gauge.free.b else X)
    if T is None or found is None:
        return None
    places = X @ found
    apart, levels = 1.0 / float(np.linalg.norm(found)), 1 + round(float(np.ptp(places)))
    sentence = f"The rows lie on hyperplanes {apart:.3g} apart, on which units with other weights agree, φ being periodic."
    if levels <= len(X):
        return Finding(Outcome.FOUND, f"{sentence} Give values between.", number=float(levels), limit=float(len(X)))
    return Finding(
        Outcome.NONE_FOUND,
        f"{sentence} They are farther away than {T / 2:.3g}/{apart:.1g}.",
        number=float(levels),
        limit=float(len(X)),
        assumes=(f"no other weights are meant that differ by {T * np.linalg.norm(found):.1g}, φ and the rows being periodic",),
    )


def repetition(D: np.ndarray) -> np.ndarray | None:
    """δ ≠ 0 with D δ whole, the shortest that a reduction finds; None where there is none."""
    from scipy.linalg import qr

    D = D[np.any(D != 0.0, axis=1)]
    if not len(D):
        return None
    _, R, order = qr(D.T, mode="economic", pivoting=True)
    rank = int(np.sum(np.abs(np.diagonal(R)) > LIMITS.independent * abs(R[0, 0])))
    first, others = D[order[:rank]], D[order[rank:]][: max(LIMITS.spare, rank // 2)]
    back = np.linalg.pinv(first)  # δ = D₀⁺ m: where the rows lie in a subspace, so does δ
    if not len(others) or rank > LIMITS.lattice_inputs:
        return None
    for _ in range(LIMITS.divisors):
        parts = []
        for m in _relations(others @ back):
            delta = back @ m
            rest = D @ delta - np.round(D @ delta)
            if np.any(m) and np.all(np.abs(rest) <= LIMITS.same * np.maximum(1.0, np.abs(D @ delta))):
                return np.asarray(delta)
            if np.any(m) and np.abs(others @ delta - np.round(others @ delta)).max() <= LIMITS.same:
                parts.append(D[np.argmax(np.abs(rest))])
        if not parts:
            return None
        others = np.vstack([others, parts])  # by chance a part of δ was whole on those; a row on which it is not
    return None


def _relations(C: np.ndarray) -> np.ndarray:
    """(rank, rank) whole m, one a row, of which C m is nearly whole, the shortest first."""
    r, rank = C.shape
    B = np.zeros((rank + r, rank + r))
    B[:rank, :rank] = np.eye(rank)
    B[rank:, :rank] = LIMITS.lattice * C
    B[rank:, rank:] = LIMITS.lattice * np.eye(r)
    return np.round(reduced(B)[:rank].T[:rank])


def reduced(B: np.ndarray) -> np.ndarray:
    """A basis of the lattice of the columns of B whose first vectors are short [lenstra1982]; R of B = QR is turned along."""
    B, R = B.copy(), np.asarray(np.linalg.qr(B, mode="r"))
    n, k = len(B), 1
    for _ in range(LIMITS.reductions * n * n):
        if k == n:
            break
        _shorten(B, R, k, k - 1)
        if R[k, k] ** 2 + R[k - 1, k] ** 2 >= 0.99 * R[k - 1, k - 1] ** 2:
            for j in range(k - 2, -1, -1):
                _shorten(B, R, k, j)
            k += 1
            continue
        for M in (B, R):
            M[:, [k - 1, k]] = M[:, [k, k - 1]]
        length = math.hypot(R[k - 1, k - 1], R[k, k - 1])
        c, s = R[k - 1, k - 1] / length, R[k, k - 1] / length
        R[[k - 1, k], k - 1 :] = np.array([[c, s], [-s, c]]) @ R[[k - 1, k], k - 1 :]
        k = max(k - 1, 1)
    return B


def _shorten(B: np.ndarray, R: np.ndarray, k: int, j: int) -> None:
    times = round(R[j, k] / R[j, j])
    if times:
        B[:, k] -= times * B[:, j]
        R[: j + 1, k] -= times * R[: j + 1, j]
