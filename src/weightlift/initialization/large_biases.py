"""Units with large biases, one after the other, from the rows on the far side of their kinks.

A ReLU unit with |b| ≥ 2.5, ‖w‖ = 1, is linear on 99 % of the rows, and its coefficient a φ(b) in T_2 drowns in noise. What an
affine function cannot fit is a spike, a σ(±⟨w, x⟩ − |b|), on n Φ(−|b|) rows: 270 of 2·10⁵ for |b| = 3. Without noise they are
plain to see once the other units are fitted:

    1. the row with the largest residual r points within about 50° of a missing w;
    2. w ← Σ r x over the rows with r of that sign, |r| above a fifth of the largest, and ⟨w, x⟩ > 3/2; a few times;
    3. r ≈ a (⟨w, x⟩ − β) on these rows gives a and β; all units and the affine function are refined together.

Stops   at n_units, at residuals of rounding size, or when the next spike has less than 2 (d + 1) rows: such a unit is beyond
        reach, and stays in the affine function.
Needs   noise below the spikes: a unit that lowers the risk no more than chance is not taken.
Cost    a dozen passes of O(n d) and a refinement a unit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from weightlift.initialization.limits import LIMITS
from weightlift.namespaces import array_namespace, as_like, to_numpy
from weightlift.network import Network
from weightlift.refinement.affine import AffineNetwork, fit_affine
from weightlift.refinement.up_to_signs import SignlessFit, refine_up_to_signs
from weightlift.samples import Block, Residual, Samples, Sums


def with_large_biases(
    samples: Samples, function: AffineNetwork, n_units: int, *, offset: bool = False, iterations: int = LIMITS.spike_steps
) -> SignlessFit:
    """The function refined, with as many further units as its residual shows, up to n_units altogether.

    samples     rows, as `samples.open` gives them
    offset      whether c is free
    iterations  Gauss–Newton steps of a refinement, at most

    >>> import weightlift as wl
    >>> truth = Network(np.eye(5)[:, :3], a=[1.0, -1.0, 2.0], b=[0.3, -0.5, 2.5])
    >>> rows = wl.samples.open(*wl.draw(truth, 5000, rng=0))
    >>> visible = fit_affine(rows, Network(truth.W[:, :2] + 0.02, b=[0.3, -0.5]))
    >>> wl.match(with_large_biases(rows, visible, 3).network, truth).max_error < 1e-10
    True
    """
    size = float(to_numpy(samples.fold(_Largest(samples.d))[0]))
    fit = _refined(samples, function, offset, iterations)
    steps = fit.iterations
    while fit.function.n_units < n_units:
        spike = find_spike(samples.map(Residual(fit.function)), floor=LIMITS.spike_rounding * size)
        if spike is None:
            break
        w, b, a = spike
        wider = _refined(samples, _joined(samples, fit.function, w, b, a), offset, iterations)
        steps += wider.iterations
        if not wider.risk < fit.risk * (1.0 - LIMITS.spike_chance * (samples.d + 2) / samples.n):
            break
        if not _within_reach(samples, wider.function):
            break
        fit = wider
    return replace(fit, iterations=steps)


def find_spike(residuals: Samples, *, floor: float = 0.0) -> tuple[np.ndarray, float, float] | None:
    """(w, b, a) of one missing unit, ‖w‖ = 1, b = −|b|, from samples whose y is what is left; None if the rows show none."""
    largest, x, r = (to_numpy(s) for s in residuals.fold(_Largest(residuals.d)))
    if not largest > floor:
        return None
    sign, w = math.copysign(1.0, float(r)), x / max(float(np.linalg.norm(x)), np.finfo(float).tiny)
    means: list[float] = []
    for _ in range(LIMITS.spike_turns):
        count, pull, *sums = (to_numpy(s) for s in residuals.fold(_Cap(w, sign, LIMITS.spike_level * float(largest))))
        if not count:
            return None
        w, means = pull / np.linalg.norm(pull), [float(s / count) for s in sums]
    z, r1, zz, zr = means
    slope = (zr - z * r1) / max(zz - z * z, np.finfo(float).tiny)
    a = max(slope, r1)  # the cut at the level flattens the slope; a spike is at least as steep as its mean
    beta = z - r1 / a
    beyond = float(to_numpy(residuals.fold(_Beyond(w, beta))[0]))
    return (w, -beta, sign * a) if beyond >= 2 * (residuals.d + 1) else None


def _within_reach(samples: Samples, function: AffineNetwork) -> bool:
    """Whether the refined function's last unit still has 2 (d + 1) rows on its emptier side."""
    assert function.units is not None
    w, b = function.units.W[:, -1], float(function.units.b[-1])
    beyond = float(to_numpy(samples.fold(_Beyond(w, -b))[0]))
    return min(beyond, samples.n - beyond) >= 2 * (samples.d + 1)


