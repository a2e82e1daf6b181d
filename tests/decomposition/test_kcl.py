from __future__ import annotations

import numpy as np
import pytest

from weightlift.decomposition import DecompositionStatus, compose, joint_diagonalize, kcl
from weightlift.decomposition.tensors import slices
from weightlift.errors import ArgumentError, SingularError


@pytest.mark.parametrize("order", [3, 4, 5])
@pytest.mark.parametrize("k", [1, 2, 3, 8])
@pytest.mark.parametrize("diagonalizer", ["ffdiag", "qrj1d"])
def test_exact_tensors(plant, errors, seed, order, k, diagonalizer):
    c, U = plant(k, 5, seed)
    found = kcl(compose(c, U, order), diagonalizer=diagonalizer, rng=seed)
    assert found.status is DecompositionStatus.EXACT
    assert found.method == "kcl"
    assert not found.refined
    assert max(errors(found, c, U)) < 1e-10


@pytest.mark.parametrize("projections", [2, 3, 100])
def test_two_projections_fix_the_factors(plant, errors, seed, projections):
    c, U = plant(5, 3, seed)
    assert max(errors(kcl(compose(c, U, 3), projections=projections, rng=seed), c, U)) < 1e-10


@pytest.mark.parametrize("order", [3, 4])
def test_noise_enters_linearly(plant, errors, symmetric_noise, seed, order):
    c, U = plant(6, 3, seed)
    T, N = compose(c, U, order), symmetric_noise(6, order, seed)
    small, large = (errors(kcl(T + e * np.linalg.norm(T) * N), c, U)[0] for e in (1e-6, 1e-4))
    assert 90 < large / small < 111
    assert large < 20e-4


def test_many_projections_average_the_noise(plant, errors, symmetric_noise):
    """With k random slices and more, the error is below that of two slices."""
    two, hundred = [], []
    for seed in range(10):
        c, U = plant(6, 3, seed)
        T = compose(c, U, 3)
        T = T + 1e-3 * np.linalg.norm(T) * symmetric_noise(6, 3, seed)
        two.append(errors(kcl(T, projections=2, rng=seed), c, U)[0])
        hundred.append(errors(kcl(T, projections=100, rng=seed), c, U)[0])
    assert np.median(hundred) < np.median(two)


def test_the_plug_in_sharpens_the_first_stage(plant, symmetric_noise):
    """Against joint diagonalisation of 100 random slices alone, over 40 draws at one noise level."""
    once, twice = [], []
    for seed in range(40):
        c, U = plant(5, 2, seed)
        T = compose(c, U, 3)
        T = T + 0.1 * np.linalg.norm(T) * symmetric_noise(5, 3, seed)
        G = np.random.default_rng(seed).standard_normal((5, 100))
        G /= np.linalg.norm(G, axis=0)
        for results, factors in ((once, joint_diagonalize(slices(T, G)).factors), (twice, kcl(T, rng=seed).factors)):
            results.append(np.sqrt(2 - 2 * np.abs(factors.T @ U).max(axis=0)).max())
    assert np.median(twice) < 0.98 * np.median(once)


def test_same_seed_same_bits(plant, symmetric_noise):
    c, U = plant(5, 3, 1)
    T = compose(c, U, 3) + 0.01 * symmetric_noise(5, 3, 1)
    first, second, other = kcl(T, rng=3), kcl(T, rng=np.random.default_rng(3)), kcl(T, rng=4)
    np.testing.assert_array_equal(first.factors, second.factors)
    assert not np.array_equal(first.factors, other.factors)


def test_refusals(plant):
    c, U = plant(3, 2, 0)
    with pytest.raises(ArgumentError, match="at least 2"):
        kcl(compose(c, U, 3), projections=1)
    with pytest.raises(ArgumentError, match="ffdiag, qrj1d"):
        kcl(compose(c, U, 3), diagonalizer="jacobi")
    with pytest.raises(SingularError, match="common range"):
        kcl(compose(c[:2], U[:, :2], 3))
