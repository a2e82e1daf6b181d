"""The quantities of Def. 4.1 against closed forms, and their invariances."""

import math

import numpy as np
import pytest

from weightlift import Network, teachers
from weightlift.errors import ActivationError
from weightlift.theory import conditioning


def test_singular_values_give_kappa_and_lambda(seed):
    net = teachers.conditioned(7, 4, kappa=3.0, activation="relu", rng=seed)
    c = conditioning(net)
    s = np.linspace(1, 3, 4)
    assert c.kappa == pytest.approx(3)
    assert c.lambda_ == pytest.approx(np.prod(s))
    assert (c.sigma_1, c.sigma_k) == (pytest.approx(3), pytest.approx(1))
    assert c.nu == 1


def test_theory_forms_for_squared_relu(rng):
    """ρ(σ) = (4/π − 1)σ², so τ and the two forms are closed."""
    W, a = rng.normal(size=(6, 3)), np.array([2.0, -0.5, 1.0])
    s = np.linalg.svd(W, compute_uv=False)
    c = conditioning(Network(W, a, activation="squared_relu"))
    rho = (4 / math.pi - 1) * s[-1] ** 2
    assert c.rho == pytest.approx(rho)
    assert c.p == 1
    assert c.nu == 4
    assert c.tau == pytest.approx((1.5 * s[0]) ** 4 / ((4 / math.pi - 1) * (s[-1] / 2) ** 2) ** 2)
    assert c.m0 == pytest.approx(0.25 * rho / (c.kappa**2 * np.prod(s / s[-1])))
    assert c.M0 / s[0] ** 2 == pytest.approx(3 * 4)


def test_invariances(rng):
    """Rotations leave everything, ReLU does not see the scale, and κ, λ are those of tW."""
    net = Network(rng.normal(size=(5, 3)), rng.normal(size=3), activation="relu")
    Q = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    c, rotated, longer = (conditioning(Network(W, net.a)) for W in (net.W, Q @ net.W, 3 * net.W))
    for name in ("kappa", "lambda_", "nu", "rho", "tau", "m0", "M0"):
        assert getattr(rotated, name) == pytest.approx(getattr(c, name))
        assert getattr(longer, name) == pytest.approx(getattr(c, name))
    assert c.tau == pytest.approx(1 / (1 / 4 - 1 / (2 * math.pi)) ** 2)


def test_rank_deficient_weights_have_no_guarantee(rng):
    W = rng.normal(size=(5, 3))
    W[:, 2] = W[:, 0] - W[:, 1]
    for net in (Network(W), Network(rng.normal(size=(2, 3)))):
        c = conditioning(net)
        assert c.kappa == c.lambda_ == math.inf
        assert c.sigma_k == c.m0 == 0


def test_tau_is_infinite_where_rho_is_not_positive(rng):
    for name in ("linear", "quadratic"):
        assert conditioning(Network(rng.normal(size=(4, 2)), activation=name)).tau == math.inf


def test_growth_must_be_bounded(users):
    with pytest.raises(ActivationError, match=r"Property 3\.1"):
        conditioning(Network(np.eye(2), activation=users["exponential"]))
