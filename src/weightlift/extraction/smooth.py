"""Smooth φ, by gradients and Hessians: the subspace, the directions in it, then three numbers a unit.

    subspace    ∇f(ξ) − ∇f(ξ₀) = Σ Aᵢ αᵢ (φ′ − φ′) nᵢ lies in the span of the units. A further gradient is asked only across
                the span found so far, and its first components, if they are zero, say that the span is complete.
    directions  Hessians in that span, H = N D Nᵀ with D diagonal: N are the eigenvectors of H₁ H₂⁻¹.
    numbers     φ′ and φ″ at the places of the Hessians fix a, α, β of each unit a φ(α s + β) by itself.

Needs   k ≤ d independent directions; φ″ ≠ 0 around the places.
Cost    (k + 1)(d + 1) − k(k + 1)/2 queries for the span and (k + 1)(k + 2)/2 a Hessian; no minimum is local.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from weightlift.activations import Activation
from weightlift.extraction.estimate import Estimate
from weightlift.extraction.limits import LIMITS
from weightlift.extraction.probe import Probe


@dataclass(frozen=True, eq=False)
class Span:
    """An orthonormal basis of the units' span, the gradient at one place, and the steps that served."""

    U: np.ndarray  # (d, k)
    place: np.ndarray  # (d,)
    gradient: np.ndarray  # (d, m)
    complete: bool  # fewer directions than inputs, and flat across

    @property
    def linear(self) -> bool:
        """Whether the gradient has a part outside the span: a linear part of f. In a span of all inputs it cannot be told."""
        across = self.gradient - self.U @ (self.U.T @ self.gradient)
        return bool(np.linalg.norm(across) > LIMITS.span_outside * np.linalg.norm(self.gradient))


@dataclass(frozen=True, eq=False)
class Local:
    """Derivatives in the span at one place: gradient (k, m) and Hessians (k, k, m)."""

    place: np.ndarray  # (d,)
    value: np.ndarray  # (m,)
    gradient: np.ndarray
    hessian: np.ndarray


def find_span(probe: Probe, most: int | None, rng: np.random.Generator) -> Span:
    """The span of the units, from gradients across what is known of it."""
    d, h = probe.d, np.sqrt(probe.noise() / probe.growth)
    place = LIMITS.hessian_spread * rng.standard_normal(d)
    first = probe.ask(np.vstack([place, place + h * np.eye(d)]))
    gradient = (first[1:] - first[0]) / h  # (d, m)
    U = np.zeros((d, 0))
    largest, flat = 0.0, 0
    while U.shape[1] < d:
        Q = _random_complement(U, rng)
        point = rng.standard_normal(d)
        few = min(LIMITS.span_checks, Q.shape[1])
        head = probe.ask(np.vstack([point, point + h * Q.T[:few]]))
        slopes = (head[1:] - head[0]) / h - Q.T[:few] @ gradient
        if U.shape[1] and np.abs(slopes).max() <= LIMITS.span_zero * largest:
            flat += 1
            if flat == LIMITS.span_places:
                return Span(U, place, gradient, complete=True)
            continue
        flat = 0
        tail = probe.ask(point + h * Q.T[few:])
        rest = (np.concatenate([head[1:], tail]) - head[0]) / h - Q.T @ gradient
        largest = max(largest, float(np.abs(rest).max()))
        left, values, _ = np.linalg.svd(Q @ rest, full_matrices=False)
        new = int((values > LIMITS.span_zero * max(largest, values[0])).sum())
        U = np.linalg.qr(np.hstack([U, left[:, :new]]))[0]
        if most is not None and U.shape[1] > most:
            break
    return Span(U, place, gradient, complete=False)


def local(probe: Probe, U: np.ndarray, rng: np.random.Generator) -> Local:
    """Gradient and Hessian in the span at a random place, from one-sided differences; the gradient's error is removed by H."""
    k = U.shape[1]
    h = float(np.cbrt(probe.noise() / probe.growth))
    place = LIMITS.hessian_spread * rng.standard_normal(probe.d)
    i, j = np.triu_indices(k)
    steps = h * np.vstack([np.zeros((1, k)), np.eye(k), np.eye(k)[i] + np.eye(k)[j]])
    Y = probe.ask(place + steps @ U.T)
    single = Y[1 : k + 1] - Y[0]  # (k, m)
    second = (Y[k + 1 :] - Y[0] - single[i] - single[j]) / h**2
    H = np.zeros((k, k, Y.shape[1]))
    H[i, j] = H[j, i] = second
    return Local(place, Y[0], single / h - 0.5 * h * np.einsum("iim->im", H), H)


def directions(first: Local, second: Local, rng: np.random.Generator) -> np.ndarray | None:
    """(k, k): the units' directions in the span, columns of length one; None where the two Hessians do not tell them apart."""
    m = first.hessian.shape[2]
    mixes = rng.standard_normal((2, m)) if m > 1 else np.ones((2, 1))
    H1, H2 = first.hessian @ mixes[0], second.hessian @ mixes[1]
    try:
        values, vectors = np.linalg.eig(np.linalg.solve(H2.T, H1.T).T)  # H₁ H₂⁻¹ = N D₁ D₂⁻¹ N⁻¹
    except np.linalg.LinAlgError:
        return None
    if np.abs(vectors.imag).max(initial=0.0) > 0.3 or not np.isfinite(values).all():
        return None
    N = vectors.real
    return np.asarray(N / np.linalg.norm(N, axis=0))


