"""Several outputs, or a linear part: rivals are looked for as with one output, and what is called proved is."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.rivals_attack import judged
from benchmarks.rivals_constructions import CENTRES, CONSTRUCTIONS, ONE, TWO
from tests.catalogue import KINDS

import weightlift as wl
from weightlift.activations import examples
from weightlift.certificate import Kind, Status, Topic, certify, joint
from weightlift.certificate.joint import _clear_of_kinks, _parameters
from weightlift.certificate.joint_standard import StandardForm
from weightlift.certificate.limits import LIMITS
from weightlift.evidence.gauge import Gauge
from weightlift.evidence.rows import Agreement
from weightlift.evidence.stacked import Stacked
from weightlift.refinement.variable_projection import Model

OUTPUTS = np.outer(np.ones(3), [1.0, 2.0])


def certified(net: wl.Network, truth: wl.Network, X: np.ndarray, **options: object) -> wl.Certificate:
    return certify(net, X, truth.predict(X), **options)


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("outputs", [np.ones(3), OUTPUTS])
def test_rotated_twins_on_clusters_are_refused(outputs: np.ndarray, linear: bool) -> None:
    rng = np.random.default_rng(0)
    X = np.repeat(CENTRES, 60, axis=0) + 0.015 * rng.standard_normal((240, 3))
    V = rng.standard_normal((3, *outputs.shape[1:])) if linear else None
    one, two = (wl.Network(W, outputs, V=V) for W in (ONE, TWO))
    assert not certified(one, one, X)
    assert not certified(two, one, X)


@pytest.mark.parametrize("activation", ["relu", "tanh", "softplus"])
def test_units_that_exchange_their_halves_are_refused(activation: str) -> None:
    rng = np.random.default_rng(1)
    X = np.column_stack([2 * rng.standard_normal((200, 2)), rng.integers(0, 2, 200)])
    w, b, u = (rng.standard_normal(2) for _ in range(3))
    one = wl.Network(np.array([[*w, u[0]], [*w, u[1]]]).T, np.outer(np.ones(2), [1.0, -1.3]), b, activation=activation)
    two = wl.Network(np.array([[*w, b[1] + u[1] - b[0]], [*w, b[0] + u[0] - b[1]]]).T, one.a, b, activation=activation)
    assert not certified(one, one, X)
    assert not certified(two, one, X)


def test_held_out_rows_that_are_fitted_ones_or_their_mirror_images_prove_nothing() -> None:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((10, 4))
    net = wl.Network(rng.standard_normal((4, 2)), rng.standard_normal((2, 5)), activation="tanh")
    for copies in (X, -X):
        certificate = certified(net, net, X, heldout=(copies, net.predict(copies)))
        assert certificate.heldout_rows == 0
        assert Kind.PROVED not in {s.kind for s in certificate.statements if s.topic is Topic.RIVALS}
    fresh = rng.standard_normal((3, 4))
    assert certified(net, net, X, heldout=(fresh, net.predict(fresh))).heldout_rows == 3


@pytest.mark.parametrize("outputs", [1, 6])
def test_inputs_of_few_levels_determine_nothing(outputs: int) -> None:
    X = np.array(list(itertools.product([0.0, 1.0], repeat=5)))
    rng = np.random.default_rng(3)
    a = rng.standard_normal(2) if outputs == 1 else rng.standard_normal((2, outputs))
    net = wl.Network(rng.integers(-2, 3, (5, 2)) + 0.5, a, activation="tanh")
    assert not certified(net, net, X)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_a_rotated_column_of_three_levels_lets_units_change_places(activation: str) -> None:
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.standard_normal((400, 3)), rng.integers(0, 3, 400)])
    Q, _ = np.linalg.qr(rng.standard_normal((4, 4)))
    w = rng.standard_normal(3)
    net = wl.Network(Q.T @ np.array([[*w, 1.0], [*w, -1.0]]).T, np.ones(2), np.array([-1.0, 1.0]), activation=activation)
    assert not certified(net, net, X @ Q)


def test_rows_none_of_which_is_clear_of_the_kinks_are_refused() -> None:
    net = wl.Network(np.eye(2), np.ones(2))
    one = np.column_stack([np.zeros(20), np.linspace(1, 2, 20)])
    X = np.vstack([one, one[:, ::-1]])
    assert not certified(net, net, X)


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("activation", KINDS)
def test_plain_rows_leave_no_rival(activation: str, linear: bool) -> None:
    rng = np.random.default_rng(5)
    V = rng.standard_normal((5, 2)) if linear else None
    net = wl.Network(rng.standard_normal((5, 3)), rng.standard_normal((3, 2)), 0.3 * rng.standard_normal(3), 0.0, activation, V)
    certificate = certified(net, net, rng.standard_normal((600, 5)), bias=True)
    assert certificate.status is Status.EXACT
    assert {s.kind for s in certificate.statements if s.topic is Topic.RIVALS} == {Kind.PROVED}
    assert not certificate.proved  # the precision is to first order


@pytest.mark.parametrize("phi", [phi for phi in examples() if phi.turns is not None], ids=lambda phi: phi.name)
def test_the_slope_is_monotone_between_its_turns(phi: wl.activations.Activation) -> None:
    ends = [-9.0, *phi.turns, 9.0]
    for low, high in itertools.pairwise(ends):
        steps = np.diff(phi.derivative(np.linspace(low, high, 4001)[1:-1]))
        assert (steps >= -1e-15).all() or (steps <= 1e-15).all()


@pytest.mark.parametrize("name", ["zero_set", "one_unit_more", "offset_withheld"])
def test_the_headline_says_what_no_row_can_show(name: str) -> None:
    assert name in CONSTRUCTIONS
    told = judged(name, 0)
    assert not told["FALSE"]
    assert not told["error"]


def test_a_linear_part_alone_is_certified_by_its_rows() -> None:
    rng = np.random.default_rng(0)
    line = wl.Network(np.zeros((4, 0)), np.zeros((0, 2)), V=rng.normal(size=(4, 2)), c=[1.0, 2.0])
    X = rng.normal(size=(30, 4))
    assert wl.certify(line, X, line.predict(X)).status.name == "EXACT"
    assert wl.certify(line, X[:5], line.predict(X[:5])).status.name == "FAILED"
    assert wl.certify(line, X, line.predict(X) + 1.0).status.name == "FAILED"
    assert wl.certify(line, X, line.predict(X)).symmetries == ()


def test_standard_errors_of_a_line_are_those_of_regression() -> None:
    """Against (XᵀX)⁻¹ with the scores of every output, HC1."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 3))
    F = np.column_stack([X, np.ones(50)])
    Y = X @ rng.normal(size=(3, 2)) + rng.normal(size=(50, 2)) * (1 + np.abs(X[:, :1]))
    beta = np.linalg.lstsq(F, Y)[0]
    result = wl.certificate.inference(wl.Network(np.zeros((3, 0)), np.zeros((0, 2)), V=beta[:3], c=beta[3]), X, Y)
    inverse = np.linalg.inv(F.T @ F)
    residual = Y - F @ beta
    for o in range(2):
        scores = F * residual[:, [o]]
        expected = np.sqrt(np.diag(100 / 92 * inverse @ scores.T @ scores @ inverse))
        mine = np.append(result.standard_errors[:6].reshape(3, 2)[:, o], result.standard_errors[6 + o])
        np.testing.assert_allclose(mine, expected, rtol=1e-9)


