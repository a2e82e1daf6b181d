"""Precision: from errors that are bounded on every row to a region that holds every unit.

Let |f*(x) − y| ≤ E on each row for the truth f* = f(θ*), r = f(θ̂) − y, J the Jacobian at θ̂ and H = JᵀWJ. On the segment from
θ* to θ̂ the mean-value theorem gives f(θ̂) − f(θ*) = (J + Δ)δ with |Δ| ≤ the largest change of J on a box that holds both. So

    H^{1/2} δ = H^{-1/2} JᵀW (r ± E − Δδ),      ‖δ‖_H ≤ e + ‖W^{1/2} Δ δ‖,      e = (Σ w (|r| + E)²)^½,

for H^{-1/2}JᵀW^{1/2} has norm one. The box is that of the ellipsoid ‖δ‖_H ≤ K e; if ‖W^{1/2} Δ |δ|‖ ≤ c K e for all δ in it,
c < 1, then by homogeneity ‖δ‖_H ≤ e/(1 − c). Computed with an inverse of relative error η, 1 − c − η stands there. Where φ has
kinks, rows within the box's reach of one are left out, so that ReLU has Δ = 0.

That the truth is in the box is what `rivals` are for; that there is one, up to E, is assumed.
Cost  one pass, O(n d k), beside JᵀJ; where rows are left out three, and JᵀJ again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from weightlift.activations import Activation
from weightlift.certificate.limits import LIMITS
from weightlift.certificate.statement import Kind, Statement, Topic, named
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import MAX_CONDITION, Information
from weightlift.evidence.rows import EPS, double
from weightlift.namespaces import Array, array_namespace, as_like, from_numpy, to_numpy
from weightlift.network import Network
from weightlift.risk import Students
from weightlift.samples import Block, Samples, Sums

SHARES = 0.5 ** np.arange(25.0)  # of what a rival may be worse by; rows that cost less than 2⁻²⁴ of it are on the kink


@dataclass(frozen=True, eq=False)
class Precision:
    """Regions of the units in the gauge's coordinates, and what they rest on."""

    information: Information  # of the rows that are clear of the kinks
    clear: Samples
    contraction: float  # c + η; 1 and more: no claim
    regions: np.ndarray  # (k, q, q): δᵀR⁻¹δ ≤ 1
    relative: np.ndarray  # (k,) their relative sizes


def precision_of(samples: Samples, information: Information, error: float) -> Precision:
    """error: e above, with the rows' weights."""
    gauge = information.gauge
    sizes = gauge.relative_sizes(blocks := information.unit_inverses())
    before = error * sizes
    coarse = float(np.max(before[np.isfinite(before)], initial=0.0))
    times = float(np.clip(LIMITS.precision / coarse, *LIMITS.box)) if coarse > 0 else 1.0
    clear, box = samples, Box.of(information, times * error)
    square, near = (float(v) for v in samples.fold(Changes(box)))
    if near:
        clear = samples.map(Near(box).without)
        information = Information.of(clear, gauge)
        sizes = gauge.relative_sizes(blocks := information.unit_inverses())
        box = Box.of(information, times * error)
        square = float(clear.fold(Changes(box))[0])
    inexact = gauge.size * EPS * min(information.condition, MAX_CONDITION)
    contraction = math.sqrt(square) / max(times * error, np.finfo(float).tiny) + inexact
    size = error / (1.0 - contraction) if contraction < 1.0 else math.inf
    relative = size * sizes
    relative[list(undetermined(information))] = math.inf
    return Precision(information, clear, contraction, size**2 * blocks, relative)


def undetermined(information: Information) -> tuple[int, ...]:
    """Units with coordinates that the rows do not determine to first order."""
    if information.full_rank:
        return ()
    weak, gauge = information.weak_coordinates(), information.gauge
    return tuple(i for i in range(gauge.network.n_units) if weak[gauge.coordinates(i)].sum() > LIMITS.weak)


