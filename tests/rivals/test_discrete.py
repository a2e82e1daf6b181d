"""Discrete columns: units that take each other's places at some levels, and rows too few to tell."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from tests.catalogue import KINDS, UNIQUE
from tests.rivals.instances import examined, exchangeable, outcomes, refused, small_difference, three_levels, with_common_part

import weightlift as wl
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.rivals import Outcome
from weightlift.rivals.discrete import (
    _covers,
    _differing,
    _groups,
    _levels,
    discrete_columns,
    few_levels,
    few_rows,
    few_values,
    hidden_levels,
    open_places,
    other_places,
)


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


BELL = wl.activations.custom("bell", lambda z: np.exp(-z * z), lambda z: -2 * z * np.exp(-z * z), reflection=(1, ()))


@pytest.mark.parametrize("size", [1e-7, 1.0, 1e10])
@pytest.mark.parametrize("turn", [1.0, -1.0])
def test_hidden_hyperplanes_whatever_their_size(size: float, turn: float, seed: int) -> None:
    """z₀ ∓ z₁ at five values along a direction that is no column; rows of a density show as many values as rows."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    X = rng.standard_normal((200, 3))
    levels = np.column_stack([X[:, :2], rng.integers(0, 5, 200)])
    W = np.array([[1.0, turn, 0.3], [-0.5, -turn * 0.5, 0.9], [0.4, turn * 1.1, -0.7]])
    net = wl.Network(size * Q @ W, [2.0, 2.0 * turn, 2.0], size * np.array([0.3, -0.8, 0.1]), activation="tanh")
    gauge, none = Gauge.of(net, bias=True, offset=False), np.zeros(3, dtype=bool)
    found = hidden_levels(levels @ Q.T, gauge, none)
    assert found is not None
    assert found.units == (0, 1)
    assert hidden_levels(X @ Q.T, gauge, none) is None
    assert hidden_levels(levels @ Q.T, gauge, np.array([True, False, False])) is None


@pytest.mark.parametrize("size", [1e-3, 1e3])
def test_units_on_hidden_hyperplanes_have_one_output_weight(size: float) -> None:
    """To 1e-7 of the largest: a third of that is the same, three times that is not."""
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((2, 2)))[0]
    X = np.column_stack([rng.standard_normal(80), np.arange(80) % 4])
    for share, same in ((1 / 3, True), (3.0, False)):
        a = size * np.array([1.0, -1.0 - share * 1e-7])
        net = wl.Network(Q @ np.array([[1.0, 1.0], [0.5, -0.4]]), a, activation="tanh")
        found = hidden_levels(X @ Q.T, Gauge.of(net, bias=False, offset=False), np.zeros(2, dtype=bool))
        assert (found is not None) == same


