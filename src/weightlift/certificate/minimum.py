"""How far a network is from a minimum of the squared error, in standard errors: gᵀ(JᵀJ)⁻¹g/σ² for the least subgradient g.

With noise the minimum of a kinked φ may lie where a row is on a kink. There φ′ is any number between its two sides, and with v
the part of such a row and unit in the gradient at slope one, g = Jᵀr + Σ t v for the t within reach that make it least. Where
the risk has a ridge at the kink, and not a valley, it is no minimum, and φ′ is that of one side.
Cost  one pass of O(n d k) where φ has kinks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weightlift.certificate.limits import LIMITS
from weightlift.certificate.statement import Kind, Statement, Topic
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.evidence.rows import double
from weightlift.namespaces import array_namespace, as_like, to_numpy
from weightlift.risk import Students
from weightlift.samples import Block, Samples, Sums

TINY = float(np.finfo(float).tiny)


def distance_to_minimum(samples: Samples, information: Information, variance: float) -> float:
    """gᵀ(JᵀJ)⁻¹g/σ²."""
    L, gauge = information.half_inverse, information.gauge
    target = L.T @ information.gradient
    if gauge.network.activation.kinks:
        units, rows, reach = (to_numpy(v) for v in samples.fold(OnKinks(gauge)))
        if 0 < len(units) <= LIMITS.on_kinks:
            target = target + _least(L.T @ _spread(gauge, units.astype(int), rows), target, reach)
    return float(target @ target) / max(variance, TINY)


def minimum(shift: float, p: int) -> Statement:
    limit = LIMITS.shift * max(10.0, p)
    sentence = f"The network is {shift**0.5:.2g} standard errors away from a minimum of the squared error"
    sentence += "." if shift <= limit else "; refine it, without a penalty."
    return Statement(Topic.MINIMUM, Kind.TESTED, shift <= limit, sentence, shift**0.5, limit**0.5)


def _spread(gauge: Gauge, units: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """(p, m) the coordinates of each row's part."""
    V = np.zeros((gauge.size, len(units)))
    for column, (i, row) in enumerate(zip(units, rows, strict=True)):
        V[gauge.coordinates(i)[: rows.shape[1]], column] = row
    return V


def _least(V: np.ndarray, target: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """V t that makes target + V t least, t between the two columns of reach."""
    from scipy.optimize import lsq_linear

    return np.asarray(V @ lsq_linear(V, -target, bounds=(reach[:, 0] - TINY, reach[:, 1] + TINY)).x)


@dataclass(frozen=True, eq=False)
class OnKinks:
    """Units (m,), w r a x̃ (m, q) and how far their slopes may move (m, 2), of rows within rounding of a kink."""

    gauge: Gauge

    @property
    def floats_per_row(self) -> int:
        return 8 * self.gauge.network.n_units + 2 * self.gauge.network.n_inputs

    def __call__(self, block: Block) -> Sums:
        X, y, w = double(block)
        xp, net = array_namespace(X), self.gauge.network
        students = Students.of(net).like(X)
        z = students.preactivations(X)
        wr = w * students.residuals(students.activation(z), y)[:, 0]
        z, size = z[:, 0, :], xp.matmul(xp.abs(X), as_like(np.abs(net.W), X)) + as_like(np.abs(net.b), X)
        found = []
        for kink in net.activation.kinks:
            on = to_numpy(xp.any((near := xp.abs(z - kink) <= LIMITS.kink * size), axis=1))
            row, unit = np.nonzero(to_numpy(near)[on] & (to_numpy(w)[on] > 0)[:, None])
            here, sides = to_numpy(X)[on][row], np.array([kink - 1e-6, kink + 1e-6])
            inputs = np.hstack([here, np.ones((len(here), 1))])[:, : self.gauge.free.inputs(X.shape[1])]
            now = net.activation.derivative(to_numpy(z)[on][row, unit])
            slopes, pull = net.activation.derivative(sides), to_numpy(wr)[on][row] * net.a[unit]
            valley = pull * (slopes[1] - slopes[0]) > 0  # on a ridge the risk falls to both sides: there is no other slope
            reach = np.where(valley[:, None], np.sort(slopes) - now[:, None], 0.0)
            found.append((unit, pull[:, None] * inputs, reach))
        return tuple(np.concatenate(part) for part in zip(*found, strict=True))

    def merge(self, left: Sums, right: Sums) -> Sums:
        return tuple(np.concatenate(pair) for pair in zip(left, right, strict=True))