@dataclass(frozen=True, eq=False)
class Box:
    """|δ| ≤ ρ for every coordinate that the rows determine at all."""

    gauge: Gauge
    radius: np.ndarray  # (p,)

    @property
    def network(self) -> Network:
        return self.gauge.network

    @classmethod
    def of(cls, information: Information, size: float) -> Box:
        """The box of the ellipsoid ‖δ‖_H ≤ size."""
        radius = size * np.sqrt(np.maximum(np.diagonal(information.inverse), 0.0))
        return cls(information.gauge, np.where(np.isfinite(radius), radius, 0.0))

    def unit_radii(self, X: Array) -> tuple[Array, Array]:
        """What z (m, k) and a (k,) may change by, beside the rounding errors of z itself."""
        xp, net, d = array_namespace(X), self.gauge.network, X.shape[1]
        k = net.n_units
        of_W = as_like(self.radius[: d * k].reshape(d, k), X)
        of_b = as_like(self.radius[d * k : (d + 1) * k] if self.gauge.free.b else np.zeros(k), X)
        q = self.gauge.free.inputs(d)
        of_a = as_like(self.radius[q * k : (q + 1) * k] if self.gauge.free.a else np.zeros(k), X)
        size = xp.matmul(xp.abs(X), of_W) + of_b
        rounding = (d + 2) * EPS * (xp.matmul(xp.abs(X), as_like(np.abs(net.W), X)) + as_like(np.abs(net.b), X))
        return size + rounding, of_a


@dataclass(frozen=True, eq=False)
class UnitRegions:
    """δᵀR⁻¹δ ≤ 1 for (w, b), or w, of every unit, R one of several."""

    network: Network
    regions: np.ndarray  # (r, k, q, q)

    def unit_radii(self, X: Array) -> tuple[Array, None]:
        """What z (m, k) may change by."""
        xp, inputs = array_namespace(X), self._inputs(X)
        return xp.stack([self._radius(i, inputs) for i in range(self.network.n_units)], axis=1), None

    def near(self, X: Array, w: Array) -> Iterator[tuple[np.ndarray, Array]]:
        """Of every unit the rows (r,) within reach of its kink, and w ‖a‖² (z − kink)² there.

        What lies beyond ‖x̃‖ ‖R‖^½ is not looked at.
        """
        xp, net, inputs = array_namespace(X), self.network, self._inputs(X)
        gaps = kink_gaps(xp.matmul(X, as_like(net.W, X)) + as_like(net.b, X), net.activation)
        lengths = xp.sqrt(xp.vecdot(inputs, inputs))
        for i, (size, ball) in enumerate(zip(np.linalg.norm(net.A, axis=1).tolist(), self._balls.tolist(), strict=True)):
            rows = np.flatnonzero(to_numpy(gaps[:, i] <= ball * lengths))
            at = from_numpy(rows, like=X)
            some, gap = xp.take(inputs, at, axis=0), xp.take(gaps[:, i], at)
            within = np.flatnonzero(to_numpy(gap <= self._radius(i, some)))
            kept = from_numpy(within, like=X)
            costs = size * xp.take(gap, kept)
            yield rows[within], xp.take(xp.take(w, at), kept) * costs * costs

    @cached_property
    def _balls(self) -> np.ndarray:
        """(k,) ‖R‖^½ of the widest region, and rounding errors; ∞ where it is open."""
        usable = np.isfinite(self.regions).all(axis=(2, 3))
        spectra = np.abs(np.linalg.eigvalsh(np.where(usable[:, :, None, None], self.regions, 0.0))).max(axis=2)
        return np.asarray((1.0 + 1e-6) * np.sqrt(np.where(usable, spectra, np.inf).max(axis=0)))

    def _inputs(self, X: Array) -> Array:
        xp = array_namespace(X)
        one = xp.ones((X.shape[0], 1), dtype=X.dtype, device=X.device)
        return xp.concat([X, one], axis=1) if self.regions.shape[-1] > X.shape[1] else X

    def _radius(self, i: int, inputs: Array) -> Array:
        xp = array_namespace(inputs)
        squares = [xp.vecdot(xp.matmul(inputs, as_like(R[i], inputs)), inputs) for R in self.regions]
        return xp.sqrt(xp.max(xp.stack([xp.abs(s) for s in squares]), axis=0))


