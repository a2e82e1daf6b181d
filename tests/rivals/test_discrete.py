"""Discrete columns: units that take each other's places at some levels, and rows too few to tell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.catalogue import KINDS, UNIQUE
from tests.rivals.instances import examined, exchangeable, outcomes, refused, small_difference, three_levels, with_common_part

import weightlift as wl
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.rivals import Outcome
from weightlift.rivals.discrete import _groups, discrete_columns, few_levels, few_rows


@pytest.mark.parametrize("activation", UNIQUE)
def test_units_that_may_exchange_their_halves(activation: str, seed: int) -> None:
    one, other, X = exchangeable(activation, seed, 80)
    y = one.predict(X)
    assert np.abs(other.predict(X) - y).max() < 1e-13 * np.abs(y).max()
    for net in (one, other):
        assert Outcome.FOUND in outcomes(examined(net, X))
    apart = replace(one, W=np.column_stack([one.W[:, 0], one.W[[1, 0, 2], 1] * [-1, 1, 1]]))  # at right angles
    assert outcomes(examined(apart, X)) == {Outcome.NONE_FOUND}
    X = 2.0 * np.random.default_rng(seed).standard_normal(X.shape)
    assert outcomes(examined(one, X)) == {Outcome.IMPOSSIBLE}


def test_exchanges_among_many_binary_columns(seed: int) -> None:
    """Two units that differ along one of thirty, and, beside them, units in general position."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (600, 30)) - 0.5
    w = rng.standard_normal(30)
    W = np.column_stack([w, w, rng.standard_normal((30, 2))])
    W[7, :2] = 0.9, -1.4
    net = wl.Network(W, [1, 1, 1, -1], [0.3, -0.2, 0.5, -0.4])
    assert Outcome.FOUND in outcomes(examined(net, X))
    net = replace(net, W=rng.standard_normal((30, 4)))
    assert Outcome.UNEXAMINED in outcomes(examined(net, X))  # no input is continuous: no theorem holds
    X[:, 0] = rng.standard_normal(600)
    assert outcomes(examined(net, X)) == {Outcome.NONE_FOUND}


@pytest.mark.parametrize("activation", KINDS)
@pytest.mark.parametrize("planted", [three_levels, small_difference])
def test_units_in_other_places(planted, activation: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    places, functions, others = planted(rng)
    X = np.hstack([1.5 * rng.standard_normal((300, 2)), places[rng.integers(len(places), size=300)]])
    one, other = (with_common_part(f, np.array([1.0, -0.7]), activation) for f in (functions, others))
    y = one.predict(X)
    assert np.abs(other.predict(X) - y).max() < 1e-13 * np.abs(y).max()
    for net in (one, other):
        assert refused(examined(net, X))


def test_units_in_general_position_have_no_other_places(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = np.hstack([rng.standard_normal((400, 2)), rng.integers(-1, 2, (400, 3)), rng.integers(0, 2, (400, 2)) - 0.5])
    net = wl.Network(rng.standard_normal((7, 4)), None, 0.5 * rng.standard_normal(4), activation="tanh")
    assert outcomes(examined(net, X)) == {Outcome.NONE_FOUND}
    assert Outcome.UNEXAMINED in outcomes(examined(replace(net, W=net.W[2:]), X[:, 2:]))  # no input is continuous


def test_a_unit_of_one_binary_input_is_seen_twice_only(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = np.column_stack([2.0 * rng.standard_normal(150), rng.integers(0, 2, 150)])
    truth = wl.Network([[1.0, -2.0, 0.0], [2.0, 1.0, 2.0]], [1.0, 1.0, -1.0], [0.5, 1.5, -0.5], activation="leaky_relu")
    other = replace(truth, W=[[1.0, -2.0, 0.0], [2.0, 1.0, -150.005]], a=np.ones(3), b=[0.5, 1.5, 0.005])
    assert np.abs(other.predict(X) - truth.predict(X)).max() < 1e-12
    for net in (truth, other):
        named = {i for f in examined(net, X) if f.outcome in (Outcome.FOUND, Outcome.UNEXAMINED) for i in f.units}
        assert 2 in named


def test_as_many_inputs_as_weights_confirm_nothing() -> None:
    """Three inputs on an axis determine the three weights along it, whatever the other rows are; two networks fit all."""
    rng = np.random.default_rng(0)
    X = np.concatenate([np.outer(rng.standard_normal(count), e) for count, e in zip((14, 3, 14), 2 * np.eye(3), strict=True)])
    W = np.array([[1.0, 2.0, 1.0], [-2.0, -1.0, 2.0], [-2.0, 1.0, -2.0]])
    truth = wl.Network(W, [1.0, 1.0, -1.0], [0.0, 2.0, 2.0], activation="softplus")
    assert refused(examined(truth, X))


@pytest.mark.parametrize(("rows", "enough"), [(3, False), (9, False), (10, False), (11, True), (40, True)])
def test_a_level_needs_its_parameters_and_eight_rows(rows: int, enough: bool, seed: int) -> None:
    """Three units' weights along a binary column, which the rows of its level alone determine."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.standard_normal((200, 3)), np.arange(200) < rows])
    net = wl.Network(rng.standard_normal((4, 3)), activation="tanh")
    gauge = Gauge.of(net, bias=False, offset=False)
    columns = np.array([False, False, False, True])
    found = few_rows(X, Information.of(wl.samples.open(X, net.predict(X)), gauge), columns)
    assert (found is None) == enough
    if found is not None:
        assert (found.number, found.limit, found.units) == (rows, 3 + 8, (0, 1, 2))


def test_columns_are_discrete_by_their_atoms() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 6))
    X[:, 1] = rng.integers(0, 5, 400)
    X[:9, 2] = 0.0  # nine of four hundred: above 2 %
    X[:8, 3] = 0.0  # not above
    X[:, 4] = 1.0
    X[200:, 5] = X[:200, 5]
    assert discrete_columns(X).tolist() == [False, True, True, False, False, True]


@pytest.mark.parametrize(("levels", "refused"), [(5, True), (6, False)])
def test_levels_that_a_network_may_change_sign_between(levels: int, refused: bool) -> None:
    """Two units: five levels are on too few values, six are not."""
    X = np.column_stack([np.arange(60) % levels, np.arange(60) % 3]).astype(float)
    gauge = Gauge.of(wl.Network(np.array([[1.0, 0.5], [0.3, -1.0]])), bias=True, offset=False)
    assert (few_levels(X, gauge) is not None) == refused


def test_of_three_alike_units_any_two_may_change_places() -> None:
    """Units that differ along a discrete column alone are one group; of three, each pair of them is another."""
    X = np.random.default_rng(0).standard_normal((60, 2))
    X[:, 1] = np.arange(60) % 3
    for k in (2, 3):
        net = wl.Network(np.stack([np.ones(k), np.arange(float(k))]), np.ones(k), np.zeros(k))
        found = [tuple(units.tolist()) for units, _, _ in _groups(X, net, np.array([False, True]), 1e-9)]
        assert found == [(0, 1)] if k == 2 else sorted(found) == [(0, 1), (0, 1, 2), (0, 2), (1, 2)]
