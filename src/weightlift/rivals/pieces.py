"""Kinked φ: whether the pieces of f determine its units (docs/certificate_theory.md, T2).

Between kinks f is a polynomial, its piece, S Θ at the rows: S = α + (1 − α) B the slopes of the units there, B their sides, and
Θ (k, m) the units' polynomials a z^q. If the rows of S hold q + 1 disjoint bases, q the coordinates of a unit, every network
that agrees on all rows has the same pieces. If, moreover, no integer combination of the rows of Θ vanishes, its slopes have the
same column space. So each column of its sides is a 0/1 vector v with α + (1 − α) v in that of S: list them. A new one is
the sides of a unit only if a hyperplane separates its rows; those that one does may replace others, and each exchange is
solved for and tried. Cost  one pass, 2^{k/2} sums, and O(k³) for each basis.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from weightlift.evidence.gauge import Gauge
from weightlift.network import Network
from weightlift.rivals.bases import Bases, Slopes, binary_vectors, disjoint_bases, residue, spanned
from weightlift.rivals.cells import cells, distinct, inputs, inputs_beyond
from weightlift.rivals.finding import DENSITY, EQUALITY, Finding, Outcome
from weightlift.rivals.limits import LIMITS
from weightlift.rivals.trial import Bar, agree, below, named
from weightlift.samples import Samples

RELATIONS = "no integer combination of the units' polynomials vanishes: there are more units than coefficients"


@dataclass(frozen=True, eq=False)
class Pieces:
    """The sides at independent rows, and the units' polynomials on them."""

    gauge: Gauge
    alpha: float  # φ = α z^q below the kink and z^q above it, up to a common factor
    X: np.ndarray  # (m, d) some of the rows, clear of the kinks
    B: np.ndarray  # (n, k) sides at the independent rows
    different: np.ndarray  # (cells, k) its different rows
    theta: np.ndarray  # (k, m)
    linear: bool = False  # whether a linear part is free

    @classmethod
    def of(cls, gauge: Gauge, alpha: float, B: np.ndarray, X: np.ndarray) -> Pieces:
        return cls(gauge, alpha, X, B, distinct(B), polynomials(gauge.network))

    @property
    def S(self) -> np.ndarray:
        return np.asarray(self.alpha + (1 - self.alpha) * self.different)

    @property
    def units(self) -> tuple[int, ...]:
        return tuple(range(self.gauge.network.n_units))

    @property
    def constant(self) -> bool:
        """Whether c may take up constants of the units, or V their slopes."""
        return self.linear or (self.gauge.free.c and self.gauge.free.b)

    def null(self) -> np.ndarray:
        """(k,) how much each unit takes part in changes of the units that no piece sees."""
        k = self.S.shape[1]
        S = np.hstack([self.S, np.ones((len(self.S), 1))]) if self.constant else self.S
        values, vectors = np.linalg.eigh(S.T @ S)
        return np.asarray((vectors[:k, values <= LIMITS.independent * max(values[-1], 1.0)] ** 2).sum(axis=1))

    @property
    def shown(self) -> int:
        """Units that the pieces need: with S = S′C, S′ independent columns, the polynomials CΘ that do not vanish.

        Units that are on together are one, or none where they cancel; of a network with more the sides need not lie there.
        """
        S = _independent_columns(self.S)
        C = np.linalg.lstsq(S, self.S, rcond=None)[0]  # (rank, k)
        sums, terms = np.abs(C @ self.theta).max(axis=1), (np.abs(C) @ np.abs(self.theta)).max(axis=1)
        return int(np.count_nonzero(sums > LIMITS.same * terms))


def ratio(network: Network) -> float | None:
    """α of φ = α z^q below the kink and z^q above it; None for any other φ."""
    phi = network.activation
    if phi.kinks != (0.0,) or phi.degree not in (1.0, 2.0):
        return None
    left, right = (float(v) for v in phi(np.array([-1.0, 1.0])))
    return left * (-1) ** int(phi.degree) / right if right else None


