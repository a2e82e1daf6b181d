"""Units that take each other's places, any number of them at once: rivals of inputs with discrete columns.

Let units have the same output weight. If affine functions u₁ … u_m are on every row z₁ … z_m in some order, they are other
units with the same sum. Each u is one of the zᵢ on every row, so that the rows lie on hyperplanes u = zᵢ, and these cut no
column whose values differ all: u and the zᵢ have the same weights there. What remains is a search over the places, the
different values of the other columns: u takes one of m values at each place of an affine basis, and every place that depends on
the first of them decides which choices survive. Of the functions found those are rivals that make up the zᵢ at every place, an
exact cover. Where φ(−z) = ±φ(z) + p(z) the same holds with signs, up to what p adds; a refit decides.
Cost  none for inputs without discrete columns; else at most `MOST_CHOICES` products with a few hundred places.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from weightlift.evidence.gauge import Gauge
from weightlift.identifiability.reflections import reflection
from weightlift.network import Network

MOST_PLACES = 256
MOST_CHOICES = 20_000
MOST_FUNCTIONS, MOST_NODES, MOST_COVERS = 128, 2_000, 16
MOST_PAIRS, MOST_CUTS = 64, 64
MOST_SIGNS = 6  # units of which every sign is tried
MOST_RIVALS = 16
NARROWER = 32.0, 16.0, 8.0, 4.0, 2.0, 1.0
EQUAL = 0.1  # relative difference of output weights that may be equal
ATOM = 0.02  # share of the rows with one value that makes a column discrete
CHANGE = 0.25  # of f, relative to its standard deviation, that a refit may undo


@dataclass(frozen=True, eq=False)
class Group:
    """Units that may take each other's places: signs σ for which the σᵢzᵢ may, and whether −σᵢzᵢ may as well."""

    units: np.ndarray  # (m,)
    signs: np.ndarray  # (m,)
    either: bool


def permuted(X: np.ndarray, gauge: Gauge, tolerance: float, least: float) -> list[Network]:
    """Networks whose units have other places on some of the inputs X (m, d), to be refitted.

    tolerance: of the zᵢ, relative to their size. It may be too wide to tell values apart: narrower ones, down to the least,
    are tried as well.
    """
    found: list[tuple[float, Network]] = []
    for cut in _cuts(X, gauge.network, tolerance):
        places = np.unique(X[:, cut], axis=0)
        if len(places) > MOST_PLACES:
            places = np.random.default_rng(0).permutation(places)[:MOST_PLACES]
        for group in _groups(X, gauge.network, cut, tolerance):
            found += _in_other_places(X, gauge, places, cut, group, (tolerance, least))
    found.sort(key=lambda pair: pair[0])
    return [rival for change, rival in found[:MOST_RIVALS] if change <= CHANGE]


def _in_other_places(
    X: np.ndarray, gauge: Gauge, places: np.ndarray, cut: np.ndarray, group: Group, tolerances: tuple[float, float]
) -> Iterator[tuple[float, Network]]:
    """Rivals, with the change of f that they make."""
    net, (tolerance, least) = gauge.network, tolerances
    inputs = np.hstack([places, np.ones((len(places), 1))]) if gauge.free.b else places
    Z = (places @ net.W[np.ix_(cut, group.units)] + net.b[group.units]) * group.signs
    size = float(np.sqrt(np.mean((X @ net.W[:, group.units] + net.b[group.units]) ** 2)))
    for width in (size * tolerance / narrower for narrower in NARROWER if tolerance >= narrower * least):
        functions = _functions(inputs, Z, group.either, width)
        if functions is None:  # nor can they be counted with a wider tolerance
            return
        for chosen in _rearranged(inputs @ functions.T, Z, group.either, width):
            for rival in _networks(gauge, group, cut, functions[chosen]):
                yield _change(X, net, rival, gauge.free.c), rival


def _cuts(X: np.ndarray, net: Network, tolerance: float) -> list[np.ndarray]:
    """Sets of columns along which u and the zᵢ may differ: all that repeat, and those of them where two or three units do."""
    repeating = _repeating(X)
    scaled = net.W * np.sqrt(np.mean(X**2, axis=0))[:, None]
    width = tolerance * np.sqrt(np.mean((X @ net.W + net.b) ** 2, axis=0))
    pairs = {}
    for i, j in itertools.combinations(range(net.n_units), 2):
        nearer = min((scaled[:, i] - t * scaled[:, j] for t in (1.0, -1.0)), key=lambda g: float(g @ g))
        differ = np.abs(nearer) > max(width[i], width[j])
        if not (differ & ~repeating).any():
            pairs[i, j] = differ
    few = dict(itertools.islice(pairs.items(), MOST_PAIRS))
    threes = [few[p] | few[q] for p, q in itertools.combinations(few, 2) if set(p) & set(q)]
    cuts = {cut.tobytes(): cut for cut in (repeating, *pairs.values(), *threes) if cut.any()}
    return list(cuts.values())[:MOST_CUTS]


