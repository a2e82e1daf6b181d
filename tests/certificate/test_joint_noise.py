"""What a noisy joint fit must be for its regions to hold."""

import math
from dataclasses import replace

import numpy as np
from tests.certificate.joint_cases import fit, noisy, teacher

import weightlift as wl
from weightlift.certificate import Topic, certify
from weightlift.certificate.joint_lack_of_fit import JointLackOfFit
from weightlift.certificate.joint_noise import _chance, _wide
from weightlift.evidence.stacked import Stacked
from weightlift.refinement.variable_projection import Model


def test_a_network_beside_the_minimum_is_refused():
    truth = teacher("tanh", 3, False)
    X, Y = noisy(truth, 700, 4)
    near = fit(truth, X, Y)
    moved = certify(replace(near, a=near.a * 1.05), X, Y, bias=True, offset=True)
    assert any(s.topic is Topic.MINIMUM and not s.holds for s in moved.statements)


def test_few_rows_are_refused_however_many_outputs():
    truth = teacher("tanh", 3, False)
    X, Y = noisy(truth, 40, 4)
    certificate = certify(truth, X, Y, bias=True, offset=True)
    assert certificate.status.name == "FAILED"
    assert "however many outputs" in " ".join(certificate.reasons)


def test_a_unit_too_many_is_named():
    truth = teacher("relu", 2, False)
    wide = replace(
        truth, W=np.hstack([truth.W, [[0.5], [0.5], [0.5], [0.5]]]), b=np.append(truth.b, 0.0),
        a=np.vstack([truth.a, [[0.0, 0.0]]]),
    )  # fmt: skip
    X, Y = noisy(truth, 900, 6)
    certificate = certify(fit(wide, X, Y), X, Y, bias=True, offset=True)
    assert not certificate
    assert any(2 in s.units or s.topic in (Topic.INFLUENCE, Topic.CURVATURE) for s in certificate.failing)


def test_chance_pays_for_every_pattern_of_sides():
    """A hyperplane among n rows of d inputs has Σ_{i ≤ d+1} C(n, i) patterns of sides at most; the best of them gains 2 log."""
    for n in (50, 5000):
        for d, m, linear in ((2, 2, False), (4, 3, True)):
            net = wl.teachers.several(wl.teachers.biased(d, 2, activation="relu", rng=1), m, linear=linear, rng=2)
            stacked = Stacked.of(net, Model(True, linear, False))
            own, patterns = stacked.inputs + m + 40.0, sum(math.comb(n, i) for i in range(d + 2))
            more = sum(math.comb(n, i) for i in range(d + 3))
            gained = _chance(stacked, n) - own
            assert 2.0 * math.log(patterns) <= gained < 2.0 * math.log(more) + 2.0 * (d + 2)


def test_a_split_widens_a_region_by_its_relative_size():
    """A twin would have moved the unit by half of its length: everything within half of (w, b) and of a is inside then."""
    net = wl.Network([[6.0, 1.0], [8.0, 0.0]], [[0.06, 0.08], [1.0, 1.0]], [0.0, 0.3], [0.0, 0.0], "tanh")
    stacked = Stacked.of(net, Model())
    at, q = stacked.coordinates(0), stacked.inputs
    splits = np.zeros((stacked.full, 2, 1))
    splits[at[q], 0, 0] = 0.05
    fit = JointLackOfFit(0.5, np.ones(2), np.zeros((stacked.full, 0)), splits, 0.1, 0.1, np.eye(1))
    region = _wide(stacked, 0, 1e-12 * np.eye(len(at)), fit)
    for place, length in ((0, 10.0), (q, 0.1)):
        v = np.zeros(len(at))
        v[place] = 0.49 * length
        assert v @ np.linalg.solve(region, v) <= 1.0
        assert (4 * v) @ np.linalg.solve(region, 4 * v) > 1.0
