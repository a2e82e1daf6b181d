"""The population source: exact means, no rows."""

import math

import numpy as np
import pytest

from weightlift import errors, samples
from weightlift.moments import HermiteMoment
from weightlift.network import Network
from weightlift.samples import RandomSigns


def test_population_is_a_source_without_rows(rng):
    net = Network(rng.normal(size=(4, 3)))
    source = samples.population(net)
    assert (source.n, source.d, source.total) == (math.inf, 4, 1.0)
    assert source.persist() is source
    assert all(p is source for p in source.split(0.5, 0.5, seed=0))
    with pytest.raises(errors.ArgumentError, match="rows"):
        source.blocks(5)
    with pytest.raises(errors.ArgumentError, match="rows"):
        source.map(lambda block: block)
    with pytest.raises(errors.NoExpectationError, match="expectation"):
        source.mean(samples.Covariance(4))


def test_random_signs_leave_nothing(rng):
    net = Network(rng.normal(size=(4, 3)), c=1.0)
    signed = samples.population(net).map(RandomSigns(0))
    assert not np.any(signed.mean(HermiteMoment(4, 2))[0])
