"""`recover`: exact at a few rows a parameter, honest when it is not, the same on every source."""

import numpy as np
import pytest
from tests.contract.awkward import Awkward

import weightlift as wl
from weightlift import errors, samples
from weightlift.network import Network

NOISELESS = [
    ("relu", 8, 3, 3.5, False),
    ("squared_relu", 8, 3, 3.0, False),
    ("leaky_relu", 8, 3, 3.5, False),
    ("tanh", 8, 3, 3.5, False),
    ("sigmoid", 8, 3, 3.5, False),
    ("absolute", 8, 3, 4.0, False),
    ("softplus", 6, 2, 6.0, False),
    ("relu", 8, 3, 5.0, True),
]


def planted(activation, d, k, bias, seed):
    return wl.teachers.biased(d, k, rng=seed) if bias else wl.teachers.conditioned(d, k, activation=activation, rng=seed)


@pytest.mark.parametrize(("activation", "d", "k", "ratio", "bias"), NOISELESS)
def test_a_few_rows_a_parameter_are_enough(activation, d, k, ratio, bias):
    truth = planted(activation, d, k, bias, 3)
    X, y = wl.draw(truth, int(ratio * k * (d + 1)), rng=4)
    found = wl.recover(X, y, n_units=k, activation=activation, bias=bias)
    assert found.certificate.status is wl.Status.EXACT, found
    assert found.network.equivalent(truth, tol=1e-9)
    assert np.all(found.certificate.locate(truth)[0])
    assert "EXACT" in str(found)


@pytest.mark.parametrize("size", [1e4, 1e9])
def test_columns_in_units_of_any_size(size):
    truth = wl.teachers.conditioned(6, 3, activation="relu", rng=0)
    X, _ = wl.draw(truth, 150, covariance=np.eye(6) + 0.5, rng=1)
    units = np.array([1.0, 1 / size, 1.0, 1.0, size, 1.0])
    found = wl.recover(X * units, truth.predict(X), n_units=3)
    assert found.certificate.status is wl.Status.EXACT
    assert wl.match(Network(found.network.W * units[:, None], found.network.a), truth).max_error < 1e-10


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_gaussian_inputs_of_any_mean_and_covariance(activation):
    """The network comes back in the raw inputs, without biases it never had."""
    truth = wl.teachers.conditioned(6, 2, activation=activation, rng=1)
    A = np.random.default_rng(0).normal(size=(6, 6)) / 3 + np.eye(6)
    X, y = wl.draw(truth, 4000, mean=np.linspace(-1, 1, 6), covariance=A @ A.T, rng=2)
    for method in ("tensor", "auto"):
        found = wl.recover(X, y, n_units=2, activation=activation, method=method)
        assert found.certificate.status is wl.Status.EXACT, found
        assert found.network.equivalent(truth, tol=1e-9)
        assert not found.network.b.any()


def test_noise_gives_a_statistical_certificate():
    truth = wl.teachers.conditioned(6, 2, activation="relu", rng=0)
    X, y = wl.draw(truth, 1500, noise_std=0.1, rng=1)
    found = wl.recover(X, y, n_units=2, activation="relu")
    assert found.certificate.status is wl.Status.STATISTICAL, found
    assert np.all(found.certificate.locate(truth)[0])
    assert found.certificate.noise_std == pytest.approx(0.1, rel=0.1)


def test_blocks_of_few_rows_give_the_same_network():
    """Other sources and namespaces: tests/contract."""
    truth = wl.teachers.conditioned(5, 2, activation="relu", rng=0)
    X, y = wl.draw(truth, 200, noise_std=0.05, rng=0)
    plain = wl.recover(X, y, n_units=2, activation="relu").network
    awkward = wl.recover(Awkward(source=samples.open(X, y)), n_units=2, activation="relu").network
    np.testing.assert_allclose(awkward.W, plain.W, atol=1e-9)
    np.testing.assert_allclose(awkward.a, plain.a, atol=1e-9)


def test_the_same_seed_gives_the_same_answer():
    truth = wl.teachers.conditioned(6, 2, activation="tanh", rng=0)
    X, y = wl.draw(truth, 60, rng=0)
    first, second = (wl.recover(X, y, n_units=2, activation="tanh", rng=5) for _ in range(2))
    assert np.array_equal(first.network.W, second.network.W)
    assert first.stages == second.stages


@pytest.mark.parametrize("width", [2, 4])
def test_a_wrong_width_is_not_certified_as_asked(width):
    """Too narrow: no certificate. Too wide: none either, or the true units and no more."""
    truth = wl.teachers.conditioned(6, 3, activation="relu", rng=0)
    X, y = wl.draw(truth, 200, rng=0)
    found = wl.recover(X, y, n_units=width, activation="relu", max_work=1500)
    if found.certificate:
        assert found.network.equivalent(truth, tol=1e-8)
    else:
        assert found.certificate.reasons
    assert bool(found.certificate) <= (width == 4)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_width_is_found(seed):
    truth = wl.teachers.conditioned(8, 3, activation="relu", rng=seed)
    X, y = wl.draw(truth, 1200, rng=seed)
    found = wl.recover(X, y, n_units="auto", activation="relu")
    assert found.network.equivalent(truth, tol=1e-9)
    assert found.certificate.status is wl.Status.EXACT
    assert any("rank 3" in sentence for sentence in found.width_evidence)


