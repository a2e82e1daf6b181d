"""φ and φ′ over vectors are right to rounding."""

import numpy as np
import pytest
from tests import catalogue

from weightlift.refinement.sgd.elements import compiled, evaluate

TINY = 4e-37  # float32 exponentials stay at e^{−87} where they would vanish
EPS = {"float32": float(np.finfo("f4").eps), "float64": float(np.finfo("f8").eps)}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_vector_activations_are_right_to_rounding(dtype):
    """Against the catalogue in float64. The argument's own rounding enters the value |z φ′| times, the slope |z φ″| times."""
    z = np.concatenate([np.linspace(-9, 9, 20_001), np.geomspace(1e-30, 1, 100), [0.0, -80.0, 80.0]]).astype(dtype)
    value, slope, exact = np.empty_like(z), np.empty_like(z), z.astype(float)
    for act in catalogue.EVERY:
        evaluate(*compiled(act, dtype), z, value, slope)
        wanted, bend = act.derivative(exact), np.abs(exact * act.second_derivative(exact))
        sizes = np.abs(act(exact)) + np.abs(exact * wanted) / 4, np.abs(wanted) + bend
        if "coefficients" in dict(act.parameters):
            sizes = (1 + 2 * np.abs(exact) ** 3,) * 2
        room, tiny = (2, 1e-18) if act.name == "gelu" else (1, TINY)  # 1 − erf(1) = 0.16; below −8.5 φ itself is 1e-17
        assert np.all(np.abs(value - act(exact)) <= 4 * room * EPS[dtype] * sizes[0] + tiny), act
        assert np.all(np.abs(slope - wanted) <= 6 * room * EPS[dtype] * sizes[1] + tiny), act
