"""EXACT: precision that holds, and everything that must keep it from being said."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.certificate.planted import problem
from tests.contract.awkward import Awkward

from weightlift import activations, draw, samples, teachers
from weightlift.certificate import Certificate, Status, certify
from weightlift.certificate.heldout import HeldOut
from weightlift.certificate.precision import Precision
from weightlift.certificate.quantum import quantum_of
from weightlift.certificate.statement import Kind, Statement, Topic
from weightlift.certificate.verdict import (
    _Case,
    _enough,
    _finite,
    _merged,
    _minima,
    _Part,
    _precise,
    _Reduced,
    _some,
    _Step,
    _unsettled,
)
from weightlift.errors import ArgumentError, ShapeError
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.information import Information
from weightlift.evidence.rows import rounding_bound
from weightlift.identifiability import reflect
from weightlift.network import Network
from weightlift.refinement.gauss_newton import gauss_newton
from weightlift.risk import Students
from weightlift.rivals import Finding, Outcome
from weightlift.rivals.trial import Bar

KINDS = [
    ("relu", False),
    ("relu", True),
    ("leaky_relu", True),
    ("squared_relu", False),
    ("tanh", True),
    ("sigmoid", False),
    ("erf", True),
]


def moved(truth: Network, size: float, seed: int) -> Network:
    rng = np.random.default_rng(seed)
    b = truth.b * (1 + size * rng.standard_normal(truth.n_units))
    return replace(truth, W=truth.W + size * rng.standard_normal(truth.W.shape), b=b)


@pytest.mark.parametrize(("activation", "bias"), KINDS)
def test_right_networks_are_exact_and_their_precision_holds(activation: str, bias: bool, seed: int) -> None:
    truth, X, y = problem(activation, bias, seed)
    free = "W" + ("b" if bias else "") + ("" if truth.activation.degree else "a")
    net = gauss_newton(samples.open(X, y), moved(truth, 1e-2, seed), free=free).network
    certificate = certify(net, X, y, bias=bias)
    assert certificate.status is Status.EXACT, str(certificate)
    assert certificate
    inside, partner = certificate.locate(truth)
    assert inside.all()
    assert sorted(partner) == [0, 1]
    assert certificate.precision is not None
    assert net.equivalent(truth, tol=float(certificate.precision.max()))
    assert certificate.precision.max() < 1e-8


@pytest.mark.parametrize(("activation", "bias"), KINDS)
@pytest.mark.parametrize("size", [1e-15, 1e-12, 1e-9, 1e-6, 1e-3, 1e-1])
def test_perturbed_truths_are_within_the_precision_or_not_exact(activation: str, bias: bool, size: float) -> None:
    truth, X, y = problem(activation, bias, 5)
    certificate = certify(moved(truth, size, 6), X, y, bias=bias)
    if certificate.status is Status.EXACT:
        assert certificate.locate(truth)[0].all()
        assert certificate.precision is not None
        assert certificate.precision.max() < 100 * size + 1e-11
    assert (certificate.status is Status.EXACT) == (size < 1e-8)  # from √ε one Gauss–Newton step ends at rounding level


@pytest.mark.parametrize("spread", [1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("activation", ["relu", "squared_relu", "tanh", "sigmoid"])
def test_a_step_along_an_input_that_hardly_varies_is_small_in_standard_inputs_alone(activation: str, spread: float) -> None:
    """w and b move against each other by 3e-9/spread, f by 3e-9: one step ends at the truth, and is part of what is claimed."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((400, 3))
    X[:, 2] = 1.0 + spread * X[:, 2]
    truth = Network(rng.standard_normal((3, 2)), [1.0, -0.7], [0.3, -0.2], 0.0, activation)
    W, moved = truth.W.copy(), 3e-9 / spread * np.array([1.0, -1.0])
    W[2] += moved
    certificate = certify(replace(truth, W=W, b=truth.b - moved), X, truth.predict(X), bias=True, offset=False)
    assert certificate.status is Status.EXACT
    assert certificate.locate(truth)[0].all()
    assert certificate.precision is not None
    assert (certificate.precision < 100 * np.abs(moved)).all()


@pytest.mark.parametrize("size", [1e-6, 1e-4])
def test_a_step_that_is_small_beside_w_may_be_large_beside_a(size: float) -> None:
    rng = np.random.default_rng(4)
    X = rng.standard_normal((400, 3))
    truth = Network(8 * rng.standard_normal((3, 2)), [size, -1.0], activation="tanh")
    near = replace(truth, a=truth.a * [1 + 1e-6, 1.0])
    certificate = certify(near, X, truth.predict(X), bias=False, offset=False)
    assert certificate.status is Status.EXACT
    assert certificate.locate(truth)[0].all()
    assert certificate.precision is not None
    assert 0.9e-6 < certificate.precision[0] < 1.2e-6
    assert certificate.precision[1] < 1e-11


def test_a_unit_that_the_step_moves_far_is_to_be_refined_and_withholds_no_other() -> None:
    rng = np.random.default_rng(4)
    X = rng.standard_normal((400, 3))
    truth = Network(8 * rng.standard_normal((3, 2)), [1e-6, -1.0], activation="tanh")
    certificate = certify(replace(truth, a=truth.a * [1.01, 1.0]), X, truth.predict(X), bias=False, offset=False)
    assert certificate.certified_units == (1,)
    assert certificate.locate(truth)[0][1]
    assert certificate.reasons[0].startswith("Unit 0 is a relative distance of up to 0.01 away from where")


