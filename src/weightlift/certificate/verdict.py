"""`certify`: whether a network's units are right, judged from rows of data alone.

A certificate is a tuple of statements, each PROVED, TESTED or ASSUMED, and a status that follows from them by one table
(`statement`). They are gathered in this order:

    values, rows       squares are finite; more distinct rows than parameters
    superfluous        units that no row sees, and doubles, are set apart; what follows is about the others
    determined         JᵀJ, with the scale fixed and inputs standardised, has full rank
    agreement          every residual is a rounding error, perhaps after one Gauss–Newton step: then `precision` and `rivals`
    bounded            every residual is within the quantum of a rounded target: the same, with that bound
    otherwise          the rows are noisy: `noise`, and rivals that fit nearly as well
    held out           rows that the fit never saw

Nothing here sees a truth. What is assumed is printed with every certificate: φ, the width, b and c, the law of the rows, and
for noisy data independent errors of mean zero.
Cost  EXACT: five passes, one of them O(n p²), O(p³), and the rivals. STATISTICAL: `noise` in addition, O(n p²) twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from weightlift.arguments import flag, generator
from weightlift.certificate.confirmation import confirmed
from weightlift.certificate.heldout import HeldOut
from weightlift.certificate.joint import certify_joint
from weightlift.certificate.limits import LIMITS
from weightlift.certificate.noise import NoisyFit, examine_noise
from weightlift.certificate.precision import (
    Precision,
    hardly_determined,
    precision_of,
    separation,
    undetermined,
)
from weightlift.certificate.quantum import Quantum, bounded, quantum_of, rounded_values
from weightlift.certificate.significance import odds
from weightlift.certificate.standard import Standard, carried
from weightlift.certificate.statement import (
    Kind,
    Statement,
    Status,
    Topic,
    assumed,
    assumptions,
    named,
    of_finding,
    of_width,
    symmetries,
)
from weightlift.certificate.status import Certificate, Evidence
from weightlift.errors import ArgumentError, ShapeError
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.evidence.rows import Agreement, Directions, DistinctRows, count_distinct
from weightlift.identifiability import Redundancy, irreducible, minimal
from weightlift.namespaces import to_numpy
from weightlift.network import Network
from weightlift.refinement.variable_projection import Model, variable_projection
from weightlift.risk import Risk, Students
from weightlift.rivals import Bar, Finding, Outcome, examine, examine_noisy
from weightlift.rivals.equations import shown_equations
from weightlift.rivals.pieces import ratio as piece_ratio
from weightlift.rivals.trial import refitted, squared_error
from weightlift.samples import Samples
from weightlift.samples import open as open_samples
from weightlift.samples.columns import columns_of

NONE_BELOW = Finding(Outcome.NONE_FOUND, "No other network was found that fits as well: reflected units, exchanged pieces.")


def certify(
    network: Network,
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    bias: bool | None = None,
    offset: bool | None = None,
    heldout: Samples | tuple[Any, Any] | None = None,
    tries: int = 1,
    rng: int | np.random.Generator = 0,
) -> Certificate:
    """Judge a network on rows (X, y), or on any source of them.

    bias, offset: whether b and c were fitted; inferred from the network when None. heldout: rows that the fit never saw, a
    source or (X, y); tries: the how manieth candidate this is that is held against them.
    Rows of weight zero do not count, copies of a row count once, and a common factor of the weights does not matter.

    sample_weight  (n,) ≥ 0, counts or inverse variances
    rng            a seed or a generator, for the search for rivals

    >>> from weightlift import draw, teachers
    >>> net = teachers.conditioned(6, 2, activation="relu", rng=1)
    >>> X, y = draw(net, 100, rng=2)
    >>> certify(net, X, y).status.name, certify(net, X[:10], y[:10]).status.name
    ('EXACT', 'FAILED')
    """
    if not isinstance(network, Network):
        raise ArgumentError(f"network must be a Network, not {type(network).__name__}.")
    if not network.n_units and network.V is None:
        raise ArgumentError("network has neither units nor a linear part; there is nothing to certify.")
    if not (isinstance(tries, int | np.integer) and tries >= 1):
        raise ArgumentError(f"tries must be a whole number, one at least, not {tries!r}.")
    samples = open_samples(X, y, sample_weight=sample_weight)
    heldout = None if heldout is None else _opened(heldout)
    for name, source in (("X", samples), ("heldout", heldout)):
        if source is not None and source.d != network.n_inputs:
            raise ShapeError(f"{name} has {source.d} inputs and the network {network.n_inputs}; they must agree.")
    if not math.isfinite(samples.n):
        raise ArgumentError("X is a population without rows; draw some with weightlift.draw(network, n).")
    bias, offset = _free(network, bias, offset)
    for name, source in (("y", samples), ("y of heldout", heldout)):
        if source is not None and source.n_outputs != (None if network.a.ndim == 1 else network.n_outputs):
            columns, fit = source.n_outputs or "no", "y (n,) goes with a (k,), y (n, m) with a (k, m)"
            raise ShapeError(f"{name} has {columns} columns and a the shape {network.a.shape}; {fit}.")
    if network.a.ndim == 2 or network.V is not None:
        model = Model(bias, network.V is not None, offset)
        return certify_joint(network, samples, model, heldout=heldout, tries=int(tries), rng=generator(rng))
    with np.errstate(all="ignore"):  # values that overflow are reported, not warned about
        lines = assumptions(network, Model(bias, False, offset))
        blank = Certificate(network, bias, offset, lines, Evidence(), symmetries=symmetries(network))
        gauge, held = Gauge.of(network, bias=bias, offset=offset), HeldOut.of(heldout, samples, network, bias=bias)
        return _Case(blank, gauge, samples, held, int(tries), generator(rng)).certificate()


def _opened(heldout: Samples | tuple[Any, Any]) -> Samples:
    if isinstance(heldout, tuple | list) and len(heldout) != 2:
        raise ArgumentError(f"heldout must be a source or a pair (X, y), not {len(heldout)} things.")
    return open_samples(*heldout) if isinstance(heldout, tuple | list) else open_samples(heldout)


def _free(network: Network, bias: bool | None, offset: bool | None) -> tuple[bool, bool]:
    """Whether b and c were fitted, as told or as the network shows."""
    bias = bool(np.any(network.b)) if bias is None else flag("bias", bias)
    offset = bool(np.any(network.c)) if offset is None else flag("offset", offset)
    if np.any(network.b) and not bias:
        raise ArgumentError("bias=False, but the network has biases; pass bias=True.")
    if np.any(network.c) and not offset:
        raise ArgumentError("offset=False, but the network has an offset c; pass offset=True.")
    return bias, offset


@dataclass(frozen=True, eq=False)
class _Case:
    """A network and its rows; `certificate` adds to what is known already."""

    known: Certificate
    gauge: Gauge  # of the network as it was given
    samples: Samples
    heldout: HeldOut
    tries: int
    rng: np.random.Generator

    def certificate(self) -> Certificate:
        network, gauge = self.known.network, self.gauge
        found = Agreement.of(network, self.samples)
        level, error = found.level, found.error
        told = self.samples if gauge.free.b else self.samples.map(Directions(network.activation))
        distinct, _ = count_distinct(told.fold(DistinctRows(targets=False)))
        p = gauge.size
        this = self._measured(
            n_rows=found.rows,
            n_distinct=distinct,
            n_parameters=p,
            residual_max=found.residual,
            rounding_level=level,
            heldout_rows=self.heldout.rows,
        )
        this = this._stating(_enough(distinct, p, self.heldout.rows), _finite(found.energy / self.samples.total, level, error))
        if this.known.failing:
            return this.known
        explained = level <= LIMITS.rounding
        faint = error / LIMITS.precision**2 if explained else 0.0  # a is known to (error/Σ w (a φ)²)^½ at best
        fewer = _Reduced.of(network, found.units, faint)
        if fewer.statement is not None:
            this = this._narrowed(len(fewer.kept))._stating(fewer.statement)
        if fewer.network is None:
            return this.known
        part = this._of_standard_inputs(fewer)
        if explained:
            return part.exact(math.sqrt(error) + fewer.lost)
        return part.otherwise(self.samples.total**2 / found.squares)

    def _of_standard_inputs(self, fewer: _Reduced) -> _Part:
        assert fewer.network is not None
        standard = Standard.of(self.samples, bias=self.known.bias)
        samples = standard.rows(self.samples)
        gauge = Gauge.of(standard.network(fewer.network), bias=self.known.bias, offset=self.known.offset, numbers=fewer.kept)
        information = Information.of(samples, gauge)
        condition, least = information.condition, information.least_eigenvalue
        this = self._measured(condition=condition, least_eigenvalue=least)._stating(fewer.named(_determined(information)))
        return _Part(this, fewer, standard, samples, information)

    def _narrowed(self, width: int) -> _Case:
        """The case of a smaller class: with more units there may be others in the place of those that the rows show."""
        first, *rest = self.known.statements
        assert first.kind is Kind.ASSUMED
        case = replace(self, known=replace(self.known, statements=(of_width(self.known.network, width), *rest)))
        return case._measured(width=width)

    def _measured(self, **changes: Any) -> _Case:
        return replace(self, known=replace(self.known, evidence=replace(self.known.evidence, **changes)))

    def _wider(self, factor: float, statement: Statement) -> _Case:
        """The regions that many times as wide, and why."""
        known = self.known
        assert known.precision is not None
        assert known.regions is not None
        assert known.wide_regions is not None
        regions, wide = (factor**2 * R for R in (known.regions, known.wide_regions))
        changed = replace(known, precision=factor * known.precision, regions=regions, wide_regions=wide)
        return replace(self, known=changed)._stating(statement)

    def _stating(self, *statements: Statement | None) -> _Case:
        stated = tuple(s for s in statements if s is not None)
        return replace(self, known=replace(self.known, statements=(*self.known.statements, *stated)))


@dataclass(frozen=True, eq=False)
class _Part:
    """The units that some row sees, in standard inputs."""

    case: _Case
    fewer: _Reduced
    standard: Standard
    samples: Samples
    information: Information

    @property
    def gauge(self) -> Gauge:
        return self.information.gauge

    def exact(self, error: float, step: _Step | None = None) -> Certificate:
        """step: from the network that was given to this one."""
        narrower = self.without_spare(error, LIMITS.precision, step)
        if narrower is not None:
            part, moved = narrower
            return part.exact(part._error_of(self.samples), moved)
        e = self.case.known.evidence
        sentence = f"All {e.n_rows} rows agree to rounding ({e.rounding_level:.2g} of the bound, {LIMITS.rounding:g} allowed)"
        if step is not None and e.rounding_level > LIMITS.rounding:
            size = float(step.standard.max())
            sentence = f"All {e.n_rows} rows agree to rounding after a Gauss–Newton step of relative size {size:.1g}"
        agreement = Statement(Topic.AGREEMENT, Kind.TESTED, True, f"{sentence}.", e.rounding_level, LIMITS.rounding)
        disagreement, held = self.case.heldout.agreement(self.case.tries)
        case = self.case._measured(disagreement=disagreement)._stating(agreement, held)
        part = replace(self, case=case)
        claim, found = part._within(error, LIMITS.precision, step)
        if found is None:
            return claim.known
        if piece_ratio(self.gauge.network) is None:  # of pieces between kinks disjoint bases confirm each other
            claim = part._confirmed(claim, self._error_of, LIMITS.precision)
        findings = examine(found.clear, found.information.gauge, rng=case.rng, information=found.information)
        if np.any(self.standard.mean):  # rounding errors of the inputs given are larger than those of the standard ones
            findings += part._below(Bar((2.0 * error) ** 2), claim)[0]
        return part._against(findings, claim)

    def without_spare(self, error: float, limit: float, step: _Step | None = None) -> tuple[_Part, _Step] | None:
        """The part of a narrower class, where others refitted replace some of the units that are not known within the limit,
        and the way there.

        With a unit to spare any other may be two, √error apart, and what stands in its place moves the others.
        """
        gauge, kept = self.gauge, list(self.fewer.range)
        sizes = error * gauge.relative_sizes(self.information.unit_inverses())
        loose = sorted({*undetermined(self.information), *np.flatnonzero(~(sizes <= limit)).tolist()})
        network = None
        for i in loose:
            rest = [j for j in kept if j != i]
            if rest:
                starts = _without(gauge.network if network is None else network, kept.index(i))
                apart = starts if gauge.network.activation.degree else starts[:1]  # in more than a
                starts += [_projected(self.samples, gauge, start) for start in apart]
                refits = refitted(self.samples, replace(gauge, network=starts[0]), starts)
                refit = min(refits, key=partial(squared_error, self.samples))
                if squared_error(self.samples, refit) <= (error / limit) ** 2:  # not seen, as `_Reduced` has it
                    network, kept = refit, rest
        if network is None:
            return None
        own, told = self.fewer.kept[kept], tuple(self.fewer.kept[loose].tolist())
        sentence = f"Others, refitted, replace some of {named(told, verb=False)}"
        sentence = f"{sentence}: use fewer units. What follows is about networks of at most {len(own)}."
        spare = Statement(Topic.SUPERFLUOUS, Kind.TESTED, False, sentence, len(own), units=told)
        near = Gauge.of(network, bias=gauge.free.b, offset=gauge.free.c, numbers=own)
        fewer = replace(self.fewer, network=self.standard.undo(network), kept=own)
        case = self.case._narrowed(len(own))._stating(spare)
        part = replace(self, case=case, fewer=fewer, information=Information.of(self.samples, near))
        before = replace(near, network=_some(gauge.network, np.array(kept)))
        moved = before.distances(near) + (0.0 if step is None else step.standard[kept])
        return part, _Step(moved, part._distances_as_given())

    def otherwise(self, effective_rows: float) -> Certificate:
        """Of rows with errors: of one step, within a quantum, or of noise."""
        if (near := self.after_a_step()) is not None:
            return near
        quantum = quantum_of(self.case.samples, self.case.known.network)
        if quantum is not None:
            narrower = self.without_spare(quantum.error, LIMITS.largest_region)
            claim = self.bounded(quantum) if narrower is None else self.narrower_bounded(quantum, *narrower)
            if claim.status is not Status.AMBIGUOUS or (narrower is not None and claim.certified_units):
                return claim
        return self.noisy(effective_rows)

    def after_a_step(self) -> Certificate | None:
        """The certificate of the exact network one Gauss–Newton step away, if there is one; the step is part of the claim."""
        information = self.information
        delta = -information.inverse @ information.gradient
        gauge = self.gauge
        sizes = [np.linalg.norm(delta[gauge.coordinates(i)]) / np.linalg.norm(gauge.unit(i)[0]) for i in self.fewer.range]
        if not max(sizes) <= LIMITS.newton:
            return None
        there = gauge.perturbed(delta[None]).network(0)
        found = Agreement.of(self.standard.undo(there), self.case.samples)
        if not found.level <= LIMITS.rounding:
            return None
        near = replace(gauge, network=there)
        part = replace(self, information=Information.of(self.samples, near))
        return part.exact(math.sqrt(found.error), _Step(gauge.distances(near), part._distances_as_given()))

    def narrower_bounded(self, quantum: Quantum, part: _Part, step: _Step) -> Certificate:
        """Of a network refitted with fewer units: e is (Σ w r²)^½ of its own residuals and (Σ w E²)^½ at most (Minkowski)."""
        error = math.sqrt(squared_error(self.samples, part.gauge.network)) + quantum.bound * math.sqrt(self.samples.total)
        return part.bounded(quantum, error, step)

    def bounded(self, quantum: Quantum, error: float | None = None, step: _Step | None = None) -> Certificate:
        """error: e, the quantum's unless given; step: from the network that was given to this one."""
        error = quantum.error if error is None else error
        case = self.case._measured(quantum=quantum.size, detection_limit=2 * quantum.bound)._stating(
            bounded(quantum.words, quantum.size, quantum.level), rounded_values()
        )
        part = replace(self, case=case)
        claim, found = part._within(error, LIMITS.largest_region, step)
        if found is None:
            return claim.known
        claim = part._confirmed(claim, lambda _: error, LIMITS.largest_region)
        return part._against(part._below(Bar(error**2), claim)[0], claim)

    def _within(self, error: float, limit: float, step: _Step | None = None) -> tuple[_Case, Precision | None]:
        """The case with its precision, of rows that agree within bounds; None where no unit has any."""
        found = precision_of(self.samples, self.information, error)
        relative = found.relative if step is None else found.relative + step.standard
        statement = self.fewer.named(_precise(self.gauge, found, relative, limit))
        unsettled = None if step is None else _unsettled(self.gauge, step, limit)
        case = self._precision(found.regions, relative, step)._stating(unsettled and self.fewer.named(unsettled), statement)
        return case, None if len(statement.units) == self.fewer.n_units else found

    def _error_of(self, rows: Samples) -> float:
        return math.sqrt(Agreement.of(self.gauge.network, rows).error) + self.fewer.lost

    def _confirmed(self, claim: _Case, error: Callable[[Samples], float], limit: float) -> _Case:
        statement = confirmed(self.samples, self.information, error, limit, self.case.rng)
        return claim if statement is None else claim._stating(self.fewer.named(statement))

    def noisy(self, effective_rows: float) -> Certificate:
        e = self.case.known.evidence
        distinct = e.n_distinct == e.n_rows  # in single precision, and of the inputs alone
        columns = columns_of(self.case.samples)
        fit = examine_noise(self.samples, self.information, e.n_rows, effective_rows, distinct, self.case.rng, columns)
        seen = None if fit.fit is None else fit.fit.p_value
        limit = None if fit.fit is None else fit.fit.detection_limit
        case = self.case._measured(noise_std=fit.noise_std, p_value=seen, detection_limit=limit)
        case = case._stating(
            assumed("The errors are independent of each other, with mean zero given x."),
            *(self.fewer.named(s) for s in fit.statements),
        )
        if not fit.regular:
            return case.known
        if fit.fit is not None:
            expected = fit.noise_std**2 * (1 + e.n_parameters / e.n_rows)
            case = case._stating(case.heldout.surprise(expected, fit.fit.kurtosis))
        return self._of_regions(fit, case)

    def _of_regions(self, fit: NoisyFit, case: _Case) -> Certificate:
        assert fit.regions is not None
        assert fit.wide_regions is not None
        assert fit.single is not None
        regions, wide = self._raw(fit.regions), self._raw(fit.wide_regions)
        raw = case.gauge
        kept = self.fewer.kept
        sizes = np.full(raw.network.n_units, np.nan)
        sizes[kept] = np.max([raw.relative_sizes(R[kept], kept) for R in regions], axis=0)
        single = np.full(raw.network.n_units, np.nan)
        single[kept] = fit.single
        known = replace(case.known, precision=sizes, regions=regions, wide_regions=wide, single=single)
        claim = replace(case, known=known)
        if len({i for s in claim.known.failing for i in s.units} & set(kept.tolist())) == len(kept):
            return claim.known  # nothing is left to be claimed
        gain = odds(len(kept))
        margin = gain * fit.variance
        few = 1.0 if fit.fit is None else max(1.0, fit.fit.kurtosis / 3 + 1)
        findings, within = self._below(Bar(self.information.rss + margin, gain, few), claim, fit.regions)
        hidden = shown_equations(self.samples, self.information, margin, rng=self.case.rng)
        findings += () if hidden is None else (hidden,)
        if within > LIMITS.same_minimum:
            assert fit.relative is not None
            claim = claim._wider(1.0 + within, self.fewer.named(_minima(within, fit.relative)))
        return self._against(findings, claim._stating(self._better(findings, margin)))

    def _below(self, bar: Bar, case: _Case, regions: np.ndarray | None = None) -> tuple[tuple[Finding, ...], float]:
        """Rivals below the bar, and how far off, of the claim's size, a refit is that ended inside of it and so is none."""
        claim = case._stating(of_finding(NONE_BELOW)).known
        found, within = [], 0.0
        for finding in examine_noisy(self.samples, self.gauge, bar, regions):
            off = [self._off(claim, rival) for rival in finding.rivals]
            within = max([within, *(distance for distance in off if distance <= 1.0)])
            apart = tuple(rival for rival, distance in zip(finding.rivals, off, strict=True) if distance > 1.0)
            if apart or not finding.rivals:
                found.append(replace(finding, rivals=apart))
        return tuple(found), within

    def _off(self, claim: Certificate, rival: Network) -> float:
        """The largest distance of a unit of the rival, of what is claimed of it."""
        return float(claim.distances(self.standard.undo(rival), wide=False)[self.fewer.kept].max())

    def _better(self, findings: tuple[Finding, ...], margin: float) -> Statement | None:
        """A rival that fits better beyond chance: the network is at another minimum than the least one."""
        rivals = [rival for finding in findings for rival in finding.rivals]
        if not rivals:
            return None
        least = 2.0 * float(to_numpy(self.samples.fold(Risk(Students.of(*rivals)))[0]).min())
        if least >= self.information.rss - margin:
            return None
        sentence = "Another network of this width, with units reflected or exchanged, explains the data better; refine it."
        return Statement(Topic.MINIMUM, Kind.TESTED, False, sentence, least, self.information.rss - margin)

    def _precision(self, regions: np.ndarray, relative: np.ndarray, step: _Step | None) -> _Case:
        """The case with the precision in raw coordinates."""
        known = self.case.known
        sizes, blocks = np.full(known.network.n_units, np.nan), self._raw(regions[None])[0]
        sizes[self.fewer.kept] = self._as_given.relative_sizes(blocks[self.fewer.kept]) + (0.0 if step is None else step.raw)
        sizes[self.fewer.kept[~np.isfinite(relative)]] = math.inf
        return replace(self.case, known=replace(known, precision=sizes))

    @property
    def _as_given(self) -> Gauge:
        """The network that is judged, in the inputs as they are."""
        case = self.case
        return Gauge.of(self.standard.undo(self.gauge.network), bias=case.known.bias, offset=case.known.offset)

    def _distances_as_given(self) -> np.ndarray:
        """(k′,) relative distances of its units to those that were given, in the inputs as they are."""
        given = replace(self.case.gauge, network=_some(self.case.gauge.network, self.fewer.kept))
        return given.distances(self._as_given)

    def _raw(self, regions: np.ndarray) -> np.ndarray:
        """(r, k, q, q) in the coordinates of the network that was given, from those (r, k′, q, q) of the units that count."""
        T = self.standard.unit(self.gauge.unit_size)
        found = np.full((len(regions), self.case.known.network.n_units, *T.shape), np.nan)
        found[:, self.fewer.kept] = carried(T, regions)
        return found

    def _against(self, findings: Iterable[Finding], case: _Case) -> Certificate:
        findings = tuple(findings) or (NONE_BELOW,)
        stated = tuple(self.fewer.named(of_finding(f)) for f in findings)
        lines = dict.fromkeys(line[:1].upper() + line[1:] for f in findings for line in f.assumes)
        fresh = [assumed(f"{line}.") for line in lines if not any(a.startswith(line) for a in case.known.assumptions)]
        widths = [finding.width for finding in findings if finding.width is not None]
        case = case._narrowed(min(widths)) if widths else case
        known = case._stating(*stated, *fresh).known
        patterns = [self.fewer.pattern(f.patterns) for f in findings if f.outcome is Outcome.FOUND and f.patterns is not None]
        return replace(known, sign_patterns=np.unique(np.concatenate(patterns), axis=0)) if patterns else known


