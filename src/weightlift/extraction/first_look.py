"""The first queries: does the oracle answer, in order, alike when asked again, and not the same to everything?"""

from __future__ import annotations

import numpy as np

from weightlift.errors import OracleError
from weightlift.extraction.estimate import Frame
from weightlift.extraction.limits import LIMITS
from weightlift.extraction.probe import Probe
from weightlift.samples.oracle import Oracle


def first_look(oracle: Oracle, frame: Frame, rng: np.random.Generator) -> tuple[Probe, float]:
    """The probe, and the size of the noise: the largest difference between two answers to one row, 0 if there is none."""
    xi = rng.standard_normal((LIMITS.asked_twice, oracle.n_inputs))
    Y = oracle.ask(frame.out(xi))
    order = np.roll(rng.permutation(LIMITS.asked_twice), 1)
    again = oracle.ask(frame.out(xi[order]), anew=True)
    spread = float(np.abs(Y - Y.mean(axis=0)).max())
    if spread <= 1e-14 * float(np.abs(Y).max(initial=0.0)):
        raise OracleError(
            f"the oracle is constant: {len(Y)} random rows were all answered by {Y[0, 0]:.6g}. Widen `scale` or move `center`."
        )
    noise = float(np.abs(again - Y[order]).max())
    if noise > LIMITS.same_answer * spread and _permuted(Y[order], again, LIMITS.same_answer * spread):
        raise OracleError(
            "the oracle answers out of order: rows asked again had the same answers in other places. Return one answer a row, "
            "in the order of the rows."
        )
    probe = Probe.of(oracle, frame, xi, Y)
    return probe, noise if noise > probe.noise() * 8 else 0.0


def changed(oracle: Oracle, probe: Probe) -> str | None:
    """Whether some early rows are answered otherwise at the end, in words; None where not, or where the budget is spent."""
    X, Y = (part[LIMITS.first_queries : LIMITS.first_queries + LIMITS.asked_twice] for part in oracle.rows)
    if oracle.left < len(X) or oracle.seconds_left <= 0 or not len(X):
        return None
    gap = np.abs(oracle.ask(X, anew=True) - Y).max(axis=1)
    if (gap <= 2 * probe.bounds(probe.frame.into(X))).all():
        return None
    return f"The answers have changed: rows asked at the beginning and again at the end differ by up to {gap.max():.2g}."


def _permuted(before: np.ndarray, after: np.ndarray, tolerance: float) -> bool:
    """Whether the answers are the same in other places."""
    return bool(np.abs(np.sort(before, axis=0) - np.sort(after, axis=0)).max() <= tolerance)
