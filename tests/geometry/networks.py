"""Networks at random, moved by a step, and their sizes: what the tests of distances share."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.catalogue import HOMOGENEOUS as KINKED
from tests.catalogue import SMOOTH

from weightlift import activations
from weightlift.geometry.units import Units
from weightlift.network import Network

EPS = np.finfo(float).eps
HOMOGENEOUS = [*KINKED, "linear", "quadratic"]
ALL = [*HOMOGENEOUS, *SMOOTH, activations.polynomial([0.5, -1.0, 0.0, 0.25])]


def network(rng: np.random.Generator, activation: Any, d: int = 4, k: int = 3, *, bias: float = 1.0) -> Network:
    W = rng.standard_normal((d, k))
    return Network(W, rng.standard_normal(k), bias * rng.standard_normal(k), rng.standard_normal(), activation)


def moved(net: Network, step: float, rng: np.random.Generator, *, bias: float = 1.0) -> Network:
    """Every parameter moved by `step` times a normal variable, units permuted."""
    order = rng.permutation(net.n_units)
    W, a, b = (p + step * rng.standard_normal(p.shape) * q for p, q in ((net.W, 1.0), (net.a, 1.0), (net.b, bias)))
    return Network(W[:, order], a[order], b[order], net.c + step, net.activation)


def size(*nets: Network) -> float:
    return sum(float(np.abs(net.a) @ Units.of(net.activation, net.W, net.b).sizes) + abs(net.c) for net in nets)
