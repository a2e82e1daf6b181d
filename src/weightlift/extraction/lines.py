"""A piecewise linear function on a line, rebuilt from a few values: every kink, and the piece between any two.

Along a line a network of kinked units is piecewise linear with one kink a unit. Two pieces L, R at the ends of an interval meet
at one place t*. If the interval holds one kink it lies there, and two values right beside t* show it: one on L, one on R. (A
value at t* itself would not do: behind a cluster of kinks L and R may meet outside of it.) If they show something else they are
a piece of their own, and the interval is split there. A pair may straddle a kink and is no piece then: a later value between
its two that does not lie on it says so, and it is dropped. All intervals of a level are asked about in one batch.
Cost    four values for the ends and about four a kink.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from weightlift.extraction.limits import LIMITS

Values = Callable[[np.ndarray], np.ndarray]  # (n,) places -> (n, m) values
Rounding = Callable[[np.ndarray], np.ndarray]  # (n,) places -> (n,) bounds on the values' errors


@dataclass(frozen=True, eq=False)
class Tangent:
    """Value and slope at a place, and a bound on the slope's error."""

    t: float
    value: np.ndarray  # (m,)
    slope: np.ndarray  # (m,)
    error: float
    half: float = 0.0  # its two values lie at t ± half
    zero: bool = False  # value and slope are zero within their errors

    def at(self, t: float) -> np.ndarray:
        return self.value + (t - self.t) * self.slope


@dataclass(frozen=True, eq=False)
class Broken:
    """A continuous, piecewise linear function: kinks in order, and one piece between any two of them."""

    kinks: np.ndarray  # (k,)
    pieces: tuple[Tangent, ...]  # k + 1
    edges: np.ndarray  # (k + 2,) the kinks between the ends of the line
    resolved: bool  # no kinks too close to be told apart, and every value explained
    curved: bool = False  # splits found no pieces

    def first(self, n: int) -> Broken:
        """The first n pieces alone."""
        return replace(self, kinks=self.kinks[: n - 1], pieces=self.pieces[:n], edges=self.edges[: n + 1])


def broken_line(
    values: Values,
    rounding: Rounding,
    knots: tuple[float, ...],
    beside: float = LIMITS.line_beside,
    end: float = LIMITS.line_end,
) -> Broken:
    """Kinks and pieces of the function between the first and the last knot; most kinks should lie within a few units of 0.

    knots: places of the first pieces, two for exact values, more for coarse ones, whose pieces do not reach far. beside: half
    the least width of a pair of values over that of its interval. end: that of the first pieces over the knots' distance.
    """
    waiting, places, found = _first_gaps(values, rounding, np.array(knots), end)
    asked = [(places, found)]
    kinks: list[float] = []
    span = knots[0], knots[-1]
    for _ in range(LIMITS.line_levels):
        waiting = [gap for gap in waiting if not gap.straight(rounding)]
        if not waiting or any(gap.narrow(rounding, beside) for gap in waiting):
            break
        if sum(len(places) for places, _ in asked) // 2 > LIMITS.line_splits[0] + LIMITS.line_splits[1] * len(kinks):
            return Broken(np.sort(np.array(kinks)), (), np.empty(0), resolved=False, curved=True)
        plans = [gap.plan(rounding, beside) for gap in waiting]
        pairs = np.array([[t - h, t + h] for t, h in plans])
        answers = values(pairs.ravel()).reshape(len(plans), 2, -1)
        asked.append((pairs.ravel(), answers.reshape(pairs.size, -1)))
        shown = list(zip(waiting, pairs, answers, strict=True))
        steps = [gap.next(pair, found, rounding) for gap, pair, found in shown]
        kinks += [step for step in steps if isinstance(step, float)]
        false = [piece for gap, pair, found in shown for piece in gap.disproved(pair, found, rounding)]
        waiting, span = _without(false, [gap for step in steps if isinstance(step, list) for gap in step], span)
    places, found = (np.concatenate(parts) for parts in zip(*asked, strict=True))
    kept = (places >= span[0]) & (places <= span[1])
    return _rebuilt(np.sort(np.array(kinks)), places[kept], found[kept], rounding, span, whole=not waiting)


