"""Whether a network has superfluous units: zero, constant, equal or opposite ones, and the network without them.

    zero, constant    a = 0 or w = 0: the unit belongs to c
    duplicate         equal (w, b), up to a positive factor where φ is homogeneous and up to sign where reflections are
                      symmetries of φ: a₁ φ(z) + a₂ φ(z) is one unit
    opposite          (w, b) and −(w, b) where φ(−z) = s φ(z) + p(z), p not constant: a unit and a polynomial,
                      a₁ φ(z) + a₂ φ(−z) = (a₁ + s a₂) φ(z) + a₂ p(z)

The polynomials of several opposite pairs, with those of other units' reflections, may cancel. That is so exactly if some sign
pattern reflects one unit of a pair and not the other; the two then are duplicates of the reflected network.
Without zero, constant, duplicate and opposite units the tanh and sigmoid networks are unique up to their symmetries, and ReLU
networks up to sign patterns [awasthi2021, Thm 3.4]. Cost O(k² d), and that of the sign patterns where units are opposite.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from functools import cache

import numpy as np
import scipy.sparse.csgraph

from weightlift.errors import ArgumentError
from weightlift.identifiability.reflections import reflect, reflection
from weightlift.identifiability.sign_patterns import SUM_ROUNDING, sign_patterns
from weightlift.network import Network, require_single

VARIANCE_NODES = 64  # of its quadrature: the size of a unit need be known to a few per cent

class Redundancy(Enum):
    """What is wrong with one or two units."""

    ZERO = "The unit contributes nothing (a = 0, or w = 0 and φ(b) = 0); remove it."
    CONSTANT = "The unit does not depend on x (w = 0); add it to c."
    DUPLICATE = "The two units are the same function up to a factor; merge them."
    OPPOSITE = (
        "The two units have opposite weights and biases: together they are one unit and a polynomial, which other units of the "
        "same width may carry. Such networks are not covered by the uniqueness theorem."
    )


@dataclass(frozen=True)
class RedundantUnits:
    kind: Redundancy
    units: tuple[int, ...]
    gap: float  # relative: 0 where it holds exactly


@dataclass(frozen=True)
class Irreducibility:
    """Findings that hold to tol, those that hold to near only, and the narrowest network known with this function."""

    exact: tuple[RedundantUnits, ...]
    near: tuple[RedundantUnits, ...]
    n_units: int
    width: int  # units that suffice

    @property
    def irreducible(self) -> bool:
        """Whether no narrower network with the same function is known."""
        return self.width == self.n_units

    @property
    def separated(self) -> bool:
        """Whether nothing was found to hold exactly: then the sign patterns are the only ambiguity there is."""
        return not self.exact


def irreducible(network: Network, *, tol: float = 1e-9, near: float = 1e-3) -> Irreducibility:
    """Zero, constant, duplicate and opposite units, exact to tol and near.

    Gaps are relative: of a unit's size |a| ‖φ(‖w‖z) less its mean‖ to the largest one's; of the difference (the sum, for
    opposite units) of two (w, b) to the larger, both with ‖w‖ = 1 if φ is homogeneous.

    network  the network

    >>> found = irreducible(Network([[1.0, 2.0, 0.5], [3.0, 6.0, 0.0]], a=[1.0, -2.0, 0.0]))
    >>> [(finding.kind.name, finding.units) for finding in found.exact], found.width
    ([('ZERO', (2,)), ('DUPLICATE', (0, 1))], 1)
    """
    require_single(network, "irreducible")
    if not 0.0 <= tol <= near < 1.0:
        raise ArgumentError(f"tol and near must satisfy 0 ≤ tol ≤ near < 1, not tol={tol!r}, near={near!r}.")
    found = _findings(network, tol, near)
    exact = tuple(finding for finding in found if finding.gap <= tol)
    narrow = minimal(network, tol=tol) if exact else network
    width = narrow.n_units - (_spared(narrow, tol) if exact else 0)
    return Irreducibility(exact, tuple(finding for finding in found if finding.gap > tol), network.n_units, width)


def minimal(network: Network, *, tol: float = 1e-9) -> Network:
    """The same function, to tol, without zero and constant units, with duplicates merged, also those that reflection makes.

    Opposite units stay where their polynomials do not cancel, or where the sign patterns are too many to be searched.
    A network that is constant keeps one unit, with a = 0.
    """
    require_single(network, "minimal")
    while True:
        reflected = _with_most_duplicates(network, tol)
        narrow = _merged(_without_constants(reflected, tol), tol)
        if narrow.n_units == network.n_units:
            return narrow
        network = narrow


def _findings(network: Network, tol: float, near: float) -> list[RedundantUnits]:
    """What holds to `near`; pairs of units that are neither zero nor constant to `tol`."""
    size, gap = _sizes(network)
    found = []
    for unit in np.flatnonzero(gap <= near).tolist():
        constant = abs(network.a[unit] * float(network.activation(network.b[unit]))) > near * size
        found.append(RedundantUnits(Redundancy.CONSTANT if constant else Redundancy.ZERO, (unit,), float(gap[unit])))
    same, opposite = _gaps(network)
    active = gap > tol
    paired = np.triu(np.outer(active, active) & ((same <= near) | (opposite <= near)), 1)
    for i, j in np.argwhere(paired).tolist():
        kind, value = (Redundancy.DUPLICATE, same) if same[i, j] <= near else (Redundancy.OPPOSITE, opposite)
        found.append(RedundantUnits(kind, (i, j), float(value[i, j])))
    return found


@np.errstate(over="ignore", invalid="ignore")  # a size beyond all numbers is not small
def _sizes(network: Network) -> tuple[float, np.ndarray]:
    """The largest size of a unit, and the sizes relative to it: |a| (Var φ(‖w‖z))^½, whatever the bias.

    By quadrature: of a sine with a large ‖w‖ the first Hermite coefficients vanish, and the variance does not.
    """
    z, weights = _variance_rule()
    values = network.activation(np.outer(z, np.linalg.norm(network.W, axis=0)))  # (nodes, k)
    mean = weights @ values / weights.sum()
    sizes = np.abs(network.a) * np.sqrt(weights @ (values - mean) ** 2 / weights.sum())
    largest = float(sizes.max())
    return largest, sizes / largest if largest > 0 else sizes


@cache
def _variance_rule() -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights, computed once: they take longer than the sizes themselves."""
    z, weights = np.polynomial.hermite_e.hermegauss(VARIANCE_NODES)
    z.flags.writeable = weights.flags.writeable = False
    return z, weights


