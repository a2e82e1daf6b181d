"""Units that the fit needs, and units made of noise."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from tests.certificate.regularity import known, tanh_problem

from weightlift import Network, Status, certify, draw, samples, teachers
from weightlift.certificate import significance as module
from weightlift.certificate.limits import LIMITS
from weightlift.certificate.significance import (
    Losses,
    _least,
    _size,
    _within,
    chance,
    differences,
    losses,
    wald,
    without,
)
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.refinement.gauss_newton import gauss_newton
from weightlift.risk import Students


def test_losses_are_those_of_a_refit(seed: int) -> None:
    """Against a refit by hand of the network without a unit, and the robust number from arrays as long as the data."""
    _, X, y, fit = tanh_problem(seed)
    gauge, information, variance = known(fit, X, y)
    found = losses(samples.open(X, y), information, without(samples.open(X, y), gauge, np.arange(3)), variance)
    r = fit.predict(X) - y
    H = information.half_inverse
    J = np.hstack([X, np.ones((len(X), 1))])[:, :, None] * (fit.a * (1 - np.tanh(X @ fit.W + fit.b) ** 2))[:, None, :]
    J = np.hstack([J.reshape(len(X), -1), np.tanh(X @ fit.W + fit.b)])
    leverage = ((J @ H) ** 2).sum(axis=1)
    for i in range(3):
        rest = np.delete(np.arange(3), i)
        start = Network(fit.W[:, rest], fit.a[rest], fit.b[rest], 0.0, "tanh")
        less = gauss_newton(samples.open(X, y), start, free="Wab", iterations=LIMITS.refit, tol=1e-6).network
        left = less.predict(X) - y
        D = left - r
        plain = (np.sum(left**2) - np.sum(r**2)) / variance
        robust = np.sum(D * left) ** 2 / np.sum((D * r / (1 - leverage)) ** 2)
        assert found[i] == pytest.approx(min(plain, robust), rel=1e-3)


@pytest.mark.parametrize("law", ["gauss", "grows with x"])
def test_a_unit_made_of_noise_loses_no_more_than_chance(seed: int, law: str) -> None:
    """The best of many starts of a second unit, where the truth has one."""
    rng = np.random.default_rng(seed)
    truth = teachers.biased(3, 1, bias=0.5, activation="relu", rng=seed)
    X = rng.standard_normal((300, 3))
    y = truth.predict(X) + 0.1 * rng.standard_normal(300) * (np.exp(X[:, 0]) if law != "gauss" else 1.0)
    W = rng.standard_normal((3, 12))
    starts = [
        Network(np.column_stack([truth.W, w]), [truth.a[0], 0.1], [truth.b[0], -w @ X[j]], 0.0, "relu")
        for j, w in enumerate(W.T)
    ]
    fits = [gauss_newton(samples.open(X, y), start, free="Wb", iterations=60) for start in starts]
    fit = min(fits, key=lambda found: float(found.risks.min())).network
    gauge, information, variance = known(fit, X, y)
    source = samples.open(X, y)
    assert losses(source, information, without(source, gauge, np.arange(2)), variance).min() < chance(gauge, 300)
    assert not certify(fit, X, y, bias=True)


def test_nearly_parallel_units_of_a_right_fit_are_certified() -> None:
    """The Wald statistic of their difference is below chance, the loss without one of them far above."""
    rng = np.random.default_rng(3)
    w = rng.standard_normal(4) / 2
    W = np.column_stack([w, w + 0.35 * rng.standard_normal(4), rng.standard_normal(4)])
    truth = Network(W, [1.0, 1.2, -0.9], [0.8, -0.9, 0.1], 0.0, "tanh")
    X, y = draw(truth, 1500, noise_std=0.05, rng=4)
    fit = gauss_newton(samples.open(X, y), truth, free="Wab", tol=1e-12, iterations=200).network
    certificate = certify(fit, X, y)
    assert certificate.status is Status.STATISTICAL, str(certificate)
    assert certificate.locate(truth)[0].all()


def test_units_beside_fewer_others_are_within_their_regions_or_not(seed):
    """Regions are ellipsoids around the units' coordinates; every region must be looked at, and the nearest counts."""
    net = teachers.biased(3, 3, activation="softplus", rng=seed)
    gauge = Gauge.of(net, bias=True, offset=False)
    q, kept = gauge.unit_size, np.array([0, 2])
    narrower = Network(net.W[:, kept], net.a[kept], net.b[kept], activation="softplus")
    small, large = (np.broadcast_to(size**2 * np.eye(q), (3, q, q)) for size in (1e-6, 1.0))
    assert _within(gauge, kept, narrower, np.stack([small])).all()
    moved = Network(narrower.W + [[0.0, 1e-3]] * 3, narrower.a, narrower.b, activation="softplus")
    np.testing.assert_array_equal(_within(gauge, kept, moved, np.stack([small])), [True, False])
    np.testing.assert_array_equal(_within(gauge, kept, moved, np.stack([small, large])), [True, True])


