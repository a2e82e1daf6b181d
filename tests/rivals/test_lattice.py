"""Rows on a lattice, whatever has rotated it: aliases of a φ that repeats; rows of a density have none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from tests.rivals.instances import examined, outcomes, refused

import weightlift as wl
from weightlift.evidence.gauge import Gauge
from weightlift.rivals import Outcome
from weightlift.rivals.lattice import aliased, reduced, repetition


@pytest.mark.parametrize("d", [1, 2, 5, 12])
def test_a_dual_vector_is_found_however_the_lattice_lies(d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, B = rng.integers(-6, 7, (200, d)), rng.standard_normal((d, d))
    found = repetition(m @ B.T)
    assert found is not None
    np.testing.assert_allclose(B.T @ found, np.round(B.T @ found), atol=1e-7)
    assert np.any(np.round(B.T @ found))


def test_one_discrete_direction_is_found_and_a_density_has_none(seed: int) -> None:
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    X = np.column_stack([rng.standard_normal((200, 3)), 0.3 * rng.integers(0, 9, 200)]) @ Q
    found = repetition(X - X[0])
    assert found is not None
    np.testing.assert_allclose(np.abs(Q @ found), [0, 0, 0, 1 / 0.3], atol=1e-7)
    assert repetition(rng.standard_normal((200, 4))) is None
    assert repetition(np.hstack([Z := rng.standard_normal((200, 3)), Z @ [[1.0], [2.0], [0.5]]])) is None  # in a subspace


def test_a_part_of_the_vector_that_is_whole_on_some_rows_is_not_taken(seed: int, limits: Callable[..., None]) -> None:
    """Rows of even numbers first: half of the vector is whole on them, and not on the others."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((2, 2)))[0]
    m = np.vstack([2.0 * rng.integers(-50, 51, (40, 1)), [[1.0], [3.0]]])
    X = np.hstack([m, rng.standard_normal((42, 1)) * 100]) @ Q
    found = repetition(X)
    assert found is not None
    np.testing.assert_allclose(np.abs(Q @ found), [1, 0], atol=1e-7)
    limits("weightlift.rivals.lattice", divisors=1)  # one reduction, and no other with a row more
    assert repetition(X) is None


