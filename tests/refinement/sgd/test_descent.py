"""Averaged SGD: it learns, names a stable step where it diverges, and refuses what it cannot run."""

import dataclasses
import math

import numpy as np
import pytest
from tests.refinement.sgd.iteration import problem

import weightlift as wl
from weightlift import samples
from weightlift.errors import ArgumentError, DivergedError, NotFiniteError, ShapeError
from weightlift.network import Network
from weightlift.refinement import sgd, stable_step
from weightlift.refinement.sgd.progress import Progress
from weightlift.samples import Fresh


def test_it_learns_what_gradient_descent_learns():
    """A well-conditioned ReLU teacher, started near it: the last iterate finds it from noiseless rows."""
    truth = wl.teachers.conditioned(8, 4, activation="relu", rng=1)
    start = Network(truth.W + 0.1 * np.random.default_rng(2).normal(size=truth.W.shape), truth.a, activation="relu")
    run = sgd(Fresh(truth), start, steps=20_000, truth=truth, window=5_000)
    assert run.network.equivalent(truth, tol=1e-6)
    assert (np.diff(run.windows.nearest) < 0).all()
    assert (np.diff(run.windows.ratio()) < 0).all()


@pytest.mark.parametrize("activation", ["relu", "squared_relu", "linear", "softplus"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_divergence_names_the_step_and_a_stable_one(activation, dtype, tmp_path):
    truth = wl.teachers.conditioned(10, 5, activation=activation, rng=0)
    start = Network(np.random.default_rng(1).normal(size=(10, 5)) / 3, truth.a, activation=activation)
    s = 100 * stable_step(start, *wl.draw(truth, 500))
    with pytest.raises(DivergedError, match=r"at step \d+ .* Try step = ") as caught:
        sgd(Fresh(truth), start, step=s, steps=5_000, dtype=dtype, checkpoint=tmp_path / "run")
    error = caught.value
    assert 1 < error.step_number < 5_000
    assert error.suggested_step < s / 3
    assert np.isfinite(error.result.network.W).all()
    run = sgd(Fresh(truth), start, step=error.suggested_step, steps=5_000, window=1_000, dtype=dtype)
    assert run.windows.last_squared_error[-1] < run.windows.last_squared_error[0]


def test_divergence_keeps_the_windows_before(rng):
    truth = wl.teachers.conditioned(10, 5, activation="relu", rng=0)
    start = Network(truth.W + 0.01, truth.a)
    with pytest.raises(DivergedError) as caught:
        sgd(Fresh(truth), start, step=lambda j: np.where(j <= 300, 1e-3, 10.0), steps=900, window=100)
    assert caught.value.result.steps == 300
    assert caught.value.result.windows.ends.tolist() == [100, 200, 300]
    assert caught.value.suggested_step < 2.5


def test_bad_arguments_are_named(rng):
    X, y, start = problem(rng, "tanh", n=50)
    data = samples.open(X, y)
    for arguments, word in (
        ({"step": -1.0}, "step"),
        ({"step": math.inf}, "step"),
        ({"step": "fast"}, "step"),
        ({"step": lambda j: -1.0 * j}, "step"),
        ({"step": lambda j: 1.0}, "step"),
        ({"steps": 0}, "steps"),
        ({"steps": 51}, "50 rows"),
        ({"window": 0}, "window"),
        ({"window": 2.5}, "window"),
        ({"threads": 0}, "threads"),
        ({"dtype": "float16"}, "dtype"),
        ({"truth": Network(np.eye(3))}, "truth"),
    ):
        with pytest.raises(ArgumentError, match=word):
            sgd(data, start, **{"step": 1e-3, **arguments})
    for several in (Network(start.W, np.ones((9, 2)), activation="tanh"), Network(start.W, V=np.ones(7), activation="tanh")):
        with pytest.raises(ArgumentError, match="one output and no linear part"):
            sgd(data, several, step=1e-3)
    with pytest.raises(ArgumentError, match="no end"):
        sgd(Fresh(start), start, step=1e-3)
    with pytest.raises(ArgumentError, match="blocks of rows"):
        sgd(X, start, step=1e-3)
    with pytest.raises(ShapeError, match="inputs"):
        sgd(data, Network(np.eye(3)), step=1e-3)
    with pytest.raises(ArgumentError, match="gradient is zero"):
        sgd(data, Network(np.zeros((7, 2)), activation="quadratic"))
    assert not sgd(data, Network(np.zeros((7, 2)), activation="quadratic"), step=1e-3).network.W.any()
    broken = X.copy()
    broken[30, 2] = np.nan
    with pytest.raises(NotFiniteError, match="stream"):
        sgd(data.map(lambda block: dataclasses.replace(block, X=broken)), start, step=1e-3)


def test_progress_is_shown_late_and_on_terminals_only(capfd):
    with Progress(10, "SGD") as bar:
        bar.reach(5, "")
    with Progress(10, "SGD", shown=True) as bar:
        bar.reach(5, "")
    assert bar.bar is None, "no bar before two seconds"
    bar.started -= 3.0
    with bar:
        bar.reach(6, "error 0.1")
    assert bar.bar is not None
    assert bar.bar.tasks[0].completed == 6
    assert capfd.readouterr().out == ""
