"""Small starts under a ridge that falls to zero: for φ that is not homogeneous, whose units have lengths of their own.

Fit     ½ E r² + ½ ρ ε Σᵢ (‖wᵢ‖² + bᵢ² + aᵢ²/2ε),   ε = ½ E y²,   ρ falling in stages, the last at 0; inputs of unit spread, so
        that neither the inputs' units nor the target's matter. Under the first ridges few units are worth their cost, and all
        starts are led to the same ones; each that follows lets further units grow from where those leave a residual.
Race    once units have grown, the starts that found the right ones stand out: the worse half goes after every stage.
Warm    from a large ρ: of random starts one in four ends at the network at 1.5 rows a parameter, where one in five hundred does
        without (tanh, d = 20, k = 5).
Cool    from a small one, for inputs that are nearly collinear and φ whose first units mislead all starts alike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from weightlift.activations import Activation
from weightlift.refinement import Refinement, gauss_newton
from weightlift.refinement.normal_equations import Free
from weightlift.risk import Students
from weightlift.samples import Samples
from weightlift.search.budget import UNBOUNDED, Budget

WARM = (3e-2, 1e-2, 3e-3, 1e-3, 1e-4, 1e-5)
COOL = (1e-5, 1e-6)


@dataclass(frozen=True)
class Limits:
    length: float = 0.3  # of (w, b) at the start; at 1 half as many starts succeeded
    output: float = 0.5  # root mean squares of y that a is at the start; 1 and ¼ were worse on nearly collinear inputs
    shake: tuple[float, float] = (0.1, 0.7)  # of a unit's length, that a reheated one is moved by
    race: float = 1e-3  # ρ from which on units have grown
    least: int = 2  # starts that are kept to the end
    steps: int = 15  # a stage; 10 and 20 did as well
    last_steps: int = 60  # at most, without a ridge
    slow: float = 1e-3  # of the penalised risk: a step that gains less leaves the rest to the next stage


LIMITS = Limits()


def small_students(
    n_inputs: int, n_units: int, count: int, activation: Activation, *, bias: bool, size: float, rng: np.random.Generator
) -> Students:
    """Gaussian units of small length, output weights of either sign, for a target of root mean square `size`."""
    W = LIMITS.length / math.sqrt(n_inputs) * rng.normal(size=(n_inputs, count, n_units))
    b = bias * LIMITS.length * rng.normal(size=(count, n_units))
    a = LIMITS.output * size * rng.choice([-1.0, 1.0], size=(count, n_units))
    return Students(W, a, b, np.zeros(count), activation)


def shaken(pool: Students, count: int, *, bias: bool, size: float, rng: np.random.Generator) -> Students:
    """So many copies of the pool's members in turn: half with all units moved, half with some replaced by small ones."""
    d, S, k = pool.shape
    copies = pool.on_host().take(np.arange(count) % S)
    W, a, b = copies.W, copies.a, copies.b
    length = np.sqrt(np.sum(W**2, axis=0) + b**2) * rng.uniform(*LIMITS.shake, size=(count, 1))
    fresh = small_students(d, k, count, pool.activation, bias=bias, size=size, rng=rng)
    moved = np.arange(count)[:, None] // S % 2 == 0
    replaced = ~moved & (rng.random((count, k)) < rng.integers(1, max(2, k // 3 + 1), size=(count, 1)) / k)
    W = W + moved * length / math.sqrt(d) * rng.normal(size=W.shape)
    b = b + bias * moved * length / math.sqrt(d) * rng.normal(size=b.shape)
    return replace(
        copies, W=np.where(replaced, fresh.W, W), b=np.where(replaced, fresh.b, b), a=np.where(replaced, fresh.a, a)
    )


def shrunk(
    samples: Samples,
    students: Students,
    ridges: tuple[float, ...],
    *,
    free: str,
    energy: float,
    budget: Budget = UNBOUNDED,
) -> tuple[Refinement, float]:
    """The survivors of a batch at ρ = 0, and the work in steps of one start. energy: ε = ½ E y².

    >>> import weightlift as wl
    >>> truth = wl.teachers.conditioned(6, 2, activation="tanh", rng=0)
    >>> X, y = wl.draw(truth, 40, rng=0)
    >>> starts = small_students(6, 2, 4, truth.activation, bias=False, size=1.0, rng=np.random.default_rng(0))
    >>> fit, work = shrunk(wl.samples.open(X, y), starts, WARM, free="Wa", energy=0.5 * np.mean(y**2))
    >>> fit.network.equivalent(truth)
    True
    """
    work, weights = 0.0, _weights(students, free, energy)
    for ridge in (*ridges, 0.0):
        S = students.shape[1]
        fit = gauss_newton(
            samples,
            students,
            free=free,
            iterations=budget.steps(LIMITS.steps if ridge else LIMITS.last_steps, work, starts=S),
            tol=LIMITS.slow if ridge else 1e-9,
            ridge=ridge * weights,
            first=not ridge,
            deadline=budget.deadline,
        )
        work, students = work + fit.iterations * S, fit.students
        if 0.0 < ridge <= LIMITS.race:
            students = students.take(np.argsort(fit.risks, kind="stable")[: max(LIMITS.least, S // 2)])
    return fit, work


def _weights(students: Students, free: str, energy: float) -> np.ndarray:
    """(p,) by ρ the ridge of every free parameter; c has none."""
    d, _, k = students.shape
    units, outputs = np.full((d, 1, k), energy), np.full((1, k), 0.5)
    return np.asarray(Free.of(free).pack(Students(units, outputs, units[0], np.zeros(1), students.activation))[0])
