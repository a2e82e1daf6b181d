"""The papers' global algorithms: the curves of Fig. 1(c), zhang2019's gradient, floor and ordering."""

import numpy as np
import pytest

import weightlift as wl
from weightlift import samples
from weightlift.errors import ArgumentError
from weightlift.initialization import gaussian_init
from weightlift.learning import learn_1nn, learn_relu
from weightlift.network import Network
from weightlift.refinement.gradient_descent import Ending
from weightlift.risk import Gradient, Students
from weightlift.theory import population_risk


@pytest.fixture(scope="module")
def fig1c():
    truth = wl.teachers.conditioned(10, 5, activation="squared_relu", rng=0)
    return truth, *wl.draw(truth, 10_000, rng=0)


def test_tensor_start_and_fixed_signs_converge_linearly(fig1c):
    """[zhong2017, Fig. 1(c)], (I) and (III): both end at the truth, (II) does not."""
    truth, X, y = fig1c
    options = {"n_units": 5, "activation": "squared_relu", "step": 0.02, "iterations": 400}
    tensor = learn_1nn(X, y, preset="default", **options)
    known = learn_1nn(X, y, initialization=gaussian_init(10, 5, "squared_relu", output_weights=truth.a, rng=1), **options)
    random = learn_1nn(X, y, initialization="random", output_weights="signs", rng=2, **options)
    last = [run.descent.risks[-1] for run in (tensor, known, random)]
    assert last[0] < last[1] < last[2]
    assert wl.match(tensor.network, truth).max_error < 0.01
    late = np.diff(np.log(tensor.descent.risks[-100:]))
    assert late.max() < 0, "every step lowers the risk"


def test_resampling_uses_disjoint_parts(fig1c):
    truth, X, y = fig1c
    found = learn_1nn(X, y, n_units=5, activation="squared_relu", preset="default", resample=4, step=0.02, iterations=200)
    assert wl.match(found.network, truth).max_error < wl.match(found.start, truth).max_error
    assert found.descent.ending is Ending.ITERATIONS


def test_standardized_inputs_are_undone():
    truth = wl.teachers.conditioned(5, 2, activation="tanh", rng=0)
    scale = np.diag([0.5, 1.0, 2.0, 1.0, 1.5])
    X, y = wl.draw(truth, 4000, covariance=scale, rng=0)
    found = learn_1nn(
        X, y, n_units=2, activation="tanh", preset="default", step="curvature", iterations=1500
    )
    assert found.network.n_inputs == 5
    assert np.sqrt(np.mean((found.network.predict(X) - y) ** 2)) < 0.05 * y.std()


def test_gradient_of_zhang_in_both_forms(rng):
    """[zhang2019, (3.2)–(3.3)]: Σ̂(wⱼ, w_k) wⱼ − Σ̂(w*ⱼ, w_k) w*ⱼ minus the noise's part is the gradient of (1.2)."""
    truth, W = wl.teachers.conditioned(5, 3, activation="relu", signs=False, rng=rng), rng.normal(size=(5, 3))
    X = rng.normal(size=(200, 5))
    noise = 0.3 * rng.normal(size=200)
    y = truth.predict(X) + noise
    risk, dW = samples.open(X, y).mean(Gradient(Students.of(Network(W))))[:2]
    assert risk[0] == pytest.approx(np.sum((np.maximum(X @ W, 0).sum(axis=1) - y) ** 2) / 400)

    def sigma(u, v):
        both = (X @ u >= 0) & (X @ v >= 0)
        return X[both].T @ X[both] / len(X)

    for k in range(3):
        form = sum(sigma(W[:, j], W[:, k]) @ W[:, j] - sigma(truth.W[:, j], W[:, k]) @ truth.W[:, j] for j in range(3))
        form = form - (noise * (X @ W[:, k] >= 0)) @ X / len(X)
        np.testing.assert_allclose(dW[:, 0, k], form, rtol=1e-10, atol=1e-12)


def test_population_loss_is_the_limit_of_the_empirical_one(rng):
    """[zhang2019, (3.1)] against (1.2) on 10⁶ rows, within five standard errors."""
    truth = wl.teachers.conditioned(4, 2, activation="relu", signs=False, rng=rng)
    student = Network(truth.W + 0.3 * rng.normal(size=(4, 2)))
    X = rng.normal(size=(1_000_000, 4))
    losses = 0.5 * (student.predict(X) - truth.predict(X)) ** 2
    error = losses.std() / 1000
    assert float(population_risk(student, truth)) == pytest.approx(losses.mean(), abs=5 * error)


def test_learn_relu_reaches_the_truth_and_the_noise_floor():
    """Without noise to the truth; with noise to a floor whose square falls like d/N  [zhang2019, Thm. 4.2, Fig. 2(d)]."""
    truth = wl.teachers.conditioned(10, 3, activation="relu", signs=False, rng=0)
    X, y = wl.draw(truth, 5000, rng=0)
    exact = learn_relu(X, y, n_units=3, iterations=2000, tol=1e-22)
    assert wl.match(exact.network, truth).frobenius_error < 1e-8
    assert np.all(exact.network.a == 1)
    floors = []
    for n in (1000, 16_000):
        trials = []
        for seed in range(4):
            X, y = wl.draw(truth, n, noise_std=0.3, rng=seed)
            fit = learn_relu(X, y, n_units=3, initialization=Network(truth.W), iterations=400)
            trials.append(wl.match(fit.network, truth).frobenius_error ** 2)
        floors.append(np.mean(trials))
    slope = np.log(floors[1] / floors[0]) / np.log(16)
    assert -1.4 < slope < -0.7


def test_step_of_one_half_diverges_with_many_units():
    truth = wl.teachers.conditioned(20, 15, activation="relu", signs=False, rng=0)
    X, y = wl.draw(truth, 3000, rng=0)
    start = gaussian_init(20, 15, "relu", output_weights=np.ones(15), rng=1)
    half = learn_relu(X, y, n_units=15, initialization=start, step=0.5, iterations=100)
    safe = learn_relu(X, y, n_units=15, initialization=start, iterations=100)
    assert half.descent.risks[-1] > half.descent.risks[0]
    assert safe.descent.risks[-1] < 0.2 * safe.descent.risks[0]


def test_bad_arguments_are_named(fig1c):
    _, X, y = fig1c
    with pytest.raises(ArgumentError, match="initialization"):
        learn_1nn(X, y, n_units=5, activation="relu", initialization="best")
