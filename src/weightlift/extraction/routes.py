"""The ways from a black box to an estimate: lines for kinked φ, derivatives for smooth φ, samples for what is left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from weightlift.activations import Activation
from weightlift.errors import BudgetError
from weightlift.extraction.estimate import Estimate
from weightlift.extraction.fresh import fresh_rows, rows_to_prove
from weightlift.extraction.kinked import by_line, is_straight, slopes_of
from weightlift.extraction.limits import LIMITS
from weightlift.extraction.orientation import turned
from weightlift.extraction.polish import polish
from weightlift.extraction.probe import Probe
from weightlift.extraction.smooth import Local, Span, directions, find_span, local, numbers
from weightlift.recovery import recover


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
    """Further lines on what an estimate of this relative error leaves; fresh rows; the polish."""
    estimate, rough = first, max(LIMITS.rough, LIMITS.coarse_units * probe.unit)
    rows = np.empty((0, probe.d)), np.empty((0, len(first.c)))
    try:
        for _ in range(LIMITS.rounds):
            rows = _with_fresh(rows, LIMITS.tried, probe, estimate, rng)
            rest = probe.without(estimate, min(error, rough))
            if agrees(replace(rest, inexact=rough), estimate, *rows) and (probe.quantum.coarse or is_straight(rest, rng)):
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
    estimate = _faced(probe, _polished(probe, estimate, linear), linear)
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
    xi, polished = probe.frame.into(X), _polished(probe, estimate, linear)
    estimate = polished if agrees(probe, polished, xi, Y) else estimate
    enough = probe.oracle.queries - fresh + rows_to_prove(estimate, kinked=True) + LIMITS.tried
    so_far = f"{estimate.k} units were seen so far, and there may be more; some {enough} queries prove {estimate.k}."
    return Found(estimate, xi, Y, explained=False, notes=(f"The budget is spent: {error} {so_far}",), spent=True)


def _faced(probe: Probe, estimate: Estimate, linear: bool | None) -> Estimate:
    """With a linear part that polished units make up for by facing the other way gone, if there is one."""
    if not estimate.V.any():
        return estimate
    found = turned(estimate, slopes_of(estimate.activation), max(LIMITS.no_linear, LIMITS.coarse_units * probe.unit))
    return estimate if found is None else _polished(probe, found, linear)


def with_rows(found: Found, probe: Probe, n: int, linear: bool | None, rng: np.random.Generator) -> Found:
    """With further fresh rows around the units' bends; the polish takes part of them where they do not agree as they are."""
    more = fresh_rows(n, found.estimate, rng)
    found = replace(found, xi=np.vstack([found.xi, more]), Y=np.vstack([found.Y, probe.ask(more)]))
    able = replace(probe, inexact=found.inexact)
    if agrees(able, found.estimate, found.xi, found.Y):
        return replace(found, explained=True)
    estimate = _polished(probe, found.estimate, linear)
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
                estimate = _polished(probe, numbers(N, span, tuple(spots), rows, activation), free)
                found = _around_bends(Found(estimate, xi, Y, agrees(probe, estimate, xi, Y)), probe, free, rng)
                best = min(best, found, key=_residual)
                if found.explained and agrees_far(probe, found.estimate, rng):
                    return found
        if len(spots) == LIMITS.spots or probe.oracle.left < len(spots[0].gradient) ** 2:
            break
        spots.append(local(probe, span.U, rng))
    note = f"Gradients span {span.U.shape[1]} directions, and no fit of as many units explains random rows."
    return replace(best, explained=False, notes=(note,)) if best.estimate.k else unexplained(probe, best.estimate, note, rng)


def _around_bends(found: Found, probe: Probe, linear: bool, rng: np.random.Generator) -> Found:
    """A fit that is nearly right, by rows where its units bend: one side of a unit may fix less than both (ELU's is eᶻ)."""
    for _ in range(LIMITS.rounds):
        nearly = agrees(replace(probe, inexact=LIMITS.rough), found.estimate, found.xi, found.Y)
        if found.explained or not nearly or probe.oracle.left < LIMITS.tried:
            break
        found = with_rows(found, probe, LIMITS.tried, linear, rng)
    return found


def samples_route(
    probe: Probe, found: Found, activation: Activation, most: int | None, linear: bool | None, rng: np.random.Generator
) -> Found:
    """The search on random rows where lines or derivatives do not tell the units apart: widths from what they have seen.

    As many rows as a width needs, then twice as many; what was found before, where none explains them.
    """
    least = max(found.seen, found.estimate.k + 1)  # its own units do not explain the rows
    widths = (most,) if most is not None else range(least, least + LIMITS.searched_widths)
    rows = found.xi, found.Y
    for times in range(1, LIMITS.searches + 1):
        for width in widths:
            missing = max(0, times * LIMITS.searched * (probe.d + 2) * width - len(rows[0]))
            if probe.oracle.left < missing:
                return found
            more = rng.choice(LIMITS.searched_scales, size=(missing, 1)) * rng.standard_normal((missing, probe.d))
            rows = np.vstack([rows[0], more]), np.vstack([rows[1], probe.ask(more)])
            estimate = _polished(probe, _searched(*rows, width, activation, bool(linear), rng), bool(linear))
            done = _confirmed(probe, estimate, rows, linear, rng)
            rows = done.xi, done.Y
            if done.explained:
                return done
    return found


def _confirmed(
    probe: Probe,
    estimate: Estimate,
    rows: tuple[np.ndarray, np.ndarray],
    linear: bool | None,
    rng: np.random.Generator,
) -> Found:
    """An estimate that agrees with its rows, less what it does not need, on a few further ones and far out."""
    if not agrees(probe, estimate, *rows):
        return Found(estimate, *rows, explained=False)
    needed = _needed(probe, estimate, rows, bool(linear))
    tried = int(min(LIMITS.tried, probe.oracle.left))
    found = with_rows(Found(needed, *rows, explained=True), probe, tried, linear, rng)
    return replace(found, explained=found.explained and agrees_far(probe, found.estimate, rng))


def _needed(probe: Probe, estimate: Estimate, rows: tuple[np.ndarray, np.ndarray], linear: bool) -> Estimate:
    """Without units that the others can make up for: those of a width above the truth's."""
    while estimate.k > 1:
        fewer = [_polished(probe, estimate.without(i), linear) for i in range(estimate.k)]
        fewer = [f for f in fewer if agrees(probe, f, *rows)]
        if not fewer:
            return estimate
        estimate = min(fewer, key=lambda f: float(np.linalg.norm(rows[1] - f(rows[0]))))
    return estimate


def _searched(
    xi: np.ndarray, Y: np.ndarray, width: int, activation: Activation, linear: bool, rng: np.random.Generator
) -> Estimate:
    found = recover(
        xi,
        Y[:, 0] if Y.shape[1] == 1 else Y,
        n_units=width,
        activation=activation,
        bias=True,
        offset=True,
        linear=linear,
        max_work=LIMITS.search_work,
        rng=rng,
    )
    return Estimate.of(found.network)


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


def _polished(probe: Probe, estimate: Estimate, linear: bool | None) -> Estimate:
    """The fit to all answers, weighted by their precision; too many parameters are left as they are."""
    X, Y = probe.oracle.rows
    xi = probe.frame.into(X)
    if estimate.k * len(estimate.N) > LIMITS.dense:
        return estimate
    weights = 1.0 / probe.bounds(xi)
    free = bool(estimate.V.any()) if linear is None else linear
    return polish(estimate, xi, Y, linear=free, weights=weights)
