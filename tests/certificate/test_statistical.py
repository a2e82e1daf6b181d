"""STATISTICAL: regions that hold, and everything that must keep it from being said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from tests.certificate.fits import fitted, relu

from weightlift import draw, samples, teachers
from weightlift.certificate import Certificate, Status, certify, inference
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.identifiability import reflect
from weightlift.network import Network
from weightlift.refinement.gauss_newton import gauss_newton


def test_a_right_fit_is_certified_and_its_regions_hold(seed: int) -> None:
    truth, X, y = relu(seed)
    certificate = certify(fitted(truth, X, y), X, y)
    assert certificate.status is Status.STATISTICAL, str(certificate)
    assert certificate.locate(truth)[0].all()
    assert certificate.noise_std == pytest.approx(0.03, rel=0.1)
    assert certificate.detection_limit is not None
    assert 0 < certificate.detection_limit < 0.3
    assert "detection limit" in str(certificate)


def test_regions_are_the_confidence_ellipsoids_and_wide_ones_hold_them(seed: int) -> None:
    truth, X, y = relu(seed)
    net = fitted(truth, X, y)
    certificate = certify(net, X, y)
    assert certificate.regions is not None
    assert certificate.wide_regions is not None
    information = Information.of(samples.open(X, y), Gauge.of(net, bias=True, offset=False))
    q, rest = 6, len(X) - 12
    for i in range(2):
        core = q * stats.f.isf(1e-4, q, rest) * information.rss / rest * information.unit_inverse(i)
        ratios = np.linalg.eigvals(np.linalg.solve(core, certificate.regions[0, i])).real
        assert 1.0 - 1e-9 <= ratios.min() <= ratios.max() <= 1.2  # more by the distance to the minimum
        assert np.linalg.eigvals(np.linalg.solve(core, certificate.wide_regions[0, i])).real.min() > 1.0


def test_the_headline_has_the_interval_of_a_single_weight_beside_the_region() -> None:
    """Inputs of variance one: half-widths are 1.96 standard errors of w/‖w‖, classical or robust ones, whichever are larger."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(800, 3))
    X = (X - X.mean(axis=0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(X.T, bias=True))).T
    truth = Network([[1.0, -0.5], [0.4, 1.2], [-0.3, 0.8]], [1.5, -1.0])
    y = truth.predict(X) + 0.05 * rng.normal(size=800)
    net = gauss_newton(samples.open(X, y), truth, free="W", tol=1e-13).network
    certificate = certify(net, X, y)
    assert certificate.status is Status.STATISTICAL, str(certificate)
    both = [inference(net, X, y, robust=robust).standard_errors.reshape(2, 4)[:, :3] for robust in (False, True)]
    assert certificate.single is not None
    np.testing.assert_allclose(certificate.single, 1.96 * np.max(both, axis=(0, 2)), rtol=0.03)  # HC3 there, HC1 here
    assert certificate.precision is not None
    assert (certificate.single < certificate.precision).all()
    for words in (f"single weights to ±{certificate.single.max():.1g} of ‖w‖ at 95 %", "at once", "at 99.99 %"):
        assert words in certificate.headline
    assert certificate.refused("no.").single is None


def test_distances_to_the_truth_are_fishers() -> None:
    """δᵀC⁻¹δ/q of a unit follows F(q, n − p): the covariance has the right size and shape."""
    distances = []
    for seed in range(120):
        truth = teachers.biased(3, 1, bias=0.5, activation="tanh", rng=1)
        X, y = draw(truth, 400, noise_std=0.05, rng=seed)
        gauge = Gauge.of(fitted(truth, X, y, free="Wab"), bias=True, offset=False)
        information = Information.of(samples.open(X, y), gauge)
        delta = gauge.unit(0)[0] - Gauge.of(truth, bias=True, offset=False).unit(0)[0]
        distances.append(float(delta @ information.gram @ delta) / (information.rss / 395) / 5)
    assert stats.kstest(distances, stats.f(5, 395).cdf).pvalue > 1e-3


def refusal(certificate: Certificate, status: Status, word: str) -> None:
    assert certificate.status is status, str(certificate)
    assert not certificate
    assert word in " ".join(certificate.reasons)


def test_an_unfinished_fit_is_refused() -> None:
    truth, X, y = relu(1)
    net = fitted(truth, X, y)
    refusal(certify(replace(net, W=net.W + 0.01), X, y), Status.FAILED, "minimum")
    penalised = gauss_newton(samples.open(X, y), truth, free="Wb", ridge=1e-2).network
    refusal(certify(penalised, X, y), Status.FAILED, "penalty")


@pytest.mark.parametrize("seed", [0, 2, 4])
def test_a_local_minimum_is_refused(seed: int) -> None:
    truth, X, y = relu(seed)
    wrong = fitted(reflect(truth, np.array([True, False]), offset=False), X, y)
    assert not wrong.equivalent(truth, 0.2)
    assert certify(wrong, X, y).status is Status.FAILED


