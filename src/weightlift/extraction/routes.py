"""The ways from a black box to an estimate: lines for kinked φ, derivatives for smooth φ."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from weightlift.activations import Activation
from weightlift.errors import BudgetError
from weightlift.extraction.estimate import Estimate
from weightlift.extraction.fresh import fresh_rows, rows_alone, rows_on_sides, rows_to_prove
from weightlift.extraction.kinked import by_line, is_straight, slopes_of
from weightlift.extraction.limits import LIMITS
from weightlift.extraction.orientation import turned
from weightlift.extraction.polish import polish
from weightlift.extraction.probe import Probe
from weightlift.extraction.smooth import Local, Numbers, Span, directions, find_span, local, numbers


@dataclass(frozen=True, eq=False)
class Found:
    """An estimate, the fresh rows it was compared with, and whether it explains them to the answers' precision."""

    estimate: Estimate
    xi: np.ndarray  # (n, d)
    Y: np.ndarray  # (n, m)
    explained: bool
    notes: tuple[str, ...] = ()
    inexact: float = 0.0  # relative error of the answers' explanation beyond their rounding
    seen: int = 0  # units that showed, at least, where no estimate has them
    spent: bool = False  # the budget ended before it was complete: the rows are all that were asked, fresh or not


def lines_route(probe: Probe, activation: Activation, linear: bool | None, rng: np.random.Generator) -> Found:
    """Lines until nothing bends; then fresh rows, and the polish on all that was asked."""
    nothing = Estimate.nothing(probe.d, probe.oracle.n_outputs or 1, activation)
    best: Found | None = None
    for _ in range(1 if probe.quantum.coarse else LIMITS.whole):  # where coarse answers hide a kink, random rows do better
        try:
            crossed = by_line(probe, nothing, rng)
        except BudgetError:
            if best is None:
                raise
            return best
        if crossed.estimate is None:
            break
        found = _completed(probe, crossed.estimate, crossed.error, linear, rng)
        best = found if best is None or _residual(found) < _residual(best) else best
        if best.explained or best.spent:
            return best
    if best is None:
        note = "On random lines the answers are not piecewise linear with kinks that can be told apart."
        return replace(unexplained(probe, nothing, note, rng), seen=crossed.seen)
    note = "A piecewise linear network of one hidden layer that fits random lines does not explain random rows."
    return replace(best, notes=(*best.notes, note))


def _completed(probe: Probe, first: Estimate, error: float, linear: bool | None, rng: np.random.Generator) -> Found:
    """Further lines on what an estimate of this relative error leaves; fresh rows; the polish.

    Coarse answers leave errors of the units in which no line shows anything: they are polished as they are.
    """
    estimate = first
    rows = np.empty((0, probe.d)), np.empty((0, len(first.c)))
    try:
        if probe.quantum.coarse:
            return _fitted(rows, probe, estimate, linear, rng)
        for _ in range(LIMITS.rounds):
            rows = _with_fresh(rows, LIMITS.tried, probe, estimate, rng)
            rest = probe.without(estimate, min(error, LIMITS.rough))
            if agrees(replace(rest, inexact=LIMITS.rough), estimate, *rows) and is_straight(rest, rng):
                found = _fitted(rows, probe, estimate, linear, rng)
                if found.explained or found.spent:
                    return found
                rows = found.xi, found.Y
            crossed = by_line(rest, estimate, rng)
            if crossed.estimate is None or crossed.estimate.k == estimate.k:
                break
            estimate, error = crossed.estimate, crossed.error
        return _fitted(rows, probe, estimate, linear, rng)
    except BudgetError as spent:
        return _cut(probe, estimate, spent, linear, len(rows[0]))


def _fitted(
    rows: tuple[np.ndarray, np.ndarray], probe: Probe, estimate: Estimate, linear: bool | None, rng: np.random.Generator
) -> Found:
    """All fresh rows that a proof needs, and the fit to all that was asked beside them."""
    missing = max(0, int(min(rows_to_prove(estimate, kinked=True) - len(rows[0]), probe.oracle.left)))
    rows = _with_fresh(rows, missing, probe, estimate, rng)
    if len(estimate.c) > 1 and 0 < estimate.N.size <= LIMITS.dense:  # rows that do for the parameters may not do for each unit
        sides = rows_on_sides(len(rows[0]), estimate, rng)
        sides = sides[: int(min(len(sides), probe.oracle.left))]
        rows = np.vstack([rows[0], sides]), np.vstack([rows[1], probe.ask(sides)])
    estimate = _faced(probe, polished(probe, estimate, linear), linear)
    inexact = LIMITS.unpolished if estimate.N.size > LIMITS.dense else 0.0
    explained = agrees(replace(probe, inexact=inexact), estimate, *rows)
    if explained and not probe.quantum.coarse:
        try:
            explained = is_straight(probe.without(estimate, LIMITS.agrees * probe.unit + inexact), rng)
        except BudgetError as spent:
            return _cut(probe, estimate, spent, linear, len(rows[0]))
    return Found(estimate, *rows, explained, inexact=inexact)


