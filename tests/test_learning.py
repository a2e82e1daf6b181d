"""The papers' learners: what their boxes say, what their experiments show  [zhong2017, Alg. 2, §7; zhang2019, Alg. 1, §6]."""

from dataclasses import replace

import numpy as np
import pytest
from tests.contract.awkward import Awkward

import weightlift as wl
from weightlift import samples
from weightlift.errors import ArgumentError, NotGaussianWarning, ShapeError, TooFewRowsError
from weightlift.initialization import gaussian_init, tensor_init
from weightlift.learning import learn_1nn, learn_relu
from weightlift.network import Network
from weightlift.refinement import gradient_descent
from weightlift.refinement.gradient_descent import DescentEnding

D, K = 8, 3


def problem(seed, activation="squared_relu", n=3000, **options):
    truth = wl.teachers.conditioned(D, K, activation=activation, rng=seed)
    return truth, *wl.draw(truth, n, rng=seed, **options)


@pytest.mark.parametrize("preset", ["paper", "default"])
def test_the_whole_algorithm_recovers_the_units(preset, seed):
    """max_j ‖w_j − w_π(j)‖/‖w_j‖ ≤ 0.01 and equal signs [zhong2017, §7]; in fact to the precision that tol asks for."""
    truth, X, y = problem(seed, n=10_000 if preset == "paper" else 3000)
    learned = learn_1nn(X, y, n_units=K, activation="squared_relu", preset=preset, iterations=3000, tol=1e-12)
    start, end = learned.errors(truth)
    assert learned.descent.ending is DescentEnding.CONVERGED
    assert 0.02 < start.max_error < 1
    assert end.max_error < 1e-4
    assert end.signs_agree
    np.testing.assert_allclose(np.abs(learned.network.a), 1)


def test_it_is_initialization_then_descent():
    """The preset "paper" without resampling: tensor start on all rows, all steps on all rows, inputs untouched."""
    _, X, y = problem(0)
    learned = learn_1nn(X, y, n_units=K, activation="squared_relu", preset="paper", step=0.02, iterations=20, rng=5)
    rng = np.random.default_rng(5)
    start = tensor_init(samples.open(X, y), K, "squared_relu", preset="paper", rng=rng).network
    np.testing.assert_array_equal(learned.start.W, start.W)
    descent = gradient_descent(samples.open(X, y), start, step=0.02, iterations=20)
    np.testing.assert_array_equal(learned.network.W, descent.network.W)
    np.testing.assert_array_equal(learned.descent.risks, descent.risks)


def test_theory_step_of_the_box():
    """η = 1/(k v²_max σ₁^{2p}), p = 1 for squared ReLU."""
    _, X, y = problem(0)
    learned = learn_1nn(X, y, n_units=K, activation="squared_relu", preset="paper", step="theory", iterations=3)
    largest = np.linalg.norm(learned.start.W, ord=2)
    assert learned.descent.step == pytest.approx(1 / (K * largest**2))


@pytest.mark.parametrize(("resample", "q"), [(True, 12), (4, 4)])
def test_resampling_uses_a_part_a_step(resample, q):
    """q + 1 equal parts: the start has seen the first (in thirds, Alg. 1), each step one of the others, in turn."""
    _, X, y = problem(1, n=20_000)
    learned = learn_1nn(
        X, y, n_units=K, activation="squared_relu", preset="paper", step=0.02, iterations=12, resample=resample, rng=5
    )
    rng = np.random.default_rng(5)
    S0, S = samples.open(X, y).split(1 / (q + 1), q / (q + 1), seed=int(rng.integers(2**31)))
    start = tensor_init(S0, K, "squared_relu", preset="paper", split=True, rng=rng).network
    descent = gradient_descent(S, start, step=0.02, iterations=12, parts=q, rng=rng)
    np.testing.assert_allclose(learned.start.W, start.W, rtol=1e-9)
    np.testing.assert_allclose(learned.network.W, descent.network.W, rtol=1e-9)
    np.testing.assert_allclose(learned.descent.risks, descent.risks, rtol=1e-9)


