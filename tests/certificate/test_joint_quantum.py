"""Rounded targets of several outputs, or beside a linear part: which rounding, what it allows, and what is claimed of it."""

from dataclasses import replace

import numpy as np
import pytest

import weightlift as wl
from weightlift.certificate.joint import Sides, certify_joint
from weightlift.certificate.joint_statistical import NoisyCase
from weightlift.certificate.limits import LIMITS
from weightlift.certificate.precision import Near, UnitBalls
from weightlift.certificate.quantum import quantum_of
from weightlift.evidence.rows import Agreement
from weightlift.refinement.variable_projection import Model

EPS = np.finfo(float).eps


def planted(activation, seed, *, m=3, linear=False, n=120):
    units = wl.teachers.biased(5, 3, bias=0.3, activation=activation, rng=seed)
    truth = wl.teachers.several(units, m, linear=linear, rng=seed + 10)
    return truth, *wl.draw(truth, n, rng=seed + 20)


def rounding_bound(net, X, Y):
    """B of the module's docstring, written out."""
    z = X @ net.W + net.b
    largest = np.abs(net.A).max(axis=0)
    A = (np.abs(net.A) / largest).max(axis=1)[:, None] * largest
    V = np.zeros((5, net.n_outputs)) if net.V is None else net.V
    inner = (np.abs(net.activation.derivative(z)) * (np.abs(X) @ np.abs(net.W) + np.abs(net.b))) @ A
    outer = np.abs(net.activation(z)) @ A + np.abs(X) @ np.abs(V) + np.abs(net.c) + np.abs(Y)
    return EPS * (7 * inner + (3 + 5 + 4) * outer)


@pytest.mark.parametrize("linear", [False, True])
def test_each_output_has_its_own_rounding(seed, linear):
    truth, X, Y = planted("tanh", seed, linear=linear)
    rounded = np.stack([Y[:, 0].astype(np.float32), np.round(Y[:, 1], 6), Y[:, 2]], axis=1)
    w = np.random.default_rng(seed).uniform(0, 2, len(X))
    found = quantum_of(wl.samples.open(X, rounded, sample_weight=w), truth)
    assert found.words == "multiples of 1e-6, or numbers stored in single precision" or (
        found.words == "numbers stored in single precision, or multiples of 1e-6"
    )
    B = LIMITS.rounding * rounding_bound(truth, X, rounded)
    E = B + 0.5 * np.stack([2.0**-23 * np.abs(rounded[:, 0]), np.full(len(X), 1e-6), np.zeros(len(X))], axis=1)
    r = np.abs(truth.predict(X) - rounded)
    np.testing.assert_allclose(found.squares, np.sum(w[:, None] * (r + E) ** 2, axis=0), rtol=1e-10)
    assert found.size == pytest.approx(max(1e-6, 2.0**-23 * np.abs(rounded[:, 0]).max()))
    assert found.bound == pytest.approx(np.sqrt(np.sum(w[:, None] * E**2) / w.sum() / 3))
    assert found.level == pytest.approx((r.max(axis=0) / E.max(axis=0)).max())


@pytest.mark.parametrize("activation", ["elu", "relu", "leaky_relu", "absolute"])
def test_roundings_that_put_every_row_near_a_kink_claim_nothing(activation, seed):
    rng = np.random.default_rng(seed)
    W, V = rng.standard_normal((5, 2)), rng.standard_normal(5)
    truth = wl.Network(W, rng.standard_normal(2), rng.standard_normal(2), 0.3, activation, V=V)
    X = rng.standard_normal((300, 5))
    found = wl.certify(truth, X, np.round(truth.predict(X), 1), bias=True, offset=True)
    assert found.status in (wl.Status.FAILED, wl.Status.AMBIGUOUS, wl.Status.STATISTICAL)
    inside, _ = found.locate(truth)
    assert inside[list(found.certified_units)].all()


def test_noise_is_no_rounding(seed):
    truth, X, Y = planted("relu", seed)
    noise = 1e-3 * np.random.default_rng(seed).normal(size=Y.shape)
    assert quantum_of(wl.samples.open(X, (Y + noise).astype(np.float32)), truth) is None
    assert quantum_of(wl.samples.open(X, Y.astype(np.float32)), replace(truth, W=truth.W * 1.001)) is None


def test_rows_that_may_cross_a_kink_are_dropped(seed):
    truth, X, Y = planted("relu", seed)
    share = np.array([0.1, 0.0, 0.02])
    z, length = X @ truth.W + truth.b, np.sqrt((truth.W**2).sum(axis=0) + truth.b**2)
    within = (np.abs(z) <= share * length * np.sqrt((X**2).sum(axis=1) + 1)[:, None]).any(axis=1)
    near, rows = Near(UnitBalls(truth, share * length)), wl.samples.open(X, Y)
    assert rows.fold(near)[0] == within.sum() > 0
    kept = rows.map(near.without).fold(Sides(truth))[0].sum(axis=0)
    np.testing.assert_array_equal(kept, len(X) - within.sum())


CASES = [("relu", False, 3), ("tanh", False, 3), ("relu", True, 3), ("relu", True, None)]


