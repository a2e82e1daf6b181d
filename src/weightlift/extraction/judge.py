"""The certificate of an extraction: by `certify` where it can judge, by tests of the same kind where it cannot.

`certify` judges networks of one output without linear part, on fresh rows alone: drawn from a density, so that what it must
assume of other data is true here by construction. Several outputs, a linear part, or more parameters than dense equations hold
are judged by the same statements, tested and not proved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from weightlift.certificate import Certificate, Evidence, Kind, Statement, Topic, certify
from weightlift.extraction.fresh import degrees_of_freedom
from weightlift.extraction.kinked import LIMITS as LINES
from weightlift.extraction.polish import jacobian
from weightlift.extraction.probe import Probe
from weightlift.extraction.routes import LIMITS as ROUTES
from weightlift.extraction.routes import Found
from weightlift.network import Network
from weightlift.samples import Samples


@dataclass(frozen=True)
class Limits:
    """Numbers of the tests."""

    spare: int = 8  # equations beyond the parameters, at least, as in `certify`
    condition: float = 1e13  # of JᵀJ with unit diagonal, beyond which a unit is not determined
    precision: float = 1e-2  # relative, at which a unit is still one
    safety: float = 3.0  # of a precision that is read off the residuals of random rows


LIMITS = Limits()


def judge(found: Found, probe: Probe, network: Network, fresh: Samples, rng: np.random.Generator) -> Certificate:
    """Whether the network's units are those of the black box."""
    if not found.explained:
        reasons = found.notes or ("The network does not explain the answers to random rows.",)
        return _blank(found, probe, network).refused(*reasons)
    plain = network.a.ndim == 1 and network.V is None and network.n_units > 0
    if plain and found.estimate.N.size <= LINES.dense:
        return _by_construction(certify(network, fresh, bias=True, offset=True, rng=rng), len(found.xi))
    return _by_construction(_tested(found, probe, network), len(found.xi))


def _blank(found: Found, probe: Probe, network: Network) -> Certificate:
    """The class, and what was measured."""
    phi, k = network.activation.name, network.n_units
    r = np.abs(found.Y - found.estimate(found.xi)).max(axis=1, initial=0.0)
    level = float((r / probe.bounds(found.xi)).max(initial=0.0))
    evidence = Evidence(
        n_rows=len(r),
        n_distinct=len(r),
        n_parameters=degrees_of_freedom(found.estimate),
        residual_max=float(r.max(initial=0.0)),
        rounding_level=level,
    )
    sentence = f"The black box is a network with the activation {phi}, of at most {k} unit{'s' * (k != 1)}."
    statement = Statement(Topic.ASSUMPTION, Kind.ASSUMED, True, sentence)
    return Certificate(network, True, True, (statement,), evidence)


def _by_construction(certificate: Certificate, rows: int) -> Certificate:
    """With the law of the rows no longer assumed."""
    kept = tuple(s for s in certificate.statements if s.kind is not Kind.ASSUMED or "density" not in s.sentence)
    sentence = f"The {rows} rows were drawn independently from a density that was fixed before their answers: by construction."
    return replace(certificate, statements=(*kept, Statement(Topic.ASSUMPTION, Kind.PROVED, True, sentence, rows)))


def _tested(found: Found, probe: Probe, network: Network) -> Certificate:
    """Agreement, equations, rank and precision as they are measured; rivals as far as lines and rows exclude them."""
    blank = _blank(found, probe, network)
    e, m = blank.evidence, len(found.estimate.c)
    limit = ROUTES.agrees * (1 + found.inexact / probe.unit)
    how = f"a relative {found.inexact:g}" if found.inexact else f"the rounding of the answers, {probe.quantum.name}"
    agreement = Statement(
        Topic.BOUNDED if probe.quantum.coarse or found.inexact else Topic.AGREEMENT,
        Kind.TESTED,
        e.rounding_level <= limit,
        f"All {e.n_rows} random rows agree to {how}.",
        e.rounding_level,
        limit,
    )
    spare = m * len(found.xi) + len(probe.oracle.rows[0]) - len(found.xi) - e.n_parameters
    rows = Statement(
        Topic.ROWS,
        Kind.TESTED,
        spare >= LIMITS.spare,
        f"The answers are {spare} equations more than parameters.",
        spare,
        LIMITS.spare,
    )
    precision, condition = _precision(found, probe)
    determined = Statement(
        Topic.DETERMINED,
        Kind.TESTED,
        condition <= LIMITS.condition,
        f"The answers determine every unit to first order: JᵀJ has the condition {condition:.2g}."
        if math.isfinite(condition)
        else "The answers do not determine every unit to first order.",
        condition,
        LIMITS.condition,
    )
    weak = tuple(np.flatnonzero(precision > LIMITS.precision).tolist())
    worst = float(precision.max(initial=0.0))
    precise = Statement(
        Topic.PRECISION, Kind.TESTED, not weak, f"Units are known to a relative {worst:.1g}.", worst, LIMITS.precision, weak
    )
    statements = (agreement, rows, determined, precise, *_rivals(found, network))
    return replace(blank, statements=(*statements, *blank.statements), precision=precision)