def polynomials(net: Network) -> np.ndarray:
    """(k, m) entries of a v or a vvᵀ, v = (w, b), on and above the diagonal: what z or z² consists of, the constant last."""
    V = np.vstack([net.W, net.b])
    if net.activation.degree == 1:
        return np.asarray((net.a * V).T)
    upper = np.triu_indices(len(V))
    return np.asarray((net.a * V[upper[0]] * V[upper[1]]).T)


def examine_pieces(samples: Samples, X: np.ndarray, gauge: Gauge, alpha: float) -> tuple[Finding, ...]:
    """Whether other units have the same pieces on the rows, and whether all that agree must have them; X (m, d) some rows."""
    pieces = Pieces.of(gauge, alpha, *cells(samples, X, gauge))
    if not len(pieces.B):
        return (Finding(Outcome.UNEXAMINED, "No row is clear of the kinks; give rows elsewhere."),)
    null = pieces.null()
    if (loose := np.flatnonzero(null > LIMITS.same)).size:
        units = tuple(loose.tolist())
        return (
            Finding(
                Outcome.FOUND,
                f"Between the kinks the rows see {named(gauge, units)} only together, or not at all: moved against each other "
                "they agree on every row. Give rows on the other sides.",
                units=units,
                width=pieces.shown if pieces.shown < gauge.network.n_units else None,
            ),
            *_beside_loose(samples, pieces, np.flatnonzero(null <= LIMITS.same)),
        )
    needed = gauge.free.inputs(gauge.network.n_inputs) + 1
    bases = disjoint_bases(Slopes(pieces.B, residue(alpha), pieces.constant), needed)
    candidates = _listed(pieces)
    if candidates is None:
        return _by_subsets(samples, pieces, pieces.units)
    return _judged(samples, pieces, candidates, bases, needed)


def pieces_beside_linear(samples: Samples, X: np.ndarray, gauge: Gauge, alpha: float) -> tuple[Finding, ...]:
    """The same beside a free linear part: [S, 1] in place of S, and, at q = 1, kinks alone: a reflection moves V."""
    net = gauge.network
    flat = -1.0 if net.activation.degree == 1 else alpha
    pieces = replace(Pieces.of(gauge, flat, *cells(samples, X, gauge)), linear=True)
    if not len(pieces.B):
        return (Finding(Outcome.UNEXAMINED, "No row is clear of the kinks; give rows elsewhere."),)
    null = pieces.null()
    if (loose := np.flatnonzero(null > LIMITS.same)).size:
        units = tuple(loose.tolist())
        sentence = f"The rows see {named(gauge, units)} and the linear part only together. Give rows on the other sides."
        beside, _ = _open_beside_loose(pieces, np.flatnonzero(null <= LIMITS.same))
        return (Finding(Outcome.FOUND, sentence, units=units), *beside)
    needed = max(gauge.free.inputs(net.n_inputs), net.n_inputs + gauge.free.c) + 1
    bases = disjoint_bases(Slopes(pieces.B, residue(pieces.alpha), True), needed)
    candidates = _listed(pieces)
    if candidates is None or Exchange.of(pieces, pieces.units, candidates, few=False).C.shape[1]:
        return (Finding(Outcome.UNEXAMINED, "Other kinks may have the same pieces on these rows beside a linear part."),)
    alone = _undecided(gauge, bases, needed)
    return (alone, *_beside_open(samples, pieces, bases)) if alone else (_proof(pieces, candidates, bases, needed, ""),)


