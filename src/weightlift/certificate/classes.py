"""The class that a certificate is about: what is assumed of it, and the changes of parameters that no data can see."""

from __future__ import annotations

from weightlift.certificate.statement import Statement, assumed, from_a_density
from weightlift.network import Network
from weightlift.refinement.variable_projection import Model
from weightlift.rivals.analytic import shift


def assumptions(network: Network, model: Model) -> tuple[Statement, ...]:
    """Activation and width, what is free, and the law of the rows."""
    names = (("biases", model.bias), ("an offset", model.offset), ("a linear part", model.linear))
    given = " and ".join(name for name, free in names if free) or "neither biases nor an offset"
    several = f", and {network.n_outputs} outputs" if network.n_outputs > 1 else ""
    return of_width(network, network.n_units), assumed(f"It has {given}{several}."), from_a_density()


def of_width(network: Network, k: int) -> Statement:
    most = f"{k} unit{'s' * (k != 1)}{' that the rows show' * (k < network.n_units)}"
    return assumed(f"The data come from a network with the activation {network.activation.name}, of at most {most}.")


def symmetries(network: Network) -> tuple[str, ...]:
    """Changes of the parameters that no data can see, in words."""
    phi = network.activation
    if not network.n_units:
        return ()
    found = ["the order of the units"] if network.n_units > 1 else []
    if phi.degree:
        power = "" if phi.degree == 1 else f"^{phi.degree:g}"
        found.append(f"scale, a φ(z) = (a/t{power}) φ(tz)")
    if network.turns and phi.reflection is not None:
        moved = {0: "", 1: ", which moves c", 2: ", which moves the linear part V"}[len(phi.reflection[1])]
        found.append(f"the reflection of a unit, (a, w, b) → ({'' if phi.reflection[0] > 0 else '−'}a, −w, −b){moved}")
    if network.b.any() and (repeats := shift(phi)) is not None:
        found.append(f"multiples of {repeats[0]:.4g} in a bias{', with the sign of a' * (repeats[1] < 0)}")
    return tuple(found)
