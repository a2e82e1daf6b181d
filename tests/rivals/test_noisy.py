"""Noise: other networks that explain the rows as well are found, and none where there is none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.rivals.instances import CENTRES, ONE, TWO, exchangeable

import weightlift as wl
from weightlift import samples
from weightlift.evidence.gauge import Gauge
from weightlift.identifiability import reflect
from weightlift.refinement.gauss_newton import gauss_newton
from weightlift.risk import Students
from weightlift.rivals import Outcome, examine_noisy
from weightlift.rivals.limits import LIMITS
from weightlift.rivals.trial import after_a_step


def rivals_of(net: wl.Network, X: np.ndarray, y: np.ndarray, sigma: float) -> list[wl.Network]:
    gauge = Gauge.of(net, bias=bool(np.any(net.b)), offset=False)
    source = samples.open(X, y)
    fit = gauss_newton(source, net, free=gauge.free.names).network
    gauge = Gauge.of(fit, bias=gauge.free.b, offset=False)
    ceiling = float(((fit.predict(X) - y) ** 2).sum()) + 60 * sigma**2
    found = examine_noisy(source, gauge, ceiling, rng=np.random.default_rng(0))
    assert all(f.outcome in (Outcome.FOUND, Outcome.UNEXAMINED) for f in found)
    for finding in found:
        for rival in finding.rivals:
            assert ((rival.predict(X) - y) ** 2).sum() <= ceiling
    return [rival for finding in found for rival in finding.rivals]


@pytest.mark.parametrize("pair", [(ONE, TWO), (TWO, ONE)])
def test_noise_does_not_hide_the_other_network(pair: tuple[wl.Network, wl.Network], seed: int) -> None:
    """A row that noise puts on the other side of a kink makes no cell that the other network could not explain."""
    rng = np.random.default_rng(seed)
    X = np.concatenate([c + 0.2 * rng.standard_normal((400, 3)) for c in CENTRES])
    X = X[np.abs(ONE.predict(X) - TWO.predict(X)) < 1e-12]
    y = TWO.predict(X) + 0.01 * rng.standard_normal(len(X))
    start, other = pair
    assert any(rival.equivalent(other, 0.1) for rival in rivals_of(start, X, y, 0.01))


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_units_that_exchange_their_halves(activation: str, seed: int) -> None:
    one, other, X = exchangeable(activation, seed, 2000)
    y = one.predict(X) + 0.01 * np.random.default_rng(seed).standard_normal(len(X))
    assert any(rival.equivalent(one, 0.3) for rival in rivals_of(other, X, y, 0.01))


def test_a_reflected_unit_that_another_absorbs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((4, 2))
    net = wl.Network(W, [1.0, 1.0], [0.1, 25.0])  # the second is linear on the rows
    X = rng.standard_normal((400, 4))
    y = net.predict(X) + 0.05 * rng.standard_normal(400)
    assert rivals_of(net, X, y, 0.05)


@pytest.mark.parametrize("activation", ["relu", "squared_relu", "tanh"])
def test_plain_rows_leave_none(activation: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    net = wl.Network(rng.standard_normal((6, 3)), [1.0, -1.0, 1.0], activation=activation)
    X = rng.standard_normal((800, 6))
    y = net.predict(X)
    assert not rivals_of(net, X, y + 0.05 * y.std() * rng.standard_normal(len(y)), 0.05 * float(y.std()))


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