def test_resampling_converges_and_needs_rows():
    """In the median of several truths: a start from the 800 rows of one part may lie in another basin."""
    falls, gains = [], []
    for seed in range(5):
        truth, X, y = problem(seed, n=80_000)
        learned = learn_1nn(X, y, n_units=K, activation="squared_relu", iterations=100, resample=True)
        start, end = learned.errors(truth)
        falls.append(learned.descent.risks[-1] / learned.descent.risks[0])
        gains.append(end.max_error / start.max_error)
    assert np.median(falls) < 1e-2
    assert np.median(gains) < 0.3
    with pytest.raises(TooFewRowsError, match="rows"):
        learn_1nn(X[:500], y[:500], n_units=K, activation="squared_relu", iterations=100, resample=True)


def test_the_three_approaches_of_figure_1c():
    """d = 10, k = 5, n = 10,000, η = 0.02: (I) is the fastest, (II) does not converge, (III) does."""
    truth = wl.teachers.conditioned(10, 5, activation="squared_relu", rng=1)
    X, y = wl.draw(truth, 10_000, rng=1)
    options = {"n_units": 5, "activation": "squared_relu", "preset": "paper", "step": 0.02, "iterations": 400, "rng": 3}
    one = learn_1nn(X, y, initialization="tensor", **options)
    two = learn_1nn(X, y, initialization="random", output_weights="signs", **options)
    known = gaussian_init(10, 5, "squared_relu", output_weights=truth.a, rng=3)
    three = learn_1nn(X, y, initialization=known, **options)
    np.testing.assert_array_equal(three.network.a, truth.a)
    np.testing.assert_array_equal(one.network.a, one.start.a)
    assert set(np.abs(two.network.a)) == {1.0}
    losses = [learned.descent.risks[-1] for learned in (one, two, three)]
    assert 1e3 * losses[0] < losses[2] < 0.1 < 1 < losses[1]
    assert np.ptp(two.descent.risks[-100:]) < 1e-2 * losses[1], "it stalls"
    free = learn_1nn(X, y, initialization="random", output_weights="free", **options)
    assert free.descent.ending is DescentEnding.DIVERGED
    assert np.isfinite(free.network.W).all()


@pytest.mark.parametrize("activation", ["relu", "squared_relu"])
def test_mean_and_covariance_are_estimated_and_undone(activation, seed):
    """x ~ N(μ, S): the network of the raw inputs comes back, bias-free."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(D, D)))[0]
    S = Q * np.linspace(0.5, 2, D) @ Q.T
    truth, X, y = problem(seed, activation, n=5000, mean=0.3 * rng.normal(size=D), covariance=S)
    learned = learn_1nn(X, y, n_units=K, activation=activation, iterations=2000, tol=1e-12)
    start, end = learned.errors(truth)
    assert start.max_error < 0.3
    assert end.max_error < 1e-5
    assert end.signs_agree
    np.testing.assert_array_equal(learned.network.b, 0)
    given = learn_1nn(X, y, n_units=K, activation=activation, initialization=truth, iterations=1)
    np.testing.assert_allclose(given.start.W, truth.W, atol=1e-12)
    assert given.descent.risks[0] < 1e-24


@pytest.mark.parametrize("preset", ["paper", "default"])
def test_relu_without_and_with_noise(preset, seed):
    """‖W_T − W* M_π‖_F/‖W*‖_F ≤ 1e-3 without noise, ~σ (d/N)^{1/2} with it  [zhang2019, §6]."""
    truth = wl.teachers.conditioned(D, K, signs=False, activation="relu", rng=seed)
    X, y = wl.draw(truth, 4000, rng=seed)
    learned = learn_relu(X, y, n_units=K, preset=preset, step=0.5, tol=1e-20)
    assert learned.descent.step == 0.5
    np.testing.assert_array_equal(learned.network.a, 1)
    assert learned.errors(truth)[1].relative_frobenius_error < 1e-6
    y = y + 0.1 * np.random.default_rng(seed).normal(size=len(y))
    noisy = learn_relu(X, y, n_units=K, preset=preset, step=0.5, iterations=500)
    assert 1e-3 < noisy.errors(truth)[1].frobenius_error < 10 * 0.1 * np.sqrt(D * K / 4000)


def test_a_start_from_moments_has_positive_weights(seed):
    """Where the moments' a is wrong, the sign of a w̄ is kept."""
    truth = wl.teachers.conditioned(D, K, signs=False, activation="relu", rng=seed)
    X, y = wl.draw(truth, 60, rng=seed)
    learned = learn_relu(X, y, n_units=K, iterations=1)
    moments = learned.tensor.network.absorbed()
    assert -1.0 in moments.a, "few rows: a wrong sign"
    np.testing.assert_array_equal(learned.start.a, 1)
    W = samples.Whitening.estimated(samples.open(X, y)).root @ (moments.W * moments.a)
    np.testing.assert_allclose(learned.start.W, W, atol=1e-10)