def test_precision_follows_the_conditioning() -> None:
    """Two units at angle ε: the stated precision grows as 1/ε, and the true error stays below it."""
    truth, X, _ = problem("relu", False, 0, rows=100)
    stated = []
    for angle in (0.5, 0.1):
        W = np.column_stack([truth.W[:, 0], truth.W[:, 0] + angle * truth.W[:, 1]])
        close = Network(W, [1.0, 1.0])
        y = close.predict(X)
        net = gauss_newton(samples.open(X, y), moved(close, 1e-4 * angle, 1)).network
        certificate = certify(net, X, y)
        assert certificate.precision is not None
        stated.append(certificate.precision.max())
        if certificate:
            assert certificate.locate(close)[0].all()
    assert stated[1] > 2 * stated[0]


def test_too_few_rows_are_never_certified() -> None:
    truth, X, y = problem("relu", True, 1)
    p = 2 * 7
    for n in (5, p - 1, p, p + 1, p + 7):
        assert certify(truth, X[:n], y[:n]).status is Status.FAILED
    certificate = certify(truth, X[: p + 1], y[: p + 1])
    assert "rows" in certificate.reasons[0]
    assert certificate.n_parameters == p


def test_copies_and_rows_without_weight_do_not_count() -> None:
    truth, X, y = problem("relu", False, 2)
    p, few = 12, 11
    assert certify(truth, np.tile(X[:few], (9, 1)), np.tile(y[:few], 9)).status is Status.FAILED
    nearly = np.tile(X[:few], (9, 1)) * (1 + 2.2e-16 * np.random.default_rng(0).integers(-1, 2, (99, 6)))
    assert certify(truth, nearly, np.tile(y[:few], 9)).status is Status.FAILED
    w = (np.arange(len(X)) < p).astype(float)
    assert certify(truth, X, y, sample_weight=w).status is Status.FAILED
    wrong = np.where(np.arange(len(X)) < 60, y, 7.0)
    w = (np.arange(len(X)) < 60).astype(float)
    assert certify(truth, X, wrong, sample_weight=w).status is Status.EXACT
    assert certify(truth, X, wrong).status is not Status.EXACT


def test_weights_do_not_change_exactness() -> None:
    truth, X, y = problem("tanh", True, 3)
    w = 10 ** np.random.default_rng(0).uniform(-2, 2, len(X))
    first, second = certify(truth, X, y, sample_weight=w), certify(truth, X, y, sample_weight=1e6 * w)
    assert first.status is second.status is Status.EXACT
    assert first.precision is not None
    assert second.precision is not None
    np.testing.assert_allclose(first.precision, second.precision, rtol=1e-6)


def test_symmetric_networks_have_one_certificate(seed: int) -> None:
    truth, X, y = problem("relu", True, seed)
    same = replace(truth, W=truth.W[:, ::-1] * 3.0, b=truth.b[::-1] * 3.0, a=truth.a[::-1] / 3.0)
    one, other = certify(truth, X, y), certify(same, X, y)
    assert one.status is other.status is Status.EXACT
    assert one.precision is not None
    assert other.precision is not None
    np.testing.assert_allclose(one.precision, other.precision[::-1], rtol=0.5)
    assert one.locate(same)[0].all()
    assert one.condition == pytest.approx(other.condition, rel=1e-6)


def test_reflection_of_tanh_and_sigmoid_is_a_symmetry() -> None:
    for name in ("tanh", "sigmoid"):
        truth, X, y = problem(name, True, 4)
        certificate = certify(reflect(truth, np.array([True, False])), X, y, offset=True)
        assert certificate.status is Status.EXACT, str(certificate)
        assert certificate.locate(truth)[0].all()
        assert any("sign" in s or "reflection" in s for s in certificate.symmetries)


def test_twins_are_ambiguous() -> None:
    W = np.random.default_rng(0).standard_normal((4, 3))
    W[:, 2] = -W[:, 0] - W[:, 1]
    truth = Network(W, np.ones(3))
    X, y = draw(truth, 200, rng=1)
    for net in (truth, reflect(truth, np.ones(3, dtype=bool))):
        certificate = certify(net, X, y)
        assert certificate.status is Status.AMBIGUOUS
        assert not certificate
        assert certificate.ambiguous_units == (0, 1, 2)
        assert certificate.sign_patterns is not None
        np.testing.assert_array_equal(certificate.sign_patterns, [[True, True, True]])


def test_a_twin_that_differs_above_rounding_is_not() -> None:
    W = np.random.default_rng(0).standard_normal((4, 3))
    W[:, 2] = -W[:, 0] - W[:, 1] + 1e-3
    truth = Network(W, np.ones(3))
    X, y = draw(truth, 200, rng=1)
    assert certify(truth, X, y).status is Status.EXACT
    assert certify(reflect(truth, np.ones(3, dtype=bool)), X, y).status is not Status.EXACT


def test_redundant_units_are_named() -> None:
    truth, X, y = problem("relu", False, 1, rows=20)
    for extra, size in ((truth.W[:, 0], 0.5), (np.ones(6), 0.0)):
        a = np.append(truth.a, size * truth.a[0])
        a[0] *= 1 - size
        certificate = certify(replace(truth, W=np.column_stack([truth.W, extra]), a=a, b=np.zeros(3)), X, y)
        assert certificate.status is Status.AMBIGUOUS
        assert 2 in certificate.ambiguous_units


def test_a_unit_that_is_active_on_every_row_is_ambiguous() -> None:
    truth, X, _ = problem("relu", True, 1, rows=20)
    high = replace(truth, b=np.array([truth.b[0], 9.0]))
    certificate = certify(high, X, high.predict(X))
    assert certificate.status is Status.AMBIGUOUS
    assert 1 in certificate.ambiguous_units  # and 0: what its reflection changes, an affine unit carries
    low = replace(truth, b=np.array([truth.b[0], -9.0]))
    assert certify(low, X, low.predict(X)).status is Status.AMBIGUOUS


