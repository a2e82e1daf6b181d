"""What noise leaves open: the region holds what an unseen unit moves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.certificate.fits import fitted, relu
from tests.certificate.regularity import known, tanh_problem

from weightlift import Network, draw, samples, teachers
from weightlift.certificate import certify
from weightlift.certificate import noise as module
from weightlift.certificate.lack_of_fit import LackOfFit
from weightlift.certificate.noise import (
    _decided,
    _independent,
    _influence,
    _most,
    _precision,
    _rows,
    _scale,
    _shared_leverage,
    _single,
    _wide,
    enclosing,
    examine_noise,
    structure,
)
from weightlift.certificate.precision import OtherSides, UnitRegions
from weightlift.certificate.significance import chance, odds
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.refinement.gauss_newton import gauss_newton


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
    assert found.variance == pytest.approx(weight * found.noise_std**2, rel=1e-9, abs=0)
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
    """A twin would have moved the unit by an eighth of its length, so between two angles by half: everything within half of
    (w, b) and of a is inside then; what the twins of other units move counts as it is."""
    net = Network([[6.0, 1.0], [8.0, 0.0]], [0.1, 1.0], [0.0, 0.3], 0.0, "tanh")
    gauge = Gauge.of(net, bias=True, offset=False)
    np.testing.assert_allclose(_scale(gauge, 0), [10.0, 10.0, 10.0, 0.1])
    at, p = gauge.coordinates(0), gauge.size
    splits = np.zeros((p, 2, 1))
    splits[at[0], 0, 0] = 1.25
    numbers = LackOfFit(0.5, np.ones(1), np.zeros((p, 0)), splits, 0.1, 0.1, 0.0, 0.0, np.eye(1))
    region = _wide(gauge, 0, 1e-12 * np.eye(4), numbers)
    for place, length in ((0, 10.0), (3, 0.1)):
        v = np.zeros(4)
        v[place] = 0.49 * length
        assert v @ np.linalg.solve(region, v) <= 1.0
        assert (4 * v) @ np.linalg.solve(region, 4 * v) > 1.0
    beside = np.zeros((p, 2, 1))
    beside[at[1], 1, 0] = 0.3
    numbers = LackOfFit(0.5, np.ones(1), np.zeros((p, 0)), beside, 0.1, 0.1, 0.0, 0.0, np.eye(1))
    region = _wide(gauge, 0, 1e-6 * np.eye(4), numbers)
    assert np.sqrt(region[1, 1]) == pytest.approx(0.3, rel=0.02)
    assert np.sqrt(region[0, 0]) < 0.1


@pytest.mark.parametrize("activation", ["tanh", "relu", "squared_relu"])
@pytest.mark.parametrize("share", [0.4, -0.8])
def test_either_of_two_units_that_act_as_one_lies_in_the_wide_region(activation: str, share: float, seed: int) -> None:
    """A hundredth of a degree apart they are one unit to noise of 1e-6: what it has of either's size the rows do not show."""
    rng = np.random.default_rng([seed, 11])
    W, across = rng.standard_normal((3, 2)), rng.standard_normal(3)
    tilts, turned = 2e-4 * np.array([-share, 1.0 - share]), across - W[:, 0] * (across @ W[:, 0]) / (W[:, 0] @ W[:, 0])
    pair, a = W[:, :1] + across[:, None] * tilts, np.array([1.0 - share, share, -1.0])
    truth = Network(np.hstack([pair, W[:, 1:]]), a, None, 0.0, activation)
    X = rng.standard_normal((400, 3))
    y = truth.predict(X)
    y = y + 1e-6 * y.std() * rng.standard_normal(400)
    fit = gauss_newton(samples.open(X, y), Network(W, [1.0, -1.0], None, 0.0, activation), free="W", tol=1e-12).network
    if activation == "tanh":
        fit = gauss_newton(samples.open(X, y), fit, free="Wa", tol=1e-12).network
    certificate = certify(fit, X, y, bias=False)
    assert certificate
    assert not certificate.locate(truth, wide=False)[0][0]
    for which in ([0, 2], [1, 2]):
        part = Network(truth.W[:, which], truth.a[which], None, 0.0, activation)
        inside = certificate.locate(part)[0]
        assert inside[1]
        assert inside[0] or part.a[0] < 0.0  # of the two the one with the sign of both together
        far = replace(part, W=part.W + 0.5 * turned[:, None] * [[1.0, 0.0]])
        assert not certificate.locate(far)[0][0]


