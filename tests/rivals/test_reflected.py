"""Reflected units that a change of the parameters makes agree."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from tests.rivals.instances import examined, outcomes

import weightlift as wl
from weightlift import samples
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.identifiability import reflect
from weightlift.network import Network
from weightlift.refinement.gauss_newton import gauss_newton
from weightlift.refinement.normal_equations import NormalEquations
from weightlift.risk import Students
from weightlift.rivals import Bar, Outcome
from weightlift.rivals.reflected import (
    ReflectionProducts,
    _apart,
    _nearest,
    _starts,
    _suspects,
    reflected_below,
    reflected_equations,
    same_function,
    small_sums,
)


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


@pytest.mark.parametrize("activation", ["relu", "softplus", "squared_relu"])
def test_what_least_squares_leaves_of_every_reflection(activation: str, seed: int) -> None:
    """fᵀQf against the least-squares residual of f − f_F off J, F reflected without moving c, from whole matrices."""
    rng = np.random.default_rng(seed)
    net = Network(rng.standard_normal((3, 3)), [1.0, -1.0, 1.0], 0.3 * rng.standard_normal(3), 0.0, activation)
    X = rng.standard_normal((80, 3))
    gauge = Gauge.of(net, bias=True, offset=False)
    source = samples.open(X, net.predict(X))
    information = Information.of(source, gauge)
    square, cross, _ = source.fold(ReflectionProducts(gauge))
    undone = cross @ information.half_inverse
    Q = square - undone @ undone.T
    students = Students.of(gauge.network)
    J = np.asarray(gauge.jacobian(X, students.preactivations(X), students))
    for bits in range(1, 8):
        f = np.array([bits >> i & 1 for i in range(3)], dtype=bool)
        turned = reflect(gauge.network, f, offset=False)
        change = turned.predict(X) - gauge.network.predict(X)
        left = change - J @ np.linalg.lstsq(J, change)[0]
        assert f @ Q @ f == pytest.approx(float(left @ left), rel=1e-6, abs=1e-9)


def test_of_many_sets_the_nearest_are_reflected(limits: Callable[..., None], seed: int) -> None:
    """Of up to three units, those whose reflection changes f least under N(0, I): for ReLU by ⟨Σ aᵢwᵢ, x⟩."""
    limits("weightlift.rivals.reflected", patterns=30)
    W = np.random.default_rng(seed).normal(size=(3, 6))
    found = _nearest(Gauge.of(wl.Network(W), bias=False, offset=False))
    sets = [set(s) for size in (1, 2, 3) for s in itertools.combinations(range(6), size)]
    sets.sort(key=lambda s: float(np.linalg.norm(W[:, list(s)].sum(axis=1))))
    assert [set(np.flatnonzero(row).tolist()) for row in found] == sets[:30]
    few = _nearest(Gauge.of(wl.Network(W[:, :4]), bias=False, offset=False))
    assert {tuple(np.flatnonzero(row).tolist()) for row in few} == {
        s for size in range(1, 5) for s in itertools.combinations(range(4), size)
    }


@pytest.mark.parametrize("k", [5, 12])
@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_sets_of_small_sums_are_all_found(k: int, scale: float, seed: int) -> None:
    """By brute force over all sets, of which some are planted at four fifths and five quarters of the size."""
    rng = np.random.default_rng(seed)
    P = rng.standard_normal((30, k))
    for last, others, share in ((0, [1, 2], 0.8), (3, [4], 1.25)):
        change = rng.standard_normal(30)
        P[:, last] = -P[:, others].sum(axis=1) + share * 1e-3 * change / np.linalg.norm(change)
    P *= scale
    sets = (np.arange(1, 2**k)[:, None] >> np.arange(k) & 1).astype(bool)
    expected = {tuple(f) for f in sets if np.linalg.norm(P @ f) <= 1e-3 * scale}
    found = small_sums(P.T @ P, 1e-3 * scale)
    assert found is not None
    assert {tuple(f) for f in found.astype(bool)} == expected
    assert len(expected) == 1


def test_too_many_small_sums_are_not_listed() -> None:
    found = small_sums(np.zeros((5, 5)), 1.0)
    assert found is not None
    assert len(found) == 31
    assert small_sums(np.zeros((6, 6)), 1.0) is None
    assert small_sums(1e-9 * np.eye(12), 1.0) is None


@pytest.mark.parametrize("activation", ["softplus", "squared_relu", "sigmoid"])
def test_products_with_weights(activation: str, seed: int) -> None:
    """P, PᵀWJ and Σ w y² from whole matrices; p by the reflection itself."""
    rng = np.random.default_rng(seed)
    net = Network(rng.standard_normal((3, 2)), [1.0, -0.6], 0.3 * rng.standard_normal(2), 0.0, activation)
    X, y, w = rng.standard_normal((40, 3)), 2.0 + rng.standard_normal(40), rng.uniform(0.1, 3.0, 40)
    gauge = Gauge.of(net, bias=True, offset=False)
    net = gauge.network
    P = net.a * (net.activation(-(X @ net.W + net.b)) * net.activation.reflection[0] - net.activation(X @ net.W + net.b))
    students = Students.of(net)
    J = np.asarray(gauge.jacobian(X, students.preactivations(X), students))
    square, cross, energy = samples.open(X, y, sample_weight=w).fold(ReflectionProducts(gauge))
    np.testing.assert_allclose(square, P.T @ (w[:, None] * P), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(np.abs(cross), np.abs(P.T @ (w[:, None] * J)), rtol=1e-9, atol=1e-11)
    assert float(energy) == pytest.approx(float(w @ y**2), rel=1e-12)


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_a_constant_is_suspect_where_the_least_unit_may_hide_it(scale: float, seed: int) -> None:
    """A reflected sigmoid unit leaves its output weight: suspect if a nearly linear unit undoes it to 1e-3 of ‖y‖."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((100, 2))
    seen = set()
    for slope in np.geomspace(1e-3, 1.0, 13):
        W = np.array([[1.0, slope, 0.5], [-0.7, 0.3 * slope, 1.0]])
        net = Network(W, scale * np.array([1.5, 0.9 / slope, -0.8]), activation="sigmoid")
        y = net.predict(X)
        gauge, source = Gauge.of(net, bias=False, offset=False), samples.open(X, y)
        students = Students.of(net)
        J = np.asarray(gauge.jacobian(X, students.preactivations(X), students))
        measured = np.abs(net.a).min() * _off(J) / (1e-3 * np.linalg.norm(y))
        if 0.8 < measured < 1.25:
            continue
        suspects = _suspects(source, Information.of(source, gauge))
        assert suspects is not None
        assert suspects.tolist() == ([[False, False, True]] if measured < 1 else [])
        seen.add(measured < 1)
    assert seen == {True, False}
    assert not len(_suspects(source, Information.of(source, Gauge.of(net, bias=False, offset=True))))  # c takes it up


