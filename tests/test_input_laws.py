"""Inputs that are not Gaussian: what notices them, what corrects them, and what does not need them to be."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.stats
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

import weightlift as wl
from weightlift import samples
from weightlift.errors import NotGaussianWarning
from weightlift.moments import HermiteMoment
from weightlift.moments.gaussianity import gaussianity
from weightlift.moments.limits import LIMITS
from weightlift.namespaces import to_numpy
from weightlift.samples import Radial, Whitening


def student_t(n, d, degrees, rng):
    return rng.normal(size=(n, d)) / np.sqrt(rng.chisquare(degrees, size=n) / degrees)[:, None]


def whitened(X, y=None):
    source = samples.open(X, X[:, 0] if y is None else y)
    return source.map(Whitening.estimated(source)).persist()


@pytest.mark.parametrize(
    ("law", "where"),
    [
        (lambda rng: rng.exponential(size=(3000, 4)), "column"),
        (lambda rng: rng.uniform(size=(3000, 4)), "kurtosis"),
        (lambda rng: student_t(3000, 4, 8, rng), "kurtosis"),
        (lambda rng: _gaussian_columns_alone(3000, rng), "projection"),
    ],
)
def test_other_laws_are_noticed(law, where, rng):
    test = gaussianity(whitened(law(rng)))
    assert not test.gaussian
    assert where in test.where or where == "column"
    assert "not Gaussian" in str(test)
    assert any("radial correction" in sentence for sentence in test.effects())
    assert any("Certificate: unaffected" in sentence for sentence in test.effects())


def _gaussian_columns_alone(n, rng):
    """Columns x and s x with one random sign s a row: each is Gaussian and they are uncorrelated, their sum is not."""
    x = rng.normal(size=n)
    return np.stack([x, np.where(rng.random(n) < 0.5, -x, x)], axis=1)


def test_gaussian_inputs_pass(rng):
    X = rng.normal(size=(3000, 5)) @ rng.normal(size=(5, 5)) + 3.0
    test = gaussianity(whitened(X))
    assert test.gaussian
    assert "Moments: usable" in test.effects()[0]


@pytest.mark.parametrize("d", [1, 3, 6])
def test_standard_errors_are_those_of_gaussian_rows(d, rng):
    """Skewness, kurtosis and ‖x‖⁴ less what ‖x‖² explains of it, over their standard deviations from the moments of χ²."""
    X = rng.normal(size=(400, d))
    for power in (1.0, -1.0):  # of the length: long tails, and a sphere, of which the radial statistic is the worst
        rows = whitened(X * np.linalg.norm(X, axis=1, keepdims=True) ** power)
        Z = next(rows.blocks(400)).X
        Q = np.random.default_rng(0).normal(size=(d, LIMITS.projections if d > 1 else 0))
        U, n = np.hstack([Z, Z @ (Q / np.linalg.norm(Q, axis=0))]), len(Z)
        normal, radius = scipy.stats.norm(), scipy.stats.chi2(d)
        slope = (radius.moment(3) - radius.moment(2) * radius.moment(1)) / radius.var()
        spread = radius.moment(4) - radius.moment(2) ** 2 - slope**2 * radius.var()
        third = np.mean(U**3, axis=0) / np.sqrt((normal.moment(6) - 9.0) / n)  # He_3 has the variance 6 = 15 − 9
        fourth = (np.mean(U**4, axis=0) - 3.0) / np.sqrt(24.0 / n)
        radial = (np.mean(np.sum(Z**2, axis=1) ** 2) - radius.moment(2)) / np.sqrt(spread / n)
        assert gaussianity(rows).z == pytest.approx(np.abs([*third, *fourth, radial]).max(), rel=1e-9)
    assert d == 1 or gaussianity(rows).where == "radial kurtosis"


def test_uneven_weights_do_not_make_gaussian_inputs_suspect(rng):
    """A weighted mean varies as that of (Σw)²/Σw² rows; with the number of rows in its place two in three fail."""
    for _ in range(4):
        X = rng.normal(size=(2000, 5))
        for law, gaussian in ((X, True), (X**3, False)):
            source = samples.open(law, X[:, 0], sample_weight=rng.lognormal(sigma=2.0, size=2000))
            assert gaussianity(source.map(Whitening.estimated(source))).gaussian is gaussian


@pytest.mark.parametrize("activation", ["relu", "squared_relu"])
def test_the_radial_map_makes_elliptical_rows_gaussian_and_keeps_the_network(activation, rng, as_xp):
    truth = wl.teachers.conditioned(5, 2, activation=activation, rng=0)
    X = student_t(4000, 5, 6, rng)
    source = samples.open(as_xp(X), as_xp(truth.predict(X))).map(Radial(truth.activation.degree, seed=1)).persist()
    block = next(source.blocks(4000))
    mapped = to_numpy(block.X)
    np.testing.assert_allclose(to_numpy(block.y), truth.predict(mapped), rtol=1e-11, atol=1e-11)
    cosines = np.sum(mapped * X, axis=1) / (np.linalg.norm(mapped, axis=1) * np.linalg.norm(X, axis=1))
    np.testing.assert_allclose(cosines, 1.0)
    assert gaussianity(whitened(mapped)).gaussian
    assert np.mean(np.sum(mapped**2, axis=1)) == pytest.approx(5.0, abs=5 * np.sqrt(10 / 4000))


def test_a_row_at_the_origin_stays_there():
    source = samples.open(np.array([[0.0, 0.0], [1.0, 2.0]]), np.array([0.0, 1.0])).map(Radial(1.0, seed=0))
    block = next(source.blocks(2))
    assert not np.any(block.X[0])
    assert block.y[0] == 0.0


def test_moments_of_elliptical_inputs_are_biased_and_the_correction_removes_it():
    """E y (xxᵀ − I) of t₆ inputs leaves the span of the units; with Gaussian radii it does not."""
    rng, truth = np.random.default_rng(0), wl.Network(np.eye(6)[:, :1] * 2.0)
    X = student_t(200_000, 6, 6, rng) * np.sqrt(4 / 6)  # unit covariance
    plain = samples.open(X, truth.predict(X))
    off = [
        float(np.linalg.norm(to_numpy(source.mean(HermiteMoment(6, 2))[0])[1:, 1:], ord=2))
        for source in (plain, plain.map(Radial(1.0, seed=0)))
    ]
    assert off[0] > 0.1
    assert off[1] < 0.03


@pytest.mark.parametrize("activation", ["relu", "squared_relu"])
def test_recover_uses_moments_of_elliptical_inputs(activation):
    rng, truth = np.random.default_rng(1), wl.teachers.conditioned(6, 2, activation=activation, rng=0)
    X = student_t(6000, 6, 6, rng) @ (np.eye(6) + 0.3 * rng.normal(size=(6, 6)))
    found = wl.recover(X, truth.predict(X), n_units=2, activation=activation, method="tensor")
    assert found.stages[0].name == "tensor start, radial correction + Gauss–Newton"
    assert found.certificate.status is wl.Status.EXACT
    assert found.network.equivalent(truth, tol=1e-9)


def test_an_offset_forbids_the_radial_correction():
    rng, truth = np.random.default_rng(1), wl.teachers.conditioned(4, 1, activation="relu", rng=0)
    X = student_t(3000, 4, 6, rng)
    with pytest.warns(NotGaussianWarning, match="not Gaussian"):
        found = wl.recover(X, truth.predict(X), n_units=1, activation="relu", offset=True, method="tensor")
    assert "radial" not in found.stages[0].name


@pytest.mark.parametrize("offset", [False, True])
def test_real_inputs_need_no_law(offset, seed):
    """Rows on which every unit is silent have y = c exactly; an offset fitted to zero must not spoil them."""
    X = StandardScaler().fit_transform(load_diabetes().data)
    truth = wl.teachers.biased(10, 3, rng=seed)
    found = wl.recover(X, truth.predict(X), n_units=3, bias=True, offset=offset, rng=seed)
    assert found.certificate.status is wl.Status.EXACT
    assert found.network.equivalent(truth, tol=1e-9)
    assert found.network.c == 0.0
    assert "not Gaussian" in found.stages[0].outcome or "biases go to the search" in found.stages[0].outcome


@pytest.mark.parametrize("n", [200, 5000])
def test_skewness_alone_is_counted_in_its_standard_errors(n, rng):
    """Two values of unequal probability, whose kurtosis is that of a Gaussian at most: the third moment is the worst."""
    share = 0.32  # the skewness (1 − 2p)/√(p(1 − p)) is 0.77, and the kurtosis m₃² + 1 = 1.6
    x = np.where(np.arange(n) < share * n, 1.0, 0.0) + 1e-9 * rng.normal(size=n)
    rows = whitened(x[:, None])
    third = np.mean(next(rows.blocks(n)).X ** 3) * np.sqrt(n / 6.0)
    fourth = (np.mean(next(rows.blocks(n)).X ** 4) - 3.0) * np.sqrt(n / 24.0)
    assert abs(third) > abs(fourth)
    assert gaussianity(rows).z == pytest.approx(abs(third), rel=1e-9)


@pytest.mark.parametrize(("share", "gaussian"), [(0.95, True), (1.05, False)])
def test_the_largest_of_many_statistics_may_be_as_large_as_chance_makes_it(share, gaussian):
    """Of m normals the largest is about √(2 ln m): five standard errors beside it are none of chance."""
    d, n = 3, 1000.0
    m = 2 * (d + LIMITS.projections) + 1
    z = LIMITS.gaussian_level + share * np.sqrt(2 * np.log(m))
    third, fourth = np.zeros(d + LIMITS.projections), np.full(d + LIMITS.projections, 3.0)
    third[1] = -z * np.sqrt(6 / n)
    rows = SimpleNamespace(d=d, total=n, mean=lambda _: (third, fourth, d * (d + 2.0), 1.0))
    test = gaussianity(rows)
    assert test.z == pytest.approx(z, rel=1e-12)
    assert test.gaussian is gaussian
