"""Noisy rows, discrete columns: the nearest networks whose units may take each other's places at some levels.

Units of one output weight and one part along the other columns may exchange their values z at some places of the discrete
ones where what results is affine again [rivals.discrete]. Said who takes whose value where, all of this is linear in θ:

    aᵢ = aⱼ,    wᵢ = wⱼ along the other columns,    Σₚ nₚ z_{π(p)}(p) = 0  for all n beyond the affine functions of p.

Noise moves a fit off these equations Cθ = 0, but not far in the metric of the rows: the nearest network that solves them has

    (Cθ)ᵀ (C H⁻¹ Cᵀ)⁻¹ Cθ,      H = Σ w jjᵀ,

more of Σ w r² to first order, and with it so has the one in which the units have taken each other's places.
Cost  O(p³), and for m units, P places of q coordinates and S orders  O(m^q P + S m³ (d + q)³).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg

from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.network import Network
from weightlift.risk import Students
from weightlift.rivals.cells import inputs
from weightlift.rivals.limits import LIMITS


def places_near(
    X: np.ndarray, information: Information, columns: np.ndarray, margin: float
) -> list[tuple[tuple[int, ...], Network]]:
    """Networks whose units have taken each other's places, with the units, to be refitted; those first that leave least.

    X            some of the rows' inputs
    information  of the network on all of them
    columns      (d,) those that are discrete
    margin       of Σ w r²: to first order `LIMITS.far` times as much may be left
    """
    found: list[tuple[float, tuple[int, ...], Network]] = []
    most = LIMITS.far * margin
    for group in _groups(information, columns, most):
        for differ, last in group.differing(X, columns):
            for order in _orders(X, group, differ, last):
                left, theta = group.solved(np.vstack([group.alike(differ), order.equations()]))
                there = order.exchanged(theta[group.at])
                if left <= most and group.moved(there, theta[group.at]) > margin / LIMITS.reach:
                    found.append((left, group.units, group.network(theta, there)))
    found.sort(key=lambda entry: entry[0])
    return [(units, rival) for _, units, rival in found[: LIMITS.patterns]]


@dataclass(frozen=True, eq=False)
class Group:
    """Units, each with the signs by which its coordinates are turned so that all have one output weight."""

    information: Information
    units: tuple[int, ...]
    turns: np.ndarray  # (m, q) ±1
    either: bool  # φ is even and the units use discrete columns alone: either sign of z will do

    @property
    def gauge(self) -> Gauge:
        return self.information.gauge

    @cached_property
    def at(self) -> np.ndarray:
        """(m, q) where the units' coordinates stand in θ."""
        return np.array([self.gauge.coordinates(i) for i in self.units])

    @cached_property
    def _roots(self) -> tuple[np.ndarray, np.ndarray]:
        """(m q, r) R with R Rᵀ the turned units' part of H⁻¹, and (p, r) how all coordinates move with them."""
        A = self.information.half_inverse
        Q, R = np.linalg.qr((self.turns.reshape(-1, 1) * A[self.at.ravel()]).T)
        return R.T, A @ Q

    def solved(self, equations: np.ndarray) -> tuple[float, np.ndarray]:
        """What the nearest θ that solves the equations (e, m q) in the turned units leaves of Σ w r², and θ."""
        root, spread = self._roots
        own = (self.turns * self.gauge.theta[self.at]).ravel()
        x = np.linalg.lstsq(equations @ root, equations @ own, rcond=None)[0]
        return float(x @ x), np.asarray(self.gauge.theta - spread @ x)

    def alike(self, differ: np.ndarray) -> np.ndarray:
        """(e, m q) equations: one output weight, and one part along all columns but these; none where either."""
        m, q = self.turns.shape
        d = self.gauge.network.n_inputs
        kept = np.concatenate([np.flatnonzero(~differ), np.arange(d + self.gauge.free.b, q)])
        E = np.eye(q)[kept]
        rows = [np.hstack([E] + [-E if j == i else 0.0 * E for j in range(1, m)]) for i in range(1, m)]
        if self.either:
            E = np.eye(q)[np.flatnonzero(~differ)]
            rows.append(np.hstack([E, np.zeros((len(E), (m - 1) * q))]))
        return np.vstack(rows)

    def differing(self, X: np.ndarray, columns: np.ndarray) -> Iterator[tuple[np.ndarray, int]]:
        """(d,) the discrete column along which the units differ most beside noise, the first two and so on; the last."""
        theta = (self.turns * self.solved(self.alike(columns))[1][self.at])[:, : self.gauge.network.n_inputs]
        V = (self._roots[0] ** 2).sum(axis=1).reshape(self.turns.shape)[:, : theta.shape[1]]
        gaps, noise = (np.abs(theta), V) if len(theta) == 1 else (np.ptp(theta, axis=0)[None], V.sum(axis=0)[None])
        order = np.argsort(-(gaps[0] / np.sqrt(noise[0] + np.finfo(float).tiny)), kind="stable")
        order = order[columns[order]]
        for r in range(1, len(order) + 1):
            differ = np.zeros(len(columns), dtype=bool)
            differ[order[:r]] = True
            choices = ((1 + self.either) * len(self.units)) ** (r + self.gauge.free.b)
            if choices > LIMITS.choices // 10 or len(np.unique(X[:, differ], axis=0)) > LIMITS.levels:
                return
            yield differ, int(order[r - 1])

    def moved(self, there: np.ndarray, here: np.ndarray) -> float:
        """The largest δᵀ (H⁻¹)ᵢᵢ⁻¹ δ from a unit (m, q) of `there` to the nearest of `here`."""
        root = self._roots[0].reshape(*self.turns.shape, -1)
        gaps = self.turns * there - (self.turns * here)[:, None]  # (own, other, q)
        if self.either:
            turned = np.where(np.arange(gaps.shape[2]) < self.gauge.unit_size - self.gauge.free.a, -1.0, 1.0)
            gaps = np.concatenate([gaps, self.turns * there * turned - (self.turns * here)[:, None]], axis=1)
        steps = np.stack([np.linalg.lstsq(R, g.T, rcond=None)[0] for R, g in zip(root, gaps, strict=True)])
        sizes = (steps**2).sum(axis=1).reshape(len(root), -1, len(there))
        return float(sizes.min(axis=(0, 1)).max())

    def network(self, theta: np.ndarray, there: np.ndarray) -> Network:
        changed = theta.copy()
        changed[self.at] = there
        return self.gauge.free.unpack(changed[None], Students.of(self.gauge.network)).network(0)


