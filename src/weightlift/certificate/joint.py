"""The certificate of a network with several outputs or a linear part, on rows that it explains to rounding, that of float64 or
of the targets [quantum]; of others, see `joint_statistical`.

With m outputs a row is m equations, and more equations than parameters are no proof: a rival may differ in one direction of the
outputs alone, or in a unit that few rows switch on. Rows limit, not equations (docs/outputs.md):

    rows        as many as the stacked Jacobian needs for full rank [identifiability.parameters], and a margin;
    sides       a kinked unit has q coordinates, and only rows on its active side know of them: q of them and a margin; beside a
                linear part a unit may be reflected, and both sides count;
    determined  the stacked Jacobian, A, V and c projected out [refinement.variable_projection], has full rank;
    held out    analytic φ: a network that is not the truth differs from it at almost every x, so that one row which shaped no
                candidate and agrees is a proof. Kinked φ: a test, with the share of inputs on which they may differ;
    T1, T2      where rows are as many as one output needs, the theorems of `rivals` on a random combination ⟨u, f(x)⟩.

Cost  four passes and O((qk)³).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from weightlift.certificate.confirmation import confirmed_jointly
from weightlift.certificate.heldout import HeldOut, fresh_rows
from weightlift.certificate.joint_distances import joint_distances
from weightlift.certificate.joint_noise import JointNoise
from weightlift.certificate.joint_standard import StandardForm
from weightlift.certificate.joint_statistical import NONE, NoisyCase, certify_noisy, of_few_rows
from weightlift.certificate.limits import LIMITS
from weightlift.certificate.precision import Near, UnitBalls, hardly_determined, separation
from weightlift.certificate.quantum import bounded, quantum_of, rounded_values
from weightlift.certificate.statement import (
    Kind,
    Statement,
    Topic,
    assumed,
    assumptions,
    named,
    of_finding,
    of_width,
    symmetries,
)
from weightlift.certificate.status import Certificate, Evidence
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.rows import EPS, Agreement
from weightlift.identifiability import rows_needed
from weightlift.namespaces import array_namespace, as_like, to_numpy
from weightlift.network import Network
from weightlift.refinement.gauss_newton import RefinementEnding
from weightlift.refinement.variable_projection import Hidden, JointFit, Model, variable_projection
from weightlift.rivals import Finding, Outcome, examine, examine_beside_linear, examine_uncounted
from weightlift.rivals.cells import Draws, OwnTargets, independent_rows, some_inputs
from weightlift.rivals.discrete import discrete_columns
from weightlift.rivals.equations import random_units
from weightlift.rivals.finding import DENSITY
from weightlift.rivals.limits import LIMITS as RIVALS
from weightlift.samples import Block, Samples, Sums


def certify_joint(
    network: Network,
    samples: Samples,
    model: Model,
    *,
    heldout: Samples | None = None,
    tries: int = 1,
    rng: np.random.Generator,
) -> Certificate:
    """Statements about a network (k, m) or with V; the status follows from them as for one output."""
    with np.errstate(all="ignore"):
        fitted = Agreement.of(network, samples)
        gauge = Gauge.of(_combination(network, rng), bias=model.bias, offset=model.offset)
        distinct = independent_rows(samples, gauge)
        held = _held_out(network, heldout, samples, gauge)
        evidence = Evidence(
            n_rows=fitted.rows,
            n_distinct=distinct,
            n_parameters=_parameters(network, model),
            residual_max=fitted.residual,
            rounding_level=fitted.level,
            heldout_rows=held.rows,
        )
        lines = assumptions(network, model)
        blank = Certificate(network, model.bias, model.offset, lines, evidence, symmetries=symmetries(network))
        if not fitted.level <= LIMITS.rounding:
            if not network.n_units or not math.isfinite(fitted.residual):
                return blank.adding(_unexplained(fitted))
            near = _after_a_step(network, samples, model, fitted)
            if near is None:
                return _of_errors(blank, samples, model, gauge, rng)
            network, moved = near
            agreement, fitted = _agreement(fitted, moved), Agreement.of(network, samples)
            gauge = Gauge.of(_combination(network, rng), bias=model.bias, offset=model.offset)
            held = _held_out(network, heldout, samples, gauge)
        else:
            agreement, moved = _agreement(fitted), np.zeros(network.n_units)
        share, told = held.agreement(tries)
        if not network.n_units:
            lines = (agreement, _line(model, distinct, samples.d), *([] if told is None else [told]), *blank.statements)
            return replace(blank, evidence=replace(evidence, disagreement=share), precision=np.zeros(0), statements=lines)
        sides, needed = to_numpy(samples.fold(Sides(network))[0]), _needed(network, model)
        form = StandardForm.of(network, samples, model, explained=True)
        precision, spare = moved + form.precision(fitted.errors), None
        if distinct >= needed:  # else nothing is claimed of any width
            precision, spare = _without_spare(form, samples, fitted.errors, precision, moved)
        blank = _narrowed(blank, spare)
        known = (
            agreement,
            _enough(needed, distinct),
            *_spare(_equations(network, model, some_inputs(samples), needed, rng), needed),
            form.determined(),
            _precise(gauge, precision),
            *_on_both_sides(network, model, sides),
            *([] if told is None else [told]),
        )
        evidence = replace(blank.evidence, condition=form.information.condition, disagreement=share)
        claim = replace(blank, evidence=evidence, precision=precision)
        if not claim.adding(*known, of_finding(NONE)).certified_units:  # whatever rivals there are
            return claim.adding(*known, *_confirmed(form, precision, (), rng))
        proof = None if heldout is None else _told_apart(gauge, samples, heldout, held)
        rivals = (proof,) if proof else _rivals(network, model, samples, gauge, distinct, rng)
        return claim.adding(*known, *_confirmed(form, precision, rivals, rng), *rivals)


def _of_errors(blank: Certificate, samples: Samples, model: Model, gauge: Gauge, rng: np.random.Generator) -> Certificate:
    """Of rounded targets, or of noise."""
    rounded = _of_rounded_targets(blank, samples, model, gauge, rng)
    if rounded:
        return rounded
    noisy = certify_noisy(blank, samples, model, rng=rng)
    return noisy if rounded is None or noisy or not rounded.certified_units else rounded


def _held_out(network: Network, heldout: Samples | None, samples: Samples, gauge: Gauge) -> HeldOut:
    if heldout is None or not heldout.n:
        return HeldOut()
    return HeldOut(fresh_rows(heldout, samples, Draws.of(gauge)), Agreement.of(network, heldout).level)


def _after_a_step(
    network: Network, samples: Samples, model: Model, fitted: Agreement
) -> tuple[Network, np.ndarray] | None:
    """The network that agrees to rounding a Gauss–Newton step away, if there is one, and how far its units are (k,): as for one
    output [verdict]. What two units that nearly cancel leave is no noise.

    A step that changes every unit by a share τ changes f by some τ/ε bounds on rounding errors: larger residuals are not its.
    It spreads the rounding errors of all rows over each, which agree if their squares do; units that no row determines it may
    move at will. Of what is left JᵀJ, nearly singular, leaves some again.
    """
    if not fitted.level <= LIMITS.newton / EPS:
        return None
    there, left = network, fitted.errors
    for _ in range(LIMITS.newton_steps):
        form = StandardForm.of(there, samples, model, explained=True)
        L = form.information.half_inverse
        hidden, beta = form.stacked.perturbed(-(L @ (L.T @ form.information.gradient))[None])
        step = JointFit(hidden, beta, model, np.zeros(1), (RefinementEnding.ITERATIONS,), 1, samples.n_outputs is None)
        there = form.back(step.network_of(0))
        moved, before, left = _moved(network, there), left, Agreement.of(there, samples).errors
        if not (np.delete(moved, form.weak) <= LIMITS.newton).all() or not (left <= before).all():
            return None
        if (left <= (LIMITS.rounding + 1.0) ** 2 * Agreement.of(there, samples.map(OwnTargets(there))).errors).all():
            return there, moved
    return None


def _moved(network: Network, other: Network) -> np.ndarray:
    """(k,) relative distances of each unit from that of the same number."""
    return np.diagonal(joint_distances(network, other, np.ones(network.n_units), None))


def _without_spare(
    form: StandardForm, samples: Samples, errors: np.ndarray, precision: np.ndarray, before: np.ndarray
) -> tuple[np.ndarray, Statement | None]:
    """The precision in the class without units that others, refitted, replace, and its width: as for one output [verdict].

    before: (k,) how far the units are from those that were given
    """
    raw, own, loose = form.raw, form.stacked.network, np.flatnonzero(~(precision <= LIMITS.precision)).tolist()
    kept, narrow, left = list(range(own.n_units)), None, errors
    for i in loose:
        rest = [j for j in kept if j != i]
        if not rest:
            break
        start, unit = Hidden(own.W[:, None, rest], own.b[None, rest], own.activation), form.stacked.homogeneous
        fit = variable_projection(form.rows, start, raw.model, iterations=LIMITS.refit, unit=unit, damping=1e-6)
        found = form.back(fit.network_of(0))
        error = Agreement.of(found, samples).errors
        if (error <= errors / LIMITS.precision**2).all():
            kept, narrow, left = rest, found, error
    if narrow is None:
        return precision, None
    a = raw.network.A[kept].reshape(narrow.a.shape)
    given = replace(narrow, W=raw.network.W[:, kept], b=raw.network.b[kept], a=a)
    moved = _moved(given, narrow)
    known = np.full(own.n_units, math.inf)
    known[kept] = before[kept] + moved + StandardForm.of(narrow, samples, raw.model, explained=True).precision(left)
    sentence = f"Others, refitted, replace some of {named(loose, verb=False)}: use fewer units. What follows is about"
    sentence, units = f"{sentence} networks of at most {len(kept)}.", tuple(loose)
    return known, Statement(Topic.SUPERFLUOUS, Kind.TESTED, False, sentence, len(kept), units=units)


def _narrowed(blank: Certificate, spare: Statement | None) -> Certificate:
    """The claim to be made in the class of that width."""
    if spare is None:
        return blank
    width = int(spare.number)
    statements = (spare, of_width(blank.network, width), *blank.statements[1:])
    return replace(blank, evidence=replace(blank.evidence, width=width), statements=statements)


def _of_rounded_targets(
    blank: Certificate, samples: Samples, model: Model, gauge: Gauge, rng: np.random.Generator
) -> Certificate | None:
    """The same of targets that were rounded, with their bound in the place of float64's; None where no rounding explains them.

    Theorems are about equality: of what they give only rivals count, beside those that a refit finds within the bound.
    """
    network, quantum = blank.network, quantum_of(samples, blank.network)
    if quantum is None:
        return None
    everything = StandardForm.of(network, samples, model, explained=True)
    rows, form, precision = _clear_of_kinks(everything, samples, quantum.squares)
    spare = None
    if form.information.rows:  # else every row is near a kink, and nothing is claimed
        precision, spare = _without_spare(form, rows, quantum.squares, precision, np.zeros(network.n_units))
    blank = _narrowed(blank, spare)
    evidence = replace(
        blank.evidence, condition=form.information.condition, quantum=quantum.size, detection_limit=2 * quantum.bound
    )
    needed, distinct = _needed(network, model), blank.evidence.n_distinct
    known = (
        bounded(quantum.words, quantum.size, quantum.level),
        _enough(needed, distinct),
        *_spare(_equations(network, model, some_inputs(samples), needed, rng), needed),
        form.determined(),
        _precise(gauge, precision),
        *_on_both_sides(network, model, to_numpy(rows.fold(Sides(network))[0])),
        *_confirmed(form, precision, (), rng),
        *(s for s in _rivals(network, model, samples, gauge, distinct, rng) if not s.holds),
    )
    claim = replace(blank, evidence=evidence, precision=precision, statements=(*known, *blank.statements, rounded_values()))
    if not replace(claim, statements=(*claim.statements, of_finding(NONE))).certified_units:
        return claim
    margin = float(np.sum(quantum.squares / everything.scaled.scale**2)) - everything.information.rss
    case = NoisyCase(blank, everything, JointNoise(()))
    return replace(claim, statements=(*claim.statements, *case.rivals(claim, rng, margin)))


def _clear_of_kinks(form: StandardForm, samples: Samples, errors: np.ndarray) -> tuple[Samples, StandardForm, np.ndarray]:
    """The rows on which no unit within twice its precision has its kink, and what they determine how well; ∞ where that is
    less than half as well, and further rows would be in doubt."""
    network, precision = form.raw.network, form.precision(errors)
    shares = np.where(np.isfinite(precision), np.minimum(2 * precision, 1.0), 0.0)
    near = Near(UnitBalls(network, shares * np.sqrt(np.sum(network.W**2, axis=0) + network.b**2)))
    if not network.activation.kinks or not float(to_numpy(samples.fold(near)[0])):
        return samples, form, precision
    rows = samples.map(near.without)
    clear = StandardForm.of(network, rows, form.raw.model, explained=True)
    found = clear.precision(errors)
    return rows, clear, np.where(found <= 2 * precision, found, np.inf)


@dataclass(frozen=True, eq=False)
class Sides:
    """(2, k) rows of positive weight with zᵢ > 0 and with zᵢ < 0."""

    network: Network

    @property
    def floats_per_row(self) -> int:
        return 3 * self.network.n_units

    def __call__(self, block: Block) -> Sums:
        xp, X = array_namespace(block.X), block.X
        z = xp.matmul(X, as_like(self.network.W, X)) + as_like(self.network.b, X)
        keep = xp.ones_like(X[:, 0]) if block.w is None else xp.astype(block.w > 0, X.dtype)
        return (xp.stack([xp.matmul(keep, xp.astype(side, X.dtype)) for side in (z > 0, z < 0)]),)


def _parameters(network: Network, model: Model) -> int:
    d, k, m = network.n_inputs, network.n_units, network.n_outputs
    return k * (model.inputs(d) + m - bool(network.activation.degree)) + m * (d * model.linear + model.offset)


def _unexplained(fitted: Agreement) -> Statement:
    sentence = (
        f"The rows are not explained to rounding (largest residual {fitted.residual:.1e}, {fitted.level:.1g} bounds), and "
        "without units, or with values that overflow, there is nothing to certify; try more units, or rescale the data."
    )
    return Statement(Topic.STRUCTURE, Kind.TESTED, False, sentence, fitted.level, LIMITS.rounding)


def _agreement(fitted: Agreement, moved: np.ndarray | None = None) -> Statement:
    """moved: how far a step takes the units (k,) from the network that was given, of which `fitted` is."""
    how = f"({fitted.level:.2g} of the bound, {LIMITS.rounding:g} allowed)"
    how = how if moved is None else f"after a Gauss–Newton step of relative size {moved.max():.1g}"
    sentence = f"All {fitted.rows} rows agree to rounding {how}."
    return Statement(Topic.AGREEMENT, Kind.TESTED, True, sentence, fitted.level, LIMITS.rounding)


def _needed(network: Network, model: Model) -> int:
    """Rows that as many outputs need as A has independent columns, and a margin."""
    sizes = network.n_inputs, network.n_units, max(1, int(np.linalg.matrix_rank(network.A)))
    least = rows_needed(*sizes, network.activation, bias=model.bias, linear=model.linear, offset=model.offset)
    return LIMITS.joint_spare + least


def _enough(needed: int, distinct: int) -> Statement:
    sentence = (
        f"{distinct} distinct rows, of which {needed} exclude rivals that differ in some outputs and units alone."
        if distinct >= needed
        else f"{distinct} distinct rows are too few, however many outputs they have; give at least {needed}, better twice that."
    )
    return Statement(Topic.ROWS, Kind.TESTED, distinct >= needed, sentence, distinct, needed)


def _spare(equations: int, needed: int) -> tuple[Statement, ...]:
    """T3: mirror images and few levels count as what values of random units at them are, independent ones."""
    if equations >= needed:
        return ()
    sentence = (
        f"The rows are {equations} equations of any output, however many they are, and {needed} are needed: mirror images or "
        "too few levels of each other, or all on one side of the kinks. Give others."
    )
    return (of_finding(Finding(Outcome.UNEXAMINED, sentence, float(equations), float(needed))),)


def _equations(network: Network, model: Model, X: np.ndarray, needed: int, rng: np.random.Generator) -> int:
    """The rank on the rows of the linear part and of random units at the network's scale, up to the number needed."""
    gauge = Gauge.of(replace(network.output(0), V=None), bias=model.bias, offset=False)
    batches = [random_units(X, gauge, rng) for _ in range(needed // RIVALS.features + 1)]
    F = np.hstack([model.beside(X), *(units.activation(X @ units.W + units.b) for units in batches)])
    F = F / np.maximum(np.linalg.norm(F, axis=0), np.finfo(float).tiny)
    return int(np.linalg.matrix_rank(F, tol=RIVALS.flat * math.sqrt(F.shape[1])))


def _line(model: Model, distinct: int, d: int) -> Statement:
    """Rows for V and c alone."""
    needed = d * model.linear + model.offset + LIMITS.joint_spare
    says = "determine" if distinct >= needed else "are too few to determine"
    sentence = f"{distinct} distinct rows {says} the linear part and the offset, {needed} needed."
    return Statement(Topic.ROWS, Kind.TESTED, distinct >= needed, sentence, distinct, needed)


def _precise(gauge: Gauge, precision: np.ndarray) -> Statement:
    bad = ~(precision <= LIMITS.precision) | (separation(gauge) <= LIMITS.separation * precision)
    units, worst = tuple(np.flatnonzero(bad).tolist()), float(precision.max())
    sentence = (
        f"A truth nearby is within a relative distance of {worst:.1g}, to first order."
        if not units
        else hardly_determined(units, worst)
    )
    return Statement(Topic.PRECISION, Kind.TESTED, not units, sentence, worst, LIMITS.precision, units)


def _confirmed(
    form: StandardForm, precision: np.ndarray, rivals: tuple[Statement, ...], rng: np.random.Generator
) -> tuple[Statement, ...]:
    """Of pieces between kinks disjoint bases confirm each other, where there are so many; of polynomials nothing is claimed.

    Without them three units that are on together at all rows but one are two with two outputs, which that row places.
    """
    phi = form.stacked.network.activation
    if phi.polynomial or (phi.kinks and any(s.kind is Kind.PROVED for s in rivals)):
        return ()
    found = confirmed_jointly(form, precision, rng)
    return () if found is None else (found,)


def _on_both_sides(network: Network, model: Model, sides: np.ndarray) -> tuple[Statement, ...]:
    """Rows on the side, or the sides, that know of a kinked unit's coordinates."""
    phi = network.activation
    if not phi.kinks:
        return ()
    needed = model.inputs(network.n_inputs) + LIMITS.joint_spare
    left, right = (float(np.abs(phi(np.array(side)))) for side in (-1.0, 1.0))
    if model.linear or (left and right):
        known, words = sides.min(axis=0), "each side of its kink"
    else:
        known, words = sides[0 if right else 1], "its active side"
    few, least = tuple(np.flatnonzero(known < needed).tolist()), float(known.min()) if known.size else math.inf
    sentence = (
        f"Every unit has {least:.0f} rows or more on {words}, {needed} needed."
        if not few
        else f"{named(few)} known from fewer than {needed} rows on {words} (down to {int(known[list(few)].min())}); give more."
    )
    return (Statement(Topic.DETERMINED, Kind.TESTED, not few, sentence, least, needed, few),)


def _combination(network: Network, rng: np.random.Generator) -> Network:
    """⟨u, f(x)⟩ for a random u, without its linear part: what agrees with f on the rows agrees with it, whatever u is."""
    u = rng.normal(size=network.n_outputs)
    return replace(network.combined(u / np.linalg.norm(u)), V=None)


def _rivals(
    network: Network,
    model: Model,
    samples: Samples,
    gauge: Gauge,
    distinct: int,
    rng: np.random.Generator,
) -> tuple[Statement, ...]:
    """What a combination of the outputs says by the theorems for one; its rivals count if they explain every output.

    At fewer rows than one output needs its counts do not apply, and rows of a density alone are tested; what their shape leaves
    open it leaves open at any count.
    """
    phi = network.activation
    if phi.polynomial or not network.n_units:
        sentence = f"Units of the polynomial {phi.name!r} are examined for one output without a linear part; certify that."
        return (Statement(Topic.RIVALS, Kind.TESTED, not network.n_units, sentence),)
    enough = distinct >= gauge.size + network.n_inputs * model.linear + LIMITS.spare_rows
    own = samples.map(OwnTargets(gauge.network))
    findings = examine_beside_linear(own, gauge) if model.linear else examine(own, gauge, rng=rng)
    judged = [f for f in (_of_all_outputs(f, network, model, samples) for f in findings) if f is not None]
    if not enough:
        judged = [f for f in judged if f.outcome is Outcome.FOUND and f.units]
        judged += of_few_rows(some_inputs(samples), gauge, noisy=False)
    if not judged or (not enough and all(f.outcome is Outcome.NONE_FOUND for f in judged)):
        sentence = "No rival is known: rows, sides of the kinks, first order and held-out rows were tested; not proved."
        judged += [Finding(Outcome.NONE_FOUND, sentence)]
    lines = dict.fromkeys(line[:1].upper() + line[1:] for f in judged for line in f.assumes if line != DENSITY)
    return (*(of_finding(f) for f in judged), *(assumed(f"{line}.") for line in lines))


def _told_apart(gauge: Gauge, samples: Samples, heldout: Samples, held: HeldOut) -> Statement | None:
    """That held-out rows refute all rivals of an analytic φ; None where they may share what leaves some with the fitted."""
    phi, X = gauge.network.activation, some_inputs(samples)
    if not (phi.analytic and phi.uniqueness and held.rows and held.level <= LIMITS.rounding) or phi.polynomial:
        return None
    if discrete_columns(X).any() or examine_uncounted(np.vstack([X, some_inputs(heldout)]), gauge):
        return None
    sentence = (
        "No rival: an analytic network that is not the truth differs from it at almost every input, and "
        f"{held.rows} rows that shaped no candidate agree."
    )
    return Statement(Topic.RIVALS, Kind.PROVED, True, sentence, held.rows, 1)


def _of_all_outputs(finding: Finding, network: Network, model: Model, samples: Samples) -> Finding | None:
    """The finding, its rivals being those that explain every output; None if none does.

    Without a linear part units that move against each other at first order show in the stacked Jacobian. What concerns all
    units lies in φ and the inputs. Two units that are one on most rows, a′v′ᵀ + a″v″ᵀ = avᵀ, have its a, or else its kink:
    elsewhere they can make up a multiple of a, and nothing else.
    """
    if finding.instead:
        A = network.A
        _, sizes, span = np.linalg.svd(A[list(finding.instead)], full_matrices=False)
        span = span[sizes > RIVALS.independent * sizes[0]]
        off = [np.linalg.norm(A[i] - (A[i] @ span.T) @ span) > RIVALS.same * np.linalg.norm(A[i]) for i in finding.units]
        units = tuple(i for i, other in zip(finding.units, off, strict=True) if not other)
        return replace(finding, units=units) if units else None
    if finding.outcome is not Outcome.FOUND or model.linear or not finding.units:
        return finding
    kept = tuple(rival for rival in finding.rivals if _explains(rival, network, model, samples))
    return replace(finding, rivals=kept) if kept else None


def _explains(rival: Network, network: Network, model: Model, samples: Samples) -> bool:
    """Whether some output weights of the rival's units give the network's values on some of the rows."""
    X = some_inputs(samples)
    columns = [rival.activation(X @ rival.W + rival.b), *([np.ones((len(X), 1))] if model.offset else [])]
    F, Y = np.hstack(columns), network.predict(X).reshape(len(X), -1)
    rest = Y - F @ np.linalg.lstsq(F, Y)[0]
    return bool(np.abs(rest).max() <= RIVALS.same * np.abs(Y).max())
