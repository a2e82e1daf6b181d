from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from weightlift.decomposition import compose, decompose, kcl, least_squares, polish
from weightlift.decomposition.components import DecompositionStatus, fit_components
from weightlift.decomposition.least_squares import _conjugate_gradients, _near, _solve
from weightlift.decomposition.limits import LIMITS
from weightlift.decomposition.tensors import apply_powers
from weightlift.errors import ArgumentError


def explicit_jacobian(X, s, order):
    """Columns ∂/∂x_{ai} of Σ s x^{⊗p}, by central differences (exact up to h² times the third derivative)."""
    h = 1e-4
    columns = []
    for index in np.ndindex(*X.shape):
        step = np.zeros_like(X)
        step[index] = h
        columns.append((compose(s, X + step, order) - compose(s, X - step, order)).ravel() / (2 * h))
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("dense", [0, 64])
@pytest.mark.parametrize("order", [3, 4])
def test_a_step_solves_the_damped_normal_equations(rng, order, dense, monkeypatch):
    monkeypatch.setattr(least_squares, "LIMITS", replace(least_squares.LIMITS, dense_entries=dense))
    X, s = rng.standard_normal((4, 3)), np.array([1.0, -1.0, 1.0])
    J = explicit_jacobian(X, s, order)
    b = rng.standard_normal(X.shape)
    damping = 0.1
    shift = damping * order * np.mean((X**2).sum(axis=0) ** (order - 1))
    expected = np.linalg.solve(J.T @ J + shift * np.eye(X.size), b.ravel()).reshape(X.shape)
    np.testing.assert_allclose(_solve(X, s, order, damping, b), expected, atol=1e-5 * np.abs(expected).max())


def test_dense_steps_are_those_of_conjugate_gradients(rng, monkeypatch):
    X, s, b = rng.standard_normal((5, 4)), np.array([1.0, -1.0, 1.0, -1.0]), rng.standard_normal((5, 4))
    dense = _solve(X, s, 3, 0.3, b)
    monkeypatch.setattr(least_squares, "LIMITS", replace(least_squares.LIMITS, dense_entries=0, cg_tolerance=1e-14))
    np.testing.assert_allclose(_solve(X, s, 3, 0.3, b), dense, atol=1e-11 * np.abs(dense).max())


@pytest.mark.parametrize("order", [3, 4])
def test_it_ends_at_a_stationary_point_below_its_start(plant, symmetric_noise, seed, order):
    """At the end the residual is orthogonal to every ∂: E(x, …, x, I) = 0."""
    c, U = plant(5, 3, seed)
    T = compose(c, U, order)
    T = T + 0.01 * np.linalg.norm(T) * symmetric_noise(5, order, seed)
    start = kcl(T)
    found = polish(T, start)
    assert found.refined
    assert found.residual < start.residual
    before, after = (np.linalg.norm(apply_powers(d.tensor() - T, d.factors, 1)) / np.linalg.norm(T) for d in (start, found))
    assert after < 1e-3 * before
    assert after < 1e-7


def test_a_tolerance_ends_it_within_the_noise_and_leaves_exact_tensors_exact(plant, errors, symmetric_noise, seed):
    """The residual that is left exceeds the least by a few steps' share of it at most; the factors' error is the noise's."""
    c, U = plant(6, 6, seed)
    T = compose(c, U, 3)
    exact = decompose(T, 6, tol=1e-4, rng=0)
    assert exact.status is DecompositionStatus.EXACT
    T = T + 0.01 * np.linalg.norm(T) * symmetric_noise(6, 3, seed)
    fine, coarse = (decompose(T, 6, tol=tol, rng=0) for tol in (1e-14, 1e-4))
    assert fine.residual <= coarse.residual <= 1.01 * fine.residual
    assert errors(coarse, c, U)[0] <= 1.2 * errors(fine, c, U)[0]
    for tol in (-1e-3, 1.0, "small", True):
        with pytest.raises(ArgumentError, match="tol must be a number from 0 to 1"):
            decompose(T, 6, tol=tol)


