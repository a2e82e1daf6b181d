"""The joint search repeats with its seed."""

import numpy as np

import weightlift as wl
from weightlift.refinement.variable_projection import Model
from weightlift.search import Budget
from weightlift.search.joint import joint_candidates


def planted(activation, m, n, *, d=10, k=3, bias=0.3, linear=False, seed=0):
    units = wl.teachers.biased(d, k, bias=bias, activation=activation, rng=seed)
    truth = wl.teachers.several(units, m, linear=linear, rng=seed)
    return truth, *wl.draw(truth, n, rng=seed + 100)


def test_candidates_of_the_joint_search_repeat():
    _, X, Y = planted("relu", 2, 60)
    runs = []
    for _ in range(2):
        found = joint_candidates(
            wl.samples.open(X, Y), 3, wl.activations.get("relu"), Model(), budget=Budget(500), rng=np.random.default_rng(3)
        )
        runs.append(next(found).network.W)
    np.testing.assert_array_equal(*runs)
