"""Hyperplanes first, signs last: a wide student beside a free linear function, narrowed to the asked width.

Model   φ homogeneous of degree 1 with φ(−z) = φ(z) + p₁ z (ReLU, leaky ReLU, |z|): a unit and its reflection differ by a linear
        function, so with x̃ = (x, 1), or x without biases,

            f(x) = Σᵢ gᵢ φ(⟨vᵢ, x̃⟩) + ⟨ℓ, x̃⟩

        asks for hyperplanes vᵢ, whichever way they face, and jumps gᵢ. No start can have too few units of one sign.
Fit     a few units more than k beside ⟨ℓ, x̃⟩, 2k where k > d, annealed: so many that the descent seldom ends anywhere but at
        zero, so few that the rows still determine them. ⟨ℓ, x̃⟩ is the student's last unit, with φ(z) = z. It takes half of the
        target's energy away from the descent: of thirty units at three rows a parameter (d = 60) none of 32 starts of k units
        finds them without it, and six beside it.
Narrow  what is not needed costs nothing, and units on one hyperplane are one: `narrowing`.
Signs   reflecting the units of F adds −p₁ Σ_F gᵢ vᵢ to ℓ: the F that leaves nothing, a subset sum; more units than inputs are
        no obstacle.
Batch   on an accelerator several starts side by side, which take little longer than one: the worse half is dropped when the
        kinks have sharpened half way, the best is narrowed.
Cost    some 40 steps of a student of up to 2k units, four times those of one of k; the narrowing as much again, or less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from weightlift.activations import Activation
from weightlift.namespaces import Array, array_namespace, on_host
from weightlift.network import Network
from weightlift.refinement import AffineNetwork, gauss_newton
from weightlift.refinement.up_to_signs import signed
from weightlift.risk import Students
from weightlift.samples import Samples
from weightlift.search.annealing import softened
from weightlift.search.budget import UNBOUNDED, Budget
from weightlift.search.narrowing import narrowed
from weightlift.search.starts import random_students


@dataclass(frozen=True)
class Limits:
    width: float = 1.25  # students a unit, where rows are many: at 6 rows a parameter 34 of 34 starts find 16 units (d = 30)
    overcomplete: float = 2.0  # … with more units than inputs: at 1.5 one start in three ended above zero (d = 10, k = 15)
    rows: float = 3.5  # a parameter of the student, for more than k units: at 3 rows a parameter of the network four of nine
    # students of k units find all 24 (d = 40), in 5 s each, and five of 16 wider ones, in 14 s
    fewest: float = 2.2  # rows a parameter: at 2.4 15 of 40 students of k units find all 16, at 1.9 one of 40
    overcomplete_rows: float = 1.25  # of the student, with more units than inputs; with fewer it interpolates
    least: float = 1.2  # its width then, in units, from which a start is worth its cost
    units: int = 6  # … and units: fewer are found sooner by a batch of narrow starts
    temperatures: tuple[float, ...] = (1.0, 0.5, 0.22, 0.11, 0.05)  # of softened kinks, each about half of the last
    race: int = 3  # temperatures after which the worse half of the starts is dropped
    batch: float = 5e8  # entries of JᵀJ of all starts of a batch on an accelerator: with their factors forty gigabytes …
    starts: int = 8  # … and starts at most: more are seldom needed
    soft: tuple[int, float] = (10, 1e-3)  # steps at most, fewer where one gains less than this share of the risk: with 25 and
    # 0.1 29 of 40 starts found 16 units, not 34 of 37, and none of six 24
    overcomplete_soft: tuple[int, float] = (25, 0.1)  # … with more units than inputs, where the same ones find all in less time
    sharp_steps: int = 40  # at most, with the kinks themselves
    slow: float = 0.05  # of the risk: a step that gains less leaves the rest to the narrowing
    last_steps: int = 30  # at most, of what the narrowing leaves


LIMITS = Limits()


@dataclass(frozen=True, eq=False)
class Hyperplanes:
    """A network of the asked width, its risk ½ E r², and the work in steps of one start of that width."""

    network: Network
    risk: float
    work: float
    starts: int


def wide_enough(samples: Samples, n_units: int, activation: Activation, *, bias: bool) -> int:
    """The student's width; 0 where φ is not of this kind, or rows are too few."""
    reflection = activation.reflection
    if activation.degree != 1 or reflection is None or reflection[0] != 1:
        return 0
    inputs = samples.d + bias
    if n_units < min(LIMITS.units, inputs + 1):
        return 0
    if n_units <= inputs:
        allowed = int(samples.n / (LIMITS.rows * inputs)) - 1
        wide = max(n_units, min(math.ceil(LIMITS.width * n_units), allowed))
        return wide if samples.n >= LIMITS.fewest * n_units * inputs else 0
    width = min(math.ceil(LIMITS.overcomplete * n_units), int(samples.n / (LIMITS.overcomplete_rows * inputs)) - 1)
    return width if width >= LIMITS.least * n_units else 0