@pytest.mark.parametrize("bias", [False, True])
def test_sines_on_a_rotated_lattice_are_refused(bias: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    B = np.linalg.qr(rng.standard_normal((3, 3)))[0] * [0.4, 0.7, 1.0]
    X = rng.integers(-6, 7, (200, 3)) @ B.T
    net = wl.Network(rng.standard_normal((3, 2)), rng.standard_normal(2), bias * rng.standard_normal(2), 0.0, "sine")
    other = replace(net, W=net.W + 2 * np.pi * np.linalg.inv(B).T[:, [1]])
    np.testing.assert_allclose(net.predict(X), other.predict(X), atol=1e-12)
    assert Outcome.FOUND in outcomes(examined(net, X, bias=bias))
    assert not refused(examined(net, X + 1e-3 * rng.standard_normal(X.shape), bias=bias))
    assert not refused(examined(replace(net, activation=wl.activations.get("tanh")), X, bias=bias))


def test_rows_finer_than_their_number_leave_an_assumption(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((200, 2)), 4)
    net = wl.Network(rng.standard_normal((2, 2)), rng.standard_normal(2), activation="sine")
    certificate = wl.certify(net, X, net.predict(X))
    assert certificate.status is wl.Status.EXACT
    assert any("periodic" in line for line in certificate.assumptions)


def test_a_reduced_basis_spans_the_same_lattice(seed: int) -> None:
    rng = np.random.default_rng(seed)
    B = rng.integers(-50, 51, (6, 6)).astype(float)
    short = reduced(B)
    turned = np.linalg.solve(B, short)
    np.testing.assert_allclose(turned, np.round(turned), atol=1e-8)
    assert abs(abs(np.linalg.det(turned)) - 1) < 1e-6
    assert np.linalg.norm(short[:, 0]) <= 2 ** (5 / 4) * abs(np.linalg.det(B)) ** (1 / 6)  # [lenstra1982, Prop. 1.9]


@pytest.mark.parametrize(
    ("step", "start", "bias", "found"), [(0.5, 0.0, False, True), (0.5, 1 / np.pi, False, False), (0.5, 1 / np.pi, True, True)]
)
def test_periodic_units_alias_on_a_lattice(step: float, start: float, bias: bool, found: bool) -> None:
    """sin(wx + b) and sin((w + 2π/h)x + b − 2π x₀/h) agree at x₀ + hZ; without biases x₀ must be of the lattice."""
    rng = np.random.default_rng(0)
    X = np.column_stack([start + step * rng.integers(0, 7, 90), rng.standard_normal(90)])
    net = wl.Network(np.array([[1.0], [0.4]]), activation="sine")
    gauge = Gauge.of(net, bias=bias, offset=False)
    assert found_on(X, gauge) == found
    shift = 2 * np.pi / step
    other = wl.Network(net.W + np.array([[shift], [0.0]]), b=[-shift * start], activation="sine")
    np.testing.assert_allclose(other.predict(X), net.predict(X), atol=1e-12)
    X[0, 0] += step / np.e  # 0.3 would make it a finer lattice
    assert not found_on(X, gauge)


def found_on(X: np.ndarray, gauge: Gauge) -> bool:
    """Whether aliases are found, and not merely assumed away on a lattice finer than the rows are many."""
    finding = aliased(X, gauge)
    return finding is not None and finding.outcome is Outcome.FOUND


@pytest.mark.parametrize("n", [6, 10])
def test_a_reduced_basis_is_reduced(n: int, seed: int) -> None:
    """[lenstra1982, (1.4), (1.5)] of an orthogonalization made anew: |μ| ≤ 1/2, and lengths that fall by a quarter at most."""
    rng = np.random.default_rng(seed)
    B = rng.integers(-50, 51, (n, n)).astype(float)
    B[0] *= 1e6
    R = np.linalg.qr(reduced(B), mode="r")
    mu = np.triu(R / np.diagonal(R)[:, None], 1)
    assert np.abs(mu).max() <= 0.5 + 1e-6
    lengths = np.diagonal(R) ** 2
    assert (lengths[1:] >= (0.99 - 1e-6 - np.diagonal(mu, 1) ** 2) * lengths[:-1]).all()
    assert abs(abs(np.linalg.det(reduced(B)) / np.linalg.det(B)) - 1) < 1e-6


@pytest.mark.parametrize(("last", "outcome"), [(29.0, Outcome.FOUND), (30.0, Outcome.NONE_FOUND)])
def test_as_many_levels_as_rows_are_no_density(last: float, outcome: Outcome) -> None:
    """Thirty rows a half apart on thirty levels show aliases; on one more the rows might be a rounded density."""
    X = 0.3 + 0.5 * np.append(np.arange(29.0), last)[:, None]
    found = aliased(X, Gauge.of(wl.Network([[1.0]], b=[0.2], activation="sine"), bias=True, offset=False))
    assert found is not None
    assert (found.outcome, found.number, found.limit) == (outcome, last + 1, 30.0)
    assert "hyperplanes 0.5 apart" in found.sentence


@pytest.mark.parametrize("size", [1e-12, 1e12])
def test_a_repetition_scales_with_the_rows(size: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    X = np.column_stack([rng.standard_normal((80, 2)), 0.4 * rng.integers(-4, 5, 80)]) @ Q
    found = repetition(size * X)
    assert found is not None
    np.testing.assert_allclose(np.abs(Q @ found) * size, [0.0, 0.0, 2.5], atol=1e-7)


@pytest.mark.parametrize("bias", [False, True])
def test_rows_that_are_one_or_the_origin_have_no_aliases_that_can_be_told(bias: bool) -> None:
    gauge = Gauge.of(wl.Network([[1.0], [2.0]], activation="sine"), bias=bias, offset=False)
    for X in (np.array([[0.3, 0.4]]), np.zeros((1, 2)), np.zeros((5, 2)), np.zeros((0, 2))[:0]):
        assert not len(X) or aliased(X, gauge) is None
        assert repetition(X) is None


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_lengths_that_fall_by_less_than_a_hundredth_stay_in_their_order(size: float, limits: Callable[..., None]) -> None:
    """Squares of 0.994 and 0.980 beside the one before."""
    for length, order in ((0.997, [0, 1]), (0.99, [1, 0])):
        B = size * np.diag([1.0, length])
        np.testing.assert_array_equal(reduced(B), B[:, order])
    limits("weightlift.rivals.lattice", reductions=0)
    np.testing.assert_array_equal(reduced(B), B)
