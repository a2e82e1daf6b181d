"""Lines, powers and logistic curves have the exponents and errors of their laws."""

from __future__ import annotations

import math

import numpy as np
import pytest

from weightlift.reproduce.fits import Line, Logistic, Powers


def test_shares_that_do_not_rise_pass_no_level() -> None:
    found = Logistic.fitted([1.0, 2.0, 4.0], [[5, 3, 1]], [[5, 5, 5]]).thresholds(0.9)
    assert np.isinf(found).all()


def test_powers_have_their_exponents_and_standard_errors(rng: np.random.Generator) -> None:
    n, d = (values.ravel() for values in np.meshgrid(np.geomspace(1e4, 1e5, 8), [10.0, 20.0, 40.0]))
    fits = [Powers.fitted([n, d], 3 * n**-0.5 * d**0.7 * np.exp(0.1 * rng.normal(size=n.size))) for _ in range(100)]
    z = np.array([(fit.exponents - [-0.5, 0.7]) / fit.errors for fit in fits])
    np.testing.assert_allclose(np.mean(z**2, axis=0), 1.0, atol=0.6)
    assert np.isnan(Powers.fitted([n, 2 * n], n).exponents).all()  # n and d cannot be told apart


def test_lines_leave_out_what_is_not_finite(rng: np.random.Generator) -> None:
    x = rng.normal(size=50)
    y = 3 * x - 2 + rng.normal(size=50)
    line = Line.fitted([*x, 7.0], [*y, np.nan])
    slope, intercept = np.polyfit(x, y, 1)
    assert (line.slope, line.intercept) == (pytest.approx(slope), pytest.approx(intercept))
    assert line.r2 == pytest.approx(np.corrcoef(x, y)[0, 1] ** 2)
    assert line.points == 50
    assert math.isnan(Line.fitted([1.0, 1.0], [0.0, 1.0]).slope)
    assert Line.of_powers([1, 10, 100], [2.0, 0.2, 0.02]).slope == pytest.approx(-1)
