"""The information of the rows, by both of its routes."""

from __future__ import annotations

import numpy as np
import pytest

from weightlift import samples, teachers
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
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
