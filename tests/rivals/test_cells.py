"""Sides of rows that a hyperplane can separate."""

from __future__ import annotations

import numpy as np

import weightlift as wl
from weightlift.evidence.gauge import Gauge
from weightlift.rivals.cells import Cells
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
