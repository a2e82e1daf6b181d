"""Activations φ: values and derivatives in any array namespace, kinks, symmetries, and Gaussian integrals.

`get("tanh")` looks one up by name, `scaled` stretches its argument, `custom` makes one from functions.
"""

from weightlift.activations.activation import Activation
from weightlift.activations.catalogue import (
    absolute,
    erf,
    from_json,
    get,
    leaky_relu,
    linear,
    polynomial,
    quadratic,
    relu,
    scaled,
    sigmoid,
    softplus,
    squared_relu,
    tanh,
    to_json,
)
from weightlift.activations.custom import custom

__all__ = [
    "Activation",
    "absolute",
    "custom",
    "erf",
    "from_json",
    "get",
    "leaky_relu",
    "linear",
    "polynomial",
    "quadratic",
    "relu",
    "scaled",
    "sigmoid",
    "softplus",
    "squared_relu",
    "tanh",
    "to_json",
]
