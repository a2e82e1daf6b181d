"""Whether a proposed network is a rival: other units, and agreement on every row; refits of proposals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from weightlift.evidence.gauge import Gauge
from weightlift.evidence.rows import Agreement, double
from weightlift.namespaces import array_namespace, as_like, solve, to_numpy
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
    Hoeffding's inequality given |r′|, the errors being symmetric,

        P((Σ w D r′)² > odds · Σ w² D² r′²) ≤ exp(−odds/2)

    whatever the errors' sizes: a sum of fewer rows than `odds` never refutes a rival.
    """

    ceiling: float
    odds: float = 0.0  # 0: the ceiling alone
    few: float = 1.0  # how many times fewer rows make up Σ w r² than of Gaussian errors: n Σ w² r⁴/3(Σ w r²)², and at least 1


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
    reached = np.flatnonzero(left <= reach).tolist()
    near = [i for i in reached if not moved.network(i).equivalent(gauge.network, LIMITS.returning)]
    if not near:
        return []
    chosen, rivals = chosen[near], refitted(samples, gauge, [rivals[i] for i in near], LIMITS.iterations, tol)
    return [
        (proposals[i][0], rival)
        for i, rival, stays in zip(chosen.tolist(), rivals, stay(samples, gauge.network, rivals, bar).tolist(), strict=True)
        if stays and not rival.equivalent(gauge.network, LIMITS.returned)
    ]


def stay(samples: Samples, network: Network, rivals: list[Network], bar: Bar) -> np.ndarray:
    """(S,) whether each rival is below the bar."""
    square, along, variance = (to_numpy(v) for v in samples.fold(Contrast(network, Students.of(*rivals))))
    return np.asarray((square <= bar.ceiling) | (along**2 <= bar.odds * variance))


@dataclass(frozen=True, eq=False)
class Contrast:
    """(S,) Σ w r′², Σ w D r′ and Σ w² D² r′²: r′ the rivals' residuals, D what they exceed the network's by."""

    network: Network
    rivals: Students

    @property
    def floats_per_row(self) -> int:
        _, S, k = self.rivals.shape
        return 3 * S * k + 5 * S

    def __call__(self, block: Block) -> Sums:
        X, y, w = double(block)
        xp = array_namespace(X)
        own, theirs = (
            s.residuals(s.activation(s.preactivations(X)), y) for s in (Students.of(self.network).like(X), self.rivals.like(X))
        )
        terms = w[:, None] * (theirs - own) * theirs
        return xp.matmul(w, theirs * theirs), xp.sum(terms, axis=0), xp.sum(terms * terms, axis=0)


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
