"""Directions of biased units by one joint diagonalisation of consecutive Hermite coefficients.

Model   T_j = E[y He_j(x)] = Σᵢ aᵢ m_j(‖wᵢ‖, bᵢ) w̄ᵢ^{⊗j}. Some m_j(bᵢ) vanish (ReLU: |b| = 1 in T_4, b = 0 in T_3), but a
        unit's profile (m_{2ℓ}, m_{2ℓ+1} ⟨w̄, u⟩, m_{2ℓ+2} ⟨w̄, u⟩⟨w̄, u'⟩) is never zero, and no two profiles are collinear: the
        slices have one common diagonaliser, in which no unit is lost or found twice.
ℓ = 1   V = span(W) from T_2, then T_2, T_3, T_4 inside V, each slice over √j!, the size of its noise. Rows grow like d k, where
        the two-tensor route of [awasthi2021, Alg. 1] needs d³ to d⁴. Needs independent wᵢ (k ≤ d).
ℓ > 1   the same on Sym^ℓ(Rᵈ) with T_{2ℓ}, T_{2ℓ+1}(·, ·, u), T_{2ℓ+2}(·, ·, u, u). Needs independent wᵢ^{⊗ℓ}.
Noise   y is replaced by its residual on polynomials of lower degree before each moment.
Cost    ℓ = 1: O(n d k + n k⁴); ℓ > 1: O(n D²) a slice, 3 d of them, D = C(d+ℓ−1, ℓ).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from weightlift.activations import Activation
from weightlift.arguments import generator
from weightlift.decomposition import joint_diagonalize
from weightlift.errors import SingularError
from weightlift.hermite.symmetric import symmetric_basis
from weightlift.initialization.limits import LIMITS
from weightlift.moments import HermiteMoment, MomentProduct, UnfoldedMoment, quadratic_fit, remove_linear, remove_quadratic
from weightlift.moments.flattened_moment import FlattenedMoment, check_flattening, check_memory
from weightlift.namespaces import to_numpy
from weightlift.samples import Residual, Samples
from weightlift.subspace import SecondMoment, even_subspace, leading_subspace

BIAS_GRID, SCALE_GRID = np.linspace(-3.0, 3.0, 25), np.array([0.5, 1.0, 2.0])  # where m₂ is looked for zeros


@dataclass(frozen=True)
class UnitDirections:
    """Unit directions up to sign, and what they were read from."""

    U: np.ndarray  # (d, k)
    order: int  # ℓ
    singular_values: np.ndarray  # of what the span was read from, falling; more than k where they are known
    impurity: np.ndarray  # (k,) s₂/s₁ of each vec(w^{⊗ℓ}) found, 0 for a power; zeros for ℓ = 1
    off: float  # criterion of the joint diagonalisation, or 1/gap of the pencils
    method: str


def joint_directions(
    samples: Samples,
    n_units: int,
    activation: Activation,
    *,
    order: int = 1,
    max_memory: float | None = None,
    rng: np.random.Generator | int = 0,
) -> UnitDirections:
    """The directions of n_units units, by order ℓ."""
    rng = generator(rng)
    if order > 1:
        return _on_symmetric_tensors(samples, n_units, order, max_memory, rng)
    tensors = 8.0 * 4 * n_units**4
    check_memory(tensors, f"T_4 inside the span of {n_units} units: copies", "search instead", max_memory)
    V, values = span(samples, n_units, activation, rng)
    if n_units == 1:
        return UnitDirections(V, 1, values, np.zeros(1), 0.0, "T2, T3, T4")
    U, off = _diagonalizer(_slices_inside(samples, V), rng)
    return UnitDirections(V @ U, 1, values, np.zeros(n_units), off, "T2, T3, T4")


def span(
    samples: Samples, n_units: int, activation: Activation, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """An orthonormal basis (d, k) of span(W), and the spectrum that it was read from.

    T_2 alone where m₂(‖w‖, b) has one sign for every bias; else (tanh, sigmoid with biases) T_2 and T_3 together.
    """
    residual = remove_linear(samples, implicit=samples.d > 500)
    if sees_every_bias(activation):
        start = leading_subspace(residual, SecondMoment(), n_units, rng=rng)
        if abs(start.eigenvalues[-1]) <= LIMITS.relative_floor * abs(start.eigenvalues[0]):
            raise rank_error(np.abs(start.eigenvalues), n_units, "T_2")
        found = even_subspace(residual, n_units, start, rng=rng)
        return found.V, np.abs(np.append(found.eigenvalues, found.next_eigenvalue))
    return _span_of_two(samples, residual, n_units)


def sees_every_bias(activation: Activation) -> bool:
    """Whether m₂(σ, b) ≠ 0 for every bias, of one sign."""
    m2 = activation.hermite(2, SCALE_GRID[:, None], SCALE_GRID[:, None] * BIAS_GRID)
    return bool(np.all(m2 > 0) or np.all(m2 < 0))


def rank_error(values: np.ndarray, n_units: int, what: str) -> SingularError:
    rank = int(np.sum(values > LIMITS.relative_floor * values[0])) if values[0] > 0 else 0
    return SingularError(
        f"n_units = {n_units}, but {what} shows {rank} independent units: some weight vectors are parallel or dependent, some "
        f"output weights zero, or some biases too large. Ask for fewer units, or a larger order ℓ if directions are dependent."
    )


def _slices_inside(samples: Samples, V: np.ndarray) -> np.ndarray:
    """T_2, T_3, T_4 in V as symmetric slices over √j!: (1 + k + k², k, k)."""
    k = V.shape[1]
    quadratic = quadratic_fit(samples, V)
    residual = samples.map(Residual(quadratic))
    T3, T4 = (to_numpy(residual.mean(HermiteMoment(samples.d, j, V))[0]) for j in (3, 4))
    parts = [quadratic.moments[1][None], T3, T4.reshape(k * k, k, k)]
    return np.concatenate([part / math.sqrt(math.factorial(j)) for j, part in zip((2, 3, 4), parts, strict=True)])


def _diagonalizer(slices: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """The unit columns U with slices = U diag Uᵀ, and the criterion left; QRJ1D where the faster method does not settle."""
    found = joint_diagonalize(slices, rng=rng)
    if not found.converged:
        found = joint_diagonalize(slices, method="qrj1d", rng=rng)
    try:
        return found.factors, found.off
    except np.linalg.LinAlgError:
        raise SingularError("the moments have no common diagonaliser: noise hides some of the units. Give more rows.") from None


def _span_of_two(samples: Samples, residual: Samples, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Orthogonal iteration V ← left vectors of [T_2 V/√2!, T_3(I, V, V)/√3!], begun with α = T_1/‖T_1‖ in T_3's last slot."""
    d = residual.d
    T2 = to_numpy(residual.mean(HermiteMoment(d, 2))[0])
    T1 = to_numpy(samples.mean(HermiteMoment(d, 1))[0])
    alpha = T1 / max(float(np.linalg.norm(T1)), np.finfo(float).tiny)
    starts = [to_numpy(residual.mean(HermiteMoment(d, 2, None, 1, direction))[0]) for direction in (alpha, np.ones(d) / d**0.5)]
    left, s, _ = np.linalg.svd(np.hstack([T2 / math.sqrt(2), *(M / math.sqrt(6) for M in starts)]), full_matrices=False)
    V = left[:, :k]
    for _ in range(LIMITS.span_sweeps):
        T3 = to_numpy(residual.mean(UnfoldedMoment(V))[0]).reshape(d, -1)
        P2 = to_numpy(residual.mean(MomentProduct(V))[0])
        left, s, _ = np.linalg.svd(np.hstack([P2 / math.sqrt(2), T3 / math.sqrt(6)]), full_matrices=False)
        previous, V = V, left[:, :k]
        if np.linalg.norm(V - previous @ (previous.T @ V)) < LIMITS.span_tolerance:
            break
    if s[k - 1] <= LIMITS.relative_floor * s[0]:
        raise rank_error(s, k, "T_2 with T_3")
    return V, s


