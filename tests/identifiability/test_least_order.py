"""The least order at which the powers of the weights are independent."""

from __future__ import annotations

import importlib
import itertools
import math

import numpy as np
import pytest

from weightlift import errors
from weightlift.identifiability import least_order
from weightlift.identifiability.least_order import power_factors
from weightlift.network import Network

least_order_module = importlib.import_module("weightlift.identifiability.least_order")  # the name is the function's, too


def khatri_rao(U, order):
    K = np.ones((1, U.shape[1]))
    for _ in range(order):
        K = (K[:, None, :] * U[None, :, :]).reshape(-1, U.shape[1])
    return K


@pytest.mark.parametrize(("d", "k"), [(2, 5), (3, 6), (3, 7), (4, 11), (7, 7), (9, 4)])
def test_least_order_of_generic_weights(rng, monkeypatch, d, k):
    W = rng.normal(size=(d, k)) * rng.uniform(0.1, 10, k)
    found = least_order(W)
    expected = next(n for n in range(1, 9) if math.comb(d + n - 1, n) >= k)
    assert found.order == expected
    U = W / np.linalg.norm(W, axis=0)
    for n, value in enumerate(found.singular_values, start=1):
        K = khatri_rao(U, n)
        direct = np.linalg.svd(K, compute_uv=False)[-1] if len(K) >= k else 0.0
        assert value == pytest.approx(direct, rel=1e-9, abs=1e-13)
    assert found.smallest == found.singular_values[-1] > 1e-9
    for block in (1, 50, 2**20):  # powers are built in blocks of rows
        monkeypatch.setattr(least_order_module, "BLOCK_ENTRIES", block)
        for n, factor in enumerate(itertools.islice(power_factors(U), 5)):
            assert len(factor) <= k
            np.testing.assert_allclose(factor.T @ factor, (U.T @ U) ** n, atol=1e-13)
    assert least_order(Network(W), max_order=expected).order == expected
    if expected > 1:
        assert least_order(W, max_order=expected - 1).order is None


def test_least_singular_value_never_falls_and_keeps_its_digits():
    """Two unit vectors at angle t: s₂² = 1 − (cos t)^ℓ, which a Gram matrix loses below t = 1e-8."""
    for t in (1e-3, 1e-6, 1e-9):
        U = np.array([[1.0, math.cos(t)], [0.0, math.sin(t)], [0.0, 0.0]])
        last = 0.0
        for n in (1, 2, 3):
            factor = next(itertools.islice(power_factors(U), n, None))
            s = np.linalg.svd(factor, compute_uv=False)[-1]
            assert s == pytest.approx(math.sqrt(-math.expm1(n * math.log1p(-2 * math.sin(t / 2) ** 2))), rel=1e-6)
            assert s > last
            last = s


def test_vectors_in_a_plane_need_order_k_minus_1(rng):
    angles = np.sort(rng.uniform(0, math.pi, 5)) + np.arange(5) * 0.02
    plane = np.linalg.qr(rng.normal(size=(6, 2)))[0]
    assert least_order(plane @ np.array([np.cos(angles), np.sin(angles)]), max_order=6).order == 4


def test_parallel_weights_are_never_independent(rng):
    W = rng.normal(size=(5, 4))
    W[:, 3] = -2 * W[:, 1]
    found = least_order(W, max_order=5)
    assert found.order is None
    assert found.parallel == ((1, 3),)
    assert len(found.singular_values) == 5
    assert max(found.singular_values) < 1e-9
    with pytest.raises(errors.ArgumentError, match="unit 2 has weight zero"):
        least_order(W * [1, 1, 0, 1])
    with pytest.raises(errors.ArgumentError, match="max_order"):
        least_order(W, max_order=0)
