"""Risk of a student on the population of a teacher, its gradient and its Hessian in W, without samples  [zhong2017, §4].

Model     x ~ N(0, I), y = teacher(x) + ε with ε independent of x; r = student(x) − y. Widths and activations may differ, and
          units may have biases.
Risk      ½ E r² = ½ ‖student − teacher‖² + ½ Var ε.
Gradient  ∂w_j = E r a_j φ′(u_j) x,  u_j = ⟨w_j, x⟩ + b_j; noise does not enter.
Hessian   blocks (j, l): E a_j a_l φ′(u_j) φ′(u_l) x xᵀ (JᵀJ), plus E r a_j φ″(u_j) x xᵀ on j = l  [zhong2017, §4]. Where φ′
          jumps, φ″ holds a Dirac term: the risk is twice differentiable all the same, and its Hessian is JᵀJ plus an integral
          over the hyperplane u_j = kink. Empirical Hessians lack that term on almost every row [zhong2017, Property 3.3(b)].
Each expectation of a pair of units is, with orthonormal w̄ and q in their plane, e₀ I + [w̄ q] C [w̄ q]ᵀ: six two-dimensional
integrals (`pair_moments`).
Cost      k (k + k*) pairs, O(d k) (gradient) or O(d² k²) memory (Hessian).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from weightlift import activations
from weightlift.errors import ArgumentError, ShapeError
from weightlift.geometry import distance
from weightlift.network import Network, require_single
from weightlift.theory.pair_moments import Pairs, dirac_moments, pair_moments


def population_risk(student: Network, teacher: Network, *, noise_std: float = 0.0) -> float:
    """½ E (student(x) − y)² for y = teacher(x) + ε, ε of standard deviation `noise_std`.

    >>> teacher = Network([[1.0], [0.0]], activation="relu")
    >>> population_risk(Network([[0.0], [1.0]]), teacher) * 2 * np.pi         # ½ (½ + ½ − 2/(2π))
    2.14159265358979
    """
    _check_inputs(student, teacher)
    require_single(teacher, "population_risk")
    require_single(student, "population_risk")
    if not 0.0 <= noise_std < math.inf:
        raise ArgumentError(f"noise_std must be a finite number that is not negative, not {noise_std!r}.")
    return 0.5 * distance(student, teacher).squared + 0.5 * noise_std**2


def population_gradient(student: Network, teacher: Network) -> np.ndarray:
    """The gradient of the population risk in W, (d, k).

    student  the network at which it is taken
    teacher  the planted network
    """
    _check_inputs(student, teacher)
    require_single(teacher, "population_gradient")
    require_single(student, "population_gradient")
    _check_differentiable(student)
    gradient = np.zeros_like(student.W)
    for pairs, weights in _residual_pairs(student, teacher):
        moments = pair_moments(pairs, 1, 0) * weights
        vectors = pairs.frames @ moments[1:3].T[:, :, None]  # (P, d, 1)
        gradient += vectors.reshape(student.n_units, -1, student.n_inputs).sum(axis=1).T
    return gradient


def population_hessian(student: Network, teacher: Network, *, curvature: bool = True, dirac: bool = True) -> np.ndarray:
    """The Hessian of the population risk in W, (d, k, d, k).

    dirac: with the singular part of φ″; without it the result is what empirical Hessians converge to.
    curvature: with the φ″ term; False gives JᵀJ.

    student  the network at which it is taken
    teacher  the planted network
    """
    _check_inputs(student, teacher)
    require_single(teacher, "population_hessian")
    require_single(student, "population_hessian")
    _check_differentiable(student)
    d, k = student.W.shape
    i, j = np.triu_indices(k)
    pairs = Pairs.of(student.activation, student.W, student.b, student.activation, student.W, student.b)[i * k + j]
    H = np.zeros((k, k, d, d))
    H[i, j] = H[j, i] = _sums(pairs, pair_moments(pairs, 1, 1) * student.a[i] * student.a[j], len(pairs))
    if curvature:
        for pairs, weights in _residual_pairs(student, teacher):
            moments = pair_moments(pairs, 2, 0) + (dirac_moments(pairs) if dirac else 0.0)
            H[np.arange(k), np.arange(k)] += _sums(pairs, moments * weights, k)
    H = H.transpose(2, 0, 3, 1)
    return np.asarray((H + H.transpose(2, 3, 0, 1)) / 2.0)


def compressed(student: Network, teacher: Network) -> tuple[Network, Network]:
    """Both networks in the coordinates of their common span and one axis more, which stands for all the others.

    Outside the span the population Hessian is a (k, k) matrix times the identity: the small one has the same eigenvalues.
    """
    _check_inputs(student, teacher)
    W = np.hstack([student.W, teacher.W])
    if student.n_inputs <= W.shape[1] + 1:
        return student, teacher
    R = np.vstack([np.linalg.qr(W, mode="r"), np.zeros(W.shape[1])])
    return replace(student, W=R[:, : student.n_units]), replace(teacher, W=R[:, student.n_units :])


def _residual_pairs(student: Network, teacher: Network) -> Iterator[tuple[Pairs, np.ndarray]]:
    """Units of the student against all terms of r, with the products of their output weights (P,).

    A difference of the offsets c is a unit with weight zero.
    """
    terms = [
        (student.activation, student.W, student.b, student.a),
        (teacher.activation, teacher.W, teacher.b, -teacher.a),
    ]
    if student.c != teacher.c:
        constant = np.array([student.c - teacher.c])
        terms.append((activations.linear, np.zeros((student.n_inputs, 1)), constant, np.ones(1)))
    for psi, V, c, weights in terms:
        yield Pairs.of(student.activation, student.W, student.b, psi, V, c), np.outer(student.a, weights).ravel()


def _sums(pairs: Pairs, moments: np.ndarray, groups: int) -> np.ndarray:
    """Σ e₀ I + F C Fᵀ over equal groups of pairs, (groups, d, d): e₀ is the moment of 1, C corrects those of z₁², z₁z₂, z₂²."""
    e0, e11, e12, e22 = moments[[0, 3, 4, 5]]
    C = np.stack([e11 - e0, e12, e12, e22 - e0], axis=1).reshape(-1, 2, 2)
    d = pairs.frames.shape[1]
    left, right = (F.reshape(groups, -1, d, 2).swapaxes(1, 2).reshape(groups, d, -1) for F in (pairs.frames @ C, pairs.frames))
    return np.asarray(e0.reshape(groups, -1).sum(axis=1)[:, None, None] * np.eye(d) + left @ right.swapaxes(1, 2))


def _check_inputs(student: Network, teacher: Network) -> None:
    for name, net in (("student", student), ("teacher", teacher)):
        if not isinstance(net, Network):
            raise ArgumentError(f"{name} must be a Network, not {type(net).__name__}.")
    if student.n_inputs != teacher.n_inputs:
        raise ShapeError(f"student has {student.n_inputs} inputs and teacher has {teacher.n_inputs}; they must agree.")


def _check_differentiable(student: Network) -> None:
    kinks = np.array(student.activation.kinks)
    at_kink = ~student.W.any(axis=0) & np.any(student.b == kinks[:, None], axis=0)
    if at_kink.any():
        raise ArgumentError(
            f"unit {int(np.argmax(at_kink))} of student has weight zero at a kink of {student.activation.name}, where the risk "
            "is not smooth in W; remove it or move it."
        )
