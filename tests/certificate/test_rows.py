"""What certificates count and bound on the rows."""

from __future__ import annotations

import numpy as np
import pytest

from weightlift import samples, teachers
from weightlift.certificate import Status, certify
from weightlift.certificate.precision import precision_of, separation
from weightlift.certificate.scores import Scores, WhiteRows
from weightlift.evidence import rows
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.evidence.rows import Agreement, DistinctRows, count_distinct, rounding_bound
from weightlift.network import Network
from weightlift.refinement.gauss_newton import gauss_newton
from weightlift.risk import Students


def bound(net: Network, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    students = Students.of(net)
    z = students.preactivations(X)
    return np.asarray(rounding_bound(students, X, y, z, students.activation(z)))


@pytest.mark.parametrize("activation", ["relu", "squared_relu", "tanh", "sigmoid", "softplus"])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_rounding_errors_are_below_their_bound(activation: str, scale: float, rng: np.random.Generator) -> None:
    """Against an evaluation in extended precision; and the bound is no more than a thousand times too large."""
    net = teachers.biased(20, 4, activation=activation, rng=3)
    net = Network(net.W / scale, net.a, net.b, 0.3, net.activation)
    X = scale * rng.standard_normal((500, 20))
    z = X.astype(np.longdouble) @ net.W.astype(np.longdouble) + net.b
    exact = net.activation.value(z) @ net.a.astype(np.longdouble) + np.longdouble(0.3)
    error = np.abs((net.predict(X) - exact).astype(float))
    B = bound(net, X, net.predict(X))
    assert (error <= B).all()
    if np.finfo(np.longdouble).eps < 1e-18:
        assert error.max() > 1e-3 * B.max()


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


def test_agreement_is_the_largest_residual_over_its_bound() -> None:
    net = teachers.biased(4, 2, rng=1)
    X = np.random.default_rng(0).standard_normal((40, 4))
    y = net.predict(X)
    y[5] += 1e-3
    w = np.where(np.arange(40) < 3, 0.0, 2.0)
    y[0] = 9.0
    level, residual, _, count, error, rss, squares, total = (
        float(v) for v in samples.open(X, y, sample_weight=w).fold(Agreement(net))
    )
    B = bound(net, X, y)
    r = np.abs(net.predict(X) - y)
    assert residual == pytest.approx(1e-3, rel=1e-9)
    assert level == pytest.approx(float((r / B)[3:].max()), rel=1e-9)
    assert count == 37
    assert error == pytest.approx(float((w * (r + B) ** 2).sum()))
    assert rss == pytest.approx(float((w * r**2).sum()))
    assert (squares, total) == pytest.approx((4 * 37, float((w * y**2).sum())))


def test_distinct_rows_are_counted_across_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 3))
    y = rng.standard_normal(500)
    chosen = rng.integers(500, size=2000)
    source = samples.open(X[chosen], y[chosen])
    distinct = len(np.unique(chosen))
    counts = np.bincount(chosen)
    assert count_distinct(source.fold(DistinctRows(targets=True))) == pytest.approx((distinct, (counts**2).sum() / 2000))
    same_inputs = samples.open(X[chosen], rng.standard_normal(2000))
    assert count_distinct(same_inputs.fold(DistinctRows(targets=False)))[0] == distinct
    assert count_distinct(same_inputs.fold(DistinctRows(targets=True)))[0] == 2000
    monkeypatch.setattr(rows, "SKETCH", 256)
    sketched, _ = count_distinct(samples.open(X, y).fold(DistinctRows(targets=True)))
    assert sketched == pytest.approx(500, rel=0.2)


