"""Lack of fit of several outputs: whether the residuals still have structure, at any output or combination of them.

As `lack_of_fit`, with m residuals a row. A further unit ψ may act on any direction u of the outputs. With ψⱼ ⊗ u projected off
the stacked J, sⱼ ∈ Rᵐ its products with the residuals for every output, and Nⱼ the covariance of sⱼ for errors of one law,

    T = maxⱼ (sⱼᵀ Nⱼ⁻¹ sⱼ)^½,      the largest over j and over all u of |⟨ψⱼ ⊗ u, r⟩| in its standard deviations,

its law under the null by signs: a row keeps its errors, (I − Hᵢ)^{-½} rᵢ with Hᵢ its (m, m) leverages, and one sign is drawn
for all of them, so that neither heavy tails, nor sizes that depend on x, nor correlated outputs change the size of the test.
The detection limit is that of a further unit at the output where it is hardest to see; nearly parallel probes stand for two
units that the fit took for one, and share its output weights.
Cost  two passes, O(n m p²).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from weightlift.certificate.lack_of_fit import (
    ANGLES,
    RANK_TOLERANCE,
    choose_units,
    feature_columns,
    values_of,
)
from weightlift.certificate.limits import LIMITS
from weightlift.certificate.scores import LARGEST_LEVERAGE
from weightlift.certificate.signs import cells_of, over_draws, sums_over_cells
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.stacked import TINY, Stacked, StackedInformation, StackedRows
from weightlift.namespaces import Array, array_namespace, as_like, matmul_transposed, to_numpy
from weightlift.network import Network
from weightlift.refinement.normal_equations import Free
from weightlift.samples import Block, Samples, Sums


@dataclass(frozen=True, eq=False)
class JointLackOfFit:
    """The test and what it can see."""

    p_value: float
    limits: np.ndarray  # (m,) root mean square of the smallest unit at each output that every probe of its size reveals
    shifts: np.ndarray  # (full, g): what the probes at their limits would have moved the coordinates by
    splits: np.ndarray  # (full, k, s): what nearly parallel probes of each unit would have
    leverage: float  # largest eigenvalue of a row's leverages
    influence: float  # largest share of one row in tr(sandwich · H), or in Σ w ‖r‖²
    meat: np.ndarray  # Lᵀ (Σ w² Jᵀ(I − H)⁻¹ r rᵀ(I − H)⁻¹ J) L: the jackknife's


def joint_lack_of_fit(
    samples: Samples, information: StackedInformation, noise: np.ndarray, *, rng: np.random.Generator
) -> JointLackOfFit:
    """Test the residuals of a network at its least-squares fit; noise (m, m): the errors' covariance, as Σ w rrᵀ has it."""
    stacked = information.stacked
    net, m = stacked.network, stacked.network.n_outputs
    one = Network(net.W, np.ones(net.n_units), net.b, 0.0, net.activation)
    features, probes, near = choose_units(samples, Gauge(one, Free(W=True, a=False, b=stacked.model.bias, c=False)), rng)
    n_columns, g = features.n_units + samples.d + 1, probes.n_units
    sums = tuple(to_numpy(v) for v in samples.fold(StackedProducts(stacked, (features, probes, near))))
    columns = TestColumns.of(information, sums, noise)
    sizes, gram = columns.off(np.arange(n_columns)), np.diagonal(sums[2])[:n_columns]
    kept = np.flatnonzero(sizes > RANK_TOLERANCE * np.maximum(gram, TINY))
    halves = columns.inverse_roots(kept)  # (j, m, m)

    flips = JointFlips(information, features, kept, int(rng.integers(2**31)))
    own, score, cells, scores, meat, numbers = (to_numpy(v) for v in samples.fold(flips))
    onto = columns.white[:, kept]  # (r, j, m)
    found = own - np.tensordot(onto, score, axes=(0, 0))
    draws = np.moveaxis(over_draws(cells) - np.tensordot(over_draws(scores), onto, axes=1), 0, 2)  # (j, m, draws)
    statistic = float(np.linalg.norm(halves @ found[:, :, None], axis=(1, 2)).max(initial=0.0))
    reached = np.sort(np.linalg.norm(halves @ draws, axis=1).max(axis=0, initial=0.0))
    p_value = (1 + int((reached >= statistic).sum())) / (1 + LIMITS.flips)
    critical = float(reached[-int(LIMITS.level * (1 + LIMITS.flips))]) + LIMITS.power

    lengths = np.sqrt(np.diagonal(sums[2])[n_columns:])
    pairs = [(n_columns + v, np.eye(m)[o]) for v in range(g) for o in range(m)]
    A = net.A / np.maximum(np.linalg.norm(net.A, axis=1, keepdims=True), TINY)
    pairs += [(n_columns + g + v, A[v // len(ANGLES)]) for v in range(near.n_units)]
    seen, shifts = columns.seen(kept, halves, pairs), columns.shifts(pairs)
    amounts = np.where(seen > 0, critical / np.where(seen > 0, seen, 1.0), np.inf)
    limits = (amounts[: g * m].reshape(g, m) * lengths[:g, None]).max(axis=0, initial=0.0) / math.sqrt(samples.total)
    strength = np.linalg.norm(net.A, axis=1) * np.sqrt(np.diagonal(information.FF)[: net.n_units])
    most = np.repeat(strength, len(ANGLES)) / np.maximum(lengths[g:], TINY)
    splits = shifts[:, g * m :] * np.minimum(amounts[g * m :], most)
    usable = np.isfinite(amounts[: g * m])
    leverage, influence, outlier, square = numbers
    return JointLackOfFit(
        p_value,
        limits,
        shifts[:, : g * m][:, usable] * amounts[: g * m][usable],
        splits.reshape(len(splits), net.n_units, -1),
        float(leverage),
        float(max(influence / max(np.trace(meat), TINY), outlier / max(square, TINY))),
        meat,
    )


@dataclass(frozen=True, eq=False)
class TestColumns:
    """ψ ⊗ e_o for every column ψ of V and output o, projected off J, known by their products alone."""

    information: StackedInformation
    white: np.ndarray  # (r, v, m): Lᵀ Jᵀ W (ψ ⊗ e_o)
    gram: np.ndarray  # (v, v): Vᵀ W V
    noise: np.ndarray  # (m, m) Σ
    mixed: np.ndarray  # (r, v, m): Lᵀ Jᵀ W (ψ ⊗ Σe_o)
    spread: np.ndarray  # (r, r): Lᵀ (Σ w JᵀΣJ) L

    @classmethod
    def of(cls, information: StackedInformation, sums: Sums, noise: np.ndarray) -> TestColumns:
        GV, FV, gram = sums
        L = information.half_inverse

        def against(S: np.ndarray) -> np.ndarray:
            """Jᵀ W (ψ ⊗ S e_o) (full, v, m)."""
            A = np.tile(information.stacked.network.A @ S, (information.stacked.inputs, 1))
            units = GV[:, :, None] * A[:, None, :]
            linear = FV[:, None, :, None] * S[None, :, None, :]
            return np.concatenate([units, linear.reshape(-1, *units.shape[1:])])

        identity = np.eye(len(noise))
        white, mixed = (np.tensordot(L.T, against(S), axes=1) for S in (identity, noise))
        return cls(information, white, gram, noise, mixed, information.covariance(noise))

    def off(self, columns: np.ndarray) -> np.ndarray:
        """The least ‖ψ ⊗ e_o‖² of the outputs, off J."""
        return np.asarray((np.diagonal(self.gram)[columns, None] - (self.white[:, columns] ** 2).sum(axis=0)).min(axis=1))

    def inverse_roots(self, columns: np.ndarray) -> np.ndarray:
        """Nⱼ^{-½} (j, m, m), N = (ψ ⊗ e − J…)ᵀ Σ (ψ ⊗ e − J…); zero along outputs that depend on others."""
        white, mixed = (np.moveaxis(v[:, columns], 0, 1) for v in (self.white, self.mixed))  # (j, r, m)
        cross = np.swapaxes(white, 1, 2) @ mixed
        N = np.diagonal(self.gram)[columns, None, None] * self.noise - cross - np.swapaxes(cross, 1, 2)
        N = N + np.swapaxes(white, 1, 2) @ (self.spread @ white)
        values, vectors = np.linalg.eigh(N)
        good = values > LIMITS.noiseless * np.maximum(values[:, -1:], TINY)
        inverse = np.where(good, 1 / np.sqrt(np.where(good, values, 1.0)), 0.0)
        return np.asarray(inverse[:, :, None] * np.swapaxes(vectors, 1, 2))

    def seen(self, columns: np.ndarray, halves: np.ndarray, pairs: list[tuple[int, np.ndarray]]) -> np.ndarray:
        """(g,) by how many standard deviations the statistic rises for a unit v ⊗ u of amount one."""
        at, U = np.array([v for v, _ in pairs]), np.array([u for _, u in pairs])  # (g,), (g, m)
        onto = np.einsum("rgm,gm->rg", self.white[:, at], U)
        j, m = halves.shape[:2]
        left = np.moveaxis(self.white[:, columns], 0, 2).reshape(j * m, len(onto))  # (j m, r); no column may be left off J
        shift = (self.gram[np.ix_(columns, at)][:, None, :] * U.T) - (left @ onto).reshape(j, m, len(at))
        return np.asarray(np.linalg.norm(halves @ shift, axis=1).max(axis=0, initial=0.0))

    def shifts(self, pairs: list[tuple[int, np.ndarray]]) -> np.ndarray:
        """(full, g): what a unit v ⊗ u of amount one would have moved the coordinates by."""
        at, U = np.array([v for v, _ in pairs]), np.array([u for _, u in pairs])
        return np.asarray(self.information.half_inverse @ np.einsum("rgm,gm->rg", self.white[:, at], U))


@dataclass(frozen=True, eq=False)
class StackedProducts:
    """GᵀWV (qk, v), FᵀWV (f, v) and VᵀWV (v, v), V the test columns, the probes and the nearly parallel ones."""

    stacked: Stacked
    units: tuple[Network, Network, Network]

    @property
    def floats_per_row(self) -> int:
        return self.stacked.inner + 4 * sum(net.n_units for net in self.units) + 8 * self.stacked.network.n_units

    def __call__(self, block: Block) -> Sums:
        xp, net, model = array_namespace(block.X), self.stacked.network, self.stacked.model
        X = xp.astype(block.X, xp.float64, copy=False)
        z = xp.matmul(X, as_like(net.W, X)) + as_like(net.b, X)
        Xt = xp.concat([X, xp.ones_like(X[:, :1])], axis=1) if model.bias else X
        G = xp.reshape(Xt[:, :, None] * net.activation.derivative(z)[:, None, :], (X.shape[0], self.stacked.inner))
        F = xp.concat([net.activation(z), model.beside(X)], axis=1)
        features, *probes = self.units
        V = xp.concat([feature_columns(features, X), *(values_of(unit, X) for unit in probes)], axis=1)
        weighted = V if block.w is None else block.w[:, None] * V
        return matmul_transposed(G, weighted), matmul_transposed(F, weighted), matmul_transposed(V, weighted)


@dataclass(frozen=True, eq=False)
class JointFlips:
    """⟨ψⱼ, r_o⟩ (j, m) and Lᵀ Jᵀr (r,); both over the cells of the signs, of (I − H)^{-½} r, (2ᵍ, j, m) and (2ᵍ, r); the meat
    of the sandwich, and (largest leverage, largest influence, largest w ‖r‖², Σ w ‖r‖²). r is that at the minimum of the
    linearised problem."""

    information: StackedInformation
    features: Network
    kept: np.ndarray
    seed: int

    @property
    def floats_per_row(self) -> int:
        m, size = self.information.stacked.network.n_outputs, self.information.stacked.full
        return 3 * m * (size + m) + 2 * len(self.kept) + 8 * self.features.n_units

    def __call__(self, block: Block) -> Sums:
        information, L = self.information, self.information.half_inverse
        rows = StackedRows.of(block, information.stacked, L)
        xp, (n, m, size) = array_namespace(block.X), rows.white.shape
        X = xp.astype(block.X, xp.float64, copy=False)
        columns = xp.take(feature_columns(self.features, X), xp.asarray(self.kept, device=X.device), axis=1)
        psi = rows.root[:, None] * columns
        step = as_like(L.T @ information.gradient, X)
        r = rows.residuals - xp.matmul(rows.white, step)
        leverage, inner, outer = _leverages(rows.white, r)
        cells = cells_of(block, self.seed)
        drawn = [sums_over_cells(cells, inner[:, o], psi) for o in range(m)]
        scores = xp.matmul(xp.reshape(inner, (n, 1, m)), rows.white)[:, 0, :]
        jackknife = xp.matmul(xp.reshape(outer, (n, 1, m)), rows.white)[:, 0, :]
        size_of = xp.sum(r * r, axis=1)
        zero = xp.zeros(1, dtype=X.dtype, device=X.device)
        largest = [xp.max(xp.concat([v, zero])) for v in (leverage, xp.sum(jackknife * jackknife, axis=1), size_of)]
        return (
            matmul_transposed(psi, r),
            xp.matmul(xp.reshape(r, (n * m,)), xp.reshape(rows.white, (n * m, size))),
            xp.stack(drawn, axis=2),
            sums_over_cells(cells, xp.ones_like(r[:, 0]), scores),
            matmul_transposed(jackknife, jackknife),
            xp.stack([*largest, xp.sum(size_of)]),
        )

    def merge(self, left: Sums, right: Sums) -> Sums:
        xp = array_namespace(*left)
        sums = [a + b for a, b in zip(left, right, strict=True)]
        return *sums[:5], xp.concat([xp.maximum(left[5][:3], right[5][:3]), sums[5][3:]])


def _leverages(white: Array, r: Array) -> tuple[Array, Array, Array]:
    """The largest eigenvalue of each row's H = √w JL (√w JL)ᵀ, and (I − H)^{-½} r, (I − H)⁻¹ r (rows, m)."""
    xp = array_namespace(white)
    values, vectors = xp.linalg.eigh(xp.matmul(white, xp.matrix_transpose(white)))
    left = 1.0 - xp.where(values < LARGEST_LEVERAGE, values, xp.full_like(values, LARGEST_LEVERAGE))
    along = xp.matmul(xp.matrix_transpose(vectors), r[:, :, None])[:, :, 0]
    half, whole = (xp.matmul(vectors, (along / v)[:, :, None])[:, :, 0] for v in (xp.sqrt(left), left))
    return values[:, -1], half, whole
