"""Planted networks with exact rows: what the tests of certificates share."""

from __future__ import annotations

import numpy as np

from weightlift import draw, teachers
from weightlift.network import Network


def problem(activation: str, bias: bool, seed: int, rows: float = 4.0) -> tuple[Network, np.ndarray, np.ndarray]:
    d, k = 6, 2
    truth = teachers.biased(d, k, bias=1.0 if bias else 0.0, activation=activation, rng=seed)
    p = k * (d + bias + (truth.activation.degree is None))
    X, y = draw(truth, int(rows * p) + 20, rng=seed + 100)
    return truth, X, y
