"""Standard inputs: sizes and origins, and what moves with them."""

from __future__ import annotations

import numpy as np
import pytest

from weightlift import Network, samples
from weightlift.certificate.standard import Standard
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
    found = standard.covariance(gauge, Information.of(rows.map(standard), gauge).inverse)
    raw = Gauge.of(net, bias=True, offset=True)
    students = Students.of(net)
    J = np.asarray(raw.jacobian(X, students.preactivations(X), students))
    length = np.linalg.norm(J, axis=0)
    expected = np.linalg.inv((J / length).T @ (J / length)) / np.outer(length, length)
    scale = np.sqrt(np.diagonal(expected))
    np.testing.assert_allclose(found / np.outer(scale, scale), expected / np.outer(scale, scale), atol=1e-6)