def test_no_more_rows_than_parameters_cost_one_fit():
    truth = wl.teachers.conditioned(10, 3, activation="relu", rng=0)
    X, y = wl.draw(truth, 30, rng=0)
    found = wl.recover(X, y, n_units=3, activation="relu")
    assert found.certificate.status is wl.Status.FAILED
    assert "rows" in found.certificate.reasons[0]
    assert len(found.stages) == 1
    assert found.stages[0].starts == 1
    assert np.isfinite(found.network.W).all()


def test_a_spent_budget_returns_the_best_network():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 5)), rng.normal(size=300)
    found = wl.recover(X, y, n_units=3, activation="relu", max_work=100)
    assert not found.certificate
    assert np.isfinite(found.network.predict(X)).all()
    assert found.certificate.reasons


def test_known_output_weights_that_are_wrong_are_named_beside_the_failure():
    truth = wl.teachers.conditioned(5, 2, signs=False, activation="relu", rng=2)
    X, y = wl.draw(truth, 60, rng=3)
    found = wl.recover(X, y, n_units=2, output_weights=[1.0, -1.0], max_work=100)
    assert not found.certificate
    assert "output_weights" in found.certificate.reasons[-1]


def test_known_output_weights_are_kept():
    truth = wl.teachers.conditioned(6, 2, signs=False, activation="relu", rng=0)
    X, y = wl.draw(truth, 100, rng=0)
    found = wl.recover(X, y, n_units=2, activation="relu", output_weights=[1.0, 1.0])
    assert set(found.network.a) == {1.0}
    assert found.certificate.status is wl.Status.EXACT
    assert found.network.equivalent(truth, tol=1e-9)


def test_weights_are_duplicates():
    truth = wl.teachers.conditioned(5, 2, activation="relu", rng=0)
    X, y = wl.draw(truth, 1000, noise_std=0.05, rng=0)
    weight = np.ones(1000)
    weight[:40] = 2.0
    weighted = wl.recover(X, y, n_units=2, activation="relu", sample_weight=weight).network.canonical()
    doubled = wl.recover(np.vstack([X, X[:40]]), np.r_[y, y[:40]], n_units=2, activation="relu").network.canonical()
    np.testing.assert_allclose(weighted.W, doubled.W, atol=1e-7)


def test_inputs_that_are_not_gaussian():
    """Moments warn with the statistic; the default route needs no Gaussian and stays exact."""
    rng = np.random.default_rng(0)
    truth = wl.teachers.conditioned(6, 2, activation="relu", rng=0)
    X = rng.choice([-1.0, 0.0, 2.0], size=(400, 6)) + 0.1 * rng.uniform(size=(400, 6))
    y = truth.predict(X)
    with pytest.warns(errors.NotGaussianWarning, match="standard errors"):
        wl.recover(X, y, n_units=2, activation="relu", method="tensor")
    found = wl.recover(X, y, n_units=2, activation="relu")
    assert "not Gaussian" in found.stages[0].outcome
    assert found.certificate.status is wl.Status.EXACT
    assert found.network.equivalent(truth, tol=1e-8)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"n_units": 0}, "n_units"),
        ({"n_units": 1.5}, "n_units"),
        ({"n_units": True}, "n_units"),
        ({"n_units": 2, "method": "magic"}, "method"),
        ({"n_units": 2, "activation": "rule"}, "relu"),
        ({"n_units": 2, "output_weights": "ones"}, "output_weights"),
        ({"n_units": 2, "output_weights": [1.0]}, r"output_weights must have shape \(2,\).*not \(1,\)"),
        ({"n_units": 2, "output_weights": [1.0, 0.0]}, r"output_weights\[1\] is 0"),
        ({"n_units": 2, "output_weights": ["a", "b"]}, "output_weights must be 'free' or 2 real numbers"),
        ({"n_units": 2, "output_weights": [1j, 1.0]}, "output_weights must be 'free' or 2 real numbers"),
        ({"n_units": 2, "max_work": "much"}, "max_work"),
        ({"n_units": 2, "bias": "yes"}, "bias"),
        ({"n_units": 2, "offset": None}, "offset"),
    ],
)
def test_bad_arguments_are_named(arguments, word):
    rng = np.random.default_rng(0)
    with pytest.raises(errors.ArgumentError, match=word):
        wl.recover(rng.normal(size=(50, 4)), rng.normal(size=50), **arguments)


def test_bad_data_are_named():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4))
    with pytest.raises(errors.ArgumentError, match="constant"):
        wl.recover(X, np.full(50, 3.0), n_units=2)
    with pytest.raises(errors.ArgumentError, match="population"):
        wl.recover(samples.population(Network(np.eye(3))), n_units=2)
    with pytest.raises(errors.ArgumentError, match="k ≤ d"):
        wl.recover(X, X[:, 0], n_units=5, method="tensor")
    X[:, 3] = X[:, 0] + X[:, 1]
    with pytest.warns(UserWarning, match="dependent"):
        found = wl.recover(X, np.maximum(X[:, 0], 0) + np.maximum(X[:, 3], 0), n_units=2, max_work=200)
    assert not found.certificate


@pytest.mark.parametrize("size", [1e-150, 1e150, 1e300])
def test_targets_whose_powers_vanish_or_overflow_are_refused(size: float) -> None:
    truth = wl.teachers.conditioned(6, 2, activation="relu", rng=0)
    X, y = wl.draw(truth, 100, rng=1)
    with np.errstate(over="ignore"), pytest.raises(errors.ArgumentError, match="divide y by"):
        wl.recover(X, size * y, n_units=2)
    scaled = Network(truth.W, size * truth.a, activation="relu")
    assert wl.certify(scaled, X, size * y).status is wl.Status.FAILED
