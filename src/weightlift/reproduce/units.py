"""How far a network's units (w, b) are from those of another."""

from __future__ import annotations

import numpy as np

import weightlift as wl
from weightlift.reproduce.limits import LIMITS


def worst_unit(found: wl.Network, truth: wl.Network) -> float:
    """Largest relative distance of a unit's (w, b), sizes absorbed."""
    if found.n_units != truth.n_units:
        return LIMITS.failed
    match = wl.match(found, truth)
    estimate, true = found.absorbed(), truth.absorbed()
    gaps = [estimate.W[:, match.permutation] - true.W, (estimate.b[match.permutation] - true.b)[None]]
    sizes = np.linalg.norm(np.vstack([true.W, true.b]), axis=0)
    return float(np.max(np.linalg.norm(np.vstack(gaps), axis=0) / sizes)) if match.signs_agree else LIMITS.failed