def _gaps(network: Network) -> tuple[np.ndarray, np.ndarray]:
    """Relative distances (k, k) of the units' (w, b) from each other, and from each other's opposite (∞ if that is nothing)."""
    from scipy.spatial.distance import cdist

    V = np.vstack([network.W, network.b])
    if network.activation.degree is not None:
        length = np.linalg.norm(network.W, axis=0)
        V = V / np.where(length > 0, length, 1.0)
    norm = np.linalg.norm(V, axis=0)
    larger = np.maximum(np.maximum(norm[:, None], norm), np.finfo(float).tiny)
    same, opposite = cdist(V.T, V.T) / larger, cdist(V.T, -V.T) / larger
    if network.activation.reflection is None:
        return same, np.full_like(same, np.inf)
    if len(reflection(network.activation)[1]) <= 1:
        return np.minimum(same, opposite), np.full_like(same, np.inf)
    return same, opposite


def _spared(network: Network, tol: float) -> int:
    """How many units of a merged network a narrower one does without: zero ones, and for ReLU those of opposite pairs.

    Where φ(z) − φ(−z) is a multiple of z, the linear parts of all pairs are together that of one, φ(L) − φ(−L)
    [awasthi2021, Claim D.14], and of each pair (a₁ + a₂) φ(z) is left, at most one unit.
    """
    found = _findings(network, tol, tol)
    zeros = sum(finding.kind is Redundancy.ZERO for finding in found)
    pairs = [finding.units for finding in found if finding.kind is Redundancy.OPPOSITE]
    if not pairs or reflection(network.activation)[0] != 1 or len(reflection(network.activation)[1]) != 2:
        return zeros
    left, right = (network.a * _gauge(network))[np.array(pairs)].T
    kinks = np.count_nonzero(np.abs(left + right) > tol * (np.abs(left) + np.abs(right)))
    return zeros + max(0, 2 * len(pairs) - int(kinks) - 2)