def batch_size(samples: Samples, width: int, *, bias: bool) -> int:
    """Starts at once: one on a host, where they would take as long as one after the other."""
    if on_host(samples.device):
        return 1
    return int(min(max(1.0, LIMITS.batch / ((width + 1) * (samples.d + bias)) ** 2), LIMITS.starts))


def hyperplanes(
    samples: Samples,
    n_units: int,
    width: int,
    activation: Activation,
    *,
    free: str,
    energy: float,
    budget: Budget = UNBOUNDED,
    rng: np.random.Generator,
) -> Hyperplanes:
    """The best of a batch, to the end, or to that of the budget; the linear function takes up c where there are biases.

    width  of the students, their linear unit apart
    """
    bias, offset = "b" in free, "c" in free
    free = "Wa" + "b" * bias + "c" * (offset and not bias)
    starts, until = batch_size(samples, width, bias=bias), budget.deadline
    students = random_students(samples.d, width + 1, starts, activation, bias=float(bias), rng=rng)
    soft = LIMITS.soft if n_units <= samples.d + bias else LIMITS.overcomplete_soft
    wide, work = _annealed(samples, students, soft, free, (width / n_units) ** 2, budget)
    narrow = narrowed(samples, wide, n_units, free=free, energy=energy, kept=1, budget=budget.less(work))
    work += narrow.work
    network = _signed(narrow.students.on_host(), activation, offset)
    last = gauss_newton(
        samples,
        network,
        free=free + "c" * (offset and bias),
        iterations=budget.steps(LIMITS.last_steps, work),
        damping=1e-3,
        unit=True,
        deadline=until,
    )
    return Hyperplanes(last.network, float(last.risks[0]), work + last.iterations, starts)


def _annealed(
    samples: Samples, students: Students, soft: tuple[int, float], free: str, weight: float, budget: Budget
) -> tuple[Students, float]:
    """The best of the batch, and the work. soft: steps and tolerance at each temperature; weight: of a step of one start."""
    work, activation = 0.0, students.activation
    options: dict[str, Any] = {"free": free, "unit": True, "line": True, "deadline": budget.deadline}
    for number, temperature in enumerate(LIMITS.temperatures, start=1):
        softer = replace(students, activation=beside_line(softened(activation, temperature)))
        steps = budget.steps(soft[0], work, starts=weight * students.shape[1])
        fit = gauss_newton(samples, softer, iterations=steps, tol=soft[1], **options)
        students, work = fit.students, work + fit.iterations * weight * students.shape[1]
        if number == LIMITS.race:
            students = students.take(np.argsort(fit.risks, kind="stable")[: (students.shape[1] + 1) // 2])
    sharp = replace(students, activation=beside_line(activation))
    steps = budget.steps(LIMITS.sharp_steps, work, starts=weight * students.shape[1])
    fit = gauss_newton(samples, sharp, iterations=steps, tol=LIMITS.slow, damping=0.01, first=True, **options)
    return fit.students.take(np.array([fit.best])), work + fit.iterations * weight * students.shape[1]


def beside_line(activation: Activation) -> Activation:
    """φ for all units but the last, which is linear; degree and reflection are those of φ."""
    return replace(
        activation,
        name=f"{activation.name} beside a linear function",
        value=BesideLine(activation.value),
        derivative=BesideLine(activation.derivative, slope=True),
        degree=activation.degree or 1,
    )


@dataclass(frozen=True)
class BesideLine:
    """φ(z), or φ′(z), of every unit but the last, whose value is z and whose slope is 1."""

    function: object
    slope: bool = False

    def __call__(self, z: Array) -> Array:
        xp, last = array_namespace(z), z[..., -1:]
        return xp.concat([self.function(z[..., :-1]), xp.ones_like(last) if self.slope else last], axis=-1)  # type: ignore[operator]


def _signed(students: Students, activation: Activation, offset: bool) -> Network:
    """The units with the signs that leave nothing of the linear function, or as little as rounding makes of it."""
    W, a, b = students.W[:, 0], students.a[0], students.b[0]
    units = Network(W[:, :-1], a[:-1], b[:-1], float(students.c[0]), activation)
    assert activation.reflection is not None
    slope = -dict(enumerate(activation.reflection[1])).get(1, 0.0)
    if not slope:
        return units
    line = np.append(a[-1] * W[:, -1], a[-1] * b[-1] + units.c) / slope  # what a reflection adds is gᵢ vᵢ then
    network, _, _ = signed(AffineNetwork(units, line[:-1], float(line[-1])), offset=offset)
    if network is not None:
        return replace(network, c=slope * network.c)
    flips = np.linalg.lstsq(np.vstack([units.W, units.b]) * units.a, -line, rcond=1e-9)[0] > 0.5
    sign = np.where(flips, -1.0, 1.0)
    return replace(units, W=units.W * sign, b=units.b * sign)
