"""Inputs with discrete columns: level by level the theorems hold for the other columns alone (docs/certificate_theory.md).

What they leave open is which unit of one level is which of another. Units of one output weight that differ along discrete
columns alone may take each other's places at some levels: affine functions u₁ … u_m that are at every level z₁ … z_m in some
order are other units with the same sum. A u takes one of the zᵢ at each level of an affine basis; that gives it everywhere.
A level, moreover, needs more rows than it alone determines parameters, and a unit more values than it has.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.network import Network
from weightlift.risk import Students
from weightlift.rivals.cells import inputs
from weightlift.rivals.finding import Finding, Outcome
from weightlift.rivals.limits import LIMITS
from weightlift.rivals.trial import named


def discrete_columns(X: np.ndarray) -> np.ndarray:
    """(d,) columns with a value that many rows share, or most of whose values occur more than once; not constants."""
    found, many = tied(X), max(2.0, LIMITS.atom * len(X))
    for j in np.flatnonzero(found):
        counts = np.unique(X[:, j], return_counts=True)[1]
        found[j] = len(counts) > 1 and (counts.max() > many or 2 * len(counts) <= len(X))
    return found


def tied(X: np.ndarray) -> np.ndarray:
    """(d,) columns some of whose values occur more than once."""
    return np.asarray((np.diff(np.sort(X.T, axis=1), axis=1) == 0).any(axis=1))


def few_levels(X: np.ndarray, gauge: Gauge) -> Finding | None:
    """Inputs none of which has more levels than f may change its sign along it, twice the units and one: no theorem holds."""
    most, levels = 2 * gauge.network.n_units + 1, max(len(np.unique(column)) for column in X.T)
    if levels > most:
        return None
    sentence = f"No input is continuous: they have {levels} levels at most, on all of which other networks may agree."
    return Finding(Outcome.UNEXAMINED, sentence, number=float(levels), limit=float(most))


def hidden_levels(X: np.ndarray, gauge: Gauge, columns: np.ndarray) -> Finding | None:
    """Pairs of units whose z differ, or add up, to few values where no column is discrete: rows on parallel hyperplanes.

    Such units may take each other's places from one hyperplane to the next. Rows of a density show as many values as rows.
    """
    if columns.any():
        return None
    net = gauge.network
    Z = X @ net.W + net.b
    size = np.maximum(np.abs(Z).max(axis=0), np.finfo(float).tiny)
    equal = np.abs(np.abs(net.a)[:, None] - np.abs(net.a)) <= LIMITS.same * np.abs(net.a).max()
    i, j = np.nonzero(np.triu(equal, 1))
    found = np.zeros(net.n_units, dtype=bool)
    for sign in (-1.0, 1.0):
        labels = np.sort(np.round((Z[:, i] + sign * Z[:, j]) / (LIMITS.same * np.maximum(size[i], size[j]))).T, axis=1)
        values = 1 + np.count_nonzero(np.diff(labels, axis=1), axis=1)
        few = (values > 1) & (values <= len(X) // 4)
        found[i[few]] = found[j[few]] = True
    if not found.any():
        return None
    units = tuple(np.flatnonzero(found).tolist())
    sentence = f"The rows lie on few parallel hyperplanes, across which {named(gauge, units)} may take each other's places."
    return Finding(Outcome.UNEXAMINED, sentence, units=units)


def few_rows(X: np.ndarray, information: Information, columns: np.ndarray) -> Finding | None:
    """Levels with fewer rows than they alone determine parameters, and the margin of eight.

    Eigenvalues one of (J L)ᵀ(J L) over the rows of a level, L Lᵀ = (JᵀJ)⁻¹ of all, are what the other rows do not determine.
    """
    gauge = information.gauge
    students = Students.of(gauge.network)
    J = np.asarray(gauge.jacobian(X, students.preactivations(X), students))
    L = np.asarray(np.linalg.qr(J, mode="r"))
    if J.shape[0] < J.shape[1] or np.abs(np.diagonal(L)).min() <= LIMITS.independent * np.abs(np.diagonal(L)).max():
        return None
    leverages = np.linalg.solve(L.T, J.T).T
    for rows in _levels(X, columns):
        if (leverages[rows] ** 2).sum() <= rows.sum() - LIMITS.spare:  # as many ones need as large a sum
            continue
        sizes, vectors = np.linalg.svd(leverages[rows], full_matrices=False)[1:]
        lost = vectors[sizes > 1.0 - LIMITS.same]
        if not len(lost) or rows.sum() >= len(lost) + LIMITS.spare:
            continue
        basis, _ = np.linalg.qr(np.linalg.solve(L, lost.T) * np.linalg.norm(J, axis=0)[:, None])
        mass = (basis**2).sum(axis=1)  # no direction counts for less where another is determined badly
        units = tuple(i for i in range(gauge.network.n_units) if mass[gauge.coordinates(i)].sum() > LIMITS.suspect)
        return Finding(
            Outcome.UNEXAMINED,
            f"{int(rows.sum())} rows alone determine {len(lost)} parameters of {named(gauge, units)}, and too few others "
            f"confirm them; give {len(lost) + LIMITS.spare} there.",
            number=float(rows.sum()),
            limit=float(len(lost) + LIMITS.spare),
            units=units,
        )
    return None


def _levels(X: np.ndarray, columns: np.ndarray) -> Iterator[np.ndarray]:
    """(rows,) the rows of each common value of each column, and those without it."""
    for column in X[:, columns].T:
        values, counts = np.unique(column, return_counts=True)
        for value in values[counts > max(2.0, LIMITS.atom * len(X))]:
            yield column == value
            if (column != value).any():
                yield column != value


def few_values(X: np.ndarray, gauge: Gauge, tolerance: float) -> Finding | None:
    """Units that see the rows at no more different values of z than they have parameters, alone or together."""
    net = gauge.network
    Z = X @ net.W + net.b
    labels = np.round(Z / (max(tolerance, LIMITS.on_kink) * np.maximum(np.abs(Z).max(axis=0), np.finfo(float).tiny)))
    tied = [i for i in range(net.n_units) if 2 * len(np.unique(labels[:, i])) < len(X)]
    sets = [(i,) for i in tied] + list(itertools.combinations(tied, 2)) + ([tuple(tied)] if len(tied) > 2 else [])
    for units in sets[: LIMITS.subsets]:
        rank = int(np.linalg.matrix_rank(net.W[:, units]))
        parameters = len(units) * (rank + gauge.free.b + gauge.free.a) + gauge.free.c
        values = len(np.unique(labels[:, units], axis=0))
        if values <= parameters < len(X):
            return Finding(
                Outcome.UNEXAMINED,
                f"The rows see {named(gauge, units)} at {values} places, too few for {parameters} parameters; give rows "
                "elsewhere.",
                number=float(values),
                limit=float(parameters + 1),
                units=units,
            )
    return None


def other_places(X: np.ndarray, gauge: Gauge, columns: np.ndarray, tolerance: float) -> list[tuple[tuple[int, ...], Network]]:
    """Networks whose units have taken each other's places at some levels, to be refitted; with the units concerned."""
    found = []
    for group, signs, either in _groups(X, gauge.network, columns, tolerance):
        differ = _differing(X, gauge.network, group, signs, columns, tolerance)
        places = np.unique(X[:, differ], axis=0)
        if not len(places) or len(places) > LIMITS.levels:
            continue
        here = inputs(places, gauge)
        Z = (places @ gauge.network.W[np.ix_(differ, group)] + gauge.network.b[group]) * signs
        width = tolerance * float(np.sqrt(np.mean((X @ gauge.network.W[:, group] + gauge.network.b[group]) ** 2)))
        covers = itertools.islice(_covers(here, Z, either, width), LIMITS.patterns)
        found += [(tuple(group.tolist()), _network(gauge, group, signs, differ, chosen)) for chosen in covers]
    return found


