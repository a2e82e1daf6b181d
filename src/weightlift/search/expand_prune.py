"""Search for the least-squares fit that is the network: annealed batches of starts, reheated, widened and pruned.

Round   a batch of random starts descends by Gauss–Newton on a softened φ that is sharpened in stages; half of them are
        dropped on the way. The best are perturbed and reheated, again and again; now and then fresh or wider ones join.
        Many units of a kinked φ are first sought as hyperplanes beside a linear function, one wide start at a time. Where φ
        is not homogeneous, a ridge that falls to zero takes the place of the softening: `shrinkage`.
Stop    when the caller is content, when fresh batches keep ending in the same minimum, when the risk has not halved for as
        much work as the budget's patience, or when the budget is spent.
Needs   nothing of the inputs' law: the search is least squares alone. More rows than parameters.
Work    is counted in Gauss–Newton steps of one start of the asked width, so that results repeat.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from weightlift.activations import Activation
from weightlift.identifiability.parameters import parameters_of_shape
from weightlift.identifiability.reflections import turned_by_a_constant, without_offset
from weightlift.namespaces import to_numpy
from weightlift.network import Network
from weightlift.refinement import gauss_newton
from weightlift.refinement.gauss_newton import NEAR_ROUNDING
from weightlift.risk import Risk, Students
from weightlift.samples import Samples
from weightlift.search.annealing import annealing
from weightlift.search.budget import Budget
from weightlift.search.consolidate import consolidate
from weightlift.search.hyperplanes import hyperplanes, wide_enough
from weightlift.search.narrowing import narrowed
from weightlift.search.shrinkage import COOL, WARM, shaken, shrunk, small_students
from weightlift.search.starts import perturbed, random_students

SMOOTH_CYCLE = 3  # rounds of a φ that is not homogeneous: two fresh batches, and one of the best
REFRESH = 6  # rounds from one fresh batch to the next
HYPERPLANE_CYCLE, HYPERPLANE_ROUNDS = 12, (3, 9)  # where hyperplanes are sought, of more units than inputs and of others: each
# round of the latter finds them with a chance of a half, and reheating what it left seldom does
EXTRA_UNITS = (0, 1, 2)  # widths of successive fresh batches beyond the asked one, where the rows determine them
WIDE_FIRST = 1.15  # width of the first batch when units are many and rows plenty
SOFT_STEPS, REHEAT_STEPS, LAST_STEPS, WIDE_STEPS = 8, 6, 30, 60
START_STEPS = 50  # that a start takes to its end, of the about 70 that it may
SAME_RISK = 1e-6  # relative difference of risks that are one minimum
AGAIN = 0.95  # of the best risk: a reheated batch that falls below is followed by another. Each finds a few units more: of 16
# that were trained on 442 rows a wide student finds two, and so many batches nine, twelve, fourteen, all
REHEATED_SLOW = 0.02  # of the risk: a reheated start that gains less with the kinks themselves is left for the next batch
RACE_AFTER = 2  # stages before half of the fresh starts are dropped


class Ending(enum.Enum):
    """Why no candidate follows."""

    SAME_MINIMUM = "fresh starts end in the same minimum again and again, and it is not certified"
    STALLED = "the risk has stopped falling short of zero; give more rows, or raise max_work, and with it the patience"
    WORK_SPENT = "the work was spent without a certified candidate; raise max_work"
    TIME_SPENT = "the time was spent without a certified candidate; raise max_time"


@dataclass(frozen=True)
class Attempt:
    """One round of the search."""

    what: str
    width: int
    starts: int
    work: float
    risk: float  # best ½ E r² at its end


@dataclass(frozen=True)
class Candidate:
    """The best network after a round, whether that round found it, what was tried, and why it was the last round, if it was."""

    network: Network
    risk: float
    improved: bool
    attempts: tuple[Attempt, ...]
    ending: Ending | None = None

    @property
    def work(self) -> float:
        return sum(a.work for a in self.attempts)

    @property
    def starts(self) -> int:
        return sum(a.starts for a in self.attempts)


def candidates(
    samples: Samples,
    n_units: int,
    activation: Activation,
    *,
    bias: bool,
    offset: bool,
    budget: Budget,
    rng: np.random.Generator,
) -> Iterator[Candidate]:
    """One candidate a round, the last with its `ending`; the caller judges those that `improved`, and stops when content.

    samples     rows, as `samples.open` gives them
    n_units     k
    activation  φ
    bias        whether the biases are fitted
    offset      whether c is fitted
    budget      work and time for all rounds
    rng         a generator
    """
    shift = turned_by_a_constant(activation) and not offset
    search = _Search(
        samples,
        n_units,
        activation,
        bias,
        free="Wa" + "b" * bias + "c" * (offset or shift),
        starts=_batch_size(samples, n_units, activation, bias),
        wide=wide_enough(samples, n_units, activation, bias=bias),
        energy=_energy(samples, activation),
        rng=rng,
    )
    attempts: tuple[Attempt, ...] = ()
    best: _Ranked | None = None
    pool: _Ranked | None = None
    place = 0  # in the cycle of rounds
    while True:
        attempt, ranked = search.round(place, pool, budget.less(sum(a.work for a in attempts)))
        attempts += (attempt,)
        pool = (ranked if attempt.what == "fresh" or pool is None else pool.with_(ranked)).first(max(4, search.starts // 4))
        improved = best is None or bool(ranked.risks[0] < (1 - SAME_RISK) * best.risks[0])
        softened = attempt.what == "reheated" and activation.degree is not None  # under a ridge most come from fresh starts
        again = softened and best is not None and bool(ranked.risks[0] < AGAIN * best.risks[0])
        place += not again
        if best is None or improved:
            best = ranked.first(1)
            network = best.students.network(0)
            network = without_offset(network) if shift else network
        ending = _ending(attempts, NEAR_ROUNDING * search.energy, budget)
        yield Candidate(network, float(best.risks[0]), improved, attempts, ending)
        if ending is not None:
            return


@dataclass(frozen=True, eq=False)
class _Search:
    """What is searched for, and how widely."""

    samples: Samples
    n_units: int
    activation: Activation
    bias: bool
    free: str
    starts: int
    wide: int  # units of a student beside a linear function; 0 for none
    energy: float  # ½ E y²
    rng: np.random.Generator

    def round(self, place: int, pool: _Ranked | None, budget: Budget) -> tuple[Attempt, _Ranked]:
        """The round at that place of the cycle, with `pool` the best so far and that budget left: what it found, best first."""
        if self.wide and place % HYPERPLANE_CYCLE < HYPERPLANE_ROUNDS[self.n_units <= self.samples.d + self.bias]:
            what, width = "hyperplanes", self.wide
            ranked, work, starts = self._hyperplanes(budget)
        elif self.activation.degree is None:
            return self._shrunk(place % SMOOTH_CYCLE, pool, budget)
        elif pool is None or not (self.wide or place % REFRESH):
            what, epoch = "fresh", place // REFRESH
            width = _width(self.samples, self.n_units, self.activation, epoch, self.bias)
            spread = self.bias * (math.sqrt(self.samples.d) if epoch % 2 else 1.0)
            batch = random_students(self.samples.d, width, self.starts, self.activation, bias=spread, rng=self.rng)
            batch = _affordable(batch, budget, self._weight(width))
            starts = batch.shape[1]
            ranked, work = self._fresh(batch, budget)
        else:
            batch = perturbed(self.samples, pool.students, bias=self.bias, rng=self.rng)
            batch = _affordable(batch, budget, 1.0)
            what, width, starts = "reheated", self.n_units, batch.shape[1]
            ranked, work = self._anneal(batch, budget, reheating=True)
        return Attempt(what, width, starts, work, float(ranked.risks[0])), ranked

    def _shrunk(self, turn: int, pool: _Ranked | None, budget: Budget) -> tuple[Attempt, _Ranked]:
        """Under falling ridges: fresh starts from large ones, from small ones, then the pool with some units small again."""
        d, k, size = self.samples.d, self.n_units, math.sqrt(2 * self.energy)
        if turn == SMOOTH_CYCLE - 1 and pool is not None:
            what, batch = "reheated", shaken(pool.students, self.starts, bias=self.bias, size=size, rng=self.rng)
        else:
            what = "fresh"
            batch = small_students(d, k, self.starts, self.activation, bias=self.bias, size=size, rng=self.rng)
        batch, ridges = _affordable(batch, budget, 1.0), COOL if turn else WARM
        fit, work = shrunk(self.samples, batch, ridges, free=self.free, energy=self.energy, budget=budget)
        ranked = _Ranked.of(fit.students, fit.risks)
        return Attempt(what, k, batch.shape[1], work, float(ranked.risks[0])), ranked

    def _weight(self, width: int) -> float:
        """Work of a step of one start that is wider than asked."""
        return (width / self.n_units) ** 2

    def _hyperplanes(self, budget: Budget) -> tuple[_Ranked, float, int]:
        found = hyperplanes(
            self.samples, self.n_units, self.wide, self.activation,
            free=self.free, energy=self.energy, budget=budget, rng=self.rng,
        )  # fmt: skip
        return _Ranked(Students.of(found.network), np.array([found.risk])), found.work, found.starts

    def _fresh(self, batch: Students, budget: Budget) -> tuple[_Ranked, float]:
        """Random starts, pruned where they are wider than asked."""
        ranked, work = self._anneal(batch, budget, reheating=False)
        if batch.shape[2] == self.n_units:
            return ranked, work
        ranked, spent = self._pruned(ranked, budget.less(work))
        return ranked, work + spent

    def _anneal(self, students: Students, budget: Budget, *, reheating: bool) -> tuple[_Ranked, float]:
        """The batch through all stages; fresh starts race: the worse half is dropped on the way."""
        work, damping, weight = 0.0, 0.1 if reheating else 1.0, self._weight(students.shape[2])
        stages = annealing(self.activation, reheating=reheating)
        for number, stage in enumerate(stages):
            last = number == len(stages) - 1
            steps = LAST_STEPS if last else REHEAT_STEPS if reheating else SOFT_STEPS
            fit = gauss_newton(
                self.samples,
                replace(students, activation=stage.activation),
                free=self.free,
                iterations=budget.steps(steps, work, starts=weight * students.shape[1]),
                tol=REHEATED_SLOW if last and reheating else 1e-9,
                unit=stage.unit,
                damping=0.01 if last else damping,
                first=last,
                deadline=budget.deadline,
            )
            work += weight * fit.iterations * students.shape[1]
            students = fit.students
            if not reheating and number == RACE_AFTER and students.shape[1] > 3:
                students = students.take(np.argsort(fit.risks)[: (students.shape[1] + 1) // 2])
        return _Ranked.of(students, fit.risks), work

    def _pruned(self, ranked: _Ranked, budget: Budget) -> tuple[_Ranked, float]:
        """The best wide student at the asked width: an exact one consolidated, another narrowed whatever that costs."""
        samples, free, students = self.samples, self.free, ranked.first(1).students
        unit = students.activation.degree is not None
        options: dict[str, Any] = {"free": free, "damping": 1e-3, "unit": unit, "deadline": budget.deadline}
        weight = self._weight(students.shape[2])
        wide = gauss_newton(samples, students, iterations=budget.steps(WIDE_STEPS, starts=weight), **options)
        work = weight * wide.iterations
        network = consolidate(wide.network, offset="c" in free)
        if network is None or network.n_units > self.n_units:
            narrow = narrowed(samples, wide.students, self.n_units, free=free, energy=self.energy, budget=budget.less(work))
            network, work = narrow.students.network(0), work + narrow.work
        fit = gauss_newton(samples, network, iterations=budget.steps(LAST_STEPS, work), **options)
        return _Ranked(fit.students, fit.risks), work + fit.iterations


@dataclass(frozen=True, eq=False)
class _Ranked:
    """Students in the order of their risks."""

    students: Students
    risks: np.ndarray

    @classmethod
    def of(cls, students: Students, risks: np.ndarray) -> _Ranked:
        order = np.argsort(risks, kind="stable")
        return cls(students.on_host().take(order), risks[order])

    def first(self, count: int) -> _Ranked:
        return _Ranked(self.students.on_host().take(np.arange(min(count, len(self.risks)))), self.risks[:count])

    def with_(self, other: _Ranked) -> _Ranked:
        return _Ranked.of(self.students.joined(other.students), np.concatenate([self.risks, other.risks]))


def _affordable(batch: Students, budget: Budget, weight: float) -> Students:
    """As many of the starts, one at least, as the work left brings to their end."""
    most = max(1.0, budget.max_work / (weight * START_STEPS))
    return batch if most >= batch.shape[1] else batch.take(np.arange(int(most)))


def _ending(attempts: tuple[Attempt, ...], rounding: float, budget: Budget) -> Ending | None:
    """Why the round was the last one, if it was."""
    if _same_minimum(attempts, rounding):
        return Ending.SAME_MINIMUM
    if budget.late():
        return Ending.TIME_SPENT
    idle = not attempts[-1].work  # not one step of the batch was left
    if idle or budget.spent(sum(a.work for a in attempts)):
        return Ending.WORK_SPENT
    return Ending.STALLED if _work_without_fall(attempts) >= budget.patience else None


def _work_without_fall(attempts: tuple[Attempt, ...]) -> float:
    """Since the round that last halved the best risk."""
    level, idle = math.inf, 0.0
    for attempt in attempts:
        level, idle = (attempt.risk, 0.0) if attempt.risk < level / 2 else (level, idle + attempt.work)
    return idle


def _same_minimum(attempts: tuple[Attempt, ...], rounding: float) -> bool:
    """Whether the best of all rounds was reached by two fresh batches independently; exact fits are one minimum."""
    best = min(a.risk for a in attempts)
    return sum(a.what != "reheated" and a.risk <= max(best * (1 + SAME_RISK), rounding) for a in attempts) >= 2


def _energy(samples: Samples, activation: Activation) -> float:
    """½ E y²: the risk of a network that is zero."""
    zero = random_students(samples.d, 1, 1, activation, bias=0.0, rng=np.random.default_rng(0))
    return float(to_numpy(samples.mean(Risk(replace(zero, a=np.zeros((1, 1)))))[0])[0])


def _batch_size(samples: Samples, n_units: int, activation: Activation, bias: bool) -> int:
    """More starts the fewer rows there are a parameter; under a ridge one in four succeeds even there."""
    ratio = samples.n / (n_units * _inputs(samples, activation, bias))
    most = 32 if activation.degree else 16
    return 8 if ratio >= 2.2 else 16 if ratio >= 1.7 else most


def _width(samples: Samples, n_units: int, activation: Activation, epoch: int, bias: bool) -> int:
    """The asked width, or a little more, as far as the rows determine it."""
    allowed = int(samples.n / (1.25 * _inputs(samples, activation, bias)))
    wanted = n_units + EXTRA_UNITS[epoch % len(EXTRA_UNITS)]
    if n_units >= 8 and allowed >= 2.5 * n_units:
        wanted = math.ceil(WIDE_FIRST * n_units) + EXTRA_UNITS[epoch % len(EXTRA_UNITS)]
    return max(n_units, min(wanted, allowed))


def _inputs(samples: Samples, activation: Activation, bias: bool) -> int:
    """Parameters a unit has."""
    return parameters_of_shape(samples.d, 1, activation, bias=bias)
