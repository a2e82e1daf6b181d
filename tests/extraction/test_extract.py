"""Extraction from black boxes: the units to rounding, within the queries promised; no certificate for what is no network."""

import numpy as np
import pytest

import weightlift as wl
from weightlift.errors import ArgumentError, OracleError
from weightlift.network import unit_distances


def network(d, k, seed, activation="relu", scale=1.0, outputs=None, linear=False):
    rng = np.random.default_rng(seed)
    several = () if outputs is None else (outputs,)
    W, a, b = scale * rng.standard_normal((d, k)), rng.standard_normal((k, *several)), rng.standard_normal(k)
    c = rng.standard_normal(several)
    V = rng.standard_normal((d, *several)) if linear else None
    return wl.Network(W, a, b, c, activation, V)


def error(found, truth):
    """Largest relative error of a unit after matching, several outputs by a random mix of them."""
    if found.n_units != truth.n_units:
        return np.inf
    if truth.a.ndim == 2:
        u = np.random.default_rng(0).standard_normal(truth.n_outputs)
        found, truth = found.combined(u), truth.combined(u)
    from scipy.optimize import linear_sum_assignment

    gaps = np.minimum(unit_distances(found.canonical(), truth.canonical()), 2.0)
    i, j = linear_sum_assignment(gaps)
    return gaps[i, j].max()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("d", "k", "most"), [(10, 10, 3.0), (10, 15, 4.0), (10, 20, 4.0), (3, 8, 8.0), (1, 3, 40.0), (6, 1, 8.0)]
)
def test_relu_by_lines(d, k, most, seed):
    truth = network(d, k, seed)
    found = wl.extract(truth.predict, d, rng=seed)
    assert error(found.network, truth) < 1e-9
    assert found.queries <= most * (d * k + 2 * k + 1)
    if d >= 6:
        assert found.certificate.status is wl.Status.EXACT
    else:  # with more units than coordinates, sums of some may equal sums of others on all rows
        assert found.certificate.status in (wl.Status.EXACT, wl.Status.AMBIGUOUS)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", ["tanh", "sigmoid", "erf", "softplus"])
def test_smooth_by_derivatives(name, seed):
    truth = network(12, 5, seed, name, scale=12**-0.5)
    found = wl.extract(truth.predict, 12, activation=name, rng=seed)
    assert error(found.network, truth) < 1e-8
    assert found.queries <= 3.5 * (12 * 5 + 11)
    assert found.certificate


@pytest.mark.parametrize("name", ["leaky_relu", "absolute"])
def test_other_kinks(name):
    truth = network(7, 5, 1, name)
    found = wl.extract(truth.predict, 7, activation=name)
    assert error(found.network, truth) < 1e-9


@pytest.mark.parametrize("name", ["relu", "tanh"])
def test_several_outputs_need_fewer_queries(name):
    truth = network(12, 6, 3, name, scale=0.5, outputs=5)
    found = wl.extract(truth.predict, 12, activation=name)
    assert error(found.network, truth) < 1e-8
    assert found.network.predict(np.ones((2, 12))).shape == (2, 5)
    assert found.certificate
    assert found.queries < 1.6 * (12 * 6 + 6 + 6 * 5 + 5)


def test_linear_part_of_smooth_units_is_found():
    truth = network(10, 4, 5, "tanh", scale=0.4, linear=True)
    found = wl.extract(truth.predict, 10, activation="tanh")
    np.testing.assert_allclose(found.network.V, truth.V, rtol=1e-8)
    assert found.certificate.status is wl.Status.EXACT


def test_beside_a_linear_part_relu_units_face_either_way():
    truth = network(10, 4, 5, linear=True)
    found = wl.extract(truth.predict, 10)
    X = np.random.default_rng(0).standard_normal((50, 10))
    np.testing.assert_allclose(found.network.predict(X), truth.predict(X), rtol=1e-9, atol=1e-9)
    assert any("moves the linear part" in symmetry for symmetry in found.certificate.symmetries)


