"""Piecewise polynomials keep their digits beside their kink and far from it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from weightlift import activations


def test_absolute_value_near_its_kink():
    """E |z+β| z = erf(β/√2): relative accuracy for small β."""
    beta = np.array([1e-12, -1e-6, 1e-3])
    assert np.allclose(activations.absolute.hermite(1, 2.0, 2 * beta), 4 * beta / math.sqrt(2 * math.pi), rtol=2e-7, atol=0)
    tiny = activations.absolute.hermite(1, 1.0, 1e-12)
    assert tiny == pytest.approx(2e-12 / math.sqrt(2 * math.pi), rel=1e-14, abs=0)
