from __future__ import annotations

import numpy as np
import pytest

from weightlift.decomposition import decompose
from weightlift.decomposition.tensors import (
    apply_powers,
    compose,
    multilinear,
    power_columns,
    range_basis,
    slices,
    symmetric_tensor,
)
from weightlift.errors import ArgumentError, NotFiniteError, ShapeError, SingularError


@pytest.mark.parametrize("order", [3, 4, 5])
def test_compose_is_the_sum_of_outer_powers(rng, order):
    c, U = rng.standard_normal(3), rng.standard_normal((4, 3))
    T = np.zeros((4,) * order)
    for weight, u in zip(c, U.T, strict=True):
        power = np.array(weight)
        for _ in range(order):
            power = np.multiply.outer(power, u)
        T += power
    np.testing.assert_allclose(compose(c, U, order), T, atol=1e-13)


@pytest.mark.parametrize("order", [3, 4, 5])
@pytest.mark.parametrize("free", [0, 1, 2])
def test_contraction_with_powers(rng, order, free):
    """Σ c u^{⊗p} contracted with v leaves Σ c ⟨u, v⟩^{p−f} u^{⊗f}."""
    c, U, X = rng.standard_normal(3), rng.standard_normal((4, 3)), rng.standard_normal((4, 5))
    expected = power_columns(U, free) @ (c[:, None] * (U.T @ X) ** (order - free))
    np.testing.assert_allclose(apply_powers(compose(c, U, order), X, free), expected, atol=1e-11)


@pytest.mark.parametrize("order", [3, 4])
def test_slices_of_a_sum_of_powers(rng, order):
    """T(I, I, G) = U diag(cᵢ ⟨uᵢ^{⊗p−2}, G⟩) Uᵀ for any G, symmetric or not."""
    c, U, G = rng.standard_normal(3), rng.standard_normal((4, 3)), rng.standard_normal((4 ** (order - 2), 6))
    D = c[:, None] * (power_columns(U, order - 2).T @ G)
    np.testing.assert_allclose(slices(compose(c, U, order), G), np.einsum("ir,rl,jr->lij", U, D, U), atol=1e-12)


@pytest.mark.parametrize("order", [3, 4])
def test_multilinear_moves_the_factors(rng, order):
    c, U, V = rng.standard_normal(3), rng.standard_normal((5, 3)), rng.standard_normal((5, 2))
    np.testing.assert_allclose(multilinear(compose(c, U, order), V), compose(c, V.T @ U, order), atol=1e-11)


@pytest.mark.parametrize("order", [3, 4])
def test_range_is_the_span_of_the_factors(rng, order):
    c, U = np.array([2.0, -1.0, 0.5]), rng.standard_normal((7, 3))
    V, s = range_basis(compose(c, U, order), None)
    assert V.shape == (7, 3)
    assert s.shape == (7,)
    np.testing.assert_allclose(V @ (V.T @ U), U, atol=1e-13)
    np.testing.assert_allclose(s, np.linalg.svd(compose(c, U, order).reshape(7, -1), compute_uv=False), atol=1e-12)


def test_the_range_of_fewer_components_is_smaller_and_decompose_refuses_more_than_there_are(rng):
    U = rng.standard_normal((5, 2))
    T = compose([1.0, -2.0], U, 3)
    V, _ = range_basis(T, 3)
    assert V.shape == (5, 2)
    np.testing.assert_allclose(V @ (V.T @ U), U, atol=1e-13)
    with pytest.raises(SingularError, match=r"rank=3.*has rank 2 to rounding"):
        decompose(T, 3)


@pytest.mark.parametrize(
    ("tensor", "error", "words"),
    [
        (np.ones((2, 2)), ShapeError, "order 3 or more, not 2"),
        (np.ones((2, 2, 3)), ShapeError, r"equal axes.*\(2, 2, 3\)"),
        (np.ones((0, 0, 0)), ShapeError, "n ≥ 1"),
        (np.ones((2, 2, 2)) * 1j, NotFiniteError, "complex"),
        (np.full((2, 2, 2), np.nan), NotFiniteError, "8 entries"),
        (np.zeros((2, 2, 2)), ArgumentError, "zero"),
        (np.array([[["a"]]]), ArgumentError, "real numbers"),
    ],
)
def test_refusals_name_what_was_found(tensor, error, words):
    with pytest.raises(error, match=words):
        symmetric_tensor(tensor)


@pytest.mark.parametrize("order", [3, 4])
def test_every_broken_symmetry_is_seen(rng, order):
    """One entry off its orbit, wherever it stands, is found and named with its value."""
    T = compose([1.0, -2.0], rng.standard_normal((4, 2)), order)
    for _ in range(10):
        index = tuple(rng.choice(4, size=order, replace=order > 4))
        if len(set(index)) == 1:
            continue
        broken = T.copy()
        broken[index] += 1e-3 * np.abs(T).max()
        with pytest.raises(ArgumentError, match="not symmetric: tensor"):
            symmetric_tensor(broken)
    rounded = T + 1e-15 * rng.standard_normal(T.shape)
    np.testing.assert_array_equal(symmetric_tensor(rounded), rounded)


def test_partial_symmetry_is_not_enough(rng):
    """Symmetric in the first two axes only, and invariant under the cycle only."""
    A = rng.standard_normal((3, 3, 3))
    for T in (A + A.transpose(1, 0, 2), A + A.transpose(1, 2, 0) + A.transpose(2, 0, 1)):
        with pytest.raises(ArgumentError, match="not symmetric"):
            symmetric_tensor(T)


@pytest.mark.parametrize(("size", "rank"), [(4.0, 1), (16.0, 2)])
def test_what_is_below_rounding_is_no_component(size, rank):
    """Two orthogonal components, the second in units of n ε: rounding of an unfolding is eight of them."""
    T = compose([1.0, size * 5 * np.finfo(float).eps], np.eye(5)[:, :2], 3)
    V, s = range_basis(T, 2)
    assert V.shape == (5, rank)
    np.testing.assert_allclose(s[:2], [1.0, size * 5 * np.finfo(float).eps], rtol=0.1)


@pytest.mark.parametrize(("size", "rank"), [(0.5, 1), (2.0, 2)])
def test_counted_components_stand_above_a_billionth(size, rank):
    V, _ = range_basis(compose([3.0, 3e-9 * size], np.eye(4)[:, :2], 3), None)
    assert V.shape == (4, rank)


def test_symmetry_is_judged_beside_the_largest_entry():
    T = compose([1e4], np.ones((3, 1)), 3)
    T[0, 1, 2] += 1e-5  # 1e-9 of it
    symmetric_tensor(T)
    T[0, 1, 2] += 1e-3
    with pytest.raises(ArgumentError, match="not symmetric"):
        symmetric_tensor(T)


def test_sums_too_large_to_form_are_refused():
    """64⁶ = 2³⁶ numbers; orders below zero mean nothing, order zero is the sum of the weights."""
    with pytest.raises(ArgumentError, match=r"64\^order at most"):
        compose([1.0], np.ones((64, 1)), 6)
    with pytest.raises(ArgumentError, match="order must be at least 0"):
        compose([1.0], np.ones((2, 1)), -1)
    assert compose([1.5, -0.25], np.ones((3, 2)), 0) == 1.25
    with pytest.raises(ShapeError, match="weights must have shape"):
        compose([1.0, 2.0], np.ones((3, 4)), 3)
