"""Gradient descent on noisy rows without resampling: contraction to a statistical floor, measured  [zhang2019, §3 and §4].

Model     y = Σ_j σ(⟨w*_j, x⟩) + ε, σ = ReLU, x ~ N(0, I); L̂_N the empirical risk (1.2), L the population risk (3.1), exactly
          given by `population_risk`, `population_gradient` and `population_hessian`.
Gradient  ∇L̂_N in its second form, (3.2): Σ̂(w, w_k) = E_N x xᵀ 1{⟨w, x⟩ ≥ 0, ⟨w_k, x⟩ ≥ 0}  (3.3),
          [∇L̂_N(W)]_k = Σ_j (Σ̂(w_j, w_k) w_j − Σ̂(w*_j, w_k) w*_j) − E_N ε x 1{⟨w_k, x⟩ ≥ 0}.
Theorem   4.2: ‖W_T − W*‖² ≤ (1 − c₃η/(λκ²))^T ‖W₀ − W*‖² + c₄ λ²κ⁴K⁵ (d log N/N) (‖W*‖² + ν²), ν = ‖ε‖_ψ₂, constants open.
          With the measured μ ≤ ∇²L ≤ L, the largest deviation δ of the gradients met, and η ≤ 1/(2L) they are not: e = W − W*,
          ‖e⁺‖² ≤ ‖e‖² − 2η(1 − Lη) eᵀHe + 2η δ‖e‖ + 2η²δ² ≤ (1 − ημ/2) ‖e‖² + (2η/μ + 2η²) δ², hence the floor
          (4/μ² + 4η/μ) δ². Without noise both gradients vanish at W* and the floor measured is zero; that of (4.1) is not.
Cost      O(N d K) a step, and a population gradient and Hessian at a few of the iterates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from weightlift.errors import ActivationError, ArgumentError, ShapeError
from weightlift.namespaces import array_namespace, as_like, matmul_transposed, to_numpy
from weightlift.network import Network
from weightlift.risk import Gradient, Students
from weightlift.samples import Block, Samples, Sums
from weightlift.theory.limits import LIMITS
from weightlift.theory.local_geometry import population_spectrum
from weightlift.theory.noisy_forms import noisy_forms
from weightlift.theory.population import population_gradient


@dataclass(frozen=True, eq=False)
class NoisyDescent:
    """Gradient descent near the truth beside Theorem 4.2."""

    distances: np.ndarray  # (T + 1,), ‖W_t − W*‖_F
    step: float
    mu: float  # least eigenvalue of ∇²L on the way
    L: float  # largest one
    deviation: float  # δ: the largest ‖∇L̂_N − ∇L‖_F on the way
    radius: float  # σ_K/(λκ³K²), where the theorem wants W₀, without its constant
    rate_form: float  # 1/(λκ²): μ without its constant
    floor_form: float  # λκ² (K⁵ d log N/N)^{1/2} (‖W*‖² + ν²)^{1/2}: the floor without its constant
    network: Network  # the last iterate

    @property
    def contraction(self) -> float:
        """The factor of ‖W_t − W*‖² a step while the distance is well above the last one, in the geometric mean."""
        above = np.flatnonzero(self.distances > LIMITS.linear_phase * self.distances[-1])
        last = max(1, int(above[-1])) if above.size else 1
        return float((self.distances[last] / self.distances[0]) ** (2 / last))

    @property
    def contraction_bound(self) -> float:
        """1 − ημ/2."""
        return 1.0 - self.step * self.mu / 2.0

    @property
    def floor(self) -> float:
        """‖W_T − W*‖_F: optimisation is over when the distances no longer fall."""
        return float(self.distances[-1])

    @property
    def floor_bound(self) -> float:
        """(4/μ² + 4η/μ)^{1/2} δ."""
        return math.sqrt(4.0 / self.mu**2 + 4.0 * self.step / self.mu) * self.deviation if self.mu > 0 else math.inf

    @property
    def bounds(self) -> np.ndarray:
        """The measured form of (4.1), an upper bound of `distances`: ((1 − ημ/2)^t ‖W₀ − W*‖² + floor²)^{1/2}."""
        t = np.arange(len(self.distances))
        return np.asarray(np.sqrt(self.contraction_bound**t * self.distances[0] ** 2 + self.floor_bound**2))


@dataclass(frozen=True, eq=False)
class GradientParts:
    """∇L̂_N (d, K) as (3.2) writes it: what the weights cause, and what the noise causes."""

    signal: np.ndarray
    noise: np.ndarray

    @property
    def gradient(self) -> np.ndarray:
        return np.asarray(self.signal - self.noise)


def noisy_descent(
    teacher: Network,
    samples: Samples,
    start: Network,
    *,
    noise_norm: float = 0.0,
    step: float | None = None,
    iterations: int = 500,
) -> NoisyDescent:
    """Algorithm 1 from `start` with everything that Theorem 4.2 speaks of measured on the way  [zhang2019].

    noise_norm: ν, as `Noise.sub_gaussian_norm` gives it. step: 1/(2L) unless given, L measured at the truth and the start.

    teacher     the planted network
    samples     rows, as `samples.open` gives them
    iterations  steps of the descent
    """
    _check(teacher, start)
    if iterations < 1 or not noise_norm >= 0:
        raise ArgumentError(f"iterations must be ≥ 1 and noise_norm ≥ 0, not {iterations} and {noise_norm}.")
    eta = 0.5 / max(population_spectrum(net, teacher).largest for net in (teacher, start)) if step is None else float(step)
    checkpoints = set(np.unique(np.geomspace(1, iterations, LIMITS.checkpoints - 1).astype(int))) | {0}
    W, distances, deviations = start.W, [], []
    spectra = [population_spectrum(teacher, teacher)]
    for t in range(iterations + 1):
        net, e = replace(teacher, W=W), W - teacher.W
        distances.append(float(np.linalg.norm(e)))
        empirical = to_numpy(samples.mean(Gradient(Students.of(net)))[1])[:, 0]  # ∇L̂_N(W)
        if t in checkpoints:
            deviations.append(float(np.linalg.norm(empirical - population_gradient(net, teacher))))
            spectra += [population_spectrum(replace(teacher, W=teacher.W + share * e), teacher) for share in LIMITS.segment]
        if t < iterations:
            W = W - eta * empirical
    forms = noisy_forms(teacher, noise_norm=noise_norm)
    return NoisyDescent(
        distances=np.array(distances),
        step=eta,
        mu=min(s.least for s in spectra),
        L=max(s.largest for s in spectra),
        deviation=max(deviations),
        radius=forms.start,
        rate_form=1.0 / (forms.lambda_ * forms.kappa**2),
        floor_form=math.sqrt(forms.error(samples.n)),
        network=replace(teacher, W=W),
    )


def gradient_parts(samples: Samples, student: Network, teacher: Network) -> GradientParts:
    """The gradient of the empirical risk by half-space covariances, (3.2) and (3.3); O(N d² K²), for inspection.

    Equal to `Gradient` on every sample; the teacher's weights only separate its signal from its noise.

    samples  rows, as `samples.open` gives them
    student  the network at which it is taken
    """
    _check(teacher, student)
    own, other, noise = (to_numpy(s) for s in samples.mean(_HalfSpaces(student, teacher)))
    signal = np.einsum("ajbk,bj->ak", own, student.W) - np.einsum("ajbk,bj->ak", other, teacher.W)
    return GradientParts(signal, noise)


@dataclass(frozen=True, eq=False)
class _HalfSpaces:
    """Σ̂(w_j, w_k) and Σ̂(w*_j, w_k), each (d, K, d, K), and E ε x 1{⟨w_k, x⟩ > 0} (d, K), ε = y − teacher(x)."""

    student: Network
    teacher: Network

    @property
    def floats_per_row(self) -> int:
        return int((3 * self.student.n_inputs + 4) * self.student.n_units)

    def __call__(self, block: Block) -> Sums:
        xp, X = array_namespace(block.X), block.X
        m, d, K = X.shape[0], X.shape[1], self.student.n_units
        weights = xp.ones_like(block.y) if block.w is None else block.w
        own, other = (xp.matmul(X, as_like(net.W, X)) for net in (self.student, self.teacher))
        active, active_truth = (xp.astype(z > 0, X.dtype) for z in (own, other))
        noise = block.y - xp.sum(active_truth * other, axis=1)
        right = xp.reshape(X[:, :, None] * active[:, None, :], (m, d * K))
        halves = (weights[:, None] * half for half in (active, active_truth))
        lefts = (xp.reshape(X[:, :, None] * half[:, None, :], (m, d * K)) for half in halves)
        covariances = (xp.reshape(matmul_transposed(left, right), (d, K, d, K)) for left in lefts)
        return *covariances, matmul_transposed(X, (weights * noise)[:, None] * active)


def _check(teacher: Network, student: Network) -> None:
    """The paper's networks: ReLU units, output weights 1, no biases, one shape."""
    for name, net in (("teacher", teacher), ("student", student)):
        if net.activation.name != "relu" or np.any(net.a != 1.0) or np.any(net.b != 0.0) or net.c != 0.0:
            raise ActivationError(f"the {name} must have ReLU units with output weights 1 and no biases, as [zhang2019] has.")
    if student.W.shape != teacher.W.shape:
        raise ShapeError(f"the student's W has shape {student.W.shape} and the teacher's {teacher.W.shape}; they must agree.")
