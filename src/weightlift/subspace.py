"""The leading subspace of a moment matrix: span(W) from P2  [zhong2017, Alg. 1, POWERMETHOD].

Model   P2 = M_{j₂}(I, I, α, …, α) = Σ aᵢ m_{j₂}(‖wᵢ‖)(⟨α, w̄ᵢ⟩)^{j₂−2} w̄ᵢ w̄ᵢᵀ, symmetric and indefinite: eigenvalues count by
        magnitude. Needs independent wᵢ (k ≤ d).
Cost    products only: O(n d k) a pass ("lanczos", "power"); dense: O(n d²) once and O(d³). Sharpening adds a few times that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from weightlift.arguments import generator
from weightlift.errors import ArgumentError, NotConvergedWarning, warn
from weightlift.moments import HermiteMoment, MomentProduct, UnfoldedMoment, control_variate
from weightlift.namespaces import Array, to_numpy
from weightlift.samples import RandomSigns, Residual, Samples

METHODS = ("auto", "dense", "lanczos", "power")


@dataclass(frozen=True)
class Limits:
    # which route
    dense: int = 500  # inputs up to which the moment is formed: 2 MB, decomposed in less time than a pass takes
    power_passes: int = 500  # at most
    lanczos_passes: int = 25  # at most
    power_steps: int = 100_000  # on a moment that is formed, where a step costs no pass
    power_stride: int = 10  # of them between orthonormalisations: columns grow apart by 2¹⁰ at most, which costs three digits
    # when to stop
    tolerance: float = 1e-9  # turn of an exact subspace: nine digits, as every source of the same rows gives them
    noise_share: float = 3e-2  # of |λ_{k+1}|, the size of the sampling noise: a Ritz vector need not be more precise than that
    sweeps: int = 3  # of regression on the subspace itself
    odd_sweeps: int = 6  # of orthogonal iteration, at most; it ends when V stays
    sweep_share: float = 0.1  # a turn of a tenth of the sampling error is not worth another sweep
    unsettled: float = 1e-3  # a subspace that would turn further than this is not the one asked for
    # the noise floor
    sign_draws: int = 10  # random signs whose largest eigenvalue is the floor: it is exceeded once in eleven
    floor_margin: float = 1.05  # times that largest: eigenvalues of noise scatter by a few percent
    relative_floor: float = 1e-9  # of the largest eigenvalue: below it an exact moment has none


LIMITS = Limits()


@dataclass(frozen=True)
class Subspace:
    """An orthonormal basis V (d, k) of the leading eigenvectors by magnitude, and how sure it is."""

    V: np.ndarray
    eigenvalues: np.ndarray  # (k,) by decreasing magnitude, with their signs
    next_eigenvalue: float  # the (k+1)-th, where the method knows it; NaN else
    method: str
    passes: int
    turn: float = 0.0  # estimate of what the power method, stopped early, was still to turn

    @property
    def eigengap(self) -> float:
        """|λ_k| − |λ_{k+1}|."""
        return float(abs(self.eigenvalues[-1]) - abs(self.next_eigenvalue))


@dataclass(frozen=True)
class RankEstimate:
    """Eigenvalues of P2 against the floor of its noise."""

    rank: int
    eigenvalues: np.ndarray  # all that were computed, by decreasing magnitude
    floor: float  # what random signs of y leave


@dataclass(frozen=True, eq=False)
class SecondMoment:
    """P2 = M_{2+q}(I, I, α, …, α)  [zhong2017, Def. 5.4], plus V D Vᵀ where a known part was taken out of y."""

    filled: int = 0
    alpha: Array | None = None
    plus: tuple[np.ndarray, np.ndarray] | None = None  # V (d, r), D (r, r)

    def matrix(self, samples: Samples) -> np.ndarray:
        P2 = to_numpy(samples.mean(HermiteMoment(samples.d, 2, None, self.filled, self.alpha))[0])
        return P2 if self.plus is None else P2 + self.plus[0] @ self.plus[1] @ self.plus[0].T

    def times(self, samples: Samples, B: np.ndarray) -> np.ndarray:
        """P2 B by products alone."""
        product = to_numpy(samples.mean(MomentProduct(B, self.filled, self.alpha))[0])
        return product if self.plus is None else product + self.plus[0] @ (self.plus[1] @ (self.plus[0].T @ B))


def leading_subspace(
    samples: Samples,
    P2: SecondMoment,
    n_units: int,
    *,
    method: str = "auto",
    guess: np.ndarray | None = None,
    rng: np.random.Generator | int = 0,
) -> Subspace:
    """The top-k eigenspace of P2 by magnitude.

    method: "power" is zhong2017's POWERMETHOD; "lanczos" reaches the same space by products in a block Krylov space;
    "dense" forms P2; "auto" is dense up to d = 500 and Lanczos beyond. guess (d, k): where Lanczos begins, instead of anywhere.
    """
    if method not in METHODS:
        raise ArgumentError(f"method must be one of {METHODS}, not {method!r}.")
    if not 1 <= n_units <= samples.d:
        raise ArgumentError(f"n_units must lie between 1 and the {samples.d} inputs for a moment method, not {n_units}.")
    rng = generator(rng)
    if method == "power":
        return _power_method(samples, P2, n_units, rng)
    if method == "lanczos" or (method == "auto" and samples.d > LIMITS.dense):
        return _block_lanczos(samples, P2, n_units, guess, rng)
    matrix = P2.matrix(samples)
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    order = np.argsort(-np.abs(values))
    following = float(values[order[n_units]]) if n_units < samples.d else 0.0
    return Subspace(vectors[:, order[:n_units]], values[order[:n_units]], following, "dense", 1)


def even_subspace(
    samples: Samples, n_units: int, start: Subspace, *, method: str = "auto", rng: np.random.Generator | int = 0
) -> Subspace:
    """Sharpen V where M2 ≠ 0: M2(y) = M2(y − q) + M2(q) for any quadratic q, and less noise is left in y − q.

    q is nearly the least-squares quadratic inside V, its moment C is known exactly, and V ← top-k of M2(y − q) + V C Vᵀ.
    Repeated, this is hard thresholding for a quadratic form of rank k, which needs n ~ d k rows where the full form needs d²
    [Jain, Meka & Dhillon 2010].
    """
    rng, found = generator(rng), start
    for _ in range(LIMITS.sweeps if n_units < samples.d else 0):
        V = found.V
        q = control_variate(samples, V)
        rest = samples.map(Residual(q))
        left = 0.0 if math.isfinite(samples.n) else V.T @ SecondMoment().times(rest, V)  # on rows, by the normal equations
        P2 = SecondMoment(plus=(V, q.moments[1] - left))
        previous, found = found, leading_subspace(rest, P2, n_units, method=method, guess=V, rng=rng)
        found = replace(found, method=f"{start.method} + hard thresholding", passes=previous.passes + found.passes + 1)
        noise = abs(found.next_eigenvalue / found.eigenvalues[-1])
        if np.linalg.norm(found.V - V @ (V.T @ found.V), ord=2) <= max(LIMITS.tolerance, LIMITS.sweep_share * noise):
            break
    return found


def odd_subspace(samples: Samples, n_units: int, start: Subspace) -> Subspace:
    """Sharpen V by higher-order orthogonal iteration on M3: V ← leading left vectors of M3(I, V, V) (d × k²).

    For odd φ, P2 = M3(I, I, α) sees each unit through one number ⟨α, w̄ᵢ⟩; M3(I, V, V) sees it through k². O(n d k²) a sweep.
    """
    V, passes = start.V, start.passes
    values = start.eigenvalues
    for _ in range(LIMITS.odd_sweeps):
        unfolded = to_numpy(samples.mean(UnfoldedMoment(V))[0]).reshape(samples.d, -1)
        left, values, _ = np.linalg.svd(unfolded, full_matrices=False)
        previous, V, passes = V, left[:, :n_units], passes + 1
        if np.linalg.norm(V - previous @ (previous.T @ V)) < LIMITS.tolerance:
            break
    following = float(values[n_units]) if len(values) > n_units else 0.0
    return Subspace(V, values[:n_units], following, f"{start.method} + orthogonal iteration", passes)


def estimate_rank(samples: Samples, P2: SecondMoment, *, rng: np.random.Generator | int = 0) -> RankEstimate:
    """The number of eigenvalues of P2 above what random signs of y leave, the largest of ten draws with 5 % margin.

    Signs are drawn by the rows' keys, so that |y|, and with it the size of the noise, stays where it is.
    """
    rng = generator(rng)

    def magnitudes(source: Samples, count: int) -> np.ndarray:
        return leading_subspace(source, P2, count, rng=rng).eigenvalues

    seeds = rng.integers(2**31, size=LIMITS.sign_draws)
    floor = max(float(np.abs(magnitudes(samples.map(RandomSigns(int(s))), 1)[0])) for s in seeds)
    values = magnitudes(samples, samples.d)
    threshold = max(LIMITS.floor_margin * floor, LIMITS.relative_floor * abs(values[0]))
    return RankEstimate(int(np.sum(np.abs(values) > threshold)), values, floor)


def _power_method(samples: Samples, P2: SecondMoment, k: int, rng: np.random.Generator) -> Subspace:
    """zhong2017's box: power steps with C I + P2 and C I − P2, C = 3‖P2‖, then the k largest of both by magnitude.

    A step shrinks the error by (C + |λ_{k+1}|)/(C + |λ_k|): with C = 3|λ₁| and a λ_k of |λ₁|/1000, as a random α may make it
    where P2 = M3(I, I, α), that takes 10⁵ steps to nine digits. Up to d = 500 they are taken on P2 formed once, ten at a time.
    """
    d, dense = samples.d, samples.d <= LIMITS.dense
    V = np.linalg.qr(rng.normal(size=(d, 2, k)).transpose(1, 0, 2))[0]  # (2, d, k): for +P2 and −P2
    signs = np.array([1.0, -1.0])[:, None, None]
    stride, most = (LIMITS.power_stride, LIMITS.power_steps) if dense else (1, LIMITS.power_passes)
    if dense:
        matrix = P2.matrix(samples)
        C = 3 * float(np.linalg.norm(matrix, ord=2)) or 1.0
        grown = np.linalg.matrix_power(np.eye(d) + signs * matrix / C, stride)

    def times(V: np.ndarray) -> np.ndarray:
        return matrix @ V if dense else np.stack(np.split(P2.times(samples, np.hstack(list(V))), 2, axis=1))

    def stepped(V: np.ndarray) -> np.ndarray:
        if dense:
            return np.asarray(grown @ V)
        product = times(V)
        return np.asarray(3 * np.linalg.norm(product, ord=2, axis=(1, 2)).max() * V + signs * product)

    turns = [np.inf]
    while stride * (len(turns) - 1) < most and not turns[-1] < LIMITS.tolerance / 3:  # P2 is a third of C
        previous, V = V, np.linalg.qr(stepped(V))[0]
        turns.append(_turn(previous, V))
    steps, product = stride * (len(turns) - 1), times(V)
    ritz = [np.linalg.eigh(_symmetric(V[i].T @ product[i])) for i in (0, 1)]
    values = np.concatenate([ritz[0][0], ritz[1][0]])
    values[:k][values[:k] < 0], values[k:][values[k:] > 0] = 0.0, 0.0  # each basis speaks for its own sign
    basis = np.hstack([V[i] @ ritz[i][1] for i in (0, 1)])
    order = np.argsort(-np.abs(values))[:k]
    chosen, _ = np.linalg.qr(basis[:, order])
    left = _turn_left(turns) if steps >= most else 0.0
    if left > LIMITS.unsettled:
        warn(
            f"the power method was stopped after {steps} steps with about {left:.2g} still to turn: |λ_k| is small; "
            "preset='default', or method='lanczos', does not depend on it.",
            NotConvergedWarning,
        )
    return Subspace(chosen, values[order], float("nan"), "power", 1 if dense else steps + 1, left)


def _turn_left(turns: list[float]) -> float:
    """What the turns of a geometric decay add up to beyond the last: turn · ρ/(1 − ρ), ρ over the second half."""
    half = len(turns) // 2
    rho = (turns[-1] / turns[half]) ** (1 / (len(turns) - 1 - half)) if turns[half] > 0 else 0.0
    return float(turns[-1] * rho / (1 - rho)) if rho < 1 else float("inf")


def _block_lanczos(
    samples: Samples, P2: SecondMoment, k: int, guess: np.ndarray | None, rng: np.random.Generator
) -> Subspace:
    """Rayleigh–Ritz in span{B, P2 B, P2² B, …}, fully reorthogonalised; a pass a step.

    On rows λ_{k+1} is noise, which turns the true subspace by about |λ_{k+1}|/|λ_k|; a residual of 0.03 |λ_{k+1}| adds 3 %
    of that turn. On a population λ_{k+1} = 0, and the residual goes to rounding.
    """
    d = samples.d
    known = np.zeros((d, 0)) if guess is None else guess
    block = np.linalg.qr(np.hstack([known, rng.normal(size=(d, min(d, k + 4) - known.shape[1]))]))[0]
    Q = np.zeros((d, 0))
    PQ = np.zeros((d, 0))
    passes = 0
    for _ in range(LIMITS.lanczos_passes):
        passes += 1
        Q = np.hstack([Q, block])
        PQ = np.hstack([PQ, P2.times(samples, block)])
        values, vectors = np.linalg.eigh(_symmetric(Q.T @ PQ))
        order = np.argsort(-np.abs(values))
        values, vectors = values[order], vectors[:, order]
        residual = np.linalg.norm(PQ @ vectors[:, :k] - Q @ vectors[:, :k] * values[:k], axis=0)
        noise = abs(values[k]) if len(values) > k else 0.0
        if residual.max() <= max(LIMITS.tolerance * abs(values[0]), LIMITS.noise_share * noise) or Q.shape[1] + 1 > d:
            break
        fresh = PQ[:, -block.shape[1] :]
        for _ in range(2):
            fresh = fresh - Q @ (Q.T @ fresh)
        block, triangle = np.linalg.qr(fresh)
        block = block[:, np.abs(np.diag(triangle)) > 1e-12 * abs(values[0])][:, : d - Q.shape[1]]
        if block.shape[1] == 0:
            break
        block = np.linalg.qr(block - Q @ (Q.T @ block))[0]  # of a column near the threshold much was rounding along Q
    following = float(values[k]) if len(values) > k else 0.0
    return Subspace(Q @ vectors[:, :k], values[:k], following, "lanczos", passes)


def _turn(previous: np.ndarray, V: np.ndarray) -> float:
    """The larger of the two subspaces' changes, as the norm of what left the previous span."""
    return float(np.linalg.norm(V - previous @ (previous.transpose(0, 2, 1) @ V), axis=(1, 2)).max())


def _symmetric(A: np.ndarray) -> np.ndarray:
    return np.asarray((A + A.T) / 2)
