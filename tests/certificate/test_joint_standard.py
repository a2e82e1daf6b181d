"""Neither the outputs' sizes nor the inputs' units matter."""

from dataclasses import replace

import numpy as np
import pytest
from tests.certificate.joint_cases import fit, noisy, teacher

from weightlift.certificate import certify


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
