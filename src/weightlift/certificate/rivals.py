"""Rivals: networks with reflected units, refitted to the same rows.

Where φ(−z) = s φ(z) + p(z) with p not constant, reflecting a set F of units changes f by a polynomial; after a refit the
reflected network is the commonest other minimum. If one of them fits as well, or nearly, the data cannot tell the two apart.
Cost  a Gauss–Newton refinement of at most `MOST` students together.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from weightlift.evidence.gauge import Gauge
from weightlift.identifiability import reflect
from weightlift.identifiability.reflections import reflection, reflection_polynomials
from weightlift.namespaces import to_numpy
from weightlift.network import Network
from weightlift.refinement.gauss_newton import FIRST_DAMPING, gauss_newton
from weightlift.risk import Risk, Students
from weightlift.samples import Samples

MOST = 32
ITERATIONS = 25
MEMORY = 2**23  # floats for the normal equations of all rivals


@dataclass(frozen=True, eq=False)
class Rival:
    """The set of units that was reflected, (k,) booleans, the network after its refit, and Σ w r²."""

    pattern: np.ndarray
    network: Network
    rss: float


def reflected_rivals(samples: Samples, gauge: Gauge, ceiling: float = math.inf) -> list[Rival]:
    """Refitted networks for the sets of units whose reflection changes f least; none where reflections are symmetries of φ.

    Those with Σ w r² above `ceiling` before the refit are left out: a network with the same function up to ε has units within a
    multiple of ε of the reflected ones, which bounds where it starts.
    """
    net = gauge.network
    if net.activation.reflection is None or len(reflection(net.activation)[1]) <= 1:
        return []
    patterns = _patterns(gauge)
    starts = [reflect(net, pattern, offset=gauge.free.c) for pattern in patterns]
    squares = 2.0 * to_numpy(samples.fold(Risk(Students.of(*starts)))[0])
    near = np.flatnonzero(squares <= ceiling)
    if not near.size:
        return []
    patterns = patterns[near]
    refined = refitted(samples, gauge, patterns)
    squares = 2.0 * to_numpy(samples.fold(Risk(Students.of(*refined)))[0])
    return [Rival(*parts) for parts in zip(patterns, refined, squares.tolist(), strict=True)]


def refitted(samples: Samples, gauge: Gauge, patterns: np.ndarray, *, damping: float = FIRST_DAMPING) -> list[Network]:
    """The networks with the units of each pattern reflected, refitted."""
    starts = [reflect(gauge.network, pattern, offset=gauge.free.c) for pattern in patterns]
    return refined(samples, starts, gauge.free.names, damping) if starts else []


def refined(samples: Samples, starts: list[Network], free: str, damping: float) -> list[Network]:
    """All together; one by one where a singular matrix ends that, and as they are where it is their own."""
    try:
        fit = gauss_newton(samples, Students.of(*starts), free=free, iterations=ITERATIONS, tol=1e-6, damping=damping)
    except np.linalg.LinAlgError:
        return starts if len(starts) == 1 else [net for s in starts for net in refined(samples, [s], free, damping)]
    return [fit.students.network(i) for i in range(len(starts))]


def _patterns(gauge: Gauge) -> np.ndarray:
    net = gauge.network
    k = net.n_units
    most = int(np.clip(MEMORY // max(1, gauge.size**2), 1, MOST))
    if 2**k - 1 <= most:
        return np.array(list(itertools.product([False, True], repeat=k)))[1:]
    C = reflection_polynomials(net, offset=gauge.free.c)
    order = min(k, 3 if k <= 40 else 2)
    sets = [s for size in range(1, order + 1) for s in itertools.combinations(range(k), size)]
    sizes = np.array([np.linalg.norm(C[:, list(s)].sum(axis=1)) for s in sets])
    patterns = np.zeros((min(most, len(sets)), k), dtype=bool)
    for row, index in zip(patterns, np.argsort(sizes, kind="stable")[:most], strict=True):
        row[list(sets[index])] = True
    return patterns
