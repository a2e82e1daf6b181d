"""Whether a proposed network is a rival: other units, and agreement on every row; refits of proposals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.evidence.rows import Agreement, double
from weightlift.namespaces import Array, array_namespace, as_like, solve, to_numpy
from weightlift.network import Network
from weightlift.refinement.gauss_newton import gauss_newton
from weightlift.refinement.normal_equations import NormalEquations
from weightlift.risk import Risk, Students
from weightlift.rivals.cells import OwnTargets
from weightlift.rivals.limits import LIMITS
from weightlift.samples import Block, Samples, Sums


def agree(samples: Samples, gauge: Gauge, rival: Network) -> bool:
    """Whether other units agree on every row, nearly to rounding."""
    level = Agreement.of(rival, samples.map(OwnTargets(gauge.network))).level
    return level <= LIMITS.agreement and not rival.equivalent(gauge.network, LIMITS.same)


@dataclass(frozen=True)
class Bar:
    """What a rival must come below to stay: its Σ w r² the ceiling, or where errors are independent what chance may add to it.

    Were the rival the truth, its residuals r′ the errors and D = r′ − r, then Σ w (r′² − r²) = 2 Σ w D r′ − Σ w D², and by
    Chernoff's inequality given |r′|, the errors being symmetric,

        P(Σ w D r′ ≥ s) ≤ min_t e^{−t s} ∏ cosh(t w D r′)

    whatever the errors' sizes. With cosh x ≤ e^{x²/2} it is Hoeffding's e^{−s²/2Σ(w D r′)²}; with cosh x ≥ e^{|x|}/2 it is
    2⁻ᵐ at least for m rows with D r′ ≠ 0: of fewer than odds/2 ln 2 rows no errors are refuted.
    """

    ceiling: float
    odds: float = 0.0  # a rival that is e^{odds/2} times less likely is refuted; 0: the ceiling alone
    few: float = 1.0  # how many times fewer rows make up Σ w r² than of Gaussian errors: n Σ w² r⁴/3(Σ w r²)², and at least 1


RATES = np.exp2(0.5 * np.arange(24))  # times Hoeffding's t: the least is beyond it, cosh x being below e^{x²/2}
Equations = tuple[np.ndarray, np.ndarray, np.ndarray]  # ½ Σ w r² (S,), Jᵀr (S, p) and JᵀJ (S, p, p)


def below(
    samples: Samples,
    gauge: Gauge,
    proposals: list[tuple[tuple[int, ...], Network]],
    bar: Bar,
    equations: Callable[[Samples], Equations] | None = None,
) -> list[tuple[tuple[int, ...], Network]]:
    """Of proposals, each with the units concerned, those that are other networks below the bar once refitted.

    The nearest, and those that a Gauss–Newton step brings near the ceiling, move a few steps, on some of the rows where they
    are many. What may be near on all of them then takes a step on these; what is near and has not come back is refitted there.
    A step that gains little beside the margin is the last. Where few rows make up Σ w r², more are taken at first, and what is
    near is so much wider.

    equations  those of the proposals on some rows, where they come cheaper than one by one
    """
    if not proposals:
        return []
    starts, own = [rival for _, rival in proposals], squared_error(samples, gauge.network)
    ceiling, reach = bar.ceiling, LIMITS.reach * bar.few
    tol = max(LIMITS.least_gain * (ceiling - own) / max(ceiling, np.finfo(float).tiny), 1e-6)
    share = min(1.0, bar.few * max(LIMITS.first_rows[0] * gauge.size, LIMITS.first_rows[1]) / samples.n)
    some = samples if share > 0.5 else samples.split(share, 1.0 - share, seed=0)[0].persist()
    here, margin = squared_error(some, gauge.network), (ceiling - own) * some.total / samples.total
    least, far = here + margin, reach_of_some(own, ceiling, samples.total, some.total, reach) if some is not samples else reach
    known = _equations(some, gauge, Students.of(*starts)) if equations is None else equations(some)
    left, _ = after_a_step(some, gauge, starts, least, known)
    chosen = np.flatnonzero(left <= max(reach, float(np.sort(left)[: LIMITS.nearest][-1])))
    goal = (here + max(far, LIMITS.far) * margin) / (2.0 * some.total)
    first = known[1][chosen] / some.total, known[2][chosen] / some.total
    rivals = refitted(some, gauge, [starts[i] for i in chosen], LIMITS.first_iterations, tol, goal, first)
    if some is not samples:
        possible = after_a_step(some, gauge, rivals, least)[0] <= far
        chosen, rivals = chosen[possible], [rival for rival, may in zip(rivals, possible, strict=True) if may]
    if not rivals:
        return []
    left, moved = after_a_step(samples, gauge, rivals, ceiling)
    back = Returned(samples, gauge, ceiling - own)
    near = [i for i in np.flatnonzero(left <= reach).tolist() if not back(moved.network(i))]
    if not near:
        return []
    chosen, rivals = chosen[near], refitted(samples, gauge, [rivals[i] for i in near], LIMITS.iterations, tol)
    stayed = stay(samples, OwnContrast(gauge.network, Students.of(*rivals)), ceiling, bar.odds)[1]
    return [
        (proposals[i][0], rival)
        for i, rival, stays in zip(chosen.tolist(), rivals, stayed.tolist(), strict=True)
        if stays and not back(rival)
    ]


@dataclass(frozen=True, eq=False)
class Returned:
    """Whether each unit of a rival is nearer to one of the network's, δ apart, than what adds a share of the margin to Σ w r²,

        min_{others} ΔᵀJᵀWJΔ = δᵀ((JᵀWJ)⁻¹)ᵢᵢ⁻¹δ,

    not than a share of its size: units that are known better than that may be others there.
    """

    samples: Samples
    gauge: Gauge
    margin: float

    @cached_property
    def known(self) -> np.ndarray:
        """(k, q, q) the blocks ((JᵀWJ)⁻¹)ᵢᵢ."""
        return Information.of(self.samples, self.gauge).unit_inverses()

    def __call__(self, rival: Network) -> bool:
        gauge = self.gauge
        if not rival.equivalent(gauge.network, LIMITS.returning):
            return False
        other = Gauge.of(rival, bias=gauge.free.b, offset=gauge.free.c)
        units = [unit for j in range(rival.n_units) for unit in other.representatives(j)]
        for i, known in enumerate(self.known):
            theta, sign = gauge.unit(i)
            gaps = [theta - there for there, its in units if its == sign]
            squares = [float(gap @ np.linalg.lstsq(known, gap, rcond=None)[0]) for gap in gaps]
            if not min(squares, default=math.inf) <= LIMITS.returned * self.margin:
                return False
        return True


def stay(samples: Samples, contrast: Contrast, ceiling: float, odds: float) -> tuple[np.ndarray, np.ndarray]:
    """(S,) Σ w r′² of rivals, and whether they stay [Bar]."""
    square, along, variance = (to_numpy(v) for v in samples.fold(contrast))
    stays = (square <= ceiling) | (along <= 0.0)
    doubtful = np.flatnonzero(~stays & (along**2 <= odds * variance))
    if doubtful.size:
        rates = (along[doubtful] / variance[doubtful])[:, None] * RATES
        cumulants = to_numpy(samples.fold(Cumulants(contrast.some(doubtful), rates))[0])
        stays[doubtful] = (cumulants - rates * along[doubtful, None]).min(axis=1) > -0.5 * odds
    return square, stays


class Contrast(Protocol):
    """A statistic (S,) Σ w r′², Σ w D r′ and Σ w² D² r′²: r′ the rivals' residuals, D what they exceed the network's by."""

    @property
    def floats_per_row(self) -> int: ...

    def __call__(self, block: Block) -> Sums: ...

    def terms(self, block: Block) -> Array:
        """(m, S) w D r′."""

    def some(self, chosen: np.ndarray) -> Contrast:
        """That of some of the rivals."""


@dataclass(frozen=True, eq=False)
class OwnContrast:
    """That of networks of one output."""

    network: Network
    rivals: Students

    @property
    def floats_per_row(self) -> int:
        _, S, k = self.rivals.shape
        return 3 * S * k + 5 * S

    def __call__(self, block: Block) -> Sums:
        theirs, terms = self._residuals(block)
        xp = array_namespace(terms)
        return xp.matmul(double(block)[2], theirs * theirs), xp.sum(terms, axis=0), xp.sum(terms * terms, axis=0)

    def terms(self, block: Block) -> Array:
        return self._residuals(block)[1]

    def some(self, chosen: np.ndarray) -> OwnContrast:
        return replace(self, rivals=Students.of(*(self.rivals.network(int(s)) for s in chosen)))

    def _residuals(self, block: Block) -> tuple[Array, Array]:
        """(m, S) r′ and w D r′."""
        X, y, w = double(block)
        own, theirs = (
            s.residuals(s.activation(s.preactivations(X)), y) for s in (Students.of(self.network).like(X), self.rivals.like(X))
        )
        return theirs, w[:, None] * (theirs - own) * theirs


@dataclass(frozen=True, eq=False)
class Cumulants:
    """(S, T) Σ ln cosh(t w D r′) at the rates t (S, T)."""

    contrast: Contrast
    rates: np.ndarray

    @property
    def floats_per_row(self) -> int:
        return self.contrast.floats_per_row + 3 * self.rates.size

    def __call__(self, block: Block) -> Sums:
        terms = self.contrast.terms(block)
        xp = array_namespace(terms)
        u = xp.abs(terms[:, :, None] * as_like(self.rates, terms))
        return (xp.sum(u + xp.log1p(xp.exp(-2.0 * u)) - math.log(2.0), axis=0),)


def squared_error(samples: Samples, network: Network) -> float:
    """Σ w r²."""
    return 2.0 * float(to_numpy(samples.fold(Risk(Students.of(network)))[0])[0])


def reach_of_some(own: float, ceiling: float, total: float, weight: float, reach: float = LIMITS.reach) -> float:
    """Margins on rows of the given weight up to which `reach` margins are possible on all, whose sums are given.

    With D the difference of the networks, Σ w (D² + 2Dr) on a share s of the rows has the mean s R for R on all of them, and
    about the variance 4 σ² s R: the margin there is s times that on all.
    """
    margin = max((ceiling - own) * weight / total, np.finfo(float).tiny)
    return reach + LIMITS.deviations * 2.0 * math.sqrt(own / total * reach / margin)


def after_a_step(
    samples: Samples,
    gauge: Gauge,
    starts: list[Network],
    ceiling: float,
    equations: Equations | None = None,
) -> tuple[np.ndarray, Students]:
    """(S,) min_δ Σ w (r + Jδ)², r and J those of the start, above the network's Σ w r²; one is at the ceiling. And θ + δ.

    What the step leaves is of second order: where the ceiling is at rounding level, a small share of Σ w y² is the unit.
    equations: those of the starts, where they are known.
    """
    net = gauge.network
    zero = replace(net, a=0.0 * net.a, c=0.0)
    own, energy = 2.0 * to_numpy(samples.fold(Risk(Students.of(net, zero)))[0])
    students = Students.of(*starts)
    risks, gradients, grams = _equations(samples, gauge, students) if equations is None else equations
    diagonal = np.diagonal(grams, axis1=1, axis2=2)
    root = np.sqrt(np.maximum(diagonal, 1e-10 * diagonal.max(axis=1, keepdims=True)) + np.finfo(float).tiny)
    scaled, target = grams / (root[:, :, None] * root[:, None, :]), gradients / root
    steps = solve(scaled + LIMITS.damping * np.eye(target.shape[1]), target[:, :, None])[:, :, 0]
    excess = 2.0 * risks - (target * steps).sum(axis=1) - own
    share = excess / max(ceiling - own, LIMITS.suspect**2 * energy / LIMITS.reach, np.finfo(float).tiny)
    moved = gauge.free.unpack(gauge.free.pack(students) - np.where(np.isfinite(steps), steps, 0.0) / root, students)
    return np.where(np.isfinite(share), share, np.inf), moved


def _equations(samples: Samples, gauge: Gauge, students: Students) -> Equations:
    statistic = NormalEquations(students, gauge.free)
    risks, gradients, grams = (to_numpy(v) for v in statistic.assembled(samples.fold(statistic)))
    return risks, gradients, grams


def changed(gauge: Gauge, rivals: list[Network]) -> tuple[int, ...]:
    """The units that some rival does not have, up to the symmetries of φ."""
    found = set[int]()
    for rival in rivals[: LIMITS.compared]:
        other = replace(gauge, network=rival if gauge.free.a else rival.absorbed())
        units = [unit for j in range(rival.n_units) for unit in other.representatives(j)]
        for i in range(gauge.network.n_units):
            own, sign = gauge.unit(i)
            near = (gauge.relative_distance(own, theta) for theta, its in units if its == sign)
            if min(near, default=1.0) > LIMITS.moved:
                found.add(i)
    return tuple(sorted(found))


def refitted(
    samples: Samples,
    gauge: Gauge,
    starts: list[Network],
    iterations: int = LIMITS.iterations,
    tol: float = 1e-6,
    goal: float = math.inf,
    equations: tuple[np.ndarray, np.ndarray] | None = None,
) -> list[Network]:
    """All together; one by one where a singular matrix ends that, and as they are where it is their own.

    goal       the mean of w r²/2 beyond whose reach a refit ends
    equations  the means of w r j and w jjᵀ at the starts, where they are known
    """
    if not starts:
        return []
    names = gauge.free.names
    like = samples.xp.zeros((1,), dtype=samples.xp.float64, device=samples.device)
    try:
        students = Students.of(*starts)
        fit = gauss_newton(
            samples,
            students,
            free=names,
            iterations=iterations,
            tol=tol,
            goal=goal,
            damping=LIMITS.damping,
            equations=None if equations is None else (as_like(equations[0], like), as_like(equations[1], like)),
        )
    except np.linalg.LinAlgError:
        return (
            starts
            if len(starts) == 1
            else [net for start in starts for net in refitted(samples, gauge, [start], iterations, tol, goal)]
        )
    return [fit.students.network(i) for i in range(len(starts))]


def named(gauge: Gauge, units: Iterable[int]) -> str:
    """Units in words, by their numbers: "unit 3", "units 1, 2 and 5"."""
    numbers = [str(i) for i in gauge.called(units)]
    if not numbers:
        return "the offset"
    if len(numbers) == 1:
        return f"unit {numbers[0]}"
    return f"units {', '.join(numbers[:-1])} and {numbers[-1]}"
