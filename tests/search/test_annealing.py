"""Softened activations approach φ, and annealing ends at φ itself."""

import numpy as np
import pytest
from tests.catalogue import EVERY, HOMOGENEOUS
from tests.catalogue import name as name_of

from weightlift import activations
from weightlift.search.annealing import annealing, softened


@pytest.mark.parametrize("name", HOMOGENEOUS)
def test_softened_activations_approach_their_limit(name, as_xp):
    phi = activations.get(name)
    z = np.linspace(-3, 3, 101)
    gaps = [np.abs(softened(phi, t)(z) - phi(z)).max() for t in (0.5, 0.05, 0.005)]
    assert gaps[0] > 5 * gaps[1] > 25 * gaps[2]
    soft, h = softened(phi, 0.3), 1e-6
    slope = (soft(z + h) - soft(z - h)) / (2 * h)
    np.testing.assert_allclose(soft.derivative(z), slope, atol=1e-8)
    bend = (soft.derivative(z + h) - soft.derivative(z - h)) / (2 * h)
    np.testing.assert_allclose(soft.second_derivative(z), bend, atol=1e-8)
    np.testing.assert_allclose(np.asarray(soft(as_xp(z))), soft(z), rtol=1e-13)
    for function in (soft, soft.derivative, soft.second_derivative):
        assert np.isfinite(function(np.array([-1e6, 1e6]))).all()


@pytest.mark.parametrize("phi", EVERY, ids=name_of)
@pytest.mark.parametrize("reheating", [False, True])
def test_annealing_ends_at_the_activation_itself(phi, reheating):
    stages = annealing(phi, reheating=reheating)
    assert stages[-1].activation == phi
    assert len(stages) >= 3
    assert all(stage.unit for stage in stages[:-1])