def _repeating(X: np.ndarray) -> np.ndarray:
    """(d,) columns with a value that many rows share, or most of whose values occur more than once."""
    counts = [np.unique(column, return_counts=True)[1] for column in X.T]
    return np.array([c.max() > max(2.0, ATOM * len(X)) or 2 * len(c) <= len(X) for c in counts])


def _groups(X: np.ndarray, net: Network, cut: np.ndarray, tolerance: float) -> Iterator[Group]:
    """Units of one output weight that differ along the columns `cut` alone.

    With φ(−z) = −φ(z) + p(z) an output weight −a stands for a and −z; with φ(−z) = φ(z) + p(z) either sign of z may.
    """
    s = 0 if net.activation.reflection is None else int(reflection(net.activation)[0])
    signs = np.where(net.a < 0, -1.0, 1.0) if s < 0 else np.ones(net.n_units)
    rest = net.W[~cut] * np.sqrt(np.mean(X[:, ~cut] ** 2, axis=0))[:, None] * signs
    size = np.sqrt(np.mean((X @ net.W + net.b) ** 2, axis=0))
    left = list(range(net.n_units))
    while left:
        first, near = left[0], []
        for i in left:
            same = abs(signs[i] * net.a[i] - signs[first] * net.a[first]) <= EQUAL * abs(net.a[first])
            width = tolerance * max(size[i], size[first])
            turns = [t for t in ((1.0, -1.0) if s > 0 else (1.0,)) if np.linalg.norm(t * rest[:, i] - rest[:, first]) <= width]
            if same and turns:
                near.append((i, turns[0] * signs[i]))
        left = [i for i in left if i not in {i for i, _ in near}]
        either = s > 0 and bool(np.linalg.norm(rest[:, first]) <= tolerance * size[first])
        if len(near) > 1 or either:
            yield Group(np.array([i for i, _ in near]), np.array([turn for _, turn in near]), either)


def _functions(inputs: np.ndarray, Z: np.ndarray, either: bool, width: float) -> np.ndarray | None:
    """(u, q) coefficients of the affine functions that are one of Z (places, m), or of ±Z, at every place; None if too many."""
    allowed = np.hstack([Z, -Z]) if either else Z
    choices, basis = np.zeros((1, 0)), np.zeros((0, inputs.shape[1]))
    for pivot, dependent in _basis(inputs):
        options = (Z if either and not len(basis) else allowed)[pivot]
        options = options[np.concatenate([[True], np.diff(np.sort(options)) > width])[np.argsort(np.argsort(options))]]
        if len(choices) * len(options) > MOST_CHOICES:
            return None
        choices = np.hstack([np.repeat(choices, len(options), axis=0), np.tile(options, len(choices))[:, None]])
        basis = np.vstack([basis, inputs[pivot]])
        shares = np.linalg.lstsq(basis.T, inputs[dependent].T)[0].T  # of the basis in each place
        for share, values in zip(shares, allowed[dependent], strict=True):
            slack = width * (1.0 + np.abs(share).sum())
            choices = choices[np.abs((choices @ share)[:, None] - values).min(axis=1) <= slack]
    functions = np.linalg.lstsq(basis, choices.T)[0].T
    return np.asarray(functions) if len(functions) <= MOST_FUNCTIONS else None


