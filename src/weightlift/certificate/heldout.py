"""Held-out rows: how much of the inputs' law was seen.

If h independent rows shaped no candidate and m candidates were fixed before looking, then with probability at least 1 − δ every
candidate that agrees on all of them has P(f ≠ f*) ≤ 1 − (δ/m)^{1/h} ≤ ln(m/δ)/h: one that differs more often agrees with
probability below δ/m. Where candidates come one after the other, the j-th is given δⱼ = δ/(j(j + 1)), and Σ δⱼ = δ.
A row that is a copy of a fitted one shaped the fit, and does not count. Cost  two passes over the held-out rows, one over the
others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from weightlift.certificate.limits import LIMITS
from weightlift.certificate.statement import Kind, Statement, Topic
from weightlift.evidence.rows import SKETCH, TINY, Agreement, rounded_keys
from weightlift.network import Network
from weightlift.rivals.cells import Draws
from weightlift.samples import Block, Samples, Sums


@dataclass(frozen=True)
class HeldOut:
    """Rows that count, the largest |r|/B on all of them, and the mean of w r², the mean weight being one."""

    rows: int = 0
    level: float = 0.0
    square: float = 0.0

    @classmethod
    def of(cls, heldout: Samples | None, fitted: Samples, network: Network, *, bias: bool) -> HeldOut:
        if heldout is None or not heldout.n:
            return cls()
        found = Agreement.of(network, heldout)
        draws = Draws(bool(network.activation.degree) and not bias)
        return cls(fresh_rows(heldout, fitted, draws), found.level, found.rss / max(heldout.total, TINY))

    def agreement(self, tries: int) -> tuple[float | None, Statement | None]:
        """How often the truth may differ, and the statement of a fit that agrees to rounding."""
        if self.level > LIMITS.rounding:
            sentence = "The held-out rows are not explained though the fitted ones are; give more rows, or another width."
            return None, Statement(Topic.HELDOUT, Kind.TESTED, False, sentence, self.level, LIMITS.rounding)
        if not self.rows:
            return None, None
        share, delta = disagreement_bound(self.rows, tries), LIMITS.confidence / (tries * (tries + 1))
        sentence = (
            f"{self.rows} held-out rows agree: the network differs from the truth with probability at most {share:.2g} on "
            f"inputs like these (δ = {delta:.1g}, candidate {tries})."
        )
        return share, Statement(Topic.HELDOUT, Kind.TESTED, True, sentence, share)

    def surprise(self, variance: float, kurtosis: float) -> Statement | None:
        """Whether the mean square exceeds σ²(1 + p/n) by four standard deviations √((2 + κ)/h), κ the excess kurtosis."""
        if not self.rows:
            return None
        ratio, limit = self.square / max(variance, TINY), 1 + 4 * math.sqrt((2 + max(kurtosis, 0.0)) / self.rows)
        says = "are no larger on" if ratio <= limit else "are larger on"
        remedy = "" if ratio <= limit else "; give more rows, or another width"
        sentence = f"The residuals {says} the {self.rows} held-out rows, {ratio:.2g} of the mean square expected{remedy}."
        return Statement(Topic.HELDOUT, Kind.TESTED, ratio <= limit, sentence, ratio, limit)


def fresh_rows(heldout: Samples, fitted: Samples, draws: Draws) -> int:
    """Different held-out rows that are neither copies nor mirror images nor, where lengths do not matter, multiples of fitted
    ones, nor of each other."""
    keys = heldout.map(draws).fold(Keys())[0]
    return int(len(keys) - fitted.map(draws).fold(Occurring(keys))[0].sum())


def disagreement_bound(rows: int, tries: int = 1) -> float:
    """1 − δⱼ^{1/h}."""
    return -math.expm1(math.log(LIMITS.confidence / (tries * (tries + 1))) / rows) if rows else 1.0


@dataclass(frozen=True)
class Keys:
    """The keys of distinct inputs, sorted; the least `SKETCH` of them: further rows do not count."""

    @property
    def floats_per_row(self) -> int:
        return 8

    def __call__(self, block: Block) -> Sums:
        return (np.unique(rounded_keys(block, False))[:SKETCH],)

    def merge(self, left: Sums, right: Sums) -> Sums:
        return (np.union1d(left[0], right[0])[:SKETCH],)


@dataclass(frozen=True, eq=False)
class Occurring:
    """(h,) whether each of the keys, sorted, occurs."""

    keys: np.ndarray

    @property
    def floats_per_row(self) -> int:
        return 8

    def __call__(self, block: Block) -> Sums:
        rows, found = rounded_keys(block, False), np.zeros(len(self.keys), dtype=bool)
        at = np.searchsorted(self.keys, rows)
        at, rows = at[at < len(self.keys)], rows[at < len(self.keys)]
        found[at[self.keys[at] == rows]] = True
        return (found,)

    def merge(self, left: Sums, right: Sums) -> Sums:
        return (left[0] | right[0],)
