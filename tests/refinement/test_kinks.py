"""Minima on kinks: no way down is left, in any direction, and the first minimum along a line is where a fine grid has it."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from weightlift import Network, teachers
from weightlift.refinement import along_kinks, gauss_newton
from weightlift.refinement.kinks import first_minimum
from weightlift.samples import open as open_samples


def noisy(seed: int, activation: str = "relu", n: int = 80) -> tuple[Network, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = teachers.biased(4, 2, bias=0.7, activation=activation, rng=rng)
    X = rng.standard_normal((n, 4)) @ np.diag([1.0, 1.0, 1.0, 0.05])
    return truth, X, truth.predict(X) + 0.3 * rng.standard_normal(n)


def risk(net: Network, X: np.ndarray, y: np.ndarray) -> float:
    return float(np.sum((net.predict(X) - y) ** 2))


@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "absolute"])
@pytest.mark.parametrize("seed", range(4))
def test_no_way_leads_down(seed, activation):
    truth, X, y = noisy(seed, activation)
    start = gauss_newton(open_samples(X, y), truth, free="Wb", tol=1e-12, iterations=200).network
    net, _ = along_kinks(open_samples(X, y), start, bias=True)
    rng, least = np.random.default_rng(seed), risk(net, X, y)
    assert least <= risk(start, X, y) * (1 + 1e-12)
    for size in (1e-7, 1e-5, 1e-3):
        for _ in range(200):
            moved = replace(net, W=net.W + size * rng.standard_normal(net.W.shape), b=net.b + size * rng.standard_normal(2))
            assert risk(moved, X, y) >= least * (1 - 1e-13)


def test_a_minimum_on_kinks_that_gauss_newton_misses():
    """Some minimum lies on kinks: rows there have z = 0 to rounding, and Gauss–Newton alone ends above it."""
    on, gains = 0, []
    for seed in range(8):
        truth, X, y = noisy(seed)
        start = gauss_newton(open_samples(X, y), truth, free="Wb", tol=1e-12, iterations=200).network
        net, _ = along_kinks(open_samples(X, y), start, bias=True)
        on += int(np.sum(np.abs(X @ net.W + net.b) < 1e-12))
        gains.append(risk(start, X, y) / risk(net, X, y) - 1)
    assert on > 4
    assert max(gains) > 1e-4


def test_weights_are_copies():
    truth, X, y = noisy(1)
    weights = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
    once, _ = along_kinks(open_samples(X, y, sample_weight=weights), truth, bias=True)
    copies = np.repeat(np.arange(len(X)), weights.astype(int))
    again, _ = along_kinks(open_samples(X[copies], y[copies]), truth, bias=True)
    np.testing.assert_allclose(once.W, again.W, atol=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_the_first_minimum_along_a_line(seed):
    rng = np.random.default_rng(seed)
    n, k = 12, 2
    net = Network(rng.standard_normal((3, k)), rng.choice([-1.0, 1.0], k), rng.standard_normal(k), 0.0, "leaky_relu")
    z, y = rng.standard_normal((n, k)), rng.standard_normal(n)
    values = net.activation(z) @ net.a - y
    v = rng.standard_normal((n, k))
    slopes = net.activation.derivative(z) * v @ net.a
    if values @ slopes > 0:
        v, slopes = -v, -slopes
    t = first_minimum(net, values, np.ones(n), z, v, 0.0, float(values @ slopes), float(slopes @ slopes))
    grid = np.linspace(0.0, 1.0, 20_001)
    risks = ((net.activation(z + grid[:, None, None] * v) @ net.a - y) ** 2).sum(axis=1)
    rising = np.flatnonzero(np.diff(risks) > 0)
    assert t == pytest.approx(grid[rising[0]] if len(rising) else 1.0, abs=1e-4)


def test_smooth_activations_are_left_alone():
    truth, X, y = noisy(0, "tanh")
    assert along_kinks(open_samples(X, y), truth, bias=True) == (truth, 0)


def test_an_offset_is_free_where_it_is_asked_for():
    truth, X, y = noisy(2)
    net, _ = along_kinks(open_samples(X, y + 1.0), truth, bias=True, offset=True)
    r = net.predict(X) - y - 1.0
    assert abs(r.sum()) < 1e-9


def test_a_unit_of_zero_weights_has_every_row_on_its_kink():
    """Memory is that of the rows: nothing of rows × rows is formed, 72 MB here."""
    truth, X, y = noisy(0, n=3000)
    dead = replace(truth, W=truth.W * [1.0, 0.0], b=truth.b * [1.0, 0.0])
    tracemalloc.start()
    net, _ = along_kinks(open_samples(X, y), dead, bias=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50 * X.nbytes
    assert risk(net, X, y) <= risk(dead, X, y)


@pytest.mark.parametrize("seed", range(3))
def test_steps_are_bounded_and_each_lowers_the_risk(seed):
    truth, X, y = noisy(seed)
    found = [along_kinks(open_samples(X, y), truth, bias=True, iterations=steps) for steps in range(4)]
    assert [steps for _, steps in found] == [0, 1, 2, 3]
    risks = [risk(net, X, y) for net, _ in found]
    assert risks[0] == risk(truth, X, y)
    assert all(after < before for before, after in pairwise(risks))
