"""Rows as evidence: residuals over their rounding bound, distinct rows, rows on a unit's side."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from tests.catalogue import KINDS

from weightlift import activations, samples, teachers
from weightlift.activations import Activation
from weightlift.certificate import Status, certify
from weightlift.evidence import rows
from weightlift.evidence.rows import Agreement, Directions, DistinctRows, Residuals, count_distinct, rounding_bound
from weightlift.network import Network
from weightlift.risk import Students


def bound(net: Network, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    students = Students.of(net)
    z = students.preactivations(X)
    return np.asarray(rounding_bound(students, X, y, z, students.activation(z)))


@pytest.mark.parametrize("activation", KINDS)
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_rounding_errors_are_below_their_bound(activation: str, scale: float, rng: np.random.Generator) -> None:
    """Against an evaluation in extended precision; and the bound is no more than a thousand times too large."""
    net = teachers.biased(20, 4, activation=activation, rng=3)
    net = Network(net.W / scale, net.a, net.b, 0.3, net.activation)
    X = scale * rng.standard_normal((500, 20))
    z = X.astype(np.longdouble) @ net.W.astype(np.longdouble) + net.b
    exact = net.activation.value(z) @ net.a.astype(np.longdouble) + np.longdouble(0.3)
    error = np.abs((net.predict(X) - exact).astype(float))
    B = bound(net, X, net.predict(X))
    assert (error <= B).all()
    if np.finfo(np.longdouble).eps < 1e-18:
        assert error.max() > 1e-3 * B.max()


def test_agreement_is_the_largest_residual_over_its_bound() -> None:
    net = teachers.biased(4, 2, rng=1)
    X = np.random.default_rng(0).standard_normal((40, 4))
    y = net.predict(X)
    y[5] += 1e-3
    w = np.where(np.arange(40) < 3, 0.0, 2.0)
    y[0] = 9.0
    found = Agreement.of(net, samples.open(X, y, sample_weight=w))
    B = bound(net, X, y)
    r = np.abs(net.predict(X) - y)
    assert found.residual == pytest.approx(1e-3, rel=1e-9)
    assert found.level == pytest.approx(float((r / B)[3:].max()), rel=1e-9)
    assert found.rows == 37
    assert found.error == pytest.approx(float((w * (r + B) ** 2).sum()))
    assert found.rss == pytest.approx(float((w * r**2).sum()))
    assert (found.squares, found.energy) == pytest.approx((4 * 37, float((w * y**2).sum())))
    parts = net.a * net.activation(X @ net.W + net.b)
    np.testing.assert_allclose(found.units, w @ parts**2, rtol=1e-12)


def test_distinct_rows_are_counted_across_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 3))
    y = rng.standard_normal(500)
    chosen = rng.integers(500, size=2000)
    source = samples.open(X[chosen], y[chosen])
    distinct = len(np.unique(chosen))
    counts = np.bincount(chosen)
    assert count_distinct(source.fold(DistinctRows(targets=True))) == pytest.approx((distinct, (counts**2).sum() / 2000))
    same_inputs = samples.open(X[chosen], rng.standard_normal(2000))
    assert count_distinct(same_inputs.fold(DistinctRows(targets=False)))[0] == distinct
    assert count_distinct(same_inputs.fold(DistinctRows(targets=True)))[0] == 2000
    monkeypatch.setattr(rows, "SKETCH", 256)
    sketched, _ = count_distinct(samples.open(X, y).fold(DistinctRows(targets=True)))
    assert sketched == pytest.approx(500, rel=0.2)


def test_a_unit_needs_rows_on_its_side() -> None:
    """q + 1 disjoint bases need as many rows on a unit's side, q = 4 coordinates: fewer, and the unit is beyond reach."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((400, 3))
    W = rng.standard_normal((3, 2))
    order = np.sort(X @ W[:, 1])[::-1]
    for rows_there, status in ((3, Status.AMBIGUOUS), (9, Status.EXACT)):
        b = -(order[rows_there - 1] + order[rows_there]) / 2
        net = Network(W, [1.0, -1.5], [0.1, b])
        certificate = certify(net, X, net.predict(X))
        assert certificate.status is status, str(certificate)
        if status is Status.AMBIGUOUS:
            assert certificate.ambiguous_units == (1,)


