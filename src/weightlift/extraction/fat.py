"""Gradients where their cell is wide: a narrow cell of a line may be wide elsewhere.

Two kinks that nearly coincide on a line leave a narrow cell between them, in which differences are short and inexact. Once
the units are roughly known, a point of the same cell far from all hyperplanes is found by moving along the normals of those
that are too near, and the gradient is asked for there, with steps as wide as the cell.  Cost d + 1 queries a cell.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from weightlift.extraction.limits import LIMITS

Ask = Callable[[np.ndarray], np.ndarray]


def wide_gradient(ask: Ask, point: np.ndarray, normals: np.ndarray, places: np.ndarray, side: np.ndarray) -> np.ndarray | None:
    """(d, m): the gradient in the cell on these sides of the hyperplanes; None where it is narrow all around the point."""
    found = wide_point(point, normals, places, side)
    if found is None:
        return None
    height = side * (found @ normals + places)  # > 0
    climb = side * normals  # (d, k)
    with np.errstate(divide="ignore"):
        up = np.where(climb < 0, height / np.maximum(-climb, 1e-300), np.inf).min(axis=1)
        down = np.where(climb > 0, height / np.maximum(climb, 1e-300), np.inf).min(axis=1)
    H = np.where(up >= down, 1.0, -1.0) * LIMITS.wide_step * np.minimum(np.maximum(up, down), np.sqrt(len(point)))
    Y = ask(np.vstack([found, found + np.diag(H)]))
    return np.asarray((Y[1:] - Y[0]) / H[:, None])


def wide_point(point: np.ndarray, normals: np.ndarray, places: np.ndarray, side: np.ndarray) -> np.ndarray | None:
    """A point whose distance from every hyperplane, on its side, is one of a few; by least moves along those too near."""
    for distance in LIMITS.wide_distances:
        x = point.copy()
        for _ in range(LIMITS.wide_moves):
            height = side * (x @ normals + places)
            near = np.flatnonzero(height < distance)
            if not near.size:
                return x
            N = normals[:, near] * side[near]
            x = x + N @ np.linalg.lstsq(N.T @ N, 1.2 * distance - height[near], rcond=None)[0]
    return None
