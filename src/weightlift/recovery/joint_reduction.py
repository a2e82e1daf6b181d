"""Fewer units for an exact fit that has too many, where none of them can simply go.

Reflected  units that may turn together [identifiability.sign_patterns] do, and of two that then point the same way one goes:
           σ(⟨u, x⟩) − σ(−⟨u, x⟩) is linear, and stands for what the reflection of other units leaves over.
Merged     a₁σ(z₁) + a₂σ(z₂) with a₁(w₁, b₁)ᵀ + a₂(w₂, b₂)ᵀ = a(w, b)ᵀ is aσ(z) on rows where the three are on together. Beside
           a linear part, which takes up what a reflection leaves over, also where one is on as the other is off: −a₂(w₂, b₂)ᵀ.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from weightlift.errors import ArgumentError
from weightlift.identifiability import sign_patterns
from weightlift.network import Network
from weightlift.recovery.limits import LIMITS


def arrangements(network: Network, *, offset: bool) -> Iterator[Network]:
    """Networks of fewer units that may have the same values on the rows, up to A, V and c; reflected ones first."""
    if not network.activation.degree:
        return
    units = np.concatenate([network.W, network.b[None]])
    for flips in _turning(network, offset):
        turned = np.where(flips, -units, units)
        if len(kept := _pointing_apart(turned)) < network.n_units:
            yield _with_units(network, turned[:, kept])
    turns = (1.0, -1.0) if network.V is not None and network.turns else (1.0,)
    for (i, j), turn in itertools.product(itertools.combinations(range(network.n_units), 2), turns):
        outer = np.outer(units[:, i], network.A[i]) + turn * np.outer(units[:, j], network.A[j])
        directions, sizes, _ = np.linalg.svd(outer, full_matrices=False)
        if sizes[0] > 0 and sizes[1:].max(initial=0.0) <= LIMITS.same_unit * sizes[0]:
            others = np.delete(units, [i, j], axis=1)
            yield from (_with_units(network, np.column_stack([others, s * directions[:, 0]])) for s in (1.0, -1.0))


def _turning(network: Network, offset: bool) -> np.ndarray:
    """(patterns, k) of reflections that change nothing, but for the empty one; none where they are too many to list."""
    try:
        return np.asarray(sign_patterns(network, offset=offset).patterns[1:])
    except ArgumentError:
        return np.zeros((0, network.n_units), dtype=bool)


def _pointing_apart(units: np.ndarray) -> list[int]:
    """The first of all units (q, k) that point the same way."""
    directions, kept = units / np.maximum(np.linalg.norm(units, axis=0), np.finfo(float).tiny), list[int]()
    for i in range(units.shape[1]):
        apart = np.linalg.norm(directions[:, kept] - directions[:, [i]], axis=0)
        kept += [i] if (apart > LIMITS.same_unit).all() else []
    return kept


def _with_units(network: Network, units: np.ndarray) -> Network:
    k, m = units.shape[1], network.a.shape[1:]
    return replace(network, W=units[:-1], b=units[-1], a=np.ones((k, *m)))
