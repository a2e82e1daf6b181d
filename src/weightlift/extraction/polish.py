"""Gauss–Newton on all that was asked: every parameter to the precision of the answers.

    (JᵀJ + ridge) δ = Jᵀ r        J with columns of length one; outputs stacked

Scale, for homogeneous φ, is a direction in which r does not change: the small ridge leaves it where it is. Repeated steps
refine what rounding in JᵀJ leaves of the last one.  Cost O(n m p²) a step.
"""

from __future__ import annotations

import numpy as np

from weightlift.extraction.estimate import Estimate
from weightlift.extraction.limits import LIMITS


@np.errstate(over="ignore", invalid="ignore")  # a step beyond all numbers is not taken
def polish(
    estimate: Estimate, xi: np.ndarray, Y: np.ndarray, *, linear: bool = False, weights: np.ndarray | None = None
) -> Estimate:
    """The least-squares fit to the answers Y (n, m) at ξ (n, d), from a start near it; weights: one over their errors.

    Without weights the errors are not known, and steps go on to the minimum itself: small units hardly move the residual.
    """
    w = np.ones(len(xi)) if weights is None else weights
    best, level, choice = estimate, _level(estimate, xi, Y, w), 0
    for _ in range(LIMITS.polish_steps):
        J, r = jacobian(best, xi, linear, w), ((Y - best(xi)) * w[:, None]).T.ravel()
        length = np.linalg.norm(J, axis=0)
        length[length == 0] = 1.0
        J /= length
        gram, gradient = J.T @ J, J.T @ r
        if not np.isfinite(gram).all():
            return best
        for trial in range(max(0, choice - 1), len(LIMITS.ridges)):
            choice = trial
            damped = gram + LIMITS.ridges[choice] * np.eye(len(gram))
            after = _moved(best, np.linalg.solve(damped, gradient) / length, linear)
            reached = _level(after, xi, Y, w)
            if reached < level:
                break
        else:
            return best
        gain = LIMITS.polish_gain if reached > np.sqrt(Y.size) else LIMITS.polish_end
        small = choice == 0 and reached > (gain if weights is not None else LIMITS.polish_minimum) * level
        best, level = after, reached
        if small:
            return best
    return best


def _level(estimate: Estimate, xi: np.ndarray, Y: np.ndarray, w: np.ndarray) -> float:
    return float(np.linalg.norm((Y - estimate(xi)) * w[:, None]))


def jacobian(f: Estimate, xi: np.ndarray, linear: bool, w: np.ndarray) -> np.ndarray:
    """(m n, p): rows of output 1 first; columns n₁ … n_k (d each), β, A (k m), c, V."""
    n, d = xi.shape
    m, k = len(f.c), f.k
    z = xi @ f.N + f.beta
    slope, value = np.asarray(f.activation.derivative(z)) * w[:, None], np.asarray(f.activation(z)) * w[:, None]
    weighted = xi * w[:, None]
    blocks = []
    for o in range(m):
        s = slope * f.A[:, o]  # (n, k)
        units = (s[:, :, None] * xi[:, None, :]).reshape(n, k * d)
        outputs, offset = np.zeros((n, k, m)), np.zeros((n, m))
        outputs[:, :, o], offset[:, o] = value, w
        parts = [units, s, outputs.reshape(n, k * m), offset]
        if linear:
            V = np.zeros((n, d, m))
            V[:, :, o] = weighted
            parts.append(V.reshape(n, d * m))
        blocks.append(np.hstack(parts))
    return np.concatenate(blocks)


def _moved(f: Estimate, step: np.ndarray, linear: bool) -> Estimate:
    d, k, m = len(f.N), f.k, len(f.c)
    sizes = [k * d, k, k * m, m] + ([d * m] if linear else [])
    parts = np.split(step, np.cumsum(sizes)[:-1])
    V = f.V + parts[4].reshape(d, m) if linear else f.V
    return Estimate(
        f.N + parts[0].reshape(k, d).T, f.beta + parts[1], f.A + parts[2].reshape(k, m), V, f.c + parts[3], f.activation
    )
