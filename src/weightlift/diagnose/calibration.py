"""How many rows, how much memory, how long: estimates from what `recover` was measured to need.

Rows    noiseless Gaussian rows, certified EXACT and right, by shape and by ρ, the training rows a parameter (`MEASURED`):
        of n rows 16, or a twentieth, are held out. `few`: the largest ρ at which half of the trials or fewer succeeded,
        of networks that are not wider.
        `enough`: the least ρ at which all did, of networks at least as wide, above every ρ at which a trial failed. No method
        can do with ρ < 1.
Time    Gauss–Newton steps of one start take n p² + p³/3 multiplications; by measured steps and CPU times 2 to 10 · 10⁹ of them
        a second on one core, the fewer the smaller the problem.
Memory  the data three times (raw, whitened, a block's products) and six copies of the normal matrices of all starts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from weightlift.activations import Activation, get
from weightlift.diagnose.identifiable import Shape, base_name
from weightlift.diagnose.limits import LIMITS
from weightlift.identifiability.parameters import parameters_of_shape
from weightlift.recovery.limits import LIMITS as RECOVERY
from weightlift.search.expand_prune import WIDE_FIRST

SMOOTH = ("tanh", "sigmoid")  # measured ones with lengths of their own


@dataclass(frozen=True)
class Measured:
    """One line of a sweep."""

    activation: str
    bias: bool
    n_inputs: int
    n_units: int
    ratio: float  # rows a parameter, held-out ones too
    right: int
    trials: int
    source: str

    @property
    def rho(self) -> float:
        """Training rows a parameter."""
        p = parameters_of_shape(self.n_inputs, self.n_units, get(self.activation), bias=self.bias)
        n = round(self.ratio * p)
        return (n - max(RECOVERY.heldout_rows, RECOVERY.heldout_share * n)) / p

    @property
    def all_right(self) -> bool:
        return self.right == self.trials

    @property
    def mostly_wrong(self) -> bool:
        return 2 * self.right <= self.trials


EFFICIENCY, GPU, SWEEP = (f"benchmarks/results/{name}" for name in ("sample_efficiency.md", "gpu.md", "calibration.jsonl"))
MEASURED = (
    Measured("relu", False, 10, 3, 1.25, 0, 8, SWEEP),
    Measured("relu", False, 10, 3, 1.5, 0, 8, SWEEP),
    Measured("relu", False, 10, 3, 2.0, 6, 8, SWEEP),
    Measured("relu", False, 10, 3, 2.5, 8, 8, SWEEP),
    Measured("relu", False, 20, 5, 1.25, 0, 8, SWEEP),
    Measured("relu", False, 20, 5, 1.35, 4, 8, SWEEP),
    Measured("relu", False, 20, 5, 1.5, 8, 8, SWEEP),
    Measured("relu", False, 20, 5, 2.0, 8, 8, SWEEP),
    Measured("relu", False, 20, 5, 3.0, 40, 40, EFFICIENCY),
    Measured("relu", False, 50, 5, 3.0, 40, 40, EFFICIENCY),
    Measured("relu", False, 100, 5, 3.0, 20, 20, EFFICIENCY),
    Measured("relu", False, 20, 10, 1.25, 0, 8, SWEEP),
    Measured("relu", False, 20, 10, 1.5, 3, 8, SWEEP),
    Measured("relu", False, 20, 10, 2.0, 8, 8, SWEEP),
    Measured("relu", False, 30, 15, 4.0, 11, 11, EFFICIENCY),
    Measured("relu", False, 60, 30, 8.0, 5, 5, GPU),
    Measured("relu", False, 100, 50, 10.0, 2, 2, GPU),
    Measured("leaky_relu", False, 20, 5, 3.0, 40, 40, EFFICIENCY),
    Measured("squared_relu", False, 10, 3, 1.25, 0, 8, SWEEP),
    Measured("squared_relu", False, 10, 3, 1.5, 0, 8, SWEEP),
    Measured("squared_relu", False, 10, 3, 2.0, 6, 8, SWEEP),
    Measured("squared_relu", False, 10, 3, 2.5, 8, 8, SWEEP),
    Measured("squared_relu", False, 20, 5, 1.25, 3, 8, SWEEP),
    Measured("squared_relu", False, 20, 5, 1.35, 8, 8, SWEEP),
    Measured("squared_relu", False, 20, 5, 1.5, 8, 8, SWEEP),
    Measured("squared_relu", False, 20, 5, 2.0, 8, 8, SWEEP),
    Measured("squared_relu", False, 20, 5, 2.5, 20, 20, EFFICIENCY),
    Measured("squared_relu", False, 50, 5, 2.5, 20, 20, EFFICIENCY),
    Measured("squared_relu", False, 100, 5, 2.5, 20, 20, EFFICIENCY),
    Measured("tanh", False, 10, 3, 1.25, 0, 8, SWEEP),
    Measured("tanh", False, 10, 3, 1.5, 0, 8, SWEEP),
    Measured("tanh", False, 10, 3, 2.0, 8, 8, SWEEP),
    Measured("tanh", False, 10, 3, 2.5, 8, 8, SWEEP),
    Measured("tanh", False, 20, 5, 1.25, 0, 8, SWEEP),
    Measured("tanh", False, 20, 5, 1.35, 0, 8, SWEEP),
    Measured("tanh", False, 20, 5, 1.5, 0, 8, SWEEP),
    Measured("tanh", False, 20, 5, 2.0, 8, 8, SWEEP),
    Measured("tanh", False, 20, 5, 3.0, 39, 39, EFFICIENCY),
    Measured("sigmoid", False, 20, 5, 3.0, 20, 20, EFFICIENCY),
    Measured("relu", True, 10, 3, 1.25, 0, 8, SWEEP),
    Measured("relu", True, 10, 3, 1.5, 0, 8, SWEEP),
    Measured("relu", True, 10, 3, 2.0, 1, 8, SWEEP),
    Measured("relu", True, 10, 3, 2.5, 6, 8, SWEEP),
    Measured("relu", True, 20, 5, 1.25, 0, 8, SWEEP),
    Measured("relu", True, 20, 5, 1.35, 0, 8, SWEEP),
    Measured("relu", True, 20, 5, 1.5, 4, 8, SWEEP),
    Measured("relu", True, 20, 5, 2.0, 7, 8, SWEEP),
    Measured("relu", True, 20, 5, 4.0, 20, 20, EFFICIENCY),
    Measured("relu", True, 6, 9, 2.0, 0, 8, SWEEP),
    Measured("relu", True, 6, 9, 4.0, 6, 8, SWEEP),
    Measured("relu", True, 6, 9, 8.0, 8, 8, SWEEP),
)


@dataclass(frozen=True)
class SampleEstimate:
    """Rows: fewer than `least` cannot do, `few` mostly failed, `enough` always sufficed where it was measured."""

    least: int
    few: int
    enough: int
    basis: str  # the measurements behind it
    extrapolated: bool  # whether the shape lies outside of what was measured

    def verdict(self, n: int) -> str:
        """What n rows are likely to give."""
        if n < self.least:
            return f"{n:,} rows are fewer than the {self.least:,} that any method needs to be checked"
        if n < self.few:
            return f"{n:,} rows are below {self.few:,}, with which `recover` mostly failed"
        if n < self.enough:
            return f"{n:,} rows lie between {self.few:,}, too few, and {self.enough:,}, enough: it may succeed"
        return f"{n:,} rows are enough, by {'extrapolation' if self.extrapolated else 'measurements'} ({self.enough:,})"


@dataclass(frozen=True)
class CostEstimate:
    """Memory in bytes, seconds of one core: from a tensor start that works to the longest search seen."""

    rows: int  # for which it is
    data_bytes: float
    search_bytes: float
    seconds_least: float
    seconds_typical: float
    seconds_most: float

    @property
    def bytes(self) -> float:
        return self.data_bytes + self.search_bytes


def estimate_rows(shape: Shape) -> SampleEstimate:
    """Rows that k units of d inputs need, by the nearest measurements."""
    family = [m for m in _family(shape.phi, shape.bias) if m.n_units <= m.n_inputs]
    if shape.k > shape.d:
        family += [m for m in MEASURED if m.n_units > m.n_inputs]
    best, enough, outside = _sufficient(shape, family)
    few = _insufficient(shape, family)
    basis = (
        f"{best.right} of {best.trials} at {best.ratio:g} rows a parameter, "
        f"{'biased ' * best.bias}{best.activation} d={best.n_inputs} k={best.n_units} ({best.source})"
    )
    lower, upper = (_with_heldout(rho * shape.parameters) for rho in (few, max(enough, few)))
    return SampleEstimate(shape.parameters + 1, lower, upper, basis, outside)


def _sufficient(shape: Shape, family: list[Measured]) -> tuple[Measured, float, bool]:
    """The least ρ at which every trial was right, of networks as wide; what it becomes here, and whether it was measured."""
    failing = max(m.rho for m in family if not m.all_right)
    sufficient = [m for m in family if m.all_right and m.rho > failing] or [max(family, key=lambda m: m.rho)]
    widest = max(m.n_units for m in sufficient)
    best = min((m for m in sufficient if m.n_units >= min(shape.k, widest)), key=lambda m: (m.rho, m.n_units))
    like = (base_name(shape.phi), shape.bias) == (best.activation, best.bias)
    return best, best.rho * math.sqrt(max(1.0, shape.k / widest)), shape.k > min(widest, shape.d) or not like


def _insufficient(shape: Shape, family: list[Measured]) -> float:
    """The largest ρ at which half of the trials or more failed, of networks that are not wider."""
    wrong = [m for m in family if m.mostly_wrong]
    narrow = max(shape.k, min(m.n_units for m in wrong))
    return max(1.0, *(m.rho for m in wrong if m.n_units <= narrow))


def estimate_cost(shape: Shape, n: int) -> CostEstimate:
    """Memory and time of `recover` on n rows."""
    d, k, phi = shape.d, shape.k, shape.phi
    a_unit = d + shape.bias + 1
    p, wide = k * a_unit, math.ceil(WIDE_FIRST * k) * a_unit if k >= 8 else k * a_unit
    starts = LIMITS.starts if phi.degree else 2 * LIMITS.starts
    rows = min(n, max(24 * p, 2000))  # beyond, the search runs on a part of the rows
    step = rows * p**2 + p**3 / 3
    rates = LIMITS.rates[1], math.sqrt(LIMITS.rates[0] * LIMITS.rates[1]), LIMITS.rates[0]
    seconds = [LIMITS.least_seconds + work * step / rate for work, rate in zip(LIMITS.work, rates, strict=True)]
    return CostEstimate(n, 8.0 * LIMITS.data_copies * n * (d + 1), 8.0 * LIMITS.matrix_copies * starts * wide**2, *seconds)


def _family(phi: Activation, bias: bool) -> tuple[Measured, ...]:
    """The measurements of the same φ and kind; else of the most demanding kind that is like it."""
    same = tuple(m for m in MEASURED if m.activation == base_name(phi) and m.bias == bias)
    if any(m.mostly_wrong for m in same):
        return same
    if bias:
        return tuple(m for m in MEASURED if m.bias)
    smooth = phi.degree is None
    return tuple(m for m in MEASURED if not m.bias and (m.activation in SMOOTH) == smooth)


def _with_heldout(training: float) -> int:
    """Rows in all, of which 16 or a twentieth are held out."""
    return math.ceil(max(training + RECOVERY.heldout_rows, training / (1 - RECOVERY.heldout_share)))
