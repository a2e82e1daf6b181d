"""Noise against SciPy's distributions: law, moments by quadrature, the sub-Gaussian norm by maximisation over p."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.integrate
import scipy.stats

from weightlift.errors import ArgumentError
from weightlift.noise import FAMILIES, Noise

ROOT3 = math.sqrt(3)
LAWS = {
    "gaussian": scipy.stats.norm(),
    "uniform": scipy.stats.uniform(-ROOT3, 2 * ROOT3),
    "laplace": scipy.stats.laplace(scale=math.sqrt(0.5)),
    "student": scipy.stats.t(5, scale=math.sqrt(3 / 5)),
}  # unit variance; Rademacher noise has no density
SUB_GAUSSIAN = ["gaussian", "uniform", "rademacher"]


@pytest.mark.parametrize("family", FAMILIES)
def test_mean_deviation_and_moments_of_draws(family, seed):
    n, noise = 200_000, Noise(family, 0.7)
    e = noise.draw(n, rng=seed)
    assert e.shape == (n,)
    assert abs(e.mean()) < 5 * 0.7 / math.sqrt(n)
    for p in (0.5, 1, 2):
        variance = noise.absolute_moment(2 * p) - noise.absolute_moment(p) ** 2
        assert abs(np.mean(np.abs(e) ** p) - noise.absolute_moment(p)) <= 5 * math.sqrt(abs(variance) / n) + 1e-12


@pytest.mark.parametrize("family", FAMILIES)
def test_standard_deviation_is_the_one_asked_for(family):
    assert Noise(family, 0.3).absolute_moment(2) == pytest.approx(0.09, rel=1e-14)
    assert Noise(family, 0.3).absolute_moment(0) == pytest.approx(1, rel=1e-14)


@pytest.mark.parametrize("family", LAWS)
def test_draws_follow_the_law(family, seed):
    e = Noise(family, 2.5).draw(20_000, rng=seed)
    assert scipy.stats.kstest(e / 2.5, LAWS[family].cdf).pvalue > 1e-4


def test_rademacher_draws_are_fair_signs(seed):
    e = Noise("rademacher", 2.5).draw(20_000, rng=seed)
    assert set(e) == {-2.5, 2.5}
    assert abs((e > 0).sum() - 10_000) < 5 * math.sqrt(20_000 / 4)
    assert abs(e[1:] @ e[:-1]) / 2.5**2 < 5 * math.sqrt(20_000)


@pytest.mark.parametrize("family", LAWS)
@pytest.mark.parametrize("p", [0.3, 1.0, 2.5, 4.0, 4.7])
def test_absolute_moments_against_quadrature(family, p):
    density, edge = LAWS[family].pdf, ROOT3 if family == "uniform" else math.inf
    halves = [(0, 1), (1, edge)]
    parts = [scipy.integrate.quad(lambda z: 2 * z**p * density(z), *half, epsabs=0, limit=400)[0] for half in halves]
    assert Noise(family, 0.7).absolute_moment(p) == pytest.approx(0.7**p * sum(parts), rel=1e-7)


@pytest.mark.parametrize("family", SUB_GAUSSIAN)
def test_sub_gaussian_norm_is_the_supremum_over_p(family):
    noise = Noise(family, 1.3)

    def ratio(p: float) -> float:
        return noise.absolute_moment(p) ** (1 / p) / math.sqrt(p)

    values = [ratio(p) for p in 1 + np.geomspace(1e-6, 250, 4000)]
    assert noise.sub_gaussian_norm == pytest.approx(ratio(1.0), rel=1e-14)
    assert max(values) < noise.sub_gaussian_norm
    assert np.all(np.diff(values) < 0)


@pytest.mark.parametrize(
    ("family", "norm"), [("gaussian", math.sqrt(2 / math.pi)), ("uniform", ROOT3 / 2), ("rademacher", 1.0)]
)
def test_sub_gaussian_norm_in_closed_form(family, norm):
    assert Noise(family, 0.1).sub_gaussian_norm == pytest.approx(0.1 * norm, rel=1e-15)
    assert Noise(family, 0.0).sub_gaussian_norm == 0


@pytest.mark.parametrize("family", ["laplace", "student"])
def test_violations_have_no_sub_gaussian_norm(family):
    noise = Noise(family, 0.1)
    assert noise.sub_gaussian_norm == math.inf
    p = np.array([4.0, 4.9, 4.999] if family == "student" else [10.0, 100.0, 1000.0])
    assert np.all(np.diff([noise.absolute_moment(q) ** (1 / q) / math.sqrt(q) for q in p]) > 0)
    assert Noise(family, 0.0).sub_gaussian_norm == 0


def test_moments_at_the_edges():
    assert Noise("student", 0.1).absolute_moment(5) == math.inf
    assert Noise("gaussian", 1.0).absolute_moment(400) == math.inf  # 399!! is beyond float64
    assert Noise("uniform", 0.0).absolute_moment(2) == 0
    assert Noise("uniform", 0.0).absolute_moment(0) == 1


@pytest.mark.parametrize("std", [-0.1, math.nan, math.inf, "0.1", None, 1j])
def test_bad_deviation(std):
    with pytest.raises(ArgumentError, match="noise_std"):
        Noise("gaussian", std)


@pytest.mark.parametrize("family", ["cauchy", "", None, 3, "Gaussian"])
def test_unknown_family_lists_the_known_ones(family):
    with pytest.raises(ArgumentError, match="gaussian, uniform, rademacher, laplace, student"):
        Noise(family, 0.1)


@pytest.mark.parametrize("p", [-1, math.nan, math.inf])
def test_bad_order_of_moment(p):
    with pytest.raises(ArgumentError, match="p must"):
        Noise("gaussian", 1.0).absolute_moment(p)
