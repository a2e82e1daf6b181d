"""Where the units of another network lie, beside what is claimed of those of a network with several outputs or a linear part.

A unit is (w, b, a), a ∈ Rᵐ. For homogeneous φ the other's is scaled first, until ⟨t, (w, b)⟩ is that of the claim: what differs
then is a change with ⟨t, δ(w, b)⟩ = 0, as the claim's own are [evidence.stacked]. Regions have their t from standard inputs:
beside an input that hardly varies w and b may be anything, the two together not; their length is then no scale, and t = (w, b)
would move units out of their regions. Reflections that φ and the linear part allow are tried.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from weightlift.activations import Activation
from weightlift.network import Network
from weightlift.rivals.analytic import shift


def joint_distances(
    network: Network,
    other: Network,
    precision: np.ndarray,
    regions: np.ndarray | None,
    slices: np.ndarray | None = None,
) -> np.ndarray:
    """(k, k′) distance of every pair of units in units of the precision (k,), or of the regions (r, k, q + m, q + m).

    slices  (k, q), the t of homogeneous units; (w, b) unless given
    """
    k, bias = network.n_units, regions is None or regions.shape[2] > network.n_inputs + network.n_outputs
    found = np.full((k, other.n_units), np.inf)
    if network.a.shape[1:] != other.a.shape[1:]:
        return found
    for j in range(other.n_units):
        if not bias and other.b[j]:
            continue
        for theirs in _representatives(other, j, turns=network.turns or other.turns):
            for i, near in itertools.product(range(k), (False, True)):
                own = _unit(network, i)  # far from the origin w and b are known together alone: the nearest bias may not be it
                repeated = _nearest_repetition(theirs, own[0][-1], network.activation) if near else theirs
                along = _padded(own[0] if slices is None else slices[i], own[0])
                pair = _pair(own, repeated, along, network.activation.degree)
                if pair is None:
                    continue
                if regions is None:
                    found[i, j] = min(found[i, j], _relative(*pair) / float(precision[i]))
                else:
                    found[i, j] = min(found[i, j], *(_in_region(*pair, R[i], along, bias, network) for R in regions))
    return found


def _unit(network: Network, i: int) -> tuple[np.ndarray, np.ndarray]:
    """(w, b) and a."""
    return np.append(network.W[:, i], network.b[i]), network.A[i]


def _representatives(network: Network, i: int, *, turns: bool) -> list[tuple[np.ndarray, np.ndarray]]:
    inner, a = _unit(network, i)
    reflection = network.activation.reflection
    return [(inner, a), (-inner, reflection[0] * a)] if turns and reflection is not None else [(inner, a)]


def _nearest_repetition(
    theirs: tuple[np.ndarray, np.ndarray], b: float, activation: Activation
) -> tuple[np.ndarray, np.ndarray]:
    """The same unit with its bias next to b, where φ(t + β) = ±φ(t)."""
    if (repeats := shift(activation)) is None:
        return theirs
    inner, a = theirs
    times = round((b - inner[-1]) / repeats[0])
    return np.append(inner[:-1], inner[-1] + times * repeats[0]), a * float(repeats[1]) ** times


def _padded(along: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """Zero for b where it is no coordinate."""
    return np.append(along, np.zeros(len(inner) - len(along)))


def _pair(
    own: tuple[np.ndarray, np.ndarray], theirs: tuple[np.ndarray, np.ndarray], along: np.ndarray, degree: float | None
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]] | None:
    """Both units, theirs scaled to ours; None where they point to different sides."""
    if not degree:
        return own, theirs
    (inner, _), (others, a) = own, theirs
    product = float(along @ others)
    if product <= 0:
        return None
    scale = float(along @ inner) / product
    return own, (scale * others, a / scale**degree)


def _relative(own: tuple[np.ndarray, np.ndarray], theirs: tuple[np.ndarray, np.ndarray]) -> float:
    return max(float(np.linalg.norm(u - v)) / max(float(np.linalg.norm(u)), 1e-300) for u, v in zip(own, theirs, strict=True))


def _in_region(
    own: tuple[np.ndarray, np.ndarray],
    theirs: tuple[np.ndarray, np.ndarray],
    region: np.ndarray,
    along: np.ndarray,
    bias: bool,
    network: Network,
) -> float:
    inner, others = (v if bias else v[:-1] for v in (own[0], theirs[0]))
    delta = np.append(others - inner, theirs[1] - own[1])
    if network.activation.degree:  # the region has no extent along t
        basis = np.eye(len(delta))[:, 1:]
        basis[: len(inner), : len(inner) - 1] = np.linalg.svd(along[None, : len(inner)])[2][1:].T
        delta, region = basis.T @ delta, basis.T @ region @ basis
    if not np.isfinite(region).all():
        return math.inf
    scale = np.sqrt(np.maximum(np.diagonal(region), np.finfo(float).tiny))
    scaled = region / np.outer(scale, scale)
    return math.sqrt(max(0.0, float((delta / scale) @ np.linalg.lstsq(scaled, delta / scale)[0])))