def pieces_below(samples: Samples, X: np.ndarray, gauge: Gauge, bar: Bar) -> Finding | None:
    """Other units with nearly the same pieces whose refit is below the bar; noise may have put rows on a wrong side."""
    alpha = ratio(gauge.network)
    if alpha is None:
        return None
    noise = math.sqrt(bar.ceiling / samples.total)
    margin = LIMITS.noisy_kink * noise * math.sqrt(gauge.size / samples.n)
    pieces = Pieces.of(gauge, alpha, *cells(samples, X, gauge, margin))
    if not len(pieces.B) or (pieces.null() > LIMITS.same).any() or (candidates := _listed(pieces)) is None:
        return None
    exchange = Exchange.of(pieces, pieces.units, candidates)
    proposals = itertools.islice(exchange.proposals(LIMITS.noisy_units), LIMITS.patterns)
    kept = below(samples, gauge, list(proposals), bar)
    return _rivalled(gauge, kept) if kept else None


def _listed(pieces: Pieces) -> np.ndarray | None:
    """(cells, m) the sides, other than the units' own, whose slopes lie in the column space of S."""
    B, alpha, even = pieces.different, pieces.alpha, pieces.alpha == -1.0 or pieces.linear
    beside = alpha != 0.0 or pieces.linear
    space = _independent_columns(np.hstack([B, np.ones((len(B), 1))]) if beside else B)
    V = binary_vectors(space)
    if V is None:
        return None
    own = {column.tobytes() for column in (B.T > 0)} | ({column.tobytes() for column in (B.T == 0)} if even else set())
    new = [v for v in V.T if v.tobytes() not in own and ((v.any() and not v.all()) if pieces.linear else (v.any() or alpha))]
    candidates = np.array(new, dtype=bool).reshape(len(new), len(B)).T
    slopes = Slopes(B, residue(alpha), pieces.linear)
    kept = spanned(slopes, Slopes(candidates.astype(float), residue(alpha)).take(np.arange(len(B))))
    return candidates[:, kept]


def _independent_columns(B: np.ndarray) -> np.ndarray:
    """Columns of B that are a basis of its column space."""
    from scipy.linalg import qr

    R, order = qr(B.T @ B, mode="r", pivoting=True)
    sizes = np.abs(np.diagonal(R))
    return np.asarray(B[:, np.sort(order[sizes > LIMITS.independent * sizes[0]])])


def _judged(samples: Samples, pieces: Pieces, candidates: np.ndarray, bases: Bases, needed: int) -> tuple[Finding, ...]:
    exchange = Exchange.of(pieces, pieces.units, candidates)
    gauge, left = pieces.gauge, exchange.C.shape[1]
    alone = _undecided(gauge, bases, needed)
    doubts = () if alone is None else (alone, *_beside_open(samples, pieces, bases))
    needs = np.abs(exchange.C).max(axis=1, initial=0.0)
    units = tuple(u for u, c in zip(exchange.units, needs, strict=True) if c > LIMITS.same)
    pairs = np.linalg.norm(pieces.theta[:, None] - pieces.theta, axis=2) <= LIMITS.same * np.linalg.norm(pieces.theta, axis=1)
    if units and np.count_nonzero(pairs) > len(pairs):  # a φ(z) − a φ(−z), linear for any z, whose sides are not in the list
        sentence = f"Two units are a linear function together, beside which {named(gauge, units)} may be reflected."
        doubts = (*doubts, Finding(Outcome.UNEXAMINED, f"{sentence} Use the linear part in their place.", units=units))
    if left > LIMITS.extras:
        sentence = f"The rows leave {left} other sides to {named(gauge, units)}, too many to be tried. Give rows elsewhere."
        return (*doubts, Finding(Outcome.UNEXAMINED, sentence, number=float(left), limit=float(LIMITS.extras), units=units))
    if rivals := _agreeing(samples, exchange):
        return (*doubts, _rivalled(gauge, rivals))
    tried = f"the rows leave {left} other sides, of which {LIMITS.swaps} at a time were tried"
    return doubts or (_proof(pieces, candidates, bases, needed, "" if exchange.complete else tried),)


