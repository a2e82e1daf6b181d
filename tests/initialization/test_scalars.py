"""RECOVERSCALARS: the corrected recurrences are exact, the printed ones are not; least squares for every φ."""

import math

import numpy as np
import pytest
from tests.catalogue import UNIQUE

from weightlift import errors, hermite
from weightlift.activations import get
from weightlift.initialization.scalars import fitted_scalars, kink_scalars, reach

B = np.array([0.0, 1.0, -1.0, 0.4, -0.7, 1.6, -2.1, math.sqrt(3), 0.742])  # roots of He_1, He_2, He_3 and near one of He_4


def planted(rng, orders, activation="relu", sigma=1.0):
    """ζ_j = a ξʲ m_j(σ, b), the true a, and b up to ξ."""
    a = rng.choice([-1.0, 1.0], len(B)) * rng.uniform(0.5, 1.5, len(B))
    xi = rng.choice([-1.0, 1.0], len(B))
    moments = get(activation).hermites(max(orders), sigma, sigma * B)
    return {j: a * xi**j * moments[j] for j in orders}, a, xi


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "absolute"])
def test_recover_scalars_is_exact(order, activation, rng):
    zeta, a, xi = planted(rng, (2, 3) if order == 1 else range(order, order + 4), activation)
    found = kink_scalars(zeta, order, get(activation))
    np.testing.assert_allclose(found.a, a, rtol=1e-10)
    np.testing.assert_allclose(found.b, xi * B, atol=1e-10)


@pytest.mark.parametrize("order", [2, 3])
def test_the_printed_algorithm_2_fails(order, rng):
    """q ζ_{q−1} and He_q with q the tensor's order, as printed, are wrong by far on exact input."""
    zeta, a, xi = planted(rng, range(order, order + 4))
    q = np.where(np.abs(zeta[order + 1]) >= np.abs(zeta[order + 2]), order + 1, order + 2)
    table, unit = np.stack([zeta.get(j, 0 * B) for j in range(order + 4)]), np.arange(len(B))
    b = -(table[q + 1, unit] + q * table[q - 1, unit]) / table[q, unit]
    height = np.stack(hermite.polynomials(order + 2, b))[q, unit]
    printed = math.sqrt(2 * math.pi) * (-1.0) ** q * table[q, unit] * np.exp(b**2 / 2) / height
    assert np.median(np.abs(b - xi * B)) > 0.3
    assert np.median(np.abs(printed / a - 1)) > 0.3


@pytest.mark.parametrize("activation", UNIQUE)
def test_least_squares_on_all_orders_is_exact(activation, rng):
    sigma = 1.0 if get(activation).degree else 1.4
    zeta, a, xi = planted(rng, (1, 2, 3, 4), activation, sigma)
    found = fitted_scalars(zeta, get(activation))
    moments = get(activation).hermites(4, found.sigma, found.b)
    for j, values in zeta.items():
        np.testing.assert_allclose(found.a * found.xi**j * moments[j], values, atol=1e-9)
    known = fitted_scalars(zeta, get(activation), xi=xi)
    np.testing.assert_allclose(known.a, a, rtol=1e-6)
    np.testing.assert_allclose(known.b / known.sigma, B, atol=1e-6)


def test_more_orders_lessen_the_error():
    """With noise of variance j! in ζ_j, least squares on T_2 … T_4 beats the two lowest."""
    errors_of = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        zeta, _, xi = planted(rng, (2, 3, 4))
        noisy = {j: z + 0.003 * math.sqrt(math.factorial(j)) * rng.normal(size=len(z)) for j, z in zeta.items()}
        pair = kink_scalars({j: noisy[j] for j in (2, 3)}, 1, get("relu"))
        both = fitted_scalars(noisy, get("relu"))
        errors_of.append([np.abs(s.b - xi * B) for s in (pair, both)])
    pair, both = np.sqrt(np.mean(np.square(errors_of), axis=(0, 2)))
    assert both < 0.95 * pair


def test_consecutive_hermite_polynomials_have_no_common_root_and_lemma_4_3_needs_a_smaller_constant():
    """max(|He_k|, |He_{k+1}|) ≥ √k!/2 as printed holds for k ≤ 7 and fails at k = 10, x = 0: 945 < 952.4."""
    t = np.linspace(-8, 8, 16_001)
    heights = np.abs(np.stack(hermite.polynomials(25, t)))
    ratio = [np.maximum(heights[k], heights[k + 1]).min() / math.sqrt(math.factorial(k)) for k in range(1, 25)]
    assert min(ratio[:7]) >= 0.5
    assert heights[10, 8000] == pytest.approx(945)
    assert ratio[9] < 0.5
    assert all(r >= 0.69 * (2 / (math.pi * k)) ** 0.25 for k, r in enumerate(ratio, start=1))


def test_reach_asks_for_rows_on_the_minority_side():
    assert reach(math.inf, 10) == 8.0
    assert reach(2e5, 20) == pytest.approx(3.53, abs=0.01)  # Φ(−3.53) = 42/200,000
    assert reach(100, 20) == pytest.approx(0.524, abs=1e-3)
    zeta, *_ = planted(np.random.default_rng(0), (2, 3, 4))
    assert np.abs(fitted_scalars(zeta, get("relu"), farthest=0.9).b).max() <= 0.9
    assert np.abs(kink_scalars(zeta, 1, get("relu"), farthest=0.9).b).max() <= 0.9


def test_other_activations_have_no_kink_formula():
    with pytest.raises(errors.ActivationError, match="tanh"):
        kink_scalars({2: B, 3: B}, 1, get("tanh"))
