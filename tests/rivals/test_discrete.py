"""Discrete columns: units that take each other's places at some levels, and rows too few to tell."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from tests.catalogue import KINDS, UNIQUE
from tests.rivals.instances import examined, exchangeable, outcomes, refused, small_difference, three_levels, with_common_part

import weightlift as wl
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.rivals import Outcome
from weightlift.rivals.discrete import _covers, _groups, _levels, discrete_columns, few_levels, few_rows, few_values


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


@pytest.mark.parametrize("sizes", [(1.0, 1.0), (1e-4, 1.0), (1e4, 1.0)])
def test_groups_do_not_depend_on_the_units_of_the_columns(sizes: tuple[float, float]) -> None:
    """A small difference along a continuous column, at a tolerance above and below it, whatever the size of the column."""
    rng = np.random.default_rng(1)
    scale = np.array([*sizes, 1.0])
    X = np.column_stack([rng.standard_normal((80, 2)), np.arange(80) % 3]) * scale
    W = np.array([[1.0, 1.0 + 2e-3, 1.0], [-0.5, -0.5, -0.5], [0.3, -0.8, 1.1]]) / scale[:, None]
    net = wl.Network(W, [0.7, 0.7, 0.9], [0.1, 0.2, -0.3], activation="softplus")
    columns = np.array([False, False, True])
    size = np.sqrt(np.mean((X @ net.W + net.b) ** 2, axis=0))[:2].max()
    gap = 2e-3 * np.sqrt(np.mean((X[:, 0] / scale[0]) ** 2)) / size
    for tolerance, found in ((1.2 * gap, [(0, 1)]), (0.8 * gap, [])):
        assert [tuple(units.tolist()) for units, _, _ in _groups(X, net, columns, tolerance)] == found


def test_opposite_output_weights_of_odd_units_are_one_with_the_sign_of_z() -> None:
    """tanh: (−a, −z) is (a, z). An even φ has either sign of z, and stands for itself where it sees discrete columns alone."""
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.standard_normal((80, 2)), np.arange(80) % 3])
    columns = np.array([False, False, True])
    w = np.array([1.0, -0.6])
    W = np.column_stack([[*w, 0.4], [*-w, 0.7], [*w, -0.2]])
    net = wl.Network(W, [0.8, -0.8, -0.8], [0.2, 0.1, 0.3], activation="tanh")
    (units, signs, either), *more = _groups(X, net, columns, 1e-9)
    assert (units.tolist(), signs.tolist(), either, more) == ([0, 1], [1.0, -1.0], False, [])
    even = wl.activations.custom("bell", lambda z: np.exp(-z * z), lambda z: -2 * z * np.exp(-z * z), reflection=(1, ()))
    net = replace(net, a=np.full(3, 0.8), activation=even)
    (units, signs, either), *_ = _groups(X, net, columns, 1e-9)
    assert (units.tolist(), signs.tolist(), either) == ([0, 1, 2], [1.0, -1.0, 1.0], False)
    W[:2] = np.array([[0.0, 1.0, 2.0], [1e-5, 1.0, -1.0]])
    for size in (1e-3, 1e3):
        alone = replace(net, W=W * size, b=net.b * size)
        width = 1e-5 * np.sqrt(np.mean(X[:, 1] ** 2)) * size / np.sqrt(np.mean((X @ alone.W[:, 0] + alone.b[0]) ** 2))
        found = [(units.tolist(), either) for units, _, either in _groups(X, alone, columns, 1.2 * width)]
        assert found == [([0], True)]
        assert not list(_groups(X, alone, columns, 0.8 * width))


@pytest.mark.parametrize("either", [False, True])
def test_covers_are_all_affine_functions_in_another_order(either: bool, seed: int) -> None:
    """By brute force over the orders, and signs, at the four corners of a square."""
    rng = np.random.default_rng(seed)
    here = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 2.0, 1.0], [1.0, 2.0, 1.0]])
    one, change = rng.standard_normal(3), np.array([0.9, 0.0, -0.9])  # which vanishes at the first input's level 1
    Z = here @ np.column_stack([one, one + change])
    expected = set()
    for swaps in itertools.product((False, True), repeat=4):
        for signs in itertools.product((1.0, -1.0), repeat=8 if either else 0):
            t = np.array(signs).reshape(4, 2) if either else 1.0
            V = t * np.array([z[::-1] if swap else z for z, swap in zip(Z, swaps, strict=True)])
            functions, *_ = np.linalg.lstsq(here, V)
            if np.abs(here @ functions - V).max() < 1e-9:
                expected.add(frozenset(tuple(np.round(f, 6) + 0.0) for f in functions.T))
    own = frozenset(tuple(np.round(f, 6) + 0.0) for f in np.column_stack([one, one + change]).T)
    found = {frozenset(tuple(np.round(f, 6) + 0.0) for f in chosen) for chosen in _covers(here, Z, either, 1e-7)}
    assert found == expected - {own}
    assert either or not found
    other = here @ np.column_stack([one, one + np.array([1.8, 0.0, -0.9])])  # ±0.9 along the first
    crossed = list(_covers(here, other, False, 1e-7))
    apart = {tuple(np.round(np.abs(np.diff(chosen, axis=0))[0], 6) + 0.0) for chosen in crossed}
    assert len(crossed) == 2
    assert apart == {(0.0, 0.0, 0.9), (0.0, 0.9, 0.9)}  # ±0.9 everywhere, or along the second
    for chosen in crossed:
        np.testing.assert_allclose(np.sort(here @ chosen.T, axis=1), np.sort(other, axis=1), atol=1e-9)


def test_a_level_with_few_rows_concerns_all_units_whatever_its_size(seed: int) -> None:
    """The level's five rows have other weights of the column beside them; neither its size nor a weight of zero matters."""
    rng = np.random.default_rng(seed)
    for size in (1e-3, 1.0, 1e3):
        X = np.column_stack([rng.standard_normal((120, 2)), size * (np.arange(120) < 5)])
        X[:5, :2] *= 0.1
        net = wl.Network(np.array([[1.0, -0.4], [0.3, 0.9], [0.0, 0.5 / size]]), [1.0, 0.7], activation="tanh")
        gauge = Gauge.of(net, bias=False, offset=False)
        known = Information.of(wl.samples.open(X, net.predict(X)), gauge)
        found = few_rows(X, known, np.array([False, False, True]))
        assert found is not None
        assert (found.number, found.limit, found.units) == (5.0, 10.0, (0, 1))


