"""`diagnose` of shapes, networks and data: which methods apply, and what the rows and their law allow."""

from __future__ import annotations

import numpy as np
import pytest
from tests.conftest import optional

import weightlift as wl
from weightlift import Network, diagnose, teachers
from weightlift.errors import WeightliftError


def test_units_beyond_the_reach_of_the_rows():
    """Φ(−3) = 0.00135: 12,000 rows leave 16.2 on the minority side, 2 (d + 1) = 22 are wanted."""
    net = teachers.conditioned(10, 3, activation="relu", rng=0)
    W = net.W / np.linalg.norm(net.W, axis=0)
    few = diagnose.network(Network(W, b=[3.0, 0.0, -3.0]), n=12_000)
    assert [note.split(":")[0] for note in few.notes] == ["Unit 0", "Unit 2"]
    assert "16.2" in few.notes[0]
    assert not diagnose.network(Network(W, b=[3.0, 0.0, -3.0]), n=20_000).notes


@pytest.mark.parametrize(("activation", "k"), [("relu", 3), ("squared_relu", 2)])
def test_data_show_their_width(activation, k, seed):
    X, y = wl.draw(teachers.conditioned(8, k, activation=activation, rng=seed), 30_000, rng=seed + 10)
    found = diagnose.data(X, y, activation=activation)
    assert (found.n_units, found.n_inputs, found.n_rows) == (k, 8, 30_000)
    assert found.hopeful
    assert found.methods[0].applies
    assert any("rank" in note for note in found.notes)


def test_data_that_moments_do_not_like(rng):
    X = rng.uniform(-1, 1, size=(3000, 5)) ** 3
    y = Network(np.eye(5)[:, :2]).predict(X)
    found = diagnose.data(X, y, n_units=2)
    assert not found.methods[0].applies
    assert "Gaussian" in found.methods[0].why
    assert found.methods[1].applies
    doubled = np.hstack([X, X[:, :1]])
    assert "whitened" in diagnose.data(doubled, y, n_units=2).methods[0].why
    notes = " ".join(diagnose.data(doubled, y).notes)
    assert "give n_units" in notes
    assert "column 0 (∞), column 5 (∞)" in notes
    odd = diagnose.data(*wl.draw(teachers.conditioned(5, 2, activation="tanh", rng=0), 500, rng=1), activation="tanh")
    assert odd.n_units == 1
    assert "tanh is odd" in " ".join(odd.notes)


def test_a_whitened_column_is_not_called_an_input(rng):
    """The cube of a normal has a kurtosis of 46; its column is correlated with another, with which whitening mixes it."""
    pandas = optional("pandas")
    X = rng.normal(size=(2000, 3))
    X[:, 1] = X[:, 1] ** 3 + X[:, 0]
    frame = pandas.DataFrame(X, columns=["north", "east", "depth"])
    found = diagnose.data(frame, X[:, 0] ** 2)
    assert "kurtosis of whitened column 'east'" in found.methods[0].why
    assert [method.applies for method in found.methods] == [False, True, False, True]  # what needs moments, and what does not
    assert repr(found) == str(found)


def test_a_line_under_relu_is_not_laid_to_parity(rng):
    X = rng.normal(size=(300, 3))
    notes = " ".join(diagnose.data(X, X[:, 0] + rng.normal(size=300)).notes)
    assert "shows no direction above its noise: rows are few or noisy" in notes
    assert "odd" not in notes


def test_methods_follow_the_shape():
    """Moments: k ≤ d, or biased ReLU up to d(d−1)/2 units; never where M3 = M4 = 0."""
    applies = [
        ({"n_inputs": 10, "n_units": 10}, True),
        ({"n_inputs": 10, "n_units": 11}, False),
        ({"n_inputs": 10, "n_units": 45, "bias": True}, True),
        ({"n_inputs": 10, "n_units": 46, "bias": True}, False),
        ({"n_inputs": 10, "n_units": 12, "bias": True, "activation": "tanh"}, False),
        ({"n_inputs": 10, "n_units": 1, "activation": "quadratic"}, False),
    ]
    for arguments, expected in applies:
        assert diagnose.shape(**arguments).methods[0].applies is expected, arguments
    assert not diagnose.shape(10, 3, n=30).methods[1].applies  # no more rows than parameters
    assert diagnose.shape(10, 3, n=31).methods[1].applies
    assert "days" in diagnose.shape(500, 5000).methods[1].why


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: diagnose.shape(0, 3), "n_inputs"),
        (lambda: diagnose.shape(3, 1.5), "n_units"),
        (lambda: diagnose.shape(3, 2, n=0), "n must"),
        (lambda: diagnose.shape(3, 2, activation="rellu"), "relu"),
        (lambda: diagnose.network(np.eye(3)), "Network"),
        (lambda: diagnose.data(np.ones((3, 2)), np.ones(4)), "y"),
    ],
)
def test_mistakes_are_refused(call, words):
    with pytest.raises(WeightliftError, match=words):
        call()


def test_data_say_what_their_law_means_for_each_route(rng):
    X = rng.exponential(size=(400, 4))
    found = diagnose.data(X, X[:, 0], n_units=2)
    assert [note.split(":")[0] for note in found.notes[1:4]] == ["Moments", "Search and refinement", "Certificate"]
    assert "not usable" in found.notes[1]
