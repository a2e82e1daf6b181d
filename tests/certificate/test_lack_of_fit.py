"""Lack of fit: uniform under the null, by brute force, and what it detects."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from tests.certificate.fits import fitted, relu

from weightlift import draw, samples, teachers
from weightlift.certificate import certify
from weightlift.certificate.lack_of_fit import (
    ANGLES,
    FitProducts,
    Redraws,
    _Columns,
    _near,
    choose_units,
    lack_of_fit,
)
from weightlift.certificate.limits import LIMITS
from weightlift.certificate.signs import cells_of
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.network import Network
from weightlift.risk import Students


@pytest.mark.parametrize("law", ["gauss", "size depends on x", "t5", "exponential"])
def test_lack_of_fit_is_uniform_under_the_null(law: str) -> None:
    """100 fits; Kolmogorov–Smirnov at 0.1 %, and the share of p-values at the level within three deviations."""
    p_values = []
    for seed in range(100):
        activation, free = (("relu", "Wb"), ("tanh", "Wab"))[seed % 2]
        truth = teachers.biased(3, 1, bias=0.5, activation=activation, rng=seed)
        X, y = draw(truth, 300, rng=seed + 1000)
        y = y + 0.1 * errors(law, X, np.random.default_rng(seed))
        source = samples.open(X, y)
        information = Information.of(source, Gauge.of(fitted(truth, X, y, free=free), bias=True, offset=False))
        p_values.append(lack_of_fit(source, information, len(X), rng=np.random.default_rng(seed)).p_value)
    assert stats.kstest(p_values, "uniform").pvalue > 1e-3
    assert np.mean(np.array(p_values) <= LIMITS.level) <= LIMITS.level + 3 * np.sqrt(LIMITS.level / 100)


def errors(law: str, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Of mean zero and variance one."""
    n = len(X)
    if law == "t5":
        return np.asarray(rng.standard_t(5, n) / np.sqrt(5 / 3))
    if law == "exponential":
        return np.asarray(rng.exponential(size=n) - 1.0)
    return np.asarray(rng.standard_normal(n) * (np.abs(X[:, 0]) if law != "gauss" else 1.0))


def test_lack_of_fit_by_brute_force(seed: int) -> None:
    """The statistic and its draws of signs from matrices as large as the data, off J by least squares."""
    truth, X, y = relu(seed, n=300)
    w = np.random.default_rng(seed).uniform(0.5, 2.0, 300)
    source = samples.open(X, y, sample_weight=w)
    gauge = Gauge.of(fitted(truth, X, y, weight=w), bias=True, offset=False)
    found = lack_of_fit(source, Information.of(source, gauge), 300, rng=np.random.default_rng(seed))
    rng = np.random.default_rng(seed)
    features, probes, _ = choose_units(source, gauge, rng)
    key = int(rng.integers(2**31))
    J, r = jacobian(gauge, X) * np.sqrt(w)[:, None], np.sqrt(w) * (gauge.network.predict(X) - y)
    psi = np.sqrt(w)[:, None] * np.column_stack([features_of(features, X), np.ones(300), X])
    size = np.linalg.norm(psi, axis=0)
    psi = psi - J @ np.linalg.lstsq(J, psi)[0]
    psi = (psi / np.linalg.norm(psi, axis=0))[:, np.linalg.norm(psi, axis=0) > 1e-3 * size]
    leverage = np.sum(np.linalg.qr(J)[0] ** 2, axis=1)
    block = next(iter(source.blocks(300)))
    common = np.asarray(cells_of(block, key))[:, None] & np.arange(1, 512)
    drawn = 1.0 - 2.0 * (np.bitwise_count(common) % 2)
    draws = np.abs(psi.T @ (drawn * (r / np.sqrt(1 - leverage))[:, None])).max(axis=0)
    statistic = np.abs(psi.T @ r).max()
    assert found.p_value == pytest.approx((1 + (draws >= statistic).sum()) / 512)
    assert found.leverage == pytest.approx(leverage.max())
    planted = features_of(probes, X)
    off = np.sqrt(w)[:, None] * planted
    seen = np.abs(psi.T @ (off - J @ np.linalg.lstsq(J, off)[0])).max(axis=0)
    noise = np.sqrt(np.sum(r**2) / (300 - gauge.size))
    limits = (np.sort(draws)[-5] + 3.1 * noise) / seen * np.sqrt(np.average(planted**2, axis=0, weights=w))
    assert found.detection_limit == pytest.approx(limits[np.isfinite(limits)].max(), rel=1e-6)


