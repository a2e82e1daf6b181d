"""Properties 3.1–3.3 and Assumption 5.3 against Theorem 3.5, known suprema, and activations made to violate one of them."""

import math

import numpy as np
import pytest

from weightlift import activations
from weightlift.errors import ArgumentError
from weightlift.theory import check_properties, properties_table

PASSING = ["relu", "leaky_relu", "squared_relu", "sigmoid", "tanh", "erf"]


@pytest.mark.parametrize("name", PASSING)
def test_theorem_35_passes(name):
    assert check_properties(name).has_local_guarantee


def test_theorem_35_fails_with_the_property_named():
    assert check_properties("linear").failed == ("3.2", "5.3(2)")
    assert check_properties("quadratic").failed == ("3.1", "3.2", "5.3(2)")


@pytest.mark.parametrize(
    ("name", "L1", "p", "case", "L2"),
    [
        ("relu", 1, 0, "b", None),
        ("leaky_relu", 1, 0, "b", None),
        ("squared_relu", 2, 1, "a", 2),
        ("sigmoid", 1 / 4, 0, "a", 1 / (6 * math.sqrt(3))),
        ("tanh", 1, 0, "a", 4 / (3 * math.sqrt(3))),
        ("erf", 2 / math.sqrt(math.pi), 0, "a", math.sqrt(8 / (math.pi * math.e))),
        ("softplus", 1, 0, "a", 1 / 4),
        ("linear", 1, 0, "a", 0),
    ],
)
def test_constants(name, L1, p, case, L2):
    """Suprema of φ′/|z|^p and |φ″|, to the grid's 1e-6 from below."""
    found = check_properties(name)
    assert found.growth.holds
    assert (found.growth.p, found.smoothness.case) == (p, case)
    assert L1 * (1 - 2e-6) <= found.growth.L1 <= L1 * (1 + 1e-12)
    if L2 is None:
        assert found.smoothness.L2 is None
    else:
        assert L2 * (1 - 2e-6) <= found.smoothness.L2 <= L2 * (1 + 1e-12)


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "squared_relu"])
def test_constants_of_a_scaled_activation(name):
    """φ(cz): L₁ → c^{1+p} L₁ and L₂ → c² L₂."""
    base, scaled = check_properties(name), check_properties(activations.scaled(name, 2.5))
    for found, expected in (
        (scaled.growth.L1, 2.5 ** (1 + base.growth.p) * base.growth.L1),
        (scaled.smoothness.L2, 2.5**2 * base.smoothness.L2),
    ):
        assert found == pytest.approx(expected, rel=2e-6)
    assert scaled.moments.vanishing == base.moments.vanishing


def test_rho_of_the_quadratic_is_not_the_zero_that_is_printed():
    """Property 3.2 gives −4σ²; [zhong2017, Remark 4.3] says 0."""
    found = check_properties("quadratic", scales=[0.5, 1.0, 3.0]).nonlinearity
    np.testing.assert_allclose(found.rho, -4 * np.array([0.5, 1.0, 3.0]) ** 2, rtol=1e-12)
    assert "ρ(1) = -4" in found.evidence


@pytest.mark.parametrize(
    ("name", "vanishing"),
    [
        ("relu", (3,)),
        ("squared_relu", (4,)),
        ("tanh", (2, 4)),
        ("absolute", (1, 3)),
        ("softplus", (3,)),
        ("quadratic", (1, 3, 4)),
    ],
)
def test_vanishing_moments(name, vanishing):
    assert check_properties(name).moments.vanishing == vanishing


def test_the_sigmoid_satisfies_assumption_53_after_centring():
    moments = check_properties("sigmoid").moments
    assert not moments.holds
    assert moments.holds_after_centring
    assert moments.centring == 0.5
    assert "after centring" in moments.conditions[3].evidence
    for name in ("tanh", "relu"):
        assert check_properties(name).moments.holds
        assert check_properties(name).moments.centring is None


@pytest.mark.parametrize(
    ("name", "failed"),
    [("hard_tanh", ()), ("arctan", ()), ("elu", ("3.3",)), ("swish", ("3.1",)), ("exponential", ("3.1", "3.3"))],
)
def test_users_activations(users, name, failed):
    assert check_properties(users[name]).failed == failed


def test_polynomials_that_violate_one_property():
    assert check_properties(activations.polynomial([0, 0, 0, 1])).failed == ("3.3",)  # 3z² is of order |z|², 6z unbounded
    odd = check_properties(activations.polynomial([0, 1, 0, 1]))  # 1 + 3z² is not homogeneously bounded
    assert odd.failed == ("3.1", "3.3")
    assert odd.growth.p is None
    crossing = check_properties(activations.polynomial([0, -3, 0, 1]))  # m₁(σ) = 3σ³ − 3σ vanishes at σ = 1
    assert "5.3(1)" in crossing.failed
    lopsided = check_properties(activations.polynomial([0, 0, 1, 0.5, 1]))
    assert lopsided.moments.conditions[2].holds
    assert lopsided.moments.holds


def test_an_odd_looking_spectrum_needs_an_odd_function():
    """He₆(z) + z + He₃(z) at σ = 1: M2 = M4 = 0 at that scale, and φ is not odd."""
    coefficients = np.polynomial.hermite_e.herme2poly([0, 1, 0, 1, 0, 0, 1])
    found = check_properties(activations.polynomial(coefficients), scales=[1.0]).moments
    assert found.vanishing == (2, 4)
    assert not found.conditions[3].holds
    assert not found.holds_after_centring


def test_negative_slope_is_named():
    verdict = check_properties(activations.leaky_relu(-0.5)).growth
    assert not verdict.holds
    assert str(verdict) == "FAILS: φ′(-1) = -0.5 is negative"


def test_text():
    lines = properties_table().splitlines()
    assert [line.split()[0] for line in lines] == ["activation", *PASSING, "linear", "quadratic"]
    assert lines[-1].endswith("3.1, 3.2, 5.3(2)")
    report = str(check_properties("relu"))
    assert report.splitlines()[0] == "relu"
    assert report.count("holds") == 7


@pytest.mark.parametrize("scales", [[], [0.0], [-1.0], [np.inf], [[1.0]]])
def test_scales_must_be_lengths(scales):
    with pytest.raises(ArgumentError, match="scales"):
        check_properties("relu", scales=scales)
