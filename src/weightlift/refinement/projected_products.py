"""Damped steps of variable projection without its normal equations: conjugate gradients for all dampings at once.

Step     (H + μD)⁻¹g with H = JᵀJ, D its diagonal. Scaled by D^{-1/2} the systems of all μ differ by multiples of the identity,
         so that one Krylov space serves them: that of the least μ, of whose residual the others' are multiples
         [Jegerlehner 1996].
Product  J V = (I − P)(x̃V ∘ φ′)A and its transpose, with GᵀF summed once: one pass over rows that hold x̃, φ′(z) and F.
Cost     O(n q k) a product, where normal equations take n (qk)² and their factors (qk)³: a twentieth of the time at qk = 3000.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from weightlift.namespaces import array_namespace, as_like, matmul_transposed, to_numpy
from weightlift.refinement.limits import LIMITS
from weightlift.samples import Block, Samples, Sums

if TYPE_CHECKING:
    from weightlift.refinement.variable_projection import Hidden, Model

TINY = 2.0**-1022  # the least normal number, as in `gauss_newton`


def product_steps(
    samples: Samples,
    hidden: Hidden,
    A: np.ndarray,
    projected: tuple[np.ndarray, np.ndarray],
    gradient: np.ndarray,
    model: Model,
    dampings: np.ndarray,
) -> np.ndarray:
    """(dampings, qk) for one hidden layer with output weights A (k, m); projected: GᵀF (qk, f) and (FᵀF)⁻¹FᵀG (f, qk)."""
    GF, rest = projected
    q, (_, _, k) = model.inputs(samples.d), hidden.shape
    rows = samples.map(Linearized(hidden, model)).persist()
    squares = to_numpy(rows.mean(SlopeSquares(q, k))[0]).reshape(-1) - np.sum(GF * rest.T, axis=1)
    diagonal = squares * np.tile(np.sum(A * A, axis=1), q)
    root = np.sqrt(np.maximum(diagonal, 1e-10 * diagonal.max()) + TINY)
    spread = np.tile(A, (q, 1))  # the input is the slower index

    def product(v: np.ndarray) -> np.ndarray:
        pulled, features = (to_numpy(s) for s in rows.mean(TangentProduct((v / root).reshape(q, k), A)))
        return np.asarray((pulled.reshape(-1) - np.sum((rest.T @ features) * spread, axis=1)) / root)

    steps = shifted_systems(product, gradient / root, dampings) / root
    return np.asarray(np.where(np.isfinite(steps), steps, 0.0))


def shifted_systems(product: Callable[[np.ndarray], np.ndarray], target: np.ndarray, shifts: np.ndarray) -> np.ndarray:
    """(shifts, p) solutions of (H + μI)x = g, that of the least μ to `cg_tolerance` or as far as `projected_steps` products go.

    The residual of μ is ζ times that of the least shift; ζ follows from the recurrence of the residuals.
    """
    least = float(np.min(shifts))
    apart = (shifts - least)[:, None]
    x, directions = np.zeros((len(shifts), len(target))), np.tile(target, (len(shifts), 1))
    residual, along = target, target
    square = float(target @ target)
    stop = LIMITS.cg_tolerance**2 * square
    before, zeta, length, ratio = np.ones_like(apart), np.ones_like(apart), 1.0, 0.0
    for _ in range(LIMITS.projected_steps):
        if not square > stop:
            break
        image = product(along) + least * along
        earlier, length = length, square / float(along @ image)
        following = zeta * before * earlier
        following /= length * ratio * (before - zeta) + before * earlier * (1 + apart * length)
        factor = following / zeta
        x += length * factor * directions
        residual = residual - length * image
        square, ratio = float(residual @ residual), float(residual @ residual) / square
        along = residual + ratio * along
        directions = following * residual + ratio * factor**2 * directions
        before, zeta = zeta, following
    return x


@dataclass(frozen=True, eq=False)
class Linearized:
    """Rows with x̃, φ′(z) of one hidden layer and its features F in the place of x."""

    hidden: Hidden
    model: Model

    def __call__(self, block: Block) -> Block:
        xp, X = array_namespace(block.X), block.X
        hidden = self.hidden.like(X)
        z = hidden.preactivations(X)[:, 0, :]
        one = [xp.ones_like(X[:, :1])] if self.model.bias else []
        parts = [X, *one, hidden.activation.derivative(z), hidden.activation(z), self.model.beside(X)]
        return replace(block, X=xp.concat(parts, axis=1))


@dataclass(frozen=True, eq=False)
class SlopeSquares:
    """Σ w x̃² ⊗ φ′² (q, k)."""

    inputs: int
    units: int

    @property
    def floats_per_row(self) -> int:
        return self.inputs + 2 * self.units

    def __call__(self, block: Block) -> Sums:
        X, D = block.X[:, : self.inputs], block.X[:, self.inputs : self.inputs + self.units]
        return (matmul_transposed(X * X, D * D if block.w is None else block.w[:, None] * D * D),)


@dataclass(frozen=True, eq=False)
class TangentProduct:
    """With U = (x̃V ∘ φ′)A, for V (q, k) and A (k, m): Σ w x̃ ⊗ (UAᵀ ∘ φ′) (q, k) and Σ w F ⊗ U (f, m)."""

    V: np.ndarray
    A: np.ndarray

    @property
    def floats_per_row(self) -> int:
        return 3 * sum(self.A.shape)

    def __call__(self, block: Block) -> Sums:
        xp = array_namespace(block.X)
        V, A = (as_like(v, block.X) for v in (self.V, self.A))
        q, k = V.shape
        X, D, F = block.X[:, :q], block.X[:, q : q + k], block.X[:, q + k :]
        U = xp.matmul(xp.matmul(X, V) * D, A)
        U = U if block.w is None else block.w[:, None] * U
        return matmul_transposed(X, xp.matmul(U, xp.matrix_transpose(A)) * D), matmul_transposed(F, U)
