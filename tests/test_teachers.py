"""Planted networks: their Gram matrices and singular values exactly, their laws within five standard errors."""

from __future__ import annotations

import math

import numpy as np
import pytest

from weightlift import activations, teachers
from weightlift.errors import ActivationError, ArgumentError, NotFiniteError, ShapeError, SingularError
from weightlift.network import Network
from weightlift.noise import FAMILIES

EPS = np.finfo(float).eps
ENSEMBLES = {
    "conditioned": lambda rng: teachers.conditioned(7, 4, kappa=3.0, rng=rng),
    "centered_gaussian": lambda rng: teachers.centered_gaussian(7, 9, rng=rng),
    "haar": lambda rng: teachers.haar(7, 14, rng=rng),
    "simplex": lambda rng: teachers.simplex(7, 16, rng=rng),
    "biased": lambda rng: teachers.biased(7, 9, rng=rng),
    "smoothed": lambda rng: teachers.smoothed(teachers.biased(7, 9, rng=3), 0.3, rng=rng),
}


def separation(W):
    """δ, η_avg, η_var of unit weights  [mondelli2019, (A2)–(A4)]."""
    d, r = W.shape
    gram = W.T @ W
    delta = np.abs(gram - np.diag(np.diag(gram))).max()
    average = np.linalg.norm(W.sum(axis=1)) ** 2 / r
    variance = d / r * np.linalg.norm(W @ W.T - r / d * np.eye(d), 2)
    return np.array([delta, average, variance])


def deviations(values, mean):
    """How many standard errors the average over the first axis lies from `mean`, entry by entry."""
    return np.abs(values.mean(axis=0) - mean) / (values.std(axis=0) / math.sqrt(len(values)))


# --- the ensembles


@pytest.mark.parametrize("make", ENSEMBLES.values(), ids=ENSEMBLES)
def test_one_seed_one_network(make):
    f, g, h = make(5), make(np.random.default_rng(5)), make(6)
    for name in ("W", "a", "b"):
        assert np.array_equal(getattr(f, name), getattr(g, name))
    assert not np.allclose(f.W, h.W)


@pytest.mark.parametrize(("d", "k", "kappa"), [(10, 5, 2.0), (6, 6, 1.0), (30, 4, 50.0), (8, 2, 3.0)])
def test_conditioned_has_the_singular_values(d, k, kappa, seed):
    net = teachers.conditioned(d, k, kappa=kappa, rng=seed)
    s = np.linalg.svd(net.W, compute_uv=False)[::-1]
    assert np.abs(s - np.linspace(1, kappa, k)).max() < 20 * kappa * EPS
    assert s[-1] / s[0] == pytest.approx(kappa, rel=1e-13)
    assert set(net.a) <= {-1.0, 1.0}
    assert not net.b.any()
    assert net.c == 0
    assert net.activation == activations.get("relu")


def test_conditioned_without_signs_is_the_teacher_of_zhang2019(seed):
    plain = teachers.conditioned(10, 5, signs=False, activation="relu", rng=seed)
    assert np.array_equal(plain.a, np.ones(5))
    assert np.array_equal(plain.W, teachers.conditioned(10, 5, rng=seed).W)
    assert plain.activation == activations.get("relu")


def test_conditioned_single_unit():
    assert np.linalg.norm(teachers.conditioned(5, 1, kappa=2.0).W) == pytest.approx(1, abs=5 * EPS)
    assert abs(teachers.conditioned(1, 1).W.item()) == 1


def test_conditioned_law_is_rotation_invariant():
    """E W = 0, E wₐᵢ w_bⱼ = δ_ab δᵢⱼ Σs²/(dk); a is a fair sign, independent of W; the same for QW."""
    d, k, rng = 4, 3, np.random.default_rng(0)
    nets = [teachers.conditioned(d, k, kappa=2.0, rng=rng) for _ in range(4000)]
    W, a = np.array([net.W for net in nets]), np.array([net.a for net in nets])
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    for rotated in (W, Q @ W):
        w = rotated.reshape(len(W), d * k)
        assert deviations(w, 0).max() < 5
        second = w[:, :, None] * w[:, None, :]
        assert deviations(second, np.eye(d * k) * (1 + 1.5**2 + 2**2) / (d * k)).max() < 5
        assert deviations(a[:, None, :] * rotated, 0).max() < 5
    assert deviations(a, 0).max() < 5