def _basis(inputs: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Places that span all, each with the other places that depend on it and its predecessors, as many as there can be."""
    rest, size = inputs / np.linalg.norm(inputs, axis=1).max(), 1e-7
    norms = np.linalg.norm(rest, axis=1)
    while (norms > size).any():
        free = np.flatnonzero(norms > size)
        directions = rest[free] / norms[free, None]
        parallel = np.abs(directions @ directions.T) > 1 - 1e-9
        best = int(np.argmax(parallel.sum(axis=1)))
        pivot, along = int(free[best]), directions[best]
        rest = rest - np.outer(rest @ along, along)
        rest = rest - np.outer(rest @ along, along)
        norms = np.where(norms > size, np.linalg.norm(rest, axis=1), 0.0)
        norms[pivot] = 0.0
        yield pivot, free[parallel[best] & (free != pivot)]


def _rearranged(values: np.ndarray, Z: np.ndarray, either: bool, width: float) -> Iterator[np.ndarray]:
    """Sets of functions, given by their values (places, u), that are Z (places, m) in some order, or ±Z, at every place."""
    if values.shape[1] <= Z.shape[1]:
        return
    signs = (1.0, -1.0) if either else (1.0,)
    known = np.min([np.abs(values[:, :, None] - sign * Z[:, None, :]).max(axis=0) for sign in signs], axis=0).min(axis=1)
    for chosen in _covers(np.abs(values), np.abs(Z), width) if either else _covers(values, Z, width):
        if (known[chosen] > width).any():
            yield chosen


def _covers(values: np.ndarray, Z: np.ndarray, width: float) -> list[np.ndarray]:
    """Sets of columns of values (places, u) that are the columns of Z (places, m) in some order at every place.

    The set of the columns of Z themselves is one of them. At each step the value that the fewest columns have is covered.
    """
    order = np.argsort(Z, axis=1)
    ranked = np.take_along_axis(Z, order, axis=1)
    classes = np.cumsum(np.diff(ranked, axis=1, prepend=ranked[:, :1]) > width, axis=1)  # of nearly equal values
    nearest = np.abs(values[:, :, None] - ranked[:, None, :]).argmin(axis=2)
    labels = np.take_along_axis(classes, nearest, axis=1).T  # (u, places)
    wanted = np.stack([(classes == c).sum(axis=1) for c in range(Z.shape[1])], axis=1)
    at = np.arange(len(Z))
    found: list[np.ndarray] = []
    stack: list[tuple[tuple[int, ...], np.ndarray, np.ndarray]] = [((), wanted, np.arange(len(labels)))]
    for _ in range(MOST_NODES):
        if not stack or len(found) > MOST_COVERS:
            break
        chosen, missing, usable = stack.pop()
        if not missing.any():
            found.append(np.array(chosen))
            continue
        usable = usable[(missing[at, labels[usable]] > 0).all(axis=1)]
        offers = np.zeros(missing.shape, dtype=int)
        np.add.at(offers, (np.broadcast_to(at, (len(usable), len(at))), labels[usable]), 1)
        open_ = np.where(missing > 0, offers, len(labels) + 1)
        place, value = np.unravel_index(int(open_.argmin()), open_.shape)
        fitting = usable[labels[usable, place] == value]
        for index, u in enumerate(fitting):
            less = missing.copy()
            less[at, labels[u]] -= 1
            stack.append(((*chosen, int(u)), less, np.setdiff1d(usable, fitting[: index + 1])))
    return found


def _networks(gauge: Gauge, group: Group, cut: np.ndarray, functions: np.ndarray) -> Iterator[Network]:
    """The network with these functions (m, q) in place of the group's, for all signs and orders that p may ask for."""
    net, m = gauge.network, len(group.units)
    turns = [np.ones(m)]
    if group.either and m <= MOST_SIGNS and net.activation.parity != "even":
        turns = [np.array(t) for t in itertools.product([1.0, -1.0], repeat=m)]
    orders = [tuple(range(m))]
    negative = np.flatnonzero(net.a[group.units] < 0)
    if 0 < len(negative) < m <= MOST_SIGNS and len(reflection(net.activation)[1]) > 1:
        orders = []
        for chosen in itertools.combinations(range(m), len(negative)):
            place = np.zeros(m, dtype=int)
            place[negative] = chosen
            place[np.setdiff1d(np.arange(m), negative)] = np.setdiff1d(np.arange(m), chosen)
            orders.append(tuple(place.tolist()))
    for turn, order in itertools.product(turns, orders):
        U = (functions * turn[:, None])[list(order)].T * group.signs
        W, b = net.W.copy(), net.b.copy()
        W[np.ix_(cut, group.units)] = U[: int(cut.sum())]
        if gauge.free.b:
            b[group.units] = U[-1]
        yield replace(net, W=W, b=b)


def _change(X: np.ndarray, net: Network, rival: Network, offset: bool) -> float:
    """Root mean square of the difference of two networks beside that of the first, up to a constant where c is free."""
    f, change = net.predict(X), rival.predict(X) - net.predict(X)
    spread = float(np.std(f)) or 1.0
    return float(np.std(change) if offset else np.sqrt(np.mean(change**2))) / spread