def test_it_beats_the_diagonalisation_in_noise(plant, errors, symmetric_noise):
    """Least squares is the maximum likelihood for Gaussian noise: a smaller error over 20 draws."""
    plain, refined = [], []
    for seed in range(20):
        c, U = plant(6, 6, seed)
        T = compose(c, U, 3)
        T = T + 1e-3 * np.linalg.norm(T) * symmetric_noise(6, 3, seed)
        start = kcl(T)
        plain.append(errors(start, c, U)[0])
        refined.append(errors(polish(T, start), c, U)[0])
    assert np.median(refined) < np.median(plain)


@pytest.mark.parametrize("order", [3, 4])
def test_a_start_that_is_exact_is_kept(plant, order):
    c, U = plant(4, 2, 0)
    T = compose(c, U, order)
    start = fit_components(T, U, method="given")
    assert polish(T, start) is start


def test_it_does_not_run_off_to_cancelling_components():
    """x⊗x⊗y + x⊗y⊗x + y⊗x⊗x has border rank 2: ever larger weights fit ever better, and none is taken."""
    T = np.zeros((2, 2, 2))
    T[0, 0, 1] = T[0, 1, 0] = T[1, 0, 0] = 1.0
    start = fit_components(T, np.array([[1.0, 1.0], [0.7, -0.7]]), method="given")
    found = polish(T, start, max_steps=500)
    assert found.residual <= start.residual
    assert np.abs(found.weights).max() <= 2.0001 * np.abs(start.weights).max()
    assert found.condition <= 2.0001 * start.condition
    assert found.status is DecompositionStatus.APPROXIMATE


def test_a_failure_stays_a_failure(plant, symmetric_noise):
    c, U = plant(5, 2, 0)
    T = compose(c, U, 3) + 0.1 * symmetric_noise(5, 3, 0)
    start = fit_components(T, U, method="given", failure=DecompositionStatus.NOT_SETTLED)
    assert start.status is DecompositionStatus.NOT_SETTLED
    assert polish(T, start).status is DecompositionStatus.NOT_SETTLED


@pytest.mark.parametrize("order", [3, 4])
def test_more_steps_never_end_higher(plant, symmetric_noise, order):
    c, U = plant(4, 4, 1)
    T = compose(c, U, order)
    T = T + 0.05 * np.linalg.norm(T) * symmetric_noise(4, order, 1)
    start = kcl(T)
    residuals = [polish(T, start, max_steps=steps).residual for steps in (0, 1, 2, 3, 5, 10, 60)]
    assert residuals[0] == start.residual
    assert np.diff(residuals).max() <= np.finfo(float).eps  # relative to |T|: what rounding leaves of E = Σ s x^{⊗p} − T
    assert residuals[1] < residuals[0]
    assert residuals[-2] - residuals[-1] < 1e-6 * (residuals[0] - residuals[-1])  # ten steps are enough so near


def test_conjugate_gradients_solve_in_as_many_steps_as_dimensions(rng):
    A = rng.standard_normal((6, 6))
    A = A @ A.T + 6 * np.eye(6)
    b = rng.standard_normal((3, 2))
    calls = []

    def product(V):
        calls.append(1)
        return (A @ V.ravel()).reshape(3, 2)

    found = _conjugate_gradients(product, lambda V: V / 2, b)
    np.testing.assert_allclose(A @ found.ravel(), b.ravel(), atol=1e-7 * np.linalg.norm(b))
    assert len(calls) <= 6


def test_conjugate_gradients_take_no_more_products_than_unknowns_and_feel_no_size(rng):
    """Of an ill-conditioned matrix all of them; times a power of two the same bits."""
    Q, calls = np.linalg.qr(rng.standard_normal((6, 6)))[0], []
    A, b = Q * np.geomspace(1e-10, 1.0, 6) @ Q.T, rng.standard_normal((3, 2))

    def product(V):
        calls.append(1)
        return (A @ V.ravel()).reshape(3, 2)

    found = _conjugate_gradients(product, lambda V: V, b)
    assert len(calls) == 6
    np.testing.assert_array_equal(_conjugate_gradients(product, lambda V: V, np.ldexp(b, -60)), np.ldexp(found, -60))


