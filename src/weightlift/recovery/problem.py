"""The rows of a recovery, split and made standard, and what is asked of them.

All rows come through one door: every pass is counted, and none begins after the time is spent. Parts, maps and persisted copies
of a counted source share its count, so that nothing escapes it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from weightlift.certificate.limits import LIMITS as CERTIFICATE
from weightlift.errors import ArgumentError, TimeSpentError
from weightlift.namespaces import Namespace, to_numpy
from weightlift.network import Network
from weightlift.recovery.limits import LIMITS
from weightlift.recovery.rare_columns import departures
from weightlift.recovery.reports import Cost
from weightlift.recovery.request import Request
from weightlift.refinement.gauss_newton import NEAR_ROUNDING
from weightlift.risk import Risk, Students
from weightlift.samples import Block, Columns, Covariance, Map, Samples, Standardized, Statistic, Sums
from weightlift.samples.columns import columns_of
from weightlift.samples.stream import averages
from weightlift.threads import limited


@dataclass(frozen=True, eq=False)
class Problem:
    """The rows, all through one door that counts the passes, and what is asked of them."""

    request: Request
    rows: Counted  # all
    train: Counted
    heldout: Counted | None  # none where rows are scarce
    standard: Standardized  # the training rows; they stay as they are where their covariance is singular
    energy: float  # ½ E y²
    departures: np.ndarray  # (d,) rows on which a column leaves its usual value, or a smaller number where it exceeds any width

    @classmethod
    def of(cls, source: Samples, request: Request, rng: np.random.Generator) -> Problem:
        """Refuse what cannot work; split; standardise: six passes."""
        rows = source if isinstance(source, Counted) else Counted(source)
        if not math.isfinite(rows.n):
            raise ArgumentError("X is a population without rows; draw some with weightlift.draw(network, n).")
        request.check_size(rows.n, rows.d)
        energy, spread = _target(rows)
        if not math.isfinite(energy):
            raise ArgumentError("y has values whose squares overflow; divide y by the largest of them.")
        if energy and not CERTIFICATE.sizes[0] ** 2 < 2 * energy < CERTIFICATE.sizes[1] ** 2:
            raise ArgumentError(f"y has the size {(2 * energy) ** 0.5:.0e}, whose powers vanish or overflow; divide y by it.")
        if not spread > 1e-24 * energy:
            raise ArgumentError("y is constant, or so small that its squares vanish; there is no unit to recover.")
        heldout, train = _split(rows, request, rng)
        standard = Standardized.or_unchanged(train, centred=request.bias)
        least = LIMITS.varied_rows if request.n_units == "auto" else int(request.n_units)
        return cls(request, rows, train, heldout, standard, energy, departures(rows, least, bias=request.bias))

    @property
    def white(self) -> Counted:
        """The training rows as the fit sees them."""
        assert isinstance(self.standard.rows, Counted)
        return self.standard.rows

    def undo(self, network: Network) -> Network:
        """From standard to raw inputs; a bias that should be zero is."""
        net = self.standard.undo(network)
        return net if self.request.bias else replace(net, b=np.zeros(net.n_units))

    def risks(self, *networks: Network) -> np.ndarray:
        """½ E r² of networks of standard inputs on the training rows."""
        return to_numpy(self.white.mean(Risk(Students.of(*networks)))[0])

    def exact(self, risk: float) -> bool:
        """Whether that risk says that the training rows are explained to nearly rounding level."""
        return bool(risk <= NEAR_ROUNDING * self.energy)

    def rare_columns(self, width: int) -> tuple[int, ...]:
        """Columns that leave their usual value on fewer rows than there are units: no certificate can follow."""
        return tuple(int(j) for j in np.flatnonzero(self.departures < width))

    def parameters(self, width: int) -> int:
        return self.request.parameters(self.rows.d, width)

    def now(self) -> Cost:
        """Passes and seconds at this moment, to be held against later."""
        return Cost(0.0, self.rows.passes, time.perf_counter())

    def since(self, before: Cost, work: float = 0.0) -> Cost:
        """The passes and seconds between then and now."""
        return Cost(work, self.rows.passes - before.passes, time.perf_counter() - before.seconds)


def threads(rows: Samples) -> AbstractContextManager[None]:
    """Small products run fastest on one thread."""
    return limited(1) if rows.n * rows.d <= LIMITS.one_thread else nullcontext()


def _split(rows: Counted, request: Request, rng: np.random.Generator) -> tuple[Counted | None, Counted]:
    """The rows held out, if they can be spared, and those that are fitted."""
    seed = int(rng.integers(2**31))
    p = 0 if request.n_units == "auto" else request.parameters(rows.d, int(request.n_units))
    spared = rows.n - max(LIMITS.scarce_rows * p, p + LIMITS.fitted_rows)
    if spared <= 0:
        return None, rows.persist()
    share = min(0.5, spared / rows.n, max(LIMITS.heldout_share, LIMITS.heldout_rows / rows.n))
    heldout, train = (part.persist() for part in rows.split(share, 1 - share, seed=seed))
    return heldout if heldout.n else None, train if train.n >= 2 else rows


def _target(rows: Samples) -> tuple[float, float]:
    """½ E y² and ½ Var y."""
    _, mean, variance = (to_numpy(s) for s in rows.map(_target_alone).mean(Covariance(1)))
    average, spread = float(mean[0]) * rows.total, 0.5 * float(variance[0, 0])
    return spread + 0.5 * average * average, spread


def _target_alone(block: Block) -> Block:
    return replace(block, X=block.y[:, None])


@dataclass
class Meter:
    """Passes over a source and all that is derived from it."""

    passes: int = 0


@dataclass(frozen=True, eq=False)
class Counted:
    """Behaves as `source`; every fold and every evaluation of its maps is a pass."""

    source: Samples
    meter: Meter = field(default_factory=Meter)
    deadline: float = math.inf  # of time.perf_counter, beyond which no pass begins

    @property
    def passes(self) -> int:
        """So far, by this source and all that share its count."""
        return self.meter.passes

    def until(self, deadline: float) -> Counted:
        """The same rows; a pass after the deadline raises a TimeSpentError."""
        return replace(self, deadline=deadline)

    @property
    def sized(self) -> bool:
        """Whether n and total are known without a pass; a source of one's own that does not say is taken to know them."""
        return bool(getattr(self.source, "sized", True))

    @property
    def n(self) -> float:
        self._begin(not self.sized)
        return self.source.n

    @property
    def d(self) -> int:
        return self.source.d

    @property
    def n_outputs(self) -> int | None:
        return self.source.n_outputs

    @property
    def columns(self) -> Columns:
        return columns_of(self.source)

    @property
    def total(self) -> float:
        self._begin(not self.sized)
        return self.source.total

    @property
    def xp(self) -> Namespace:
        return self.source.xp

    @property
    def device(self) -> Any:
        return self.source.device

    @property
    def dtype(self) -> Any:
        return self.source.dtype

    def fold(self, statistic: Statistic) -> Sums:
        self._begin()
        return self.source.fold(statistic)

    def mean(self, statistic: Statistic) -> Sums:
        self._begin()
        return averages(self.source.fold(statistic), self.total)

    def persist(self) -> Counted:
        sized, kept = self.sized, self.source.persist()
        self._begin((kept is not self.source) + (self.sized and not sized))  # Dask counts the rows before it moves them
        return self if kept is self.source else replace(self, source=kept)

    def blocks(self, rows: int, *, start: int = 0) -> Iterator[Block]:
        self._begin()
        return self.source.blocks(rows, start=start)

    def split(self, *fractions: float, seed: int) -> tuple[Counted, ...]:
        return tuple(replace(self, source=part) for part in self.source.split(*fractions, seed=seed))

    def map(self, f: Map) -> Counted:
        return replace(self, source=self.source.map(f))

    def _begin(self, passes: int = 1) -> None:
        if passes and time.perf_counter() >= self.deadline:
            raise TimeSpentError("max_time was spent before this stage had an answer; raise it.")
        self.meter.passes += passes
