"""Rivals with reflected units: of the function, and those that a change of the parameters makes agree on the rows.

Reflecting the units of F changes f by Δ_F = Σ_F s aᵢ p(zᵢ), where φ(−z) = s φ(z) + p(z). Where it vanishes the function is the
same [awasthi2021, Thm 3.4]. Else, to first order, the parameters can undo what of it lies in the range of J:

    min_δ Σ w (Δ_F + Jδ)² = fᵀQf,      Q = PᵀWP − PᵀWJ (JᵀWJ)⁻¹ JᵀWP  (k, k),      P = (s aᵢ p(zᵢ)) on the rows.

An always-on or nearly linear unit, units that share their rows: each makes some fᵀQf vanish. Sets whose fᵀQf is small are
suspects; a refit decides. Cost  two passes of O(n p k), and that of the subset sums of k columns.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from weightlift.errors import ArgumentError
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.evidence.rows import double
from weightlift.identifiability import reflect, sign_patterns
from weightlift.identifiability.reflections import reflection, reflection_polynomials
from weightlift.identifiability.subset_sums import SubsetSums
from weightlift.namespaces import array_namespace, matmul_transposed, to_numpy
from weightlift.network import Network
from weightlift.refinement.normal_equations import NormalEquations
from weightlift.risk import Students
from weightlift.rivals.finding import Finding, Outcome
from weightlift.rivals.limits import LIMITS
from weightlift.rivals.trial import Bar, Equations, agree, below, changed, named, refitted
from weightlift.samples import Block, Samples, Sums


def same_function(gauge: Gauge) -> Finding | None:
    """Sets of units whose reflection leaves the function as it is, other than symmetries of φ."""
    net = gauge.network
    if net.activation.reflection is None or net.turns:
        return None
    changes = reflection_polynomials(net, offset=gauge.free.c)
    if len(changes) >= net.n_units and _apart(changes):
        return None
    try:
        found = sign_patterns(net, offset=gauge.free.c, tol=LIMITS.same_function, near=LIMITS.same_function)
    except ArgumentError as error:
        return Finding(Outcome.UNEXAMINED, f"The reflections of this network could not be searched: {error}")
    if not found.ambiguous:
        return None
    patterns = found.patterns[found.distinct]
    units = tuple(np.flatnonzero(patterns.any(axis=0)).tolist())
    return Finding(
        Outcome.FOUND,
        f"With {named(gauge, units)} reflected the function is the same: no data can tell which is right.",
        number=float(len(patterns)),
        limit=0.0,
        units=units,
        rivals=tuple(reflect(net, pattern, offset=gauge.free.c) for pattern in patterns[: LIMITS.patterns]),
        patterns=patterns,
    )


def _apart(changes: np.ndarray) -> bool:
    """Whether ‖C f‖ ≥ σ_min ‖f‖ says of changes C (rows, k) that no set of them is a small one."""
    sizes = np.linalg.svd(changes, compute_uv=False)
    return bool(sizes.min(initial=np.inf) > LIMITS.same_function * np.linalg.norm(sizes))


def absorbed(samples: Samples, information: Information) -> Finding | None:
    """Reflected networks that agree on the rows once the parameters have moved."""
    gauge = information.gauge
    patterns = _suspects(samples, information)
    if patterns is None:
        sentence = "Reflected units could agree on these rows in too many ways to be tried; give more rows."
        if not gauge.network.activation.analytic:
            return Finding(Outcome.UNEXAMINED, sentence)
        sentence = "Reflected units were not tried on these rows, there being too many ways; by the theorem none agree exactly."
        return Finding(Outcome.NONE_FOUND, sentence)
    starts = [start for pattern in patterns for start in _starts(gauge, pattern)]
    networks = refitted(samples, gauge, starts)
    patterns = np.repeat(patterns, len(starts) // max(1, len(patterns)), axis=0)
    kept = [i for i, rival in enumerate(networks) if agree(samples, gauge, rival)]
    return _finding(gauge, patterns[kept], [networks[i] for i in kept]) if kept else None


def _starts(gauge: Gauge, pattern: np.ndarray) -> list[Network]:
    """The network with units reflected, and so that two others undo it: a φ(u) − a φ(−u) = s a u for φ(−z) = φ(z) − s z.

    Whatever u is, the two are linear, and a Gauss–Newton step does not see it: it turns one of them away from the other.
    """
    net = gauge.network
    sign, polynomial = reflection(net.activation)
    starts = [reflect(net, pattern, offset=gauge.free.c)]
    if sign < 0 or len(polynomial) != 2 or net.n_units < 3:
        return starts
    V = np.vstack([net.W, net.b, net.a])
    gaps = np.linalg.norm(V[:, :, None] + V[:, None], axis=0) / np.linalg.norm(V, axis=0)
    i, j = np.unravel_index(np.argmin(gaps + 2.0 * np.eye(len(gaps))), gaps.shape)
    if gaps[i, j] > LIMITS.noisy_units:
        return starts
    others = pattern & (np.arange(net.n_units) != i) & (np.arange(net.n_units) != j)
    W, b = net.W * np.where(others, -1.0, 1.0), net.b * np.where(others, -1.0, 1.0)
    W[:, i] += net.W[:, others] @ net.a[others] / net.a[i]
    b[i] += net.b[others] @ net.a[others] / net.a[i]
    W[:, j], b[j] = -W[:, i], -b[i]
    return [*starts, replace(net, W=W, b=b)]


def _finding(gauge: Gauge, patterns: np.ndarray, rivals: list[Network]) -> Finding:
    units = tuple(np.flatnonzero(patterns.any(axis=0)).tolist())
    return Finding(
        Outcome.FOUND,
        f"With {named(gauge, units)} reflected another network of this width fits the rows as well: they cannot tell which is "
        "right. Give more rows.",
        number=float(len(rivals)),
        limit=0.0,
        units=tuple(sorted({*units, *changed(gauge, rivals)})),
        rivals=tuple(rivals),
        patterns=patterns,
    )


@dataclass(frozen=True, eq=False)
class ReflectionProducts:
    """Σ w ppᵀ (k, k), Σ w p jᵀ (k, size of θ) and Σ w y², p the changes that reflecting each unit alone makes."""

    gauge: Gauge

    @property
    def floats_per_row(self) -> int:
        return 2 * self.gauge.size + 6 * self.gauge.network.n_units

    def __call__(self, block: Block) -> Sums:
        X, y, w = double(block)
        xp = array_namespace(X)
        students = Students.of(self.gauge.network).like(X)
        z = students.preactivations(X)
        s, polynomial = reflection(students.activation)
        change = xp.zeros_like(z[:, 0, :])
        for coefficient in reversed(polynomial):
            change = change * z[:, 0, :] + coefficient
        change = s * students.a[0, :] * change
        weighted = w[:, None] * change
        J = self.gauge.jacobian(X, z, students)
        return matmul_transposed(weighted, change), matmul_transposed(weighted, J), xp.sum(w * y * y)


def _suspects(samples: Samples, information: Information) -> np.ndarray | None:
    """(m, k) sets of units whose reflection the parameters may undo on the rows; None if there are too many.

    Where p is a constant every Δ_F is, and if it can be undone at all, so can that of each single unit.
    """
    gauge = information.gauge
    net, k = gauge.network, gauge.network.n_units
    none = np.zeros((0, k), dtype=bool)
    if net.activation.reflection is None or not reflection(net.activation)[1]:
        return none
    constant = len(reflection(net.activation)[1]) == 1
    if constant and gauge.free.c:
        return none
    square, cross, energy = (to_numpy(s) for s in samples.fold(ReflectionProducts(gauge)))
    undone = cross @ information.half_inverse
    Q = square - undone @ undone.T
    size = LIMITS.suspect * float(energy) ** 0.5
    if constant:
        single = np.eye(k, dtype=bool)[np.argsort(np.abs(net.a))]
        share = max(0.0, float(Q[0, 0])) ** 0.5 / abs(float(net.a[0]))
        return np.asarray(single[share * np.sort(np.abs(net.a)) <= size][:1])  # all differ by a constant: one stands for all
    return small_sums(Q, size)


def small_sums(Q: np.ndarray, size: float) -> np.ndarray | None:
    """The non-empty sets with fᵀQf ≤ size², None if too many; Q is positive semidefinite up to rounding."""
    k = len(Q)
    values, vectors = np.linalg.eigh((Q + Q.T) / 2)
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    if k <= LIMITS.sets:
        sets = (np.arange(1, 2**k)[:, None] >> np.arange(k) & 1).astype(bool)
        found = sets[np.linalg.norm(sets @ root.T, axis=1) <= size]
        return found if len(found) <= LIMITS.patterns else None
    scale = float(np.linalg.norm(root))
    answer = SubsetSums.of(root / scale).small(size / scale, limit=LIMITS.patterns) if scale > size else None
    return np.asarray(answer[0][answer[0].any(axis=1)]) if answer is not None and answer[1] else None


def reflected_below(samples: Samples, gauge: Gauge, bar: Bar) -> Finding | None:
    """Reflected networks that are below the bar after a refit."""
    net = gauge.network
    if net.activation.reflection is None or len(reflection(net.activation)[1]) <= gauge.free.c:
        return None  # symmetries, c taking up a constant
    patterns = _nearest(gauge)
    starts = [_starts(gauge, pattern) for pattern in patterns]
    proposals = [(tuple(np.flatnonzero(p).tolist()), start) for p, own in zip(patterns, starts, strict=True) for start in own]
    cheaper = len(patterns) > 4 and len(proposals) == len(patterns)
    equations = partial(reflected_equations, gauge=gauge, patterns=patterns, rivals=[rival for _, rival in proposals])
    kept = below(samples, gauge, proposals, bar, equations if cheaper else None)
    reflected = np.array([np.isin(np.arange(net.n_units), units) for units, _ in kept])
    return _finding(gauge, reflected, [rival for _, rival in kept]) if kept else None


def reflected_equations(samples: Samples, gauge: Gauge, patterns: np.ndarray, rivals: list[Network]) -> Equations:
    """½ Σ w r², Jᵀr and JᵀJ of networks with units reflected, all from the products of the units and their reflections: those
    of one network twice as wide, 4 k² q² of them, however many patterns there are.

    patterns  (S, k) the units that are reflected in each
    rivals    the networks
    """
    net, free, k = gauge.network, gauge.free, gauge.network.n_units
    turned = reflect(net, np.ones(k, dtype=bool), offset=False)
    W, a, b = np.hstack([net.W, turned.W]), np.append(net.a, turned.a), np.append(net.b, turned.b)
    statistic = NormalEquations(Students.of(replace(net, W=W, a=a, b=b, c=0.0)), replace(free, a=True, c=True))
    risk, gradient, gram = (to_numpy(v)[0] for v in statistic.assembled(samples.fold(statistic)))
    q, own = free.inputs(net.n_inputs), np.append(a, 0.0)
    with_values = gram[:, 2 * k * q :]  # (·, 2k + 1) products of J with φ(zᵢ) and one
    with_y = with_values @ own - gradient
    energy = 2.0 * float(risk) - own @ (with_values[2 * k * q :] @ own - 2.0 * with_y[2 * k * q :])
    risks, gradients, grams = [], [], []
    for pattern, rival in zip(patterns, rivals, strict=True):
        units = np.arange(k) + k * pattern
        at = [(2 * k * np.arange(q)[:, None] + units).ravel(), (2 * k * q + units)[: k * free.a], [len(gram) - 1][: free.c]]
        beta = np.zeros(2 * k + 1)
        beta[units], beta[-1] = rival.a, rival.c
        with_f, chosen = with_values @ beta, np.concatenate(at).astype(int)
        risks.append(0.5 * (energy + beta @ (with_f - 2.0 * with_y)[2 * k * q :]))
        gradients.append((with_f - with_y)[chosen])
        grams.append(gram[np.ix_(chosen, chosen)])
    return np.array(risks), np.array(gradients), np.array(grams)


def _nearest(gauge: Gauge) -> np.ndarray:
    """The sets of units whose reflection changes the function least, all if they are few."""
    net, k = gauge.network, gauge.network.n_units
    most = int(np.clip(LIMITS.memory // max(1, gauge.size**2), 1, LIMITS.patterns))
    if 2**k - 1 <= most:
        return (np.arange(1, 2**k)[:, None] >> np.arange(k) & 1).astype(bool)
    C = reflection_polynomials(net, offset=gauge.free.c)
    order = min(k, 3 if k <= 40 else 2)
    sets = [s for size in range(1, order + 1) for s in itertools.combinations(range(k), size)]
    sizes = np.array([np.linalg.norm(C[:, list(s)].sum(axis=1)) for s in sets])
    patterns = np.zeros((min(most, len(sets)), k), dtype=bool)
    for row, index in zip(patterns, np.argsort(sizes, kind="stable")[:most], strict=True):
        row[list(sets[index])] = True
    return patterns
