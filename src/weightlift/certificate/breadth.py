"""Which inputs make a unit's region too wide: the weights without whose errors it would be within its limit.

With P the projection off some coordinates of the unit, PRP is the region of errors in the others alone. Coordinates are taken
away, the widest beside the unit's size first, until the relative size of PRP is within the limit. With the inputs
stands how much of a weight's variance comes from what it shares with other parameters:

    inflation_j = H_jj (H⁻¹)_jj,     H = JᵀWJ   [Marquardt 1970, for the columns of J in place of the inputs]
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from weightlift.certificate.limits import LIMITS
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.samples import Columns


@dataclass(frozen=True)
class Breadth:
    """Of one unit: its relative size, what makes it too wide, and its size by errors of the rest."""

    size: float
    inputs: tuple[int, ...]  # widest first
    bias: bool  # whether b is one of them
    output: bool  # whether a is
    rest: float
    inflation: float  # the largest of these inputs' weights

    def sentence(self, i: int, columns: Columns, alone: str) -> str:
        """alone: what is known of single weights."""
        return (
            f"Unit {i} is known no better than to {self.size:.2g} of its size ({LIMITS.noisy_region:g} allowed), all weights "
            f"at once at 99.99 %{self._where(columns)}; {alone}. Give more rows, or drop or combine inputs."
        )

    def _where(self, columns: Columns) -> str:
        shown = [columns.input(j) for j in self.inputs[: LIMITS.named_columns]]
        shown += [f"{left} more"] if (left := len(self.inputs) - len(shown)) else []
        parts = [f"its weight{'s' * (len(self.inputs) > 1)} of {_and(shown)}"] if shown else []
        parts += ["its bias"] * self.bias + ["its output weight"] * self.output
        if not parts:
            return ""
        shared = f" (variances up to {self.inflation:.2g} times those of unrelated inputs)" if shown else ""
        return f", by {_and(parts)}{shared}, and to {self.rest:.2g} by the others"


def breadth(information: Information, i: int, regions: np.ndarray) -> Breadth:
    """Of unit i, with regions (r, q, q) of which the widest counts."""
    gauge, d = information.gauge, information.gauge.network.n_inputs
    if not np.isfinite(regions).all():
        return Breadth(math.inf, (), False, False, math.inf, math.inf)
    own = gauge.unit(i)[0]
    inner = len(own) - gauge.free.a
    lengths = np.append(np.full(inner, np.linalg.norm(own[:inner])), np.abs(own[inner:]))
    widths = np.diagonal(regions, axis1=1, axis2=2).max(axis=0) / np.maximum(lengths, np.finfo(float).tiny) ** 2
    order = np.argsort(-widths, kind="stable")
    few, many = 0, len(order)  # without `many` of them the rest is within the limit
    while few < many:
        half = (few + many) // 2
        few, many = (few, half) if _size(gauge, i, regions, order[:half]) <= LIMITS.noisy_region else (half + 1, many)
    gone = order[:many].tolist()
    inputs = [j for j in gone if j < d]
    at = gauge.coordinates(i)[inputs]
    shared = float((np.diagonal(information.gram)[at] * np.diagonal(information.inverse)[at]).max(initial=1.0))
    size, rest = (_size(gauge, i, regions, order[:m]) for m in (0, many))
    return Breadth(size, tuple(inputs), any(d <= j < inner for j in gone), any(j >= inner for j in gone), rest, shared)


def _size(gauge: Gauge, i: int, regions: np.ndarray, gone: np.ndarray) -> float:
    """The relative size of the region without errors in the coordinates that are gone."""
    kept = np.ones(regions.shape[-1])
    kept[gone] = 0.0
    return max(gauge.relative_size(i, R * kept * kept[:, None]) for R in regions)


def _and(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
