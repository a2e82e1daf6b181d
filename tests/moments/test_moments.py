"""Moments: contractions against whole tensors, expectations against 10⁶ samples, control variates."""

import math

import pytest

from weightlift import moments
from weightlift.activations import get, polynomial
from weightlift.errors import ActivationError
from weightlift.moments.hermite_moment import nonzero_moments
from weightlift.moments.limits import LIMITS


@pytest.mark.parametrize(
    ("activation", "j2", "j3", "odd", "even"),
    [
        ("relu", 2, 4, 1, 2),
        ("leaky_relu", 2, 4, 1, 2),
        ("squared_relu", 2, 3, 1, 2),
        ("absolute", 2, 4, None, 2),
        ("tanh", 3, 3, 1, None),
        ("sigmoid", 3, 3, 1, None),
        ("erf", 3, 3, 1, None),
    ],
)
def test_first_nonzero_moments(activation, j2, j3, odd, even):
    """[zhong2017, Def. 5.4] for the activations of Theorem 3.5."""
    choice = moments.choose_moments(get(activation))
    assert (choice.j2, choice.j3, choice.odd, choice.even) == (j2, j3, odd, even)


@pytest.mark.parametrize("activation", ["linear", "quadratic"])
def test_activations_without_third_and_fourth_moments_are_refused(activation):
    with pytest.raises(ActivationError, match=activation):
        moments.choose_moments(get(activation))


@pytest.mark.parametrize(
    ("activation", "orders"), [("relu", {0, 1, 2, 4}), ("absolute", {0, 2, 4}), ("tanh", {1, 3}), ("sigmoid", {0, 1, 3})]
)
def test_parity_and_the_kink_decide_which_moments_vanish(activation, orders):
    """The even part of φ has the even ones alone; ReLU is |z|/2 with the odd part z/2, which ends at order one."""
    assert nonzero_moments(get(activation)) == tuple(j in orders for j in range(5))


@pytest.mark.parametrize(("share", "seen"), [(0.5, False), (2.0, True)])
def test_a_moment_vanishes_relative_to_what_cauchy_and_schwarz_allow(share, seen):
    """φ = z³ + ε z⁴ has m_4(σ) = 24 ε σ⁴ where at most √(4! · 15 σ⁶) is possible: the largest share is at the scale σ = 2."""
    epsilon = share * LIMITS.vanishing / (2 * math.sqrt(24 / 15))
    assert nonzero_moments(polynomial([0.0, 0.0, 0.0, 1.0, epsilon])) == (seen, True, seen, True, seen)
