"""Inner products of units: closed forms against series, quadrature and the arcsine; Gram matrices."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr
from tests.catalogue import HOMOGENEOUS
from tests.geometry.networks import ALL

from weightlift import activations
from weightlift.geometry import gram
from weightlift.geometry.kernels import products
from weightlift.geometry.units import ROUNDING, Units


@pytest.mark.parametrize("activation", HOMOGENEOUS)
@pytest.mark.parametrize("other", HOMOGENEOUS)
def test_closed_form_equals_series(activation: str, other: str, rng: np.random.Generator) -> None:
    """Σ_k φ_k ψ_k rᵏ to k = 400; cosines below 0.9 leave 1e-18."""
    phi, psi = activations.get(activation), activations.get(other)
    W, V = rng.standard_normal((2, 6, 40))
    b, c = 1.5 * rng.standard_normal((2, 40))
    s, t = np.linalg.norm(W, axis=0), np.linalg.norm(V, axis=0)
    r = (W / s).T @ (V / t)
    F, G = phi.hermite_normalized(400, s, b), psi.hermite_normalized(400, t, c)
    series = np.zeros_like(r)
    for k in range(400, -1, -1):
        series = series * r + np.outer(F[k], G[k])
    moderate = np.abs(r) < 0.9
    assert moderate.sum() > 1000
    tolerance = ROUNDING * np.outer(Units.of(phi, W, b).sizes, Units.of(psi, V, c).sizes)
    assert np.all((np.abs(gram(phi, W, b, V, c, activation2=psi) - series) <= 2 * tolerance)[moderate])


@pytest.mark.parametrize("q", [1, 2])
@pytest.mark.parametrize("r", [0.0, 0.6, -0.95, 1 - 1e-4, -1 + 1e-4, 1 - 1e-8, -1 + 1e-8, 1.0, -1.0])
@pytest.mark.parametrize(
    ("b", "c"), [(0.0, 0.0), (0.7, 0.7), (0.7, -0.7), (-1.1, 0.4), (0.0, -0.8), (0.3, 0.3 + 1e-6), (-2.5, -2.0)]
)
def test_closed_form_equals_quadrature(q: int, r: float, b: float, c: float) -> None:
    """E U₊^q V₊^q as one integral over U: given it, V is normal with mean c + r u and deviation s; r = ±1 and its vicinity."""
    s = math.sqrt((1 - r) * (1 + r))

    def given(m: float) -> float:
        if s == 0:
            return max(m, 0.0) ** q
        density = math.exp(-0.5 * (m / s) ** 2) / math.sqrt(2 * math.pi)
        return m * ndtr(m / s) + s * density if q == 1 else (m * m + s * s) * ndtr(m / s) + m * s * density

    def integrand(u: float) -> float:
        return math.exp(-0.5 * u * u) / math.sqrt(2 * math.pi) * (u + b) ** q * given(c + r * u)

    turn = -c / r if r else 0.0
    cuts = sorted({-b, *(min(max(turn + k * s, -b), 12.0) for k in (-30, -6, -2, 0, 2, 6, 30)), 12.0})
    expected = sum(quad(integrand, *ends, epsabs=1e-14, epsrel=1e-13)[0] for ends in itertools.pairwise(cuts))
    units = [Units(activations.get(["relu", "squared_relu"][q - 1]), np.array([[x], [y]]), np.ones(1), np.array([z]))
             for x, y, z in ((1.0, 0.0, b), (r, s, c))]  # fmt: skip
    scale = (1 + b * b) ** (q / 2) * (1 + c * c) ** (q / 2)
    assert products(*units).values[0, 0] == pytest.approx(expected, rel=0, abs=4e-13 * scale)


def test_erf_is_an_arcsine(rng: np.random.Generator) -> None:
    """E erf(u) erf(v) = (2/π) arcsin(2 E uv / ((1 + 2 E u²)(1 + 2 E v²))^½)."""
    W = rng.standard_normal((3, 12))
    M = W.T @ W
    expected = 2 / np.pi * np.arcsin(2 * M / np.sqrt(np.outer(1 + 2 * np.diag(M), 1 + 2 * np.diag(M))))
    np.testing.assert_allclose(gram("erf", W), expected, rtol=0, atol=1e-13)
    np.testing.assert_allclose(gram("erf", W, None, -W), -expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("activation", ALL, ids=str)
def test_gram_is_symmetric_positive_and_blocked(activation: Any, limits: Any) -> None:
    rng = np.random.default_rng(7)
    W, b = rng.standard_normal((3, 12)), rng.standard_normal(12)
    W[:, 3], W[:, 7], b[7] = 0.0, 2.0 * W[:, 5], -b[5]  # a constant unit, and a parallel pair
    G = gram(activation, W, b)
    assert np.array_equal(G, G.T)
    assert np.linalg.eigvalsh(G).min() > -1e-13 * np.trace(G)
    units, copy = (Units.of(activations.get(activation), W, b) for _ in range(2))
    tolerance = ROUNDING * np.outer(units.sizes, units.sizes)
    general = products(units, copy)  # does not know that they are the same
    tolerance[general.rows, general.columns] += 2 * general.cut
    assert np.all(np.abs(G - general.values) <= tolerance)
    limits("weightlift.geometry.kernels", block=64)
    assert np.all(np.abs(G - gram(activation, W, b)) <= tolerance)
