"""Smoothed activations: kinks and saturation trap the descent, so it starts on a softer φ and sharpens it in stages.

Homogeneous φ(z) = φ(1) z₊^q + φ(−1) z₋^q becomes φ(1) s(z)^q + φ(−1) s(−z)^q with s(z) = t log(1 + e^{z/t}), t → 0.
Other φ are run at a small gain, φ(t z) with unit directions, t growing; their lengths are let free at the end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weightlift.activations import Activation, scaled
from weightlift.namespaces import Array, array_namespace


@dataclass(frozen=True)
class Stage:
    """One activation on the way, and whether the directions stay on the sphere."""

    activation: Activation
    unit: bool
    gain: float = 1.0  # what lengths are multiplied by when the sphere is left


def annealing(activation: Activation, *, reheating: bool = False) -> tuple[Stage, ...]:
    """The stages from a soft φ to φ itself; `reheating` begins half way."""
    if activation.degree:
        first, again = (SOFT_SQUARE, REHEATED_SQUARE) if activation.degree > 1 else (SOFT_KINK, REHEATED_KINK)
        soft = [Stage(softened(activation, t), unit=True) for t in (again if reheating else first)]
        return (*soft, Stage(activation, unit=True))
    soft = [Stage(scaled(activation, g), unit=True, gain=g) for g in GAINS]
    return (*soft, Stage(activation, unit=False))


SOFT_KINK, REHEATED_KINK = (0.7, 0.35, 0.2, 0.1, 0.05), (0.3, 0.1)
SOFT_SQUARE, REHEATED_SQUARE = (1.5, 0.7, 0.35, 0.15), (0.7, 0.35, 0.15)
GAINS = (0.7, 1.0, 1.4)


def softened(activation: Activation, temperature: float) -> Activation:
    """A homogeneous φ with its kink rounded at width `temperature`."""
    sides = np.asarray(activation(np.array([1.0, -1.0])))
    assert activation.degree is not None
    parts = (float(sides[0]), float(sides[1]), float(activation.degree), temperature)
    return Activation(
        name=f"softened {activation.name}",
        value=Soft(*parts),
        derivative=SoftDerivative(*parts),
        second_derivative=SoftSecondDerivative(*parts),
        parameters=(*activation.parameters, ("temperature", temperature)),
    )


@dataclass(frozen=True)
class Soft:
    """φ(1) s(z)^q + φ(−1) s(−z)^q."""

    right: float
    left: float
    degree: float
    temperature: float

    def __call__(self, z: Array) -> Array:
        up, down = self._ramps(z)
        return self.right * up**self.degree + self.left * down**self.degree

    def _ramps(self, z: Array) -> tuple[Array, Array]:
        """s(z) and s(−z), without overflow: s(z) = z₊ + t log(1 + e^{−|z|/t})."""
        xp = array_namespace(z)
        tail = self.temperature * xp.log1p(xp.exp(-xp.abs(z) / self.temperature))
        return xp.clip(z, 0.0) + tail, xp.clip(-z, 0.0) + tail


@dataclass(frozen=True)
class SoftDerivative(Soft):
    """q φ(1) s(z)^{q−1} s′(z) − q φ(−1) s(−z)^{q−1} s′(−z), s′(z) = 1/(1 + e^{−z/t})."""

    def __call__(self, z: Array) -> Array:
        xp = array_namespace(z)
        up, down = self._ramps(z)
        slope = 0.5 * (1.0 + xp.tanh(0.5 / self.temperature * z))
        q = self.degree
        return q * (self.right * up ** (q - 1) * slope - self.left * down ** (q - 1) * (1.0 - slope))


@dataclass(frozen=True)
class SoftSecondDerivative(Soft):
    """φ(1) s(z)^q (q(q−1) r² + q s″/s) + φ(−1) the same of −z, with r = s′/s and s″(z) = s′(z) s′(−z)/t."""

    def __call__(self, z: Array) -> Array:
        xp = array_namespace(z)
        slope = 0.5 * (1.0 + xp.tanh(0.5 / self.temperature * z))
        bend, q, total = slope * (1.0 - slope) / self.temperature, self.degree, xp.zeros_like(z)
        for height, ramp, rise in zip((self.right, self.left), self._ramps(z), (slope, 1.0 - slope), strict=True):
            r = rise / xp.where(ramp > 0, ramp, xp.ones_like(z))  # bounded by 1/t; both vanish together
            total = total + height * q * ((q - 1.0) * ramp**q * r * r + ramp ** (q - 1.0) * bend)
        return total
