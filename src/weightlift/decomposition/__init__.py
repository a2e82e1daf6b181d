"""Symmetric tensor decomposition T = Σᵢ cᵢ uᵢ^{⊗p}: signed weights, factors not orthogonal, order p ≥ 3.

Methods     "kcl"       joint diagonalisation of random slices, then of slices at the factors; the default
            "jennrich"  eigenvectors of two slices; fastest, for exact tensors
            "power"     whitening and power iteration
            or a callable (R, rng=…) -> Decomposition on the reduced tensor R (r, …, r).
All need independent factors, rank ≤ n. The tensor is first reduced to the range of its unfolding, n dimensions to r.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from weightlift.decomposition.components import Decomposition, DecompositionStatus, fit_components
from weightlift.decomposition.jennrich import Pencil, jennrich, shared_directions
from weightlift.decomposition.joint_diagonalization import JointDiagonalization, joint_diagonalize
from weightlift.decomposition.kcl import kcl
from weightlift.decomposition.least_squares import polish
from weightlift.decomposition.power_method import power_method
from weightlift.decomposition.tensors import Real, compose, multilinear, range_basis, symmetric_tensor
from weightlift.errors import ArgumentError, ShapeError

__all__ = [
    "Decomposition",
    "DecompositionStatus",
    "JointDiagonalization",
    "Pencil",
    "compose",
    "decompose",
    "jennrich",
    "joint_diagonalize",
    "kcl",
    "polish",
    "power_method",
    "shared_directions",
]

Method = Callable[..., Decomposition]
METHODS: dict[str, Method] = {"kcl": kcl, "jennrich": jennrich, "power": power_method}
AUTO: tuple[Method, ...] = (kcl, partial(kcl, diagonalizer="qrj1d"))  # the second is slower, and settles in more noise


def decompose(
    tensor: ArrayLike,
    rank: int | None,
    *,
    method: str | Method = "auto",
    second_moment: ArrayLike | None = None,
    refine: bool = True,
    rng: int | np.random.Generator = 0,
) -> Decomposition:
    """Write a symmetric tensor (n, …, n) of order p ≥ 3 as Σᵢ weights[i] · factors[:, i]^{⊗p}.

    rank           number of components, at most n; None counts the singular values of the unfolding above 1e-9
    method         "auto": "kcl", once more with the diagonaliser QRJ1D if it does not settle; a name; a callable
    second_moment  for "power": a definite matrix (n, n) of the same factors, to whiten with
    refine         end with least squares on the tensor (kept while weights and conditioning stay near the method's)

    Odd order: weights are positive and the factors carry the sign. Even order: the largest entry of each factor is
    positive and the weights carry the sign. Components stand in falling order of |weight|.

    >>> U = np.array([[0.6, 1.0], [0.8, 0.0], [0.0, 0.0]])
    >>> found = decompose(compose([1.0, -2.0], U, 3), 2)
    >>> found.weights, found.status.name
    (array([2., 1.]), 'EXACT')
    >>> np.allclose(found.factors, [[-1.0, 0.6], [0.0, 0.8], [0.0, 0.0]])
    True
    """
    T, exponent = _scaled(symmetric_tensor(tensor))
    rng = np.random.default_rng(rng)
    V, singular_values = range_basis(T, _checked_rank(rank, len(T)))
    R = T if V.shape[1] == len(T) else multilinear(T, V)
    V = np.eye(len(T)) if R is T else V
    found = _run(R, method, _reduced(second_moment, V, method), refine, rng)
    final = fit_components(
        T,
        V @ found.factors,
        method=found.method,
        failure=None if found.succeeded else found.status,
        refined=found.refined,
    )
    return replace(final, weights=np.ldexp(final.weights, exponent), singular_values=np.ldexp(singular_values, exponent))


def _scaled(T: Real) -> tuple[Real, int]:
    """T times a power of two, so that squares neither overflow nor vanish, and the exponent that undoes it."""
    exponent = int(np.frexp(np.abs(T).max())[1])
    return np.ldexp(T, -exponent), exponent


def _checked_rank(rank: int | None, n: int) -> int | None:
    if rank is None:
        return None
    try:
        r = operator.index(rank)
    except TypeError:
        raise ArgumentError(f"rank must be a positive integer or None, not {rank!r}.") from None
    if r < 1:
        raise ArgumentError(f"rank must be at least 1, not {r}.")
    if r > n:
        raise ArgumentError(
            f"rank={r} exceeds the side n={n} of the tensor: {', '.join(METHODS)} need independent factors. More "
            "components than dimensions need an overcomplete method (subspace power method, implicit CP fitting)."
        )
    return r


def _reduced(second_moment: ArrayLike | None, V: Real, method: str | Method) -> Real | None:
    if second_moment is None:
        return None
    if method != "power":
        raise ArgumentError("second_moment whitens for method='power'; the other methods do not use it.")
    P = np.asarray(second_moment)
    if P.shape != (len(V), len(V)):
        raise ShapeError(f"second_moment must have shape {(len(V), len(V))}, not {P.shape}.")
    return np.asarray(V.T @ P @ V)


def _run(R: Real, method: str | Method, second_moment: Real | None, refine: bool, rng: np.random.Generator) -> Decomposition:
    """The method on the reduced tensor; "auto" goes on while a method fails, and keeps the least residual."""
    if callable(method):
        attempts = [method]
    elif method == "auto":
        attempts = list(AUTO)
    elif method in METHODS:
        attempts = [partial(power_method, second_moment=second_moment) if method == "power" else METHODS[method]]
    else:
        raise ArgumentError(f"method must be 'auto', {', '.join(map(repr, METHODS))} or a callable, not {method!r}.")
    results: list[Decomposition] = []
    for attempt in attempts:
        found = attempt(R, rng=rng)
        results.append(polish(R, found) if refine else found)
        if found.succeeded:
            break
    return min(results, key=lambda found: (not found.succeeded, found.residual))
