"""Free parameters of a network, counted after its continuous symmetries are fixed."""

from __future__ import annotations

from weightlift.network import Network


def count_parameters(network: Network, *, bias: bool = False, offset: bool = False) -> int:
    """k (d + 1), less k where a φ(z) = (a/t^q) φ(tz) makes |aᵢ| a choice; k more with biases, one more with c.

    This is the rank of the Jacobian of f in (W, a), and in b and c where they are fitted: k d for ReLU and squared ReLU
    without biases, k (d + 1) with them or for tanh, sigmoid and erf. Linear and quadratic φ have further continuous
    symmetries, which mix the units; for them the number is an upper bound.

    >>> net = Network([[1.0, 0.0], [2.0, -1.0], [0.0, 3.0]])
    >>> count_parameters(net), count_parameters(net, bias=True, offset=True)
    (6, 9)
    """
    a_unit = network.n_inputs + (not network.activation.degree) + bool(bias)
    return network.n_units * a_unit + bool(offset)