@pytest.mark.parametrize("sigma", [1e-5, 1e-3])
def test_an_opposite_pair_that_is_one_unit_and_a_constant_is_not_claimed(sigma: float, seed: int) -> None:
    """A φ(u) + B φ(v) is also (A + B) φ(u) + B φ(−u) − B φ(−v) where φ(u) + φ(−u) = 1: three units of a truth of two."""
    rng = np.random.default_rng(seed)
    truth = Network(np.linalg.qr(rng.standard_normal((3, 2)))[0] * 1.5, [0.7, 1.2], activation="sigmoid")
    X = rng.standard_normal((500, 3))
    y = truth.predict(X) + sigma * rng.standard_normal(500)
    (u, v), (A, B) = truth.W.T, truth.a
    start = Network(np.column_stack([u, -u, -v]), [A + B, B, -B], activation="sigmoid")
    fit = gauss_newton(samples.open(X, y), start, free="Wa", tol=1e-13, iterations=400).network
    assert not {0, 1} & set(certify(fit, X, y, bias=False, offset=False).certified_units)
    gauge = Gauge.of(fit, bias=False, offset=False)
    information = Information.of(samples.open(X, y), gauge)
    least, narrower = _least(samples.open(X, y), information, np.arange(2), information.rss / (500 - gauge.size))
    assert np.all(least < chance(gauge, 500))
    assert all(net.n_units == 2 and np.abs(net.predict(X) - truth.predict(X)).max() < 6 * sigma for net in narrower)


def test_opposite_units_that_are_plainly_apart_are_certified(seed: int) -> None:
    """Of φ(u) + φ(−u′), sigmoid, one unit and a constant would not do where u and u′ differ beyond noise."""
    rng = np.random.default_rng(seed)
    u, v = np.linalg.qr(rng.standard_normal((3, 2)))[0].T * 1.5
    truth = Network(np.column_stack([u, 0.4 * v - u, v]), [1.9, 1.2, -0.8], activation="sigmoid")
    X, y = draw(truth, 1500, noise_std=1e-3, rng=rng)
    fit = gauss_newton(samples.open(X, y), truth, free="Wa", tol=1e-12, iterations=200).network
    certificate = certify(fit, X, y, bias=False, offset=False)
    assert certificate.status is Status.STATISTICAL, str(certificate)
    assert certificate.locate(truth)[0].all()