def test_proportional_outputs_count_as_one() -> None:
    """Rows x and −x, a sigmoid: half as many equations; two outputs of which one is a multiple of the other add none."""
    attacks = CONSTRUCTIONS["mirrored"](np.random.default_rng(1))
    for net in attacks.networks:
        both = wl.Network(net.W, np.outer(net.a, [1.0, -0.7]), net.b, np.zeros(2), net.activation)
        assert not certify(both, attacks.X, both.predict(attacks.X))


def test_the_precision_counts_residuals_beside_their_bounds() -> None:
    """Targets that are off by a few roundings are explained, and say less of the units."""
    rng = np.random.default_rng(0)
    units = wl.teachers.biased(4, 2, bias=0.3, activation="tanh", rng=1)
    net = wl.teachers.several(units, 2, linear=True, rng=2)
    X = rng.normal(size=(80, 4))
    Y = net.predict(X)
    plain, off = (certify(net, X, Z, bias=True) for Z in (Y, Y + 20 * np.finfo(float).eps * rng.choice([-1.0, 1.0], Y.shape)))
    assert plain.status is off.status is Status.EXACT
    assert off.rounding_level > 1.0
    assert np.all(off.precision > 1.3 * plain.precision)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_parameters_are_counted_without_the_scale_of_homogeneous_units(activation: str) -> None:
    net = wl.Network(np.ones((5, 3)), np.ones((3, 2)), activation=activation, V=np.ones((5, 2)))
    for bias, linear, offset in itertools.product((False, True), repeat=3):
        sizes = 15 + 6 + 3 * bias + 10 * linear + 2 * offset
        assert _parameters(net, Model(bias, linear, offset)) == sizes - (3 if activation == "relu" else 0)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_three_units_that_are_on_together_are_not_two(seed):
    """With two outputs Σ aᵢzᵢ of three units is that of two, in a plane of ways; one row where one is on alone picks one."""
    rng = np.random.default_rng(seed)
    truth = wl.Network(rng.normal(size=(2, 3)), rng.normal(size=(3, 2)), 0.5 * rng.normal(size=3))
    many = rng.normal(size=(20_000, 2))
    on = many @ truth.W + truth.b > 0
    together, one, none = on.all(axis=1), on[:, 0] & (on.sum(axis=1) == 1), ~on.any(axis=1)
    X = np.concatenate([many[together][:5], many[one][:1], many[none][:3]])
    assert len(X) == 9
    Y = truth.predict(X)
    for start in range(4):
        found = wl.recover(X, Y, n_units=3, bias=True, rng=start)
        apart = np.array([np.linalg.norm(_directions(truth) - u[:, None], axis=0).min() for u in _directions(found.network).T])
        assert not (apart[list(found.certificate.certified_units)] > 1e-6).any()


