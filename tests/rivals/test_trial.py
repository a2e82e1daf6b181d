"""Rivals on trial: what one step leaves is the linear least squares."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import weightlift as wl
from weightlift import samples
from weightlift.evidence.gauge import Gauge
from weightlift.identifiability import reflect
from weightlift.risk import Students
from weightlift.rivals.limits import LIMITS
from weightlift.rivals.trial import after_a_step


@pytest.mark.parametrize("activation", ["relu", "softplus", "squared_relu"])
def test_what_a_step_leaves_is_the_linear_least_squares(activation: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    net = wl.Network(rng.standard_normal((3, 2)), [1.0, -1.0], [0.3, -0.2], activation=activation)
    X = rng.standard_normal((200, 3))
    y = net.predict(X) + 0.1 * rng.standard_normal(200)
    gauge = Gauge.of(net, bias=True, offset=False)
    start = reflect(gauge.network, np.array([True, False]), offset=False)
    own = float(((net.predict(X) - y) ** 2).sum())
    students = Students.of(start)
    J = replace(gauge, network=start).jacobian(X, students.preactivations(X), students)
    r = start.predict(X) - y
    damped = np.vstack([J, np.diag(np.sqrt(LIMITS.damping) * np.linalg.norm(J, axis=0))])
    residual = np.append(r, np.zeros(J.shape[1]))
    left = float(((residual - damped @ np.linalg.lstsq(damped, residual, rcond=None)[0]) ** 2).sum())
    found = after_a_step(samples.open(X, y), gauge, [start], own + 2.0)
    assert found == pytest.approx([(left - own) / 2.0], rel=1e-8)
