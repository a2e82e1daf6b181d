"""Lack of fit: whether the residual still has structure, and how small a further unit the test would have found.

Under the null hypothesis r = (I − P)ε to first order, P the projection on the columns of J. With features Ψ of the inputs,
made orthogonal to J, and m their rank,

    F = (‖P_Ψ r‖²/m) / ((‖r‖² − ‖P_Ψ r‖²)/(n − p − m))

has Fisher's law for Gaussian noise. A further unit that adds s·g to f, g of root mean square one, gives it the noncentrality
s² ‖P_Ψ g‖²/σ²; the detection limit is the least s at which every one of a batch of probes g, units with random directions and
biases, is found with probability 99.9 %. Probes within arccos 0.9 of a unit of the network are left out: they are nearly
parallel to it, and their absence shows first in that unit's size.

Two nearly parallel units that act as one, within the limit, cannot be told from one.

Features: 1, x, squares of projections (spanning all quadratic functions if there are rows enough), kinks |⟨u, x⟩ − t| and
waves cos(⟨u, x⟩ + t) along random directions, and for each unit what bends along it. Inputs are centred and whitened first.
Cost  one pass, O(n (p + m)²).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.evidence.rows import double
from weightlift.namespaces import Array, array_namespace, as_like, matmul_transposed, to_numpy
from weightlift.network import Network
from weightlift.risk import Students
from weightlift.samples import Block, Covariance, Samples, Sums

LEVEL = 0.01  # share of right networks that the test rejects
POWER = 0.999
MAX_FEATURES, MIN_FEATURES = 300, 8
PROBES = 64
NEARLY_PARALLEL = 0.9
RANK_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class LackOfFit:
    """The test and what it can see."""

    p_value: float
    n_features: int  # m
    noise_std: float  # (RSS/(n − p))^½
    detection_limit: float  # root mean square of the smallest unit that every probe of its size reveals
    shifts: np.ndarray  # (p, g): what the probes at their limits would have moved the coordinates by


def lack_of_fit(samples: Samples, information: Information, n_rows: float, *, rng: int | np.random.Generator = 0) -> LackOfFit:
    """Test the residual of a network at its least-squares fit; n_rows is the number of independent rows."""
    from scipy.stats import f as fisher

    generator = np.random.default_rng(rng)
    gauge, p = information.gauge, information.gauge.size
    features = choose_features(samples, gauge.network, int((n_rows - p) // 4), generator)
    probes = choose_probes(features, gauge, generator)
    gram = to_numpy(samples.fold(FeatureGram(gauge, features, probes))[0])
    m, g = features.size, probes.n_units
    J, psi, unit, r = np.split(np.arange(len(gram)), [p, p + m, p + m + g])
    L = information.half_inverse

    def project(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Inner products of columns made orthogonal to J."""
        return np.asarray(gram[np.ix_(left, right)] - (L.T @ gram[np.ix_(J, left)]).T @ (L.T @ gram[np.ix_(J, right)]))

    norms = np.sqrt(np.maximum(np.diagonal(gram)[psi], np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(project(psi, psi) / np.outer(norms, norms))
    kept = values > RANK_TOLERANCE
    basis = vectors[:, kept] / np.sqrt(values[kept]) / norms[:, None]  # Ψ basis is orthonormal and orthogonal to J
    m = int(kept.sum())
    rest = n_rows - p - m
    scale = n_rows / information.total  # sums over rows of mean weight one
    rss = scale * float(project(r, r)[0, 0])
    explained = scale * float(((basis.T @ project(psi, r)) ** 2).sum())
    noise = math.sqrt(max(rss, 0.0) / (n_rows - p))
    if m == 0 or rest <= 0 or not rss > explained:
        return LackOfFit(0.0, m, noise, math.inf, np.zeros((p, 0)))
    statistic = (explained / m) / ((rss - explained) / rest)
    p_value = float(fisher.sf(statistic, m, rest))
    unit = unit[np.diagonal(gram)[unit] > 0]  # probes that some row activates
    sizes = np.sqrt(scale * np.diagonal(gram)[unit] / n_rows)
    seen = scale * ((basis.T @ project(psi, unit)) ** 2).sum(axis=0) / sizes**2
    unseen = np.maximum(scale * np.diagonal(project(unit, unit)) / sizes**2 - seen, 0.0)
    need = noncentrality(m, rest)
    power = seen - need * unseen / rest
    limits = np.where(power > 0, noise * np.sqrt(need / np.where(power > 0, power, 1.0)), np.inf)
    limit = float(limits.max()) if len(unit) else math.inf
    finite = np.isfinite(limits)
    shifts = information.inverse @ gram[np.ix_(J, unit[finite])] * (limits / sizes)[finite]
    return LackOfFit(p_value, m, noise, limit, shifts)


def noncentrality(m: int, rest: float) -> float:
    """The noncentrality at which an F test of level LEVEL with m and `rest` degrees of freedom has power POWER."""
    from scipy.optimize import brentq
    from scipy.stats import f as fisher
    from scipy.stats import ncx2

    critical = float(fisher.isf(LEVEL, m, rest)) * m
    spread = 1.0 + 3.3 * math.sqrt(2.0 / rest)  # the denominator at its upper 0.05 %
    return float(brentq(lambda x: ncx2.sf(critical * spread, m, x) - POWER, 1e-3, 1e5, xtol=1e-3))


@dataclass(frozen=True, eq=False)
class Features:
    """Functions of the whitened inputs x̃ = root (x − mean)."""

    mean: np.ndarray  # (d,)
    root: np.ndarray  # (d, d′)
    squares: np.ndarray  # (d′, ·) directions of (⟨v, x̃⟩)²
    kinks: tuple[np.ndarray, np.ndarray]  # (d′, ·) and offsets
    waves: tuple[np.ndarray, np.ndarray]
    network: Network
    bends: int  # how many features a unit has

    @property
    def size(self) -> int:
        d, units = self.root.shape[1], self.bends * self.network.n_units
        return int(1 + d + self.squares.shape[1] + self.kinks[0].shape[1] + self.waves[0].shape[1] + units)

    def __call__(self, X: Array) -> Array:
        """(m, size)."""
        xp = array_namespace(X)
        Z = xp.matmul(X - as_like(self.mean, X), as_like(self.root, X))
        one = xp.ones((X.shape[0], 1), dtype=X.dtype, device=X.device)
        projected = xp.matmul(Z, as_like(self.squares, X))
        (U, t), (V, s) = (tuple(as_like(v, X) for v in pair) for pair in (self.kinks, self.waves))
        parts = [one, Z, projected * projected - 1.0, xp.abs(xp.matmul(Z, U) - t), xp.cos(xp.matmul(Z, V) + s)]
        return xp.concat([*parts, *self._bends(X)], axis=1)

    def _bends(self, X: Array) -> list[Array]:
        """|z|, |z − σ|, |z + σ|, 1{z > 0}, z² and z³ of each unit, as many as there is room for; σ its standard deviation."""
        xp = array_namespace(X)
        W, b = as_like(self.network.W, X), as_like(self.network.b, X)
        white = np.linalg.pinv(self.root) @ self.network.W
        scale = as_like(np.maximum(np.linalg.norm(white, axis=0), np.finfo(float).tiny), X)
        z = (xp.matmul(X, W) + b) / scale
        step = xp.astype(z > 0, X.dtype)
        return [xp.abs(z), step, xp.abs(z - 1.0), xp.abs(z + 1.0), z * z, z * z * z][: self.bends]


def choose_features(samples: Samples, network: Network, room: int, rng: np.random.Generator) -> Features:
    """As many as a quarter of the spare rows, most of them spread over the inputs' directions."""
    weight, mean, scatter = (to_numpy(v) for v in samples.fold(Covariance(samples.d)))
    values, vectors = np.linalg.eigh(scatter / weight)
    solid = values > 1e-12 * values[-1]
    root = vectors[:, solid] / np.sqrt(values[solid])
    d, k = root.shape[1], network.n_units
    room = max(MIN_FEATURES, min(MAX_FEATURES, room)) - 1 - d
    bends = int(np.clip(room // (4 * k), 1, 6))
    room = max(0, room - bends * k)
    quadratic = d * (d + 1) // 2
    squares = min(quadratic, room // 2)
    kinks = min((room - squares + 1) // 2, 10 + 4 * d)
    waves = min(room - squares - kinks, 10 + 2 * d)
    return Features(
        mean,
        root,
        _directions(d, squares, rng),
        (_directions(d, kinks, rng), rng.normal(size=kinks)),
        (_directions(d, waves, rng) * rng.uniform(1.0, 3.0, waves), rng.uniform(0, 2 * np.pi, waves)),
        network,
        bends,
    )


def _directions(d: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Unit columns (d, count)."""
    U = rng.standard_normal((d, count))
    return np.asarray(U / np.linalg.norm(U, axis=0))


def choose_probes(features: Features, gauge: Gauge, rng: np.random.Generator) -> Network:
    """Units with random directions in the whitened inputs, of the size of the network's own, not parallel to any of them."""
    net, root = gauge.network, features.root
    own = np.linalg.pinv(root) @ net.W
    length = np.maximum(np.linalg.norm(own, axis=0), np.finfo(float).tiny)
    d = root.shape[1]
    U = _directions(d, 8 * PROBES, rng)
    apart = np.abs(U.T @ (own / length)).max(axis=1) < NEARLY_PARALLEL
    U = U[:, apart][:, :PROBES]
    count = U.shape[1]
    chosen = rng.integers(net.n_units, size=count)
    W = root @ U * (1.0 if net.activation.degree else length[chosen])
    offset = features.mean @ net.W + net.b
    b = -features.mean @ W
    if gauge.free.b:
        b = b + np.abs(offset / length).max() * rng.uniform(-1, 1, count) * (1.0 if net.activation.degree else length[chosen])
    if count == 0:
        return Network(np.ones((net.n_inputs, 1)), [0.0], None, 0.0, net.activation)
    return Network(W, np.ones(count), b if gauge.free.b else None, 0.0, net.activation)


@dataclass(frozen=True, eq=False)
class FeatureGram:
    """Σ w vvᵀ with v = (row of J, features, probes φ(⟨u, x⟩ + t), residual r)."""

    gauge: Gauge
    features: Features
    probes: Network

    @property
    def floats_per_row(self) -> int:
        return 2 * (self.gauge.size + self.features.size + self.probes.n_units) + 10 * self.gauge.network.n_units

    def __call__(self, block: Block) -> Sums:
        X, y, w = double(block)
        xp = array_namespace(X)
        students = Students.of(self.gauge.network).like(X)
        z = students.preactivations(X)
        r = students.residuals(students.activation(z), y)
        probes = Students.of(self.probes).like(X)
        planted = probes.activation(probes.preactivations(X))[:, 0, :]
        V = xp.concat([self.gauge.jacobian(X, z, students), self.features(X), planted, r], axis=1)
        return (matmul_transposed(V, w[:, None] * V),)