def jacobian(gauge: Gauge, X: np.ndarray) -> np.ndarray:
    students = Students.of(gauge.network)
    return np.asarray(gauge.jacobian(X, students.preactivations(X), students))


def features_of(units: Network, X: np.ndarray) -> np.ndarray:
    return np.maximum(X @ units.W + units.b, 0.0)


def test_the_worst_probe_is_found_at_the_limit_and_not_far_below() -> None:
    truth, X, y = relu(1, n=600)
    gauge = Gauge.of(truth, bias=True, offset=False)
    source = samples.open(X, y)
    limit = lack_of_fit(source, Information.of(source, gauge), 600, rng=np.random.default_rng(3)).detection_limit
    _, probes, _ = choose_units(source, gauge, np.random.default_rng(3))
    planted = features_of(probes, X)
    planted /= np.sqrt(np.mean(planted**2, axis=0))
    basis = np.linalg.qr(jacobian(gauge, X))[0]
    worst = planted[:, int(np.argmin(((planted - basis @ (basis.T @ planted)) ** 2).sum(axis=0)))]
    found = {1.0: 0, 0.2: 0}
    for trial in range(40):
        noise = 0.03 * np.random.default_rng(trial).standard_normal(600)
        for share in found:
            moved = samples.open(X, truth.predict(X) + noise + share * limit * worst)
            p = lack_of_fit(moved, Information.of(moved, gauge), 600, rng=np.random.default_rng(3)).p_value
            found[share] += p <= LIMITS.level
    assert found[1.0] >= 39
    assert found[0.2] <= 12


def test_units_at_the_detection_limit_are_found() -> None:
    """A further unit of the stated size is found; one of three hundredths of it is not, nor is the test false without one."""
    truth, X, y = relu(3, n=1500)
    limit = certify(fitted(truth, X, y), X, y).detection_limit
    assert limit is not None
    found = {1.0: 0, 0.03: 0}
    rng = np.random.default_rng(0)
    trials = 0
    while trials < 20:
        w = rng.standard_normal(5)
        w /= np.linalg.norm(w)
        if np.abs(truth.W.T @ w).max() > 0.9:
            continue
        trials += 1
        extra = np.maximum(X @ w + rng.uniform(-0.7, 0.7), 0)
        extra /= np.sqrt(np.mean(extra**2))
        noise = 0.03 * rng.standard_normal(len(X))
        for share in found:
            target = truth.predict(X) + noise + share * limit * extra
            found[share] += not certify(fitted(truth, X, target), X, target)
    assert found[1.0] == 20
    assert found[0.03] <= 3


def test_a_p_value_near_the_level_hardly_depends_on_the_draws() -> None:
    """Fits whose p-value is near 1 %, tested with other signs: the spread is that of 4,000 draws, not of 500."""
    near = 0
    for seed, missing in itertools.product(range(6), (0.008, 0.012, 0.016, 0.02)):
        truth, X, y = relu(seed, n=200)
        y = y + missing * np.abs(X[:, 0])
        source = samples.open(X, y)
        information = Information.of(source, Gauge.of(fitted(truth, X, y), bias=True, offset=False))
        first = lack_of_fit(source, information, 200, rng=np.random.default_rng(0)).p_value
        if not 0.005 < first < 0.02:
            continue
        near += 1
        again = []
        for other in range(4):  # the same units, and other signs
            products = FitProducts(information, choose_units(source, information.gauge, np.random.default_rng(0)), other)
            columns = _Columns.of(source, products, 200)
            again.append(np.mean(columns.draws(columns.cells, columns.scores) >= columns.statistic))
        assert abs(np.mean(again) - first) < 4 * 0.01**0.5 * (1 / 4088 + 1 / 2044) ** 0.5
    assert near > 1


def test_further_draws_are_those_of_as_many_passes(seed: int) -> None:
    """The sums of all groups from one pass are those of one pass each."""
    truth, X, y = relu(seed, n=200)
    source = samples.open(X, y, sample_weight=np.random.default_rng(seed).uniform(0.5, 2.0, 200))
    information = Information.of(source, Gauge.of(truth, bias=True, offset=False))
    products = FitProducts(information, choose_units(source, information.gauge, np.random.default_rng(seed)), 3)
    columns = _Columns.of(source, products, 200)
    together = zip(*source.fold(Redraws(information, products.units[0], (3, 11, 5))), strict=True)
    for sums, key in zip(together, (3, 11, 5), strict=True):
        alone = _Columns.of(source, replace(products, seed=key), 200)
        np.testing.assert_allclose(columns.draws(*sums), alone.draws(alone.cells, alone.scores), rtol=1e-9)