@pytest.mark.parametrize("scaled", [False, True])
def test_differences_and_sums_are_in_their_own_standard_errors(scaled: bool, seed: int) -> None:
    """δᵀ(T C Tᵀ)⁻¹δ of δ = v₁ ∓ t v₀ = T v, with a covariance between the units; none of pairs that are plainly apart."""
    rng = np.random.default_rng(seed)
    A, V, at = rng.standard_normal((9, 4)), rng.standard_normal((2, 2)), np.arange(4).reshape(2, 2)
    C = A.T @ A
    found = list(differences(V, at, (C, 9.0 * C), 1e9, scaled=scaled))
    ratio = float(np.linalg.norm(V[1]) / np.linalg.norm(V[0])) if scaled else 1.0
    assert [pair for _, pair in found] == [(0, 1), (0, 1)]
    for (value, _), t in zip(found, (ratio, -ratio), strict=True):
        T = np.hstack([-t * np.eye(2), np.eye(2)])
        delta = T @ V.ravel()
        assert value == pytest.approx(float(delta @ np.linalg.solve(T @ C @ T.T, delta)) / 9.0)
    assert not list(differences(V, at, (C,), 0.0, scaled=scaled))


def test_a_units_own_statistic_is_the_least_of_its_parts(seed: int) -> None:
    """(w, b) against its block, a against its variance, by the covariance that makes it least."""
    rng = np.random.default_rng(seed)
    net = Network(rng.standard_normal((2, 2)), [0.3, 5.0], rng.standard_normal(2), 0.0, "tanh")
    gauge = Gauge.of(net, bias=True, offset=False)
    roots = rng.standard_normal((2, 8, 8))
    covariances = tuple(R @ R.T for R in roots)
    for i in range(2):
        at = gauge.coordinates(i)
        parts = [at[:3], at[3:]]
        each = [gauge.theta[p] @ np.linalg.solve(C[np.ix_(p, p)], gauge.theta[p]) for C in covariances for p in parts]
        assert _size(gauge, i, covariances) == pytest.approx(min(each), rel=1e-6)
        for scale in (1e-3, 1e3):  # the other part is the least
            D = np.ones(8)
            D[at[3]] = scale
            C = covariances[0] * np.outer(D, D)
            each = [gauge.theta[p] @ np.linalg.solve(C[np.ix_(p, p)], gauge.theta[p]) for p in parts]
            assert _size(gauge, i, (C,)) == pytest.approx(min(each), rel=1e-6, abs=0)


@pytest.mark.parametrize(("d", "n"), [(2, 50), (2, 5000), (6, 400)])
def test_chance_pays_for_every_pattern_of_sides(d: int, n: int) -> None:
    """Σ_{i ≤ d+1} C(n, i) patterns at most; the best gains 2 log of them by chance, and one input more is too much."""
    gauge = Gauge.of(teachers.biased(d, 2, activation="relu", rng=1), bias=True, offset=False)
    gained = chance(gauge, n) - gauge.unit_size - 40.0
    patterns, more = (sum(math.comb(n, i) for i in range(d + 2 + j)) for j in (0, 1))
    assert 2.0 * math.log(patterns) <= gained < 2.0 * math.log(more) + 2.0 * (d + 2)


@pytest.mark.parametrize("scaled", [False, True])
def test_pairs_that_the_trace_shows_apart_are_left_out(scaled: bool) -> None:
    """δᵀC⁻¹δ ≥ ‖δ‖²/tr C, and tr C ≤ 2 (tr Cᵢᵢ + t² tr Cⱼⱼ): v₁ ∓ t v₀ of orthogonal units, the wider of two covariances."""
    V, at = np.array([[0.0, 3.0], [6.0, 0.0]]), np.arange(4).reshape(2, 2)
    C, t = np.diag([0.5, 1.5, 1.0, 3.0]), 2.0 if scaled else 1.0
    spread = 9.0 * (4.0 + t**2 * 2.0)
    edge = (36.0 + t**2 * 9.0) / (2.0 * spread)
    for limit, pairs in ((1.01 * edge, 2), (0.99 * edge, 0)):
        assert len(list(differences(V, at, (9.0 * C, C), limit, scaled=scaled))) == pairs


