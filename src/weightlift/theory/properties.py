"""What the theory asks of an activation, checked with evidence  [zhong2017, Properties 3.1–3.3 and Assumption 5.3].

3.1  0 ≤ φ′(z) ≤ L₁|z|^p for some p ≥ 0: non-decreasing, homogeneously bounded.
3.2  ρ(σ) > 0 for all σ > 0: not linear.
3.3  (a) |φ″| ≤ L₂ everywhere, or (b) φ″ = 0 except at finitely many points.
5.3  conditions on the moments: see `moment_conditions`.
3.1–3.3 carry the Hessian bounds (Theorem 4.2), 5.3 the tensor initialization (Theorem 5.6).

Judged on grids: z = ±10⁻⁸ … ±10⁸ and σ = 10⁻² … 10². A supremum counts as finite if the outermost decades do not raise it. That
is evidence, not proof; for the activations of Theorem 3.5 it reproduces the theorem. Cost: a few thousand values of φ, and
the Gaussian integrals of φ at the scales.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from weightlift import activations
from weightlift.activations import Activation
from weightlift.activations.quadrature import Function
from weightlift.errors import ArgumentError
from weightlift.theory.limits import LIMITS
from weightlift.theory.moment_conditions import Moments, moments
from weightlift.theory.verdict import Verdict, settled_integrals

SCALES = np.logspace(-2, 2, 33)  # σ at which the properties are looked at, a third apart
MAGNITUDES = np.logspace(-LIMITS.decades, LIMITS.decades, 2000 * LIMITS.decades + 1)  # neighbours differ by 0.23 %
EXPONENTS = np.arange(0.0, 8.5, 0.5)
THEOREM_35 = ("relu", "leaky_relu", "squared_relu", "sigmoid", "tanh", "erf", "linear", "quadratic")


@dataclass(frozen=True)
class Growth(Verdict):
    """Property 3.1: 0 ≤ φ′(z) ≤ L₁|z|^p, with the least p of 0, ½, 1, … (degree − 1 for homogeneous φ)."""

    L1: float | None
    p: float | None


@dataclass(frozen=True, eq=False)
class Nonlinearity(Verdict):
    """Property 3.2: ρ at the scales σ."""

    scales: np.ndarray
    rho: np.ndarray


@dataclass(frozen=True)
class Smoothness(Verdict):
    """Property 3.3: case "a" with L₂, or case "b" with the kinks."""

    case: str | None
    L2: float | None
    kinks: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class ActivationProperties:
    """Properties 3.1–3.3 and Assumption 5.3 of an activation.

    >>> check_properties("quadratic").failed
    ('3.1', '3.2', '5.3(2)')
    """

    activation: Activation
    growth: Growth  # 3.1
    nonlinearity: Nonlinearity  # 3.2
    smoothness: Smoothness  # 3.3
    moments: Moments  # 5.3

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """By the paper's numbers."""
        conditions = {f"5.3({i})": verdict for i, verdict in enumerate(self.moments.conditions, 1)}
        return {"3.1": self.growth, "3.2": self.nonlinearity, "3.3": self.smoothness, **conditions}

    @property
    def failed(self) -> tuple[str, ...]:
        return tuple(number for number, verdict in self.verdicts.items() if not verdict.holds)

    @property
    def has_local_guarantee(self) -> bool:
        """Whether 3.1–3.3 hold, which Theorem 4.2 needs."""
        return self.growth.holds and self.nonlinearity.holds and self.smoothness.holds

    def __str__(self) -> str:
        lines = [f"  {number:<7} {verdict}" for number, verdict in self.verdicts.items()]
        return "\n".join([f"{self.activation.name}", *lines])


def check_properties(activation: str | Activation, *, scales: Sequence[float] | np.ndarray = SCALES) -> ActivationProperties:
    """Check every property of an activation, one of the catalogue or a user's, for units of length in `scales`.

    >>> print(check_properties("relu").growth)
    holds: 0 ≤ φ′ ≤ 1·|z|^0
    """
    phi = activations.get(activation)
    sigma = np.asarray(scales, dtype=float)
    if sigma.ndim != 1 or sigma.size == 0 or not np.all((sigma > 0) & np.isfinite(sigma)):
        raise ArgumentError("scales must be a non-empty sequence of positive numbers, the lengths of weight vectors.")
    return ActivationProperties(phi, growth(phi), nonlinearity(phi, sigma), smoothness(phi), moments(phi, sigma))


def properties_table(which: Iterable[str | Activation] = THEOREM_35) -> str:
    """One line an activation: the constants where a property holds, why where it fails  [zhong2017, Theorem 3.5].

    which  activations or their names
    """
    checked = [check_properties(activation) for activation in which]
    rows = [["activation", "3.1", "3.2", "3.3", "5.3", "fails"], *(_row(properties) for properties in checked)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)


def growth(phi: Activation) -> Growth:
    """Property 3.1."""
    z, slope = _sampled(phi.derivative, phi.kinks)
    p = growth_exponent(phi)
    L1 = None if p is None else float(np.max(_ratio(z, slope, p)))
    falling = np.flatnonzero(slope < -LIMITS.negative)
    if falling.size:
        i = falling[np.argmin(np.abs(np.abs(z[falling]) - 1.0))]
        return Growth(False, f"φ′({z[i]:.3g}) = {slope[i]:.3g} is negative", L1, p)
    if p is None:
        return Growth(False, "no p ≥ 0 bounds φ′(z)/|z|^p both near 0 and at infinity", None, None)
    return Growth(True, f"0 ≤ φ′ ≤ {L1:.4g}·|z|^{p:g}", L1, p)


