"""Standard inputs: sizes and origins, and what moves with them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from weightlift import Network, samples
from weightlift.certificate.standard import Standard, carried
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.risk import Students


@pytest.mark.parametrize("bias", [False, True])
def test_standard_inputs_have_powers_of_two_beside_their_sizes(bias: bool, seed: int) -> None:
    """Spread where biases move the origin, root mean square where none does; a constant's own size."""
    rng = np.random.default_rng(seed)
    size, centre = np.array([3e-5, 0.7, 2e4, 0.0]), np.array([-1e-3, -2.0, 3e4, -1000.0])
    X, w = centre + size * rng.standard_normal((200, 4)), rng.uniform(0.1, 3.0, 200)
    standard = Standard.of(samples.open(X, X[:, 0], sample_weight=w), bias=bias)
    mean = w @ X / w.sum()
    spread = np.sqrt(w @ (X - mean * bias) ** 2 / w.sum())
    spread[3] = 1000.0
    assert (np.log2(standard.scale) % 1 == 0).all()
    assert (np.abs(np.log2(standard.scale / spread)) <= 0.5 + 1e-9).all()
    assert (np.abs(standard.mean - mean * bias) <= 0.5 * standard.scale + 1e-9).all()
    assert (standard.mean % standard.scale == 0).all()


def test_a_covariance_of_standard_inputs_is_that_of_the_raw_ones(seed: int) -> None:
    """(JᵀJ)⁻¹ of rows off centre and at other sizes, by both routes."""
    rng = np.random.default_rng(seed)
    X = rng.normal([3.0, -20.0], [0.2, 7.0], (90, 2))
    W = rng.standard_normal((2, 2)) / np.array([[0.2], [7.0]])
    net = Network(W, [1.0, -0.6], -np.array([3.0, -20.0]) @ W + [0.3, -0.4], 0.2, "tanh")
    rows = samples.open(X, net.predict(X))
    standard = Standard.of(rows, bias=True)
    gauge = Gauge.of(standard.network(net), bias=True, offset=True)
    half = standard.units(Information.of(rows.map(standard), gauge).half_inverse, gauge.unit_size, 2)
    found = half @ half.T
    raw = Gauge.of(net, bias=True, offset=True)
    students = Students.of(net)
    J = np.asarray(raw.jacobian(X, students.preactivations(X), students))
    length = np.linalg.norm(J, axis=0)
    expected = np.linalg.inv((J / length).T @ (J / length)) / np.outer(length, length)
    scale = np.sqrt(np.diagonal(expected))
    np.testing.assert_allclose(found / np.outer(scale, scale), expected / np.outer(scale, scale), atol=1e-6)


@pytest.mark.parametrize("spread", [1e-2, 1e-5, 1e-8, 1e-11])
def test_a_region_that_is_carried_holds_the_exact_one(spread: float, seed: int) -> None:
    """Leading minors of the difference are positive, in rational numbers, and it is small beside the diagonal."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((2, 3, 3))
    regions = root @ np.swapaxes(root, 1, 2)
    T = np.array([[1.0, 0.0, 0.0], [0.0, 1.0 / spread, 0.0], [0.0, -3.0 / spread, 1.0]])
    for found, R in zip(carried(T, regions), regions, strict=True):
        exact = _product(_product(T, R), T.T)
        gap = [[Fraction(found[i, j]) - exact[i][j] for j in range(3)] for i in range(3)]
        gap = [[(gap[i][j] + gap[j][i]) / 2 for j in range(3)] for i in range(3)]
        two = gap[0][0] * gap[1][1] - gap[0][1] ** 2
        three = sum(gap[0][i] * (gap[1][i - 2] * gap[2][i - 1] - gap[1][i - 1] * gap[2][i - 2]) for i in range(3))
        assert gap[0][0] > 0
        assert two > 0
        assert three > 0
        assert all(gap[i][i] <= 1e-13 * exact[i][i] for i in range(2))


def _product(A: Sequence[Sequence[float]], B: Sequence[Sequence[float]]) -> list[list[Fraction]]:
    columns = list(zip(*B, strict=True))
    return [[sum((Fraction(a) * Fraction(b) for a, b in zip(row, c, strict=True)), Fraction()) for c in columns] for row in A]


def test_what_is_added_for_rounding_where_nothing_is_rounded() -> None:
    """Powers of two: 4 q² ε of the diagonal beside T R Tᵀ, twice q γ with γ = 2 q ε."""
    R, T = np.diag([1.0, 4.0, 2.0**40]), np.diag([0.5, 8.0, 2.0**-30])
    exact = T @ R @ T
    np.testing.assert_allclose((carried(T, R[None])[0] - exact).diagonal(), 36 * 2.0**-52 * exact.diagonal(), rtol=1e-9)


def test_columns_that_vary_by_rounding_alone_keep_their_own_size() -> None:
    """Variances up to 1e-24 of the mean's square; a column of zeros stays as it is."""
    X = np.zeros((50, 4))
    X[:, 0] = 1e3 + 1e-9 * np.tile([3.0, -3.0], 25)
    X[:, 1] = 1e3 + 1e-9 * np.tile([0.3, -0.3], 25)
    X[:, 2] = np.tile([3.0, -1.0], 25)
    standard = Standard.of(samples.open(X, X[:, 0]), bias=True)
    np.testing.assert_array_equal(standard.scale, [2.0**-28, 2.0**10, 2.0, 1.0])
    np.testing.assert_array_equal(standard.mean, [1e3, 1024.0, 0.0, 0.0])
    np.testing.assert_array_equal(Standard.of(samples.open(X, X[:, 0]), bias=False).scale, [2.0**10, 2.0**10, 2.0, 1.0])


@pytest.mark.parametrize(("given", "same"), [(1.0, True), (4.0, False)])
def test_rows_that_are_standard_stay(given: float, same: bool) -> None:
    X = given * np.tile([[1.0, -1.0], [-1.0, 1.0]], (10, 1))
    rows = samples.open(X, X[:, 0])
    standard = Standard.of(rows, bias=True)
    (block,) = standard.rows(rows).blocks(20)
    np.testing.assert_array_equal(block.X, X / given)
    assert np.shares_memory(np.asarray(block.X), X) is same