def _undecided(gauge: Gauge, bases: Bases, needed: int) -> Finding | None:
    """Rows outside the flat in which the search for bases ended, too few for what they alone determine."""
    if bases.count >= needed or not bases.undecided(needed - 1):
        return None
    return Finding(
        Outcome.UNEXAMINED,
        f"{bases.missed} rows alone tell what the kinks of {named(gauge, bases.units)} leave open there, "
        f"{(needed - 1) * bases.codimension} coordinates: other units may fit them. Give more rows between these kinks.",
        number=float(bases.missed),
        limit=float((needed - 1) * bases.codimension + 1),
        units=bases.units,
    )


def _beside_open(samples: Samples, pieces: Pieces, bases: Bases) -> tuple[Finding, ...]:
    """The units beside those that rows outside the flat leave open: on the flat one of k is to spare, and any may be two there.

    Such a one has its own sides on the flat, and others at every row outside: where no hyperplane has these, it is one.
    """
    assert bases.outside is not None
    tight = np.setdiff1d(pieces.units, bases.units)
    B = pieces.B[~bases.outside]
    found: tuple[Finding, ...] = ()
    settled = np.zeros(0, dtype=int)
    if _only_flat(pieces, bases):
        found, settled = _open_beside_loose(replace(pieces, B=B, different=distinct(B)), tight)
        settled = settled[~_may_be_two(samples, pieces, bases, settled)]
    told = {i for finding in found for i in finding.units}
    if rest := tuple(i for i in tight.tolist() if i not in told and i not in settled):
        who = named(pieces.gauge, rest).capitalize()
        sentence = f"{who} may be two units instead, with kinks among those rows. Give more of them."
        found += (Finding(Outcome.UNEXAMINED, sentence, units=rest, instead=bases.units),)
    return found


def _only_flat(pieces: Pieces, bases: Bases) -> bool:
    """Whether only the rows outside this flat may have other pieces.

    Let m rows miss it, of codimension one, and let the rest hold t disjoint bases of it. A flat of codimension c + 1 inside
    it is missed by m + tc rows, one that meets it in codimension c, and has that itself, by tc: more than q for each
    codimension where t > 2q − m.
    """
    assert bases.outside is not None
    if pieces.linear or bases.codimension > 1:
        return False
    wanted = 2 * pieces.gauge.free.inputs(pieces.gauge.network.n_inputs) - bases.missed + 1
    rest = np.delete(pieces.B[~bases.outside], bases.units[0], axis=1)
    return len(rest) > 0 and disjoint_bases(Slopes(rest, residue(pieces.alpha), pieces.constant), wanted).count >= wanted


def _may_be_two(samples: Samples, pieces: Pieces, bases: Bases, units: np.ndarray) -> np.ndarray:
    """(units,) whether a hyperplane may have a unit's sides at the rows of the flat and other ones at the row outside that lies
    farthest from its kink. None has where ±x̃ there is a sum of the others' ±x̃, on their sides, with weights ≥ 0 [Farkas]."""
    assert bases.equations is not None
    net, X = pieces.gauge.network, pieces.X
    beyond = inputs_beyond(samples, pieces.gauge, X, residue(pieces.alpha), bases.equations, LIMITS.some)
    if not len(beyond):
        return np.ones(len(units), dtype=bool)
    slopes = Slopes((X @ net.W + net.b > 0).astype(float), residue(pieces.alpha), pieces.constant)
    here = X[~slopes.times(bases.equations, np.arange(len(X))).any(axis=1)]
    z, there = here @ net.W + net.b, beyond @ net.W + net.b
    far = np.argmax(np.abs(there), axis=0)
    rows, ends = inputs(here, pieces.gauge), inputs(beyond, pieces.gauge)[far]
    cones = [(np.sign(z[:, [i]]) * rows, np.sign(there[far[i], i]) * ends[i]) for i in units.tolist()]
    return np.array([not _in_cone(generators, v) for generators, v in cones], dtype=bool)


