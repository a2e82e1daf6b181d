"""Rivals on any source: the same findings from arrays of any namespace and from blocks of 0, 1 and 7 rows."""

from __future__ import annotations

import numpy as np
import pytest
from tests.contract.awkward import Awkward
from tests.rivals.instances import ONE, clustered, exchangeable

import weightlift as wl
from weightlift import samples
from weightlift.evidence.gauge import Gauge
from weightlift.rivals import Finding, Outcome, examine
from weightlift.samples import Samples


def found(source: Samples, net: wl.Network) -> tuple[Finding, ...]:
    return examine(source, Gauge.of(net, bias=bool(np.any(net.b)), offset=False), rng=np.random.default_rng(0))


def told(findings: tuple[Finding, ...]) -> list[tuple[Outcome, float, tuple[int, ...]]]:
    return [(f.outcome, f.number, f.units) for f in findings]


@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "softplus", "tanh"])
def test_blocks_of_few_rows_and_other_namespaces(activation: str, as_xp) -> None:
    rng = np.random.default_rng(0)
    net = wl.Network(rng.standard_normal((4, 3)), [1.0, -1.0, 1.0], 0.3 * rng.standard_normal(3), activation=activation)
    X, w = rng.standard_normal((150, 4)), rng.uniform(0.5, 2.0, 150)
    plain = samples.open(X, net.predict(X), sample_weight=w)
    expected = told(found(plain, net))
    assert [outcome for outcome, _, _ in expected] == [Outcome.IMPOSSIBLE]
    assert told(found(Awkward(plain), net)) == expected
    assert told(found(samples.open(as_xp(X), as_xp(net.predict(X)), sample_weight=as_xp(w)), net)) == expected


@pytest.mark.parametrize("case", ["clusters", "levels"])
def test_rivals_are_the_same_from_every_source(case: str) -> None:
    net, X = (ONE, clustered(0)) if case == "clusters" else exchangeable("relu", 0, 80)[::2]
    plain = samples.open(X, net.predict(X))
    (one, *_), (other, *_) = ([f for f in found(s, net) if f.rivals] for s in (plain, Awkward(plain)))
    assert one.units == other.units
    assert one.rivals[0].equivalent(other.rivals[0], 1e-9)


def test_rows_of_weight_zero_do_not_count() -> None:
    rng = np.random.default_rng(1)
    everywhere, X = rng.standard_normal((200, 3)), clustered(0)
    both = np.vstack([X, everywhere])
    w = np.append(np.ones(len(X)), np.zeros(len(everywhere)))
    y = ONE.predict(both)
    assert told(found(samples.open(both, y), ONE)) == [(Outcome.IMPOSSIBLE, 4.0, ())]
    assert any(f.outcome is Outcome.FOUND for f in found(samples.open(both, y, sample_weight=w), ONE))


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_more_rows_and_other_units_of_measurement_change_nothing(activation: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    net = wl.Network(rng.standard_normal((5, 3)), [1.0, -1.0, 1.0], 0.3 * rng.standard_normal(3), activation=activation)
    X = rng.standard_normal((20_000, 5))
    scale = np.array([1e6, 1e-6, 1.0, 30.0, 0.1])
    scaled = wl.Network(net.W / scale[:, None], net.a, net.b, activation=activation)
    for rows in (120, 1200, 20_000):
        assert told(found(samples.open(X[:rows], net.predict(X[:rows])), net))[0][0] is Outcome.IMPOSSIBLE
    Y = X[:1200] * scale
    assert told(found(samples.open(Y, scaled.predict(Y)), scaled))[0][0] is Outcome.IMPOSSIBLE
