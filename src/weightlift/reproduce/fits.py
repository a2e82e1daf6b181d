"""Laws that are read off a table: lines, powers, and where a share passes a level, with their standard errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from weightlift.reproduce.limits import LIMITS


@dataclass(frozen=True)
class Line:
    """y ≈ slope · x + intercept by least squares, R² of the fit, and the number of points."""

    slope: float
    intercept: float
    r2: float
    points: int

    @classmethod
    def fitted(cls, x: ArrayLike, y: ArrayLike) -> Line:
        """Points that are not finite are left out; NaN where fewer than two are left.

        >>> line = Line.fitted([0, 1, 2], [1.0, 3.0, 5.0])
        >>> line.slope, line.intercept, line.r2
        (2.0, 1.0, 1.0)
        """
        both = np.stack([np.asarray(x, dtype=float), np.asarray(y, dtype=float)])
        u, v = both[:, np.isfinite(both).all(axis=0)]
        if len(set(u)) < 2:
            return cls(np.nan, np.nan, np.nan, len(u))
        dx, dy = u - u.mean(), v - v.mean()
        slope = float(dx @ dy / (dx @ dx))
        residual, total = dy - slope * dx, dy @ dy
        r2 = float(1 - residual @ residual / total) if total > 0 else 1.0
        return cls(slope, float(v.mean() - slope * u.mean()), r2, len(u))

    @classmethod
    def of_powers(cls, x: ArrayLike, y: ArrayLike) -> Line:
        """The line through the logarithms: slope is the exponent."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return cls.fitted(np.log(np.asarray(x, dtype=float)), np.log(np.asarray(y, dtype=float)))


@dataclass(frozen=True)
class Powers:
    """y ≈ C Π x_j^{p_j} by least squares of the logarithms: exponents, their standard errors, R² and the number of points."""

    exponents: np.ndarray  # (m,)
    errors: np.ndarray  # (m,)
    r2: float
    points: int

    @classmethod
    def fitted(cls, columns: Sequence[ArrayLike], y: ArrayLike) -> Powers:
        """Points that are not positive and finite are left out; NaN where they do not determine the exponents.

        >>> n, d = np.array([1.0, 2.0, 4.0, 1.0, 2.0]), np.array([1.0, 1.0, 1.0, 3.0, 3.0])
        >>> Powers.fitted([n, d], 5 * n**-0.5 * d).exponents.round(6)
        array([-0.5,  1. ])
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(np.stack([np.asarray(values, dtype=float) for values in (*columns, y)]))
        logs = logs[:, np.isfinite(logs).all(axis=0)]
        count, m = logs.shape[1], len(columns)
        if count <= m + 1 or np.linalg.matrix_rank(Z := np.column_stack([np.ones(count), *logs[:-1]])) <= m:
            nothing = np.full(m, np.nan)
            return cls(nothing, nothing, np.nan, count)
        theta = np.linalg.lstsq(Z, logs[-1], rcond=None)[0]
        left, total = float(np.sum((logs[-1] - Z @ theta) ** 2)), float(np.sum((logs[-1] - logs[-1].mean()) ** 2))
        variances = left / (count - m - 1) * np.diag(np.linalg.inv(Z.T @ Z))
        return cls(theta[1:], np.sqrt(variances[1:]), 1 - left / total if total > 0 else 1.0, count)


@dataclass(frozen=True)
class Logistic:
    """Shares p of successes with logit p = β log(size) + α_g, one slope β for all groups, by maximum likelihood."""

    slope: float
    heights: np.ndarray  # (groups,) α
    covariance: np.ndarray  # of (β, α_1, …)

    @classmethod
    def fitted(cls, sizes: ArrayLike, successes: ArrayLike, trials: ArrayLike) -> Logistic:
        """successes, trials (groups, sizes). A weak Gaussian prior on the logits bounds groups that are all ones or all zeros.

        >>> sizes = np.array([1.0, 2.0, 4.0, 8.0])
        >>> p = 1 / (1 + (sizes / np.array([[3.0], [5.0]])) ** -2)
        >>> Logistic.fitted(sizes, 1e6 * p, np.full(p.shape, 1e6)).thresholds(0.5)[0].round(3)
        array([3., 5.])
        """
        hits, tried = np.asarray(successes, dtype=float), np.asarray(trials, dtype=float)
        x = np.broadcast_to(np.log(np.asarray(sizes, dtype=float)), hits.shape)
        groups = np.repeat(np.eye(len(hits)), hits.shape[1], axis=0)
        Z = np.column_stack([x.ravel(), groups])
        theta, covariance = _maximum_likelihood(Z, hits.ravel(), tried.ravel())
        return cls(float(theta[0]), theta[1:], covariance)

    def thresholds(self, level: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The size at which the share passes `level`, and its 95 % interval, (groups,) each; infinite if shares do not rise."""
        if not self.slope > 0:
            endless = np.full(len(self.heights), np.inf)
            return endless, endless, endless
        where = (np.log(level / (1 - level)) - self.heights) / self.slope
        gradient = np.column_stack([-where, -np.eye(len(where))]) / self.slope
        spread = 1.96 * np.sqrt(np.einsum("gi,ij,gj->g", gradient, self.covariance, gradient))
        return np.exp(where), np.exp(where - spread), np.exp(where + spread)


def logistic_exponent(sizes: ArrayLike, inputs: ArrayLike, successes: ArrayLike, trials: ArrayLike) -> tuple[float, float]:
    """γ and its standard error in p = logistic(β (log n − γ log d) + α): the size that a given share needs grows as d^γ.

    sizes, inputs, successes, trials: (points,) each.
    """
    n, d = np.log(np.asarray(sizes, dtype=float)), np.log(np.asarray(inputs, dtype=float))
    Z = np.column_stack([n, d, np.ones_like(n)])
    theta, covariance = _maximum_likelihood(Z, np.asarray(successes, dtype=float), np.asarray(trials, dtype=float))
    gamma = -theta[1] / theta[0]
    gradient = np.array([-gamma, -1.0, 0.0]) / theta[0]
    return float(gamma), float(np.sqrt(gradient @ covariance @ gradient))


def _maximum_likelihood(Z: np.ndarray, hits: np.ndarray, tried: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """θ and its covariance in logit p = Z θ, by Newton's method with halved steps."""
    prior = LIMITS.prior * np.eye(Z.shape[1])
    theta = np.zeros(Z.shape[1])

    def loss(theta: np.ndarray) -> float:
        z = Z @ theta
        return float(np.sum(tried * np.logaddexp(0, z) - hits * z) + theta @ prior @ theta / 2)

    for _ in range(LIMITS.newton):
        p = 1 / (1 + np.exp(-np.clip(Z @ theta, -500, 500)))
        gradient = Z.T @ (tried * p - hits) + prior @ theta
        step = np.linalg.solve((Z * (tried * p * (1 - p))[:, None]).T @ Z + prior, gradient)
        scale = 1.0
        while loss(theta - scale * step) > loss(theta) and scale > np.finfo(float).eps:
            scale /= 2
        theta = theta - scale * step
    p = 1 / (1 + np.exp(-np.clip(Z @ theta, -500, 500)))
    return theta, np.linalg.inv((Z * (tried * p * (1 - p))[:, None]).T @ Z + prior)
