"""Statements, the one table by which a status follows from them, and what is assumed of every class.

Every topic has a consequence if its statement fails or could not be examined; every claim has topics that it asks for.

    topic          fails or unexamined   EXACT   bounded   noisy     says
    VALUES         FAILED                                            squares neither overflow nor vanish
    ROWS           FAILED                 yes     yes       yes      more independent equations than parameters
    AGREEMENT      —                      yes                        every residual is a rounding error
    BOUNDED        —                              yes                every residual is within the quantum of the target
    INDEPENDENCE   FAILED                                   yes      hardly any row is a copy of another
    MINIMUM        FAILED                                   yes      the network is at a minimum of the squared error
    INFLUENCE      FAILED                                   yes      no row decides alone
    STRUCTURE      FAILED                                   yes      the residual has no structure that a unit could explain
    HELDOUT        FAILED                                            held-out rows agree as well
    OTHER          FAILED                                            what somebody else has to object
    SUPERFLUOUS    AMBIGUOUS, its units                              no unit is zero on every row, or double
    DETERMINED     AMBIGUOUS, its units   yes     yes       yes      the rows determine the unit to first order
    PRECISION      AMBIGUOUS, its units   yes     yes       yes      a box or region that holds the unit and is small
    SIGNIFICANCE   AMBIGUOUS, its units                     yes      the unit is no product of noise, nor two of them one
    CURVATURE      AMBIGUOUS, its units                     yes      regions are ellipsoids
    RIVALS         AMBIGUOUS, its units   yes     yes       yes      no other network of the class: proved, or none found
    ASSUMPTION     —                                                 what is neither proved nor tested
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable
from dataclasses import dataclass

from weightlift.network import Network
from weightlift.refinement.variable_projection import Model
from weightlift.rivals.analytic import shift
from weightlift.rivals.finding import Finding, Outcome


class Status(enum.Enum):
    """How much is known about a network, given rows of data."""

    EXACT = "If the data come from a network with this activation, these are its units, to the stated precision."
    STATISTICAL = "The same within the stated regions; what a unit below the detection limit would change is stated beside."
    AMBIGUOUS = "The data cannot tell these units from others."
    FAILED = "The network does not explain the data, or they are too few to say so."


class Kind(enum.Enum):
    PROVED = "follows from a theorem and from what was computed"
    TESTED = "was measured, and found within its limit"
    ASSUMED = "can be neither proved nor tested from the rows"


class Topic(enum.Enum):
    VALUES = enum.auto()
    ROWS = enum.auto()
    AGREEMENT = enum.auto()
    BOUNDED = enum.auto()
    INDEPENDENCE = enum.auto()
    MINIMUM = enum.auto()
    INFLUENCE = enum.auto()
    STRUCTURE = enum.auto()
    HELDOUT = enum.auto()
    OTHER = enum.auto()
    SUPERFLUOUS = enum.auto()
    DETERMINED = enum.auto()
    PRECISION = enum.auto()
    SIGNIFICANCE = enum.auto()
    CURVATURE = enum.auto()
    RIVALS = enum.auto()
    LAW = enum.auto()
    ASSUMPTION = enum.auto()


FATAL = {
    Topic.VALUES,
    Topic.ROWS,
    Topic.INDEPENDENCE,
    Topic.MINIMUM,
    Topic.INFLUENCE,
    Topic.STRUCTURE,
    Topic.HELDOUT,
    Topic.OTHER,
}
UNITS = {Topic.ROWS, Topic.DETERMINED, Topic.PRECISION, Topic.RIVALS}
CLAIMS = (  # the first whose topics are all stated: what it asks for, and the status that it gives
    (UNITS | {Topic.AGREEMENT}, Status.EXACT),
    (UNITS | {Topic.BOUNDED}, Status.STATISTICAL),
    (
        UNITS | {Topic.INDEPENDENCE, Topic.MINIMUM, Topic.INFLUENCE, Topic.STRUCTURE, Topic.SIGNIFICANCE, Topic.CURVATURE},
        Status.STATISTICAL,
    ),
)


@dataclass(frozen=True)
class Statement:
    """A sentence with its ground: what was measured beside its limit, and the units that it concerns."""

    topic: Topic
    kind: Kind
    holds: bool | None  # None: could not be examined
    sentence: str
    number: float = math.nan
    limit: float = math.nan
    units: tuple[int, ...] = ()  # () = all

    @property
    def mark(self) -> str:
        """The ground of a statement that holds; else that it fails, or could not be examined."""
        return {True: self.kind.name, False: "FAILS", None: "UNEXAMINED"}[self.holds]

    def __str__(self) -> str:
        return f"{self.mark:<10} {self.sentence}"


def status_of_units(statements: Iterable[Statement], n_units: int) -> tuple[Status, ...]:
    """The table: one status for each unit."""
    given = tuple(statements)
    failing = [s for s in given if not s.holds]
    stated = {s.topic for s in given}
    claim = next((status for topics, status in CLAIMS if topics <= stated), Status.FAILED)
    if any(s.topic in FATAL for s in failing) or (claim is Status.FAILED and not failing):
        return (Status.FAILED,) * n_units
    doubtful = {i for s in failing for i in (s.units or range(n_units))}
    if claim is Status.FAILED:  # what came after the first doubt was not examined
        return tuple(Status.AMBIGUOUS for _ in range(n_units))
    return tuple(Status.AMBIGUOUS if i in doubtful else claim for i in range(n_units))


def of_finding(finding: Finding) -> Statement:
    kind = Kind.PROVED if finding.outcome is Outcome.IMPOSSIBLE else Kind.TESTED
    holds = {Outcome.FOUND: False, Outcome.UNEXAMINED: None}.get(finding.outcome, True)
    units = () if holds else finding.units
    return Statement(Topic.RIVALS, kind, holds, finding.sentence, finding.number, finding.limit, units)


def assumed(sentence: str) -> Statement:
    return Statement(Topic.ASSUMPTION, Kind.ASSUMED, True, sentence)


def from_a_density() -> Statement:
    """What nobody can see in the rows: their law."""
    sentence = "The rows were drawn independently from a density, not chosen by the network's values on them."
    return Statement(Topic.LAW, Kind.ASSUMED, True, sentence)


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


def named(units: Iterable[int], *, verb: bool = True) -> str:
    """Unit 3 is, units 1 and 4 are."""
    numbers = [str(int(i)) for i in units]
    if not numbers:
        return "The parameters are" if verb else "all parameters"
    if len(numbers) == 1:
        return f"Unit {numbers[0]} is" if verb else f"unit {numbers[0]}"
    listed = ", ".join(numbers[:-1]) + f" and {numbers[-1]}"
    return f"Units {listed} are" if verb else f"units {listed}"

