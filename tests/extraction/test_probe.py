"""What a probe sees of the answers: their precision, their scale, an argument that is changed."""

import numpy as np
from tests.extraction.boxes import error, network

import weightlift as wl
from weightlift.extraction.probe import AnswerGrid


def test_inputs_that_are_shifted_and_scaled():
    truth = network(6, 5, 4)
    center, scale = np.array([1e3, -50, 0, 2, 7, 0.1]), np.array([100.0, 10, 1, 0.1, 3, 1])
    moved = wl.Network(truth.W / scale[:, None], truth.a, truth.b - (center / scale) @ truth.W, truth.c)
    found = wl.extract(moved.predict, 6, center=center, scale=scale)
    assert error(found.network, moved) < 1e-8


def test_float32_answers_are_seen_and_matched():
    truth = network(20, 10, 4, scale=0.25)
    W, a, b, c = (np.float32(v) for v in (truth.W, truth.a, truth.b, truth.c))
    found = wl.extract(lambda X: np.maximum(X.astype(np.float32) @ W + b, 0) @ a + c, 20)
    assert found.quantum == "float32"
    assert error(found.network, truth) < 1e-4
    assert found.queries <= 6 * 221
    assert found.certificate.status is wl.Status.STATISTICAL


def test_an_oracle_that_changes_its_argument_does_no_harm():
    truth = network(6, 3, 0)

    def rude(X):
        y = truth.predict(X)
        X[:] = 0.0
        return y

    assert error(wl.extract(rude, 6).network, truth) < 1e-9


def test_steps_are_not_taken_for_rounding():
    """Whole numbers below a hundred are a function's own: within half of one all that is linear would explain them."""
    X = np.random.default_rng(0).standard_normal((6, 3))
    assert not AnswerGrid.of(np.floor(3 * X)).coarse
    assert AnswerGrid.of(np.floor(3000 * X)).name == "0 decimal places"
    assert AnswerGrid.of(np.round(3 * X, 3)).name == "3 decimal places"
    assert not wl.extract(lambda X: np.floor(X.sum(axis=1)), 3).certificate
