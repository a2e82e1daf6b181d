"""Noisy targets of several outputs, or beside a linear part, certified."""

from dataclasses import replace

import numpy as np
import pytest
from tests.certificate.joint_cases import CASES, fit, noisy, teacher

import weightlift as wl
from weightlift.certificate import Topic, certify
from weightlift.certificate import joint_statistical as module
from weightlift.certificate.joint_noise import examine_joint_noise
from weightlift.certificate.joint_standard import StandardForm
from weightlift.certificate.joint_statistical import CombinedTargets, JointContrast, NoisyCase
from weightlift.certificate.status import Certificate, Evidence
from weightlift.evidence.stacked import Stacked
from weightlift.refinement.variable_projection import Hidden, Model, variable_projection
from weightlift.rivals import Bar, Finding, Outcome
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


def case_of(activation, m, seed, *, linear=False):
    """A noisy fit of rows of weights about 3 and outputs of unequal sizes, and the network without a certificate."""
    rng = np.random.default_rng(seed)
    truth = teacher(activation, m, linear)
    X, Y = noisy(truth, 150, seed)
    w, Y = 3.0 * rng.uniform(0.5, 1.5, 150), Y * (4.0 ** np.arange(m) if m else 1.0)
    sizes = np.exp2(np.round(0.5 * np.log2(np.average(Y**2, axis=0, weights=w))))  # those that the fit is judged by
    model = Model(True, linear, True)
    near = variable_projection(
        wl.samples.open(X, Y / sizes, sample_weight=w), truth, model, iterations=60, damping=1e-6, tol=1e-14
    ).network
    near = replace(near, a=near.a * sizes, c=near.c * sizes, V=near.V * sizes if linear else None)
    rows = wl.samples.open(X, Y, sample_weight=w)
    blank = Certificate(near, True, True, (), Evidence(150, 150, 24, 1.0, 1.0))
    form = StandardForm.of(near, rows, model)
    return NoisyCase(blank, form, examine_joint_noise(form, np.random.default_rng(seed)))


def test_numbers_of_the_rows_are_in_the_targets_units(seed):
    """The noise of a row of mean weight and the limit of detection, of all outputs; regions relative to the units."""
    case = case_of("tanh", 2, seed)
    s = case.form.scaled.scale
    assert s[0] < s[1]
    claim = case.with_statements()
    raw = case.form.noise * np.outer(s, s) * 150 / case.form.information.total
    assert claim.noise_std == pytest.approx(np.sqrt(np.trace(raw) / 2), rel=1e-9)
    assert claim.detection_limit == pytest.approx((case.found.fit.limits * s).max(), rel=1e-12)
    assert case.odds == pytest.approx(30.0 + 4.0 * np.log(2.0), rel=1e-12)
    assert case.margin == pytest.approx(case.odds * np.linalg.eigvalsh(case.form.noise).max(), rel=1e-12)
    found = case.with_regions(claim)
    assert found.precision.tolist() == case.form.raw_sizes(case.found.regions).tolist()
    assert found.slices is None
    np.testing.assert_allclose(found.regions, case.form.raw_regions(case.found.regions), rtol=1e-12)
    np.testing.assert_allclose(found.wide_regions, case.form.raw_regions(case.found.wide_regions), rtol=1e-12)


def test_proposals_and_the_combination_of_outputs_that_is_searched(monkeypatch, seed):
    """One fresh unit in the place of each, ReLU's reflections, and networks of ⟨u, y⟩ below ⟨u, Σ w rrᵀ u⟩ and the margin."""
    case, asked = case_of("relu", 2, seed), []
    information, net = case.form.information, case.form.stacked.network
    rival = wl.Network(net.W + 1.0, [1.0, 2.0], net.b, 0.0, "relu")
    note = Finding(Outcome.NONE_FOUND, "Nothing else.")

    def found(rows, gauge, bar):
        asked.append((rows, gauge, bar))
        return [Finding(Outcome.FOUND, "One.", 1, 0.0, (0,), rivals=(rival,)), note]

    monkeypatch.setattr(module, "examine_noisy", found)
    hidden, findings = case._proposals(7.5, np.random.default_rng(3))
    draws = np.random.default_rng(3)
    u = draws.normal(size=2)
    u /= np.linalg.norm(u)
    ((rows, gauge, bar),) = asked
    (left,), (whole,) = rows.blocks(150), case.form.rows.blocks(150)
    np.testing.assert_allclose(gauge.network.predict(whole.X), net.combined(u).predict(whole.X), rtol=1e-9)
    np.testing.assert_allclose(left.y, whole.y @ u, rtol=1e-12)
    assert bar == Bar(pytest.approx(u @ information.squares @ u + 7.5, rel=1e-12), case.odds)
    assert findings == [note]
    layers = [(h.W[:, 0], h.b[0]) for h in hidden]
    np.testing.assert_array_equal(layers[-1][0], rival.W)
    for i, (W, b) in enumerate(layers[-3:-1]):
        fresh, bias = draws.normal(size=4), draws.normal()
        np.testing.assert_allclose(W[:, i], fresh / np.linalg.norm(fresh) * np.linalg.norm(net.W[:, i]), rtol=1e-12)
        assert b[i] == pytest.approx(0.5 * bias, rel=1e-12)
        assert (W[:, 1 - i].tolist(), b[1 - i]) == (net.W[:, 1 - i].tolist(), net.b[1 - i])
    patterns = {tuple(np.sign(W[0] / net.W[0])) for W, _ in layers[:-3]}
    assert patterns == {(-1.0, 1.0), (1.0, -1.0), (-1.0, -1.0)}
    for W, b in layers[:-3]:
        np.testing.assert_array_equal(b / net.b, W[0] / net.W[0])