def _refined(samples: Samples, function: AffineNetwork, offset: bool, iterations: int) -> SignlessFit:
    if function.units is None:
        return SignlessFit(function, math.inf, 0, None, 0, math.inf)
    return refine_up_to_signs(samples, function, offset=offset, iterations=iterations)


def _joined(samples: Samples, function: AffineNetwork, w: np.ndarray, b: float, a: float) -> AffineNetwork:
    units = function.units
    if units is None:
        return fit_affine(samples, Network(w[:, None], [a], [b], activation="relu"))
    wider = Network(np.column_stack([units.W, w]), np.append(units.a, a), np.append(units.b, b), activation="relu")
    return fit_affine(samples, wider)


@dataclass(frozen=True)
class _Largest:
    """max |y| with its row: (|y|, x, y)."""

    n_inputs: int

    @property
    def floats_per_row(self) -> int:
        return 2

    def __call__(self, block: Block) -> Sums:
        xp = array_namespace(block.X)
        if block.X.shape[0] == 0:
            return xp.sum(block.y), xp.sum(block.X, axis=0), xp.sum(block.y)
        size = xp.abs(block.y)
        size = size if block.w is None else size * xp.astype(block.w > 0, size.dtype)
        i = int(xp.argmax(size))
        return size[i], block.X[i, :], block.y[i]

    def merge(self, left: Sums, right: Sums) -> Sums:
        return left if bool(left[0] >= right[0]) else right


@dataclass(frozen=True, eq=False)
class _Cap:
    """Over rows with z = ⟨w, x⟩ > the cap and s y > level: their number, Σ s y x, Σ z, Σ s y, Σ z², Σ s y z."""

    w: np.ndarray
    sign: float
    level: float

    @property
    def floats_per_row(self) -> int:
        return 6

    def __call__(self, block: Block) -> Sums:
        xp, X = array_namespace(block.X), block.X
        z, r = xp.matmul(X, as_like(self.w, X)), self.sign * block.y
        used = xp.astype((z > LIMITS.spike_cap) & (r > self.level), X.dtype)
        used = used if block.w is None else used * xp.astype(block.w > 0, X.dtype)
        ur = used * r
        return xp.sum(used), xp.matmul(ur, X), xp.sum(used * z), xp.sum(ur), xp.sum(used * z * z), xp.sum(ur * z)


@dataclass(frozen=True, eq=False)
class _Beyond:
    """The number of rows with ⟨w, x⟩ > β."""

    w: np.ndarray
    beta: float

    @property
    def floats_per_row(self) -> int:
        return 2

    def __call__(self, block: Block) -> Sums:
        xp, X = array_namespace(block.X), block.X
        beyond = xp.astype(xp.matmul(X, as_like(self.w, X)) > self.beta, X.dtype)
        return (xp.sum(beyond if block.w is None else beyond * xp.astype(block.w > 0, X.dtype)),)
