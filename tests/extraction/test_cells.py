"""Units behind the kinks of a line: their normals, places and jumps from gradients in the cells, one output or several."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from weightlift import Network
from weightlift.extraction.cells import ProbedLine, _centres, _complement, jumps
from weightlift.extraction.lines import Broken, Tangent


def probed(net: Network, line: ProbedLine) -> Broken:
    """The line's kinks and pieces as they are, from the network itself."""
    slopes, heights = line.direction @ net.W, line.origin @ net.W + net.b
    kinks = np.sort(-heights / slopes)
    edges = np.concatenate([[-1e3], kinks, [1e3]])
    middle = (edges[1:] + edges[:-1]) / 2
    outputs = net.a if net.a.ndim == 2 else net.a[:, None]
    pieces = []
    for t in middle:
        active = heights + t * slopes > 0
        slope = (active * slopes) @ outputs
        value = (active * (heights + t * slopes)) @ outputs + net.c
        pieces.append(Tangent(t, value, slope, 0.0))
    return Broken(kinks, tuple(pieces), edges, resolved=True)


@pytest.mark.parametrize("outputs", [1, 3])
def test_jumps_are_the_units(outputs: int, rng: np.random.Generator) -> None:
    d, k = 5, 4
    net = Network(rng.standard_normal((d, k)), rng.uniform(0.5, 1.5, (k, outputs)), rng.standard_normal(k))
    line = ProbedLine(0.1 * rng.standard_normal(d), rng.standard_normal(d))
    asked = []

    def ask(X: np.ndarray) -> np.ndarray:
        asked.append(len(X))
        return np.asarray(net.predict(X)).reshape(len(X), outputs)

    found = jumps(ask, line, probed(net, line))
    order = np.argsort(-(line.origin @ net.W + net.b) / (line.direction @ net.W))
    length = np.linalg.norm(net.W, axis=0) * np.sign(line.direction @ net.W)
    np.testing.assert_allclose(found.normals, (net.W / length)[:, order], atol=1e-6)
    np.testing.assert_allclose(found.places, (net.b / length)[order], atol=1e-6)
    np.testing.assert_allclose(found.sizes, (np.abs(length)[:, None] * net.a)[order], rtol=1e-5)
    assert found.normals.T @ line.direction == pytest.approx(np.abs(found.normals.T @ line.direction))


@pytest.mark.parametrize("case", [5, 7, 30])
def test_steps_that_cross_their_own_unit_are_found_out(case: int) -> None:
    """Such a step shows a part of the unit's jump, as if the unit lay where the step ends."""
    rng = np.random.default_rng(case)
    net = Network(rng.standard_normal((30, 12)), rng.uniform(0.5, 1.5, 12), rng.standard_normal(12))
    line = ProbedLine(rng.standard_normal(30), rng.standard_normal(30))
    found = jumps(lambda X: np.asarray(net.predict(X))[:, None], line, probed(net, line), noise=1e-14)
    order = np.argsort(-(line.origin @ net.W + net.b) / (line.direction @ net.W))
    length = np.linalg.norm(net.W, axis=0) * np.sign(line.direction @ net.W)
    np.testing.assert_allclose(found.normals, (net.W / length)[:, order], atol=1e-9)


def test_where_the_line_is_zero_no_gradient_is_asked_for(rng: np.random.Generator) -> None:
    d = 6
    net = Network(rng.standard_normal((d, 1)), np.array([1.3]), rng.standard_normal(1))
    line = ProbedLine(0.1 * rng.standard_normal(d), rng.standard_normal(d))
    exact = probed(net, line)
    zero = Broken(exact.kinks, tuple(replace(p, zero=not p.slope.any()) for p in exact.pieces), exact.edges, resolved=True)
    asked = []

    def ask(X: np.ndarray) -> np.ndarray:
        asked.append(len(X))
        return np.asarray(net.predict(X))[:, None]

    found = jumps(ask, line, zero)
    assert sum(asked) == d - 1
    length = np.linalg.norm(net.W) * np.sign(line.direction @ net.W)
    np.testing.assert_allclose(found.normals, net.W / length, atol=1e-6)


def test_the_complement_is_an_orthonormal_basis(rng: np.random.Generator) -> None:
    for direction in (rng.standard_normal(6), -np.eye(6)[0], np.eye(6)[0]):
        u = direction / np.linalg.norm(direction)
        basis = np.column_stack([u, _complement(u)])
        np.testing.assert_allclose(basis.T @ basis, np.eye(6), atol=1e-15)


def test_a_line_without_kinks_is_one_cell() -> None:
    piece = Tangent(0.0, np.zeros(1), np.ones(1), 0.0)
    centres, widths = _centres(Broken(np.array([]), (piece,), np.array([-1e3, 1e3]), resolved=True))
    assert (centres.tolist(), widths.tolist()) == ([0.0], [1.0])