def _on_symmetric_tensors(
    samples: Samples, k: int, order: int, max_memory: float | None, rng: np.random.Generator
) -> UnitDirections:
    """ℓ > 1: the range of all slices on Sym^ℓ, their joint diagonalisation in it, and w from each w^{⊗ℓ}."""
    d, basis = samples.d, symmetric_basis(samples.d, order)
    check_flattening(d, order, max_memory=max_memory)
    residual = remove_quadratic(samples, np.eye(d))
    frames = [(0, None), *((1, e) for e in np.eye(d)), *((2, u / np.linalg.norm(u)) for u in rng.normal(size=(2 * d, d)))]
    slices = np.stack([
        to_numpy(residual.mean(FlattenedMoment(d, order, filled, alpha))[0]) / math.sqrt(math.factorial(2 * order + filled))
        for filled, alpha in frames
    ])
    slices = (slices + slices.transpose(0, 2, 1)) / 2
    left, s, _ = np.linalg.svd(slices.transpose(1, 0, 2).reshape(basis.size, -1), full_matrices=False)
    if k > basis.size or s[k - 1] <= LIMITS.relative_floor * s[0]:
        raise rank_error(s, k, f"T_{2 * order} … T_{2 * order + 2}")
    V = left[:, :k]
    factors, off = _diagonalizer(V.T @ slices @ V, rng)
    powers = [basis.direction(z) for z in (V @ factors).T]
    U, impurity = np.stack([u for u, _ in powers], axis=1), np.array([q for _, q in powers])
    return UnitDirections(U, order, s, impurity, off, f"T{2 * order}, T{2 * order + 1}, T{2 * order + 2}")

