"""A minimum on a kink is a minimum."""

from __future__ import annotations

import numpy as np
import pytest
from tests.certificate.regularity import known

from weightlift import Network, samples
from weightlift.certificate.minimum import distance_to_minimum


def test_a_minimum_on_a_kink_is_a_minimum() -> None:
    """A row on the kink, far below it: the gradient in b jumps from −1 to 1 there, and the least subgradient is zero."""
    X = np.linspace(-2.0, 2.0, 81)[:, None]
    y = np.maximum(X[:, 0], 0.0)
    active = np.column_stack([np.ones(40), X[41:, 0]])
    y[41:] += active @ np.linalg.solve(active.T @ active, [1.0, 0.0])
    y[40] = -2.0
    for b, least in ((0.0, 0.0), (1e-9, 1.0), (-1e-9, 1.0)):
        fit = Network([[1.0]], [1.0], [b], 0.0, "relu")
        _, information, variance = known(fit, X, y)
        np.testing.assert_allclose(information.gradient, [0.0, 1.0 if b > 0 else -1.0], atol=1e-6)
        jump = float(np.sum((information.half_inverse.T @ information.gradient) ** 2)) / variance
        found = distance_to_minimum(samples.open(X, y), information, variance)
        assert found == pytest.approx(least * jump, abs=1e-12)
