"""Every method on exact, noisy and degenerate tensors: components, ranks, symmetries, refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from weightlift import decomposition
from weightlift.decomposition import DecompositionStatus, compose, decompose, kcl
from weightlift.decomposition.components import fit_components
from weightlift.decomposition.tensors import multilinear
from weightlift.errors import ArgumentError, NotFiniteError, ShapeError, SingularError

NAMES = ["auto", "kcl", "jennrich", "power"]


@pytest.mark.parametrize("order", [3, 4])
@pytest.mark.parametrize(("k", "kappa"), [(1, 1), (2, 10), (5, 10), (12, 10), (20, 3)])
def test_exact_tensors_to_1e_9(plant, errors, seed, order, k, kappa):
    c, U = plant(k, kappa, seed)
    found = decompose(compose(c, U, order), k, rng=seed)
    assert found.status is DecompositionStatus.EXACT
    assert max(errors(found, c, U)) < 1e-9


@pytest.mark.parametrize("order", [3, 4])
def test_thirty_components(plant, errors, order):
    c, U = plant(30, 10, 7)
    found = decompose(compose(c, U, order), 30)
    assert max(errors(found, c, U)) < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("order", [3, 4])
@pytest.mark.parametrize("k", [2, 5, 10, 20, 30])
def test_fifty_of_fifty_seeds(plant, errors, order, k):
    worst = 0.0
    for seed in range(50):
        c, U = plant(k, 10, seed)
        worst = max(worst, *errors(decompose(compose(c, U, order), k, rng=seed), c, U))
    assert worst < 1e-9


@pytest.mark.parametrize("method", NAMES)
@pytest.mark.parametrize("order", [3, 4])
def test_every_method_reduces_to_the_range(plant, errors, seed, method, order):
    """Four components in nine dimensions; the rank is given or counted."""
    c, U = plant(4, 5, seed, n=9)
    for rank in (4, None):
        found = decompose(compose(c, U, order), rank, method=method)
        assert found.rank == 4
        assert found.order == order
        assert found.factors.shape == (9, 4)
        assert max(errors(found, c, U)) < 1e-9
        np.testing.assert_allclose(found.tensor(), compose(c, U, order), atol=1e-11)
        np.testing.assert_allclose(found.condition, np.linalg.cond(U), rtol=1e-8)
        assert (found.singular_values[4:] < 1e-12 * found.singular_values[0]).all()


@pytest.mark.parametrize("refine", [False, True])
@pytest.mark.parametrize("order", [3, 4])
def test_noise_enters_linearly(plant, errors, symmetric_noise, seed, order, refine):
    c, U = plant(6, 3, seed, n=8)
    T, N = compose(c, U, order), symmetric_noise(8, order, seed)
    small, large = (decompose(T + e * np.linalg.norm(T) * N, 6, refine=refine) for e in (1e-6, 1e-4))
    for i in (0, 1):
        assert 90 < errors(large, c, U)[i] / errors(small, c, U)[i] < 111
    assert 90 < large.residual / small.residual < 111
    assert 1e-5 < large.residual < 1e-4
    assert large.refined is refine
    assert large.status is DecompositionStatus.APPROXIMATE
    assert large.succeeded


@pytest.mark.parametrize("order", [3, 4])
def test_rotation_and_scale_equivariance(plant, seed, order):
    """T(Q, …, Q) has factors Qᵀu; t·T has weights t·c."""
    c, U = plant(6, 4, seed)
    T = compose(c, U, order)
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((6, 6)))[0]
    plain, turned, scaled = decompose(T, 6), decompose(multilinear(T, Q), 6), decompose(-3e7 * T, 6)
    signs = np.sign((turned.factors * (Q.T @ plain.factors)).sum(axis=0))
    np.testing.assert_allclose(turned.factors * signs, Q.T @ plain.factors, atol=1e-10)
    np.testing.assert_allclose(turned.weights, plain.weights, rtol=1e-10)
    if order == 3:
        np.testing.assert_array_equal(signs, 1)
        np.testing.assert_allclose(scaled.weights, 3e7 * plain.weights, rtol=1e-10)
        np.testing.assert_allclose(scaled.factors, -plain.factors, atol=1e-10)
    else:
        np.testing.assert_allclose(scaled.weights, -3e7 * plain.weights, rtol=1e-10)
        np.testing.assert_allclose(scaled.factors, plain.factors, atol=1e-10)


@pytest.mark.parametrize("power", [-1000, -300, 300, 1000])
@pytest.mark.parametrize("method", NAMES)
def test_any_scale_gives_the_same_bits(plant, symmetric_noise, method, power):
    """Times 2^power, exactly: squares of the entries would overflow or vanish."""
    c, U = plant(4, 3, 1, n=5)
    T = compose(c, U, 3) + 1e-3 * symmetric_noise(5, 3, 1)
    plain, scaled = decompose(T, 4, method=method), decompose(np.ldexp(T, power), 4, method=method)
    np.testing.assert_array_equal(scaled.factors, plain.factors)
    np.testing.assert_array_equal(scaled.weights, np.ldexp(plain.weights, power))
    np.testing.assert_array_equal(scaled.singular_values, np.ldexp(plain.singular_values, power))
    assert scaled.residual == plain.residual


def test_second_moment_whitens(plant, errors, seed):
    c, U = plant(4, 5, seed, n=7)
    found = decompose(compose(c, U, 3), 4, method="power", second_moment=-2 * U @ U.T)
    assert max(errors(found, c, U)) < 1e-9
    with pytest.raises(ArgumentError, match="method='power'"):
        decompose(compose(c, U, 3), 4, second_moment=U @ U.T)
    with pytest.raises(ShapeError, match="second_moment"):
        decompose(compose(c, U, 3), 4, method="power", second_moment=np.eye(4))


def test_a_method_may_be_a_callable(plant, errors):
    c, U = plant(4, 5, 0, n=6)
    sides = []

    def one(R, *, rng):
        sides.append(R.shape)
        return kcl(R, projections=7, diagonalizer="qrj1d", rng=rng)

    assert max(errors(decompose(compose(c, U, 4), 4, method=one), c, U)) < 1e-9
    assert sides == [(4, 4, 4, 4)]


def test_ffdiag_settles_on_pure_noise(symmetric_noise):
    """Whole steps would turn back on each other there; they are halved until they do not."""
    for seed in range(8):
        T = symmetric_noise(6, 3, seed)
        plain, auto = kcl(T), decompose(T, 6)
        assert plain.succeeded
        assert auto.status is DecompositionStatus.APPROXIMATE
        assert 0.1 < auto.residual < 1


@pytest.mark.parametrize("refine", [False, True])
def test_a_failure_of_the_method_reaches_the_caller(plant, symmetric_noise, refine):
    c, U = plant(15, 10, 0)
    T = compose(c, U, 3)
    found = decompose(T + 0.3 * np.linalg.norm(T) * symmetric_noise(15, 3, 0), 15, method="jennrich", refine=refine)
    assert found.status is DecompositionStatus.COMPLEX_EIGENVALUES
    assert not found.succeeded


def test_too_small_a_rank_shows_in_the_residual(plant):
    c, U = plant(6, 2, 0)
    found = decompose(compose(c, U, 3), 4)
    assert found.rank == 4
    assert found.residual > 0.1
    assert found.singular_values[4] > 0.1 * found.singular_values[0]
    assert found.status is not DecompositionStatus.EXACT


def test_integers_and_single_precision_are_taken(plant, errors):
    U = np.array([[1, 2], [3, -1]])
    found = decompose(np.rint(compose([1, -1], U, 3)).astype(int), 2)
    assert found.residual < 1e-14
    c, U = plant(4, 3, 0)
    found = decompose(compose(c, U, 3).astype(np.float32), 4)
    assert found.weights.dtype == np.float64
    assert max(errors(found, c, U)) < 1e-5


@pytest.mark.parametrize("order", [3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_dependent_components_are_found_in_their_span(order, seed, errors):
    """Centred weights [mondelli2019, eq. (2)]: r = 6 in eight dimensions, of which they span five."""
    W = np.linalg.qr(np.random.default_rng(seed).normal(size=(8, 6)))[0]
    W -= W.mean(axis=1, keepdims=True)
    T = compose(np.ones(6), W, order)
    found = decompose(T, 6, rng=seed)
    assert found.status is DecompositionStatus.EXACT
    assert max(errors(found, np.linalg.norm(W, axis=0) ** order, W / np.linalg.norm(W, axis=0))) < 1e-7
    assert found.condition < 1e3
    with pytest.raises(SingularError, match=r"rank=8.*only 6 components" if order == 4 else r"rank=8.*rank 5"):
        decompose(compose(np.ones(5), W[:, :5], order) if order == 3 else T, 8, rng=seed)
    with pytest.raises(ArgumentError, match="exceeds the side n=5"):
        decompose(T, 6, method="kcl")


def test_refusals(plant):
    c, U = plant(3, 2, 0, n=5)
    T = compose(c, U, 3)
    with pytest.raises(ArgumentError, match=r"rank=6 exceeds the side n=5.*overcomplete"):
        decompose(T, 6)
    with pytest.raises(SingularError, match=r"rank=4.*Ask for rank=3"):
        decompose(T, 4)
    small = compose([1.0, -2.0, 0.5], [[1.0, 0.3, -0.5], [0.2, 1.0, 1.0]], 3)
    with pytest.raises(ArgumentError, match="rank=5, but symmetric tensors of this shape have 4 dimensions"):
        decompose(small, 5, method="implicit_cp")
    assert decompose(small, 4, method="implicit_cp", refine=False).rank == 4
    for rank in (0, -1):
        with pytest.raises(ArgumentError, match="at least 1"):
            decompose(T, rank)
    with pytest.raises(ArgumentError, match="rank must be an integer"):
        decompose(T, 2.5)
    with pytest.raises(ArgumentError, match="'kcl', 'jennrich', 'power'"):
        decompose(T, 3, method="als")
    with pytest.raises(NotFiniteError, match="complex"):
        decompose(T + 0j, 3)
    with pytest.raises(ShapeError, match="order 3"):
        decompose(T[0], 3)
    T[0, 1, 2] += 1
    with pytest.raises(ArgumentError, match="not symmetric"):
        decompose(T, 3)


@pytest.mark.parametrize("residuals", [(0.3, 0.1, 0.2), (0.3, 1e-13, 0.2), (0.1, 0.2, 0.3)])
def test_of_several_tries_the_best_is_kept_and_an_exact_one_ends_them(plant, residuals, monkeypatch):
    """Dependent components of an odd order: fits from fresh starts, until one is exact."""
    c, U = plant(3, 2, 0)
    T, made = compose(c, U, 3), []

    def fit(R, *, rank, rng):
        residual = residuals[len(made) % 3]
        status = DecompositionStatus.EXACT if residual < 1e-12 else DecompositionStatus.APPROXIMATE
        made.append(replace(fit_components(T, U, method="given"), residual=residual, status=status))
        return made[-1]

    monkeypatch.setattr(decomposition, "implicit_cp", fit)
    found = decomposition._until_exact(3, lambda _, found: found)(T, np.random.default_rng(0))
    assert found.residual == min(residuals)
    assert len(made) == (2 if found.status is DecompositionStatus.EXACT else decomposition.LIMITS.dependent_tries)


@pytest.mark.parametrize("order", [3, 4])
@pytest.mark.parametrize("kappa", [1e2, 1e3])
def test_ill_conditioned_factors_keep_their_digits(plant, order, kappa):
    """A pencil takes over where joint diagonalisation leaves a residual above rounding."""
    c, U = plant(4, kappa, 0)
    T = compose(c, U, order)
    found = decompose(T, 4)
    assert found.residual < 30 * 4 * np.finfo(float).eps
    assert np.linalg.norm(found.tensor() - T) <= 1.01 * found.residual * np.linalg.norm(T) + 1e-300


def test_noise_of_order_four_is_not_counted_as_components(symmetric_noise, seed):
    """All n(n+1)/2 eigenvalues of its flattening differ from zero; squares are unique for n(n−1)/2 of them at most."""
    found = decompose(symmetric_noise(4, 4, seed), None)
    assert found.method != "subspace_power"
    assert found.rank == 4


@pytest.mark.parametrize(("residual", "tried"), [(0.5, ["kcl"]), (2.0, ["kcl", "jennrich"]), (1e12, ["kcl"])])
def test_a_pencil_is_tried_between_rounding_and_noise(plant, residual, tried):
    """In units of the rounding of n dimensions: what is exact, or noise, no pencil improves."""
    c, U = plant(6, 2, 0)
    T, seen = compose(c, U, 3), []

    def left(_, found):
        seen.append(found.method)
        return replace(found, residual=residual * decomposition.LIMITS.rounding * 6)

    decomposition._run(T, 6, "auto", None, left, np.random.default_rng(0))
    assert seen == tried
