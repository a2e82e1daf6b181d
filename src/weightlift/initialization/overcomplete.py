"""Overcomplete networks, k > d: directions from Hermite coefficients of orders 4 and 5  [awasthi2021, Thm. 3.2, Cor. 3.3].

Model       y = Σᵢ aᵢ σ(⟨wᵢ, x⟩ + bᵢ), x ~ N(0, I), ReLU; the wᵢwᵢᵀ are independent, and the only squares in their span:
            generically so for k ≤ d(d−1)/2. Up to d(d+1)/2 units take orders 5 and 6 (`hermite_init`).
Tensor      M = T_4 + s T_5(·, u) = Σ aᵢ (m_4(bᵢ) + s m_5(bᵢ) ⟨w̄ᵢ, u⟩) w̄ᵢ^{⊗4}, u random. He_2 and He_3 have no common root, so
            generically no unit vanishes: one tensor of order 4, where [awasthi2021, Alg. 1] takes two of orders 5 and 6.
Directions  the subspace power method on M, for several u.
Scalars     ζ_j from (UᵀU)^{∘j} ζ_j = [T_j(uᵢ, …, uᵢ)]ᵢ, j = 2, 3, 4; then (a, b) from ζ_j ≈ a m_j(b)  [awasthi2021, Alg. 2].
            (UᵀU)^{∘2} is invertible whenever the wᵢwᵢᵀ are independent, so j = 2, which no bias hides, serves for k > d too.
Signs       are not needed: the start is Σ aᵢ σ(uᵢ) + ⟨v, x⟩ + c with v and c fitted (`refinement.affine`), and
            `refine_up_to_signs` finds them at the end, if they can be told.
Noise       T_2, T_3, T_4 come from the least-squares polynomial of degree 4, T_5(·, u) from its residual.
Cost        O(n D²), D = C(d+4, 4), for the regression (degree 3 or 2 if that is too much), O(n d⁴) for T_5(·, u), O(d⁶) for the
            subspace; memory D² + d⁴. No tensor of d⁶ entries.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from weightlift import activations
from weightlift.arguments import count, generator
from weightlift.decomposition import Decomposition, polish
from weightlift.decomposition.subspace_power import flattened_spectrum, subspace_power
from weightlift.decomposition.tensors import apply_powers
from weightlift.errors import ArgumentError, TooFewRowsError
from weightlift.initialization.limits import LIMITS
from weightlift.initialization.scalars import fitted_scalars
from weightlift.moments import DirectionalMoments, HermiteMoment, HermitePolynomial, hermite_regression
from weightlift.namespaces import to_numpy
from weightlift.network import Network
from weightlift.refinement.affine import AffineNetwork, fit_affine
from weightlift.risk import Risk, Students
from weightlift.samples import RandomSigns, Residual, Samples

FIFTH = 1 / math.sqrt(5)  # s: T_5 on the scale of T_4, √(4!/5!), where their noises are alike


@dataclass(frozen=True, eq=False)
class OvercompleteInit:
    """Starts, one a contraction u, best first: units up to sign beside an affine function; and the evidence."""

    starts: tuple[AffineNetwork, ...]
    decompositions: tuple[Decomposition, ...]
    spectrum: np.ndarray  # eigenvalues of the flattening by falling magnitude, of the first u
    floor: float  # the largest that random signs of y leave; 0 for a population

    @property
    def function(self) -> AffineNetwork:
        return self.starts[0]

    @property
    def network(self) -> Network:
        """The best start's function as an ordinary network of at most k + 2 units."""
        return self.function.consolidated()


def overcomplete_init(
    samples: Samples, n_units: int, *, contractions: int = 4, rng: np.random.Generator | int = 0
) -> OvercompleteInit:
    """Starts for a ReLU network of n_units units with biases, more than there are inputs (fewer do as well).

    samples       rows, as `samples.open` gives them
    contractions  directions u in which T_5 is contracted, a start each
    rng           a seed or a generator

    >>> import weightlift as wl
    >>> truth = wl.teachers.smoothed(wl.teachers.biased(4, 6, rng=0), 0.1, rng=1)
    >>> start = overcomplete_init(wl.samples.population(truth), 6)
    >>> float(wl.distance(start.network, truth)) < 1e-7
    True
    """
    rng = generator(rng)
    _check(samples, n_units)
    polynomial = hermite_regression(samples, _degree(samples))
    residual = samples.map(Residual(polynomial))
    T4 = _fourth(residual, polynomial)
    found: list[tuple[float, AffineNetwork, Decomposition]] = []
    spectrum, floor = np.zeros(0), 0.0
    for attempt in range(count("contractions", contractions)):
        u = rng.standard_normal(samples.d)
        u /= np.linalg.norm(u)
        M = T4 + _fifth(residual, u)
        if not attempt:
            spectrum, floor = flattened_spectrum(M), _floor(residual, u, polynomial, rng)
            _check_rank(samples, spectrum, floor, n_units)
        parts = polish(M, subspace_power(M, rank=n_units, rng=rng))
        units = _units(residual, polynomial, parts.factors)
        start = fit_affine(samples, units)
        found.append((_cost(samples, start, parts), start, parts))
    found.sort(key=lambda item: item[0])
    return OvercompleteInit(tuple(s for _, s, _ in found), tuple(p for _, _, p in found), spectrum, floor)


