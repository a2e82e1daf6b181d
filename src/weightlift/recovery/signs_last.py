"""Which way the units of a sigmoid face where there is no offset: decided last, from a fit beside a free one.

With φ(−z) = −φ(z) + p₀ the reflection of the units of F moves c alone, by p₀ Σ_F aᵢ. So a fit with c free has one minimum for
all 2ᵏ ways, where each way has one of its own without: descent and search see the first, and the second are told apart here.
Each way is measured by the least squares of its output weights, c being zero; those that leave least are refitted.
Cost  O(2ᵏ n k²) and the refits.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from weightlift.network import Network
from weightlift.recovery.limits import LIMITS
from weightlift.refinement.variable_projection import Hidden, JointFit, Model, variable_projection
from weightlift.samples import Samples


def facing(samples: Samples, start: Network, model: Model, *, steps: int, deadline: float = math.inf) -> JointFit:
    """Fits without offset from the start as it faces, and from the ways of the fit beside an offset that leave least.

    steps: of each fit, at most; the iterations that are returned are those of all.
    """
    beside = variable_projection(samples, start, replace(model, offset=True), iterations=steps, deadline=deadline)
    ways = every_way(beside.network)
    left = variable_projection(samples, ways, model, iterations=0).risks
    best = ways.take(np.argsort(left, kind="stable")[: LIMITS.ways_tried])
    own = Hidden.of(start)
    starts = replace(best, W=np.concatenate([best.W, own.W], axis=1), b=np.concatenate([best.b, own.b]))
    fit = variable_projection(samples, starts, model, iterations=steps, deadline=deadline)
    return replace(fit, iterations=beside.iterations + len(fit.risks) * fit.iterations)


def every_way(network: Network) -> Hidden:
    """2ᵏ hidden layers, every set of units reflected."""
    k = network.n_units
    signs = 1.0 - 2.0 * (np.arange(2**k)[:, None] >> np.arange(k) & 1)
    return Hidden(network.W[:, None, :] * signs, network.b * signs, network.activation)
