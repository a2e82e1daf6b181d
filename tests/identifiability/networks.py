"""Networks at random and sets of units: what the tests of identifiability share."""

from __future__ import annotations

import numpy as np
from tests.catalogue import ENTRIES

from weightlift.network import Network

AMBIGUOUS = [phi.name for phi in ENTRIES if phi.uniqueness and len(phi.reflection[1]) > 1]  # reflection leaves a polynomial
SYMMETRIC = [phi.name for phi in ENTRIES if phi.uniqueness and len(phi.reflection[1]) <= 1]  # reflection is a symmetry
EVERY_SUBSET = {k: ((np.arange(2**k)[:, None] >> np.arange(k)) & 1) == 1 for k in range(1, 13)}


def random_network(rng, activation="relu", d=3, k=7, *, bias=True, c=0.4):
    W = rng.normal(size=(d, k))
    b = rng.normal(size=k) if bias else None
    return Network(W, rng.choice([-1, 1], k) * rng.uniform(0.5, 1.5, k), b, c, activation)


def rows(patterns):
    return {tuple(np.flatnonzero(pattern).tolist()) for pattern in patterns}
