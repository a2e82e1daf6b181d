"""The numbers of the figures: what still can be read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    least_risk: float = 1e-33  # smaller ones, zero too, are drawn here
    strips: int = 10  # units, each with a panel of its own
    inputs: int = 60  # of a panel
    numbers: int = 120  # cells with a number written into them
    names: int = 60  # of inputs along an axis


LIMITS = Limits()
