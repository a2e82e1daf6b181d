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
from weightlift.rivals.trial import after_a_step, reach_of_some


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
    step = np.linalg.lstsq(damped, residual, rcond=None)[0]
    left = float(((residual - damped @ step) ** 2).sum())
    found, moved = after_a_step(samples.open(X, y), gauge, [start], own + 2.0)
    assert found == pytest.approx([(left - own) / 2.0], rel=1e-8)
    np.testing.assert_allclose(gauge.free.pack(moved)[0], gauge.free.pack(students)[0] - step, rtol=1e-6, atol=1e-9)


def test_a_rival_that_is_near_on_all_rows_is_within_reach_on_some(seed: int) -> None:
    """Two hundred shares of the rows; the difference of two networks has excess R on all of them."""
    rng = np.random.default_rng(seed)
    n, share = 20_000, 0.05
    r, D = 0.1 * rng.standard_normal(n), rng.standard_normal(n)
    own, margin = float(r @ r), 37 * 0.01
    D *= np.sqrt(LIMITS.reach * margin / (D @ D))
    D -= r * (D @ r) / own  # the excess is ΣD²
    for _ in range(200):
        part = rng.random(n) < share
        excess = float((D[part] ** 2 + 2 * D[part] * r[part]).sum())
        assert excess / (margin * part.mean()) <= reach_of_some(own, own + margin, n, part.sum())
    far = float((D**2).sum()) * 30 * share / (margin * share)
    assert far > reach_of_some(own, own + margin, n, share * n)
