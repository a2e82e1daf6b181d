"""What gradient descent without resampling rests on, measured in a ball around the truth  [zhang2019, Lemmas 5.1–5.3].

5.1  ∇²L(W) ≥ μ I with μ = c/(λκ²)                                        for ‖W − W*‖_F ≤ c σ_K/(λκ³K²)
5.2  ∇L is Lipschitz with L = c κK²                                        for ‖W − W*‖_F ≤ σ_K/2
5.3  ‖∇L̂_N(W) − ∇L(W)‖_F ≤ c (d K⁵ log N/N)^{1/2} (‖W*‖_F + ν)             for all W as in 5.1, ν = ‖ε‖_ψ₂

L is the population risk and L̂_N the empirical one. The paper's network is ReLU with output weights 1 and its constants c are
left open; here random W of the ball stand for all of it, so that the measured extremes are bounds from inside.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from weightlift.arguments import generator
from weightlift.errors import ArgumentError
from weightlift.namespaces import to_numpy
from weightlift.network import Network
from weightlift.risk import Gradient, Students
from weightlift.samples import Samples
from weightlift.theory.conditioning import conditioning
from weightlift.theory.local_geometry import population_spectrum
from weightlift.theory.population import population_gradient


@dataclass(frozen=True)
class LocalConstants:
    """Strong convexity μ and smoothness L of the population risk in a ball, and their forms without constants."""

    mu: float  # least eigenvalue of the Hessian that was met
    L: float  # largest one
    mu_form: float  # 1/(λκ²)
    L_form: float  # κK²
    radius: float


@dataclass(frozen=True, eq=False)
class GradientDeviation:
    """‖∇L̂_N(W) − ∇L(W)‖_F at points of a ball, and the form of its bound."""

    values: np.ndarray  # (points,)
    form: float  # (d K⁵ log N/N)^{1/2} (‖W*‖_F + ν)
    radius: float

    @property
    def ratio(self) -> float:
        """The constant that the largest deviation needs."""
        return float(self.values.max() / self.form)


def local_constants(
    teacher: Network, *, radius: float | None = None, points: int = 16, rng: int | np.random.Generator = 0
) -> LocalConstants:
    """μ and L over the truth and random networks at most `radius` away (σ_K/(λκ³K²) unless given).

    teacher  the planted network
    points   random networks in the ball
    rng      a seed or a generator
    """
    c = conditioning(teacher)
    radius = _radius(teacher) if radius is None else radius
    spectra = [population_spectrum(net, teacher) for net in (teacher, *_ball(teacher, radius, points, rng))]
    mu, L = min(s.least for s in spectra), max(s.largest for s in spectra)
    return LocalConstants(mu, L, 1.0 / (c.lambda_ * c.kappa**2), c.kappa * teacher.n_units**2, radius)


def gradient_deviation(
    teacher: Network,
    samples: Samples,
    *,
    noise_norm: float = 0.0,
    radius: float | None = None,
    points: int = 16,
    rng: int | np.random.Generator = 0,
) -> GradientDeviation:
    """How far the gradient on the rows is from the population's, at the truth and at random networks in the ball.

    noise_norm: the sub-Gaussian norm ν of the noise in y, as `Noise.sub_gaussian_norm` gives it.

    teacher  the planted network
    samples  rows, as `samples.open` gives them
    radius   of the ball; that of the theorem unless given
    points   random networks in the ball
    rng      a seed or a generator
    """
    radius = _radius(teacher) if radius is None else radius
    nets = [teacher, *_ball(teacher, radius, points, rng)]
    empirical = to_numpy(samples.mean(Gradient(Students.of(*nets)))[1])  # (d, S, K)
    values = [np.linalg.norm(empirical[:, i] - population_gradient(net, teacher)) for i, net in enumerate(nets)]
    d, K, N = teacher.n_inputs, teacher.n_units, samples.n
    form = math.sqrt(d * K**5 * math.log(N) / N) * (float(np.linalg.norm(teacher.W)) + noise_norm)
    return GradientDeviation(np.array(values), form, radius)


def _radius(teacher: Network) -> float:
    """σ_K/(λκ³K²), the radius of Lemmas 5.1 and 5.3 without its constant."""
    c = conditioning(teacher)
    return c.sigma_k / (c.lambda_ * c.kappa**3 * teacher.n_units**2)


def _ball(teacher: Network, radius: float, points: int, rng: int | np.random.Generator) -> list[Network]:
    """Networks whose W is uniform in the Frobenius ball around that of the teacher."""
    if points < 1 or not 0 < radius < math.inf:
        raise ArgumentError(f"points must be at least 1 and radius positive and finite, not {points} and {radius}.")
    rng = generator(rng)
    D = rng.standard_normal((points, *teacher.W.shape))
    length = radius * rng.uniform(size=points) ** (1.0 / teacher.W.size)
    D *= (length / np.linalg.norm(D, axis=(1, 2)))[:, None, None]
    return [replace(teacher, W=teacher.W + step) for step in D]
