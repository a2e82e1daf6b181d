"""Which estimated unit is which true unit, and how far apart they are: the error measures of the papers.

Units are compared modulo the symmetries of φ. For φ homogeneous of degree q the output weights are absorbed,
w ← |a|^{1/q} w, b ← |a|^{1/q} b, a ← sign a  [zhong2017, §4]; other φ keep a, w, b. Where φ(−z) = s φ(z) + p₀ an estimated unit
may be reflected, (a, w, b, c) → (s a, −w, −b, c − s a p₀): for s = −1 (odd φ, sigmoid) when the signs of a differ, for s = 1
(even φ; with a linear part also ReLU and the like, whose reflection moves V) when −w is nearer. Where φ(z + T) = s φ(z) b may
move by periods, and the sign of a with it. With several outputs sign a is a/‖a‖ ∈ Rᵐ, and signs differ where the angle of two
such vectors exceeds a right one. With ŵ the estimate so oriented, w the truth, π over the permutations that leave the fewest
signs of a in disagreement, and an absent unit counted as w = 0:

    max_error           min_π max_j ‖w_j − ŵ_π(j)‖ / ‖w_j‖; with biases π is chosen on (w, b)        [zhong2017, §7]
    frobenius_error     min_π ‖Ŵ − W M_π‖_F, also relative to ‖W‖_F                                [zhang2019, §6]
    squared_error       min_π Σ_j ‖w_j − ŵ_π(j)‖²                                                  [mondelli2019, §2.1]
    nearest_error       half the mean over i of min_j ‖ŵ_i − w_j‖² and half that with roles exchanged  [mondelli2019, Fig. 1]
    hausdorff_distance  largest distance from a weight of one network to the nearest of the other   [mondelli2019, §2.2]
    weak_recovery       max_ij |⟨w_i, ŵ_j⟩| / (‖w_i‖ ‖ŵ_j‖), with its chance level                   [mondelli2019, Def. 1]

Cost O(k k' d) and assignment problems of size max(k, k'), O(k³) at worst.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from weightlift.errors import ActivationError, ShapeError
from weightlift.geometry import Distance, distance
from weightlift.network import Network, alike


@dataclass(frozen=True, eq=False, repr=False)
class Match:
    """How the units of `estimate` answer to those of `truth`; arrays have one entry a true unit."""

    estimate: Network  # of a φ that repeats with biases moved by periods to their partners'
    truth: Network
    permutation: np.ndarray  # index of the matched estimated unit, −1 if there is none
    signs: np.ndarray  # −1 where the estimated unit is reflected, else 1; 0 without partner
    errors: np.ndarray  # ‖w − ŵ‖/‖w‖; 1 without partner
    angles: np.ndarray  # between w and ŵ, radians; NaN without partner
    max_error: float
    signs_agree: bool  # those of the output weights, for every matched unit
    frobenius_error: float
    relative_frobenius_error: float
    nearest_error: float
    hausdorff_distance: float
    weak_recovery: float
    weak_recovery_chance: float
    a_error: float  # largest |a − â| of matched units, ‖w‖ = 1 for homogeneous φ; NaN if none is matched
    b_error: float  # likewise |b − b̂|
    c_error: float  # |c − ĉ| after the reflections; its length with several outputs, as that of a
    V_error: float = 0.0  # likewise ‖V − V̂‖ of the linear parts

    @property
    def missing(self) -> np.ndarray:
        """True units without partner."""
        return np.flatnonzero(self.permutation < 0)

    @property
    def unmatched(self) -> np.ndarray:
        """Estimated units without partner."""
        return np.setdiff1d(np.arange(self.estimate.n_units), self.permutation)

    @property
    def squared_error(self) -> float:
        """min_π Σᵢ ‖wᵢ − ŵ_π(i)‖²  [mondelli2019, §2]."""
        return self.frobenius_error**2

    @property
    def worst_unit(self) -> float:
        """Largest ‖(w, b) − (ŵ, b̂)‖/‖(w, b)‖, |a| absorbed; 2, as of a reflected one, if numbers or signs differ."""
        if self.estimate.n_units != self.truth.n_units or not self.signs_agree:
            return 2.0
        found, true = (np.vstack([net.W, net.b]) for net in (self.estimate.absorbed(), self.truth.absorbed()))
        gaps = np.linalg.norm(found[:, self.permutation] - true, axis=0)
        return float(np.max(gaps / np.linalg.norm(true, axis=0)))

    @cached_property
    def distance(self) -> Distance:
        """Exact L² distance of the two functions under N(0, I), with its error bound; computed when first asked for."""
        return distance(self.estimate, self.truth)

    def table(self) -> str:
        """One line a true unit, then the estimated units without partner; a and b for ‖w‖ = 1 if φ is homogeneous.

        With several outputs a stands for ‖a‖. -(i) stands for the estimated unit i after reflection.
        """
        true, found = ((_sizes(a), b) for a, b in (_normalized(self.truth), _normalized(self.estimate)))
        s = _reflection(self.truth)
        lines = [f"{'unit':>4} {'match':>6} {'a':>12} {'estimate':>12} {'b':>12} {'estimate':>12} {'angle':>9} {'error':>9}"]
        for j, (i, sign) in enumerate(zip(self.permutation, self.signs, strict=True)):
            partner = "-" if i < 0 else f"-({i})" if sign < 0 else f"{i}"
            a = f"{found[0][i] * (s if sign < 0 else 1):.6g}" if i >= 0 else ""
            b = f"{found[1][i] * sign:.6g}" if i >= 0 else ""
            numbers = f"{true[0][j]:>12.6g} {a:>12} {true[1][j]:>12.6g} {b:>12} {self.angles[j]:>9.2g} {self.errors[j]:>9.2g}"
            lines.append(f"{j:>4} {partner:>6} {numbers}")
        lines += [f"{'-':>4} {i:>6} {'':>12} {found[0][i]:>12.6g} {'':>12} {found[1][i]:>12.6g}" for i in self.unmatched]
        return "\n".join(lines)

    def __repr__(self) -> str:
        units = f"{np.count_nonzero(self.permutation >= 0)} of {self.truth.n_units} units"
        extra = f", {self.unmatched.size} more in the estimate" if self.unmatched.size else ""
        return f"Match({units}{extra}, max_error={self.max_error:.3g}, signs {'agree' if self.signs_agree else 'differ'})"


def match(estimate: Network, truth: Network) -> Match:
    """Pair the units of two networks with the same φ, whose numbers may differ, and measure their errors.

    estimate  the network found
    truth     the network that it is held against

    >>> truth = Network([[3.0, 0.0], [4.0, 1.0]], a=[1.0, -2.0])
    >>> found = match(Network([[0.0, 6.0], [2.0, 8.0]], a=[-1.0, 0.5]), truth)
    >>> found, found.permutation
    (Match(2 of 2 units, max_error=0, signs agree), array([1, 0]))
    """
    if estimate.n_inputs != truth.n_inputs:
        raise ShapeError(f"estimate has {estimate.n_inputs} inputs and truth has {truth.n_inputs}; pass equal numbers.")
    if estimate.activation != truth.activation:
        names = f"estimate has {estimate.activation.name} units, truth has {truth.activation.name} units"
        raise ActivationError(f"{names}; only units of one kind can be matched. Compare the functions by weightlift.distance.")
    if estimate.a.shape[1:] != truth.a.shape[1:]:
        numbers = f"estimate has a of shape {estimate.a.shape}, truth of {truth.a.shape}"
        raise ShapeError(f"{numbers}; pass networks of the same outputs.")
    estimate, truth = alike(estimate, truth)
    estimate = _wound(estimate, truth) if truth.activation.repeats is not None else estimate
    found, true = (net.absorbed() if net.activation.degree else net for net in (estimate, truth))
    flips = _flips(found, true)  # (k, k')
    gaps = _gaps(found.W, true.W, flips)  # ‖w_j − ŵ_i‖, (k, k')
    joint = _gaps(np.vstack([found.W, found.b]), np.vstack([true.W, true.b]), flips)
    lengths = np.linalg.norm(true.W, axis=0)
    relative = _quotient(joint, np.hypot(lengths, true.b)[:, None])
    disagree = _disagreement(found, true)

    permutation = _bottleneck_assignment(relative, disagree)
    has = permutation >= 0
    j, i = np.flatnonzero(has), permutation[has]
    signs = np.zeros(truth.n_units, dtype=int)
    signs[j] = np.where(flips[j, i], -1, 1)
    errors = np.where(lengths > 0, 1.0, 0.0)
    errors[j] = _quotient(gaps[j, i], lengths[j])
    angles = np.full(truth.n_units, np.nan)
    angles[j] = _angles(true.W[:, j], found.W[:, i] * signs[j])
    square = _least_squares(gaps, lengths, np.linalg.norm(found.W, axis=0), disagree)
    nearest = gaps.min(axis=1, initial=np.inf), gaps.min(axis=0, initial=np.inf)
    cosines = np.abs(_directions(true.W).T @ _directions(found.W))
    a_error, b_error, c_error, V_error = _scalar_errors(estimate, truth, i, j, signs[j])
    return Match(
        estimate,
        truth,
        permutation,
        signs,
        errors,
        angles,
        max_error=float(errors.max(initial=0.0)),
        signs_agree=not disagree[j, i].any(),
        frobenius_error=math.sqrt(square),
        relative_frobenius_error=float(_quotient(np.sqrt(square), np.sqrt(lengths @ lengths))),
        nearest_error=float(np.mean(nearest[0] ** 2) + np.mean(nearest[1] ** 2)) / 2 if gaps.size else math.nan,
        hausdorff_distance=float(max(nearest[0].max(), nearest[1].max())) if gaps.size else math.nan,
        weak_recovery=float(min(cosines.max(initial=0.0), 1.0)),
        weak_recovery_chance=chance_level(truth.n_inputs, truth.n_units * estimate.n_units),
        a_error=a_error,
        b_error=b_error,
        c_error=c_error,
        V_error=V_error,
    )


@lru_cache(maxsize=64)
def chance_level(n_inputs: int, n_pairs: int) -> float:
    """Expected largest |⟨u, v⟩| over n_pairs pairs of independent random directions of Rᵈ: ∫₀¹ 1 − F(t)ᴺ dt.

    F(t) = P(|⟨u, v⟩| ≤ t) is the incomplete beta function I_{t²}(½, (d−1)/2). Pairs that share a unit are independent two by
    two; they are treated as independent altogether.

    >>> chance_level(3, 1)                                   # uniform on [0, 1]
    0.5
    """
    from scipy.special import betainc

    if n_inputs == 1 or not n_pairs:
        return float(n_pairs > 0)
    x, weights = np.polynomial.legendre.leggauss(512)
    t = np.sin(np.pi / 4 * (x + 1))
    exceeded = -np.expm1(n_pairs * np.log(betainc(0.5, (n_inputs - 1) / 2, t * t)))
    return float(np.pi / 4 * np.sum(weights * np.cos(np.pi / 4 * (x + 1)) * exceeded))


def _wound(found: Network, true: Network) -> Network:
    """The estimate with each bias moved by the periods that bring it next to its partner's and, for s = −1, a to its sign.

    φ(z + T) = s φ(z): (a, w, b) and (sⁿa, w, b + nT) are one unit, σ(w, b) = ±(w, b) its reflection.
    """
    assert true.activation.repeats is not None
    T, s = true.activation.repeats
    r = _reflection(true)
    turned = (true.W.T @ found.W < 0) & (r != 0)  # (k, k')
    orientation = np.where(turned, -1.0, 1.0)
    opposed = (true.A @ found.A.T) * np.where(turned, r, 1.0) < 0
    gaps = true.b[:, None] - orientation * found.b
    odd = (opposed & (s < 0)).astype(float)
    step = T if s > 0 else 2 * T
    times = np.round((gaps - odd * T) / step) * (step / T) + odd
    distances = np.hypot(_gaps(found.W, true.W, turned), gaps - times * T)
    partner = _bottleneck_assignment(distances, opposed & (s > 0))
    j = np.flatnonzero(partner >= 0)
    moved = np.zeros(found.n_units)
    moved[partner[j]] = (orientation * times)[j, partner[j]]
    return found.shifted(moved)


def _reflection(net: Network) -> int:
    """s if φ(−z) = s φ(z) + constant, or + a multiple of z that a linear part takes up; else 0."""
    return net.activation.reflection[0] if net.turns and net.activation.reflection else 0


def _flips(found: Network, true: Network) -> np.ndarray:
    """(k, k'): whether the estimated unit i is reflected when compared with the true unit j."""
    s = _reflection(true)
    if s < 0:
        return np.asarray(true.A @ found.A.T < 0)
    inner = true.W.T @ found.W + np.outer(true.b, found.b)
    return inner < 0 if s > 0 else np.zeros(inner.shape, dtype=bool)


def _gaps(found: np.ndarray, true: np.ndarray, flips: np.ndarray) -> np.ndarray:
    """Distances between columns, (k, k'), the estimate's negated where flipped; from differences, without cancellation."""
    from scipy.spatial.distance import cdist

    gaps = cdist(true.T, found.T)
    return np.where(flips, cdist(true.T, -found.T), gaps) if flips.any() else np.asarray(gaps)


def _disagreement(found: Network, true: Network) -> np.ndarray:
    """(k, k'): whether the signs of the output weights differ; a reflection with s = −1 would make them agree."""
    if _reflection(true) < 0:
        return np.zeros((true.n_units, found.n_units), dtype=bool)
    if true.a.ndim == 2:
        return np.asarray(true.A @ found.A.T < 0)
    return np.asarray(np.sign(true.a)[:, None] != np.sign(found.a)[None, :])


def _bottleneck_assignment(cost: np.ndarray, disagree: np.ndarray) -> np.ndarray:
    """The column assigned to each row, −1 for none: fewest disagreements, then least maximum, then least sum of costs.

    Every unit of the smaller network is assigned.
    """
    from scipy.optimize import linear_sum_assignment

    k, others = cost.shape
    if not cost.size:
        return np.full(k, -1)
    n = max(k, others)
    square = np.zeros((n, n))
    square[:k, :others] = np.minimum(cost, np.finfo(float).max / 4)
    forbidden = np.zeros((n, n))
    forbidden[:k, :others] = disagree
    rows, columns = linear_sum_assignment(forbidden)
    fewest = forbidden[rows, columns].sum()
    values = np.unique(square)
    low = int(np.searchsorted(values, max(square.min(axis=1).max(), square.min(axis=0).max())))  # no assignment does better
    high = len(values) - 1
    while low < high:
        middle = (low + high) // 2
        if _feasible(square <= values[middle], forbidden, fewest):
            high = middle
        else:
            low = middle + 1
    allowed = square <= values[low]
    penalty = np.where(allowed, 0.0, 4.0 * n) + 8.0 * n**2 * forbidden
    penalty[allowed] += square[allowed] / max(values[low], np.finfo(float).tiny)
    rows, columns = linear_sum_assignment(penalty)
    permutation = columns[np.argsort(rows)][:k]
    return np.asarray(np.where(permutation < others, permutation, -1))


def _feasible(allowed: np.ndarray, forbidden: np.ndarray, fewest: float) -> bool:
    """Whether an assignment within `allowed` has no more than the fewest disagreements."""
    if fewest == 0:
        from scipy.sparse import csr_matrix
        from scipy.sparse.csgraph import maximum_bipartite_matching

        return bool((maximum_bipartite_matching(csr_matrix(allowed & (forbidden == 0)), perm_type="column") >= 0).all())
    from scipy.optimize import linear_sum_assignment

    cost = np.where(allowed, 0.0, 2.0 * len(allowed)) + forbidden
    rows, columns = linear_sum_assignment(cost)
    return bool(cost[rows, columns].sum() <= fewest)


def _least_squares(gaps: np.ndarray, lengths: np.ndarray, found_lengths: np.ndarray, disagree: np.ndarray) -> float:
    """min_π Σ ‖w_j − ŵ_π(j)‖² over the permutations with the fewest disagreements, the smaller network padded with w = 0."""
    from scipy.optimize import linear_sum_assignment

    k, others = gaps.shape
    n = max(k, others)
    cost, forbidden = np.zeros((n, n)), np.zeros((n, n))
    cost[:k] = lengths[:, None] ** 2
    cost[:, :others] = np.where(np.arange(n)[:, None] < k, 0.0, found_lengths**2)
    cost[:k, :others] = gaps**2
    forbidden[:k, :others] = disagree
    rows, columns = linear_sum_assignment(cost + 2.0 * n * cost.max(initial=0.0) * forbidden)
    return float(cost[rows, columns].sum())


def _angles(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Angles between columns, accurate however small: 2 atan2(‖u − v‖, ‖u + v‖) for unit u, v; NaN for a zero column."""
    u, v = _directions(A), _directions(B)
    angles = 2 * np.arctan2(np.linalg.norm(u - v, axis=0), np.linalg.norm(u + v, axis=0))
    return np.asarray(np.where(u.any(axis=0) & v.any(axis=0), angles, np.nan))


def _directions(W: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(W, axis=0)
    return np.asarray(np.divide(W, length, out=np.zeros_like(W), where=length > 0))


def _scalar_errors(
    estimate: Network, truth: Network, i: np.ndarray, j: np.ndarray, signs: np.ndarray
) -> tuple[float, float, float, float]:
    """Largest ‖a − â‖ and |b − b̂|, then ‖c − ĉ‖ and ‖V − V̂‖, after the reflections."""
    s = _reflection(truth)
    (a, b), (found_a, found_b) = _normalized(truth), _normalized(estimate)
    turned = np.zeros(estimate.n_units, dtype=bool)
    turned[i[signs < 0]] = True
    moved = estimate.reflected(turned)
    c_error = float(_sizes(np.atleast_1d(truth.c - moved.c)[None])[0])
    V_error = 0.0 if truth.V is None or moved.V is None else float(np.linalg.norm(truth.V - moved.V))
    if not i.size:
        return math.nan, math.nan, c_error, V_error
    factor = np.where(signs < 0, s, 1).reshape(-1, *(1,) * (a.ndim - 1))
    a_gaps, b_gaps = np.abs(_sizes(a[j] - factor * found_a[i])), np.abs(b[j] - signs * found_b[i])
    return float(a_gaps.max()), float(b_gaps.max()), c_error, V_error


def _sizes(a: np.ndarray) -> np.ndarray:
    """(k,) a itself, or its lengths with several outputs."""
    return a if a.ndim == 1 else np.asarray(np.linalg.norm(a, axis=1))


def _normalized(net: Network) -> tuple[np.ndarray, np.ndarray]:
    """(a, b), for homogeneous φ those of the form with ‖w‖ = 1 (|b| = 1 if w = 0)."""
    if net.activation.degree is None:
        return net.a, net.b
    length = np.linalg.norm(net.W, axis=0)
    length = np.where(length > 0, length, np.abs(net.b))
    length = np.where(length > 0, length, 1.0)
    scale = (length**net.activation.degree).reshape(-1, *(1,) * (net.a.ndim - 1))
    return np.asarray(net.a * scale), np.asarray(net.b / length)


def _quotient(x: Any, y: Any) -> np.ndarray:
    """x / y with 0 / 0 = 0 and x / 0 = ∞."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(np.equal(x, 0), 0.0, x / y))
