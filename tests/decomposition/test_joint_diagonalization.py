from __future__ import annotations

import itertools

import numpy as np
import pytest

from weightlift.decomposition import JointDiagonalization, compose, joint_diagonalize, shared_directions
from weightlift.decomposition.ffdiag import _step, balance, ffdiag, settled
from weightlift.decomposition.joint_diagonalization import _best_pencil, _compress, _starts, off_criterion
from weightlift.decomposition.limits import LIMITS
from weightlift.decomposition.qrj1d import _rotate, _shear, qrj1d, round_robin
from weightlift.errors import ArgumentError, NotFiniteError, ShapeError, SingularError

METHODS = ["ffdiag", "qrj1d"]


def congruent(U, D):
    """Slices U diag(D_l) Uᵀ."""
    return np.einsum("ir,lr,jr->lij", U, D, U)


def matched_error(B, U):
    """Distance of B U from a scaled permutation: largest entry beside the largest of each row."""
    A = np.abs(B @ U)
    A /= A.max(axis=1, keepdims=True)
    assert len(set(A.argmax(axis=1))) == len(A)
    return np.sort(A, axis=1)[:, :-1].max(initial=0.0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("n", "L"), [(1, 3), (2, 2), (2, 30), (3, 2), (7, 4), (12, 60)])
