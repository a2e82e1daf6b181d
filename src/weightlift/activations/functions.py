"""The catalogue's φ, φ′ and φ″ in any array namespace; dtype and device follow z, which is real and floating.

Derivatives are left derivatives at kinks. Exponentials are of −|z|, so that nothing overflows and tails keep their
relative accuracy. All are picklable: functions of this module, or small frozen dataclasses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from weightlift import namespaces
from weightlift.namespaces import FADING, Array, array_namespace


def zero(z: Array) -> Array:
    return array_namespace(z).zeros_like(z)


def step(z: Array) -> Array:
    """1 for z > 0, else 0."""
    return array_namespace(z).astype(z > 0, z.dtype)


def relu(z: Array) -> Array:
    xp = array_namespace(z)
    return xp.maximum(z, 0.0) if xp is namespaces.NUMPY else xp.clip(z, 0.0)  # a fifth of the time of NumPy's clip


@dataclass(frozen=True)
class Leaky:
    slope: float

    def __call__(self, z: Array) -> Array:
        return array_namespace(z).where(z > 0, z, self.slope * z)


@dataclass(frozen=True)
class TwoSlopes:
    """`left` for z ≤ 0, `right` for z > 0."""

    left: float
    right: float

    def __call__(self, z: Array) -> Array:
        xp = array_namespace(z)
        return xp.where(z > 0, xp.full_like(z, self.right), xp.full_like(z, self.left))


def absolute(z: Array) -> Array:
    return array_namespace(z).abs(z)


def squared_relu(z: Array) -> Array:
    ramp = relu(z)
    return ramp * ramp


def squared_relu_derivative(z: Array) -> Array:
    return 2.0 * relu(z)


def squared_relu_second_derivative(z: Array) -> Array:
    return 2.0 * step(z)


@dataclass(frozen=True)
class Horner:
    """Σ_j coefficients[j] zʲ."""

    coefficients: tuple[float, ...]

    def __call__(self, z: Array) -> Array:
        total = array_namespace(z).full_like(z, self.coefficients[-1])
        for coefficient in self.coefficients[-2::-1]:
            total = total * z + coefficient
        return total

    def derivative(self) -> Horner:
        return Horner(tuple(j * c for j, c in enumerate(self.coefficients))[1:] or (0.0,))


@FADING
def sigmoid(z: Array) -> Array:
    xp = array_namespace(z)
    e = xp.exp(-xp.abs(z))
    return xp.where(z > 0, xp.ones_like(z), e) / (1.0 + e)


@FADING
def sigmoid_derivative(z: Array) -> Array:
    xp = array_namespace(z)
    e = xp.exp(-xp.abs(z))
    return e / ((1.0 + e) * (1.0 + e))


@FADING
def sigmoid_second_derivative(z: Array) -> Array:
    return -sigmoid_derivative(z) * array_namespace(z).tanh(0.5 * z)


def tanh(z: Array) -> Array:
    return array_namespace(z).tanh(z)


@FADING
def tanh_derivative(z: Array) -> Array:
    return 4.0 * sigmoid_derivative(2.0 * z)


@FADING
def tanh_second_derivative(z: Array) -> Array:
    return -2.0 * tanh(z) * tanh_derivative(z)


@FADING
def softplus(z: Array) -> Array:
    xp = array_namespace(z)
    return relu(z) + xp.log1p(xp.exp(-xp.abs(z)))


def erf(z: Array) -> Array:
    return namespaces.erf(z)


@FADING
def erf_derivative(z: Array) -> Array:
    return 2.0 / math.sqrt(math.pi) * array_namespace(z).exp(-z * z)


@FADING
def erf_second_derivative(z: Array) -> Array:
    return -2.0 * z * erf_derivative(z)


@FADING
def gelu(z: Array) -> Array:
    return z * normal_distribution(z)


@FADING
def gelu_derivative(z: Array) -> Array:
    return normal_distribution(z) + z * bell(z)


@FADING
def gelu_second_derivative(z: Array) -> Array:
    return (2.0 - z * z) * bell(z)


@FADING
def normal_distribution(z: Array) -> Array:
    """Φ(z) = ½ erfc(−z/√2)."""
    return 0.5 * namespaces.erfc(-math.sqrt(0.5) * z)


@FADING
def bell(z: Array) -> Array:
    """The normal density e^{−z²/2}/√(2π)."""
    return 1.0 / math.sqrt(2.0 * math.pi) * array_namespace(z).exp(-0.5 * z * z)


@FADING
def silu(z: Array) -> Array:
    return z * sigmoid(z)


@FADING
def silu_derivative(z: Array) -> Array:
    return sigmoid(z) + z * sigmoid_derivative(z)


@FADING
def silu_second_derivative(z: Array) -> Array:
    return sigmoid_derivative(z) * (2.0 - z * array_namespace(z).tanh(0.5 * z))


@dataclass(frozen=True)
class Elu:
    """The derivative of the given order (0, 1, 2): of z for z > 0, of alpha·(eᶻ − 1) otherwise."""

    alpha: float
    order: int = 0

    @FADING
    def __call__(self, z: Array) -> Array:
        xp = array_namespace(z)
        below = -relu(-z)
        left = self.alpha * (xp.exp(below) if self.order else xp.expm1(below))
        return xp.where(z > 0, (z, xp.ones_like(z), xp.zeros_like(z))[self.order], left)


def sine(z: Array) -> Array:
    return array_namespace(z).sin(z)


def cosine(z: Array) -> Array:
    return array_namespace(z).cos(z)


def minus_sine(z: Array) -> Array:
    return -sine(z)
