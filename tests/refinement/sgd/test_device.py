"""A device gives the same run, or says what it needs."""

import dataclasses

import numpy as np
import pytest
from tests import catalogue
from tests.refinement.sgd.iteration import problem

from weightlift import activations, samples
from weightlift.errors import ArgumentError
from weightlift.refinement import sgd, stable_step


def test_a_device_gives_the_same_run_or_says_what_it_needs(rng):
    from weightlift.refinement.sgd import device as gpu

    X, y, start = problem(rng, "tanh(2.5x)", n=300)
    custom = activations.custom("my tanh", np.tanh, lambda z: 1 / np.cosh(z) ** 2)
    with pytest.raises(ArgumentError, match="no compiled kernel"):
        sgd(samples.open(X, y), dataclasses.replace(start, activation=custom), step=0.01, device="cuda")
    if gpu.MISSING:
        with pytest.raises(ArgumentError, match="'cuda' needs"):
            sgd(samples.open(X, y), start, step=0.01, device="cuda")
        return
    for phi in catalogue.EVERY:
        X, y, start = problem(rng, phi, n=300)
        options = {"step": 0.1 * stable_step(start, X, y), "window": 70, "bias": True}
        one, two = (sgd(samples.open(X, y), start, device=device, **options) for device in (None, "cuda"))
        np.testing.assert_allclose(two.average.W, one.average.W, rtol=0, atol=1e-12)
        np.testing.assert_allclose(two.windows.sums, one.windows.sums, rtol=1e-10)
