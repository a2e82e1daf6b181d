"""Stated precision holds for the worst errors that are allowed, and nothing is proved of a box too wide."""

from __future__ import annotations

import numpy as np
import pytest

from weightlift import samples, teachers
from weightlift.certificate import Status, certify
from weightlift.certificate.precision import precision_of, separation
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.evidence.rows import rounding_bound
from weightlift.network import Network
from weightlift.refinement.gauss_newton import gauss_newton
from weightlift.risk import Students


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
        assert found.relative[i] == pytest.approx(fit.relative_size(i, found.regions[i]))


def test_a_box_that_is_too_wide_proves_nothing() -> None:
    truth = teachers.biased(4, 2, bias=0.5, activation="tanh", rng=0)
    X = np.random.default_rng(0).standard_normal((200, 4))
    source = samples.open(X, truth.predict(X))
    found = precision_of(source, Information.of(source, Gauge.of(truth, bias=True, offset=False)), 50.0)
    assert found.contraction > 1.0
    assert not np.isfinite(found.relative).any()
