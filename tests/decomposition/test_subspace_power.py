"""The subspace power method: more components than dimensions, noise, deflation, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from weightlift.decomposition import DecompositionStatus, compose, decompose, subspace_power
from weightlift.decomposition.components import condition_number, unit_columns
from weightlift.decomposition.limits import LIMITS
from weightlift.decomposition.subspace_power import (
    _ascend,
    _forms,
    checked_overcomplete_rank,
    flattened_range,
    flattened_spectrum,
    flattening,
    rank_one_search,
)
from weightlift.decomposition.tensors import power_columns
from weightlift.errors import ArgumentError, ShapeError, SingularError


def planted(n, r, seed):
    rng = np.random.default_rng([n, r, seed])
    U = rng.standard_normal((n, r))
    return rng.choice([-1.0, 1.0], r) * rng.uniform(0.5, 2, r), U / np.linalg.norm(U, axis=0)


@pytest.mark.parametrize(("n", "r"), [(4, 3), (4, 6), (5, 9), (6, 14)])
def test_signed_components_beyond_the_dimension(n, r, seed, errors):
    c, U = planted(n, r, seed)
    found = decompose(compose(c, U, 4), r, method="subspace_power", rng=seed)
    assert found.status is DecompositionStatus.EXACT
    assert max(errors(found, c, U)) < 1e-10
    assert found.condition == pytest.approx(condition_number(U))


def test_the_default_counts_and_changes_the_method(seed, errors):
    c, U = planted(5, 8, seed)
    found = decompose(compose(c, U, 4), None, rng=seed)
    assert (found.method, found.rank) == ("subspace_power", 8)
    assert max(errors(found, c, U)) < 1e-10
    inside = np.vstack([U, np.zeros((2, 8))])  # eight components in five of seven dimensions
    assert max(errors(decompose(compose(c, inside, 4), 8), c, inside)) < 1e-10
    few = decompose(compose(c[:3], U[:, :3], 4), None)
    assert (few.method, few.rank) == ("kcl", 3)


def test_noise_moves_the_components_in_proportion(symmetric_noise, errors):
    c, U = planted(5, 8, 0)
    T = compose(c, U, 4)
    N = symmetric_noise(5, 4, 0) * np.linalg.norm(T)
    found = [errors(decompose(T + level * N, 8, rng=1), c, U)[0] for level in (1e-4, 1e-3)]
    assert found[1] < 0.1
    assert 5 < found[1] / found[0] < 20


def test_the_flattening_keeps_norm_range_and_rank(rng):
    c, U = planted(4, 6, int(rng.integers(100)))
    T = compose(c, U, 4)
    M = flattening(T)
    assert np.linalg.norm(M) == pytest.approx(np.linalg.norm(T))
    assert np.sort(np.abs(flattened_spectrum(T)))[-6] > 1e-6 > 1e6 * np.abs(flattened_spectrum(T)[6:]).max()
    V, D = flattened_range(T, 6)
    squares = power_columns(U, 2)
    basis = V.reshape(6, 16)
    np.testing.assert_allclose(basis @ basis.T, np.eye(6), atol=1e-12)
    np.testing.assert_allclose(basis.T @ (basis @ squares), squares, atol=1e-10)
    np.testing.assert_allclose(basis.T @ np.linalg.inv(D) @ basis, T.reshape(16, 16), atol=1e-10)
    alpha = basis @ squares
    np.testing.assert_allclose(1 / np.einsum("ri,rs,si->i", alpha, D, alpha), c, rtol=1e-8)  # the weight of a component


def test_deflation_finds_each_component_once(rng):
    c, U = planted(5, 9, int(rng.integers(100)))
    V, D = flattened_range(compose(c, U, 4), 9)
    found, values = rank_one_search(V, D, starts=40, rng=rng)
    cosines = np.abs(found.T @ U)
    assert sorted(cosines.argmax(axis=1)) == list(range(9))
    assert values.min() > 1 - 1e-9
    assert cosines.max(axis=0).min() > 1 - 1e-6


def test_condition_of_overcomplete_factors_is_that_of_their_squares():
    _, U = planted(4, 6, 0)
    s = np.linalg.svd(power_columns(U, 2), compute_uv=False)
    assert condition_number(U) == pytest.approx(s[0] / s[5])
    assert math.isinf(condition_number(np.ones((1, 3))))


def test_refusals():
    c, U = planted(4, 6, 0)
    T = compose(c, U, 4)
    with pytest.raises(ArgumentError, match=r"rank=11 exceeds n\(n\+1\)/2 = 10"):
        subspace_power(T, rank=11)
    with pytest.raises(SingularError, match=r"rank=7, but the flattened tensor has rank 6"):
        subspace_power(T, rank=7)
    with pytest.raises(SingularError, match="parallel"):
        subspace_power(compose(c, np.column_stack([U[:, :5], U[:, 4]]), 4), rank=6)
    with pytest.raises(ShapeError, match="order 4"):
        subspace_power(compose(c, U, 3), rank=3)
    with pytest.raises(ArgumentError, match="overcomplete method: 'subspace_power'"):
        decompose(T, 6, method="kcl")


@pytest.mark.parametrize(("least", "refused"), [(500.0, True), (1000.0, False)])
def test_an_eigenvalue_of_rounding_is_no_component(least, refused):
    """64 ε for each of the n(n+1)/2 squares, beside the largest eigenvalue."""
    values = np.array([-4.0, least * np.finfo(float).eps, 0.0])
    if refused:
        with pytest.raises(SingularError, match="rank=2, but the flattened tensor has rank 1"):
            checked_overcomplete_rank(2, values)
    else:
        assert checked_overcomplete_rank(2, values) == 2
    assert checked_overcomplete_rank(None, values) == 1


@pytest.mark.parametrize(("share", "counted"), [(0.5, 1), (2.0, 2)])
def test_components_are_counted_beside_the_largest_eigenvalue(share, counted):
    for size in (1e-6, 1.0, 1e6):
        assert checked_overcomplete_rank(None, size * np.array([-4.0, 4.0 * share * LIMITS.rank_floor, 0.0])) == counted


def test_a_step_rises_and_ends_at_a_component(rng):
    """f(x) = ‖Vᵀvec(xxᵀ)‖² never falls, is at most one, and at its end x is an eigenvector of g."""
    c, U = planted(5, 8, 3)
    V, _ = flattened_range(compose(c, U, 4), 8)
    X = unit_columns(rng.standard_normal((5, 12)))
    f = [np.einsum("rij,is,js->rs", V, X, X)]
    for steps in (1, 2, 5, 200):
        moved, value = _ascend(V, X, steps)
        np.testing.assert_allclose(np.linalg.norm(moved, axis=0), 1.0, atol=1e-12)
        np.testing.assert_allclose(value, (np.einsum("rij,is,js->rs", V, moved, moved) ** 2).sum(axis=0), atol=1e-12)
        assert (value >= (f[-1] ** 2).sum(axis=0) - 1e-12).all()
        f.append(np.einsum("rij,is,js->rs", V, moved, moved))
    assert value.max() > 1 - 1e-9


def test_a_step_is_that_of_its_formula(rng):
    """x ← normalise(g + √(f(1 − f)) x), g = Σ_s (xᵀV_s x) V_s x, f = ⟨x, g⟩ clipped to [½, 1]."""
    c, U = planted(5, 6, 1)
    V, _ = flattened_range(compose(c, U, 4), 6)
    X = unit_columns(np.hstack([rng.standard_normal((5, 9)), U[:, :3] + 0.1 * rng.standard_normal((5, 3))]))
    moved, _ = _ascend(V, X, 1)
    seen = []
    for x, following in zip(X.T, moved.T, strict=True):
        g = sum((x @ A @ x) * (A @ x) for A in V)
        f = np.clip(x @ g, 0.5, 1.0)
        seen.append(f > 0.5)
        expected = g + np.sqrt(f * (1 - f)) * x
        np.testing.assert_allclose(following, expected / np.linalg.norm(expected), atol=1e-13)
    assert True in seen
    assert False in seen


def test_the_ascent_ends_once_none_moves(monkeypatch):
    c, U = planted(4, 5, 0)
    V, _ = flattened_range(compose(c, U, 4), 5)
    end, made = _ascend(V, U, 500)[0], []

    def counted(rows, X, r):
        made.append(r)
        return _forms(rows, X, r)

    monkeypatch.setitem(_ascend.__globals__, "_forms", counted)
    _ascend(V, end, 500)
    assert len(made) <= 4


@pytest.mark.parametrize(
    ("noise", "status"), [(1e-9, DecompositionStatus.APPROXIMATE), (0.1, DecompositionStatus.NOT_SETTLED)]
)
def test_noise_beside_which_no_matrix_of_rank_one_is_left_in_the_span_is_said(noise, status, symmetric_noise):
    """f at a component falls from one by the square of the noise: a millionth less of it is none."""
    c, U = planted(5, 8, 0)
    assert subspace_power(compose(c, U, 4) + noise * symmetric_noise(5, 4, 0), rank=8).status is status
