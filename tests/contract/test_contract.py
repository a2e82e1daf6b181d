"""Every stage on the awkward source gives what it gives on arrays."""

import numpy as np
import pytest
from tests.contract.awkward import Awkward

from weightlift import moments, samples
from weightlift.samples import Covariance, Whitening
from weightlift.subspace import SecondMoment, leading_subspace


@pytest.fixture
def pair(rng):
    X = rng.normal(size=(400, 5))
    y = np.maximum(X @ rng.normal(size=(5, 2)), 0).sum(axis=1)
    source = samples.open(X, y, sample_weight=rng.uniform(0.5, 1.5, size=400))
    return source, Awkward(source=source)


def statistics(rng):
    V, alpha = np.linalg.qr(rng.normal(size=(5, 2)))[0], rng.normal(size=5)
    return [
        Covariance(5),
        moments.HermiteMoment(5, 2),
        moments.HermiteMoment(5, 3, V, 1, alpha),
        moments.MomentProduct(V, 1, alpha),
        moments.UnfoldedMoment(V),
        moments.DirectionalMoments(V, (0, 1, 2, 3, 4)),
    ]


def test_sizes_and_statistics(pair, rng):
    plain, awkward = pair
    assert (awkward.n, awkward.d) == (plain.n, plain.d)
    assert awkward.total == pytest.approx(plain.total, rel=1e-14)
    for statistic in statistics(rng):
        for a, b in zip(plain.fold(statistic), awkward.fold(statistic), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)


def test_splits_maps_and_blocks(pair, rng):
    plain, awkward = pair
    for p, q in zip(plain.split(0.3, 0.7, seed=5), awkward.split(0.3, 0.7, seed=5), strict=True):
        assert p.n == q.n
        white = Whitening.estimated(p)
        np.testing.assert_allclose(Whitening.estimated(q).root, white.root, rtol=1e-9, atol=1e-12)
        for statistic in statistics(rng):
            for a, b in zip(p.map(white).mean(statistic), q.map(white).mean(statistic), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10)
    for a, b in zip(plain.blocks(64, start=10), awkward.blocks(64, start=10), strict=True):
        np.testing.assert_array_equal(a.X, b.X)
        np.testing.assert_array_equal(a.key, b.key)


def test_control_variates_and_subspace(pair):
    plain, awkward = pair
    spaces = []
    for source in (plain, awkward):
        residual = moments.remove_linear(source)
        V = leading_subspace(residual, SecondMoment(), 2).V
        quadratic = moments.remove_quadratic(residual, V)
        spaces.append((V @ V.T, quadratic.mean(moments.HermiteMoment(5, 3, np.eye(5)[:, :2]))[0]))
    for a, b in zip(*spaces, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)
