"""Seeds and Generators, numbers of things, and what is neither."""

import numpy as np
import pytest

import weightlift as wl
from weightlift.arguments import generator
from weightlift.errors import ArgumentError, ShapeError

NET = wl.Network(np.eye(3)[:, :2])
X, Y = wl.draw(NET, 40)
CALLS = {
    "draw": lambda rng: wl.draw(NET, 5, rng=rng),
    "teacher": lambda rng: wl.teachers.biased(3, 2, rng=rng),
    "recover": lambda rng: wl.recover(X, Y, n_units=2, rng=rng),
    "certify": lambda rng: wl.certify(NET, X, Y, rng=rng),
    "decompose": lambda rng: wl.decompose(np.ones((2, 2, 2)), 1, rng=rng),
    "diagnose": lambda rng: wl.diagnose.data(X, Y, rng=rng),
    "learn": lambda rng: wl.learning.learn_1nn(X, Y, n_units=2, activation="relu", rng=rng),
    "twin": lambda rng: wl.identifiability.twin(np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 3.0]]), rng=rng),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("wrong", [-1, 1.5, "one"])
def test_what_is_no_seed_is_refused_by_the_arguments_name(call, wrong):
    with pytest.raises(ArgumentError, match=r"rng must be a seed.*not"):
        call(wrong)


def test_legacy_states_are_refused_for_they_cannot_spawn():
    with pytest.raises(ArgumentError, match="RandomState"):
        generator(np.random.RandomState(0))


def test_a_seed_is_numpys_and_a_generator_moves_on(seed):
    assert generator(seed).integers(2**40) == np.random.default_rng(seed).integers(2**40)
    given = np.random.default_rng(seed)
    assert generator(given) is given


ROWS = wl.samples.open(X, Y)
CUBE, FOURTH = np.ones((2, 2, 2)), np.ones((2, 2, 2, 2))
COUNTS = {
    "n_inputs": lambda n: wl.initialization.gaussian_init(n, 2, "relu"),
    "n_units": lambda n: wl.initialization.tensor_init(ROWS, n, "relu"),
    "n_units ": lambda n: wl.initialization.hermite_init(ROWS, n),
    "order": lambda n: wl.initialization.hermite_init(ROWS, 2, order=n),
    "contractions": lambda n: wl.initialization.overcomplete_init(wl.samples.population(NET), 2, contractions=n),
    "parts": lambda n: wl.refinement.gradient_descent(ROWS, NET, parts=n),
    "iterations": lambda n: wl.learning.learn_1nn(X, Y, n_units=2, activation="relu", iterations=n),
    "rank": lambda n: wl.decomposition.implicit_cp(CUBE, rank=n),
    "starts": lambda n: wl.decomposition.implicit_cp(CUBE, rank=1, starts=n),
    "rank ": lambda n: wl.decomposition.power_iteration(CUBE, rank=n),
    "starts ": lambda n: wl.decomposition.subspace_power(FOURTH, starts=n),
    "attempts": lambda n: wl.decomposition.jennrich(CUBE, attempts=n),
}


@pytest.mark.parametrize(("name", "call"), COUNTS.items())
@pytest.mark.parametrize("wrong", [0, -2, 2.5, "two"])
def test_what_is_no_number_of_things_is_refused_by_the_arguments_name(name, call, wrong):
    with pytest.raises(ArgumentError, match=f"{name.strip()} must be"):
        call(wrong)


def test_shapes_that_do_not_fit_are_named():
    with pytest.raises(ShapeError, match="weights"):
        wl.decomposition.compose([1.0, 2.0], np.eye(3), 3)
    with pytest.raises(ShapeError, match="start has 3 inputs and the data 2"):
        wl.refinement.gradient_descent(wl.samples.open(X[:, :2], Y), NET)
    with pytest.raises(ShapeError, match="X must be a rectangular array"):
        NET.predict([[1.0], [1.0, 2.0]])
    with pytest.raises(ArgumentError, match="step='theory'"):
        wl.refinement.gradient_descent(ROWS, wl.Network(NET.W, np.zeros(2)), step="theory")