def test_centered_gaussian(seed):
    net = teachers.centered_gaussian(6, 40, rng=seed)
    assert np.abs(np.linalg.norm(net.W, axis=0) - 1).max() < 10 * EPS
    g = np.random.default_rng(seed).standard_normal((6, 40))  # the factor 1/√d drops out
    g = g - g.mean(axis=1)[:, None]
    assert pytest.approx(g / np.sqrt((g**2).sum(axis=0)), rel=1e-13) == net.W
    assert np.array_equal(net.a, np.ones(40))
    z = np.array([0.3, -1.0])
    assert net.activation(z) == pytest.approx(np.tanh(2.5 * z), rel=1e-15)


def test_centered_gaussian_pairs_correlate_by_centring():
    """Two units are opposite. In general the centred g have correlation ρ = −1/(k−1), and that of wᵢ and wⱼ, a sample
    correlation of d pairs, has mean ρ − ρ(1−ρ²)/(2d) + O(1/d²) and deviation (1−ρ²)/√d."""
    pair = teachers.centered_gaussian(5, 2, rng=4).W
    assert pair[:, 0] == pytest.approx(-pair[:, 1], rel=1e-12)
    W = np.array([teachers.centered_gaussian(30, 3, rng=s).W for s in range(400)])
    products = np.einsum("si,si->s", W[:, :, 0], W[:, :, 1])
    assert abs(products.mean() + 1 / 2 * (1 - 0.75 / 60)) < 5 * 0.75 / math.sqrt(30 * 400) + 1 / 30**2


@pytest.mark.parametrize(("d", "k"), [(5, 5), (5, 20), (3, 300), (1, 4)])
def test_haar_uncentred_blocks_are_orthogonal(d, k, seed):
    W = teachers.haar(d, k, center=False, rng=seed).W
    for i in range(0, k, d):
        block = W[:, i : i + d]
        assert np.abs(block @ block.T - np.eye(d)).max() < 20 * EPS
        assert np.abs(block.T @ block - np.eye(d)).max() < 20 * EPS
    if k > d > 1:
        assert not np.allclose(W[:, :d], W[:, d : 2 * d])


def test_haar_cut_to_any_number_of_units(seed):
    cut, whole = (teachers.haar(6, k, center=False, rng=seed).W for k in (9, 12))
    assert np.array_equal(cut, whole[:, :9])
    assert np.linalg.norm(teachers.haar(6, 1, center=False, rng=seed).W) == pytest.approx(1, rel=1e-14)


def test_haar_centred_keeps_lengths(seed):
    d, k = 5, 15
    raw, net = teachers.haar(d, k, center=False, rng=seed).W, teachers.haar(d, k, rng=seed)
    mean = raw.sum(axis=1) / k
    assert pytest.approx(raw - mean[:, None], abs=1e-15) == net.W
    assert pytest.approx(k / d * np.eye(d) - k * np.outer(mean, mean), abs=1e-13) == net.W @ net.W.T


def test_haar_single_matrix_centred_and_rescaled_meets_the_assumptions(seed):
    """Gram matrix I − 11ᵀ/d; rescaled by √(d/(d−1)): δ = 1/(d−1), η_avg = 0, η_var = 1  [mondelli2019, §3.1]."""
    d = 6
    W = teachers.haar(d, d, rng=seed).W
    assert pytest.approx(np.eye(d) - 1 / d, abs=1e-14) == W.T @ W
    assert separation(math.sqrt(d / (d - 1)) * W) == pytest.approx([1 / (d - 1), 0, 1], abs=1e-13)
    assert separation(teachers.haar(d, d, center=False, rng=seed).W) == pytest.approx([0, 1, 0], abs=1e-13)


def test_haar_law():
    """Moments of an orthogonal matrix: E q = 0, E q² = 1/d, E q⁴ = 3/(d(d+2)), E q₁₁q₁₂q₂₁q₂₂ = −1/((d−1)d(d+2))."""
    d = 3
    Q = teachers.haar(d, d * 6000, center=False, rng=1).W.T.reshape(6000, d, d)
    assert deviations(Q, 0).max() < 5
    assert deviations(Q**2, 1 / d).max() < 5
    assert deviations(Q**4, 3 / (d * (d + 2))).max() < 5
    minor = Q[:, 0, 0] * Q[:, 0, 1] * Q[:, 1, 0] * Q[:, 1, 1]
    assert deviations(minor, -1 / ((d - 1) * d * (d + 2))) < 5


