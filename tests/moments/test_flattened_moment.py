"""Hermite coefficients as tensors, matrices on symmetric powers and operators: one value by every route."""

import math
import os

import numpy as np
import pytest
from scipy.special import ndtr
from tests.contract.awkward import Awkward

import weightlift as wl
from weightlift import errors, hermite, samples
from weightlift.hermite.symmetric import symmetric_basis, symmetric_dimension
from weightlift.moments import flattened_moment
from weightlift.moments.flattened_moment import (
    FlattenedMoment,
    FlattenedProduct,
    check_flattening,
    check_memory,
    hermite_coefficient,
    moment_operator,
)
from weightlift.namespaces import to_numpy

ORDERS = [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2), (3, 0)]


def embedding(d, order):
    basis = symmetric_basis(d, order)
    return np.stack([np.ravel(basis.unpack(e)) for e in np.eye(basis.size)], axis=1)


@pytest.mark.parametrize(("half", "filled"), ORDERS)
def test_rows_agree_with_whole_tensors(as_xp, half, filled):
    rng = np.random.default_rng(half + filled)
    d, X, y, w = 3, rng.normal(size=(40, 3)), rng.normal(size=40), rng.uniform(size=40)
    alpha = 1.3 * rng.normal(size=d)
    T = np.tensordot(w * y, hermite.tensor(2 * half + filled, X), axes=1) / w.sum()
    for _ in range(filled):
        T = T @ alpha
    E = embedding(d, half)
    expected = E.T @ T.reshape(d**half, d**half) @ E
    source = samples.open(as_xp(X), as_xp(y), sample_weight=as_xp(w))
    found = to_numpy(source.mean(FlattenedMoment(d, half, filled, alpha))[0])
    np.testing.assert_allclose(found, expected, atol=1e-12 * np.abs(expected).max())
    Z = rng.normal(size=(E.shape[1], 2))
    product = to_numpy(source.mean(FlattenedProduct(d, half, Z, filled, alpha))[0])
    np.testing.assert_allclose(product, expected @ Z, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("order", range(7))
def test_lemma_3_5(order, rng):
    """T_k = Σ aᵢ c_k(bᵢ) wᵢ^{⊗k}: c₀ = bΦ + φ, c₁ = Φ, c_k = (−1)ᵏ He_{k−2}(b) φ(b); large samples agree within their error."""
    truth = wl.teachers.biased(2, 3, rng=rng)
    a, b, W = truth.a, truth.b, truth.W
    density = np.exp(-(b**2) / 2) / math.sqrt(2 * math.pi)
    c = (
        b * ndtr(b) + density
        if order == 0
        else ndtr(b)
        if order == 1
        else (-1) ** order * hermite.polynomial(order - 2, b) * density
    )
    expected = np.zeros((2,) * order)
    for i in range(3):
        power = np.ones(())
        for _ in range(order):
            power = np.multiply.outer(power, W[:, i])
        expected = expected + a[i] * c[i] * power
    np.testing.assert_allclose(hermite_coefficient(samples.population(truth), order), expected, atol=1e-13)
    X, y = wl.draw(truth, 40_000, rng=rng)
    found = hermite_coefficient(samples.open(X, y), order)
    spread = np.std(y[:, None] * hermite.tensor(order, X).reshape(len(X), -1), axis=0).reshape(expected.shape)
    assert np.all(np.abs(found - expected) <= 5 * spread / math.sqrt(len(X)))


@pytest.mark.parametrize(("half", "filled"), ORDERS)
def test_population_and_operator(half, filled, rng):
    truth, alpha = wl.teachers.biased(4, 5, rng=rng), rng.normal(size=4)
    exact = samples.population(truth)
    matrix = exact.mean(FlattenedMoment(4, half, filled, alpha))[0]
    T = hermite_coefficient(exact, 2 * half + filled)
    for _ in range(filled):
        T = T @ alpha
    E = embedding(4, half)
    np.testing.assert_allclose(matrix, E.T @ T.reshape(4**half, 4**half) @ E, atol=1e-13)
    operator = moment_operator(exact, half, filled, alpha)
    z, Z = rng.normal(size=len(matrix)), rng.normal(size=(len(matrix), 3))
    np.testing.assert_allclose(operator @ z, matrix @ z, atol=1e-12)
    np.testing.assert_allclose(operator.H @ Z, matrix @ Z, atol=1e-12)


def test_an_operator_on_rows_finds_the_eigenvalues():
    from scipy.sparse.linalg import eigsh

    truth = wl.teachers.biased(3, 2, rng=0)
    source = samples.open(*wl.draw(truth, 500, rng=1))
    dense = np.linalg.eigvalsh(source.mean(FlattenedMoment(3, 2))[0])
    found = eigsh(moment_operator(source, 2), k=2, which="LM", v0=np.ones(6), return_eigenvectors=False)
    np.testing.assert_allclose(np.sort(np.abs(found)), np.sort(np.abs(dense))[-2:], rtol=1e-8)


def test_blocks_do_not_matter(rng):
    X, y, alpha = rng.normal(size=(60, 3)), rng.normal(size=60), rng.normal(size=3)
    plain = samples.open(X, y)
    for statistic in (FlattenedMoment(3, 2, 1, alpha), FlattenedProduct(3, 2, rng.normal(size=(6, 2)), 2, alpha)):
        np.testing.assert_allclose(Awkward(source=plain).mean(statistic)[0], plain.mean(statistic)[0], atol=1e-11)


def test_sizes_grow_with_the_symmetric_power_only():
    """ℓ = 2 at d = 12: 78 × 78 matrices, where flat ones of the order 6 have 3·10⁶ entries."""
    statistic = FlattenedMoment(12, 2, 2, np.ones(12))
    assert symmetric_dimension(12, 2) == 78
    assert statistic.floats_per_row < 250
    source = samples.open(*wl.draw(wl.teachers.biased(12, 3, rng=0), 200, rng=0))
    assert source.mean(statistic)[0].shape == (78, 78)


def test_too_much_memory_is_refused_with_the_amount(monkeypatch):
    with pytest.raises(errors.ArgumentError, match=r"ℓ = 5 with 40 inputs.* GiB"):
        check_flattening(40, 5, max_memory=2**31)
    check_flattening(12, 2, max_memory=2**30)
    whole = 8 * 9**4 / flattened_moment.LIMITS.memory_share  # of a tensor of order 4 in float64
    source = samples.population(wl.teachers.biased(9, 2, rng=0))
    monkeypatch.setattr(flattened_moment, "_machine_memory", lambda: 0.99 * whole)
    with pytest.raises(errors.ArgumentError, match="contract"):
        hermite_coefficient(source, 4)
    monkeypatch.setattr(flattened_moment, "_machine_memory", lambda: 1.01 * whole)
    assert hermite_coefficient(source, 4).shape == (9,) * 4


def test_what_is_at_hand_is_a_share_of_the_machines_memory(monkeypatch):
    """Pages times their size; where the machine tells neither, small problems run and a petabyte is refused."""
    monkeypatch.setattr(os, "sysconf", {"SC_PHYS_PAGES": 3000, "SC_PAGE_SIZE": 4096}.__getitem__)
    at_hand = flattened_moment.LIMITS.memory_share * 3000 * 4096
    check_memory(0.99 * at_hand, "these", "take less")
    with pytest.raises(errors.ArgumentError, match=r"these need .* take less"):
        check_memory(1.01 * at_hand, "these", "take less")

    def untold(name):
        raise ValueError(name)

    monkeypatch.setattr(os, "sysconf", untold)
    check_memory(2.0**20, "these", "take less")
    with pytest.raises(errors.ArgumentError, match="these need"):
        check_memory(2.0**50, "these", "take less")
