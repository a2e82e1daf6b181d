"""‖f − g‖, E f g, ‖f‖ and E f for networks under x ~ N(0, I).

‖f − g‖² is a quadratic form in the output weights of both networks whose matrix holds the inner products of their units
[kernels.py]: closed for homogeneous φ of degree 1 and 2, a Hermite series otherwise. When g is close to f it is a small
difference of large numbers, known to 1e-15 only, hence ‖f − g‖ to 1e-8; the units of f and g are then paired and the sum is
arranged by differences of partners [paired.py], which leaves an error of 1e-15 in ‖f − g‖ itself.
Cost O((k + k')² (d + K)) with K orders of the series (none if closed), memory O((k + k')²).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from weightlift.arguments import generator
from weightlift.errors import ShapeError
from weightlift.geometry.kernels import products
from weightlift.geometry.paired import paired_square
from weightlift.geometry.units import ROUNDING, TINY, Units, closed
from weightlift.network import Network

SHARP = 1e-12  # relative error a unit with which the plain quadratic form is content
ROUGH = 1e-2  # relative error above which samples are drawn
SAMPLING_WORK = 2e9  # multiplications
RARE = 0.01  # share of one sample in the sum of all


@dataclass(frozen=True)
class Distance:
    """‖f − g‖, a bound on its absolute error (Monte Carlo: three standard errors), and how it was found."""

    value: float
    error: float
    method: str  # "closed form" | "Hermite series" | "Monte Carlo"

    @property
    def squared(self) -> float:
        """E (f − g)²."""
        return self.value**2

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return f"{self.value:.6g} ± {self.error:.1g} ({self.method})"


def distance(f: Network, g: Network, *, rng: int | np.random.Generator = 0) -> Distance:
    """‖f − g‖ = (E (f(x) − g(x))²)^½ for x ~ N(0, I), x ∈ Rᵈ.

    `rng` matters only where neither closed form nor series gives two digits (g very close to f, with nearly parallel units
    or a user's φ that has kinks): then samples are drawn.

    >>> f = Network([[1.0], [0.0]], activation="relu")
    >>> g = Network([[-1.0], [0.0]], activation="relu")
    >>> found = distance(f, g)                               # E (x₊ − (−x)₊)² = E x²
    >>> float(found), found.error < 1e-13, found.method
    (1.0, True, 'closed form')
    """
    _check_inputs(f, g)
    best = _between_kin(f, g) if f.activation == g.activation else _between_strangers(f, g)
    if best.error > ROUGH * best.value and best.error > 1e-10 * (_size(f) + _size(g)):
        best = min(best, _sampled(f, g, generator(rng)), key=lambda found: found.error)
    return best


def inner(f: Network, g: Network) -> float:
    """E f(x) g(x) for x ~ N(0, I); the activations may differ."""
    _check_inputs(f, g)
    left = Units.of(f.activation, f.W, f.b)
    right = left if f is g else Units.of(g.activation, g.W, g.b)
    return products(left, right).form(f.a, g.a)[0] + f.c * mean(g) + g.c * mean(f) - f.c * g.c


def norm(f: Network) -> float:
    """‖f‖ = (E f(x)²)^½ for x ~ N(0, I)."""
    return math.sqrt(max(inner(f, f), 0.0))


def mean(f: Network) -> float:
    """E f(x) for x ~ N(0, I)."""
    return float(f.a @ Units.of(f.activation, f.W, f.b).hermites(0)[0]) + f.c


def _check_inputs(f: Network, g: Network) -> None:
    if f.n_inputs != g.n_inputs:
        raise ShapeError(f"f has {f.n_inputs} inputs and g has {g.n_inputs}; pass functions of the same inputs.")


def _between_kin(f: Network, g: Network) -> Distance:
    """‖f − g‖ for networks with the same φ: the quadratic form, and where it cancels, the sum by pairs."""
    units, a, constant, n = _difference(f, g)
    gram = products(units, units)
    square, cut = gram.form(a, a)
    square += 2 * constant * float(a @ units.hermites(0)[0]) + constant**2
    size = float(np.abs(a) @ units.sizes) + abs(constant)
    plain = _root(square, cut + ROUNDING * size**2, "closed form" if closed(f.activation) else "Hermite series")
    if plain.error <= SHARP * len(units) * plain.value or not len(units):
        return plain
    square, error = paired_square(units, a, n, constant, gram.values)
    paired = _root(square, error, "Hermite series")
    return min(plain, replace(paired, error=paired.error + ROUNDING * size), key=lambda found: found.error)


def _difference(f: Network, g: Network) -> tuple[Units, np.ndarray, float, int]:
    """f − g as units, their amplitudes, a constant, and how many of the units are f's; they come first, g's without copies."""
    columns = np.hstack([np.vstack([net.W, net.b]) for net in (f, g)]) + 0.0
    _, first, copies = np.unique(columns, axis=1, return_index=True, return_inverse=True)
    amplitudes = np.zeros(columns.shape[1])
    np.add.at(amplitudes, first[copies.ravel()], np.concatenate([f.a, -g.a]))
    kept = np.flatnonzero(amplitudes)
    units = Units.of(f.activation, columns[:-1, kept], columns[-1, kept])
    still = units.scale == 0
    constant = f.c - g.c + float(amplitudes[kept[still]] @ np.asarray(f.activation(columns[-1, kept[still]])))
    kept = kept[~still]
    return units[~still], amplitudes[kept], constant, int(np.count_nonzero(kept < f.n_units))


def _between_strangers(f: Network, g: Network) -> Distance:
    """‖f − g‖ for networks with different φ, by the quadratic form alone."""
    left, right = (Units.of(net.activation, net.W, net.b) for net in (f, g))
    own, other, cross = products(left, left), products(right, right), products(left, right)
    forms = [own.form(f.a, f.a), other.form(g.a, g.a), cross.form(f.a, -2 * g.a)]
    constant = f.c - g.c
    square = sum(value for value, _ in forms) + 2 * constant * (mean(f) - mean(g)) - constant**2
    error = sum(cut for _, cut in forms) + ROUNDING * (_size(f) + _size(g)) ** 2
    return _root(square, error, "closed form" if closed(f.activation, g.activation) else "Hermite series")


def _size(f: Network) -> float:
    return float(np.abs(f.a) @ Units.of(f.activation, f.W, f.b).sizes) + abs(f.c)


def _root(square: float, error: float, method: str) -> Distance:
    """The root of square ± error: |√x − √y| ≤ min(√|x − y|, |x − y|/√y)."""
    value = math.sqrt(max(square, 0.0))
    return Distance(value, error / max(value, math.sqrt(error), TINY), method)


def _sampled(f: Network, g: Network, rng: np.random.Generator) -> Distance:
    """The root of the sample mean of (f − g)²; the error is three standard errors."""
    rows = 2**14
    blocks = int(np.clip(SAMPLING_WORK / (rows * f.n_inputs * (f.n_units + g.n_units)), 2, 32))
    squares = np.empty((blocks, rows))
    for block in squares:
        X = rng.standard_normal((rows, f.n_inputs))
        block[:] = (f.predict(X) - g.predict(X)) ** 2
    value = math.sqrt(squares.mean())
    if squares.max() >= RARE * squares.sum():  # a few rows carry it all, or none was met: no standard error to trust
        return Distance(value, math.inf, "Monte Carlo")
    standard_error = float(squares.std()) / math.sqrt(squares.size) / max(2 * value, TINY)
    return Distance(value, 3 * standard_error + ROUNDING * (_size(f) + _size(g)), "Monte Carlo")
