"""Starts for the search, many at once: random directions, perturbed survivors, units re-seeded where the residual points.

Shapes  a batch is a `Students` with W (d, S, k); nothing loops over starts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weightlift.activations import Activation
from weightlift.namespaces import array_namespace, to_numpy
from weightlift.risk import Students
from weightlift.samples import Block, Samples, Sums

PERTURBATION = (0.4, 1.3)  # length of the random part relative to the unit direction


def random_students(
    n_inputs: int, n_units: int, count: int, activation: Activation, *, bias: float, rng: np.random.Generator
) -> Students:
    """Gaussian directions, biases `bias` times a coordinate's size; output weights are left to projection."""
    W = rng.normal(size=(n_inputs, count, n_units))
    b = bias * rng.normal(size=(count, n_units))
    return Students(W, np.ones((count, n_units)), b, np.zeros(count), activation)


def perturbed(samples: Samples, pool: Students, *, bias: bool, rng: np.random.Generator) -> Students:
    """Each survivor with a share of its units shaken, and the best one with its least unit re-seeded where the residual points.

    Early on all units are wrong, at the end one or two of many: no share suits both."""
    W, b = to_numpy(pool.W), to_numpy(pool.b)
    d, S, k = W.shape
    length = np.sqrt(np.sum(W**2, axis=0) + b**2)
    length = np.where(length > 0, length, 1.0)
    W, b = W / length, b / length
    size = rng.uniform(*PERTURBATION, size=(S, 1)) / np.sqrt(d) * (rng.random((S, k)) < rng.random((S, 1)))
    shaken = W + size * rng.normal(size=W.shape), b + bias * size * rng.normal(size=b.shape)
    seeded = _reseeded(samples, pool.on_host().take(np.array([0])), W[:, :1], b[:1], bias, rng)
    W, b = np.concatenate([shaken[0], seeded[0]], axis=1), np.concatenate([shaken[1], seeded[1]])
    return Students(W, np.ones((S + 1, k)), b, np.zeros(S + 1), pool.activation)


def _reseeded(
    samples: Samples, pool: Students, W: np.ndarray, b: np.ndarray, bias: bool, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The unit with the smallest output (a dead one first) becomes the leading eigenvector of E r (xxᵀ − I), either sign."""
    moments = to_numpy(samples.mean(ResidualMoments(pool))[0])
    values, vectors = np.linalg.eigh((moments + np.swapaxes(moments, 1, 2)) / 2)
    S = len(values)
    pick = np.argmax(np.abs(values), axis=1)
    direction = vectors[np.arange(S), :, pick] * rng.choice([-1.0, 1.0], size=(S, 1))
    weakest = np.argmin(np.abs(to_numpy(pool.a)) * np.sqrt(np.sum(to_numpy(pool.W) ** 2, axis=0)), axis=1)
    W, b = W.copy(), b.copy()
    W[:, np.arange(S), weakest] = direction.T
    b[np.arange(S), weakest] = bias * rng.normal(size=S)
    return W, b


@dataclass(frozen=True, eq=False)
class ResidualMoments:
    """E r (xxᵀ − I) for each of S students, (S, d, d): where their residual still has a second Hermite moment."""

    students: Students

    @property
    def floats_per_row(self) -> int:
        d, S, k = self.students.shape
        return S * (d + 3 * k)

    def __call__(self, block: Block) -> Sums:
        xp, X = array_namespace(block.X), block.X
        students = self.students.like(X)
        d, S, _ = students.shape
        r = students.residuals(students.activation(students.preactivations(X)), block.y)
        wr = r if block.w is None else block.w[:, None] * r
        spread = xp.reshape(wr[:, :, None] * X[:, None, :], (X.shape[0], S * d))
        second = xp.reshape(xp.matmul(xp.matrix_transpose(spread), X), (S, d, d))
        eye = xp.eye(d, dtype=X.dtype, device=X.device)
        return (second - xp.sum(wr, axis=0)[:, None, None] * eye,)
