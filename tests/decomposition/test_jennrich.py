from __future__ import annotations

import numpy as np
import pytest

from weightlift.decomposition import DecompositionStatus, Pencil, compose, jennrich, shared_directions
from weightlift.decomposition.tensors import power_columns, slices
from weightlift.errors import ArgumentError, NotFiniteError, ShapeError, SingularError


@pytest.mark.parametrize("order", [3, 4, 5])
@pytest.mark.parametrize("k", [1, 2, 6])
def test_exact_tensors(plant, errors, seed, order, k):
    c, U = plant(k, 5, seed)
    found = jennrich(compose(c, U, order), rng=seed)
    assert found.status is DecompositionStatus.EXACT
    assert max(errors(found, c, U)) < 1e-10


def test_a_pencil_is_diagonalised_by_its_dual(rng):
    N, r = 7, 4
    U = rng.standard_normal((N, r))
    A, B = (U * d @ U.T for d in rng.standard_normal((2, r)))
    pencil = shared_directions(A, B)
    assert pencil.n_complex == 0
    assert pencil.factors.shape == (N, r)
    assert pencil.singular_values.shape == (N,)
    for M in (A, B):
        D = pencil.dual @ M @ pencil.dual.T
        np.testing.assert_allclose(D - np.diag(np.diag(D)), 0, atol=1e-10)
    cosines = np.abs(pencil.factors.T @ (U / np.linalg.norm(U, axis=0)))
    np.testing.assert_allclose(cosines.max(axis=0), 1, atol=1e-12)


def test_gap_is_the_angle_between_ratios(rng):
    """Ratios α/β = tan θ: the gap is the least difference of θ modulo π, infinite ratios included."""
    U = rng.standard_normal((3, 3))
    theta = np.array([0.1, 0.4, np.pi / 2])
    pencil = shared_directions(U * np.sin(theta) @ U.T, U * np.cos(theta) @ U.T)
    np.testing.assert_allclose(pencil.gap, 0.3, rtol=1e-8)
    wrapped = np.array([0.05, 1.0, np.pi - 0.1])
    pencil = shared_directions(U * np.sin(wrapped) @ U.T, U * np.cos(wrapped) @ U.T)
    np.testing.assert_allclose(pencil.gap, 0.15, rtol=1e-8)


def test_more_units_than_dimensions_through_a_flattening(rng):
    """Order 5 and 6 flattened to d² × d²: the shared directions are vec(wwᵀ), for k = 7 units in d = 4  [awasthi2021]."""
    d, k = 4, 7
    W = rng.standard_normal((d, k))
    W /= np.linalg.norm(W, axis=0)
    c = rng.choice([-1.0, 1.0], k) * rng.uniform(0.5, 2, k)
    pairs = power_columns(W, 2)
    A, B = (pairs * (c * (u @ W)) @ pairs.T for u in rng.standard_normal((2, d)))
    pencil = shared_directions(A, B)
    assert pencil.factors.shape == (d * d, k)
    assert pencil.n_complex == 0
    left, s, _ = np.linalg.svd(pencil.factors.T.reshape(k, d, d))
    np.testing.assert_allclose(s[:, 1] / s[:, 0], 0, atol=1e-8)
    np.testing.assert_allclose(np.abs(left[:, :, 0] @ W).max(axis=0), 1, atol=1e-10)


def test_rank_floor_counts_what_stands_above_the_noise(rng):
    U = rng.standard_normal((8, 3))
    noise = rng.standard_normal((2, 8, 8))
    A, B = (U * d @ U.T + 1e-5 * (E + E.T) for d, E in zip(rng.uniform(1, 2, (2, 3)), noise, strict=True))
    assert shared_directions(A, B, floor=1e-3).factors.shape == (8, 3)
    assert shared_directions(A, B).factors.shape == (8, 8)
    assert shared_directions(A, B, rank=2).factors.shape == (8, 2)


def test_complex_eigenvalues_are_counted_and_span_their_plane(rng):
    """A rotation-like pencil has one complex pair; the dual keeps the real plane, apart from the real eigenvector."""
    U = rng.standard_normal((3, 3))
    A, B = np.zeros((2, 3, 3))
    A[:2, :2], B[:2, :2] = [[1.0, 0.0], [0.0, -1.0]], [[0.0, 1.0], [1.0, 0.0]]
    A[2, 2], B[2, 2] = 1.0, 2.0
    pencil = shared_directions(U @ A @ U.T, U @ B @ U.T)
    assert pencil.n_complex == 2
    assert np.linalg.matrix_rank(pencil.dual) == 3
    assert pencil.gap == pytest.approx(0, abs=1e-12)
    for M in (A, B):
        D = pencil.dual @ U @ M @ U.T @ pencil.dual.T
        split = np.abs(D) > 1e-10 * np.abs(D).max()
        assert sorted(split.sum(axis=1)) in ([1, 1, 1], [1, 2, 2])


def test_noise_that_mixes_components_is_a_status(plant, symmetric_noise):
    c, U = plant(15, 10, 0)
    T = compose(c, U, 3)
    found = jennrich(T + 0.3 * np.linalg.norm(T) * symmetric_noise(15, 3, 0), attempts=3)
    assert found.status is DecompositionStatus.COMPLEX_EIGENVALUES
    assert not found.succeeded
    assert "method='kcl'" in found.status.value


