"""Reflection of units, and the polynomial by which it changes the function.

Where φ(−z) = s φ(z) + p(z), which needs p(−z) = −s p(z), the reflected unit (s a, −w, −b) computes

    s a φ(−z) = a φ(z) + s a p(z),      z = ⟨w, x⟩ + b,

so that reflecting the units of a set F changes f by the polynomial Σ_F s aᵢ p(⟨wᵢ, x⟩ + bᵢ):

    ReLU, softplus (s = 1)      −Σ_F aᵢ (⟨wᵢ, x⟩ + bᵢ); leaky ReLU (1 + slope) times that
    squared ReLU (s = −1)       −Σ_F aᵢ (⟨wᵢ, x⟩ + bᵢ)²
    sigmoid (s = −1)            −Σ_F aᵢ, a constant
    odd and even φ              0

output by output where there are several. A linear part V takes up the linear terms of that polynomial, c its constant.
"""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np

from weightlift import activations
from weightlift.activations import Activation
from weightlift.errors import ActivationError, ArgumentError, ShapeError
from weightlift.identifiability.least_order import power_factors
from weightlift.network import Network

MAX_FLIPS = 20  # units: the table of 2²⁰ patterns takes 160 MB
ZERO_OFFSET = 1e-10  # of Σ |aᵢ|: a constant that is a rounding error


def reflect(network: Network, pattern: np.ndarray, *, offset: bool = True) -> Network:
    """The network with the units of the pattern, (k,) booleans, reflected: (a, w, b) → (s a, −w, −b).

    c takes up the mean of the change under x ~ N(0, I), which is all of it where the change is constant, and V, where there is
    one, what is linear; `offset=False` leaves c alone. For the patterns of `sign_patterns` with the same `offset` the function
    is unchanged to rounding.

    >>> f = Network([[1.0, 0.0, -1.0], [0.0, 1.0, -1.0]])          # Σ wᵢ = 0
    >>> g = reflect(f, np.array([True, True, True]))
    >>> x = np.array([[0.3, -2.0]])
    >>> f.predict(x), g.predict(x)
    (array([2.]), array([2.]))
    """
    flips = np.asarray(pattern)
    if flips.dtype != bool:
        raise ArgumentError(f"pattern must hold booleans, one a unit, not dtype {flips.dtype}.")
    if flips.shape != (network.n_units,):
        raise ShapeError(f"pattern must have shape ({network.n_units},), not {flips.shape}.")
    s, _ = reflection(network.activation)
    sign = np.where(flips, -1.0, 1.0)
    a = np.where(flips if network.a.ndim == 1 else flips[:, None], s * network.a, network.a)
    c, V = network.c, network.V
    if V is None and not (offset and flips.any()):
        return replace(network, W=network.W * sign, b=network.b * sign, a=a)
    change = hermite_coefficients(network)[:, flips]
    if offset and flips.any():
        c = c - change[0].sum(axis=0)
    if V is not None and len(change) > 1:
        V = V - _directions(network)[:, flips] @ change[1]
    return replace(network, W=network.W * sign, b=network.b * sign, a=a, c=c, V=V)


def reflection(activation: Activation) -> tuple[int, tuple[float, ...]]:
    """(s, (p₀, …, p_n)), p_n ≠ 0; an error where φ(−z) is not ±φ(z) plus a polynomial."""
    if activation.reflection is None:
        raise ActivationError(
            f"units of {activation.name!r} cannot be reflected; no identity φ(−z) = ±φ(z) + polynomial is declared for it."
        )
    return activation.reflection


def reflection_polynomials(network: Network, *, offset: bool) -> np.ndarray:
    """C (rows, k) with ‖C f‖ = the L² norm under x ~ N(0, I) of the change that reflecting F = {i: fᵢ = 1} makes.

    Column i holds the coefficients of s aᵢ p(⟨wᵢ, x⟩ + bᵢ) on normalised Hermite tensors He_j(x)/√j!, which are
    s aᵢ E[p(σᵢz + bᵢ) He_j(z)]/√j! · w̄ᵢ^{⊗j}, σᵢ = ‖wᵢ‖, written in an orthonormal basis of at most k rows for each j.
    A free c (`offset`) exempts the constant, and a linear part what is linear: their rows are left out. Several outputs stand
    below each other.
    """
    coefficients = hermite_coefficients(network).reshape(-1, network.n_units, network.n_outputs)
    exempt = [order for order, free in ((0, offset), (1, network.V is not None)) if free]
    rows = [
        (c.T[:, None, :] * factor).reshape(-1, network.n_units)
        for order, (c, factor) in enumerate(zip(coefficients, power_factors(_directions(network)), strict=False))
        if order not in exempt
    ]
    return np.vstack([np.zeros((0, network.n_units)), *rows])


def _directions(network: Network) -> np.ndarray:
    """(d, k) the units' w/‖w‖, zero where w is."""
    length = np.linalg.norm(network.W, axis=0)
    return np.asarray(network.W / np.where(length > 0, length, 1.0))


def hermite_coefficients(network: Network) -> np.ndarray:
    """s aᵢ E[p(σᵢz + bᵢ) He_j(z)]/√j!, (degree + 1, k), or (degree + 1, k, m) of several outputs: the change that a unit's
    reflection makes, order by order."""
    s, polynomial = reflection(network.activation)
    if not polynomial:
        return np.zeros((1, *network.a.shape))
    length = np.linalg.norm(network.W, axis=0)
    means = _as_activation(polynomial).hermite_normalized(len(polynomial) - 1, length, network.b)
    return np.asarray(s * network.a * (means if network.a.ndim == 1 else means[:, :, None]))


@functools.cache
def _as_activation(polynomial: tuple[float, ...]) -> Activation:
    return activations.polynomial(polynomial)


def turned_by_a_constant(activation: Activation) -> bool:
    """Whether a reflection moves c alone, as that of a sigmoid: units are then found beside a free c, and their signs last."""
    return activation.reflection is not None and len(activation.reflection[1]) == 1


def without_offset(network: Network) -> Network:
    """A sigmoid network with the fewest units reflected that bring c nearest to zero: c → c + p₀ Σ_F aᵢ over the set F."""
    assert network.activation.reflection is not None
    if network.n_units > MAX_FLIPS:
        return network
    p0 = network.activation.reflection[1][0]
    patterns = (np.arange(2**network.n_units)[:, None] >> np.arange(network.n_units)) & 1
    constants = network.c + p0 * patterns @ network.a
    rounding = ZERO_OFFSET * np.abs(network.a).sum()
    nearest = np.flatnonzero(np.abs(constants) <= np.abs(constants).min() + rounding)
    best = int(nearest[np.argmin(patterns[nearest].sum(axis=1))])
    signs = 1.0 - 2.0 * patterns[best]
    c = 0.0 if abs(constants[best]) <= rounding else float(constants[best])
    return replace(network, W=network.W * signs, b=network.b * signs, a=network.a * signs, c=c)
