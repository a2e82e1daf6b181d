"""The rows of a recovery, split and standardised."""

import numpy as np

from weightlift import samples
from weightlift.recovery.problem import Problem
from weightlift.recovery.request import Request


def test_the_mean_in_whitened_coordinates_is_that_of_the_whitened_rows():
    X = np.random.default_rng(0).normal(size=(500, 4)) @ (np.eye(4) + 0.4) + [1.0, -2.0, 0.5, 3.0]
    X = X * [1.0, 1e-4, 1e4, 1.0]
    problem = Problem.of(samples.open(X, X[:, 0]), Request(2).checked(), np.random.default_rng(0))
    _, mean, _ = problem.white.fold(samples.Covariance(4))
    np.testing.assert_allclose(problem.standard.mean, mean, rtol=1e-9)