def test_more_attempts_find_a_wider_gap(plant):
    c, U = plant(12, 10, 0)
    T = compose(c, U, 3)

    def widest(attempts):
        G = np.random.default_rng(4).standard_normal((12, 2 * attempts))
        pairs = slices(T, G).reshape(attempts, 2, 12, 12)
        return max(shared_directions(A, B, rank=12).gap for A, B in pairs)

    assert widest(8) >= widest(1) > 0


def test_refusals():
    A = np.diag([1.0, 2.0, 0.0])
    with pytest.raises(ShapeError, match="square"):
        shared_directions(np.ones((2, 3)), np.ones((2, 3)))
    with pytest.raises(ShapeError, match="one size"):
        shared_directions(np.eye(2), np.eye(3))
    with pytest.raises(NotFiniteError):
        shared_directions(A, np.full((3, 3), np.inf))
    with pytest.raises(SingularError, match="zero"):
        shared_directions(A, 0 * A)
    with pytest.raises(SingularError, match="rank=3"):
        shared_directions(A, np.diag([3.0, 1.0, 0.0]), rank=3)
    with pytest.raises(ArgumentError, match="between 1 and N"):
        shared_directions(A, A, rank=4)


def test_rounding_is_told_from_a_second_direction(rng):
    """A and B share a direction and have another, t times as strong: N ε of the strongest is rounding."""
    Q = np.linalg.qr(rng.standard_normal((2, 2)))[0]
    for t, rank in ((1.8, 1), (6.0, 2)):
        A, B = (Q @ np.diag([1.0, sign * t * np.finfo(float).eps]) @ Q.T for sign in (1.0, -1.0))
        if rank == 1:
            with pytest.raises(SingularError, match="rank=2"):
                shared_directions(np.diag([1.0, t * np.finfo(float).eps]), np.diag([1.0, -t * np.finfo(float).eps]), rank=2)
        else:
            assert shared_directions(A, B, rank=2).factors.shape == (2, 2)


def test_the_widest_gap_is_taken(plant):
    """Of the pairs that `jennrich` draws, the one whose real eigenvalues lie furthest apart."""
    c, U = plant(6, 10, 1)
    T, noise = compose(c, U, 3), 1e-6
    T = T + noise * compose(np.ones(9), np.random.default_rng(0).standard_normal((6, 9)), 3)
    G = np.random.default_rng(7).standard_normal((6, 16))
    pencils = [shared_directions(A, B, rank=6) for A, B in slices(T, G).reshape(8, 2, 6, 6)]
    best = max((p for p in pencils if not p.n_complex), key=lambda p: p.gap)
    found = jennrich(T, rng=7)
    np.testing.assert_allclose(np.abs(found.factors.T @ best.factors).max(axis=0), 1.0, atol=1e-12)


def test_matrices_of_any_size_weigh_alike(rng):
    U = rng.standard_normal((5, 3))
    A, B = (U * d @ U.T for d in rng.standard_normal((2, 3)))
    plain, scaled = shared_directions(A, B), shared_directions(1e-7 * A, 1e6 * B)
    np.testing.assert_allclose(scaled.singular_values, plain.singular_values, atol=1e-12)
    np.testing.assert_allclose(np.abs(scaled.factors.T @ plain.factors).max(axis=0), 1.0, atol=1e-9)


def test_two_complex_pairs_keep_two_planes(rng):
    """Of every pair of conjugate eigenvectors the real and the imaginary part: the dual splits into two blocks of two."""
    U = rng.standard_normal((4, 4))
    A, B = np.zeros((2, 4, 4))
    for at, angle in ((0, 0.3), (2, 1.1)):
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        A[at : at + 2, at : at + 2] = turn @ np.diag([1.0, -1.0]) @ turn.T + 0.2 * at * np.array([[0.0, 1.0], [1.0, 0.0]])
        B[at : at + 2, at : at + 2] = [[0.0, 1.0], [1.0, 0.0]]
    pencil = shared_directions(U @ A @ U.T, U @ B @ U.T)
    assert pencil.n_complex == 4
    assert np.linalg.matrix_rank(pencil.dual) == 4
    D = np.abs(pencil.dual @ U @ B @ U.T @ pencil.dual.T)
    assert ((1e-10 * D.max() < D).sum(axis=1) <= 2).all()


def test_one_direction_has_the_whole_line_to_itself():
    assert shared_directions([[2.0]], [[-3.0]]).gap == pytest.approx(np.pi / 2)


@pytest.mark.parametrize(("share", "rank"), [(0.9, 1), (1.1, 2)])
def test_the_floor_is_beside_the_largest_singular_value(share, rank):
    """[A B] of diag(1, ±t) has the singular values √2 and √2 t."""
    A, B = (np.diag([1.0, sign * share * 1e-3]) for sign in (1.0, -1.0))
    assert shared_directions(A, B, floor=1e-3).factors.shape == (2, rank)


def test_a_real_pencil_is_preferred_to_complex_ones_with_a_wider_gap(monkeypatch):
    """A complex pair counts before any gap."""
    module, drawn = jennrich.__globals__, iter([(0, 0.01), (2, 0.0), (0, 0.02), (4, 0.5)])
    U = np.eye(3)

    def pencil(A, B, *, rank):
        n_complex, gap = next(drawn)
        factors = np.roll(U, 1, axis=1) if gap == 0.02 else np.ones((3, 3))
        return Pencil(factors, U, gap, n_complex, np.ones(3))

    monkeypatch.setitem(module, "shared_directions", pencil)
    found = jennrich(compose([3.0, 2.0, 1.0], U, 3), attempts=4)
    assert found.status is DecompositionStatus.EXACT
