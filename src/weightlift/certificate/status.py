"""What a certificate says: its status, its claims, and the sentences that go with them."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, field

import numpy as np

from weightlift.evidence.gauge import Gauge
from weightlift.network import Network


class Status(enum.Enum):
    """How much is known about a network, given rows of data."""

    EXACT = "If the data come from a network with this activation, these are its units, to the stated precision."
    STATISTICAL = "The same within the stated regions, and no further unit is above the stated detection limit."
    AMBIGUOUS = "The data cannot tell these units from others."
    FAILED = "The network does not explain the data, or they are too few to say so."


@dataclass(frozen=True)
class Evidence:
    """What was measured, whatever came of it; None where it was not needed or could not be had."""

    n_rows: int = 0  # with positive weight
    n_distinct: int = 0  # different inputs among them; without biases, those that symmetries of f do not make copies
    n_parameters: int = 0  # once scale is fixed
    residual_max: float = math.nan  # largest |f(x) − y|
    rounding_level: float = math.nan  # largest |f(x) − y| in units of its row's bound on rounding errors
    condition: float | None = None  # of JᵀJ with unit diagonal
    least_eigenvalue: float | None = None  # of the mean JᵀJ
    heldout_rows: int = 0
    disagreement: float | None = (
        None  # f differs from the truth with at most this probability, on inputs like the held-out ones
    )
    p_value: float | None = None  # of the lack-of-fit test
    noise_std: float | None = None
    detection_limit: float | None = None  # root mean square of the smallest further unit that would have been found
    least_rows: tuple[int, ...] | None = None  # distinct rows on each unit's emptier side of its kink


@dataclass(frozen=True, eq=False)
class Certificate:
    """The answer of `certify`. It is true in a condition for EXACT and STATISTICAL.

    precision    relative precision of each unit in normal form: of (w, b) and of a
    regions      (2, k, q, q): a unit's coordinates θ are claimed to lie where (θ − θ̂)ᵀR⁻¹(θ − θ̂) ≤ 1 for one of two matrices
                 R, the classical and the robust one; only for STATISTICAL. Coordinates: see `gauge`
    """

    status: Status
    reasons: tuple[str, ...]
    network: Network = field(repr=False)
    bias: bool
    offset: bool
    evidence: Evidence = field(repr=False)
    precision: np.ndarray | None = None  # (k,)
    regions: np.ndarray | None = field(default=None, repr=False)
    ambiguous_units: tuple[int, ...] = ()
    sign_patterns: np.ndarray | None = field(default=None, repr=False)  # (n, k): sets of units whose reflection fits as well
    symmetries: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.status in (Status.EXACT, Status.STATISTICAL)

    @property
    def n_rows(self) -> int:
        return self.evidence.n_rows

    @property
    def n_parameters(self) -> int:
        return self.evidence.n_parameters

    @property
    def residual_max(self) -> float:
        return self.evidence.residual_max

    @property
    def rounding_level(self) -> float:
        return self.evidence.rounding_level

    @property
    def condition(self) -> float | None:
        return self.evidence.condition

    @property
    def least_eigenvalue(self) -> float | None:
        return self.evidence.least_eigenvalue

    @property
    def heldout_rows(self) -> int:
        return self.evidence.heldout_rows

    @property
    def disagreement(self) -> float | None:
        return self.evidence.disagreement

    @property
    def p_value(self) -> float | None:
        return self.evidence.p_value

    @property
    def noise_std(self) -> float | None:
        return self.evidence.noise_std

    @property
    def detection_limit(self) -> float | None:
        return self.evidence.detection_limit

    def locate(self, other: Network) -> tuple[np.ndarray, np.ndarray]:
        """Whether each unit of `other` that corresponds to a claimed unit lies where the claim says: inside (k,), partner (k,).

        Symmetries of φ are allowed for; a claimed unit without a partner has partner −1 and is not inside.
        """
        from scipy.optimize import linear_sum_assignment

        ratio = np.minimum(self._distances(other), 1e9)
        i, j = linear_sum_assignment(ratio)
        partner = np.full(self.network.n_units, -1)
        partner[i] = j
        inside = np.zeros(self.network.n_units, dtype=bool)
        inside[i] = ratio[i, j] <= 1.0
        return inside, partner

    def _distances(self, other: Network) -> np.ndarray:
        """(k, k′) distance of every pair of units in units of what is claimed."""
        k = self.network.n_units
        if other.n_inputs != self.network.n_inputs or other.activation != self.network.activation or not self:
            return np.full((k, other.n_units), np.inf)
        mine = Gauge.of(self.network, bias=self.bias, offset=self.offset)
        theirs = Gauge.of(other, bias=self.bias, offset=self.offset)
        columns = []
        for j in range(other.n_units):
            stray = not self.bias and other.b[j] != 0
            candidates = [] if stray else theirs.representatives(j)
            columns.append([min((self._distance(mine, i, unit) for unit in candidates), default=np.inf) for i in range(k)])
        return np.array(columns).T

    def _distance(self, gauge: Gauge, i: int, unit: tuple[np.ndarray, float]) -> float:
        theta, sign = unit
        own, own_sign = gauge.unit(i)
        if sign != own_sign:
            return math.inf
        if self.regions is not None:
            delta = own - theta
            return math.sqrt(max(0.0, min(float(delta @ np.linalg.solve(R[i], delta)) for R in self.regions)))
        assert self.precision is not None
        return gauge.relative_distance(own, theta) / float(self.precision[i])

    def __str__(self) -> str:
        e = self.evidence
        lines = [f"{self.status.name}: {self.status.value}"]
        lines += [f"  - {reason}" for reason in self.reasons]
        lines.append(f"  rows {e.n_rows} ({e.n_distinct} distinct inputs), parameters {e.n_parameters}")
        lines.append(f"  largest residual {e.residual_max:.3g} ({e.rounding_level:.2g} of its bound on rounding errors)")
        if e.condition is not None and e.least_eigenvalue is not None:
            lines.append(f"  condition number {e.condition:.3g}, least eigenvalue of JᵀJ {e.least_eigenvalue:.3g}")
        if self.precision is not None:
            lines.append("  relative precision of the units " + " ".join(f"{p:.2g}" for p in self.precision))
        if e.noise_std is not None and self.status is not Status.EXACT:
            lines.append(f"  noise {e.noise_std:.3g}")
        if e.p_value is not None:
            lines.append(f"  lack of fit: p = {e.p_value:.3g}")
        if e.detection_limit is not None:
            lines.append(f"  detection limit for a further unit {e.detection_limit:.3g} (root mean square)")
        if e.disagreement is not None:
            lines.append(f"  held-out rows {e.heldout_rows}: differs with probability at most {e.disagreement:.2g}")
        lines += [f"  up to {symmetry}" for symmetry in self.symmetries]
        return "\n".join(lines)