@dataclass(frozen=True, eq=False)
class _Step:
    """What lies between the network that was given and the one that is judged.

    A change of w along an input that hardly varies, against one of b, is small in standard inputs alone; and a step that is
    small beside (w, b, a) may be large beside a. So it is measured as the claim is. Relative distances obey the triangle
    inequality [Gauge.relative_distance], so that these are added to those of the truth from the network that is judged.
    """

    standard: np.ndarray  # (k′,) relative distances of the units, in standard inputs
    raw: np.ndarray  # (k′,) in the inputs as they are


@dataclass(frozen=True, eq=False)
class _Reduced:
    """The network without units that no row sees and with doubles merged; None where nothing is left."""

    network: Network | None
    kept: np.ndarray  # (k′,) where its units stand in the network that was given
    n_units: int
    statement: Statement | None = None
    lost: float = 0.0  # (Σ w (a φ)²)^½ of the units that are below rounding errors

    @classmethod
    def of(cls, network: Network, squares: np.ndarray, floor: float) -> _Reduced:
        """squares: Σ w (a φ)² (k,); floor: up to which a unit is not seen."""
        k = network.n_units
        findings = irreducible(network, tol=1e-14, near=1e-14).exact
        unseen = {int(i) for i in np.flatnonzero(~(squares > floor))}
        unseen |= {f.units[0] for f in findings if f.kind is Redundancy.ZERO}
        doubles = [f.units for f in findings if f.kind is Redundancy.DUPLICATE and not unseen & set(f.units)]
        if not unseen and not doubles:
            return cls(network, np.arange(k), k)
        drop, merged = set(unseen), network
        for i, j in doubles:
            if not drop & {i, j}:
                merged, drop = _merged(merged, i, j), drop | {j}
        share = np.divide(merged.a, network.a, out=np.ones(k), where=network.a != 0)  # of doubles that cancel little is left
        gone = {i for i, _ in doubles if not share[i] ** 2 * squares[i] > floor} - drop
        lost = float(np.sqrt(np.where(squares > floor, 0.0, squares)).sum())
        lost += float(sum(abs(share[i]) * math.sqrt(squares[i]) for i in gone))
        kept = np.array([i for i in range(k) if i not in drop | gone], dtype=int)
        units = tuple(sorted(unseen | {i for pair in doubles for i in pair}))
        what = "zero on every row, or too small beside rounding errors" + ", or the same up to a factor" * bool(doubles)
        sentence = f"{named(units)} {what}: use fewer units. What follows is about networks of at most {len(kept)}."
        statement = Statement(Topic.SUPERFLUOUS, Kind.TESTED, False, sentence, len(units), 0, units)
        return cls(_some(merged, kept) if len(kept) else None, kept, k, statement, lost)

    @property
    def range(self) -> range:
        return range(len(self.kept))

    def named(self, statement: Statement) -> Statement:
        """The statement about the units by their own numbers, as its sentence calls them."""
        if len(self.kept) == self.n_units:
            return statement
        units = tuple(int(self.kept[i]) for i in (statement.units or (self.range if not statement.holds else ())))
        return replace(statement, units=units)

    def pattern(self, patterns: np.ndarray) -> np.ndarray:
        full = np.zeros((len(patterns), self.n_units), dtype=bool)
        full[:, self.kept] = patterns
        return full


