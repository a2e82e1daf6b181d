"""‖f − g‖, E f g, ‖f‖ and E f for networks under x ~ N(0, I).

‖f − g‖² is a quadratic form in the output weights of both networks whose matrix holds the inner products of their units
[kernels.py]: closed for homogeneous φ of degree 1 and 2, a Hermite series otherwise. When g is close to f it is a small
difference of large numbers, known to 1e-15 only, hence ‖f − g‖ to 1e-8; the units of f and g are then paired and the sum is
arranged by differences of partners [paired.py], which leaves an error of 1e-15 in ‖f − g‖ itself.
A linear part ⟨v, x⟩ is a Hermite order of its own, the first: it adds ‖v‖² and twice its products with the first orders of the
units. Several outputs add their squares.
Cost O(m (k + k')² (d + K)) with K orders of the series (none if closed), memory O((k + k')²).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from weightlift.arguments import generator
from weightlift.errors import ArgumentError, ShapeError
from weightlift.geometry.kernels import products
from weightlift.geometry.limits import LIMITS
from weightlift.geometry.paired import paired_square
from weightlift.geometry.units import ROUNDING, TINY, Units, closed
from weightlift.network import Network, alike

METHODS = ("closed form", "Hermite series", "Monte Carlo")  # from the best on


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
    """‖f − g‖ = (E ‖f(x) − g(x)‖²)^½ for x ~ N(0, I), x ∈ Rᵈ.

    `rng` matters only where neither closed form nor series gives two digits (g very close to f, with nearly parallel units
    or a user's φ that has kinks): then samples are drawn.

    >>> f = Network([[1.0], [0.0]], activation="relu")
    >>> g = Network([[-1.0], [0.0]], activation="relu")
    >>> found = distance(f, g)                               # E (x₊ − (−x)₊)² = E x²
    >>> float(found), found.error < 1e-13, found.method
    (1.0, True, 'closed form')
    """
    _check_inputs(f, g)
    f, g = alike(f, g)
    if f.V is not None and g.V is not None:  # one orientation of every unit, so that partners differ by little
        f, g = f.canonical(), g.canonical()
    rng = generator(rng)
    return _all_outputs([_single_distance(f.output(i), g.output(i), rng) for i in range(f.n_outputs)])


def _all_outputs(found: list[Distance]) -> Distance:
    """The root of the sum of squares; errors of roots add like lengths."""
    if len(found) == 1:
        return found[0]
    value, error = (math.hypot(*(getattr(d, name) for d in found)) for name in ("value", "error"))
    return Distance(value, error, max((d.method for d in found), key=METHODS.index))


def _single_distance(f: Network, g: Network, rng: np.random.Generator) -> Distance:
    best = _between_kin(f, g) if f.activation == g.activation else _between_strangers(f, g)
    if best.error > LIMITS.rough * best.value and best.error > 1e-10 * (_size(f) + _size(g)):
        best = min(best, _sampled(f, g, rng), key=lambda found: found.error)
    return best


def inner(f: Network, g: Network) -> float:
    """E ⟨f(x), g(x)⟩ for x ~ N(0, I); the activations may differ."""
    _check_inputs(f, g)
    if f.a.ndim == 2:
        return sum(inner(f.output(i), f.output(i) if f is g else g.output(i)) for i in range(f.n_outputs))
    left = Units.of(f.activation, f.W, f.b)
    right = left if f is g else Units.of(g.activation, g.W, g.b)
    value = products(left, right).form(f.a, g.a)[0] + f.c * mean(g) + g.c * mean(f) - f.c * g.c
    if f.V is None and g.V is None:
        return float(value)
    v, w = (np.zeros(f.n_inputs) if net.V is None else net.V for net in (f, g))
    return float(value + v @ _first_order(right, g.a) + w @ _first_order(left, f.a) + v @ w)


def norm(f: Network) -> float:
    """‖f‖ = (E ‖f(x)‖²)^½ for x ~ N(0, I)."""
    return math.sqrt(max(inner(f, f), 0.0))


def mean(f: Network) -> Any:
    """E f(x) for x ~ N(0, I): a number, or (m,)."""
    values = Units.of(f.activation, f.W, f.b).hermites(0)[0] if f.n_units else np.zeros(0)
    return f.a.T @ values + f.c if f.a.ndim == 2 else float(f.a @ values) + f.c


def _first_order(units: Units, a: np.ndarray) -> np.ndarray:
    """E x Σ aᵢ φ(⟨wᵢ, x⟩ + bᵢ) (d,)."""
    return np.asarray(units.directions @ (a * units.hermites(1)[1])) if len(units) else np.zeros(len(units.directions))


def _check_inputs(f: Network, g: Network) -> None:
    for name, net in (("f", f), ("g", g)):
        if not isinstance(net, Network):
            raise ArgumentError(f"{name} must be a Network, not {type(net).__name__}.")
    if f.n_inputs != g.n_inputs:
        raise ShapeError(f"f has {f.n_inputs} inputs and g has {g.n_inputs}; pass functions of the same inputs.")
    if f.a.shape[1:] != g.a.shape[1:]:
        raise ShapeError(f"f has a of shape {f.a.shape} and g of {g.a.shape}; pass functions of the same outputs.")


def _between_kin(f: Network, g: Network) -> Distance:
    """‖f − g‖ for networks with the same φ: the quadratic form, and where it cancels, the sum by pairs."""
    units, a, constant, n = _difference(f, g)
    line, method = _line(f, g), "closed form" if closed(f.activation) else "Hermite series"
    if not len(units):
        return _root(constant**2 + float(line @ line), 0.0, method)
    gram = products(units, units)
    square, cut = gram.form(a, a)
    square += 2 * constant * float(a @ units.hermites(0)[0]) + constant**2
    size = float(np.abs(a) @ units.sizes) + abs(constant)
    if line.any():
        square += 2 * float(line @ _first_order(units, a)) + float(line @ line)
        size += float(np.linalg.norm(line))
    plain = _root(square, cut + ROUNDING * size**2, method)
    if plain.error <= LIMITS.sharp * len(units) * plain.value:
        return plain
    square, error = paired_square(units, a, n, constant, gram.values, line)
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


def _line(f: Network, g: Network) -> np.ndarray:
    """(d,) the difference of the linear parts."""
    v, w = (np.zeros(net.n_inputs) if net.V is None else net.V for net in (f, g))
    return v - w


def _between_strangers(f: Network, g: Network) -> Distance:
    """‖f − g‖ for networks with different φ, by the quadratic form alone."""
    left, right = (Units.of(net.activation, net.W, net.b) for net in (f, g))
    own, other, cross = products(left, left), products(right, right), products(left, right)
    forms = [own.form(f.a, f.a), other.form(g.a, g.a), cross.form(f.a, -2 * g.a)]
    constant = f.c - g.c
    square = sum(value for value, _ in forms) + 2 * constant * (mean(f) - mean(g)) - constant**2
    line = _line(f, g)
    if line.any():
        square += 2 * float(line @ (_first_order(left, f.a) - _first_order(right, g.a))) + float(line @ line)
    error = sum(cut for _, cut in forms) + ROUNDING * (_size(f) + _size(g)) ** 2
    return _root(square, error, "closed form" if closed(f.activation, g.activation) else "Hermite series")


def _size(f: Network) -> float:
    units = float(np.abs(f.a) @ Units.of(f.activation, f.W, f.b).sizes) if f.n_units else 0.0
    return units + abs(float(f.c)) + (0.0 if f.V is None else float(np.linalg.norm(f.V)))


def _root(square: float, error: float, method: str) -> Distance:
    """The root of square ± error: |√x − √y| ≤ min(√|x − y|, |x − y|/√y)."""
    value = math.sqrt(max(square, 0.0))
    return Distance(value, error / max(value, math.sqrt(error), TINY), method)


def _sampled(f: Network, g: Network, rng: np.random.Generator) -> Distance:
    """The root of the sample mean of (f − g)²; the error is three standard errors."""
    rows = 2**14
    blocks = int(np.clip(LIMITS.sampling_work / (rows * f.n_inputs * (1 + f.n_units + g.n_units)), 2, 32))
    squares = np.empty((blocks, rows))
    for block in squares:
        X = rng.standard_normal((rows, f.n_inputs))
        block[:] = (f.predict(X) - g.predict(X)) ** 2
    value = math.sqrt(squares.mean())
    if squares.max() >= LIMITS.rare * squares.sum():  # a few rows carry it all, or none was met: no standard error to trust
        return Distance(value, math.inf, "Monte Carlo")
    standard_error = float(squares.std()) / math.sqrt(squares.size) / max(2 * value, TINY)
    return Distance(value, 3 * standard_error + ROUNDING * (_size(f) + _size(g)), "Monte Carlo")
