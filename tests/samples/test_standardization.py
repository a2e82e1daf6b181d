"""Standard inputs: moments after, network back, merge without cancellation."""

import numpy as np
import pytest

from weightlift import errors, samples
from weightlift.namespaces import to_numpy
from weightlift.network import Network
from weightlift.samples import Covariance, Scaling, Standardized, Whitening


def correlated(rng, n=500, d=4, shift=3.0):
    A = rng.normal(size=(d, d)) + 2 * np.eye(d)
    return rng.normal(size=(n, d)) @ A + shift


def test_whitened_rows_have_unit_covariance(rng, as_xp):
    X, y = correlated(rng), rng.normal(size=500)
    w = rng.uniform(0.1, 2, size=500)
    source = samples.open(as_xp(X), as_xp(y), sample_weight=as_xp(w))
    white = source.map(Whitening.estimated(source))
    weight, mean, scatter = (to_numpy(s) for s in white.fold(Covariance(4)))
    np.testing.assert_allclose(mean, 0, atol=1e-12)
    np.testing.assert_allclose(scatter / weight, np.eye(4), atol=1e-11)


def test_covariance_agrees_with_numpy_far_from_the_origin(rng, limits):
    limits("weightlift.samples.stream", cache_bytes=2048, block_bytes=2048)
    X = correlated(rng, shift=1e6)
    w = rng.uniform(0.1, 2, size=500)
    source = samples.open(X, np.zeros(500), sample_weight=w)
    weight, mean, scatter = source.fold(Covariance(4))
    np.testing.assert_allclose(scatter / weight, np.cov(X.T, aweights=w, ddof=0), rtol=1e-8)
    np.testing.assert_allclose(mean, np.average(X, axis=0, weights=w), rtol=1e-14)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_a_network_goes_there_and_back(rng, activation):
    X = correlated(rng)
    net = Network(rng.normal(size=(4, 3)), rng.normal(size=3), rng.normal(size=3), 0.3, activation)
    whitening = Whitening.estimated(samples.open(X, np.zeros(500)))
    white = next(samples.open(X, np.zeros(500)).map(whitening).blocks(500)).X
    moved = whitening.on_network(net)
    np.testing.assert_allclose(moved.predict(white), net.predict(X), rtol=1e-9, atol=1e-9)
    back = whitening.undo(moved)
    np.testing.assert_allclose(back.W, net.W, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(back.b, net.b, rtol=1e-10, atol=1e-10)


def test_population_of_the_whitened_network(rng):
    net = Network(rng.normal(size=(4, 3)), activation="relu")
    A = rng.normal(size=(4, 4))
    whitening = Whitening.given(rng.normal(size=4), A @ A.T + np.eye(4), n_inputs=4)
    moved = samples.population(net).map(whitening)
    assert moved.network.equivalent(whitening.on_network(net))


def test_singular_or_wrong_covariances_are_refused(rng):
    X = correlated(rng)
    X[:, 2] = X[:, 0] - X[:, 1]
    with pytest.raises(errors.SingularError, match="dependent"):
        Whitening.estimated(samples.open(X, np.zeros(500)))
    X[:, 2] = 5.0
    with pytest.raises(errors.SingularError, match="column 2"):
        Whitening.estimated(samples.open(X, np.zeros(500)))
    with pytest.raises(errors.ShapeError, match="covariance"):
        Whitening.given(None, np.eye(3), n_inputs=4)
    with pytest.raises(errors.ArgumentError, match="symmetric"):
        Whitening.given(None, np.triu(np.ones((2, 2))), n_inputs=2)
    with pytest.raises(errors.SingularError):
        Whitening.given(None, np.diag([1.0, -1.0]), n_inputs=2)


@pytest.mark.parametrize("size", [1e2, 1e5, 1e9])
def test_the_units_of_the_columns_do_not_matter(rng, size):
    X = correlated(rng, shift=0.0)
    net = Network(rng.normal(size=(4, 3)), rng.normal(size=3), rng.normal(size=3), 0.3, "tanh")
    units = np.array([1.0, size, 1 / size, 3.0])
    net = Network(net.W / units[:, None], net.a, net.b, net.c, net.activation)
    source = samples.open(X * units, np.zeros(500))
    whitening = Whitening.estimated(source)
    white = source.map(whitening)
    weight, _, scatter = white.fold(Covariance(4))
    np.testing.assert_allclose(scatter / weight, np.eye(4), atol=1e-12)
    moved = whitening.on_network(net)
    np.testing.assert_allclose(moved.predict(next(white.blocks(500)).X), net.predict(X * units), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(whitening.undo(moved).W * units[:, None], net.W * units[:, None], atol=1e-11)


def test_values_whose_squares_overflow_are_named(rng):
    with pytest.raises(errors.NotFiniteError, match="X has values whose squares overflow"):
        Whitening.estimated(samples.open(1e200 * correlated(rng), np.zeros(500)))


def test_scaled_columns_have_unit_spread_and_the_network_comes_back(rng, as_xp):
    X = correlated(rng) * [1e-3, 1.0, 1e4, 1.0]
    X[:, 3] = 7.0
    w = rng.uniform(0.1, 2, size=500)
    scaling = Scaling.estimated(X, w, centred=True)
    Z = scaling.inputs(X)
    np.testing.assert_allclose(np.average(Z, axis=0, weights=w), 0, atol=1e-12)
    np.testing.assert_allclose(np.average(Z**2, axis=0, weights=w), [1, 1, 1, 0], atol=1e-12)
    np.testing.assert_array_equal(to_numpy(next(samples.open(as_xp(X), as_xp(w)).map(scaling).blocks(500)).X), Z)
    net = Network(rng.normal(size=(4, 3)), rng.normal(size=3), rng.normal(size=3), 0.3, "tanh")
    np.testing.assert_allclose(scaling.undo(net).predict(X), Network(net.W, net.a, net.b, net.c, "tanh").predict(Z), atol=1e-12)
    kept = Network(net.W * [[1], [1], [1], [0]], net.a, net.b, net.c, "tanh")
    np.testing.assert_allclose(scaling.undo(scaling.on_network(kept)).predict(X), kept.predict(X), atol=1e-11)


def test_columns_without_centring_are_divided_by_their_root_mean_square(rng):
    X = correlated(rng)
    Z = Scaling.estimated(X, None, centred=False).inputs(X)
    np.testing.assert_allclose(Z, X / np.sqrt(np.mean(X**2, axis=0)), rtol=1e-12)


@pytest.mark.parametrize("size", [1e-160, 1e160])
def test_scaling_survives_values_whose_squares_do_not(rng, size):
    X = correlated(rng)
    np.testing.assert_allclose(
        Scaling.estimated(size * X, None, centred=True).inputs(size * X),
        Scaling.estimated(X, None, centred=True).inputs(X),
        rtol=1e-9,
        atol=1e-9,
    )


def test_standard_rows_keep_their_mean_where_no_bias_can_take_it_up(rng):
    X = correlated(rng)
    source = samples.open(X, np.zeros(500))
    net = Network(rng.normal(size=(4, 2)), activation="relu")
    kept = Standardized.of(source, centred=False)
    _, mean, scatter = (to_numpy(s) for s in kept.rows.fold(Covariance(4)))
    np.testing.assert_allclose(scatter / 500, np.eye(4), atol=1e-11)
    np.testing.assert_allclose(mean, kept.mean, rtol=1e-10)
    assert kept.center is kept.mean
    np.testing.assert_allclose(kept.centred.fold(Covariance(4))[1], 0, atol=1e-11)
    assert not kept.undo(net).b.any()
    assert not kept.on_network(net).b.any()
    moved = Standardized.of(source, centred=True)
    assert moved.center is None
    assert moved.centred is moved.rows
    np.testing.assert_allclose(moved.rows.fold(Covariance(4))[1], 0, atol=1e-11)
    np.testing.assert_allclose(moved.undo(moved.on_network(net)).predict(X), net.predict(X), atol=1e-9)
    raw = Standardized.unchanged(source)
    assert raw.undo(net) is net
    assert raw.on_network(net) is net
    assert raw.center is None


def test_a_mean_within_its_error_is_none(rng):
    """n‖ν‖² ~ χ² is below 4 + 6·√8 = 21 in all but 3e-4 of the cases, and above for ν = 0.3 and 2,000 rows."""
    X = rng.normal(size=(2000, 4))
    assert Standardized.of(samples.open(X, X[:, 0]), centred=False).center is None
    assert Standardized.of(samples.open(X + np.array([0.3, 0, 0, 0]), X[:, 0]), centred=False).center is not None