def test_values_are_told_apart_by_the_size_of_z_and_not_of_its_terms(seed: int) -> None:
    """Inputs far from the origin, which the biases take back: z is as various as rows of a density are."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((200, 2)) + 1e7
    W = np.array([[1.0, 0.6], [0.4, -1.1]])
    net = wl.Network(W, [1.0, 1.0], -1e7 * W.sum(axis=0), activation="tanh")
    gauge = Gauge.of(net, bias=True, offset=True)
    assert hidden_levels(X, gauge, np.zeros(2, dtype=bool)) is None
    one = wl.Network(W[:1, :1], [1.0], [-1e7], activation="tanh")
    assert few_values(X[:, :1], Gauge.of(one, bias=True, offset=True), 1e-7) is None


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_few_values_whatever_their_size(size: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.standard_normal(60), np.arange(60) % 4])
    net = wl.Network(size * np.array([[0.0, 1.0], [0.7, -0.4]]), [1.0, 0.5], [0.2 * size, 0.1 * size], activation="tanh")
    found = few_values(X, Gauge.of(net, bias=True, offset=True), 1e-9)
    assert found is not None
    assert (found.number, found.limit, found.units) == (4.0, 5.0, (0,))
    dense = replace(net, W=size * np.array([[0.9, 1.0], [0.7, -0.4]]))
    assert few_values(X, Gauge.of(dense, bias=True, offset=True), 1e-9) is None


@pytest.mark.parametrize(("activation", "size"), [("tanh", 1.0), ("squared_relu", 1e-9), ("squared_relu", 1e6)])
def test_a_level_with_few_rows_names_units_by_what_they_add(activation: str, size: float, seed: int) -> None:
    """Two units of very different output weights, whose weights along the column five rows alone determine."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((120, 3)) * size
    X[:5, :2] *= 0.1
    X[:, 2] = size * (np.arange(120) < 5)
    for weight in (1.0, 100.0, 1e5):
        net = wl.Network(np.array([[1.0, -0.4], [-0.3, 0.9], [2.0, 3.0]]), [1.0, weight], activation=activation)
        gauge = Gauge.of(net, bias=False, offset=False)
        known = Information.of(wl.samples.open(X, net.predict(X)), gauge)
        found = few_rows(X, known, np.array([False, False, True]))
        assert found is not None
        assert (found.number, found.limit, found.units) == (5.0, 10.0, (0, 1))
    assert few_rows(X[:4], known, np.array([False, False, True])) is None  # fewer rows than parameters


def test_a_level_names_the_units_that_it_alone_determines() -> None:
    """The second unit is on at six rows of one level, the first one everywhere."""
    rng = np.random.default_rng(0)
    level = np.repeat([0.0, 1.0, 2.0], [100, 94, 6])
    X = np.column_stack([np.where(level < 2, rng.uniform(2.0, 3.0, 200), rng.uniform(0.2, 1.5, 200)), level])
    net = wl.Network(np.array([[1.0, -1.0], [0.3, 1.0]]), [1.0, -1.0])
    known = Information.of(wl.samples.open(X, net.predict(X)), Gauge.of(net, bias=False, offset=False))
    found = few_rows(X, known, np.array([False, True]))
    assert found is not None
    assert (found.number, found.limit, found.units) == (6.0, 10.0, (1,))


@pytest.mark.parametrize("contrast", [0.5, 1e-3, 1e-5])
def test_a_level_names_units_however_badly_it_determines_another(contrast: float, seed: int) -> None:
    """Elsewhere x₁ = x₂. Four rows tell them apart for one unit, little, and four others for the other one, well."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(0.5, 3.0, 208) * np.where(np.arange(208) % 2, 1.0, -1.0)
    X = np.column_stack([t, t, np.arange(208) >= 200])
    X[200:, 1] += np.where(t[200:] > 0, contrast, 0.5) * rng.uniform(-1.0, 1.0, 8)
    net = wl.Network(np.array([[1.0, -1.0], [1.0, -1.0], [0.1, 0.2]]))
    known = Information.of(wl.samples.open(X, net.predict(X)), Gauge.of(net, bias=False, offset=False))
    found = few_rows(X, known, np.array([False, False, True]))
    assert found is not None
    assert (found.number, found.limit, found.units) == (8.0, 12.0, (0, 1))


@pytest.mark.parametrize("size", [1e-3, 1e3])
def test_groups_have_output_weights_within_the_tolerance(size: float) -> None:
    X = np.column_stack([np.random.default_rng(0).standard_normal(60), np.arange(60) % 3])
    for gap, found in ((0.02, [(0, 1)]), (0.15, [])):
        net = wl.Network([[1.0, 1.0], [0.5, -0.5]], size * np.array([1.0, 1.0 + gap]), activation="tanh")
        groups = _groups(X, net, np.array([False, True]), 0.05)
        assert [tuple(units.tolist()) for units, _, _ in groups] == found


@pytest.mark.parametrize(("size", "scale"), [(1e-3, 1.0), (1e3, 1e-4), (1.0, 1e4)])
def test_columns_along_which_units_differ_by_more_than_the_tolerance(size: float, scale: float) -> None:
    """Beside the larger of the weights, inputs at their sizes; a turned unit counts with its sign."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal(90), np.arange(90) % 3, np.arange(90) % 2]) * [1.0, scale, 1.0]
    rms = np.sqrt(np.mean(X**2, axis=0))
    W = size * np.array([[1.0, 1.0], [0.5, 0.5], [0.4, 0.4]]) / rms[:, None]
    largest = size * np.sqrt(1.41)
    signs, columns = np.array([1.0, -1.0]), np.array([False, True, True])
    for share, expected in ((3.0, [False, True, False]), (1 / 3, [False, False, False])):
        V = W.copy()
        V[1, 1] += share * 0.01 * largest / rms[1]
        net = wl.Network(V * signs, [1.0, -1.0], activation="tanh")
        assert _differing(X, net, np.arange(2), signs, columns, 0.01).tolist() == expected
    alone = wl.Network(W[:, :1], activation=BELL)
    assert _differing(X, alone, np.arange(1), np.ones(1), columns, 0.01).tolist() == [False, True, True]


