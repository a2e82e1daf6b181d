"""Exact fits in fewer units: those that turn together, and those that are on together."""

import numpy as np
import pytest

import weightlift as wl
from weightlift.recovery.joint_reduction import arrangements
from weightlift.refinement.variable_projection import Hidden, Model, variable_projection


def exact(network, X, Y, *, offset=False):
    model = Model(offset=offset)
    return [
        fewer
        for fewer in arrangements(network, offset=offset)
        if variable_projection(wl.samples.open(X, Y), Hidden.of(fewer), model, iterations=0).risks[0] < 1e-25
    ]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("offset", [False, True])
def test_a_pair_of_opposite_units_goes_when_the_others_turn(seed, offset):
    """Σ aᵢσ(zᵢ) = Σ aᵢσ(−zᵢ) + σ(u) − σ(−u), u = Σ aᵢzᵢ, for every output of one direction."""
    rng = np.random.default_rng(seed)
    W, b, a = rng.normal(size=(4, 3)), offset * rng.normal(size=3), rng.normal(size=3)
    u, s = W @ a, float(b @ a)
    both = np.column_stack([-W, u, -u]), np.concatenate([a, [1, -1]]), np.concatenate([-b, [s, -s]])
    X = rng.normal(size=(80, 4))
    outputs = np.array([1.0, -2.0])
    wide = wl.Network(both[0], np.outer(both[1], outputs), both[2], np.zeros(2))
    truth = wl.Network(W, np.outer(a, outputs), b, np.zeros(2))
    np.testing.assert_allclose(wide.predict(X), truth.predict(X), atol=1e-12)
    assert min(net.n_units for net in exact(wide, X, truth.predict(X), offset=offset)) == 4


@pytest.mark.parametrize("seed", range(3))
def test_units_that_are_on_together_are_merged(seed):
    """With one direction of outputs their sum is a unit; with two it is not, and nothing is tried."""
    rng = np.random.default_rng(seed)
    w, X = rng.normal(size=4), rng.normal(size=(40, 4))
    apart = 0.02 * rng.normal(size=4)
    X = X[np.sign(X @ (w + apart)) == np.sign(X @ (w - apart))]
    W = np.column_stack([w + apart, w - apart, rng.normal(size=4)])
    wide = wl.Network(W, np.array([[1.0, 3.0], [0.5, 1.5], [1.0, -1.0]]))
    merged = [net for net in exact(wide, X, wide.predict(X)) if net.n_units == 2]
    assert merged
    assert np.linalg.matrix_rank(np.column_stack([merged[0].W[:, -1], 1.5 * w + 0.5 * apart]), tol=1e-9) == 1
    two = wl.Network(W, np.array([[1.0, 3.0], [0.5, -1.5], [1.0, -1.0]]))
    assert not exact(two, X, two.predict(X))


@pytest.mark.parametrize("seed", range(3))
def test_beside_a_linear_part_units_merge_that_are_on_in_turn(seed):
    """aσ(z₁) + a′σ(−z₂) = aσ(z₁) + a′σ(z₂) − a′z₂; without a linear part nothing takes up a′z₂."""
    rng = np.random.default_rng(seed)
    w, X = rng.normal(size=4), rng.normal(size=(40, 4))
    apart = 0.02 * rng.normal(size=4)
    X = X[np.sign(X @ (w + apart)) == np.sign(X @ (w - apart))]
    W = np.column_stack([w + apart, -w + apart, rng.normal(size=4)])
    wide = wl.Network(W, np.array([1.0, 0.5, 1.0]), V=rng.normal(size=4))
    rows, model = wl.samples.open(X, wide.predict(X)), Model(linear=True)
    merged = [
        fewer
        for fewer in arrangements(wide, offset=False)
        if variable_projection(rows, Hidden.of(fewer), model, iterations=0).risks[0] < 1e-25
    ]
    assert merged
    assert np.linalg.matrix_rank(np.column_stack([merged[0].W[:, -1], 1.5 * w + 0.5 * apart]), tol=1e-9) == 1
    assert not exact(wl.Network(W, wide.a), X, wl.Network(W, wide.a).predict(X))


def test_units_without_a_scale_are_left():
    assert not list(arrangements(wl.Network(np.eye(3), np.ones((3, 2)), activation="tanh"), offset=False))
