"""What else could explain the rows: each doubt is a reason to call the units ambiguous.

    blurred, close, other_signs     of the function: units that are not determined, nearly parallel, or reflected for free
    empty_sides                     of the rows: a kinked unit with few of them on one side is a polynomial there
    unconfirmed                     of the rows: an input that alone determines a parameter
    few_values                      of the rows: units that see no more different inputs than they have parameters
    reflected                       a network with reflected units that fits as well, found by a refit (`absorption`)
    exchanged                       a network whose units take each other's places on some rows (`exchanges`, `places`)
    rearranged                      a network with other kinks that fits as well, found by a refit (`cells`)
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from weightlift.certificate.absorption import absorbed_patterns
from weightlift.certificate.cells import TOLERANCE, other_arrangements
from weightlift.certificate.exactness import LARGEST_PRECISION, separation
from weightlift.certificate.exchanges import discrete
from weightlift.certificate.exchanges import exchanged as exchanged_rivals
from weightlift.certificate.places import permuted
from weightlift.certificate.rivals import refined, refitted
from weightlift.certificate.scores import LARGEST_LEVERAGE, SharedLeverages
from weightlift.errors import ArgumentError
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.evidence.rows import Sides, rows_beside
from weightlift.identifiability import Redundancy, irreducible, sign_patterns
from weightlift.network import Network
from weightlift.samples import Samples

RIVAL_DAMPING = 1e-9
SINGLE_ROWS = 4  # on a side of a kink, each of which is moved to the other


@dataclass(frozen=True, eq=False)
class Doubt:
    """A reason, the units that it concerns, and what was found: sign patterns, or the rows beside each kink."""

    reason: str
    units: tuple[int, ...]
    patterns: np.ndarray | None = None
    least_rows: tuple[int, ...] | None = None


def blurred(precision: np.ndarray) -> Doubt | None:
    units = tuple(np.flatnonzero(~(precision <= LARGEST_PRECISION)).tolist())
    if not units:
        return None
    return Doubt(
        f"{named(units)} hardly determined (relative precision {precision.max():.1g} at best, from residuals at rounding "
        "level); use fewer units or give more rows.",
        units,
    )


def close(gauge: Gauge, precision: np.ndarray) -> Doubt | None:
    units = tuple(np.flatnonzero(separation(gauge) <= 10 * precision).tolist())
    return Doubt(f"{named(units)} parallel to another within the precision; use fewer units.", units) if units else None


def other_signs(network: Network, *, offset: bool, tol: float) -> Doubt | None:
    """Units that may be reflected without changing the function [awasthi2021, Thm 3.4], or that no theorem covers."""
    near = max(tol, 1e-3)
    opposite = [f for f in irreducible(network, tol=min(tol, 1e-4), near=near).exact if f.kind is Redundancy.OPPOSITE]
    if opposite:
        pair = opposite[0].units
        return Doubt(f"{named(pair)} opposite to each other: no theorem makes such units unique.", pair)
    try:
        patterns = sign_patterns(network, offset=offset, tol=tol, near=tol)
    except ArgumentError as error:
        return Doubt(f"Other signs could not be excluded: {error}", _all(network))
    if not patterns.ambiguous:
        return None
    other = patterns.patterns[patterns.distinct]
    units = tuple(np.flatnonzero(other.any(axis=0)).tolist()) if len(other) else _all(network)
    reason = (
        f"Reflecting {named(units, verb=False)} leaves the function unchanged ({len(other)} other sign "
        f"pattern{'s' * (len(other) != 1)}): no data can tell which is right."
    )
    return Doubt(reason, units, patterns=other)


def empty_sides(samples: Samples, gauge: Gauge, spare: int) -> Doubt | None:
    """A kinked unit with few rows on one side is there a polynomial that other units, or its reflection, may carry."""
    if not gauge.network.activation.kinks:
        return None
    wanted = gauge.unit_size + spare
    rows = rows_beside(samples.fold(Sides(gauge.network, wanted)))
    few = tuple(np.flatnonzero(rows < wanted).tolist())
    if not few:
        return None
    reason = (
        f"{named(few)} beyond reach: {int(rows.min())} distinct rows on the emptier side of the kink, {wanted} are needed; "
        "give more rows there."
    )
    return Doubt(reason, few, least_rows=tuple(int(r) for r in rows))


def on_kinks(
    X: np.ndarray, samples: Samples, information: Information, clear: Information, precision: np.ndarray, regions: np.ndarray
) -> Doubt | None:
    """Units that only rows within noise of a kink determine: on which side these are is chance.

    clear: JᵀJ without the rows that any unit in the regions (r, k, q, q) has on its kink. What suffices without them is not in
    doubt; else the unit is moved to where they change sides, some of them at a time, as others may take their place.
    """
    gauge = information.gauge
    units = _all(gauge.network)
    before = np.array([gauge.relative_size(i, information.unit_inverse(i)) for i in units])

    def undetermined(i: int, there: Information) -> bool:
        return not (there.full_rank and precision[i] * gauge.relative_size(i, there.unit_inverse(i)) <= before[i])

    units = tuple(i for i in units if undetermined(i, clear))
    moved = {i: (Information.of(samples, near) for near in _across(X, gauge, i, regions[:, i])) for i in units}
    units = tuple(i for i in units if any(undetermined(i, there) for there in moved[i]))
    if not units:
        return None
    reason = f"{named(units)} determined by rows on a kink alone, within the noise; give rows elsewhere, or more of them."
    return Doubt(reason, units)


def _across(X: np.ndarray, gauge: Gauge, i: int, regions: np.ndarray) -> Iterator[Gauge]:
    """The network with unit i moved, within its regions (r, q, q), so that rows near its kink change sides.

    θ − R x̃/(x̃ᵀRx̃)^½ is where z falls most at x̃; x̃ is the mean of all rows that may change from one side, or one of them.
    """
    net, q = gauge.network, gauge.free.inputs(gauge.network.n_inputs)
    inputs = np.hstack([X, np.ones((len(X), 1))])[:, :q]
    z = X @ net.W[:, i] + net.b[i] - net.activation.kinks[0]
    for R, side in itertools.product(regions[:, :q, :q], (1.0, -1.0)):
        reach = np.sqrt(np.maximum(((inputs @ R) * inputs).sum(axis=1), np.finfo(float).tiny))
        near = inputs[(side * z > 0) & (side * z <= reach)]
        if not len(near):
            continue
        for x in [near.mean(axis=0), *near[np.linspace(0, len(near) - 1, SINGLE_ROWS).astype(int)]]:
            step = -side * (R @ x) / math.sqrt(max(float(x @ R @ x), np.finfo(float).tiny))
            W, b = net.W.copy(), net.b.copy()
            W[:, i] += step[: net.n_inputs]
            b[i] += step[-1] if gauge.free.b else 0.0
            yield replace(gauge, network=replace(net, W=W, b=b))


def few_values(X: np.ndarray, gauge: Gauge, tolerance: float = 1e-9) -> Doubt | None:
    """One unit, two, or all see a row through their zᵢ alone, and need more different ones than they have parameters.

    With inputs of a lattice these may be few, however many the rows: a unit of one binary input has two. tolerance: relative
    difference below which values count as the same.
    """
    net, k = gauge.network, gauge.network.n_units
    labels = np.stack([_values(z, tolerance) for z in (X @ net.W + net.b).T], axis=1)
    tied = [i for i in range(k) if 2 * labels[:, i].max(initial=0) < len(X)]
    sets = [(i,) for i in tied] + list(itertools.combinations(tied, 2)) + ([tuple(tied)] if len(tied) > 2 else [])
    for units in sets:
        rank = int(np.linalg.matrix_rank(net.W[:, units]))
        parameters = len(units) * (rank + gauge.free.b + gauge.free.a) + gauge.free.c
        values = len(np.unique(labels[:, units], axis=0))
        if values <= parameters < len(X):
            return Doubt(
                f"{named(units)} seen at {values} places only, too few for {parameters} parameters; give rows elsewhere.", units
            )
    return None


def _values(z: np.ndarray, tolerance: float) -> np.ndarray:
    """Numbers of the different values: from the least one on, each that is beyond the tolerance of the last."""
    order, width = np.argsort(z), tolerance * float(np.abs(z).max(initial=0.0))
    labels = np.zeros(len(z), dtype=int)
    number, last = 0, float(z[order[0]]) if len(z) else 0.0
    for row in order:
        if z[row] - last > width:
            number, last = number + 1, float(z[row])
        labels[row] = number
    return labels


def unconfirmed(X: np.ndarray, samples: Samples, information: Information) -> Doubt | None:
    """An input of leverage one determines something that no other input confirms; in general position none has it."""
    if not discrete(X).any():
        return None
    leverage = float(samples.fold(SharedLeverages(information.gauge, information.half_inverse))[0])
    if leverage < LARGEST_LEVERAGE:
        return None
    reason = "One input alone determines a parameter, and no other confirms it; give more rows there."
    return Doubt(reason, _all(information.gauge.network))


def reflected(samples: Samples, information: Information, fits: Callable[[Network], bool]) -> Doubt | None:
    """Another network, with reflected units, that fits the rows to rounding."""
    gauge = information.gauge
    patterns = absorbed_patterns(samples, information)
    if patterns is None:
        reason = "Reflected units could fit these rows as well in too many ways to be tried; give more rows."
        return Doubt(reason, _all(gauge.network))
    for pattern, rival in zip(patterns, refitted(samples, gauge, patterns, damping=RIVAL_DAMPING), strict=True):
        if fits(rival):
            units = tuple(np.flatnonzero(pattern).tolist())
            return Doubt(
                f"With {named(units, verb=False)} reflected another network of this width fits the rows to rounding: they "
                "cannot tell which is right. Give more rows.",
                units,
            )
    return None


def exchanged(
    X: np.ndarray, samples: Samples, gauge: Gauge, fits: Callable[[Network], bool], tolerance: float = TOLERANCE
) -> Doubt | None:
    """Another network, whose units are these ones in other places on some of the rows."""
    rivals = [*permuted(X, gauge, tolerance, TOLERANCE), *exchanged_rivals(X, gauge)]
    if _one_fits(samples, gauge, rivals, fits):
        return Doubt(
            "The rows lie on few hyperplanes, and a network whose units have exchanged places on one of them fits as well: "
            "nothing tells which part of a unit belongs to which. Give rows elsewhere.",
            _all(gauge.network),
        )
    return None


def rearranged(
    samples: Samples, gauge: Gauge, fits: Callable[[Network], bool], tolerance: float = TOLERANCE
) -> Doubt | None:
    """Another network, with other kinks, that fits the rows, or that may and cannot be looked for."""
    rivals = other_arrangements(samples, gauge, tolerance)
    if rivals is None:
        return Doubt(
            "The rows fall into so few cells between the kinks that units with other kinks may fit them as well; give rows "
            "that are spread more evenly.",
            _all(gauge.network),
        )
    if _one_fits(samples, gauge, rivals, fits):
        return Doubt(
            "Another network of this width, with other kinks, fits the rows as well: they lie in too few places to tell which "
            "is right. Give rows elsewhere.",
            _all(gauge.network),
        )
    return None


def _one_fits(samples: Samples, gauge: Gauge, rivals: list[Network], fits: Callable[[Network], bool]) -> bool:
    """Whether one of the rivals, refitted, explains the rows as well."""
    return bool(rivals) and any(fits(rival) for rival in refined(samples, rivals, gauge.free.names, RIVAL_DAMPING))


def _all(network: Network) -> tuple[int, ...]:
    return tuple(range(network.n_units))


def named(units: Iterable[int], *, verb: bool = True) -> str:
    numbers = [str(int(i)) for i in units]
    if not numbers:
        return "the parameters are" if verb else "all parameters"
    if len(numbers) == 1:
        return f"Unit {numbers[0]} is" if verb else f"unit {numbers[0]}"
    listed = ", ".join(numbers[:-1]) + f" and {numbers[-1]}"
    return f"Units {listed} are" if verb else f"units {listed}"
