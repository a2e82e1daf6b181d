"""Exactness: from a residual at rounding level to a bound on every unit.

If y is f*(x) up to the rounding errors B of each row and f fits it with residuals r, then to first order the coordinates
differ by

    θ − θ* = (JᵀWJ)⁻¹ JᵀW (r + rounding),      ‖unit i‖ ≤ ‖[(JᵀWJ)⁻¹]ᵢᵢ‖^½ (Σ w (|r| + B)²)^½,

W the rows' weights. First order is enough while the bound is small beside the units and beside their distances, which is
required. The bound is rigorous for any pattern of rounding errors; typically it is √n times too large.
"""

from __future__ import annotations

import math

import numpy as np

from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information

ROUNDING_FACTOR = 4.0  # residuals up to this many times their bound count as rounding errors
SAFETY = 2.0  # for what first order leaves out
LARGEST_PRECISION = 1e-4  # beyond it, nothing is called exact
CONFIDENCE = 1e-4  # δ in ln(1/δ)/h


def exact_precision(information: Information, error: float) -> np.ndarray:
    """(k,) relative precision of the units in normal form, for errors of norm (Σ w e²)^½ = error on the rows."""
    gauge = information.gauge
    sizes = [gauge.relative_size(i, information.unit_inverse(i)) for i in range(gauge.network.n_units)]
    return SAFETY * error * np.array(sizes)


def exact_regions(information: Information, error: float) -> np.ndarray:
    """(k, q, q) matrices R with δᵀR⁻¹δ ≤ 1 for what each unit's coordinates may be off by."""
    units = range(information.gauge.network.n_units)
    return (SAFETY * error) ** 2 * np.stack([information.unit_inverse(i) for i in units])


def separation(gauge: Gauge) -> np.ndarray:
    """(k,) relative distance of each unit's (w, b), in normal form and up to sign, to the nearest other one."""
    V = np.vstack([gauge.network.W, gauge.network.b])
    if gauge.network.activation.degree:
        V = V / np.maximum(np.linalg.norm(gauge.network.W, axis=0), np.finfo(float).tiny)
    norm = np.linalg.norm(V, axis=0)
    gaps = np.full(len(norm), np.inf)
    for i in range(len(norm)):
        for j in range(len(norm)):
            if i != j:
                gap = min(np.linalg.norm(V[:, i] - V[:, j]), np.linalg.norm(V[:, i] + V[:, j]))
                gaps[i] = min(gaps[i], float(gap) / max(norm[i], norm[j], np.finfo(float).tiny))
    return gaps


def disagreement_bound(heldout_rows: int) -> float | None:
    """ln(1/δ)/h: agreement on h rows that the fit never saw leaves, with confidence 1 − δ, no larger share of disagreement."""
    return min(1.0, math.log(1 / CONFIDENCE) / heldout_rows) if heldout_rows else None