def _off(J: np.ndarray) -> float:
    """How far the constant one is from the range of J."""
    Q = np.linalg.qr(J / np.linalg.norm(J, axis=0))[0]
    return float(np.linalg.norm(np.ones(len(J)) - Q @ (Q.T @ np.ones(len(J)))))


def test_as_many_sets_as_memory_allows(limits: Callable[..., None]) -> None:
    """All of five units, 31 of 32; the five nearest where normal equations of so many fit."""
    gauge = Gauge.of(wl.Network(np.random.default_rng(0).normal(size=(3, 5))), bias=False, offset=False)
    assert len(_nearest(gauge)) == 31
    limits("weightlift.rivals.reflected", memory=5 * gauge.size**2)
    assert len(_nearest(gauge)) == 5


@pytest.mark.parametrize("activation", ["relu", "softplus", "squared_relu", "sigmoid", "tanh"])
@pytest.mark.parametrize("offset", [False, True])
def test_sets_whose_reflection_leaves_the_function(activation: str, offset: bool, seed: int) -> None:
    """By brute force over all sets of five units; Σ aᵢwᵢ = 0 over three. Reflected sigmoids and tanh are the same units."""
    rng = np.random.default_rng(seed)
    W, X = rng.standard_normal((3, 5)), rng.standard_normal((20, 3))
    W[:, 3] = -W[:, 0] - W[:, 2]
    net = Gauge.of(Network(W, activation=activation), bias=False, offset=offset).network
    found = same_function(Gauge.of(net, bias=False, offset=offset))
    sets = (np.arange(1, 32)[:, None] >> np.arange(5) & 1).astype(bool)
    same = [s for s in sets if np.abs(reflect(net, s, offset=offset).predict(X) - net.predict(X)).max() < 1e-9]
    if activation in ("sigmoid", "tanh"):
        assert found is None
        return
    assert {tuple(s) for s in same} == ({(True, False, True, True, False)} if activation != "squared_relu" else set())
    assert (found is None) == (not same)
    if found is not None and found.patterns is not None:
        assert {tuple(s) for s in found.patterns} == {tuple(s) for s in same}
        assert found.units == (0, 2, 3)


