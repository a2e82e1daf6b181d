"""Which units the function determines: ambiguous, superfluous, too many to count, undecided."""

from __future__ import annotations

import numpy as np

from weightlift import Network, diagnose
from weightlift.activations import custom, get, polynomial, scaled
from weightlift.diagnose import Identifiable, Regime
from weightlift.identifiability import least_order, twin

CUBIC = polynomial([0.0, 1.0, 0.0, 1.0])


def test_polynomials_of_low_degree_do_not_determine_their_units():
    for phi in (get("linear"), get("quadratic"), polynomial([0, 1, 1])):
        found = diagnose.shape(10, 3, activation=phi)
        assert found.identifiability.answer is Identifiable.NO
        assert found.regime.regime is Regime.DEGENERATE
        assert "none suffice" in str(found)
        assert not found.hopeful
    counted = diagnose.shape(10, 40, activation=polynomial([0, 0, 0, 1]))  # k d = 400 > C(12, 3) = 220
    assert counted.identifiability.answer is Identifiable.NO
    assert "220" in counted.identifiability.reasons[0]
    assert diagnose.shape(10, 1, activation="quadratic").identifiability.answer is Identifiable.GENERICALLY


def test_a_twin_is_ambiguous_and_its_generic_neighbour_is_not(rng):
    f, _ = twin(rng.normal(size=(4, 6)), rng=rng)
    assert diagnose.network(f).identifiability.answer is Identifiable.AMBIGUOUS
    moved = Network(f.W, f.a * rng.uniform(0.5, 2.0, 6))
    found = diagnose.network(moved)
    assert found.identifiability.answer is Identifiable.YES
    assert found.regime.order == 2
    assert found.regime.smallest == least_order(moved).smallest > 0
    assert "s_min" in str(found)
    assert any("δ" in reason for reason in found.regime.reasons)


def test_networks_with_superfluous_units():
    net = Network([[1.0, 2.0, 0.5], [3.0, 6.0, 1.0]], a=[1.0, -1.0, 1.0])
    found = diagnose.network(net)
    assert found.identifiability.answer is Identifiable.NO
    assert "2 units suffice" in found.identifiability.reasons[0]
    zero = diagnose.network(Network([[1.0, 0.0], [3.0, 0.0]], b=[0.0, 1.0]))
    assert zero.identifiability.answer is Identifiable.NO


def test_a_polynomial_network_is_counted(rng):
    """k d + k = 48 parameters against C(5, 3) + 3 = 13 coefficients; with 2 units 8 against 13."""
    many, few = (Network(rng.normal(size=(3, k)), activation=CUBIC) for k in (12, 2))
    assert diagnose.network(many).identifiability.answer is Identifiable.NO
    assert "13 coefficients" in diagnose.network(many).identifiability.reasons[0]
    assert diagnose.network(few).identifiability.answer is Identifiable.GENERICALLY


def test_users_activations_are_undecided(rng):
    phi = custom("swish", lambda z: z / (1 + np.exp(-z)), lambda z: (1 + np.exp(-z) * (1 + z)) / (1 + np.exp(-z)) ** 2)
    assert diagnose.shape(5, 3, activation=phi).identifiability.answer is Identifiable.UNKNOWN
    assert diagnose.network(Network(rng.normal(size=(5, 3)), activation=phi)).identifiability.answer is Identifiable.UNKNOWN
    steep = diagnose.shape(50, 350, activation=scaled(get("tanh"), 2.5))
    assert steep.identifiability.answer is Identifiable.GENERICALLY
    assert "T⁽⁵⁾" in str(steep)
