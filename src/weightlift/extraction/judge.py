"""The certificate of an extraction: by `certify` where it can judge, by tests of the same kind where it cannot.

`certify` judges fresh rows alone: drawn from a density, so that what it must assume of other data is true here by construction.
More weights than dense equations hold, or no units at all, are judged by the same statements, tested and not proved.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from weightlift.certificate import Certificate, Evidence, Kind, Statement, Topic, certify
from weightlift.extraction.fresh import degrees_of_freedom
from weightlift.extraction.limits import LIMITS
from weightlift.extraction.probe import Probe
from weightlift.extraction.routes import Found
from weightlift.network import Network
from weightlift.samples import Samples


def judge(found: Found, probe: Probe, network: Network, fresh: Samples, rng: np.random.Generator) -> Certificate:
    """Whether the network's units are those of the black box."""
    if not found.explained:
        reasons = found.notes or ("The network does not explain the answers to random rows.",)
        return _blank(found, probe, network).refused(*reasons)
    if 0 < found.estimate.N.size <= LIMITS.dense:
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
    kept = tuple(s for s in certificate.statements if s.topic is not Topic.LAW)
    sentence = f"The {rows} rows were drawn independently from a density that was fixed before their answers: by construction."
    return replace(certificate, statements=(*kept, Statement(Topic.LAW, Kind.PROVED, True, sentence, rows)))


def _tested(found: Found, probe: Probe, network: Network) -> Certificate:
    """Agreement, equations, rank and precision as they are measured; rivals as far as lines and rows exclude them."""
    blank = _blank(found, probe, network)
    e, m = blank.evidence, len(found.estimate.c)
    limit = LIMITS.agrees * (1 + found.inexact / probe.unit)
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
    precision = _precision(found)
    determined = Statement(Topic.DETERMINED, Kind.TESTED, True, "Every unit was seen on both sides of its kink, on a line.")
    weak = tuple(np.flatnonzero(precision > LIMITS.precision).tolist())
    worst = float(precision.max(initial=0.0))
    precise = Statement(
        Topic.PRECISION, Kind.TESTED, not weak, f"Units are known to a relative {worst:.1g}.", worst, LIMITS.precision, weak
    )
    sentence = (
        f"Nothing more bends the answers on random lines of {LIMITS.span:g} times the inputs' scale, nor on {len(found.xi)} "
        "random rows; other networks are not excluded by a theorem."
    )
    rivals = Statement(Topic.RIVALS, Kind.TESTED, True, sentence, len(found.xi))
    statements = (agreement, rows, determined, precise, rivals)
    return replace(blank, statements=(*statements, *blank.statements), precision=precision)


def _precision(found: Found) -> np.ndarray:
    """Relative precision of each unit, read off random rows: their mean squared residual is the sum of the units' errors."""
    f = found.estimate
    r = float(np.sqrt(np.mean((found.Y - f(found.xi)) ** 2)))
    return np.asarray(LIMITS.safety * math.sqrt(2.0) * r / (np.linalg.norm(f.A, axis=1) * np.linalg.norm(f.N, axis=0)))
