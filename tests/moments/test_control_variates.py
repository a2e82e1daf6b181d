"""Control variates take out what is known: the population stays, the variance falls."""

import dataclasses

import numpy as np
import pytest

from weightlift import moments, samples
from weightlift.moments import control_variates
from weightlift.moments.control_variates import _conjugate_gradients
from weightlift.network import Network

D, K = 4, 3


def truth(activation, bias, rng):
    return Network(rng.normal(size=(D, K)), rng.normal(size=K), bias * rng.normal(size=K), 0.4, activation)


@pytest.mark.parametrize("implicit", [False, True])
def test_linear_residual_is_orthogonal_to_one_and_x(rng, implicit):
    X = rng.normal(size=(300, 6)) @ np.diag([1, 2, 1, 0.5, 1, 1]) + 0.3
    y = X[:, 0] ** 2 + 3 * X[:, 1] + 1
    source = samples.open(X, y, sample_weight=rng.uniform(0.5, 1.5, 300))
    residual = moments.remove_linear(source, implicit=implicit)
    block = next(residual.blocks(300))
    F = np.hstack([np.ones((300, 1)), X])
    np.testing.assert_allclose(F.T @ (block.w * block.y), 0, atol=1e-7 * np.abs(F.T @ y).max())


def test_quadratic_residual_removes_quadratics_inside_v(rng):
    X = rng.normal(size=(300, 6))
    V = np.linalg.qr(rng.normal(size=(6, 2)))[0]
    S = X @ V
    y = 1 + S[:, 0] - S[:, 1] ** 2 + 3 * S[:, 0] * S[:, 1]
    residual = moments.remove_quadratic(samples.open(X, y), V)
    np.testing.assert_allclose(next(residual.blocks(300)).y, 0, atol=1e-11)
    M1, M2 = moments.quadratic_fit(samples.open(X, y), V).moments
    np.testing.assert_allclose(M1, [1, 0], atol=1e-11)  # E q s
    np.testing.assert_allclose(M2, [[0, 3], [3, -2]], atol=1e-11)  # E q (ssᵀ − I)


def test_a_control_variate_of_many_rows_leaves_hardly_more_than_least_squares(rng, monkeypatch):
    net = truth("relu", 0.0, rng)
    V, X = np.linalg.qr(net.W)[0], rng.normal(size=(20_000, D))
    data = samples.open(X, net.predict(X))
    best = moments.quadratic_fit(data, V)
    np.testing.assert_array_equal(moments.control_variate(data, V).coefficients, best.coefficients)  # few terms: of all rows
    monkeypatch.setattr(control_variates, "LIMITS", dataclasses.replace(control_variates.LIMITS, cheap_products=0.0))
    some = moments.control_variate(data, V)
    left, more = (np.sum((data.y - q(X)) ** 2) for q in (best, some))
    share = 1 / control_variates.LIMITS.rows_a_term  # the mean of what its errors add, χ² of so many terms
    terms = len(best.coefficients)
    assert 0 < more / left - 1 < share * (1 + 10 * np.sqrt(2 / terms))


def test_control_variates_leave_the_population_alone(rng):
    net = truth("relu", 0.0, rng)
    V = np.linalg.qr(net.W)[0]
    source = samples.population(net)
    cleaned = moments.remove_quadratic(moments.remove_linear(source, implicit=True), V)
    statistic = moments.HermiteMoment(D, 4, V)
    np.testing.assert_array_equal(cleaned.mean(statistic)[0], source.mean(statistic)[0])


def test_control_variates_lower_the_variance():
    rng = np.random.default_rng(0)
    net = Network(rng.normal(size=(10, 3)), activation="relu")
    exact = samples.population(net).mean(moments.HermiteMoment(10, 2))[0]
    errors = []
    for _ in range(10):
        X = rng.normal(size=(2000, 10))
        source = samples.open(X, net.predict(X))
        raw = source.mean(moments.HermiteMoment(10, 2))[0]
        residual = moments.remove_linear(source).mean(moments.HermiteMoment(10, 2))[0]
        errors.append([np.linalg.norm(raw - exact), np.linalg.norm(residual - exact)])
    raw, residual = np.median(errors, axis=0)
    assert residual < 0.5 * raw


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_steps_of_conjugate_gradients_are_the_best_of_their_krylov_space(steps, rng, limits):
    """After s steps v lies in span{b, Ab, …, A^{s−1}b}, and what is left of b is orthogonal to it; A = E ffᵀ, b = E f y."""
    limits("weightlift.moments.control_variates", cg_steps=steps)
    X = rng.normal(size=(80, 5)) * [1, 2, 1, 0.5, 3] + 0.3
    y, w = rng.normal(size=80), rng.uniform(0.5, 2, size=80)
    v = _conjugate_gradients(samples.open(X, y, sample_weight=w))
    F = np.hstack([np.ones((80, 1)), X])
    A, b = (F * w[:, None]).T @ F / w.sum(), F.T @ (w * y) / w.sum()
    krylov = np.linalg.qr(np.stack([np.linalg.matrix_power(A, s) @ b for s in range(steps)], axis=1))[0]
    np.testing.assert_allclose(krylov @ (krylov.T @ v), v, atol=1e-10 * np.linalg.norm(v))
    np.testing.assert_allclose(krylov.T @ (b - A @ v), 0.0, atol=1e-10 * np.linalg.norm(b))
    assert np.linalg.norm(b - A @ v) > 1e-3 * np.linalg.norm(b)


def test_of_a_population_the_linear_part_is_its_mean_and_first_moment(rng):
    source = samples.population(truth("sigmoid", 0.7, rng))
    mean, first = source.mean(moments.DirectionalMoments(np.eye(D), (0, 1)))
    np.testing.assert_allclose(_conjugate_gradients(source), [mean[0], *first], rtol=1e-12)


def test_conjugate_gradients_do_not_feel_the_scale_of_y(rng):
    """Times a power of two: the same steps, to the last bit."""
    X, y = rng.normal(size=(80, 5)) + 0.3, rng.normal(size=80)
    v, small = (_conjugate_gradients(samples.open(X, y * size)) for size in (1.0, 2.0**-60))
    np.testing.assert_array_equal(small, v * 2.0**-60)
