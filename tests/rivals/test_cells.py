"""Sides of rows that a hyperplane can separate."""

from __future__ import annotations

import numpy as np

import weightlift as wl
from weightlift.evidence.gauge import Gauge
from weightlift.rivals.cells import Cells, cells, distinct, independent_rows
from weightlift.rivals.pieces import separable


def test_separable_sides() -> None:
    X = np.random.default_rng(0).standard_normal((100, 3))
    assert separable(X, X @ [1.0, 2.0, -1.0] > 0)
    assert not separable(X, np.abs(X[:, 0]) > 0.5)


def test_rows_near_a_kink_have_no_side(seed: int) -> None:
    """Those with |z| within the margin that noise gives the kinks, or within rounding of one, by the sizes of their terms."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((200, 3)) * [1.0, 1e3, 1e-3]
    net = wl.Network(rng.standard_normal((3, 2)) / np.array([[1.0], [1e3], [1e-3]]), b=rng.standard_normal(2))
    X[0] -= net.W[:, 0] * (X[0] @ net.W[:, 0] + net.b[0]) / (net.W[:, 0] @ net.W[:, 0])  # on a kink, to rounding
    gauge = Gauge.of(net, bias=True, offset=False)
    for margin in (0.0, 0.3):
        z, clear = Cells(gauge, np.sqrt(np.mean(X**2, axis=0)), margin).beyond(X)
        np.testing.assert_allclose(z, X @ net.W + net.b, atol=1e-9)
        np.testing.assert_array_equal(clear[1:], np.all(np.abs(z[1:]) > margin, axis=1))
        assert not clear[0]


def test_rows_of_rounding_beside_a_kink_by_the_sizes_of_their_terms(seed: int) -> None:
    """|z| ≤ 1e-9 (|x/s| |s w| + |b|), s the sizes of the inputs: a third of it has no side, three times as much has one."""
    rng = np.random.default_rng(seed)
    for s, b in (([1e4, 1e-4], [0.3, -0.2]), ([1e-3, 1e-3], [40.0, -0.2]), ([1e3, 7.0], [0.1, 9.0])):
        V = rng.standard_normal((2, 2)) * [1.0, 20.0]
        X = rng.normal([0.5, 0.0], 1.0, (60, 2))
        for row, share in enumerate((3.0, 1 / 3, -3.0, -1 / 3)):
            u, c = V[:, row // 2 % 2], b[row // 2 % 2]
            for _ in range(3):
                rms = np.sqrt(np.mean(X**2, axis=0))
                size = np.linalg.norm(X[row] / rms) * np.linalg.norm(u * rms)
                X[row] -= u * (X[row] @ u + c - share * 1e-9 * (size + abs(c))) / (u @ u)
        net = wl.Network(V / np.array(s)[:, None], [1.0, -1.0], b)
        X = X * s
        expected = np.delete(X, [1, 3], axis=0)
        B, clear = cells(wl.samples.open(X, X[:, 0]), X, Gauge.of(net, bias=True, offset=False))
        np.testing.assert_array_equal(clear, expected)
        assert sorted(map(tuple, B)) == sorted(map(tuple, expected @ net.W + net.b > 0))


def test_sides_are_of_each_rows_kink_and_of_positive_weight(seed: int) -> None:
    """A kink that is not at zero, and rows without weight: z − kink and nothing of the others."""
    phi = wl.activations.custom(
        "hinge", lambda z: np.maximum(z - 0.7, 0.0), lambda z: (z > 0.7) * 1.0, kinks=(0.7,), degree=None
    )
    rng = np.random.default_rng(seed)
    X, w = rng.standard_normal((40, 3)), rng.integers(0, 2, 40) * 1.5
    net = wl.Network(rng.standard_normal((3, 2)), [1.0, -2.0], [0.9, 0.2], 0.0, phi)
    B, _ = cells(wl.samples.open(X, X[:, 0], sample_weight=w), X, Gauge.of(net, bias=True, offset=False))
    assert sorted(map(tuple, B)) == sorted(map(tuple, (X @ net.W + net.b > 0.7)[w > 0]))


def test_different_rows_of_sides() -> None:
    B = np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    assert sorted(map(tuple, distinct(B))) == [(0.0, 0.0, 0.0), (0.0, 1.0, 1.0), (1.0, 0.0, 1.0)]


def test_negative_zeros_and_the_origin_are_one_draw_each() -> None:
    """(1, 0), (1, −0), (−1, 0) are one draw, 5 (1, 0) is another without rays; (0, 0) is one of its own."""
    rows = [[1.0, 0.0], [1.0, -0.0], [-1.0, 0.0], [5.0, 0.0], [0.0, 0.0], [0.0, -0.0], [0.0, 2.0], [-0.0, -2.0], [0.3, 0.4]]
    X = np.array(rows)
    for activation, bias, draws in (("relu", False, 4), ("relu", True, 5), ("tanh", False, 5)):
        gauge = Gauge.of(wl.Network(np.eye(2), activation=activation), bias=bias, offset=False)
        assert independent_rows(wl.samples.open(X, X[:, 0]), gauge) == draws
