"""Leading subspaces: the three routes agree, eigenvalues count by magnitude, the rank is found."""

import numpy as np
import pytest

import weightlift as wl
from weightlift import samples
from weightlift.errors import ArgumentError, NotConvergedWarning
from weightlift.moments import HermiteMoment, quadratic_fit, remove_linear
from weightlift.network import Network
from weightlift.subspace import SecondMoment, estimate_rank, even_subspace, leading_subspace, odd_subspace


def sine(V, W):
    """Sine of the largest principal angle between two subspaces."""
    W = np.linalg.qr(W)[0]
    return np.linalg.norm(W - V @ (V.T @ W), ord=2)


@pytest.mark.parametrize("filled", [0, 1, 2])
def test_routes_agree_with_the_dense_eigenspace(filled, rng, as_xp):
    truth = wl.teachers.conditioned(12, 3, activation="softplus", rng=rng)
    X, y = wl.draw(truth, 4000, rng=rng)
    data = samples.open(as_xp(X), as_xp(y))
    P2 = SecondMoment(filled, rng.normal(size=12))
    matrix = P2.matrix(data)
    values, vectors = np.linalg.eigh(matrix)
    order = np.argsort(-np.abs(values))[:3]
    for method in ("dense", "lanczos", "power"):
        found = leading_subspace(data, P2, 3, method=method, rng=0)
        assert sine(found.V, vectors[:, order]) < 1e-4, method
        np.testing.assert_allclose(found.V.T @ found.V, np.eye(3), atol=1e-12)
        np.testing.assert_allclose(np.sort(found.eigenvalues), np.sort(values[order]), rtol=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_the_power_method_converges_or_says_that_it_has_not(seed, limits):
    """P2 = M3(I, I, α) of tanh with a random α: the least eigenvalue may be a thousandth of the largest."""
    truth = wl.teachers.conditioned(10, 4, activation="tanh", rng=seed)
    exact = samples.population(truth)
    alpha = np.random.default_rng(seed).normal(size=10)
    alpha -= 0.99 * (alpha @ truth.W[:, 0]) / (truth.W[:, 0] @ truth.W[:, 0]) * truth.W[:, 0]
    found = leading_subspace(exact, SecondMoment(1, alpha), 4, method="power")
    assert sine(found.V, truth.W) < 1e-6
    assert found.turn == 0.0
    limits("weightlift.subspace", power_steps=20)
    with pytest.warns(NotConvergedWarning, match="stopped after 20 steps"):
        stopped = leading_subspace(exact, SecondMoment(1, alpha), 4, method="power")
    assert 0.1 < stopped.turn / sine(stopped.V, found.V) < 10


def test_both_signs_are_kept_by_magnitude():
    """P2 = Σ aᵢ m₂ wᵢwᵢᵀ with mixed signs: the exact subspace and eigengap of an orthogonal truth."""
    W = np.linalg.qr(np.random.default_rng(0).normal(size=(9, 4)))[0] * np.array([1.0, 2.0, 3.0, 4.0])
    truth = Network(W, [1, -1, 1, -1], activation="squared_relu")
    for method in ("dense", "lanczos", "power"):
        found = leading_subspace(samples.population(truth), SecondMoment(), 3, method=method)
        np.testing.assert_allclose(found.eigenvalues, [-16, 9, -4], rtol=1e-8)
        assert sine(found.V, W[:, 1:]) < 1e-6
        if method != "power":
            assert found.eigengap == pytest.approx(3.0, rel=1e-6)


@pytest.mark.parametrize("activation", ["tanh", "sigmoid"])
def test_orthogonal_iteration_sharpens_the_odd_subspace(activation):
    truth = wl.teachers.conditioned(20, 3, activation=activation, rng=0)
    errors = []
    for seed in range(6):
        X, y = wl.draw(truth, 10_000, rng=seed)
        data = remove_linear(samples.open(X, y))
        M1 = samples.open(X, y).mean(HermiteMoment(20, 1))[0]
        start = leading_subspace(data, SecondMoment(1, M1), 3)
        errors.append([sine(start.V, truth.W), sine(odd_subspace(data, 3, start).V, truth.W)])
    start, sharpened = np.median(errors, axis=0)
    assert sharpened < start
    exact = samples.population(truth)
    start = leading_subspace(exact, SecondMoment(1, truth.W @ truth.a), 3)
    assert sine(odd_subspace(exact, 3, start).V, truth.W) < 1e-10


@pytest.mark.parametrize("method", ["dense", "lanczos"])
@pytest.mark.parametrize("activation", ["relu", "squared_relu"])
def test_hard_thresholding_sharpens_the_even_subspace(activation, method):
    """Taking the quadratic inside V out of y nearly halves the error; on a population nothing is left to do."""
    truth = wl.teachers.conditioned(30, 3, activation=activation, rng=0)
    errors = []
    for seed in range(6):
        data = remove_linear(samples.open(*wl.draw(truth, 1500, rng=seed)))
        start = leading_subspace(data, SecondMoment(), 3, method=method)
        found = even_subspace(data, 3, start, method=method)
        np.testing.assert_allclose(found.V.T @ found.V, np.eye(3), atol=1e-12)
        errors.append([sine(start.V, truth.W), sine(found.V, truth.W)])
    start, sharpened = np.median(errors, axis=0)
    assert sharpened < 0.7 * start
    exact = samples.population(truth)
    start = leading_subspace(exact, SecondMoment(), 3, method=method)
    found = even_subspace(exact, 3, start, method=method)
    np.testing.assert_allclose(found.eigenvalues, start.eigenvalues, rtol=1e-9)
    assert sine(found.V, truth.W) < 1e-8


def test_thresholded_moment_is_the_moment_of_what_was_removed_and_the_rest(rng):
    """M2(y − q) + M2(q) estimates M2(y); its block inside V is the least-squares one."""
    truth = wl.teachers.conditioned(8, 2, activation="relu", rng=rng)
    data = samples.open(*wl.draw(truth, 3000, rng=rng))
    V = np.linalg.qr(rng.normal(size=(8, 2)))[0]
    q = quadratic_fit(data, V)
    rest = data.map(samples.Residual(q))
    P2 = SecondMoment(plus=(V, q.moments[1]))
    np.testing.assert_allclose(V.T @ P2.matrix(rest) @ V, q.moments[1], atol=1e-12)
    np.testing.assert_allclose(P2.matrix(rest) @ V, P2.times(rest, V), atol=1e-12)
    exact = SecondMoment().matrix(samples.population(truth))
    assert np.linalg.norm(P2.matrix(rest) - exact) < np.linalg.norm(SecondMoment().matrix(data) - exact)


def test_rank_is_found_by_the_sign_floor():
    hits = 0
    for seed in range(10):
        truth = wl.teachers.biased(15, 4, rng=seed)
        X, y = wl.draw(truth, 4000, rng=seed)
        hits += estimate_rank(remove_linear(samples.open(X, y)), SecondMoment(), rng=seed).rank == 4
    assert hits >= 9
    exact = samples.population(wl.teachers.biased(15, 4, rng=0))
    assert estimate_rank(exact, SecondMoment()).rank == 4


def test_bad_arguments_are_named(rng):
    data = samples.population(Network(rng.normal(size=(4, 2))))
    with pytest.raises(ArgumentError, match="n_units"):
        leading_subspace(data, SecondMoment(), 5)
    with pytest.raises(ArgumentError, match="method"):
        leading_subspace(data, SecondMoment(), 2, method="magic")
