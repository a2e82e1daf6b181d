"""The Hessian of the risk near the truth: its extreme eigenvalues, how far it stays positive definite, and what a gradient step
gains  [zhong2017, Theorems 4.2 and 4.4].

Three Hessians in W: of the empirical risk on given rows; of the population risk; and of the population risk without the Dirac
term of φ″, the limit of the empirical ones. They differ for kinked φ only: for ReLU the empirical Hessian is JᵀJ ≥ 0 everywhere
while the population's has negative eigenvalues not far from the truth. Output weights, biases and c are those of the truth.
Cost: a dense Hessian is O(n d² k²) for d k ≤ 2000, beyond it Lanczos takes products of O(n d k); the population is reduced to
the span of the weights, O(k⁴) whatever d.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from weightlift.arguments import generator
from weightlift.errors import ArgumentError, ShapeError
from weightlift.namespaces import to_numpy
from weightlift.network import Network
from weightlift.risk import Gradient, Hessian, HessianProduct, Students
from weightlift.samples import Samples
from weightlift.samples import open as open_samples
from weightlift.teachers import draw
from weightlift.theory.conditioning import Conditioning, conditioning
from weightlift.theory.limits import LIMITS
from weightlift.theory.population import compressed, population_gradient, population_hessian


@dataclass(frozen=True)
class Spectrum:
    """The extreme eigenvalues of a Hessian."""

    least: float
    largest: float

    @property
    def is_positive_definite(self) -> bool:
        """Beyond rounding."""
        return self.least > LIMITS.definite * abs(self.largest)


@dataclass(frozen=True)
class HessianBounds:
    """The spectrum of a Hessian beside the bounds of Theorem 4.2, whose constants the paper leaves open."""

    spectrum: Spectrum
    conditioning: Conditioning  # of the truth

    @property
    def lower_ratio(self) -> float:
        """λ_min / (v²_min ρ(σ_k)/(κ²λ)): the constant in Ω(·)."""
        return self.spectrum.least / self.conditioning.m0

    @property
    def upper_ratio(self) -> float:
        """λ_max / (k v²_max σ₁^{2p}): the constant in O(·)."""
        return self.spectrum.largest / self.conditioning.M0


@dataclass(frozen=True, eq=False)
class DefiniteRadius:
    """How far from the truth the Hessian stays positive definite, one entry a direction, as ‖W − W*‖_F/‖W*‖_F.

    Infinite: still positive definite at `reach`. Zero: not even at the truth.
    """

    population: np.ndarray
    without_dirac: np.ndarray
    empirical: np.ndarray | None  # None without rows
    reach: float


@dataclass(frozen=True, eq=False)
class Contraction:
    """Gradient steps of length 1/M on fresh rows: ‖W − W*‖_F before each and after the last, and the spectrum at each."""

    distances: np.ndarray  # (T + 1,)
    least: np.ndarray  # (T,), m: the least eigenvalue of the step's Hessian
    largest: np.ndarray  # (T,), M
    network: Network  # after the last step

    @property
    def factors(self) -> np.ndarray:
        """‖W_{t+1} − W*‖²/‖W_t − W*‖²."""
        return np.asarray((self.distances[1:] / self.distances[:-1]) ** 2)

    @property
    def bounds(self) -> np.ndarray:
        """1 − m/M, which Theorem 4.4 promises near the truth; at 1 or above it promises nothing."""
        return np.asarray(1.0 - self.least / self.largest)


def hessian_bounds(
    teacher: Network, samples: Samples | None = None, *, at: Network | None = None, dirac: bool = True
) -> HessianBounds:
    """The Hessian at a network (the truth unless given) against Theorem 4.2: on rows, or of the population without any.

    teacher  the planted network
    samples  rows; None takes the population
    dirac    with the singular part of φ″, as `population_hessian`
    """
    student = teacher if at is None else _around(teacher, at)
    spectrum = population_spectrum(student, teacher, dirac=dirac) if samples is None else empirical_spectrum(samples, student)
    return HessianBounds(spectrum, conditioning(teacher))


def population_spectrum(student: Network, teacher: Network, *, dirac: bool = True) -> Spectrum:
    """Extreme eigenvalues of the Hessian of the population risk in W.

    student  the network at which it is taken
    teacher  the planted network
    dirac    with the singular part of φ″, as `population_hessian`
    """
    return _extremes(population_hessian(*compressed(student, teacher), dirac=dirac))


def empirical_spectrum(samples: Samples, student: Network, *, curvature: bool = True) -> Spectrum:
    """Extreme eigenvalues of the Hessian of the empirical risk in W; without `curvature`, of JᵀJ.

    samples  rows, as `samples.open` gives them
    student  the network at which it is taken
    """
    if student.W.size <= LIMITS.dense:
        return _extremes(to_numpy(samples.mean(Hessian(student, curvature))[0]))
    from scipy.sparse.linalg import eigsh

    operator = hessian_operator(samples, student, curvature=curvature)
    start = np.random.default_rng(0).standard_normal(student.W.size)
    vectors = min(LIMITS.lanczos_vectors, student.W.size)
    options = {"v0": start, "ncv": vectors, "tol": LIMITS.lanczos_tolerance, "return_eigenvectors": False}
    least, largest = (float(eigsh(operator, 1, which=end, **options)[0]) for end in ("SA", "LA"))
    return Spectrum(least, largest)


def hessian_operator(samples: Samples, student: Network, *, curvature: bool = True) -> Any:
    """The Hessian of the empirical risk in W as a SciPy LinearOperator on W.ravel(), one pass over the rows a product.

    samples    rows, as `samples.open` gives them
    student    the network at which it is taken
    curvature  with the φ″ term; False gives JᵀJ
    """
    from scipy.sparse.linalg import LinearOperator

    def product(u: np.ndarray) -> np.ndarray:
        U = np.reshape(u, student.W.shape)
        return to_numpy(samples.mean(HessianProduct(student, U, curvature))[0]).ravel()

    return LinearOperator((student.W.size,) * 2, matvec=product, dtype=float)


def positive_definite_radius(
    teacher: Network,
    samples: Samples | None = None,
    *,
    directions: int = 8,
    reach: float = 2.0,
    rng: int | np.random.Generator = 0,
) -> DefiniteRadius:
    """Along random directions D, the first t at which the Hessian at W* + t ‖W*‖ D/‖D‖ is not positive definite.

    Found on a grid of `reach`/16 and by bisection from there: a loss that is regained within a grid step may be missed.

    teacher  the planted network
    samples  rows; None takes the population
    rng      a seed or a generator
    """
    if directions < 1 or not 0 < reach < np.inf:
        raise ArgumentError(f"directions must be at least 1 and reach positive and finite, not {directions} and {reach}.")
    D = generator(rng).standard_normal((directions, *teacher.W.shape))
    D *= (np.linalg.norm(teacher.W) / np.linalg.norm(D, axis=(1, 2)))[:, None, None]

    def radii(spectrum: Callable[[Network], Spectrum]) -> np.ndarray:
        def along(step: np.ndarray) -> float:
            return _first_loss(lambda t: spectrum(replace(teacher, W=teacher.W + t * step)).is_positive_definite, reach)

        return np.array([along(step) for step in D])

    population = radii(lambda net: population_spectrum(net, teacher))
    jumps = any(teacher.activation.jumps)
    without = radii(lambda net: population_spectrum(net, teacher, dirac=False)) if jumps else population
    empirical = None if samples is None else radii(lambda net: empirical_spectrum(samples, net))
    return DefiniteRadius(population, without, empirical, reach)


def contraction(
    teacher: Network, start: Network, *, steps: int = 20, rows: int | None = 10_000, rng: int | np.random.Generator = 0
) -> Contraction:
    """Gradient descent from `start` with step 1/M, M the measured λ_max, on `rows` fresh rows a step  [zhong2017, Theorem 4.4].

    rows=None descends on the population risk. The theorem speaks of smooth φ, Property 3.3(a), and noiseless y.

    teacher  the planted network
    steps    of the descent
    rng      a seed or a generator
    """
    if steps < 1 or (rows is not None and rows < 1):
        raise ArgumentError(f"steps and rows must be at least 1, not {steps} and {rows}.")
    rng = generator(rng)
    net = _around(teacher, start)
    distances, spectra = [float(np.linalg.norm(net.W - teacher.W))], []
    for _ in range(steps):
        gradient, spectrum = _local_risk(net, teacher, rows, rng)
        net = replace(net, W=net.W - gradient / spectrum.largest)
        distances.append(float(np.linalg.norm(net.W - teacher.W)))
        spectra.append(spectrum)
    least, largest = np.array([[s.least, s.largest] for s in spectra]).T
    return Contraction(np.array(distances), least, largest, net)


def _local_risk(net: Network, teacher: Network, rows: int | None, rng: np.random.Generator) -> tuple[np.ndarray, Spectrum]:
    """The gradient at a network and the spectrum of the Hessian there."""
    if rows is None:
        return population_gradient(net, teacher), population_spectrum(net, teacher)
    samples = open_samples(*draw(teacher, rows, rng=rng))
    return to_numpy(samples.mean(Gradient(Students.of(net)))[1])[:, 0], empirical_spectrum(samples, net)


def _around(teacher: Network, student: Network) -> Network:
    """The student's W with the rest of the truth, which the theory takes as known."""
    if student.W.shape != teacher.W.shape:
        raise ShapeError(f"the student's W must have the teacher's shape {teacher.W.shape}, not {student.W.shape}.")
    return replace(teacher, W=student.W)


def _extremes(H: np.ndarray) -> Spectrum:
    n = H.shape[0] * H.shape[1]
    values = np.linalg.eigvalsh(H.reshape(n, n))
    return Spectrum(float(values[0]), float(values[-1]))


def _first_loss(holds: Callable[[float], bool], reach: float) -> float:
    """The first t at which it no longer holds; infinite if there is none up to `reach`."""
    if not holds(0.0):
        return 0.0
    grid = np.linspace(0.0, reach, LIMITS.scan + 1)
    first = next((i for i in range(1, LIMITS.scan + 1) if not holds(float(grid[i]))), None)
    if first is None:
        return np.inf
    low, high = float(grid[first - 1]), float(grid[first])
    for _ in range(LIMITS.bisections):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return high