def _directions(network):
    units = np.concatenate([network.W, network.b[None]])
    return units / np.linalg.norm(units, axis=0)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize(
    ("bias", "linear", "offset"), [(False, False, False), (True, False, True), (True, True, False), (True, True, True)]
)
def test_parameters_are_those_of_the_stacked_coordinates(activation, bias, linear, offset):
    truth = wl.teachers.several(
        wl.teachers.biased(5, 3, bias=0.3 * bias, activation=activation, rng=0), 4, linear=linear, rng=1
    )
    model = Model(bias, linear, offset)
    assert joint._parameters(truth, model) == Stacked.of(truth, model).size


def test_rows_on_either_side_of_every_kink(seed):
    rng = np.random.default_rng(seed)
    net = wl.Network(rng.normal(size=(3, 2)), rng.normal(size=(2, 2)), [0.9, -0.6])
    X, w = rng.normal(size=(40, 3)), rng.integers(0, 2, 40) * 2.5
    z = X @ net.W + net.b
    found = wl.samples.open(X, net.predict(X), sample_weight=w).fold(joint.Sides(net))[0]
    np.testing.assert_array_equal(found, [((z > 0) & (w > 0)[:, None]).sum(axis=0), ((z < 0) & (w > 0)[:, None]).sum(axis=0)])


@pytest.mark.parametrize(("activation", "linear", "counts"), [
    ("relu", False, ([6, 7], [0, 0])), ("leaky_relu", False, ([6, 9], [9, 7])), ("relu", True, ([9, 7], [6, 9])),
])  # fmt: skip
def test_units_need_rows_on_the_sides_that_know_them(activation, linear, counts):
    """Five coordinates, with the bias, and two more: of ReLU on its active side, else on either."""
    net = wl.teachers.several(wl.teachers.biased(4, 2, bias=0.3, activation=activation, rng=0), 2, linear=linear, rng=1)
    (found,) = joint._on_both_sides(net, Model(True, linear, False), np.array(counts, dtype=float))
    assert (found.holds, found.units, found.number, found.limit) == (False, (0,), 6.0, 7.0)
    (enough,) = joint._on_both_sides(
        net, Model(True, linear, False), np.maximum(np.array(counts, dtype=float), 7.0 * (np.array(counts) > 0))
    )
    assert enough.holds
    assert (
        joint._on_both_sides(
            wl.teachers.several(wl.teachers.biased(4, 2, activation="tanh", rng=0), 2, rng=1), Model(), np.zeros((2, 2))
        )
        == ()
    )


