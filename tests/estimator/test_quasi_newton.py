"""L-BFGS on the penalised risk: the minimum of Gauss–Newton, and predictions that do not know the units of measurement."""

import numpy as np
import pytest

from weightlift import activations
from weightlift.estimator.limits import LIMITS
from weightlift.estimator.penalized import Data, Parameters, Penalty, descend
from weightlift.estimator.quasi_newton import descend_cheaply
from weightlift.estimator.regularized import StandardRows


def problem(rng, *, weighted):
    data = Data(rng.normal(size=(60, 3)), rng.normal(size=60), rng.uniform(0.5, 2.0, 60) if weighted else None)
    return data, Parameters(0.5 * rng.normal(size=(3, 2)), rng.normal(size=2), rng.normal(size=2), rng.normal(size=3), 0.3)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_minimum_of_gauss_newton(rng, weighted):
    data, start = problem(rng, weighted=weighted)
    penalty = Penalty(activations.get("tanh"), 0.05, 0.2)
    exact = descend(data, start, penalty, steps=300, tol=0.0)
    cheap = descend_cheaply(data, exact.moved(0.01 * rng.normal(size=exact.vector.size)), penalty)
    assert abs(cheap.value - exact.value) < 20 * LIMITS.cheap_rough
    assert cheap.value == pytest.approx(penalty.value(data, cheap), abs=2.0**-LIMITS.kept_bits * 10)


def test_what_is_not_free_stays(rng):
    data, start = problem(rng, weighted=False)
    found = descend_cheaply(data, start, Penalty(activations.get("relu"), 0.05, 0.2, bias=False, offset=False))
    assert np.abs(found.b - start.b).max() <= 2.0**-LIMITS.kept_bits
    assert abs(found.c - start.c) <= 2.0**-LIMITS.kept_bits
    assert not np.allclose(found.W, start.W)


def test_a_path_is_the_same_in_other_units_of_measurement(rng):
    d, width = 8, 32
    X = rng.normal(size=(80, d))
    y = np.abs(X[:, 0]) - np.abs(X[:, 1] + X[:, 2]) + 0.1 * rng.normal(size=80)
    start = Parameters(rng.normal(size=(d, width)), 0.1 * rng.normal(size=width), rng.normal(size=width), np.zeros(d), 0.0)
    found = []
    for Z in (X, X * rng.uniform(0.01, 70.0, d) + rng.normal(size=d)):
        frame, fit = StandardRows.of(Z, y, None, centred=True, offset=True), start
        data = Data(frame.columns.inputs(Z), frame.targets(y), None)
        for alpha in (0.06, 0.012, 0.0024):
            fit = descend_cheaply(data, fit, Penalty(activations.get("relu"), alpha, 0.01))
        found.append(frame.undo(fit.network(activations.get("relu"))).predict(Z))
    assert np.abs(found[0] - found[1]).max() < 1e-6 * np.std(y)