def _some(network: Network, units: np.ndarray) -> Network:
    return replace(network, W=network.W[:, units], a=network.a[units], b=network.b[units])


def _without(network: Network, i: int) -> list[Network]:
    """The network without unit i, and with what it adds in the nearest other one, were the two the same."""
    rest = np.arange(network.n_units) != i
    V = np.vstack([network.W, network.b])
    near = int(np.argmin(np.where(rest, np.linalg.norm(V - V[:, [i]], axis=0), np.inf)))
    a, W, b = network.a.copy(), network.W.copy(), network.b.copy()
    if network.activation.degree:  # a = ±1
        W[:, near] += a[i] * a[near] * W[:, i]
        b[near] += a[i] * a[near] * b[i]
    else:
        a[near] += a[i]
    return [_some(net, np.flatnonzero(rest)) for net in (network, replace(network, W=W, a=a, b=b))]


def _projected(samples: Samples, gauge: Gauge, start: Network) -> Network:
    """The start refitted with a and c projected out: a constant or a line that a unit left may take any size in them."""
    scaled = bool(gauge.network.activation.degree)
    model = Model(gauge.free.b, False, gauge.free.c)
    fit = variable_projection(samples, start, model, iterations=LIMITS.refit, unit=scaled, damping=1e-6).network
    return fit.absorbed() if scaled else fit


