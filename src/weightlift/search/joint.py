"""Search for a network of several outputs or with a linear part: annealed batches of starts by variable projection.

Round   as in `expand_prune`: a batch of random hidden layers descends on a softened φ that is sharpened in stages, half of them
        dropped on the way; the best are shaken and reheated, now and then fresh ones join. What is linear is projected out.
        Units of a kinked φ are sought by one wide layer before: `joint_wide`.
Stop    when the caller is content, when fresh batches keep ending in the same minimum, or when the budget is spent.
Work    is counted in steps of one start.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from weightlift.activations import Activation
from weightlift.namespaces import array_namespace, to_numpy
from weightlift.refinement.gauss_newton import NEAR_ROUNDING
from weightlift.refinement.variable_projection import Hidden, JointFit, Model, output_losses, variable_projection
from weightlift.samples import Block, Residual, Samples, Sums
from weightlift.search.annealing import annealing, softened
from weightlift.search.budget import Budget
from weightlift.search.expand_prune import (
    LAST_STEPS,
    RACE_AFTER,
    REHEAT_STEPS,
    SAME_RISK,
    SOFT_STEPS,
    Attempt,
    Candidate,
    Ending,
)
from weightlift.search.joint_wide import wide_enough, wide_start
from weightlift.search.starts import PERTURBATION


@dataclass(frozen=True)
class Limits:
    most_starts: int = 32  # of a batch, as `expand_prune` where rows are fewest
    step_flops: float = 2e9  # of all starts of a batch in one step: a second or less
    given_up: float = 2.0  # of the risk, that a unit may cost and be given up
    seeds: int = 16  # starts of a unit that takes its place
    sharp: tuple[float, ...] = (0.05, 0.02, 0.01, 0.005)  # temperatures: z of rows beside a kink are a few hundredths
    sharp_steps: int = 20  # at each of them


LIMITS = Limits()


@dataclass(frozen=True)
class JointCandidate(Candidate):
    """The best so far, and the survivors of the rounds since the last fresh batch, least risk first."""

    survivors: tuple[tuple[float, Hidden], ...] = ()

    def found_again(self, but: tuple[float, ...]) -> tuple[float, Hidden] | None:
        """The deepest minimum that two survivors share, other than those of the risks `but`."""
        for (risk, hidden), (other, _) in itertools.pairwise(self.survivors):
            if other <= (1 + SAME_RISK) * risk and all(abs(risk - known) > SAME_RISK * known for known in but):
                return risk, hidden
        return None


def joint_candidates(
    samples: Samples,
    n_units: int,
    activation: Activation,
    model: Model,
    *,
    budget: Budget,
    rng: np.random.Generator,
) -> Iterator[JointCandidate]:
    """One candidate a round, the last with its `ending`, as `candidates` gives them, and the minima of all survivors."""
    starts, until = _batch_size(samples, n_units, model), budget.deadline
    energy, wide = _energy(samples), wide_enough(samples, n_units, activation, model)
    attempts: tuple[Attempt, ...] = ()
    best: JointFit | None = None
    pool: list[tuple[float, Hidden]] = []
    for epoch, what in _rounds(wide > 0, starts, activation):
        spread = model.bias * (math.sqrt(samples.d) if epoch % 2 else 1.0)
        if what == "wide":
            start = _random(samples.d, wide, 1, activation, spread, rng)
            pool, (fit, work) = [], wide_start(samples, start, n_units, model, energy, until)
        elif what == "fresh":
            batch = _random(samples.d, n_units, starts, activation, spread, rng)
            pool, (fit, work) = pool if wide else [], _anneal(samples, batch, activation, model, until, reheating=False)
        elif what == "reseeded":
            fit, work = _reseeded(samples, pool[0][1], model, until, rng)
        elif what == "sharpened":
            fit, work = _sharpened(samples, pool[0][1], activation, model, until)
        else:
            batch = _shaken([hidden for _, hidden in pool], model, rng)
            fit, work = _anneal(samples, batch, activation, model, until, reheating=True)
        attempts += (Attempt(what, n_units, len(fit.risks), work, float(fit.risks.min())),)
        pool += [(float(risk), fit.hidden.take(np.array([s]))) for s, risk in enumerate(fit.risks)]
        pool = sorted(pool, key=lambda found: found[0])[: max(1, starts // 4)]
        improved = best is None or bool(fit.risks.min() < (1 - SAME_RISK) * best.risks.min())
        best = fit if best is None or improved else best
        ending = _ending(attempts, NEAR_ROUNDING * energy, budget)
        yield JointCandidate(best.network, float(best.risks.min()), improved, attempts, ending, tuple(pool))
        if ending is not None:
            return


def _rounds(wide: bool, starts: int, activation: Activation) -> Iterator[tuple[int, str]]:
    """Epochs of a wide start, a batch of narrow ones unless one is all that a step may cost, and rounds on the best."""
    first = ("wide",) if wide and starts == 1 else ("wide", "fresh") if wide else ("fresh",)
    again = "sharpened" if activation.kinks and activation.degree else "reheated"
    for epoch in itertools.count():
        for what in (*first, "reseeded", again, "reseeded", "reheated", "reseeded"):
            yield epoch, what


def _ending(attempts: tuple[Attempt, ...], rounding: float, budget: Budget) -> Ending | None:
    """Two fresh batches, or wide starts without one, in the best minimum of all, or nothing left to spend."""
    least = min(a.risk for a in attempts) * (1 + SAME_RISK)
    fresh = "fresh" if any(a.what == "fresh" for a in attempts) else "wide"
    if sum(a.what == fresh and a.risk <= max(least, rounding) for a in attempts) >= 2:
        return Ending.SAME_MINIMUM
    if budget.late():
        return Ending.TIME_SPENT
    return Ending.WORK_SPENT if budget.spent(sum(a.work for a in attempts)) else None


def _batch_size(samples: Samples, n_units: int, model: Model) -> int:
    """As many starts as a step may cost: solving (qk)³/3 for three dampings, and the pairs of every row."""
    q, k = model.inputs(samples.d), n_units
    flops = (q * k) ** 3 + samples.n * q * q * k * k / 2
    return int(min(LIMITS.most_starts, max(1, LIMITS.step_flops / flops)))


def _random(d: int, k: int, count: int, activation: Activation, spread: float, rng: np.random.Generator) -> Hidden:
    return Hidden(rng.normal(size=(d, count, k)), spread * rng.normal(size=(count, k)), activation)


def _shaken(pool: list[Hidden], model: Model, rng: np.random.Generator) -> Hidden:
    """Each survivor with all units shaken."""
    W = np.concatenate([to_numpy(hidden.W) for hidden in pool], axis=1)
    b = np.concatenate([to_numpy(hidden.b) for hidden in pool])
    length = np.sqrt(np.sum(W**2, axis=0) + b**2)
    length = np.where(length > 0, length, 1.0)
    W, b = W / length, b / length
    size = rng.uniform(*PERTURBATION, size=(len(b), 1)) / math.sqrt(len(W))
    return Hidden(W + size * rng.normal(size=W.shape), b + model.bias * size * rng.normal(size=b.shape), pool[0].activation)


def _reseeded(
    samples: Samples, hidden: Hidden, model: Model, until: float, rng: np.random.Generator
) -> tuple[JointFit, float]:
    """The least useful units of a survivor replaced, one by one, by units fitted to what the others leave over.

    Units whose absence costs less than twice the risk itself are given up, at least one and at most a third.
    """
    fit = variable_projection(samples, hidden, model, iterations=0)
    loss, k = output_losses(samples, fit.network, model), hidden.shape[2]
    order = np.argsort(loss)
    count = int(np.clip(np.count_nonzero(loss < LIMITS.given_up * fit.risks[0]), 1, max(1, k // 3)))
    kept = np.sort(order[count:])
    W, b, work = to_numpy(hidden.W)[:, :, kept], to_numpy(hidden.b)[:, kept], 0.0
    for _ in range(count):
        others = variable_projection(samples, Hidden(W, b, hidden.activation), model, iterations=0)
        rest = samples.map(Residual(others.network.predict)).persist()
        seeds = _random(samples.d, 1, LIMITS.seeds, hidden.activation, float(model.bias), rng)
        alone = replace(model, linear=False, offset=False)
        unit, steps = _anneal(rest, seeds, hidden.activation, alone, until, reheating=False)
        found = unit.hidden.take(np.array([unit.best]))
        W, b = np.concatenate([W, to_numpy(found.W)], axis=2), np.concatenate([b, to_numpy(found.b)], axis=1)
        work += steps / k**2
    unit_length = hidden.activation.degree is not None
    fit = variable_projection(
        samples, Hidden(W, b, hidden.activation), model,
        iterations=LAST_STEPS, damping=0.01, unit=unit_length, deadline=until,
    )  # fmt: skip
    return fit, work + fit.iterations


def _sharpened(
    samples: Samples, hidden: Hidden, activation: Activation, model: Model, until: float
) -> tuple[JointFit, float]:
    """A survivor through φ with a kink so little rounded that only rows beside it feel it.

    A unit that few rows switch on may end with one of them on its wrong side, where no derivative sees it.
    """
    work = 0.0
    for temperature in LIMITS.sharp:
        stage = replace(hidden, activation=softened(activation, temperature))
        fit = variable_projection(
            samples, stage, model, iterations=LIMITS.sharp_steps, damping=1e-3, unit=True, deadline=until
        )
        hidden, work = fit.hidden, work + fit.iterations
    fit = variable_projection(
        samples, replace(hidden, activation=activation), model,
        iterations=LAST_STEPS, damping=1e-3, unit=True, deadline=until,
    )  # fmt: skip
    return fit, work + fit.iterations


def _anneal(
    samples: Samples, hidden: Hidden, activation: Activation, model: Model, until: float, *, reheating: bool
) -> tuple[JointFit, float]:
    """The batch through all stages; fresh starts race: the worse half is dropped on the way."""
    work, damping = 0.0, 0.1 if reheating else 1.0
    stages = annealing(activation, reheating=reheating)
    for number, stage in enumerate(stages):
        last = number == len(stages) - 1
        if last and not stage.unit:
            hidden = replace(hidden, W=hidden.W * stages[-2].gain, b=hidden.b * stages[-2].gain)
        steps = LAST_STEPS if last else REHEAT_STEPS if reheating else SOFT_STEPS
        fit = variable_projection(
            samples,
            replace(hidden, activation=stage.activation),
            model,
            iterations=steps,
            unit=stage.unit,
            damping=0.01 if last else damping,
            first=last,
            deadline=until,
        )
        work += fit.iterations * hidden.shape[1]
        hidden = fit.hidden
        if not reheating and number == RACE_AFTER and hidden.shape[1] > 3:
            hidden = hidden.take(np.argsort(fit.risks)[: (hidden.shape[1] + 1) // 2])
    return fit, work


def _energy(samples: Samples) -> float:
    return 0.5 * float(to_numpy(samples.mean(_Squares())[0]))


@dataclass(frozen=True)
class _Squares:
    """Σ w ‖y‖²."""

    floats_per_row: int = 1

    def __call__(self, block: Block) -> Sums:
        xp = array_namespace(block.y)
        squares = block.y * block.y if block.y.ndim == 1 else xp.sum(block.y * block.y, axis=1)
        return (xp.sum(squares if block.w is None else block.w * squares),)
