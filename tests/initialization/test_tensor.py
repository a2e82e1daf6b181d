"""Tensor initialization: exact from exact moments, close from samples, honest about what it cannot do."""

import numpy as np
import pytest
from tests.catalogue import UNIQUE
from tests.contract.awkward import Awkward

import weightlift as wl
from weightlift import errors, samples
from weightlift.activations import custom
from weightlift.initialization import tensor_init
from weightlift.network import Network, unit_distances

ALL = UNIQUE
ODD_POWER = custom(
    "cube", lambda z: z**3, lambda z: 3 * z**2, second_derivative=lambda z: 6 * z, degree=3, reflection=(-1, (0.0,))
)
SIGNED_SQUARE = custom(
    "signed square",
    lambda z: z * abs(z),
    lambda z: 2 * abs(z),
    second_derivative=lambda z: 2 * np.sign(z),
    kinks=(0.0,),
    degree=2,
    reflection=(-1, (0.0,)),
)


def error(estimate, truth):
    from scipy.optimize import linear_sum_assignment

    gaps = unit_distances(estimate.canonical(), truth.canonical())
    return gaps[linear_sum_assignment(gaps)].max()


@pytest.mark.parametrize("activation", [*ALL, ODD_POWER, SIGNED_SQUARE], ids=lambda a: getattr(a, "name", a))
@pytest.mark.parametrize("kappa", [1.0, 4.0])
def test_exact_moments_give_the_units(activation, kappa, seed):
    """Every activation of zhong2017's table, signed output weights, to 1e-8."""
    truth = wl.teachers.conditioned(8, 4, kappa=kappa, activation=activation, rng=seed)
    start = tensor_init(samples.population(truth), 4, activation, rng=seed)
    assert error(start.network, truth) < 1e-8
    assert start.network.canonical().c == pytest.approx(truth.canonical().c, abs=1e-8)


@pytest.mark.parametrize(
    "activation",
    ["relu", "leaky_relu", "squared_relu", "absolute", "tanh", "sigmoid", ODD_POWER],
    ids=lambda a: getattr(a, "name", a),
)
def test_paper_preset_is_exact_on_exact_moments(activation, seed):
    """Odd φ too, whose P2 = M3(I, I, α) has eigenvalues as small as a random α makes them."""
    truth = wl.teachers.conditioned(8, 4, activation=activation, rng=seed)
    start = tensor_init(samples.population(truth), 4, activation, preset="paper", rng=seed)
    assert error(start.network, truth) < 1e-6


def test_paper_preset_ends_with_kcl():
    """Algorithm 1 has no least squares on the tensor after KCL."""
    truth = wl.teachers.conditioned(6, 3, activation="squared_relu", rng=0)
    data = samples.open(*wl.draw(truth, 5000, rng=0))
    assert not tensor_init(data, 3, "squared_relu", preset="paper").decomposition.refined
    assert tensor_init(data, 3, "squared_relu").decomposition.refined


@pytest.mark.parametrize("activation", ["relu", "squared_relu", "tanh"])
def test_a_large_sample_approaches_the_population(activation):
    truth = wl.teachers.conditioned(10, 3, activation=activation, rng=0)
    errors = []
    for n in (5000, 80_000):
        trials = []
        for seed in range(5):
            X, y = wl.draw(truth, n, rng=seed)
            trials.append(error(tensor_init(samples.open(X, y), 3, activation, rng=seed).network, truth))
        errors.append(np.median(trials))
    assert errors[1] < 0.1
    assert errors[1] < 0.5 * errors[0]


@pytest.mark.parametrize("split", [False, True])
def test_awkward_source_gives_the_same_start(split):
    truth = wl.teachers.conditioned(4, 2, activation="squared_relu", rng=0)
    X, y = wl.draw(truth, 900, rng=0)
    data = samples.open(X, y)
    plain, awkward = (tensor_init(s, 2, "squared_relu", split=split, rng=3).network for s in (data, Awkward(source=data)))
    np.testing.assert_allclose(plain.W, awkward.W, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("preset", ["default", "paper"])
@pytest.mark.parametrize("split", [False, True])
def test_presets_approach_the_truth(preset, split):
    truth = wl.teachers.conditioned(4, 2, activation="squared_relu", rng=0)
    X, y = wl.draw(truth, 60_000, rng=0)
    start = tensor_init(samples.open(X, y), 2, "squared_relu", preset=preset, split=split, rng=3)
    assert error(start.network, truth) < {"default": 0.2, "paper": 0.6}[preset]


def test_rotation_of_the_inputs_rotates_the_units():
    truth = wl.teachers.conditioned(6, 3, activation="relu", rng=0)
    X, y = wl.draw(truth, 20_000, rng=0)
    Q = np.linalg.qr(np.random.default_rng(1).normal(size=(6, 6)))[0]
    plain = tensor_init(samples.open(X, y), 3, "relu").network
    turned = tensor_init(samples.open(X @ Q, y), 3, "relu").network
    assert error(Network(Q @ turned.W, turned.a, activation="relu"), plain) < 1e-5


def test_implicit_route_agrees_with_the_dense_one():
    truth = wl.teachers.conditioned(10, 3, activation="relu", rng=0)
    X, y = wl.draw(truth, 20_000, rng=0)
    dense, implicit = (tensor_init(samples.open(X, y), 3, "relu", subspace=m).network for m in ("dense", "lanczos"))
    assert error(dense, implicit) < 1e-4


def test_what_it_cannot_do_is_refused():
    truth = wl.teachers.conditioned(5, 2, rng=0, activation="squared_relu")
    X, y = wl.draw(truth, 100, rng=0)
    with pytest.raises(errors.ArgumentError, match="k ≤ d"):
        tensor_init(samples.open(X, y), 6, "relu")
    with pytest.raises(errors.TooFewRowsError, match="rows"):
        tensor_init(samples.open(X[:8], y[:8]), 2, "relu")
    with pytest.raises(errors.ActivationError, match="quadratic"):
        tensor_init(samples.open(X, y), 2, "quadratic")
    with pytest.raises(errors.ArgumentError, match="preset"):
        tensor_init(samples.open(X, y), 2, "relu", preset="best")