def _with_fresh(
    rows: tuple[np.ndarray, np.ndarray], n: int, probe: Probe, estimate: Estimate, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """With n further rows (ξ, Y)."""
    more = fresh_rows(n, estimate, rng)
    return np.vstack([rows[0], more]), np.vstack([rows[1], probe.ask(more)])


def _cut(probe: Probe, estimate: Estimate, error: BudgetError, linear: bool | None, fresh: int) -> Found:
    """What was found before the budget ended, beside all that was asked; polished where nothing is missing there."""
    X, Y = probe.oracle.rows
    xi, fit = probe.frame.into(X), polished(probe, estimate, linear)
    estimate = fit if agrees(probe, fit, xi, Y) else estimate
    enough = probe.oracle.queries - fresh + rows_to_prove(estimate, kinked=True) + LIMITS.tried
    so_far = f"{estimate.k} units were seen so far, and there may be more; some {enough} queries prove {estimate.k}."
    return Found(estimate, xi, Y, explained=False, notes=(f"The budget is spent: {error} {so_far}",), spent=True)


def _faced(probe: Probe, estimate: Estimate, linear: bool | None) -> Estimate:
    """With a linear part that polished units make up for by facing the other way gone, if there is one."""
    if not estimate.V.any():
        return estimate
    found = turned(estimate, slopes_of(estimate.activation), max(LIMITS.no_linear, LIMITS.coarse_units * probe.unit))
    return estimate if found is None else polished(probe, found, linear)


def with_rows(
    found: Found, probe: Probe, n: int, linear: bool | None, rng: np.random.Generator, units: tuple[int, ...] = ()
) -> Found:
    """With further fresh rows around the units' bends; the polish takes part of them where they do not agree as they are."""
    return _refitted(found, fresh_rows(n, found.estimate, rng, units), probe, linear)


def with_weak_units(found: Found, probe: Probe, precision: np.ndarray, linear: bool | None, rng: np.random.Generator) -> Found:
    """With rows at which units that coarse answers show less precisely than the others are on alone."""
    f, weak = found.estimate, np.flatnonzero(precision > LIMITS.weak * probe.noise() / probe.size)
    n = math.ceil(LIMITS.alone_rows * (probe.d + 1))
    if slopes_of(f.activation)[0] != 0 or not weak.size or f.V.any():
        return found
    more = np.vstack([rows_alone(n, int(unit), probe.size, f, rng) for unit in weak])
    return _refitted(found, more, probe, linear) if 0 < len(more) <= probe.oracle.left else found


def _refitted(found: Found, more: np.ndarray, probe: Probe, linear: bool | None) -> Found:
    found = replace(found, xi=np.vstack([found.xi, more]), Y=np.vstack([found.Y, probe.ask(more)]))
    able = replace(probe, inexact=found.inexact)
    if agrees(able, found.estimate, found.xi, found.Y):
        return replace(found, explained=True)
    estimate = polished(probe, found.estimate, linear)
    return replace(found, estimate=estimate, explained=agrees(able, estimate, found.xi, found.Y))


def at_minimum(found: Found, probe: Probe, linear: bool | None) -> Found:
    """With the least-squares fit to the fresh rows alone, if it agrees with all that was asked: what a judge of noise wants."""
    free = bool(found.estimate.V.any()) if linear is None else linear
    estimate = polish(found.estimate, found.xi, found.Y, linear=free)
    X, Y = probe.oracle.rows
    return replace(found, estimate=estimate) if agrees(probe, estimate, probe.frame.into(X), Y) else found


def unexplained(probe: Probe, nothing: Estimate, note: str, rng: np.random.Generator) -> Found:
    """Random rows that show that nothing explains them, and the affine function nearest to them."""
    xi = rng.standard_normal((int(min(LIMITS.evidence, probe.oracle.left)), probe.d))
    return _affine(xi, probe.ask(xi), nothing, note)


def from_nothing(probe: Probe, activation: Activation, note: str) -> Found:
    """The affine function nearest to all that was asked, where the budget allowed no more."""
    X, Y = probe.oracle.rows
    return _affine(probe.frame.into(X), Y, Estimate.nothing(probe.d, Y.shape[1], activation), note)


def _affine(xi: np.ndarray, Y: np.ndarray, nothing: Estimate, note: str) -> Found:
    fit = np.linalg.lstsq(np.column_stack([np.ones(len(xi)), xi]), Y, rcond=None)[0]
    return Found(replace(nothing, c=fit[0], V=fit[1:]), xi, Y, explained=False, notes=(note,))


def derivatives_route(
    probe: Probe, candidates: tuple[Activation, ...], most: int | None, linear: bool | None, rng: np.random.Generator
) -> Found:
    """Span, Hessians, numbers, polish; another Hessian while fresh rows disagree."""
    span = find_span(probe, most, rng)
    spots = [local(probe, span.U, rng) for _ in range(2)]
    free = span.linear if linear is None else linear
    xi = rng.standard_normal((int(min(_rows_of(span, candidates[0], free), probe.oracle.left)), probe.d))
    Y = probe.ask(xi)
    best = Found(Estimate.nothing(probe.d, Y.shape[1], candidates[0]), xi, Y, explained=False)
    while True:
        for N in _pairs(spots, rng):
            rows = probe.frame.into(probe.oracle.rows[0]), probe.oracle.rows[1]
            for activation in candidates:
                solutions = numbers(N, span, tuple(spots), activation)
                estimate = _exchanged(probe, polished(probe, solutions.chosen(rows), free), solutions, rows, free)
                found = _around_bends(Found(estimate, xi, Y, agrees(probe, estimate, xi, Y)), probe, free, rng)
                best = min(best, found, key=_residual)
                if found.explained and agrees_far(probe, found.estimate, rng):
                    return found
        if len(spots) == LIMITS.spots or probe.oracle.left < len(spots[0].gradient) ** 2:
            break
        spots.append(local(probe, span.U, rng))
    seen = span.U.shape[1]
    note = f"Gradients span {seen} directions, and no fit of as many units explains random rows."
    best = best if best.estimate.k else unexplained(probe, best.estimate, note, rng)
    return replace(best, explained=False, notes=(note,), seen=seen)


def _exchanged(
    probe: Probe, estimate: Estimate, solutions: Numbers, rows: tuple[np.ndarray, np.ndarray], linear: bool
) -> Estimate:
    """A fit that is nearly right, with other numbers of one unit where these explain all that was asked."""
    if agrees(probe, estimate, *rows) or not agrees(replace(probe, inexact=LIMITS.rough), estimate, *rows):
        return estimate
    fits = (polished(probe, other, linear) for other in solutions.others(estimate, rows))
    return next((other for other in fits if agrees(probe, other, *rows)), estimate)


def _around_bends(found: Found, probe: Probe, linear: bool, rng: np.random.Generator) -> Found:
    """A fit that is nearly right, by rows where its units bend: one side of a unit may fix less than both (ELU's is eᶻ)."""
    for _ in range(LIMITS.rounds):
        nearly = agrees(replace(probe, inexact=LIMITS.rough), found.estimate, found.xi, found.Y)
        if found.explained or not nearly or probe.oracle.left < LIMITS.tried:
            break
        before = _residual(found)
        found = with_rows(found, probe, LIMITS.tried, linear, rng)
        if _residual(found) > before:  # these rows do not fix it: it is another fit
            break
    return found


def _rows_of(span: Span, activation: Activation, linear: bool) -> int:
    """Rows for as many units as the span has directions."""
    k, m = span.U.shape[1], span.gradient.shape[1]
    V = span.gradient if linear else np.zeros_like(span.gradient)
    return rows_to_prove(Estimate(span.U, np.zeros(k), np.zeros((k, m)), V, np.zeros(m), activation), kinked=False)


def _pairs(spots: list[Local], rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Directions of the units, from the last Hessian beside each of the others."""
    for other in spots[:-1]:
        N = directions(other, spots[-1], rng)
        if N is not None and np.linalg.cond(N) < LIMITS.parallel:
            yield N


def _residual(found: Found) -> float:
    return float(np.abs(found.Y - found.estimate(found.xi)).max(initial=0.0))


def agrees(probe: Probe, estimate: Estimate, xi: np.ndarray, Y: np.ndarray) -> bool:
    """Whether the estimate is right to the answers' precision, or to what the probe allows for an inexact one."""
    bound = probe.bounds(xi) * (probe.unit + probe.inexact) / probe.unit
    return bool((np.abs(Y - estimate(xi)).max(axis=1, initial=0.0) <= LIMITS.agrees * bound).all())


def agrees_far(probe: Probe, estimate: Estimate, rng: np.random.Generator) -> bool:
    """Whether rows far out agree, where units show that are off, or flat, around the centre. A spent budget asks no more."""
    xi = LIMITS.far * rng.standard_normal((int(min(LIMITS.tried, probe.oracle.left)), probe.d))
    return agrees(replace(probe, inexact=LIMITS.unpolished), estimate, xi, probe.ask(xi)) if len(xi) else True


def polished(probe: Probe, estimate: Estimate, linear: bool | None) -> Estimate:
    """The fit to all answers, weighted by their precision; too many parameters are left as they are."""
    X, Y = probe.oracle.rows
    xi = probe.frame.into(X)
    if estimate.k * len(estimate.N) > LIMITS.dense:
        return estimate
    weights = 1.0 / probe.bounds(xi)
    free = bool(estimate.V.any()) if linear is None else linear
    return polish(estimate, xi, Y, linear=free, weights=weights)
