"""Rounded targets of one output: which rounding is seen, and what it allows."""

import numpy as np
import pytest
from tests.contract.awkward import Awkward

import weightlift as wl
from weightlift.certificate.limits import LIMITS
from weightlift.certificate.quantum import bounded, quantum_of, rounded_values
from weightlift.certificate.statement import Kind, Topic
from weightlift.evidence.rows import rounding_bound
from weightlift.risk import Students

ROUNDINGS = {
    "multiples of 1e-3": (lambda y: np.round(y, 3), lambda y: np.full_like(y, 1e-3)),
    "numbers stored in single precision": (lambda y: y.astype(np.float32).astype(float), lambda y: 2.0**-23 * np.abs(y)),
    "numbers stored in half precision": (lambda y: y.astype(np.float16).astype(float), lambda y: 2.0**-10 * np.abs(y)),
}


def planted(seed):
    truth = wl.teachers.biased(5, 3, bias=0.3, activation="tanh", rng=seed)
    return truth, *wl.draw(truth, 60, rng=seed + 1)


@pytest.mark.parametrize("words", ROUNDINGS)
def test_the_rounding_and_its_bound(seed, words):
    truth, X, exact = planted(seed)
    rounded, spacing = ROUNDINGS[words]
    y, w = rounded(exact), np.random.default_rng(seed).uniform(0.5, 2, len(X))
    found = quantum_of(wl.samples.open(X, y, sample_weight=w), truth)
    assert found.words == words
    students = Students.of(truth)
    z = students.preactivations(X)
    E = 0.5 * spacing(y) + LIMITS.rounding * rounding_bound(students, X, y, z, students.activation(z))
    r = np.abs(exact - y)
    assert found.size == pytest.approx(spacing(y).max())
    assert found.error == pytest.approx(np.sqrt(np.sum(w * (r + E) ** 2)))
    assert found.bound == pytest.approx(np.sqrt(np.sum(w * E**2) / w.sum()), rel=1e-6, abs=0)
    assert found.level == pytest.approx(r.max() / E.max())


def test_targets_that_were_computed_in_less(seed):
    """Numbers of single precision, some of their spacings off: the bound is that of double precision in its place."""
    truth, X, exact = planted(seed)
    off = 1 + 2.0**-23 * np.random.default_rng(seed).uniform(-8, 8, len(X))
    y = (exact * off).astype(np.float32).astype(float)
    found = quantum_of(wl.samples.open(X, y), truth)
    students = Students.of(truth)
    z = students.preactivations(X)
    E = 2.0**29 * LIMITS.rounding * rounding_bound(students, X, y, z, students.activation(z))
    assert found.words == "numbers computed in single precision"
    assert found.size == pytest.approx(2.0**-23 * np.abs(y).max())
    assert found.error == pytest.approx(np.linalg.norm(np.abs(exact - y) + E))
    assert found.level == pytest.approx(np.abs(exact - y).max() / E.max())


def test_noise_and_wrong_networks_are_no_rounding(seed):
    truth, X, y = planted(seed)
    assert quantum_of(wl.samples.open(X, y + 1e-3 * np.random.default_rng(seed).normal(size=len(y))), truth) is None
    wrong = wl.Network(1.01 * truth.W, truth.a, truth.b, activation="tanh")
    assert quantum_of(wl.samples.open(X, np.round(y, 6)), wrong) is None


def test_what_is_stated():
    statement, assumption = bounded("multiples of 1e-3", 1e-3, 0.7), rounded_values()
    assert (statement.topic, statement.kind, statement.holds) == (Topic.BOUNDED, Kind.TESTED, True)
    assert (statement.number, statement.limit) == (0.7, 2.0)
    assert "multiples of 1e-3 (spacing up to 0.001)" in statement.sentence
    assert assumption.kind is Kind.ASSUMED


@pytest.mark.parametrize("words", ROUNDINGS)
def test_blocks_of_few_rows_show_the_same_rounding(seed, words):
    truth, X, exact = planted(seed)
    rows = wl.samples.open(X, ROUNDINGS[words][0](exact))
    one, other = quantum_of(rows, truth), quantum_of(Awkward(rows), truth)
    assert (other.words, other.size, other.level) == (one.words, one.size, pytest.approx(one.level, rel=1e-12))
    assert (other.error, other.bound) == (pytest.approx(one.error, rel=1e-12), pytest.approx(one.bound, rel=1e-12, abs=0))