@dataclass(frozen=True, eq=False)
class Numbers:
    """The units' directions, and for each the pairs (α, β) of a φ(α s + β) that answer to the derivatives, best first."""

    D: np.ndarray  # (d, k)
    units: list[list[tuple[float, float]]]
    activation: Activation
    linear: bool

    def chosen(self, rows: tuple[np.ndarray, np.ndarray]) -> Estimate:
        """Those that the rows (ξ, Y) choose."""
        choice = _chosen(self.D, self.units, rows, self.activation, self.linear)
        alpha, beta = (np.array([found[c][j] for found, c in zip(self.units, choice, strict=True)]) for j in (0, 1))
        return _with_outputs(self.D * alpha, beta, rows, self.activation, self.linear)

    def others(self, near: Estimate, rows: tuple[np.ndarray, np.ndarray]) -> list[Estimate]:
        """A fit that is nearly right with one unit's numbers exchanged, those that explain the rows best first.

        Errors of large units hide which numbers of a small one are right, until a polish has taken them away. The derivatives
        may even show none of them: the smallest unit is tried with usual ones too.
        """
        size = np.linalg.norm(near.N, axis=0)
        least = int(np.argmin(size * np.linalg.norm(near.A, axis=1)))
        usual = [(float(alpha * np.median(size)), beta) for alpha in LIMITS.usual_scales for beta in LIMITS.usual_places]
        found = []
        for i, unit in enumerate(self.units):
            for alpha, beta in unit + (usual if i == least else []):
                N, places = near.N.copy(), near.beta.copy()
                N[:, i], places[i] = alpha * self.D[:, i], beta
                if abs(abs(alpha) - size[i]) > LIMITS.unit_other * size[i]:
                    found.append(_with_outputs(N, places, rows, self.activation, self.linear))
        found.sort(key=lambda f: float(np.linalg.norm(rows[1] - f(rows[0]))))
        return found[: LIMITS.unit_exchanges]


def numbers(N: np.ndarray, span: Span, spots: tuple[Local, ...], activation: Activation) -> Numbers:
    """The units' scales and places that answer to the derivatives."""
    inverse = np.linalg.inv(N)
    D = span.U @ N  # (d, k)
    s = np.array([place @ D for place in (span.place, *(spot.place for spot in spots))])  # (spots + 1, k)
    slopes = np.array([inverse @ g for g in (span.U.T @ span.gradient, *(spot.gradient for spot in spots))])  # A α φ′
    bends = np.array([np.einsum("ia,abm,ib->im", inverse, spot.hessian, inverse) for spot in spots])  # A α² φ″
    units = [_unit(s[:, i], slopes[:, i], bends[:, i], activation, span.linear) for i in range(N.shape[1])]
    return Numbers(D, units, activation, span.linear)


def _chosen(
    D: np.ndarray,
    units: list[list[tuple[float, float]]],
    rows: tuple[np.ndarray, np.ndarray],
    activation: Activation,
    linear: bool,
) -> list[int]:
    """One solution a unit: the best of each by itself, then exchanged one by one while the rows are explained better."""
    xi, Y = rows
    s = xi @ D
    columns = [np.column_stack([np.asarray(activation(a * s[:, i] + b)) for a, b in found]) for i, found in enumerate(units)]
    rest = np.hstack([*([xi] if linear else []), np.ones((len(xi), 1))])

    def misfit(choice: list[int]) -> float:
        basis = np.hstack([np.column_stack([columns[i][:, c] for i, c in enumerate(choice)]), rest])
        found = np.linalg.lstsq(basis, Y, rcond=1e-12)[0]
        return float(np.linalg.norm(Y - basis @ found))

    choice, cost = [0] * len(units), misfit([0] * len(units))
    for _ in range(2):
        for i, found in enumerate(units):
            trials = [(misfit([*choice[:i], c, *choice[i + 1 :]]), c) for c in range(len(found)) if c != choice[i]]
            least, c = min(trials, default=(np.inf, 0))
            if least < cost / 2:
                choice[i], cost = c, least
    return choice


def _with_outputs(
    N: np.ndarray, beta: np.ndarray, rows: tuple[np.ndarray, np.ndarray], activation: Activation, linear: bool
) -> Estimate:
    """Output weights, offset and linear part by least squares."""
    xi, Y = rows
    basis = np.hstack([np.asarray(activation(xi @ N + beta)), np.ones((len(xi), 1)), *([xi] if linear else [])])
    found = np.linalg.lstsq(basis, Y, rcond=1e-12)[0]
    k = N.shape[1]
    V = found[k + 1 :] if linear else np.zeros((len(N), Y.shape[1]))
    return Estimate(N, beta, found[:k], V, found[k], activation)


