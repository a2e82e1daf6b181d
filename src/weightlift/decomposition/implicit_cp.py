"""Implicit CP: least squares on a symmetric tensor that is seen only through its values T(u, …, u)  [Sherman & Kolda 2020].

Model       T ≈ Σᵢ cᵢ uᵢ^{⊗p}, any number of components r, any order p.
Objective   ‖T − Σ cᵢ uᵢ^{⊗p}‖² − ‖T‖² = −2 Σ cᵢ tᵢ + Σ cᵢcⱼ ⟨uᵢ, uⱼ⟩^p,   tᵢ = T(uᵢ, …, uᵢ).
            For given uᵢ the best weights solve G c = t, G = (UᵀU)^{∘p}, and leave F(U) = −tᵀG⁻¹t (variable projection); by the
            envelope theorem ∂F/∂uᵢ = 2p cᵢ (Σⱼ cⱼ ⟨uᵢ, uⱼ⟩^{p−1} uⱼ − T(I, uᵢ, …, uᵢ)), tangent to the sphere as G c = t.
Method      L-BFGS on the product of spheres, uᵢ = zᵢ/‖zᵢ‖, from several starts; the least F counts.
Cost        one evaluation of `form` at r vectors and O(n r²) a step. For data, T(u, …, u) = E[y He_p(⟨u, x⟩)] costs O(N n r):
            no tensor is formed (`moments.power_form`). For a whole tensor O(nᵖ r).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from weightlift.arguments import count, generator
from weightlift.decomposition.components import Decomposition, DecompositionStatus, fit_components, unit_columns
from weightlift.decomposition.limits import LIMITS
from weightlift.decomposition.tensors import Real, apply_powers, symmetric_tensor

Form = Callable[[Real], tuple[Real, Real]]
"""U (n, r), unit columns → T(uᵢ, …, uᵢ) (r,) and T(I, uᵢ, …, uᵢ) (n, r)."""



@dataclass(frozen=True, eq=False)
class ImplicitFit:
    """Weights and unit factors, F = ‖T − Σ c u^{⊗p}‖² − ‖T‖², and whether L-BFGS settled."""

    weights: Real  # (r,)
    factors: Real  # (n, r)
    objective: float
    settled: bool


def implicit_cp(
    T: ArrayLike, *, rank: int | None = None, starts: int = 8, rng: int | np.random.Generator = 0
) -> Decomposition:
    """Decompose a whole tensor T (n, …, n) into `rank` components (None: n) by least squares from random starts.

    rng  a seed or a generator

    >>> from weightlift.decomposition import compose
    >>> U = np.array([[0.6, 1.0], [0.8, 0.0]])
    >>> implicit_cp(compose([1.0, -2.0], U, 3)).weights.round(6)
    array([2., 1.])
    """
    T = symmetric_tensor(T)
    r = len(T) if rank is None else count("rank", rank)

    def form(U: Real) -> tuple[Real, Real]:
        free = apply_powers(T, U, 1)
        return np.asarray((U * free).sum(axis=0)), free

    fit = fit_implicit(form, len(T), r, T.ndim, starts=starts, rng=rng)
    failure = None if fit.settled else DecompositionStatus.NOT_SETTLED
    return fit_components(T, fit.factors, method="implicit_cp", failure=failure)


def fit_implicit(
    form: Form,
    n: int,
    rank: int,
    order: int,
    *,
    starts: int = 8,
    start: Real | None = None,
    steps: int = 2000,
    rng: int | np.random.Generator = 0,
) -> ImplicitFit:
    """The best of `starts` random starts, or of the one given as `start` (n, rank), for a tensor known through `form`.

    order  of the tensor
    steps  of each start, at most
    rng    a seed or a generator
    """
    from scipy.optimize import minimize

    rng = generator(rng)
    guesses = [rng.standard_normal((n, rank)) for _ in range(count("starts", starts))]
    if start is not None:
        guesses = [np.asarray(start, dtype=float)]
    fits: list[ImplicitFit] = []
    for guess in guesses:
        first, _ = _objective(guess, form, order)
        scale = 1.0 / max(abs(first), np.finfo(float).tiny)

        def scaled(z: Real, scale: float = scale) -> tuple[float, Real]:
            value, gradient = _objective(z.reshape(n, rank), form, order)
            return scale * value, scale * gradient.ravel()

        options = {"maxiter": steps, "maxfun": 2 * steps, "maxcor": 20, "ftol": 1e-15, "gtol": 1e-11}
        found = minimize(scaled, unit_columns(guess).ravel(), jac=True, method="L-BFGS-B", options=options)
        U = unit_columns(found.x.reshape(n, rank))
        c = _weights(form(U)[0], U, order)
        fits.append(ImplicitFit(c, U, float(found.fun) / scale, found.nit < steps))
    return min(fits, key=lambda fit: fit.objective)


def _objective(Z: Real, form: Form, order: int) -> tuple[float, Real]:
    """F and its gradient in Z (n, r), uᵢ = zᵢ/‖zᵢ‖."""
    lengths = np.linalg.norm(Z, axis=0)
    U = Z / lengths
    t, free = form(U)
    c = _weights(t, U, order)
    gradient = 2 * order * c * (U @ ((U.T @ U) ** (order - 1) * c[:, None]) - free)
    return -float(c @ t), np.asarray(gradient / lengths)


def _weights(t: Real, U: Real, order: int) -> Real:
    G = (U.T @ U) ** order
    return np.asarray(np.linalg.solve(G + LIMITS.guard * np.eye(len(t)), t))
