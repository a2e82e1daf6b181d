"""Control variates: y is replaced by its least-squares residual on polynomials of lower degree.

M_k = E[y He_k(x)] is unchanged when a polynomial of degree below k is subtracted from y, while its variance falls:
the linear part of y is the largest source of noise in M2, the quadratic part inside span(W) in M3 and M4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from weightlift.moments.directional import DirectionalMoments
from weightlift.moments.hermite_moment import HermiteMoment
from weightlift.moments.limits import LIMITS
from weightlift.namespaces import Array, array_namespace, as_like, matmul_transposed, matrix, to_numpy
from weightlift.network import Network
from weightlift.samples import Block, Residual, Samples, Sums


def remove_linear(samples: Samples, *, implicit: bool = False) -> Samples:
    """The samples with y replaced by its residual on [1, x].

    Dense: normal equations, O(n d²) once. Implicit: conjugate gradients on products with X alone, O(n d) a step.

    implicit  conjugate gradients instead of normal equations, for many inputs
    """
    if implicit:
        return samples.map(Residual(Polynomial(None, _conjugate_gradients(samples))))
    return samples.map(Residual(_solution(None, samples.mean(PolynomialRegression(samples.d, None)))))


def remove_quadratic(samples: Samples, V: np.ndarray) -> Samples:
    """The samples with y replaced by its residual on {1, s, sᵢsⱼ}, s = Vᵀx; O(n d k + n k²), and the fit of `control_variate`.

    V  (d, k), orthonormal columns
    """
    return samples.map(Residual(control_variate(samples, V)))


def control_variate(samples: Samples, V: np.ndarray) -> Polynomial:
    """A polynomial of degree 2 inside V that is nearly the least-squares one, on as many rows as that takes.

    Whatever is subtracted, moments are changed by what is known of it. A fit of t terms to m rows leaves 1 + t/m of the least
    variance, at the cost m t², k⁴ a row: of many terms so many rows are taken that this share hardly shows.

    samples  rows, as `samples.open` gives them
    V        (d, k), orthonormal columns
    """
    k = V.shape[1]
    terms = 1 + k + k * (k + 1) // 2
    enough = max(LIMITS.rows_a_term * terms, LIMITS.cheap_products / terms**2)
    part = samples if not enough < samples.n < math.inf else samples.split(enough / samples.n, seed=0)[0]
    return quadratic_fit(part, V)


def quadratic_fit(samples: Samples, V: np.ndarray) -> Polynomial:
    """The least-squares polynomial of degree 2 inside V, whose columns are orthonormal; O(n d k + n k⁴).

    samples  rows, as `samples.open` gives them
    """
    return _solution(V, samples.mean(PolynomialRegression(samples.d, V)))


@dataclass(frozen=True, eq=False)
class Polynomial:
    """x → ⟨coefficients, features⟩ with features [1, x] (V None) or [1, s, sᵢsⱼ (i ≤ j)], s = Vᵀx."""

    V: np.ndarray | None
    coefficients: np.ndarray

    def __call__(self, X: Array) -> Array:
        X = matrix(X, len(self.coefficients) - 1 if self.V is None else len(self.V))
        xp, coefficients = array_namespace(X), as_like(self.coefficients, X)
        if self.V is None:
            return xp.matmul(X, coefficients[1:]) + coefficients[0]
        return xp.matmul(_features(X, self.V), coefficients)

    @property
    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """M1 (k,) and M2 (k, k) of a quadratic inside V: the linear coefficients, and twice the symmetric quadratic form."""
        assert self.V is not None
        k = self.V.shape[1]
        upper = np.zeros((k, k))
        upper[np.triu_indices(k)] = self.coefficients[1 + k :]
        return self.coefficients[1 : 1 + k], upper + upper.T


@dataclass(frozen=True, eq=False)
class PolynomialRegression:
    """Normal equations of y on the features: their Gram matrix and their products with y."""

    n_inputs: int
    V: np.ndarray | None

    @property
    def floats_per_row(self) -> int:
        k = self.n_inputs if self.V is None else self.V.shape[1]
        return 2 * (1 + k if self.V is None else 1 + k + k * (k + 1) // 2)

    def __call__(self, block: Block) -> Sums:
        xp = array_namespace(block.X)
        F = _features(block.X, self.V)
        weighted = F if block.w is None else block.w[:, None] * F
        return matmul_transposed(F, weighted), xp.matmul(block.wy, F)

    def expectation(self, network: Network) -> tuple[np.ndarray, np.ndarray]:
        """Under N(0, I) with orthonormal V: E ssᵀ = I, E sᵢsⱼsₖsₗ by pairings, E y from M0, M1, M2."""
        V = np.eye(self.n_inputs) if self.V is None else self.V
        k = V.shape[1]
        zero = DirectionalMoments(np.eye(self.n_inputs)[:, :1], (0,)).expectation(network)[0]
        first = HermiteMoment(self.n_inputs, 1, V).expectation(network)[0]
        if self.V is None:
            return np.eye(k + 1), np.concatenate([zero, first])
        i, j = np.triu_indices(k)
        same = (i == j).astype(float)
        gram = np.eye(1 + k + len(i))
        gram[0, 1 + k :] = gram[1 + k :, 0] = same
        gram[1 + k :, 1 + k :] = np.outer(same, same) + np.diag(1.0 + same)
        second = HermiteMoment(self.n_inputs, 2, V).expectation(network)[0][i, j] + same * zero
        return gram, np.concatenate([zero, first, second])


@dataclass(frozen=True, eq=False)
class _NormalProduct:
    """FᵀF v, or Fᵀy where v is None, for F = [1, x], by products of X with one vector each."""

    v: np.ndarray | None

    @property
    def floats_per_row(self) -> int:
        return 2

    def __call__(self, block: Block) -> Sums:
        xp, rows = array_namespace(block.X), block.wy
        if self.v is not None:
            v = as_like(self.v, block.X)
            fitted = xp.matmul(block.X, v[1:]) + v[0]
            rows = fitted if block.w is None else block.w * fitted
        return xp.sum(rows), xp.matmul(rows, block.X)

    def expectation(self, network: Network) -> tuple[np.ndarray, np.ndarray]:
        target = PolynomialRegression(network.n_inputs, None).expectation(network)[1] if self.v is None else self.v
        return target[0], target[1:]


def _solution(V: np.ndarray | None, equations: Sums) -> Polynomial:
    gram, target = (to_numpy(s) for s in equations)
    return Polynomial(V, np.asarray(np.linalg.lstsq(gram, target, rcond=1e-12)[0]))


def _conjugate_gradients(samples: Samples) -> np.ndarray:
    """Solve FᵀF v = Fᵀy; for nearly white x a dozen steps reach rounding."""
    residual = _apply(samples, None)
    v, direction = np.zeros(samples.d + 1), residual
    square = float(residual @ residual)
    stop = LIMITS.cg_tolerance**2 * square
    for _ in range(LIMITS.cg_steps):
        if square <= stop:
            break
        product = _apply(samples, direction)
        step = square / float(direction @ product)
        v, residual = v + step * direction, residual - step * product
        square, previous = float(residual @ residual), square
        direction = residual + square / previous * direction
    return v


def _apply(samples: Samples, v: np.ndarray | None) -> np.ndarray:
    head, tail = (to_numpy(s) for s in samples.mean(_NormalProduct(v)))
    return np.concatenate([np.reshape(head, (1,)), tail])


def _features(X: Array, V: np.ndarray | None) -> Array:
    xp = array_namespace(X)
    one = xp.ones((X.shape[0], 1), dtype=X.dtype, device=X.device)
    if V is None:
        return xp.concat([one, X], axis=1)
    S = xp.matmul(X, as_like(V, X))
    return xp.concat([one, S, *(S[:, i : i + 1] * S[:, i:] for i in range(V.shape[1]))], axis=1)
