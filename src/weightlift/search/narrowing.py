"""From a wide fit to a narrow one: units that cost nothing are dropped, the rest deleted or merged one by one and refitted.

Deletion  of unit i raises ½ E r² by ½ aᵢ² / (G⁻¹)ᵢᵢ once the other output weights have adapted, G = E φφᵀ: all deletions are
          scored, and the free ones taken in turn, on G⁻¹ alone. A unit that is linear on every row is free beside a linear one.
Merge     of the two units nearest to one hyperplane, whichever way they face where φ(−z) = ±φ(z) + a polynomial.
Cost      one pass for G; a few Gauss–Newton steps of six students for every unit that is not free.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from weightlift.namespaces import to_numpy
from weightlift.refinement import Refinement, gauss_newton
from weightlift.refinement.normal_equations import Free, OutputEquations
from weightlift.risk import Students
from weightlift.samples import Samples
from weightlift.search.budget import UNBOUNDED, Budget


@dataclass(frozen=True)
class Limits:
    free: float = 1e-3  # of the risk: what a deletion may add without a refit
    exact: float = 1e-22  # of ½ E y²: what it may add at rounding level, a hundred ulp of the output
    dependent: float = 1e-12  # of a feature's square: what is left of one in the span of others, a micron of its length
    portion: int = 5  # while the fit is not exact, one in so many units too many goes at once; the last ones go with care
    tries: int = 3  # deletions, and as many merges, that are refitted …
    more: int = 4  # … and times as many where a fit that good would be lost
    leap: float = 10.0  # times the risk that a removal leaves behind: then it took a unit that was needed, and others are tried
    slow: float = 0.02  # of the risk: a step that gains less is the last
    together: int = 4000  # parameters of a student up to which a batch is fitted side by side; Gram matrices fill memory
    glance: int = 3  # steps after which the best of them is chosen
    steps: int = 15  # … and those that it is given then


LIMITS = Limits()
HUGE = 1e300


@dataclass(frozen=True, eq=False)
class Narrow:
    """One student of the asked width, its risk ½ E r², and the work in steps of one start of that width."""

    students: Students
    risk: float
    work: float


def narrowed(
    samples: Samples, wide: Students, n_units: int, *, free: str, energy: float, kept: int = 0, budget: Budget = UNBOUNDED
) -> Narrow:
    """The student `wide` (S = 1) with n_units units beside its last `kept` ones, which stay. Steps end with the budget.

    >>> import weightlift as wl
    >>> from weightlift.network import Network
    >>> truth = wl.teachers.conditioned(4, 2, activation="relu", rng=0)
    >>> X, y = wl.draw(truth, 100, rng=0)
    >>> doubled = Students.of(Network(np.hstack([truth.W, truth.W]), np.tile(truth.a / 2, 2)))
    >>> found = narrowed(wl.samples.open(X, y), doubled, 2, free="Wa", energy=0.5 * np.mean(y**2))
    >>> found.students.network(0).equivalent(truth)
    True
    """
    unit = wide.activation.degree is not None
    options: dict[str, Any] = {"free": free, "unit": unit, "line": kept > 0, "first": True, "damping": 1e-3}
    options["deadline"] = budget.deadline
    fit, work = gauss_newton(samples, wide, iterations=0, **options), 0.0
    while (width := fit.students.shape[2] - kept) > n_units:
        costs, weight = _deletion_costs(samples, fit.students, free, kept), (width / n_units) ** 2
        gone = costs.without_refit(LIMITS.free * float(fit.risks[0]) + LIMITS.exact * energy, width - n_units)
        if not len(gone) and not fit.risks[0] <= LIMITS.exact * energy:
            gone = costs.without_refit(np.inf, (width - n_units) // LIMITS.portion)
        if budget.late():  # no refit is left: all at once
            gone = costs.without_refit(np.inf, width - n_units)
        before, enough = fit, max(LIMITS.exact * energy, LIMITS.leap * float(fit.risks[0]))
        if len(gone):
            rest = _units(fit.students, np.delete(np.arange(width + kept), gone))
            steps = budget.steps(LIMITS.steps, work, starts=weight)
            fit = gauss_newton(samples, rest, iterations=steps, tol=LIMITS.slow, **options)
            work += fit.iterations * weight
            if fit.risks[0] <= enough or budget.late():
                continue
        for tries in (LIMITS.tries, LIMITS.more * LIMITS.tries):
            batch = _narrower(before.students.on_host(), np.argsort(costs.costs)[:tries], kept)
            steps = budget.steps(LIMITS.glance, work, starts=weight * batch.shape[1])
            first = _best_of(samples, batch, LIMITS.exact * energy, steps, options)
            work += first.iterations * batch.shape[1] * weight
            steps = budget.steps(LIMITS.steps, work, starts=weight)
            fit = gauss_newton(samples, first.students, iterations=steps, tol=LIMITS.slow, **options)
            work += fit.iterations * weight
            if fit.risks[0] <= enough:
                break
    return Narrow(fit.students, float(fit.risks[0]), work)


def _best_of(samples: Samples, batch: Students, exact: float, steps: int, options: dict[str, Any]) -> Refinement:
    """The best of a batch: at once where it is exact, else after a few steps; large students one after the other."""
    first = gauss_newton(samples, batch, iterations=0, **options)
    if not first.risks.min() <= exact:
        d, S, k = batch.shape
        together = d * k <= LIMITS.together
        parts = [batch] if together else [batch.take(np.array([i])) for i in range(S)]
        fits = [gauss_newton(samples, part, iterations=steps, **options) for part in parts]
        first = min(fits, key=lambda fit: float(fit.risks.min()))
    return replace(first, students=first.students.take(np.array([first.best])), risks=first.risks[[first.best]])


@dataclass(frozen=True, eq=False)
class _Deletions:
    """a and G⁻¹ of a student's outputs, of which the first `width` may be deleted."""

    a: np.ndarray
    inverse: np.ndarray
    width: int

    @property
    def costs(self) -> np.ndarray:
        """(width,) what each deletion adds to ½ E r²."""
        return np.asarray(0.5 * self.a[: self.width] ** 2 / np.diagonal(self.inverse)[: self.width])

    def without_refit(self, allowed: float, most: int) -> np.ndarray:
        """Units that can go one after the other while they add no more than `allowed` together, the cheapest first."""
        a, inverse, costs, gone, spent = self.a, self.inverse, self.costs, np.zeros(0, dtype=int), 0.0
        while len(gone) < most:
            i = int(np.argmin(costs))
            spent += float(costs[i])
            if not spent <= allowed:
                break
            gone = np.append(gone, i)
            column = inverse[:, i] / inverse[i, i]
            a, inverse = a - a[i] * column, inverse - np.outer(column, inverse[i])
            costs = 0.5 * a[: self.width] ** 2 / np.maximum(np.diagonal(inverse)[: self.width], np.finfo(float).tiny)
            costs[gone] = np.inf
        return gone


