"""Instances with two right answers: neither may be called the only one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.rivals.instances import (
    ONE,
    TWO,
    beside,
    clustered,
    examined,
    exchangeable,
    outcomes,
    refused,
    small_difference,
    three_levels,
    with_common_part,
)

import weightlift as wl
from weightlift.rivals import Outcome


def test_two_networks_that_agree_on_clusters(seed: int) -> None:
    X = clustered(seed)
    assert np.abs(ONE.predict(X) - TWO.predict(X)).max() < 1e-14
    for net, other in ((ONE, TWO), (TWO, ONE)):
        finding = next(f for f in examined(net, X) if f.outcome is Outcome.FOUND)
        assert any(rival.equivalent(other, 1e-9) for rival in finding.rivals)
    everywhere = np.random.default_rng(seed).standard_normal((160, 3))
    assert outcomes(examined(TWO, everywhere)) == {Outcome.IMPOSSIBLE}


@pytest.mark.parametrize("common", [6, 14, 27])
def test_common_units_do_not_hide_the_rotated_twin(common: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    d = 12
    centres = clustered(seed, 1, 0.0)
    k = common + 3
    X = np.hstack([np.repeat(centres, 10 * k, axis=0), np.zeros((40 * k, d - 3))])
    X += np.hstack([np.full(3, 0.015), np.full(d - 3, 1.0)]) * rng.standard_normal(X.shape)
    units = wl.Network(rng.standard_normal((d, common)), rng.choice([-1.0, 1.0], common))
    for net in (beside(ONE, units), beside(TWO, units)):
        findings = examined(net, X)
        found = [f for f in findings if f.outcome is Outcome.FOUND]
        assert found
        assert found[0].units == (0, 1, 2)
        certificate = wl.certify(net, X, net.predict(X))
        assert certificate.status is wl.Status.AMBIGUOUS
        assert not {0, 1, 2} & set(certificate.certified_units)


@pytest.mark.parametrize(("activation", "equations"), [("sigmoid", 12), ("softplus", 14)])
def test_mirrored_rows_are_half_as_many(activation: str, equations: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    net = wl.Network(rng.standard_normal((3, 3)), rng.standard_normal(3), activation=activation)
    X = rng.standard_normal((11, 3))
    findings = examined(net, np.vstack([X, -X]))
    assert refused(findings)
    assert findings[0].outcome is Outcome.UNEXAMINED
    assert findings[0].number == equations
    assert not refused(examined(net, rng.standard_normal((22, 3))))


@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "squared_relu", "absolute", "tanh", "sigmoid", "erf", "softplus"])
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


@pytest.mark.parametrize("activation", ["relu", "squared_relu", "absolute", "tanh", "sigmoid", "softplus"])
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


def test_a_rounding_error_does_not_put_rows_beside_a_kink(seed: int) -> None:
    """A unit of a binary input alone is linear on the rows: rows with z = 0 are on neither side, nor those with 1e-15 x."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.standard_normal(100), rng.integers(0, 2, 100)])
    net = wl.Network([[1e-15, 1.0], [-100.0, 2.0]], [-1.0, 1.0], activation="leaky_relu")
    assert refused(examined(net, X))


def test_rows_on_a_kink_do_not_determine_it() -> None:
    """Kinks at 0.2 and 3, the second one on a row: the slope between 1 and 3 may be any smaller one."""
    X = np.setdiff1d(np.arange(-15.0, 16.0), [2.0])[:, None]
    one = wl.Network([[2.5, 0.5]], [-1.0, -1.0], [-0.5, -1.5], activation="absolute")
    assert Outcome.IMPOSSIBLE not in outcomes(examined(one, X))


def test_as_many_inputs_as_weights_confirm_nothing() -> None:
    """Three inputs on an axis determine the three weights along it, whatever the other rows are; two networks fit all."""
    rng = np.random.default_rng(0)
    X = np.concatenate([np.outer(rng.standard_normal(count), e) for count, e in zip((14, 3, 14), 2 * np.eye(3), strict=True)])
    W = np.array([[1.0, 2.0, 1.0], [-2.0, -1.0, 2.0], [-2.0, 1.0, -2.0]])
    truth = wl.Network(W, [1.0, 1.0, -1.0], [0.0, 2.0, 2.0], activation="softplus")
    assert refused(examined(truth, X))


def test_a_nearly_linear_sigmoid_unit_takes_up_the_constant_of_anothers_reflection(seed: int) -> None:
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(4, 2)) * np.array([1e-4, 1.0])
    X = rng.normal(size=(200, 4))
    findings = examined(wl.Network(W, [1e4, 0.9], activation="sigmoid"), X)
    assert any(f.outcome is Outcome.FOUND and f.patterns is not None for f in findings)
    plain = wl.Network(W * np.array([1e4, 1.0]), [1.3, 0.9], activation="sigmoid")
    assert outcomes(examined(plain, X)) == {Outcome.IMPOSSIBLE}


def test_units_that_may_be_reflected_together() -> None:
    net = wl.Network([[1.0, 0.0, -1.0, 0.3], [0.0, 1.0, -1.0, 2.0]])
    X = np.random.default_rng(0).standard_normal((200, 2))
    finding = next(f for f in examined(net, X) if f.outcome is Outcome.FOUND)
    assert finding.units == (0, 1, 2)
    assert finding.patterns is not None
    np.testing.assert_allclose(finding.rivals[0].predict(X), net.predict(X), atol=1e-12)


def test_dead_and_always_on_units_are_named(seed: int) -> None:
    rng = np.random.default_rng(seed)
    W, X = rng.standard_normal((6, 4)), rng.standard_normal((600, 6))
    dead = wl.Network(W, [1.0, 1.0, -1.0, 1.0], [0.1, 0.2, 0.5, -60.0])
    found, rest = (f for f in examined(dead, X))
    assert (found.outcome, found.units) == (Outcome.FOUND, (3,))
    assert (rest.outcome, rest.units) == (Outcome.NONE_FOUND, (0, 1, 2))
    on = replace(dead, b=[0.1, 0.2, 0.5, 60.0])
    found = next(f for f in examined(on, X) if f.outcome is Outcome.FOUND)
    assert 3 in found.units
    for rival in found.rivals:
        np.testing.assert_allclose(rival.predict(X), on.predict(X), atol=1e-9)
        assert not rival.equivalent(on, 1e-3)


def test_one_row_between_two_kinks_determines_neither() -> None:
    """Slope and place of the two kinks may change together, as long as the one row keeps its value."""
    truth = wl.Network([[-2.0, 3.0, 3.0]], [1.0, 1.0, -1.0], [1.0, 0.5, -1.0])
    X = np.random.default_rng(0).standard_normal((60, 1))
    between = (X[:, 0] > -0.25) & (X[:, 0] < 0.4)  # the kinks of both networks
    X = np.vstack([X[~between], [[0.1]]])
    slope = 2.5  # through (0.1, 0.8), from 0 up to 1.5
    other = wl.Network([[-2.0, slope, slope]], truth.a, [1.0, 0.8 - 0.1 * slope, 0.8 - 0.1 * slope - 1.5])
    assert np.abs(other.predict(X) - truth.predict(X)).max() < 1e-12
    for net in (truth, other):
        named = {i for f in examined(net, X) if f.outcome in (Outcome.FOUND, Outcome.UNEXAMINED) for i in f.units}
        assert {1, 2} <= named
