"""The numbers of `benchmarks.mondelli2019`, in small here and in full where there is time."""

import numpy as np
import pytest
from benchmarks.mondelli2019 import deviation, instance, pair

from weightlift.theory import separated_bound


@pytest.mark.parametrize("seed", range(0, 50, 7))
def test_exact_error_against_monte_carlo(seed):
    """Within 4.5 standard errors of 100,000 draws (one chance in 10⁵ for each pair), unit and general norms, unequal widths."""
    assert deviation(*pair(seed), 100_000, seed) < 4.5


def test_bounds_on_a_few_instances():
    found = [separated_bound(*instance(seed)) for seed in range(3, 500, 37)]
    assert all(b.error >= b.halved * (1 - 1e-12) for b in found)
    assert all(b.error >= b.bound * (1 - 1e-12) for b in found)
    assert sum(not b.vacuous for b in found) >= 4


@pytest.mark.slow
def test_exact_error_against_many_draws():
    assert max(deviation(*pair(seed), 10_000_000, seed) for seed in range(50)) < 4.0


@pytest.mark.slow
def test_bounds_on_500_instances():
    found = [separated_bound(*instance(seed)) for seed in range(500)]
    assert not any(b.error < b.bound * (1 - 1e-12) for b in found)
    assert np.count_nonzero([not b.vacuous for b in found]) >= 200
