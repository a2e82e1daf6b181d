"""The objective order by order: ‖f − g‖² = Σ_k ‖T_k(f) − T_k(g)‖²/k!, with its gradient  [awasthi2021, after Lemma 3.5].

Model     x ~ N(0, I), f the student, g the teacher; T_k(f) = E[f He_k] = Σᵢ aᵢ m_k(σᵢ, bᵢ) w̄ᵢ^{⊗k}, σ = ‖w‖,
          m_k(σ, b) = E φ(σz + b) He_k(z). Term k is a tensor decomposition problem: units whose k-th powers add up to T_k(g).
Gradient  With D_k = T_k(f) − T_k(g), m_k′ = ∂_b m_k = m_{k+1}/σ and σ ∂_σ m_k = m_{k+2} + k m_k (integration by parts),
              ∂a: 2 m_k D_k(w̄ᵏ)/k!,   ∂b: 2 a m_{k+1}/σ · D_k(w̄ᵏ)/k!,
              ∂w: 2 a/σ [m_{k+2} D_k(w̄ᵏ) w̄ + k m_k D_k(w̄^{k−1}, ·)]/k!,   ∂c: 2 D_0 at k = 0.
Limit     The sum over k ≤ K rises to E (f − g)²; what is missing is at most Σ_{k>K} of the units' energies, each
          E φ² − Σ_{k≤K} m_k²/k!. Any activation with Hermite coefficients; biases and different widths are welcome.
Cost      O((k + k')² K + d k (k + k')), no tensor is formed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weightlift.errors import ArgumentError, ShapeError
from weightlift.geometry.units import Units
from weightlift.network import Network, require_single


@dataclass(frozen=True, eq=False)
class HermiteObjective:
    """The terms ‖T_k(f) − T_k(g)‖²/k!, k = 0 … K, and the gradient of their sum in the student's parameters."""

    terms: np.ndarray  # (K + 1,)
    W: np.ndarray  # (d, k)
    a: np.ndarray  # (k,)
    b: np.ndarray  # (k,)
    c: float

    @property
    def value(self) -> float:
        """Σ_{k ≤ K} ‖T_k(f) − T_k(g)‖²/k!, at most E (f − g)²."""
        return float(self.terms.sum())


def hermite_objective(student: Network, teacher: Network, max_order: int, *, min_order: int = 0) -> HermiteObjective:
    """The objective of the orders min_order … max_order.

    student  the network whose distance is measured
    teacher  the planted network

    >>> f, g = Network([[1.0], [0.0]]), Network([[0.0], [1.0]])               # (x₁)₊ and (x₂)₊
    >>> hermite_objective(f, g, 3).terms * 2 * np.pi                          # 0, 2·¼·2π, 2·½
    array([0.        , 3.14159265, 1.        , 0.        ])
    """
    require_single(teacher, "hermite_objective")
    require_single(student, "hermite_objective")
    _check(student, teacher, min_order, max_order)
    own = Units.of(student.activation, student.W, student.b)
    other = Units.of(teacher.activation, teacher.W, teacher.b)
    K = max_order
    orders = np.arange(K + 1.0)
    used = (orders >= min_order)[:, None]
    F, G = own.hermites(K + 2), other.hermites(K)[: K + 1]  # m_k/√k!
    P, Q = used * student.a * F[: K + 1], used * teacher.a * G  # coefficients of w̄ᵢ^{⊗k} in T_k/√k!
    own_cosines, cross_cosines = own.directions.T @ own.directions, own.directions.T @ other.directions
    other_cosines = other.directions.T @ other.directions
    constant = (student.c - teacher.c) * float(min_order == 0)
    terms = _forms(P, own_cosines, P) - 2 * _forms(P, cross_cosines, Q) + _forms(Q, other_cosines, Q)
    along = _applied(own_cosines, P, orders) - _applied(cross_cosines, Q, orders)  # D_k(w̄ᵢᵏ)/√k!, (K + 1, k)
    mean = float((P[0].sum() - Q[0].sum()) + constant)
    terms[0] = mean**2
    along[0] = mean if min_order == 0 else 0.0
    rise = np.sqrt(orders + 1)[:, None]
    second = F[2 : K + 3] * rise * np.sqrt(orders + 2)[:, None]  # m_{k+2}/√k!
    scale = np.where(own.scale > 0, own.scale, 1.0)
    weight = 2 * student.a / scale
    # D_k(w̄^{k−1}, ·) = Σⱼ coefficientⱼ ⟨w̄ᵢ, v̄ⱼ⟩^{k−1} v̄ⱼ over the student's units and, with minus, the teacher's
    turn = _turned(own_cosines, P, F, orders) @ own.directions.T - _turned(cross_cosines, Q, F, orders) @ other.directions.T
    radial = (used * second * along).sum(axis=0)
    return HermiteObjective(
        np.maximum(terms, 0.0),
        weight * (own.directions * radial + turn.T),
        2 * (used * F[: K + 1] * along).sum(axis=0),
        weight * (used * F[1 : K + 2] * rise * along).sum(axis=0),
        2 * mean if min_order == 0 else 0.0,
    )


def _forms(P: np.ndarray, cosines: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Σᵢⱼ P_ki cos_ijᵏ Q_kj for every order k."""
    power, values = np.ones_like(cosines), np.empty(len(P))
    for k in range(len(P)):
        values[k] = P[k] @ power @ Q[k]
        power = power * cosines
    return values


def _applied(cosines: np.ndarray, Q: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """Σⱼ cos_ijᵏ Q_kj, (K + 1, k)."""
    power, values = np.ones_like(cosines), np.empty((len(orders), len(cosines)))
    for k in range(len(orders)):
        values[k] = power @ Q[k]
        power = power * cosines
    return values


def _turned(cosines: np.ndarray, Q: np.ndarray, F: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """Σ_k k F_ki cos_ij^{k−1} Q_kj, (k, k'): the coefficient of v̄ⱼ in the turn of w̄ᵢ."""
    power, total = np.ones_like(cosines), np.zeros_like(cosines)
    for k in range(1, len(orders)):
        total += k * F[k][:, None] * power * Q[k]
        power = power * cosines
    return total


def _check(student: Network, teacher: Network, min_order: int, max_order: int) -> None:
    if student.n_inputs != teacher.n_inputs:
        raise ShapeError(f"student has {student.n_inputs} inputs and teacher has {teacher.n_inputs}; they must agree.")
    if not 0 <= min_order <= max_order:
        raise ArgumentError(f"orders must satisfy 0 ≤ min_order ≤ max_order, not {min_order} and {max_order}.")
    if not student.W.any(axis=0).all():
        index = int(np.argmin(student.W.any(axis=0)))
        raise ArgumentError(f"unit {index} of student has weight zero, where the objective is not smooth; remove or move it.")
