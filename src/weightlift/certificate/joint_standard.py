"""A joint fit in standard inputs and targets of one size, and the way back.

    x̃ = (x − μ)/σ, ỹ = y/s:      w = w̃/σ, b = b̃ − ⟨w, μ⟩, V = Ṽ/σ, c = c̃ − Vᵀμ, then A, V and c times s.

s belongs to the estimate, which minimises Σ w ‖r/s‖². `recover` takes the powers of two next to the outputs' sizes; a fit from
elsewhere may have s = 1. Of the two the one at whose minimum the network is nearer is taken, in standard errors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from weightlift.certificate.limits import LIMITS
from weightlift.certificate.standard import Standard, carried
from weightlift.certificate.statement import Kind, Statement, Topic, named
from weightlift.evidence.gauge import TINY
from weightlift.evidence.information import MAX_CONDITION
from weightlift.evidence.stacked import ScaledTargets, Stacked, StackedInformation, target_moments
from weightlift.network import Network
from weightlift.refinement.variable_projection import Model
from weightlift.samples import Samples


@dataclass(frozen=True, eq=False)
class StandardForm:
    """The network as it was given, and that of the standard rows with its information there."""

    raw: Stacked
    rows: Samples
    standard: Standard
    scaled: ScaledTargets
    information: StackedInformation

    @classmethod
    def of(cls, network: Network, samples: Samples, model: Model, *, explained: bool = False) -> StandardForm:
        """explained: the network agrees with the rows, and is at the minimum whatever s is."""
        mean, covariance = target_moments(samples)
        standard = Standard.of(samples, bias=model.bias and (model.offset or not model.linear))
        inputs, raw = samples.map(standard), Stacked.of(network, model)
        scales = [ScaledTargets.of(np.diagonal(covariance) + mean**2), ScaledTargets(np.ones(len(mean)))]
        if explained or len(set(scales[0].scale)) == 1:
            return cls._with(raw, inputs, standard, scales[0])
        return min((cls._with(raw, inputs, standard, scaled) for scaled in scales), key=lambda form: form.distance)

    @classmethod
    def _with(cls, raw: Stacked, inputs: Samples, standard: Standard, scaled: ScaledTargets) -> StandardForm:
        rows = inputs.map(scaled).persist()
        stacked = Stacked.of(standard.network(scaled.network(raw.network)), raw.model)
        return cls(raw, rows, standard, scaled, StackedInformation.of(rows, stacked))

    @property
    def stacked(self) -> Stacked:
        return self.information.gauge

    @property
    def noise(self) -> np.ndarray:
        """Σ̂ = Σ w rrᵀ/(n − p/m) (m, m)."""
        p, m = self.stacked.size, self.stacked.network.n_outputs
        return np.asarray(self.information.squares / max(self.information.rows - p / m, 1.0))

    @property
    def distance(self) -> float:
        """gᵀH⁻¹C⁻¹H⁻¹g, C the classical covariance: to the minimum, in squared standard errors."""
        C = self.information.covariance(self.noise)
        step = self.information.half_inverse.T @ self.information.gradient
        scale = np.sqrt(np.maximum(np.diagonal(C), TINY))
        values, vectors = np.linalg.eigh(C / np.outer(scale, scale))
        good = values > LIMITS.noiseless * values.max(initial=0.0)
        return float((((vectors.T @ (step / scale)) ** 2)[good] / values[good]).sum())

    def precision(self, errors: np.ndarray) -> np.ndarray:
        """(k,) relative, of raw units: twice what errors with Σ w (|r| + B)² (m,) leave, to first order; ∞ where rows see too
        little."""
        L, units = self.information.half_inverse, range(self.stacked.network.n_units)
        half = np.sqrt(float((errors / self.scaled.scale**2).sum())) * L[np.array([self.stacked.coordinates(i) for i in units])]
        return 2 * self.raw_sizes(half[None] @ np.swapaxes(half, 1, 2))

    @property
    def weak(self) -> tuple[int, ...]:
        """Units that the rows do not determine."""
        return self.information.weak(LIMITS.weak)

    def determined(self) -> Statement:
        """Whether the rows determine every unit to first order."""
        weak, condition = self.weak, self.information.condition
        sentence = (
            f"The rows determine every unit to first order: the stacked JᵀJ has the condition {condition:.2g}."
            if not weak
            else f"The rows do not determine {named(weak, verb=False)}: the stacked JᵀJ is singular to working precision. No "
            "row sees them, or too few on their active side, or they are linear on all of them; give more rows or fewer units."
        )
        return Statement(Topic.DETERMINED, Kind.TESTED, not weak, sentence, condition, MAX_CONDITION, weak)

    def to_raw(self, L: np.ndarray) -> np.ndarray:
        """(full, r) in raw coordinates."""
        stacked, sizes = self.stacked, self.scaled.scale
        model, d, k = stacked.model, stacked.network.n_inputs, stacked.network.n_units
        L = self.standard.units(L, stacked.inputs, k)
        beta = L[stacked.inner :].reshape(len(stacked.beta), len(sizes), L.shape[1]).copy()
        if model.linear:
            beta[k : k + d] /= self.standard.scale[:, None, None]
            if model.offset:
                beta[-1] -= np.tensordot(self.standard.mean, beta[k : k + d], axes=1)
        beta *= sizes[:, None]
        return self.raw.in_slice(np.concatenate([L[: stacked.inner], beta.reshape(-1, L.shape[1])]))

    def raw_regions(self, regions: np.ndarray) -> np.ndarray:
        """(r, k, q + m, q + m) of units in raw coordinates, of changes with ⟨t, δ(w, b)⟩ = 0 for homogeneous φ [slices]."""
        q = self.raw.inputs
        T = self.standard.unit(q + self.raw.network.n_outputs)
        T[q:, q:] *= self.scaled.scale
        return carried(T, regions)

    @property
    def slices(self) -> np.ndarray:
        """(k, q) t of every unit: ⟨t, δ(w, b)⟩ = ⟨(w̃, b̃), δ(w̃, b̃)⟩."""
        inner, d = self.stacked.hidden, self.raw.network.n_inputs
        t = inner.copy()
        t[:d] *= self.standard.scale[:, None]
        if self.raw.model.bias:
            t[:d] += self.standard.mean[:, None] * inner[d]
        return np.asarray(t.T)

    def raw_sizes(self, regions: np.ndarray) -> np.ndarray:
        """(k,) relative sizes in raw coordinates, δ(w, b) ⟂ (w, b) for homogeneous φ, to first order; ∞ where rows see too
        little."""
        raw, moved, degree = self.raw, self.raw_regions(regions), self.raw.network.activation.degree
        for i in range(raw.network.n_units if degree else 0):
            inner, m = raw.hidden[:, i], raw.network.n_outputs
            along = np.append(inner, np.zeros(m)) / max(float(inner @ inner), TINY)
            P = np.eye(len(along)) - np.outer(np.append(inner, -float(degree or 0) * raw.network.A[i]), along)
            moved[:, i] = carried(P, moved[:, i])
        sizes = np.array([relative_size(raw, i, moved[:, i]) for i in range(raw.network.n_units)])
        sizes[list(self.weak)] = math.inf
        return sizes

    def back(self, network: Network) -> Network:
        """A network of the standard rows as one of the raw ones."""
        return self.scaled.undo(self.standard.undo(network))


def relative_size(stacked: Stacked, i: int, regions: np.ndarray) -> float:
    """The largest of ‖δ(w, b)‖/‖(w, b)‖ and ‖δa‖/‖a‖ in the regions (r, q + m, q + m) of unit i; ∞ for a zero unit."""
    q, inner, a = stacked.inputs, stacked.hidden[:, i], stacked.network.A[i]
    if not inner.any() or not a.any() or not np.isfinite(regions).all():
        return math.inf
    sizes = [
        float(np.linalg.eigvalsh(part)[-1]) / float(v @ v) for R in regions for part, v in ((R[:q, :q], inner), (R[q:, q:], a))
    ]
    return math.sqrt(max(*sizes, 0.0))