def _in_cone(generators: np.ndarray, v: np.ndarray) -> bool:
    """Whether v (q,) is a combination of generators (m, q) with weights ≥ 0; not where that is not found."""
    from scipy.optimize import nnls

    units = generators / np.maximum(np.linalg.norm(generators, axis=1, keepdims=True), np.finfo(float).tiny)
    length = float(np.linalg.norm(v))
    try:
        return bool(nnls(units.T, v / length)[1] <= LIMITS.on_kink)
    except RuntimeError:  # too many steps
        return False


def _proof(pieces: Pieces, candidates: np.ndarray, bases: Bases, needed: int, open_end: str) -> Finding:
    """The finding where no rival was found; open_end: what was not tried, in words."""
    related = _related(pieces)
    if bases.count < needed:
        why = f"the rows hold {bases.count} disjoint bases of slopes, {needed} would prove it"
    elif related is None:
        why = "the units' polynomials obey a linear relation"
    elif open_end:
        why = open_end
    else:
        return Finding(
            Outcome.IMPOSSIBLE,
            f"No other units agree on these rows: the slopes there hold {needed} disjoint bases, so that every network of this "
            f"width that agrees has the same pieces, and no other kinks have them ({_count(candidates.shape[1])}).",
            number=float(bases.count),
            limit=float(needed),
            assumes=(DENSITY, EQUALITY, *related),
        )
    return Finding(
        Outcome.NONE_FOUND,
        f"No other units with the same pieces on these rows were found; tested, not proved: {why}.",
        number=float(bases.count),
        limit=float(needed),
        assumes=(DENSITY,),
    )


def _count(new: int) -> str:
    return "no other sides are possible" if not new else f"{new} other sides are possible, none of them with units"


def _related(pieces: Pieces) -> tuple[str, ...] | None:
    """What must be assumed that the units' polynomials have no integer relation; None where they may have one.

    Constants do not count where c may take them up.
    """
    theta = pieces.theta[:, : pieces.theta.shape[1] - pieces.gauge.free.c]
    if pieces.linear and pieces.gauge.network.activation.degree == 2:  # V takes up what is linear
        columns = np.triu_indices(pieces.gauge.network.n_inputs + 1)[1]
        theta = pieces.theta[:, columns < pieces.gauge.network.n_inputs]
    theta = theta / np.linalg.norm(theta, axis=1, keepdims=True)
    theta = theta[:, np.abs(theta).max(axis=0) > 0]
    k, m = theta.shape
    if k > m:
        return (RELATIONS,) if not _small_relation(theta) else None
    values = np.linalg.svd(theta, compute_uv=False)
    return () if values[-1] > LIMITS.independent * values[0] else None


def _small_relation(theta: np.ndarray) -> bool:
    """Whether two or three rows are dependent."""
    k = len(theta)
    gram = theta @ theta.T
    pairs = 1.0 - gram[np.triu_indices(k, 1)] ** 2
    if pairs.min(initial=1.0) <= LIMITS.independent:
        return True
    i, j, m = np.array(list(itertools.combinations(range(k), 3))).reshape(-1, 3).T
    a, b, c = gram[i, j], gram[i, m], gram[j, m]
    return bool((1 + 2 * a * b * c - a**2 - b**2 - c**2).min(initial=1.0) <= LIMITS.independent)


def _agreeing(samples: Samples, exchange: Exchange) -> list[tuple[tuple[int, ...], Network]]:
    proposals = exchange.proposals(LIMITS.same)
    agreeing = (found for found in proposals if agree(samples, exchange.pieces.gauge, found[1]))
    return list(itertools.islice(agreeing, LIMITS.patterns))


def _rivalled(gauge: Gauge, rivals: list[tuple[tuple[int, ...], Network]]) -> Finding:
    units = tuple(sorted({i for moved, _ in rivals for i in moved}))
    return Finding(
        Outcome.FOUND,
        f"Another network of this width, with other kinks for {named(gauge, units)}, agrees on every row: they lie in too few "
        "places to tell which is right. Give rows elsewhere.",
        number=float(len(rivals)),
        limit=0.0,
        units=units,
        rivals=tuple(rival for _, rival in rivals),
    )


