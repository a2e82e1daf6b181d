"""Polynomial φ of degree q ≥ 3: units that the function determines, where their weights are independent
(docs/certificate_theory.md, T1).

The leading terms of f are the tensor Σ aᵢ wᵢ^{⊗q}. For independent wᵢ its decomposition into k terms is unique [kruskal1977],
so a rival of at most k units has the units a t^{−q}, t w, b′, and, the ⟨wᵢ, x⟩ being independent variables, each must obey
φ(z + b) − t^{−q} φ(tz + b′) = constant. About its centre m, φ(m + u) = s u^q + Σ r_j u^j, j ≤ q − 2: the centres agree if
m − b′ = t (m − b), and then t^{q−j} = 1 wherever r_j ≠ 0, j ≥ 1. Degrees 1 and 2 mix: f is a vector, or a matrix.
"""

from __future__ import annotations

import numpy as np

from weightlift.activations import Activation
from weightlift.activations.piecewise import PiecewisePolynomial
from weightlift.activations.stretching import unstretched
from weightlift.evidence.gauge import Gauge
from weightlift.network import Network
from weightlift.rivals.finding import DENSITY, EQUALITY, Finding, Outcome
from weightlift.rivals.limits import LIMITS


def examine_polynomial(rows: int, gauge: Gauge) -> Finding:
    """`rows` independent draws against p + 1 for the function, then the units given the function."""
    net, p = gauge.network, gauge.size
    outcome, why = _units_of_function(net, biased=gauge.free.b, offset=gauge.free.c)
    if outcome is Outcome.FOUND:
        return Finding(outcome, why)
    if rows < p + 1:
        sentence = f"{rows} independent rows leave other networks with {p} parameters; {p + 1} leave none."
        return Finding(Outcome.UNEXAMINED, sentence, number=float(rows), limit=float(p + 1))
    sentence = f"No other function of this class agrees on {rows} rows: one that differs agrees on at most {p}. {why}"
    return Finding(outcome, sentence, number=float(rows), limit=float(p + 1), assumes=(DENSITY, EQUALITY))


def _units_of_function(net: Network, *, biased: bool, offset: bool) -> tuple[Outcome, str]:
    phi = net.activation
    s = coefficients(phi)
    q = len(s) - 1
    if q < 3:
        why = "mix without a change of the function: no data can tell them apart"
        return Outcome.FOUND, f"Units of {phi.name!r}, of degree {q}, {why}."
    if not _independent(net):
        return Outcome.UNEXAMINED, (
            f"Its leading terms, a tensor of order {q}, determine units with independent weights; these are dependent, or more "
            f"than the {net.n_inputs} inputs, and no theorem is known."
        )
    m, r = centred(s)
    orders = {q - j for j in range(1, q - 1) if r[j] != 0.0}
    moves = biased or m == 0.0  # b′ = m − t (m − b) is in the class for t ≠ 1; about m = 0 the symmetries are those of φ
    if moves and not orders and phi.degree is None:
        return Outcome.FOUND, f"φ is a power about {m:.4g}, up to a constant: a unit's scale moves into its output weight."
    if moves and m != 0.0 and all(order % 2 == 0 for order in orders):
        same = q % 2 == 0 or r[0] == 0.0 or offset  # else sets of mirrored units whose constants cancel
        why = f"φ is symmetric about {m:.4g}, up to a constant: units mirrored there have the same function."
        return (Outcome.FOUND if same else Outcome.UNEXAMINED), why
    return Outcome.IMPOSSIBLE, (
        f"Its units are unique: its leading terms are a tensor of order {q} that has no other decomposition, as the weights "
        "are independent."
    )


def coefficients(phi: Activation) -> np.ndarray:
    """s₀, s₁, …, s_q, s_q ≠ 0, of a polynomial φ of the catalogue, scaled or not."""
    base, factor = unstretched(phi)
    assert isinstance(base.rule, PiecewisePolynomial)
    return np.trim_zeros(np.array([c * factor**j for j, c in enumerate(base.rule.right)]), "b")


def centred(s: np.ndarray) -> tuple[float, np.ndarray]:
    """m = −s_{q−1}/(q s_q), and the coefficients of φ(m + u), whose order q − 1 vanishes; rounding is set to zero."""
    q = len(s) - 1
    m = float(-s[q - 1] / (q * s[q])) + 0.0
    shifted, terms = (_shifted(values, by) for values, by in ((s, m), (np.abs(s), abs(m))))
    return m, np.where(np.abs(shifted) > LIMITS.flat * terms, shifted, 0.0)


def _shifted(s: np.ndarray, m: float) -> np.ndarray:
    return np.asarray(np.polynomial.Polynomial(s)(np.polynomial.Polynomial([m, 1.0])).coef, dtype=float)


def _independent(net: Network) -> bool:
    """Whether the directions of the units are linearly independent, far from rounding."""
    if net.n_units > net.n_inputs:
        return False
    length = np.linalg.norm(net.W, axis=0)
    if not length.all():
        return False
    values = np.linalg.svd(net.W / length, compute_uv=False)
    return bool(values[-1] > LIMITS.independent * values[0])
