"""Rows, grouped and fitted: what summaries and claims are made of."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from weightlift.reproduce.recipe import Row


def grouped(rows: list[Row], *names: str) -> Iterator[tuple[tuple[Any, ...], list[Row]]]:
    """Rows that agree in these columns together, in the order of their first.

    >>> [(d, len(part)) for (d,), part in grouped([{"d": 5}, {"d": 3}, {"d": 5}], "d")]
    [(5, 2), (3, 1)]
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    yield from groups.items()


def column(rows: list[Row], name: str) -> np.ndarray:
    """One column as floats; None is NaN."""
    return np.array([np.nan if row[name] is None else row[name] for row in rows], dtype=float)


@dataclass(frozen=True)
class Line:
    """y ≈ slope · x + intercept by least squares, R² of the fit, and the number of points."""

    slope: float
    intercept: float
    r2: float
    points: int

    @classmethod
    def fitted(cls, x: ArrayLike, y: ArrayLike) -> Line:
        """Points that are not finite are left out; NaN where fewer than two are left.

        >>> line = Line.fitted([0, 1, 2], [1.0, 3.0, 5.0])
        >>> line.slope, line.intercept, line.r2
        (2.0, 1.0, 1.0)
        """
        both = np.stack([np.asarray(x, dtype=float), np.asarray(y, dtype=float)])
        u, v = both[:, np.isfinite(both).all(axis=0)]
        if len(set(u)) < 2:
            return cls(np.nan, np.nan, np.nan, len(u))
        dx, dy = u - u.mean(), v - v.mean()
        slope = float(dx @ dy / (dx @ dx))
        residual, total = dy - slope * dx, dy @ dy
        r2 = float(1 - residual @ residual / total) if total > 0 else 1.0
        return cls(slope, float(v.mean() - slope * u.mean()), r2, len(u))

    @classmethod
    def of_powers(cls, x: ArrayLike, y: ArrayLike) -> Line:
        """The line through the logarithms: slope is the exponent."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return cls.fitted(np.log(np.asarray(x, dtype=float)), np.log(np.asarray(y, dtype=float)))


def logistic_thresholds(sizes: ArrayLike, shares: ArrayLike, level: float) -> np.ndarray:
    """For each row of shares (m, sizes), the size at which a logistic curve in log size passes `level`; one slope for all rows.

    Maximum likelihood: single points that are off by chance, which decide where a share is first one, weigh little here.

    >>> sizes = np.array([1.0, 2.0, 4.0, 8.0])
    >>> logistic_thresholds(sizes, 1 / (1 + (sizes / np.array([[3.0], [5.0]])) ** -2), 0.5).round(3)
    array([3., 5.])
    """
    from scipy.optimize import minimize

    x, p = np.log(np.asarray(sizes, dtype=float)), np.asarray(shares, dtype=float)

    def loss(theta: np.ndarray) -> float:
        z = np.exp(theta[0]) * (x - theta[1:, None])
        return float(np.sum(np.logaddexp(0, z) - p * z) + 1e-6 * np.sum(theta**2))  # bounded where a row is all one or all zero

    theta = minimize(loss, np.r_[0.0, np.full(len(p), x.mean())]).x
    return np.asarray(np.exp(theta[1:] + np.log(level / (1 - level)) / np.exp(theta[0])))


def as_csv(rows: list[Row]) -> str:
    """Columns in the order of their first appearance; floats to the last digit."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
