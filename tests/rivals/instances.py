"""Rows that do not tell two networks apart: the instances on which a certificate of uniqueness would be false."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import weightlift as wl
from weightlift import samples
from weightlift.evidence.gauge import Gauge
from weightlift.rivals import Finding, Outcome, examine

CENTRES = np.array([[-0.994, -1.352, 0.779], [1.282, -1.81, 1.308], [-0.837, -0.737, -0.322], [-0.605, 1.202, 0.934]])
ONE = wl.Network(np.eye(3))
TWO = wl.Network(0.5 * np.array([[-1.0, 1.0, 1.0], [1.0, -1.0, 1.0], [1.0, 1.0, 1.0]]))


def examined(net: wl.Network, X: np.ndarray, *, bias: bool | None = None, offset: bool | None = None) -> tuple[Finding, ...]:
    gauge = Gauge.of(net, bias=bool(np.any(net.b)) if bias is None else bias, offset=net.c != 0 if offset is None else offset)
    return examine(samples.open(X, net.predict(X)), gauge, rng=np.random.default_rng(0))


def outcomes(findings: tuple[Finding, ...]) -> set[Outcome]:
    return {finding.outcome for finding in findings}


def refused(findings: tuple[Finding, ...]) -> bool:
    """Whether an exact certificate for all units is forbidden."""
    return bool(outcomes(findings) & {Outcome.FOUND, Outcome.UNEXAMINED})


def clustered(seed: int, rows: int = 40, width: float = 0.015) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.concatenate([c + width * rng.standard_normal((rows, 3)) for c in CENTRES])


def beside(net: wl.Network, common: wl.Network) -> wl.Network:
    """The network on the first inputs, with other units beside its own."""
    W = np.hstack([np.vstack([net.W, np.zeros((common.n_inputs - net.n_inputs, net.n_units))]), common.W])
    return wl.Network(W, np.append(net.a, common.a), np.append(net.b, common.b), 0.0, net.activation)


def exchangeable(activation: str, seed: int, rows: int) -> tuple[wl.Network, wl.Network, np.ndarray]:
    """Two units that differ along a binary column alone, the same two with their halves exchanged, and inputs."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([2.0 * rng.standard_normal((rows, 2)), rng.integers(0, 2, rows)])
    w, b, u = rng.standard_normal(2), np.array([0.7, -0.8]), np.array([0.5, -0.6])
    one = wl.Network(np.column_stack([[*w, u[0]], [*w, u[1]]]), [1, 1], b, 0.0, activation)
    there = (b + u)[::-1]  # what the units have where the binary column is 1, exchanged
    return one, replace(one, W=np.vstack([one.W[:2], there - b])), X


def three_levels(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three units along a column of three levels: all change places, and no two of them alone can.

    zᵢ = bᵢ + uᵢ x in the order (0 1 2) at x = 0, (2 0 1) at x = 1 and (1 2 0) at x = 2: affine again where
    b₀ − 2(b₂ + u₂) + b₁ + 2u₁ = 0 and so on in turn, of which two are independent.
    """
    M = np.zeros((3, 6))
    for i in range(3):
        M[i, i] += 1.0  # b of unit i, at x = 0
        M[i, (i + 2) % 3] -= 2.0
        M[i, 3 + (i + 2) % 3] -= 2.0
        M[i, (i + 1) % 3] += 1.0
        M[i, 3 + (i + 1) % 3] += 2.0
    null = np.linalg.svd(M)[2][2:]
    theta = rng.standard_normal(len(null)) @ null
    b, u = 1.5 * theta[:3] / np.abs(theta).max(), 1.5 * theta[3:] / np.abs(theta).max()
    there = np.roll(b + u, 1)
    return np.arange(3.0)[:, None], np.stack([u, b], axis=1), np.stack([there - b, b], axis=1)


def small_difference(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two units on the corners of a square that differ little on two of them: they change places at one of these alone."""
    h = 0.08 + 0.04 * rng.random()
    one = np.array([0.2, -0.3, 0.6])
    other = one + np.array([0.785 - h, 0.785 + h, -0.785])  # the difference is −0.785, −h, h, 0.785 on 00, 10, 01, 11
    e = np.array([-h, h, 0.0])  # the difference on 10 and 01, zero on 00 and 11
    places = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    return places, np.stack([one, other]), np.stack([one + e, other - e])


def with_common_part(functions: np.ndarray, v: np.ndarray, activation: str) -> wl.Network:
    m = len(functions)
    W = np.vstack([np.tile(v[:, None], (1, m)), functions[:, :-1].T])
    return wl.Network(W, np.ones(m), functions[:, -1], 0.0, activation)