def _unit(s: np.ndarray, slopes: np.ndarray, bends: np.ndarray, phi: Activation, linear: bool) -> list[tuple[float, float]]:
    """(α, β) of the unit A φ(α s + β), best first: φ′ and φ″ at the places s, on a grid of α and β; A is solved for.

    linear: the slopes less their mean, for a linear part adds the same to all.
    """
    slopes = slopes - slopes.mean(axis=0) if linear else slopes
    data = np.concatenate([slopes, bends])  # (2 spots + 1, m)
    size = np.concatenate([np.full(len(slopes), np.abs(slopes).max()), np.full(len(bends), np.abs(bends).max())])
    weight = 1.0 / np.maximum(size, 1e-300)
    data = data * weight[:, None]
    scales = np.geomspace(*LIMITS.unit_scales, LIMITS.unit_grid[0])
    mirrored = phi.reflection is not None and (linear or len(phi.reflection[1]) < 2)  # φ(−z) is φ(z), but for what is free
    alphas = scales if mirrored else np.concatenate([scales, -scales])
    offsets = np.linspace(-LIMITS.unit_reach, LIMITS.unit_reach, LIMITS.unit_grid[1])
    alpha, z = (v.ravel() for v in np.meshgrid(alphas, offsets, indexing="ij"))
    beta = z - alpha * s.mean()

    def misfit(theta: np.ndarray) -> np.ndarray:
        """(n, (2 spots + 1) m): what is left of the data for every (α, β) with its best A."""
        alpha, beta = theta[:, :1], theta[:, 1:]
        z = alpha * s + beta
        first = np.asarray(phi.derivative(z))
        second = np.asarray(phi.second_derivative(z[:, 1:]))
        first = first - first.mean(axis=1, keepdims=True) if linear else first
        model = np.hstack([alpha * first, alpha**2 * second]) * weight
        A = model @ data / np.maximum((model**2).sum(axis=1), 1e-300)[:, None]  # (n, m)
        return np.asarray((data - model[:, :, None] * A[:, None, :]).reshape(len(theta), -1))

    with np.errstate(all="ignore"):
        grid = np.column_stack([alpha, beta])
        first = np.nan_to_num((misfit(grid) ** 2).sum(axis=1), nan=np.inf)
        best = np.argsort(first)[: LIMITS.unit_refined]
        theta, cost = _levenberg_marquardt(misfit, grid[best])
    theta, cost = np.vstack([theta, grid[best]]), np.concatenate([cost, first[best]])  # some run away along the tail of φ
    low, high = LIMITS.unit_scales
    size, place = np.abs(theta[:, 0]), np.abs(theta @ [s.mean(), 1.0])
    sane = (size > low) & (size < high) & (place < LIMITS.unit_reach)
    return _different(theta[np.argsort(np.where(sane, cost, np.inf))[: max(1, int(sane.sum()))]], phi)


def _different(theta: np.ndarray, phi: Activation) -> list[tuple[float, float]]:
    """The first few (α, β) whose units are different functions: tails of φ are one exponential, wherever they begin."""
    s = np.linspace(*LIMITS.unit_seen, LIMITS.unit_starts * 5)
    values = np.asarray(phi(theta[:, :1] * s + theta[:, 1:]))
    values = values - values.mean(axis=1, keepdims=True)
    values /= np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-300)
    chosen: list[int] = []
    for i, value in enumerate(values):
        if all(abs(float(value @ values[j])) < LIMITS.unit_alike for j in chosen):
            chosen.append(i)
        if len(chosen) == LIMITS.unit_starts:
            break
    return [(float(alpha), float(beta)) for alpha, beta in theta[chosen]]


def _levenberg_marquardt(misfit: Callable[[np.ndarray], np.ndarray], theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points (n, 2) refined all at once, each with its own damping; and their costs (n,)."""
    r = misfit(theta)
    cost, damping = (r**2).sum(axis=1), np.full(len(theta), 1e-2)
    for _ in range(LIMITS.unit_steps):
        h = 1e-6 * (1e-3 + np.abs(theta))
        J = np.stack([(misfit(theta + h * e) - r) / h[:, [j]] for j, e in enumerate(np.eye(2))], axis=2)  # (n, ., 2)
        gram, gradient = np.einsum("nai,naj->nij", J, J), np.einsum("nai,na->ni", J, r)
        diagonal = np.einsum("nii->ni", gram) + 1e-30
        step = np.linalg.solve(gram + (damping[:, None] * diagonal)[:, :, None] * np.eye(2), gradient[:, :, None])[:, :, 0]
        trial = theta - step
        left = misfit(trial)
        reached = np.nan_to_num((left**2).sum(axis=1), nan=np.inf)
        better = reached < cost
        theta, r = np.where(better[:, None], trial, theta), np.where(better[:, None], left, r)
        cost = np.where(better, reached, cost)
        damping = np.clip(np.where(better, damping / 5, damping * 5), 1e-12, 1e12)
    return theta, cost


def _random_complement(U: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(d, d − k): a random orthonormal basis of what is orthogonal to U."""
    d, k = U.shape
    Z = rng.standard_normal((d, d - k))
    return np.asarray(np.linalg.qr(np.hstack([U, Z]))[0][:, k:])