def slopes(name: str) -> Callable[[float], float]:
    """φ′ in closed form, of one number."""
    return {
        "relu": lambda z: float(z > 0),
        "squared_relu": lambda z: 2 * max(z, 0.0),
        "tanh": lambda z: 1 / math.cosh(z) ** 2,
        "softplus": lambda z: 1 / (1 + math.exp(-z)),
    }[name]


def values(name: str) -> Callable[[float], float]:
    return {
        "relu": lambda z: max(z, 0.0),
        "squared_relu": lambda z: max(z, 0.0) ** 2,
        "tanh": math.tanh,
        "softplus": lambda z: math.log1p(math.exp(z)),
    }[name]


@pytest.mark.parametrize("name", ["relu", "squared_relu", "tanh", "softplus"])
def test_the_bound_is_the_sum_of_its_terms(name: str, seed: int) -> None:
    """Unit by unit and row by row, each term large somewhere; at a kink to rounding the slopes of both sides are asked."""
    rng = np.random.default_rng(seed)
    phi, slope = values(name), slopes(name)
    for a, b, c, y_size in ((1e6, 0.3, 0.1, 1.0), (1e-9, 0.3, 1.0, 1e-9), (1e-9, 0.3, 1e-9, 1.0), (1.0, 9.0, 0.0, 0.0)):
        net = Network(rng.standard_normal((2, 3)), a * rng.standard_normal(3), b * rng.standard_normal(3), c, name)
        X, y = rng.standard_normal((6, 2)), y_size * rng.standard_normal(6)
        X[0] -= net.W[:, 0] * (X[0] @ net.W[:, 0] + net.b[0]) / (net.W[:, 0] @ net.W[:, 0])
        reflected = name in ("relu", "squared_relu", "softplus")  # φ(−z) = ±φ(z) + a polynomial that is not constant
        B = bound(net, X, y)
        for row in range(6):
            total = abs(c) + abs(y[row])
            for i in range(3):
                size = sum(abs(X[row, j] * net.W[j, i]) for j in range(2)) + abs(net.b[i])
                z, width = float(X[row] @ net.W[:, i] + net.b[i]), 4 * np.finfo(float).eps * size
                at = [z - width, z + width] + ([-z - width, -z + width] if reflected else [])
                height = max(abs(phi(z)), abs(phi(-z))) if reflected else abs(phi(z))
                total += abs(net.a[i]) * (4 * max(abs(slope(t)) for t in at) * size + 7 * height)
            assert B[row] == pytest.approx(2 * np.finfo(float).eps * total, rel=1e-9, abs=0)
    nothing = Network(np.zeros((2, 1)), [1.0], activation="tanh")
    assert (bound(nothing, np.zeros((3, 2)), np.zeros(3)) > 0).all()


def bent(left: float) -> Activation:
    """z² above zero and `left` z² below: φ(−z) = −φ(z) + (1 + left) z²."""
    return activations.custom(
        "bent",
        lambda z: np.where(z > 0, 1.0, left) * z * z,
        lambda z: np.where(z > 0, 2.0, 2 * left) * z,
        kinks=(0.0,),
        reflection=(-1, (0.0, 0.0, 1.0 + left)),
    )


@pytest.mark.parametrize("steps", [-10, -4, 0, 4, 10])
@pytest.mark.parametrize("left", [0.25, 4.0])
def test_the_bound_minds_both_sides_of_a_kink_that_rounding_may_cross(left: float, steps: int) -> None:
    """z = 1 + b is `steps` half units of rounding from zero, of which its own rounding may be twelve."""
    eps = np.finfo(float).eps
    b, one = -1.0 + steps * eps / 2, np.ones((1, 1))
    size, z = 2.0 - steps * eps / 2, steps * eps / 2
    shift = 3 * eps * size
    steepest = max(left if z - shift <= 0 else 1.0, 1.0 if z + shift > 0 else left)
    for activation, expected in (
        (activations.elu(left), 3 * steepest * size),
        (bent(left), 3 * 2 * max(1.0, left) * (abs(z) + shift) * size),
    ):
        found = bound(Network([[1.0]], [1.0], [b], 0.0, activation), one, np.zeros(1))
        assert found[0] == pytest.approx(2 * eps * expected, rel=1e-12, abs=0)


