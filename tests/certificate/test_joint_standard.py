"""Neither the outputs' sizes nor the inputs' units matter."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from tests.certificate.joint_cases import far_rows, fit, noisy, teacher

from weightlift import Network, samples
from weightlift.certificate import certify
from weightlift.certificate.joint_distances import joint_distances
from weightlift.certificate.joint_standard import StandardForm, relative_size
from weightlift.evidence.stacked import Stacked
from weightlift.refinement.variable_projection import Model


def test_outputs_of_any_size_and_inputs_of_any_unit_change_nothing():
    truth = teacher("relu", 2, True)
    X, Y = noisy(truth, 500, 2)
    plain = certify(fit(truth, X, Y), X, Y, bias=True, offset=True)
    sizes, units, shift = np.array([2.0**-20, 2.0**12]), np.array([4.0, 1.0, 0.25, 16.0]), np.array([3.0, 0.0, -7.0, 1.0])
    W = plain.network.W / units[:, None]
    V = plain.network.V / units[:, None] * sizes
    Z = X * units + shift
    moved = replace(
        plain.network, W=W, b=plain.network.b - shift @ W, a=plain.network.a * sizes,
        V=V, c=plain.network.c * sizes - shift @ V,
    )  # fmt: skip
    again = certify(moved, Z, Y * sizes, bias=True, offset=True)
    assert again.status is plain.status
    # the same matrix, but for the rounding of shifted inputs and probes that are drawn in them
    for number in ("p_value", "condition"):
        assert getattr(again, number) == pytest.approx(getattr(plain, number), rel=0.3)
    assert np.allclose(np.linalg.norm(again.regions[:, :, :4, :4], axis=(2, 3)) > 0, True)


def test_regions_move_with_the_coordinates_of_the_inputs():
    """x ↦ x∘s + t makes (w, b) ↦ (w/s, b − ⟨t, w/s⟩), a linear map T, and a region R ↦ T R Tᵀ."""
    truth = teacher("tanh", 2, False)
    X, Y = noisy(truth, 600, 3)
    plain = certify(fit(truth, X, Y), X, Y, bias=True, offset=True)
    units, shift = np.array([4.0, 1.0, 0.25, 16.0]), np.array([3.0, 0.5, -7.0, 1.0])
    W = plain.network.W / units[:, None]
    moved = replace(plain.network, W=W, b=plain.network.b - shift @ W)
    again = certify(moved, X * units + shift, Y, bias=True, offset=True)
    assert plain.regions.shape == again.regions.shape
    T = np.eye(7)
    T[:4, :4] /= units
    T[4, :4] = -shift / units
    expected = T @ plain.regions @ T.T
    scale = np.sqrt(np.einsum("...ii->...i", expected))
    found, wanted = (R / scale[..., :, None] / scale[..., None, :] for R in (again.regions, expected))
    np.testing.assert_allclose(found, wanted, atol=0.05)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_the_precision_of_exact_fits_does_not_depend_on_the_outputs_sizes(activation):
    truth = teacher(activation, 2, False)
    X = np.random.default_rng(0).normal(size=(120, 4))
    sizes = np.array([2.0**-20, 2.0**12 if activation == "tanh" else 2.0**-20])  # ReLU's a are relative to the largest
    other = replace(truth, a=truth.a * sizes, c=truth.c * sizes)
    plain, scaled = (certify(net, X, net.predict(X), bias=True, offset=True) for net in (truth, other))
    assert plain.status.name == scaled.status.name == "EXACT"
    np.testing.assert_allclose(scaled.precision, plain.precision, rtol=1e-6)


def test_detection_limits_and_noise_are_in_the_targets_units():
    truth = teacher("tanh", 2, False)
    X, Y = noisy(truth, 500, 2)
    near = fit(truth, X, Y)
    scaled = replace(near, a=near.a * 2.0**9, c=near.c * 2.0**9)
    plain, again = (certify(net, X, Z, bias=True, offset=True) for net, Z in ((near, Y), (scaled, Y * 2.0**9)))
    for number in ("detection_limit", "noise_std"):
        assert getattr(again, number) == pytest.approx(2.0**9 * getattr(plain, number), rel=0.1)  # probes are drawn anew


@pytest.mark.parametrize(("activation", "linear"), [("tanh", True), ("tanh", False), ("relu", False), ("relu", True)])
def test_inverses_come_back_as_those_of_the_raw_rows(activation, linear, seed):
    """L Lᵀ = (Σ w Jᵀ diag(1/s²) J)⁺ in raw coordinates, for ReLU of changes with δ(w, b) ⟂ (w, b); units' sizes with it, and
    their regions, for ReLU of changes that are so in standard inputs."""
    net, X, Y, w = far_rows(activation, linear, seed)
    model = Model(True, linear, True)
    form = StandardForm.of(net, samples.open(X, Y, sample_weight=w), model, explained=True)
    raw, s = Stacked.of(net, model), form.scaled.scale
    np.testing.assert_allclose(np.log2(s), np.round(0.5 * np.log2(np.average(Y**2, axis=0, weights=w))))
    J = (np.sqrt(w)[:, None, None] * np.asarray(raw.linearized(X)[0]) / s[:, None]).reshape(2 * len(X), -1)
    T = np.eye(raw.full)  # columns that are as well conditioned as those of standard rows
    for i in range(2):
        at = raw.coordinates(i)
        T[np.ix_(at, at)] = np.diag(np.append(1 / np.append(form.standard.scale, 1.0), s))
        T[at[2], at[:2]] = -form.standard.mean / form.standard.scale
    if linear:
        v, c = raw.inner + 4 + np.arange(4).reshape(2, 2), raw.full - 2 + np.arange(2)
        for o in range(2):
            T[v[:, o], v[:, o]], T[c[o], v[:, o]] = s[o] / form.standard.scale, -s[o] * form.standard.mean / form.standard.scale
    T[-2:, -2:] = np.diag(s)
    half = raw.in_slice(T @ np.linalg.pinv(J @ T, rcond=1e-6))
    expected = half @ half.T
    scale = np.sqrt(np.diagonal(expected))
    found = form.to_raw(form.information.half_inverse) @ form.to_raw(form.information.half_inverse).T
    np.testing.assert_allclose(found / np.outer(scale, scale), expected / np.outer(scale, scale), atol=1e-6)
    L = form.information.half_inverse
    own = [form.stacked.coordinates(i) for i in range(2)]
    regions = np.stack([[t * (L @ L.T)[np.ix_(at, at)] for at in own] for t in (1.0, 9.0)])
    moved = form.raw_regions(regions)
    errors, sizes = np.array([1e-8, 30.0]), []
    for i, at in enumerate(own):
        wanted, theta, t = expected[np.ix_(at, at)], raw.theta[at], np.zeros(5)
        S = np.linalg.inv(T[np.ix_(at, at)])[:3, :3]
        t[:3] = S.T @ S @ theta[:3]
        np.testing.assert_allclose(form.slices[i], t[:3], rtol=1e-12)
        P = np.eye(5) - (activation == "relu") * np.outer(theta * [1, 1, 1, -1, -1], t) / (t @ theta)
        region = P @ wanted @ P.T
        unit = np.sqrt(np.outer(np.diagonal(region), np.diagonal(region)))
        for R, times in zip(moved, (1.0, 9.0), strict=True):
            np.testing.assert_allclose(R[i] / unit, times * region / unit, atol=1e-5)
        inner, outer = (np.linalg.eigvalsh(part)[-1] for part in (wanted[:3, :3], wanted[3:, 3:]))
        sizes.append(np.sqrt(max(inner / (theta[:3] @ theta[:3]), outer / (theta[3:] @ theta[3:]))))
    np.testing.assert_allclose(form.raw_sizes(regions), 3.0 * np.array(sizes), rtol=1e-4)
    np.testing.assert_allclose(form.precision(errors), 2.0 * np.sqrt((errors / s**2).sum()) * np.array(sizes), rtol=1e-4)


@pytest.mark.parametrize("activation", ["tanh", "relu", "squared_relu"])
@pytest.mark.parametrize("spread", [1.0, 1e-2, 1e-4])
def test_distances_are_those_of_standard_inputs(activation, spread, seed):
    """Beside an input 1 + s g, where w and b alone may be anything: of a unit of any length, near as the rows see it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(100, 2)) * [1.0, spread] + [0.0, 1.0]
    near = Network(rng.normal(size=(2, 1)), rng.normal(size=(1, 2)), [0.3], np.zeros(2), activation)
    form = StandardForm.of(near, samples.open(X, near.predict(X)), Model(True, False, True), explained=True)
    own = form.stacked.network
    moved = replace(own, W=own.W + 0.1 * rng.normal(size=(2, 1)), b=own.b + 0.1 * rng.normal(size=1), a=1.1 * own.a)
    truth, degree = form.back(moved), own.activation.degree
    if degree:
        truth = replace(truth, W=3.0 * truth.W, b=3.0 * truth.b, a=truth.a / 3.0**degree)
    L = form.information.half_inverse[form.stacked.coordinates(0)]
    regions = np.stack([[L @ L.T], [4.0 * L @ L.T]])
    expected = joint_distances(own, moved, np.ones(1), regions)
    found = joint_distances(near, truth, np.ones(1), form.raw_regions(regions), form.slices)
    np.testing.assert_allclose(found, expected, rtol=1e-3)
    assert 1e-2 < expected[0, 0] < 1e3


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_noise_and_the_distance_to_the_minimum(activation, seed):
    """Σ w rrᵀ/(n − p/m) of r/s, and δᵀC⁺δ of the Gauss–Newton step with the classical covariance C."""
    net, X, Y, w = far_rows(activation, False, seed)
    form = StandardForm.of(net, samples.open(X, Y, sample_weight=w), Model(True, False, True), explained=True)
    p = 2 * (3 + 2 - (activation == "relu")) + 2
    r = (net.predict(X) - Y) / form.scaled.scale
    noise = (w[:, None] * r).T @ r / (len(X) - p / 2)
    np.testing.assert_allclose(form.noise, noise, rtol=1e-6)
    Z = (X - form.standard.mean) / form.standard.scale
    J = np.sqrt(w)[:, None, None] * np.asarray(form.stacked.linearized(Z)[0])
    inverse = np.linalg.pinv(J.reshape(-1, J.shape[2]), rcond=1e-6)
    C = inverse @ np.kron(np.eye(len(X)), noise) @ inverse.T
    step = inverse @ (np.sqrt(w)[:, None] * r).reshape(-1)
    assert form.distance == pytest.approx(step @ np.linalg.pinv(C, rcond=1e-9, hermitian=True) @ step, rel=1e-4)