@pytest.mark.parametrize("least", [1e-3, 1e-13, 1e-15])
def test_wald_statistics_of_nearly_dependent_coordinates(least: float) -> None:
    """By eigenvalues of the correlations, none of which counts as less than 1e-12."""
    d = np.array([1e-3, 50.0])
    correlations = np.array([[1.0, 1.0 - least], [1.0 - least, 1.0]])
    along, across = np.array([1.0, 1.0]) / np.sqrt(2), np.array([1.0, -1.0]) / np.sqrt(2)
    found = wald(d * (3.0 * along + 1e-7 * across), correlations * np.outer(d, d))
    assert found == pytest.approx(9.0 / (2.0 - least) + 1e-14 / max(1.0 - correlations[0, 1], 1e-12), rel=1e-3)


def test_sums_of_narrower_networks_by_hand(seed: int) -> None:
    """Σ w D r₀, Σ w (r₀² − r²) and Σ (w D r/(1 − h))² of weights far from one; the least over σ² and over the robust spread."""
    rng = np.random.default_rng(seed)
    net = Network(rng.standard_normal((2, 2)), [1.0, -0.6], rng.standard_normal(2), 0.0, "tanh")
    X, w = rng.standard_normal((40, 2)), 7.0 * rng.uniform(0.3, 2.0, 40)
    y = net.predict(X) + 0.3 * rng.standard_normal(40)
    rows, gauge = samples.open(X, y, sample_weight=w), Gauge.of(net, bias=True, offset=False)
    information = Information.of(rows, gauge)
    fewer = [Network(net.W[:, [i]] * 1.1, net.a[[i]], net.b[[i]], 0.0, "tanh") for i in range(2)]
    students = Students.of(*fewer)
    slope = net.a / np.cosh(X @ net.W + net.b) ** 2
    J = np.hstack(
        [(np.hstack([X, np.ones((40, 1))])[:, :, None] * slope[:, None, :]).reshape(40, -1), np.tanh(X @ net.W + net.b)]
    )
    h = (np.linalg.qr(np.sqrt(w)[:, None] * J)[0] ** 2).sum(axis=1)
    r = net.predict(X) - y
    found = rows.fold(Losses(gauge, information.half_inverse, students))
    variances = (1e-3, 1e3)
    expected = []
    for one in fewer:
        left = one.predict(X) - y
        D = left - r
        expected.append(((w * D * left).sum(), (w * (left**2 - r**2)).sum(), ((w * D * r / (1 - h)) ** 2).sum()))
    np.testing.assert_allclose(np.transpose(found), expected, rtol=1e-6)
    for variance in variances:
        wanted = [min(plain / variance, along**2 / spread) for along, plain, spread in expected]
        np.testing.assert_allclose(losses(rows, information, students, variance), wanted, rtol=1e-6)


@pytest.mark.parametrize(
    ("least", "inside", "weak"),
    [((200.0, 20.0), True, (2,)), ((200.0, 20.0), False, (0, 2)), ((101.0, 150.0), False, ())],
)
def test_units_that_are_doubted_are_taken_away(
    monkeypatch: pytest.MonkeyPatch, least: tuple[float, float], inside: bool, weak: tuple[int, ...]
) -> None:
    """Those below the limit by their own statistics; where the loss is too, the others must stay within their regions."""
    _, X, y, fit = tanh_problem(0)
    _, information, variance = known(fit, X, y)
    without_one, without_two = (Network(fit.W[:, at], fit.a[at], fit.b[at], 0.0, "tanh") for at in ([0, 2], [0, 1]))
    asked: list[tuple[list[int], list[int]]] = []

    def refit(rows: object, of: object, units: np.ndarray, sigma: float) -> tuple[np.ndarray, list[Network]]:
        assert sigma == variance
        assert units.tolist() == [1, 2]
        return np.array(least), [without_one, without_two]

    def stay(of: object, units: np.ndarray, narrower: Network, regions: np.ndarray) -> np.ndarray:
        assert narrower is without_two
        asked.append(units.tolist())
        return np.array([inside, True])

    monkeypatch.setattr(module, "_wald_statistics", lambda *_: np.array([1000.0, 50.0, 10.0]))
    monkeypatch.setattr(module, "_least", refit)
    monkeypatch.setattr(module, "_within", stay)
    found = module.significance(samples.open(X, y), information, (), variance, 100.0, np.zeros((2, 3, 7, 7)))
    assert (found.holds, found.units, found.number, found.limit) == (not weak, weak, min(1000.0, *least), 100.0)
    assert asked == ([[0, 1]] if weak else [])


