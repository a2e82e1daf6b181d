"""Residuals of several outputs, and the bound on their rounding errors, row by row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import weightlift as wl
from weightlift.evidence.rows import Residuals
from weightlift.samples import Block

EPS = float(np.finfo(float).eps)


def bounds(net: wl.Network, X: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """|r| and B of every row and output, by loops over the formula."""
    d, k = net.W.shape
    largest = np.abs(net.A).max(axis=0)
    R, B = np.zeros_like(Y), np.zeros_like(Y)
    for n, x in enumerate(X):
        z = x @ net.W + net.b
        slope = 1 / np.cosh(z) ** 2
        for o in range(Y.shape[1]):
            inner = outer = 0.0
            for i in range(k):
                a = (np.abs(net.A[i]) / largest).max() * largest[o]
                inner += a * slope[i] * (np.abs(x) @ np.abs(net.W[:, i]) + abs(net.b[i]))
                outer += a * abs(np.tanh(z[i]))
            V = np.zeros(d) if net.V is None else net.V[:, o]
            outer += np.abs(x) @ np.abs(V)
            R[n, o] = abs(np.tanh(z) @ net.A[:, o] + x @ V + net.c[o] - Y[n, o])
            B[n, o] = EPS * ((d + 2) * inner + (k + d + 4) * (outer + abs(net.c[o]) + abs(Y[n, o])))
    return R, B


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_residuals_are_those_of_the_formula(weighted: bool, linear: bool, seed: int) -> None:
    """Rows of weight zero say nothing, however far they are; parts of the rows add up to all of them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((9, 4)) + 0.7
    net = wl.Network(rng.standard_normal((4, 3)), rng.standard_normal((3, 2)), rng.standard_normal(3), [0.3, -0.4], "tanh")
    net = replace(net, V=rng.standard_normal((4, 2)) if linear else None)
    Y = net.predict(X) + 1e-3 * rng.standard_normal((9, 2))
    w = rng.uniform(0.5, 2.0, 9) if weighted else np.ones(9)
    if weighted:
        w[4], Y[4] = 0.0, 50.0
    R, B = bounds(net, X, Y)
    used = w > 0
    expected = (R / B)[used].max(), R[used].max(), used.sum(), (w[:, None] * (R + B) ** 2).sum(axis=0)

    statistic = Residuals(net)

    def of(rows: slice) -> tuple[np.ndarray, ...]:
        return statistic(Block(X[rows], Y[rows], w[rows] if weighted else None, lambda: np.arange(9)[rows]))

    for found in (of(slice(None)), statistic.merge(of(slice(0, 5)), of(slice(5, 9)))):
        for value, wanted in zip(found[:4], expected, strict=True):
            np.testing.assert_allclose(value, wanted, rtol=1e-9)


def test_a_block_without_rows_adds_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    net = wl.Network(rng.standard_normal((3, 2)), rng.standard_normal((2, 2)), activation="tanh")
    X, statistic = rng.standard_normal((5, 3)), Residuals(net)
    Y = net.predict(X) + 1e-3 * rng.standard_normal((5, 2))
    for w in (None, rng.uniform(0.5, 2.0, 5)):
        some, none = (statistic(Block(X[:n], Y[:n], None if w is None else w[:n], lambda n=n: np.arange(n))) for n in (5, 0))
        assert [float(v) for v in none[:3]] == [0.0, 0.0, 0.0]
        for merged in (statistic.merge(some, none), statistic.merge(none, some)):
            for value, wanted in zip(merged, some, strict=True):
                np.testing.assert_array_equal(value, wanted)