@pytest.mark.parametrize("activation", ["softplus", "gelu", "silu", "relu", "leaky_relu"])
def test_two_opposite_units_undo_any_reflection(activation: str, seed: int) -> None:
    """a φ(u) − a φ(−u) is linear whatever u is: other units agree everywhere, and are as far away as the units are large."""
    rng = np.random.default_rng(seed)
    W, b, w = rng.standard_normal((3, 2)), rng.standard_normal(2), rng.standard_normal(3)
    net = Network(np.column_stack([W, w, -w]), [0.7, -1.2, 1.3, -1.3], np.append(b, [0.4, -0.4]), 0.0, activation)
    gauge, X = Gauge.of(net, bias=True, offset=False), rng.standard_normal((300, 3))
    for pattern in ([True, False, False, False], [True, True, False, False], [False, True, True, False]):
        reflected, undone = _starts(gauge, np.array(pattern))
        assert np.abs(reflected.predict(X) - net.predict(X)).max() > 0.1
        np.testing.assert_allclose(undone.predict(X), net.predict(X), atol=1e-12)
        assert not undone.equivalent(net, 1e-2)
        assert not wl.certify(undone, X, net.predict(X), bias=True, offset=False).certified_units
    near, far = (replace(net, W=net.W * np.array([1.0, 1.0, 1.0, t])) for t in (1.05, -1.0))
    patterns = np.array([True, False, False, False])
    assert len(_starts(Gauge.of(near, bias=True, offset=False), patterns)) == 2
    assert len(_starts(Gauge.of(far, bias=True, offset=False), patterns)) == 1


def test_noise_beside_two_opposite_units() -> None:
    """A fit in which the others are reflected is as good, wherever the linear function is that the two make."""
    rng = np.random.default_rng(1)
    w, v = rng.standard_normal((2, 2))
    one = Network(np.column_stack([v, w, -w]), [1.1, 0.9, -0.9], activation="gelu")
    X = rng.standard_normal((144, 2))
    y = one.predict(X) + 2e-4 * rng.standard_normal(144)
    start = _starts(Gauge.of(one, bias=False, offset=False), np.array([True, False, False]))[1]
    for net in (one, start):
        fit = gauss_newton(samples.open(X, y), net, free="Wa", iterations=200, tol=1e-12).network
        assert not wl.certify(fit, X, y, bias=False, offset=False).certified_units