def _merged(network: Network, i: int, j: int) -> Network:
    """Unit i made the sum of itself and its double j."""
    one = minimal(replace(_some(network, np.array([i, j])), c=0.0), tol=1e-14)
    W, a, b = network.W.copy(), network.a.copy(), network.b.copy()
    W[:, i], a[i], b[i] = one.W[:, 0], one.a[0], one.b[0]
    return replace(network, W=W, a=a, b=b, c=network.c + one.c)


def _enough(distinct: int, p: int, heldout: int) -> Statement:
    spare = distinct - p
    needed = p + LIMITS.spare_rows + heldout
    sentence = (
        f"{distinct} distinct rows, {spare} more than parameters."
        if spare >= LIMITS.spare_rows
        else f"{distinct} distinct rows{f', beside {heldout} held out,' if heldout else ''} cannot determine {p} parameters "
        f"and confirm them; give at least {needed}, better three a parameter."
    )
    return Statement(Topic.ROWS, Kind.TESTED, spare >= LIMITS.spare_rows, sentence, spare, LIMITS.spare_rows)


def _finite(energy: float, level: float, error: float) -> Statement | None:
    low, high = LIMITS.sizes
    if math.isfinite(level) and math.isfinite(error) and (energy == 0 or low**2 < energy < high**2):
        return None
    sentence = "Squares of the values overflow on these rows, or vanish; rescale the inputs or the target."
    return Statement(Topic.VALUES, Kind.TESTED, False, sentence, math.sqrt(energy), high)


