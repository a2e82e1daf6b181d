"""Damped Gauss–Newton steps without normal equations: conjugate gradients on products with JᵀJ  [Hestenes & Stiefel 1952].

The shifted systems (JᵀJ + μ s I) δ = Jᵀr of all dampings μ and all starts are one batch, s a typical eigenvalue of JᵀJ.
Cost  one pass O(n d S k) for every step; memory O(d S k).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from weightlift.namespaces import Array, array_namespace, as_like
from weightlift.refinement.limits import LIMITS
from weightlift.refinement.normal_equations import Free, NormalProduct
from weightlift.risk import Gradient, Students
from weightlift.samples import Samples


def conjugate_gradients(
    samples: Samples, students: Students, moves: Free, theta: Array, dampings: Array, ridge: float | np.ndarray
) -> list[Array]:
    """The steps δ (S, p), one for each damping in `dampings` (S, C)."""
    xp, ridges = array_namespace(theta), as_like(np.asarray(ridge), theta)
    C = dampings.shape[1]
    _, dW, da, db, dc = samples.mean(Gradient(students))
    gradient = moves.pack(replace(students, W=dW, a=da, b=db, c=dc)) + ridges * theta
    many = students.repeated(C)
    target = xp.concat([gradient] * C, axis=0)
    size = xp.concat([_curvature(samples, students, moves)] * C, axis=0)
    shift = xp.concat([dampings[:, i] for i in range(C)], axis=0) * size
    x, residual = 0.0 * target, target
    direction, square = residual, xp.sum(residual * residual, axis=1)
    stop = LIMITS.cg_tolerance**2 * square
    for _ in range(LIMITS.cg_steps):
        product = samples.mean(NormalProduct(many, moves, direction))[0] + (shift[:, None] + ridges) * direction
        curvature = xp.sum(direction * product, axis=1)
        length = xp.where(square > stop, square / xp.where(curvature > 0, curvature, 1.0 + 0.0 * curvature), 0.0 * square)
        x, residual = x + length[:, None] * direction, residual - length[:, None] * product
        following = xp.sum(residual * residual, axis=1)
        direction = residual + (following / xp.where(square > 0, square, 1.0 + 0.0 * square))[:, None] * direction
        square = following
        if not bool(xp.any(square > stop)):
            break
    S = theta.shape[0]
    return [x[i * S : (i + 1) * S, :] for i in range(C)]


def _curvature(samples: Samples, students: Students, moves: Free) -> Array:
    """A typical eigenvalue of JᵀJ, from one product with a random direction."""
    d, S, k = students.shape
    U = np.random.default_rng(0).choice([-1.0, 1.0], size=(S, moves.size(d, k)))
    product = samples.mean(NormalProduct(students, moves, U))[0]
    xp = array_namespace(product)
    return xp.sum(product * as_like(U, product), axis=1) / U.shape[1]
