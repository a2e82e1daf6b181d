"""Chord steps end where Gauss–Newton does, and say how near that is."""

import numpy as np
import pytest

from weightlift import draw, samples, teachers
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.refinement import along_chords, gauss_newton
from weightlift.risk import Risk, Students


def risk(rows, network):
    return float(rows.mean(Risk(Students.of(network)))[0][0])


def noisy(activation, seed, n=4000, d=6, k=3):
    truth = teachers.conditioned(d, k, activation=activation, rng=seed)
    truth = truth.absorbed() if truth.activation.degree else truth
    return truth, samples.open(*draw(truth, n, noise_std=0.1, rng=seed + 100))


@pytest.mark.parametrize("activation", ["squared_relu", "softplus"])
def test_of_smooth_functions_they_end_at_the_minimum(activation, seed):
    truth, rows = noisy(activation, seed)
    free = "W" if activation == "squared_relu" else "Wa"
    found = along_chords(rows, truth, free=free, tol=1e-14, iterations=60)
    best = gauss_newton(rows, truth, free=free, iterations=60, tol=1e-15, damping=1e-12)
    assert risk(rows, found.network) <= best.risks[0] * (1 + 1e-9)
    assert rows.n * found.gain < 1e-5  # squared standard errors


def test_of_relu_they_end_a_share_of_a_standard_error_from_it(seed):
    truth, rows = noisy("relu", seed)
    found = along_chords(rows, truth, free="W", tol=1e-8, iterations=30)
    best = gauss_newton(rows, found.network, free="W", iterations=30, tol=1e-12, damping=1e-12)
    p, squares = truth.W.size, 2 * rows.n * risk(rows, found.network)
    off = 2 * rows.n * (risk(rows, found.network) - best.risks[0]) / (squares / (rows.n - p))
    assert off < 0.01 * p  # squared standard errors


def test_the_gain_is_the_distance_in_standard_errors(seed):
    truth, rows = noisy("relu", seed)
    found = along_chords(rows, truth, free="W", tol=0.0, iterations=0)
    information = Information.of(rows, Gauge.of(truth, bias=False, offset=False))
    g = information.gradient
    assert found.steps == 0
    np.testing.assert_allclose(found.gain, g @ information.inverse @ g / information.rss, rtol=1e-4)  # H has single precision


def test_no_step_raises_the_risk_from_anywhere(rng):
    truth, rows = noisy("relu", 0)
    start = type(truth)(rng.normal(size=truth.W.shape), truth.a, activation="relu")
    found = along_chords(rows, start, free="W", tol=1e-8, iterations=10)
    assert risk(rows, found.network) <= risk(rows, start)


def test_rows_that_are_explained_need_no_step(seed):
    truth = teachers.conditioned(5, 2, activation="relu", rng=seed).absorbed()
    rows = samples.open(*draw(truth, 200, rng=seed))
    found = along_chords(rows, truth, free="W", tol=1e-8, iterations=10)
    assert found.steps == 0
    assert found.network.equivalent(truth, 1e-15)
