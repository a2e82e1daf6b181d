"""Whether the function, and the rows, determine the units.

Polynomial φ of degree ℓ   the function is a polynomial of degree ℓ in x: it has finitely many coefficients, and the units are
                           not determined where they have more parameters. Degree ≤ 2: rotations of the units leave
                           Σ aᵢwᵢ and Σ aᵢwᵢwᵢᵀ as they are, k(k−1)/2 dimensions of them. Degree ≥ 3: generic tensors with
                           k d < C(d+ℓ−1, ℓ) have one decomposition [Chiantini, Ottaviani & Vannieuwenhoven 2017].
ReLU and its kin           unique up to sign patterns, which generic weights do not have   [awasthi2021, Thm 3.4]
tanh and its kin           unique up to their symmetries if irreducible; `Activation.uniqueness` has the theorem of each φ
Rows                       n ≤ p rows never determine p parameters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from weightlift.activations import Activation
from weightlift.errors import ArgumentError
from weightlift.identifiability import irreducible, parameters_of_shape, sign_patterns
from weightlift.network import Network
from weightlift.theory import polynomial_coefficients


class Identifiable(Enum):
    """What the function says about its units."""

    YES = "identifiable: the function has no other network of this width, up to the symmetries of the activation"
    GENERICALLY = "identifiable for almost all weights, up to the symmetries of the activation"
    AMBIGUOUS = "ambiguous: other networks of this width are the same function"
    NO = "not identifiable: the function does not determine its units"
    UNKNOWN = "undecided: neither proved nor refuted"


@dataclass(frozen=True)
class Identifiability:
    answer: Identifiable
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Shape:
    """d inputs, k units of one φ, and which parameters are fitted."""

    d: int
    k: int
    phi: Activation
    bias: bool = False
    offset: bool = False

    @property
    def parameters(self) -> int:
        return parameters_of_shape(self.d, self.k, self.phi, bias=self.bias, offset=self.offset)


def of_shape(shape: Shape) -> Identifiability:
    """For weights of which nothing is known."""
    d, k, phi, bias = shape.d, shape.k, shape.phi, shape.bias
    s = polynomial_coefficients(phi)
    if s is not None:
        return _of_polynomial(d, k, len(s) - 1, [p for p in range(1, len(s)) if s[p]], shape.parameters, bias)
    if not phi.uniqueness:
        reason = f"{phi.name} has no uniqueness theorem; the certificate checks local uniqueness."
        return Identifiability(Identifiable.UNKNOWN, (reason,))
    signs_matter = phi.reflection is not None and len(phi.reflection[1]) > 1
    if not signs_matter:
        reason = f"Units are determined where none is zero and no two are equal or opposite: {phi.uniqueness}."
    else:
        reason = "Generic weights have no set F with Σ_F aᵢ(wᵢ, bᵢ) = 0, the only ambiguity [awasthi2021, Thm 3.4]."
    if k > d + bias and signs_matter:
        reason += f" With k > {d + bias} some sets come near: check the network with diagnose.network."
    return Identifiability(Identifiable.GENERICALLY, (reason,))


def of_network(net: Network, shape: Shape) -> Identifiability:
    """For the weights that the network has: superfluous units and sign patterns, exact and near."""
    s = polynomial_coefficients(net.activation)
    counted = None if s is None else of_shape(shape)
    if counted is not None and counted.answer is Identifiable.NO:
        return counted
    found = irreducible(net)
    reasons = [f"Units {_list(f.units)}: {f.kind.value}" for f in (*found.exact, *found.near)[:4]]
    if not found.irreducible:
        return Identifiability(Identifiable.NO, (f"{found.width} units suffice for the same function.", *reasons))
    try:
        patterns = sign_patterns(net, offset=shape.offset)
    except ArgumentError as error:
        return Identifiability(Identifiable.UNKNOWN, (*reasons, str(error)))
    if patterns.ambiguous:
        count = int(patterns.distinct.sum())
        return Identifiability(
            Identifiable.AMBIGUOUS, (f"{count} sign patterns leave f unchanged: so many other networks fit as well.", *reasons)
        )
    if len(patterns.near) and not patterns.symmetry:
        size = patterns.near_sizes[0] / patterns.scale
        reasons.append(f"{len(patterns.near)} sign patterns nearly leave f unchanged, the nearest to {size:.1e} of scale.")
    if counted is not None:
        return Identifiability(counted.answer, (*reasons, *counted.reasons))
    if not net.activation.uniqueness:
        reasons.append("No uniqueness theorem for this activation; the certificate checks local uniqueness.")
        return Identifiability(Identifiable.UNKNOWN, tuple(reasons))
    reasons = reasons or ["No superfluous unit, and no sign pattern leaves f unchanged."]
    return Identifiability(Identifiable.YES, tuple(reasons))


def _of_polynomial(d: int, k: int, degree: int, orders: list[int], parameters: int, bias: bool) -> Identifiability:
    if degree <= 2 and k > 1:
        parts = "Σ aᵢwᵢ" if degree == 1 else "Σ aᵢwᵢ and Σ aᵢwᵢwᵢᵀ"
        reason = f"φ has degree {degree}: only {parts} are in the function, and rotations of the units leave them as they are."
        return Identifiability(Identifiable.NO, (reason,))
    size = math.comb(d + degree, degree) if bias else sum(math.comb(d + p - 1, p) for p in orders)
    if parameters > size:
        reason = f"φ is a polynomial: the function has {size:,} coefficients, fewer than the {parameters:,} parameters."
        return Identifiability(Identifiable.NO, (reason,))
    top = math.comb(d + degree - 1, degree)
    if degree >= 3 and k * d < top and not bias:
        reason = f"k d = {k * d:,} < C(d+ℓ−1, ℓ) = {top:,}: generic tensors of order ℓ = {degree} have one decomposition."
        return Identifiability(Identifiable.GENERICALLY, (reason,))
    if k == 1:
        return Identifiability(Identifiable.GENERICALLY, ("One unit.",))
    reason = f"{parameters:,} parameters and {size:,} coefficients of the function: counting does not decide."
    return Identifiability(Identifiable.UNKNOWN, (reason,))


def base_name(phi: Activation) -> str:
    """The catalogue's name below a scaling, as in tanh(2.5x)."""
    return phi.name.split("(")[0]


def _list(units: tuple[int, ...]) -> str:
    return ", ".join(map(str, units))
