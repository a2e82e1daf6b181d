"""The information of the rows, by both of its routes."""

from __future__ import annotations

import numpy as np
import pytest

from weightlift import samples, teachers
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.network import Network
from weightlift.risk import Students


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


def test_information_of_rows_that_do_not_determine_all(seed: int) -> None:
    """Two units that are on together, and a dead one: everything from the singular values of J with columns of length one."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((80, 3)) * [1.0, 30.0, 0.1]
    W = np.array([[2.0, 0.7, 1.0, 0.0], [0.0, 0.0, 0.1, 0.0], [0.0, 0.0, 5.0, 0.0]])
    net = Network(W, [1.0, -1.0, 1.0, 1.0], [0.4, 0.14, 0.2, -1.0])
    gauge = Gauge.of(net, bias=True, offset=True)
    source = samples.open(X, net.predict(X), sample_weight=np.full(80, 2.0))
    known = Information.of(source, gauge)
    students = Students.of(gauge.network)
    J = np.sqrt(2.0) * np.asarray(gauge.jacobian(X, students.preactivations(X), students))
    length = np.linalg.norm(J, axis=0)
    size = np.where(length > 0, 1 / np.where(length > 0, length, 1.0), 1.0)
    _, values, rows = np.linalg.svd(J * size)
    rank = int(np.sum(values > 1e-5 * values[0]))
    assert (len(J.T), rank) == (17, 9)  # four of a unit less, four of another
    assert (known.full_rank, known.least_eigenvalue) == (False, 0.0)
    strong, weak = rows[:rank].T, rows[rank:].T
    inverse = size[:, None] * ((strong / values[:rank] ** 2) @ strong.T) * size * (length > 0)
    np.testing.assert_allclose(known.inverse / np.outer(size, size), inverse / np.outer(size, size), atol=1e-7)
    np.testing.assert_allclose(known.sizes, size, rtol=1e-12)
    np.testing.assert_allclose(known.weak_coordinates(), (weak**2).sum(axis=1), atol=1e-9)
    loose = known.open_directions() / size[:, None]
    np.testing.assert_allclose(loose @ loose.T, weak @ weak.T, atol=1e-9)
    np.testing.assert_allclose(loose.T @ loose, np.eye(8), atol=1e-12)
    assert known.half_inverse.shape == (17, 9)
    np.testing.assert_allclose(known.sandwich(np.eye(9)), known.inverse, rtol=1e-12)
    for i in range(4):
        at = [4 * j + i for j in range(4)]
        np.testing.assert_array_equal(known.unit_inverse(i), known.inverse[np.ix_(at, at)])


def test_information_without_some_rows_is_that_of_the_others(seed: int) -> None:
    rng = np.random.default_rng(seed)
    net = Network(rng.standard_normal((3, 2)), [1.0, -2.0], activation="tanh")
    X, w = rng.standard_normal((60, 3)), rng.uniform(0.5, 2.0, 60)
    gauge, y = Gauge.of(net, bias=True, offset=True), rng.standard_normal(60)
    rows = [samples.open(X[part], y[part], sample_weight=w[part]) for part in (slice(None), slice(7), slice(7, None))]
    every, rest = (Information.of(source, gauge) for source in rows[::2])
    left = every.without(rows[1])
    for got, wanted in ((left.gram, rest.gram), (left.gradient, rest.gradient), (left.inverse, rest.inverse)):
        np.testing.assert_allclose(got, wanted, rtol=1e-8, atol=1e-10 * np.abs(wanted).max())
    assert left.rss == pytest.approx(rest.rss, rel=1e-12)
    assert left.least_eigenvalue == pytest.approx(rest.least_eigenvalue * rest.total / every.total, rel=1e-6)


def test_information_of_one_parameter() -> None:
    X = np.array([[1.0], [-2.0], [3.0]])
    net = Network([[0.5]])
    known = Information.of(samples.open(X, net.predict(X)), Gauge.of(net, bias=False, offset=False))
    assert (known.condition, known.least_eigenvalue) == (1.0, pytest.approx(10.0 / 3))
    assert known.inverse.tolist() == [[pytest.approx(0.1)]]
    assert known.open_directions().shape == (1, 0)


def test_information_of_rows_on_one_line(seed: int) -> None:
    """One direction of four: what is known is its length, and each coordinate has three quarters of what is not."""
    for size in np.random.default_rng(seed).uniform(0.5, 2.0, (8, 4)):
        X = np.array([[1.0], [2.0], [-1.0], [0.3]]) * size
        net = Network(size[:, None])
        known = Information.of(samples.open(X, net.predict(X)), Gauge.of(net, bias=False, offset=False))
        np.testing.assert_allclose(known.weak_coordinates(), 0.75, atol=1e-9)
        np.testing.assert_allclose(known.inverse * np.outer(size, size), 1 / (16 * 5.09), rtol=1e-9)
        np.testing.assert_allclose(size @ known.open_directions(), 0.0, atol=1e-9)
        assert known.open_directions().shape == (4, 3)
        assert known.half_inverse.shape == (4, 1)
