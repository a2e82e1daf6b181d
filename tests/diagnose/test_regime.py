"""The shapes of the papers fall into their regimes, and the figure's regions are those."""

from __future__ import annotations

import math

import pytest

from weightlift import diagnose
from weightlift.activations import get, polynomial
from weightlift.diagnose import Identifiable, Regime, generic_order, regions
from weightlift.identifiability import least_order

CUBIC = polynomial([0.0, 1.0, 0.0, 1.0])
POLYNOMIALS = [CUBIC, polynomial([0, 1, 1, 1]), polynomial([0, 0, 1, 0, 1]), get("linear")]


@pytest.mark.parametrize("phi", [get("relu"), get("tanh"), *POLYNOMIALS])
def test_the_diagram_and_the_diagnosis_agree(phi):
    """On a grid of (d, k) the region of the figure that holds the point is the regime of the shape."""
    for d in (4, 9, 30, 200):
        for k in {2, d - 1, d, d + 1, 2 * d, round(d**1.4), round(d**1.6), d**2 // 3, d**2 + 1, d**3}:
            found = diagnose.shape(d, k, activation=phi).regime
            named = next(regime for end, regime, _ in regions(found.degree, found.symmetric, d) if k <= end)
            on_border = any(abs(k - end) <= 1 for end, *_ in regions(found.degree, found.symmetric, d))
            assert on_border or found.regime is named, (d, k)


def test_theorem_1_s_shape_is_conjectured_hard_for_its_activation_alone():
    """d = 1000, d^{3/2} < k < d²: hard for s₀ + s₁t + s₃t³; for tanh and ReLU of the same shape nothing is proved."""
    d, k = 1000, 100_000
    found = diagnose.shape(d, k, activation=CUBIC)
    assert found.regime.regime is Regime.CONJECTURED_HARD
    assert found.identifiability.answer is Identifiable.GENERICALLY  # k d < C(d+2, 3): hard to compute, not ambiguous
    assert not found.hopeful
    assert "not the obstacle" in str(found)
    assert not any(m.applies for m in found.methods if m.name.startswith(("recover", "decompose")))
    for phi in ("relu", "tanh"):
        assert diagnose.shape(d, k, activation=phi).regime.regime is Regime.OVERCOMPLETE
    assert diagnose.shape(d, 20_000, activation=CUBIC).regime.regime is Regime.DECOMPOSABLE
    assert diagnose.shape(d, 2_000_000, activation=CUBIC).regime.regime is Regime.NOT_COVERED
    assert diagnose.shape(d, 900, activation=CUBIC).regime.regime is Regime.INDEPENDENT


def test_generic_order_is_that_of_random_weights(rng):
    for d, k in [(4, 4), (4, 5), (4, 9), (4, 12), (3, 9), (2, 4)]:
        expected = least_order(rng.normal(size=(d, k))).order
        share = k <= 0.99 * math.comb(d + expected - 1, expected)
        assert generic_order(d, k) == (expected if share or k <= d else expected + 1)