def test_exact_slices_are_diagonalised(rng, method, n, L):
    """Indefinite slices, non-orthogonal U: B U is a scaled permutation and B M Bᵀ is diagonal."""
    U, D = rng.standard_normal((n, n)), rng.standard_normal((L, n))
    found = joint_diagonalize(congruent(U, D), method=method)
    assert found.converged
    assert found.off < 1e-20
    condition = np.linalg.cond(U)
    last_step = 1e-10 if method == "qrj1d" else 0.0  # its tol; FFDIAG squares it
    assert matched_error(found.B, U) < 1e-13 * condition**2 + 10 * last_step
    np.testing.assert_allclose(found.slices, found.B @ congruent(U, D) @ found.B.T, atol=1e-12 * condition**2)
    np.testing.assert_allclose(np.einsum("lii,lii->i", found.slices, found.slices), 1, rtol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(found.factors, axis=0), 1, rtol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_without_pencils_the_sweeps_alone_suffice(rng, method):
    """From the identity, a poor start, both reach the exact solution: their steps are right, not only the start."""
    n = 8
    U = np.linalg.qr(rng.standard_normal((n, n)))[0] * np.linspace(1, 3, n) @ np.linalg.qr(rng.standard_normal((n, n)))[0]
    found = joint_diagonalize(congruent(U, rng.standard_normal((20, n))), method=method, start=np.eye(n))
    assert found.converged
    assert found.sweeps > 3
    assert matched_error(found.B, U) < 1e-9


def test_ffdiag_converges_quadratically(rng):
    """Near the solution the error is squared by a sweep, until rounding."""
    n = 6
    U = np.eye(n) + 0.3 * rng.standard_normal((n, n))
    M = congruent(U, rng.standard_normal((15, n)))
    start = np.linalg.inv(U) @ (np.eye(n) + 1e-3 * rng.standard_normal((n, n)))
    errors = [matched_error(joint_diagonalize(M, start=start, tol=0.0, max_sweeps=s).B, U) for s in (1, 2)]
    assert errors[0] < 1e-3
    assert errors[1] < max(100 * errors[0] ** 2, 1e-13)
    assert not joint_diagonalize(M, start=start, tol=0.0, max_sweeps=1).converged


def pair_sum(M, i, j):
    return (M[:, i, j] ** 2).sum()


def test_a_rotation_is_the_best_of_its_plane(rng):
    """Σ_l M_ij² after it is the least over all angles; disjoint pairs at once, an orthogonal congruence."""
    M = rng.standard_normal((9, 4, 4))
    M += M.transpose(0, 2, 1)
    i, j = np.array([0, 1]), np.array([2, 3])
    C, A = np.ascontiguousarray(np.moveaxis(M, 0, -1)), np.eye(4)
    _rotate(C, A, (i, j))
    turned = np.moveaxis(C, -1, 0)
    np.testing.assert_allclose(A @ A.T, np.eye(4), atol=1e-14)
    np.testing.assert_allclose(turned, A @ M @ A.T, atol=1e-13)
    for a, b in zip(i, j, strict=True):
        sums = []
        for theta in np.linspace(0, np.pi, 2001):
            R = np.eye(4)
            R[[a, b], [a, b]], R[a, b], R[b, a] = np.cos(theta), -np.sin(theta), np.sin(theta)
            sums.append(pair_sum(R @ M @ R.T, a, b))
        assert min(sums) * (1 - 1e-12) >= pair_sum(turned, a, b) >= min(sums) - 1e-4 * max(sums)


def test_a_shear_is_the_best_of_its_line(rng):
    """Σ_l Σ_{c≠j} M_jc² after it is the least over the factor a, for a single pair."""
    M = rng.standard_normal((9, 4, 4)) + 3 * np.eye(4)  # a dominant diagonal keeps |a| below 1
    M += M.transpose(0, 2, 1)
    C, A = np.ascontiguousarray(np.moveaxis(M, 0, -1)), np.eye(4)
    _shear(C, A, (np.array([1]), np.array([3])))
    np.testing.assert_allclose(np.moveaxis(C, -1, 0), A @ M @ A.T, atol=1e-12)
    a = A[3, 1]
    np.testing.assert_array_equal(A - np.eye(4), a * np.outer(np.eye(4)[3], np.eye(4)[1]))
    assert 1e-3 < abs(a) < 1

    def beside(a):
        return ((M[:, 3, :3] + a * M[:, 1, :3]) ** 2).sum()

    assert beside(a) < min(beside(a - 1e-3), beside(a + 1e-3))


def test_the_two_methods_agree_in_noise(rng):
    """Different steps, one criterion: with noise ε the solutions differ by O(ε²)."""
    n, L = 6, 30
    U, D = np.eye(n) + 0.3 * rng.standard_normal((n, n)), rng.standard_normal((L, n))
    N = rng.standard_normal((L, n, n))
    gaps = []
    for noise in (1e-4, 1e-3):
        M = congruent(U, D) + noise * (N + N.transpose(0, 2, 1))
        first, second = (joint_diagonalize(M, method=method) for method in METHODS)
        assert first.converged
        assert second.converged
        np.testing.assert_allclose(first.off, second.off, rtol=0.01)
        gaps.append(matched_error(first.B, second.factors))
    assert gaps[1] < 0.1 * matched_error(first.B, U)
    assert 60 < gaps[1] / gaps[0] < 160


@pytest.mark.parametrize("method", METHODS)
def test_noise_enters_linearly(rng, method):
    n, L = 5, 12
    U, D = np.eye(n) + 0.3 * rng.standard_normal((n, n)), rng.standard_normal((L, n))
    N = rng.standard_normal((L, n, n))
    N += N.transpose(0, 2, 1)
    small, large = (matched_error(joint_diagonalize(congruent(U, D) + e * N, method=method).B, U) for e in (1e-6, 1e-4))
    assert 80 < large / small < 125


def test_congruence_and_mixing_leave_the_solution(rng):
    """M ↦ A M Aᵀ takes B to B A⁻¹; an orthogonal mixture of the slices changes nothing, noise or not."""
    n, L = 5, 9
    U, D = np.eye(n) + 0.3 * rng.standard_normal((n, n)), rng.standard_normal((L, n))
    N = rng.standard_normal((L, n, n))
    M = congruent(U, D) + 1e-3 * (N + N.transpose(0, 2, 1))
    A = rng.standard_normal((n, n))
    Q = np.linalg.qr(rng.standard_normal((L, L)))[0]
    plain = joint_diagonalize(M)
    assert matched_error(joint_diagonalize(A @ M @ A.T).B @ A, plain.factors) < 1e-9
    assert matched_error(joint_diagonalize(np.tensordot(Q, M, 1)).B, plain.factors) < 1e-9
    assert matched_error(joint_diagonalize(M[rng.permutation(L)], rng=5).B, plain.factors) < 1e-9


def test_compression_keeps_the_criterion(rng):
    M = rng.standard_normal((40, 4, 4))
    M += M.transpose(0, 2, 1)
    C = _compress(M)
    assert C.shape == (10, 4, 4)
    for _ in range(3):
        B = rng.standard_normal((4, 4))
        np.testing.assert_allclose(off_criterion(B @ C @ B.T), off_criterion(B @ M @ B.T), rtol=1e-10)
    exact = congruent(rng.standard_normal((4, 4)), rng.standard_normal((40, 4)))
    assert len(_compress(exact)) <= 5  # four profiles, and at most one direction of rounding


def test_criterion_ignores_row_scales_and_sees_equal_rows(rng):
    M = congruent(rng.standard_normal((4, 4)), rng.standard_normal((6, 4)))
    B, scales = rng.standard_normal((4, 4)), np.diag([1e-3, 2.0, -50.0, 1.0])
    value = off_criterion(B @ M @ B.T)
    np.testing.assert_allclose(off_criterion(scales @ B @ M @ B.T @ scales), value, rtol=1e-10)
    equal = B[[0, 0, 2, 3]]
    assert off_criterion(equal @ M @ equal.T) >= 0.5  # the pair alone gives 2 of n = 4


def test_stacked_orders_find_units_that_one_order_misses(rng):
    """Profiles (c₂, c₃ u, c₄ uuᵀ) with c₃ = 0 for one unit and c₄ = 0 for another: one stack finds all of them."""
    k = 5
    U = rng.standard_normal((k, k))
    U /= np.linalg.norm(U, axis=0)
    c2, c3, c4 = rng.uniform(0.3, 1, k), rng.standard_normal(k), rng.standard_normal(k)
    c3[:2], c4[2:4] = 0, 0
    D = [c2[None], c3 * U, c4 * np.einsum("ir,jr->ijr", U, U).reshape(k * k, k)]
    found = joint_diagonalize(np.concatenate([congruent(U, d) for d in D]))
    assert found.converged
    assert matched_error(found.B, U) < 1e-9


def test_large_noise_is_reported_not_hidden(rng):
    N = rng.standard_normal((30, 8, 8))
    found = joint_diagonalize(N + N.transpose(0, 2, 1))
    assert found.off > 0.5
    assert np.isfinite(found.B).all()


def test_ffdiag_settles_in_noise_where_full_steps_cycle(plant, symmetric_noise):
    """Noise of a fifth of the tensor: without halved steps three of these twenty cycle."""
    for seed in range(20):
        c, U = plant(5, 5, seed)
        T = compose(c, U, 3)
        T = T + 0.2 * np.linalg.norm(T) * symmetric_noise(5, 3, seed)
        assert joint_diagonalize(T).converged


def test_a_complex_pair_does_not_stop_it():
    """Two slices with the eigenvalues of a rotation have no real solution; the best real one is returned."""
    M = np.array([[[1.0, 0.0], [0.0, -1.0]], [[0.0, 1.0], [1.0, 0.0]]])
    found = joint_diagonalize(M)
    assert np.isfinite(found.B).all()
    assert found.off > 0.5


@pytest.mark.parametrize("n", [2, 3, 6, 9])
def test_round_robin_plays_every_pair_once(n):
    rounds = round_robin(n)
    for i, j in rounds:
        assert len(set(i) | set(j)) == 2 * len(i)
    played = sorted((int(a), int(b)) for i, j in rounds for a, b in zip(i, j, strict=True))
    assert played == list(itertools.combinations(range(n), 2))


def test_refusals():
    good = np.stack([np.eye(3), np.diag([1.0, 2.0, 3.0])])
    with pytest.raises(ShapeError, match=r"\(L, n, n\)"):
        joint_diagonalize(good[0])
    with pytest.raises(ShapeError, match=r"\(L, n, n\), not \(2, 2, 3\)"):
        joint_diagonalize(good[:, :2])
    with pytest.raises(ArgumentError, match="ffdiag, qrj1d"):
        joint_diagonalize(good, method="jacobi")
    with pytest.raises(NotFiniteError):
        joint_diagonalize(good * np.nan)
    with pytest.raises(NotFiniteError):
        joint_diagonalize(good * 1j)
    with pytest.raises(ArgumentError, match="symmetric"):
        joint_diagonalize(good + np.triu(np.ones((3, 3)), 1))
    with pytest.raises(SingularError, match="null vector"):
        joint_diagonalize(np.stack([np.diag([1.0, 2.0, 0.0]), np.diag([1.0, -2.0, 0.0])]))
    with pytest.raises(SingularError, match="null vector"):
        joint_diagonalize(np.zeros((2, 3, 3)))
    with pytest.raises(ShapeError, match="start"):
        joint_diagonalize(good, start=np.eye(2))
    with pytest.raises(SingularError, match="start"):
        joint_diagonalize(good, start=np.ones((3, 3)))


def test_slices_with_a_null_vector_to_rounding_are_refused():
    """The second direction has t ε of the first: n ε of the largest is rounding."""
    for t in (1.8, 8.0):
        M = 3.0 * np.array([np.diag([1.0, t * np.finfo(float).eps]), np.diag([1.0, -t * np.finfo(float).eps])])
        if t < 2:
            with pytest.raises(SingularError, match="null vector"):
                _compress(M)
        else:
            assert _compress(M).shape == (2, 2, 2)


def test_the_criterion_by_its_definition(rng):
    M = rng.standard_normal((7, 4, 4))
    M += M.transpose(0, 2, 1)
    z = np.einsum("lii,lii->i", M, M)
    expected = sum(np.sum(M[:, i, j] ** 2) / np.sqrt(z[i] * z[j]) for i in range(4) for j in range(4) if i != j) / 4
    assert off_criterion(M) == pytest.approx(expected, rel=1e-12)
    scale = balance(M)
    np.testing.assert_allclose(np.sum((scale**2 * np.einsum("lii->li", M)) ** 2, axis=0), 1.0, rtol=1e-12)


def test_a_step_of_ffdiag_solves_its_least_squares(rng):
    """Σ_l (W_ij D_j + D_i W_ji + E_ij)² is least over every pair, by brute force."""
    M = rng.standard_normal((9, 4, 4)) + 4 * np.eye(4) * rng.standard_normal((9, 4, 1))
    M += M.transpose(0, 2, 1)
    W = _step(M)
    np.testing.assert_array_equal(np.diag(W), 0.0)
    for i, j in itertools.combinations(range(4), 2):
        design = np.column_stack([M[:, j, j], M[:, i, i]])
        expected = np.linalg.lstsq(design, -M[:, i, j], rcond=None)[0]
        np.testing.assert_allclose([W[i, j], W[j, i]], expected, rtol=1e-9)


@pytest.mark.parametrize("method", ["ffdiag", "qrj1d"])
def test_a_budget_of_sweeps_is_kept_and_told(rng, method):
    n = 6
    U = np.linalg.qr(rng.standard_normal((n, n)))[0] * np.linspace(1, 4, n) @ np.linalg.qr(rng.standard_normal((n, n)))[0]
    M = congruent(U, rng.standard_normal((12, n)))
    cut = joint_diagonalize(M, method=method, start=np.eye(n), max_sweeps=2)
    assert (cut.sweeps, cut.converged) == (2, False)
    whole = joint_diagonalize(M, method=method, start=np.eye(n))
    assert whole.converged
    assert 2 < whole.sweeps < 200
    again = joint_diagonalize(M, method=method, start=whole.B)
    assert again.sweeps <= 2  # from its own end


def test_noise_is_what_balanced_slices_leave(rng):
    """`settled`: a step below a thousandth of off = Σ_l ‖M_l‖²/n − 1, or below the tolerance."""
    M = rng.standard_normal((8, 3, 3))
    M += M.transpose(0, 2, 1)
    scale = balance(M)
    M = scale[:, None] * M * scale
    off = np.sum(M * M) / 3 - 1
    assert off == pytest.approx(off_criterion(M), rel=1e-9)
    assert settled(0.9e-3 * off, M, 0.0)
    assert not settled(1.1e-3 * off, M, 0.0)
    assert settled(1.1e-3 * off, M, 2e-3 * off)

def test_a_budget_of_one_sweep_is_enough_for_what_is_diagonal(rng):
    """The first sweep is counted as one, by both methods, and the last one is made."""
    M = congruent(np.eye(4), rng.standard_normal((5, 4)))
    for sweep in (ffdiag, qrj1d):
        for most in (1, 7):
            B, sweeps, done = sweep(M, 1e-10, most)
            assert (sweeps, done) == (1, True)
            np.testing.assert_allclose(np.einsum("lii,lii->i", B @ M @ B.T, B @ M @ B.T), 1.0, rtol=1e-12)


def test_steps_that_turn_back_are_halved_and_grow_again(rng, monkeypatch):
    """By the cosine of two steps in turn, whatever their size; a step longer than the limit is cut to it."""
    w = np.zeros((3, 3))
    w[0, 1], w[2, 0] = 3e-3, 4e-3
    shares = [1.0, 0.5, 0.5 * LIMITS.growth, min(1.0, 0.5 * LIMITS.growth**2), 0.5 * LIMITS.growth**2 / 2]
    signs = [1.0, -1.0, -1.0, -1.0, 1.0]
    for size in (1.0, 1e-3, 1e3):
        steps = iter(sign * size * w for sign in signs)
        monkeypatch.setattr("weightlift.decomposition.ffdiag._step", lambda M, steps=steps: next(steps))
        monkeypatch.setattr("weightlift.decomposition.ffdiag.balance", lambda M: np.ones(3))
        monkeypatch.setattr("weightlift.decomposition.ffdiag.settled", lambda *_: False)
        B, *_ = ffdiag(rng.standard_normal((2, 3, 3)), 0.0, len(signs))
        expected = np.eye(3)
        for share, sign in zip(shares, signs, strict=True):
            expected = (np.eye(3) + min(share, LIMITS.largest_step / (5e-3 * size)) * sign * size * w) @ expected
        np.testing.assert_allclose(B, expected, rtol=1e-12)


def test_rows_without_a_diagonal_are_scaled_by_their_entries(rng):
    """Slices of any size alike; a row of zeros keeps a finite scale."""
    M = rng.standard_normal((6, 4, 4))
    M += M.transpose(0, 2, 1)
    M[:, 2, 2] = 0.0
    scale = balance(M)
    assert scale[2] ** -4 == pytest.approx(np.finfo(float).eps * np.sum(M[:, 2] ** 2), rel=1e-12)
    for t in (1e-3, 40.0):
        np.testing.assert_allclose(balance(t**2 * M) * t, scale, rtol=1e-12)
    M[:, 1], M[:, :, 1] = 0.0, 0.0
    assert np.isfinite(balance(M)).all()


def test_a_step_between_equal_profiles_does_not_feel_the_size(rng):
    """Their 2 × 2 system is singular: its determinant is kept beside the squares of the profiles, to the last bit."""
    M = rng.standard_normal((6, 3, 3))
    M += M.transpose(0, 2, 1)
    M[:, 1, 1] = M[:, 0, 0]
    W = _step(M)
    assert np.isfinite(W).all()
    np.testing.assert_array_equal(_step(np.ldexp(M, -30)), W)
    np.testing.assert_array_equal(_step(np.ldexp(M, 30)), W)


@pytest.mark.parametrize("method", METHODS)
def test_slices_of_any_size_have_one_solution(method, rng):
    """Times a power of four: B times its root, to the rounding of fourth roots; with noise, too."""
    N = rng.standard_normal((6, 4, 4))
    M = congruent(rng.standard_normal((4, 4)), rng.standard_normal((6, 4))) + 1e-3 * (N + N.transpose(0, 2, 1))
    plain, scaled = (joint_diagonalize(np.ldexp(M, power), method=method, max_sweeps=20) for power in (0, -120))
    np.testing.assert_allclose(scaled.B, np.ldexp(plain.B, 60), rtol=1e-9, atol=1e-9 * np.abs(scaled.B).max())
    assert scaled.off == pytest.approx(plain.off, rel=1e-9)
    assert scaled.sweeps == plain.sweeps


@pytest.mark.parametrize(
    ("runs", "taken"),
    [
        ([(True, 0.5), (True, 0.3)], 1),
        ([(True, 0.5), (True, 0.6)], 0),
        ([(True, 0.5), (True, 0.49999)], 0),
        ([(False, 0.1), (True, 0.5)], 1),
        ([(True, 0.5), (False, 0.1)], 0),
        ([(False, 0.5), (False, 0.1)], 1),
        ([(True, 1e-21), (True, 0.0)], 0),
    ],
)
def test_of_two_starts_the_settled_one_with_less_beside_the_diagonal_is_taken(runs, taken, rng, monkeypatch):
    """… where it is less by more than rounding; after one that is exact no other is tried."""
    M = congruent(rng.standard_normal((3, 3)), rng.standard_normal((4, 3)))
    made = []

    def result(B, M, sweeps, settled):
        converged, off = runs[len(made)]
        made.append(JointDiagonalization(B, M, off, sweeps, converged))
        return made[-1]

    monkeypatch.setattr("weightlift.decomposition.joint_diagonalization._result", result)
    assert joint_diagonalize(M) is made[taken]
    assert len(made) == (1 if runs[0][1] < 1e-20 else 2)


def test_the_first_start_is_a_pencil_and_the_last_a_rotation(rng):
    """On exact slices the pencil's dual is the solution; one slice alone has no pencil."""
    M = congruent(rng.standard_normal((4, 4)), rng.standard_normal((6, 4)))
    pencil, rotation = _starts(M, rng)
    assert off_criterion(pencil @ M @ pencil.T) < 1e-18
    (alone,) = _starts(M[:1], rng)
    for Q in (rotation, alone):
        np.testing.assert_allclose(Q @ Q.T, np.eye(4), atol=1e-14)


def test_of_several_pencils_the_one_with_least_beside_the_diagonal_starts(rng):
    M = rng.standard_normal((6, 4, 4))
    M += M.transpose(0, 2, 1)
    mixtures = np.tensordot(rng.standard_normal((5, 2, 6)), M, axes=1)
    offs = [off_criterion(B @ M @ B.T) for B in (shared_directions(*pair, rank=4).dual for pair in mixtures)]
    for order in (np.argsort(offs), np.argsort(offs)[::-1]):
        B = _best_pencil(M, mixtures[order])
        assert off_criterion(B @ M @ B.T) == pytest.approx(min(offs), rel=1e-12)


def test_slices_may_differ_from_their_transposes_by_rounding_alone(rng):
    M = congruent(rng.standard_normal((3, 3)), rng.standard_normal((4, 3)))
    skew = np.abs(M).max() * np.triu(np.ones((3, 3)), 1)
    assert joint_diagonalize(M + 1e-9 * skew).converged
    with pytest.raises(ArgumentError, match="symmetric"):
        joint_diagonalize(M + 1e-6 * skew)
