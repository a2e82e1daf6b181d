"""Seeds and Generators, and what is neither."""

import numpy as np
import pytest

import weightlift as wl
from weightlift.errors import ArgumentError
from weightlift.randomness import generator

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