def _with_most_duplicates(network: Network, tol: float) -> Network:
    """The network with those units reflected, by a sign pattern, that makes most opposite pairs equal."""
    pairs = [finding.units for finding in _findings(network, tol, tol) if finding.kind is Redundancy.OPPOSITE]
    if not pairs:
        return network
    i, j = np.array(pairs).T
    reach = max(tol, SUM_ROUNDING)
    try:
        patterns = sign_patterns(network, offset=True, tol=reach, near=reach).patterns
    except ArgumentError:
        return network
    merged = (patterns[:, i] != patterns[:, j]).sum(axis=1)
    best = int(np.argmax(merged))
    return reflect(network, patterns[best]) if merged[best] else network


def _without_constants(network: Network, tol: float) -> Network:
    """Units that do not depend on x, added to c; the last one stays, with a = 0."""
    _, gap = _sizes(network)
    keep = gap > tol
    if keep.all():
        return network
    c = network.c + float(network.a[~keep] @ network.activation(network.b[~keep]))
    if not keep.any():
        return replace(network, W=network.W[:, :1], b=network.b[:1], a=np.zeros(1), c=c)
    return replace(network, W=network.W[:, keep], b=network.b[keep], a=network.a[keep], c=c)


def _merged(network: Network, tol: float) -> Network:
    """Duplicates added up, in the gauge of the first of them; sums that are nothing beside their terms become zero.

    Units that differ by ε become their mean, weighted by a, which is right to ε²; where weights of both signs make it no mean,
    the first.
    """
    same, _ = _gaps(network)
    if np.count_nonzero(same <= tol) == network.n_units:
        return network
    count, group = scipy.sparse.csgraph.connected_components(same <= tol, directed=False)
    first = np.array([int(np.flatnonzero(group == g)[0]) for g in range(count)])
    V = np.vstack([network.W, network.b])
    against = np.einsum("ij,ij->j", V, V[:, first[group]]) < 0  # possible only where reflection is a symmetry
    if against.any():
        network = reflect(network, against)
    gauge = _gauge(network)
    terms = network.a * gauge / gauge[first[group]]
    total, size = np.bincount(group, weights=terms), np.bincount(group, weights=np.abs(terms))
    total = np.where(np.abs(total) <= tol * size, 0.0, total)
    lengths = np.linalg.norm(network.W, axis=0) if network.activation.degree else np.ones(network.n_units)
    lengths = np.where(lengths > 0, lengths, 1.0)
    shift = np.vstack([network.W, network.b]) * (lengths[first[group]] / lengths)
    shift = terms * (shift - shift[:, first[group]])
    mean = np.stack([np.bincount(group, weights=row, minlength=count) for row in shift])
    mean = np.where(np.abs(total) > 0.5 * size, mean / np.where(total, total, 1.0), 0.0)
    return replace(network, W=network.W[:, first] + mean[:-1], b=network.b[first] + mean[-1], a=total)


def _gauge(network: Network) -> np.ndarray:
    """Factors that make output weights comparable: ‖w‖^q for homogeneous φ, else 1."""
    length = np.linalg.norm(network.W, axis=0)
    return np.where(length > 0, length, 1.0) ** (network.activation.degree or 0.0)
