"""How many rows the units of a network with several outputs need: rows limit, not equations.

f(x) = Σᵢ aᵢ φ(⟨wᵢ, x⟩ + bᵢ) + Vᵀx + c with m outputs gives m equations a row. Move j units and leave the others: the difference
lives in the span of their output weights, r = min(j, m) directions for aᵢ in general position, so that a row says r things of
their j(q + r) parameters, q coordinates a unit and r of its output weights. Over j = 1 … k that asks for

    n ≥ max(q + min(k, m), k(q + m)/m)

rows, however many outputs there are; a linear part and an offset add d and one unknowns of every output, and a scale that φ
does not show (φ homogeneous) takes one off q. At fewer rows the stacked Jacobian is singular; at so many it is not, for almost
every network and almost all rows of an analytic φ.
"""

from __future__ import annotations

import math

from weightlift.activations import Activation


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

    >>> from weightlift import activations
    >>> [rows_needed(20, 5, m, activations.tanh, bias=True) for m in (1, 2, 5, 10, 100)]
    [110, 58, 26, 26, 26]
    """
    k, m = n_units, n_outputs
    q = n_inputs + bias - bool(activation.degree)
    return (max(q + min(k, m), math.ceil(k * (q + m) / m)) if k else 0) + n_inputs * linear + offset
