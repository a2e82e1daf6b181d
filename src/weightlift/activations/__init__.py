"""Activations φ: values and derivatives in any array namespace, kinks, symmetries, and Gaussian integrals.

`get("tanh")` looks one up by name, `scaled` stretches its argument, `custom` makes one from functions.

    relu          max(z, 0)
    leaky_relu    z for z > 0, slope · z otherwise
    squared_relu  max(z, 0)²
    absolute      |z|
    sigmoid       1/(1 + e⁻ᶻ)
    tanh          tanh z
    erf           (2/√π) ∫₀ᶻ e^{−t²} dt
    softplus      log(1 + eᶻ)
    gelu          z Φ(z), Φ the normal distribution function
    silu          z/(1 + e⁻ᶻ)
    elu           z for z > 0, alpha (eᶻ − 1) otherwise
    sine          sin z
    linear        z
    quadratic     z²
    polynomial    Σ cⱼ zʲ
"""

from weightlift.activations.activation import Activation
from weightlift.activations.catalogue import (
    absolute,
    elu,
    erf,
    examples,
    from_json,
    gelu,
    get,
    leaky_relu,
    linear,
    polynomial,
    quadratic,
    relu,
    scaled,
    sigmoid,
    silu,
    sine,
    softplus,
    squared_relu,
    tanh,
    to_json,
)
from weightlift.activations.custom import custom, described, recognized

__all__ = [
    "Activation",
    "absolute",
    "custom",
    "described",
    "elu",
    "erf",
    "examples",
    "from_json",
    "gelu",
    "get",
    "leaky_relu",
    "linear",
    "polynomial",
    "quadratic",
    "recognized",
    "relu",
    "scaled",
    "sigmoid",
    "silu",
    "sine",
    "softplus",
    "squared_relu",
    "tanh",
    "to_json",
]
