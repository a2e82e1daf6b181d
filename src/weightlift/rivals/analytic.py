"""Analytic φ: no rival at more rows than parameters, and units that the function determines (docs/certificate_theory.md, T1).

Rows from a density: almost surely an f of the class other than f* agrees with f* on at most p of them. The function determines
the units, d ≥ 2, where no two are parallel and the only identities a φ(αt + β) − a′φ(α′t + β′) = polynomial are the trivial
ones and the declared reflection: Σ gᵢ(⟨uᵢ, x⟩) = 0 with non-parallel uᵢ makes every gᵢ a polynomial.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from weightlift.activations import Activation
from weightlift.evidence.gauge import Gauge
from weightlift.network import Network
from weightlift.rivals.finding import DENSITY, EQUALITY, Finding, Outcome
from weightlift.rivals.limits import LIMITS

ANALYTIC = "the activation is real-analytic, as declared"


def examine_analytic(rows: int, gauge: Gauge, beside: int = 0) -> Finding:
    """`rows` independent draws against p + 1, then the units given the function; `beside`: parameters of a linear part."""
    net, p = gauge.network, gauge.size + beside
    if rows < p + 1:
        return Finding(
            Outcome.UNEXAMINED,
            f"{rows} independent rows leave other networks with {p} parameters; {p + 1} leave none.",
            number=float(rows),
            limit=float(p + 1),
        )
    sentence = f"No other function of this class agrees on {rows} rows: one that differs agrees on at most {p}."
    outcome, why = _units_of_function(net, biased=gauge.free.b)
    assumes = (DENSITY, EQUALITY) if net.activation.uniqueness else (DENSITY, EQUALITY, ANALYTIC)
    return Finding(outcome, f"{sentence} {why}", number=float(rows), limit=float(p + 1), assumes=assumes)


def units_of_function(gauge: Gauge) -> Finding:
    """Whether the function, were it known, has no other units."""
    return Finding(*_units_of_function(gauge.network, biased=gauge.free.b))


def _units_of_function(net: Network, *, biased: bool) -> tuple[Outcome, str]:
    phi = net.activation
    if phi.uniqueness:
        return Outcome.IMPOSSIBLE, f"Its units are unique: {phi.uniqueness}."
    if net.n_inputs == 1 or _parallel(net):
        return Outcome.UNEXAMINED, f"No theorem is known by which parallel units of {phi.name!r} are unique."
    found = identity(phi, biased)
    if found is None:
        return Outcome.NONE_FOUND, (
            "Its units are unique unless φ(αt + β) is a multiple of φ(t) up to a polynomial; none was found, which is a test."
        )
    alpha, beta = found
    if abs(abs(alpha) - 1.0) <= LIMITS.flat and phi.reflection is not None:
        return Outcome.NONE_FOUND, (
            f"Its units are unique up to multiples of {abs(beta):.4g} in the biases, by which φ repeats; tested, not proved."
        )
    mirrored = abs(alpha + 1.0) <= LIMITS.flat and abs(beta) <= LIMITS.flat and phi.reflection is None
    return Outcome.FOUND, (
        f"φ({alpha:.4g} t + {beta:.4g}) is a multiple of φ(t) up to a polynomial: other units have the same function."
        + " A φ that is even or odd up to a polynomial says so by `reflection`, and is then unique up to that." * mirrored
    )


def _parallel(net: Network) -> bool:
    """Whether two units have parallel weights, to rounding."""
    U = net.W / np.maximum(np.linalg.norm(net.W, axis=0), np.finfo(float).tiny)
    return bool((np.triu(LIMITS.independent >= 1.0 - (U.T @ U) ** 2, 1)).any())


def period(phi: Activation) -> float | None:
    """T with φ(t + T) = φ(t), as `identity` finds it; None for a φ that does not repeat."""
    found = shift(phi)
    return None if found is None else found[0] if found[1] > 0 else 2 * found[0]


def shift(phi: Activation) -> tuple[float, int] | None:
    """(β, s) with φ(t + β) = s φ(t), s = ±1, declared or as `identity` finds it; None for a φ that does not repeat."""
    if phi.repeats is not None:
        return phi.repeats
    found = None if phi.uniqueness or not phi.analytic else identity(phi)
    if found is None or abs(abs(found[0]) - 1.0) > LIMITS.flat:
        return None
    t = np.linspace(-3.0, 3.0, 121)
    for beta in (abs(found[1]), 2 * abs(found[1])):
        for sign in (1, -1):
            if beta and np.abs(phi(t + beta) - sign * phi(t)).max() <= LIMITS.flat * np.abs(phi(t)).max():
                return beta, sign
    return None


@lru_cache(maxsize=32)
def identity(phi: Activation, biased: bool = True) -> tuple[float, float] | None:
    """(α, β) with φ(αt + β) = a φ(t) + a cubic on [−3, 3], other than (1, 0) and the declared reflection; None if none.

    The gap is the relative distance from span{φ, 1, t, t², t³}; its least places on a grid of (α, β) are refined, and, with
    α = ±1, on one of β far away: a slow wave repeats there. b fixed: β = 0.
    """
    from scipy.optimize import minimize

    t = np.linspace(-3.0, 3.0, 121)
    powers = np.column_stack([t**j for j in range(4)])
    basis, _ = np.linalg.qr(np.column_stack([powers, phi(t)]))
    trivial = [(1.0, 0.0)] + ([(-1.0, 0.0)] if phi.reflection is not None else [])

    def gap(at: np.ndarray) -> float:
        alpha, beta = float(at[0]), float(at[1]) if biased else 0.0
        values = phi(alpha * t + beta)
        curved = values - basis[:, :4] @ (basis[:, :4].T @ values)
        size = float(np.linalg.norm(curved))
        near = min(math.hypot(alpha - a, beta - b) for a, b in trivial)
        if near < 0.25 or abs(alpha) < 0.05 or size <= LIMITS.flat * float(np.linalg.norm(values)):
            return 1.0  # the trivial one, or a unit that is a polynomial there
        return float(np.linalg.norm(values - basis @ (basis.T @ values))) / size

    grid = np.meshgrid(np.linspace(-3.0, 3.0, 61), np.linspace(-7.0, 7.0, 71) if biased else np.zeros(1), indexing="ij")
    points = np.stack(grid, axis=-1)
    gaps = np.apply_along_axis(gap, -1, points)
    padded = np.pad(gaps, 1, constant_values=np.inf)
    around = [padded[i : i + gaps.shape[0], j : j + gaps.shape[1]] for i in range(3) for j in range(3)]
    least = gaps <= np.min(around, axis=0)
    starts = points[least][np.argsort(gaps[least], kind="stable")[:12]]
    if biased:
        far = np.array([(alpha, beta) for alpha in (-1.0, 1.0) for beta in np.arange(-LIMITS.shift, LIMITS.shift, 0.1)])
        starts = np.vstack([starts, far[np.argsort(np.apply_along_axis(gap, -1, far), kind="stable")[:12]]])
    fits = [minimize(gap, start, method="Nelder-Mead", options={"xatol": 1e-12, "fatol": 1e-14}) for start in starts]
    found = [fit for fit in fits if fit.fun <= LIMITS.flat]
    best = min(found, key=lambda fit: (round(abs(float(fit.x[1])), 6), fit.fun), default=None)  # not a multiple of a period
    return None if best is None else (float(best.x[0]), float(best.x[1]) if biased else 0.0)
