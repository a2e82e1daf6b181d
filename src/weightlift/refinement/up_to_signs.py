"""Least squares for ReLU networks whose signs are not known: first g = Σ aᵢ σ(uᵢ) + ⟨v, x⟩ + c, then the signs.

Fit     Levenberg–Marquardt on the units and the affine function together. The affine function is one more unit, so far from
        its kink that every row is on one side. No sign pattern has to be guessed before the fit is exact.
Signs   Reflecting the units of F adds Σ_F aᵢ uᵢ to the affine part, so the signs are right when
            Σ_F aᵢ (wᵢ, bᵢ) = −(v, c)        (with an offset to fit, only Σ_F aᵢ wᵢ = −v),
        a subset sum; for independent (wᵢ, bᵢ) it has at most one solution, in overcomplete networks there may be more: then
        no data can tell them apart [awasthi2021, Thm. 3.4], and one is returned.
Cost    that of `gauss_newton`; the subset sum as in `identifiability.subset_sums`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from weightlift.errors import ArgumentError
from weightlift.identifiability.subset_sums import SubsetSums
from weightlift.network import Network
from weightlift.refinement.affine import AffineNetwork, require_relu
from weightlift.refinement.gauss_newton import Refinement, gauss_newton
from weightlift.refinement.limits import LIMITS
from weightlift.risk import Students
from weightlift.samples import Samples


@dataclass(frozen=True, eq=False)
class SignlessFit:
    """The refined function, the risk ½ E r² it leaves, and the network with its signs, where they could be told."""

    function: AffineNetwork
    risk: float
    iterations: int
    network: Network | None  # k units, no affine part; None where no sign pattern fits
    patterns: int  # sign patterns that fit equally well; above 1 the units are ambiguous
    sign_error: float  # what the best pattern leaves of the affine part, relative to the units' sizes


def refine_up_to_signs(
    samples: Samples,
    *starts: AffineNetwork,
    offset: bool = False,
    iterations: int = 80,
    tol: float = 1e-9,
) -> SignlessFit:
    """The best of the starts, all of one width, refined; inputs should be white, and c is fitted where `offset`.

    samples     rows, as `samples.open` gives them
    iterations  steps at most
    tol         relative decrease of the risk below which a step is the last

    >>> import weightlift as wl
    >>> from weightlift.refinement.affine import fit_affine
    >>> truth = wl.teachers.biased(4, 3, rng=0)
    >>> rows = wl.samples.open(*wl.draw(truth, 400, rng=1))
    >>> start = fit_affine(rows, Network(-truth.W + 0.05, np.ones(3), -truth.b))
    >>> found = refine_up_to_signs(rows, start)
    >>> wl.match(found.network, truth).max_error < 1e-10
    True
    """
    if not starts or any(s.units is None for s in starts):
        raise ArgumentError("starts must hold one or more functions with units; fit_affine(samples, units) makes them.")
    fit = _refined(samples, starts, iterations, tol)
    function = without_far_unit(fit.network)
    network, patterns, error = signed(function, offset=offset)
    return SignlessFit(function, float(fit.risks[fit.best]), fit.iterations, network, patterns, error)


def _refined(samples: Samples, starts: tuple[AffineNetwork, ...], iterations: int, tol: float) -> Refinement:
    students = Students.of(*(with_far_unit(start) for start in starts))
    return gauss_newton(samples, students, free="Wabc", iterations=iterations, tol=tol, unit=True, first=True)


def with_far_unit(function: AffineNetwork) -> Network:
    """⟨v, x⟩ + c as a σ(⟨v/a, x⟩ + t) + c − a t, a = ‖v‖, t beyond every row."""
    assert function.units is not None
    require_relu(function.units)
    d = len(function.v)
    a = max(float(np.linalg.norm(function.v)), 1e-3 * float(np.abs(function.units.a).max()), np.finfo(float).tiny)
    t = LIMITS.affine_margin * (math.sqrt(d) + LIMITS.far)
    units = function.units
    return Network(
        np.column_stack([units.W, function.v / a]),
        np.append(units.a, a),
        np.append(units.b, t),
        function.c - a * t,
        "relu",
    )


def without_far_unit(network: Network) -> AffineNetwork:
    """The affine function back from the last unit; a unit that came so near that rows may see its kink stays one."""
    w, a, b = network.W[:, -1], float(network.a[-1]), float(network.b[-1])
    if b <= float(np.linalg.norm(w)) * (math.sqrt(len(w)) + LIMITS.far):
        return AffineNetwork(replace(network, c=0.0), 0.0 * w, network.c)
    units = Network(network.W[:, :-1], network.a[:-1], network.b[:-1], activation="relu")
    return AffineNetwork(units, a * w, network.c + a * b)


def signed(function: AffineNetwork, *, offset: bool = False) -> tuple[Network | None, int, float]:
    """The units with the signs that absorb the affine part, how many patterns do, and what the best one leaves of it."""
    units = function.units
    assert units is not None
    C = np.vstack([units.W * units.a, units.a * units.b])
    target = np.append(function.v, function.c)
    rows = slice(None, -1) if offset else slice(None)
    columns = np.column_stack([C, target])[rows]
    scale = float(np.linalg.norm(C[rows]))
    if scale == 0.0:
        return None, 0, math.inf
    sums = SubsetSums.of(columns / scale)
    for tolerance in LIMITS.sign_tolerances:
        found = sums.small(tolerance, limit=LIMITS.patterns, max_bits=LIMITS.sign_bits)
        patterns = np.zeros((0, columns.shape[1]), dtype=bool) if found is None else found[0][found[0][:, -1]]
        if len(patterns):
            errors = np.linalg.norm(patterns @ (columns / scale).T, axis=1)
            best = int(errors.argmin())
            flips = patterns[best, :-1]
            sign = np.where(flips, -1.0, 1.0)
            c = function.c + float(C[-1] @ flips) if offset else 0.0
            count = int((errors <= max(10 * errors[best], LIMITS.sign_tolerances[0])).sum())
            return replace(units, W=units.W * sign, b=units.b * sign, c=c), count, float(errors[best])
    return None, 0, math.inf