def test_a_unit_needs_rows_on_its_side() -> None:
    """q + 1 disjoint bases need as many rows on a unit's side, q = 4 coordinates: fewer, and the unit is beyond reach."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((400, 3))
    W = rng.standard_normal((3, 2))
    order = np.sort(X @ W[:, 1])[::-1]
    for rows_there, status in ((3, Status.AMBIGUOUS), (9, Status.EXACT)):
        b = -(order[rows_there - 1] + order[rows_there]) / 2
        net = Network(W, [1.0, -1.5], [0.1, b])
        certificate = certify(net, X, net.predict(X))
        assert certificate.status is status, str(certificate)
        if status is Status.AMBIGUOUS:
            assert certificate.ambiguous_units == (1,)


def test_separation_is_relative_and_up_to_sign() -> None:
    W = np.array([[1.0, 3.0, 0.0], [0.0, 3e-3, 2.0]])
    np.testing.assert_allclose(separation(Gauge.of(Network(W), bias=False, offset=False)), [1e-3, 1e-3, 1.4135], rtol=1e-3)


def test_information_by_both_routes(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    net = teachers.biased(4, 2, activation="tanh", rng=seed)
    X = np.random.default_rng(seed).standard_normal((100, 4)) * [1.0, 10.0, 0.1, 1.0]
    gauge = Gauge.of(net, bias=True, offset=False)
    source = samples.open(X, net.predict(X) + 0.1)
    information = Information.of(source, gauge)
    students = Students.of(gauge.network)
    J = gauge.jacobian(X, students.preactivations(X), students)
    np.testing.assert_allclose(information.gram, J.T @ J, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(information.inverse @ (J.T @ J), np.eye(gauge.size), atol=1e-8)
    np.testing.assert_allclose(information.half_inverse @ information.half_inverse.T, information.inverse, rtol=1e-12)
    scaled = J / np.linalg.norm(J, axis=0)
    assert information.condition == pytest.approx(np.linalg.cond(scaled) ** 2, rel=1e-6)
    assert information.least_eigenvalue == pytest.approx(np.linalg.eigvalsh(J.T @ J / 100)[0], rel=1e-6)
    assert information.rss == pytest.approx(1.0)
    monkeypatch.setattr("weightlift.evidence.information.DENSE", 1)
    assert Information.of(source, gauge).condition == pytest.approx(information.condition, rel=1e-6)


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
        assert found.relative[i] == pytest.approx(fit.relative_size(i, found.regions[i]))


def test_a_box_that_is_too_wide_proves_nothing() -> None:
    truth = teachers.biased(4, 2, bias=0.5, activation="tanh", rng=0)
    X = np.random.default_rng(0).standard_normal((200, 4))
    source = samples.open(X, truth.predict(X))
    found = precision_of(source, Information.of(source, Gauge.of(truth, bias=True, offset=False)), 50.0)
    assert found.contraction > 1.0
    assert not np.isfinite(found.relative).any()


def test_scores_are_sums_over_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    net = teachers.biased(3, 2, activation="tanh", rng=seed)
    X, w = rng.standard_normal((60, 3)), rng.uniform(0.2, 3.0, 60)
    y = net.predict(X) + rng.standard_normal(60)
    gauge = Gauge.of(net, bias=True, offset=False)
    source = samples.open(X, y, sample_weight=w)
    information = Information.of(source, gauge)
    students = Students.of(net)
    J = gauge.jacobian(X, students.preactivations(X), students)
    r = net.predict(X) - y
    h = w * np.einsum("ij,jk,ik->i", J, np.linalg.inv(J.T * w @ J), J)
    (meat,) = source.fold(Scores(gauge, information.half_inverse))
    H = np.linalg.inv(J.T * w @ J)
    expected = H @ (J.T * (w * r) ** 2 @ J) @ H
    np.testing.assert_allclose(information.sandwich(meat), expected, rtol=1e-6, atol=1e-9 * np.abs(expected).max())
    rows = WhiteRows.of(next(iter(source.blocks(60))), gauge, information.half_inverse)
    np.testing.assert_allclose(rows.leverage, h, rtol=1e-6)
    np.testing.assert_allclose(rows.left, 1 - h, rtol=1e-6)
    np.testing.assert_allclose(rows.r, np.sqrt(w) * r)


def test_sandwich_of_an_ill_conditioned_fit() -> None:
    """A row of leverage 0.9998 beside a condition number of 2e10: scores that are not whitened lose every digit."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    X[0] *= 1e3
    w = np.array([1.0, -1.0, 1.0, 0.5])
    net = Network(np.column_stack([w, w + 0.3 * rng.standard_normal(4)]), [1.0, -1.0], activation="softplus")
    y = net.predict(X) + rng.standard_normal(300)
    gauge, source, students = Gauge.of(net, bias=False, offset=False), samples.open(X, y), Students.of(net)
    information = Information.of(source, gauge)
    assert information.full_rank
    J = gauge.jacobian(X, students.preactivations(X), students)
    scale = np.linalg.norm(J, axis=0)
    Q, R = np.linalg.qr(J / scale)
    half = np.linalg.inv(R) / scale[:, None]
    white = Q * (net.predict(X) - y)[:, None]
    sandwich = information.sandwich(source.fold(Scores(gauge, information.half_inverse))[0])
    np.testing.assert_allclose(np.diagonal(sandwich), ((half @ white.T) ** 2).sum(axis=1), rtol=1e-3)
