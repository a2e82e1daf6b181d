"""What an examination for rivals ends with: none can exist, none was found, these were found, or it could not be told."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass

import numpy as np

from weightlift.network import Network

DENSITY = "the rows were drawn independently from a density"
EQUALITY = "agreement to rounding is equality, of networks far from this one too"


class Outcome(enum.Enum):
    """How much is known about other networks of the class that agree with this one on every row."""

    IMPOSSIBLE = "no rival can exist, under what is assumed"
    NONE_FOUND = "none was found among those that were tried"
    FOUND = "at least one other network agrees on every row"
    UNEXAMINED = "rivals could not be examined"


@dataclass(frozen=True, eq=False)
class Finding:
    """One result: a sentence, what was measured beside its limit, the units concerned, and the rivals themselves."""

    outcome: Outcome
    sentence: str
    number: float = math.nan  # what was measured …
    limit: float = math.nan  # … beside its limit: bases, independent rows, rivals tried
    units: tuple[int, ...] = ()  # the units concerned; () = all
    instead: tuple[int, ...] = ()  # units in whose place the units concerned would act on some rows
    rivals: tuple[Network, ...] = ()  # other networks that agree on the rows
    patterns: np.ndarray | None = None  # (n, k) sets of units, where the rivals are reflections
    assumes: tuple[str, ...] = ()  # what it rests on, in sentences
    width: int | None = None  # units of the class that the others are unique in, where fewer suffice on the rows
