"""Free parameters of a network, counted after its continuous symmetries are fixed; and how many rows they need.

Rows limit, not equations: f(x) = Σᵢ aᵢ φ(⟨wᵢ, x⟩ + bᵢ) + Vᵀx + c with m outputs gives m equations a row. Move j units and leave
the others: the difference lives in the span of their output weights, r = min(j, m) directions for aᵢ in general position, so
that a row says r things of their j(q + r) parameters, q coordinates a unit and r of its output weights. Over j = 1 … k that
asks for

    n ≥ max(q + min(k, m), k(q + m)/m)

rows, however many outputs there are; a linear part and an offset add d and one unknowns of every output, and a scale that φ
does not show (φ homogeneous) takes one off q. At fewer rows the stacked Jacobian is singular; at so many it is not, for almost
every network and almost all rows of an analytic φ.
"""

from __future__ import annotations

import math

from weightlift.activations import Activation
from weightlift.network import Network


def count_parameters(network: Network, *, bias: bool = False, offset: bool = False) -> int:
    """k (d + m), less k where a φ(z) = (a/t^q) φ(tz) makes ‖aᵢ‖ a choice; k more with biases, m more with c, d m more with V.

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
    sizes, linear = (network.n_inputs, network.n_units, network.activation), network.V is not None
    return parameters_of_shape(*sizes, bias=bias, offset=offset, linear=linear, n_outputs=network.n_outputs)


def parameters_of_shape(
    n_inputs: int,
    n_units: int,
    activation: Activation,
    *,
    bias: bool = False,
    offset: bool = False,
    linear: bool = False,
    n_outputs: int = 1,
) -> int:
    """The same of any network with so many inputs, units and outputs: k (d + m), less k for the scales.

    n_inputs    d
    n_units     k
    activation  φ
    bias        whether the biases are fitted
    offset      whether c is fitted
    linear      whether V is fitted
    n_outputs   m
    """
    unit = n_inputs + n_outputs - bool(activation.degree) + bool(bias)
    return n_units * unit + n_outputs * (bool(offset) + n_inputs * bool(linear))


def rows_needed(
    n_inputs: int,
    n_units: int,
    n_outputs: int,
    activation: Activation,
    *,
    bias: bool = False,
    linear: bool = False,
    offset: bool = False,
) -> int:
    """The least number of rows at which the stacked Jacobian can have full rank.

    n_inputs    d
    n_units     k
    n_outputs   m
    activation  φ
    bias        whether the biases are fitted
    linear      whether V is fitted
    offset      whether c is fitted

    >>> from weightlift import activations
    >>> [rows_needed(20, 5, m, activations.tanh, bias=True) for m in (1, 2, 5, 10, 100)]
    [110, 58, 26, 26, 26]
    """
    k, m = n_units, n_outputs
    q = n_inputs + bias - bool(activation.degree)
    return (max(q + min(k, m), math.ceil(k * (q + m) / m)) if k else 0) + n_inputs * linear + offset
