"""What a certificate says: statements, and the status, the headline and the units' verdicts that follow from them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from weightlift import markup
from weightlift.certificate.joint_distances import joint_distances
from weightlift.certificate.limits import LIMITS
from weightlift.certificate.statement import Kind, Statement, Status, Topic, named, status_of_units
from weightlift.evidence.gauge import Gauge
from weightlift.network import Network
from weightlift.rivals.analytic import shift


@dataclass(frozen=True)
class Evidence:
    """What was measured, whatever came of it; None where it was not needed or could not be had."""

    n_rows: int = 0  # with positive weight
    n_distinct: int = 0  # different inputs among them; without biases, those that symmetries of f do not make copies
    n_parameters: int = 0  # once scale is fixed
    width: int | None = None  # units that the rows show, doubles once: the most of the class that claims are about. None: all
    residual_max: float = math.nan  # largest |f(x) − y|
    rounding_level: float = math.nan  # largest |f(x) − y| in units of its row's bound on rounding errors
    condition: float | None = None  # of JᵀJ with unit diagonal, inputs standardised
    least_eigenvalue: float | None = None  # of the mean JᵀJ
    heldout_rows: int = 0  # that are no copies of fitted rows
    disagreement: float | None = None  # f differs from the truth at most this often, on inputs like the held-out ones
    p_value: float | None = None  # of the lack-of-fit test
    noise_std: float | None = None
    detection_limit: float | None = None  # root mean square of the smallest further unit that would have been found
    quantum: float | None = None  # of a target that was rounded: largest distance of two neighbouring values


@dataclass(frozen=True, eq=False)
class UnitVerdict:
    """One unit: what is known of it, how precisely, and why not more."""

    status: Status
    precision: float  # relative, in normal form; nan where there is no claim
    region: np.ndarray | None = field(repr=False)  # (2, q, q), STATISTICAL only
    reason: str  # the first objection; "" where there is none

    def __bool__(self) -> bool:
        return self.status in (Status.EXACT, Status.STATISTICAL)


@dataclass(frozen=True, eq=False)
class Certificate:
    """The answer of `certify`. It is true in a condition for EXACT and STATISTICAL.

    precision      relative precision of each unit in normal form, of (w, b) and of a, in the inputs' own units of measurement;
                   statements on precision, and their limits, are about standardised inputs
    regions        (2, k, q, q): a unit's coordinates θ are claimed to lie where (θ − θ̂)ᵀR⁻¹(θ − θ̂) ≤ 1 for one of two
                   matrices R, the classical and the robust one; only for noisy data. Coordinates: see `evidence.gauge`
    wide_regions   the same if the truth may have a further unit, or two for one of these, that the rows do not show
    slices         (k, q), several outputs or a linear part, φ homogeneous of degree h: (λw, λb, a/λʰ) is compared at the λ > 0
                   where ⟨t, λ(w, b)⟩ is the claim's, t the unit's row; regions are of changes with ⟨t, δ(w, b)⟩ = 0
    single         largest half-width of the 95 % intervals of a unit's weights, each by itself, in units of ‖w‖, inputs
                   standardised; only for noisy data of one output
    """

    network: Network = field(repr=False)
    bias: bool
    offset: bool
    statements: tuple[Statement, ...]
    evidence: Evidence = field(repr=False)
    precision: np.ndarray | None = None  # (k,)
    regions: np.ndarray | None = field(default=None, repr=False)
    wide_regions: np.ndarray | None = field(default=None, repr=False)
    slices: np.ndarray | None = field(default=None, repr=False)
    single: np.ndarray | None = field(default=None, repr=False)  # (k,)
    sign_patterns: np.ndarray | None = field(default=None, repr=False)  # (n, k): sets of units whose reflection fits as well
    symmetries: tuple[str, ...] = ()

    @cached_property
    def _unit_status(self) -> tuple[Status, ...]:
        return status_of_units(self.statements, self.network.n_units)

    @property
    def status(self) -> Status:
        """The weakest of the units' verdicts; without units, whether anything fails."""
        if not self._unit_status:
            return Status.FAILED if self.failing else Status.EXACT
        return max(self._unit_status, key=list(Status).index)

    def __bool__(self) -> bool:
        return self.status in (Status.EXACT, Status.STATISTICAL)

    @property
    def certified_units(self) -> tuple[int, ...]:
        return tuple(i for i, status in enumerate(self._unit_status) if status in (Status.EXACT, Status.STATISTICAL))

    @property
    def ambiguous_units(self) -> tuple[int, ...]:
        return tuple(i for i, status in enumerate(self._unit_status) if status is Status.AMBIGUOUS)

    @property
    def units(self) -> tuple[UnitVerdict, ...]:
        return tuple(self._unit(i, status) for i, status in enumerate(self._unit_status))

    def _unit(self, i: int, status: Status) -> UnitVerdict:
        objections = (s.sentence for s in self.failing if not s.units or i in s.units)
        certain = status in (Status.EXACT, Status.STATISTICAL)
        precision = float(self.precision[i]) if certain and self.precision is not None else math.nan
        region = self.regions[:, i] if certain and self.regions is not None else None
        return UnitVerdict(status, precision, region, next(objections, ""))

    @property
    def failing(self) -> tuple[Statement, ...]:
        """Statements that fail, or that could not be examined."""
        return tuple(s for s in self.statements if not s.holds)

    @property
    def reasons(self) -> tuple[str, ...]:
        """What is in the way; where nothing is, what the claim rests on."""
        chosen = self.failing or [s for s in self.statements if s.kind is not Kind.ASSUMED]
        return tuple(s.sentence for s in chosen)

    @property
    def assumptions(self) -> tuple[str, ...]:
        return tuple(s.sentence for s in self.statements if s.kind is Kind.ASSUMED)

    @property
    def explained(self) -> bool:
        """Whether every row agrees to rounding, its own or the target's, held-out ones too: no search can do better."""
        agrees = any(s.topic in (Topic.AGREEMENT, Topic.BOUNDED) and s.holds for s in self.statements)
        return (agrees or self.rounding_level <= LIMITS.rounding) and all(s.topic is not Topic.HELDOUT for s in self.failing)

    @property
    def proved(self) -> bool:
        """Whether all that the headline claims follows from theorems: that there is no rival, and the precision."""
        claims = [s for s in self.statements if s.topic in (Topic.RIVALS, Topic.PRECISION)]
        return self.status is Status.EXACT and all(s.kind is Kind.PROVED for s in claims)

    @property
    def headline(self) -> str:
        """One sentence: the class, what is known in it, and on what ground."""
        if self.status is Status.FAILED:
            return f"These are not shown to be the units: {self.reasons[0] if self.reasons else 'nothing was examined.'}"
        certain, claim = self.certified_units, "nothing is known of its units"
        if certain:
            who = "these are the units" if bool(self) else f"{named(certain)[:1].lower()}{named(certain)[1:]} as given"
            claim = f"{who}{self._size(list(certain))}{self._condition}"
            claim += "" if self.proved else " (tested, not proved)"
        rest = f"; {named(self.ambiguous_units, verb=False)} may be others" if self.ambiguous_units else ""
        return f"Among {self._class}: {claim}{rest}."

    def _size(self, units: list[int]) -> str:
        """How precisely these units are known: by a bound, or by what chance leaves."""
        size = float(np.max(np.asarray(self.precision)[units]))
        if self.regions is None:
            return f", to {size:.1g}"
        alone = "" if self.single is None else f" single weights to ±{np.max(self.single[units]):.1g} of ‖w‖ at 95 %,"
        return f",{alone} all weights of a unit at once to {size:.1g} of its size at 99.99 %"

    @property
    def _condition(self) -> str:
        if not self.explained:
            return ", if the errors are independent"
        assumed = any(s.topic is Topic.LAW and s.kind is Kind.ASSUMED for s in self.statements)
        return ", if the rows were drawn from a density" if assumed else ""

    @property
    def _class(self) -> str:
        parts = [name for name, free in (("biases", self.bias), ("offset", self.offset)) if not free]
        without = f" without {' or '.join(parts)}" if parts else " with biases and offset"
        k, m = self.network.n_units if self.evidence.width is None else self.evidence.width, self.network.n_outputs
        several = f" and {m} outputs" if m > 1 else ""
        beside = ", beside a linear part" if self.network.V is not None else ""
        return f"networks of at most {k} {self.network.activation.name} unit{'s' * (k != 1)}{several}{without}{beside}"

    def adding(self, *statements: Statement) -> Certificate:
        """The certificate with further statements, the first ones to be read."""
        return replace(self, statements=(*statements, *self.statements))

    def refused(self, *sentences: str) -> Certificate:
        """The certificate withdrawn, whatever it said, for these reasons.

        sentences  the reasons, one each
        """
        objections = (Statement(Topic.OTHER, Kind.TESTED, False, sentence) for sentence in sentences)
        return replace(self.adding(*objections), precision=None, regions=None, wide_regions=None, slices=None, single=None)

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

    def locate(self, other: Network, *, wide: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Whether each unit of `other` that corresponds to a claimed unit lies where the claim says: inside (k,), partner (k,).

        Symmetries of φ are allowed for; a claimed unit without a partner has partner −1 and is not inside. wide: noisy data
        alone, allow for a unit that the rows do not show.
        """
        distances, partner = self._assigned(other, wide)
        return distances <= 1.0, partner

    def distances(self, other: Network, *, wide: bool = True) -> np.ndarray:
        """(k,) how far off the unit of `other` is that corresponds to each, of what is claimed; ∞ without one.

        wide: as in `locate`.
        """
        return self._assigned(other, wide)[0]

    def _assigned(self, other: Network, wide: bool) -> tuple[np.ndarray, np.ndarray]:
        from scipy.optimize import linear_sum_assignment

        ratio = self._distances(other, self.wide_regions if wide else self.regions)
        ratio = np.where(ratio <= 1e9, ratio, 1e9)  # nothing is known of a unit without a distance
        i, j = linear_sum_assignment(ratio)
        partner = np.full(self.network.n_units, -1)
        partner[i] = j
        distances = np.full(self.network.n_units, math.inf)
        distances[i] = ratio[i, j]
        return distances, partner

    def _distances(self, other: Network, regions: np.ndarray | None) -> np.ndarray:
        """(k, k′) distance of every pair of units in units of what is claimed."""
        k = self.network.n_units
        if other.n_inputs != self.network.n_inputs or other.activation != self.network.activation or not self.certified_units:
            return np.full((k, other.n_units), np.inf)
        if self.network.a.ndim == 2 or self.network.V is not None:
            assert self.precision is not None
            return joint_distances(self.network, other, self.precision, regions, self.slices)
        mine = Gauge.of(self.network, bias=self.bias, offset=self.offset)
        theirs = Gauge.of(other, bias=self.bias, offset=self.offset)
        columns = []
        for j in range(other.n_units):
            stray = not self.bias and other.b[j] != 0
            candidates = [] if stray else theirs.representatives(j)
            columns.append(
                [min((self._distance(mine, i, unit, regions) for unit in candidates), default=np.inf) for i in range(k)]
            )
        return np.array(columns).T

    def _distance(self, gauge: Gauge, i: int, unit: tuple[np.ndarray, float], regions: np.ndarray | None) -> float:
        theta, sign = unit
        own, _ = gauge.unit(i)
        if (repeats := shift(self.network.activation)) is not None and gauge.free.b and gauge.free.a:
            times = round((own[-2] - theta[-2]) / repeats[0])  # far from the origin w and b are known together alone
            near = np.append(theta[:-2], (theta[-2] + times * repeats[0], theta[-1] * repeats[1] ** times))
            return min(self._off(gauge, i, (there, sign), regions) for there in (theta, near))
        return self._off(gauge, i, unit, regions)

    def _off(self, gauge: Gauge, i: int, unit: tuple[np.ndarray, float], regions: np.ndarray | None) -> float:
        theta, sign = unit
        own, own_sign = gauge.unit(i)
        if sign != own_sign:
            return math.inf
        if regions is not None:
            delta = own - theta
            squares = [_square(R[i], delta) for R in regions]
            return math.sqrt(max(min(squares), 0.0)) if np.isfinite(squares).all() else math.inf
        assert self.precision is not None
        return gauge.relative_distance(own, theta) / float(self.precision[i])

    def _repr_html_(self) -> str:
        grounds = ((s.mark, s.sentence) for s in self.statements)
        body = markup.table(["ground", "statement"], grounds, words=["ground", "statement"])
        if self.certified_units and self.precision is not None:
            what = "" if self.regions is None else ", all weights of one at once, at 99.99 %"
            known = ", ".join(markup.number(p) for p in self.precision.tolist())
            body += f"<p>Relative precision of the units{what}: {known}.</p>"
        return markup.verdict(self.status.name, self.headline, body + markup.listing(f"up to {s}" for s in self.symmetries))

    def __repr__(self) -> str:
        return f"Certificate({self.status.name}: {self.headline})"

    def __str__(self) -> str:
        e = self.evidence
        lines = [f"{self.status.name}: {self.headline}"]
        lines += [f"  {statement}" for statement in self.statements]
        lines.append(f"  rows {e.n_rows} ({e.n_distinct} distinct inputs), parameters {e.n_parameters}")
        beside = f" ({e.rounding_level:.2g} of its bound on rounding errors)" if e.noise_std is None else ""
        lines.append(f"  largest residual {e.residual_max:.3g}{beside}")
        if e.condition is not None:
            least = "" if e.least_eigenvalue is None else f", least eigenvalue of JᵀJ {e.least_eigenvalue:.3g}"
            lines.append(f"  condition number {e.condition:.3g}{least}")
        if self.precision is not None:
            what = "" if self.regions is None else ", all weights of one at once, at 99.99 %"
            sizes = " ".join(f"{p:.2g}" for p in self.precision)
            lines.append(f"  relative precision of the units, inputs as they are{what}: {sizes}")
        if e.noise_std is not None:
            lines.append(f"  noise {e.noise_std:.3g}")
        if e.detection_limit is not None:
            lines.append(f"  detection limit for a further unit {e.detection_limit:.3g} (root mean square)")
        lines += [f"  up to {symmetry}" for symmetry in self.symmetries]
        return "\n".join(lines)


def _square(region: np.ndarray, delta: np.ndarray) -> float:
    """δᵀR⁻¹δ; infinite for a region that has no extent in some direction, which nothing is claimed to lie in."""
    try:
        return float(delta @ np.linalg.solve(region, delta))
    except np.linalg.LinAlgError:
        return math.inf
