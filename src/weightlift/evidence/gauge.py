"""Coordinates of a network in which its scale symmetry is fixed: what is estimated, counted and claimed.

Homogeneous φ of degree q: a φ(z) = sign(a) φ(|a|^{1/q} z), so a unit is (w, b) with |a| = 1 and a sign. Other φ: (w, b, a).
b belongs to the coordinates where biases are fitted, and c comes last where an offset is. The Jacobian of f in them is

    ∂wᵢ = aᵢ φ′(zᵢ) x,   ∂bᵢ = aᵢ φ′(zᵢ),   ∂aᵢ = φ(zᵢ),   ∂c = 1,        zᵢ = ⟨wᵢ, x⟩ + bᵢ.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from weightlift.identifiability import reflect
from weightlift.namespaces import Array, array_namespace
from weightlift.network import Network
from weightlift.refinement.normal_equations import Free, products_by_row
from weightlift.risk import Students

TINY = float(np.finfo(float).tiny)  # a zero divides by it


@dataclass(frozen=True, eq=False)
class Gauge:
    """The network with its scale fixed, and which of its parameters are coordinates."""

    network: Network
    free: Free
    numbers: tuple[int, ...] | None = None  # (k,) what its units are called, where it is a part of a network; None: 0 … k − 1

    @classmethod
    def of(cls, network: Network, *, bias: bool, offset: bool, numbers: Iterable[int] | None = None) -> Gauge:
        homogeneous = bool(network.activation.degree)
        free = Free(W=True, a=not homogeneous, b=bias, c=offset)
        return cls(network.absorbed() if homogeneous else network, free, None if numbers is None else tuple(numbers))

    def called(self, units: Iterable[int]) -> tuple[int, ...]:
        """The numbers by which sentences name these units."""
        return tuple(int(i) if self.numbers is None else int(self.numbers[i]) for i in units)

    @property
    def size(self) -> int:
        """p, the number of parameters."""
        return self.free.size(self.network.n_inputs, self.network.n_units)

    @property
    def unit_size(self) -> int:
        """Coordinates of one unit."""
        return self.free.inputs(self.network.n_inputs) + self.free.a

    @cached_property
    def theta(self) -> np.ndarray:
        """(p,) in the order of `Free.pack`."""
        return np.asarray(self.free.pack(Students.of(self.network))[0])

    @property
    def floats_per_row(self) -> int:
        """Temporaries of a statistic that holds rows of J."""
        return 3 * self.size + 8 * self.network.n_units

    def coordinates(self, i: int) -> np.ndarray:
        """Where the coordinates of unit i stand: w, then b, then a."""
        k = self.network.n_units
        return np.arange(self.unit_size) * k + i

    def unit(self, i: int) -> tuple[np.ndarray, float]:
        """Coordinates of unit i, and the sign of its output weight where that is not one of them."""
        return self.theta[self.coordinates(i)], 0.0 if self.free.a else float(self.network.a[i])

    def representatives(self, i: int) -> list[tuple[np.ndarray, float]]:
        """Unit i, and its reflection where that is a symmetry of φ."""
        reflection = self.network.activation.reflection
        if reflection is None or len(reflection[1]) > 1:
            return [self.unit(i)]
        flips = np.arange(self.network.n_units) == i
        return [self.unit(i), replace(self, network=reflect(self.network, flips)).unit(i)]

    def perturbed(self, delta: np.ndarray) -> Students:
        """Students at θ + δ, one for each row of δ (S, p)."""
        S = delta.shape[0]
        return self.free.unpack(self.theta + delta, Students.of(*[self.network] * S))

    def relative_distance(self, own: np.ndarray, other: np.ndarray) -> float:
        """The larger of the relative distances of (w, b) and of a between two units in normal form.

        Normal form of homogeneous φ is ‖w‖ = 1 with the size ‖w‖^q in a. The triangle inequality holds: ‖x − y‖/max(‖x‖, ‖y‖)
        is a metric, where ‖z‖ is the largest of three by ‖x − y‖ ‖z‖ ≤ ‖x − z‖ ‖y‖ + ‖z − y‖ ‖x‖ (Ptolemy), otherwise at once.
        """
        (inner, a), (others, their_a) = self._normal_form(own), self._normal_form(other)
        larger = max(float(np.linalg.norm(inner)), float(np.linalg.norm(others)), TINY)
        gap = float(np.linalg.norm(inner - others)) / larger
        return max(gap, abs(a - their_a) / max(abs(a), abs(their_a), TINY))

    def distances(self, other: Gauge) -> np.ndarray:
        """(k,) relative distances of the units to those of another network of the same coordinates, one by one."""
        units = range(self.network.n_units)
        return np.array([self.relative_distance(self.unit(i)[0], other.unit(i)[0]) for i in units])

    def relative_size(self, i: int, region: np.ndarray) -> float:
        """The largest relative distance, to first order, of unit i to those with δᵀ region⁻¹ δ ≤ 1; ∞ for a zero unit, or where
        squares overflow."""
        return float(self.relative_sizes(region[None], np.array([i]))[0])

    def relative_sizes(self, regions: np.ndarray, units: np.ndarray | None = None) -> np.ndarray:
        """(k,) the same of all units, or of some, one region (q, q) each."""
        own = self.theta[: self.unit_size * self.network.n_units].reshape(self.unit_size, -1).T
        own = own if units is None else own[units]
        lengths = np.linalg.norm(own[:, : self.network.n_inputs], axis=1)
        if self.free.a:
            inner, a, spread = own[:, :-1], own[:, -1], regions
        else:
            degree, zero = float(self.network.activation.degree or 1.0), lengths == 0
            inner, a = own / np.where(zero, 1.0, lengths)[:, None], np.where(zero, 0.0, lengths**degree)
            T = self._normal_form_jacobians(own, np.where(zero, 1.0, lengths))
            with np.errstate(over="ignore", invalid="ignore"):
                spread = T @ regions @ np.swapaxes(T, 1, 2)
        usable = np.isfinite(spread).all(axis=(1, 2)) & inner.any(axis=1) & (a != 0)
        spread = np.where(usable[:, None, None], spread, 0.0)
        with np.errstate(all="ignore"):
            squares = np.linalg.eigvalsh(spread[:, :-1, :-1])[:, -1] / (inner**2).sum(axis=1), spread[:, -1, -1] / a**2
            return np.where(usable, np.sqrt(np.maximum(np.maximum(*squares), 0.0)), math.inf)

    def normal_form_jacobian(self, i: int) -> np.ndarray:
        """Derivative of unit i's normal form (w, b, a) in its coordinates; homogeneous φ: (w/‖w‖, b/‖w‖, sign(a) ‖w‖^q)."""
        own, sign = self.unit(i)
        if self.free.a:
            return np.eye(self.unit_size)
        T = self._normal_form_jacobians(own[None], np.linalg.norm(own[None, : self.network.n_inputs], axis=1))[0]
        T[-1] *= sign
        return np.asarray(T)

    def normal_form(self) -> np.ndarray:
        """(P, p): derivative of all units' normal forms, and of c."""
        k, each = self.network.n_units, self.unit_size + (not self.free.a)
        T = np.zeros((each * k + self.free.c, self.size))
        for i in range(k):
            T[i * each : (i + 1) * each, self.coordinates(i)] = self.normal_form_jacobian(i)
        if self.free.c:
            T[-1, -1] = 1.0
        return T

    def _normal_form_jacobians(self, units: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """(…, q + 1, q) for units (…, q) of lengths ‖w‖ with a = ‖w‖^q."""
        d, degree = self.network.n_inputs, float(self.network.activation.degree or 1.0)
        radial = np.zeros_like(units)
        radial[:, :d] = units[:, :d] / lengths[:, None]
        own = units / lengths[:, None]
        inner = (np.eye(units.shape[1]) - own[:, :, None] * radial[:, None, :]) / lengths[:, None, None]
        return np.concatenate([inner, (degree * lengths ** (degree - 1))[:, None, None] * radial[:, None, :]], axis=1)

    def _normal_form(self, unit: np.ndarray) -> tuple[np.ndarray, float]:
        if self.free.a:
            return unit[:-1], float(unit[-1])
        length = max(float(np.linalg.norm(unit[: self.network.n_inputs])), TINY)
        return unit / length, length ** float(self.network.activation.degree or 1.0)

    def linearized(self, X: Array) -> tuple[Array, Array]:
        """J (m, 1, p) and f(x) (m, 1)."""
        students = Students.of(self.network).like(X)
        z = students.preactivations(X)
        values = array_namespace(X).vecdot(students.activation(z), students.a) + students.c
        return self.jacobian(X, z, students)[:, None, :], values

    def jacobian(self, X: Array, z: Array, students: Students) -> Array:
        """J (m, p) at the rows of X; z (m, 1, k) are the preactivations of `students`, this network beside X."""
        xp = array_namespace(X)
        m = X.shape[0]
        slopes = (students.a * students.activation.derivative(z))[:, 0, :]
        one = xp.ones((m, 1), dtype=X.dtype, device=X.device)
        inputs = xp.concat([X, one], axis=1) if self.free.b else X
        parts = [xp.matrix_transpose(products_by_row(inputs, xp.matrix_transpose(slopes)[None, :, :])[0, :, :])]
        if self.free.a:
            parts.append(students.activation(z)[:, 0, :])
        if self.free.c:
            parts.append(one)
        return parts[0] if len(parts) == 1 else xp.concat(parts, axis=1)