@pytest.mark.parametrize(("activation", "linear", "m"), CASES)
def test_targets_in_single_precision_are_certified_within_what_that_allows(seed, activation, linear, m):
    truth, X, Y = planted(activation, seed, linear=linear, m=m)
    Y = Y.astype(np.float32)
    found = wl.recover(X, Y, n_units=3, activation=activation, bias=True, offset=linear, linear=linear, rng=seed)
    assert found.certificate.status is wl.Status.STATISTICAL
    assert found.certificate.explained
    assert found.certificate.evidence.quantum == pytest.approx(2.0**-23 * np.abs(Y).max())
    assert found.certificate.locate(truth)[0].all()
    assert found.certificate.precision.max() <= 1e-4
    assert "errors with a bound" in str(found.certificate)


def test_decimals_are_certified_as_rounding_or_as_noise(seed):
    """A residual may exceed twice the largest bound, by the others' errors; then the noise is as small as they are."""
    truth, X, Y = planted("relu", seed)
    certificate = wl.recover(X, np.round(Y, 7), n_units=3, bias=True, rng=seed).certificate
    assert certificate
    assert certificate.locate(truth)[0].all()


def test_rows_fewer_than_noise_needs_suffice(seed):
    """66 rows for 60 parameters of five outputs: as noise they would be refused."""
    truth, X, Y = planted("relu", seed, m=5, linear=True, n=66)
    found = wl.recover(X, Y.astype(np.float32), n_units=3, bias=True, offset=True, linear=True, rng=seed)
    assert found.certificate
    assert found.certificate.locate(truth)[0].all()


def test_a_unit_that_few_rows_switch_on_is_not_claimed(seed):
    truth, X, _ = planted("relu", seed, m=4, n=300)
    on = X @ truth.W[:, 0] + truth.b[0] > 0
    X = np.concatenate([X[on][:5], X[~on]])
    certificate = wl.certify(truth, X, truth.predict(X).astype(np.float32))
    assert 0 not in certificate.certified_units


@pytest.mark.parametrize("rounded", [False, True])
def test_weights_of_another_size_leave_the_precision(seed, rounded):
    truth, X, Y = planted("tanh", seed)
    Y = Y.astype(np.float32) if rounded else Y
    one, other = (wl.certify(truth, X, Y, sample_weight=np.full(len(X), w)) for w in (1.0, 100.0))
    np.testing.assert_allclose(other.precision, one.precision, rtol=1e-6)
    errors = [Agreement.of(truth, wl.samples.open(X, Y, sample_weight=np.full(len(X), w))).errors for w in (1.0, 100.0)]
    np.testing.assert_allclose(errors[1], 100 * errors[0])


def test_reach_is_by_the_length_of_a_unit_and_of_the_nearest_kink(seed):
    """Two kinks that are not at zero, and units of lengths far from one."""
    phi = wl.activations.custom(
        "clipped", lambda z: np.clip(z, -0.5, 0.8), lambda z: ((z > -0.5) & (z <= 0.8)) * 1.0, kinks=(-0.5, 0.8)
    )
    rng = np.random.default_rng(seed)
    X, share = rng.normal(size=(300, 3)), np.array([0.03, 0.05])
    net = wl.Network(rng.normal(size=(3, 2)) * [6.0, 0.2], rng.normal(size=(2, 2)), [1.0, -0.3], activation=phi)
    z, length = X @ net.W + net.b, np.sqrt((net.W**2).sum(axis=0) + net.b**2)
    gaps = np.minimum(np.abs(z + 0.5), np.abs(z - 0.8))
    within = (gaps <= share * length * np.sqrt((X**2).sum(axis=1) + 1)[:, None]).any(axis=1)
    assert 0 < wl.samples.open(X, net.predict(X)).fold(Near(UnitBalls(net, share * length)))[0] == within.sum() < 300


def test_the_detection_limit_is_twice_the_bound(seed):
    truth, X, Y = planted("relu", seed)
    rounded = Y.astype(np.float32)
    found = quantum_of(wl.samples.open(X, rounded), truth)
    limit = wl.certify(truth, X, rounded, bias=True).evidence.detection_limit
    assert limit == pytest.approx(2 * found.bound, rel=1e-6, abs=0)


def test_rivals_of_rounded_targets_are_sought_up_to_their_bound(monkeypatch, seed):
    """Σ w (|r| + E)² of every output in its own size, less what the network leaves: what a rival may leave more."""
    truth, X, Y = planted("tanh", seed)
    Y = np.round(Y * [0.03, 1.0, 30.0], 9)
    truth = replace(truth, a=truth.a * [0.03, 1.0, 30.0])
    asked = []
    monkeypatch.setattr(NoisyCase, "rivals", lambda self, claim, rng, margin: asked.append((self.form, margin)) or ())
    w = np.random.default_rng(seed).uniform(0.5, 2.0, len(X))
    rows = wl.samples.open(X, Y, sample_weight=w)
    certify_joint(truth, rows, Model(True, False, False), rng=np.random.default_rng(0))
    ((form, margin),) = asked
    sizes, quantum = form.scaled.scale, quantum_of(rows, truth)
    assert len(set(sizes)) == 3
    more = quantum.squares - w @ (truth.predict(X) - Y) ** 2
    assert margin == pytest.approx((more / sizes**2).sum(), rel=1e-6, abs=0)


def test_an_output_that_is_zero_throughout_is_explained(seed):
    """Neither residuals nor rounding errors: no rounding is needed beside that of the other output."""
    truth, X, _ = planted("tanh", seed, m=2)
    truth = replace(truth, a=truth.a * [1.0, 0.0], c=np.zeros(2))
    found = quantum_of(wl.samples.open(X, truth.predict(X).astype(np.float32).astype(float)), truth)
    assert "multiples" not in found.words
    assert found.squares[1] == 0.0 < found.squares[0]
