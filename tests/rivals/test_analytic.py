"""Analytic φ: rows that leave no other function, and the identities by which units may be others."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from weightlift import Network, Status, activations, certify
from weightlift.evidence.gauge import Gauge
from weightlift.rivals.analytic import _parallel, examine_analytic, identity, period, shift
from weightlift.rivals.finding import Outcome

EXPONENTIAL = activations.custom("exponential", np.exp, np.exp, analytic=True)


def gauge(activation, W=((1.0, 0.3), (0.2, -1.0), (0.5, 0.4)), *, bias=False):
    return Gauge.of(Network(np.array(W), activation=activation), bias=bias, offset=False)


def test_one_row_more_than_parameters_leaves_no_other_function():
    tanh = gauge("tanh")
    assert tanh.size == 8
    few = examine_analytic(8, tanh)
    assert (few.outcome, few.number, few.limit) == (Outcome.UNEXAMINED, 8.0, 9.0)
    found = examine_analytic(9, tanh)
    assert found.outcome is Outcome.IMPOSSIBLE
    assert (found.number, found.limit) == (9.0, 9.0)
    assert examine_analytic(9, tanh, beside=3).outcome is Outcome.UNEXAMINED  # a linear part has parameters too


@pytest.mark.parametrize(("phi", "expected"), [("tanh", None), ("softplus", None), ("sine", True), (EXPONENTIAL, True)])
def test_identities_hold_where_they_are_found(phi, expected):
    phi = activations.get(phi) if isinstance(phi, str) else phi
    found = identity(phi)
    assert (found is not None) == bool(expected)
    if found is not None:
        alpha, beta = found
        t = np.linspace(-2.5, 2.5, 60)
        span = np.column_stack([phi(t), *(t**j for j in range(4))])
        values = phi(alpha * t + beta)
        left = values - span @ np.linalg.lstsq(span, values, rcond=None)[0]
        assert np.abs(left).max() < 1e-6 * np.abs(values).max()
        assert math.hypot(abs(alpha) - 1, beta) > 0.2  # not the trivial one


def test_the_sine_repeats_and_the_exponential_does_not():
    assert period(activations.get("sine")) == pytest.approx(2 * math.pi, rel=1e-6)
    assert period(EXPONENTIAL) is None
    assert period(activations.get("tanh")) is None


def test_units_of_an_exponential_are_found_to_be_others():
    assert examine_analytic(50, gauge(EXPONENTIAL, bias=True)).outcome is Outcome.FOUND  # e^{z + β} is a multiple of e^z
    parallel = gauge("sine", W=((1.0, 2.0), (0.5, 1.0), (0.0, 0.0)))
    assert examine_analytic(50, parallel).outcome is Outcome.UNEXAMINED


def test_a_sine_repeats_and_its_certificate_says_so(seed):
    """sin(z + nπ) = ±sin z: an answer with another multiple in a bias is within the claim, which says so."""
    rng = np.random.default_rng(seed)
    truth = Network(rng.standard_normal((2, 2)), rng.standard_normal(2), rng.standard_normal(2), activation="sine")
    assert shift(truth.activation) == (pytest.approx(np.pi), -1)
    assert period(truth.activation) == pytest.approx(2 * np.pi)
    assert shift(Network([[1.0]], activation="tanh").activation) is None
    X = rng.standard_normal((120, 2))
    found = replace(truth, b=truth.b + np.pi * np.array([1, -2]), a=truth.a * np.array([-1.0, 1.0]))
    certificate = certify(found, X, truth.predict(X), bias=True)
    assert certificate.status is Status.EXACT, str(certificate)
    assert any("multiples of 3.142" in line for line in certificate.symmetries)
    assert certificate.locate(truth)[0].all()
    assert not certificate.locate(replace(truth, b=truth.b + 0.5 * np.pi))[0].any()
    assert not certificate.locate(replace(truth, a=-truth.a))[0].any()


def test_an_odd_activation_of_the_users_own_is_asked_to_say_so() -> None:
    bent = partial(activations.custom, "bent", lambda z: z / (1 + z * z) ** 0.5, lambda z: (1 + z * z) ** -1.5, analytic=True)
    rng = np.random.default_rng(0)
    X, W, b = rng.standard_normal((150, 4)), rng.standard_normal((4, 2)), rng.standard_normal(2)
    silent, said = (Network(W, [1.0, -0.7], b, 0.0, phi) for phi in (bent(), bent(reflection=(-1.0, ()))))
    refused = certify(silent, X, silent.predict(X))
    assert refused.status is Status.AMBIGUOUS
    assert any("`reflection`" in sentence for sentence in refused.reasons)
    assert certify(said, X, said.predict(X)).status is Status.EXACT


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e12])
def test_parallel_units_at_any_length(size):
    """To an angle of 3·10⁻⁵, in either direction."""
    u, v = np.array([1.0, 0.5, -0.3]), np.array([0.5, -1.0, 0.0])
    for angle, expected in ((0.0, True), (1e-5, True), (1e-4, False), (1.0, False)):
        for sign in (1.0, -1.0):
            other = sign * 3.0 * (u / np.linalg.norm(u) * np.cos(angle) + v / np.linalg.norm(v) * np.sin(angle))
            assert _parallel(Network(np.column_stack([size * u, other, [0.0, 0.0, 2.0]]))) == expected


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_a_wave_that_only_repeats(size):
    """sin t + cos(2t)/2 repeats after 2π, not with the other sign after π; its size does not matter."""
    wave = activations.custom(
        "wave", lambda t: size * (np.sin(t) + np.cos(2 * t) / 2), lambda t: size * (np.cos(t) - np.sin(2 * t)), analytic=True
    )
    assert shift(wave) == (pytest.approx(2 * np.pi, rel=1e-6), 1)
    assert period(wave) == pytest.approx(2 * np.pi, rel=1e-6)


def test_identities_up_to_a_cubic():
    """e^{−t²} + t³ is even up to 2t³, t e^{−t²} + 1 + t² odd up to 2 + 2t², and a bump even about 0.7."""
    even = activations.custom(
        "even", lambda t: np.exp(-t * t) + t**3, lambda t: -2 * t * np.exp(-t * t) + 3 * t * t, analytic=True
    )
    odd = activations.custom(
        "odd", lambda t: t * np.exp(-t * t) + 1 + t * t, lambda t: (1 - 2 * t * t) * np.exp(-t * t) + 2 * t, analytic=True
    )
    for phi in (even, odd):
        assert identity(phi, False) == (pytest.approx(-1.0, abs=1e-5), 0.0)
    bump = activations.custom("bump", lambda t: np.exp(-((t - 0.7) ** 2)), lambda t: (1.4 - 2 * t) * np.exp(-((t - 0.7) ** 2)))
    assert identity(bump) == (pytest.approx(-1.0, abs=1e-5), pytest.approx(1.4, abs=1e-5))
    assert identity(bump, False) is None
