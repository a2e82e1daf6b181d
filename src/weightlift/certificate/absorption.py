"""Reflections that a small change of the parameters undoes on the rows.

Reflecting the units of F changes f by Δ_F = Σ_F s aᵢ p(zᵢ), where φ(−z) = s φ(z) + p(z). To first order the parameters can undo
what of it lies in the range of J: with p = (s aᵢ p(zᵢ))ᵢ on the rows,

    min_δ Σ w (Δ_F + Jδ)² = fᵀQf,      Q = pᵀWp − pᵀWJ (JᵀWJ)⁻¹ JᵀWp  (k, k),      f the indicator of F.

A unit whose kink leaves all rows on one side, units that share their rows, a nearly linear unit: each makes some fᵀQf vanish
though Δ_F does not, and a second network then fits as exactly as the first. Patterns whose fᵀQf is small are only suspects;
a refit decides. Cost  one pass O(n d k²), and that of the subset sums of k columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.identifiability.reflections import reflection
from weightlift.identifiability.subset_sums import SubsetSums
from weightlift.namespaces import array_namespace, matmul_transposed, to_numpy
from weightlift.refinement.normal_equations import parameter_inputs
from weightlift.risk import Students
from weightlift.samples import Block, Samples, Sums

SUSPECT = 1e-3  # of the root mean square of y: a shift of the units by ε leaves ε² of a change that it undoes
MOST = 32
FEW = 10  # units, of which all sets are tried


@dataclass(frozen=True, eq=False)
class ReflectionProducts:
    """Σ w ppᵀ (k, k), Σ w p jᵀ (k, size of θ) and Σ w y², p the changes that reflecting each unit alone makes."""

    gauge: Gauge

    @property
    def floats_per_row(self) -> int:
        k = self.gauge.network.n_units
        return k * k + 6 * k

    def __call__(self, block: Block) -> Sums:
        xp, free = array_namespace(block.X), self.gauge.free
        students = Students.of(self.gauge.network).like(block.X)
        m, k = block.X.shape[0], students.shape[2]
        z = students.preactivations(block.X)[:, 0, :]
        slopes = students.a[0, :] * students.activation.derivative(z)
        s, polynomial = reflection(students.activation)
        p = xp.zeros_like(z)
        for coefficient in reversed(polynomial):
            p = p * z + coefficient
        p = s * students.a[0, :] * p
        wp = p if block.w is None else block.w[:, None] * p
        inputs = parameter_inputs(block.X, free)
        product = matmul_transposed(inputs, xp.reshape(wp[:, :, None] * slopes[:, None, :], (m, k * k)))
        columns = [xp.reshape(xp.permute_dims(xp.reshape(product, (-1, k, k)), (1, 0, 2)), (k, -1))]
        if free.a:
            columns.append(matmul_transposed(wp, students.activation(z)))
        if free.c:
            columns.append(xp.sum(wp, axis=0)[:, None])
        return matmul_transposed(wp, p), xp.concat(columns, axis=1), xp.sum(block.wy * block.y)


def absorbed_patterns(samples: Samples, information: Information) -> np.ndarray | None:
    """(m, k) sets of units whose reflection the parameters may undo on the rows, at most `MOST`; None if there are too many.

    Where p is a constant every Δ_F is, and if it can be undone at all, so can that of each single unit.
    """
    gauge = information.gauge
    net, k = gauge.network, gauge.network.n_units
    none = np.zeros((0, k), dtype=bool)
    if net.activation.reflection is None or not reflection(net.activation)[1]:
        return none
    constant = len(reflection(net.activation)[1]) == 1
    if constant and gauge.free.c:
        return none
    square, cross, energy = (to_numpy(s) for s in samples.fold(ReflectionProducts(gauge)))
    undone = cross @ information.half_inverse
    Q = square - undone @ undone.T
    size = SUSPECT * float(energy) ** 0.5
    if constant:
        single = np.eye(k, dtype=bool)[np.argsort(np.abs(net.a))]
        share = max(0.0, float(Q[0, 0])) ** 0.5 / abs(float(net.a[0]))
        return np.asarray(single[share * np.sort(np.abs(net.a)) <= size][:MOST])
    return _small_sums(Q, size)


def _small_sums(Q: np.ndarray, size: float) -> np.ndarray | None:
    """The non-empty sets with fᵀQf ≤ size², at most `MOST`, else None; Q is positive semidefinite up to rounding."""
    k = len(Q)
    values, vectors = np.linalg.eigh((Q + Q.T) / 2)
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    if k <= FEW:
        sets = (np.arange(1, 2**k)[:, None] >> np.arange(k) & 1).astype(bool)
        found = sets[np.linalg.norm(sets @ root.T, axis=1) <= size]
        return found if len(found) <= MOST else None
    scale = float(np.linalg.norm(root))
    answer = SubsetSums.of(root / scale).small(size / scale, limit=MOST) if scale > size else None
    return np.asarray(answer[0][answer[0].any(axis=1)]) if answer is not None and answer[1] else None
