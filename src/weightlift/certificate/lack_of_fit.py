"""Lack of fit: whether the residual still has structure, and how small a further unit the test would have found.

At a minimum r = (I − P)ε to first order, P the projection on the columns of J. With ψⱼ some two hundred random units of the
class, the inputs, and units near the network's own, all projected off J,

    T = maxⱼ |⟨ψⱼ, r⟩|/‖ψⱼ‖,      its law under the null by signs: r is replaced by eᵢ rᵢ/(1 − hᵢ)^½, eᵢ = ±1, h the leverages.

Signs leave the size of each error where it is, so that neither heavy tails nor noise that depends on x change the size of the
test [Wu 1986; Davidson & Flachaire 2008]; a studentised T would. They come from the rows' keys (`signs`); where 511 draws leave
it open on which side of the level p is, there are eight times as many, of seven more groups in one pass.
A further unit s·g, g of root mean square one, is found when s maxⱼ |⟨ψⱼ, g⟩|/‖ψⱼ‖ exceeds the critical value by `power`
standard deviations; the detection limit is the least s that does for every one of a batch of random g that are not nearly
parallel to a unit. Those that are stand for two units that the fit took for one, and count at most as large as the unit itself.
Cost  one pass, O(n (p (p + m + u) + m u)) for m test columns and u probes, however many draws; one more, O(n p (p + m)), where
      p is near the level, for one right fit in 25.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from weightlift.certificate.limits import LIMITS
from weightlift.certificate.scores import WhiteRows
from weightlift.certificate.signs import cells_of, over_draws, sums_over_cells
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.evidence.rows import double
from weightlift.namespaces import Array, array_namespace, as_like, matmul_transposed, to_numpy
from weightlift.network import Network
from weightlift.samples import Block, Covariance, Samples, Sums

DIRECTIONS = 5  # of nearly parallel probes of a unit, each at two angles
ANGLES = np.deg2rad(26.0 / 4.0 ** np.arange(9, -1, -1))  # up to arccos 0.9, down to where noise of 1e-11 hides as large a unit
RANK_TOLERANCE = 1e-6  # of ‖ψ‖² that is left off J: less is rounding
TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True, eq=False)
class LackOfFit:
    """The test and what it can see. Sums are over rows of mean weight one."""

    p_value: float
    detection_limit: float  # root mean square of the smallest unit that every probe of its size reveals
    shifts: np.ndarray  # (p, g): what the probes at their limits would have moved the coordinates by
    splits: np.ndarray  # (p, k, s): what nearly parallel probes of each unit would have
    leverage: float  # largest
    influence: float  # largest share of one row in Σ w r²
    kurtosis: float  # excess
    meat: np.ndarray  # Lᵀ (Σ w² r²/(1 − h)² jjᵀ) L


def lack_of_fit(samples: Samples, information: Information, n_rows: float, *, rng: np.random.Generator) -> LackOfFit:
    """Test the residual of a network at its least-squares fit; n_rows is the number of independent rows."""
    gauge = information.gauge
    features, probes, near = choose_units(samples, gauge, rng)
    g, k = probes.n_units, gauge.network.n_units
    products = FitProducts(information, (features, probes, near), int(rng.integers(2**31)))
    columns = _Columns.of(samples, products)
    own, drawn = columns.products()
    draws, statistic = drawn.max(axis=1, initial=0.0), float(own.max(initial=0.0))
    p_value = (1 + int((draws >= statistic).sum())) / (1 + len(draws))
    if LIMITS.redrawn[0] < p_value < LIMITS.redrawn[1]:
        seeds = tuple(rng.integers(2**31, size=LIMITS.redraws).tolist())
        draws = np.concatenate([draws, *columns.redrawn(samples, products, seeds)])
        p_value = (1 + int((draws >= statistic).sum())) / (1 + len(draws))
    leverage, outlier, fourth, square = columns.numbers
    noise = math.sqrt(square / max(n_rows - gauge.size, 1.0))
    critical = float(np.sort(draws)[-int(LIMITS.level * (1 + len(draws)))]) + LIMITS.power * noise
    seen, lengths = columns.seen(), np.sqrt(columns.squares[len(columns.cross) :])
    amounts = np.where(seen > 0, critical / np.where(seen > 0, seen, 1.0), np.inf)  # of each probe, as it is
    sizes = np.sqrt(to_numpy(samples.fold(UnitSquares(gauge))[0]))
    shifts = information.half_inverse @ columns.onto[:, len(columns.cross) :]
    acting = (lengths[:g] > 0) & np.isfinite(amounts[:g])
    limit = float(np.max(amounts[:g][acting] * lengths[:g][acting], initial=0.0)) / math.sqrt(samples.total)
    most = np.repeat(sizes, len(ANGLES)) / np.maximum(lengths[g:], TINY)
    splits = shifts[:, g:] * np.minimum(amounts[g:], most)
    return LackOfFit(
        p_value,
        limit if acting.any() else math.inf,
        shifts[:, :g][:, acting] * amounts[:g][acting],
        splits.reshape(len(splits), k, -1),
        float(leverage),
        float(outlier / max(square, TINY)),
        float(n_rows * fourth / max(square, TINY) ** 2 - 3.0),
        columns.meat,
    )


def choose_units(samples: Samples, gauge: Gauge, rng: np.random.Generator) -> tuple[Network, Network, Network]:
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


def feature_columns(features: Network, X: Array) -> Array:
    """The random units, then one and the inputs: (m, features + 1 + d)."""
    xp = array_namespace(X)
    one = xp.ones((X.shape[0], 1), dtype=X.dtype, device=X.device)
    return xp.concat([values_of(features, X), one, X], axis=1)


@dataclass(frozen=True, eq=False)
class FitProducts:
    """Sums of products of the test columns V (m of them), the probes and nearly parallel ones U (u) and the rows √w J L, all
    that the test asks for; see `_Columns`. r is the residual at the minimum of the linearised problem."""

    information: Information
    units: tuple[Network, Network, Network]
    seed: int

    @property
    def floats_per_row(self) -> int:
        """A part of what the products read; sums over the cells are added once a block, so that larger blocks cost less."""
        return self.information.gauge.size

    def __call__(self, block: Block) -> Sums:
        information, features = self.information, self.units[0].n_units
        rows = WhiteRows.of(block, information.gauge, information.half_inverse)
        X, _, _ = double(block)
        xp = array_namespace(X)
        values, beside = values_of(_joined(self.units), X), xp.concat([xp.ones_like(X[:, :1]), X], axis=1)
        if block.w is not None:
            values, beside = rows.root[:, None] * values, rows.root[:, None] * beside
        V, U = (values[:, :features], beside), values[:, features:]  # V in two parts: rows are not copied to be beside others
        r = _at_minimum(information, rows)
        shaken, cells = r / xp.sqrt(rows.left), cells_of(block, self.seed)
        jackknife = (r / rows.left)[:, None] * rows.white
        squares, zero = r * r, xp.zeros(1, dtype=X.dtype, device=X.device)
        largest = [xp.max(xp.concat([v, zero])) for v in (rows.leverage, squares)]
        return (
            xp.concat([matmul_transposed(rows.white, v) for v in (*V, U)], axis=1),
            xp.concat([matmul_transposed(v, U) for v in V], axis=0),
            xp.concat([_squares(v) for v in (*V, U)]),
            xp.concat([xp.matmul(r, v) for v in V]),
            xp.matmul(r, rows.white),
            xp.concat([sums_over_cells(cells, shaken, v) for v in V], axis=1),
            sums_over_cells(cells, shaken, rows.white),
            matmul_transposed(jackknife, jackknife),
            xp.stack([*largest, xp.sum(squares * squares), xp.sum(squares)]),
        )

    def merge(self, left: Sums, right: Sums) -> Sums:
        xp = array_namespace(*left)
        *sums, numbers = (a + b for a, b in zip(left, right, strict=True))
        return *sums, xp.concat([xp.maximum(left[-1][:2], right[-1][:2]), numbers[2:]])


def _squares(rows: Array) -> Array:
    """(c,) sums of squares of the columns; a product is faster than a reduction over the first axis."""
    xp = array_namespace(rows)
    return xp.matmul(xp.ones_like(rows[:, 0]), rows * rows)


def _at_minimum(information: Information, rows: WhiteRows) -> Array:
    """√w r at the minimum of the linearised problem."""
    step = as_like(information.half_inverse.T @ information.gradient, rows.r)
    return rows.r - array_namespace(rows.r).matmul(rows.white, step)


@dataclass(frozen=True, eq=False)
class Redraws:
    """Σ ψⱼ r/(1 − h)^½ over the cells of further signs, (seeds, 2ᵍ, m), ψ the test columns projected off J."""

    information: Information
    features: Network
    onto: np.ndarray  # Lᵀ Jᵀ W V (p, m)
    kept: np.ndarray
    seeds: tuple[int, ...]

    @property
    def floats_per_row(self) -> int:
        return self.information.gauge.size

    def __call__(self, block: Block) -> Sums:
        rows = WhiteRows.of(block, self.information.gauge, self.information.half_inverse)
        X, _, _ = double(block)
        xp = array_namespace(X)
        V = xp.take(feature_columns(self.features, X), xp.asarray(self.kept, device=X.device), axis=1)
        psi = rows.root[:, None] * V - xp.matmul(rows.white, as_like(self.onto, X))
        shaken = _at_minimum(self.information, rows) / xp.sqrt(rows.left)
        return (xp.stack([sums_over_cells(cells_of(block, seed), shaken, psi) for seed in self.seeds]),)


def _joined(units: tuple[Network, ...]) -> Network:
    W, b = np.hstack([net.W for net in units]), np.concatenate([net.b for net in units])
    return Network(W, np.ones(len(b)), b, 0.0, units[0].activation)


@dataclass(frozen=True, eq=False)
class _Columns:
    """The test columns ψ and the probes by their products alone; what is off J is a difference of these."""

    onto: np.ndarray  # Lᵀ Jᵀ W (V, U) (p, m + u)
    cross: np.ndarray  # Vᵀ W U (m, u)
    squares: np.ndarray  # diagonals of Vᵀ W V and Uᵀ W U (m + u,)
    own: np.ndarray  # Vᵀ W r (m,)
    score: np.ndarray  # Lᵀ Jᵀ W r (p,)
    cells: np.ndarray  # both with r/(1 − h)^½, over the cells of the signs (2ᵍ, m) …
    scores: np.ndarray  # … and (2ᵍ, p)
    meat: np.ndarray
    numbers: np.ndarray  # max leverage, max w r², Σ w² r⁴, Σ w r²

    @classmethod
    def of(cls, samples: Samples, products: FitProducts) -> _Columns:
        return cls(*(to_numpy(v) for v in samples.fold(products)))

    @cached_property
    def _kept(self) -> tuple[np.ndarray, np.ndarray]:
        """The columns of V that are not in the range of J, and their lengths off it."""
        m = len(self.cross)
        size = self.squares[:m] - np.sum(self.onto[:, :m] ** 2, axis=0)
        kept = np.flatnonzero(size > RANK_TOLERANCE * np.maximum(self.squares[:m], TINY))
        return kept, np.sqrt(size[kept])

    def products(self) -> tuple[np.ndarray, np.ndarray]:
        """|⟨ψ, r⟩|/‖ψ‖ (m,) and the same of every draw of signs (draws, m)."""
        kept, norm = self._kept
        onto = self.onto[:, kept]
        own = np.abs(self.own[kept] - self.score @ onto) / norm
        return own, np.abs(over_draws((self.cells[:, kept] - self.scores @ onto) / norm))

    def redrawn(self, samples: Samples, products: FitProducts, seeds: tuple[int, ...]) -> list[np.ndarray]:
        """(draws,) the largest of each draw, for every further seed."""
        kept, norm = self._kept
        redraws = Redraws(products.information, products.units[0], self.onto[:, kept], kept, seeds)
        sums = to_numpy(samples.fold(redraws)[0])
        return [(np.abs(over_draws(cells)) / norm).max(axis=1, initial=0.0) for cells in sums]

    def seen(self) -> np.ndarray:
        """(u,) the largest |⟨ψ, u⟩|/‖ψ‖ of each probe."""
        m, (kept, norm) = len(self.cross), self._kept
        off = self.cross[kept] - self.onto[:, kept].T @ self.onto[:, m:]
        return np.asarray(np.max(np.abs(off) / norm[:, None], axis=0, initial=0.0))


@dataclass(frozen=True, eq=False)
class UnitSquares:
    """Σ w (aᵢ φ(zᵢ))², (k,)."""

    gauge: Gauge

    @property
    def floats_per_row(self) -> int:
        return 4 * self.gauge.network.n_units

    def __call__(self, block: Block) -> Sums:
        X, _, w = double(block)
        parts = as_like(self.gauge.network.a, X) * values_of(self.gauge.network, X)
        return (array_namespace(X).sum(w[:, None] * parts * parts, axis=0),)
