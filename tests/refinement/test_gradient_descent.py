"""Gradient descent: the paper's step, its rate, resampling, endings."""

import numpy as np
import pytest

import weightlift as wl
from weightlift import samples
from weightlift.errors import ArgumentError, TooFewRowsError
from weightlift.network import Network
from weightlift.refinement.gradient_descent import DescentEnding, gradient_descent, largest_curvature, step_size
from weightlift.risk import Hessian
from weightlift.theory import population_spectrum


@pytest.fixture
def problem():
    truth = wl.teachers.conditioned(6, 3, activation="squared_relu", rng=0)
    X, y = wl.draw(truth, 2000, rng=0)
    start = Network(truth.W + 0.05 * np.random.default_rng(1).normal(size=truth.W.shape), truth.a, activation="squared_relu")
    return truth, X, y, start


def test_one_step_is_the_formula(problem):
    """W − η (1/n) Xᵀ(r ∘ v φ′(XW))."""
    _, X, y, start = problem
    result = gradient_descent(samples.open(X, y), start, step=0.02, iterations=1)
    z = X @ start.W
    r = start.predict(X) - y
    gradient = X.T @ (r[:, None] * start.a * 2 * np.maximum(z, 0)) / len(y)
    np.testing.assert_allclose(result.network.W, start.W - 0.02 * gradient, rtol=1e-12)
    assert result.risks[0] == pytest.approx(0.5 * np.mean(r**2))


def test_linear_rate_to_the_truth(problem):
    truth, X, y, start = problem
    result = gradient_descent(samples.open(X, y), start, iterations=3000, tol=1e-24)
    assert result.ending is DescentEnding.CONVERGED
    assert result.network.equivalent(truth, tol=1e-9)
    late = np.log(result.risks[(result.risks < 1e-4) & (result.risks > 1e-18)])
    steps = np.diff(late)
    assert steps.max() < 0
    assert steps.std() < 0.2 * abs(steps.mean()), "linear convergence: a constant factor a step"


def test_resampling_takes_each_step_on_fresh_rows(problem):
    truth, X, y, start = problem
    result = gradient_descent(samples.open(X, y), start, iterations=200, parts=4)
    assert np.linalg.norm(result.network.W - truth.W) < 1e-2 * np.linalg.norm(start.W - truth.W)


def test_curvature_step_is_the_inverse_largest_eigenvalue(problem):
    _, X, y, start = problem
    H = samples.open(X, y).mean(Hessian(start, curvature=False))[0].reshape(18, 18)
    assert largest_curvature(samples.open(X, y), start) == pytest.approx(np.linalg.eigvalsh(H)[-1], rel=0.02)
    assert step_size(samples.open(X, y), start, "theory") == pytest.approx(1 / (3 * np.linalg.norm(start.W, ord=2) ** 2))


def test_output_weights_fixed_free_or_projected(problem):
    _, X, y, start = problem
    data = samples.open(X, y)
    start = Network(start.W, 0.9 * start.a, activation="squared_relu")
    fixed, free, signs = (
        gradient_descent(data, start, step=0.02, iterations=3, output_weights=o).network.a for o in ("fixed", "free", "signs")
    )
    np.testing.assert_array_equal(fixed, start.a)
    assert not np.allclose(free, start.a)
    assert set(np.abs(signs)) == {1.0}


def test_a_step_too_large_says_so(problem):
    _, X, y, start = problem
    result = gradient_descent(samples.open(X, y), start, step=50.0, iterations=200)
    assert result.ending is DescentEnding.DIVERGED
    assert np.isfinite(result.network.W).all()


def test_bad_arguments_are_named(problem):
    _, X, y, start = problem
    data = samples.open(X, y)
    for arguments, word in (({"step": -1}, "step"), ({"step": "fast"}, "step"), ({"output_weights": "x"}, "output_weights")):
        with pytest.raises(ArgumentError, match=word):
            gradient_descent(data, start, **arguments)
    with pytest.raises(ArgumentError, match="parts"):
        gradient_descent(data, start, parts=0)
    with pytest.raises(TooFewRowsError, match=r"parts = 5000.*fewer parts"):
        gradient_descent(data, start, parts=5000)
    with pytest.raises(ArgumentError, match="step"):
        gradient_descent(data, start, step=np.inf)
    for dead in (Network(np.zeros((6, 3))), Network(start.W, np.zeros(3))):
        with pytest.raises(ArgumentError, match="start has no gradient"):
            gradient_descent(data, dead)
    with pytest.raises(ArgumentError, match="theory"):
        step_size(data, Network(start.W, activation="tanh"), "theory")


@pytest.mark.parametrize(("k", "ratio"), [(1, 6.0), (2, 3.685447)])
def test_the_printed_step_diverges_for_one_and_two_units_of_squared_relu(k, ratio):
    """η = 1/(k v² σ₁²) [zhong2017, Alg. 2] needs λ_max ≤ 2 k v² σ₁²; one unit has 4 E z₊² z² = 6 σ₁² along w."""
    truth = Network(np.eye(4)[:, :k], activation="squared_relu")
    assert population_spectrum(truth, truth).largest / k == pytest.approx(ratio, rel=1e-6)
    X, y = wl.draw(truth, 4000, rng=0)
    start = Network(1.02 * truth.W + 0.01, activation="squared_relu")
    printed = gradient_descent(samples.open(X, y), start, step="theory", iterations=60)
    measured = gradient_descent(samples.open(X, y), start, step="curvature", iterations=60)
    assert printed.risks[-1] > printed.risks[0]  # it leaves the truth, to infinity or to a cycle
    assert measured.risks[-1] < 1e-3 * measured.risks[0]
