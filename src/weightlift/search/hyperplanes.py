"""Hyperplanes first, signs last: a wide student beside a free linear function, narrowed to the asked width.

Model   φ homogeneous of degree 1 with φ(−z) = φ(z) + p₁ z (ReLU, leaky ReLU, |z|): a unit and its reflection differ by a linear
        function, so with x̃ = (x, 1), or x without biases,

            f(x) = Σᵢ gᵢ φ(⟨vᵢ, x̃⟩) + ⟨ℓ, x̃⟩

        asks for hyperplanes vᵢ, whichever way they face, and jumps gᵢ. No start can have too few units of one sign.
Fit     1.5 to 2k units beside ⟨ℓ, x̃⟩, annealed: so many that the descent seldom ends anywhere but at zero, so few that the rows
        still determine them. ⟨ℓ, x̃⟩ is the student's last unit, with φ(z) = z.
Narrow  what is not needed costs nothing, and units on one hyperplane are one: `narrowing`.
Signs   reflecting the units of F adds −p₁ Σ_F gᵢ vᵢ to ℓ: the F that leaves nothing, a subset sum; more units than inputs are
        no obstacle.
Cost    some 40 steps of a student of 2k units, four times those of one of k; the narrowing as much again, or less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from weightlift.activations import Activation
from weightlift.namespaces import Array, array_namespace
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
    width: float = 1.5  # students a unit; chosen at k = 16, d = 30, on few seeds
    overcomplete: float = 2.0  # … with more units than inputs: at 1.5 one start in three ended above zero (d = 10, k = 15)
    rows: float = 1.25  # a parameter of the student; with fewer it interpolates, and there is nothing to narrow
    least: float = 1.2  # width, in units, from which a start is worth its cost
    units: int = 6  # … and units: fewer are found sooner by a batch of narrow starts
    temperatures: tuple[float, ...] = (1.0, 0.5, 0.22, 0.11, 0.05)  # of softened kinks, each about half of the last
    soft_steps: int = 25  # at most; fewer where
    soft_slow: float = 0.1  # … a step gains less than this share of the risk; 0.03 led to the same places
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


def wide_enough(samples: Samples, n_units: int, activation: Activation, *, bias: bool) -> int:
    """The student's width; 0 where φ is not of this kind, or rows are too few."""
    reflection = activation.reflection
    if activation.degree != 1 or reflection is None or reflection[0] != 1:
        return 0
    inputs = samples.d + bias
    allowed = int(samples.n / (LIMITS.rows * inputs)) - 1
    wanted = LIMITS.width if n_units <= inputs else LIMITS.overcomplete
    width = min(math.ceil(wanted * n_units), allowed)
    return width if n_units >= min(LIMITS.units, inputs + 1) and width >= LIMITS.least * n_units else 0


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
    """One start, to the end, or to that of the budget; the linear function takes up c where there are biases."""
    bias, offset = "b" in free, "c" in free
    free = "Wa" + "b" * bias + "c" * (offset and not bias)
    students = random_students(samples.d, width + 1, 1, activation, bias=float(bias), rng=rng)
    work, weight, until = 0.0, (width / n_units) ** 2, budget.deadline
    for temperature in LIMITS.temperatures:
        soft = replace(students, activation=beside_line(softened(activation, temperature)))
        steps = budget.steps(LIMITS.soft_steps, work, starts=weight)
        fit = gauss_newton(samples, soft, free=free, iterations=steps, tol=LIMITS.soft_slow, unit=True, deadline=until)
        students, work = fit.students, work + fit.iterations * weight
    sharp = replace(students, activation=beside_line(activation))
    steps = budget.steps(LIMITS.sharp_steps, work, starts=weight)
    fit = gauss_newton(
        samples, sharp, free=free, iterations=steps, tol=LIMITS.slow, unit=True, damping=0.01, deadline=until
    )
    work += fit.iterations * weight
    narrow = narrowed(samples, fit.students, n_units, free=free, energy=energy, kept=1, budget=budget.less(work))
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
    return Hyperplanes(last.network, float(last.risks[0]), work + last.iterations)


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