@pytest.mark.parametrize(("distinct", "holds"), [(6, False), (7, True)])
def test_rows_of_the_linear_part_alone(distinct, holds):
    """Four slopes, the offset and two more; without a linear part the offset and two."""
    found = joint._line(Model(True, True, True), distinct, 4)
    assert (found.holds, found.number, found.limit) == (holds, distinct, 7)
    assert joint._line(Model(True, False, True), 3, 4).limit == 3
    assert bool(joint._spare(distinct, 7)) is not holds
    assert joint._enough(7, distinct).holds is holds
    for said in (found, joint._enough(7, distinct)):
        assert ("too few" in said.sentence) is not holds


@pytest.mark.parametrize("size", [1e-3, 1e3])
@pytest.mark.parametrize("linear", [False, True])
def test_equations_are_as_many_as_different_rows(size, linear, seed):
    """Twelve rows, ten times each, beside plain ones, of which there are as many as asked for, and more than 24 units."""
    truth = wl.teachers.several(wl.teachers.biased(4, 3, bias=0.3, activation="tanh", rng=seed), 2, linear=linear, rng=1)
    scaled = replace(truth, W=truth.W / size)
    rng = np.random.default_rng(seed)
    X = size * rng.normal(size=(200, 4))
    model = Model(True, linear, True)
    assert joint._equations(scaled, model, np.repeat(X[:12], 10, axis=0), 30, rng) == 12
    assert joint._equations(scaled, model, X, 30, rng) >= 30


@pytest.mark.parametrize("size", [1e-4, 1.0, 1e4])
def test_a_rival_counts_if_its_units_explain_every_output(size, seed):
    """To 1e-7 of the largest value: with other output weights, and an offset where that is free."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(90, 3))
    net = wl.Network(rng.normal(size=(3, 2)), size * rng.normal(size=(2, 2)), [0.4, -0.9], np.zeros(2), "tanh")
    rows = wl.samples.open(X, net.predict(X))
    same = replace(net, a=rng.normal(size=(2, 2)))
    assert joint._explains(same, net, Model(True, False, False), rows)
    shifted = replace(net, c=size * np.array([0.5, -1.0]))
    assert joint._explains(same, shifted, Model(True, False, True), rows)
    assert not joint._explains(same, shifted, Model(True, False, False), rows)
    for change, explains in ((1e-9, True), (1e-5, False)):
        assert joint._explains(replace(net, b=net.b + change), net, Model(True, False, False), rows) is explains


def test_precision_and_separation_decide_together():
    """Units ten precisions apart are two; beyond 1e-4 nothing is called exact."""
    net = wl.Network([[1.0, 1.0, 0.0], [0.0, 5e-4, 1.0]], np.ones(3), activation="tanh")
    gauge = Gauge.of(net, bias=False, offset=False)
    for precision, units in (([1e-6, 1e-6, 1e-6], ()), ([1e-6, 1e-6, 2e-4], (2,)), ([4.9e-5, 5.1e-5, 1e-6], (1,))):
        found = joint._precise(gauge, np.array(precision))
        assert (found.holds, found.units, found.number) == (not units, units, max(precision))


def test_held_out_rows_that_share_what_leaves_rivals_prove_nothing(seed):
    """Two planes, in any position: two units alike take each other's places there; off them no analytic network does."""
    rng = np.random.default_rng(seed)
    Q, W = np.linalg.qr(rng.normal(size=(4, 4)))[0], rng.normal(size=(4, 2))
    W[1:-1, 1] = W[1:-1, 0]
    net = wl.Network(Q.T @ W, np.array([[1.0, -2.0], [1.0, -2.0]]), activation="tanh")
    X = rng.normal(size=(80, 4))
    X[::2, 0] = X[1::2, 3] = 0.0
    other = replace(net, W=Q.T @ np.column_stack([np.append(W[:3, 0], W[3, 1]), np.append(W[:3, 1], W[3, 0])]))
    np.testing.assert_allclose(other.predict(X @ Q), net.predict(X @ Q), atol=1e-12)
    off = rng.normal(size=(3, 4))
    there, elsewhere = (certified(net, net, X[:60] @ Q, heldout=(Z, net.predict(Z))) for Z in (X[60:] @ Q, off))
    assert there.status is Status.AMBIGUOUS
    assert elsewhere.status is Status.EXACT
    assert any("shaped no candidate" in reason for reason in elsewhere.reasons)