@pytest.mark.parametrize("length", [1e-2, 1.0, 1e2])
@pytest.mark.parametrize("bias", [False, True])
def test_units_that_look_for_more_stand_where_the_rows_do(bias: bool, length: float, seed: int) -> None:
    """Inputs off centre and of unequal sizes: in the whitened inputs every unit is as long as one of the network's, nearly
    parallel ones are turned by the given angles and have their unit's mean, and the others' means are within the units'."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((300, 3)) @ rng.standard_normal((3, 3)) * [1.0, 20.0, 0.1] + [3.0, -50.0, 0.4]
    w = rng.uniform(0.2, 2.0, 300)
    net = Network(length * rng.standard_normal((3, 2)) / [[1.0], [20.0], [0.1]], [1.0, -0.5], bias * rng.standard_normal(2))
    gauge = Gauge.of(net, bias=bias, offset=False)
    rows = samples.open(X, net.predict(X), sample_weight=w)
    mean = w @ X / w.sum()
    cov = (w[:, None] * (X - mean)).T @ (X - mean) / w.sum()
    half = np.linalg.cholesky(cov)  # ⟨u, v⟩ = uᵀ cov v
    own = half.T @ gauge.network.W
    lengths = np.linalg.norm(own, axis=0)
    levels = (mean @ gauge.network.W + gauge.network.b) / lengths
    features, probes, close = choose_units(rows, gauge, np.random.default_rng(seed))
    for units in (features, probes):
        size = np.linalg.norm(half.T @ units.W, axis=0)
        assert np.isclose(size[:, None], lengths, rtol=1e-9).any(axis=1).all()
        if bias:
            assert (np.abs((mean @ units.W + units.b) / size) <= max(1.0, np.abs(levels).max()) + 1e-9).all()
    turned = half.T @ close.W
    like = np.repeat(np.arange(2), len(ANGLES))
    np.testing.assert_allclose(np.linalg.norm(turned, axis=0), lengths[like], rtol=1e-9)
    cosines = (turned * own[:, like]).sum(axis=0) / lengths[like] ** 2
    np.testing.assert_allclose(cosines, np.tile(np.cos(ANGLES), 2), rtol=1e-9)
    if bias:
        np.testing.assert_allclose(mean @ close.W + close.b, (mean @ gauge.network.W + gauge.network.b)[like], atol=1e-8)
    away = np.abs((half.T @ probes.W / np.linalg.norm(half.T @ probes.W, axis=0)).T @ (own / lengths))
    assert away.max() < np.cos(ANGLES[-1])


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_probes_are_like_the_units_wherever_the_inputs_lie(activation: str, seed: int) -> None:
    """z has the spread of a unit's own, and at the mean input a level up to the largest |level| of them, in its spread."""
    rng = np.random.default_rng(seed)
    X = rng.normal([5.0, -30.0], [0.3, 6.0], (400, 2))
    W = np.array([[20.0, 0.5, -3.0], [0.1, 0.3, -0.8]])
    net = Network(W, np.ones(3), -X.mean(axis=0) @ W + [3.0, 4.0, -2.0], 0.0, activation)
    gauge = Gauge(net, Gauge.of(net, bias=True, offset=False).free)
    features, probes, near = choose_units(samples.open(X, X[:, 0]), gauge, rng)
    own = (X @ net.W).std(axis=0)
    level = np.abs(X.mean(axis=0) @ net.W + net.b) / own
    assert probes.n_units == LIMITS.probes  # as many, though some directions are too near to a unit's
    assert features.n_units == LIMITS.features
    for units in (features, probes):
        spread = (X @ units.W).std(axis=0)
        np.testing.assert_allclose(np.abs(spread[:, None] / own - 1).min(axis=1), 0.0, atol=1e-9)
        at = np.abs(X.mean(axis=0) @ units.W + units.b) / spread
        assert 0.9 * level.max() < at.max() <= level.max() * (1 + 1e-9)
    centre = X.mean(axis=0)
    np.testing.assert_allclose(centre @ near.W + near.b, np.repeat(centre @ net.W + net.b, len(ANGLES)), rtol=1e-9)


def test_squares_of_the_units_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    net = Network(rng.standard_normal((3, 2)), [3.0, -0.2], rng.standard_normal(2), 0.0, "tanh")
    X, w = rng.standard_normal((40, 3)), rng.uniform(0.2, 3.0, 40)
    source, gauge = samples.open(X, X[:, 0], sample_weight=w), Gauge.of(net, bias=True, offset=False)
    products = FitProducts(Information.of(source, gauge), choose_units(source, gauge, rng), 3)
    np.testing.assert_allclose(_Columns.of(source, products, 40).units, w @ np.tanh(X @ net.W + net.b) ** 2, rtol=1e-12)


