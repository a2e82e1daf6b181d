"""Shifted systems from one Krylov space, and products with JᵀJ beside the explicit matrix."""

import numpy as np
import pytest

import weightlift as wl
from weightlift.refinement.limits import LIMITS
from weightlift.refinement.projected_products import Linearized, SlopeSquares, TangentProduct, shifted_systems
from weightlift.refinement.variable_projection import Hidden, Model


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1]])
def test_all_shifts_are_solved_as_the_least_is(rng, order):
    J = rng.normal(size=(60, 40)) * np.geomspace(1, 30, 40)
    H = J.T @ J / np.outer(np.linalg.norm(J, axis=0), np.linalg.norm(J, axis=0))
    g, shifts = rng.normal(size=40), np.array([0.05, 0.3, 4.0])[order]
    found, calls = shifted_systems(lambda v: H @ v, g, shifts), []
    for mu, x in zip(shifts, found, strict=True):
        rest = (H + mu * np.eye(40)) @ x - g
        assert np.linalg.norm(rest) <= LIMITS.cg_tolerance * np.linalg.norm(g) * (1 + 1e-9)
    shifted_systems(lambda v: calls.append(1) or H @ v, g, shifts)
    assert len(calls) <= 40  # one product a dimension at most, however many shifts


def test_no_gradient_is_no_step():
    np.testing.assert_array_equal(shifted_systems(lambda v: v, np.zeros(3), np.array([0.1, 1.0])), np.zeros((2, 3)))


@pytest.mark.parametrize("model", [Model(), Model(bias=False, linear=True, offset=True)], ids=str)
def test_products_are_those_of_the_explicit_derivatives(rng, model):
    n, d, k, m = 50, 4, 3, 2
    X, w = rng.normal(size=(n, d)), rng.uniform(0.5, 2, size=n)
    hidden = Hidden(rng.normal(size=(d, 1, k)), model.bias * rng.normal(size=(1, k)), wl.activations.get("tanh"))
    rows = wl.samples.open(X, rng.normal(size=(n, m)), sample_weight=w).map(Linearized(hidden, model)).persist()
    Xt = np.hstack([X, np.ones((n, 1))]) if model.bias else X
    z = X @ hidden.W[:, 0] + hidden.b[0]
    D, F = 1 / np.cosh(z) ** 2, np.hstack([np.tanh(z), model.beside(X)])
    V, A = rng.normal(size=(Xt.shape[1], k)), rng.normal(size=(k, m))
    U = ((Xt @ V) * D) @ A
    pulled, features = rows.fold(TangentProduct(V, A))
    np.testing.assert_allclose(pulled, Xt.T @ (w[:, None] * (U @ A.T) * D), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(features, F.T @ (w[:, None] * U), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(rows.fold(SlopeSquares(Xt.shape[1], k))[0], (Xt**2).T @ (w[:, None] * D**2), rtol=1e-12)
