"""Trivial predictors of a network's output under x ~ N(0, I): what can be said without knowing a unit  [mondelli2019, §3].

With T₀ = E y, T₁ = E y x, T₂ = E y (xxᵀ − I), which for y = Σ aᵢ φ(⟨wᵢ, x⟩ + bᵢ) + c are sums over the units, the best

    constant     a             = T₀                                       risk  Var y
    linear       a + ⟨v, x⟩    : v = T₁, a = T₀                           risk  Var y − ‖T₁‖²
    norm         a + b‖x‖²     : b = tr T₂/(2d), a = T₀ − b d             risk  Var y − (tr T₂)²/(2d)
    quadratic    a + xᵀAx      : A = T₂/2, a = T₀ − tr A                  risk  Var y − ‖T₂‖²/2

because 1, x, ‖x‖² − d and xxᵀ − I are uncorrelated, of second moments 1, I, 2d and E ⟨A, xxᵀ − I⟩² = 2‖A‖² for symmetric A.
For ‖wᵢ‖ = 1, aᵢ = 1, k = r units: tr T₂ = √2 σ̂₂ r and ‖T₂‖² = 2 σ̂₂² Σᵢⱼ ⟨wᵢ, wⱼ⟩², and for odd φ the last two are no better
than the first. Exact but for rounding; cost O(k² (d + K)) with K orders of φ's Hermite series, and O(d² k).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from weightlift.errors import ArgumentError, ShapeError
from weightlift.geometry import inner
from weightlift.geometry.units import Units
from weightlift.network import Network, require_single


@dataclass(frozen=True, eq=False)
class TrivialPredictor:
    """ŷ(x) = constant + ⟨linear, x⟩ + xᵀ quadratic x, and its risk E (y − ŷ)²."""

    name: str
    constant: float
    linear: np.ndarray  # (d,)
    quadratic: np.ndarray = field(repr=False)  # (d, d), symmetric
    risk: float

    def predict(self, X: np.ndarray) -> np.ndarray:
        """ŷ (n,) for the rows of X (n, d)."""
        X = np.asarray(X, dtype=float)
        if X.ndim != 2 or X.shape[1] != len(self.linear):
            raise ShapeError(f"X must have shape (n, {len(self.linear)}), not {X.shape}.")
        return np.asarray(self.constant + X @ self.linear + ((X @ self.quadratic) * X).sum(axis=1))


@dataclass(frozen=True, eq=False)
class TrivialPredictors:
    """The four, best in their classes."""

    constant: TrivialPredictor
    linear: TrivialPredictor
    norm: TrivialPredictor
    quadratic: TrivialPredictor

    @property
    def variance(self) -> float:
        """Var y, the risk of the constant."""
        return self.constant.risk

    def __str__(self) -> str:
        lines = [f"{'predictor':<12}{'risk':>14}{'share of Var y':>16}"]
        for p in (self.constant, self.linear, self.norm, self.quadratic):
            share = p.risk / self.variance if self.variance else math.nan
            lines.append(f"{p.name:<12}{p.risk:>14.6g}{share:>16.4f}")
        return "\n".join(lines)


def trivial_predictors(net: Network) -> TrivialPredictors:
    """Coefficients and risks of the best constant, linear, norm and quadratic predictors of y = net(x), x ~ N(0, I).

    >>> net = Network(np.eye(2), activation="quadratic")            # y = ‖x‖²
    >>> found = trivial_predictors(net)
    >>> found.variance, found.norm.risk, found.norm.quadratic
    (4.0, 0.0, array([[1., 0.],
           [0., 1.]]))
    """
    T0, T1, T2 = low_orders(net)
    d, nothing = net.n_inputs, np.zeros((net.n_inputs, net.n_inputs))
    variance = inner(net, net) - T0**2
    b = float(np.trace(T2)) / (2 * d)
    return TrivialPredictors(
        TrivialPredictor("constant", T0, np.zeros(d), nothing, max(variance, 0.0)),
        TrivialPredictor("linear", T0, T1, nothing, _left(variance, float(T1 @ T1))),
        TrivialPredictor("a + b‖x‖²", T0 - b * d, np.zeros(d), b * np.eye(d), _left(variance, 2 * d * b**2)),
        TrivialPredictor("a + xᵀAx", T0 - b * d, np.zeros(d), T2 / 2, _left(variance, float((T2 * T2).sum()) / 2)),
    )


def low_orders(net: Network) -> tuple[float, np.ndarray, np.ndarray]:
    """T₀ = E y, T₁ = E y x (d,), T₂ = E y (xxᵀ − I) (d, d), from the units' Hermite coefficients."""
    if not isinstance(net, Network):
        raise ArgumentError(f"net must be a Network, not {type(net).__name__}.")
    require_single(net, "low_orders")
    units = Units.of(net.activation, net.W, net.b)
    phi = net.a * units.hermites(2)  # aᵢ E φ(σᵢz + bᵢ) h_j(z), j ≤ 2
    U = units.directions
    return float(phi[0].sum()) + net.c, U @ phi[1], math.sqrt(2) * (U * phi[2]) @ U.T


def _left(variance: float, explained: float) -> float:
    """What an uncorrelated part leaves of the variance; a difference within rounding of zero is zero."""
    left = variance - explained
    return left if left > 16 * np.finfo(float).eps * variance else 0.0
