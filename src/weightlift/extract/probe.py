"""How a black box is asked in standardised inputs, and how exact its answers are.

Answers carry rounding errors of their own arithmetic. Its unit is read off the numbers themselves: answers that all are float32
(or float16) numbers, or all whole multiples of a power of ten, were rounded to those. The bound on an error grows with the size
of the terms that were added, which grows as ‖ξ‖.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from weightlift.extract.cells import Line
from weightlift.extract.estimate import Frame
from weightlift.samples.oracle import Oracle

FORMATS = (("float16", np.float16, 2.0**-11), ("float32", np.float32, 2.0**-24))


@dataclass(frozen=True)
class Limits:
    """Numbers of the rounding model."""

    decimals: int = 12  # decimal places that are looked for; beyond them float64 has too few digits left to tell
    few: int = 6  # answers that must agree on a format before it is believed
    roundings: float = 4.0  # errors of an answer in units of √d roundings of its largest term


LIMITS = Limits()


@dataclass(frozen=True)
class Quantum:
    """The grid on which answers lie: relative spacing (twice the unit roundoff of a format) and absolute spacing."""

    name: str = "float64"
    relative: float = 2.0**-53
    absolute: float = 0.0

    @classmethod
    def of(cls, Y: np.ndarray) -> Quantum:
        """The coarsest grid that holds all answers."""
        values = np.unique(Y[np.isfinite(Y) & (Y != 0)])
        if len(values) < LIMITS.few:
            return cls()
        for places in range(LIMITS.decimals + 1):
            grid = 10.0**-places
            scaled = values / grid
            if np.abs(values).max() / grid < 2.0**46 and bool((np.abs(scaled - np.round(scaled)) <= 4e-16 * np.abs(scaled)).all()):
                return cls(f"{places} decimal places", 2.0**-53, grid / 2)
        with np.errstate(over="ignore"):
            for name, kind, unit in FORMATS:
                if bool((values.astype(kind).astype(float) == values).all()):
                    return cls(name, unit)
        return cls()

    @property
    def coarse(self) -> bool:
        return self.relative > 2.0**-53 or self.absolute > 0.0


@dataclass(frozen=True, eq=False)
class Probe:
    """Questions in standardised inputs ξ, with a bound on the answers' errors."""

    oracle: Oracle
    frame: Frame
    quantum: Quantum
    size: float  # of the terms of f around ξ = 0
    growth: float  # of the terms of f with ‖ξ‖/√d

    @classmethod
    def of(cls, oracle: Oracle, frame: Frame, xi: np.ndarray, Y: np.ndarray) -> Probe:
        """From the answers Y (n, m) to some rows ξ ~ N(0, I)."""
        size = float(np.abs(Y).max())
        spread = float(np.abs(Y - Y.mean(axis=0)).max())
        return cls(oracle, frame, Quantum.of(Y), size, max(spread, 1e-300))

    @property
    def d(self) -> int:
        return self.oracle.n_inputs

    def ask(self, xi: np.ndarray) -> np.ndarray:
        return self.oracle.ask(self.frame.out(xi))

    def rounding(self, line: Line) -> LineRounding:
        return LineRounding(self.unit, self.quantum.absolute, self.size, self.growth)

    @property
    def unit(self) -> float:
        """Relative rounding error of a sum of d terms."""
        far = float(np.max(np.abs(self.frame.center) / self.frame.scale, initial=0.0)) * 2.0**-53  # of x itself
        return LIMITS.roundings * math.sqrt(self.d) * (self.quantum.relative + far)

    def noise(self) -> float:
        """A bound on the errors of answers around the centre."""
        return self.unit * (self.size + self.growth) + self.quantum.absolute

    def seen(self, Y: np.ndarray) -> Probe:
        """With the format that more answers show."""
        return replace(self, quantum=Quantum.of(Y))


@dataclass(frozen=True)
class LineRounding:
    """A bound on the errors of answers at places t of a line whose direction has length √d."""

    unit: float
    absolute: float
    size: float
    growth: float
    inexact: float = 0.0  # relative error of an estimate that was subtracted

    def __call__(self, t: np.ndarray) -> np.ndarray:
        return np.asarray((self.unit + self.inexact) * (self.size + self.growth * (1 + np.abs(t))) + self.absolute)