def open_places(X: np.ndarray, gauge: Gauge, columns: np.ndarray, regions: np.ndarray) -> Finding | None:
    """Units that, within regions wider than the places searched for, may differ along discrete columns alone.

    regions (r, k, q, q) of coordinates: δᵀ(Rᵢ + Rⱼ)⁻¹δ > 2 for the difference of the other ones says that two units do not. An
    affine function is one of k others at no more than k levels of a column, unless it is that one at all.
    """
    net = gauge.network
    few = columns & np.array([len(np.unique(column)) <= net.n_units for column in X.T])
    sizes = np.array([max(gauge.relative_size(i, R[i]) for R in regions) for i in range(net.n_units)])
    wide = sizes > LIMITS.noisy_units
    if not few.any() or not wide.any() or not np.isfinite(regions).all():
        return None
    kept = np.concatenate([np.flatnonzero(~few), np.arange(gauge.unit_size - gauge.free.a, gauge.unit_size)])
    signs = (1.0, -1.0) if net.activation.reflection is not None else (1.0,)
    found = set[int]()
    for i, j in itertools.combinations(range(net.n_units), 2):
        own, other = (gauge.unit(u)[0][kept] for u in (i, j))
        turned = [t * other * np.where(kept < net.n_inputs, 1.0, s) for t in signs for s in signs]
        sums = [(R[i] + R[j])[np.ix_(kept, kept)] for R in regions]
        gap = min(float((own - v) @ np.linalg.pinv(S, hermitian=True) @ (own - v)) for v in turned for S in sums)
        if gap <= 2.0 and (wide[i] or wide[j]):
            found |= {i, j}
    units = tuple(sorted(found))
    who, limit = named(gauge, units), LIMITS.noisy_units
    sentence = f"Within their regions {who} may take each other's places at levels of discrete inputs; give more rows."
    return Finding(Outcome.UNEXAMINED, sentence, number=float(sizes.max()), limit=limit, units=units) if units else None


