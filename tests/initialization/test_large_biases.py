"""Units whose kink few rows pass: located from the residual, or not invented."""

from __future__ import annotations

import numpy as np

import weightlift as wl
from weightlift import Network
from weightlift.initialization import with_large_biases
from weightlift.initialization.large_biases import find_spike
from weightlift.refinement import fit_affine
from weightlift.samples import Residual


def mixed(d, biases, seed):
    net = wl.teachers.biased(d, len(biases), rng=seed)
    return Network(net.W, net.a, biases)


def test_a_spike_is_located_from_the_residual(seed):
    truth = mixed(6, [0.4, -0.8, 2.7], seed)
    X, y = wl.draw(truth, 20_000, rng=seed)
    rows = wl.samples.open(X, y)
    seen = fit_affine(rows, Network(truth.W[:, :2], np.ones(2), truth.b[:2]))
    w, b, a = find_spike(rows.map(Residual(seen)))
    cosine = float(w @ truth.W[:, 2])
    assert abs(cosine) > 0.95
    assert abs(b + 2.7) < 0.5
    assert abs(a / truth.a[2] - 1) < 0.5
    assert find_spike(rows.map(Residual(truth.predict)), floor=1e-9) is None


def test_few_rows_beyond_a_kink_are_not_a_unit(seed):
    truth = mixed(6, [0.4, -0.8, 2.7], seed)
    X, y = wl.draw(truth, 20_000, rng=seed)
    z = X @ truth.W[:, 2]
    for rows, found in ((13, False), (30, True)):  # 2 (d + 1) = 14
        kept = np.concatenate([np.flatnonzero(np.abs(z) < 2.7)[:4000], np.flatnonzero(z < -2.7)[:rows]])
        source = wl.samples.open(X[kept], y[kept])
        seen = fit_affine(source, Network(truth.W[:, :2], np.ones(2), truth.b[:2]))
        assert with_large_biases(source, seen, 3).function.n_units == 2 + found


def test_noise_gives_no_unit(seed):
    truth = mixed(5, [0.4, -0.8], seed)
    rows = wl.samples.open(*wl.draw(truth, 4000, noise_std=0.3, rng=seed))
    found = with_large_biases(rows, fit_affine(rows, truth), 4, iterations=10)
    assert found.function.n_units == 2
