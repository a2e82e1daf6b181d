"""Extraction from black boxes: the units to rounding, within the queries promised; no certificate for what is no network."""

import numpy as np
import pytest
from tests.extraction.boxes import error, network

import weightlift as wl
from weightlift.certificate import Topic
from weightlift.errors import ArgumentError, OracleError


@pytest.mark.parametrize("name", ["relu", "tanh"])
def test_several_outputs_need_fewer_queries(name):
    truth = network(12, 6, 3, name, scale=0.5, outputs=5)
    found = wl.extract(truth.predict, 12, activation=name)
    assert error(found.network, truth) < 1e-8
    assert found.network.predict(np.ones((2, 12))).shape == (2, 5)
    assert found.certificate
    assert found.queries < 1.6 * (12 * 6 + 6 + 6 * 5 + 5)


def test_the_law_of_the_rows_is_assumed_of_tables_and_known_of_queries():
    truth = network(4, 3, 1)
    queried, given = wl.extract(truth.predict, 4).certificate, wl.certify(truth, *wl.draw(truth, 200, rng=0))
    assert queried
    assert "density" not in queried.headline
    assert [s.mark for s in queried.statements if s.topic is Topic.LAW] == ["PROVED"]
    assert "if the rows were drawn from a density" in given.headline
    assert [s.mark for s in given.statements if s.topic is Topic.LAW] == ["ASSUMED"]


def test_wider_than_allowed():
    found = wl.extract(network(6, 5, 0).predict, 6, n_units=3)
    assert found.certificate.status is wl.Status.FAILED
    assert "5 units were found" in found.certificate.reasons[0]


@pytest.mark.parametrize("budget", [60, 100, 150, 200])
def test_budget_is_never_exceeded(budget):
    asked = []
    truth = network(10, 10, 0)

    def oracle(X):
        asked.append(len(X))
        return truth.predict(X)

    found = wl.extract(oracle, 10, budget=budget)
    assert sum(asked) == found.queries <= budget
    assert not found.certificate


@pytest.mark.parametrize(
    ("oracle", "words"),
    [
        (lambda X: np.full(len(X), 3.0), "constant"),
        (lambda X: np.full(len(X), np.nan), "NaN"),
        (lambda X: X, None),
        (lambda X: X[:3, 0], "shape"),
        (lambda X: np.sort(X[:, 0]), "out of order"),
        (lambda X: ["a"] * len(X), "real numbers"),
        (lambda X: X[:, 0] * 1j, "real numbers"),
    ],
)
def test_bad_oracles_are_explained(oracle, words):
    if words is None:
        assert wl.extract(oracle, 4).network.n_units == 0  # the identity is linear
        return
    with pytest.raises(OracleError, match=words):
        wl.extract(oracle, 4)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n_inputs": 0}, "n_inputs"),
        ({"budget": 10}, "needs"),
        ({"budget": 0}, "budget"),
        ({"scale": -1.0}, "scale"),
        ({"center": [1.0, 2.0]}, "center"),
        ({"linear": "perhaps"}, "linear"),
        ({"n_units": 0}, "n_units"),
        ({"max_time": -1}, "max_time"),
        ({"retries": -1}, "retries"),
        ({"oracle": 3}, "oracle"),
    ],
)
def test_bad_arguments_are_refused_before_any_query(arguments, words):
    def never(X):
        raise AssertionError("asked")

    call = {"oracle": never, "n_inputs": 5, **arguments}
    with pytest.raises(ArgumentError, match=words):
        wl.extract(call.pop("oracle"), call.pop("n_inputs"), **call)


def test_same_seed_same_queries():
    truth = network(6, 3, 0)
    first, second = wl.extract(truth.predict, 6, rng=4), wl.extract(truth.predict, 6, rng=4)
    assert (first.asked[0] == second.asked[0]).all()
    assert (first.network.W == second.network.W).all()


def test_an_estimator_is_asked_for_its_predictions():
    pytest.importorskip("sklearn")
    from sklearn.neural_network import MLPRegressor

    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4))
    model = MLPRegressor(hidden_layer_sizes=(5,), max_iter=300, random_state=0, tol=0.1).fit(X, np.sin(X[:, 0]) + X[:, 1])
    found = wl.extract(model, 4)
    np.testing.assert_allclose(found.network.predict(X), model.predict(X), rtol=1e-9, atol=1e-9)


def test_answers_that_change_are_explained():
    truth = network(6, 4, 0)
    calls, rows = [0], [0]

    def drifting(X):
        calls[0] += 1
        return truth.predict(X) + 0.01 * calls[0]

    def changing(X):
        rows[0] += len(X)
        return truth.predict(X) * (1.1 if rows[0] > 100 else 1.0)

    for oracle, words in ((drifting, "from call to call"), (changing, "answers have changed")):
        found = wl.extract(oracle, 6, n_units=4, budget=600)
        assert not found.certificate
        assert any(words in reason for reason in found.certificate.reasons)


def test_a_budget_that_leaves_no_fresh_row_is_said():
    """Derivatives may spend all of it."""
    truth = network(3, 4, 0, "tanh")
    for budget in range(35, 60):
        found = wl.extract(lambda X: np.round(truth.predict(X), 3), 3, n_units=4, activation="tanh", budget=budget)
        assert found.queries <= budget
        assert not found.certificate
        assert found.certificate.reasons
