"""Moments: contractions against whole tensors, expectations against 10⁶ samples, control variates."""

import pytest

from weightlift import moments
from weightlift.errors import ActivationError


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
    from weightlift import activations

    choice = moments.choose_moments(activations.get(activation))
    assert (choice.j2, choice.j3, choice.odd, choice.even) == (j2, j3, odd, even)


@pytest.mark.parametrize("activation", ["linear", "quadratic"])
def test_activations_without_third_and_fourth_moments_are_refused(activation):
    from weightlift import activations

    with pytest.raises(ActivationError, match=activation):
        moments.choose_moments(activations.get(activation))
