"""Scores are sums over rows, and their covariance that of an ill-conditioned fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from weightlift import certify, samples, teachers
from weightlift.certificate import scores
from weightlift.certificate.scores import Deciding, Scores, SharedLeverages, WhiteRows
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.network import Network
from weightlift.refinement.gauss_newton import gauss_newton
from weightlift.risk import Students


def test_scores_are_sums_over_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    net = teachers.biased(3, 2, activation="tanh", rng=seed)
    X, w = rng.standard_normal((60, 3)), rng.uniform(0.2, 3.0, 60)
    y = net.predict(X) + rng.standard_normal(60)
    gauge = Gauge.of(net, bias=True, offset=False)
    source = samples.open(X, y, sample_weight=w)
    information = Information.of(source, gauge)
    students = Students.of(net)
    J = gauge.jacobian(X, students.preactivations(X), students)
    r = net.predict(X) - y
    h = w * np.einsum("ij,jk,ik->i", J, np.linalg.inv(J.T * w @ J), J)
    (meat,) = source.fold(Scores(gauge, information.half_inverse))
    H = np.linalg.inv(J.T * w @ J)
    expected = H @ (J.T * (w * r) ** 2 @ J) @ H
    np.testing.assert_allclose(information.sandwich(meat), expected, rtol=1e-6, atol=1e-9 * np.abs(expected).max())
    rows = WhiteRows.of(next(iter(source.blocks(60))), gauge, information.half_inverse)
    np.testing.assert_allclose(rows.leverage, h, rtol=1e-6)
    np.testing.assert_allclose(rows.left[:, 0], 1 - h, rtol=1e-6)
    np.testing.assert_allclose(rows.r[:, 0], np.sqrt(w) * r)


def test_sandwich_of_an_ill_conditioned_fit() -> None:
    """A row of leverage 0.9998 beside a condition number of 2e10: scores that are not whitened lose every digit."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    X[0] *= 1e3
    w = np.array([1.0, -1.0, 1.0, 0.5])
    net = Network(np.column_stack([w, w + 0.3 * rng.standard_normal(4)]), [1.0, -1.0], activation="softplus")
    y = net.predict(X) + rng.standard_normal(300)
    gauge, source, students = Gauge.of(net, bias=False, offset=False), samples.open(X, y), Students.of(net)
    information = Information.of(source, gauge)
    assert information.full_rank
    J = gauge.jacobian(X, students.preactivations(X), students)
    scale = np.linalg.norm(J, axis=0)
    Q, R = np.linalg.qr(J / scale)
    half = np.linalg.inv(R) / scale[:, None]
    white = Q * (net.predict(X) - y)[:, None]
    sandwich = information.sandwich(source.fold(Scores(gauge, information.half_inverse))[0])
    np.testing.assert_allclose(np.diagonal(sandwich), ((half @ white.T) ** 2).sum(axis=1), rtol=1e-3)


