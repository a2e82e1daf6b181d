"""Distances of units of several outputs: relative, in regions, and up to what changes no value."""

from dataclasses import replace

import numpy as np
import pytest

from weightlift import certify, samples
from weightlift.certificate.joint_distances import joint_distances
from weightlift.network import Network
from weightlift.refinement.gauss_newton import gauss_newton
from weightlift.refinement.variable_projection import Model, variable_projection


def network(W, A, b, activation="tanh"):
    return Network(np.array(W, dtype=float), np.array(A, dtype=float), np.array(b, dtype=float), np.zeros(2), activation)


def test_distances_are_in_units_of_the_precision():
    """The larger of the relative distances of (w, b) and of a, of units of lengths 5 and 0.1."""
    one = network([[3.0, 0.1], [4.0, 0.0]], [[0.2, 0.0], [6.0, 8.0]], [0.0, 0.0])
    other = network([[3.0, 0.1], [4.1, 0.0]], [[0.2, 0.05], [6.0, 8.3]], [0.0, 0.002])
    found = joint_distances(one, other, np.array([1e-2, 0.5]), None)
    np.testing.assert_allclose(np.diagonal(found), [0.25 / 1e-2, 0.03 / 0.5], rtol=1e-12)
    off = np.linalg.norm([2.9, 4.0, -0.002]) / 5.0, np.linalg.norm([5.8, 8.3]) / 0.2
    assert found[0, 1] == pytest.approx(max(off) / 1e-2, rel=1e-12)


def test_homogeneous_units_are_scaled_to_each_other():
    """(tw, tb, a/t²) is the same unit; one that points to the other side is none."""
    one = network([[3.0], [4.0]], [[0.2, -1.0]], [0.5], "squared_relu")
    same = network([[6.0], [8.0]], [[0.05, -0.25]], [1.0], "squared_relu")
    assert joint_distances(one, same, np.array([1e-3]), None) == pytest.approx(0.0, abs=1e-9)
    opposite = network([[-3.0], [-4.0]], [[0.2, -1.0]], [-0.5], "squared_relu")
    assert joint_distances(one, opposite, np.array([1e-3]), None)[0, 0] == np.inf


@pytest.mark.parametrize("bias", [False, True])
def test_distances_in_regions_are_those_of_mahalanobis(bias, seed):
    """(δᵀR⁻¹δ)^½, the least of several regions, of parameters of sizes far from each other."""
    rng = np.random.default_rng(seed)
    one = network(rng.normal(size=(2, 1)), rng.normal(size=(1, 2)), [0.3 * bias])
    size = np.array([1e-3, 10.0, 1.0, 1e2, 1e-2])[: 4 + bias]
    delta = size * rng.normal(size=4 + bias)
    other = network(one.W + delta[:2, None], one.A + delta[None, -2:], one.b + (delta[2] if bias else 0.0))
    roots = rng.normal(size=(3, 4 + bias, 4 + bias))
    regions = (roots @ np.swapaxes(roots, 1, 2)) * np.outer(size, size)
    expected = min(np.sqrt(delta @ np.linalg.solve(R, delta)) for R in regions)
    found = joint_distances(one, other, np.array([1.0]), regions[:, None])
    assert found[0, 0] == pytest.approx(expected, rel=1e-6)
    if not bias:
        moved = network(other.W, other.A, [0.1])
        assert joint_distances(one, moved, np.array([1.0]), regions[:, None])[0, 0] == np.inf


def test_other_outputs_are_other_units():
    one = network([[1.0], [0.0]], [[1.0, 2.0]], [0.0])
    assert joint_distances(one, Network([[1.0], [0.0]], [[1.0]], [0.0]), np.ones(1), None).tolist() == [[np.inf]]


@pytest.mark.parametrize("times", [-3, 2])
def test_biases_of_a_wave_are_those_of_the_nearest_repetition(times):
    one = network([[1.0], [0.3]], [[1.0, 2.0]], [0.2], "sine")
    other = network(one.W, one.A * (-1.0) ** times * 1.001, one.b + times * np.pi, "sine")
    assert joint_distances(one, other, np.array([1e-3]), None)[0, 0] == pytest.approx(1.0, rel=1e-6)
    assert joint_distances(network(one.W, one.A, one.b), network(one.W, one.A, other.b), np.ones(1), None)[0, 0] > 1.0


@pytest.mark.parametrize("outputs", [1, 3])
def test_waves_far_from_the_origin_are_not_taken_for_their_repetitions(outputs: int) -> None:
    """x + 1000: w moves by little, b by a thousand times that, more than half a period; the two together are in the region."""
    rng = np.random.default_rng(3)
    W, A = rng.standard_normal((4, 2)), rng.uniform(0.5, 1.5, (2, outputs))
    truth = Network(W, A if outputs > 1 else A[:, 0], np.array([0.2, -0.4]) - 1e3 * W.sum(axis=0), activation="sine")
    X = rng.standard_normal((600, 4)) + 1e3
    y = truth.predict(X)
    y = y + 0.02 * rng.standard_normal(y.shape)
    start = samples.open(X, y)
    if outputs > 1:
        fit = variable_projection(start, truth, Model(True, False, False), iterations=60, damping=1e-6, tol=1e-14).network
    else:
        fit = gauss_newton(start, truth, free="Wab", iterations=100, tol=1e-13).network
    claim = certify(fit, X, y, bias=True, offset=False)
    assert np.abs(fit.b - truth.b).max() > np.pi / 2
    assert claim
    assert claim.locate(truth, wide=False)[0].all()
    assert not claim.locate(replace(truth, b=truth.b + 0.8), wide=False)[0].any()
