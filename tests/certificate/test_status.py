"""What a certificate says of all units and of each: status, headline, verdicts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from weightlift import draw, recover, teachers
from weightlift.certificate import Status, Topic, certify
from weightlift.certificate.statement import Kind, Statement
from weightlift.certificate.status import Certificate, Evidence
from weightlift.network import Network


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_a_dead_or_double_unit_leaves_the_others_certified(activation: str, seed: int) -> None:
    truth = teachers.biased(5, 2, bias=0.5, activation=activation, rng=seed)
    X, y = draw(truth, 300, rng=seed + 10)
    W = np.column_stack([truth.W, truth.W[:, 1]])
    silent = Network(W, [*truth.a, 0.0], [*truth.b, -0.3], activation=activation)
    double = Network(W, [truth.a[0], 0.4 * truth.a[1], 0.6 * truth.a[1]], [*truth.b, truth.b[1]], activation=activation)
    for net, certain in ((silent, (0, 1)), (double, (0,))):
        certificate = certify(net, X, y, bias=True)
        assert certificate.status is Status.AMBIGUOUS
        assert certificate.certified_units == certain
        assert certificate.units[0].precision < 1e-9
        assert certificate.units[0].status is Status.EXACT
        assert "fewer units" in certificate.units[2].reason
        assert bool(certificate.units[0])
        assert not certificate.units[2]
        assert "may be others" in certificate.headline


def test_the_headline_names_the_class_and_the_ground() -> None:
    truth = teachers.biased(5, 2, bias=0.5, activation="tanh", rng=0)
    X, y = draw(truth, 300, rng=1)
    certificate = certify(truth, X, y)
    assert certificate.headline.startswith("Among networks of at most 2 tanh units without offset: these are the units, to ")
    assert "density" in certificate.headline
    assert certificate.proved
    assert certificate.explained
    for line in certificate.assumptions:
        assert line in str(certificate)
    few = certify(truth, X[:9], y[:9])
    assert few.headline.startswith("These are not shown to be the units: 9 distinct rows")
    withdrawn = certificate.refused("It was asked to.")
    assert withdrawn.status is Status.FAILED
    assert withdrawn.reasons == ("It was asked to.",)


def test_a_unit_set_apart_is_no_longer_of_the_class(seed: int) -> None:
    """With a dead unit at work again, always on, another ReLU may be reflected: claims are about networks without it."""
    truth = replace(teachers.biased(4, 3, bias=0.7, activation="relu", rng=seed), c=0.3)
    X = np.random.default_rng(seed).standard_normal((600, 4))
    b = truth.b.copy()
    b[0] = -1.5 * np.abs(X @ truth.W[:, 0]).max()
    dead = replace(truth, b=b)
    y = dead.predict(X)
    far = 10.0 * np.abs(X @ truth.W[:, 1]).max()
    W, a, b = truth.W.copy(), truth.a.copy(), b.copy()
    W[:, 0], a[0], b[0], W[:, 1], b[1] = W[:, 1], a[1], far, -W[:, 1], -b[1]
    rival = replace(truth, W=W, a=a, b=b, c=0.3 + truth.a[1] * (truth.b[1] - far))
    np.testing.assert_allclose(rival.predict(X), y, atol=1e-12)
    certificate = certify(dead, X, y, bias=True, offset=True)
    assert certificate.certified_units == (1, 2)
    assert certificate.headline.startswith("Among networks of at most 2 relu units")
    assert "at most 2 units that the rows show" in certificate.assumptions[0]
    assert not certificate.locate(rival)[0][1]


def test_sentences_beside_a_dead_unit_name_the_right_units(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = teachers.biased(4, 3, bias=0.4, activation="relu", rng=seed)
    X = rng.standard_normal((40, 4))
    b = truth.b.copy()
    b[0] = -1.5 * np.abs(X @ truth.W[:, 0]).max()
    b[2] = -0.95 * (X @ truth.W[:, 2]).max()  # few rows see it
    net = replace(truth, b=b)
    certificate = certify(net, X, net.predict(X), bias=True)
    doubts = [s for s in certificate.failing if s.topic is not Topic.SUPERFLUOUS]
    assert doubts
    for statement in doubts:
        assert 2 in statement.units
        assert "nit 2" in statement.sentence or "and 2" in statement.sentence


def test_nothing_lies_in_a_region_without_extent() -> None:
    truth = teachers.conditioned(3, 2, rng=0)
    X, y = draw(truth, 600, noise_std=0.05, rng=1)
    certificate = recover(X, y, n_units=2).certificate
    assert certificate.regions is not None
    assert certificate.locate(certificate.network, wide=False)[0].all()
    flat = certificate.regions.copy()
    flat[:, 0, :, -1] = flat[:, 0, -1, :] = 0.0
    inside, partner = replace(certificate, regions=flat).locate(truth, wide=False)
    assert inside.tolist() == [False, True]
    assert sorted(partner) == [0, 1]


def test_distances_in_regions_are_the_least_of_the_two(seed: int) -> None:
    """(δᵀR⁻¹δ)^½ of the nearer pairing, in the narrower or the wide regions; a unit is inside up to one."""
    rng = np.random.default_rng(seed)
    net = Network(rng.standard_normal((2, 2)), [1.0, 2.0], [0.5, -0.4], activation="tanh")
    roots = rng.standard_normal((2, 2, 4, 4))
    regions = 0.01 * roots @ np.swapaxes(roots, 2, 3)
    holds = tuple(Statement(topic, Kind.TESTED, True, "It holds.") for topic in Topic)
    claim = Certificate(net, True, False, holds, Evidence(), precision=np.ones(2), regions=regions, wide_regions=9.0 * regions)
    delta = 0.02 * rng.standard_normal((2, 4))
    other = Network(net.W + delta[:, :2].T, net.a + delta[:, 3], net.b + delta[:, 2], activation="tanh")
    expected = [min(np.sqrt(v @ np.linalg.solve(R[i], v)) for R in regions) for i, v in enumerate(delta)]
    turned = Network(-other.W[:, ::-1], -other.a[::-1], -other.b[::-1], activation="tanh")  # of an odd φ, the same function
    for same, partner in ((other, [0, 1]), (turned, [1, 0])):
        np.testing.assert_allclose(claim.distances(same, wide=False), expected, rtol=1e-6)
        np.testing.assert_allclose(claim.distances(same), np.array(expected) / 3.0, rtol=1e-6)
        inside, found = claim.locate(same, wide=False)
        assert inside.tolist() == [v <= 1.0 for v in expected]
        assert found.tolist() == partner
    alone = Network(other.W[:, 1:], other.a[1:], other.b[1:], activation="tanh")
    inside, found = claim.locate(alone)
    assert found.tolist() == [-1, 0]
    assert np.isinf(claim.distances(alone)[0])


def test_distances_without_regions_are_in_precisions(seed: int) -> None:
    """The larger of the relative distances of (w, b) and of a, beside the larger unit of the two."""
    rng = np.random.default_rng(seed)
    net = Network(rng.standard_normal((2, 2)) * [3.0, 0.3], [0.1, 20.0], [0.5, -0.4], activation="tanh")
    holds = tuple(Statement(topic, Kind.TESTED, True, "It holds.") for topic in Topic)
    claim = Certificate(net, True, False, holds, Evidence(), precision=np.array([1e-3, 0.1]))
    step = np.array([[1e-3, 0.0], [0.0, 0.0]])
    other = replace(net, W=net.W + step, a=net.a * [1.0, 1.05], b=net.b + step[0, ::-1])
    found = claim.distances(other)
    sizes = [np.hypot(np.linalg.norm(n.W, axis=0), n.b) for n in (net, other)]
    inner = 1e-3 / np.max(sizes, axis=0)
    np.testing.assert_allclose(found, [inner[0] / 1e-3, max(inner[1], 0.05 / 1.05) / 0.1], rtol=1e-6)


@pytest.mark.parametrize("times", [-2, 1, 3])
def test_units_are_compared_up_to_the_period_of_a_sine(times: int) -> None:
    """sin(z + π) = −sin z: a unit moved by that is the same one, and its distance that of the rest."""
    net = Network([[1.0, 2.0], [0.5, -1.0]], [2.0, 0.7], [0.3, -0.2], activation="sine")
    holds = tuple(Statement(topic, Kind.TESTED, True, "It holds.") for topic in Topic)
    claim = Certificate(net, True, False, holds, Evidence(), precision=np.array([1e-2, 1e-2]))
    there = replace(net, b=net.b + times * np.pi * np.array([1.0, 0.0]), a=net.a * [(-1.0) ** times * 1.001, 1.0])
    X = np.random.default_rng(0).standard_normal((9, 2))
    np.testing.assert_allclose(there.predict(X), net.predict(X) + 2e-3 * np.sin(X @ net.W[:, 0] + 0.3), rtol=1e-9)
    np.testing.assert_allclose(claim.distances(there), [0.1 / 1.001, 0.0], atol=1e-9)


def test_a_claim_explains_the_rows_up_to_rounding() -> None:
    """By its statement, or by residuals of four bounds at most; not where held-out rows differ."""
    net = Network([[1.0]])
    differs = Statement(Topic.HELDOUT, Kind.TESTED, False, "They differ.")
    agrees = Statement(Topic.AGREEMENT, Kind.TESTED, True, "They agree.")
    for statements, level, explained in (
        ((), 3.9, True),
        ((), 4.1, False),
        ((agrees,), np.nan, True),
        ((differs,), 3.9, False),
        ((agrees, differs), 3.9, False),
        ((replace(agrees, holds=False),), 4.1, False),
    ):
        assert Certificate(net, False, False, statements, Evidence(rounding_level=level)).explained is explained


def test_a_page_has_every_statement_the_precision_and_the_symmetries() -> None:
    truth = teachers.biased(3, 2, bias=0.5, activation="relu", rng=0)
    X, y = draw(truth, 100, rng=1)
    certificate = certify(truth, X, y)
    page = certificate._repr_html_()
    assert all(s.mark in page for s in certificate.statements)
    assert all(f"up to {symmetry}" in page for symmetry in certificate.symmetries)
    assert "Relative precision of the units: " in page
    assert "99.99" not in page


@pytest.mark.parametrize("units", [1, 2, 3])
def test_headlines_word_by_word(units: int) -> None:
    net = Network(np.eye(3)[:, :units], activation="tanh")
    holds = tuple(Statement(topic, Kind.TESTED, True, "It holds.") for topic in set(Topic) - {Topic.BOUNDED, Topic.LAW})
    claim = Certificate(net, True, True, holds, Evidence(rounding_level=1.0), precision=np.array([2e-12, 3e-9, 1e-10])[:units])
    plural = f"Among networks of at most {units} tanh unit{'s' * (units > 1)}"
    size = "2e-12" if units == 1 else "3e-09"
    assert claim.headline == f"{plural} with biases and offset: these are the units, to {size} (tested, not proved)."
    if units == 3:
        doubt = claim.adding(Statement(Topic.RIVALS, Kind.TESTED, False, "Another.", units=(1,)))
        known = "units 0 and 2 are as given, to 1e-10 (tested, not proved)"
        assert doubt.headline == f"{plural} with biases and offset: {known}; unit 1 may be others."
        lost = claim.adding(Statement(Topic.RIVALS, Kind.TESTED, False, "Another."))
        assert lost.headline == (
            f"{plural} with biases and offset: nothing is known of its units; units 0, 1 and 2 may be others."
        )
    noisy = replace(claim, offset=False, regions=np.zeros((2, units, 5, 5)), single=np.array([0.01, 0.2, 0.1])[:units])
    noisy = replace(
        noisy, evidence=Evidence(rounding_level=9.0), statements=tuple(s for s in holds if s.topic != Topic.AGREEMENT)
    )
    alone = "0.01" if units == 1 else "0.2"
    assert noisy.headline == (
        f"{plural} without offset: these are the units, single weights to ±{alone} of ‖w‖ at 95 %, all weights of a unit at "
        f"once to {size} of its size at 99.99 %, if the errors are independent (tested, not proved)."
    )