def _determined(information: Information) -> Statement:
    condition = information.condition
    if information.full_rank:
        sentence = f"The rows determine every unit to first order: JᵀJ has the condition {condition:.2g}."
        return Statement(Topic.DETERMINED, Kind.TESTED, True, sentence, condition)
    units = undetermined(information)
    sentence = (
        f"The rows do not determine {named(information.gauge.called(units), verb=False)}: JᵀJ is singular to working precision "
        f"(condition {condition:.1g}). Use fewer units, drop linearly dependent inputs, or give more rows."
    )
    return Statement(Topic.DETERMINED, Kind.TESTED, False, sentence, condition, units=units)


def _minima(within: float, relative: np.ndarray) -> Statement:
    """That the squared error has another minimum inside the regions, which must hold what would be claimed there."""
    sizes = (1.0 + within) * relative
    wide = tuple(np.flatnonzero(~(sizes <= LIMITS.noisy_region)).tolist())
    sentence = (
        f"Another minimum, with nearly as small a squared error, lies in the regions, at {within:.2g} of their radius. To hold "
        f"the region around it too they are {1.0 + within:.3g} times as wide, at most {sizes.max():.2g} of the units' sizes."
    )
    return Statement(Topic.PRECISION, Kind.TESTED, not wide, sentence, float(sizes.max()), LIMITS.noisy_region, wide)


