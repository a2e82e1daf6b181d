"""Units and what their inner products need: coefficients, energies, sizes."""

from __future__ import annotations

import numpy as np
import pytest
from tests.catalogue import HOMOGENEOUS, SMOOTH

from weightlift import activations
from weightlift.errors import ActivationError, NotFiniteError
from weightlift.geometry.units import Units, power_hermites, split, tail_norms


def units(activation: str, rng: np.random.Generator) -> Units:
    return Units.of(activations.get(activation), 0.4 * rng.standard_normal((3, 5)), rng.standard_normal(5))


@pytest.mark.parametrize("activation", SMOOTH)
def test_energies_are_sums_over_the_coefficients(activation: str, rng: np.random.Generator) -> None:
    """Σ φ_k² = E φ² and Σ k φ_k² = σ² E φ′²; the series of these φ at σ < 2 has ended by order 150 to nine digits."""
    found = units(activation, rng)
    C = found.hermites(150)
    np.testing.assert_allclose((C**2).sum(axis=0), found.energy, rtol=1e-9)
    np.testing.assert_allclose((np.arange(151)[:, None] * C**2).sum(axis=0), found.slope_energy, rtol=1e-7)


@pytest.mark.parametrize("activation", HOMOGENEOUS)
def test_a_homogeneous_activation_is_a_power_and_a_ramp(activation: str) -> None:
    phi, z = activations.get(activation), np.linspace(-2, 2, 9)
    m, kappa = split(phi)
    q = int(phi.degree)
    np.testing.assert_allclose(m * z**q + kappa * np.maximum(z, 0.0) ** q, phi(z), atol=1e-15)


@pytest.mark.parametrize("q", [1, 2])
def test_coefficients_of_powers_are_those_of_polynomials(q: int, rng: np.random.Generator) -> None:
    found = units("relu", rng)
    phi = activations.polynomial([0.0] * q + [1.0])
    np.testing.assert_allclose(power_hermites(q, found), phi.hermite_normalized(q, found.scale, found.offset), rtol=1e-13)


def test_coefficients_are_kept_and_lengthened(rng: np.random.Generator) -> None:
    found = units("tanh", rng)
    few = found.hermites(4).copy()
    np.testing.assert_allclose(found.hermites(40)[:5], few, rtol=1e-12)
    assert found.hermites(4).base is found.hermites(40).base
    part = found[np.array([3, 1])]
    np.testing.assert_allclose(part.hermites(4), found.hermites(4)[:, [3, 1]], rtol=1e-13)
    assert len(part) == 2


def test_a_unit_of_weight_zero_is_a_constant() -> None:
    found = Units.of(activations.get("tanh"), np.zeros((3, 1)), [0.7])
    assert found.energy[0] == np.tanh(0.7) ** 2
    assert found.slope_energy[0] == 0.0
    assert not found.hermites(5)[1:].any()


def test_what_is_left_of_a_series_is_the_rest_of_its_energy(rng: np.random.Generator) -> None:
    found = units("softplus", rng)
    C = found.hermites(60)
    rest = np.sqrt((C[11:] ** 2).sum(axis=0))
    np.testing.assert_allclose(tail_norms(found.energy, (C[:11] ** 2).sum(axis=0), C[:11]), rest, atol=1e-6)
    assert not tail_norms(np.ones(1), np.ones(1), np.array([[1.0], [0.0], [0.0]])).any()  # it has ended


def test_what_has_no_norm_is_refused() -> None:
    steep = activations.custom("square exponential", lambda z: np.exp(z * z), lambda z: 2 * z * np.exp(z * z))
    with pytest.raises(ActivationError, match="not square-integrable"):
        Units.of(steep, np.ones((1, 1))).energy  # noqa: B018
    with pytest.raises(NotFiniteError, match="finite"):
        Units.of(activations.get("relu"), [[np.nan]])
