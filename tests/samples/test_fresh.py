"""Rows drawn as they are asked for start anywhere, and are what was asked."""

import math

import numpy as np
import pytest

import weightlift as wl
from weightlift.errors import ArgumentError
from weightlift.network import Network
from weightlift.samples import Fresh


def test_fresh_rows_start_anywhere(seed):
    stream = Fresh(wl.teachers.haar(5, 10), seed=seed, noise_std=0.2, arithmetic="float32")
    whole = next(stream.blocks(9_000))
    for start in (0, 1, 4_095, 4_096, 8_000):
        blocks = stream.blocks(300, start=start)
        for i in range(start, start + 900, 300):
            part = next(blocks)
            np.testing.assert_array_equal(part.X, whole.X[i : i + 300])
            np.testing.assert_array_equal(part.y, whole.y[i : i + 300])
    assert whole.y.dtype == whole.X.dtype == np.float32
    noise = whole.y - stream.network.predict(whole.X)
    assert noise.std() == pytest.approx(0.2, rel=4 / math.sqrt(2 * 9_000))
    assert np.abs(whole.X.mean(axis=0)).max() < 5 / math.sqrt(9_000)
    assert abs(np.corrcoef(whole.X[:4096, 0], whole.X[4096:8192, 0])[0, 1]) < 5 / 64


def test_fresh_rows_refuse_nonsense():
    with pytest.raises(ArgumentError, match="arithmetic"):
        Fresh(Network([[1.0]]), arithmetic="float16")
    with pytest.raises(ArgumentError, match="seed"):
        Fresh(Network([[1.0]]), seed=-1)
    with pytest.raises(ArgumentError, match="noise_std"):
        Fresh(Network([[1.0]]), noise_std=-1.0)