def _first_gaps(values: Values, rounding: Rounding, knots: np.ndarray, end: float) -> tuple[list[Gap], np.ndarray, np.ndarray]:
    """Pieces beside the knots, at the ends inwards, and the gaps between them; with all places and values."""
    width = end * np.minimum(np.diff(knots, prepend=-np.inf), np.diff(knots, append=np.inf))
    places = np.column_stack([knots, knots + np.where(np.arange(len(knots)) < len(knots) - 1, width, -width)])
    places.sort(axis=1)
    found = values(places.ravel()).reshape(len(knots), 2, -1)
    pieces = [_piece(pair, pair_values, rounding) for pair, pair_values in zip(places, found, strict=True)]
    return [Gap(*pair) for pair in itertools.pairwise(pieces)], places.ravel(), found.reshape(places.size, -1)


@dataclass(frozen=True, eq=False)
class Gap:
    """Two pieces with unknown kinks between them."""

    left: Tangent
    right: Tangent
    split: float = math.nan  # where to split next; NaN: where the pieces meet
    reach: tuple[float, float] = (-math.inf, math.inf)  # values on the left piece are known up to here, on the right from here

    @property
    def low(self) -> float:
        return max(self.left.t, self.reach[0])

    @property
    def high(self) -> float:
        return min(self.right.t, self.reach[1])

    @property
    def width(self) -> float:
        return self.high - self.low

    def straight(self, rounding: Rounding) -> bool:
        """Whether the two pieces are one."""
        bend, gap, error = self._difference(rounding)
        return bool(np.linalg.norm(bend) <= 2 * (self.left.error + self.right.error) and np.linalg.norm(gap) <= 2 * error)

    def narrow(self, rounding: Rounding, beside: float) -> bool:
        """Whether numbers end before kinks are told apart, or a further piece would be lost in its error."""
        h = beside * min(self.width, 1 + min(abs(self.low), abs(self.high)))
        bend, gap, _ = self._difference(rounding)
        largest = max(float(np.linalg.norm(bend)), float(np.linalg.norm(gap)) / (self.right.t - self.left.t))
        error = float(rounding(np.array([self.low, self.high])).max()) / h
        return bool(h <= 32 * np.spacing(max(abs(self.low), abs(self.high))) or error > largest)

    def plan(self, rounding: Rounding, beside: float) -> tuple[float, float]:
        """(t, h): ask at t ± h."""
        bend, gap, error = self._difference(rounding)
        size = float(np.linalg.norm(bend))
        t, h = self.split, 0.0
        if math.isnan(t) and size > 0:
            t, h = self.right.t - float(gap @ bend) / size**2, LIMITS.line_certainty * error / size
        if not (self.low + h < t < self.high - h and h < LIMITS.line_widest * self.width):
            t, h = _middle(self.low, self.high), 0.0
        h = max(h, beside * min(self.width, 1 + abs(t)))
        return t, min(h, 0.5 * (t - self.low), 0.5 * (self.high - t))

    def next(self, pair: np.ndarray, found: np.ndarray, rounding: Rounding) -> float | list[Gap]:
        """The one kink between the pieces, or the gaps that are left."""
        on_left = [_on(self.left, t, value, rounding) for t, value in zip(pair, found, strict=True)]
        on_right = [_on(self.right, t, value, rounding) for t, value in zip(pair, found, strict=True)]
        if on_left == [True, False] and on_right == [False, True]:
            return float(pair.mean())
        step = 3 * float(pair[1] - pair[0])
        if on_left == [True, False]:  # the kink beside L lies between the two values
            return [replace(self, split=float(pair[1]) + step, reach=(float(pair[0]), self.reach[1]))]
        if on_right == [False, True]:
            return [replace(self, split=float(pair[0]) - step, reach=(self.reach[0], float(pair[1])))]
        middle = _piece(pair, found, rounding)
        low, high = self.reach
        return [Gap(self.left, middle, reach=(low, math.inf)), Gap(middle, self.right, reach=(-math.inf, high))]

    def disproved(self, pair: np.ndarray, found: np.ndarray, rounding: Rounding) -> list[Tangent]:
        """The pieces beside a kink that straddle one themselves: a value between their two does not lie on them."""
        return [
            piece
            for piece in (self.left, self.right)
            if any(abs(t - piece.t) < piece.half and not _on(piece, t, v, rounding) for t, v in zip(pair, found, strict=True))
        ]

    def _difference(self, rounding: Rounding) -> tuple[np.ndarray, np.ndarray, float]:
        """R − L in slope and, at R's place, in value, with a bound on the latter's error."""
        distance = self.right.t - self.left.t
        error = float(rounding(np.array([self.left.t, self.right.t])).sum()) + (self.left.error + self.right.error) * distance
        return self.right.slope - self.left.slope, self.right.value - self.left.at(self.right.t), error


