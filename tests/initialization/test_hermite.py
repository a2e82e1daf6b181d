"""Starts for networks with biases: exact from exact coefficients, n^(-1/2) from rows, honest about what they cannot do."""

import numpy as np
import pytest
from tests.contract.awkward import Awkward

import weightlift as wl
from weightlift import errors, samples
from weightlift.initialization import hermite_init

PRESETS = ["default", "paper"]


def planted(d, k, rng, activation="relu"):
    """Biases 0 (twice), 1, −1 among others: roots of He_1 and He_2, where T_3 or T_4 loses a unit."""
    net = wl.teachers.biased(d, k, bias=1.5, activation=activation, rng=rng)
    b = net.b.copy()
    b[:4] = [0.0, 0.0, 1.0, -1.0][:k]
    return wl.Network(net.W, net.a, b, activation=activation)


def error(found, truth):
    m = wl.match(found, truth)
    return max(m.max_error, m.a_error, m.b_error) if m.signs_agree else np.inf


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(("d", "k"), [(10, 1), (10, 4), (10, 10), (4, 7), (5, 9)])
def test_exact_coefficients_give_the_units(d, k, preset, rng):
    """ℓ = 1 and ℓ = 2, parameters and signs to 1e-8."""
    truth = planted(d, k, rng)
    start = hermite_init(samples.population(truth), k, preset=preset, rng=rng)
    assert start.directions.order == (1 if k <= d else 2)
    assert error(start.network, truth) < 1e-8


@pytest.mark.parametrize("preset", PRESETS)
def test_order_three(preset):
    """Seven units in three dimensions: w^{⊗3} are independent with room to spare."""
    truth = planted(3, 7, np.random.default_rng(1))
    start = hermite_init(samples.population(truth), 7, order=3, preset=preset)
    assert start.directions.impurity.max() < 1e-6
    assert error(start.network, truth) < 1e-8


@pytest.mark.parametrize("activation", ["leaky_relu", "absolute", "squared_relu", "softplus", "tanh", "sigmoid"])
def test_other_activations_with_biases(activation, rng):
    truth = planted(8, 4, rng, activation)
    if truth.activation.degree is None:
        truth = wl.Network(truth.W * rng.uniform(0.7, 1.6, 4), truth.a, truth.b, activation=activation)
    start = hermite_init(samples.population(truth), 4, activation)
    assert wl.distance(start.network, truth).value < 1e-7
    if activation in ("leaky_relu", "absolute"):
        paper = hermite_init(samples.population(truth), 4, activation, preset="paper")
        assert wl.distance(paper.network, truth).value < 1e-7


def test_a_free_constant_is_read_from_the_mean(rng):
    truth = planted(6, 4, rng)
    shifted = wl.Network(truth.W, truth.a, truth.b, 0.7)
    start = hermite_init(samples.population(shifted), 4, offset=True)
    assert start.network.c == pytest.approx(0.7, abs=1e-9)
    assert error(start.network, shifted) < 1e-8


@pytest.mark.parametrize("preset", PRESETS)
def test_the_width_is_counted(preset, rng):
    truth = planted(7, 4, rng)
    assert hermite_init(samples.population(truth), None, preset=preset).network.n_units == 4
    if preset == "default":
        orthogonal = wl.Network(np.linalg.qr(truth.W)[0], truth.a, truth.b)
        assert hermite_init(samples.open(*wl.draw(orthogonal, 20_000, rng=rng)), None).network.n_units == 4


def test_rows_approach_the_truth_at_the_root_rate():
    """d = 8, k = 3: 16 times the rows, a quarter of the error; far below the two-tensor route."""
    medians = {}
    for n in (10_000, 160_000):
        trials = []
        for seed in range(5):
            truth = wl.teachers.biased(8, 3, rng=seed)
            trials.append(error(hermite_init(samples.open(*wl.draw(truth, n, rng=seed + 9)), 3, rng=seed).network, truth))
        medians[n] = np.median(trials)
    assert medians[160_000] < 0.05
    assert 0.12 < medians[160_000] / medians[10_000] < 0.5


def test_the_default_needs_fewer_rows_than_the_paper():
    better = 0
    for seed in range(3):
        truth = wl.teachers.biased(4, 2, rng=seed)
        source = samples.open(*wl.draw(truth, 60_000, rng=seed))
        default = error(hermite_init(source, 2, rng=seed).network, truth)
        try:
            paper = error(hermite_init(source, 2, preset="paper", rng=seed).network, truth)
        except errors.TooFewRowsError:
            paper = np.inf
        better += default < 0.5 * paper
        assert default < 0.1
    assert better == 3


