"""The iteration as it is written, and problems for it."""

import math

import numpy as np

import weightlift as wl
from weightlift.network import Network


def sequential(X, y, start, steps, *, bias=False, w=None):
    """The iteration as it is written: one row, one gradient, one average; residuals before each step."""
    W, b = start.W.copy(), start.b.copy()
    averages = [W.copy(), b.copy()]
    residuals, averaged = [], []
    for j, x in enumerate(X):
        averaged.append(start.a @ start.activation(x @ averages[0] + averages[1]) + start.c - y[j])
        z = x @ W + b
        residuals.append(start.a @ start.activation(z) + start.c - y[j])
        g = (1.0 if w is None else w[j]) * steps[j] * residuals[-1] * start.a * start.activation.derivative(z)
        W -= np.outer(x, g)
        b -= bias * g
        averages = [m + (v - m) / (j + 1) for m, v in zip(averages, (W, b), strict=True)]
    return W, b, *averages, np.array(residuals), np.array(averaged)


def problem(rng, activation, n=500, d=7, k=9):
    truth = Network(rng.normal(size=(d, k)) / math.sqrt(d), a=rng.choice([-1.0, 1.0], k), c=0.3, activation=activation)
    X, y = wl.draw(truth, n, noise_std=0.1, rng=rng)
    start = Network(rng.normal(size=(d, k)) / math.sqrt(d), truth.a, rng.normal(size=k) / 3, 0.3, activation)
    return X, y, start