@dataclass(frozen=True, eq=False)
class UnitBalls:
    """‖δ(w, b)‖ ≤ ρ for every unit."""

    network: Network
    radius: np.ndarray  # (k,)

    def unit_radii(self, X: Array) -> tuple[Array, None]:
        """What z (m, k) may change by."""
        xp = array_namespace(X)
        return xp.sqrt(xp.sum(X * X, axis=1) + 1)[:, None] * as_like(self.radius, X), None


@dataclass(frozen=True, eq=False)
class Near:
    """The number of rows on which a unit within reach has its kink; `without` sets their weights to zero."""

    box: Box | UnitRegions | UnitBalls

    @property
    def floats_per_row(self) -> int:
        return 6 * self.box.network.n_units + 2 * self.box.network.n_inputs

    def __call__(self, block: Block) -> Sums:
        xp = array_namespace(block.X)
        return (xp.sum(xp.astype(self._on(block), xp.float64)),)

    def without(self, block: Block) -> Block:
        xp = array_namespace(block.X)
        w = xp.ones_like(block.X[:, 0]) if block.w is None else block.w
        return replace(block, w=xp.where(self._on(block), xp.zeros_like(w), w))

    def _on(self, block: Block) -> Array:
        """(m,)"""
        xp = array_namespace(block.X)
        X, net = xp.astype(block.X, xp.float64, copy=False), self.box.network
        gaps = kink_gaps(xp.matmul(X, as_like(net.W, X)) + as_like(net.b, X), net.activation)
        return xp.any(gaps <= self.box.unit_radii(X)[0], axis=1)


def kink_gaps(z: Array, activation: Activation) -> Array:
    """|zᵢ − kink| of the nearest kink."""
    xp, (first, *others) = array_namespace(z), activation.kinks
    gaps = xp.abs(z - first)
    for kink in others:
        gaps = xp.minimum(gaps, xp.abs(z - kink))
    return gaps


def on_sides(
    samples: Samples,
    reach: UnitRegions,
    relative: np.ndarray,
    cost: tuple[float, float],
    here: np.ndarray,
    sizes: Callable[[OtherSides], np.ndarray],
    limit: float,
    numbers: Sequence[int],
) -> Iterator[Statement]:
    """Rows that are on their side of a kink by no more than chance: regions that wide reach them, and all of a unit's would
    cost no more in Σ w r² on the other side. Of units for which that is too much, those that lie nearest, as many as a rival
    may have there. Without them a unit's region must not grow beyond its own size.

    relative  (k,) sizes of the units' regions
    cost      what fitting noise gains by chance, and what a rival may be worse by
    here      (k,) relative sizes of the units' parts of (JᵀJ)⁻¹ on all rows
    sizes     the same without rows on other sides; infinite where they are open
    numbers   what the units are called
    """
    if not reach.network.activation.kinks:
        return
    chance, margin = cost
    most = np.full(reach.network.n_units, chance)
    every, *cheapest = to_numpy(samples.fold(NearSquares(reach, margin))[0])
    beyond = ~(every <= chance)
    if beyond.any():
        together = np.stack(cheapest)[:, beyond].sum(axis=1)
        most[beyond] = margin * np.max(SHARES[together <= margin], initial=0.0)
    there = sizes(OtherSides(reach, most))
    units = tuple(np.flatnonzero(~(relative * there <= here * limit)).tolist())
    if units:
        who = named(numbers[i] for i in units)
        sentence = f"{who} determined by rows on a kink alone, within the noise; give rows elsewhere, or more of them."
        yield Statement(Topic.SIGNIFICANCE, Kind.TESTED, False, sentence, units=units)


@dataclass(frozen=True, eq=False)
class NearSquares:
    """Σ w ‖aᵢ‖² (zᵢ − kink)² over the rows within reach of unit i's kink: what it costs to put them on the other side, up to
    the jump of φ′. Of all of them, then of those that cost no more than a share of `margin` each, (1 + shares, k)."""

    reach: UnitRegions
    margin: float

    @property
    def floats_per_row(self) -> int:
        return 4 * self.reach.network.n_units + 4 * self.reach.network.n_inputs

    def __call__(self, block: Block) -> Sums:
        X, _, w = double(block)
        xp = array_namespace(X)
        most = as_like(np.append(np.inf, self.margin * SHARES), X)
        costs = [costs for _, costs in self.reach.near(X, w)]
        return (xp.stack([xp.matmul(c, xp.astype(c[:, None] <= most, xp.float64)) for c in costs], axis=1),)


