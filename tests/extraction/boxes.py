"""Networks as black boxes, and the error of what is found."""

import numpy as np

import weightlift as wl
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
