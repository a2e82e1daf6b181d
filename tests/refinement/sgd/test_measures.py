"""Measures of a run are their definitions."""

import numpy as np
import pytest
from tests.refinement.sgd.iteration import problem, sequential

import weightlift as wl
from weightlift import samples
from weightlift.errors import ArgumentError, ShapeError
from weightlift.network import Network
from weightlift.refinement import Windows, nearest_weight_distance, sgd
from weightlift.samples import Fresh


def test_the_window_ratio_is_its_definition(rng):
    """Σ(y − ȳ)² over the residual sum of squares of the least-squares fit of y on (1, ‖x‖²)."""
    X, y, start = problem(rng, "softplus", n=600)
    windows = sgd(samples.open(X, y), start, step=1e-3, window=200).windows
    q = (X**2).sum(axis=1)
    design = np.column_stack([np.ones(600), q])
    fit = np.linalg.lstsq(design, y, rcond=None)[0]
    np.testing.assert_allclose(windows.norm_fit, fit, rtol=1e-9)
    best = y - fit[0] - fit[1] * (X**2).sum(axis=1)
    assert windows.norm_share == pytest.approx(best.var() / y.var(), rel=1e-9)
    *_, residuals, averaged = sequential(X, y, start, np.full(600, 1e-3))
    for given, coefficients in ((None, fit), ((0.4, 0.1), np.array([0.4, 0.1]))):
        baseline = ((y - design @ coefficients) ** 2).reshape(3, 200).sum(axis=1)
        np.testing.assert_allclose(windows.ratio(given), (averaged**2).reshape(3, 200).sum(axis=1) / baseline, rtol=1e-9)
        np.testing.assert_allclose(windows.last_ratio(given), (residuals**2).reshape(3, 200).sum(axis=1) / baseline, rtol=1e-9)


def test_norms_that_do_not_vary_explain_nothing(rng):
    X = rng.normal(size=(200, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = X[:, 0] + 2.0
    windows = sgd(samples.open(X, y), Network(np.eye(3), activation="tanh"), step=1e-3).windows
    assert windows.norm_fit == (pytest.approx(y.mean()), 0.0)


def test_the_weight_distance_is_its_definition(rng):
    for estimates, truths in ((300, 280), (3, 600), (1, 1)):
        E, T = rng.normal(size=(5, estimates)), rng.normal(size=(5, truths))
        gaps = ((E[:, :, None] - T[:, None, :]) ** 2).sum(axis=0)
        wanted = (gaps.min(axis=0).mean() + gaps.min(axis=1).mean()) / 2
        assert nearest_weight_distance(E, T) == pytest.approx(wanted, rel=1e-13)
        assert nearest_weight_distance(T, E) == pytest.approx(wanted, rel=1e-13)
    W = rng.normal(size=(5, 40))
    assert nearest_weight_distance(W + 1e-9, W[:, rng.permutation(40)]) == pytest.approx(5e-18, rel=1e-6), "no cancellation"
    assert nearest_weight_distance(W[:, :7], W) == pytest.approx(wl.match(Network(W[:, :7]), Network(W)).nearest_error)
    with pytest.raises(ShapeError, match="one length"):
        nearest_weight_distance(W, W[:3])
    with pytest.raises(ArgumentError, match="at least one column"):
        nearest_weight_distance(W[:, :0], W)


def test_distances_are_of_the_average_at_the_ends_of_windows():
    truth = wl.teachers.haar(6, 12)
    start = Network(np.random.default_rng(0).normal(size=(6, 12)) / 3, activation=truth.activation)
    runs = [sgd(Fresh(truth), start, step=0.02, steps=n, window=100, truth=truth) for n in (100, 200, 250)]
    expected = [nearest_weight_distance(run.average.W, truth.W) for run in runs]
    np.testing.assert_array_equal(runs[-1].windows.nearest, expected)


def test_a_target_that_the_norm_explains_has_no_finite_ratio():
    """No warning, and no number: the baseline is zero."""
    windows = Windows(np.array([4]), np.array([[1.0, 2.0, 4.0, 0.0, 0.0, 4.0, 0.0, 4.0]]), 3, None)  # y = 1
    assert windows.ratio() == [np.inf]
