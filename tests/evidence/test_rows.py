"""Rows as evidence: residuals over their rounding bound, distinct rows, rows on a unit's side."""

from __future__ import annotations

import numpy as np
import pytest
from tests.catalogue import KINDS

from weightlift import samples, teachers
from weightlift.certificate import Status, certify
from weightlift.evidence import rows
from weightlift.evidence.rows import Agreement, DistinctRows, count_distinct, rounding_bound
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
    *sums, sizes = samples.open(X, y, sample_weight=w).fold(Agreement(net))
    level, residual, _, count, error, rss, squares, total = map(float, sums)
    B = bound(net, X, y)
    r = np.abs(net.predict(X) - y)
    assert residual == pytest.approx(1e-3, rel=1e-9)
    assert level == pytest.approx(float((r / B)[3:].max()), rel=1e-9)
    assert count == 37
    assert error == pytest.approx(float((w * (r + B) ** 2).sum()))
    assert rss == pytest.approx(float((w * r**2).sum()))
    assert (squares, total) == pytest.approx((4 * 37, float((w * y**2).sum())))
    parts = net.a * net.activation(X @ net.W + net.b)
    np.testing.assert_allclose(sizes, w @ parts**2, rtol=1e-12)


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