def test_the_least_statistics_of_units_and_of_their_pairs(seed: int) -> None:
    """Each unit has the least of its own and of its differences and sums with every other one, by matrices."""
    rng = np.random.default_rng(seed)
    net = Network(rng.standard_normal((2, 3)), [2.0, 0.5, -1.0], rng.standard_normal(3), 0.0, "tanh")
    gauge = Gauge.of(net, bias=True, offset=False)
    roots = rng.standard_normal((2, 12, 12))
    covariances = tuple(R @ R.T for R in roots)
    found = module._wald_statistics(gauge, covariances, 1e9)
    theta, at = gauge.theta, [gauge.coordinates(i)[:3] for i in range(3)]
    expected = [_size(gauge, i, covariances) for i in range(3)]
    for i, j, t in itertools.product(range(3), range(3), (1.0, -1.0)):
        if i != j:
            T = np.zeros((3, 12))
            T[:, at[i]], T[:, at[j]] = np.eye(3), -t * np.eye(3)
            delta = T @ theta
            expected[i] = min(expected[i], *(delta @ np.linalg.solve(T @ C @ T.T, delta) for C in covariances))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("scaled", [False, True])
def test_pairs_across_are_judged_off_the_first_unit(scaled: bool, seed: int) -> None:
    """What is orthogonal to vᵢ of vᵢ ∓ t vⱼ, and of its covariance."""
    rng = np.random.default_rng(seed)
    root, V, at = rng.standard_normal((6, 6)), rng.standard_normal((2, 3)), np.arange(6).reshape(2, 3)
    C = root @ root.T
    found = [value for value, _ in differences(V, at, (C,), 1e9, scaled=scaled, across=True)]
    ratio = float(np.linalg.norm(V[1]) / np.linalg.norm(V[0])) if scaled else 1.0
    B = np.linalg.qr(np.column_stack([V[1], np.eye(3)[:, :2]]))[0][:, 1:].T
    for value, t in zip(found, (ratio, -ratio), strict=True):
        T = B @ np.hstack([-t * np.eye(3), np.eye(3)])
        delta = T @ V.ravel()
        assert value == pytest.approx(float(delta @ np.linalg.solve(T @ C @ T.T, delta)), rel=1e-6)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_a_unit_is_within_its_region_up_to_the_boundary(activation: str, seed: int) -> None:
    """δᵀR⁻¹δ ≤ 1 of the reflection too where that is a symmetry; one of the other sign is elsewhere."""
    rng = np.random.default_rng(seed)
    net = Network(rng.standard_normal((2, 3)), [1.0, -1.0, 1.0], rng.standard_normal(3), 0.0, activation)
    gauge = Gauge.of(net, bias=True, offset=False)
    q = gauge.unit_size
    roots = 1e-3 * rng.standard_normal((3, q, q))
    regions = (roots @ np.swapaxes(roots, 1, 2))[None]
    kept = np.array([0, 1])
    for share in (0.99, 1.01):
        v = rng.standard_normal(q)
        theta = gauge.unit(1)[0] + share * roots[1] @ (v / np.linalg.norm(v))
        a = theta[3] if activation == "tanh" else -1.0
        moved = Network(np.column_stack([net.W[:, 0], theta[:2]]), [1.0, a], [net.b[0], theta[2]], 0.0, activation)
        assert _within(gauge, kept, moved, regions).tolist() == [True, share < 1.0]
        turned = Network(moved.W * [1.0, -1.0], moved.a * [1.0, -1.0], moved.b * [1.0, -1.0], 0.0, activation)
        assert _within(gauge, kept, turned, regions)[1] == (activation == "tanh" and share < 1.0)
