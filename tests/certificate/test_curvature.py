"""Valleys that bend are followed, and the regions hold them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.certificate.regularity import known, tanh_problem

from weightlift import samples
from weightlift.certificate.curvature import curvature
from weightlift.certificate.limits import LIMITS
from weightlift.certificate.noise import enclosing
from weightlift.evidence.gauge import Gauge


def test_a_valley_is_followed_and_the_regions_hold_it() -> None:
    """Straight ahead the squared error of some fit rises more than tenfold, and along the valley's floor as it should."""
    low, high = LIMITS.linearity
    for seed in range(40):
        _, X, y, fit = tanh_problem(seed)
        gauge, information, variance = known(fit, X, y)
        C = variance * information.inverse
        found = curvature(samples.open(X, y), information, (C,), variance, np.random.default_rng(0))
        if found.bends.size and found.statement.holds:
            break
    else:
        pytest.fail("no valley bends")
    assert "valley" in found.statement.sentence
    ahead = [sign * direction for direction in least_certain(gauge, C) for sign in (1.0, -1.0)]
    bent = [delta for delta in ahead if not low <= rise(gauge, delta, X, y) / (16 * variance) <= high]
    assert bent
    for delta, bend in zip(bent, found.bends.T, strict=True):
        assert low <= rise(gauge, delta + bend, X, y) / (16 * variance) <= high
    at = gauge.coordinates(0)
    region = enclosing(30.0 * C[np.ix_(at, at)], found.bends[at])
    assert (found.bends[at] * np.linalg.solve(region, found.bends[at])).sum(axis=0).max() <= 1.0


def least_certain(gauge: Gauge, C: np.ndarray) -> list[np.ndarray]:
    """Four standard errors in the least certain direction of each unit."""
    found = []
    for i in range(gauge.network.n_units):
        at = gauge.coordinates(i)
        values, vectors = np.linalg.eigh(C[np.ix_(at, at)])
        found.append(4.0 * C[:, at] @ vectors[:, -1] / np.sqrt(values[-1]))
    return found


def rise(gauge: Gauge, delta: np.ndarray, X: np.ndarray, y: np.ndarray) -> float:
    there = gauge.perturbed(delta[None]).network(0)
    return float(np.sum((there.predict(X) - y) ** 2) - np.sum((gauge.network.predict(X) - y) ** 2))