def _piece(places: np.ndarray, found: np.ndarray, rounding: Rounding) -> Tangent:
    width = float(places[1] - places[0])
    error = float(rounding(places).sum()) / width
    value, slope = found.mean(axis=0), (found[1] - found[0]) / width
    zero = bool(np.linalg.norm(slope) <= 2 * error and np.linalg.norm(value) <= float(rounding(places).sum()))
    return Tangent(float(places.mean()), value, slope, error, width / 2, zero)


def _without(false: list[Tangent], gaps: list[Gap], span: tuple[float, float]) -> tuple[list[Gap], tuple[float, float]]:
    """The gaps on both sides of a false piece as one; where it was the line's end, the line ends before."""
    for piece in false:
        before, after = [gap for gap in gaps if gap.right is piece], [gap for gap in gaps if gap.left is piece]
        gaps = [gap for gap in gaps if gap.right is not piece and gap.left is not piece]
        if before and after:
            reach = before[0].reach[0], after[0].reach[1]
            gaps.append(Gap(before[0].left, after[0].right, reach=reach))
        elif before:
            span = span[0], before[0].left.t + before[0].left.half
        elif after:
            span = after[0].right.t - after[0].right.half, span[1]
    return gaps, span


def _middle(low: float, high: float) -> float:
    """Half-way in arsinh t: kinks crowd around the line's origin as t = z/⟨w,u⟩ does, whose law has tails 1/t²."""
    return math.sinh((math.asinh(low) + math.asinh(high)) / 2)


def _on(piece: Tangent, t: float, value: np.ndarray, rounding: Rounding) -> bool:
    error = float(rounding(np.array([t, piece.t])).sum()) + piece.error * abs(t - piece.t)
    return bool(np.linalg.norm(piece.at(t) - value) <= 2 * error)


def _rebuilt(
    kinks: np.ndarray, places: np.ndarray, found: np.ndarray, rounding: Rounding, span: tuple[float, float], *, whole: bool
) -> Broken:
    """Pieces from the two outermost values of each cell, kinks where neighbours meet; all values between must lie on them."""
    order = np.argsort(places)
    places, found = places[order], found[order]
    cell = np.searchsorted(kinks, places)
    pieces = []
    for c in range(len(kinks) + 1):
        inside = np.flatnonzero(cell == c)
        if len(inside) < 2 or places[inside[-1]] <= places[inside[0]]:
            return Broken(kinks, (), np.empty(0), resolved=False)
        ends = inside[[0, -1]]
        piece = _piece(places[ends], found[ends], rounding)
        whole = whole and all(_on(piece, t, v, rounding) for t, v in zip(places[inside], found[inside], strict=True))
        pieces.append(piece)
    if any(not (right.slope - left.slope).any() for left, right in itertools.pairwise(pieces)):  # a jump, not a kink
        return Broken(kinks, (), np.empty(0), resolved=False)
    kinks = np.array([_meeting(left, right) for left, right in itertools.pairwise(pieces)])
    edges = np.concatenate([span[:1], kinks, span[1:]])
    return Broken(kinks, tuple(pieces), edges, whole and bool((np.diff(edges) > 0).all()))


def _meeting(left: Tangent, right: Tangent) -> float:
    bend = right.slope - left.slope
    return right.t - float((right.value - left.at(right.t)) @ bend) / float(bend @ bend)