@pytest.mark.parametrize("name", ["linear", "quadratic"])
def test_polynomials_are_unique_locally_only(name: str) -> None:
    net = Network(np.random.default_rng(0).standard_normal((4, 1)), activation=name)
    X, y = draw(net, 100, rng=1)
    assert certify(net, X, y).status is Status.AMBIGUOUS


@pytest.mark.parametrize("analytic", [False, True])
def test_custom_activations_are_certified_by_tests(analytic: bool) -> None:
    def slope(z: np.ndarray) -> np.ndarray:
        return (1 - z * z) / (1 + z * z) ** 2

    phi = activations.custom("bump", lambda z: z / (1 + z * z), slope, reflection=(-1, ()), analytic=analytic)
    net = Network(np.random.default_rng(0).standard_normal((4, 2)), activation=phi)
    X, y = draw(net, 200, rng=1)
    certificate = certify(net, X, y)
    assert certificate.status is Status.EXACT, str(certificate)
    assert not certificate.proved
    assert "tested, not proved" in certificate.headline
    assert any("analytic" in line for line in certificate.assumptions) == analytic


def test_rounded_targets_are_not_exact() -> None:
    truth, X, y = problem("tanh", True, 2, rows=10)
    assert certify(truth, X, y.astype(np.float32)).status is not Status.EXACT
    assert certify(truth, X, np.round(y, 3)).status is not Status.EXACT
    X32 = X.astype(np.float32)
    assert certify(truth, X32, truth.predict(X32.astype(float))).status is Status.EXACT


def test_rank_deficient_inputs_are_ambiguous() -> None:
    truth, X, _ = problem("relu", True, 2, rows=10)
    X[:, -1] = X[:, 0]
    certificate = certify(truth, X, truth.predict(X))
    assert certificate.status is Status.AMBIGUOUS
    assert certificate.ambiguous_units == (0, 1)


def test_scales_of_the_inputs_do_not_matter() -> None:
    truth, X, y = problem("relu", True, 2)
    scale = 10.0 ** np.arange(-3, 3)
    certificate = certify(replace(truth, W=truth.W / scale[:, None]), X * scale, y)
    assert certificate.status is Status.EXACT
    assert certificate.condition == pytest.approx(certify(truth, X, y).condition, rel=1e-6)


def test_every_namespace_and_source_gives_the_same(xp: Any, as_xp: Any) -> None:
    truth, X, y = problem("relu", True, 3)
    reference = certify(truth, X, y)
    certificate = certify(truth, as_xp(X), as_xp(y))
    _same(certificate, reference)
    noisy = y + 0.01 * np.random.default_rng(0).standard_normal(len(y))
    _same(certify(truth, as_xp(X), as_xp(noisy)), certify(truth, X, noisy))


def test_awkward_blocks_give_the_same() -> None:
    truth, X, y = problem("tanh", True, 3)
    source = samples.open(X, y)
    assert isinstance(source, samples.ArraySamples)
    _same(certify(truth, Awkward(source)), certify(truth, source))


def _same(one: Certificate, other: Certificate) -> None:
    assert one.status is other.status
    assert one.n_rows == other.n_rows
    assert one.evidence.n_distinct == other.evidence.n_distinct
    assert one.condition == pytest.approx(other.condition, rel=1e-6)
    if other.precision is not None:
        np.testing.assert_allclose(one.precision, other.precision, rtol=0.2)  # residuals at rounding level differ


def test_arguments_are_checked() -> None:
    truth, X, y = problem("relu", True, 3)
    with pytest.raises(ShapeError, match="inputs"):
        certify(truth, X[:, :3], y)
    with pytest.raises(ArgumentError, match="biases"):
        certify(truth, X, y, bias=False)
    with pytest.raises(ArgumentError, match="offset"):
        certify(replace(truth, c=1.0), X, y, offset=False)
    with pytest.raises(ArgumentError, match="population"):
        certify(truth, samples.population(truth))
    with pytest.raises(ArgumentError, match="Network"):
        certify(truth.W, X, y)


def test_huge_values_fail_without_warnings() -> None:
    truth, X, y = problem("squared_relu", False, 3)
    certificate = certify(replace(truth, W=truth.W * 1e200), X, y)
    assert certificate.status is Status.FAILED
    assert certificate.reasons


def test_it_prints() -> None:
    truth, X, y = problem("relu", True, 3)
    text = str(certify(truth, X, y, heldout=draw(truth, 50, rng=9)))
    for word in ("EXACT", "rows", "parameters 14", "condition", "precision", "held-out", "order of the units", "scale"):
        assert word in text


def test_a_unit_saturated_on_every_row_is_not_determined(seed: int) -> None:
    """Its derivatives are near 1e-161, their squares hardly above zero: nothing overflows on the way to AMBIGUOUS."""
    truth = teachers.conditioned(4, 2, activation="sigmoid", rng=seed)
    saturated = replace(truth, b=np.array([0.0, -370.0]))
    X, _ = draw(truth, 100, rng=seed)
    certificate = certify(saturated, X, saturated.predict(X), bias=True)
    assert certificate.status is Status.AMBIGUOUS


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_a_unit_below_rounding_does_not_withhold_the_others(activation: str) -> None:
    truth = teachers.biased(8, 5, bias=0.5, activation=activation, rng=3)
    faint = replace(truth, a=truth.a * np.array([1.0, 1.0, 1e-13, 1.0, 1.0]))
    X = np.random.default_rng(4).standard_normal((500, 8))
    certificate = certify(faint, X, faint.predict(X), bias=True)
    assert certificate.certified_units == (0, 1, 3, 4), str(certificate)
    assert certificate.locate(truth)[0][[0, 1, 3, 4]].all()


