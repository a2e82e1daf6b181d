"""The rows of a recovery, split and standardised."""

import numpy as np
import pytest

from weightlift import samples
from weightlift.recovery.problem import Problem
from weightlift.recovery.request import Request


def test_the_mean_in_whitened_coordinates_is_that_of_the_whitened_rows():
    X = np.random.default_rng(0).normal(size=(500, 4)) @ (np.eye(4) + 0.4) + [1.0, -2.0, 0.5, 3.0]
    X = X * [1.0, 1e-4, 1e4, 1.0]
    problem = Problem.of(samples.open(X, X[:, 0]), Request(2).checked(), np.random.default_rng(0))
    _, mean, _ = problem.white.fold(samples.Covariance(4))
    np.testing.assert_allclose(problem.standard.mean, mean, rtol=1e-9)


@pytest.mark.parametrize(("rows", "units"), [(22, 1), (24, 1), (40, 1), (40, 5), (60, 2), (400, 5)])
def test_rows_are_held_out_only_where_enough_are_left(rows: int, units: int, seed: int) -> None:
    """Parameters and eight rows are what a certificate needs; a split by chance must leave them."""
    X = np.random.default_rng(seed).normal(size=(rows, 3))
    problem = Problem.of(samples.open(X, X[:, 0]), Request(units, "tanh").checked(), np.random.default_rng(seed))
    held = 0 if problem.heldout is None else problem.heldout.n
    assert problem.train.n >= min(rows, units * 4 + 8)
    assert problem.train.n + held == rows
    assert held or rows < units * 4 + 21
