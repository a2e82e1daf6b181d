"""Scales, offsets and activations whose integrals are tested."""

from __future__ import annotations

from tests import catalogue

from weightlift import activations

SCALED = [activations.scaled("tanh", 2.5), activations.scaled("squared_relu", 1.5)]
ALL = [*catalogue.ENTRIES, activations.leaky_relu(0.2), activations.elu(0.4), *SCALED]


def pairs(rng, count):
    """Scales 0.1 … 10, log-uniform; offsets −3 … 3."""
    return 10.0 ** rng.uniform(-1, 1, size=count), rng.uniform(-3, 3, size=count)
