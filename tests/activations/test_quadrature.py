"""Quadrature against closed forms, at tiny scales, over many pairs at once."""

from __future__ import annotations

import numpy as np
import pytest
from tests import catalogue
from tests.activations.integrals import ALL, pairs

from weightlift import activations
from weightlift.activations.quadrature import Quadrature


@pytest.mark.parametrize("activation", ALL, ids=catalogue.name)
def test_closed_forms_against_quadrature(activation, rng):
    """Quadrature keeps 1e-13 of E|φ|, and of σ E|φ′ h_{k−1}|/√k ≤ σ (E φ′²)^½ for k ≥ 1; it stops at |z| = 15."""
    scale, offset = pairs(rng, 16)
    rule = Quadrature(activation.value, activation.derivative, activation.kinks)
    found, expected = activation.hermite_normalized(12, scale, offset), rule.hermites(12, scale, offset)
    square = Quadrature(lambda u: activation(u) ** 2, activation.derivative, activation.kinks)
    slope = Quadrature(lambda u: activation.derivative(u) ** 2, activation.derivative, activation.kinks)
    size = np.concatenate([square.hermites(0, scale, offset), scale**2 * slope.hermites(0, scale, offset)])
    bound = np.sqrt(size)[np.minimum(np.arange(13), 1)]
    assert np.all(np.abs(found - expected) <= 1e-12 * bound + 1e-40)
    for q in range(4):
        alpha, beta = activation.alpha(q, scale), activation.beta(q, scale)
        size = rule.derivative_moment(2, 2 * (q // 2), scale) + 1e-3  # even powers: no cancellation
        assert np.all(np.abs(alpha - rule.derivative_moment(1, q, scale)) <= 1e-12 * np.sqrt(size))
        assert np.all(np.abs(beta - rule.derivative_moment(2, q, scale)) <= 1e-12 * size)


def test_quadrature_at_tiny_scales():
    """|m_k| = σᵏ |φ⁽ᵏ⁾(b)| is for k ≥ 3 far below what quadrature promises, 1e-13 σ: nothing else may be left."""
    rule = Quadrature(activations.tanh.value, activations.tanh.derivative, ())
    m = rule.hermites(6, np.full(3, 1e-8), np.array([0.7, -1.1, 2.0]))
    assert np.all(np.abs(m[3:]) < 1e-13 * 1e-8)


def test_pairs_are_vectorised(rng):
    """φ is evaluated on blocks of many pairs: a loop over the pairs would call it thousands of times."""
    scale, offset = pairs(rng, 1000)
    sizes = []

    def counted(u):
        sizes.append(u.size)
        return np.tanh(u)

    rule = Quadrature(counted, activations.tanh.derivative, ())
    assert np.allclose(rule.hermites(0, scale, offset)[0], activations.tanh.hermite(0, scale, offset), rtol=1e-12, atol=1e-15)
    assert len(sizes) < 50
    assert sum(sizes) < 1000 * 5000