def test_the_size_of_a_unit_that_may_be_two_is_open_and_across_it_what_is_unseen() -> None:
    """The sum of the unit itself, along which either of two may lie, and of a ball of four times what a probe moves across."""
    for activation, along in (("tanh", [0.0, 0.0, 0.0, 1.0]), ("relu", [0.6, 0.8, 0.0])):
        net = Network([[6.0, 1.0], [8.0, 0.0]], [1.0, 1.0], [0.0, 0.3], 0.0, activation)
        gauge = Gauge.of(net, bias=True, offset=False)
        at, p = gauge.coordinates(0), gauge.size
        scale, u = _scale(gauge, 0), np.array(along)
        v = np.append([-0.8, 0.6, 0.0], np.zeros(len(u) - 3))
        splits = np.zeros((p, 2, 2))
        splits[at, 0] = (scale * [0.04 * u + 0.03 * v, 0.9 * u + 0.02 * v]).T
        fit = LackOfFit(0.5, np.ones(1), np.zeros((p, 0)), splits, 0.1, 0.1, 0.0, 0.0, np.eye(1))
        region = _wide(gauge, 0, 1e-12 * np.eye(len(at)), fit) / np.outer(scale, scale)
        np.testing.assert_allclose(region, 2 * (0.12**2 * np.eye(len(u)) + np.outer(u, u)), atol=1e-4)
        for angle in np.linspace(0.0, 2.0 * np.pi, 17):
            rim = u + 0.12 * (np.cos(angle) * v + np.sin(angle) * np.eye(len(u))[2])
            assert rim @ np.linalg.solve(region, rim) <= 1.0


def test_statements_at_their_limits() -> None:
    """Three rows a parameter and thirty; a hundredth; half of the squared error; rows that occur 1.1 times."""
    for rows, holds in ((51, False), (60, True)):
        found = _rows(float(rows), 10)
        assert (found.holds, found.number, found.limit) == (holds, rows, 60)
    for p_value, holds in ((0.009, False), (0.011, True)):
        found = structure(p_value, 0.3)
        assert (found.holds, found.number, found.limit) == (holds, p_value, 0.01)
    for influence, holds in ((0.49, True), (0.51, False)):
        numbers = LackOfFit(0.5, np.ones(1), np.zeros((1, 0)), np.zeros((1, 0, 1)), 0.1, influence, 0.0, 0.0, np.eye(1))
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


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_what_rows_on_a_kink_are_asked(monkeypatch: pytest.MonkeyPatch, activation: str, seed: int) -> None:
    """Regions as wide as what chance gains, and its cost in Σ w r²; sizes by (JᵀJ)⁻¹, open where its rank is not full."""
    asked: list[tuple[Any, ...]] = []

    def spy(*arguments: Any) -> Any:
        asked.append(arguments)
        return iter(())

    monkeypatch.setattr(module, "on_sides", spy)
    truth = teachers.biased(3, 2, bias=0.5, activation=activation, rng=seed)
    X, y = draw(truth, 300, noise_std=0.02, rng=seed)
    rows = samples.open(X, y, sample_weight=np.full(300, 3.0))
    gauge = Gauge.of(fitted(truth, X, y, free="Wb" if activation == "relu" else "Wab"), bias=True, offset=False)
    information = Information.of(rows, gauge)
    found = examine_noise(rows, information, 300, 300.0, True, np.random.default_rng(0))
    ((_, reach, relative, cost, here, sizes, limit, _),) = asked
    gained, q = chance(gauge, 300), gauge.unit_size
    assert found.fit is not None
    assert found.regions is not None
    covariances = found.variance * information.inverse, information.sandwich(found.fit.meat)
    wanted = np.array([[C[np.ix_(at, at)][:4, :4] for at in map(gauge.coordinates, range(2))] for C in covariances])
    radius = np.sqrt(q * stats.f.ppf(1 - 1e-4, q, 300 - gauge.size))
    shift = information.gradient @ information.inverse @ information.gradient / found.variance
    np.testing.assert_allclose(reach.regions, gained * wanted, rtol=1e-5, atol=1e-9 * np.abs(gained * wanted).max())
    assert found.regions[0, 0, 0, 0] >= (radius + np.sqrt(shift)) ** 2 * wanted[0, 0, 0, 0] * (1 - 1e-6)
    assert cost == pytest.approx((gained * found.variance, odds(2) * found.variance), rel=1e-9)
    np.testing.assert_allclose(here, [gauge.relative_size(i, information.unit_inverse(i)) for i in range(2)], rtol=1e-9)
    np.testing.assert_allclose(relative, np.max([gauge.relative_sizes(R) for R in found.regions], axis=0), rtol=1e-9)
    assert limit == 1.25
    if activation == "relu":
        everywhere = UnitRegions(gauge.network, 1e9 * np.tile(np.eye(4), (1, 2, 1, 1)))
        np.testing.assert_allclose(sizes(OtherSides(everywhere, np.zeros(2))), here, rtol=1e-9)
        assert (sizes(OtherSides(everywhere, np.full(2, np.inf))) > 1e5 * here).all()


