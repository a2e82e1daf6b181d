"""Noisy rows of several outputs, or beside a linear part, and the fit to them."""

import numpy as np

import weightlift as wl
from weightlift.refinement.variable_projection import Model, variable_projection

CASES = [("tanh", 3, False), ("relu", 2, True), ("relu", None, True)]


def teacher(activation, m, linear):
    return wl.teachers.several(wl.teachers.biased(4, 2, bias=0.3, activation=activation, rng=1), m, linear=linear, rng=2)


def noisy(truth, n, seed, *, size=0.07, by_input=False):
    """Rows whose errors are correlated between outputs and, if asked for, of a size that depends on x."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, truth.n_inputs))
    mixing = np.random.default_rng(5).normal(size=(truth.n_outputs, truth.n_outputs))
    errors = size * rng.normal(size=(n, truth.n_outputs)) @ mixing
    errors *= np.abs(X[:, :1]) if by_input else 1.0
    return X, truth.predict(X) + errors.reshape(n, *truth.a.shape[1:])


def fit(truth, X, Y):
    model = Model(True, truth.V is not None, True)
    return variable_projection(wl.samples.open(X, Y), truth, model, iterations=60, damping=1e-6, tol=1e-14).network


def far_rows(activation, linear, seed, n=60):
    """Inputs off centre and of unequal units, outputs of sizes 3e-2 and 2e3, weights about 5; with the network they are of."""
    rng = np.random.default_rng(seed)
    centre, spread, sizes = np.array([40.0, -3e-3]), np.array([5.0, 1e-3]), np.array([3e-2, 2e3])
    X = rng.normal(centre, spread, (n, 2))
    W = rng.normal(size=(2, 2)) / spread[:, None]
    V = rng.normal(size=(2, 2)) / spread[:, None] * sizes if linear else None
    a, c = rng.normal(size=(2, 2)) * sizes, np.array([0.5, -1.5]) * sizes
    net = wl.Network(W, a, [0.3, -0.5] - centre @ W, c - (0.0 if V is None else centre @ V), activation, V)
    Y = net.predict(X) + 0.05 * rng.normal(size=(n, 2)) @ [[1.0, 0.7], [0.0, 1.0]] * sizes
    return net, X, Y, 5.0 * rng.uniform(0.3, 2.0, n)
