"""`certify`: whether a network's units are right, judged from rows of data alone.

EXACT        on every row the residual is a rounding error; there are more distinct rows than parameters; JᵀJ, with the scale
             fixed, has full rank; and no other units have the same function on these rows (signs, kinks, redundant units).
STATISTICAL  the network is a regular least-squares fit: stationary, its regions ellipsoids, its residual without structure;
             no unit is superfluous, and none is missing that is larger than the detection limit.
AMBIGUOUS    other units explain the rows as well; which ones.
FAILED       the rows are not explained, or too few.

The claim is conditional: the data come from a network with this φ. Without held-out rows it is assumed that the network may
have been fitted to the rows given, and agreement elsewhere rests on there being more of them than parameters: a unit that none
of the rows activates, or tells from a parallel one, cannot be excluded. With h held-out rows, all of which agree, the network
differs from the truth with probability at most ln(1/δ)/h, δ = 1e-4, on inputs of their law.
Cost  EXACT: six passes, one of them O(n p²), and O(p³). STATISTICAL: a dozen passes more and a refit of reflections.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from weightlift.arguments import generator
from weightlift.certificate import doubts
from weightlift.certificate.cells import TOLERANCE
from weightlift.certificate.doubts import Doubt, named
from weightlift.certificate.exactness import (
    LARGEST_PRECISION,
    ROUNDING_FACTOR,
    disagreement_bound,
    exact_precision,
    exact_regions,
)
from weightlift.certificate.exchanges import some_inputs
from weightlift.certificate.regularity import examine
from weightlift.certificate.status import Certificate, Evidence, Status
from weightlift.certificate.uniqueness import symmetries, unique
from weightlift.errors import ArgumentError, ShapeError
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.evidence.rows import TINY, Agreement, Directions, DistinctRows, Kinks, count_distinct
from weightlift.identifiability import irreducible
from weightlift.network import Network
from weightlift.samples import Samples
from weightlift.samples import open as open_samples

SIZES = 1e-70, 1e70  # of the target, whose fourth powers are needed
SINGLE_PRECISION = 2.0**29  # single over double precision's unit roundoff
SINGLE = (
    "The residuals are of the size of single-precision rounding errors: the data were computed or stored in float32. Compute "
    "them in float64 for an exact certificate."
)
SPARE_ROWS = 8  # distinct rows beyond the parameters, at least
RIVAL_LEVEL = 1e3  # a refit need not end as exactly as the fit did to count as another one
WIDEST = 0.2  # relative size of a region within which units are looked for that noise has moved
SPARE_SIDE = 5  # distinct rows on a unit's emptier side beyond its coordinates, at least


def certify(
    network: Network,
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    bias: bool | None = None,
    offset: bool | None = None,
    heldout: Samples | tuple[Any, Any] | None = None,
    rng: int | np.random.Generator = 0,
) -> Certificate:
    """Judge a network on rows (X, y), or on any source of them.

    bias, offset: whether b and c were fitted; inferred from the network when None. heldout: rows that the fit never saw, a
    source or (X, y).
    Rows of weight zero do not count, copies of a row count once, and a common factor of the weights does not matter.

    >>> from weightlift import draw, teachers
    >>> net = teachers.conditioned(6, 2, activation="relu", rng=1)
    >>> X, y = draw(net, 100, rng=2)
    >>> certify(net, X, y).status.name, certify(net, X[:10], y[:10]).status.name
    ('EXACT', 'FAILED')
    """
    if not isinstance(network, Network):
        raise ArgumentError(f"network must be a Network, not {type(network).__name__}.")
    samples = open_samples(X, y, sample_weight=sample_weight)
    if heldout is not None:
        heldout = open_samples(*heldout) if isinstance(heldout, tuple) else open_samples(heldout)
    for name, source in (("X", samples), ("heldout", heldout)):
        if source is not None and source.d != network.n_inputs:
            raise ShapeError(f"{name} has {source.d} inputs and the network {network.n_inputs}; they must agree.")
    if not math.isfinite(samples.n):
        raise ArgumentError("X is a population without rows; draw some with weightlift.draw(network, n).")
    bias = bool(np.any(network.b)) if bias is None else bool(bias)
    offset = network.c != 0.0 if offset is None else bool(offset)
    if np.any(network.b) and not bias:
        raise ArgumentError("bias=False, but the network has biases; pass bias=True.")
    if network.c and not offset:
        raise ArgumentError("offset=False, but the network has an offset c; pass offset=True.")
    with np.errstate(all="ignore"):  # values that overflow are reported, not warned about
        return _Case.of(network, samples, heldout, bias, offset, generator(rng)).certificate()


@dataclass(frozen=True, eq=False)
class _Case:
    """A network and its rows, looked at once."""

    samples: Samples
    gauge: Gauge
    blank: Certificate  # FAILED, with the evidence of the rows
    error: float  # (Σ w (|r| + B)²)^½
    effective_rows: float  # (Σ w)²/Σ w²
    heldout_level: float  # largest |r|/B on held-out rows
    heldout_square: float  # mean of w r² over them, the mean weight being one
    rng: np.random.Generator

    @classmethod
    def of(
        cls,
        network: Network,
        samples: Samples,
        heldout: Samples | None,
        bias: bool,
        offset: bool,
        rng: np.random.Generator,
    ) -> _Case:
        gauge = Gauge.of(network, bias=bias, offset=offset)
        level, residual, _, rows, error, _, squares, energy = (float(v) for v in samples.fold(Agreement(network)))
        if energy and not SIZES[0] ** 2 < energy / samples.total < SIZES[1] ** 2:
            error = math.inf
        told = samples if bias else samples.map(Directions(network.activation))
        distinct, _ = count_distinct(told.fold(DistinctRows(targets=False)))
        heldout_level, heldout_rows, heldout_square = 0.0, 0, 0.0
        if heldout is not None and heldout.n:
            found = [float(v) for v in heldout.fold(Agreement(network))]
            heldout_level, heldout_square = found[0], found[5] / max(heldout.total, TINY)
            heldout_rows, _ = count_distinct(heldout.fold(DistinctRows(targets=False)))
        evidence = Evidence(
            n_rows=int(rows),
            n_distinct=distinct,
            n_parameters=gauge.size,
            residual_max=residual,
            rounding_level=level,
            heldout_rows=heldout_rows,
        )
        blank = Certificate(Status.FAILED, (), network, bias, offset, evidence, symmetries=symmetries(network))
        effective = samples.total**2 / squares
        return cls(samples, gauge, blank, math.sqrt(error), effective, heldout_level, heldout_square, rng)

    def certificate(self) -> Certificate:
        e, p = self.blank.evidence, self.gauge.size
        if e.n_distinct < p + SPARE_ROWS:
            return self._failed(
                f"{e.n_distinct} distinct rows{f', beside {e.heldout_rows} held out,' if e.heldout_rows else ''} cannot "
                f"determine {p} parameters and confirm them; give at least {p + SPARE_ROWS + e.heldout_rows}, better three "
                "a parameter."
            )
        if not all(math.isfinite(v) for v in (e.residual_max, e.rounding_level, self.error)):
            return self._failed("Squares of the values overflow on these rows, or vanish; rescale the inputs or the target.")
        zeros = [f.units[0] for f in irreducible(self.gauge.network, tol=1e-14, near=1e-14).exact if len(f.units) == 1]
        if zeros:
            return self._ambiguous(f"{named(zeros)} zero or constant; use fewer units.", zeros)
        information = Information.of(self.samples, self.gauge)
        this = self._with(condition=information.condition, least_eigenvalue=information.least_eigenvalue)
        if not information.full_rank:
            return this._undetermined(information)
        if e.rounding_level <= ROUNDING_FACTOR:
            return this._exact(information)
        return this._statistical(information)

    def _undetermined(self, information: Information) -> Certificate:
        weak = information.weak_coordinates()
        units = [i for i in range(self.gauge.network.n_units) if weak[self.gauge.coordinates(i)].sum() > 1e-3]
        return self._ambiguous(
            f"The rows do not determine {named(units, verb=False)}: JᵀJ is singular to working precision (condition "
            f"{information.condition:.1g}). Use fewer units, drop linearly dependent inputs, or give more rows.",
            units,
        )

    def _exact(self, information: Information) -> Certificate:
        e, p, net = self.blank.evidence, self.gauge.size, self.gauge.network
        if self.heldout_level > ROUNDING_FACTOR:
            return self._failed(
                "The held-out rows are not explained though the fitted ones are; give more rows, or another width."
            )
        precision = exact_precision(information, self.error)
        clear = self.samples
        if float(precision.max()) <= LARGEST_PRECISION:
            clear = self._off_kinks(exact_regions(information, self.error)[None])
        if clear is not self.samples:
            information = Information.of(clear, self.gauge)
            if not information.full_rank:
                return self._undetermined(information)
            precision = exact_precision(information, self.error)
        this = replace(self, blank=replace(self.blank, precision=precision))
        if (doubt := next(this._doubts_of_exactness(clear, information, precision), None)) is not None:
            return this._doubted(doubt)
        reasons = [f"All {e.n_rows} rows agree to rounding, {e.n_distinct - p} more than parameters."]
        disagreement = disagreement_bound(e.heldout_rows)
        if disagreement is None:
            reasons.append(
                "No rows were held out: units that none of the rows activates, or tells from another one, cannot be excluded."
            )
        elif disagreement >= 1.0:
            reasons.append(f"{e.heldout_rows} held-out rows agree, too few to bound how often the truth differs.")
        else:
            reasons.append(
                f"{e.heldout_rows} held-out rows agree: the network differs from the truth with probability at "
                f"most {disagreement:.2g} on inputs like these."
            )
        if net.n_units > 1 and float(precision.max()) > 1e-8:
            reasons.append(f"The conditioning {information.condition:.1g} limits the precision to {precision.max():.1g}.")
        evidence = replace(this.blank.evidence, disagreement=disagreement)
        return replace(this.blank, status=Status.EXACT, reasons=tuple(reasons), evidence=evidence)

    def _off_kinks(self, regions: np.ndarray) -> Samples:
        """The rows without those on a kink: J has one of two derivatives there, if φ′ jumps, and sides are chance."""
        net = self.gauge.network
        if not net.activation.kinks:
            return self.samples
        q = self.gauge.free.inputs(net.n_inputs)  # of (w, b), without a
        kinks = Kinks(net, regions[..., :q, :q])
        return self.samples.map(kinks.without) if int(self.samples.fold(kinks)[0]) else self.samples

    def _doubts_of_exactness(self, clear: Samples, information: Information, precision: np.ndarray) -> Iterator[Doubt]:
        """Cheapest first: identifiability of the function, then on the rows clear of the kinks, then by refits."""
        net, samples, gauge = self.gauge.network, self.samples, self.gauge
        yield from _found(doubts.blurred(precision), doubts.close(gauge, precision))
        if not unique(net.activation):
            yield Doubt(
                f"For the activation {net.activation.name!r} a Jacobian of full rank proves that no other units nearby fit, "
                "not that none elsewhere do.",
                tuple(range(net.n_units)),
            )
        tol = max(1e-12, 10 * float(precision.max()))
        yield from _found(doubts.other_signs(self.blank.network, offset=self.blank.offset, tol=tol))
        yield from _found(doubts.empty_sides(clear, gauge, SPARE_SIDE))
        X = some_inputs(samples)
        yield from _found(doubts.few_values(X, gauge), doubts.unconfirmed(X, clear, information))
        yield from _found(doubts.reflected(clear, information, self._as_exact))
        yield from _found(doubts.exchanged(X, samples, gauge, self._as_exact, max(TOLERANCE, tol)))
        yield from _found(doubts.rearranged(clear, gauge, self._as_exact))

    def _as_exact(self, rival: Network) -> bool:
        """Whether another network than this one explains the rows nearly as exactly."""
        assert self.blank.precision is not None
        level = float(self.samples.fold(Agreement(rival))[0])
        tol = max(1e-9, 10 * float(self.blank.precision.max()))
        return level <= RIVAL_LEVEL and not rival.equivalent(self.gauge.network, tol)

    def _statistical(self, information: Information) -> Certificate:
        finding = examine(self.samples, information, self.blank, self.effective_rows, self.rng)
        this = replace(self, blank=finding)
        if finding.status is Status.FAILED and self.blank.evidence.rounding_level <= SINGLE_PRECISION * ROUNDING_FACTOR:
            return replace(finding, reasons=(SINGLE, *finding.reasons))
        if finding.status is not Status.STATISTICAL:
            return finding
        if self._surprising(finding):
            return this._failed(
                "The held-out rows have larger residuals than the fitted ones; give more rows, or another width."
            )
        doubt = next(this._doubts_of_regions(information), None)
        return finding if doubt is None else this._doubted(doubt)

    def _doubts_of_regions(self, information: Information) -> Iterator[Doubt]:
        net = self.gauge.network
        if not unique(net.activation):
            yield Doubt(
                f"For the activation {net.activation.name!r} a regular fit proves that no other units nearby explain the "
                "data, not that none elsewhere do.",
                tuple(range(net.n_units)),
            )
        spare = 2 * (net.n_inputs + 1) - self.gauge.unit_size
        yield from _found(doubts.other_signs(self.blank.network, offset=self.blank.offset, tol=1e-6))
        yield from _found(doubts.empty_sides(self.samples, self.gauge, spare))
        assert self.blank.precision is not None
        assert self.blank.regions is not None
        precision, regions = self.blank.precision, self.blank.regions
        clear, X = self._off_kinks(regions), some_inputs(self.samples)
        if clear is not self.samples:
            without = Information.of(clear, self.gauge)
            yield from _found(doubts.on_kinks(X, self.samples, information, without, precision, regions))
        size = min(WIDEST, float(precision.max()))
        yield from _found(doubts.few_values(X, self.gauge, size))
        yield from _found(doubts.exchanged(X, self.samples, self.gauge, self._as_good, size))
        yield from _found(doubts.rearranged(clear, self.gauge, self._as_good, size))

    def _as_good(self, rival: Network) -> bool:
        """Whether another network than this one has nearly as small a sum of squares, 60 σ² being far beyond chance."""
        own, other = (float(self.samples.fold(Agreement(net))[5]) for net in (self.gauge.network, rival))
        sigma = self.blank.evidence.noise_std or 0.0
        return other <= own + 60 * sigma**2 and not self.blank.locate(rival)[0].all()

    def _surprising(self, finding: Certificate) -> bool:
        """Whether the mean square over h held-out rows exceeds σ²(1 + p/n) by 4 √((2 + κ)/h), excess kurtosis κ ≤ 4."""
        e = finding.evidence
        expected = (e.noise_std or 0.0) ** 2 * (1 + e.n_parameters / e.n_rows)
        return e.heldout_rows > 0 and self.heldout_square > expected * (1 + 4 * math.sqrt(6 / e.heldout_rows))

    def _with(self, **changes: Any) -> _Case:
        return replace(self, blank=replace(self.blank, evidence=replace(self.blank.evidence, **changes)))

    def _doubted(self, doubt: Doubt) -> Certificate:
        this = self if doubt.least_rows is None else self._with(least_rows=doubt.least_rows)
        ambiguous = this._ambiguous(doubt.reason, doubt.units)
        return ambiguous if doubt.patterns is None else replace(ambiguous, sign_patterns=doubt.patterns)

    def _failed(self, reason: str) -> Certificate:
        return replace(self.blank, status=Status.FAILED, reasons=(reason,))

    def _ambiguous(self, reason: str, units: Any) -> Certificate:
        chosen = tuple(int(i) for i in units)
        return replace(self.blank, status=Status.AMBIGUOUS, reasons=(reason,), ambiguous_units=chosen)



def _found(*results: Doubt | None) -> Iterator[Doubt]:
    return (doubt for doubt in results if doubt is not None)
