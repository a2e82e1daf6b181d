"""Lack of fit: whether the residuals still have structure, and how small a further unit the test would have found.

At a minimum r = (I − P)ε to first order, P the projection on the columns of J. Let ψⱼ be some two hundred random units of the
class, the inputs and one; a further unit like it may act on any direction u ∈ Rᵐ of the outputs. With ψⱼ ⊗ u projected off J,
sⱼ ∈ Rᵐ its products with the residuals for every output, and Nⱼ the covariance of sⱼ for errors of one law,

    T = maxⱼ (sⱼᵀ Nⱼ⁻¹ sⱼ)^½,      the largest over j and over all u of |⟨ψⱼ ⊗ u, r⟩| in its standard deviations,

for one output maxⱼ |⟨ψⱼ, r⟩|/(σ ‖ψⱼ‖). Its law under the null is by signs: a row keeps its errors, (I − Hᵢ)^{-½} rᵢ with Hᵢ its
(m, m) leverages, and one sign is drawn for all of them, so that neither heavy tails, nor sizes that depend on x, nor correlated
outputs change the size of the test [Wu 1986; Davidson & Flachaire 2008]; a studentised T would. They come from the rows' keys
(`signs`); where 511 draws leave it open on which side of the level p is, there are eight times as many, of seven more groups
in one pass.
A further unit g ⊗ u is found when what it adds to T exceeds the critical value by `power` standard deviations; the detection
limit of an output is the least size that does for every one of a batch of random g, at that output, that are not nearly
parallel to a unit. Those that are stand for two units that the fit took for one: they share its output weights, and count at
most as large as the unit itself.
Cost  one pass, O(n m (p (p + v + u) + v) + n v u) for v test columns and u probes, however many draws; one more,
      O(n m (p² + v)), where p is near the level, for one right fit in 25.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from weightlift.certificate.limits import LIMITS
from weightlift.certificate.scores import WhiteRows
from weightlift.certificate.signs import cells_of, over_draws, sums_over_cells
from weightlift.evidence.gauge import TINY
from weightlift.evidence.rows import double
from weightlift.evidence.stacked import Coordinates, Known
from weightlift.namespaces import Array, array_namespace, as_like, matmul_transposed, to_numpy
from weightlift.network import Network
from weightlift.samples import Block, Covariance, Samples, Sums

DIRECTIONS = 5  # of nearly parallel probes of a unit, each at two angles
ANGLES = np.deg2rad(26.0 / 4.0 ** np.arange(9, -1, -1))  # up to arccos 0.9, down to where noise of 1e-11 hides as large a unit
RANK_TOLERANCE = 1e-6  # of ‖ψ‖² that is left off J: less is rounding


@dataclass(frozen=True, eq=False)
class LackOfFit:
    """The test and what it can see. Sums are over rows of mean weight one."""

    p_value: float
    limits: np.ndarray  # (m,) root mean square of the smallest unit at each output that every probe of its size reveals
    shifts: np.ndarray  # (p, g): what the probes at their limits would have moved the coordinates by
    splits: np.ndarray  # (p, k, s): what nearly parallel probes of each unit would have
    leverage: float  # largest eigenvalue of a row's leverages
    influence: float  # largest share of one row in Σ w ‖r‖² …
    pull: float  # … and in tr(sandwich · JᵀJ)
    kurtosis: float  # excess, of one output
    meat: np.ndarray  # Lᵀ (Σ w² Jᵀ(I − H)⁻¹ r rᵀ(I − H)⁻¹ J) L: the jackknife's

    @property
    def detection_limit(self) -> float:
        return float(self.limits.max())


def lack_of_fit(samples: Samples, information: Known, n_rows: float, *, rng: np.random.Generator) -> LackOfFit:
    """Test the residuals of a network at its least-squares fit; n_rows is the number of independent rows."""
    gauge = information.gauge
    units = choose_units(samples, gauge, rng)
    products = FitProducts(information, units, int(rng.integers(2**31)))
    columns = _Columns.of(samples, products, n_rows)
    statistic, draws = columns.statistic, columns.draws(columns.cells, columns.scores)
    p_value = (1 + int((draws >= statistic).sum())) / (1 + len(draws))
    if LIMITS.redrawn[0] < p_value < LIMITS.redrawn[1]:
        redraws = Redraws(information, units[0], tuple(rng.integers(2**31, size=LIMITS.redraws).tolist()))
        again = zip(*(to_numpy(v) for v in samples.fold(redraws)), strict=True)
        draws = np.concatenate([draws, *(columns.draws(*sums) for sums in again)])
        p_value = (1 + int((draws >= statistic).sum())) / (1 + len(draws))
    critical = float(np.sort(draws)[-int(LIMITS.level * (1 + len(draws)))]) + LIMITS.power

    A, m, g = gauge.network.A, gauge.network.n_outputs, units[1].n_units
    own = A / np.maximum(np.linalg.norm(A, axis=1, keepdims=True), TINY)
    probes, U = np.arange(columns.cross.shape[1]), [np.tile(np.eye(m), (g, 1)), np.repeat(own, len(ANGLES), axis=0)]
    at = np.append(np.repeat(probes[:g], m), probes[g:])  # each at every output, then the twins
    lengths = np.sqrt(columns.squares[len(columns.cross) :])[at]
    amounts, shifts = columns.amounts(critical, at, np.vstack(U)), columns.shifts(at, np.vstack(U))
    acting = (lengths > 0) & np.isfinite(amounts)
    acting[g * m :] = False
    sizes = np.where(acting, amounts * lengths, -np.inf)[: g * m].reshape(g, m).max(axis=0) / math.sqrt(samples.total)
    most = np.repeat(np.linalg.norm(A, axis=1) * np.sqrt(columns.units), len(ANGLES)) / np.maximum(lengths[g * m :], TINY)
    splits = shifts[:, g * m :] * np.minimum(amounts[g * m :], most)
    (leverage, pull, outlier, fourth), square = columns.numbers, float(np.trace(columns.residuals))
    return LackOfFit(
        p_value,
        np.where(np.isfinite(sizes), sizes, math.inf),
        shifts[:, acting] * amounts[acting],
        splits.reshape(len(splits), len(A), -1),
        float(leverage),
        float(outlier / max(square, TINY)),
        float(pull / max(np.trace(columns.meat), TINY)),
        float(n_rows * fourth / max(square, TINY) ** 2 - 3.0),
        columns.meat,
    )


def choose_units(samples: Samples, gauge: Coordinates, rng: np.random.Generator) -> tuple[Network, Network, Network]:
    """Features, probes and nearly parallel probes: units with random directions in the whitened inputs, of the size of the
    network's own and, where it has biases, with kinks and bends spread over the rows."""
    net = gauge.network
    weight, mean, scatter = (to_numpy(v) for v in samples.fold(Covariance(samples.d)))
    values, vectors = np.linalg.eigh(scatter / weight)
    solid = values > 1e-12 * max(values[-1], TINY)
    root = vectors[:, solid] / np.sqrt(values[solid])  # x̃ = (x − mean) root has covariance one
    own = (vectors[:, solid] * np.sqrt(values[solid])).T @ net.W
    length = np.maximum(np.linalg.norm(own, axis=0), TINY)
    level = (mean @ net.W + net.b) / length

    def units(U: np.ndarray, like: np.ndarray) -> Network:
        """Columns U, of length one in the whitened inputs, made as long as the units `like`."""
        W = root @ U * length[like]
        spread = np.abs(level).max(initial=1.0)
        b = rng.uniform(-spread, spread, len(like)) * length[like] - mean @ W if gauge.free.b else None
        return Network(W, np.ones(len(like)), b, 0.0, net.activation)

    def directions(count: int) -> np.ndarray:
        U = rng.standard_normal((len(root.T), count))
        return np.asarray(U / np.linalg.norm(U, axis=0))

    U = directions(8 * LIMITS.probes)
    apart = np.abs(U.T @ (own / length)).max(axis=1) < math.cos(ANGLES[-1])
    U = U[:, apart if apart.any() else slice(None)][:, : LIMITS.probes]
    across = np.tile(directions(net.n_units * DIRECTIONS).reshape(-1, net.n_units, DIRECTIONS), len(ANGLES) // DIRECTIONS)
    near = _near(own / length, across.reshape(len(across), -1))
    like = np.repeat(np.arange(net.n_units), len(ANGLES))
    W = root @ near * length[like]
    b = net.b[like] + mean @ (net.W[:, like] - W) if gauge.free.b else None
    close = Network(W, np.ones(len(like)), b, 0.0, net.activation)
    features = units(directions(LIMITS.features), rng.integers(net.n_units, size=LIMITS.features))
    return features, units(U, rng.integers(net.n_units, size=U.shape[1:])), close


def _near(own: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Each unit's direction (d, k), turned by every angle towards a random one (d, k·angles)."""
    V = np.repeat(own, len(ANGLES), axis=1)
    across = directions - V * (V * directions).sum(axis=0)
    across /= np.maximum(np.linalg.norm(across, axis=0), TINY)
    angles = np.tile(ANGLES, own.shape[1])
    return np.asarray(np.cos(angles) * V + np.sin(angles) * across)


def values_of(network: Network, X: Array) -> Array:
    """φ(zᵢ) (m, k)."""
    z = array_namespace(X).matmul(X, as_like(network.W, X))
    return network.activation(z + as_like(network.b, X) if network.b.any() else z)


@dataclass(frozen=True, eq=False)
class FitProducts:
    """Sums of products of the test columns V (v of them), the probes and nearly parallel ones U (u) and the rows √w J L, all
    that the test asks for; see `_Columns`. r is the residual at the minimum of the linearised problem."""

    information: Known
    units: tuple[Network, Network, Network]
    seed: int

    @property
    def floats_per_row(self) -> int:
        """A part of what the products read; sums over the cells are added once a block, so that larger blocks cost less."""
        return len(self.information.half_inverse) * self.information.gauge.network.n_outputs

    def __call__(self, block: Block) -> Sums:
        rows, V, half, whole, r = _tested(block, self.information, _joined(self.units))
        xp, features = array_namespace(r), self.units[0].n_units
        values, beside = V  # in two parts: rows are not copied to be beside others
        V, U = (values[:, :features], beside), values[:, features:]
        white = [rows.white[:, o, :] for o in range(r.shape[1])]
        net = self.information.gauge.network
        own = rows.root[:, None] * values_of(net, double(block)[0])
        jackknife, squares = rows.scores(whole), xp.sum(r * r, axis=1)
        zero = xp.zeros(1, dtype=r.dtype, device=r.device)
        largest = [xp.max(xp.concat([v, zero])) for v in (rows.leverage, xp.vecdot(jackknife, jackknife), squares)]
        return (
            xp.stack([xp.concat([matmul_transposed(J, v) for v in (*V, U)], axis=1) for J in white], axis=2),
            xp.concat([matmul_transposed(v, U) for v in V], axis=0),
            xp.concat([_squares(v) for v in (*V, U)]),
            xp.concat([matmul_transposed(v, r) for v in V]),
            xp.matmul(xp.reshape(r, (-1,)), xp.reshape(rows.white, (-1, rows.white.shape[2]))),
            *_over_cells(cells_of(block, self.seed), rows, V, half),
            matmul_transposed(jackknife, jackknife),
            _squares(own),
            matmul_transposed(r, r),
            xp.stack([*largest, xp.sum(squares * squares)]),
        )

    def merge(self, left: Sums, right: Sums) -> Sums:
        xp = array_namespace(*left)
        *sums, numbers = (a + b for a, b in zip(left, right, strict=True))
        return *sums, xp.concat([xp.maximum(left[-1][:3], right[-1][:3]), numbers[3:]])


def _tested(
    block: Block, information: Known, units: Network
) -> tuple[WhiteRows, tuple[Array, Array], Array, Array, Array]:
    """√w JL; √w times the units' values, and times one and the inputs; (I − H)^{-½} r, (I − H)⁻¹ r and r, at the minimum."""
    rows = WhiteRows.of(block, information.gauge, information.half_inverse)
    X, _, _ = double(block)
    xp = array_namespace(X)
    V = values_of(units, X), xp.concat([xp.ones_like(X[:, :1]), X], axis=1)
    if block.w is not None:
        V = rows.root[:, None] * V[0], rows.root[:, None] * V[1]
    step = as_like(information.half_inverse.T @ information.gradient, X)
    r = rows.r - xp.reshape(xp.matmul(xp.reshape(rows.white, (-1, step.shape[0])), step), rows.r.shape)
    return rows, V, *rows.shrunk(r), r


def _over_cells(cells: Array, rows: WhiteRows, V: tuple[Array, Array], half: Array) -> tuple[Array, Array]:
    """Sums over the cells of the signs of the test columns times each output's error (2ᵍ, v, m), and of the scores (2ᵍ, r)."""
    xp = array_namespace(half)
    columns = [xp.concat([sums_over_cells(cells, half[:, o], v) for v in V], axis=1) for o in range(half.shape[1])]
    return xp.stack(columns, axis=2), sums_over_cells(cells, xp.ones_like(half[:, 0]), rows.scores(half))


def _squares(rows: Array) -> Array:
    """(c,) sums of squares of the columns; a product is faster than a reduction over the first axis."""
    xp = array_namespace(rows)
    return xp.matmul(xp.ones_like(rows[:, 0]), rows * rows)


@dataclass(frozen=True, eq=False)
class Redraws:
    """The sums over the cells of further signs, (seeds, 2ᵍ, v, m) and (seeds, 2ᵍ, r)."""

    information: Known
    features: Network
    seeds: tuple[int, ...]

    @property
    def floats_per_row(self) -> int:
        return len(self.information.half_inverse) * self.information.gauge.network.n_outputs

    def __call__(self, block: Block) -> Sums:
        rows, V, half, _, _ = _tested(block, self.information, self.features)
        sums = zip(*(_over_cells(cells_of(block, seed), rows, V, half) for seed in self.seeds), strict=True)
        return tuple(array_namespace(half).stack(list(part)) for part in sums)


def _joined(units: tuple[Network, ...]) -> Network:
    W, b = np.hstack([net.W for net in units]), np.concatenate([net.b for net in units])
    return Network(W, np.ones(len(b)), b, 0.0, units[0].activation)


@dataclass(frozen=True, eq=False)
class _Columns:
    """ψ ⊗ e_o for every test column ψ and output o, and the probes, by their products alone; what is off J is a difference of
    these."""

    information: Known
    n_rows: float
    onto: np.ndarray  # Lᵀ Jᵀ W ((V, U) ⊗ e_o) (r, v + u, m)
    cross: np.ndarray  # Vᵀ W U (v, u)
    squares: np.ndarray  # diagonals of Vᵀ W V and Uᵀ W U (v + u,)
    own: np.ndarray  # Vᵀ W r (v, m)
    score: np.ndarray  # Lᵀ Jᵀ W r (r,)
    cells: np.ndarray  # both with (I − H)^{-½} r, over the cells of the signs (2ᵍ, v, m) …
    scores: np.ndarray  # … and (2ᵍ, r)
    meat: np.ndarray
    units: np.ndarray  # (k,) Σ w φ(zᵢ)²
    residuals: np.ndarray  # Σ w rrᵀ (m, m)
    numbers: np.ndarray  # the largest leverage, ‖score‖² and w ‖r‖² of a row; Σ w² ‖r‖⁴

    @classmethod
    def of(cls, samples: Samples, products: FitProducts, n_rows: float) -> _Columns:
        return cls(products.information, n_rows, *(to_numpy(v) for v in samples.fold(products)))

    @property
    def noise(self) -> np.ndarray:
        """Σ̂ = Σ w rrᵀ/(n − p/m) (m, m)."""
        return self.residuals / max(self.n_rows - self.information.gauge.size / len(self.residuals), 1.0)

    @property
    def left(self) -> np.ndarray:
        """(v,) the least ‖ψ ⊗ e_o‖² of the outputs, off J."""
        v = len(self.cross)
        return np.asarray((self.squares[:v, None] - np.sum(self.onto[:, :v] ** 2, axis=0)).min(axis=1))

    @cached_property
    def kept(self) -> np.ndarray:
        """The columns of V of which something is left."""
        return np.flatnonzero(self.left > RANK_TOLERANCE * np.maximum(self.squares[: len(self.cross)], TINY))

    @cached_property
    def white(self) -> np.ndarray:
        """(r, j, m) of these columns."""
        return np.ascontiguousarray(self.onto[:, self.kept])

    @cached_property
    def halves(self) -> np.ndarray:
        """Nⱼ^{-½} (j, m, m), N = (ψ ⊗ e − J…)ᵀ Σ (ψ ⊗ e − J…); zero along outputs that depend on others."""
        white, spread = self.white, self.information.covariance(self.noise)
        spread = (spread @ white.reshape(len(white), -1)).reshape(white.shape) if white.size else white
        white, spread = np.moveaxis(white, 0, 1), np.moveaxis(spread, 0, 1)  # (j, r, m)
        cross = np.swapaxes(white, 1, 2) @ white @ self.noise
        N = self.squares[self.kept, None, None] * self.noise - cross - np.swapaxes(cross, 1, 2)
        values, vectors = np.linalg.eigh(N + np.swapaxes(white, 1, 2) @ spread)
        good = values > LIMITS.noiseless * np.maximum(values[:, -1:], TINY)
        inverse = np.where(good, 1 / np.sqrt(np.where(good, values, 1.0)), 0.0)
        return np.asarray(inverse[:, :, None] * np.swapaxes(vectors, 1, 2))

    @cached_property
    def statistic(self) -> float:
        found = self.own[self.kept] - np.tensordot(self.score, self.white, axes=1)
        return float(self._largest(self._scaled(found[None]))[0])

    def draws(self, cells: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """(draws,) the statistic of every draw of signs."""
        return self._largest(over_draws(self._scaled(cells[:, self.kept] - np.tensordot(scores, self.white, axes=1))))

    def amounts(self, critical: float, at: np.ndarray, U: np.ndarray) -> np.ndarray:
        """(g,) of units v ⊗ u, v the probes `at` (g,), u the rows of U (g, m), by which the statistic rises to `critical`."""
        off = self.cross[np.ix_(self.kept, at)].T[:, :, None] * U[:, None, :]
        seen = self._largest(self._scaled(off - np.tensordot(self._onto(at, U).T, self.white, axes=1)))
        return np.asarray(np.where(seen > 0, critical / np.where(seen > 0, seen, 1.0), np.inf))

    def shifts(self, at: np.ndarray, U: np.ndarray) -> np.ndarray:
        """(p, g): what the units of amount one would have moved the coordinates by."""
        return np.asarray(self.information.half_inverse @ self._onto(at, U))

    def _scaled(self, sums: np.ndarray) -> np.ndarray:
        """Nⱼ^{-½} sⱼ of sums (…, j, m)."""
        return np.asarray(np.einsum("jam,gjm->gja", self.halves, sums))

    def _largest(self, sums: np.ndarray) -> np.ndarray:
        """(g,) the largest length over j of sums (g, j, m)."""
        return np.asarray(np.sqrt(np.einsum("gjm,gjm->gj", sums, sums).max(axis=1, initial=0.0)))

    def _onto(self, at: np.ndarray, U: np.ndarray) -> np.ndarray:
        """(r, g)."""
        return np.asarray(np.einsum("rgm,gm->rg", self.onto[:, len(self.cross) + at], U))