def test_units_beside_loose_ones_may_be_reflected() -> None:
    """Two units that are on at every row take up the linear function by which a reflected third one differs."""
    W, b = np.array([[0.3, 0.1], [-0.2, 0.25], [1.0, 0.7]]).T, np.array([3.0, 3.0, 0.1])
    X = np.random.default_rng(0).standard_normal((300, 2))
    one = Network(W, [1.0, -1.0, 1.0], b, 0.0, "relu")
    turned, moved = W * [1.0, 1.0, -1.0], b * [1.0, 1.0, -1.0]
    turned[:, :2] += 0.5 * np.outer(W[:, 2], [1.0, -1.0])
    moved[:2] += 0.5 * b[2] * np.array([1.0, -1.0]) + 4.0
    other = Network(turned, [1.0, -1.0, 1.0], moved, 0.0, "relu")
    np.testing.assert_allclose(other.predict(X), one.predict(X), atol=1e-12)
    for net in (one, other):
        assert certify(net, X, one.predict(X), bias=True).certified_units == ()


def test_multiples_of_fitted_rows_are_not_held_out() -> None:
    truth = teachers.conditioned(4, 2, activation="relu", rng=0)
    X = np.random.default_rng(1).standard_normal((100, 4))
    longer = 2.5 * X[:30]
    told = certify(truth, X, truth.predict(X), heldout=(longer, truth.predict(longer)))
    assert told.heldout_rows == 0
    biased = replace(truth, b=np.array([0.1, 0.2]))
    assert certify(biased, X, biased.predict(X), heldout=(longer, biased.predict(longer))).heldout_rows == 30


def test_units_seen_only_together_narrow_the_class_of_the_others(seed: int) -> None:
    """Two units that could be one leave a unit to spare, and with it the third may be two: its claim is of a smaller class."""
    X = np.random.default_rng(seed).standard_normal((60, 1))
    X = X[((X < 0.1) | (X > 0.4) & (X < 0.85) | (X > 1.0))[:, 0]]  # none between the kinks 1/6 and 1/3, nor 0.91 and 0.98
    truth = Network([[-3.0, -3.0, -1.0]], [1.0, 1.0, 1.0], [1.0, 0.5, 1.0])
    fit = Network([[-6.0, -0.25, -1.25]], [1.0, -1.0, 1.0], [1.5, 0.23, 1.23])
    np.testing.assert_allclose(fit.predict(X), truth.predict(X), atol=1e-14)
    certificate = certify(fit, X, truth.predict(X))
    assert certificate.certified_units in ((0,), ())
    assert "at most 2 relu units" in certificate.headline


def test_rows_that_are_asked_for_count_the_held_out_ones() -> None:
    statement = _enough(25, 20, 6)
    assert not statement.holds
    assert "give at least 34," in statement.sentence  # 20 parameters, eight beyond them, and six held out
    assert _enough(28, 20, 6).holds


def test_a_doubled_unit_is_merged_with_its_constant() -> None:
    """σ(−z) = 1 − σ(z): of a σ(z) + a′ σ(−z) the offset takes a′, beside what it was."""
    w, v = np.array([0.5, -1.0, 0.3]), np.array([1.0, 0.2, -0.4])
    net = Network(np.column_stack([w, v, -w]), [0.8, 1.5, 0.3], [0.4, -0.2, -0.4], 0.7, "sigmoid")
    X = np.random.default_rng(0).standard_normal((20, 3))
    merged = _some(_merged(net, 0, 2), np.array([0, 1]))
    np.testing.assert_allclose(merged.predict(X), net.predict(X), rtol=1e-12)


def test_heavy_tails_widen_the_search_for_rivals(monkeypatch: pytest.MonkeyPatch) -> None:
    """n Σ r⁴/3(Σ r²)² times fewer rows make up Σ r² than of Gaussian errors."""
    seen: list[float] = []

    def spy(ceiling: float, odds: float = 0.0, few: float = 1.0) -> Bar:
        seen.append(few)
        return Bar(ceiling, odds, few)

    monkeypatch.setattr("weightlift.certificate.verdict.Bar", spy)
    rng = np.random.default_rng(0)
    truth, X, exact = problem("tanh", True, 0, rows=30)
    y = exact + 0.05 * rng.standard_t(3, len(X))
    net = gauss_newton(samples.open(X, y), truth, free="Wab", tol=1e-13).network
    certify(net, X, y, bias=True)
    r = net.predict(X) - y
    assert len(X) * (r**4).sum() / (3 * (r**2).sum() ** 2) > 1.5
    assert seen[0] == pytest.approx(len(X) * (r**4).sum() / (3 * (r**2).sum() ** 2), rel=0.1)


def noisy_fit(seed: int, n: int = 30) -> tuple[Network, np.ndarray, np.ndarray]:
    truth, X, exact = problem("tanh", True, seed, rows=n)
    y = exact + 0.05 * np.random.default_rng(seed).standard_normal(len(X))
    return gauss_newton(samples.open(X, y), truth, free="Wab", tol=1e-13).network, X, y


