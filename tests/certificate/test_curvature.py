"""Valleys that bend are followed, and the regions hold them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.certificate.regularity import known, tanh_problem

from weightlift import samples
from weightlift.certificate.curvature import RADIUS, RANDOM, _Directions, boundary, curvature, stated
from weightlift.certificate.limits import LIMITS
from weightlift.certificate.noise import enclosing
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.network import Network
from weightlift.refinement.gauss_newton import gauss_newton
from weightlift.risk import Students


def test_a_valley_is_followed_and_the_regions_hold_it() -> None:
    """Straight ahead the squared error of some fit rises more than tenfold, and along the valley's floor as it should."""
    low, high = LIMITS.linearity
    for seed in range(40):
        _, X, y, fit = tanh_problem(seed)
        gauge, information, variance = known(fit, X, y)
        C = variance * information.inverse
        found = curvature(samples.open(X, y), information, (C,), variance, np.random.default_rng(0))
        if found.bends.size and found.statement.holds:
            break
    else:
        pytest.fail("no valley bends")
    assert "valley" in found.statement.sentence
    ahead = [sign * direction for direction in least_certain(gauge, C) for sign in (1.0, -1.0)]
    bent = [delta for delta in ahead if not low <= rise(gauge, delta, X, y) / (16 * variance) <= high]
    assert bent
    for delta, bend in zip(bent, found.bends.T, strict=True):
        assert low <= rise(gauge, delta + bend, X, y) / (16 * variance) <= high
    at = gauge.coordinates(0)
    region = enclosing(30.0 * C[np.ix_(at, at)], found.bends[at])
    assert (found.bends[at] * np.linalg.solve(region, found.bends[at])).sum(axis=0).max() <= 1.0


def least_certain(gauge: Gauge, C: np.ndarray) -> list[np.ndarray]:
    """Four standard errors in the least certain direction of each unit."""
    found = []
    for i in range(gauge.network.n_units):
        at = gauge.coordinates(i)
        values, vectors = np.linalg.eigh(C[np.ix_(at, at)])
        found.append(4.0 * C[:, at] @ vectors[:, -1] / np.sqrt(values[-1]))
    return found


def rise(gauge: Gauge, delta: np.ndarray, X: np.ndarray, y: np.ndarray) -> float:
    there = gauge.perturbed(delta[None]).network(0)
    return float(np.sum((there.predict(X) - y) ** 2) - np.sum((gauge.network.predict(X) - y) ** 2))


