"""When a search ends, and that its starts share their matrix products."""

import array_api_compat.numpy as namespace
import numpy as np
import pytest

import weightlift as wl
from weightlift import samples
from weightlift.network import Network
from weightlift.refinement import gauss_newton
from weightlift.search import expand_prune
from weightlift.search.expand_prune import Ending
from weightlift.search.starts import random_students


def search(X, y, n_units, accept, max_work, activation="relu", seed=0):
    phi = wl.activations.get(activation)
    rng = np.random.default_rng(seed)
    return expand_prune(
        samples.open(X, y), n_units, phi, bias=False, offset=False, accept=accept, max_work=max_work, rng=rng
    )


def test_exact_fits_that_nobody_certifies_end_the_search_when_found_twice(rng):
    """A width too large by one fits exactly in many ways, at risks that are rounding errors: they are one minimum."""
    truth = Network(rng.normal(size=(5, 2)), [1.0, -1.0])
    X, y = wl.draw(truth, 120, rng=1)
    found = search(X, y, 3, lambda net: False, 1e6)
    assert found.ending is Ending.SAME_MINIMUM
    assert found.risk < 1e-24
    assert [a.risk < 1e-24 for a in found.attempts if a.what == "fresh"].count(True) == 2
    assert found.attempts[-1].what == "fresh"


def test_only_better_networks_are_shown_to_accept(seed):
    """Every network that is asked about has a lower risk than those before, and the last one asked about is returned."""
    truth = wl.teachers.conditioned(6, 3, activation="relu", rng=seed)
    X, y = wl.draw(truth, 40, noise_std=0.3, rng=seed)
    asked = []

    def accept(net):
        asked.append(0.5 * np.mean((net.predict(X) - y) ** 2))
        return False

    found = search(X, y, 3, accept, 3000.0, seed=seed)
    assert np.all(np.diff(asked) < 0)
    assert found.risk == pytest.approx(asked[-1], rel=1e-9)
    assert found.risk == pytest.approx(min(a.risk for a in found.attempts), rel=2e-6)


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
