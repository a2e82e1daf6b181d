"""Whether every unit is confirmed: known without the equations that are needed to know it.

A row of leverage one is an equation for a parameter that no other row has. It fits whatever the parameter is: other networks
may have another one there, and agree as well. That almost surely none does where rows are more than parameters (T1) is said of
equality; where φ is flat to rounding on all but a few rows, these few are all that there is. So rows of high leverage are left
out, and a unit must still be known within the limit from the others.

Of several outputs a combination u of a row's with leverage ‖√w uᵀJL‖² = 1, L Lᵀ = (JᵀWJ)⁻¹, is such an equation. Those are left
out, not their rows, whose other combinations may confirm: with V (r, e) of them the inverse that is left is

    L (I − VVᵀ)⁻¹ Lᵀ,

and what a unit's part of it is larger than that of LLᵀ its precision is worse.
Cost  one pass of O(n m p s), s directions of a sketch [scores.Deciding]; where equations are left out O(n p²), or O(p³).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from weightlift.certificate.joint_standard import StandardForm, relative_size
from weightlift.certificate.limits import LIMITS
from weightlift.certificate.precision import undetermined
from weightlift.certificate.scores import Deciding
from weightlift.certificate.statement import Kind, Statement, Topic, named
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import MAX_CONDITION, Information
from weightlift.evidence.rows import EPS
from weightlift.evidence.stacked import StackedInformation
from weightlift.namespaces import to_numpy
from weightlift.samples import Samples


def confirmed(
    samples: Samples, information: Information, error: Callable[[Samples], float], limit: float, rng: np.random.Generator
) -> Statement | None:
    """None where every unit is known within the limit without rows of high leverage too.

    error  e of T5 for rows that are left
    limit  of a unit's relative precision
    """
    deciding = Deciding.of(information, rng)
    rows = len(samples.fold(deciding)[0])
    if not rows:
        return None
    gauge, others = information.gauge, samples.map(deciding.without)
    known = Information.of(others, gauge)
    open_ = set(undetermined(known)) - set(undetermined(information))
    size = error(others)
    sizes = size * gauge.relative_sizes(known.unit_inverses())
    sizes[list(open_)] = math.inf
    return unconfirmed(rows, sizes, limit, gauge)


def confirmed_jointly(form: StandardForm, precision: np.ndarray, rng: np.random.Generator) -> Statement | None:
    """None where every unit is known within the limit without the equations that decide, too.

    precision  (k,) of the units from all rows
    """
    V = to_numpy(form.rows.fold(Deciding.of(form.information, rng))[0]).T
    return unconfirmed(V.shape[1], precision * growth(form.information, V), LIMITS.precision) if V.size else None


def growth(information: StackedInformation, V: np.ndarray) -> np.ndarray:
    """(k,) times that a unit's relative size is larger without V; eigenvalues below their own rounding errors are none."""
    stacked, L = information.gauge, information.half_inverse
    values, vectors = np.linalg.eigh(np.eye(len(V)) - V @ V.T)
    inexact = len(V) * EPS * min(information.condition, MAX_CONDITION)
    half = L @ vectors / np.sqrt(np.where(values > inexact, values, EPS**2))
    grown = []
    for i in range(stacked.network.n_units):
        at = stacked.coordinates(i)
        before, after = (relative_size(stacked, i, (A[at] @ A[at].T)[None]) for A in (L, half))
        grown.append(after / before if before < math.inf else 1.0)
    return np.array(grown)


def unconfirmed(rows: int, sizes: np.ndarray, limit: float, gauge: Gauge | None = None) -> Statement | None:
    """What is said of units whose precision (k,) without so many rows is beyond the limit; None where none is."""
    units = tuple(np.flatnonzero(~(sizes <= limit)).tolist())
    if not units:
        return None
    many = f"{rows} rows are" if rows > 1 else "A single row is"
    who = named(units if gauge is None else gauge.called(units), verb=False)
    sentence = f"{many} all that determines {who}, and no other row confirms it; give more rows there."
    return Statement(Topic.DETERMINED, Kind.TESTED, False, sentence, float(np.max(sizes)), limit, units)
