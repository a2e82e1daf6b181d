"""Stated precision holds for the worst errors that are allowed, and nothing is proved of a box too wide."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from weightlift import samples, teachers
from weightlift.activations import custom
from weightlift.certificate import Status, certify
from weightlift.certificate.precision import (
    SHARES,
    Box,
    Changes,
    Near,
    NearSquares,
    OtherSides,
    UnitBalls,
    UnitRegions,
    on_sides,
    precision_of,
    separation,
    undetermined,
)
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.evidence.rows import rounding_bound
from weightlift.network import Network
from weightlift.refinement.gauss_newton import gauss_newton
from weightlift.risk import Students
from weightlift.samples import Block


def bound(net: Network, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    students = Students.of(net)
    z = students.preactivations(X)
    return np.asarray(rounding_bound(students, X, y, z, students.activation(z)))


def test_precision_holds_for_the_worst_rounding_errors(seed: int) -> None:
    """Targets moved by three tenths of the bound on every row, in the pattern that moves a coordinate most."""
    truth = teachers.biased(5, 2, bias=0.3, activation="relu", rng=seed)
    X = np.random.default_rng(seed).standard_normal((120, 5))
    y = truth.predict(X)
    gauge = Gauge.of(truth, bias=True, offset=False)
    students = Students.of(gauge.network)
    J = gauge.jacobian(X, students.preactivations(X), students)
    for coordinate in (0, 3, gauge.size - 1):
        e = 0.3 * bound(truth, X, y) * np.sign(np.linalg.pinv(J)[coordinate])
        net = gauss_newton(samples.open(X, y + e), truth, free="Wb").network
        certificate = certify(net, X, y + e, bias=True)
        assert certificate.status is Status.EXACT
        assert certificate.locate(truth)[0].all()


def test_separation_is_relative_and_up_to_sign() -> None:
    W = np.array([[1.0, 3.0, 0.0], [0.0, 3e-3, 2.0]])
    np.testing.assert_allclose(separation(Gauge.of(Network(W), bias=False, offset=False)), [1e-3, 1e-3, 1.4135], rtol=1e-3)


@pytest.mark.parametrize(("activation", "free"), [("relu", "Wb"), ("squared_relu", "Wb"), ("tanh", "Wab"), ("sigmoid", "Wab")])
@pytest.mark.parametrize("size", [1e-9, 1e-5])
def test_precision_holds_for_bounded_errors(activation: str, free: str, size: float, seed: int) -> None:
    """Errors of at most E on every row, in the pattern that moves a unit most: the truth is in the region, which is not far
    too large."""
    truth = teachers.biased(4, 2, bias=0.5, activation=activation, rng=seed)
    X = np.random.default_rng(seed).standard_normal((200, 4))
    gauge = Gauge.of(truth, bias=True, offset=False)
    students = Students.of(gauge.network)
    J = gauge.jacobian(X, students.preactivations(X), students)
    for i in range(2):
        at = gauge.coordinates(i)
        worst = np.linalg.eigh(np.linalg.inv(J.T @ J)[np.ix_(at, at)])[1][:, -1]
        y = truth.predict(X) + size * np.sign(np.linalg.pinv(J)[at].T @ worst)
        source = samples.open(X, y)
        net = gauss_newton(source, truth, free=free, tol=1e-15).network
        fit = Gauge.of(net, bias=True, offset=False)
        error = float(np.linalg.norm(np.abs(net.predict(X) - y) + size))
        found = precision_of(source, Information.of(source, fit), error)
        delta = fit.unit(i)[0] - gauge.unit(i)[0]
        distance = float(delta @ np.linalg.solve(found.regions[i], delta))
        assert 1e-3 < distance <= 1.0
        assert found.contraction < 0.6
        assert found.relative[i] == pytest.approx(fit.relative_size(i, found.regions[i]), rel=1e-6, abs=0)


def test_a_box_that_is_too_wide_proves_nothing() -> None:
    truth = teachers.biased(4, 2, bias=0.5, activation="tanh", rng=0)
    X = np.random.default_rng(0).standard_normal((200, 4))
    source = samples.open(X, truth.predict(X))
    found = precision_of(source, Information.of(source, Gauge.of(truth, bias=True, offset=False)), 50.0)
    assert found.contraction > 1.0
    assert not np.isfinite(found.relative).any()


CLIPPED = custom("clipped", lambda z: np.clip(z, -0.5, 0.8), lambda z: ((z > -0.5) & (z <= 0.8)) * 1.0, kinks=(-0.5, 0.8))
EPS = float(np.finfo(float).eps)


@pytest.mark.parametrize("bias", [False, True])
def test_what_preactivations_may_change_by(bias: bool, seed: int) -> None:
    """|x|ᵀρ_w + ρ_b beside (d + 2) ε (|x|ᵀ|w| + |b|), row by row and unit by unit; ρ_a of the output weights."""
    rng = np.random.default_rng(seed)
    net = Network(rng.standard_normal((3, 2)), [1.0, -2.0], [0.4 * bias, -0.3 * bias], 0.0, "tanh")
    gauge = Gauge.of(net, bias=bias, offset=True)
    X, radius = rng.standard_normal((7, 3)), EPS * rng.uniform(0.0, 5.0, gauge.size)
    reach, of_a = Box(gauge, radius).unit_radii(X)
    for i in range(2):
        at = gauge.coordinates(i)
        for row, x in enumerate(X):
            change = np.abs(x) @ radius[at[:3]] + (radius[at[3]] if bias else 0.0)
            rounding = 5 * EPS * (np.abs(x) @ np.abs(net.W[:, i]) + abs(net.b[i]))
            assert reach[row, i] == pytest.approx(change + rounding, rel=1e-12, abs=0.0)
        assert of_a[i] == radius[at[-1]]


def test_rows_near_the_nearest_kink_of_each_unit(seed: int) -> None:
    """z − kink of kinks that are not at zero, within (x̃ᵀRx̃)^½ of the wider region, with weights and output weights."""
    rng = np.random.default_rng(seed)
    net = Network(rng.standard_normal((3, 2)), [3.0, -0.2], [0.4, -0.3], 0.0, CLIPPED)
    roots = 0.1 * rng.standard_normal((2, 2, 4, 4))
    regions = roots @ np.swapaxes(roots, 2, 3)
    X, w = rng.standard_normal((80, 3)), rng.uniform(0.1, 3.0, 80)
    inputs, z = np.hstack([X, np.ones((80, 1))]), X @ net.W + net.b
    reach = np.sqrt(np.einsum("ni,rkij,nj->rnk", inputs, regions, inputs).max(axis=0))
    gaps = np.minimum(np.abs(z + 0.5), np.abs(z - 0.8))
    near, box = gaps <= reach, UnitRegions(net, regions)
    source = samples.open(X, z[:, 0], sample_weight=w)
    assert 0 < source.fold(Near(box))[0] == near.any(axis=1).sum() < 80
    assert source.map(Near(box).without).fold(Near(box))[0] == near.any(axis=1).sum()
    left = Near(box).without(Block(X, z[:, 0], w, lambda: np.arange(80)))
    np.testing.assert_array_equal(left.w, w * ~near.any(axis=1))
    costs = w[:, None] * (np.abs(net.a) * gaps) ** 2
    every, *cheapest = source.fold(NearSquares(box, 2.0))[0]
    np.testing.assert_allclose(every, (costs * near).sum(axis=0), rtol=1e-12)
    for share, found in zip(SHARES, cheapest, strict=True):
        np.testing.assert_allclose(found, (costs * (near & (costs <= 2.0 * share))).sum(axis=0), rtol=1e-12)
    most = np.median(costs[near.all(axis=1)], axis=0) if near.all(axis=1).any() else np.full(2, 1e-3)
    there, block = (near & (costs <= most)).any(axis=1), Block(X, z[:, 0], w, lambda: np.arange(80))
    np.testing.assert_array_equal(OtherSides(box, most).without(block).w, w * ~there)
    alone = OtherSides(box, most).alone(block)
    for got, wanted in zip((alone.X, alone.y, alone.w, alone.key), (X, z[:, 0], w, np.arange(80)), strict=True):
        np.testing.assert_array_equal(got, wanted[there])


def test_open_regions_reach_every_row(seed: int) -> None:
    """One region that is infinite and one that is not: nothing is beyond reach, and no row is left out unseen."""
    rng = np.random.default_rng(seed)
    net = Network(rng.standard_normal((3, 2)), [3.0, -0.2], activation="relu")
    regions = np.tile(1e-4 * np.eye(3), (2, 2, 1, 1))
    regions[1, 0, 0, 0] = np.inf
    X = rng.standard_normal((50, 3))
    with np.errstate(invalid="ignore"):
        (every, _), (few, _) = UnitRegions(net, regions).near(X, np.ones(50))
        assert len(every) == (np.abs(X @ net.W[:, 0]) <= UnitRegions(net, regions).unit_radii(X)[0][:, 0]).sum()
    np.testing.assert_array_equal(few, np.flatnonzero(np.abs(X @ net.W[:, 1]) <= 1e-2 * np.linalg.norm(X, axis=1)))


def test_the_rows_nearest_a_kink_count_where_all_within_reach_would_cost_too_much(seed: int) -> None:
    """Ten rows a hundredth from the kink alone determine a unit; further ones, within reach as well, do not excuse them."""
    rng = np.random.default_rng(seed)
    net = Network(np.eye(2), [1.0, 1.0], activation="relu")
    X = rng.uniform(0.5, 1.0, (60, 2)) * [1.0, -1.0]
    X[:10, 0] = 0.01
    source, reach = samples.open(X, net.predict(X)), UnitRegions(net, np.broadcast_to(4.0 * np.eye(2), (1, 2, 2, 2)))
    asked: list[np.ndarray] = []

    def sizes(sides: OtherSides) -> np.ndarray:
        asked.append(np.concatenate([np.asarray(block.w) for block in source.map(sides.without).blocks(60)]))
        return np.array([np.inf, 1.0])

    found = [*on_sides(source, reach, np.full(2, 0.5), (0.01, 0.003), np.ones(2), sizes, 1.25, range(2))]
    assert [statement.units for statement in found] == [(0,)]
    np.testing.assert_array_equal(asked[0] == 0, np.arange(60) < 10)


@pytest.mark.parametrize("activation", ["tanh", "softplus", "sine"])
def test_changes_on_the_box_are_bounded_and_not_by_much(activation: str, seed: int) -> None:
    """Against a search over z ± reach and a ± ρ_a: Σ_j |ΔJ_j| ρ_j of every unit, and no more than four times that."""
    rng = np.random.default_rng(seed)
    net = Network(rng.standard_normal((2, 2)), [1.5, -0.4], [0.4, -0.3], 0.0, activation)
    gauge = Gauge.of(net, bias=True, offset=False)
    X, w, radius = rng.standard_normal((30, 2)), rng.uniform(0.1, 3.0, 30), rng.uniform(0.05, 0.4, gauge.size)
    box, phi, a = Box(gauge, radius), net.activation, np.abs(net.a)
    reach, of_a = box.unit_radii(X)
    z = X @ net.W + net.b
    row = np.zeros(30)
    for i in range(2):
        worst = np.zeros(30)
        for dz in np.linspace(-1.0, 1.0, 41):
            for da in (-of_a[i], of_a[i]):
                there = z[:, i] + dz * reach[:, i]
                slopes = np.abs((a[i] + da) * phi.derivative(there) - a[i] * phi.derivative(z[:, i]))
                worst = np.maximum(worst, slopes * reach[:, i] + np.abs(phi(there) - phi(z[:, i])) * of_a[i])
        row += worst
    found, _ = samples.open(X, z[:, 0], sample_weight=w).fold(Changes(box))
    factor = 1.0 if phi.turns is not None else 2.0
    assert (w * row**2).sum() <= float(found) <= (2.0 * factor) ** 2 * (w * row**2).sum()


@pytest.mark.parametrize("error", [1e-6, 1e-3])
def test_regions_grow_by_what_the_jacobian_changes(error: float, seed: int) -> None:
    """error/(1 − contraction) times the sizes by (JᵀJ)⁻¹; without a bound nothing is claimed."""
    truth = teachers.biased(4, 2, bias=0.3, activation="tanh", rng=seed)
    X = np.random.default_rng(seed).standard_normal((90, 4))
    gauge = Gauge.of(truth, bias=True, offset=False)
    information = Information.of(samples.open(X, truth.predict(X)), gauge)
    found = precision_of(samples.open(X, truth.predict(X)), information, error)
    blocks = information.unit_inverses()
    assert 0 < found.contraction < 1
    size = error / (1 - found.contraction)
    np.testing.assert_allclose(found.regions, size**2 * blocks, rtol=1e-9)
    np.testing.assert_allclose(found.relative, [size * gauge.relative_size(i, blocks[i]) for i in range(2)], rtol=1e-9)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_separation_by_loops(activation: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    net = Network(rng.standard_normal((3, 4)) * [1.0, 50.0, 0.02, 3.0], np.ones(4), rng.standard_normal(4), 0.0, activation)
    V = np.vstack([net.W, net.b]).T / (np.linalg.norm(net.W, axis=0)[:, None] if activation == "relu" else 1.0)
    expected = [
        min(
            np.linalg.norm(u + t * v) / max(np.linalg.norm(u), np.linalg.norm(v))
            for j, v in enumerate(V)
            for t in (1.0, -1.0)
            if j != i
        )
        for i, u in enumerate(V)
    ]
    np.testing.assert_allclose(separation(Gauge(net, Gauge.of(net, bias=True, offset=False).free)), expected, rtol=1e-9)


@pytest.mark.parametrize("activation", ["tanh", "softplus", "sine", "relu", "gelu", "silu"])
def test_the_change_of_a_row_is_that_of_its_slopes(activation: str, seed: int) -> None:
    """Σᵢ (|aᵢ| Δφ′ + 2 ρ_a (|φ′| + Δφ′)) ρ_z squared, Δφ′ the largest change of φ′ within ρ_z of z by search; where the places
    are not known at which φ′ turns, twice that at the ends. Rows with a kink within reach are counted."""
    rng = np.random.default_rng(seed)
    net = Network(rng.standard_normal((2, 3)), [1.5, -0.4, 30.0], rng.standard_normal(3), 0.0, activation)
    gauge = Gauge.of(net, bias=True, offset=True)
    net = gauge.network
    X, w, radius = rng.standard_normal((40, 2)), rng.uniform(0.1, 3.0, 40), rng.uniform(0.05, 0.4, gauge.size)
    reach, of_a = Box(gauge, radius).unit_radii(X)
    z, phi = X @ net.W + net.b, net.activation
    there = z + np.linspace(-1.0, 1.0, 4001 if phi.turns is not None else 2)[:, None, None] * reach
    change = np.abs(phi.derivative(there) - phi.derivative(z)).max(axis=0) * (1.0 if phi.turns is not None else 2.0)
    row = ((np.abs(net.a) * change + 2.0 * of_a * (np.abs(phi.derivative(z)) + change)) * reach).sum(axis=1)
    square, near = samples.open(X, z[:, 0], sample_weight=w).fold(Changes(Box(gauge, radius)))
    assert float(square) == pytest.approx(w @ row**2, rel=1e-4)
    assert float(near) == ((np.abs(z) <= reach).any(axis=1).sum() if activation == "relu" else 0)


def test_boxes_are_those_of_their_ellipsoids(seed: int) -> None:
    """Half-widths s √(H⁻¹)ᵢᵢ, and balls ρ ‖(x, 1)‖ of preactivations."""
    truth = teachers.biased(3, 2, bias=0.3, activation="tanh", rng=seed)
    X = np.random.default_rng(seed).standard_normal((50, 3))
    information = Information.of(samples.open(X, truth.predict(X)), Gauge.of(truth, bias=True, offset=False))
    np.testing.assert_allclose(Box.of(information, 0.3).radius, 0.3 * np.sqrt(np.diagonal(information.inverse)), rtol=1e-9)
    radius = np.array([0.1, 3.0])
    found, _ = UnitBalls(truth, radius).unit_radii(X)
    np.testing.assert_allclose(found, np.sqrt((X**2).sum(axis=1) + 1)[:, None] * radius, rtol=1e-12)


def test_rows_on_a_kink_count_within_their_cost() -> None:
    """Units whose rows within reach may change sides, all for what chance gains or the nearest for what a rival may cost, and
    whose parts of (JᵀJ)⁻¹ grow beyond a limit then."""
    net = Network([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]], [2.0, 1.0, 1.0], [0.0, 0.0, 9.0])
    X = np.array([[0.1, 5.0], [5.0, 0.1], [5.0, 5.0], [-5.0, 5.0]])  # within 0.2 of a kink: row 0 of unit 0, row 1 of unit 1
    rows, reach = samples.open(X, X[:, 0]), UnitRegions(net, np.tile(np.diag([0.0, 0.0, 0.04]), (1, 3, 1, 1)))

    def sizes(sides: OtherSides) -> np.ndarray:
        (block,) = rows.map(sides.without).blocks(4)
        assert block.w is not None
        return np.where([block.w[0] == 0, block.w[1] == 0, (block.w[2:] == 0).any()], 4.0, 1.0)

    relative, here = np.array([0.5, 0.5, 0.5]), np.ones(3)
    for chance, margin, limit, units in (
        (0.05, 0.05, 1.9, (0, 1)),  # 4 · 0.01 for the first, 0.01 for the second; nothing is within reach of the third
        (0.03, 0.03, 1.9, (1,)),
        (0.03, 0.05, 1.9, (0, 1)),
        (0.005, 0.045, 1.9, (1,)),  # both together are too much, and the one that lies nearest is not
        (0.05, 0.05, 2.1, ()),
        (-1.0, -1.0, 1.9, ()),
    ):
        found = list(on_sides(rows, reach, relative, (chance, margin), here, sizes, limit, (7, 8, 9)))
        assert [s.units for s in found] == ([units] if units else [])
        assert all("8" in s.sentence for s in found)


def test_boxes_are_as_wide_as_linear_terms_lead(seed: int) -> None:
    """A relative change of 1e-4, at least two errors and a thousand at most: J changes alike, whatever the error is between."""
    truth = teachers.biased(4, 2, bias=0.3, activation="tanh", rng=seed)
    X = np.random.default_rng(seed).standard_normal((90, 4))
    rows, gauge = samples.open(X, truth.predict(X)), Gauge.of(truth, bias=True, offset=False)
    information = Information.of(rows, gauge)
    largest = max(gauge.relative_size(i, information.unit_inverse(i)) for i in range(2))
    changes = {}
    for size, radius in ((2e-4, 4e-4), (5.1e-5, 1.02e-4), (1e-5, 1e-4), (1e-6, 1e-4), (1e-8, 1e-5)):
        changes[size] = precision_of(rows, information, size / largest).contraction
        box = Box.of(information, radius / largest)
        assert changes[size] == pytest.approx(float(rows.fold(Changes(box))[0]) ** 0.5 / (radius / largest), rel=1e-6)
    assert changes[1e-8] == pytest.approx(0.1 * changes[1e-6], rel=1e-2)


@pytest.mark.parametrize("spread", [1.0, 1e-3])
def test_an_inverse_with_rounding_errors_takes_from_the_margin(spread: float, seed: int) -> None:
    """Of ReLUs, whose J does not change at all: p ε times the condition."""
    rng = np.random.default_rng(seed)
    truth = teachers.biased(3, 2, bias=0.3, activation="relu", rng=seed)
    X = rng.standard_normal((90, 3))
    X[:, 2] = X[:, 0] + spread * X[:, 2]
    information = Information.of(samples.open(X, truth.predict(X)), Gauge.of(truth, bias=True, offset=False))
    found = precision_of(samples.open(X, truth.predict(X)), information, 1e-12)
    assert found.contraction == pytest.approx(8 * EPS * found.information.condition, rel=1e-6, abs=0)
    size = 1e-12 / (1.0 - found.contraction)
    np.testing.assert_allclose(found.regions, size**2 * found.information.unit_inverses(), rtol=1e-9)


@pytest.mark.parametrize("error", [1e-9, 1e-6])
def test_rows_that_errors_may_bring_across_a_kink_are_left(error: float, seed: int) -> None:
    """Within the box of as many errors as linear terms lead for, and no others; what is claimed rests on the rest."""
    rng = np.random.default_rng(seed)
    truth = teachers.biased(3, 2, bias=0.3, activation="relu", rng=seed)
    X = rng.standard_normal((90, 3))
    gauge = Gauge.of(truth, bias=True, offset=False)
    W, b = gauge.network.W, gauge.network.b

    def reach() -> tuple[Information, np.ndarray]:
        information = Information.of(samples.open(X, truth.predict(X)), gauge)
        largest = gauge.relative_sizes(information.unit_inverses()).max()
        times = np.clip(1e-4 / (error * largest), 2.0, 1000.0)
        return information, np.asarray(Box.of(information, times * error).unit_radii(X)[0])

    for _ in range(4):  # what rows may be moved by depends on them
        information, radii = reach()
        for row, (unit, share) in enumerate(((0, 0.8), (1, -0.8), (0, 1.25), (1, -1.25))):
            w = W[:, unit]
            X[row] -= w * (X[row] @ w + b[unit] - share * radii[row, unit]) / (w @ w)
    information, radii = reach()
    near = (np.abs(X @ W + b) <= radii).any(axis=1)
    found = precision_of(samples.open(X, truth.predict(X)), information, error)
    (block,) = found.clear.blocks(90)
    assert near[:4].tolist() == [True, True, False, False]
    np.testing.assert_array_equal(np.asarray(block.w) == 0, near)
    rest = Information.of(samples.open(X[~near], truth.predict(X)[~near]), gauge)
    np.testing.assert_allclose(found.regions, error**2 * rest.unit_inverses(), rtol=1e-6)


def test_units_that_the_rows_leave_open_have_no_precision(seed: int) -> None:
    """A unit that no row of some directions reaches; the other keeps its own."""
    rng = np.random.default_rng(seed)
    X = np.abs(rng.standard_normal((80, 2)))
    X[:3] *= -1.0
    net = Network([[1.0, -1.0], [0.5, 0.0]], activation="relu")  # three rows lie on the second's side, and it needs one input
    gauge = Gauge.of(replace(net, b=np.array([0.1, 0.0])), bias=True, offset=False)
    X[:3, 1] = X[0, 1]  # … along which it is determined, but not across
    information = Information.of(samples.open(X, net.predict(X)), gauge)
    assert undetermined(information) == (1,)
    found = precision_of(samples.open(X, net.predict(X)), information, 1e-12)
    assert np.isfinite(found.relative).tolist() == [True, False]
