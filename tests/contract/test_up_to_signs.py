"""The sign-free stages on the awkward source and in other namespaces: the same sums, the same network."""

from __future__ import annotations

import numpy as np
import pytest
from tests.contract.awkward import Awkward

import weightlift as wl
from weightlift import Network
from weightlift.initialization import robust_fit
from weightlift.initialization.large_biases import _Beyond, _Cap, _Largest
from weightlift.initialization.robust import _SecondProducts
from weightlift.moments import PowerMoments
from weightlift.moments.hermite_regression import HermiteRegression
from weightlift.namespaces import to_numpy
from weightlift.refinement import fit_affine, refine_up_to_signs
from weightlift.refinement.affine import AffineRegression


@pytest.fixture
def problem(rng):
    truth = wl.teachers.biased(4, 3, rng=rng)
    X, y = wl.draw(truth, 150, rng=rng)
    return truth, X, y, rng.uniform(0.5, 1.5, 150)


def test_sums(problem, as_xp, rng):
    truth, X, y, w = problem
    plain, like = wl.samples.open(X, y, sample_weight=w), wl.samples.open(as_xp(X), as_xp(y), sample_weight=as_xp(w))
    U = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    for statistic in (
        PowerMoments(U, 4),
        HermiteRegression(4, 3),
        AffineRegression(4, truth, 2.5),
        AffineRegression(4, None),
        _SecondProducts(U),
        _Largest(4),
        _Cap(U[:, 0] * 2, 1.0, 0.1),
        _Beyond(U[:, 0], 0.7),
    ):
        expected = plain.fold(statistic)
        for source in (Awkward(source=plain), like):
            for a, b in zip(expected, source.fold(statistic), strict=True):
                np.testing.assert_allclose(a, to_numpy(b), rtol=1e-10, atol=1e-10)


def test_stages(problem, rng):
    truth, X, y, w = problem
    rough = Network(-truth.W + 0.02 * rng.standard_normal(truth.W.shape), np.ones(3), -truth.b)
    plain = wl.samples.open(X, y, sample_weight=w)
    found = [refine_up_to_signs(s, fit_affine(s, rough)).network for s in (plain, Awkward(source=plain))]
    assert found[0].equivalent(found[1], 1e-9)
    assert found[0].equivalent(truth, 1e-9)
    robust = [robust_fit(s, rough).network for s in (plain, Awkward(source=plain))]
    np.testing.assert_allclose(robust[0].predict(X), robust[1].predict(X), atol=1e-8)
