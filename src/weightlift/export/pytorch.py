"""PyTorch's nn.Sequential(Linear, activation, Linear), and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from weightlift import activations
from weightlift.errors import ActivationError, ArgumentError
from weightlift.export.plain import checked_dtype, name_in, needed, refuse_linear, unscaled
from weightlift.network import Network

AGREEMENT = 1e-7  # of a module with φ: nn.Softplus is off by 2e-9 beyond its threshold, GELU's tanh form by 5e-4
COMPARED_ROWS = 16  # rows on which a module must compute what its layers say


def to_torch(network: Network, *, dtype: str = "float64") -> Any:
    """`nn.Sequential(Linear, φ, Linear)` on the CPU, in evaluation mode; its output has shape (n, m).

    network  the network
    dtype    of the parameters, "float64" or "float32"
    """
    net = unscaled(network)
    precision = checked_dtype(dtype, net).name
    name = name_in("torch", net, "PyTorch's nn")
    refuse_linear(net, "PyTorch's nn.Sequential")
    torch = needed("torch")
    kind = getattr(torch, precision)
    hidden = torch.nn.Linear(net.n_inputs, net.n_units, dtype=kind)
    last = torch.nn.Linear(net.n_units, net.n_outputs, dtype=kind)
    values = {hidden.weight: net.W.T, hidden.bias: net.b, last.weight: net.A.T, last.bias: np.atleast_1d(net.c)}
    with torch.no_grad():
        for parameter, value in values.items():
            parameter.copy_(torch.as_tensor(np.array(value)))
    return torch.nn.Sequential(hidden, _module(name, net.activation), last).eval()


def from_torch(model: Any) -> Network:
    """The network of an `nn.Sequential(Linear, φ, Linear)`; layers without biases have zeros. One output: a is (k,).

    model  the module; its parameters are copied
    """
    torch = needed("torch")

    modules = [m for m in model if not isinstance(m, torch.nn.Flatten)] if isinstance(model, torch.nn.Sequential) else []
    ends = [m for m in modules if isinstance(m, torch.nn.Linear)]
    if len(modules) != 3 or modules[0] not in ends or modules[2] not in ends:
        raise ArgumentError("model must be nn.Sequential(Linear, activation, Linear).")
    try:
        (W, b), (a, c) = (_parameters(layer) for layer in (modules[0], modules[2]))
    except (NotImplementedError, ValueError) as error:
        raise ArgumentError(f"model has parameters without values ({error}); load or initialise them first.") from error
    a, c = (a[0], c[0]) if len(a) == 1 else (a.T, c)
    network = Network(W.T, a, b, c, activation=_activation(modules[1]))
    _check_agreement(model, modules[0].weight, network)
    return network


def _check_agreement(model: Any, weight: Any, network: Network) -> None:
    """ArgumentError where the module computes something else: hooks, a `forward` of its own, layers of other classes."""
    torch = needed("torch")
    rows = np.random.default_rng(0).standard_normal((COMPARED_ROWS, network.n_inputs))
    with torch.no_grad():
        inputs = torch.as_tensor(rows).to(weight)
        given = model(inputs).detach().cpu().double().numpy()
    expected = network.predict(inputs.cpu().double().numpy()).reshape(COMPARED_ROWS, -1)
    size = np.abs(network.activation(rows @ network.W + network.b)) @ np.abs(network.A) + np.abs(network.c)
    rounding = 100 * (network.n_inputs + network.n_units) * float(torch.finfo(weight.dtype).eps)
    if given.shape != expected.shape or not (np.abs(given - expected) <= (rounding + AGREEMENT) * (1.0 + size)).all():
        raise ArgumentError("model computes another function than its layers say: a hook, or a forward of its own; remove it.")


def _module(name: str, phi: activations.Activation) -> Any:
    parameters = dict(phi.parameters)
    options = {theirs: parameters[ours] for ours, theirs, _ in phi.names.options}
    return getattr(needed("torch").nn, name)(**options, **dict(phi.names.told))


def _activation(module: Any) -> activations.Activation:
    """The entry of the catalogue with the module's name and parameters; other options must leave it the same function."""
    torch, kind = needed("torch"), type(module).__name__
    known = {e.names.torch: e for e in activations.examples() if e.names.torch}
    if kind not in known:
        raise ActivationError(f"nn.{kind} is none of our activations; known are {', '.join(sorted(known))}.")
    options = {ours: float(getattr(module, theirs)) for ours, theirs, _ in known[kind].names.options}
    phi, z = activations.get(known[kind].name, **options), np.linspace(-30.0, 30.0, 241)
    with torch.no_grad():
        given = module(torch.as_tensor(z)).numpy()
    if np.abs(given - phi(z)).max() > AGREEMENT:
        raise ActivationError(f"{module} is another function than our {phi.name!r}; only its default options are understood.")
    return phi


def _parameters(layer: Any) -> tuple[np.ndarray, np.ndarray]:
    weight = layer.weight.detach().cpu().double().numpy()
    return weight, np.zeros(len(weight)) if layer.bias is None else layer.bias.detach().cpu().double().numpy()