@pytest.mark.parametrize("linear", [False, True])
def test_squares_that_cancel_may_be_reflected_together(linear, seed):
    """(x + y)² + (x − y)² = 2x² + 2y²; beside a linear part with biases too, whose terms V and c take up."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, 3))
    W, a = np.column_stack([x + y, x - y, x, y]), np.array([1.0, 1.0, -2.0, -2.0])
    b = 0.2 * rng.normal(size=4) * linear
    V = np.zeros((3, 2)) if linear else None
    net = wl.Network(W, np.outer(a, [1.0, 0.5]), b, np.zeros(2), "squared_relu", V)
    X = rng.normal(size=(300, 3))
    found = certify(net, X, net.predict(X), bias=linear, offset=linear)
    assert found.ambiguous_units == (0, 1, 2, 3)
    moved = replace(net, W=W + 0.3 * rng.normal(size=W.shape))
    assert certify(moved, X, moved.predict(X), bias=linear, offset=linear).status is Status.EXACT


@pytest.mark.parametrize("crowd", [0, 60])
@pytest.mark.parametrize("activation", ["relu", "absolute"])
def test_rows_that_a_kink_may_reach_are_left_out(activation, crowd, seed):
    """Row by row: |zᵢ| within twice the precision times ‖(w, b)‖ ‖(x, 1)‖. A unit half as well known without them is none."""
    rng = np.random.default_rng(seed)
    net = wl.Network([[3.0, 0.5], [1.0, -2.0]], [[1.0], [-0.7]], [0.4, -0.3], np.zeros(1), activation)
    W, b = net.W, net.b
    X = rng.normal(size=(90, 2))
    for start, count, i, share in ((0, 15, 0, 0.05), (15, 15, 1, 0.05), (30, crowd, 0, 0.02)):  # some near either kink
        some = X[start : start + count]
        some -= np.outer((1 + share * rng.normal(size=count)) * (some @ W[:, i] + b[i]), W[:, i]) / (W[:, i] @ W[:, i])
    rows, model = wl.samples.open(X, net.predict(X)), Model(True, False, True)
    form = StandardForm.of(net, rows, model, explained=True)
    errors = np.array([2e-3])
    precision = form.precision(errors)
    far = np.array([
        all(abs(x @ W[:, i] + b[i]) > 2 * precision[i] * np.sqrt((W[:, i] @ W[:, i] + b[i] ** 2) * (x @ x + 1)) for i in (0, 1))
        for x in X
    ])  # fmt: skip
    kept, clear, found = _clear_of_kinks(form, rows, errors)
    assert 0 < (~far).sum() < 90
    (block,) = kept.blocks(90)
    np.testing.assert_array_equal(block.w > 0, far)
    alone = StandardForm.of(net, wl.samples.open(X[far], net.predict(X[far])), model, explained=True)
    expected = alone.precision(errors)
    np.testing.assert_allclose(clear.precision(errors), expected, rtol=1e-6)
    np.testing.assert_allclose(found, np.where(expected > 2 * precision, np.inf, expected), rtol=1e-6)


@pytest.mark.parametrize(("unit", "origin"), [(1e-10, 0.0), (1.0, 0.0), (1e10, 0.0), (1.0, 40.0)])
@pytest.mark.parametrize("needed", [20, 30])
def test_equations_do_not_depend_on_the_unit_of_an_input_nor_on_its_origin(unit, origin, needed, seed):
    """Every unit and every input is a column of length one: 24 units at a time, more than are needed, four inputs and 1."""
    truth = wl.teachers.several(wl.teachers.biased(4, 3, bias=0.3, activation="tanh", rng=seed), 2, linear=True, rng=1)
    scale = np.array([unit, 1.0, 1.0, 1.0])
    X = np.random.default_rng(seed).normal(size=(200, 4)) * scale + [0.0, origin, 0.0, 0.0]
    scaled = replace(truth, W=truth.W / scale[:, None], b=truth.b - origin * truth.W[1])
    found = joint._equations(scaled, Model(True, True, True), X, needed, np.random.default_rng(seed))
    assert found == 24 * (1 + (needed > 24)) + 4 + 1


def test_assumptions_begin_with_one_capital():
    """φ being real-analytic, as declared, with nothing that says that its units are unique."""
    phi = wl.activations.custom(
        "bend", lambda z: np.tanh(z) + 0.1 * z * z, lambda z: 1 / np.cosh(z) ** 2 + 0.2 * z, analytic=True
    )
    rng = np.random.default_rng(0)
    net = wl.Network(rng.normal(size=(3, 2)), rng.normal(size=(2, 2)), [0.3, -0.4], np.zeros(2), phi)
    X = rng.normal(size=(200, 3))
    found = [s.sentence for s in certified(net, net, X, bias=True).statements if s.kind is Kind.ASSUMED]
    assert "The activation is real-analytic, as declared." in found


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("spare", ["a pair that cancels", "nearly linear", "nearly double"])
def test_units_that_others_replace_narrow_the_class_of_several_outputs_too(spare: str, linear: bool, seed: int) -> None:
    """With a unit to spare the other may be two, √ε apart: the headline names the class without."""
    rng = np.random.default_rng(seed)
    X, w, v, u = rng.standard_normal((120, 3)), *rng.standard_normal((3, 3))
    W, a = {
        "a pair that cancels": ([w, v, v * (1.0 + 1e-13)], [1.8, 0.4, -0.4]),
        "nearly linear": ([w, 1e-12 * v], [1.8, 0.4]),
        "nearly double": ([w, v, v * (1.0 + 1e-9)], [1.8, 0.4, 0.5]),
    }[spare]
    b, narrow = [0.3] + [0.2] * (len(a) - 1), 2 if spare == "nearly double" else 1
    nets = [wl.Network(np.array(V).T, a[: len(V)], b[: len(V)], 0.1, "tanh", u) for V in (W, [w, v])]
    if not linear:
        A, c = np.outer(a, [1.0, -0.7]), np.array([0.1, 0.2])
        nets = [wl.Network(np.array(V).T, A[: len(V)], b[: len(V)], c, "tanh") for V in (W, [w, v])]
    net, more = nets
    certificate = certify(net, X, net.predict(X), bias=True, offset=True)
    assert certificate.evidence.width == narrow
    assert set(certificate.certified_units) <= {0}
    assert f"at most {narrow} tanh unit" in certificate.headline
    assert certify(more, X, more.predict(X), bias=True, offset=True).evidence.width is None


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("gap", [1e-12, 1e-10, 1e-9])
def test_what_two_units_that_nearly_cancel_leave_is_no_noise(gap: float, linear: bool, seed: int) -> None:
    """a (φ(⟨v, x⟩) − φ((1 + gap) ⟨v, x⟩)): far above rounding, and a step of v away from a network without the two.

    Of ReLUs two on the same rows are one, however far apart these are: a truth of two is no wider than the fit.
    """
    rng = np.random.default_rng(seed)
    X, w, v, u = rng.standard_normal((200, 3)), *rng.standard_normal((3, 3))
    e = 1e-10 * u
    W, b, V = np.column_stack([w, v, (1.0 + gap) * v]), np.array([0.3, 0.2, 0.2]), u if linear else None
    a, halves = np.array([1.8, 0.4, -0.4]), np.array([1.2, 0.6])
    c = 0.1 if linear else np.array([0.1, 0.2])
    if not linear:
        a, halves = (np.outer(size, [1.0, -0.7]) for size in (a, halves))
    fit = wl.Network(W, a, b, c, "relu", V)
    truth = wl.Network(np.column_stack([w + e, w - 2.0 * e]), halves, [0.3, 0.3], c, "relu", V)
    Y = truth.predict(X)
    assert Agreement.of(fit, wl.samples.open(X, Y)).level > LIMITS.rounding
    certificate = certify(fit, X, Y, bias=True, offset=True)
    assert certificate.evidence.width == 1
    assert certificate.certified_units == (0,)
    assert any("after a Gauss–Newton step" in s.sentence for s in certificate.statements)
    assert certificate.precision is not None
    assert certificate.precision[0] < 1e-9
    noisy = Y + 1e-9 * rng.standard_normal(Y.shape)  # of no network: it is taken for what it is
    assert not any("Gauss–Newton" in s.sentence for s in certify(fit, X, noisy, bias=True, offset=True).statements)