@pytest.mark.parametrize("weight", [1.0, 9.0])
def test_the_bar_that_rivals_must_pass(weight: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Σ w r² and thirty σ², and what the best of the patterns of each unit gains by chance, 2 ln 2."""
    seen: list[tuple[float, float]] = []

    def spy(ceiling: float, odds: float = 0.0, few: float = 1.0) -> Bar:
        seen.append((ceiling, odds))
        return Bar(ceiling, odds, few)

    monkeypatch.setattr("weightlift.certificate.verdict.Bar", spy)
    net, X, y = noisy_fit(1)
    assert certify(net, X, y, bias=True, sample_weight=np.full(len(X), weight))
    odds = 30.0 + 2 * np.log(2.0) * 2
    square = weight * ((net.predict(X) - y) ** 2).sum()
    assert seen[0] == (pytest.approx(square * (1 + odds / (len(X) - 16)), rel=1e-6), pytest.approx(odds))


def test_held_out_rows_are_held_against_what_a_fit_expects(seed: int) -> None:
    """Their mean square beside σ²(1 + p/n)."""
    net, X, y = noisy_fit(seed)
    rng = np.random.default_rng(seed + 50)
    Z = rng.standard_normal((40, X.shape[1]))
    v = net.predict(Z) + 0.05 * rng.standard_normal(40)
    certificate = certify(net, X, y, bias=True, heldout=(Z, v))
    (statement,) = [s for s in certificate.statements if s.topic.name == "HELDOUT"]
    n, p = len(X), 16
    variance = ((net.predict(X) - y) ** 2).sum() / (n - p)
    assert statement.number == pytest.approx(np.mean((net.predict(Z) - v) ** 2) / (variance * (1 + p / n)), rel=1e-6)


def test_rows_count_by_their_weights() -> None:
    """(Σ w)²/Σ w² effective rows: one of weight a hundred among 300 is worth fifty."""
    net, X, y = noisy_fit(0, 17)
    w = np.ones(len(X))
    w[0] = 100.0
    rows = (w.sum() ** 2) / (w**2).sum()
    fit = gauss_newton(samples.open(X, y, sample_weight=w), net, free="Wab", tol=1e-13).network
    (statement,) = [s for s in certify(fit, X, y, bias=True, sample_weight=w).failing if s.topic.name == "ROWS"]
    assert (statement.number, statement.limit) == (pytest.approx(rows, rel=1e-6), 3 * 16 + 30)


def test_rounded_targets_reveal_units_above_twice_the_bound(seed: int) -> None:
    truth, X, y = problem("tanh", True, seed)
    rounded = np.round(y, 6)
    found = quantum_of(samples.open(X, rounded), truth)
    certificate = certify(truth, X, rounded, bias=True)
    assert found is not None
    assert certificate.evidence.quantum == pytest.approx(1e-6)
    assert certificate.detection_limit == pytest.approx(2 * found.bound, rel=1e-6)


@pytest.mark.parametrize(("energy", "holds"), [(1e-141, False), (1e-139, True), (1e139, True), (1e141, False)])
def test_squares_that_are_no_numbers_are_refused(energy: float, holds: bool) -> None:
    """Sizes between 1e-70 and 1e70, squares between 1e-140 and 1e140."""
    found = _finite(energy, 1.0, 1.0)
    assert (found is None) == holds
    assert _finite(energy, np.inf, 1.0) is not None
    assert _finite(0.0, 1.0, 1.0) is None


@pytest.mark.parametrize(
    ("relative", "contraction", "units"),
    [
        ([1e-6, 1e-6, 1e-6], 0.49, ()),
        ([1e-6, 1e-6, 1e-6], 0.51, (0, 1, 2)),
        ([1e-6, 1e-6, 2e-4], 0.1, (2,)),
        ([4.9e-5, 5.1e-5, 1e-6], 0.1, (1,)),
    ],
)
def test_precision_separation_and_contraction_decide(relative: list[float], contraction: float, units: tuple[int, ...]) -> None:
    """Beyond the limit, within ten precisions of another unit, and where J changes by half on the box."""
    net = Network([[1.0, 1.0, 0.0], [0.0, 5e-4, 1.0]], np.ones(3), activation="tanh")
    gauge = Gauge.of(net, bias=False, offset=False)
    X = np.random.default_rng(0).standard_normal((20, 2))
    rows = samples.open(X, net.predict(X))
    found = Precision(Information.of(rows, gauge), rows, contraction, np.zeros((3, 3, 3)), np.array(relative))
    statement = _precise(gauge, found, found.relative, 1e-4)
    assert (statement.holds, statement.units, statement.number, statement.limit) == (not units, units, max(relative), 1e-4)


def test_another_minimum_inside_widens_by_its_distance() -> None:
    found = _minima(0.25, np.array([1.01, 0.3]))
    assert (found.units, found.number, found.limit) == ((0,), pytest.approx(1.25 * 1.01), 1.25)
    assert _minima(0.25, np.array([0.99, 0.3])).units == ()


def test_units_below_the_floor_are_set_apart_with_what_they_add() -> None:
    """Σ w (a φ)² at most the floor, and its root, by the triangle inequality, is what the others may be off by."""
    net = Network(np.random.default_rng(0).standard_normal((3, 4)), np.ones(4), [0.1, 0.2, 0.3, 0.4], activation="tanh")
    found = _Reduced.of(net, np.array([4.0, 9e-6, 1.0, 16e-6]), 2e-5)
    assert found.kept.tolist() == [0, 2]
    assert found.lost == pytest.approx(7e-3)
    assert found.network is not None
    np.testing.assert_array_equal(found.network.W, net.W[:, [0, 2]])
    assert found.statement is not None
    assert (found.statement.units, found.statement.number) == ((1, 3), 2)
    assert _Reduced.of(net, np.full(4, 3e-5), 2e-5).kept.tolist() == [0, 1, 2, 3]
    assert _Reduced.of(net, np.full(4, 1e-5), 2e-5).network is None


@pytest.mark.parametrize(("moved", "exact"), [(1.2e-8, True), (1.8e-8, False)])
def test_a_step_to_the_exact_network_is_part_of_the_claim(moved: float, exact: bool, seed: int) -> None:
    """Up to 1.5e-8 of a unit's size; what moves the unit's (w, b) or a most, of their sizes, is part of its precision."""
    rng = np.random.default_rng(seed)
    truth = Network(rng.standard_normal((3, 2)) * [2.0, 0.5], [3.0, -0.6], [0.3, -0.2], 0.0, "tanh")
    X = rng.standard_normal((200, 3))
    theta = np.append(truth.W[:, 1], [truth.b[1], truth.a[1]])
    delta = rng.standard_normal(5)
    delta *= moved * np.linalg.norm(theta) / np.linalg.norm(delta)
    second = np.array([0.0, 1.0])
    near = replace(truth, W=truth.W + np.outer(delta[:3], second), b=truth.b + delta[3] * second, a=truth.a + delta[4] * second)
    certificate = certify(near, X, truth.predict(X), bias=True, offset=False)
    stepped = [s for s in certificate.statements if "Gauss–Newton step" in s.sentence]
    assert bool(stepped) is exact
    if exact:
        (statement,) = [s for s in certificate.statements if s.topic.name == "PRECISION"]
        apart = max(np.linalg.norm(delta[:4]) / np.linalg.norm(theta[:4]), abs(delta[4] / theta[4]))
        assert statement.number == pytest.approx(apart, rel=1e-2)
        assert certificate.precision is not None
        assert certificate.precision[1] == pytest.approx(apart, rel=1e-2)


def test_the_bar_of_rounding_errors_and_of_rounded_targets(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """(2 e)² of inputs off centre, e² within a quantum, e² = Σ w (|r| + E)²."""
    seen: list[float] = []

    def spy(ceiling: float, odds: float = 0.0, few: float = 1.0) -> Bar:
        seen.append(ceiling)
        return Bar(ceiling, odds, few)

    monkeypatch.setattr("weightlift.certificate.verdict.Bar", spy)
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((3, 2))
    truth = Network(W, [1.0, -0.6], [0.3, -0.2] - 20.0 * W.sum(axis=0), 0.0, "tanh")
    X, w = 20.0 + rng.standard_normal((150, 3)), 5.0 * rng.uniform(0.5, 2.0, 150)
    rows = samples.open(X, truth.predict(X), sample_weight=w)
    assert certify(truth, rows, bias=True, offset=False)
    students = Students.of(truth)
    z = students.preactivations(X)
    B = np.asarray(rounding_bound(students, X, truth.predict(X), z, students.activation(z)))
    assert seen == [pytest.approx(4.0 * (w * B**2).sum(), rel=0.2, abs=0)]  # residuals at rounding level beside the bound
    seen.clear()
    rounded = samples.open(X, np.round(truth.predict(X), 7), sample_weight=w)
    certify(truth, rounded, bias=True, offset=False)
    quantum = quantum_of(rounded, truth)
    assert quantum is not None
    assert seen[0] == pytest.approx(quantum.error**2, rel=1e-9, abs=0)


@pytest.mark.parametrize("power", [-1.0, 1.0])
def test_squares_are_those_of_a_row_of_mean_weight(power: float) -> None:
    """Σ w y² near 1e±150 of targets near 1e±45."""
    truth, X, _ = problem("relu", False, 2)
    large = replace(truth, a=10.0 ** (45 * power) * truth.a)
    weight = np.full(len(X), 10.0 ** (60 * power))
    assert certify(large, X, large.predict(X), sample_weight=weight).status is Status.EXACT


def test_wider_regions_are_so_in_every_direction() -> None:
    """The radius of a region is the root of its matrix."""
    net, X, y = noisy_fit(1)
    known = certify(net, X, y, bias=True)
    case = _Case(known, Gauge.of(net, bias=True, offset=False), samples.open(X, y), HeldOut(), 1, np.random.default_rng(0))
    said = Statement(Topic.PRECISION, Kind.TESTED, True, "They are wider.")
    wider = case._wider(1.5, said).known
    assert wider.statements == (*known.statements, said)
    for name, power in (("precision", 1), ("regions", 2), ("wide_regions", 2)):
        np.testing.assert_allclose(getattr(wider, name), 1.5**power * getattr(known, name), rtol=1e-12)


def test_rows_of_high_leverage_are_left_with_their_errors(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """e = (Σ w (|r| + B)²)^½ of rows that agree to rounding, those of the quantum where targets are rounded."""
    asked: list[tuple[float, float]] = []

    def spy(rows: samples.Samples, of: object, error: Callable[[samples.Samples], float], limit: float, rng: object) -> None:
        asked.append((error(rows), limit))

    monkeypatch.setattr("weightlift.certificate.verdict.confirmed", spy)
    rng = np.random.default_rng(seed)
    truth = teachers.biased(3, 2, bias=0.4, activation="tanh", rng=seed)
    X, w = rng.standard_normal((80, 3)), 5.0 * rng.uniform(0.5, 2.0, 80)
    y = truth.predict(X)
    certify(truth, X, y, sample_weight=w)
    students = Students.of(truth)
    z = students.preactivations(X)
    B = np.asarray(rounding_bound(students, X, y, z, students.activation(z)))
    assert asked == [(pytest.approx((w @ B**2) ** 0.5, rel=0.1, abs=0), 1e-4)]
    asked.clear()
    certify(truth, X, np.round(y, 5), sample_weight=w)
    quantum = quantum_of(samples.open(X, np.round(y, 5), sample_weight=w), truth)
    assert quantum is not None
    assert asked == [(pytest.approx(quantum.error, rel=1e-9), 1.0)]


def test_what_a_finding_rests_on_is_assumed_once() -> None:
    truth, X, y = problem("tanh", True, 3)
    lines = certify(truth, X, y).assumptions
    assert "Agreement to rounding is equality, of networks far from this one too." in lines
    assert sum("from a density" in line for line in lines) == 1


def part_of(net: Network, X: np.ndarray, y: np.ndarray) -> _Part:
    known = certify(net, X, y, bias=True)
    case = _Case(known, Gauge.of(net, bias=True, offset=False), samples.open(X, y), HeldOut(), 1, np.random.default_rng(0))
    return case._of_standard_inputs(_Reduced.of(net, np.ones(net.n_units), 0.0))


def test_a_rival_that_fits_better_beyond_chance_is_the_minimum() -> None:
    """Σ w r² of the best of them, beside the network's own less a margin."""
    net, X, y = noisy_fit(2)
    worse = replace(net, a=net.a * 1.3)
    part = part_of(worse, X, y)
    squares = [float(((n.predict(X) - y) ** 2).sum()) for n in (worse, net)]
    rivals = tuple(part.standard.network(n) for n in (worse, net))
    finding = Finding(Outcome.FOUND, "They fit.", rivals=rivals)
    found = part._better((finding,), 0.99 * (squares[0] - squares[1]))
    assert found is not None
    assert (found.topic, found.holds) == (Topic.MINIMUM, False)
    assert found.number == pytest.approx(squares[1], rel=1e-6)
    assert found.limit == pytest.approx(squares[0] - 0.99 * (squares[0] - squares[1]), rel=1e-6)
    assert part._better((finding,), 1.01 * (squares[0] - squares[1])) is None
    assert part._better((), 0.0) is None


def test_rivals_within_the_claim_are_none_and_tell_how_far(monkeypatch: pytest.MonkeyPatch) -> None:
    """Distances in the regions: up to one a refit has come back, beyond it is another network."""
    net, X, y = noisy_fit(2)
    part = part_of(net, X, y)
    claim = part.case
    off = []
    for share in (0.3, 0.9, 1.2):
        R = claim.known.regions[0, 0]
        theta = claim.gauge.unit(0)[0] + share * np.linalg.cholesky(R)[:, 0]
        W, b, a = net.W.copy(), net.b.copy(), net.a.copy()
        W[:, 0], b[0], a[0] = theta[:-2], theta[-2], theta[-1]
        off.append(part.standard.network(replace(net, W=W, b=b, a=a)))
    distances = [part._off(claim.known, rival) for rival in off]
    assert distances == [pytest.approx(share, rel=0.5) for share in (0.3, 0.9, 1.2)]
    findings = [
        Finding(Outcome.FOUND, "Two.", rivals=(off[0], off[2])),
        Finding(Outcome.FOUND, "Near.", rivals=(off[1],)),
        Finding(Outcome.NONE_FOUND, "None."),
    ]
    monkeypatch.setattr("weightlift.certificate.verdict.examine_noisy", lambda *_: findings)
    found, within = part._below(Bar(1.0), claim)
    far = [distance > 1.0 for distance in distances]
    assert far == [False, False, True]
    assert [f.sentence for f in found] == ["Two.", "None."]
    assert found[0].rivals == (off[2],)
    assert within == pytest.approx(distances[1], rel=1e-9)


def test_a_unit_counts_from_a_ten_thousandth_of_what_rounding_leaves(seed: int) -> None:
    """a is known to (e²/Σ w (a φ)²)^½ at best: beyond 1e-4 a unit is not seen, nor one that another makes up to so much."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((200, 3))
    truth = Network(rng.standard_normal((3, 2)), [1.0, 1e-9], activation="tanh")
    students = Students.of(truth)
    z = students.preactivations(X)
    B = np.asarray(rounding_bound(students, X, truth.predict(X), z, students.activation(z)))
    floor = np.linalg.norm(B) / 1e-4 / np.linalg.norm(np.tanh(X @ truth.W[:, 1]))
    for share in (0.7, 20.0):
        faint = replace(truth, a=np.array([1.0, share * floor]))
        told = [s.units for s in certify(faint, X, faint.predict(X), bias=False).statements if s.topic is Topic.SUPERFLUOUS]
        assert told == ([(1,)] if share < 1 else [])


@pytest.mark.parametrize(
    ("step", "units"), [([1e-5, 2e-4, 9e-5], (1,)), ([1e-5, 1e-5, 1e-5], ()), ([np.nan, 2.0, 0.0], (0, 1))]
)
def test_units_that_a_step_moves_too_far(step: list[float], units: tuple[int, ...]) -> None:
    gauge = Gauge.of(Network(np.eye(3), activation="tanh"), bias=False, offset=False, numbers=(4, 6, 7))
    found = _unsettled(gauge, _Step(np.array(step), np.zeros(3)), 1e-4)
    assert (found.units if found else ()) == units
    assert found is None or str(gauge.called(units)[0]) in found.sentence


def test_reflections_are_told_of_the_network_that_was_given() -> None:
    """Patterns of the units that count, where they stand among all; each once."""
    fewer = _Reduced(None, np.array([0, 2]), 4)
    np.testing.assert_array_equal(fewer.pattern(np.array([[True, False], [True, True]])), [[1, 0, 0, 0], [1, 0, 1, 0]])
    said = Statement(Topic.PRECISION, Kind.TESTED, False, "Wide.", units=(1,))
    assert fewer.named(said).units == (2,)
    assert fewer.named(replace(said, units=())).units == (0, 2)
    assert fewer.named(replace(said, units=(), holds=True)).units == ()


@pytest.mark.parametrize("spare", ["a pair that cancels", "nearly linear", "nearly double"])
def test_units_that_others_replace_narrow_the_class(spare: str, seed: int) -> None:
    """With a unit to spare the other may be two: such a truth agrees as well, and has more units than the headline names."""
    rng = np.random.default_rng(seed)
    X, w, v, u = rng.standard_normal((96, 3)), *rng.standard_normal((3, 3))
    e = 1e-10 * u
    two = Network(np.column_stack([w + e, w - 2.0 * e]), [1.2, 0.6], [0.3, 0.3], 0.1, "tanh")  # to second order one unit
    W, a, b = [w, v, v * (1.0 + 1e-13)], [1.8, 0.4, -0.4], [0.3, 0.2, 0.2]
    if spare == "nearly linear":
        W, a, b = [w, 1e-11 * v], [1.8, 0.4], [0.3, 0.2]
    elif spare == "nearly double":
        W, a, b = [w, v, v * (1.0 + 1e-9)], [1.8, 0.4, 0.5], [0.3, 0.2, 0.2]
    net = Network(np.array(W).T, a, b, 0.1, "tanh")
    assert np.abs(two.predict(X) - 0.1 - 1.8 * np.tanh(X @ w + 0.3)).max() < 1e-14
    narrow, step = 2 if spare == "nearly double" else 1, 1.0 + 1e-11
    for given in (net, replace(net, W=step * net.W)):  # the latter is judged at the end of a step
        certificate = certify(given, X, net.predict(X), bias=True, offset=True)
        assert certificate.certified_units == (0,)
        assert certificate.evidence.width == narrow
        assert f"at most {narrow} tanh unit" in certificate.headline
        assert certificate.precision is not None
        off = np.linalg.norm(given.W[:, 0] - w) / np.linalg.norm(np.append(w, 0.3))
        assert off <= certificate.precision[0] or spare == "nearly linear"  # of which one unit leaves 10⁻¹¹ too
    needed = replace(net, W=np.column_stack([w, v, v[::-1]])[:, : len(a)])
    assert certify(needed, X, needed.predict(X), bias=True, offset=True).evidence.width is None


@pytest.mark.parametrize("curved", [0.01, 0.02, 0.05])
def test_a_constant_unit_is_replaced_beside_a_nearly_quadratic_one(curved: float, seed: int) -> None:
    """What it leaves in c and in the other's a is as large as these, and one is nearly the other: they are projected out.

    The first unit may be two of half its size, 2·10⁻¹⁰ apart: with three units allowed that truth agrees as well.
    """
    X = np.random.default_rng(seed).standard_normal((240, 1))
    fit = Network([[-0.667, -curved, 1.2e-12]], [-1.008, -1.163, 0.615], [-0.609, 0.685, 0.3], 0.0, "softplus")
    c = 0.615 * float(fit.activation(np.array(0.3)))
    truth = Network(
        [[-0.667 - 1e-10, -0.667 + 1e-10, -curved]], [-0.504, -0.504, -1.163], [-0.609, -0.609, 0.685], c, "softplus"
    )
    y = truth.predict(X)
    np.testing.assert_allclose(fit.predict(X), y, atol=1e-11)
    certificate = certify(fit, X, y, bias=True, offset=True)
    assert certificate.evidence.width is not None
    assert certificate.evidence.width < 3
    assert 2 not in certificate.certified_units


@pytest.mark.parametrize("places", [3, 5, 8])
@pytest.mark.parametrize("spare", ["a pair that cancels", "nearly constant", "nearly double", "faint"])
def test_units_that_others_replace_within_a_quantum_narrow_the_class(spare: str, places: int, seed: int) -> None:
    """To third order in e two units are one, which the rounding hides: the headline names a class without them."""
    rng, quantum = np.random.default_rng(seed), 10.0**-places
    X, w, v, u = rng.standard_normal((96, 3)), *rng.standard_normal((3, 3))
    e, gap = 0.02 * math.sqrt(quantum) * u / np.linalg.norm(u), 1e-2 * quantum
    W, a, b, width = {
        "a pair that cancels": ([v, (1.0 + gap) * v], [0.4, -0.4], [0.2, 0.2], 1),
        "nearly constant": ([gap * v], [0.4], [0.2], 1),
        "nearly double": ([v, (1.0 + gap) * v], [0.4, 0.5], [0.2, 0.2], 2),
        "faint": ([v], [gap], [0.2], 1),
    }[spare]
    fit = Network(np.column_stack([w, *W]), [1.8, *a], [0.3, *b], 0.1, "tanh")
    two = Network(np.column_stack([w + e, w - 2.0 * e, *W]), [1.2, 0.6, *a], [0.3, 0.3, *b], 0.1, "tanh")
    y = np.round(two.predict(X), places)
    assert np.abs(fit.predict(X) - y).max() < quantum
    certificate = certify(fit, X, y, bias=True, offset=True)
    assert certificate.certified_units == (0,) or spare == "nearly double"  # of which the merged one is hardly known
    assert certificate.evidence.width == width or not certificate.certified_units
    needed = replace(fit, W=np.column_stack([w, v, v[::-1]])[:, : len(b) + 1], a=np.array([1.8, 0.4, 0.5])[: len(b) + 1])
    assert certify(needed, X, np.round(needed.predict(X), places), bias=True, offset=True).evidence.width is None


def test_doubles_that_cancel_are_no_unit_at_all() -> None:
    """φ(z) + φ(−z) = 1 for a sigmoid: merged, the two are a constant, and no unit of the size zero is judged."""
    rng = np.random.default_rng(0)
    X, W = rng.standard_normal((200, 2)), rng.standard_normal((2, 2))
    net = Network(np.column_stack([W, -W[:, 1], W[:, 1]]), [1.5, 0.7, 0.9, 0.2], activation="sigmoid")
    certificate = certify(net, X, net.predict(X), bias=False, offset=True)
    assert certificate.certified_units == (0,)
    assert certificate.evidence.width == 1
    plain = Network(W[:, [1, 1, 0]], [0.7, -0.7, 1.5], activation="sigmoid")
    assert certify(plain, X, plain.predict(X), bias=False, offset=False).certified_units == (2,)
    doubled = replace(net, a=np.array([1.5, 0.7, 0.4, 0.2]))
    assert certify(doubled, X, doubled.predict(X), bias=False, offset=True).evidence.width == 2
