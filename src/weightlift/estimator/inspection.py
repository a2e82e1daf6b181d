"""What is wrong with data before any fit: sentences that name the column and the remedy.

    constant columns, a constant target     columns that are linear in others     rows that repeat others
    a mean far from zero beside the spread  single values far from all others

Cost O(n d log n), and O(n d²) for the linear dependence.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from weightlift.estimator.limits import LIMITS
from weightlift.samples.limits import LIMITS as SAMPLES
from weightlift.samples.standardization import power_of_two, spreads

VERBS = ("is linear in other columns", "are linear in other columns")


def findings(X: np.ndarray, y: np.ndarray, copies: int, names: Sequence[str] | None = None) -> tuple[str, ...]:
    """The sentences, most serious first; none for data without these faults."""
    names = [f"column {j}" for j in range(X.shape[1])] if names is None else [f"column {name!r}" for name in names]
    spread, constant = spreads(X), constant_columns(X)
    found = [
        _constant_target(y),
        _sentence(names, constant, ("is constant", "are constant"), "drop what is: its weight cannot be told from a bias"),
        _sentence(names, dependent_columns(X), VERBS, "drop what is redundant: its weights are not determined"),
        _copies(copies, len(X)),
        _far_means(X, spread, constant, names),
        _outliers(X, constant, names),
        _outliers(y[:, None], np.zeros(1, dtype=bool), ["the target"]),
    ]
    return tuple(sentence for sentence in found if sentence)


def constant_columns(X: np.ndarray) -> np.ndarray:
    """(d,) which columns do not vary, but for rounding."""
    return np.asarray(spreads(X) <= np.maximum(LIMITS.constant * np.max(np.abs(X), axis=0), SAMPLES.least_spread))


def dependent_columns(X: np.ndarray) -> np.ndarray:
    """(d,) those that vary and that pivoted QR leaves without a part of their own."""
    from scipy.linalg import qr

    index, dependent = np.flatnonzero(~constant_columns(X)), np.zeros(X.shape[1], dtype=bool)
    if len(index) < 2 or len(X) <= len(index):
        return dependent
    part = X[:, index] / power_of_two(np.max(np.abs(X[:, index]), axis=0))
    part = part - part.mean(axis=0)
    norms = np.linalg.norm(part, axis=0)
    if not norms.all():
        return dependent
    R, pivots = qr(np.linalg.qr(part / norms, mode="r"), mode="r", pivoting=True, check_finite=False)
    left = np.abs(np.diagonal(R))
    dependent[index[pivots[left <= LIMITS.dependent * left[0]]]] = True
    return dependent


def _constant_target(y: np.ndarray) -> str:
    if float(spreads(y[:, None])[0]) > LIMITS.constant * float(np.max(np.abs(y))):
        return ""
    return "y is constant: there is no unit to recover; give targets that vary."


def _copies(copies: int, n: int) -> str:
    if copies < LIMITS.many_copies * (n + copies):
        return ""
    return f"{copies} of {n + copies} rows repeat others; copies count as weights and certify nothing: give distinct rows."


def _far_means(X: np.ndarray, spread: np.ndarray, constant: np.ndarray, names: Sequence[str]) -> str:
    size = power_of_two(np.max(np.abs(X), axis=0))
    mean = np.mean(X / size, axis=0) * size
    far = ~constant & (np.abs(mean) > LIMITS.far_mean * spread)
    where = f"further than {LIMITS.far_mean:g} spreads from zero"
    return _sentence(names, far, (f"lies {where}", f"lie {where}"), "subtract the mean: digits are lost")


def _outliers(X: np.ndarray, constant: np.ndarray, names: Sequence[str]) -> str:
    low, median, high = np.quantile(X, [0.25, 0.5, 0.75], axis=0, method="nearest")
    with np.errstate(over="ignore"):
        distance, box = np.abs(X - median), high - low
    furthest = distance.max(axis=0)
    rest = np.sort(distance, axis=0)[:-1].mean(axis=0) if len(X) > 2 else furthest  # without the furthest
    box = np.where(box > 0, box, rest)
    far = ~constant & (furthest > LIMITS.far_value * box) & (box > 0)
    if not far.any():
        return ""
    row = int(np.argmax(distance[:, np.flatnonzero(far)[0]]))
    value = X[row, np.flatnonzero(far)[0]]
    remedy = f"check or drop it ({value:.3g} in the first): it decides the fit alone"
    where = f"a value {LIMITS.far_value:g} times further out than the quartiles"
    return _sentence(names, far, (f"has {where}", f"have {where}"), remedy)


def _sentence(names: Sequence[str], which: np.ndarray, fault: tuple[str, str], remedy: str) -> str:
    """fault: what is said of one column, and of several."""
    chosen = [names[j] for j in np.flatnonzero(which).tolist()]
    if not chosen:
        return ""
    more = len(chosen) - LIMITS.shown
    listed = ", ".join(chosen[: LIMITS.shown]) + (f" and {more} more" if more > 0 else "")
    text = f"{listed} {fault[len(chosen) > 1]}; {remedy}."
    return text[0].upper() + text[1:]
