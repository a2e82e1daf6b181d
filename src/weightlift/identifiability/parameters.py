"""Free parameters of a network, counted after its continuous symmetries are fixed."""

from __future__ import annotations

from weightlift.activations import Activation
from weightlift.network import Network, require_single


def count_parameters(network: Network, *, bias: bool = False, offset: bool = False) -> int:
    """k (d + 1), less k where a φ(z) = (a/t^q) φ(tz) makes |aᵢ| a choice; k more with biases, one more with c.

    This is the rank of the Jacobian of f in (W, a), and in b and c where they are fitted: k d for ReLU and squared ReLU
    without biases, k (d + 1) with them or for tanh, sigmoid and erf. Linear and quadratic φ have further continuous
    symmetries, which mix the units; for them the number is an upper bound.

    network  whose shape and φ count, not its numbers
    bias     whether the biases are fitted
    offset   whether c is fitted

    >>> net = Network([[1.0, 0.0], [2.0, -1.0], [0.0, 3.0]])
    >>> count_parameters(net), count_parameters(net, bias=True, offset=True)
    (6, 9)
    """
    require_single(network, "count_parameters")
    return parameters_of_shape(network.n_inputs, network.n_units, network.activation, bias=bias, offset=offset)


def parameters_of_shape(
    n_inputs: int, n_units: int, activation: Activation, *, bias: bool = False, offset: bool = False
) -> int:
    """The same of any network with so many inputs and units.

    n_inputs    d
    n_units     k
    activation  φ, or its name in the catalogue
    bias        whether the biases are fitted
    offset      whether c is fitted
    """
    return n_units * (n_inputs + (not activation.degree) + bool(bias)) + bool(offset)
