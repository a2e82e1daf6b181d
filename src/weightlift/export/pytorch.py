"""PyTorch's nn.Sequential(Linear, activation, Linear), and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from weightlift import activations
from weightlift.errors import ActivationError, ArgumentError
from weightlift.export.plain import checked_dtype, needed, refuse_linear, refuse_unknown, slope_of, unscaled
from weightlift.network import Network

MODULES = {
    "relu": "ReLU",
    "leaky_relu": "LeakyReLU",
    "sigmoid": "Sigmoid",
    "tanh": "Tanh",
    "linear": "Identity",
    "softplus": "Softplus",
}
LINEAR_BEYOND = 40.0  # Softplus is z above it, which is right to e^{−40} = 4e-18; by default it is 20, right to 2e-9


def to_torch(network: Network, *, dtype: str = "float64") -> Any:
    """`nn.Sequential(Linear, φ, Linear)` on the CPU, in evaluation mode; its output has shape (n, m)."""
    net, name = unscaled(network), checked_dtype(dtype).name
    refuse_unknown(net, "PyTorch's nn", MODULES)
    refuse_linear(net, "PyTorch's nn.Sequential")
    torch = needed("torch")
    kind = getattr(torch, name)
    hidden = torch.nn.Linear(net.n_inputs, net.n_units, dtype=kind)
    last = torch.nn.Linear(net.n_units, net.n_outputs, dtype=kind)
    values = {hidden.weight: net.W.T, hidden.bias: net.b, last.weight: net.A.T, last.bias: np.atleast_1d(net.c)}
    with torch.no_grad():
        for parameter, value in values.items():
            parameter.copy_(torch.as_tensor(np.array(value)))
    return torch.nn.Sequential(hidden, _module(net.activation), last).eval()


def from_torch(model: Any) -> Network:
    """The network of an `nn.Sequential(Linear, φ, Linear)`; layers without biases have zeros. One output: a is (k,)."""
    torch = needed("torch")

    modules = [m for m in model if not isinstance(m, torch.nn.Flatten)] if isinstance(model, torch.nn.Sequential) else []
    ends = [m for m in modules if isinstance(m, torch.nn.Linear)]
    if len(modules) != 3 or modules[0] not in ends or modules[2] not in ends:
        raise ArgumentError("model must be nn.Sequential(Linear, activation, Linear).")
    (W, b), (a, c) = (_parameters(layer) for layer in (modules[0], modules[2]))
    a, c = (a[0], c[0]) if len(a) == 1 else (a.T, c)
    return Network(W.T, a, b, c, activation=_activation(modules[1]))


def _module(activation: activations.Activation) -> Any:
    torch = needed("torch")

    if activation.name == "leaky_relu":
        return torch.nn.LeakyReLU(slope_of(activation))
    if activation.name == "softplus":
        return torch.nn.Softplus(threshold=LINEAR_BEYOND)
    return getattr(torch.nn, MODULES[activation.name])()


def _activation(module: Any) -> activations.Activation:
    names = {module: name for name, module in MODULES.items()}
    kind = type(module).__name__
    if kind not in names:
        raise ActivationError(f"nn.{kind} is none of our activations; known are {', '.join(sorted(names))}.")
    if kind == "LeakyReLU":
        return activations.get("leaky_relu", slope=module.negative_slope)
    if kind == "Softplus" and module.beta != 1:
        raise ActivationError(f"nn.Softplus with beta = {module.beta} is none of our activations; beta must be 1.")
    return activations.get(names[kind])


def _parameters(layer: Any) -> tuple[np.ndarray, np.ndarray]:
    weight = layer.weight.detach().cpu().double().numpy()
    return weight, np.zeros(len(weight)) if layer.bias is None else layer.bias.detach().cpu().double().numpy()