def _beside_loose(samples: Samples, pieces: Pieces, tight: np.ndarray) -> tuple[Finding, ...]:
    beside, settled = _open_beside_loose(pieces, tight)
    return (*beside, *_by_subsets(samples, pieces, tuple(settled.tolist())))


def _open_beside_loose(pieces: Pieces, tight: np.ndarray) -> tuple[tuple[Finding, ...], np.ndarray]:
    """Units whose slopes a new column needs, beside loose ones that may take up what their change leaves; and the others."""
    candidates = _listed(pieces)
    exchange = None if candidates is None else Exchange.of(pieces, pieces.units, candidates, few=False)
    needs = np.ones(len(tight)) if exchange is None else np.abs(exchange.C[tight]).max(axis=1, initial=0.0)
    units = tuple(tight[needs > LIMITS.same].tolist())
    sentence = f"Beside those, {named(pieces.gauge, units)} may have other kinks on these rows. Give rows on the other sides."
    found = (Finding(Outcome.UNEXAMINED, sentence, units=units),) if units else ()
    return found, tight[needs <= LIMITS.same]


def _by_subsets(samples: Samples, pieces: Pieces, units: tuple[int, ...]) -> tuple[Finding, ...]:
    """Rivals that differ in two to four of these units, the others being common; only for the few cells that those see."""
    known = dict[tuple[int, int], np.ndarray]()
    sets = itertools.chain.from_iterable(itertools.combinations(units, size) for size in range(2, LIMITS.swaps + 1))
    tried, suspects, found = 0, 0, []
    for chosen in itertools.islice(sets, LIMITS.subsets):
        tried, columns = tried + 1, _new_sides(pieces, chosen, known)
        if columns.size and (suspects := suspects + 1) <= LIMITS.suspects:
            found += _agreeing(samples, Exchange.of(pieces, chosen, columns))
        if len(found) >= LIMITS.patterns:
            break
    if found:
        return (_rivalled(pieces.gauge, found),)
    if not tried:
        return ()
    of = f"exchanges of two to {LIMITS.swaps} of {len(units)} units, {tried} sets of them"
    if suspects > LIMITS.suspects:
        sentence = f"Other units may have the same pieces on these rows: {suspects} of {of} are possible, too many to be tried."
        return (Finding(Outcome.UNEXAMINED, sentence, number=float(suspects), limit=float(LIMITS.suspects), units=units),)
    sentence = f"No other units with the same pieces on these rows were found among {of}; tested, not proved."
    return (Finding(Outcome.NONE_FOUND, sentence, number=0.0, limit=float(tried), units=units, assumes=(DENSITY,)),)