def most_units(d: int) -> int:
    """Units whose squares wwᵀ are unique: d independent ones, or generically d(d−1)/2  [Kileel & Pereira 2019]."""
    return max(d, d * (d - 1) // 2)


def _degree(samples: Samples) -> int:
    """The largest degree, at most 4, whose regression has rows and time enough."""
    if not math.isfinite(samples.n):
        return 4
    sizes = {q: math.comb(samples.d + q, q) for q in (4, 3, 2)}
    fits = [q for q, D in sizes.items() if samples.n >= LIMITS.rows_a_term * D and samples.n * D**2 <= LIMITS.regression_work]
    if not fits:
        raise TooFewRowsError(
            f"{samples.n} rows for {samples.d} inputs: moments of order 4 and 5 are noise below "
            f"{LIMITS.rows_a_term * sizes[2]} rows. Give more."
        )
    return fits[0]


def _fourth(residual: Samples, polynomial: HermitePolynomial) -> np.ndarray:
    if polynomial.degree >= 4:
        return polynomial.tensor(4)
    return to_numpy(residual.mean(HermiteMoment(residual.d, 4))[0])


def _fifth(residual: Samples, u: np.ndarray) -> np.ndarray:
    """s T_5(·, u)."""
    return FIFTH * to_numpy(residual.mean(HermiteMoment(residual.d, 4, None, 1, u))[0])


def _floor(residual: Samples, u: np.ndarray, polynomial: HermitePolynomial, rng: np.random.Generator) -> float:
    """The largest eigenvalue of M by magnitude when the residual's signs are random, D of n degrees of freedom restored."""
    largest = 0.0
    for seed in rng.integers(2**31, size=LIMITS.sign_draws):
        noise = residual.map(RandomSigns(int(seed)))
        M = to_numpy(noise.mean(HermiteMoment(residual.d, 4))[0]) + _fifth(noise, u)
        largest = max(largest, abs(float(flattened_spectrum(M)[0])))
    return largest / (1.0 - len(polynomial.coefficients) / residual.n)


def _units(residual: Samples, polynomial: HermitePolynomial, U: np.ndarray) -> Network:
    """Units with the directions U (d, k) up to sign, their scalars from ζ_2, ζ_3, ζ_4."""
    gram, zeta = U.T @ U, {}
    for j in LIMITS.scalar_orders:
        if j <= polynomial.degree:
            values = apply_powers(polynomial.tensor(j), U, 0)[0]
        else:
            values = to_numpy(residual.mean(DirectionalMoments(U, (j,)))[0])
        zeta[j] = np.linalg.lstsq(gram**j, values, rcond=1e-6)[0]
    scalars = fitted_scalars(zeta, activations.relu)
    return Network(U * scalars.xi, scalars.a, scalars.b, activation="relu")


def _cost(samples: Samples, start: AffineNetwork, parts: Decomposition) -> float:
    """What ranks the starts: ½ E r²; on a population what the decomposition leaves of M."""
    if not math.isfinite(samples.n):
        return parts.residual
    return float(to_numpy(samples.mean(Risk(Students.of(start.consolidated())))[0])[0])


def _check(samples: Samples, k: int) -> None:
    d = samples.d
    count("n_units", k)
    if k > most_units(d):
        raise ArgumentError(
            f"n_units = {k} with {d} inputs: order 4 tells {most_units(d)} units apart, d(d−1)/2 or d. Use fewer units, or "
            "hermite_init, whose orders 5 and 6 tell d(d+1)/2."
        )
    needed = 8.0 * (3 * d**4 + (d * (d + 1) // 2) ** 2)
    if needed > LIMITS.tensor_bytes:
        raise ArgumentError(
            f"{d} inputs: T_4 and the range of its flattening take {needed / 2**30:.1f} GiB, and "
            f"{LIMITS.tensor_bytes / 2**30:.0f} GiB are allowed. Project the inputs on fewer dimensions first."
        )


def _check_rank(samples: Samples, spectrum: np.ndarray, floor: float, k: int) -> None:
    """At least a third of the units must stand above the noise: a refinement finds the others."""
    seen, least = int((np.abs(spectrum) > LIMITS.floor_margin * floor).sum()), math.ceil(k / 3)
    if seen < least:
        weakest = max(abs(float(spectrum[least - 1])), np.finfo(float).tiny)
        wanted = samples.n * (LIMITS.floor_margin * floor / weakest) ** 2
        raise TooFewRowsError(
            f"{samples.n} rows: {seen} of {k} eigenvalues of the flattened T_4 + T_5(·, u) exceed the noise {floor:.2g}. About "
            f"{wanted:.1g} rows or more would show {least}, as many as a refinement needs."
        )