@pytest.mark.parametrize("d", [1, 2, 7, 40])
def test_simplex_gram(d, seed):
    net = teachers.simplex(d, rng=seed)
    assert net.W.shape == (d, d + 1)
    assert np.abs(net.W.T @ net.W - ((d + 1) / d * np.eye(d + 1) - 1 / d)).max() < 30 * EPS
    assert separation(net.W) == pytest.approx([1 / d, 0, 0], abs=1e-13)


def test_simplices_stacked_stay_isotropic(seed):
    W = teachers.simplex(4, 20, rng=seed).W
    assert separation(W)[1:] == pytest.approx([0, 0], abs=1e-13)
    for i in range(0, 20, 5):
        assert separation(W[:, i : i + 5]) == pytest.approx([1 / 4, 0, 0], abs=1e-13)
    assert not np.allclose(W[:, :5], W[:, 5:10])


def test_simplex_law_is_rotation_invariant():
    W = np.array([teachers.simplex(2, rng=s).W for s in range(4000)])
    assert deviations(W, 0).max() < 5
    assert deviations(W**2, 1 / 2).max() < 5
    assert deviations(W[:, 0] * W[:, 1], 0).max() < 5


def test_biased(seed):
    net = teachers.biased(20, 3000, bias=1.5, rng=seed)
    assert np.abs(np.linalg.norm(net.W, axis=0) - 1).max() < 10 * EPS
    assert net.activation == activations.get("relu")
    size = np.abs(net.a)
    assert 0.5 <= size.min() < 0.51
    assert 1.49 < size.max() <= 1.5
    assert -1.5 <= net.b.min() < -1.49
    assert 1.49 < net.b.max() <= 1.5
    for values, mean in [(size, 1), (np.sign(net.a), 0), (net.b, 0), (net.b**2, 1.5**2 / 3), (net.a * net.b, 0)]:
        assert deviations(values, mean) < 5
    assert deviations(net.W.T, 0).max() < 5
    assert deviations(net.W.T**2, 1 / 20).max() < 5
    assert not teachers.biased(3, 4, bias=0).b.any()
    assert teachers.biased(3, 1).n_units == 1


def test_smoothed_perturbs_directions_alone(seed):
    net = Network(np.array([[3.0, 0.5, 0.0], [0.0, 0.5, -2.0]]), a=[1, -2, 3], b=[0.1, 0, -1], c=0.5, activation="tanh")
    new = teachers.smoothed(net, 0.2, rng=seed)
    assert np.linalg.norm(new.W, axis=0) == pytest.approx(np.linalg.norm(net.W, axis=0), rel=1e-14)
    assert not np.allclose(new.W, net.W)
    assert np.array_equal(new.a, net.a)
    assert np.array_equal(new.b, net.b)
    assert (new.c, new.activation) == (net.c, net.activation)
    assert pytest.approx(net.W, rel=1e-15) == teachers.smoothed(net, 0.0, rng=seed).W


def test_smoothed_is_relative_to_each_units_length(seed):
    net, scale = teachers.biased(5, 4, rng=9), np.array([1.0, 0.01, 7.0, 1e3])
    longer = Network(net.W * scale, a=net.a, b=net.b)
    expected = teachers.smoothed(net, 0.3, rng=seed).W * scale
    assert np.abs(teachers.smoothed(longer, 0.3, rng=seed).W / expected - 1).max() < 1e-12


def test_smoothed_perturbation_has_length_tau():
    """To first order the tangential part of the perturbation remains, of mean square length τ²(d−1)/d."""
    d, k, tau = 5, 20_000, 1e-3
    W = np.tile(np.array([[0.0], [0.6], [0.0], [-0.8], [0.0]]), (1, k))
    step = teachers.smoothed(W, tau, rng=1).W - W
    squared = (step**2).sum(axis=0) / tau**2
    assert deviations(squared, (d - 1) / d) < 5
    assert deviations(step.T[:, [0, 2, 4]] ** 2 / tau**2, 1 / d).max() < 5


