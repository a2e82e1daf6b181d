"""Empirical risk of a batch of networks and its derivatives, as statistics  [zhong2017, eq. (2); zhang2019, eq. (1.2)].

Risk      ½ E (f(x) − y)²,   f(x) = Σᵢ aᵢ φ(⟨wᵢ, x⟩ + bᵢ) + c,   r = f(x) − y.
Gradient  ∂wᵢ = E r aᵢ φ′(zᵢ) x,   ∂bᵢ = E r aᵢ φ′(zᵢ),   ∂aᵢ = E r φ(zᵢ),   ∂c = E r.
Hessian   blocks (j, l): E aⱼ aₗ φ′(zⱼ) φ′(zₗ) x xᵀ, plus E r aⱼ φ″(zⱼ) x xᵀ on j = l; for piecewise linear φ the second
          term is zero on almost every row.
Cost      O(n d S k) a pass for S networks of k units: they share the products with X.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from weightlift.activations import Activation
from weightlift.namespaces import Array, array_namespace, as_like, from_numpy, matmul_transposed, to_numpy
from weightlift.network import Network, require_single
from weightlift.samples import Block, Sums
from weightlift.samples.protocol import refuse_several


@dataclass(frozen=True, eq=False)
class Students:
    """S networks of one shape: W (d, S, k), a (S, k), b (S, k), c (S,), one φ."""

    W: Array
    a: Array
    b: Array
    c: Array
    activation: Activation

    @classmethod
    def of(cls, *networks: Network) -> Self:
        first = networks[0]
        require_single(first, "the risk of a single target")
        if len(networks) == 1:
            return cls(first.W[:, None, :], first.a[None], first.b[None], np.array([first.c]), first.activation)
        return cls(
            np.stack([net.W for net in networks], axis=1),
            np.stack([net.a for net in networks]),
            np.stack([net.b for net in networks]),
            np.array([net.c for net in networks]),
            first.activation,
        )

    @property
    def shape(self) -> tuple[int, int, int]:
        """(d, S, k)."""
        d, S, k = self.W.shape
        return int(d), int(S), int(k)

    def network(self, start: int) -> Network:
        W, a, b, c = (to_numpy(v) for v in (self.W, self.a, self.b, self.c))
        return Network(W[:, start], a[start], b[start], float(c[start]), self.activation)

    def like(self, X: Array) -> Self:
        """The parameters beside X: its namespace, dtype and device."""
        if all(type(v) is np.ndarray and v.dtype == X.dtype for v in (X, self.W, self.a, self.b, self.c)):
            return self
        W, a, b, c = (as_like(v, X) for v in (self.W, self.a, self.b, self.c))
        return replace(self, W=W, a=a, b=b, c=c)

    def on_host(self) -> Self:
        W, a, b, c = (to_numpy(v) for v in (self.W, self.a, self.b, self.c))
        return replace(self, W=W, a=a, b=b, c=c)

    def take(self, index: Array) -> Self:
        """The students at `index`, integers here or beside them."""
        if isinstance(index, np.ndarray):
            if np.array_equal(index, np.arange(self.shape[1])):
                return self
            index = from_numpy(index, like=self.W)
        xp = array_namespace(self.W)
        a, b, c = (xp.take(v, index, axis=0) for v in (self.a, self.b, self.c))
        return replace(self, W=xp.take(self.W, index, axis=1), a=a, b=b, c=c)

    def repeated(self, times: int) -> Self:
        """The batch, `times` times over."""
        return self.take(np.tile(np.arange(self.shape[1]), times))

    def joined(self, others: Self) -> Self:
        """Two batches of one shape as one."""
        xp = array_namespace(self.W)
        a, b, c = (xp.concat([getattr(self, v), getattr(others, v)], axis=0) for v in "abc")
        return replace(self, W=xp.concat([self.W, others.W], axis=1), a=a, b=b, c=c)

    def preactivations(self, X: Array) -> Array:
        """z (m, S, k)."""
        xp = array_namespace(X)
        d, S, k = self.shape
        z = xp.reshape(xp.matmul(X, xp.reshape(self.W, (d, S * k))), (X.shape[0], S, k))
        return z if isinstance(self.b, np.ndarray) and not self.b.any() else z + self.b

    def residuals(self, values: Array, y: Array) -> Array:
        """f(x) − y (m, S) from φ(z) (m, S, k)."""
        refuse_several(y)
        return array_namespace(values).vecdot(values, self.a) + (self.c - y[:, None])


@dataclass(frozen=True, eq=False)
class Risk:
    """½ E r², an array (S,)."""

    students: Students

    @property
    def floats_per_row(self) -> int:
        _, S, k = self.students.shape
        return 3 * S * k + 2 * S

    def __call__(self, block: Block) -> Sums:
        xp = array_namespace(block.X)
        students = self.students.like(block.X)
        r = students.residuals(students.activation(students.preactivations(block.X)), block.y)
        w = xp.ones_like(block.y) if block.w is None else block.w
        return (0.5 * xp.matmul(w, r * r),)


@dataclass(frozen=True, eq=False)
class Gradient:
    """Risk (S,) and its gradient: W (d, S, k), a (S, k), b (S, k), c (S,)."""

    students: Students

    @property
    def floats_per_row(self) -> int:
        _, S, k = self.students.shape
        return 5 * S * k + 3 * S

    def __call__(self, block: Block) -> Sums:
        xp, X = array_namespace(block.X), block.X
        students = self.students.like(X)
        d, S, k = students.shape
        z = students.preactivations(X)
        values = students.activation(z)
        r = students.residuals(values, block.y)
        wr = r if block.w is None else block.w[:, None] * r
        slopes = xp.reshape(wr[:, :, None] * students.activation.derivative(z), (X.shape[0], S * k))
        dW = students.a * xp.reshape(matmul_transposed(X, slopes), (d, S, k))
        da = _column_sums(xp.reshape(wr[:, :, None] * values, (X.shape[0], S * k)))
        db = students.a * xp.reshape(_column_sums(slopes), (S, k))
        return 0.5 * xp.sum(wr * r, axis=0), dW, xp.reshape(da, (S, k)), db, xp.sum(wr, axis=0)


@dataclass(frozen=True, eq=False)
class Hessian:
    """The Hessian in W of one network's risk: blocks (d, k, d, k), with or without the φ″ term; O(n d² k²).

    For piecewise linear φ the φ″ term is zero on almost every row: the empirical Hessian is JᵀJ.
    """

    network: Network
    curvature: bool = True

    @property
    def floats_per_row(self) -> int:
        return int((self.network.n_inputs + 4) * self.network.n_units)

    def __call__(self, block: Block) -> Sums:
        xp, X = array_namespace(block.X), block.X
        d, k = self.network.W.shape
        students = Students.of(self.network).like(X)
        z = students.preactivations(X)
        slopes = (students.a * students.activation.derivative(z))[:, 0, :]
        J = xp.reshape(X[:, :, None] * slopes[:, None, :], (X.shape[0], d * k))
        weighted = J if block.w is None else block.w[:, None] * J
        H = xp.reshape(matmul_transposed(J, weighted), (d, k, d, k))
        if not self.curvature:
            return (H,)
        bend = _curvature(students, z, block)
        curved = xp.reshape(X[:, :, None] * bend[:, None, :], (X.shape[0], d * k))
        diagonal = xp.reshape(matmul_transposed(X, curved), (d, d, k))
        eye = xp.eye(k, dtype=X.dtype, device=X.device)
        return (H + _on_diagonal(diagonal, eye),)


@dataclass(frozen=True, eq=False)
class HessianProduct:
    """The Hessian in W applied to a direction U (d, k), by products with X alone: O(n d k)."""

    network: Network
    U: Array
    curvature: bool = True

    @property
    def floats_per_row(self) -> int:
        return 6 * self.network.n_units

    def __call__(self, block: Block) -> Sums:
        xp, X = array_namespace(block.X), block.X
        students = Students.of(self.network).like(X)
        z = students.preactivations(X)
        slopes = (students.a * students.activation.derivative(z))[:, 0, :]
        moved = xp.matmul(X, as_like(self.U, X))
        tangent = xp.sum(slopes * moved, axis=1)
        tangent = tangent if block.w is None else block.w * tangent
        rows = tangent[:, None] * slopes
        if self.curvature:
            rows = rows + _curvature(students, z, block) * moved
        return (matmul_transposed(X, rows),)


def _column_sums(rows: Array) -> Array:
    """(p,) from (m, p); a product is several times faster than a reduction over the first axis."""
    xp = array_namespace(rows)
    return xp.matmul(xp.ones_like(rows[:, 0]), rows)


def _curvature(students: Students, z: Array, block: Block) -> Array:
    """w r aⱼ φ″(zⱼ) (m, k) of a single network."""
    r = students.residuals(students.activation(z), block.y)
    wr = r if block.w is None else block.w[:, None] * r
    return (wr[:, :, None] * (students.a * students.activation.second_derivative(z)))[:, 0, :]


def _on_diagonal(blocks: Array, eye: Array) -> Array:
    """(d, k, d, k) with blocks[:, :, j] at (·, j, ·, j), from blocks (d, d, k)."""
    xp = array_namespace(blocks)
    return xp.permute_dims(blocks, (0, 2, 1))[:, :, :, None] * eye[None, :, None, :]