@dataclass(frozen=True, eq=False)
class OtherSides:
    """Rows within reach of a unit's kink that cost no more than its `most` (k,) each on the other side."""

    reach: UnitRegions
    most: np.ndarray

    def alone(self, block: Block) -> Block:
        """These rows of the block."""
        xp, on = array_namespace(block.X), self._on(block)
        at = from_numpy(np.flatnonzero(on), like=block.X)
        w = None if block.w is None else xp.take(block.w, at)
        return Block(xp.take(block.X, at, axis=0), xp.take(block.y, at, axis=0), w, lambda: xp.take(block.key, at))

    def without(self, block: Block) -> Block:
        """The block with their weights zero."""
        xp, on = array_namespace(block.X), from_numpy(self._on(block), like=block.X)
        w = xp.ones_like(block.X[:, 0]) if block.w is None else block.w
        return replace(block, w=xp.where(on, xp.zeros_like(w), w))

    def _on(self, block: Block) -> np.ndarray:
        """(m,)"""
        X, _, w = double(block)
        on = np.zeros(X.shape[0], dtype=bool)
        for (rows, costs), most in zip(self.reach.near(X, w), self.most, strict=True):
            on[rows[to_numpy(costs) <= most]] = True
        return on


@dataclass(frozen=True, eq=False)
class Changes:
    """Σ w (Δρ)²: the change of J on the box, applied to the box itself; and the number of rows with a kink within reach.

    Between two places where φ′ turns it is monotone, so that its change is largest at an end or at such a place within reach;
    that of φ is at most the largest |φ′| times the reach. Where the places are not known, twice the larger change at the ends
    stands for it: an estimate.
    """

    box: Box

    @property
    def floats_per_row(self) -> int:
        return 12 * self.box.gauge.network.n_units + 2 * self.box.gauge.network.n_inputs

    def __call__(self, block: Block) -> Sums:
        X, _, w = double(block)
        xp = array_namespace(X)
        students = Students.of(self.box.gauge.network).like(X)
        phi, a = students.activation, xp.abs(students.a[0, :])
        z = students.preactivations(X)[:, 0, :]
        reach, of_a = self.box.unit_radii(X)

        slope = phi.derivative(z)
        bend = xp.maximum(xp.abs(phi.derivative(z - reach) - slope), xp.abs(phi.derivative(z + reach) - slope))
        for turn in phi.turns or ():
            there = xp.abs(phi.derivative(xp.full_like(z, turn)) - slope)
            bend = xp.where(xp.abs(z - turn) <= reach, xp.maximum(bend, there), bend)
        bend = 2.0 * bend if phi.turns is None else bend
        row = xp.sum((a * bend + 2.0 * of_a * (xp.abs(slope) + bend)) * reach, axis=1)
        kinks = self.box.gauge.network.activation.kinks
        near = xp.any(kink_gaps(z, phi) <= reach, axis=1) if kinks else xp.zeros_like(w)
        return xp.sum(w * row * row), xp.sum(xp.astype(near, xp.float64))


def hardly_determined(units: Iterable[int], relative: float) -> str:
    """The sentence of units, by their numbers, whose precision is not enough."""
    return (
        f"{named(units)} hardly determined (relative precision {relative:.1g}), or nearly parallel to another within that; "
        "use fewer units or give more rows."
    )


def separation(gauge: Gauge) -> np.ndarray:
    """(k,) relative distance of each unit's (w, b), in normal form and up to sign, to the nearest other one."""
    V = np.vstack([gauge.network.W, gauge.network.b])
    if gauge.network.activation.degree:
        V = V / np.maximum(np.linalg.norm(gauge.network.W, axis=0), np.finfo(float).tiny)
    norm = np.maximum(np.linalg.norm(V, axis=0), np.finfo(float).tiny)
    gaps = np.minimum(*(np.linalg.norm(V[:, :, None] + t * V[:, None, :], axis=0) for t in (1.0, -1.0)))
    gaps /= np.maximum(norm[:, None], norm)
    np.fill_diagonal(gaps, np.inf)
    return np.asarray(gaps.min(axis=1))