def test_rows_of_high_leverage_that_decide_on_units(seed: int) -> None:
    """Those whose region grows by more than a tenth without them; copies of an input decide together."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((300, 3)) * [1.0, 1.0, 0.3]
    X[0] = [0.5, -0.5, 60.0]
    net = Network(np.array([[1.0, 0.3], [0.4, 1.2], [0.8, -0.9]]), [1.0, -1.0])
    y = net.predict(X) + 0.02 * rng.standard_normal(300)
    rows, gauge = samples.open(X, y), Gauge.of(net, bias=False, offset=False)
    information = Information.of(rows, gauge)
    seen = X[0] @ net.W > 0
    assert seen.sum() == 1
    h = information.half_inverse.T @ np.concatenate([np.outer(X[0], seen * net.a).reshape(-1)])
    rest = Information.of(samples.open(X[1:], y[1:]), gauge)
    growth = [
        gauge.relative_size(i, rest.unit_inverse(i)) / gauge.relative_size(i, information.unit_inverse(i)) for i in range(2)
    ]
    found = list(_decided(rows, information, float(h @ h), 300))
    wanted = tuple(np.flatnonzero(np.array(growth) > 1.1).tolist())
    assert wanted
    assert [s.units for s in found] == [wanted]
    assert found[0].sentence.startswith("A single row decides")
    assert not list(_decided(rows, information, 0.79, 300))

    twice = samples.open(np.vstack([X, X[:1]]), np.append(y, y[0]))
    both = Information.of(twice, gauge)
    fit = LackOfFit(0.5, np.ones(1), np.zeros((1, 0)), np.zeros((1, 0, 1)), 0.6, 0.1, 0.0, 0.0, np.eye(1))
    together = _shared_leverage(twice, both, fit, 301, False)
    assert together is not None
    assert not together.holds
    assert together.number == pytest.approx(2 * h @ h / (1 + h @ h), rel=1e-6)  # h = t/(1 + t) of one row of size t
    assert _shared_leverage(twice, both, replace(fit, leverage=0.81), 301, False) is None
    assert _shared_leverage(twice, both, fit, 301, True) is None
    assert _shared_leverage(rows, information, replace(fit, leverage=0.6), 300, False) is None


def test_points_count_by_the_largest_and_the_sum_by_its_halves(seed: int) -> None:
    """(1 + 1/t) A + (1 + t) B with t² = tr A/tr B, the least trace; B = f Σ ssᵀ beside a ball."""
    rng = np.random.default_rng(seed)
    root, points = rng.standard_normal((3, 3)), rng.standard_normal((3, 5))
    A, ball = root @ root.T, np.diag([1.0, 4.0, 0.25])
    S = points @ points.T
    B = ball + S * max(s @ np.linalg.solve(S, s) for s in points.T)
    t = np.sqrt(np.trace(A) / np.trace(B))
    np.testing.assert_allclose(enclosing(A, points, ball), (1 + 1 / t) * A + (1 + t) * B, rtol=1e-9)
    np.testing.assert_allclose(np.trace(enclosing(A, points, ball)), (np.trace(A) ** 0.5 + np.trace(B) ** 0.5) ** 2, rtol=1e-9)


def test_shifts_without_bound_and_those_of_nothing() -> None:
    """A further unit that no row reveals may be of any size: along what it moves the region is without end, and only there."""
    net = Network([[6.0, 1.0], [8.0, 0.0]], [0.1, 1.0], [0.0, 0.3], 0.0, "tanh")
    gauge = Gauge.of(net, bias=True, offset=False)
    at, p = gauge.coordinates(0), gauge.size
    shifts = np.zeros((p, 2))
    shifts[at[0], 0], shifts[at[1], 1], shifts[at[2], 1] = np.inf, 0.5, np.nan
    fit = LackOfFit(0.5, np.ones(1), shifts, np.zeros((p, 2, 1)), 0.1, 0.1, 0.0, 0.0, np.eye(1))
    region = _wide(gauge, 0, 1e-6 * np.eye(4), fit)
    assert region[0, 0] > 1e150
    for sign in (1.0, -1.0):
        shifts[at[0], 0] = sign * np.inf
        np.testing.assert_allclose(_wide(gauge, 0, 1e-6 * np.eye(4), fit), region, rtol=1e-12)


def test_regions_up_to_five_quarters_of_a_unit() -> None:
    """Of several units the widest is told; those beyond are named."""
    for sizes, units in (([1.24, 0.3], ()), ([1.26, 0.3], (0,)), ([0.2, np.inf], (1,))):
        found = _precision(np.array(sizes), 0.1)
        assert (found.units, found.holds, found.number, found.limit) == (units, not units, max(sizes), 1.25)


def test_shifts_without_bound_keep_their_direction() -> None:
    """A probe that moves one coordinate up as far as it moves the other down: they are unbounded together, their sum is not."""
    net = Network([[1.0], [1.0]], [1.0], activation="tanh")
    gauge = Gauge.of(net, bias=False, offset=False)
    shifts = np.array([[np.inf], [-np.inf], [0.0]])
    fit = LackOfFit(0.5, np.ones(1), shifts, np.zeros((3, 1, 1)), 0.1, 0.1, 0.0, 0.0, np.eye(3))
    region = _wide(gauge, 0, 1e-4 * np.eye(3), fit)
    assert np.array([1.0, -1.0, 0.0]) @ region @ [1.0, -1.0, 0.0] > 1e150
    assert abs(np.array([1.0, 1.0, 0.0]) @ region @ [1.0, 1.0, 0.0]) < 1e-9 * region[0, 0]
