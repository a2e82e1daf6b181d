"""Moments by least squares: y regressed on all Hermite polynomials of degree ≤ q, T_0 … T_q read from the coefficients.

Model       y ≈ Σ_{|α| ≤ q} β_α h_α(x),  h_α = Π_j He_{α_j}(x_j)/√α_j!, orthonormal under N(0, I); (T_k)_α = √α! β_α, |α| = k.
Why         E[y He_k] from rows carries noise from all of y; regression leaves only that of the part of degree above q, and
            the residual is the control variate for T_{q+1}. For ReLU units it holds 1–2 % of the variance at q = 4.
Cost        O(n D²) and D² memory, D = C(d+q, q). Needs rows enough: n > 2 D.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from weightlift.errors import ArgumentError, TooFewRowsError
from weightlift.hermite.polynomials import check_order, normalized
from weightlift.moments.hermite_moment import symmetric_cp, unit_moments
from weightlift.moments.limits import LIMITS
from weightlift.namespaces import Array, array_namespace, as_like, matmul_transposed, matrix, to_numpy
from weightlift.network import Network
from weightlift.samples import Block, Samples, Sums
from weightlift.samples.protocol import check_source


@dataclass(frozen=True, eq=False)
class HermitePolynomial:
    """x → Σ β_α h_α(x), |α| ≤ degree; callable on rows in any namespace."""

    n_inputs: int
    degree: int
    coefficients: np.ndarray  # (D,), in the order of `terms`

    def __call__(self, X: Array) -> Array:
        X = matrix(X, self.n_inputs)
        return array_namespace(X).matmul(features(X, self.degree), as_like(self.coefficients, X))

    def tensor(self, order: int) -> np.ndarray:
        """T_order (d, …, d), order ≤ degree."""
        if not 0 <= order <= self.degree:
            raise ArgumentError(f"order must lie between 0 and the degree {self.degree}, not {order}.")
        T = np.zeros((self.n_inputs,) * order)
        for term, value in zip(self._terms, self.coefficients, strict=True):
            if len(term) == order:
                entry = value * math.sqrt(_factorial(term))
                for places in set(itertools.permutations(term)):
                    T[places] = entry
        return T

    @cached_property
    def _terms(self) -> list[tuple[int, ...]]:
        return terms(self.n_inputs, self.degree)


def hermite_regression(samples: Samples, degree: int) -> HermitePolynomial:
    """The least-squares polynomial of the given total degree; of a population its exact projection.

    samples  rows, as `samples.open` gives them

    >>> import weightlift as wl
    >>> truth = wl.teachers.biased(3, 4, rng=0)
    >>> fit = hermite_regression(wl.samples.population(truth), 4)
    >>> exact = wl.samples.population(truth).mean(wl.moments.HermiteMoment(3, 4))[0]
    >>> bool(np.allclose(fit.tensor(4), exact, atol=1e-14))
    True
    """
    check_source(samples)
    check_order(degree, "degree")
    D = math.comb(samples.d + degree, degree)
    if LIMITS.terms < D:
        raise ArgumentError(
            f"a polynomial of degree {degree} in {samples.d} inputs has {D} terms, its normal equations take "
            f"{8 * D * D / 2**30:.1f} GiB (at most {LIMITS.terms} terms are tried); lower the degree, or reduce the inputs."
        )
    if samples.n < 2 * D:
        raise TooFewRowsError(f"{samples.n} rows for a polynomial of {D} terms; give at least {2 * D}, or lower the degree.")
    gram, target = (to_numpy(s) for s in samples.mean(HermiteRegression(samples.d, degree)))
    return HermitePolynomial(samples.d, degree, np.linalg.lstsq(gram, target, rcond=1e-12)[0])


@dataclass(frozen=True)
class HermiteRegression:
    """Normal equations of y on the features h_α: their Gram matrix (D, D) and E y h_α (D,)."""

    n_inputs: int
    degree: int

    @property
    def floats_per_row(self) -> int:
        return 3 * math.comb(self.n_inputs + self.degree, self.degree)

    def __call__(self, block: Block) -> Sums:
        F = features(block.X, self.degree)
        weighted = F if block.w is None else block.w[:, None] * F
        return matmul_transposed(F, weighted), array_namespace(F).matmul(block.wy, F)

    def expectation(self, network: Network) -> tuple[np.ndarray, np.ndarray]:
        target = []
        for k in range(self.degree + 1):
            T = symmetric_cp(*unit_moments(network, k), k) + (network.c if k == 0 else 0.0)
            entries = itertools.combinations_with_replacement(range(self.n_inputs), k)
            target += [T[entry] / math.sqrt(_factorial(entry)) for entry in entries]
        return np.eye(len(target)), np.array(target)


def terms(n_inputs: int, degree: int) -> list[tuple[int, ...]]:
    """The multi-indices α as sorted tuples of coordinates, by degree."""
    return [t for k in range(degree + 1) for t in itertools.combinations_with_replacement(range(n_inputs), k)]


def features(X: Array, degree: int) -> Array:
    """h_α at the rows of X (m, d): (m, D), each from the one with its last coordinate removed."""
    xp, d = array_namespace(X), X.shape[1]
    powers = [normalized(degree, X[:, j]) for j in range(d)]
    columns: dict[tuple[int, ...], Array] = {(): xp.ones_like(X[:, 0])}
    for term in terms(d, degree)[1:]:
        last = term[-1]
        count = term.count(last)
        columns[term] = columns[term[:-count]] * powers[last][count]
    return xp.stack(list(columns.values()), axis=1)


def _factorial(term: tuple[int, ...]) -> int:
    return math.prod(math.factorial(term.count(j)) for j in set(term))