def _unsettled(gauge: Gauge, step: _Step, limit: float) -> Statement | None:
    """Units that the step moves by more than may be called exact."""
    units, worst = tuple(np.flatnonzero(~(step.standard <= limit)).tolist()), float(step.standard.max())
    if not units:
        return None
    who = named(gauge.called(units))
    sentence = f"{who} a relative distance of up to {worst:.1g} away from where the rows agree; refine the network."
    return Statement(Topic.PRECISION, Kind.TESTED, False, sentence, worst, limit, units)


def _precise(gauge: Gauge, found: Precision, relative: np.ndarray, limit: float) -> Statement:
    bad = ~(relative <= limit) | (separation(gauge) <= LIMITS.separation * relative)
    if found.contraction >= LIMITS.contraction:
        bad[:] = True
    units, worst = tuple(np.flatnonzero(bad).tolist()), float(relative.max())
    known = gauge.network.activation.turns is not None
    sentence = (
        f"A truth nearby is within a relative distance of {worst:.1g}: J changes by {found.contraction:.1g} on the box"
        f"{'' if known else ', an estimate'}."
        if not units
        else hardly_determined(gauge.called(units), worst)
    )
    kind = Kind.PROVED if known and not units else Kind.TESTED
    return Statement(Topic.PRECISION, kind, not units, sentence, worst, limit, units)
