"""Random starts  [zhong2017, Fig. 1(c); zhang2019, Fig. 2(a)]."""

from __future__ import annotations

import numpy as np

from weightlift.activations import Activation, get
from weightlift.arguments import count, generator
from weightlift.network import Network


def gaussian_init(
    n_inputs: int,
    n_units: int,
    activation: Activation | str,
    *,
    output_weights: np.ndarray | None = None,
    rng: np.random.Generator | int = 0,
) -> Network:
    """W with standard Gaussian entries; output weights as given, else standard Gaussian too.

    n_inputs        d
    n_units         k
    activation      φ, or its name in the catalogue
    output_weights  a (k,)
    rng             a seed or a generator
    """
    rng = generator(rng)
    W = rng.normal(size=(count("n_inputs", n_inputs), count("n_units", n_units)))
    a = rng.normal(size=n_units) if output_weights is None else output_weights
    return Network(W, a, activation=get(activation))
