"""Random starts  [zhong2017, Fig. 1(c); zhang2019, Fig. 2(a)]."""

from __future__ import annotations

import numpy as np

from weightlift.activations import Activation, get
from weightlift.errors import ArgumentError
from weightlift.network import Network
from weightlift.randomness import generator


def gaussian_init(
    n_inputs: int,
    n_units: int,
    activation: Activation | str,
    *,
    output_weights: np.ndarray | None = None,
    rng: np.random.Generator | int = 0,
) -> Network:
    """W with standard Gaussian entries; output weights as given, else standard Gaussian too."""
    if n_inputs < 1 or n_units < 1:
        raise ArgumentError(f"n_inputs and n_units must be at least 1, not {n_inputs} and {n_units}.")
    rng = generator(rng)
    W = rng.normal(size=(n_inputs, n_units))
    a = rng.normal(size=n_units) if output_weights is None else output_weights
    return Network(W, a, activation=get(activation))