def _groups(
    X: np.ndarray, net: Network, columns: np.ndarray, tolerance: float
) -> Iterator[tuple[np.ndarray, np.ndarray, bool]]:
    """Units of one output weight that differ along discrete columns alone: units, signs of z, whether either sign may do.

    With φ(−z) = −φ(z) + p(z) an output weight −a stands for a and −z; with φ(−z) = φ(z) + p(z) either sign of z may.
    """
    s = 0 if net.activation.reflection is None else int(net.activation.reflection[0])
    signs = np.where(net.a < 0, -1.0, 1.0) if s < 0 else np.ones(net.n_units)
    rest = net.W[~columns] * np.sqrt(np.mean(X[:, ~columns] ** 2, axis=0))[:, None] * signs
    size = np.sqrt(np.mean((X @ net.W + net.b) ** 2, axis=0))
    left = list(range(net.n_units))
    while left:
        first, near = left[0], []
        for i in left:
            same = abs(signs[i] * net.a[i] - signs[first] * net.a[first]) <= max(tolerance, LIMITS.same) * abs(net.a[first])
            width = tolerance * max(size[i], size[first])
            turns = [t for t in ((1.0, -1.0) if s > 0 else (1.0,)) if np.linalg.norm(t * rest[:, i] - rest[:, first]) <= width]
            if same and turns:
                near.append((i, turns[0] * signs[i]))
        left = [i for i in left if i != first and i not in {i for i, _ in near}]
        either = s > 0 and bool(np.linalg.norm(rest[:, first]) <= tolerance * size[first])
        if len(near) > 1 or either:
            units, turned = zip(*near, strict=True)
            yield np.array(units), np.array(turned), either
            for pair in itertools.combinations(range(len(units)), 2) if len(units) > 2 else ():
                yield np.array(units)[list(pair)], np.array(turned)[list(pair)], either


def _differing(
    X: np.ndarray, net: Network, group: np.ndarray, signs: np.ndarray, columns: np.ndarray, tolerance: float
) -> np.ndarray:
    """(d,) discrete columns along which the units of the group differ; all that one unit uses where it stands alone."""
    W = net.W[:, group] * signs * np.sqrt(np.mean(X**2, axis=0))[:, None]
    spread = np.ptp(W, axis=1) if len(group) > 1 else np.abs(W[:, 0])
    return np.asarray(columns & (spread > tolerance * np.linalg.norm(W, axis=0).max()))


def _covers(here: np.ndarray, Z: np.ndarray, either: bool, width: float) -> Iterator[np.ndarray]:
    """(m, q) affine functions that are, at every place, the columns of Z (places, m) in some order, but not these."""
    values = np.hstack([Z, -Z]) if either else Z
    basis = _independent_rows(here)
    if not len(basis):
        return
    if values.shape[1] ** len(basis) > LIMITS.choices // 10:
        return
    choice = np.array(list(itertools.product(range(values.shape[1]), repeat=len(basis))))
    functions = np.linalg.pinv(here[basis]) @ values[basis[:, None], choice.T]  # (q, choices)
    U = here @ functions
    gaps = np.abs(U[:, :, None] - values[:, None, :]).min(axis=2).max(axis=0)
    order = np.argsort(gaps, kind="stable")
    kept = order[gaps[order] <= width][: LIMITS.extras]  # those nearest to the values first: the width may be that of noise
    m = Z.shape[1]
    target = np.sort(np.abs(Z) if either else Z, axis=1)
    own = {tuple(np.round(column / max(width, 1e-12))) for column in Z.T}
    for chosen in itertools.combinations(kept.tolist(), m):
        rows = np.sort(np.abs(U[:, chosen]) if either else U[:, chosen], axis=1)
        new = {tuple(np.round(column / max(width, 1e-12))) for column in U[:, chosen].T}
        if np.abs(rows - target).max() <= width and new != own:
            yield functions[:, chosen].T


def _independent_rows(here: np.ndarray) -> np.ndarray:
    chosen: list[int] = []
    for row in range(len(here)):
        if np.linalg.matrix_rank(here[[*chosen, row]], tol=LIMITS.independent) > len(chosen):
            chosen.append(row)
    return np.array(chosen, dtype=int)


def _network(gauge: Gauge, group: np.ndarray, signs: np.ndarray, differ: np.ndarray, functions: np.ndarray) -> Network:
    net = gauge.network
    W, b = net.W.copy(), net.b.copy()
    W[np.ix_(differ, group)] = functions[:, : int(differ.sum())].T * signs
    if gauge.free.b:
        b[group] = functions[:, -1] * signs
    return replace(net, W=W, b=b)
