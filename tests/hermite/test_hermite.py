"""Hermite polynomials, tensors and contractions against their definitions."""

import itertools
import math

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss, hermeval
from tests.conftest import optional

from weightlift import hermite
from weightlift.errors import ArgumentError, ShapeError

SEEDS = [0, 1, 2]


@pytest.mark.parametrize("order", range(9))
def test_polynomial_agrees_with_numpy(order):
    t = np.linspace(-4, 4, 33)
    expected = hermeval(t, np.eye(order + 1)[order])
    np.testing.assert_allclose(hermite.polynomial(order, t), expected, rtol=1e-13, atol=1e-10)
    np.testing.assert_allclose(hermite.normalized(order, t)[-1], expected / math.sqrt(math.factorial(order)), atol=1e-10)


def test_normalized_polynomials_are_orthonormal():
    t, w = hermegauss(40)
    H = np.stack(hermite.normalized(20, t))
    np.testing.assert_allclose(H * (w / math.sqrt(2 * math.pi)) @ H.T, np.eye(21), atol=1e-12)


@pytest.mark.parametrize("order", range(6))
@pytest.mark.parametrize("seed", SEEDS)
def test_tensor_entries_are_products(order, seed):
    x = np.random.default_rng(seed).normal(size=3)
    T = hermite.tensor(order, x[None, :])[0]
    for index in itertools.product(range(3), repeat=order):
        expected = math.prod(float(hermite.polynomial(index.count(a), x[a])) for a in range(3))
        assert T[index] == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_tensor_equals_signed_matchings(order):
    """He_k(x)(u₁ … u_k) = Σ_matchings (−1)^pairs Π⟨uᵢ, uⱼ⟩ Π⟨uᵢ, x⟩: an independent form of the definition."""
    rng = np.random.default_rng(order)
    x, U = rng.normal(size=4), rng.normal(size=(order, 4))
    value = hermite.tensor(order, x[None, :])[0]
    for u in U:
        value = np.tensordot(u, value, axes=1)
    expected = sum(
        (-1) ** len(pairs) * math.prod(U[i] @ U[j] for i, j in pairs) * math.prod(U[i] @ x for i in singles)
        for pairs, singles in _matchings(list(range(order)))
    )
    assert float(value) == pytest.approx(expected, rel=1e-11)


def test_printed_fourth_moment_of_zhong_is_not_the_hermite_tensor():
    """[zhong2017, Def. 5.1] prints x⁴ − (xx) ⊗̃ I + I ⊗̃ I; the last term must be halved."""
    rng = np.random.default_rng(0)
    x, eye = rng.normal(size=3), np.eye(3)
    placements = ("ab,cd->abcd", "ac,bd->abcd", "bc,ad->abcd", "ad,bc->abcd", "bd,ac->abcd", "cd,ab->abcd")

    def six(M):
        return sum(np.einsum(slots, M, eye) for slots in placements)

    fourth = np.einsum("a,b,c,d->abcd", x, x, x, x) - six(np.outer(x, x))
    exact = hermite.tensor(4, x[None, :])[0]
    np.testing.assert_allclose(fourth + 0.5 * six(eye), exact, atol=1e-12)
    assert np.abs(fourth + six(eye) - exact).max() > 0.9
    value = hermite.contraction(np.ones(1), x[None, :], free=4, gram=eye)
    np.testing.assert_allclose(value, exact, atol=1e-12)


def test_bad_orders_and_sizes_are_refused():
    with pytest.raises(ArgumentError, match="order"):
        hermite.polynomial(-1, np.zeros(2))
    with pytest.raises(ArgumentError, match="entries"):
        hermite.tensor(8, np.zeros((4, 50)))
    with pytest.raises(ShapeError, match="X"):
        hermite.tensor(2, np.zeros(3))


def _matchings(items):
    if not items:
        return [([], [])]
    head, tail = items[0], items[1:]
    found = [(pairs, [head, *singles]) for pairs, singles in _matchings(tail)]
    for i, other in enumerate(tail):
        found += [([(head, other), *pairs], singles) for pairs, singles in _matchings(tail[:i] + tail[i + 1 :])]
    return found


def test_tensors_stay_on_the_second_device(rng):
    strict = optional("array_api_strict")
    X = rng.normal(size=(4, 2))
    there = hermite.tensor(3, strict.asarray(X, device=strict.Device("device1")))
    assert there.device == strict.Device("device1")
    np.testing.assert_array_equal(np.asarray(there.to_device(strict.Device("CPU_DEVICE"))), hermite.tensor(3, X))


@pytest.mark.parametrize("order", [1, 7, 8, 9, 10, 24, 25, 40])
def test_two_consecutive_polynomials_are_not_small_together(order):
    """[awasthi2021, Lemma 4.3], √(k!)/2, holds for k ≤ 7 alone; 0.69 (2/(πk))^{1/4} √(k!) holds for all of these."""
    t = np.linspace(0, 2 * math.sqrt(order) + 2, 20_001)
    least = np.maximum(*np.abs(hermite.polynomials(order + 1, t)[-2:])).min() / math.sqrt(math.factorial(order))
    assert (least >= 0.5) == (order <= 7)
    assert least >= 0.69 * (2 / (math.pi * order)) ** 0.25