@pytest.mark.parametrize("size", [1e-3, 1e3])
def test_other_places_are_the_same_at_any_size_of_the_units(size: float, seed: int) -> None:
    """Values that nearly agree, within a width that is relative: the proposals follow the size."""
    rng = np.random.default_rng(seed)
    places, functions, _ = small_difference(rng)
    X = np.hstack([rng.standard_normal((200, 2)), places[rng.integers(4, size=200)]])
    net = with_common_part(functions, np.array([1.0, -0.7]), "tanh")
    columns, proposed = np.array([False, False, True, True]), False
    for tolerance in (1e-6, 0.03, 0.1, 0.3):
        plain, scaled = (
            other_places(X, Gauge.of(replace(net, W=t * net.W, b=t * net.b), bias=True, offset=False), columns, tolerance)
            for t in (1.0, size)
        )
        one, other = (
            {frozenset(tuple(np.round(u, 7) + 0.0) for u in np.vstack([net.W, net.b]).T / t) for _, net in found}
            for found, t in ((plain, 1.0), (scaled, size))
        )
        assert one == other
        proposed = proposed or bool(one)
    assert proposed


def test_values_nearly_agree_beside_the_size_of_z_and_not_of_its_terms(seed: int) -> None:
    """Inputs off the origin, which the biases take back, leave the width within which values agree."""
    rng = np.random.default_rng(seed)
    places, functions, _ = small_difference(rng)
    functions[1, 0] += 1e-3
    X = np.hstack([rng.standard_normal((200, 2)), places[rng.integers(4, size=200)]])
    net = with_common_part(functions, np.array([1.0, -0.7]), "tanh")
    moved = replace(net, b=net.b - 10.0 * net.W[:2].sum(axis=0))
    columns, counts = np.array([False, False, True, True]), []
    for tolerance in (1e-4, 3e-4, 1e-3, 3e-3, 1e-2):
        here, there = (
            other_places(Y, Gauge.of(n, bias=True, offset=False), columns, tolerance)
            for Y, n in ((X, net), (X + np.array([10.0, 10.0, 0.0, 0.0]), moved))
        )
        assert len(here) == len(there)
        counts.append(len(here))
    assert counts[0] == 0 < counts[-1]


def test_more_choices_than_are_solved_are_not_looked_at(limits: Callable[..., None]) -> None:
    """Two values at each of three places of a basis."""
    here = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 2.0, 1.0], [1.0, 2.0, 1.0]])
    Z = here @ np.array([[1.0, 2.8], [0.5, 0.5], [0.2, -0.7]])
    for choices, found in ((80, True), (79, False)):
        limits("weightlift.rivals.discrete", choices=choices)
        assert bool(list(_covers(here, Z, False, 1e-7))) == found