def test_smoothed_weights_become_robustly_independent(seed):
    """Twelve copies of one direction in d = 5: their squares w⊗w (dimension 15) are independent once smoothed."""
    W = teachers.smoothed(np.ones((5, 12)), 0.5, rng=seed).W
    squares = np.einsum("ai,bi->abi", W, W).reshape(25, 12)
    assert np.linalg.svd(squares, compute_uv=False)[-1] > 1e-4 * np.linalg.norm(squares, 2)


# --- draw


@pytest.fixture
def net():
    return teachers.biased(4, 3, rng=1)


COVARIANCE = np.array([[2.0, 0.6, 0.0, -0.3], [0.6, 1.0, 0.2, 0.0], [0.0, 0.2, 0.5, 0.1], [-0.3, 0.0, 0.1, 3.0]])
MEAN = np.array([0.5, -1.0, 2.0, 0.0])


def test_draw_is_the_network_at_gaussian_rows(net, seed):
    X, y = teachers.draw(net, 1000, rng=seed)
    assert X.shape == (1000, 4)
    assert np.array_equal(y, net.predict(X))
    assert X.dtype == y.dtype == np.float64


def test_draw_same_seed_same_bits_and_noise_keeps_inputs(net):
    options = {"noise_std": 0.3, "mean": MEAN, "covariance": COVARIANCE}
    X, y = teachers.draw(net, 300, rng=7, **options)
    again = teachers.draw(net, 300, rng=np.random.default_rng(7), **options)
    assert np.array_equal(X, again[0])
    assert np.array_equal(y, again[1])
    for noise in FAMILIES:
        X_other, y_other = teachers.draw(net, 300, rng=7, **(options | {"noise": noise, "noise_std": 0.2}))
        assert np.array_equal(X, X_other)
        assert not np.allclose(y, y_other)
    assert not np.allclose(X, teachers.draw(net, 300, rng=8, **options)[0])


def test_draw_twice_from_one_generator_gives_new_rows(net):
    rng = np.random.default_rng(0)
    (X, _), (Z, _) = (teachers.draw(net, 50, rng=rng) for _ in range(2))
    assert not np.allclose(X, Z)


def test_draw_begins_with_the_same_rows(net):
    X, y = teachers.draw(net, 500, noise_std=0.2, rng=3)
    Z, z = teachers.draw(net, 120, noise_std=0.2, rng=3)
    assert np.array_equal(X[:120], Z)
    assert y[:120] == pytest.approx(z, abs=1e-13)


def test_draw_rows_do_not_depend_on_blocks(net, monkeypatch):
    X, _ = teachers.draw(net, 200, mean=MEAN, covariance=COVARIANCE, rng=3)
    monkeypatch.setattr(teachers, "BLOCK_BYTES", 7 * 8 * 4)
    Z, _ = teachers.draw(net, 200, mean=MEAN, covariance=COVARIANCE, rng=3)
    assert pytest.approx(Z, abs=1e-14) == X


def test_draw_mean_and_covariance(net, seed):
    n = 50_000
    X, _ = teachers.draw(net, n, mean=MEAN, covariance=COVARIANCE, rng=seed)
    centred = X - MEAN
    assert (np.abs(centred.mean(axis=0)) / np.sqrt(np.diag(COVARIANCE) / n)).max() < 5
    variance = np.outer(np.diag(COVARIANCE), np.diag(COVARIANCE)) + COVARIANCE**2  # of xᵢxⱼ, by Isserlis
    assert (np.abs(centred.T @ centred / n - COVARIANCE) / np.sqrt(variance / n)).max() < 5


def test_draw_covariance_is_that_of_the_standard_rows(net, seed):
    Z, _ = teachers.draw(net, 100, rng=seed)
    X, y = teachers.draw(net, 100, mean=MEAN, covariance=COVARIANCE, rng=seed)
    assert pytest.approx(MEAN + Z @ np.linalg.cholesky(COVARIANCE).T, abs=1e-13) == X
    assert y == pytest.approx(net.predict(X), abs=1e-13)


@pytest.mark.parametrize("noise", FAMILIES)
def test_draw_noise_has_the_deviation_asked_for(net, noise, seed):
    n, std = 100_000, 0.4
    X, y = teachers.draw(net, n, noise_std=std, noise=noise, rng=seed)
    e = y - net.predict(X)
    assert abs(e.mean()) < 5 * std / math.sqrt(n)
    assert np.abs(X.T @ e).max() < 5 * std * math.sqrt(n)
    kurtosis = {"gaussian": 3, "uniform": 9 / 5, "rademacher": 1, "laplace": 6, "student": 9}[noise]
    assert abs(np.mean(e**2) / std**2 - 1) <= 5 * math.sqrt((kurtosis - 1) / n) + 1e-12


