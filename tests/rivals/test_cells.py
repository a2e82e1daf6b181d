"""Sides of rows that a hyperplane can separate."""

from __future__ import annotations

import numpy as np

from weightlift.rivals.pieces import separable


def test_separable_sides() -> None:
    X = np.random.default_rng(0).standard_normal((100, 3))
    assert separable(X, X @ [1.0, 2.0, -1.0] > 0)
    assert not separable(X, np.abs(X[:, 0]) > 0.5)