def _precision(found: Found, probe: Probe) -> tuple[np.ndarray, float]:
    """Relative precision of each unit, ‖P J⁺‖ ‖e‖ with e the bounds on the answers' errors, and the condition of JᵀJ.

    Too many parameters for that: the residual of random rows, whose mean square is the sum of the units' errors.
    """
    f = found.estimate
    size = np.hypot(np.linalg.norm(f.N, axis=0), f.beta)
    outputs = np.linalg.norm(f.A, axis=1)
    if f.N.size > LINES.dense:
        r = np.sqrt(np.mean((found.Y - f(found.xi)) ** 2))
        return LIMITS.safety * math.sqrt(2.0) * r / (outputs * np.linalg.norm(f.N, axis=0)), 1.0
    xi = probe.frame.into(probe.oracle.rows[0])
    bounds = probe.bounds(xi)
    J = jacobian(f, xi, bool(f.V.any()), 1.0 / bounds)
    length = np.linalg.norm(J, axis=0)
    if not length.all():
        return np.full(f.k, np.inf), math.inf
    J = np.vstack([J / length, _scales(found, length)])
    values, vectors = np.linalg.eigh(J.T @ J)
    if values[0] <= 0:
        return np.full(f.k, np.inf), math.inf
    variances = ((vectors / np.sqrt(values)) ** 2).sum(axis=1) / length**2
    d, k, m = len(f.N), f.k, len(f.c)
    error = math.sqrt(len(xi) * m)  # ‖e‖ in units of the bounds
    weights = np.sqrt(variances[: k * d].reshape(k, d).sum(axis=1) + variances[k * d : k * d + k])
    heads = np.sqrt(variances[k * d + k : k * d + k + k * m].reshape(k, m).sum(axis=1))
    relative = error * np.maximum(weights / np.maximum(size, 1e-300), heads / np.maximum(outputs, 1e-300))
    return np.asarray(relative), float(values[-1] / values[0])


def _scales(found: Found, length: np.ndarray) -> np.ndarray:
    """Rows of length one that hold the scale of each unit, (n, β, −A), which no answer sees for homogeneous φ."""
    f = found.estimate
    if not f.activation.degree:
        return np.empty((0, len(length)))
    d, k, m = len(f.N), f.k, len(f.c)
    rows = np.zeros((k, len(length)))
    for i in range(k):
        rows[i, i * d : (i + 1) * d], rows[i, k * d + i] = f.N[:, i], f.beta[i]
        rows[i, k * d + k + i * m : k * d + k + (i + 1) * m] = -f.A[i]
    rows *= length
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def _rivals(found: Found, network: Network) -> tuple[Statement, ...]:
    reflection = network.activation.reflection
    if network.V is not None and network.n_units and reflection is not None and len(reflection[1]) > 1:
        sentence = (
            f"Beside a linear part the units may face either way: {network.activation.name}(−z) differs from "
            f"{network.activation.name}(z) by a linear function."
        )
        return (Statement(Topic.RIVALS, Kind.TESTED, False, sentence),)
    sentence = (
        f"Nothing more bends the answers on random lines of {LINES.span:g} times the inputs' scale, nor on {len(found.xi)} "
        "random rows; other networks are not excluded by a theorem."
    )
    return (Statement(Topic.RIVALS, Kind.TESTED, True, sentence, len(found.xi)),)
