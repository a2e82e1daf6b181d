"""From a wide exact fit to its minimal form: units on one hyperplane are merged, signs are accounted for.

A wide network that fits exactly has its kinks where the truth has them; what it has beyond is polynomial. With
φ(−z) = s φ(z) + p(z), every unit is written in one orientation u of its hyperplane, a φ(±u) = ±-sign a φ(u) + a p(u), so that

    f = Σ_c g_c φ(u_c) + R,     g_c the net strength of a hyperplane, R the polynomial that is left.

Hyperplanes with g_c = 0 vanish. Reflecting a set F of the others changes R by −s Σ_F g_c p(u_c); the signs are right when
R = 0: a linear system in 0/1 unknowns, solved by least squares and rounded [awasthi2021, FIXSIGNS in this form].
"""

from __future__ import annotations

import itertools

import numpy as np

from weightlift.network import Network

PARALLEL = 1e-5  # sine of the angle within which units of an exact fit share a hyperplane
STRENGTH = 1e-6  # net strength below which a hyperplane is none, relative to the largest


def consolidate(network: Network, *, offset: bool = False) -> Network | None:
    """The network with one unit a hyperplane and the polynomial rest removed; None where φ or the fit does not allow it.

    >>> u = np.array([[0.6], [0.8]])
    >>> wide = Network(np.hstack([-u, u, -u]), a=[2.0, 1.0, -1.0])          # 2σ(−u) + σ(u) − σ(−u) = 2σ(−u) + u
    >>> consolidate(wide) is None, consolidate(Network(np.hstack([u, u]), a=[1.0, 2.0])).n_units
    (True, 1)
    """
    reflection = network.activation.reflection
    if reflection is None:
        return None
    s, polynomial = reflection
    V = np.vstack([network.W, network.b])
    length = np.linalg.norm(V, axis=0)
    if network.activation.degree is None:
        length = np.ones_like(length)
    if not np.all(length > 0):
        return None
    V, a = V / length, network.a * length ** (network.activation.degree or 0.0)
    planes, orientation = _hyperplanes(V)
    count = planes.max() + 1
    first = np.array([np.flatnonzero(planes == c)[0] for c in range(count)])
    U = V[:, first]
    turned = orientation < 0
    g = np.bincount(planes, weights=np.where(turned, s * a, a), minlength=count)
    rest = np.bincount(planes, weights=np.where(turned, a, 0.0), minlength=count)
    powers = _powers(U, polynomial)  # (q, count): coefficients of p(u_c) as a polynomial in (x, 1)
    R = powers @ rest
    keep = np.abs(g) > STRENGTH * np.abs(g).max()
    if not keep.any():
        return None
    U, g, powers = U[:, keep], g[keep], powers[:, keep]
    flips = _flips(powers * (s * g), R, offset)
    if flips is None:
        return None
    sign = np.where(flips, -1.0, 1.0)
    left = R - (powers * (s * g)) @ flips
    c = network.c + (float(left[-1]) if offset and len(left) else 0.0)
    return Network(U[:-1] * sign, np.where(flips, s * g, g), U[-1] * sign, c, network.activation)


def _hyperplanes(V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For every column the number of its hyperplane, and its orientation relative to the first column found there."""
    from scipy.spatial.distance import cdist

    k = V.shape[1]
    size = np.linalg.norm(V, axis=0)
    reach = PARALLEL * np.maximum(size[:, None], size)
    near, opposite = cdist(V.T, V.T) <= reach, cdist(V.T, -V.T) <= reach
    planes, orientation = np.full(k, -1), np.ones(k)
    numbers = itertools.count()
    for i in range(k):
        if planes[i] < 0:
            members = (near[i] | opposite[i]) & (planes < 0)
            planes[members] = next(numbers)
            orientation[members] = np.where(near[i, members], 1.0, -1.0)
    return planes, orientation


def _powers(U: np.ndarray, polynomial: tuple[float, ...]) -> np.ndarray:
    """p(⟨u, (x, 1)⟩) as coefficients: Σ_j p_j of the j-th tensor power, j ≥ 1, the constant last."""
    k = U.shape[1]
    rows = [np.zeros((0, k))]
    constant = np.full(k, polynomial[0] if polynomial else 0.0)
    for j, p in enumerate(polynomial):
        if j == 0 or p == 0:
            continue
        power = np.ones((1, k))
        for _ in range(j):
            power = (power[:, None, :] * U[None, :, :]).reshape(-1, k)
        constant = constant + p * power[-1]
        rows.append(p * power[:-1])
    return np.vstack([*rows, constant[None, :]])


def _flips(columns: np.ndarray, R: np.ndarray, offset: bool) -> np.ndarray | None:
    """The 0/1 vector with columns · flips = R (the constant row exempt when c is free), by rounding; None if there is none."""
    A, target = (columns[:-1], R[:-1]) if offset else (columns, R)
    size = np.abs(columns).max(initial=0.0)
    if size == 0.0:
        return np.zeros(columns.shape[1])
    solution = np.linalg.lstsq(A, target, rcond=1e-9)[0]
    flips = np.where(solution > 0.5, 1.0, 0.0)
    return flips if np.abs(A @ flips - target).max(initial=0.0) <= 1e-3 * size else None