def _deletion_costs(samples: Samples, students: Students, free: str, kept: int) -> _Deletions:
    """Of a unit in the span of others the inverse is infinite, and the cost nothing."""
    equations = OutputEquations(students, "c" in free, Free.of(free) if kept else None)
    gram, target = (to_numpy(v)[0] for v in samples.mean(equations))
    width = students.shape[2] - kept
    root = np.sqrt(np.diagonal(gram))
    root = np.where(root > 0, root, 1.0)
    G = gram / np.outer(root, root)
    basis = _independent(G, np.arange(width, len(G)))
    inverse, a = np.diag(np.full(len(G), HUGE)), np.zeros(len(G))
    inside = np.linalg.inv(G[np.ix_(basis, basis)])
    a[basis] = inside @ (target / root)[basis] / root[basis]
    inverse[np.ix_(basis, basis)] = inside / np.outer(root[basis], root[basis])
    return _Deletions(a, inverse, width)


def _independent(G: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Features none of which is in the span of the others, those of `first` before all: a Cholesky factor with pivots."""
    basis, left = list[int](), G.copy()
    for i in first.tolist():
        if left[i, i] > LIMITS.dependent:
            basis.append(i)
            left = left - np.outer(left[:, i], left[i]) / left[i, i]
    while (i := int(np.argmax(np.diagonal(left)))) not in basis and left[i, i] > LIMITS.dependent:
        basis.append(i)
        left = left - np.outer(left[:, i], left[i]) / left[i, i]
    return np.sort(basis)


def _units(students: Students, index: np.ndarray) -> Students:
    host = students.on_host()
    return replace(host, W=host.W[:, :, index], a=host.a[:, index], b=host.b[:, index])


def _narrower(students: Students, cheapest: np.ndarray, kept: int) -> Students:
    """The student without each of the cheapest units, and with each of the nearest pairs as one."""
    k = students.shape[2]
    without = [_units(students, np.delete(np.arange(k), i)) for i in cheapest]
    batch = without[0]
    for other in [*without[1:], *(_merged(students, i, j, kept) for i, j in _nearest_pairs(students, len(cheapest), kept))]:
        batch = batch.joined(other)
    return batch


def _nearest_pairs(students: Students, count: int, kept: int) -> list[tuple[int, int]]:
    V = np.vstack([students.W[:, 0], students.b])
    V = V / np.maximum(np.linalg.norm(V, axis=0), np.finfo(float).tiny)
    cosine = V.T @ V
    cosine = np.abs(cosine) if students.activation.reflection is not None else cosine
    i, j = np.triu_indices(V.shape[1] - kept, 1)
    nearest = np.argsort(-cosine[i, j])[:count]
    return [(int(i[p]), int(j[p])) for p in nearest]


def _merged(students: Students, i: int, j: int, kept: int) -> Students:
    """Units i and j as one, jumps added. Where no row lies between two kinks of degree 1, gᵢφ(uᵢ) + gⱼφ(uⱼ) is one unit
    exactly, of gᵢvᵢ + gⱼvⱼ; a unit that faces the other way is turned first, which moves the linear one: φ(z) = φ(−z) − p₁z.
    """
    V, g = np.vstack([students.W[:, 0], students.b]), students.a[0].copy()
    reflection = students.activation.reflection
    if reflection is not None and float(V[:, i] @ V[:, j]) < 0:
        slope = dict(enumerate(reflection[1])).get(1, 0.0)
        if kept and slope:
            line = g[-1] * V[:, -1] - slope * g[j] * V[:, j]
            g[-1] = np.linalg.norm(line)
            V[:, -1] = line / max(float(g[-1]), np.finfo(float).tiny)
        V[:, j], g[j] = -V[:, j], reflection[0] * g[j]
    total = g[i] + g[j]
    opposite = abs(total) < 0.1 * (abs(g[i]) + abs(g[j]))  # the difference of two units is none; one of them stays
    share = 0.0 if total == 0 or opposite else g[j] / total
    V[:, i], g[i] = (1 - share) * V[:, i] + share * V[:, j], total if total else g[i]
    moved = replace(students, W=V[:-1, None], b=V[-1:], a=g[None])
    return _units(moved, np.delete(np.arange(len(g)), j))
