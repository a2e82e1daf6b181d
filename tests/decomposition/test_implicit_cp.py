"""Implicit CP: a tensor seen through its values alone, whole or as a moment of data."""

from __future__ import annotations

import numpy as np
import pytest

import weightlift as wl
from weightlift.decomposition import compose, decompose, fit_implicit, implicit_cp
from weightlift.decomposition.implicit_cp import _objective, _weights
from weightlift.decomposition.tensors import apply_powers
from weightlift.moments import power_form


def planted(n, r, seed):
    rng = np.random.default_rng([n, r, seed])
    U = rng.standard_normal((n, r))
    return rng.choice([-1.0, 1.0], r) * rng.uniform(0.5, 2, r), U / np.linalg.norm(U, axis=0)


def form_of(T):
    return lambda U: (apply_powers(T, U, 0)[0], apply_powers(T, U, 1))


@pytest.mark.parametrize(("n", "r", "order"), [(4, 4, 3), (4, 6, 4), (3, 4, 5)])
def test_recovers_planted_components(n, r, order, errors):
    c, U = planted(n, r, 0)
    found = decompose(compose(c, U, order), r, method="implicit_cp", rng=0)
    assert found.residual < 1e-9
    assert max(errors(found, c, U)) < 1e-6


@pytest.mark.parametrize("order", [2, 3, 4])
def test_objective_is_the_square_of_the_residual_less_a_constant(order, rng):
    c, U = planted(4, 5, 0)
    T = compose(c, U, order)
    Z = rng.standard_normal((4, 3))
    form = form_of(T) if order > 2 else lambda U: (np.sum(U * (T @ U), axis=0), T @ U)
    value, gradient = _objective(Z, form, order)
    V = Z / np.linalg.norm(Z, axis=0)
    powers = np.stack([compose([1.0], V[:, [i]], order).ravel() for i in range(3)], axis=1)
    _, square, *_ = np.linalg.lstsq(powers, T.ravel(), rcond=None)
    assert value == pytest.approx(float(square[0]) - np.sum(T * T), rel=1e-9)
    step = 1e-6 * rng.standard_normal(Z.shape)
    change = _objective(Z + step, form, order)[0] - _objective(Z - step, form, order)[0]
    assert change == pytest.approx(2 * np.sum(gradient * step), rel=1e-5)


def test_moments_of_data_need_no_tensor():
    truth = wl.teachers.biased(5, 3, bias=0.3, rng=1)
    population, rows = wl.samples.population(truth), wl.samples.open(*wl.draw(truth, 20_000, rng=1))
    exact = fit_implicit(power_form(population, 4), 5, 3, 4, starts=3, rng=0)
    assert np.abs(np.abs(exact.factors.T @ truth.W).max(axis=0) - 1).max() < 1e-6
    assert exact.objective == pytest.approx(-np.sum(compose(exact.weights, exact.factors, 4) ** 2), rel=1e-6)
    found = fit_implicit(power_form(wl.moments.remove_quadratic(rows, np.eye(5)), 4), 5, 3, 4, start=exact.factors, steps=20)
    assert np.abs(np.abs(found.factors.T @ truth.W).max(axis=0) - 1).max() < 0.02


def test_a_fit_that_ran_out_of_steps_says_so():
    c, U = planted(4, 4, 0)
    form = form_of(compose(c, U, 3))
    assert fit_implicit(form, 4, 4, 3, starts=2, rng=0).settled
    assert not fit_implicit(form, 4, 4, 3, starts=2, steps=2, rng=0).settled
    assert implicit_cp(compose(c, U, 3)).succeeded


def test_the_best_start_counts():
    """As many fits as starts, from the same seed: the best of more starts is no worse, and is one of them."""
    c, U = planted(3, 4, 1)
    form = form_of(compose(c, U, 3))
    rng = np.random.default_rng(5)
    alone = [fit_implicit(form, 3, 4, 3, start=rng.standard_normal((3, 4)), steps=12).objective for _ in range(6)]
    together = fit_implicit(form, 3, 4, 3, starts=6, steps=12, rng=5)
    assert together.objective == pytest.approx(min(alone), rel=1e-9)
    assert max(alone) > min(alone) + 1e-3 * abs(min(alone))
    values = apply_powers(compose(c, U, 3), together.factors, 0)[0]
    assert together.objective == pytest.approx(-float(together.weights @ values), rel=1e-9)


def test_as_many_starts_are_drawn_as_asked_for(rng):
    c, U = planted(3, 2, 0)
    before = np.random.default_rng(3)
    after = np.random.default_rng(3)
    fit_implicit(form_of(compose(c, U, 3)), 3, 2, 3, starts=4, steps=1, rng=after)
    before.standard_normal(4 * 3 * 2)
    assert after.standard_normal() == before.standard_normal()


@pytest.mark.parametrize("power", [-80, 60])
def test_a_fit_does_not_feel_the_size_of_the_tensor(power):
    """Times 2^power: the same steps, to the last bit."""
    c, U = planted(3, 3, 0)
    T = compose(c, U, 3)
    plain, scaled = (fit_implicit(form_of(np.ldexp(T, p)), 3, 3, 3, starts=2, rng=0) for p in (0, power))
    np.testing.assert_array_equal(scaled.factors, plain.factors)
    np.testing.assert_array_equal(scaled.weights, np.ldexp(plain.weights, power))
    assert scaled.objective == np.ldexp(plain.objective, 2 * power)


def test_components_that_coalesce_share_their_weight():
    """G of two equal factors is singular; the guard of its diagonal gives each of them half."""
    U = np.array([[0.6, 0.6, 0.0], [0.8, 0.8, 1.0]])
    exact = np.linalg.lstsq((U.T @ U) ** 3, [2.0, 2.0, 0.7], rcond=None)[0]
    np.testing.assert_allclose(_weights(np.array([2.0, 2.0, 0.7]), U, 3), exact, rtol=1e-3)
