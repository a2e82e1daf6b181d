"""Tensor initialization: the units' directions, signs and lengths from moments  [zhong2017, Alg. 1].

Model   y = Σᵢ aᵢ φ(⟨wᵢ, x⟩),  x ~ N(0, I).   Needs independent wᵢ (k ≤ d), and φ with M3 or M4 ≠ 0.
Cost    O(n d k) a pass and O(n k^p) for the tensor, p = 3 or 4; memory O(d k + k^p) beside the data.

The preset "paper" is literal: raw y, α random in Rᵈ, POWERMETHOD, KCL on P3(V, V, V). The preset "default" removes control
variates from y before each moment, sharpens V by hard thresholding, keeps α out of the way (M4 whole inside V; M3 by orthogonal
iteration for odd φ), solves the sizes from directional moments and counts the signs by the inertia of M2 inside V.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weightlift.activations import Activation, get
from weightlift.arguments import count, generator
from weightlift.decomposition import Decomposition, decompose
from weightlift.errors import ArgumentError, TooFewRowsError
from weightlift.initialization.limits import LIMITS
from weightlift.initialization.magnitudes import magnitudes_and_signs, magnitudes_and_signs_by_contraction
from weightlift.moments import HermiteMoment, MomentChoice, choose_moments, remove_linear, remove_quadratic
from weightlift.namespaces import to_numpy
from weightlift.network import Network
from weightlift.samples import Samples
from weightlift.subspace import SecondMoment, Subspace, even_subspace, leading_subspace, odd_subspace

PRESETS = ("default", "paper")


@dataclass(frozen=True)
class TensorInit:
    """The initial network, and each step's evidence."""

    network: Network
    subspace: Subspace
    decomposition: Decomposition  # of the tensor inside V
    choice: MomentChoice


def tensor_init(
    samples: Samples,
    n_units: int,
    activation: Activation | str,
    *,
    preset: str = "default",
    split: bool = False,
    subspace: str = "auto",
    center: np.ndarray | None = None,
    rng: np.random.Generator | int = 0,
) -> TensorInit:
    """Algorithm 1. `split` partitions the rows in three, one part a moment, as the theory wants it; see `leading_subspace`
    for `subspace` ("paper" always uses "power"). `center`: see `magnitudes_and_signs`.

    samples     rows, as `samples.open` gives them
    n_units     k
    activation  φ, or its name in the catalogue
    preset      "default", or "paper" for the steps of the paper
    rng         a seed or a generator

    >>> import weightlift as wl
    >>> truth = wl.teachers.conditioned(10, 3, activation="squared_relu", rng=0)
    >>> start = tensor_init(wl.samples.population(truth), 3, "squared_relu")     # exact moments
    >>> wl.match(start.network, truth).max_error < 1e-8
    True
    """
    activation, rng = get(activation), generator(rng)
    n_units = count("n_units", n_units)
    _check(samples, n_units, preset)
    choice = choose_moments(activation)
    s2, s3, s4 = samples.split(1 / 3, 1 / 3, 1 / 3, seed=int(rng.integers(2**31))) if split else (samples,) * 3
    if preset == "paper":
        return _paper(s2, s3, s4, n_units, activation, choice, rng)
    V = _subspace(s2, n_units, choice, subspace, rng)  #                       POWERMETHOD     (d, k)
    R = _tensor(s3, V.V, choice)  #                                            M3 or M4 in V   (k, k, k[, k])
    parts = decompose(R, n_units, tol=LIMITS.tensor_tolerance, rng=rng)  #     KCL
    sizes = magnitudes_and_signs(s4, V.V @ parts.factors, activation, center=center)  #  RECMAGSIGN
    return TensorInit(sizes.network, V, parts, choice)


def _paper(
    s2: Samples, s3: Samples, s4: Samples, k: int, activation: Activation, choice: MomentChoice, rng: np.random.Generator
) -> TensorInit:
    alpha = rng.normal(size=s2.d)
    alpha /= np.linalg.norm(alpha)
    P2 = SecondMoment(choice.j2 - 2, alpha)
    V = leading_subspace(s2, P2, k, method="power", rng=rng)
    R3 = to_numpy(s3.mean(HermiteMoment(s3.d, 3, V.V, choice.j3 - 3, alpha))[0])
    parts = decompose(R3, k, method="kcl", refine=False, rng=rng)
    U = V.V @ parts.factors
    if activation.degree is None:
        return TensorInit(magnitudes_and_signs(s4, U, activation).network, V, parts, choice)
    return TensorInit(
        magnitudes_and_signs_by_contraction(s4, V.V, U, activation, rng=rng).network, V, parts, choice
    )


def _subspace(samples: Samples, k: int, choice: MomentChoice, method: str, rng: np.random.Generator) -> Subspace:
    """span(W) from the residual of y on [1, x]; for odd φ from M3, started with α = M1/‖M1‖ inside the span."""
    implicit = method in {"lanczos", "power"} or (method == "auto" and samples.d > 500)
    residual = remove_linear(samples, implicit=implicit)
    if choice.j2 == 2:
        start = leading_subspace(residual, SecondMoment(), k, method=method, rng=rng)
        return even_subspace(residual, k, start, method=method, rng=rng)
    M1 = to_numpy(samples.mean(HermiteMoment(samples.d, 1))[0])
    start = leading_subspace(residual, SecondMoment(choice.j2 - 2, M1 / np.linalg.norm(M1)), k, method=method, rng=rng)
    return odd_subspace(residual, k, start) if choice.j2 == 3 else start


def _tensor(samples: Samples, V: np.ndarray, choice: MomentChoice) -> np.ndarray:
    """M_{j₃}(V, …, V) from the residual of y on quadratics inside V."""
    residual = remove_quadratic(samples, V)
    return np.asarray(to_numpy(residual.mean(HermiteMoment(samples.d, choice.j3, V))[0]))


def _check(samples: Samples, k: int, preset: str) -> None:
    if preset not in PRESETS:
        raise ArgumentError(f"preset must be one of {PRESETS}, not {preset!r}.")
    if not 1 <= k <= samples.d:
        raise ArgumentError(
            f"n_units = {k} with {samples.d} inputs; tensor initialization needs 1 ≤ k ≤ d, independent wᵢ."
        )
    if samples.n < 2 * samples.d:
        raise TooFewRowsError(
            f"{samples.n} rows for {samples.d} inputs: moments are noise below about 2 d rows. Give more rows."
        )
