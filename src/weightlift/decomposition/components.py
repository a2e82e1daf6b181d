"""What every method returns: T ≈ Σᵢ cᵢ uᵢ^{⊗p} with unit uᵢ, signed cᵢ, and words for what went wrong.

Gauge       order odd: (c, u) ~ (−c, −u), so every weight is positive and the factor carries the sign;
            order even: u ~ −u, so the entry of u of largest magnitude is positive and the weight carries the sign.
            Components stand in falling order of |c|.
Weights     the least-squares ones, (UᵀU)^{∘p} c = [T(uᵢ, …, uᵢ)]ᵢ, from ⟨u^{⊗p}, v^{⊗p}⟩ = ⟨u, v⟩^p.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np

from weightlift.decomposition.limits import LIMITS
from weightlift.decomposition.tensors import Real, apply_powers, compose, power_columns


class DecompositionStatus(Enum):
    """How a decomposition ended, and the remedy."""

    EXACT = "The components reproduce the tensor to rounding."
    APPROXIMATE = (
        "The components leave a residual above rounding: the tensor is noisy or has more components than asked for. "
        "Compare `residual` with the noise that is expected; if it is larger, raise the rank."
    )
    COMPLEX_EIGENVALUES = (
        "Every pair of slices tried had complex eigenvalues: noise mixes some components. "
        "Use method='kcl', which weighs all slices together, or estimate the tensor from more data."
    )
    NOT_SETTLED = (
        "The iteration did not settle within its budget: the noise is large, or two components share one profile. "
        "Lower the rank, try another seed, or estimate the tensor from more data."
    )
    ILL_CONDITIONED = (
        "The factors found are nearly dependent, so that the weights mean little. "
        "Lower the rank, or estimate the tensor from more data."
    )


@dataclass(frozen=True, eq=False)
class Decomposition:
    """Σᵢ weights[i] · factors[:, i]^{⊗order}, a symmetric tensor written as a sum of few powers."""

    weights: Real  # (r,)  signed, falling in magnitude
    factors: Real  # (n, r)  unit columns
    order: int
    residual: float  # |T − Σ c u^{⊗p}| / |T|, Frobenius
    condition: float  # s₁/s_r of the factors, where r > n of their least powers that can be independent
    method: str
    status: DecompositionStatus
    refined: bool = False  # whether least squares on the tensor had the last word
    singular_values: Real | None = None  # of the unfolded tensor: the rank was read from them

    def __post_init__(self) -> None:
        for array in (self.weights, self.factors, self.singular_values):
            if array is not None:
                array.flags.writeable = False

    @property
    def rank(self) -> int:
        return len(self.weights)

    @property
    def succeeded(self) -> bool:
        """Whether the method ended as it should; noise is not a failure, see `residual`."""
        return self.status in (DecompositionStatus.EXACT, DecompositionStatus.APPROXIMATE)

    def tensor(self) -> Real:
        """The tensor of the components, (n, …, n)."""
        return compose(self.weights, self.factors, self.order)


def fit_components(
    T: Real,
    U: Real,
    *,
    method: str,
    failure: DecompositionStatus | None = None,
    refined: bool = False,
    span: int | None = None,
) -> Decomposition:
    """The decomposition of T with the directions U (n, r): unit columns, weights by least squares, gauge, verdict.

    span: the dimension of the range of T's unfolding, where it is less than n; more factors than that cannot be independent.
    """
    order = T.ndim
    U = unit_columns(U)
    c = _weights(T, U)
    c, U = canonical(c, U, order)
    residual = float(np.linalg.norm(T - compose(c, U, order)) / np.linalg.norm(T))
    condition = condition_number(U, span)
    exact = residual <= LIMITS.exact_residual
    if failure is not None and not exact:
        status = failure
    elif condition > LIMITS.condition:
        status = DecompositionStatus.ILL_CONDITIONED
    else:
        status = DecompositionStatus.EXACT if exact else DecompositionStatus.APPROXIMATE
    return Decomposition(c, U, order, residual, condition, method, status, refined)


def _weights(T: Real, U: Real) -> Real:
    """The least-squares weights of T in the powers of U: normal equations, whose squared condition a second solution for the
    residual takes back (Björck, Linear Algebra Appl. 88/89, 1987)."""
    gram, c = (U.T @ U) ** T.ndim, np.zeros(U.shape[1])
    for _ in range(2):
        c = c + np.linalg.lstsq(gram, apply_powers(T - compose(c, U, T.ndim), U, 0)[0], rcond=None)[0]
    return c


def condition_number(U: Real, span: int | None = None) -> float:
    """s₁/s_r of the factors (n, r) in `span` ≤ n dimensions; where r > span, of the least powers uᵢ^{⊗q} that can be."""
    n, r = U.shape[0] if span is None else span, U.shape[1]
    q = 1
    while math.comb(n + q - 1, q) < r and n > 1:
        q += 1
    s = np.linalg.svd(power_columns(U, q), compute_uv=False)
    return float(s[0] / s[r - 1]) if len(s) >= r and s[r - 1] > 0 else float("inf")


def unit_columns(U: Real) -> Real:
    """U with columns of length one; a zero column becomes the first unit vector, its weight will be what it may."""
    lengths = np.linalg.norm(U, axis=0)
    first = np.zeros_like(U)
    first[0] = 1.0
    return np.asarray(np.where(lengths > 0, U / np.where(lengths > 0, lengths, 1.0), first))


def canonical(c: Real, U: Real, order: int) -> tuple[Real, Real]:
    """(c, U) in the gauge of this module: signs chosen, components sorted."""
    if order % 2:
        signs = np.where(c < 0, -1.0, 1.0)
        c = c * signs
    else:
        largest = np.abs(U).argmax(axis=0)
        signs = np.where(U[largest, np.arange(len(c))] < 0, -1.0, 1.0)
    U = U * signs
    falling = np.argsort(-np.abs(c), kind="stable")
    return c[falling], U[:, falling]