def test_sums_of_residuals_beside_their_bounds(seed: int) -> None:
    """Residuals of the size of their bounds, the row with the largest bound without weight; in parts as at once."""
    rng = np.random.default_rng(seed)
    net = Network(rng.standard_normal((3, 2)), [1.0, -2.0], [0.3, 0.1], 0.2, "tanh")
    X, w = rng.standard_normal((30, 3)), rng.integers(0, 3, 30) * 0.7
    X[4], w[4] = 50.0, 0.0
    y = net.predict(X)
    y += rng.uniform(-30, 30, 30) * bound(net, X, y)
    r, B = np.abs(net.predict(X) - y), bound(net, X, y)
    used = w > 0
    expected = [(r / B)[used].max(), r[used].max(), used.sum(), w @ (r + B) ** 2, w @ r**2, w @ w, w @ y**2]
    statistic = Residuals(net)
    for order in (np.arange(30), np.arange(30)[::-1]):
        parts = [samples.open(X[at], y[at], sample_weight=w[at]) for at in (order[:7], order[7:])]
        sums = statistic.merge(*(part.fold(statistic) for part in parts))
        np.testing.assert_allclose(np.array([np.sum(s) for s in sums[:-1]]), expected, rtol=2e-3)
        np.testing.assert_allclose(sums[-1], w @ (net.a * np.tanh(X @ net.W + net.b)) ** 2, rtol=1e-9)


def test_a_block_without_rows_adds_nothing() -> None:
    net = Network([[1.0], [2.0]], [3.0], activation="tanh")
    (block,) = samples.open(np.array([[0.5, 0.1], [1.0, 2.0]]), np.array([2.0, 1.0])).blocks(2)
    none = Residuals(net)(replace(block, X=block.X[:0], y=block.y[:0]))
    assert [float(np.sum(s)) for s in none[:-1]] == [0.0] * 7
    assert none[-1].tolist() == [0.0]


def test_directions_are_one_of_each_ray_and_of_each_mirror_pair() -> None:
    """ReLU: lengths do not matter; tanh: signs do not; the absolute value: neither. The origin stays, and −0 is 0."""
    X = np.array([[3.0, 4.0], [-6.0, -8.0], [0.6, 0.8], [0.0, 0.0], [-0.0, 2.0], [0.0, -2.0], [2.0, -0.0], [1.0, 0.0]])
    for name, expected in (("relu", 6), ("tanh", 7), ("absolute", 4), ("softplus", 8)):
        told = samples.open(X, X[:, 0]).map(Directions(activations.get(name)))
        assert count_distinct(told.fold(DistinctRows(targets=False)))[0] == expected
        (block,) = told.blocks(8)
        lengths = np.linalg.norm(block.X, axis=1)
        np.testing.assert_allclose(lengths, np.linalg.norm(X, axis=1) if name in ("tanh", "softplus") else X.any(axis=1))


def test_sketches_merge_as_one_counts(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Whole numbers that often meet: the least sixteen of all, each as often as it occurs, in any order of the parts."""
    monkeypatch.setattr(rows, "SKETCH", 16)
    rng, statistic = np.random.default_rng(seed), DistinctRows(targets=False)
    for most in (10, 20, 24, 60):
        parts = [rng.integers(-most // 2, most // 2, rng.integers(0, 40)) for _ in range(6)]
        sums = tuple(np.zeros(0, dtype=np.int64) for _ in range(2))
        for part in parts:
            sums = statistic.merge(sums, rows.least(*np.unique(part, return_counts=True), 16))
        keys, counts = np.unique(np.concatenate(parts), return_counts=True)
        np.testing.assert_array_equal(sums[0], keys[:16])
        np.testing.assert_array_equal(sums[1], counts[:16])


def test_a_full_sketch_estimates_without_bias(monkeypatch: pytest.MonkeyPatch) -> None:
    """The 16th least of a thousand uniform numbers: a beta variable, by which the estimate is 1,000 on average."""
    monkeypatch.setattr(rows, "SKETCH", 16)
    share = np.random.default_rng(0).beta(16, 1000 - 15, 4000)
    last = np.round(share * 2.0**64 - 2.0**63)
    found = [DistinctRows(False).finish((np.append(np.arange(15) - 2.0**63, k), np.ones(16, dtype=int)))[0] for k in last]
    assert np.mean(found) == pytest.approx(1000.0, abs=4 * 1000 / np.sqrt(14 * 4000))  # its deviation is 1,000/√14
    counts = np.arange(1, 17)
    assert DistinctRows(False).finish((np.arange(16), counts))[1] == pytest.approx((counts**2).sum() / counts.sum())
