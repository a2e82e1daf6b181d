"""Noisy ReLU problems and their fits: what the tests of certificates share."""

from __future__ import annotations

import numpy as np

from weightlift import draw, samples, teachers
from weightlift.network import Network
from weightlift.refinement.gauss_newton import gauss_newton


def fitted(truth: Network, X: np.ndarray, y: np.ndarray, *, free: str = "Wb", weight: np.ndarray | None = None) -> Network:
    return gauss_newton(samples.open(X, y, sample_weight=weight), truth, free=free, tol=1e-13).network


def relu(seed: int, n: int = 900, noise: float = 0.03) -> tuple[Network, np.ndarray, np.ndarray]:
    truth = teachers.biased(5, 2, bias=0.7, activation="relu", rng=seed)
    X, y = draw(truth, n, noise_std=noise, rng=seed + 50)
    return truth, X, y
