"""Activations of users, beside those of the catalogue."""

import numpy as np
import pytest

from weightlift import activations


@pytest.fixture(scope="session")
def users():
    """Activations that the papers do not name; `elu` has a kink with curvature, `hard_tanh` kinks away from 0."""
    return {
        "hard_tanh": activations.custom(
            "hard_tanh",
            lambda z: np.clip(z, -1, 1),
            lambda z: np.where((z > -1) & (z <= 1), 1.0, 0.0),
            lambda z: 0 * z,
            kinks=(-1, 1),
            reflection=(-1, ()),
        ),
        "elu": activations.elu(0.7),
        "swish": activations.custom("swish", lambda z: z * _logistic(z), lambda z: _logistic(z) * (1 + z * _logistic(-z))),
        "arctan": activations.custom("arctan", np.arctan, lambda z: 1 / (1 + z * z), lambda z: -2 * z / (1 + z * z) ** 2),
        "exponential": activations.custom("exponential", np.exp, np.exp),
    }


def _logistic(z):
    return 0.5 + 0.5 * np.tanh(0.5 * z)
