"""Coordinates of a network with several outputs, or a linear part: the stacked Jacobian, its information, residuals' scores.

θ = ((w, b) as (q, k), β = (A, V, c) as (f, m)), V and c where they are free. A row x has m residuals r = f(x) − y and m rows
of J; with x̃ = (x, 1), F = [φ(z), x, 1] and a covariance Σ between the outputs

    ∂r_o/∂(w, b)_pi = a_io φ′(zᵢ) x̃_p,      ∂r_o/∂β_fo′ = F_f δ_oo′,
    Σ_rows Jᵀ Σ J = [ GᵀG ∘ (AΣAᵀ), GᵀF ∘ AΣ; ·, FᵀF ⊗ Σ ],      G the derivatives φ′(zᵢ) x̃_p,

so that it costs the same for every m. For φ homogeneous of degree h the direction ((w, b), −h a) of a unit changes no value;
the changes that are estimated and claimed are those with δ(w, b) ⟂ (w, b), and any inverse of JᵀJ is brought there by

    Π = I − ν tᵀ/⟨t, ν⟩,      ν = ((w, b), −h a),  t = ((w, b), 0).

Cost  three passes, O(n (qk)²/2), and O((qk + fm)³).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.linalg

from weightlift.evidence.gauge import TINY, Gauge
from weightlift.evidence.information import MAX_CONDITION, Information
from weightlift.evidence.rows import double
from weightlift.namespaces import Array, array_namespace, as_like, matmul_transposed, to_numpy
from weightlift.network import Network
from weightlift.refinement.normal_equations import Free
from weightlift.refinement.variable_projection import Features, Hidden, JointEquations, Model
from weightlift.samples import Block, Covariance, Samples, Sums


@dataclass(frozen=True, eq=False)
class ScaledTargets:
    """y → y/s, s a power of two for each column: a fit then minds all of them alike, and loses no bit."""

    scale: np.ndarray  # (m,)

    @classmethod
    def of(cls, squares: np.ndarray) -> ScaledTargets:
        """From the columns' mean squares."""
        return cls(np.exp2(np.round(0.5 * np.log2(np.where(squares > 0, squares, 1.0)))))

    def __call__(self, block: Block) -> Block:
        s = as_like(self.scale, block.X)
        return replace(block, y=block.y / (s[0] if block.y.ndim == 1 else s))

    def network(self, network: Network) -> Network:
        """The network of the scaled targets."""
        return ScaledTargets(1 / self.scale).undo(network)

    def undo(self, network: Network) -> Network:
        s = self.scale if network.a.ndim == 2 else self.scale[0]
        return replace(network, a=network.a * s, c=network.c * s, V=None if network.V is None else network.V * s)


def target_moments(rows: Samples) -> tuple[np.ndarray, np.ndarray]:
    """Mean (m,) and covariance (m, m) of the targets."""
    _, mean, scatter = (to_numpy(s) for s in rows.map(TargetsAlone()).fold(Covariance(rows.n_outputs or 1)))
    return mean, scatter / rows.total


@dataclass(frozen=True)
class TargetsAlone:
    """Rows whose inputs are the targets."""

    def __call__(self, block: Block) -> Block:
        return replace(block, X=block.y[:, None] if block.y.ndim == 1 else block.y)


@dataclass(frozen=True, eq=False)
class Combined:
    """y → ⟨u, y⟩."""

    u: np.ndarray  # (m,)

    def __call__(self, block: Block) -> Block:
        y = block.y[:, None] if block.y.ndim == 1 else block.y
        return replace(block, y=array_namespace(y).matmul(y, as_like(self.u, y)))


