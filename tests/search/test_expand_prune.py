"""When a search ends, and that its starts share their matrix products."""

import itertools

import array_api_compat.numpy as namespace
import numpy as np
import pytest

import weightlift as wl
from weightlift import samples
from weightlift.network import Network
from weightlift.refinement import gauss_newton
from weightlift.search import Budget, Ending, candidates
from weightlift.search.starts import random_students


def search(X, y, n_units, max_work, activation="relu", seed=0):
    phi = wl.activations.get(activation)
    rng = np.random.default_rng(seed)
    return candidates(samples.open(X, y), n_units, phi, bias=False, offset=False, budget=Budget(max_work), rng=rng)


def test_exact_fits_that_nobody_certifies_end_the_search_when_found_twice(rng):
    """A width too large by one fits exactly in many ways, at risks that are rounding errors: they are one minimum."""
    truth = Network(rng.normal(size=(5, 2)), [1.0, -1.0])
    X, y = wl.draw(truth, 120, rng=1)
    *_, last = search(X, y, 3, 1e6)
    assert last.ending is Ending.SAME_MINIMUM
    assert last.risk < 1e-24
    assert [a.risk < 1e-24 for a in last.attempts if a.what == "fresh"].count(True) == 2
    assert last.attempts[-1].what == "fresh"


def test_candidates_improve_or_repeat_the_best_one(seed):
    """A candidate that improved has a lower risk than those before; every other one is the best so far again."""
    truth = wl.teachers.conditioned(6, 3, activation="relu", rng=seed)
    X, y = wl.draw(truth, 40, noise_std=0.3, rng=seed)
    found = list(search(X, y, 3, 3000.0, seed=seed))
    risks = [0.5 * np.mean((c.network.predict(X) - y) ** 2) for c in found]
    assert [c.risk for c in found] == pytest.approx(risks, rel=1e-9)
    assert found[0].improved
    for before, after in itertools.pairwise(found):
        assert after.risk < before.risk if after.improved else after.network is before.network
    assert found[-1].risk == pytest.approx(min(a.risk for a in found[-1].attempts), rel=2e-6)
    assert [len(c.attempts) for c in found] == list(range(1, len(found) + 1))
    assert [c.ending is None for c in found] == [True] * (len(found) - 1) + [False]


@pytest.mark.parametrize("free", ["Wa", "Wabc"])
def test_the_number_of_products_does_not_depend_on_the_number_of_starts(free, monkeypatch):
    """Batches of 1 and of 16 starts make the same calls, each of them over all starts at once."""
    truth = wl.teachers.conditioned(5, 2, activation="tanh", rng=0)
    X, y = wl.draw(truth, 80, noise_std=0.1, rng=0)
    calls = []

    def counted(name, function):
        def call(*arguments, **options):
            calls.append(name)
            return function(*arguments, **options)

        return call

    monkeypatch.setattr(namespace, "matmul", counted("matmul", namespace.matmul))
    monkeypatch.setattr(namespace.linalg, "solve", counted("solve", namespace.linalg.solve))
    made = []
    for starts in (1, 16):
        students = random_students(5, 2, starts, truth.activation, bias=0.1, rng=np.random.default_rng(0))
        calls.clear()
        fit = gauss_newton(samples.open(X, y), students, free=free, iterations=4, tol=0.0)
        assert fit.iterations == 4
        made.append((calls.count("matmul"), calls.count("solve")))
    assert made[0] == made[1]
    assert min(made[0]) > 0
