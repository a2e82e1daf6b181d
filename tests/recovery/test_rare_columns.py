"""Columns that hardly vary: counted, proved to leave units undetermined, and named."""

import numpy as np
import pytest

import weightlift as wl
from weightlift.recovery.rare_columns import Departures, departures, rare
from weightlift.refinement.normal_equations import Free, NormalEquations
from weightlift.risk import Students
from weightlift.samples.columns import NO_NAMES


def rows(rng, n, rare_rows, usual):
    X = rng.normal(size=(n, 4))
    X[:, 2] = usual
    X[:rare_rows, 2] += rng.uniform(1, 2, size=rare_rows)
    return rng.permutation(X)


@pytest.mark.parametrize("n", [300, 2500])
@pytest.mark.parametrize("bias", [False, True])
def test_departures_are_counted_beyond_the_first_rows(n, bias):
    X = rows(np.random.default_rng(0), n, 5, 3.0 if bias else 0.0)
    found = departures(wl.samples.open(X, X[:, 0], sample_weight=np.full(n, 0.5)), 6, bias=bias)
    assert found[2] == 5
    assert (np.delete(found, 2) >= 6).all()


def test_departures_count_rows_of_any_weight():
    X = rows(np.random.default_rng(1), 60, 7, 0.0)
    source = wl.samples.open(X, X[:, 0], sample_weight=np.arange(60.0))
    assert source.fold(Departures(np.zeros(4)))[0].tolist() == [60, 60, 7, 60]


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize(("bias", "usual"), [(True, 2.0), (False, 0.0)])
def test_fewer_departures_than_units_leave_the_normal_equations_singular(activation, bias, usual):
    """At random networks: singular with k − 1 departures, whatever the network; and not with many more."""
    rng, k, free = np.random.default_rng(2), 3, Free.of("Wb" if bias else "W")
    for rare_rows, singular in ((k - 1, True), (60, False)):
        X = rows(rng, 400, rare_rows, usual)
        W = rng.normal(size=(4, k))
        net = wl.Network(W, rng.normal(size=k), 0.1 * bias - usual * W[2], activation=activation)  # kinks among the rows
        equations = NormalEquations(Students.of(net), free)
        _, _, gram = equations.assembled(wl.samples.open(X, net.predict(X)).mean(equations))
        values = np.linalg.eigvalsh(gram[0])
        assert (values[0] < 1e-14 * values[-1]) == singular


def test_a_refusal_names_them_and_does_not_search_for_long():
    rng = np.random.default_rng(3)
    X = rows(rng, 300, 2, 0.0)
    truth = wl.teachers.biased(4, 4, rng=0)
    found = wl.recover(X, truth.predict(X), n_units=4, bias=True)
    assert not found.certificate
    assert any("x2 (2)" in reason or "column 2 (2)" in reason for reason in found.certificate.reasons)
    assert found.work < 1500


def test_no_column_is_named_without_need():
    assert rare(np.array([5, 6]), 5, NO_NAMES) == ""
    assert "whatever the network" in rare(np.array([5, 4]), 5, NO_NAMES)
