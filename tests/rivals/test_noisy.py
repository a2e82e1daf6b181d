"""Noise: other networks that explain the rows as well are found, and none where there is none."""

from __future__ import annotations

import numpy as np
import pytest
from tests.rivals.instances import CENTRES, ONE, TWO, exchangeable

import weightlift as wl
from weightlift import samples
from weightlift.evidence.gauge import Gauge
from weightlift.refinement.gauss_newton import gauss_newton
from weightlift.rivals import Bar, Outcome, examine_noisy


def rivals_of(net: wl.Network, X: np.ndarray, y: np.ndarray, sigma: float) -> list[wl.Network]:
    gauge = Gauge.of(net, bias=bool(np.any(net.b)), offset=False)
    source = samples.open(X, y)
    fit = gauss_newton(source, net, free=gauge.free.names).network
    gauge = Gauge.of(fit, bias=gauge.free.b, offset=False)
    ceiling = float(((fit.predict(X) - y) ** 2).sum()) + 60 * sigma**2
    found = examine_noisy(source, gauge, Bar(ceiling))
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


def test_identities_of_a_custom_activation_are_asked_for_with_noise() -> None:
    """z exp(−z²/2) is odd, and not declared so: a unit and its negative are the same function."""
    phi = wl.activations.custom(
        "odd", lambda z: z * np.exp(-z * z / 2), lambda z: (1 - z * z) * np.exp(-z * z / 2), analytic=True
    )
    rng = np.random.default_rng(0)
    truth = wl.Network(rng.standard_normal((3, 2)), [1.0, -0.7], [0.2, 0.3], 0.0, phi)
    X = rng.standard_normal((600, 3))
    y = truth.predict(X) + 0.01 * rng.standard_normal(600)
    fit = gauss_newton(wl.samples.open(X, y), truth, free="Wab", tol=1e-12).network
    assert not wl.certify(fit, X, y, bias=True)


def test_places_are_sought_within_the_margin_above_the_networks_own(monkeypatch: pytest.MonkeyPatch) -> None:
    margins: list[float] = []
    monkeypatch.setattr("weightlift.rivals.places_near", lambda X, known, columns, margin: margins.append(margin) or [])
    one, _, X = exchangeable("tanh", 0, 200)
    y, w = one.predict(X) + 0.1, np.full(200, 3.0)
    examine_noisy(samples.open(X, y, sample_weight=w), Gauge.of(one, bias=True, offset=False), Bar(7.5))
    assert margins == [pytest.approx(7.5 - 6.0)]