def test_directions_end_on_the_ellipsoids(seed: int) -> None:
    """δᵀC⁻¹δ = 16 of all; those of a unit reach four standard errors along what its block knows least, to both sides."""
    rng = np.random.default_rng(seed)
    L = rng.standard_normal((6, 6)) * [1.0, 1e-2, 10.0, 0.3, 1.0, 5.0]
    roots = rng.standard_normal((2, 6, 6))
    covariances, at = tuple(R @ R.T for R in roots), [np.array([0, 2, 4]), np.array([1, 3, 5])]
    delta, held, unit = boundary(L, covariances, at, rng)
    assert unit.tolist() == [-1] * RANDOM + 2 * [0, 0, 1, 1]
    for d in delta[:RANDOM]:
        assert d @ np.linalg.solve(L @ L.T, d) == pytest.approx(RADIUS**2, rel=1e-6)
    assert not held[:RANDOM].any()
    for place, i in enumerate(unit[RANDOM:]):
        C, d, u = covariances[place // 4], delta[RANDOM + place], held[RANDOM + place]
        values, vectors = np.linalg.eigh(C[np.ix_(at[i], at[i])])
        assert d @ np.linalg.solve(C, d) == pytest.approx(RADIUS**2, rel=1e-6)
        assert u @ d == pytest.approx((-1) ** place * RADIUS * np.sqrt(values[-1]), rel=1e-9)
        assert abs(u[at[i]] @ vectors[:, -1]) == pytest.approx(1.0, rel=1e-9)
        assert not np.delete(u, at[i]).any()


@pytest.mark.parametrize(("ratio", "holds"), [(0.61, True), (9.9, True), (0.59, False), (10.1, False)])
def test_increases_far_from_the_quadratic_ones_name_their_units(ratio: float, holds: bool) -> None:
    low, high = LIMITS.linearity
    assert (low, high) == (0.6, 10.0)
    found = stated(np.array([1.0, ratio, ratio, 1.0, ratio]), np.array([-1, -1, 2, 0, 1]), [5, 6, 7])
    assert (found.holds, found.units) == (holds, () if holds else (1, 2))
    assert (found.number, found.limit) == (max(1.0, ratio), 10.0)
    assert holds or ("units 6 and 7" in found.sentence)


def directions(seed: int) -> tuple[Network, np.ndarray, np.ndarray, np.ndarray, Information, np.ndarray]:
    """A network that is at no minimum, on rows with weights; its J."""
    rng = np.random.default_rng(seed)
    net = Network(rng.standard_normal((3, 2)), [1.3, -0.6], rng.standard_normal(2), 0.0, "tanh")
    X, w = rng.standard_normal((60, 3)), rng.uniform(0.2, 3.0, 60)
    y = net.predict(X) + 0.5 + 0.3 * rng.standard_normal(60)
    gauge, students = Gauge.of(net, bias=True, offset=False), Students.of(net)
    J = np.asarray(gauge.jacobian(X, students.preactivations(X), students))
    return net, X, y, w, Information.of(samples.open(X, y, sample_weight=w), gauge), J


def test_close_by_the_increase_is_the_quadratic_one(seed: int) -> None:
    """Without its linear part, which is not zero away from a minimum: r″ r is of second order in y, and is taken off."""
    net, X, y, w, information, J = directions(seed)
    rng = np.random.default_rng(seed)
    delta = rng.standard_normal((3, information.gauge.size))
    each = _Directions(information, delta, np.zeros_like(delta), np.full(3, -1))
    moved = [information.gauge.perturbed(d[None]).network(0) for d in delta]
    own = w @ (net.predict(X) - y) ** 2
    for found, there, d in zip(each.ratio(samples.open(X, y, sample_weight=w), delta), moved, delta, strict=True):
        risen = w @ (there.predict(X) - y) ** 2 - own - 2 * (w * (net.predict(X) - y)) @ J @ d
        assert found == pytest.approx(risen / (w @ (J @ d) ** 2), rel=1e-9)


def test_a_step_to_the_floor_holds_its_coordinate(seed: int) -> None:
    """(JᵀJ + μD) s = −Jᵀr − λu with ⟨u, s⟩ = 0, by whole matrices at the place where it begins."""
    _, X, y, w, information, _ = directions(seed)
    gauge, rng = information.gauge, np.random.default_rng(seed)
    u = np.zeros((2, gauge.size))
    u[0, gauge.coordinates(0)], u[1, gauge.coordinates(1)] = rng.standard_normal((2, gauge.unit_size))
    away = 0.3 * rng.standard_normal((2, gauge.size))
    each = _Directions(information, away, u, np.array([0, 1]))
    for s, d, along in zip(each._to_the_floor(samples.open(X, y, sample_weight=w), away), away, u, strict=True):
        there = gauge.perturbed(d[None])
        J = np.asarray(Gauge(there.network(0), gauge.free).jacobian(X, there.preactivations(X), there))
        H, g = J.T @ (w[:, None] * J), J.T @ (w * (there.network(0).predict(X) - y))
        left = (H + LIMITS.valley_damping * np.diag(np.diagonal(H))) @ s + g
        assert abs(along @ s) < 1e-9 * np.linalg.norm(along) * np.linalg.norm(s)
        off = left - along * (along @ left) / (along @ along)
        assert np.linalg.norm(off) < 1e-8 * np.linalg.norm(g)


@pytest.mark.parametrize(("turned", "grown"), [(0.3, None), (1.45, 1.5**4)])
def test_a_straight_valley_is_followed_to_its_height(turned: float, grown: float | None, seed: int) -> None:
    """Of a linear network the floor is along H⁻¹u, and as high as the ellipsoid at H⁻¹u (δᵀHδ/uᵀH⁻¹u)^½; four steps that grow
    by half at most end before."""
    rng = np.random.default_rng(seed)
    net = Network(rng.standard_normal((4, 1)), activation="linear")
    X, w = rng.standard_normal((60, 4)), rng.uniform(0.2, 3.0, 60)
    rows = samples.open(X, net.predict(X) + rng.standard_normal(60), sample_weight=w)
    information = Information.of(rows, Gauge.of(gauss_newton(rows, net, free="W", tol=1e-13).network, bias=False, offset=False))
    H = (w[:, None] * X).T @ X
    root = np.linalg.cholesky(np.linalg.inv(H))  # ‖root⁻¹ δ‖ is its height
    u = rng.standard_normal((2, 4))
    floor = u @ np.linalg.inv(H)
    heights = np.linalg.norm(np.linalg.solve(root, floor.T), axis=0)
    across = rng.standard_normal((2, 4))
    across -= floor * (np.sum(across * u, axis=1) / np.sum(floor * u, axis=1))[:, None]  # ⟨u, across⟩ = 0
    across /= np.linalg.norm(np.linalg.solve(root, across.T), axis=0)[:, None]
    delta = 5.0 * (np.cos(turned) * floor / heights[:, None] + np.sin(turned) * across)
    bends, rise = _Directions(information, delta, u, np.zeros(2, dtype=int)).followed(rows)
    times = 5.0 if grown is None else 5.0 * np.cos(turned) * grown
    np.testing.assert_allclose(delta + bends, times * floor / heights[:, None], rtol=1e-3, atol=1e-3 * np.abs(floor).max())
    np.testing.assert_allclose(rise, (times / 5.0) ** 2, rtol=1e-3)


@pytest.mark.parametrize("steps", [0, 1])
def test_every_step_along_a_valley_ends_on_its_floor(steps: int, limits: Callable[..., None], seed: int) -> None:
    """θ ± tδ and a step to the floor from there, the last one too; what is told is the increase at the end of it."""
    _, X, y, fit = tanh_problem(seed, 0.01)
    _, information, variance = known(fit, X, y)
    limits("weightlift.certificate.curvature", valley_steps=steps, linearity=(0.0, np.inf))
    rng, p, rows = np.random.default_rng(seed), information.gauge.size, samples.open(X, y)
    delta = 2.0 * variance**0.5 * rng.standard_normal((3, p)) @ information.half_inverse.T
    each = _Directions(information, delta, rng.standard_normal((3, p)), np.zeros(3, dtype=int))
    there = delta
    for _ in range(steps):
        there = there + each._to_the_floor(rows, there)
        there = there * np.clip(each.ratio(rows, there)[:, None] ** -0.5, 1.0, LIMITS.valley_growth)
    wanted = there + each._to_the_floor(rows, there)
    bends, rise = each.followed(rows)
    np.testing.assert_allclose(delta + bends, wanted, rtol=1e-9, atol=1e-12 * np.abs(wanted).max())
    np.testing.assert_allclose(rise, each.ratio(rows, wanted), rtol=1e-6)
    assert (np.abs(wanted - there).max(axis=1) > 1e-3 * np.abs(wanted).max(axis=1)).all()


def test_valleys_that_rise_too_far_are_left(limits: Callable[..., None], seed: int) -> None:
    """The straight line stands for them, with the increase that was found."""
    _, X, y, fit = tanh_problem(seed, 0.01)
    _, information, variance = known(fit, X, y)
    delta = np.random.default_rng(seed).standard_normal((3, information.gauge.size)) @ information.half_inverse.T
    each = _Directions(information, 4.0 * variance**0.5 * delta, np.eye(3, information.gauge.size), np.zeros(3, dtype=int))
    kept, rise = each.followed(samples.open(X, y))
    assert kept.any(axis=1).all()
    limits("weightlift.certificate.curvature", linearity=(0.0, float(np.median(rise))))
    left, same = each.followed(samples.open(X, y))
    np.testing.assert_array_equal(left.any(axis=1), rise <= np.median(rise))
    np.testing.assert_array_equal(same, rise)


def test_random_directions_hold_their_height(seed: int) -> None:
    """⟨JᵀJ δ, s⟩ = 0 of those that belong to no unit, ⟨u, s⟩ = 0 of the others."""
    rng = np.random.default_rng(seed)
    *_, w, information, J = directions(seed)
    delta, u = rng.standard_normal((2, 3, information.gauge.size))
    held = _Directions(information, delta, u, np.array([-1, 0, 1])).held
    np.testing.assert_allclose(held[0], J.T @ (w * (J @ delta[0])), rtol=1e-9)
    np.testing.assert_array_equal(held[1:], u[1:])
