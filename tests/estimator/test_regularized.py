"""The ridge fit of data that no network explains: its choice, its invariances, its bits."""

import numpy as np
import pytest

from weightlift.estimator.regularized import regularized_fit
from weightlift.recovery.request import Request


def fit(X, y, *, n_units=2, alpha="auto"):
    request = Request(n_units, "tanh", bias=True, offset=True, max_work=400.0).checked()
    return regularized_fit((X, y, None), request, alpha=alpha, tol=1e-8, rng=np.random.default_rng(0))


def rows(rng, n=90):
    X = rng.normal(size=(n, 3))
    return X, np.sin(X[:, 0]) + 0.3 * X[:, 1] ** 2 + 0.2 * rng.normal(size=n)


def test_the_choice_has_the_least_held_out_risk_of_all_that_were_tried(rng):
    X, y = rows(rng)
    found = fit(X, y, n_units="auto")
    best = min(found.trials, key=lambda tried: tried.risk)
    assert found.alpha == best.alpha
    assert found.network.n_units == best.width
    assert all(np.isfinite(tried.risk) for tried in found.trials)
    assert np.mean((found.network.predict(X) - y) ** 2) < np.var(y)


def test_one_width_and_one_ridge_are_taken_as_they_are(rng):
    X, y = rows(rng)
    found = fit(X, y, alpha=0.1)
    assert (found.alpha, found.network.n_units, len(found.trials)) == (0.1, 2, 1)


@pytest.mark.parametrize("power", [-20, 13])
def test_units_of_measurement_do_not_matter(rng, power):
    """Powers of two change no digit: predictions on scaled columns are the scaled predictions."""
    X, y = rows(rng)
    scale = 2.0**power * np.array([1.0, 4.0, 0.5])
    plain = fit(X, y, alpha=0.1)
    scaled = fit(X * scale, 8.0 * y, alpha=0.1)
    np.testing.assert_allclose(scaled.network.predict(X * scale), 8.0 * plain.network.predict(X), rtol=1e-9, atol=1e-9)


def test_a_larger_ridge_makes_a_smaller_network(rng):
    X, y = rows(rng)
    sizes = []
    for alpha in (1e-3, 0.3):
        net = fit(X, y, alpha=alpha).network
        sizes.append(np.sum(net.W**2) + np.sum(net.a**2))
    assert sizes[1] < sizes[0]