def test_turned_units_take_places_with_their_signs(seed: int) -> None:
    """tanh: (−a, −w, −b) is the same unit; the proposal among those that agrees has it turned as it was."""
    one, other, X = exchangeable("tanh", seed, 80)
    turned = [replace(net, W=net.W * [1.0, -1.0], b=net.b * [1.0, -1.0], a=[1.0, -1.0]) for net in (one, other)]
    found = other_places(X, Gauge.of(turned[0], bias=True, offset=False), np.array([False, False, True]), 1e-7)
    assert any(np.abs(rival.predict(X) - one.predict(X)).max() < 1e-9 for _, rival in found)
    assert any(rival.equivalent(turned[1], 1e-9) for _, rival in found)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("activation", ["tanh", BELL, "elu"])
def test_places_are_open_where_regions_meet(activation, turned: bool) -> None:
    """Two regions of radius s meet, δᵀ(Rᵢ + Rⱼ)⁻¹δ ≤ 2, up to δ = 2s; one must be wider than a fifth of its unit."""
    X = np.column_stack([np.random.default_rng(0).standard_normal((60, 2)), np.arange(60) % 2])
    columns = np.array([False, False, True])
    signs = {"tanh": (-1.0, -1.0), "elu": (-1.0, -1.0)}.get(activation, (-1.0, 1.0)) if turned else (1.0, 1.0)

    def found(gap: float, s: float, other: float = 0.8):
        W = np.array([[1.0, signs[0] * (1.0 + gap)], [-0.5, -signs[0] * 0.5], [0.4, -1.3]])
        net = wl.Network(W, [0.8, signs[1] * other], [0.0, 0.7], activation=activation)
        regions = np.zeros((2, 2, 5, 5))
        regions[1] = np.diag([s**2] * 4 + [0.04**2])  # (w, b, a)
        regions[0] = 0.5 * regions[1]
        return open_places(X, Gauge.of(net, bias=True, offset=False), columns, regions)

    s = 0.4
    near, far = found(1.8 * s, s), found(2.2 * s, s)
    known = activation != "elu" or not turned  # without a reflection a turned unit is another
    assert (near is not None) == known
    assert far is None
    assert found(0.0, s, 1.0) is None  # output weights five of their radii apart
    assert found(0.0, 0.2 * 0.9 * np.sqrt(1.41)) is None  # not wide: sqrt(1.41) is the length of the smaller unit's w and b
    if known:
        assert near is not None
        assert near.units == (0, 1)
        assert (near.number, near.limit) == (pytest.approx(s / np.sqrt(1.41), rel=1e-9), 0.2)
        assert found(0.0, 0.2 * 1.1 * np.sqrt(1.41)) is not None


@pytest.mark.parametrize("weight", [1e-3, 1.0, 1e3])
def test_what_a_level_alone_determines_does_not_hang_on_output_weights(weight: float, seed: int) -> None:
    """Six copies of a row, at which the first unit is saturated, tell the second's weight along the column; the five rows of
    another level alone tell the first's."""
    rng = np.random.default_rng(seed)
    net = wl.Network(np.array([[1.0, -0.4], [0.3, 0.9], [0.7, -0.5]]), [1.0, weight], activation="tanh")
    X = np.column_stack([rng.standard_normal((120, 2)), np.zeros(120)])
    X[:11, 2] = np.repeat([1.0, 2.0], [5, 6])
    X[:5, :2] *= 0.3
    X[5:11, :2] = np.linalg.solve(net.W[:2].T, np.array([5.0, 0.1]) - 2.0 * net.W[2])  # z = (5, 0.1)
    known = Information.of(wl.samples.open(X, net.predict(X)), Gauge.of(net, bias=False, offset=False))
    found = few_rows(X, known, np.array([False, False, True]))
    assert found is not None
    assert (found.number, found.limit, found.units) == (5.0, 9.0, (0,))