def _new_sides(pieces: Pieces, chosen: tuple[int, ...], known: dict[tuple[int, int], np.ndarray]) -> np.ndarray:
    """(cells, m) other sides that are combinations of these units' slopes; known: what was found of the cells that units see.

    Where some cells show these units on all their sides, the others show nothing more. They are sorted: so every so manieth.
    """
    bits = 1 << np.arange(len(chosen))
    for step in (max(1, len(pieces.different) // LIMITS.glanced), 1):
        codes = pieces.different[::step, chosen].astype(np.int64) @ bits
        seen = np.flatnonzero(np.bincount(codes))
        if len(seen) == 2 ** len(bits):
            break
    if (key := (len(bits), int((1 << seen).sum()))) not in known:
        known[key] = _new_on(((seen[:, None] >> np.arange(len(bits))) & 1).astype(float), pieces.alpha)
    new = known[key]
    return new[np.searchsorted(seen, pieces.different[:, chosen].astype(np.int64) @ bits)] if new.size else new


def _new_on(B: np.ndarray, alpha: float) -> np.ndarray:
    """(cells, m) all 0/1 vectors whose slopes are combinations of those of B (cells, size ≤ 4), other than its own."""
    S = alpha + (1 - alpha) * B
    vectors = ((np.arange(2 ** len(B))[:, None] >> np.arange(len(B))) & 1).astype(float)
    slopes = alpha + (1 - alpha) * vectors
    rest = slopes - slopes @ np.linalg.pinv(S).T @ S.T
    own = {tuple(column) for column in B.T} | ({tuple(1 - column) for column in B.T} if alpha == -1.0 else set())
    new = [v for v, r in zip(vectors, rest, strict=True) if np.abs(r).max() < LIMITS.same and tuple(v) not in own]
    return np.array([v for v in new if v.any() or alpha]).reshape(-1, len(B)).T > 0


@dataclass(frozen=True, eq=False)
class Exchange:
    """New sides that some units may give way to: only those that a hyperplane separates on the rows at hand."""

    pieces: Pieces
    units: tuple[int, ...]
    C: np.ndarray  # (units, m) the new slopes as combinations of the units' own
    sides: np.ndarray  # (rows, m)
    here: np.ndarray  # (rows, q) x̃

    @classmethod
    def of(cls, pieces: Pieces, units: tuple[int, ...], candidates: np.ndarray, few: bool | None = None) -> Exchange:
        """Of few units every choice is soon solved; of many, sides that no hyperplane separates are left out first."""
        net, alpha, X = pieces.gauge.network, pieces.alpha, pieces.X
        S, Z = pieces.S[:, units], X @ net.W[:, units] + net.b[list(units)]
        slopes = alpha + (1 - alpha) * (Z > 0)
        if pieces.linear:
            S, slopes = (np.hstack([A, np.ones((len(A), 1))]) for A in (S, slopes))
        C = np.linalg.lstsq(S, alpha + (1 - alpha) * candidates)[0]
        slopes = slopes @ C
        sides, here = (slopes - alpha) / (1 - alpha) > 0.5, inputs(X, pieces.gauge)
        few = len(units) <= LIMITS.swaps if few is None else few
        possible = [e for e in range(C.shape[1]) if few or e >= LIMITS.programmes or separable(here, sides[:, e])]
        return cls(pieces, units, C[:, possible], sides[:, possible], here)

    @property
    def complete(self) -> bool:
        """Whether every set of new sides is tried."""
        return bool(self.C.shape[1] <= LIMITS.swaps)

    def proposals(self, tolerance: float) -> Iterator[tuple[tuple[int, ...], Network]]:
        """The units that change, and the network, for every exchange whose units have their sides on the rows."""
        tried = 0
        for new, olds in self._choices():
            for old in olds[self._possible(new, olds, tolerance)].tolist():
                network = self._solved(new, old, tolerance)
                if network is not None:
                    moved = np.abs(self.C[:, new]).max(axis=1) > LIMITS.same
                    yield tuple(u for u, m in zip(self.units, moved, strict=True) if m), network
            if (tried := tried + len(olds)) > LIMITS.choices:
                return

    def _choices(self) -> Iterator[tuple[list[int], np.ndarray]]:
        """Sets of new sides, and (m, size) as many old units that they may replace: their slopes depend on these."""
        count, m = self.C.shape
        for size in range(1, min(LIMITS.swaps, m, count) + 1):
            for new in itertools.combinations(range(min(m, LIMITS.extras)), size):
                support = np.flatnonzero(np.abs(self.C[:, new]).max(axis=1) > LIMITS.same)
                olds = np.array(list(itertools.combinations(support.tolist(), size)), dtype=int).reshape(-1, size)
                yield list(new), olds[np.abs(np.linalg.det(self.C[olds][:, :, list(new)])) > LIMITS.same]

    def _possible(self, new: list[int], olds: np.ndarray, tolerance: float) -> np.ndarray:
        """(m,) the choices whose new units have their sides on some of the rows; φ of degree two says less of them."""
        if self.pieces.gauge.network.activation.degree != 1 or not len(olds):
            return np.ones(len(olds), dtype=bool)
        theta, here = self.pieces.theta[list(self.units)], self.here[: LIMITS.listed_rows]
        fresh = np.linalg.solve(self.C[olds][:, :, new], theta[olds])[:, :, : here.shape[1]]  # (m, size, q)
        sides = np.where(self.sides[: LIMITS.listed_rows, new], 1.0, -1.0).T
        values = fresh @ here.T * sides
        wrong = np.minimum(np.maximum(values.max(axis=2), 0.0), np.maximum(-values.min(axis=2), 0.0))
        return np.asarray((wrong <= tolerance * np.abs(values).max(axis=(1, 2))[:, None]).all(axis=1))

    def _solved(self, new: list[int], old: list[int], tolerance: float) -> Network | None:
        """The network with the new units in the places of the old ones, S Θ being the same."""
        gauge, net, chosen = self.pieces.gauge, self.pieces.gauge.network, list(self.units)
        theta, C = self.pieces.theta[chosen], self.C[:, new]
        fresh = np.linalg.solve(C[old], theta[old])
        changed = theta - C @ fresh
        changed[old] = fresh
        if (solved := _units(changed, net, tolerance)) is None:
            return None
        V, signs = solved
        sides = self.here @ np.vstack([net.W, net.b])[: self.here.shape[1], chosen] > 0
        sides[:, old] = self.sides[:, new]
        values = self.here @ V[:, : self.here.shape[1]].T * np.where(sides, 1.0, -1.0)
        turn = np.where(values.sum(axis=0) < 0, -1.0, 1.0)
        if (turn * values).min() < -tolerance * np.abs(values).max():
            return None
        W, b, a = net.W.copy(), net.b.copy(), net.a.copy()
        W[:, chosen] = (V[:, : net.n_inputs] * turn[:, None]).T
        if gauge.free.b:
            b[chosen] = V[:, -1] * turn
        a[chosen] = turn if net.activation.degree == 1 else signs
        return replace(net, W=W, a=a, b=b)


def _units(theta: np.ndarray, net: Network, tolerance: float) -> tuple[np.ndarray, np.ndarray] | None:
    """V (k, d + 1) and signs with polynomials s ⟨V, (x, 1)⟩^q, V up to sign; None if they are no squares."""
    d = net.n_inputs
    if net.activation.degree == 1:
        return theta, np.ones(len(theta))
    upper = np.triu_indices(d + 1)
    M = np.zeros((len(theta), d + 1, d + 1))
    M[:, upper[1], upper[0]] = theta
    values, vectors = np.linalg.eigh(M)  # which reads the lower half
    size = np.abs(values)
    last = np.argmax(size, axis=1)
    rows = np.arange(len(theta))
    if (np.sort(size, axis=1)[:, :-1] > tolerance * size[rows, last][:, None]).any():
        return None
    return vectors[rows, :, last] * np.sqrt(size[rows, last])[:, None], np.sign(values[rows, last])


def separable(here: np.ndarray, sides: np.ndarray) -> bool:
    """Whether some ⟨θ, x̃⟩ is positive on one side of the rows and negative on the other: a linear programme."""
    from scipy.optimize import linprog

    rows = here * np.where(sides, 1.0, -1.0)[:, None]
    rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.finfo(float).tiny)
    q = here.shape[1]
    answer = linprog(
        np.append(np.zeros(q), -1.0),
        A_ub=np.hstack([-rows, np.ones((len(rows), 1))]),
        b_ub=np.zeros(len(rows)),
        bounds=[(-1.0, 1.0)] * q + [(None, 1.0)],
        method="highs",
    )
    return bool(answer.status != 0 or answer.fun < -LIMITS.on_kink)