def test_step_rules_where_one_half_diverges():
    """K = 15: λ_max ≈ 4.6, so that η = 0.5 diverges and 1/λ_max does not; Theorem 4.2's is smaller still."""
    truth = wl.teachers.conditioned(20, 15, signs=False, activation="relu", rng=0)
    X, y = wl.draw(truth, 2000, rng=0)
    start = replace(truth, W=truth.W + 0.1 * np.random.default_rng(0).normal(size=truth.W.shape))
    runs = {s: learn_relu(X, y, n_units=15, initialization=start, step=s, iterations=60) for s in (0.5, "curvature", "theory")}
    assert runs[0.5].descent.risks[-1] > runs[0.5].descent.risks[0]
    assert runs["curvature"].descent.risks[-1] < 0.2 * runs["curvature"].descent.risks[0]
    assert 0.15 < runs["curvature"].descent.step < 0.3
    white = runs["theory"].descent
    assert white.step < 1 / 225
    assert white.risks[-1] < white.risks[0]


def test_every_source_gives_the_same_network():
    _, X, y = problem(2, n=600)
    data = samples.open(X, y)
    plain, awkward = (
        learn_1nn(source, n_units=K, activation="squared_relu", iterations=5).network for source in (data, Awkward(source=data))
    )
    np.testing.assert_allclose(plain.W, awkward.W, rtol=1e-6, atol=1e-7)


def test_inputs_that_moments_cannot_use_are_warned_of():
    truth, X, y = problem(0)
    options = {"n_units": K, "activation": "squared_relu", "iterations": 1}
    with pytest.warns(NotGaussianWarning, match="Gaussian"):
        learn_1nn(np.sign(X) * X**2, y, **options)
    for changed in (X + 0.5, 1.2 * X):
        with pytest.warns(NotGaussianWarning, match=r"N\(0, I\)"):
            learn_1nn(changed, truth.predict(changed), preset="paper", **options)
    learn_1nn(np.sign(X) * X**2, y, preset="paper", initialization="random", **options)  # no moments, no warning


def test_bad_arguments_are_named():
    _, X, y = problem(0, n=100)
    options = {"n_units": K, "activation": "squared_relu"}
    for arguments, word in (
        ({"preset": "best"}, "preset"),
        ({"initialization": "zeros"}, "initialization"),
        ({"iterations": 0}, "iterations"),
        ({"output_weights": "some"}, "output_weights"),
        ({"step": 0.0}, "step"),
        ({"resample": -1}, "resample"),
        ({"n_units": -1, "initialization": "random"}, "n_units"),
    ):
        with pytest.raises(ArgumentError, match=word):
            learn_1nn(X, y, **{**options, **arguments})
    with pytest.raises(ShapeError, match="initialization"):
        learn_1nn(X, y, initialization=Network(np.ones((D, K + 1)), activation="squared_relu"), **options)
    with pytest.raises(ArgumentError, match="output weights 1"):
        learn_relu(X, y, n_units=K, initialization=replace(wl.teachers.conditioned(D, K, activation="relu"), a=-np.ones(K)))
