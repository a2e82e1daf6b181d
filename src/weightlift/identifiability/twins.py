"""Two networks with one function and different units  [awasthi2021, Claim 4.8].

For a set S of units whose reflection polynomials are dependent there are aᵢ, i ∈ S, with Σ_S aᵢ p(⟨wᵢ, x⟩ + bᵢ) = 0, and
reflecting S leaves f unchanged. For ReLU: dependent (wᵢ, bᵢ), so any d + 2 units (without biases any d + 1) will do; for
squared ReLU: dependent (wᵢ, bᵢ)(wᵢ, bᵢ)ᵀ. Cost O(rows |S|²), rows the number of coefficients of the polynomials.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from weightlift.arguments import generator
from weightlift.errors import ActivationError, ArgumentError, SingularError
from weightlift.identifiability.reflections import reflect, reflection, reflection_polynomials
from weightlift.network import Network

DEPENDENT = 1e-12  # relative singular value below which unit polynomials count as dependent
ABSENT = 1e-8  # share of a unit in every dependency below which it has no part in them


def twin(
    network: Network | np.ndarray, subset: Sequence[int] | None = None, *, rng: int | np.random.Generator = 0
) -> tuple[Network, Network]:
    """(f, g): equal functions; g has the units of `subset` (all if omitted) reflected.

    f has the W, b, c and φ of the network, and its output weights outside of the subset; those inside are random in the
    null space, with root mean square 1. Weights W (d, k) alone stand for a ReLU network without biases, and aᵢ random in
    ±[1/2, 3/2] outside of the subset.

    rng  a seed or a generator

    >>> f, g = twin(np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 3.0]]))
    >>> X = np.array([[0.3, -1.0], [1.0, 2.0]])
    >>> np.allclose(f.predict(X), g.predict(X), atol=1e-14), f.equivalent(g)
    (True, False)
    """
    rng = generator(rng)
    if not isinstance(network, Network):
        net = Network(network)
        a = rng.choice([-1.0, 1.0], net.n_units) * rng.uniform(0.5, 1.5, net.n_units)
        network = replace(net, a=a)
    if len(reflection(network.activation)[1]) <= 1:
        raise ActivationError(f"reflections are symmetries of {network.activation.name!r}; twins need a remainder.")
    S = _units(subset, network.n_units)
    C = reflection_polynomials(replace(network, a=np.ones(network.n_units)), offset=False)[:, S]
    length = np.linalg.norm(C, axis=0)
    if not length.all():
        raise ArgumentError(f"unit {S[int(np.argmin(length))]} is zero, hence its own reflection; leave it out of subset.")
    null = _null_space(C / length)
    if null.shape[1] == 0:
        raise SingularError(
            f"the {len(S)} units of subset are independent: reflecting them changes f. Name more units, or dependent ones."
        )
    share = np.linalg.norm(null, axis=1)
    if share.min() < ABSENT:
        absent = [S[i] for i in np.flatnonzero(share < ABSENT)]
        raise ArgumentError(f"units {absent} take no part in any dependency of the subset; leave them out of it.")
    part = null @ rng.standard_normal(null.shape[1]) / length
    a = network.a.copy()
    a[S] = part / np.sqrt(np.mean(part**2))
    f = replace(network, a=a)
    return f, reflect(f, np.isin(np.arange(network.n_units), S), offset=False)


def _units(subset: Sequence[int] | None, k: int) -> list[int]:
    if subset is None:
        return list(range(k))
    S = np.asarray(subset)
    if S.ndim != 1 or S.size == 0 or not np.issubdtype(S.dtype, np.integer):
        raise ArgumentError(f"subset must be a non-empty list of unit numbers, not {subset!r}.")
    if len(set(S.tolist())) < S.size or S.min() < 0 or S.max() >= k:
        raise ArgumentError(f"subset must name different units among 0 … {k - 1}, not {S.tolist()}.")
    return [int(i) for i in S]


def _null_space(C: np.ndarray) -> np.ndarray:
    """Orthonormal basis (k, ν) of the null space."""
    _, s, Vt = np.linalg.svd(C)
    return np.asarray(Vt[np.count_nonzero(s > DEPENDENT * s[0]) :].T)
