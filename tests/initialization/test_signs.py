"""FIXSIGNS: the midpoint rule has margin one half whatever the bias, the paper's Φ(b); T_0 and enumeration go beyond k ≤ d."""

import numpy as np
import pytest
from scipy.special import ndtr

import weightlift as wl
from weightlift import errors, identifiability, samples
from weightlift.initialization.signs import fix_signs
from weightlift.moments import DirectionalMoments, HermiteMoment


def coefficients(net):
    exact = samples.population(net)
    T0 = exact.mean(DirectionalMoments(np.eye(net.n_inputs)[:, :1], (0,)))[0][0]
    return exact.mean(HermiteMoment(net.n_inputs, 1))[0], float(T0)


def scrambled(net, rng):
    xi = rng.choice([-1.0, 1.0], net.n_units)
    return net.W * xi, net.b * xi, xi


@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "softplus"])
def test_midpoint_rule_with_and_without_t0(activation, rng):
    truth = wl.teachers.biased(6, 5, bias=3.0, activation=activation, rng=rng)
    (T1, T0), (U, b, xi) = coefficients(truth), scrambled(truth, rng)
    for constant in (None, T0):
        found = fix_signs(T1, U, truth.a, b, truth.activation, T0=constant)
        np.testing.assert_array_equal(found.xi, xi)
        assert found.margin == pytest.approx(0.5, abs=1e-10)
        assert found.residual < 1e-13


def test_the_papers_rule_has_the_margin_of_the_smallest_phi(rng):
    truth = wl.teachers.biased(6, 5, bias=2.0, rng=rng)
    (T1, _), (U, b, xi) = coefficients(truth), scrambled(truth, rng)
    found = fix_signs(T1, U, truth.a, b, truth.activation, rule="sign")
    np.testing.assert_array_equal(found.xi, xi)
    assert found.margin == pytest.approx(ndtr(truth.b.min()), rel=1e-9)


def test_the_midpoint_rule_survives_noise_that_the_sign_rule_does_not():
    wrong = {"sign": 0, "midpoint": 0}
    for seed in range(40):
        rng = np.random.default_rng(seed)
        truth = wl.teachers.biased(6, 4, bias=2.0, rng=rng)
        (T1, _), (U, b, xi) = coefficients(truth), scrambled(truth, rng)
        noisy = T1 + 0.06 * rng.normal(size=6)
        for rule in wrong:
            wrong[rule] += int(np.sum(fix_signs(noisy, U, truth.a, b, truth.activation, rule=rule).xi != xi))
    assert wrong["midpoint"] <= wrong["sign"] // 4
    assert wrong["sign"] >= 8


@pytest.mark.parametrize(("d", "k"), [(4, 5), (4, 7), (3, 12)])
def test_more_units_than_inputs(d, k, rng):
    """d + 1 equations for k = d + 1 units; beyond, the one pattern of 2^{k−d−1} that fits."""
    truth = wl.teachers.biased(d, k, rng=rng)
    (T1, T0), (U, b, xi) = coefficients(truth), scrambled(truth, rng)
    found = fix_signs(T1, U, truth.a, b, truth.activation, T0=T0)
    assert not identifiability.sign_patterns(truth).ambiguous
    np.testing.assert_array_equal(found.xi, xi)
    assert found.residual < 1e-12


def test_an_ambiguous_pattern_still_gives_the_function(rng):
    truth, other = identifiability.twin(wl.teachers.biased(3, 6, rng=rng), [0, 1, 2, 3, 4], rng=rng)
    (T1, T0), (U, b, _) = coefficients(truth), scrambled(truth, rng)
    found = fix_signs(T1, U, truth.a, b, truth.activation, T0=T0)
    net = wl.Network(U * found.xi, truth.a, b * found.xi)
    assert wl.distance(net, truth).value < 1e-7
    assert net.equivalent(truth, 1e-9) or net.equivalent(other, 1e-9)
    assert found.margin < 1e-10  # two patterns fit


def test_what_cannot_be_solved_is_refused(rng):
    truth = wl.teachers.biased(3, 5, rng=rng)
    T1, T0 = coefficients(truth)
    with pytest.raises(errors.SingularError, match="midpoint"):
        fix_signs(T1, truth.W, truth.a, truth.b, truth.activation, rule="sign")
    with pytest.raises(errors.ArgumentError, match="rule"):
        fix_signs(T1, truth.W, truth.a, truth.b, truth.activation, rule="coin")
    wide = wl.teachers.biased(2, 40, rng=rng)
    with pytest.raises(errors.ArgumentError, match="too many"):
        fix_signs(coefficients(wide)[0], wide.W, wide.a, wide.b, wide.activation, T0=T0)
