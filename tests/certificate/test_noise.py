"""What noise leaves open: the region holds what an unseen unit moves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from tests.certificate.fits import fitted, relu
from tests.certificate.regularity import known, tanh_problem

from weightlift import Network, samples
from weightlift.certificate import certify
from weightlift.certificate.lack_of_fit import LackOfFit
from weightlift.certificate.noise import (
    _independent,
    _influence,
    _most,
    _rows,
    _scale,
    _single,
    _wide,
    enclosing,
    examine_noise,
    structure,
)
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information


def test_the_region_covers_what_an_unseen_unit_moves(seed: int) -> None:
    truth, X, y = relu(seed, n=1500)
    limit = certify(fitted(truth, X, y), X, y).detection_limit
    assert limit is not None
    w = np.random.default_rng(seed).standard_normal(5)
    extra = np.maximum(X @ w, 0)
    y = y + 0.3 * limit * extra / np.sqrt(np.mean(extra**2))
    certificate = certify(fitted(truth, X, y), X, y)
    if certificate:
        assert certificate.locate(truth)[0].all()


def test_enclosing_ellipsoid_holds_the_sum() -> None:
    rng = np.random.default_rng(0)
    root = rng.standard_normal((4, 4))
    A, points = root @ root.T, rng.standard_normal((4, 7)) * np.array([[3.0], [0.1], [1.0], [2.0]])
    R = enclosing(A, points)
    v = rng.standard_normal((4, 5000))
    v = root @ (v / np.linalg.norm(v, axis=0)) + points[:, rng.integers(7, size=5000)]
    assert (v * np.linalg.solve(R, v)).sum(axis=0).max() <= 1.0
    np.testing.assert_array_equal(enclosing(A, points[:, :0]), A)
    np.testing.assert_allclose(enclosing(0 * A, points), enclosing(1e-30 * A, points), rtol=1e-12)  # rows without residuals
    np.testing.assert_allclose(enclosing(-1e-24 * A, points), enclosing(0 * A, points), rtol=1e-12)  # a variance below rounding


def test_enclosing_ellipsoid_of_points_in_a_plane(seed: int) -> None:
    """Points that span less, but for rounding, at any scale."""
    rng = np.random.default_rng(seed)
    for size in 10.0 ** np.arange(-8, 9, 4):
        points = size * rng.standard_normal((6, 2)) @ rng.standard_normal((2, 40)) * np.logspace(0, -10, 6)[:, None]
        R = enclosing(np.eye(6), points)
        assert (points * np.linalg.solve(R, points)).sum(axis=0).max() <= 1.0


def test_an_enclosing_ellipsoid_of_points_alone_touches_the_farthest(seed: int) -> None:
    """Beside an ellipsoid that is next to nothing: more points than dimensions, all inside and the farthest on the boundary."""
    points = np.random.default_rng(seed).standard_normal((3, 7)) * [[1.0], [10.0], [0.1]]
    region = enclosing(1e-24 * np.eye(3), points)
    sizes = (points * np.linalg.solve(region, points)).sum(axis=0)
    np.testing.assert_allclose(sizes.max(), 1.0, rtol=1e-6)


@pytest.mark.parametrize("weight", [1.0, 4.0])
def test_regions_are_fishers_ellipsoids(weight: float, seed: int) -> None:
    """(√(q F) + the distance to the minimum)² σ² (JᵀJ)⁻¹ unit by unit; σ of a row of mean weight, whatever that is."""
    _, X, y, fit = tanh_problem(seed, 0.01)
    rows = samples.open(X, y, sample_weight=np.full(len(X), weight))
    gauge = Gauge.of(fit, bias=True, offset=False)
    information = Information.of(rows, gauge)
    found = examine_noise(rows, information, len(X), float(len(X)), True, np.random.default_rng(0))
    n, p, q = len(X), gauge.size, gauge.unit_size
    r = fit.predict(X) - y
    assert found.noise_std == pytest.approx(np.sqrt((r**2).sum() / (n - p)), rel=1e-9)
    assert found.variance == pytest.approx(weight * found.noise_std**2, rel=1e-9)
    assert found.regions is not None
    radius = q * stats.f.ppf(1 - 1e-4, q, n - p)
    gradient = information.gradient @ information.inverse @ information.gradient / found.variance
    expected = (np.sqrt(radius) + np.sqrt(gradient)) ** 2 * found.variance * information.unit_inverses()
    np.testing.assert_allclose(found.regions[0], expected, rtol=1e-6)  # valleys that bend would add to them


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_a_weight_by_itself_has_the_interval_of_its_variance(activation: str, seed: int) -> None:
    """1.96 standard errors of the least certain w_j/‖w‖: for ReLU by differences of the normal form."""
    rng = np.random.default_rng(seed)
    net = Network(rng.standard_normal((3, 2)) * [5.0, 0.2], [1.0, -1.0], [0.4, -0.3], 0.0, activation)
    gauge = Gauge.of(net, bias=True, offset=False)
    roots = rng.standard_normal((2, gauge.size, gauge.size))
    covariances = tuple(R @ R.T for R in roots)
    found = _single(gauge, covariances)
    for i in range(2):
        at, w = gauge.coordinates(i), net.W[:, i]
        length = np.linalg.norm(w)
        T = np.eye(3) / length
        T = T - np.outer(w, w) / length**3 if activation == "relu" else T
        widest = max(np.diagonal(T @ C[np.ix_(at[:3], at[:3])] @ T.T).max() for C in covariances)
        assert found[i] == pytest.approx(1.96 * np.sqrt(widest), rel=1e-9)


def test_a_split_widens_a_region_by_its_relative_size() -> None:
    """A twin would have moved the unit by half of its length: everything within half of (w, b) and of a is inside then; what
    the twins of other units move counts as it is."""
    net = Network([[6.0, 1.0], [8.0, 0.0]], [0.1, 1.0], [0.0, 0.3], 0.0, "tanh")
    gauge = Gauge.of(net, bias=True, offset=False)
    np.testing.assert_allclose(_scale(gauge, 0), [10.0, 10.0, 10.0, 0.1])
    at, p = gauge.coordinates(0), gauge.size
    splits = np.zeros((p, 2, 1))
    splits[at[3], 0, 0] = 0.05
    numbers = LackOfFit(0.5, 1.0, np.zeros((p, 0)), splits, 0.1, 0.1, 0.0, np.eye(1))
    region = _wide(gauge, 0, 1e-12 * np.eye(4), numbers)
    for place, length in ((0, 10.0), (3, 0.1)):
        v = np.zeros(4)
        v[place] = 0.49 * length
        assert v @ np.linalg.solve(region, v) <= 1.0
        assert (4 * v) @ np.linalg.solve(region, 4 * v) > 1.0
    beside = np.zeros((p, 2, 1))
    beside[at[1], 1, 0] = 0.3
    region = _wide(gauge, 0, 1e-6 * np.eye(4), LackOfFit(0.5, 1.0, np.zeros((p, 0)), beside, 0.1, 0.1, 0.0, np.eye(1)))
    assert np.sqrt(region[1, 1]) == pytest.approx(0.3, rel=0.02)
    assert np.sqrt(region[0, 0]) < 0.1


def test_statements_at_their_limits() -> None:
    """Three rows a parameter and thirty; a hundredth; half of the squared error; rows that occur 1.1 times."""
    for rows, holds in ((51, False), (60, True)):
        found = _rows(float(rows), 10)
        assert (found.holds, found.number, found.limit) == (holds, rows, 60)
    for p_value, holds in ((0.009, False), (0.011, True)):
        found = structure(p_value, 0.3)
        assert (found.holds, found.number, found.limit) == (holds, p_value, 0.01)
    for influence, holds in ((0.49, True), (0.51, False)):
        numbers = LackOfFit(0.5, 1.0, np.zeros((1, 0)), np.zeros((1, 0, 1)), 0.1, influence, 0.0, np.eye(1))
        assert (_influence(numbers).holds, _influence(numbers).number) == (holds, influence)
    X = np.random.default_rng(0).standard_normal((60, 2))
    for copies, holds in ((3, True), (4, False)):
        Z = np.vstack([X, X[:copies]])
        found = _independent(samples.open(Z, Z[:, 0]), False)
        assert (found.holds, found.number) == (holds, pytest.approx((60 + 3 * copies) / (60 + copies)))


def test_the_largest_leverage_of_a_row_that_others_confirm(seed: int) -> None:
    """0.8, or four times the mean leverage p/n where that is more."""
    _, X, y, fit = tanh_problem(seed)
    _, information, _ = known(fit, X, y)
    assert _most(information, 630) == 0.8
    assert _most(information, 42) == pytest.approx(4 * 21 / 42)
