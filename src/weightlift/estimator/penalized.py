"""Damped Gauss–Newton for units beside a line, both penalised, on rows in memory.

Minimises   ½ E r² + ½ λ ‖v‖² + ½ α ‖(W, b, a)‖²,   r = Σᵢ aᵢ φ(⟨wᵢ, z⟩ + bᵢ) + ⟨v, z⟩ + c − t;  c has no penalty.
Step        (H + μ diag H) δ = ∇, H = E JᵀJ + the penalties' diagonal; μ follows what helps.
Cost        O(n p²) a step for p = k(d + 2) + d + 1 parameters; J is formed for a block of rows at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from weightlift.activations import Activation
from weightlift.estimator.limits import LIMITS
from weightlift.network import Network


@dataclass(frozen=True, eq=False)
class Data:
    """Standardised rows Z (n, d), targets t (n,), weights (n,) or None."""

    Z: np.ndarray
    t: np.ndarray
    w: np.ndarray | None

    def take(self, index: np.ndarray) -> Data:
        return Data(self.Z[index], self.t[index], None if self.w is None else self.w[index])

    def mean(self, values: np.ndarray) -> float:
        return float(np.average(values, weights=self.w))


@dataclass(frozen=True, eq=False)
class Parameters:
    """A network of standardised inputs, its penalised risk, the steps taken to it and the damping they ended with."""

    W: np.ndarray  # (d, k)
    a: np.ndarray  # (k,)
    b: np.ndarray  # (k,)
    v: np.ndarray  # (d,)
    c: float
    value: float = np.inf
    steps: float = 0.0  # of Gauss–Newton, or what others cost in them

    @property
    def vector(self) -> np.ndarray:
        return np.concatenate([self.W.ravel(), self.b, self.a, self.v, [self.c]])

    def at(self, vector: np.ndarray) -> Parameters:
        d, k = self.W.shape
        W, b, a, v, c = np.split(vector, np.cumsum([d * k, k, k, d]))
        return replace(self, W=W.reshape(d, k), b=b, a=a, v=v, c=float(c[0]))

    def moved(self, step: np.ndarray) -> Parameters:
        return self.at(self.vector - step)

    def mixed(self, line: Parameters, share: float) -> Parameters:
        """share · self + (1 − share) · line, as functions."""
        return replace(
            self, a=share * self.a, v=share * self.v + (1 - share) * line.v, c=share * self.c + (1 - share) * line.c
        )

    def network(self, activation: Activation) -> Network:
        return Network(self.W, self.a, self.b, self.c, activation, self.v)


@dataclass(frozen=True)
class Penalty:
    """φ, α and λ, and whether b and c are fitted."""

    activation: Activation
    units: float
    line: float
    bias: bool = True
    offset: bool = True

    def diagonal(self, fit: Parameters) -> np.ndarray:
        """α for W, b and a; λ for v; 0 for c."""
        d, k = fit.W.shape
        return np.repeat([self.units, self.line, 0.0], [k * (d + 2), d, 1])

    def free(self, fit: Parameters) -> np.ndarray:
        d, k = fit.W.shape
        return np.repeat([True, self.bias, True, self.offset], [d * k, k, k + d, 1])

    def value(self, data: Data, fit: Parameters) -> float:
        value = 0.5 * data.mean(residuals(data, fit, self.activation) ** 2)
        value += 0.5 * float(self.diagonal(fit) @ fit.vector**2)
        return value if np.isfinite(value) else np.inf


def descend(
    data: Data, fit: Parameters, penalty: Penalty, *, steps: int, tol: float, damping: float = LIMITS.first_damping
) -> Parameters:
    """From `fit` down, until a step lowers the penalised risk by less than `tol` of it, or after `steps` of them."""
    fit = replace(fit, value=penalty.value(data, fit), steps=0)
    done = 0
    while done < steps and damping <= LIMITS.largest_damping and fit.value > 0:
        done += 1
        H, gradient = _normal_equations(data, fit, penalty)
        before = fit.value
        while damping <= LIMITS.largest_damping:
            moved = fit.moved(_step(H, gradient, damping, penalty.free(fit)))
            moved = replace(moved, value=penalty.value(data, moved))
            if moved.value < fit.value:
                fit, damping = moved, max(LIMITS.eased * damping, LIMITS.least_damping)
                break
            damping = max(LIMITS.raised * damping, LIMITS.least_damping)
        if before - fit.value <= tol * before:
            break
    return replace(fit, steps=done)


def _normal_equations(data: Data, fit: Parameters, penalty: Penalty) -> tuple[np.ndarray, np.ndarray]:
    """H (p, p) and the gradient (p,)."""
    diagonal, (n, _) = penalty.diagonal(fit), data.Z.shape
    p = len(diagonal)
    H, gradient, weight = np.zeros((p, p)), np.zeros(p), 0.0
    rows = max(1, LIMITS.jacobian_entries // p)
    for i in range(0, n, rows):
        part = data.take(np.arange(i, min(n, i + rows)))
        J, r = _jacobian(part, fit, penalty.activation), residuals(part, fit, penalty.activation)
        weighted = J if part.w is None else part.w[:, None] * J
        H += weighted.T @ J
        gradient += weighted.T @ r
        weight += len(r) if part.w is None else float(part.w.sum())
    return H / weight + np.diag(diagonal), gradient / weight + diagonal * fit.vector


def _jacobian(data: Data, fit: Parameters, activation: Activation) -> np.ndarray:
    """(n, p): ∂r/∂(W, b, a, v, c)."""
    Z, z = data.Z, data.Z @ fit.W + fit.b
    slopes = fit.a * activation.derivative(z)
    weights = (Z[:, :, None] * slopes[:, None, :]).reshape(len(Z), -1)
    return np.concatenate([weights, slopes, activation(z), Z, np.ones((len(Z), 1))], axis=1)


def residuals(data: Data, fit: Parameters, activation: Activation) -> np.ndarray:
    return np.asarray(activation(data.Z @ fit.W + fit.b) @ fit.a + data.Z @ fit.v + fit.c - data.t)


def _step(H: np.ndarray, gradient: np.ndarray, damping: float, free: np.ndarray) -> np.ndarray:
    """Zero for what is not free; no step where H is not positive definite, so that the damping is raised."""
    step = np.zeros(len(gradient))
    part = H[np.ix_(free, free)]
    diagonal = np.diagonal(part)
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = part * scale[:, None] * scale + damping * np.eye(len(part))
    scaled[diagonal <= 0, diagonal <= 0] = 1.0
    try:
        step[free] = scale * cho_solve(cho_factor(scaled, check_finite=False), scale * gradient[free], check_finite=False)
    except LinAlgError:
        return step
    return step