def growth_exponent(phi: Activation) -> float | None:
    """The least p ≥ 0 with |φ′(z)| ≤ L₁|z|^p for some L₁, or None if there is none."""
    z, slope = _sampled(phi.derivative, phi.kinks)
    candidates = EXPONENTS if phi.degree is None else [phi.degree - 1.0]
    return next((float(p) for p in candidates if p >= 0 and _is_bounded(z, _ratio(z, slope, float(p)))), None)


def nonlinearity(phi: Activation, scales: np.ndarray) -> Nonlinearity:
    """Property 3.2."""
    sigma, rho, beta = settled_integrals(scales, lambda s: np.stack([phi.rho(s), phi.beta(0, s)]))
    rounding = LIMITS.negligible * beta
    failing = np.flatnonzero(rho < -rounding) if np.any(np.abs(rho) > rounding) else np.arange(sigma.size)
    if failing.size:
        i = failing[np.argmin(np.abs(np.log(sigma[failing])))]
        value = rho[i] if rho[i] < -rounding[i] else 0.0
        return Nonlinearity(False, f"ρ({sigma[i]:.3g}) = {value:.3g} ≤ 0", sigma, rho)
    seen = rho > rounding
    low, high, least = sigma[seen].min(), sigma[seen].max(), sigma[seen][np.argmin(rho[seen])]
    beyond = "" if seen.all() else f"; below rounding at {np.count_nonzero(~seen)} of {seen.size} scales"
    evidence = f"ρ(σ) ≥ {rho[seen].min():.3g} on [{low:.3g}, {high:.3g}], least at σ = {least:.3g}{beyond}"
    return Nonlinearity(True, evidence, sigma, rho)


def smoothness(phi: Activation) -> Smoothness:
    """Property 3.3."""
    z, bend = _sampled(phi.second_derivative, phi.kinks)
    slope = np.abs(phi.derivative(z))
    jumps = [f"{kink:g}" for kink, jump in zip(phi.kinks, phi.jumps, strict=True) if jump]
    flat = bool(np.all(np.abs(bend) <= LIMITS.rounding * (1.0 + slope)))
    if not jumps and (flat or _is_bounded(z, np.abs(bend))):
        L2 = 0.0 if flat else float(np.max(np.abs(bend)))
        return Smoothness(True, f"(a) |φ″| ≤ {L2:.4g}", "a", L2, phi.kinks)
    if flat:
        return Smoothness(True, f"(b) φ″ = 0 except at z = {', '.join(jumps)}", "b", None, phi.kinks)
    reason = f"φ′ jumps at z = {', '.join(jumps)} and φ″ ≠ 0 elsewhere" if jumps else "φ″ is not bounded"
    return Smoothness(False, reason, None, None, phi.kinks)


def _sampled(function: Function, kinks: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Values at 0, ±MAGNITUDES and on both sides of the kinks; points where the function gives NaN are left out."""
    sides = [kink + sign * 1e-9 * max(1.0, abs(kink)) for kink in kinks for sign in (-1.0, 1.0)]
    z = np.unique(np.concatenate([-MAGNITUDES, [0.0], MAGNITUDES, sides]))
    with np.errstate(all="ignore"):
        values = np.asarray(function(z), dtype=float)
    known = ~np.isnan(values)
    return z[known], values[known]


def _ratio(z: np.ndarray, values: np.ndarray, p: float) -> np.ndarray:
    """|values|/|z|^p; at z = 0, p > 0, it is 0 where the value is, and infinite otherwise."""
    if p == 0:
        return np.asarray(np.abs(values))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.abs(values) / np.abs(z) ** p
    return np.asarray(np.where(z == 0, np.where(np.abs(values) <= LIMITS.rounding, 0.0, np.inf), ratio))


def _is_bounded(z: np.ndarray, ratio: np.ndarray) -> bool:
    """Whether the supremum stays when the outer decades are added."""
    inner = (z == 0) | ((np.abs(z) >= 10.0**-LIMITS.inner_decades) & (np.abs(z) <= 10.0**LIMITS.inner_decades))
    return bool(np.max(ratio) <= (1.0 + LIMITS.growth) * np.max(ratio[inner]) < LIMITS.huge)


def _row(properties: ActivationProperties) -> list[str]:
    constants = properties.growth
    bound = f"L1 = {constants.L1:.3g}, p = {constants.p:g}" if constants.holds else "fails"
    rho = f"ρ(1) = {float(properties.activation.rho(1.0)):.3g}" if properties.nonlinearity.holds else "fails"
    smooth = properties.smoothness
    kinks = ", ".join(f"{kink:g}" for kink in smooth.kinks)
    case = {"a": f"(a) L2 = {smooth.L2 or 0:.3g}", "b": f"(b) kinks {kinks}", None: "fails"}[smooth.case]
    vanishing = ", ".join(f"M{j} = 0" for j in properties.moments.vanishing) or "none vanishes"
    failed = ", ".join(properties.failed) or "-"
    if properties.moments.centring is not None:
        failed = failed.replace("5.3(4)", "5.3(4) unless centred")
    return [properties.activation.name, bound, rho, case, vanishing, failed]
