"""How a black box is asked in standardised inputs, and how exact its answers are.

Answers carry rounding errors of their own arithmetic. Its unit is read off the numbers themselves: answers that all are float32
(or float16) numbers, or all whole multiples of a power of ten, were rounded to those. The bound on an error grows with the size
of the terms that were added, which grows as ‖ξ‖.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from weightlift.extraction.estimate import Estimate, Frame
from weightlift.extraction.limits import LIMITS
from weightlift.samples.oracle import Oracle

FORMATS = (("float16", np.float16, 2.0**-11), ("float32", np.float32, 2.0**-24))


@dataclass(frozen=True)
class AnswerGrid:
    """The grid on which answers lie: relative spacing (twice the unit roundoff of a format) and absolute spacing."""

    name: str = "float64"
    relative: float = 2.0**-53
    absolute: float = 0.0

    @classmethod
    def of(cls, Y: np.ndarray) -> AnswerGrid:
        """The coarsest grid that holds all answers; one that is coarse beside them is the function's own steps."""
        values = np.unique(Y[np.isfinite(Y) & (Y != 0)])
        if len(values) < LIMITS.few:
            return cls()
        for places in range(LIMITS.decimals + 1):
            grid = 10.0**-places
            scaled = values / grid
            if np.abs(values).max() / grid < 2.0**46 and bool(
                (np.abs(scaled - np.round(scaled)) <= 4e-16 * np.abs(scaled)).all()
            ):
                rounded = np.abs(values).max() >= LIMITS.steps * grid
                return cls(f"{places} decimal places", 2.0**-53, grid / 2) if rounded else cls()
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
    quantum: AnswerGrid
    size: float  # of the terms of f around ξ = 0
    growth: float  # of the terms of f with ‖ξ‖/√d
    measured: float | None = None  # relative error of coarse answers
    known: Estimate | None = None  # subtracted from all answers
    inexact: float = 0.0  # its relative error

    @classmethod
    def of(cls, oracle: Oracle, frame: Frame, xi: np.ndarray, Y: np.ndarray) -> Probe:
        """From the answers Y (n, m) to some rows ξ ~ N(0, I)."""
        size = float(np.abs(Y).max())
        spread = float(np.abs(Y - Y.mean(axis=0)).max())
        return cls(oracle, frame, AnswerGrid.of(Y), max(size, spread), max(spread, 1e-300))

    @property
    def d(self) -> int:
        return self.oracle.n_inputs

    def ask(self, xi: np.ndarray) -> np.ndarray:
        """(n, m): f, less what is known of it."""
        Y = self.oracle.ask(self.frame.out(xi))
        return Y if self.known is None else Y - self.known(xi)

    def without(self, known: Estimate, inexact: float) -> Probe:
        """The same black box less an estimate of relative error `inexact`."""
        return replace(self, known=known, inexact=inexact)

    def bounds(self, xi: np.ndarray) -> np.ndarray:
        """(n,): bounds on the errors of the answers at ξ."""
        far = np.linalg.norm(xi, axis=1) / math.sqrt(self.d)
        return np.asarray(self.unit * (self.size + self.size * far) + self.quantum.absolute)

    def rounding(self, t: np.ndarray) -> np.ndarray:
        """A bound on the errors at places t of a line whose direction has length √d."""
        return np.asarray((self.unit + self.inexact) * self.size * (2 + np.abs(t)) + self.quantum.absolute)

    def calibrated(self, rng: np.random.Generator) -> Probe:
        """With the error of coarse answers as it is seen: what a parabola leaves of some on short lines at several places.

        At one place few terms may be added, or small ones: the largest error counts, and that of rounding f itself.
        """
        t = np.linspace(-1.0, 1.0, LIMITS.points)
        xi, u = rng.standard_normal((2, LIMITS.places, 1, self.d))
        Y = self.ask((xi + LIMITS.short * t[:, None] * u).reshape(-1, self.d)).reshape(LIMITS.places, LIMITS.points, -1)
        P = np.polynomial.polynomial.polyvander(t, 2)
        rest = Y - P @ (np.linalg.pinv(P) @ Y)
        error = LIMITS.roundings * max(float(np.abs(rest).max()), self.quantum.relative * self.size)
        return replace(self, measured=error / (2 * self.size))

    @property
    def unit(self) -> float:
        """Relative rounding error of a sum of d terms."""
        if self.measured is not None:
            return self.measured
        far = float(np.max(np.abs(self.frame.center) / self.frame.scale, initial=0.0)) * 2.0**-53  # of x itself
        return LIMITS.roundings * math.sqrt(self.d) * (self.quantum.relative + far)

    def noise(self) -> float:
        """A bound on the errors of answers around the centre."""
        return (self.unit + self.inexact) * 2 * self.size + self.quantum.absolute

    def seen(self) -> Probe:
        """With the format that all answers so far show."""
        return replace(self, quantum=AnswerGrid.of(self.oracle.rows[1]))
