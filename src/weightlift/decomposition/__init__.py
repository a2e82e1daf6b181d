"""Symmetric tensor decomposition T = Σᵢ cᵢ uᵢ^{⊗p}: signed weights, factors not orthogonal, order p ≥ 3.

Methods     "kcl"       joint diagonalisation of random slices, then of slices at the factors; the default
            "jennrich"  eigenvectors of two slices; fastest, for exact tensors
            "power"     whitening and power iteration
            or a callable (R, rng=…) -> Decomposition on the reduced tensor R (r, …, r);
            these need independent factors, rank ≤ n. More components than dimensions:
            "subspace_power"  order 4, independent squares uuᵀ; the default for rank > n
            "implicit_cp"     any order, least squares from random starts, through values T(u, …, u) alone
            "power_iteration", "contracted_power"  any order, incoherent factors of like weights; cheap.
The tensor is first reduced to the range of its unfolding, n dimensions to at most r; dependent components, more of them than
the range has dimensions, are then found as too many for it are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from weightlift.arguments import count, flag, generator
from weightlift.decomposition.components import Decomposition, DecompositionStatus, fit_components
from weightlift.decomposition.implicit_cp import ImplicitFit, fit_implicit, implicit_cp
from weightlift.decomposition.jennrich import Pencil, jennrich, shared_directions
from weightlift.decomposition.joint_diagonalization import JointDiagonalization, joint_diagonalize
from weightlift.decomposition.kcl import kcl
from weightlift.decomposition.least_squares import polish
from weightlift.decomposition.limits import LIMITS
from weightlift.decomposition.power_iteration import power_iteration
from weightlift.decomposition.power_method import power_method
from weightlift.decomposition.subspace_power import flattened_range, subspace_power
from weightlift.decomposition.tensors import Real, compose, multilinear, range_basis, symmetric_tensor
from weightlift.errors import ArgumentError, ShapeError, SingularError

__all__ = [
    "Decomposition",
    "DecompositionStatus",
    "ImplicitFit",
    "JointDiagonalization",
    "Pencil",
    "compose",
    "decompose",
    "fit_implicit",
    "implicit_cp",
    "jennrich",
    "joint_diagonalize",
    "kcl",
    "polish",
    "power_iteration",
    "power_method",
    "shared_directions",
    "subspace_power",
]

Method = Callable[..., Decomposition]
Refiner = Callable[[Real, Decomposition], Decomposition]
METHODS: dict[str, Method] = {"kcl": kcl, "jennrich": jennrich, "power": power_method}
OVERCOMPLETE: dict[str, Method] = {
    "subspace_power": subspace_power,
    "implicit_cp": implicit_cp,
    "power_iteration": power_iteration,
    "contracted_power": partial(power_iteration, begin="contracted"),
}
AUTO: tuple[Method, ...] = (kcl, partial(kcl, diagonalizer="qrj1d"))  # the second is slower, and settles in more noise


def decompose(
    tensor: ArrayLike,
    rank: int | None,
    *,
    method: str | Method = "auto",
    second_moment: ArrayLike | None = None,
    refine: bool = True,
    tol: float = 1e-14,
    rng: int | np.random.Generator = 0,
) -> Decomposition:
    """Write a symmetric tensor (n, …, n) of order p ≥ 3 as Σᵢ weights[i] · factors[:, i]^{⊗p}.

    rank           number of components; None counts the singular values above 1e-9 of the unfolding (of the flattening
                   n² × n², if the method allows more components than dimensions)
    method         "auto": "kcl", once more with the diagonaliser QRJ1D if it does not settle, or "subspace_power" where
                   rank > n; a name; a callable
    second_moment  for "power": a definite matrix (n, n) of the same factors, to whiten with
    refine         end with least squares on the tensor (kept while weights and conditioning stay near the method's)
    tol            relative decrease of the residual at which they end; of an exact tensor they end at rounding

    Odd order: weights are positive and the factors carry the sign. Even order: the largest entry of each factor is
    positive and the weights carry the sign. Components stand in falling order of |weight|.

    rng  a seed or a generator

    >>> U = np.array([[0.6, 1.0], [0.8, 0.0], [0.0, 0.0]])
    >>> found = decompose(compose([1.0, -2.0], U, 3), 2)
    >>> found.weights, found.status.name
    (array([2., 1.]), 'EXACT')
    >>> np.allclose(found.factors, [[-1.0, 0.6], [0.0, 0.8], [0.0, 0.0]])
    True
    """
    T, exponent = _scaled(symmetric_tensor(tensor))
    rng = generator(rng)
    r = None if rank is None else count("rank", rank)
    if isinstance(tol, bool) or not isinstance(tol, int | float) or not 0 <= tol < 1:
        raise ArgumentError(f"tol must be a number from 0 to 1, not {tol!r}.")
    refined: Refiner = partial(polish, tol=tol) if flag("refine", refine) else lambda _, found: found
    if r is not None and r > (most := math.comb(len(T) + T.ndim - 1, T.ndim)):
        raise ArgumentError(f"rank={r}, but symmetric tensors of this shape have {most} dimensions; no more are ever needed.")
    V, singular_values = range_basis(T, None if r is not None and r > len(T) else r)
    R = T if V.shape[1] == len(T) else multilinear(T, V)
    V = np.eye(len(T)) if R is T else V
    if r is not None and len(R) < r <= len(T):
        _check_dependent(R, r, rng)
        method = _until_exact(r, refined) if method == "auto" and R.ndim != 4 else method
    method, r = _overcomplete(R, r, method, side=len(R) if r is not None and r <= len(T) else len(T))
    found = _run(R, r, method, _reduced(second_moment, V, method), refined, rng)
    final = fit_components(
        T,
        V @ found.factors,
        method=found.method,
        failure=None if found.succeeded else found.status,
        refined=found.refined,
        span=V.shape[1],
    )
    return replace(final, weights=np.ldexp(final.weights, exponent), singular_values=np.ldexp(singular_values, exponent))


def _scaled(T: Real) -> tuple[Real, int]:
    """T times a power of two, so that squares neither overflow nor vanish, and the exponent that undoes it."""
    exponent = int(np.frexp(np.abs(T).max())[1])
    return np.ldexp(T, -exponent), exponent


def _check_dependent(R: Real, rank: int, rng: np.random.Generator) -> None:
    """More components asked for than R (r, …, r) has dimensions, all within T's side: dependent ones, as the weights of
    [mondelli2019, eq. (2)] are, or fewer than asked for, which as many independent ones as dimensions show."""
    fewest = len(R)
    if R.ndim == 4:
        V, _ = flattened_range(R, None)
        counted = len(V)
    else:
        counted = fewest if kcl(R, rng=rng).status is DecompositionStatus.EXACT else rank
    if counted < rank:
        raise SingularError(
            f"rank={rank}, but the unfolded tensor has rank {fewest} to rounding: there are only {counted} components. "
            f"Ask for rank={counted}, or rank=None to have them counted."
        )


def _until_exact(rank: int, refined: Refiner) -> Method:
    """Least squares from fresh starts until it is exact: of an odd order there is no algebraic way known to us."""

    def method(R: Real, rng: np.random.Generator) -> Decomposition:
        tries = (implicit_cp(R, rank=rank, rng=rng) for _ in range(LIMITS.dependent_tries))
        best: Decomposition | None = None
        for found in (refined(R, found) for found in tries):
            best = found if best is None or found.residual < best.residual else best
            if best.status is DecompositionStatus.EXACT:
                break
        assert best is not None
        return best

    return method


def _overcomplete(R: Real, rank: int | None, method: str | Method, *, side: int) -> tuple[str | Method, int | None]:
    """The method that "auto" means, and the number of components; a method that cannot hold so many refuses."""
    n = len(R)
    if method == "auto" and R.ndim == 4 and rank is None:
        V, _ = flattened_range(R, None)
        counted = len(V)
        rank = counted if counted <= n * (n - 1) // 2 else None  # beyond, squares are not unique, or all is noise
    if rank is None or rank <= n or callable(method) or method in OVERCOMPLETE:
        return method, rank
    if method == "auto" and R.ndim == 4:
        return "subspace_power", rank
    raise ArgumentError(
        f"rank={rank} exceeds the side n={side} of the tensor: {', '.join(METHODS)} need independent factors. More components "
        "than dimensions need an overcomplete method: 'subspace_power' (order 4), 'implicit_cp', 'power_iteration' or "
        "'contracted_power'."
    )


def _reduced(second_moment: ArrayLike | None, V: Real, method: str | Method) -> Real | None:
    if second_moment is None:
        return None
    if method != "power":
        raise ArgumentError("second_moment whitens for method='power'; the other methods do not use it.")
    P = np.asarray(second_moment)
    if P.shape != (len(V), len(V)):
        raise ShapeError(f"second_moment must have shape {(len(V), len(V))}, not {P.shape}.")
    return np.asarray(V.T @ P @ V)


def _run(
    R: Real, rank: int | None, method: str | Method, second_moment: Real | None, refined: Refiner, rng: np.random.Generator
) -> Decomposition:
    """The method on the reduced tensor; "auto" goes on while a method fails, and keeps the least residual."""
    if callable(method):
        attempts = [method]
    elif not isinstance(method, str):
        raise ArgumentError(f"method must be a name or a callable, not {method!r}.")
    elif method == "auto":
        attempts = list(AUTO)
    elif method in OVERCOMPLETE:
        attempts = [partial(OVERCOMPLETE[method], rank=rank)]
    elif method in METHODS:
        attempts = [partial(power_method, second_moment=second_moment) if method == "power" else METHODS[method]]
    else:
        known = ", ".join(map(repr, [*METHODS, *OVERCOMPLETE]))
        raise ArgumentError(f"method must be 'auto', {known} or a callable, not {method!r}.")
    results: list[Decomposition] = []
    for attempt in attempts:
        found = attempt(R, rng=rng)
        if not isinstance(found, Decomposition):
            raise ArgumentError(f"method must return a Decomposition, not {type(found).__name__}.")
        results.append(refined(R, found))
        if found.succeeded:
            break
    least = min(found.residual for found in results)
    if method == "auto" and LIMITS.rounding * len(R) < least < LIMITS.nearly_exact:
        found = jennrich(R, rng=rng)  # of ill-conditioned factors a pencil keeps digits that joint diagonalisation loses
        results.append(refined(R, found))
    return min(results, key=lambda found: (not found.succeeded, found.residual))
