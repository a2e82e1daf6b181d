"""Local constants and the deviation of gradients  [zhang2019, Lemmas 5.1–5.3]."""

import math

import numpy as np
import pytest

from weightlift import draw, samples, teachers
from weightlift.errors import ArgumentError
from weightlift.noise import Noise
from weightlift.theory import conditioning, gradient_deviation, local_constants, population_spectrum


def teacher_of(seed, d=8, k=3):
    return teachers.conditioned(d, k, signs=False, activation="relu", rng=seed)


def test_convexity_and_smoothness_in_the_ball(seed):
    """In the ball of Lemma 5.1 the risk is strongly convex; constants are extremes, hence beyond those at the truth."""
    teacher = teacher_of(seed)
    c, found, centre = conditioning(teacher), local_constants(teacher), population_spectrum(teacher, teacher)
    assert found.radius == pytest.approx(c.sigma_k / (c.lambda_ * c.kappa**3 * 9))
    assert 0 < found.mu <= centre.least
    assert centre.largest <= found.L
    assert found.mu_form == pytest.approx(1 / (c.lambda_ * c.kappa**2))
    assert found.L_form == pytest.approx(c.kappa * 9)
    wide = local_constants(teacher, radius=1.0)
    assert wide.mu < found.mu
    assert wide.L > found.L


@pytest.mark.parametrize("noise_std", [0.0, 0.5])
def test_deviation_falls_like_the_root_of_the_rows(seed, noise_std):
    """Sixteen times the rows: a quarter of the deviation, within the fluctuation of 24 coordinates."""
    teacher = teacher_of(seed)
    norm = Noise("gaussian", noise_std).sub_gaussian_norm
    few, many = (
        gradient_deviation(
            teacher, samples.open(*draw(teacher, n, noise_std=noise_std, rng=seed)), noise_norm=norm, radius=0.5, points=4
        )
        for n in (2000, 32000)
    )
    assert np.median(few.values[1:]) / np.median(many.values[1:]) == pytest.approx(4, rel=0.5)
    assert few.form == pytest.approx(math.sqrt(8 * 3**5 * math.log(2000) / 2000) * (np.linalg.norm(teacher.W) + norm))
    assert max(few.ratio, many.ratio) < 1
    if noise_std == 0:
        assert few.values[0] < 1e-14  # without noise both gradients vanish at the truth


def test_errors():
    for bad in ({"points": 0}, {"radius": -1.0}):
        with pytest.raises(ArgumentError, match="points"):
            local_constants(teacher_of(0), **bad)
