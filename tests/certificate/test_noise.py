"""What noise leaves open: the region holds what an unseen unit moves."""

from __future__ import annotations

import numpy as np
from tests.certificate.fits import fitted, relu

from weightlift.certificate import certify
from weightlift.certificate.noise import enclosing


def test_the_region_covers_what_an_unseen_unit_moves(seed: int) -> None:
    truth, X, y = relu(seed, n=1500)
    limit = certify(fitted(truth, X, y), X, y).detection_limit
    assert limit is not None
    w = np.random.default_rng(seed).standard_normal(5)
    extra = np.maximum(X @ w, 0)
    y = y + 0.3 * limit * extra / np.sqrt(np.mean(extra**2))
    certificate = certify(fitted(truth, X, y), X, y)
    if certificate:
        assert certificate.locate(truth)[0].all()


def test_enclosing_ellipsoid_holds_the_sum() -> None:
    rng = np.random.default_rng(0)
    root = rng.standard_normal((4, 4))
    A, points = root @ root.T, rng.standard_normal((4, 7)) * np.array([[3.0], [0.1], [1.0], [2.0]])
    R = enclosing(A, points)
    v = rng.standard_normal((4, 5000))
    v = root @ (v / np.linalg.norm(v, axis=0)) + points[:, rng.integers(7, size=5000)]
    assert (v * np.linalg.solve(R, v)).sum(axis=0).max() <= 1.0
    np.testing.assert_array_equal(enclosing(A, points[:, :0]), A)
    np.testing.assert_allclose(enclosing(0 * A, points), enclosing(1e-30 * A, points), rtol=1e-12)  # rows without residuals
    np.testing.assert_allclose(enclosing(-1e-24 * A, points), enclosing(0 * A, points), rtol=1e-12)  # a variance below rounding


def test_enclosing_ellipsoid_of_points_in_a_plane(seed: int) -> None:
    """Points that span less, but for rounding, at any scale."""
    rng = np.random.default_rng(seed)
    for size in 10.0 ** np.arange(-8, 9, 4):
        points = size * rng.standard_normal((6, 2)) @ rng.standard_normal((2, 40)) * np.logspace(0, -10, 6)[:, None]
        R = enclosing(np.eye(6), points)
        assert (points * np.linalg.solve(R, points)).sum(axis=0).max() <= 1.0


def test_an_enclosing_ellipsoid_of_points_alone_touches_the_farthest(seed: int) -> None:
    """Beside an ellipsoid that is next to nothing: more points than dimensions, all inside and the farthest on the boundary."""
    points = np.random.default_rng(seed).standard_normal((3, 7)) * [[1.0], [10.0], [0.1]]
    region = enclosing(1e-24 * np.eye(3), points)
    sizes = (points * np.linalg.solve(region, points)).sum(axis=0)
    np.testing.assert_allclose(sizes.max(), 1.0, rtol=1e-6)