def test_units_far_out_are_found():
    """A unit whose kink lies 18 standard deviations from the inputs, as in trained networks."""
    truth = network(8, 4, 2)
    b = truth.b.copy()
    b[1] = -18.0 * np.linalg.norm(truth.W[:, 1])
    truth = wl.Network(truth.W, truth.a, b, truth.c)
    found = wl.extract(truth.predict, 8)
    assert error(found.network, truth) < 1e-9


def test_dead_units_are_not_invented():
    truth = network(8, 4, 2)
    a = truth.a.copy()
    a[2] = 0.0
    found = wl.extract(wl.Network(truth.W, a, truth.b, truth.c).predict, 8, n_units=4)
    assert found.network.n_units == 3
    assert "1 of the 4 units" in found.unseen[0]


def test_inputs_that_are_shifted_and_scaled():
    truth = network(6, 5, 4)
    center, scale = np.array([1e3, -50, 0, 2, 7, 0.1]), np.array([100.0, 10, 1, 0.1, 3, 1])
    moved = wl.Network(truth.W / scale[:, None], truth.a, truth.b - (center / scale) @ truth.W, truth.c)
    found = wl.extract(moved.predict, 6, center=center, scale=scale)
    assert error(found.network, moved) < 1e-8


@pytest.mark.parametrize("name", ["relu", "tanh"])
def test_activation_need_not_be_known(name):
    truth = network(9, 4, 7, name, scale=0.4)
    found = wl.extract(truth.predict, 9, activation="auto")
    assert found.network.activation.name == name
    assert error(found.network, truth) < 1e-8


def test_float32_answers_are_seen_and_matched():
    truth = network(20, 10, 4, scale=0.25)
    W, a, b, c = (np.float32(v) for v in (truth.W, truth.a, truth.b, truth.c))
    found = wl.extract(lambda X: np.maximum(X.astype(np.float32) @ W + b, 0) @ a + c, 20)
    assert found.quantum == "float32"
    assert error(found.network, truth) < 1e-4
    assert found.queries <= 6 * 221
    assert found.certificate.status is wl.Status.STATISTICAL


def test_noisy_answers_have_intervals():
    truth = network(4, 2, 1)
    rng = np.random.default_rng(0)
    found = wl.extract(lambda X: truth.predict(X) + 0.01 * rng.standard_normal(len(X)), 4, n_units=2, budget=3000)
    assert found.queries <= 3000
    assert found.certificate.status is wl.Status.STATISTICAL
    assert found.certificate.locate(truth)[0].all()


def deep(X):
    return network(6, 3, 1).predict(network(5, 4, 0, outputs=6).predict(X))


NO_NETWORKS = {
    "deep": deep,
    "tree": lambda X: 1.0 * (X[:, 0] > 0.3) + 2.0 * (X[:, 1] > 0) * (X[:, 2] > 1),
    "polynomial": lambda X: X[:, 0] * X[:, 1] + X[:, 2] ** 3,
    "mixed": lambda X: network(5, 2, 0).predict(X) + network(5, 2, 1, "tanh").predict(X),
    "another activation": network(5, 3, 0, "tanh").predict,
    "rounded": lambda X: np.round(network(5, 3, 0).predict(X) * 2) / 2,
    "maximum": lambda X: X.max(axis=1),
    "product": lambda X: network(5, 2, 0).predict(X) * network(5, 2, 1).predict(X),
}


@pytest.mark.parametrize("activation", ["relu", "tanh", pytest.param("auto", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", NO_NETWORKS)
def test_what_is_no_network_is_not_certified(name, activation):
    if (name, activation) in {("another activation", "tanh"), ("another activation", "auto")}:
        pytest.skip("is one")
    found = wl.extract(NO_NETWORKS[name], 5, activation=activation, budget=20_000)
    assert not found.certificate
    assert found.certificate.reasons


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


def test_an_oracle_that_changes_its_argument_does_no_harm():
    truth = network(6, 3, 0)

    def rude(X):
        y = truth.predict(X)
        X[:] = 0.0
        return y

    assert error(wl.extract(rude, 6).network, truth) < 1e-9


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
