"""Signs of units (a, b, w) known up to (b, w) → −(b, w), from T_0 and T_1  [awasthi2021, Alg. 3: FIXSIGNS].

Model   φ(−z) = φ(z) + p(z) with p linear (ReLU, leaky ReLU, softplus). T_j, j ≥ 2, do not tell the sign; unit i contributes
            aᵢ m₁(bᵢ) uᵢ or −aᵢ m₁(−bᵢ) uᵢ to T_1,      aᵢ m₀(bᵢ) or aᵢ m₀(−bᵢ) to T_0.
        With flips fᵢ ∈ {0, 1} these are d + 1 linear equations,
            Σ fᵢ aᵢ ((m₁(bᵢ) + m₁(−bᵢ)) uᵢ, m₀(bᵢ) − m₀(−bᵢ)) = (Σ aᵢ m₁(bᵢ) uᵢ − T_1, Σ aᵢ m₀(bᵢ) − T_0).
Rule    "midpoint": least squares, rounded at 1/2; the two candidates differ by 1, so the margin is 1/2 whatever the bias.
        Where the columns are dependent (k > d + 1), the free coordinates are enumerated and the least residual wins.
        "sign": the paper's, ξᵢ = sign zᵢ with Σ zᵢ aᵢ uᵢ = T_1; zᵢ = ξᵢ Φ(bᵢ) has only the margin Φ(bᵢ). ReLU, independent wᵢ.
Cost    O(d k²), and O(2^{k−r} d k) for rank r < k.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from weightlift.activations import Activation
from weightlift.errors import ArgumentError, SingularError
from weightlift.initialization.limits import LIMITS
from weightlift.namespaces import row_ranges

RULES = ("midpoint", "sign")


class TooManySignsError(ArgumentError):
    """More sign patterns satisfy the equations' rank than can be tried; units stay known up to sign."""


@dataclass(frozen=True)
class Signs:
    """ξᵢ, and how clearly they were told."""

    xi: np.ndarray  # (k,) ±1
    margin: float  # least distance of a solved flip from 1/2 ("sign": least |zᵢ|); how much better than the next, if enumerated
    residual: float  # what the equations leave, relative to the terms


def fix_signs(
    T1: np.ndarray,
    U: np.ndarray,
    a: np.ndarray,
    b: np.ndarray,
    activation: Activation,
    *,
    sigma: np.ndarray | float = 1.0,
    T0: float | None = None,
    rule: str = "midpoint",
) -> Signs:
    """The signs of (b, U) given a, b up to sign, and T_1; T0 adds an equation, where f has no free constant."""
    if rule not in RULES:
        raise ArgumentError(f"rule must be one of {RULES}, not {rule!r}.")
    if rule == "sign":
        return _by_sign(T1, U, a * activation.jumps[0])
    plus, minus = activation.hermites(1, sigma, b), activation.hermites(1, sigma, -b)  # (2, k): m₀ and m₁
    C = a * (plus[1] + minus[1]) * U
    target = U @ (a * plus[1]) - T1
    if T0 is not None:
        C = np.vstack([C, a * (plus[0] - minus[0])])
        target = np.append(target, float(np.sum(a * plus[0])) - T0)
    flips, margin = _binary_least_squares(C, target)
    residual = float(np.linalg.norm(C @ flips - target) / max(float(np.linalg.norm(C)), np.finfo(float).tiny))
    return Signs(1.0 - 2.0 * flips, margin, residual)


def _by_sign(T1: np.ndarray, U: np.ndarray, a: np.ndarray) -> Signs:
    columns = U * a
    s = np.linalg.svd(columns, compute_uv=False)
    if len(a) > len(T1) or s[-1] <= LIMITS.dependent * s[0]:
        raise SingularError("rule='sign' needs independent weight vectors; use rule='midpoint' with T0.")
    z = np.linalg.lstsq(columns, T1, rcond=None)[0]
    left = float(np.linalg.norm(columns @ z - T1) / max(float(np.linalg.norm(columns)), np.finfo(float).tiny))
    return Signs(np.where(z < 0, -1.0, 1.0), float(np.abs(z).min()), left)


def _binary_least_squares(C: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, float]:
    """f ∈ {0, 1}ᵏ of least ‖C f − t‖ among those whose pivots are rounded solutions; and its margin."""
    Q, R, order = scipy.linalg.qr(C, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(R))
    rank = int(np.sum(diagonal > LIMITS.dependent * max(diagonal[0], np.finfo(float).tiny)))
    k = C.shape[1]
    free = k - rank
    flips = np.zeros(k)
    if rank == 0:
        return flips, 0.0
    if free == 0:
        solved = scipy.linalg.solve_triangular(R[:k, :k], (Q.T @ target)[:k])
        flips[order] = solved > 0.5
        return flips, float(np.abs(solved - 0.5).min())
    if free > LIMITS.free_signs:
        raise TooManySignsError(f"{k} units obey {rank} independent conditions; 2^{free} sign patterns are too many to try.")
    return _enumerated(C[:, order], Q[:, :rank], R[:rank], target, order)


def _enumerated(
    C: np.ndarray, Q: np.ndarray, R: np.ndarray, target: np.ndarray, order: np.ndarray
) -> tuple[np.ndarray, float]:
    """Every value of the free coordinates, the pivots solved and rounded; C and R in pivoted order."""
    rank, k = R.shape
    inverse = scipy.linalg.solve_triangular(R[:, :rank], np.eye(rank))
    base, slope = inverse @ (Q.T @ target), inverse @ R[:, rank:]
    best, least, second = np.zeros(k), np.inf, np.inf
    for i, j in row_ranges(2 ** (k - rank), 2**14):
        bits = (np.arange(i, j)[:, None] >> np.arange(k - rank)) & 1
        pivots = (base - bits @ slope.T > 0.5).astype(float)
        patterns = np.hstack([pivots, bits])
        size = np.linalg.norm(patterns @ C.T - target, axis=1)
        two = np.argsort(size)[:2]
        if size[two[0]] < least:
            best, least, second = patterns[two[0]], float(size[two[0]]), least
        others = size[two[1]] if size[two[0]] == least and len(two) > 1 else size[two[0]]
        second = min(second, float(others))
    flips = np.zeros(k)
    flips[order] = best
    return flips, float((second - least) / max(float(np.linalg.norm(C)), np.finfo(float).tiny))