def test_more_units_than_inputs_from_rows():
    """d = 3, k = 5, ℓ = 2: moments of the orders 4 to 6 of 200,000 rows lead Gauss–Newton to the network."""
    from weightlift.refinement import gauss_newton

    truth = wl.teachers.biased(3, 5, rng=3)
    source = samples.open(*wl.draw(truth, 200_000, rng=1))
    start = hermite_init(source, 5, rng=0)
    end = gauss_newton(source.split(0.01, seed=0)[0], start.network, free="Wab", unit=True).network
    assert wl.distance(end, truth).value < 1e-10


def test_awkward_blocks_and_namespaces_give_the_same_start(as_xp):
    truth = wl.teachers.biased(4, 2, rng=0)
    X, y = wl.draw(truth, 400, rng=0)
    plain = hermite_init(samples.open(X, y), 2).network
    for source in (samples.open(as_xp(X), as_xp(y)), Awkward(source=samples.open(X, y))):
        other = hermite_init(source, 2).network
        np.testing.assert_allclose(other.W, plain.W, atol=1e-7)
        np.testing.assert_allclose(other.b, plain.b, atol=1e-7)


def test_rotation_of_the_inputs_rotates_the_units(rng):
    truth = wl.teachers.biased(6, 3, rng=rng)
    X, y = wl.draw(truth, 20_000, rng=rng)
    Q = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    plain, turned = (hermite_init(samples.open(Z, y), 3).network for Z in (X, X @ Q))
    assert error(wl.Network(Q @ turned.W, turned.a, turned.b), plain) < 1e-5


@pytest.mark.parametrize("preset", PRESETS)
def test_degenerate_networks_are_named(preset, rng):
    truth = planted(6, 4, rng)
    W = truth.W.copy()
    W[:, 3] = -W[:, 2]
    for broken in (wl.Network(W, truth.a, truth.b), wl.Network(truth.W, truth.a * [1, 1, 0, 1], truth.b)):
        with pytest.raises(errors.SingularError, match=r"parallel|zero"):
            hermite_init(samples.population(broken), 4, preset=preset)
        with pytest.raises(errors.SingularError, match=r"parallel|zero"):
            hermite_init(samples.population(broken), 4, order=2, preset=preset)


def test_too_few_rows_say_how_many_would_do():
    truth = wl.teachers.biased(6, 3, rng=0)
    X, y = wl.draw(truth, 400, rng=0)
    with pytest.raises(errors.TooFewRowsError, match=r"About .* rows would do"):
        hermite_init(samples.open(X, y), 3, preset="paper")
    rng = np.random.default_rng(0)
    with pytest.raises(errors.TooFewRowsError, match="rows would do"):
        hermite_init(samples.open(X, rng.normal(size=400)), None)
    with pytest.raises(errors.TooFewRowsError, match="2 d rows"):
        hermite_init(samples.open(X[:8], y[:8]), 3)


def test_what_it_cannot_do_is_refused():
    exact = samples.population(wl.teachers.biased(20, 3, rng=0))
    with pytest.raises(errors.ArgumentError, match=r"ℓ = 4 .* GiB"):
        hermite_init(exact, 3, order=4, max_memory=2**28)
    with pytest.raises(errors.ArgumentError, match=r"ℓ = 4 .* GiB"):
        hermite_init(exact, 3, order=4, max_memory=2**28, preset="paper")
    with pytest.raises(errors.ArgumentError, match="preset"):
        hermite_init(exact, 3, preset="best")
    with pytest.raises(errors.ArgumentError, match="n_units"):
        hermite_init(exact, 0)
    with pytest.raises(errors.ActivationError, match="tanh"):
        hermite_init(exact, 3, "tanh", preset="paper")
    with pytest.raises(errors.ActivationError, match="tanh"):
        hermite_init(exact, 3, "tanh", order=2)
    with pytest.raises(errors.ActivationError, match="quadratic"):
        hermite_init(exact, 3, "quadratic")
    with pytest.raises(errors.ArgumentError, match="n_units must be given"):
        hermite_init(exact, None, order=2)
    with pytest.raises(errors.ArgumentError, match="parallel"):
        hermite_init(samples.population(wl.teachers.biased(1, 2, rng=0)), 2)


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_the_function_is_learned_where_signs_are_too_many_to_try(preset):
    """d = 8, ℓ = 2: 35 of at most 36 units, whose signs obey nine conditions; the regression knows no signs  [Thm 3.2]."""
    truth = wl.teachers.biased(8, 35, rng=0)
    start = hermite_init(samples.population(truth), 35, order=2, preset=preset)
    assert start.signs is None
    assert start.function is not None
    assert start.network.n_units <= 37
    assert float(wl.distance(start.network, truth)) < 1e-10
    U = truth.W / np.linalg.norm(truth.W, axis=0)
    assert np.abs(start.directions.U.T @ U).max(axis=0).min() > 1 - 1e-9
