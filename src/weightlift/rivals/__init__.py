"""Other networks that the rows cannot exclude: whether some exist, and which (docs/certificate_theory.md).

One question in place of a list of attacks: which networks of the class, with at most as many units, agree on every row?

    analytic φ     none, at more independent rows than parameters (T1, `analytic`; `polynomial`)
    kinked φ       those with the same pieces, if the slopes hold enough disjoint bases; these can be listed (T2, `pieces`)
    either         the rows must be more equations than parameters (T3, `equations`); discrete columns go level by level
                   (`discrete`); reflections that the parameters undo are refitted (`reflected`)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.network import Network
from weightlift.rivals.analytic import examine_analytic, units_of_function
from weightlift.rivals.cells import OwnTargets, independent_rows, some_inputs
from weightlift.rivals.discrete import (
    discrete_columns,
    few_levels,
    few_rows,
    few_values,
    hidden_levels,
    open_places,
    other_places,
)
from weightlift.rivals.equations import spare_equations
from weightlift.rivals.finding import Finding, Outcome
from weightlift.rivals.flats import rows_on_flats
from weightlift.rivals.lattice import aliased
from weightlift.rivals.limits import LIMITS
from weightlift.rivals.pieces import examine_pieces, pieces_below, pieces_beside_linear, ratio
from weightlift.rivals.places import places_near
from weightlift.rivals.polynomial import examine_polynomial
from weightlift.rivals.reflected import absorbed, reflected_below, same_function
from weightlift.rivals.trial import Bar, agree, below, named, refitted
from weightlift.samples import Samples

NO_ROW = Finding(Outcome.UNEXAMINED, "No row is clear of the kinks; give rows elsewhere.")

__all__ = ["Bar", "Finding", "Outcome", "examine", "examine_beside_linear", "examine_noisy", "examine_uncounted"]


def examine(
    samples: Samples, gauge: Gauge, *, rng: np.random.Generator, information: Information | None = None
) -> tuple[Finding, ...]:
    """Whether other units agree on every row to rounding, this network being one that does.

    information: JᵀJ on these rows, if it is at hand.

    samples  the rows, whose targets do not matter
    gauge    the network in its coordinates
    rng      a generator
    """
    phi = gauge.network.activation
    if not gauge.network.n_units:
        return ()
    if gauge.network.a.ndim > 1:
        return (Finding(Outcome.UNEXAMINED, "Rivals of networks with several outputs are not examined; certify one output."),)
    X, alpha, own = some_inputs(samples), ratio(gauge.network), samples.map(OwnTargets(gauge.network))
    if not len(X):
        return (NO_ROW,)
    columns = discrete_columns(X)
    main = (_without_pieces(samples, gauge),) if alpha is None else examine_pieces(samples, X, gauge, alpha)
    found = [same_function(gauge), *_shape(X, gauge, columns)]
    if columns.any():
        main = tuple(_tested(finding, columns) for finding in main)
        found += _in_other_places(own, X, gauge, columns)
    if phi.analytic or any(finding.outcome is not Outcome.IMPOSSIBLE for finding in main):  # else bases are equations enough
        known = Information.of(samples, gauge) if information is None else information
        found += [spare_equations(samples, known, rng=rng)] if known.full_rank else []
        found += [few_rows(X, known, columns)] if columns.any() else []
        found += [absorbed(own, known)] if all(f.outcome is not Outcome.FOUND for f in main) else []
    return (*(finding for finding in found if finding is not None), *main)


def examine_beside_linear(samples: Samples, gauge: Gauge) -> tuple[Finding, ...]:
    """The same where a linear part is free too: V and, if it is, c are one unit more that is on at every row.

    samples  the rows
    gauge    the network in its coordinates
    """
    phi, X = gauge.network.activation, some_inputs(samples)
    if not len(X):
        return (NO_ROW,)
    columns, alpha = discrete_columns(X), ratio(gauge.network)
    if alpha is not None:
        main = pieces_beside_linear(samples, X, gauge, alpha)
    elif phi.analytic:
        main = (examine_analytic(independent_rows(samples, gauge), gauge, gauge.network.n_inputs),)
    else:
        main = (Finding(Outcome.NONE_FOUND, f"No theorem is known for {phi.name!r} beside a linear part; none was found."),)
    beside = replace(gauge, network=replace(gauge.network, V=np.zeros(gauge.network.n_inputs)))
    found = [same_function(beside), *_shape(X, gauge, columns)]
    if columns.any():
        places = sorted({i for units, _ in other_places(X, gauge, columns, LIMITS.same) for i in units})
        sentence = f"{named(gauge, places).capitalize()} may take each other's places at levels of the discrete inputs."
        found += [Finding(Outcome.UNEXAMINED, sentence, units=tuple(places))] if places else []
        main = tuple(_tested(finding, columns) for finding in main)
    return (*(finding for finding in found if finding is not None), *main)


def examine_uncounted(X: np.ndarray, gauge: Gauge, *, noisy: bool = False) -> tuple[Finding, ...]:
    """What stands in the way however many rows there are: their shape, and other units of the same function.

    X      some of the rows' inputs
    gauge  the network in its coordinates
    noisy  whether what differs by little counts as equal
    """
    phi, columns = gauge.network.activation, discrete_columns(X)
    found = _noisy_shape(X, gauge, columns) if noisy else _shape(X, gauge, columns)
    found += [units_of_function(gauge)] if phi.analytic and not phi.polynomial else []
    return tuple(f for f in found if f is not None and (f.assumes or f.outcome in (Outcome.FOUND, Outcome.UNEXAMINED)))


def _shape(X: np.ndarray, gauge: Gauge, columns: np.ndarray) -> list[Finding | None]:
    found = [hidden_levels(X, gauge, columns), rows_on_flats(X, gauge, LIMITS.same), aliased(X, gauge)]
    return found + ([few_levels(X, gauge), few_values(X, gauge, LIMITS.on_kink)] if columns.any() else [])


def _noisy_shape(X: np.ndarray, gauge: Gauge, columns: np.ndarray) -> list[Finding | None]:
    found = [rows_on_flats(X, gauge, LIMITS.noisy_units), aliased(X, gauge)]
    return found + ([few_values(X, gauge, LIMITS.noisy_values)] if columns.any() else [])


def _without_pieces(samples: Samples, gauge: Gauge) -> Finding:
    """What is known where φ has no pieces between kinks."""
    phi = gauge.network.activation
    if phi.polynomial:
        return examine_polynomial(independent_rows(samples, gauge), gauge)
    if phi.analytic:
        return examine_analytic(independent_rows(samples, gauge), gauge)
    sentence = (
        f"No theorem is known by which rows determine the units of {phi.name!r}: reflections and exchanges of units were "
        "tested, and none was found; not proved."
    )
    return Finding(Outcome.NONE_FOUND, sentence)


def _tested(finding: Finding, columns: np.ndarray) -> Finding:
    """A proof for rows of a density is a test for rows with discrete columns."""
    if finding.outcome is not Outcome.IMPOSSIBLE:
        return finding
    count = int(columns.sum())
    sentence = (
        f"No rival was found; tested, not proved: {count} of the inputs {'is' if count == 1 else 'are'} discrete, and the "
        "theorem is for rows of a density."
    )
    return replace(finding, outcome=Outcome.NONE_FOUND, sentence=sentence)


def _in_other_places(samples: Samples, X: np.ndarray, gauge: Gauge, columns: np.ndarray) -> Iterator[Finding]:
    found = other_places(X, gauge, columns, LIMITS.same)
    rivals = refitted(samples, gauge, [rival for _, rival in found])
    kept = [(units, rival) for (units, _), rival in zip(found, rivals, strict=True) if agree(samples, gauge, rival)]
    if kept:
        yield _places_finding(gauge, kept)


def _places_finding(gauge: Gauge, kept: list[tuple[tuple[int, ...], Network]]) -> Finding:
    units = tuple(sorted({i for group, _ in kept for i in group}))
    return Finding(
        Outcome.FOUND,
        f"A network in which {named(gauge, units)} have taken each other's places at some levels of the discrete inputs fits "
        "as well: nothing tells which part belongs to which. Give rows elsewhere.",
        number=float(len(kept)),
        limit=0.0,
        units=units,
        rivals=tuple(rival for _, rival in kept),
    )


def examine_noisy(samples: Samples, gauge: Gauge, bar: Bar, regions: np.ndarray | None = None) -> tuple[Finding, ...]:
    """Other networks that are below the bar after a refit; an empty tuple where none was found.

    samples  the rows
    gauge    the network in its coordinates
    bar      the largest Σ w r² of a rival, and what chance may add
    regions  (r, k, q, q) of the units' coordinates, where they are known
    """
    X = some_inputs(samples)
    columns = discrete_columns(X)
    found = [same_function(gauge), reflected_below(samples, gauge, bar), pieces_below(samples, X, gauge, bar)]
    if ratio(gauge.network) is None and (known := _without_pieces(samples, gauge)).outcome is not Outcome.NONE_FOUND:
        found.append(None if known.outcome is Outcome.IMPOSSIBLE else known)
    found += _noisy_shape(X, gauge, columns)
    if columns.any():
        information = Information.of(samples, gauge)
        kept = below(samples, gauge, places_near(X, information, columns, bar.ceiling - information.rss), bar)
        found.append(_places_finding(gauge, kept) if kept else None)
        found.append(None if regions is None else open_places(X, gauge, columns, regions))
    return tuple(finding for finding in found if finding is not None)
