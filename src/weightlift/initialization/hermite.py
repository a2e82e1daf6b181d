"""A start for networks with biases, from Hermite coefficients  [awasthi2021, Alg. 1–3].

Model   y = Σᵢ aᵢ φ(⟨wᵢ, x⟩ + bᵢ),  x ~ N(0, I).   Needs aᵢ ≠ 0 and, for an order ℓ, independent wᵢ^{⊗ℓ}: k ≤ d for ℓ = 1,
        generically k ≤ C(d+ℓ−1, ℓ).
Paper   preset "paper", ReLU: raw moments, Jennrich on T_{2ℓ+1} and T_{2ℓ+2}, mergers, RECOVERSCALARS (corrected), and FIXSIGNS
        for ℓ = 1.
Default one joint diagonalisation of T_{2ℓ}, T_{2ℓ+1}, T_{2ℓ+2} of the residual y, in k dimensions for ℓ = 1; scalars by least
        squares on several orders; signs by the midpoint rule with T_0. For ℓ = 1 any φ with enough moments; for ℓ > 1 ReLU,
        leaky ReLU and the absolute value.
Cost    see `directions` and `two_tensors`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from weightlift.activations import Activation, get
from weightlift.arguments import count, generator
from weightlift.errors import ActivationError, ArgumentError, TooFewRowsError
from weightlift.hermite.symmetric import symmetric_dimension
from weightlift.initialization.directions import UnitDirections, joint_directions
from weightlift.initialization.magnitudes import directional_coefficients
from weightlift.initialization.scalars import Scalars, fitted_scalars, kink_scalars, reach
from weightlift.initialization.signs import Signs, TooManySignsError, fix_signs
from weightlift.initialization.two_tensors import two_tensor_directions
from weightlift.moments import DirectionalMoments, HermiteMoment, remove_linear
from weightlift.namespaces import to_numpy
from weightlift.network import Network
from weightlift.refinement.affine import AffineNetwork, fit_affine
from weightlift.samples import Samples
from weightlift.subspace import SecondMoment, estimate_rank

PRESETS = ("default", "paper")


@dataclass(frozen=True)
class HermiteInit:
    """The initial network, and each step's evidence.

    Where the signs are too many to try, the function is learned all the same [awasthi2021, Thm 3.2]: `function` has the units
    up to sign beside an affine function, and `network` is that function as a network of at most two units more.
    """

    network: Network
    directions: UnitDirections
    zeta: dict[int, np.ndarray]  # coefficients of uᵢ^{⊗j} in T_j, a (k,) an order
    scalars: Scalars
    signs: Signs | None  # None where they came with the scalars, are a symmetry of φ, or too many to try
    function: AffineNetwork | None = None


def hermite_init(
    samples: Samples,
    n_units: int | None = None,
    activation: Activation | str = "relu",
    *,
    order: int | None = None,
    preset: str = "default",
    offset: bool = False,
    max_memory: float | None = None,
    rng: np.random.Generator | int = 0,
) -> HermiteInit:
    """The units of a network with biases; `n_units` None counts them by a rank test.

    order: ℓ, by default the least for which C(d+ℓ−1, ℓ) ≥ n_units. offset: whether f has a free constant c, so that T_0 says
    nothing about signs. max_memory: bytes that matrices on Sym^ℓ may take, by default half of the machine's.

    samples     rows, as `samples.open` gives them
    activation  φ, or its name in the catalogue
    preset      "default", or "paper" for the steps of the paper
    rng         a seed or a generator

    >>> import weightlift as wl
    >>> truth = wl.teachers.biased(6, 4, rng=0)
    >>> start = hermite_init(wl.samples.population(truth), 4)                    # exact coefficients
    >>> wl.match(start.network, truth).max_error < 1e-8
    True
    """
    activation, rng = get(activation), generator(rng)
    _check(samples, n_units, activation, preset)
    order = _least_order(samples.d, n_units) if order is None else count("order", order)
    if order > 1 and not _one_kink(activation):
        raise ActivationError(f"orders ℓ > 1 are for ReLU, leaky ReLU and |z|, not {activation.name}; take ℓ = 1.")
    if preset == "paper":
        found = two_tensor_directions(samples, n_units, order=order, max_memory=max_memory, rng=rng)
        return _paper(samples, found, activation, offset)
    k = _count(samples, order, rng) if n_units is None else n_units
    found = joint_directions(samples, k, activation, order=order, max_memory=max_memory, rng=rng)
    return _default(samples, found, activation, offset)


def _paper(samples: Samples, found: UnitDirections, activation: Activation, offset: bool) -> HermiteInit:
    """Steps 5 and 6 on raw moments."""
    U, order = found.U, found.order
    orders = (2, 3) if order == 1 else tuple(range(order, order + 4))
    raw = samples.mean(DirectionalMoments(U, orders))
    zeta = {j: _solved(U, j, to_numpy(target)) for j, target in zip(orders, raw, strict=True)}
    scalars = kink_scalars(zeta, order, activation, farthest=reach(samples.n, samples.d))
    return _signed(samples, found, zeta, scalars, activation, offset, rule="sign" if order == 1 else "midpoint")


def _default(samples: Samples, found: UnitDirections, activation: Activation, offset: bool) -> HermiteInit:
    """Scalars by least squares, without T_1 until the signs are known; then with it, where it is determined."""
    U, order = found.U, found.order
    orders = (1, 2, 3, 4) if order == 1 else tuple(range(order, order + 4))
    zeta, _ = directional_coefficients(samples, U, orders)
    farthest = reach(samples.n, samples.d)
    if not _linear_reflection(activation):
        scalars = fitted_scalars(zeta, activation, farthest=farthest)
        return _assembled(samples, found, zeta, scalars, None, activation, offset)
    scalars = fitted_scalars({j: z for j, z in zeta.items() if j > 1}, activation, farthest=farthest)
    return _signed(samples, found, zeta, scalars, activation, offset, rule="midpoint")


def _signed(
    samples: Samples,
    found: UnitDirections,
    zeta: dict[int, np.ndarray],
    scalars: Scalars,
    activation: Activation,
    offset: bool,
    *,
    rule: str,
) -> HermiteInit:
    """FIXSIGNS, and the scalars once more with the signs and ζ_1, if it is there."""
    if activation.parity == "even":
        return _assembled(samples, found, zeta, scalars, None, activation, offset)
    T1 = to_numpy(samples.mean(HermiteMoment(samples.d, 1))[0])
    T0 = None if offset or rule == "sign" else _mean(samples)
    sigma = scalars.sigma
    try:
        signs = fix_signs(T1, found.U, scalars.a, scalars.b, activation, sigma=sigma, T0=T0, rule=rule)
    except TooManySignsError:
        if activation != get("relu"):
            raise
        return _up_to_signs(samples, found, zeta, scalars)
    xi = signs.xi
    scalars = Scalars(xi, scalars.a, xi * scalars.b, sigma, scalars.residual)
    if 1 in zeta:
        scalars = fitted_scalars(zeta, activation, xi=xi, start=scalars, farthest=reach(samples.n, samples.d))
    return _assembled(samples, found, zeta, scalars, signs, activation, offset)


def _up_to_signs(samples: Samples, found: UnitDirections, zeta: dict[int, np.ndarray], scalars: Scalars) -> HermiteInit:
    """The regression of y on σ(uᵢ), 1 and x, which no sign changes  [awasthi2021, Thm 3.2]."""
    function = fit_affine(samples, Network(found.U * scalars.sigma, scalars.a, scalars.b, activation="relu"))
    return HermiteInit(function.consolidated(), found, zeta, scalars, None, function)


def _assembled(
    samples: Samples,
    found: UnitDirections,
    zeta: dict[int, np.ndarray],
    scalars: Scalars,
    signs: Signs | None,
    activation: Activation,
    offset: bool,
) -> HermiteInit:
    network = Network(found.U * (scalars.xi * scalars.sigma), scalars.a, scalars.b, activation=activation)
    reflection = activation.reflection
    constant = reflection is not None and reflection[0] < 0 and len(reflection[1]) == 1 and reflection[1][0] != 0
    if offset or constant:  # sigmoid: signs are known up to a constant, which c carries
        mean = float(scalars.a @ activation.hermite(0, scalars.sigma, scalars.b))
        network = Network(network.W, network.a, network.b, _mean(samples) - mean, activation)
    return HermiteInit(network, found, zeta, scalars, signs)


def _solved(U: np.ndarray, order: int, target: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.lstsq((U.T @ U) ** order, target, rcond=1e-12)[0])


def _mean(samples: Samples) -> float:
    return float(to_numpy(samples.mean(DirectionalMoments(np.eye(samples.d)[:, :1], (0,)))[0])[0])


def _count(samples: Samples, order: int, rng: np.random.Generator) -> int:
    """The rank of T_2 above its noise (ℓ = 1)."""
    if order > 1:
        raise ArgumentError("n_units must be given for ℓ > 1 with the default preset; preset='paper' counts by its rank test.")
    estimate = estimate_rank(remove_linear(samples, implicit=samples.d > 500), SecondMoment(), rng=rng)
    if estimate.rank == 0:
        signal = float(np.abs(estimate.eigenvalues[0]))
        needed = samples.n * max(2.0, 2.0 * (estimate.floor / max(signal, np.finfo(float).tiny)) ** 2)
        raise TooFewRowsError(
            f"no eigenvalue of T_2 from {samples.n:,} rows stands above the noise floor {estimate.floor:.2g} (the largest is "
            f"{signal:.2g}); about {needed:.1g} rows would do, more if that eigenvalue is itself noise."
        )
    return estimate.rank


def _least_order(d: int, n_units: int | None) -> int:
    order = 1
    while n_units is not None and symmetric_dimension(d, order) < n_units:
        if d == 1:
            raise ArgumentError("with one input all weight vectors are parallel; no order of moments tells them apart.")
        order += 1
    return order


def _one_kink(activation: Activation) -> bool:
    return activation.degree == 1.0 and activation.kinks == (0.0,)


def _linear_reflection(activation: Activation) -> bool:
    """φ(−z) = φ(z) + p₀ + p₁z."""
    return activation.reflection is not None and activation.reflection[0] == 1 and len(activation.reflection[1]) <= 2


def _check(samples: Samples, n_units: int | None, activation: Activation, preset: str) -> None:
    if preset not in PRESETS:
        raise ArgumentError(f"preset must be one of {PRESETS}, not {preset!r}.")
    if n_units is not None:
        count("n_units", n_units)
    if preset == "paper" and not _one_kink(activation):
        raise ActivationError(f"preset='paper' is for ReLU, leaky ReLU and |z|, not {activation.name}; use 'default'.")
    if activation.degree is not None and not activation.kinks:
        raise ActivationError(f"{activation.name} is a polynomial; its higher moments vanish, and units cannot be told apart.")
    if math.isfinite(samples.n) and samples.n < 2 * samples.d:
        raise TooFewRowsError(
            f"{samples.n} rows for {samples.d} inputs: moments are noise below about 2 d rows. Give more rows."
        )