def _groups(information: Information, columns: np.ndarray, most: float) -> Iterator[Group]:
    """Units that all may be alike beside the discrete columns, to first order, and any two of them."""
    gauge = information.gauge
    net, q = gauge.network, gauge.unit_size
    s = 0 if net.activation.reflection is None else int(net.activation.reflection[0])
    inner = np.arange(q) < q - gauge.free.a
    flips = [np.where(inner, t, 1.0) for t in ((1.0, -1.0) if s > 0 else (1.0,))]
    turned = [np.where(net.a[i] < 0, -np.ones(q), np.ones(q)) if s < 0 else np.ones(q) for i in range(net.n_units)]
    sign = np.zeros(net.n_units) if gauge.free.a else np.sign(net.a)

    at = np.array([gauge.coordinates(i) for i in range(net.n_units)])
    rest = np.concatenate([np.flatnonzero(~columns), np.arange(gauge.network.n_inputs + gauge.free.b, q)])
    inverse = information.inverse

    def cost(i: int, turn: np.ndarray, coordinates: np.ndarray, j: int | None = None, other: np.ndarray | None = None) -> float:
        """δᵀ cov(δ)⁻¹ δ in some coordinates, δ a unit, or how two differ: `Group.solved` of `alike` without the units' θ."""
        rows = np.append(at[i], at[j]) if j is not None else at[i]
        signs = np.append(turn, -other) if other is not None else turn
        V = (signs[:, None] * inverse[np.ix_(rows, rows)] * signs).reshape(-1, q, len(rows)).sum(axis=0)
        V = V.reshape(q, -1, q).sum(axis=1)[np.ix_(coordinates, coordinates)]
        gap = (signs * gauge.theta[rows]).reshape(-1, q).sum(axis=0)[coordinates]
        size = np.sqrt(np.maximum(np.diagonal(V), np.finfo(float).tiny))
        scaled = V / (size[:, None] * size) + LIMITS.damping * np.eye(len(size))
        return float(gap / size @ np.linalg.solve(scaled, gap / size)) if len(gap) else 0.0

    left = list(range(net.n_units))
    while left:
        first, *others = left
        alike = [(first, turned[first])]
        for i in others:
            turns = [turned[i] * flip for flip in flips if sign[i] == sign[first]]
            turns = [turn for turn in turns if cost(first, turned[first], rest, i, turn) <= most]
            alike += [(i, turns[0])] if turns else []
        left = [i for i in others if i not in {i for i, _ in alike}]
        either = s > 0 and cost(first, turned[first], np.flatnonzero(~columns)) <= most
        if len(alike) > 1 or either:
            sets = [alike, *(map(list, itertools.combinations(alike, 2)) if len(alike) > 2 else ())]
            for chosen in sets:
                units = tuple(i for i, _ in chosen)
                yield Group(information, units, np.array([turn for _, turn in chosen]), either)