@pytest.mark.parametrize(("activation", "linear"), [("tanh", False), ("relu", True)])
def test_rivals_that_stay_are_those_below_the_margin(limits, activation, linear, seed):
    """Without steps, A, V and c by least squares: Σ w ‖r/s‖² up to the network's own and the margin stays, or a contrast within
    its own chance; of those within twenty margins after the race, and the racers that begin nearest."""
    case, rng = case_of(activation, 2, seed, linear=linear), np.random.default_rng(seed)
    limits("weightlift.certificate.joint_statistical", race=0, refit=0, racers=9)
    net, (block,) = case.form.stacked.network, case.form.rows.blocks(150)
    root = np.sqrt(block.w)[:, None]
    layers, squares, stay = [], [], []

    def refitted(W, b):
        F = np.hstack([net.activation(block.X @ W + b), *([block.X] if linear else []), np.ones((150, 1))])
        return F @ np.linalg.lstsq(root * F, root * block.y)[0]

    own = refitted(net.W, net.b)
    least = ((root * (own - block.y)) ** 2).sum()
    for size in (0.0, 0.01, 0.02, 0.04, 0.08, 0.12, 0.16, 0.2, 0.3, 0.5, 1.0):
        W = net.W + size * rng.normal(size=net.W.shape) * np.abs(net.W).mean()
        there = refitted(W, net.b)
        layers.append(Hidden(W[:, None], net.b[None], net.activation))
        squares.append(((root * (there - block.y)) ** 2).sum())
        along = (root**2 * (there - net.predict(block.X)) * (there - block.y)).sum(axis=1)
        stay.append(along.sum() ** 2 <= case.odds * (along**2).sum())
    squares, stay = np.array(squares), np.array(stay)
    racers = np.isin(np.arange(11), np.argsort(squares)[:9])
    order = rng.permutation(11)
    for margin in np.sort(squares)[[2, 4, 6]] * 1.0001 - least:
        wanted = racers & (squares - least <= 20 * margin) & ((squares <= case.form.information.rss + margin) | stay)
        found = case._refitted([layers[i] for i in order], margin)
        np.testing.assert_allclose(sorted(s for s, _ in found), np.sort(squares[wanted]), rtol=1e-6)
        X = block.X * case.form.standard.scale + case.form.standard.mean
        for square, network in found:  # in the inputs' and targets' own units
            r = network.predict(X) / case.form.scaled.scale - block.y
            assert ((root * r) ** 2).sum() == pytest.approx(square, rel=1e-6)


def test_rivals_are_better_elsewhere_or_the_same(monkeypatch, seed):
    """Σ w ‖r‖² below the network's own by more than the margin: another minimum; else the units that are outside of their
    regions are in doubt, and a network inside of all of them is none."""
    case = case_of("tanh", 2, seed)
    claim, own = case.with_regions(case.with_statements()), case.form.information.rss
    there = Stacked.of(case.blank.network, case.form.raw.model).network
    second = np.array([0.0, 1.0])
    moved = replace(there, W=there.W * (1.0 + 3.0 * second))
    monkeypatch.setattr(NoisyCase, "_proposals", lambda self, margin, rng: ([], []))
    for square, rival, topic, units in (
        (own - 1.01, moved, Topic.MINIMUM, ()),
        (own - 0.99, moved, Topic.RIVALS, (1,)),
        (own + 0.99, moved, Topic.RIVALS, (1,)),
        (own - 1.01, there, None, ()),
    ):
        monkeypatch.setattr(NoisyCase, "_refitted", lambda self, hidden, margin, found=(square, rival): [found])
        failing = [s for s in case.rivals(claim, np.random.default_rng(0), 1.0) if not s.holds]
        assert [(s.topic, s.units) for s in failing] == ([(topic, units)] if topic else [])
        if topic is Topic.MINIMUM:
            assert (failing[0].number, failing[0].limit) == (square, own - 1.0)


def test_a_rival_of_one_output_beside_a_linear_part_is_located(seed):
    """A unit that is certified lies in its own region, and turned elsewhere it does not."""
    case = case_of("relu", None, seed, linear=True)
    claim = case.with_regions(case.with_statements())
    claim = replace(claim, statements=(*claim.statements, module.of_finding(module.NONE)))
    i = claim.certified_units[-1]  # whether both are hangs on the last steps of the fit
    own = Stacked.of(claim.network, case.form.stacked.model).network
    assert case._located(claim, own)[i]
    W = own.W.copy()
    W[:, i] = W[::-1, i]
    assert not case._located(claim, replace(own, W=W))[i]
