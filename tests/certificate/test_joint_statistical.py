"""Noisy targets of several outputs, or beside a linear part, certified."""

from dataclasses import replace

import numpy as np
import pytest
from tests.certificate.joint_cases import CASES, fit, noisy, teacher

import weightlift as wl
from weightlift.certificate import Topic, certify
from weightlift.certificate.joint_statistical import CombinedTargets, JointContrast
from weightlift.refinement.variable_projection import Model, variable_projection
from weightlift.samples import Block


@pytest.mark.parametrize(("activation", "m", "linear"), CASES)
def test_a_regular_fit_is_certified_and_holds_the_truth(activation, m, linear):
    truth = teacher(activation, m, linear)
    X, Y = noisy(truth, 700, 1)
    certificate = certify(fit(truth, X, Y), X, Y, bias=True, offset=True)
    assert certificate.status.name == "STATISTICAL", certificate
    for wide in (False, True):
        inside, partner = certificate.locate(truth, wide=wide)
        assert inside.all()
        assert partner.tolist() == [0, 1]
    assert not certificate.locate(replace(truth, W=truth.W + 0.5), wide=False)[0].any()
    assert certificate.noise_std == pytest.approx(np.sqrt(np.mean((Y - truth.predict(X)) ** 2)), rel=0.1)
    assert certificate.detection_limit > 0
    assert "outputs" in certificate.headline or "linear part" in certificate.headline


def test_units_whose_reflection_changes_nothing_are_refused():
    """Σ wᵢ = 0 with one a: reflecting all three adds a ⟨Σ wᵢ, x⟩ = 0 at every output."""
    W = np.array([[1.0, 0.2, -1.2], [0.3, -1.0, 0.7], [0.5, 0.4, -0.9]])
    truth = wl.Network(W, np.tile([1.0, -0.6], (3, 1)))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    Y = truth.predict(X) + 0.05 * rng.normal(size=(500, 2))
    network = variable_projection(wl.samples.open(X, Y), truth, Model(bias=False), damping=1e-6, tol=1e-14).network
    certificate = certify(network, X, Y)
    assert certificate.status.name == "AMBIGUOUS"
    assert any(s.topic is Topic.RIVALS and not s.holds for s in certificate.statements)


def test_a_worse_minimum_is_told_from_the_least():
    """Two units beside a third that is nowhere: the residuals show it, or a fresh unit explains them better."""
    truth = teacher("relu", 2, False)
    X, Y = noisy(truth, 600, 11)
    elsewhere = replace(truth, W=np.column_stack([truth.W[:, 0], -truth.W[:, 1]]))
    assert not certify(fit(elsewhere, X, Y), X, Y, bias=True, offset=True)


@pytest.mark.parametrize("m", [1, 3])
def test_contrasts_of_several_outputs_row_by_row(m):
    rng = np.random.default_rng(m)
    own, *rivals = (wl.Network(rng.normal(size=(3, 2)), rng.normal(size=(2, m)), rng.normal(size=2)) for _ in range(3))
    X, Y, w = rng.normal(size=(50, 3)), rng.normal(size=(50, m)), rng.uniform(0.5, 2.0, 50)
    found = wl.samples.open(X, Y, sample_weight=w).fold(JointContrast(own, tuple(rivals)))
    for s, rival in enumerate(rivals):
        theirs = rival.predict(X) - Y
        along = w * np.einsum("nm,nm->n", rival.predict(X) - own.predict(X), theirs)
        expected = (w * (theirs**2).sum(axis=1)).sum(), along.sum(), (along**2).sum()
        np.testing.assert_allclose([float(v[s]) for v in found], expected, rtol=1e-12)


@pytest.mark.parametrize("bias", [False, True])
def test_rivals_race_on_some_rows_with_units_as_long_as_the_networks(monkeypatch, bias):
    """A fresh unit has the length of the one it replaces, and a bias where there are some; two thousand rows on average."""
    import weightlift.certificate.joint_statistical as module

    asked = []

    def spy(rows, hidden, model, **options):
        asked.append((rows.n, hidden))
        return variable_projection(rows, hidden, model, **options)

    monkeypatch.setattr(module, "variable_projection", spy)
    units = wl.teachers.biased(4, 2, bias=0.3 * bias, activation="tanh", rng=1)
    truth = wl.teachers.several(replace(units, W=units.W * [3.0, 0.3]), 2, rng=2)
    X, Y = noisy(truth, 8000, 2)
    model = Model(bias, False, bias)
    near = variable_projection(wl.samples.open(X, Y), truth, model, iterations=60, damping=1e-6, tol=1e-14).network
    assert certify(near, X, Y, bias=bias, offset=bias)
    rows, layers = asked[0]
    assert abs(rows - 2000) < 5 * np.sqrt(2000)
    W, b = np.moveaxis(layers.W, 1, 0), layers.b
    own = np.linalg.norm(W[0], axis=0)
    for fresh, i in ((1, 0), (2, 1)):
        other = 1 - i
        np.testing.assert_array_equal(W[fresh][:, other], W[0][:, other])
        assert np.linalg.norm(W[fresh][:, i]) == pytest.approx(own[i], rel=1e-9)
        assert np.abs(W[fresh][:, i] - W[0][:, i]).max() > 0.01 * own[i]
        assert (b[fresh][i] != 0) == bias


def test_combined_targets_are_without_the_linear_part():
    rng = np.random.default_rng(0)
    net = wl.Network(rng.normal(size=(3, 2)), rng.normal(size=(2, 2)), V=rng.normal(size=(3, 2)))
    X, Y, u = rng.normal(size=(9, 3)), rng.normal(size=(9, 2)), np.array([0.6, -0.8])
    block = CombinedTargets(net, u)(Block(X, Y, None, lambda: np.arange(9)))
    np.testing.assert_allclose(block.y, (Y - X @ net.V) @ u, rtol=1e-12)


def test_noise_is_that_of_a_row_of_mean_weight():
    truth = teacher("tanh", 2, False)
    X, Y = noisy(truth, 500, 3)
    near = fit(truth, X, Y)
    one, four = (certify(near, X, Y, bias=True, offset=True, sample_weight=np.full(500, w)) for w in (1.0, 4.0))
    assert four.noise_std == pytest.approx(one.noise_std, rel=1e-9)
    r = Y - near.predict(X)
    p = 2 * (5 + 2) + 2
    assert one.noise_std == pytest.approx(np.sqrt((r**2).sum() / (500 - p / 2) / 2), rel=1e-9)