@dataclass(frozen=True, eq=False)
class Order:
    """Whose value each of the m units takes at each place."""

    group: Group
    differ: np.ndarray  # (d,) the columns of the places
    here: np.ndarray  # (P, c) the places, and 1 where biases are fitted
    taken: np.ndarray  # (P, m)
    signs: np.ndarray  # (P, m) ±1

    @property
    def coordinates(self) -> np.ndarray:
        """(c,) of a unit, that the places go with."""
        d = self.group.gauge.network.n_inputs
        return np.append(np.flatnonzero(self.differ), np.full(self.here.shape[1] - int(self.differ.sum()), d))

    def equations(self) -> np.ndarray:
        """(e, m q) that what the units take is affine: its part outside of the range of `here` vanishes."""
        m, q = self.group.turns.shape
        U, sizes, _ = np.linalg.svd(self.here / np.linalg.norm(self.here, axis=0))
        beyond = U[:, np.count_nonzero(sizes > LIMITS.independent * sizes[0]) :]
        blocks = []
        for f in range(m):
            C = np.zeros((beyond.shape[1], m * q))
            for i in range(m):
                C[:, i * q + self.coordinates] = beyond.T @ (self.here * (self.signs[:, f] * (self.taken[:, f] == i))[:, None])
            blocks.append(np.linalg.qr(C, mode="r"))  # as many equations as unknowns at most
        return np.vstack(blocks)

    def depends_on(self, column: int) -> bool:
        """Whether who takes what depends on this one of the places' columns."""
        places = np.where(np.flatnonzero(self.differ) == column, 0.0, self.here[:, : int(self.differ.sum())])
        _, first, there = np.unique(places, axis=0, return_index=True, return_inverse=True)
        same = first[there.ravel()]
        return bool((self.taken != self.taken[same]).any() or (self.signs != self.signs[same]).any())

    def exchanged(self, units: np.ndarray) -> np.ndarray:
        """(m, q) the units with what they take."""
        turned, at = self.group.turns * units, self.coordinates
        Z = self.here @ turned[:, at].T
        taken = self.signs * np.take_along_axis(Z, self.taken, axis=1)
        turned[:, at] = np.linalg.lstsq(self.here, taken, rcond=None)[0].T
        return np.asarray(self.group.turns * turned)


def _orders(X: np.ndarray, group: Group, differ: np.ndarray, last: int) -> Iterator[Order]:
    """Orders, nearly affine, that depend on the last column: the functions take a unit's value at each place of a basis."""
    gauge, m = group.gauge, len(group.units)
    places = np.unique(X[:, differ], axis=0)
    here = inputs(places, gauge)
    theta = group.solved(group.alike(differ))[1][group.at] * group.turns
    Z = here @ np.hstack([theta[:, : len(differ)][:, differ], theta[:, len(differ) : len(differ) + gauge.free.b]]).T
    values = np.hstack([Z, -Z]) if group.either else Z
    first = 1.0 - LIMITS.tied * np.arange(len(here))  # of places alike, as corners of a square are, whatever their last bits
    basis = scipy.linalg.qr(here.T * first, mode="r", pivoting=True)[1][: np.linalg.matrix_rank(here)]
    choice = np.array(list(itertools.product(range(values.shape[1]), repeat=len(basis))))
    U = here @ (np.linalg.pinv(here[basis]) @ values[basis[:, None], choice.T])  # (P, choices)
    gaps = np.abs(U[:, :, None] - values[:, None, :]).min(axis=2).max(axis=0)
    kept = _least(gaps, values)[: _functions(m)]
    sets = np.array(list(itertools.combinations(range(len(kept)), m)))
    if not len(sets):
        return
    V = U[:, kept][:, sets]  # (P, sets, m)
    ranked, own = (np.abs(V), np.abs(Z)) if group.either else (V, Z)
    misfit = np.abs(np.sort(ranked, axis=2) - np.sort(own, axis=1)[:, None]).max(axis=(0, 2))
    ranks = np.argsort(np.argsort(ranked, axis=2, kind="stable"), axis=2, kind="stable")
    taken = np.argsort(own, axis=1, kind="stable")[np.arange(len(here))[:, None, None], ranks]
    signs = np.ones(taken.shape)
    if group.either:
        at = np.take_along_axis(np.broadcast_to(Z[:, None], taken.shape), taken, axis=2)
        signs = np.where(V * at < 0, -1.0, 1.0)
    told = set[bytes]()
    for s in _least(misfit, values)[: LIMITS.extras]:
        order = Order(group, differ, here, taken[:, s], signs[:, s])
        name = np.unique(np.stack([order.taken, order.signs]), axis=2).tobytes()
        if name not in told and order.depends_on(last):
            told.add(name)
            yield order


def _least(gaps: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Their order, the least first; those that rounding alone tells apart in the order that they have."""
    return np.argsort(np.round(gaps / (LIMITS.tied * max(float(np.abs(values).max()), np.finfo(float).tiny))), kind="stable")


def _functions(m: int) -> int:
    """Functions of which all sets of m are looked at."""
    count = m + 1
    while count < LIMITS.extras and math.comb(count + 1, m) <= LIMITS.sets_of_functions:
        count += 1
    return count
