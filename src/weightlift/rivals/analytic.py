"""Analytic φ: no rival at more rows than parameters, and units that the function determines (docs/certificate_theory.md, T1).

Rows from a density: almost surely an f of the class other than f* agrees with f* on at most p of them. The function determines
the units, d ≥ 2, where no two are parallel and the only identities a φ(αt + β) − a′φ(α′t + β′) = polynomial are the trivial
ones and the declared reflection: Σ gᵢ(⟨uᵢ, x⟩) = 0 with non-parallel uᵢ makes every gᵢ a polynomial.
"""

from __future__ import annotations

import numpy as np

from weightlift.activations import Activation
from weightlift.evidence.gauge import Gauge
from weightlift.network import Network
from weightlift.rivals.finding import Finding, Outcome
from weightlift.rivals.limits import LIMITS

DENSITY = "the rows were drawn independently from a density"
ANALYTIC = "the activation is real-analytic, as declared"


def examine_analytic(rows: int, gauge: Gauge) -> Finding:
    """`rows` independent draws against p + 1, then the units given the function."""
    net, p = gauge.network, gauge.size
    if rows < p + 1:
        return Finding(
            Outcome.UNEXAMINED,
            f"{rows} independent rows leave other networks with {p} parameters; {p + 1} leave none.",
            number=float(rows),
            limit=float(p + 1),
        )
    sentence = f"No other function of this class agrees on {rows} rows: one that differs agrees on at most {p}."
    outcome, why = _units_of_function(net)
    assumes = (DENSITY,) if net.activation.uniqueness else (DENSITY, ANALYTIC)
    return Finding(outcome, f"{sentence} {why}", number=float(rows), limit=float(p + 1), assumes=assumes)


def _units_of_function(net: Network) -> tuple[Outcome, str]:
    phi = net.activation
    if phi.uniqueness:
        return Outcome.IMPOSSIBLE, f"Its units are unique: {phi.uniqueness}."
    pairs = parallel(net)
    if net.n_inputs == 1 or pairs:
        return Outcome.UNEXAMINED, f"No theorem is known by which parallel units of {phi.name!r} are unique."
    found = identity(phi)
    if found is not None:
        alpha, beta, gap = found
        return (
            Outcome.FOUND,
            f"φ({alpha:.4g} t + {beta:.4g}) is a multiple of φ(t) up to a polynomial, to {gap:.1g}: other units have the same "
            "function.",
        )
    return Outcome.NONE_FOUND, (
        "Its units are unique unless φ(αt + β) is a multiple of φ(t) up to a polynomial: none was found; tested, not proved."
    )


def parallel(net: Network) -> list[tuple[int, int]]:
    """Pairs of units whose weights are parallel, to rounding."""
    U = net.W / np.maximum(np.linalg.norm(net.W, axis=0), np.finfo(float).tiny)
    cosines = np.abs(U.T @ U)
    i, j = np.nonzero(np.triu(1.0 - cosines**2 <= LIMITS.independent, 1))
    return list(zip(i.tolist(), j.tolist(), strict=True))


def identity(phi: Activation) -> tuple[float, float, float] | None:
    """(α, β, gap) with φ(αt + β) = a φ(t) + a cubic on [−3, 3], other than (1, 0) and the declared reflection; None if none.

    The gap is the relative distance from span{φ, 1, t, t², t³}; the least on a grid of (α, β) are refined.
    """
    from scipy.optimize import minimize

    t = np.linspace(-3.0, 3.0, 121)
    basis, _ = np.linalg.qr(np.column_stack([t**j for j in range(4)] + [phi(t)]))
    powers, _ = np.linalg.qr(np.column_stack([t**j for j in range(4)]))
    trivial = [(1.0, 0.0)] + ([(-1.0, 0.0)] if phi.reflection is not None else [])

    def gap(at: np.ndarray) -> float:
        values = phi(at[0] * t + at[1])
        curved = values - powers @ (powers.T @ values)
        size = float(np.linalg.norm(curved))
        near = min(float(np.hypot(at[0] - a, at[1] - b)) for a, b in trivial)
        if near < 0.05 or abs(at[0]) < 0.05 or size <= 1e-9 * float(np.linalg.norm(values)):
            return 1.0  # the trivial one, or a unit that is a polynomial there
        return float(np.linalg.norm(values - basis @ (basis.T @ values))) / size

    grid = [np.array([a, b]) for a in np.linspace(-3.0, 3.0, 61) for b in np.linspace(-7.0, 7.0, 71)]
    starts = sorted(grid, key=gap)[:8]
    fits = [minimize(gap, s, method="Nelder-Mead", options={"xatol": 1e-12, "fatol": 1e-14}) for s in starts]
    best = min(fits, key=lambda fit: float(fit.fun))
    return (float(best.x[0]), float(best.x[1]), float(best.fun)) if best.fun <= LIMITS.flat else None