def test_draw_inputs_in_very_different_units(net):
    scale = np.array([1e-9, 1.0, 1e9, 1e3])
    X, _ = teachers.draw(net, 100, covariance=COVARIANCE * np.outer(scale, scale), rng=1)
    Z, _ = teachers.draw(net, 100, covariance=COVARIANCE, rng=1)
    assert pytest.approx(Z * scale, rel=1e-9) == X


def test_draw_one_row():
    X, y = teachers.draw(teachers.conditioned(1, 1), 1, noise_std=1.0)
    assert X.shape == (1, 1)
    assert y.shape == (1,)


# --- bad input


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: teachers.conditioned(4, 5), "n_units must be at most n_inputs"),
        (lambda: teachers.conditioned(4, 3, kappa=0.5), "kappa"),
        (lambda: teachers.conditioned(4, 3, kappa=math.inf), "kappa"),
        (lambda: teachers.conditioned(4, 3, kappa="2"), "kappa"),
        (lambda: teachers.conditioned(0, 0), "n_inputs"),
        (lambda: teachers.conditioned(4, 0), "n_units"),
        (lambda: teachers.conditioned(4.0, 2), "n_inputs must be an integer"),
        (lambda: teachers.centered_gaussian(4, 1), "n_units"),
        (lambda: teachers.haar(4, 1), "center=False"),
        (lambda: teachers.haar(4, -8), "n_units"),
        (lambda: teachers.simplex(4, 6), "multiple of n_inputs \\+ 1 = 5"),
        (lambda: teachers.biased(4, 2, bias=-1), "bias"),
        (lambda: teachers.smoothed(np.eye(3), -0.1), "tau"),
        (lambda: teachers.smoothed(np.eye(3), math.nan), "tau"),
        (lambda: teachers.smoothed(Network([[1.0, 0.0], [1.0, 0.0]]), 0.1), "unit 1"),
    ],
)
def test_bad_teachers(call, argument):
    with pytest.raises(ArgumentError, match=argument):
        call()


def test_unknown_activation():
    with pytest.raises(ActivationError):
        teachers.biased(4, 2, activation="reluu")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n": 0}, ArgumentError, "n must be at least 1"),
        ({"n": 10.0}, ArgumentError, "n must be an integer"),
        ({"n": 2**32}, ArgumentError, "128 GiB"),
        ({"n": 2**40}, ArgumentError, "at most 64"),
        ({"n": 2**80}, ArgumentError, "n must be below 2⁶³"),
        ({"noise_std": -1.0}, ArgumentError, "noise_std"),
        ({"noise_std": math.nan}, ArgumentError, "noise_std"),
        ({"noise": "cauchy"}, ArgumentError, "gaussian, uniform, rademacher, laplace, student"),
        ({"mean": np.zeros(3)}, ShapeError, "mean must have shape \\(4,\\)"),
        ({"mean": [0, 0, math.nan, 0]}, NotFiniteError, "mean"),
        ({"mean": ["a"] * 4}, ArgumentError, "mean"),
        ({"covariance": np.eye(3)}, ShapeError, "covariance must have shape \\(4, 4\\)"),
        ({"covariance": np.eye(4) * 1j}, NotFiniteError, "covariance"),
        ({"covariance": np.eye(4) + np.eye(4, k=1)}, ArgumentError, "symmetric"),
        ({"covariance": np.ones((4, 4))}, SingularError, "linearly dependent"),
        ({"covariance": np.diag([1.0, 1.0, 0.0, 1.0])}, SingularError, "input 2 is constant"),
        ({"covariance": np.diag([1.0, -1.0, 1.0, 1.0])}, ArgumentError, "must not be negative"),
        ({"covariance": np.eye(4) + 2 * (np.eye(4, k=1) + np.eye(4, k=-1))}, ArgumentError, "negative eigenvalue"),
    ],
)
def test_bad_draws(net, options, error, message):
    options = {"n": 10} | options
    with pytest.raises(error, match=message) as caught:
        teachers.draw(net, **options)
    assert type(caught.value) is error


def test_draw_wants_a_network():
    with pytest.raises(ArgumentError, match="Network"):
        teachers.draw(np.eye(3), 10)
