"""Variance inflation: how much worse a column's weights are known because it nearly depends on the other columns.

    VIF_j = C_jj (C⁻¹)_jj = 1/(1 − R²_j),     C the inputs' covariance, R²_j of column j on the others

The standard errors of column j's weights are √VIF_j times those of a column of the same spread that is correlated with none, as
far as all rows count alike [Marquardt 1970]. It is judged on all rows.
"""

from __future__ import annotations

import math

import numpy as np

from weightlift.certificate.limits import LIMITS
from weightlift.namespaces import to_numpy
from weightlift.samples import Columns, Covariance, Samples


def variance_inflation(samples: Samples) -> np.ndarray:
    """(d,) of every input; infinite for one that is linear in the others, NaN for one that is constant."""
    _, mean, scatter = (to_numpy(v) for v in samples.fold(Covariance(samples.d)))
    spread = np.sqrt(np.maximum(np.diagonal(scatter) / samples.total, 0.0))
    varying = np.flatnonzero(spread > LIMITS.constant_column * np.abs(mean))
    found = np.full(samples.d, math.nan)
    if not len(varying):
        return found
    root = np.sqrt(np.diagonal(scatter)[varying])
    values, vectors = np.linalg.eigh(scatter[np.ix_(varying, varying)] / root[:, None] / root)
    kept = values > LIMITS.dependent_columns * values[-1]
    inflation = (vectors[:, kept] ** 2 / values[kept]).sum(axis=1)
    dependent = (vectors[:, ~kept] ** 2).sum(axis=1) > LIMITS.dependent_share
    found[varying] = np.where(dependent, math.inf, inflation)
    return found


def inflated(inflation: np.ndarray, columns: Columns) -> str:
    """A sentence that names the columns beyond the customary limit, largest first; "" where there are none."""
    order = np.argsort(-np.nan_to_num(inflation, nan=0.0, posinf=math.inf), kind="stable")
    chosen = [int(j) for j in order if inflation[j] > LIMITS.inflation]
    if not chosen:
        return ""
    shown = chosen[: LIMITS.named_columns]
    listed = ", ".join(f"{columns.input(j)} ({_number(inflation[j])})" for j in shown)
    more = f" and {len(chosen) - len(shown)} more" if len(chosen) > len(shown) else ""
    worst = float(inflation[chosen[0]])
    effect = (
        f"their weights are known up to {math.sqrt(worst):.2g} times worse than those of unrelated columns"
        if math.isfinite(worst)
        else "weights along what they share are not determined at all"
    )
    return f"Inputs that nearly depend on others (variance inflation): {listed}{more}; {effect}. Drop or combine some."


def _number(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else "∞"
