"""The logistic family: sigmoid and tanh are one function, steep ones are steps."""

from __future__ import annotations

import numpy as np
from tests.activations.integrals import pairs

from weightlift import activations


def test_sigmoid_is_half_a_tanh(rng):
    scale, offset = pairs(rng, 20)
    sigmoid = activations.sigmoid.hermite_normalized(20, scale, offset)
    tanh = activations.tanh.hermite_normalized(20, scale / 2, offset / 2) / 2
    tanh[0] += 0.5
    assert np.allclose(sigmoid, tanh, rtol=1e-13, atol=1e-16)


def test_steep_tanh_is_a_sign(rng):
    """E sign(z + β) h_k = 2 (−1)^{k−1} h_{k−1}(β) pdf(β)/√k = 2 × order k+1 of ReLU × √(k+1); the width 1/σ costs O(1/σ²)."""
    beta = rng.uniform(-2, 2, size=5)
    sigma = 1e7
    tanh = activations.tanh.hermites(8, sigma, sigma * beta)
    sign = 2 * activations.relu.hermites(9, 1.0, beta)[1:]
    sign[0] -= 1
    assert np.allclose(tanh, sign, rtol=0, atol=1e-11)
