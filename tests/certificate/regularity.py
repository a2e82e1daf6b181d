"""Noisy fits with what is known of them."""

from __future__ import annotations

import numpy as np

from weightlift import Network, samples, teachers
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.refinement.gauss_newton import gauss_newton


def tanh_problem(seed: int, noise: float = 0.1) -> tuple[Network, np.ndarray, np.ndarray, Network]:
    rng = np.random.default_rng(seed)
    truth = teachers.biased(5, 3, bias=1.0, activation="tanh", rng=rng)
    X = rng.standard_normal((630, 5))
    f = truth.predict(X)
    y = f + noise * f.std() * rng.standard_normal(len(X))
    return truth, X, y, gauss_newton(samples.open(X, y), truth, free="Wab", tol=1e-12, iterations=200).network


def known(fit: Network, X: np.ndarray, y: np.ndarray) -> tuple[Gauge, Information, float]:
    gauge = Gauge.of(fit, bias=True, offset=False)
    information = Information.of(samples.open(X, y), gauge)
    return gauge, information, information.rss / (len(X) - gauge.size)