def test_conjugate_gradients_end_at_their_tolerance(rng):
    """The residual, in the preconditioner's norm, is 1e-8 of the first, and is not pressed far below."""
    Q = np.linalg.qr(rng.standard_normal((40, 40)))[0]
    A, b = Q * np.linspace(1.0, 30.0, 40) @ Q.T, rng.standard_normal(40)
    left = np.linalg.norm(b - A @ _conjugate_gradients(lambda V: A @ V, lambda V: V, b)) / np.linalg.norm(b)
    assert 1e-3 * LIMITS.cg_tolerance < left < 1.01 * LIMITS.cg_tolerance


@pytest.mark.parametrize("order", [3, 4])
def test_the_preconditioner_inverts_what_acts_beside_the_components(order, rng, monkeypatch):
    """For V with XᵀV = 0 the second term of JᵀJ vanishes, and what is left is inverted exactly."""
    X, s = rng.standard_normal((6, 3)), np.array([1.0, -1.0, 1.0])
    V = np.linalg.qr(X, mode="complete")[0][:, 3:] @ rng.standard_normal((3, 3))
    routes = []
    monkeypatch.setitem(_solve.__globals__, "_conjugate_gradients", lambda *route: routes.append(route))
    monkeypatch.setitem(_solve.__globals__, "LIMITS", replace(LIMITS, dense_entries=0))
    _solve(X, s, order, 0.1, V)
    ((product, inverse, _),) = routes
    np.testing.assert_allclose(inverse(product(V)), V, atol=1e-10)


@pytest.mark.parametrize("order", [3, 4])
def test_a_fit_does_not_feel_the_size_of_the_tensor(plant, symmetric_noise, order):
    c, U = plant(4, 3, 1)
    T = compose(c, U, order) + 0.05 * symmetric_noise(4, order, 1)
    plain = polish(T, kcl(T))
    for size in (1e-18, 1e18):
        scaled = polish(size * T, kcl(size * T))
        np.testing.assert_allclose(scaled.factors, plain.factors, atol=1e-7)
        np.testing.assert_allclose(scaled.weights, size * plain.weights, rtol=1e-7)
        assert scaled.residual == pytest.approx(plain.residual, rel=1e-12)


def test_a_damped_way_goes_on_after_a_step_that_rises(plant, symmetric_noise):
    """From afar an almost undamped step may overshoot; more damping finds the way down, to the same minimum as from near."""
    c, U = plant(5, 2, 3)
    T = compose(c, U, 3) + 1e-3 * symmetric_noise(5, 3, 3)
    near = polish(T, kcl(T))
    for seed in range(3):
        far = fit_components(T, U + 0.25 * np.random.default_rng(seed).standard_normal(U.shape), method="given")
        assert polish(T, far, max_steps=200).residual == pytest.approx(near.residual, rel=1e-6)


def test_what_is_near_has_weights_and_a_condition_within_twice_the_start(plant):
    c, U = plant(4, 3, 0)
    start = fit_components(compose(c, U, 3), U, method="given")
    X = start.factors * np.abs(start.weights) ** (1 / 3)
    most = LIMITS.trust ** (1 / 3)
    assert _near(X, 3, start)
    assert _near(0.999 * most * X, 3, start)
    assert not _near(1.001 * most * X, 3, start)
    assert not _near(X * np.array([1.0, 1.0, 1.0, 0.0]), 3, start)
    U2 = start.factors.copy()
    U2[:, 0] = U2[:, 1] + 1e-3 * U2[:, 0]
    assert not _near(U2 * np.abs(start.weights) ** (1 / 3), 3, start)
