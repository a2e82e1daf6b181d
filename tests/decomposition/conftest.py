"""Planted symmetric tensors, symmetric noise, and the error of a decomposition against what was planted."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from weightlift.decomposition import Decomposition

Planted = tuple[np.ndarray, np.ndarray]


@pytest.fixture
def plant() -> Callable[..., Planted]:
    """`plant(k, kappa, seed, n=k)`: weights ±[1/2, 2] and unit factors of U diag(1 … kappa) Vᵀ  [zhong2017, §7]."""

    def draw(k: int, kappa: float, seed: int, n: int | None = None) -> Planted:
        rng = np.random.default_rng([k, seed])
        left = np.linalg.qr(rng.standard_normal((k if n is None else n, k)))[0]
        right = np.linalg.qr(rng.standard_normal((k, k)))[0]
        U = left * np.linspace(1, kappa, k) @ right.T
        return rng.choice([-1.0, 1.0], k) * rng.uniform(0.5, 2, k), U / np.linalg.norm(U, axis=0)

    return draw


@pytest.fixture
def symmetric_noise() -> Callable[..., np.ndarray]:
    """`symmetric_noise(n, order, seed)`: Gaussian, symmetric, Frobenius norm one."""

    def draw(n: int, order: int, seed: int) -> np.ndarray:
        N = np.random.default_rng([17, seed]).standard_normal((n,) * order)
        N = sum(N.transpose(axes) for axes in itertools.permutations(range(order)))
        return N / np.linalg.norm(N)

    return draw


@pytest.fixture
def errors() -> Callable[[Decomposition, np.ndarray, np.ndarray], tuple[float, float]]:
    """`errors(found, weights, factors)`: worst distance of a factor up to sign, worst relative error of a weight."""

    def compare(found: Decomposition, c: np.ndarray, U: np.ndarray) -> tuple[float, float]:
        cosines = found.factors.T @ U
        match = np.abs(cosines).argmax(axis=0)
        if len(set(match)) < len(match):
            return 2.0, np.inf
        signs = np.sign(cosines[match, np.arange(len(match))])
        factor_error = np.linalg.norm(found.factors[:, match] * signs - U, axis=0).max()
        weight_error = np.abs(found.weights[match] * signs**found.order / c - 1).max()
        return float(factor_error), float(weight_error)

    return compare
