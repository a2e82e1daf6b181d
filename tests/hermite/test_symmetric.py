"""Coordinates of symmetric tensors: an isometry, and the flattenings of Hermite tensors against whole tensors."""

import itertools
import math

import numpy as np
import pytest

from weightlift import errors, hermite
from weightlift.hermite.symmetric import flattening, flattening_product, symmetric_basis, symmetric_dimension, widen
from weightlift.namespaces import to_numpy


def symmetrized(T):
    axes = list(itertools.permutations(range(T.ndim)))
    return sum(np.transpose(T, axis) for axis in axes) / len(axes)


def embedding(d, order):
    """The basis elements as columns of length d^order."""
    basis = symmetric_basis(d, order)
    return np.stack([np.ravel(basis.unpack(e)) for e in np.eye(basis.size)], axis=1)


@pytest.mark.parametrize(("d", "order"), [(1, 3), (2, 4), (4, 1), (4, 2), (3, 3)])
def test_the_basis_is_orthonormal_and_packs_what_it_unpacks(d, order, rng):
    basis = symmetric_basis(d, order)
    assert basis.size == symmetric_dimension(d, order) == math.comb(d + order - 1, order) == len(basis.indices)
    E = embedding(d, order)
    np.testing.assert_allclose(E.T @ E, np.eye(basis.size), atol=1e-14)
    T = symmetrized(rng.normal(size=(d,) * order))
    z = basis.pack(T)
    np.testing.assert_allclose(basis.unpack(z), T, atol=1e-14)
    assert np.linalg.norm(z) == pytest.approx(np.linalg.norm(T))


@pytest.mark.parametrize(("d", "order"), [(4, 1), (4, 2), (3, 3)])
def test_powers_raising_and_direction(d, order, rng):
    basis, U, u = symmetric_basis(d, order), rng.normal(size=(d, 3)), rng.normal(size=d)
    E = embedding(d, order)
    powers = np.stack([np.ravel(hermite_power(w, order)) for w in U.T], axis=1)
    np.testing.assert_allclose(E @ basis.powers(U), powers, atol=1e-12)
    Z = basis.unpack(rng.normal(size=basis.size)) if order else np.array(1.0)
    raised = symmetric_basis(d, order + 1).unpack(basis.raising(u) @ basis.pack(Z))
    np.testing.assert_allclose(raised, symmetrized(np.multiply.outer(u, Z)), atol=1e-12)
    direction, impurity = basis.direction(-2.5 * basis.powers(U[:, :1])[:, 0])
    w = U[:, 0] / np.linalg.norm(U[:, 0])
    np.testing.assert_allclose(abs(direction @ w), 1.0, atol=1e-14)
    assert impurity < 1e-14
    if order > 1:
        assert basis.direction(basis.powers(U) @ [1.0, 0.4, -0.7])[1] > 1e-3


@pytest.mark.parametrize("order", [2, 3])
def test_a_direction_is_the_leading_one_of_the_unfolding(order, rng):
    """The coordinates are an isometry, so the singular values are those of T as a matrix d × d^{m−1}."""
    basis = symmetric_basis(4, order)
    z = rng.normal(size=basis.size)
    left, s, _ = np.linalg.svd(basis.unpack(z).reshape(4, -1))
    direction, impurity = basis.direction(z)
    assert abs(direction @ left[:, 0]) == pytest.approx(1.0, rel=1e-12)
    assert impurity == pytest.approx(s[1] / s[0], rel=1e-12)


def hermite_power(w, order):
    T = np.ones(())
    for _ in range(order):
        T = np.multiply.outer(T, w)
    return T


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_hermite_coordinates(as_xp, order):
    X = np.random.default_rng(0).normal(size=(6, 3))
    basis = symmetric_basis(3, order)
    expected = [basis.pack(T) if order else [1.0] for T in hermite.tensor(order, X)]
    np.testing.assert_allclose(to_numpy(basis.hermite(as_xp(X))), expected, atol=1e-13)


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 1), (2, 2), (0, 2), (3, 2)])
def test_flattenings_are_those_of_the_whole_tensor(as_xp, rows, columns, d):
    rng = np.random.default_rng(rows)
    X, g = rng.normal(size=(20, d)), rng.normal(size=20)
    whole = np.tensordot(g, hermite.tensor(rows + columns, X), axes=1).reshape(d**rows, d**columns)
    expected = embedding(d, rows).T @ whole @ embedding(d, columns)
    H = [symmetric_basis(d, j).hermite(as_xp(X)) for j in range(max(rows, columns) + 1)]
    np.testing.assert_allclose(to_numpy(flattening(as_xp(g), H, d, rows, columns)), expected, atol=1e-11)
    Z = rng.normal(size=(symmetric_dimension(d, columns), 2))
    product = flattening_product(as_xp(g), H, as_xp(Z), d, rows, columns)
    np.testing.assert_allclose(to_numpy(product), expected @ Z, atol=1e-11)


def test_widening_is_the_symmetrized_product_with_the_identity(rng):
    d = 3
    B = rng.normal(size=(symmetric_dimension(d, 1), symmetric_dimension(d, 2)))
    full = np.einsum("ab,ij->aibj", np.eye(d), B @ embedding(d, 2).T).reshape(d * d, d**3)
    expected = embedding(d, 2).T @ full @ embedding(d, 3)
    np.testing.assert_allclose(widen(B, d, 1, 2), expected, atol=1e-13)


def test_bad_orders_are_named():
    with pytest.raises(errors.ArgumentError, match="order"):
        symmetric_basis(3, -1)
