"""Every activation that tests run over: what the catalogue holds, and some of its entries scaled or at other parameters."""

from __future__ import annotations

from weightlift import activations
from weightlift.activations import Activation

ENTRIES = activations.examples()
EVERY = (
    *ENTRIES,
    activations.leaky_relu(0.3),
    activations.elu(0.4),
    activations.scaled("tanh", 2.5),
    activations.scaled(activations.leaky_relu(0.3), 0.7),
)
UNIQUE = tuple(phi.name for phi in ENTRIES if phi.uniqueness)
HOMOGENEOUS = tuple(phi.name for phi in ENTRIES if phi.degree and not phi.polynomial)
KINKED = tuple(phi.name for phi in ENTRIES if phi.kinks)
SMOOTH = tuple(phi.name for phi in ENTRIES if not phi.kinks and not phi.polynomial)


def _kind(activation: Activation) -> tuple[object, ...]:
    """What algorithms tell activations apart by: degree, kinks, and the sign and degree of the reflection identity."""
    reflection = activation.reflection or (0, ())
    return activation.degree, activation.kinks, reflection[0], len(reflection[1])


KINDS = tuple({_kind(phi): phi.name for phi in reversed(ENTRIES) if phi.uniqueness}.values())  # the first of every kind


def name(activation: Activation) -> str:
    """For `ids`."""
    return repr(activation)[len("Activation(") : -1]
