"""Answers in single precision: their error is measured, and small units are asked about alone."""

import numpy as np
import pytest
from tests.extraction.boxes import error

import weightlift as wl
from weightlift.extraction.estimate import Estimate, Frame
from weightlift.extraction.first_look import first_look
from weightlift.extraction.fresh import rows_alone
from weightlift.samples.oracle import Oracle


def single(seed, smallest=None):
    """Sequential(Linear(12, 6), ReLU(), Linear(6, 1)) as PyTorch initialises it, the last unit of the given output weight."""
    rng = np.random.default_rng(seed)
    sizes = ((12, 6), 12), (6, 12), (6, 6), ((), 6)
    W, b, a, c = (np.float32(rng.uniform(-1, 1, shape) / np.sqrt(inputs)) for shape, inputs in sizes)
    if smallest is not None:
        a[-1] = smallest
    truth = wl.Network(W.astype(float), a.astype(float), b.astype(float), float(c))
    return lambda X: np.maximum(X.astype(np.float32) @ W + b, 0) @ a + c, truth


@pytest.mark.parametrize("seed", range(4))
def test_all_units_to_four_digits(seed):
    oracle, truth = single(seed)
    found = wl.extract(oracle, 12, rng=seed)
    assert found.certificate.status is wl.Status.STATISTICAL
    assert found.quantum == "float32"
    assert error(found.network, truth) < 1e-4
    assert found.queries <= 8 * (12 * 6 + 13)  # a line of 94 queries is one a parameter here


@pytest.mark.parametrize("seed", range(3))
def test_a_small_unit_is_asked_about_alone(seed):
    oracle, truth = single(seed, smallest=3e-4)
    found = wl.extract(oracle, 12, rng=seed)
    assert found.certificate
    assert error(found.network, truth) < 1e-4


@pytest.mark.parametrize("unit", [0, 3])
def test_rows_at_which_one_unit_is_on_alone(unit):
    truth = Estimate.of(single(1)[1])
    rows = rows_alone(30, unit, 1.0, truth, np.random.default_rng(0))
    on = rows @ truth.N + truth.beta > 0
    assert 12 < len(rows) <= 30
    assert not np.delete(on, unit, axis=1).any()
    assert on[:, unit].any()
    assert not on[:, unit].all()
    assert np.linalg.matrix_rank(rows) == 12


def test_the_error_of_answers_is_that_of_many_places():
    for seed in range(20):
        oracle, truth = single(seed)
        rng = np.random.default_rng(seed)
        probe = first_look(Oracle(oracle, 12), Frame(np.zeros(12), np.ones(12)), rng)[0].calibrated(rng)
        X = rng.standard_normal((400, 12))
        errors = np.abs(oracle(X) - truth.predict(X))
        assert errors.max() <= 2 * probe.bounds(X).max()
        assert probe.noise() < 40 * errors.max()


@pytest.mark.parametrize("seed", range(3))
def test_answers_of_nothing_do_not_hide_how_the_others_are_rounded(seed):
    """Few units, no offset: of six answers some are 0, which lies on every grid."""
    rng = np.random.default_rng(seed)
    truth = wl.Network(rng.standard_normal((6, 2)), rng.standard_normal(2), activation="relu")
    found = wl.extract(lambda X: np.round(truth.predict(X), 6), 6, rng=seed)
    assert found.quantum == "6 decimal places"
    assert found.certificate.status is wl.Status.STATISTICAL