def test_wrong_widths_and_activations_are_refused(seed: int) -> None:
    truth, X, y = relu(seed)
    narrow = fitted(replace(truth, W=truth.W[:, :1], a=truth.a[:1], b=truth.b[:1]), X, y)
    refusal(certify(narrow, X, y), Status.FAILED, "structure")
    wide = Network(np.column_stack([truth.W, -truth.W[::-1, 0]]), np.append(truth.a, 0.1), np.append(truth.b, 0.2))
    assert not certify(fitted(wide, X, y), X, y)
    squared = fitted(replace(truth, activation="squared_relu"), X, y)
    refusal(certify(squared, X, y), Status.FAILED, "structure")
    smooth = fitted(replace(truth, activation="softplus"), X, y, free="Wab")
    assert not certify(smooth, X, y)  # it imitates the kink as w grows and a falls


def test_spurious_units_are_named(seed: int) -> None:
    truth = teachers.biased(5, 1, bias=0.5, activation="squared_relu", rng=seed)  # minima of ReLU fits may lie on kinks
    X, y = draw(truth, 900, noise_std=0.05, rng=seed + 50)
    extra = np.random.default_rng(seed).standard_normal(5)
    wide = Network(np.column_stack([truth.W, 0.1 * extra]), [truth.a[0], 1.0], [truth.b[0], 0.1], 0.0, "squared_relu")
    certificate = certify(fitted(wide, X, y), X, y)
    refusal(certificate, Status.AMBIGUOUS, "fewer units")
    assert certificate.ambiguous_units


def test_outliers_are_refused() -> None:
    truth, X, y = relu(2)
    y[7] += 3.0
    refusal(certify(fitted(truth, X, y), X, y), Status.FAILED, "outliers")
    X[7] *= 1000
    assert not certify(fitted(truth, X, y), X, y)


def test_copies_are_refused() -> None:
    truth, X, y = relu(2, n=400)
    X, y = np.tile(X, (3, 1)), np.tile(y, 3)
    refusal(certify(fitted(truth, X, y), X, y), Status.FAILED, "copies")


def test_few_or_very_noisy_rows_are_refused() -> None:
    truth, X, y = relu(2, n=60)
    refusal(certify(fitted(truth, X, y), X, y), Status.FAILED, "too few")
    truth, X, y = relu(2, n=300, noise=1.0)
    assert not certify(fitted(truth, X, y), X, y)


def test_twins_are_ambiguous_under_noise() -> None:
    W = np.random.default_rng(0).standard_normal((4, 3))
    W[:, 2] = -W[:, 0] - W[:, 1] + 1e-3
    truth = Network(W, np.ones(3))
    X, y = draw(truth, 1500, noise_std=0.05, rng=1)
    for start in (truth, reflect(truth, np.ones(3, dtype=bool), offset=False)):
        certificate = certify(fitted(start, X, y, free="W"), X, y)
        refusal(certificate, Status.AMBIGUOUS, "reflected")
        assert certificate.sign_patterns is not None
        assert certificate.sign_patterns.all(axis=1).any()


def test_weights_are_inverse_variances() -> None:
    truth, X, y = relu(4, n=1200)
    rng = np.random.default_rng(0)
    w = 10 ** rng.uniform(-1, 1, len(X))
    y = truth.predict(X) + 0.03 * rng.standard_normal(len(X)) / np.sqrt(w)
    net = fitted(truth, X, y, weight=w)
    one, other = certify(net, X, y, sample_weight=w), certify(net, X, y, sample_weight=1e4 * w)
    assert one.status is other.status is Status.STATISTICAL, str(one)
    assert one.regions is not None
    assert other.regions is not None
    np.testing.assert_allclose(one.regions, other.regions, rtol=1e-6)
    assert one.p_value == pytest.approx(other.p_value, rel=1e-6)
    assert one.locate(truth)[0].all()


def test_held_out_rows_must_not_surprise() -> None:
    truth, X, y = relu(4)
    net = fitted(truth, X, y)
    fresh, z = draw(truth, 300, noise_std=0.03, rng=99)
    assert certify(net, X, y, heldout=samples.open(fresh, z)).status is Status.STATISTICAL
    refusal(certify(net, X, y, heldout=samples.open(fresh, z + 0.1 * fresh[:, 0])), Status.FAILED, "held-out")


def test_symmetric_networks_have_the_same_regions() -> None:
    truth, X, y = relu(5)
    net = fitted(truth, X, y)
    same = replace(net, W=net.W[:, ::-1] * 4.0, b=net.b[::-1] * 4.0, a=net.a[::-1] / 4.0)
    one, other = certify(net, X, y), certify(same, X, y)
    assert one.status is other.status is Status.STATISTICAL
    assert one.p_value == pytest.approx(other.p_value, rel=0.5)
    assert one.regions is not None
    assert other.regions is not None
    np.testing.assert_allclose(one.regions.shape, other.regions.shape)
    assert one.locate(same)[0].all()


@pytest.mark.slow
def test_regions_hold_over_many_fits() -> None:
    """300 fits with unusual noise: no unit outside its region."""
    for seed in range(300):
        truth, X, _ = relu(seed, n=500)
        rng = np.random.default_rng(seed)
        noise = rng.uniform(-1, 1, 500) if seed % 2 else rng.standard_normal(500) * (0.5 + np.abs(X[:, 0]))
        y = truth.predict(X) + 0.05 * noise
        certificate = certify(fitted(truth, X, y), X, y)
        if certificate:
            assert certificate.locate(truth)[0].all(), seed
