"""For which φ the function determines the units, and up to what.

Kinked φ    the kinks of f are the hyperplanes, their jumps the sizes; what is left is a polynomial [awasthi2021, Thm 3.4]
tanh        irreducible networks with the same function differ by order and signs only [Sussmann 1992]; sigmoid is tanh up to
            an affine change, softplus and erf follow from their derivatives
others      linear and quadratic φ have continuous symmetries; for polynomials and a user's φ nothing is known in general
"""

from __future__ import annotations

from weightlift.activations import Activation
from weightlift.network import Network


def unique(activation: Activation) -> bool:
    """Whether a theorem makes irreducible networks unique up to symmetries and sign patterns."""
    return bool(activation.uniqueness)


def symmetries(network: Network) -> tuple[str, ...]:
    """Changes of the parameters that no data can see, in words."""
    phi = network.activation
    found = ["the order of the units"] if network.n_units > 1 else []
    if phi.degree:
        found.append(f"scale, a φ(z) = (a/t^{phi.degree:g}) φ(tz)")
    if phi.parity == "odd":
        found.append("the joint sign of a, w and b")
    elif phi.parity == "even":
        found.append("the sign of w and b")
    elif phi.reflection is not None and len(phi.reflection[1]) == 1:
        p0 = phi.reflection[1][0]
        found.append(f"reflection (a, w, b, c) → (−a, −w, −b, c + {'' if p0 == 1 else f'{p0:g} '}a)")
    return tuple(found)
