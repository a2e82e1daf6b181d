"""Other routes through the demo's rows, for its picture and its table: each is one of the package's own algorithms.

    Gauss–Newton, tensor start       the default moments [zhong2017, Alg. 1, improved], then least squares
    gradient descent, tensor start   the same start, η = 1/λmax(JᵀJ), output weights fixed  [zhong2017, Alg. 2]
    zhong2017, Algorithms 1 and 2    the literal moments, then the same descent on all rows, as in the paper's §7
    Gauss–Newton, random starts      Gaussian weights [zhong2017, Fig. 1(c)], a batch of them

They see the truth only to be measured against it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weightlift.cli.limits import LIMITS
from weightlift.errors import WeightliftError
from weightlift.initialization import gaussian_init, tensor_init
from weightlift.matching import match
from weightlift.network import Network
from weightlift.refinement import gauss_newton, gradient_descent
from weightlift.risk import Students
from weightlift.samples import Samples
from weightlift.samples import open as open_samples
from weightlift.threads import limited


@dataclass(frozen=True, eq=False)
class Route:
    """Where it ended, and the relative risk E r² / E y² before every step."""

    name: str
    risks: np.ndarray  # (T + 1, S) of S starts
    errors: np.ndarray  # (S,) largest relative error of a unit, at the end
    tolerance: float  # the largest that counts as recovered

    @property
    def recovered(self) -> np.ndarray:
        return np.asarray(self.errors <= self.tolerance)

    @property
    def best(self) -> int:
        """The start with the least risk."""
        return int(np.argmin(self.risks[-1]))


def compare(X: np.ndarray, y: np.ndarray, truth: Network, *, tolerance: float, rng: np.random.Generator) -> tuple[Route, ...]:
    """The routes that φ and the number of rows allow."""
    samples = open_samples(X, y)
    with limited(1), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        runs = [*_from_moments(samples, truth, rng), *_from_random(samples, truth, rng)]
    size = float(np.mean(y**2)) / 2
    return tuple(
        Route(name, risks / size, np.array([match(network, truth).max_error for network in networks]), tolerance)
        for name, risks, networks in runs
    )


Curve = tuple[str, np.ndarray, list[Network]]


def _from_moments(samples: Samples, truth: Network, rng: np.random.Generator) -> list[Curve]:
    runs: list[Curve] = []
    k, phi = truth.n_units, truth.activation
    try:
        start = tensor_init(samples, k, phi, rng=rng).network
        if steps := _steps(samples, truth, 1):
            fit = gauss_newton(samples, start, free="Wa", iterations=steps, tol=1e-12, unit=bool(phi.degree))
            runs.append(("Gauss–Newton, tensor start", fit.history, [fit.network]))
        runs.append(_descent("gradient descent, tensor start", samples, start))
        paper = tensor_init(samples, k, phi, preset="paper", rng=rng).network
        runs.append(_descent("zhong2017, Algorithms 1 and 2", samples, paper))
    except WeightliftError:
        pass  # φ without the moments, or too few rows for them
    return runs


def _from_random(samples: Samples, truth: Network, rng: np.random.Generator) -> list[Curve]:
    phi, steps = truth.activation, _steps(samples, truth, LIMITS.random_starts)
    if not steps:
        return []
    starts = Students.of(*(gaussian_init(truth.n_inputs, truth.n_units, phi, rng=rng) for _ in range(LIMITS.random_starts)))
    fit = gauss_newton(samples, starts, free="Wa", iterations=steps, unit=bool(phi.degree))
    return [("Gauss–Newton, random starts", fit.history, [fit.students.network(i) for i in range(LIMITS.random_starts)])]


def _descent(name: str, samples: Samples, start: Network) -> Curve:
    descent = gradient_descent(samples, start, iterations=LIMITS.descent_steps)
    return name, descent.risks[:, None], [descent.network]


def _steps(samples: Samples, truth: Network, starts: int) -> int:
    """Gauss–Newton steps that `MAX_FLOPS` allow, 0 if they are too few to tell, or the rows are too few for least squares.

    A step costs n p² for the normal equations of p parameters, and 2p³/3 for each of three dampings.
    """
    p = truth.n_units * (truth.n_inputs + 1)
    steps = min(LIMITS.newton_steps, int(LIMITS.flops / (starts * (samples.n * p**2 + 2 * p**3))))
    return steps if steps >= 20 and samples.n > p else 0