@pytest.mark.parametrize(("rows", "common"), [(8, []), (9, [9, 391])])
def test_levels_are_the_common_values_and_the_rest(rows: int, common: list[int]) -> None:
    X = np.random.default_rng(0).standard_normal((400, 2))
    X[:rows, 1] = 0.5
    assert [int(level.sum()) for level in _levels(X, np.array([False, True]))] == common
    constant = np.ones((40, 1))
    assert [int(level.sum()) for level in _levels(constant, np.array([True]))] == [40]


@pytest.mark.parametrize(("levels", "refused"), [(4, True), (5, False)])
def test_values_of_a_unit_against_its_parameters(levels: int, refused: bool) -> None:
    """w, b, a and the offset are four parameters of one input; a unit with as many values as half the rows is not asked."""
    X = (0.3 + np.arange(levels)[np.arange(60) % levels, None]) * 1e3
    net = wl.Network([[2e-3]], [0.7], [0.1], 0.2, "tanh")
    found = few_values(X, Gauge.of(net, bias=True, offset=True), 1e-9)
    assert (found is not None) == refused
    if found is not None:
        assert (found.number, found.limit, found.units) == (4.0, 5.0, (0,))
    few = few_values(X[:7], Gauge.of(net, bias=True, offset=True), 1e-9)
    assert (few is None) == (2 * levels >= 7)
