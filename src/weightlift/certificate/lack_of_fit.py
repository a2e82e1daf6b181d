"""Lack of fit: whether the residual still has structure, and how small a further unit the test would have found.

At a minimum r = (I − P)ε to first order, P the projection on the columns of J. With ψⱼ some two hundred random units of the
class, the inputs, and units near the network's own, all projected off J,

    T = maxⱼ |⟨ψⱼ, r⟩|/‖ψⱼ‖,      its law under the null by signs: r is replaced by eᵢ rᵢ/(1 − hᵢ)^½, eᵢ = ±1, h the leverages.

Signs leave the size of each error where it is, so that neither heavy tails nor noise that depends on x change the size of the
test [Wu 1986; Davidson & Flachaire 2008]; a studentised T would. A row's signs are bits of its key: the same whatever the
source and the order, and copies share theirs.
A further unit s·g, g of root mean square one, is found when s maxⱼ |⟨ψⱼ, g⟩|/‖ψⱼ‖ exceeds the critical value by `power`
standard deviations; the detection limit is the least s that does for every one of a batch of random g that are not nearly
parallel to a unit. Those that are stand for two units that the fit took for one, and count at most as large as the unit itself.
Cost  two passes, O(n p (p + m)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from weightlift.certificate.limits import LIMITS
from weightlift.certificate.scores import WhiteRows
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.evidence.rows import double
from weightlift.namespaces import Array, array_namespace, as_like, matmul_transposed, to_numpy
from weightlift.network import Network
from weightlift.risk import Students
from weightlift.samples import Block, Covariance, Samples, Sums
from weightlift.samples.keys import uniforms

ANGLES = np.deg2rad([4.0, 8.0, 12.0, 18.0, 26.0])  # of nearly parallel probes; arccos 0.9 is 26°
RANK_TOLERANCE = 1e-6  # of ‖ψ‖² that is left off J: less is rounding
TINY = float(np.finfo(float).tiny)
BITS = 52  # of a float's mantissa, each a sign


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
    gauge, L = information.gauge, information.half_inverse
    features, probes, near = choose_units(samples, gauge, rng)
    m, g, k = features.n_units + samples.d + 1, probes.n_units, gauge.network.n_units
    cross, gram = (to_numpy(v) for v in samples.fold(ColumnProducts(gauge, (features, probes, near))))
    onto = L.T @ cross  # coordinates of all columns in the range of J
    off = gram - onto.T @ onto
    size = np.diagonal(off)[:m]
    kept = np.flatnonzero(size > RANK_TOLERANCE * np.maximum(np.diagonal(gram)[:m], TINY))
    norm = np.sqrt(size[kept])
    flips = Flips(information, features, onto[:, :m][:, kept], kept, int(rng.integers(2**31)))
    found, drawn, meat, numbers = (to_numpy(v) for v in samples.fold(flips))
    draws = np.sort(np.max(np.abs(drawn) / norm[:, None], axis=0, initial=0.0))
    statistic = float(np.max(np.abs(found) / norm, initial=0.0))
    p_value = (1 + int((draws >= statistic).sum())) / (1 + LIMITS.flips)
    leverage, outlier, fourth, square = numbers
    noise = math.sqrt(square / max(n_rows - gauge.size, 1.0))
    critical = float(draws[-max(1, int(LIMITS.level * (1 + LIMITS.flips)))]) + LIMITS.power * noise
    lengths = np.sqrt(np.maximum(np.diagonal(gram)[m:], 0.0))
    seen = np.max(np.abs(off[np.ix_(kept, np.arange(m, len(gram)))]) / norm[:, None], axis=0, initial=0.0)
    amounts = np.where(seen > 0, critical / np.where(seen > 0, seen, 1.0), np.inf)  # of each probe, as it is
    own = np.sqrt(to_numpy(samples.fold(UnitSquares(gauge))[0]))
    shifts = L @ onto[:, m:]
    acting = (lengths[:g] > 0) & np.isfinite(amounts[:g])
    limit = float(np.max(amounts[:g][acting] * lengths[:g][acting], initial=0.0)) / math.sqrt(samples.total)
    most = np.repeat(own, len(ANGLES)) / np.maximum(lengths[g:], TINY)
    splits = shifts[:, g:] * np.minimum(amounts[g:], most)
    return LackOfFit(
        p_value,
        limit if acting.any() else math.inf,
        shifts[:, :g][:, acting] * amounts[:g][acting],
        splits.reshape(len(splits), k, -1),
        float(leverage),
        float(outlier / max(square, TINY)),
        float(n_rows * fourth / max(square, TINY) ** 2 - 3.0),
        meat,
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
    near = _near(own / length, directions(net.n_units * len(ANGLES)))
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
    students = Students.of(network).like(X)
    return students.activation(students.preactivations(X))[:, 0, :]


def feature_columns(features: Network, X: Array) -> Array:
    """The random units, then one and the inputs: (m, features + 1 + d)."""
    xp = array_namespace(X)
    one = xp.ones((X.shape[0], 1), dtype=X.dtype, device=X.device)
    return xp.concat([values_of(features, X), one, X], axis=1)


@dataclass(frozen=True, eq=False)
class ColumnProducts:
    """Jᵀ W V (p, v) and Vᵀ W V (v, v), V the test columns, the probes and the nearly parallel ones."""

    gauge: Gauge
    units: tuple[Network, Network, Network]

    @property
    def floats_per_row(self) -> int:
        return self.gauge.size + 4 * sum(net.n_units for net in self.units) + 8 * self.gauge.network.n_units

    def __call__(self, block: Block) -> Sums:
        X, _, w = double(block)
        xp = array_namespace(X)
        students = Students.of(self.gauge.network).like(X)
        J = self.gauge.jacobian(X, students.preactivations(X), students)
        features, *probes = self.units
        V = xp.concat([feature_columns(features, X), *(values_of(net, X) for net in probes)], axis=1)
        weighted = w[:, None] * V
        return matmul_transposed(J, weighted), matmul_transposed(V, weighted)


@dataclass(frozen=True, eq=False)
class Flips:
    """⟨ψⱼ, r⟩ (m,), the same for every draw of signs (m, draws), the meat of the sandwich, and (max leverage,
    max w r², Σ w² r⁴, Σ w r²). r is the residual at the minimum of the linearised problem."""

    information: Information
    features: Network
    onto: np.ndarray  # Lᵀ Jᵀ W ψ (p, m)
    kept: np.ndarray  # which columns are ψ
    seed: int

    @property
    def floats_per_row(self) -> int:
        return 3 * self.information.gauge.size + 3 * len(self.kept) + 2 * LIMITS.flips + 8 * self.features.n_units

    def __call__(self, block: Block) -> Sums:
        information = self.information
        rows = WhiteRows.of(block, information.gauge, information.half_inverse)
        X, _, _ = double(block)
        xp = array_namespace(X)
        columns = xp.take(feature_columns(self.features, X), xp.asarray(self.kept, device=X.device), axis=1)
        psi = rows.root[:, None] * columns - xp.matmul(rows.white, as_like(self.onto, X))
        left = rows.left
        r = rows.r - xp.matmul(rows.white, as_like(information.half_inverse.T @ information.gradient, X))
        drawn = signs(block, self.seed) * (r / xp.sqrt(left))[:, None]
        jackknife = (r / left)[:, None] * rows.white
        zero = xp.zeros(1, dtype=X.dtype, device=X.device)
        largest = [xp.max(xp.concat([v, zero])) for v in (rows.leverage, r * r)]
        numbers = xp.stack([*largest, xp.sum(r**4), xp.sum(r**2)])
        return (
            matmul_transposed(psi, r[:, None])[:, 0],
            matmul_transposed(psi, drawn),
            matmul_transposed(jackknife, jackknife),
            numbers,
        )

    def merge(self, left: Sums, right: Sums) -> Sums:
        xp = array_namespace(left[0])
        sums = [a + b for a, b in zip(left, right, strict=True)]
        numbers = xp.concat([xp.maximum(left[3][:2], right[3][:2]), sums[3][2:]])
        return sums[0], sums[1], sums[2], numbers


def signs(block: Block, seed: int) -> Array:
    """(m, draws) of ±1, bits of hashes of the rows' keys."""
    xp = array_namespace(block.X)
    words = -(-LIMITS.flips // BITS)
    shifts = xp.asarray(np.arange(BITS, dtype=np.int64), device=block.X.device)
    bits = [(xp.astype(uniforms(block.key, seed + i) * 2.0**BITS, xp.int64)[:, None] >> shifts) & 1 for i in range(words)]
    return 2.0 * xp.astype(xp.concat(bits, axis=1)[:, : LIMITS.flips], xp.float64) - 1.0


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