def test_a_fit_is_judged_by_the_sizes_that_it_minimised():
    """Of outputs' own sizes and s = 1; where they agree, or the rows are explained, the outputs' own."""
    truth = teacher("tanh", 2, False)
    truth = replace(truth, a=truth.a * [1.0, 32.0], c=truth.c + np.array([0.0, 100.0]))
    X, Y = noisy(truth, 400, 2)
    Y[:, 0] += 0.3 * X[:, 0] ** 2
    Y[:, 1] += 9.0 * X[:, 1] ** 2
    model = Model(True, False, True)
    own = np.exp2(np.round(0.5 * np.log2((Y**2).mean(axis=0))))
    assert own[0] < 0.1 * own[1]
    for s in (np.ones(2), own):
        near = fit(replace(truth, a=truth.a / s, c=truth.c / s), X, Y / s)
        near = replace(near, a=near.a * s, c=near.c * s)
        for explained in (False, True):
            form = StandardForm.of(near, samples.open(X, Y), model, explained=explained)
            assert form.scaled.scale.tolist() == (own if explained else s).tolist()
    Z = np.repeat(Y[:, 1:], 2, axis=1)
    assert StandardForm.of(truth, samples.open(X, Z), model).scaled.scale.tolist() == [own[1], own[1]]


def test_zero_units_and_open_regions_have_no_size():
    net = Network([[3.0, 0.0, 1.0], [4.0, 0.0, 1.0]], [[0.6, 0.8], [1.0, 0.0], [0.0, 0.0]], np.zeros(3), np.zeros(2), "tanh")
    stacked = Stacked.of(net, Model(False))
    R = np.diag([1.0, 4.0, 0.25, 0.09])
    assert relative_size(stacked, 0, R[None]) == pytest.approx(0.5)  # ½ of a, 2/5 of w
    assert relative_size(stacked, 0, np.stack([R, np.diag([1.0, 25.0, 0.25, 0.09])])) == pytest.approx(1.0)
    assert relative_size(stacked, 0, (R + np.diag([np.inf, 0.0, 0.0, 0.0]))[None]) == np.inf
    assert relative_size(stacked, 1, R[None]) == relative_size(stacked, 2, R[None]) == np.inf


@pytest.mark.parametrize(("share", "counts"), [(1.5e-8, True), (0.6e-8, False)])
def test_directions_without_variance_are_no_distance(monkeypatch, share, counts, seed):
    """Four parameters, any two of correlation ρ: variances 1 + 3ρ along their sum and 1 − ρ across, below 1e-8 of it none."""
    rho = 1.0 - 4.0 * share
    correlations = np.full((4, 4), rho) + (1.0 - rho) * np.eye(4)
    rng = np.random.default_rng(seed)
    step, sizes = rng.normal(size=4), np.array([1e-3, 1.0, 50.0, 7.0])
    C = correlations * np.outer(sizes, sizes)
    monkeypatch.setattr(StandardForm, "noise", None)
    known = SimpleNamespace(covariance=lambda noise: C, half_inverse=np.eye(4), gradient=step * sizes)
    along = step.sum() ** 2 / 4
    expected = along / (1.0 + 3.0 * rho) + counts * (step @ step - along) / (1.0 - rho)
    assert StandardForm(None, None, None, None, known).distance == pytest.approx(expected, rel=1e-6)
