"""Whether every unit is confirmed: known without the rows that are needed to know it.

A row of leverage one is an equation for a parameter that no other row has. It fits whatever the parameter is: other networks
may have another one there, and agree as well. That almost surely none does where rows are more than parameters (T1) is said of
equality; where φ is flat to rounding on all but a few rows, these few are all that there is. So rows of high leverage are left
out, and a unit must still be known within the limit from the others.

Leverages h = ‖√w jᵀL‖², L Lᵀ = (JᵀWJ)⁻¹, are first estimated by ‖√w jᵀLG‖², G (p, m) of independent N(0, 1/m): that of a row
above the limit is below a quarter of it with probability P(χ²_m < m/4), 10⁻⁴ for m = 24. The rows left are computed.
Cost  one pass of O(n p m); where rows are left out, O(n p²).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from weightlift.certificate.limits import LIMITS
from weightlift.certificate.precision import undetermined
from weightlift.certificate.scores import WhiteRows
from weightlift.certificate.statement import Kind, Statement, Topic, named
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.namespaces import Array, array_namespace, from_numpy, to_numpy
from weightlift.samples import Block, Samples, Sums


def confirmed(
    samples: Samples, information: Information, error: Callable[[Samples], float], limit: float, rng: np.random.Generator
) -> Statement | None:
    """None where every unit is known within the limit without rows of high leverage too.

    error  e of T5 for rows that are left
    limit  of a unit's relative precision
    """
    deciding = Deciding.of(information, rng)
    rows = int(float(samples.fold(deciding)[0]))
    if not rows:
        return None
    gauge, others = information.gauge, samples.map(deciding.without)
    known = Information.of(others, gauge)
    open_ = set(undetermined(known)) - set(undetermined(information))
    size = error(others)
    sizes = size * gauge.relative_sizes(known.unit_inverses())
    sizes[list(open_)] = math.inf
    return unconfirmed(rows, sizes, limit, gauge)


def unconfirmed(rows: int, sizes: np.ndarray, limit: float, gauge: Gauge | None = None) -> Statement | None:
    """What is said of units whose precision (k,) without so many rows is beyond the limit; None where none is."""
    units = tuple(np.flatnonzero(~(sizes <= limit)).tolist())
    if not units:
        return None
    many = f"{rows} rows are" if rows > 1 else "A single row is"
    who = named(units if gauge is None else gauge.called(units), verb=False)
    sentence = f"{many} all that determines {who}, and no other row confirms it; give more rows there."
    return Statement(Topic.DETERMINED, Kind.TESTED, False, sentence, float(np.max(sizes)), limit, units)


@dataclass(frozen=True, eq=False)
class Deciding:
    """The number of rows whose leverage is above the limit; `without` sets their weights to zero."""

    gauge: Gauge
    half_inverse: np.ndarray
    sketch: np.ndarray  # (p, m)

    @classmethod
    def of(cls, information: Information, rng: np.random.Generator) -> Deciding:
        L, m = information.half_inverse, LIMITS.sketched
        return cls(information.gauge, L, L if L.shape[1] <= m else L @ rng.standard_normal((L.shape[1], m)) / math.sqrt(m))

    @property
    def floats_per_row(self) -> int:
        return 3 * self.gauge.size + 8 * self.gauge.network.n_units

    def __call__(self, block: Block) -> Sums:
        on = self._on(block)
        return (array_namespace(on).sum(on),)

    def without(self, block: Block) -> Block:
        w = array_namespace(block.X).ones_like(block.y) if block.w is None else block.w
        return replace(block, w=w * (1.0 - self._on(block)))

    def _on(self, block: Block) -> Array:
        """(m,) one for the rows above, zero for the others."""
        likely = to_numpy(WhiteRows.of(block, self.gauge, self.sketch).leverage) > 0.25 * LIMITS.deciding
        on = np.zeros(len(likely))
        if likely.any():
            xp, some = array_namespace(block.X), from_numpy(np.flatnonzero(likely), like=block.y)
            X, y, w = (None if v is None else xp.take(v, some, axis=0) for v in (block.X, block.y, block.w))
            part = replace(block, X=X, y=y, w=w)
            on[likely] = to_numpy(WhiteRows.of(part, self.gauge, self.half_inverse).leverage) > LIMITS.deciding
        return from_numpy(on, like=block.y)