@dataclass(frozen=True, eq=False)
class Stacked:
    """The network, with a (k, m), and which of its parameters are coordinates."""

    network: Network
    model: Model

    @classmethod
    def of(cls, network: Network, model: Model) -> Stacked:
        if network.a.ndim == 2:
            return cls(network, model)
        V = None if network.V is None else network.V[:, None]
        return cls(replace(network, a=network.A, c=np.atleast_1d(network.c), V=V), model)

    @property
    def inputs(self) -> int:
        """q, coordinates of a hidden unit."""
        return self.model.inputs(self.network.n_inputs)

    @property
    def free(self) -> Free:
        """Which parameters are coordinates, beside V."""
        return Free(W=True, a=True, b=self.model.bias, c=self.model.offset)

    @property
    def floats_per_row(self) -> int:
        """Temporaries of a statistic that holds rows of J."""
        return 3 * self.network.n_outputs * self.full

    @property
    def inner(self) -> int:
        return self.inputs * self.network.n_units

    @property
    def full(self) -> int:
        """Entries of θ."""
        return self.inner + self.beta.size

    @property
    def homogeneous(self) -> bool:
        return bool(self.network.activation.degree)

    @property
    def size(self) -> int:
        """p, the number of parameters once scale is fixed."""
        return self.full - self.homogeneous * self.network.n_units

    @cached_property
    def beta(self) -> np.ndarray:
        """(f, m)."""
        net = self.network
        parts = [net.A, *([net.V] if self.model.linear and net.V is not None else [])]
        return np.concatenate([*parts, *([np.atleast_1d(net.c)[None]] if self.model.offset else [])])

    @cached_property
    def hidden(self) -> np.ndarray:
        """(q, k)."""
        return np.concatenate([self.network.W, self.network.b[None]]) if self.model.bias else self.network.W

    @property
    def theta(self) -> np.ndarray:
        return np.concatenate([self.hidden.reshape(-1), self.beta.reshape(-1)])

    def coordinates(self, i: int) -> np.ndarray:
        """Where those of unit i stand: w, b, then a (m,)."""
        m = self.network.n_outputs
        return np.concatenate([np.arange(self.inputs) * self.network.n_units + i, self.inner + i * m + np.arange(m)])

    def perturbed(self, delta: np.ndarray) -> tuple[Hidden, np.ndarray]:
        """Hidden layers and β at θ + δ, one for each row of δ (S, full)."""
        net, d = self.network, self.network.n_inputs
        theta = self.theta + delta
        units = theta[:, : self.inner].reshape(len(delta), self.inputs, net.n_units)
        b = units[:, d] if self.model.bias else np.tile(net.b, (len(delta), 1))
        hidden = Hidden(np.ascontiguousarray(np.swapaxes(units[:, :d], 0, 1)), b, net.activation)
        return hidden, theta[:, self.inner :].reshape(len(delta), *self.beta.shape)

    def normal_form(self) -> np.ndarray:
        """(P, full): derivative of the normal form, unit by unit w, b and a, then V and c; ‖w‖ = 1 for homogeneous φ."""
        net, order = self.network, [self.coordinates(i) for i in range(self.network.n_units)]
        T = np.eye(self.full)
        if self.homogeneous:
            d, q, degree = net.n_inputs, self.inputs, float(net.activation.degree or 1.0)
            for i, at in enumerate(order):
                length = max(float(np.linalg.norm(net.W[:, i])), TINY)
                radial = np.zeros(len(at))
                radial[:d] = net.W[:, i] / length
                own = np.append(self.hidden[:, i] / length, -degree * net.A[i] / length)
                scale = np.repeat((1 / length, length**degree), (q, len(at) - q))
                T[np.ix_(at, at)] = (np.eye(len(at)) - np.outer(own, radial)) * scale[:, None]
        return np.asarray(T[np.concatenate([*order, np.arange(self.inner + net.A.size, self.full)]).astype(int)])

    def in_slice(self, L: np.ndarray) -> np.ndarray:
        """Π L: every column a change with δ(w, b) ⟂ (w, b); L itself where φ has no scale."""
        degree, k = self.network.activation.degree, self.network.n_units
        if not degree:
            return L
        units = L[: self.inner].reshape(self.inputs, k, L.shape[1])
        along = (self.hidden[:, :, None] * units).sum(axis=0) / np.maximum((self.hidden**2).sum(axis=0), TINY)[:, None]
        moved = L.copy()
        moved[: self.inner] -= (self.hidden[:, :, None] * along).reshape(self.inner, L.shape[1])
        end = self.inner + self.network.a.size
        outputs = self.network.a[:, :, None] * along[:, None, :]
        moved[self.inner : end] += degree * outputs.reshape(self.network.a.size, L.shape[1])
        return moved

    def linearized(self, X: Array) -> tuple[Array, Array]:
        """J (rows, m, full) and f(x) (rows, m)."""
        xp, net = array_namespace(X), self.network
        n, m = X.shape[0], net.n_outputs
        W, b, A, beta = (as_like(v, X) for v in (net.W, net.b, net.A, self.beta))
        z = xp.matmul(X, W) + b
        F = xp.concat([net.activation(z), self.model.beside(X)], axis=1)
        Xt = xp.concat([X, xp.ones_like(X[:, :1])], axis=1) if self.model.bias else X
        G = xp.reshape(Xt[:, :, None] * net.activation.derivative(z)[:, None, :], (n, self.inner))
        # a of the unit that a coordinate belongs to, for every output: (m, inner)
        outputs = xp.reshape(xp.matrix_transpose(A)[:, None, :] * xp.ones_like(Xt[:1, :])[:, :, None], (m, self.inner))
        eye = as_like(np.eye(m), X)
        linear = xp.reshape(F[:, None, :, None] * eye[None, :, None, :], (n, m, beta.shape[0] * m))
        return xp.concat([G[:, None, :] * outputs, linear], axis=2), xp.matmul(F, beta)