def test_the_inverse_without_deciding_rows(seed: int) -> None:
    """L (I − VVᵀ)⁻¹ Lᵀ, V the rows of high leverage, is the inverse of JᵀJ of the others; the units are named."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((300, 3)) * [1.0, 1.0, 0.3]
    X[0] = [0.5, -0.5, 60.0]
    net = Network(np.array([[1.0, 0.3], [0.4, 1.2], [0.8, -0.9]]), [1.0, -1.0])
    y = net.predict(X) + 0.02 * rng.standard_normal(300)
    net = gauss_newton(samples.open(X, y), net, free="W", tol=1e-13).network
    gauge = Gauge.of(net, bias=False, offset=False)
    information = Information.of(samples.open(X, y), gauge)
    V = samples.open(X, y).fold(Deciding(gauge, information.half_inverse, information.half_inverse, 0.8))[0].T
    assert V.shape == (6, 1)
    L = information.half_inverse
    found = L @ np.linalg.inv(np.eye(6) - V @ V.T) @ L.T
    np.testing.assert_allclose(found, Information.of(samples.open(X[1:], y[1:]), gauge).inverse, rtol=1e-6, atol=1e-12)
    certificate = certify(net, X, y)
    assert 0 in certificate.ambiguous_units
    assert "decides" in " ".join(certificate.reasons)


def test_copies_of_an_input_share_their_leverage(seed: int) -> None:
    """The largest sum over equal inputs; without biases a row of ReLUs and its multiples are one input."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 3))
    X[[7, 21, 33]] = X[3]
    for bias in (True, False):
        net = teachers.biased(3, 2, rng=seed) if bias else teachers.conditioned(3, 2, rng=seed)
        if not bias:
            X[21] *= 2.0
        gauge, students = Gauge.of(net, bias=bias, offset=False), Students.of(net)
        source = samples.open(X, rng.standard_normal(40))
        J = gauge.jacobian(X, students.preactivations(X), students)
        h = np.einsum("ij,ji->i", J, np.linalg.pinv(J, rcond=1e-10))
        sums = np.append(np.delete(h, [3, 7, 21, 33]), h[[3, 7, 21, 33]].sum())
        (found,) = source.fold(SharedLeverages(gauge, Information.of(source, gauge).half_inverse))
        np.testing.assert_allclose(found, sums.max(), rtol=1e-8)


def test_a_sketch_keeps_the_largest_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of equal keys, however many there are: of more than a sketch holds, the largest ones stay."""
    monkeypatch.setattr(scores, "SKETCH", 3)
    keys, values = np.array([7, 1, 7, 4, 9, 2, 1]), np.array([0.1, 0.5, 0.3, 0.2, 0.9, 0.05, 0.5])
    found, sums = scores._summed(keys, values)
    assert dict(zip(found.tolist(), np.round(sums, 12).tolist(), strict=True)) == {9: 0.9, 1: 1.0, 7: 0.4}


def test_what_a_row_of_leverage_one_leaves() -> None:
    """1 − h is rounding there, and 1e-6 in its place; of others what it is."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    X[:, 1] = 0.0
    X[0] = [0.0, 1.0]
    net = Network([[1.0], [0.5]], activation="linear")
    gauge = Gauge(net, Gauge.of(net, bias=False, offset=False).free)
    source = samples.open(X, rng.standard_normal(40))
    rows = WhiteRows.of(next(iter(source.blocks(40))), gauge, Information.of(source, gauge).half_inverse)
    h = np.append(1.0 - 1e-6, X[1:, 0] ** 2 / (X[:, 0] @ X[:, 0]))
    np.testing.assert_allclose(rows.left[:, 0], 1 - h, rtol=1e-9)


def test_rows_that_decide_and_shared_leverages_of_parts_are_those_of_all(seed: int) -> None:
    """Rows above a limit one after the other, and the leverages of an input's copies together, whichever part they are in."""
    rng = np.random.default_rng(seed)
    net = teachers.biased(3, 2, bias=0.3, activation="tanh", rng=seed)
    X = rng.standard_normal((40, 3))
    X[[5, 30]] *= 9.0
    X[[12, 25, 35]] = X[5]
    source, gauge = samples.open(X, net.predict(X)), Gauge.of(net, bias=True, offset=False)
    L = Information.of(source, gauge).half_inverse
    (whole,) = source.blocks(40)
    parts = [replace(whole, X=X[at], y=whole.y[at]) for at in (slice(0, 20), slice(20, 40))]
    deciding, shared = Deciding(gauge, L, L, 0.4), SharedLeverages(gauge, L)
    (every,) = deciding(whole)
    assert 0 < len(deciding(parts[0])[0]) < len(every) < 40
    for one, other in (parts, parts[::-1]):
        (merged,) = deciding.merge(deciding(one), deciding(other))
        np.testing.assert_allclose(merged.T @ merged, every.T @ every, rtol=1e-9, atol=1e-12)
        for value, wanted in zip(shared.merge(shared(one), shared(other)), shared(whole), strict=True):
            np.testing.assert_allclose(value, wanted, rtol=1e-9)