@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "softplus", "tanh", "sigmoid"])
def test_what_a_linear_unit_takes_up_of_another_s_reflection_is_below_the_bar(activation: str, seed: int) -> None:
    """With c free, b = 25 makes the second unit linear on the rows, which moves as the first one's reflection asks.

    Where φ(−z) = ±φ(z) + constant there is no change to take up, and none is looked for.
    """
    rng = np.random.default_rng(seed)
    net = wl.Network(rng.standard_normal((3, 2)), [1.0, 1.0], [0.1, 25.0], 0.2, activation)
    X = rng.standard_normal((200, 3))
    source, gauge = samples.open(X, net.predict(X) + 1e-3 * rng.standard_normal(200)), Gauge.of(net, bias=True, offset=True)
    ceiling = 400 * 1e-6
    found = reflected_below(source, gauge, Bar(ceiling))
    if activation in ("tanh", "sigmoid"):
        assert found is None
        return
    assert found is not None
    assert found.patterns is not None
    for pattern, rival in zip(found.patterns, found.rivals, strict=True):
        assert np.sum((rival.predict(X) - net.predict(X)) ** 2) <= 4 * ceiling
        assert pattern.any()
        assert not rival.equivalent(net, 1e-3)


@pytest.mark.parametrize("activation", ["relu", "squared_relu", "softplus", "gelu"])
@pytest.mark.parametrize(("bias", "offset"), [(False, False), (True, False), (True, True)])
def test_equations_of_reflected_networks_are_those_of_each_by_itself(
    activation: str, bias: bool, offset: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    net = Network(rng.normal(size=(4, 3)), rng.normal(size=3), bias * rng.normal(size=3), 0.3 * offset, activation)
    gauge = Gauge.of(net, bias=bias, offset=offset)
    X, w = rng.normal(size=(60, 4)), rng.uniform(0.5, 2.0, 60)
    rows = samples.open(X, net.predict(X) + rng.normal(size=60), sample_weight=w)
    patterns = _nearest(gauge)
    rivals = [reflect(gauge.network, pattern, offset=gauge.free.c) for pattern in patterns]
    statistic = NormalEquations(Students.of(*rivals), gauge.free)
    alone = statistic.assembled(rows.fold(statistic))
    for found, wanted in zip(reflected_equations(rows, gauge, patterns, rivals), alone, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12 * np.abs(wanted).max())


def test_changes_that_are_apart_have_no_small_sum(seed: int) -> None:
    """Against all sums: independent columns, and a dependent set among them."""
    rng = np.random.default_rng(seed)
    changes = rng.normal(size=(6, 4))
    sets = (np.arange(1, 16)[:, None] >> np.arange(4)) & 1
    least = np.linalg.norm(sets @ changes.T, axis=1).min()
    assert _apart(changes)
    assert least > 1e-9 * np.linalg.norm(changes)
    changes[:, 3] = -changes[:, 0] - changes[:, 2] + 1e-10 * rng.normal(size=6)
    assert not _apart(changes)


@pytest.mark.parametrize("offset", [False, True])
def test_without_an_offset_a_sigmoid_s_reflection_is_taken_up_by_another_unit(offset: bool, seed: int) -> None:
    """φ(−z) = 1 − φ(z): the second unit, one on all rows, takes up the constant a; with c free both are the same network."""
    rng = np.random.default_rng(seed)
    w, v = rng.standard_normal((2, 3))
    a = np.array([-0.6, 1.0])
    net = wl.Network(np.column_stack([w, 0.1 * v]), a, [0.1, 25.0], 0.0, "sigmoid")
    other = wl.Network(np.column_stack([-w, 0.1 * v]), [-a[0], a[1] + a[0]], [-0.1, 25.0], 0.0, "sigmoid")
    X = rng.standard_normal((200, 3))
    np.testing.assert_allclose(other.predict(X), net.predict(X), atol=1e-9)
    source = samples.open(X, net.predict(X) + 1e-3 * rng.standard_normal(200))
    found = reflected_below(source, Gauge.of(net, bias=True, offset=offset), Bar(400 * 1e-6))
    if offset:
        assert found is None
        return
    assert found is not None
    near = [rival for rival in found.rivals if abs(rival.a[1] - other.a[1]) < 0.05]
    assert near
    assert np.abs(near[0].predict(X) - net.predict(X)).max() < 5e-3
