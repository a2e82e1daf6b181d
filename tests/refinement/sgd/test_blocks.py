"""Blocks are the sequential iteration, whatever φ, size, weights, schedule and stream."""

import dataclasses

import numpy as np
import pytest
from tests import catalogue
from tests.contract.awkward import Awkward
from tests.refinement.sgd.iteration import problem, sequential

from weightlift import activations, samples
from weightlift.refinement import sgd, stable_step
from weightlift.refinement.sgd.elements import compiled

CUBIC = activations.polynomial([0.3, -1.0, 0.2, 0.1])


@pytest.mark.parametrize("activation", [*catalogue.EVERY, CUBIC], ids=catalogue.name)
def test_the_blocks_are_the_sequential_iteration(activation, rng):
    """Rounding of 500 steps, amplified by the iteration: 1e-11 leaves room, a wrong index or weight is of order 1e-3."""
    X, y, start = problem(rng, activation)
    s = 0.1 * stable_step(start, X, y)
    for bias in (False, True):
        run = sgd(samples.open(X, y), start, step=s, window=100, bias=bias)
        W, b, W_mean, b_mean, residuals, averaged = sequential(X, y, start, np.full(len(y), s), bias=bias)
        for net, weights, biases in ((run.network, W, b), (run.average, W_mean, b_mean)):
            np.testing.assert_allclose(net.W, weights, rtol=0, atol=1e-11 * np.abs(weights).max())
            np.testing.assert_allclose(net.b, biases, rtol=0, atol=1e-11)
        np.testing.assert_allclose(run.windows.last_squared_error, (residuals**2).reshape(5, 100).mean(axis=1), rtol=1e-10)
        np.testing.assert_allclose(run.windows.squared_error, (averaged**2).reshape(5, 100).mean(axis=1), rtol=1e-10)


def test_float32_follows_float64(rng):
    X, y, start = problem(rng, "tanh(2.5x)", n=2000)
    one, two = (sgd(samples.open(X, y), start, step=2e-3, dtype=dtype) for dtype in ("float32", "float64"))
    assert 0 < np.abs(one.network.W - two.network.W).max() < 1e-4
    assert 0 < np.abs(one.average.W - two.average.W).max() < 1e-4


def test_schedules_and_weights(rng):
    """A schedule sees the step numbers 1, 2, …; a row of weight w takes w times the step."""
    X, y, start = problem(rng, "sigmoid", n=300)
    w = rng.uniform(0.0, 2.0, size=300)
    run = sgd(samples.open(X, y, sample_weight=w), start, step=lambda j: 0.05 / np.sqrt(j), window=77)
    W, _, W_mean, _, _, averaged = sequential(X, y, start, 0.05 / np.sqrt(np.arange(1, 301)), w=w)
    np.testing.assert_allclose(run.network.W, W, rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.average.W, W_mean, rtol=0, atol=1e-12)
    assert run.windows.ends.tolist() == [77, 154, 231, 300]
    assert run.windows.squared_error[-1] == pytest.approx(np.average(averaged[231:] ** 2, weights=w[231:]))


def test_custom_activations_run_in_numpy(rng):
    X, y, start = problem(rng, "tanh")
    tanh = start.activation
    custom = activations.custom("my tanh", np.tanh, lambda z: 1 / np.cosh(z) ** 2)
    assert compiled(custom, "float64") is None
    one, two = (sgd(samples.open(X, y), dataclasses.replace(start, activation=f), step=0.01, bias=True) for f in (tanh, custom))
    np.testing.assert_allclose(two.network.W, one.network.W, rtol=0, atol=1e-11)
    np.testing.assert_allclose(two.average.b, one.average.b, rtol=0, atol=1e-11)
    np.testing.assert_allclose(two.windows.sums, one.windows.sums, rtol=1e-10)


def test_any_stream_gives_the_same_run(rng, as_xp):
    X, y, start = problem(rng, "tanh")
    plain = sgd(samples.open(X, y), start, step=0.01, window=130)
    for source in (samples.open(as_xp(X), as_xp(y)), Awkward(source=samples.open(X, y))):
        run = sgd(source, start, step=0.01, window=130)
        np.testing.assert_array_equal(run.network.W, plain.network.W)
        np.testing.assert_array_equal(run.windows.sums, plain.windows.sums)


def test_threads_are_those_asked_for(rng, monkeypatch):
    """The products' BLAS is loaded, and limited, before the first step; the bits may differ, the numbers do not."""
    import threadpoolctl

    from weightlift.refinement.sgd import blocks

    seen = []
    run = blocks.blocks

    def spy(*arguments):
        seen.append({pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"})
        return run(*arguments)

    monkeypatch.setattr(blocks, "blocks", spy)
    X, y, start = problem(rng, "tanh", n=100)
    one, two = (sgd(samples.open(X, y), start, step=0.01, threads=threads) for threads in (1, 2))
    assert seen == [{1}, {2}]
    np.testing.assert_allclose(one.network.W, two.network.W, rtol=0, atol=1e-13)


@pytest.mark.parametrize(("d", "k", "n", "window"), [(1, 1, 2, 1), (3, 1, 17, 16), (1, 700, 40, 1_000), (4, 5, 33, 33)])
def test_small_and_odd_sizes(d, k, n, window, rng):
    """One unit, one input, more units than a panel holds, windows shorter and longer than the run."""
    X, y, start = problem(rng, "tanh", n=n, d=d, k=k)
    run = sgd(samples.open(X, y), start, step=1e-3, window=window)
    W, _, W_mean, *_ = sequential(X, y, start, np.full(n, 1e-3))
    np.testing.assert_allclose(run.network.W, W, rtol=0, atol=1e-12 * np.abs(W).max())
    np.testing.assert_allclose(run.average.W, W_mean, rtol=0, atol=1e-12 * np.abs(W).max())
    assert run.windows.ends[-1] == n
    assert len(run.windows.ends) == -(-n // window)
