"""φ(cz) for c > 0: the same function with another unit of length, and all that is known of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from weightlift.activations.activation import Activation, Names, Reflection
from weightlift.activations.quadrature import Quadrature
from weightlift.namespaces import Array


@dataclass(frozen=True)
class Scaled:
    """The derivative of the given order (0, 1, 2) of z ↦ φ(factor·z)."""

    base: Activation
    factor: float
    order: int

    def __call__(self, z: Array) -> Array:
        function = (self.base.value, self.base.derivative, self.base.second_derivative)[self.order]
        value = function(self.factor * z)
        return self.factor**self.order * value if self.order else value


@dataclass(frozen=True)
class ScaledIntegrals(Quadrature):
    """Those of φ at scale factor·σ and offset factor·b; φ′ brings the factor down."""

    base: Quadrature
    factor: float

    @property
    def polynomial(self) -> bool:
        return self.base.polynomial

    def hermites(self, max_order: int, scale: np.ndarray, offset: np.ndarray) -> np.ndarray:
        return self.base.hermites(max_order, self.factor * scale, self.factor * offset)

    def derivative_moment(self, power: int, q: int, scale: np.ndarray) -> np.ndarray:
        return self.factor**power * self.base.derivative_moment(power, q, self.factor * scale)

    def nonlinearity(self, scale: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        return self.factor**2 * self.base.nonlinearity(self.factor * scale, alpha / self.factor)


def stretched(base: Activation, factor: float) -> Activation:
    """φ(factor·z) for the finite factor > 0; what is not written here does not depend on the factor."""
    if isinstance(inner := base.value, Scaled):
        base, factor = inner.base, inner.factor * factor
    if factor == 1.0:
        return base
    reflection: Reflection | None = None
    if base.reflection is not None:
        sign, polynomial = base.reflection
        reflection = (sign, tuple(p * factor**j for j, p in enumerate(polynomial)))
    kinks = tuple(kink / factor for kink in base.kinks)
    integrals = ScaledIntegrals(Scaled(base, factor, 0), Scaled(base, factor, 1), kinks, base.rule, factor)
    return replace(
        base,
        name=f"{base.name}({repr(factor).removesuffix('.0')}x)",
        value=integrals.value,
        derivative=integrals.derivative,
        second_derivative=Scaled(base, factor, 2),
        kinks=kinks,
        jumps=tuple(factor * jump for jump in base.jumps),
        reflection=reflection,
        repeats=None if base.repeats is None else (base.repeats[0] / factor, base.repeats[1]),
        turns=None if base.turns is None else tuple(turn / factor for turn in base.turns),
        parameters=(*base.parameters, ("factor", factor)),
        names=Names(),
        closed_form=None if base.closed_form is None else integrals,
        integrals=integrals,
    )


def unstretched(activation: Activation) -> tuple[Activation, float]:
    """(φ, c) of φ(cz); c = 1 where there is no factor."""
    inner = activation.value
    return (inner.base, inner.factor) if isinstance(inner, Scaled) else (activation, 1.0)
