"""From a wide exact fit to the minimal one: units are deleted or merged, and the rest refitted, while the fit stays as good.

All deletions and all merges of nearly parallel units are starts of one batch of width w − 1. A unit is given up only when
the refitted network is as good as before, so exactness is never lost.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from weightlift.namespaces import to_numpy
from weightlift.network import Network
from weightlift.refinement import gauss_newton
from weightlift.risk import Risk, Students
from weightlift.samples import Samples

TRIES = 6
PARALLEL = 0.5


def prune(
    samples: Samples, network: Network, *, free: str, keeps: Callable[[float], bool], least: int = 1, iterations: int = 40
) -> tuple[Network, int]:
    """The narrowest network reached from `network` whose risk passes `keeps`, at least `least` units wide; and the steps spent.

    >>> import weightlift as wl
    >>> truth = wl.teachers.conditioned(4, 2, activation="relu", rng=0)
    >>> X, y = wl.draw(truth, 100, rng=0)
    >>> doubled = Network(np.hstack([truth.W, truth.W]), np.tile(truth.a / 2, 2))
    >>> prune(wl.samples.open(X, y), doubled, free="Wa", keeps=lambda risk: risk < 1e-20)[0].equivalent(truth)
    True
    """
    work = 0
    while network.n_units > least:
        batch = _narrower(network)
        risks = to_numpy(samples.mean(Risk(batch))[0])
        chosen = np.argsort(risks)[:TRIES]
        batch = Students.of(*(batch.network(int(i)) for i in chosen))
        unit = network.activation.degree is not None and "a" in free
        fit = gauss_newton(samples, batch, free=free, iterations=iterations, unit=unit, damping=1e-3, first=True)
        work += fit.iterations * len(chosen)
        if not keeps(float(fit.risks[fit.best])):
            break
        network = fit.network
    return network, work


def _narrower(network: Network) -> Students:
    """Every network with one unit less: each unit deleted, each pair of nearly parallel units merged."""
    k = network.n_units
    net = network.canonical()
    everyone = np.arange(k)
    deleted = [np.delete(everyone, i) for i in range(k)]
    V = np.vstack([net.W, net.b])
    length = np.linalg.norm(V, axis=0)
    cosine = (V.T @ V) / np.maximum(np.outer(length, length), np.finfo(float).tiny)
    i, j = np.nonzero(np.triu(np.abs(cosine) > PARALLEL, 1))
    W, b, a = ([v[..., rest] for rest in deleted] for v in (net.W, net.b, net.a))
    for p, q in zip(i, j, strict=True):
        sign = np.sign(cosine[p, q])
        total = net.a[p] + sign * net.a[q] if abs(net.a[p] + sign * net.a[q]) > 0 else net.a[p]
        size = abs(net.a[p]) + abs(net.a[q])
        share = abs(net.a[q]) / size if size else 0.0
        merged = (1 - share) * V[:, p] + share * sign * V[:, q]
        rest = np.delete(everyone, q)
        place = int(np.flatnonzero(rest == p)[0])
        Wm, bm, am = net.W[:, rest].copy(), net.b[rest].copy(), net.a[rest].copy()
        Wm[:, place], bm[place], am[place] = merged[:-1], merged[-1], total
        for batch, values in ((W, Wm), (b, bm), (a, am)):
            batch.append(values)
    return Students(np.stack(W, axis=1), np.stack(a), np.stack(b), np.full(len(a), net.c), net.activation)