def test_p_values_near_the_level_are_drawn_again(limits: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    """A quadratic residual is beyond all of 511 draws, and beyond those of seven more groups, if these are asked for."""
    rng = np.random.default_rng(0)
    truth = teachers.biased(3, 1, bias=0.5, activation="relu", rng=1)
    X = rng.standard_normal((300, 3))
    y = truth.predict(X) + 0.3 * X[:, 0] * X[:, 1] + 0.01 * rng.standard_normal(300)
    source = samples.open(X, y)
    information = Information.of(source, Gauge.of(fitted(truth, X, y), bias=True, offset=False))
    seeds: list[tuple[int, ...]] = []

    def spy(information: Information, features: Network, keys: tuple[int, ...]) -> Redraws:
        seeds.append(keys)
        return Redraws(information, features, keys)

    monkeypatch.setattr("weightlift.certificate.lack_of_fit.Redraws", spy)
    for redrawn, draws in (((0.002, 0.04), 511), ((0.0, 1.1), 511 * 8), ((0.0, 0.0019), 511), ((0.0019, 0.002), 511 * 8)):
        limits("weightlift.certificate.lack_of_fit", redrawn=redrawn)
        found = lack_of_fit(source, information, 300.0, rng=np.random.default_rng(0))
        assert found.p_value == pytest.approx(1 / (1 + draws), rel=1e-12, abs=0)
    assert [len(set(keys)) for keys in seeds] == [7, 7]  # no group twice


@pytest.mark.parametrize(("activation", "odd"), [("tanh", "nothing"), ("relu", "a target"), ("relu", "an input")])
def test_what_a_unit_unseen_would_have_moved_by_brute_force(
    limits: Callable[..., None], activation: str, odd: str, seed: int
) -> None:
    """Shifts (JᵀJ)⁻¹Jᵀu of probes at the least size that is seen, and of twins no larger than their unit; the kurtosis and the
    largest share of a row in the squares; the jackknife's scores. n rows of weights far from one, fewer of them independent."""
    rng = np.random.default_rng(seed)
    X = rng.normal([2.0, -1.0], [1.0, 3.0], (80, 2))
    X[0] *= 9.0 if odd == "an input" else 1.0
    W = rng.standard_normal((2, 2)) / [[1.0], [3.0]]
    net = Network(W, [3.0, -0.4], [0.3, -0.5] - np.array([2.0, -1.0]) @ W, 0.2, activation)
    y, w = net.predict(X) + 0.1 * rng.standard_normal(80), 6.0 * rng.uniform(0.3, 2.0, 80)
    y[1] += 5.0 if odd == "a target" else 0.0
    rows, gauge = samples.open(X, y, sample_weight=w), Gauge.of(net, bias=True, offset=True)
    information = Information.of(rows, gauge)
    limits("weightlift.certificate.lack_of_fit", redrawn=(1.0, 1.0))  # 511 draws
    found = lack_of_fit(rows, information, 60.0, rng=np.random.default_rng(seed))
    draws = np.random.default_rng(seed)
    units = choose_units(rows, gauge, draws)
    columns = _Columns.of(rows, FitProducts(information, units, int(draws.integers(2**31))), 60.0)
    root = np.sqrt(w)[:, None]
    J = root * jacobian(gauge, X)
    Q, R = np.linalg.qr(J)
    r = root[:, 0] * (gauge.network.predict(X) - y)
    r -= Q @ (Q.T @ r)
    h = (Q**2).sum(axis=1)
    assert found.leverage == pytest.approx(h.max(), rel=1e-6)
    assert found.influence == pytest.approx((r**2).max() / (r @ r), rel=1e-6)
    assert found.kurtosis == pytest.approx(60.0 * (r**4).sum() / (r @ r) ** 2 - 3.0, rel=1e-6)
    scores = (J @ information.half_inverse) * (r / (1 - h))[:, None]
    np.testing.assert_allclose(found.meat, scores.T @ scores, rtol=1e-5, atol=1e-9 * np.trace(found.meat))

    features, probes, near = (root * gauge.network.activation(X @ u.W + u.b) for u in units)
    V = np.hstack([features, root, root * X])
    off = V - Q @ (Q.T @ V)
    kept = np.linalg.norm(off, axis=0) > 1e-3 * np.linalg.norm(V, axis=0)
    psi = off[:, kept] / np.linalg.norm(off[:, kept], axis=0)
    drawn = np.sort(columns.draws(columns.cells, columns.scores))
    critical = (drawn[-5] + 3.1) * np.sqrt(r @ r / (60.0 - gauge.size))

    def seen(u: np.ndarray) -> np.ndarray:
        return np.abs(psi.T @ (u - Q @ (Q.T @ u))).max(axis=0)

    moved = np.linalg.solve(R, Q.T @ probes) * critical / seen(probes)
    np.testing.assert_allclose(found.shifts, moved, rtol=1e-4, atol=1e-5 * np.abs(moved).max())
    sizes = np.linalg.norm(root * gauge.network.a * gauge.network.activation(X @ gauge.network.W + gauge.network.b), axis=0)
    amounts = np.minimum(critical / seen(near), np.repeat(sizes, len(ANGLES)) / np.linalg.norm(near, axis=0))
    moved = (np.linalg.solve(R, Q.T @ near) * amounts).reshape(gauge.size, 2, len(ANGLES)) * np.sign(net.a)[:, None]
    np.testing.assert_allclose(found.splits, moved, rtol=1e-4, atol=1e-5 * np.abs(moved).max())


def test_sums_of_parts_of_the_rows_are_those_of_all(seed: int) -> None:
    _, X, y = relu(seed, n=60)
    gauge = Gauge.of(fitted(*relu(seed, n=60)), bias=True, offset=False)
    source = samples.open(X, y)
    products = FitProducts(Information.of(source, gauge), choose_units(source, gauge, np.random.default_rng(0)), 3)
    (whole,) = source.blocks(60)
    keys = whole.keys
    parts = [replace(whole, X=X[at], y=y[at], keys=lambda at=at: keys()[at]) for at in (slice(0, 20), slice(20, 60))]
    for one, other in (parts, parts[::-1]):
        for value, wanted in zip(products.merge(products(one), products(other)), products(whole), strict=True):
            np.testing.assert_allclose(value, wanted, rtol=1e-9, atol=1e-9)


def test_the_size_of_all_weights_together_says_nothing(seed: int) -> None:
    """Weights 2⁻⁶⁰ times as large: the same p-value, limits and shifts, whatever is compared with a size of its own."""
    truth, X, y = relu(seed, n=120)
    w = np.random.default_rng(seed).uniform(0.5, 2.0, 120)
    gauge = Gauge.of(fitted(truth, X, y, weight=w), bias=True, offset=False)
    sources = [samples.open(X, y, sample_weight=2.0**power * w) for power in (0, -60)]
    one, other = (lack_of_fit(s, Information.of(s, gauge), 120, rng=np.random.default_rng(seed)) for s in sources)
    for name in ("p_value", "detection_limit", "leverage", "influence", "kurtosis"):
        assert getattr(other, name) == pytest.approx(getattr(one, name), rel=1e-9), name
    assert 0.0 < one.detection_limit < np.inf
    np.testing.assert_allclose(other.shifts, one.shifts, atol=1e-9 * np.abs(one.shifts).max())
    np.testing.assert_allclose(other.splits, one.splits, atol=1e-9 * np.abs(one.splits).max())


@pytest.mark.parametrize(("spread", "seen"), [(1e-5, True), (1e-7, False)])
def test_units_look_along_inputs_that_vary_beside_the_widest(spread: float, seen: bool, seed: int) -> None:
    """A variance below 1e-12 of the largest is none, whatever it is beside the others: nothing looks along it."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((200, 3)) * [1.0, 1e-3, spread]
    net = Network(rng.standard_normal((3, 2)) / [[1.0], [1e-3], [1.0]], [1.0, -1.0], [0.3, 0.1], 0.0, "tanh")
    units = choose_units(samples.open(X, net.predict(X)), Gauge.of(net, bias=True, offset=False), rng)
    for network in units:
        along = spread * np.abs(network.W[2])
        assert along.max() > 0.1 if seen else along.max() < 1e-3


def test_units_are_turned_towards_a_direction(seed: int) -> None:
    """By θ in the plane of both: ⟨u, v⟩ = cos θ, and with ⟨u, d⟩ = cos γ the direction is γ − θ away."""
    rng = np.random.default_rng(seed)
    own, directions = rng.standard_normal((4, 2)), rng.standard_normal((4, 2 * len(ANGLES)))
    own, directions = own / np.linalg.norm(own, axis=0), directions / np.linalg.norm(directions, axis=0)
    found = _near(own, directions)
    before, angles = np.repeat(own, len(ANGLES), axis=1), np.tile(ANGLES, 2)
    gamma = np.arccos((before * directions).sum(axis=0))
    np.testing.assert_allclose((found * before).sum(axis=0), np.cos(angles), rtol=1e-9)
    np.testing.assert_allclose((found * directions).sum(axis=0), np.cos(gamma - angles), rtol=1e-6)
