"""L-BFGS for units beside a line, both penalised: where a network has too many parameters for their normal equations.

Minimises   what `penalized` does. A step costs O(n d k), of Gauss–Newton O(n p²): p/3 times as much for p ≈ k d parameters.
Rounding    errors grow exponentially with the steps at kinks, and predictions would depend on the inputs' units of measurement:
            the standardised rows and the start are taken to 20 bits, so that units of measurement give the same numbers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from weightlift.estimator.limits import LIMITS
from weightlift.estimator.penalized import Data, Parameters, Penalty, residuals


def descend_cheaply(data: Data, fit: Parameters, penalty: Penalty) -> Parameters:
    """From `fit` down; what is not free stays."""
    from scipy.optimize import minimize

    free, diagonal, data = penalty.free(fit), penalty.diagonal(fit), Data(_coarse(data.Z), _coarse(data.t), data.w)

    def objective(vector: np.ndarray) -> tuple[float, np.ndarray]:
        here = fit.at(vector)
        r = residuals(data, here, penalty.activation)
        value = 0.5 * data.mean(r**2) + 0.5 * float(diagonal @ vector**2)
        return value, free * (_gradient(data, here, penalty, r) + diagonal * vector)

    options = {"maxiter": LIMITS.cheap_steps, "maxcor": LIMITS.remembered, "ftol": LIMITS.cheap_rough}
    found = minimize(objective, _coarse(fit.vector), jac=True, method="L-BFGS-B", options=options)
    value = float(found.fun) if np.isfinite(found.fun) else np.inf
    return replace(fit.at(found.x), value=value, steps=3.0 * found.nfev / len(diagonal))


def _coarse(values: np.ndarray) -> np.ndarray:
    return np.asarray(np.ldexp(np.round(np.ldexp(values, LIMITS.kept_bits)), -LIMITS.kept_bits))


def _gradient(data: Data, fit: Parameters, penalty: Penalty, r: np.ndarray) -> np.ndarray:
    """(p,): of ½ E r², in the order of `Parameters.vector`."""
    Z, z = data.Z, data.Z @ fit.W + fit.b
    share = r / len(r) if data.w is None else data.w * r / data.w.sum()
    slopes = share[:, None] * fit.a * penalty.activation.derivative(z)
    parts = (Z.T @ slopes).ravel(), slopes.sum(axis=0), penalty.activation(z).T @ share, Z.T @ share, [share.sum()]
    return np.concatenate(parts)