@dataclass(frozen=True, eq=False)
class ResidualProducts:
    """Σ w rrᵀ (m, m), Σ w y² (m,), Σ w² and the rows with w > 0."""

    network: Network

    @property
    def floats_per_row(self) -> int:
        return 4 * (self.network.n_units + self.network.n_outputs + self.network.n_inputs)

    def __call__(self, block: Block) -> Sums:
        X, y, w = double(block)
        xp = array_namespace(X)
        y, values = (v[:, None] if v.ndim == 1 else v for v in (y, self.network.predict(X)))
        r, used = values - y, xp.astype(w > 0, xp.float64)
        return matmul_transposed(w[:, None] * r, r), xp.matmul(w, y * y), xp.sum(w * w), xp.sum(used)


@dataclass(frozen=True, eq=False)
class StackedInformation:
    """Σ w JᵀJ by its parts, Σ w Jᵀr, and L with L Lᵀ an inverse of it on the changes that are estimated."""

    gauge: Stacked
    GG: np.ndarray  # (qk, qk)
    GF: np.ndarray  # (qk, f)
    FF: np.ndarray  # (f, f)
    gradient: np.ndarray  # (full,)
    squares: np.ndarray  # (m, m) Σ w rrᵀ
    target: np.ndarray  # (m,) Σ w y²
    total: float  # Σ w
    effective: float  # (Σ w)²/Σ w²
    rows: int  # with w > 0

    @classmethod
    def of(cls, samples: Samples, stacked: Stacked) -> StackedInformation:
        hidden, beta = Hidden.of(stacked.network), stacked.beta
        equations, features = JointEquations(hidden, beta[None], stacked.model), Features(hidden, stacked.model)
        GG, GF, inner = np.zeros((1, 0, 0)), np.zeros((1, 0, len(beta))), np.zeros((1, 0))
        if stacked.network.n_units:
            GG, GF, inner = equations.assembled(tuple(to_numpy(s) for s in samples.fold(equations)))
        sums = tuple(to_numpy(s) for s in samples.fold(features))
        FF = features.gram(sums)[0]
        gradient = np.concatenate([inner[0], (FF @ beta - features.target(sums)[0]).reshape(-1)])
        squares, target, weights, rows = (to_numpy(s) for s in samples.fold(ResidualProducts(stacked.network)))
        effective = samples.total**2 / max(float(weights), TINY)
        return cls(stacked, GG[0], GF[0], FF, gradient, squares, target, samples.total, effective, int(rows))

    @property
    def rss(self) -> float:
        return float(np.trace(self.squares))

    def gram(self, covariance: np.ndarray | None = None) -> np.ndarray:
        """Σ w JᵀΣJ (full, full), Σ the identity unless given."""
        A, k, q = self.gauge.network.A, self.gauge.network.n_units, self.gauge.inputs
        S = np.eye(A.shape[1]) if covariance is None else covariance
        units = self.GG * np.tile(A @ S @ A.T, (q, q))
        AS = np.tile(A @ S, (q, 1))  # (qk, m)
        cross = (self.GF[:, :, None] * AS[:, None, :]).reshape(q * k, self.GF.shape[1] * A.shape[1])
        return np.block([[units, cross], [cross.T, np.kron(self.FF, S)]])

    @cached_property
    def _spectrum(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Eigenvalues and vectors of JᵀJ with unit diagonal, scale fixed, and the inverse roots of its diagonal."""
        H = self.gram()
        diagonal = np.diagonal(H)
        alive = diagonal > 1e-14 * max(float(diagonal.max()), TINY)
        root = np.sqrt(np.where(alive, diagonal, 1.0))
        scaled = H / root[:, None] / root
        if self.gauge.homogeneous:
            T = self._lengths(root)
            scaled = scaled + T @ T.T
        values, vectors = scipy.linalg.eigh(0.5 * (scaled + scaled.T))
        return values, vectors, 1 / root

    def _lengths(self, root: np.ndarray) -> np.ndarray:
        """(full, k) unit columns along (wᵢ, bᵢ) in scaled coordinates: the direction that no value depends on is among them."""
        units, k = self.gauge.hidden, self.gauge.network.n_units
        T = np.zeros((self.gauge.full, k))
        T[np.arange(units.size), np.tile(np.arange(k), len(units))] = units.reshape(-1) * root[: units.size]
        return np.asarray(T / np.maximum(np.linalg.norm(T, axis=0), TINY))

    @property
    def condition(self) -> float:
        values = self._spectrum[0]
        return float(values[-1] / max(values[0], TINY)) if values[0] > 0 else math.inf

    @property
    def _determined(self) -> np.ndarray:
        values = self._spectrum[0]
        return np.asarray(values > values[-1] / MAX_CONDITION)

    @cached_property
    def half_inverse(self) -> np.ndarray:
        """(full, r): L on the directions that the rows determine."""
        values, vectors, scale = self._spectrum
        good = self._determined
        return self.gauge.in_slice(scale[:, None] * vectors[:, good] / np.sqrt(values[good]))

    def weak(self, share: float) -> tuple[int, ...]:
        """Units with a larger share in directions that the rows do not determine."""
        _, vectors, _ = self._spectrum
        mass = (vectors[:, ~self._determined] ** 2).sum(axis=1)
        units = range(self.gauge.network.n_units)
        return tuple(i for i in units if mass[self.gauge.coordinates(i)].sum() > share)

    @property
    def full_rank(self) -> bool:
        return bool(self._determined.all())

    def covariance(self, noise: np.ndarray) -> np.ndarray:
        """H⁻¹ (Σ w JᵀΣJ) H⁻¹, Σ the outputs' covariance of a row of mean weight, in white coordinates: Lᵀ(…)L."""
        L = self.half_inverse
        return np.asarray(L.T @ self.gram(noise) @ L)


Coordinates = Gauge | Stacked  # of one output alone, or of several and a linear part
Known = Information | StackedInformation


def coordinates_of(network: Network, model: Model) -> Coordinates:
    alone = network.a.ndim == 1 and network.V is None
    return Gauge.of(network, bias=model.bias, offset=model.offset) if alone else Stacked.of(network, model)
