"""Gradient descent on the empirical risk  [zhong2017, Alg. 2; zhang2019, Alg. 1].

Step    W ← W − η ∇f̂(W), with the output weights fixed, or updated too, or updated and projected to ±1.
        zhong2017 takes each step on a fresh part of the rows, zhang2019 all steps on all rows.
η       a number; "theory": 1/(k a²_max σ₁^{2p}), p = degree − 1 [zhong2017, Alg. 2]; "curvature": 1/λ_max(JᵀJ) at the start.
Cost    two products with X a step, O(n d k).
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

import numpy as np

from weightlift.arguments import count, generator
from weightlift.errors import ArgumentError, ShapeError, TooFewRowsError
from weightlift.namespaces import to_numpy
from weightlift.network import Network
from weightlift.refinement.limits import LIMITS
from weightlift.risk import Gradient, HessianProduct, Students
from weightlift.samples import Samples

OUTPUT_WEIGHTS = ("fixed", "free", "signs")


class DescentEnding(enum.Enum):
    """Why a descent stopped."""

    CONVERGED = "the risk fell below the tolerance"
    STALLED = "the risk no longer changes; start elsewhere or give more rows"
    ITERATIONS = "the iterations were used up; allow more, or a larger step"
    DIVERGED = "the risk grew without bound; use a smaller step, or step='curvature'"


@dataclass(frozen=True)
class Descent:
    """The last network, the risk before every step, and why it ended."""

    network: Network
    risks: np.ndarray  # (T + 1,)
    step: float
    ending: DescentEnding


def gradient_descent(
    samples: Samples,
    start: Network,
    *,
    step: float | str = "curvature",
    iterations: int = 1000,
    tol: float = 0.0,
    output_weights: str = "fixed",
    parts: int | None = None,
    rng: np.random.Generator | int = 0,
) -> Descent:
    """Descend from `start` until the risk ½ E r² is at most tol · ½ E y².

    parts: take step t on part t modulo `parts` of the rows (resampling); None uses all rows in every step.

    samples         rows, as `samples.open` gives them
    iterations      steps at most
    output_weights  "fixed"; "free": a moves too; "signs": it moves and is rounded to ±1
    rng             a seed or a generator, for the parts
    """
    if output_weights not in OUTPUT_WEIGHTS:
        raise ArgumentError(f"output_weights must be one of {OUTPUT_WEIGHTS}, not {output_weights!r}.")
    if parts is not None:
        count("parts", parts)
    if start.n_inputs != samples.d:
        raise ShapeError(f"start has {start.n_inputs} inputs and the data {samples.d}; they must agree.")
    eta = step_size(samples, start, step)
    seed = int(generator(rng).integers(2**31))
    fresh = [samples] if parts is None else [p.persist() for p in samples.split(*[1 / parts] * parts, seed=seed)]
    if not all(part.n for part in fresh):
        raise TooFewRowsError(f"parts = {parts}, of {samples.n} rows: some part has none; take fewer parts or give more rows.")
    zero = Students.of(replace(start, a=np.zeros(start.n_units), c=0.0))
    scale = float(to_numpy(samples.mean(Gradient(zero))[0])[0])
    here, risks = Students.of(start), []
    for t in range(iterations + 1):
        risk, dW, da = (to_numpy(g) for g in fresh[t % len(fresh)].mean(Gradient(here))[:3])
        risks.append(float(risk[0]))
        finite = np.isfinite(risks[-1])
        if not finite or risks[-1] > LIMITS.diverged * max(scale, risks[0]):
            return Descent(_ended(here, start) if finite else start, np.array(risks), eta, DescentEnding.DIVERGED)
        if risks[-1] <= tol * scale:
            return Descent(_ended(here, start), np.array(risks), eta, DescentEnding.CONVERGED)
        if len(fresh) == 1 and t > 0 and risks[-1] == risks[-2]:
            return Descent(_ended(here, start), np.array(risks), eta, DescentEnding.STALLED)
        if t < iterations:
            a = here.a if output_weights == "fixed" else here.a - eta * da
            a = np.where(a < 0, -1.0, 1.0) if output_weights == "signs" else a
            if not (np.isfinite(dW).all() and np.isfinite(a).all()):
                return Descent(_ended(here, start), np.array(risks), eta, DescentEnding.DIVERGED)
            here = replace(here, W=here.W - eta * dW, a=a)
    return Descent(_ended(here, start), np.array(risks), eta, DescentEnding.ITERATIONS)


def _ended(here: Students, start: Network) -> Network:
    return replace(start, W=here.W[:, 0], a=here.a[0])


def step_size(samples: Samples, net: Network, step: float | str) -> float:
    """The number behind `step`; see the module's docstring.

    samples  rows, as `samples.open` gives them
    net      where the descent begins
    """
    if step == "theory":
        if net.activation.degree is None:
            raise ArgumentError(f"step='theory' needs a homogeneous φ; {net.activation.name} is not. Use step='curvature'.")
        if not (net.a.any() and net.W.any()):
            raise ArgumentError("step='theory' needs a start with W ≠ 0 and a ≠ 0; start elsewhere.")
        largest = float(np.linalg.norm(net.W, ord=2))
        return float(1 / (net.n_units * np.max(net.a**2) * largest ** (2 * (net.activation.degree - 1))))
    if step == "curvature":
        return 1 / largest_curvature(samples, net)
    if isinstance(step, str) or not 0 < step < np.inf:
        raise ArgumentError(f"step must be a positive number, 'theory' or 'curvature', not {step!r}.")
    return float(step)


def largest_curvature(samples: Samples, net: Network) -> float:
    """λ_max of JᵀJ in W, by power iteration on products."""
    U = np.random.default_rng(0).normal(size=net.W.shape)
    value = 0.0
    for _ in range(LIMITS.power_steps):
        U /= np.linalg.norm(U)
        product = to_numpy(samples.mean(HessianProduct(net, U, curvature=False))[0])
        value, U = float(np.sum(U * product)), product
        if not U.any():
            raise ArgumentError("start has no gradient in W: no row activates a unit with a ≠ 0; start elsewhere.")
    return max(value, float(np.linalg.norm(U)))
