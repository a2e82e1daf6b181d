"""Several outputs and a linear part, recovered and certified: rows limit, not equations."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import weightlift as wl
from weightlift.certificate import Kind, Topic
from weightlift.errors import ActivationError, ArgumentError, DataWarning, TooFewRowsError, WeightliftError
from weightlift.recovery.joint import JointProblem, _exact_if_wider
from weightlift.recovery.limits import LIMITS
from weightlift.refinement.variable_projection import Model
from weightlift.search import Budget


def planted(activation, m, n, *, d=10, k=3, bias=0.3, linear=False, seed=0):
    units = wl.teachers.biased(d, k, bias=bias, activation=activation, rng=seed)
    truth = wl.teachers.several(units, m, linear=linear, rng=seed)
    return truth, *wl.draw(truth, n, rng=seed + 100)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("m", [2, 4])
def test_a_few_equations_a_parameter_give_the_units(activation, m):
    truth, X, Y = planted(activation, m, 60 if m == 2 else 50)
    found = wl.recover(X, Y, n_units=3, activation=activation, bias=True)
    assert found.certificate.status.name == "EXACT"
    assert wl.match(found.network, truth).max_error < 1e-10
    assert found.network.a.shape == (3, m)
    assert np.abs(found.network.predict(X) - Y).max() < 1e-11
    assert np.max(found.certificate.precision) < 1e-8


def test_outputs_of_any_size_give_the_same_units():
    truth, X, Y = planted("tanh", 2, 60)
    sizes = np.array([1e-6, 3e5])
    found = wl.recover(X, Y * sizes, n_units=3, activation="tanh", bias=True)
    assert found.certificate
    assert found.network.equivalent(replace(truth, a=truth.a * sizes), tol=1e-8)


def test_a_unit_that_one_output_does_not_see_is_found_from_another():
    truth, X, _ = planted("relu", 2, 60)
    a = np.array([[1.0, 0.0], [0.0, -1.0], [0.7, 0.4]])
    truth = replace(truth, a=a)
    found = wl.recover(X, truth.predict(X), n_units=3, bias=True)
    assert found.certificate
    assert found.network.equivalent(truth)


@pytest.mark.parametrize("seed", range(2))
def test_units_beside_a_linear_part_are_known_up_to_reflection(seed):
    truth, X, y = planted("relu", None, 86, linear=True, seed=seed)
    found = wl.recover(X, y, n_units=3, bias=True, offset=True, linear=True)
    assert found.certificate
    assert found.network.equivalent(truth)
    assert any("linear part" in line for line in found.certificate.symmetries)
    assert float(wl.distance(found.network, truth)) < 1e-12


def test_analytic_units_beside_a_linear_part_keep_their_signs():
    truth, X, Y = planted("tanh", 2, 70, linear=True)
    found = wl.recover(X, Y, n_units=3, activation="tanh", bias=True, linear="auto")
    assert found.certificate
    assert found.network.equivalent(truth)
    assert found.network.V is not None


def test_an_always_on_unit_is_part_of_the_linear_part():
    plain = wl.teachers.biased(6, 4, bias=0.3, rng=1)
    truth = replace(plain, b=np.where(np.arange(4) == 2, 9.0, plain.b))
    X, y = wl.draw(truth, 120, rng=2)
    found = wl.recover(X, y, n_units=4, bias=True, offset=True, linear=True)
    assert found.certificate.certified_units == (0, 1, 2)
    assert any("part of V" in s.sentence for s in found.certificate.statements)
    assert float(wl.distance(found.network, truth)) < 1e-7  # the unit is off beyond nine deviations
    assert np.sort(wl.match(found.network, truth).errors)[:3].max() < 1e-10


def test_few_rows_on_a_unit_are_no_certificate_however_many_equations():
    """Ten outputs: 300 equations for 66 parameters, and a unit that eight of its eleven coordinates know nothing of."""
    truth, X, _ = planted("relu", 10, 400)
    truth = replace(truth, b=np.array([0.0, 0.0, -1.5]))
    on = np.flatnonzero(X @ truth.W[:, 2] + truth.b[2] > 0)[:8]
    off = np.flatnonzero(X @ truth.W[:, 2] + truth.b[2] <= 0)[:52]
    rows = np.concatenate([on, off])
    Y = truth.predict(X[rows])
    certificate = wl.certify(truth, X[rows], Y, bias=True)
    assert certificate.explained
    assert not certificate
    assert certificate.certified_units == (0, 1)
    assert certificate.ambiguous_units == (2,)
    assert wl.certify(truth, X, truth.predict(X), bias=True)


def test_a_wrong_exact_fit_fails_on_held_out_rows():
    truth, X, Y = planted("tanh", 3, 60)
    other = replace(truth, W=truth.W + 0.1)
    judged = wl.certify(other, X, other.predict(X), bias=True, heldout=(X[:5], Y[:5]))
    assert judged.status.name == "FAILED"


@pytest.mark.parametrize(("activation", "m", "linear"), [("tanh", 2, False), ("relu", 2, True)])
def test_noisy_targets_are_certified_within_regions(activation, m, linear):
    truth, X, _ = planted(activation, m, 400, d=5, k=2, linear=linear)
    Y = truth.predict(X) + 0.02 * np.random.default_rng(0).normal(size=(400, m))
    found = wl.recover(X, Y, n_units=2, activation=activation, bias=True, offset=linear, linear=linear)
    assert found.certificate.status.name == "STATISTICAL"
    assert found.certificate.locate(truth, wide=False)[0].all()
    assert all(stage.passes > 0 for stage in found.stages)
    # the same verdict from outside, on the network that came back
    again = wl.certify(found.network, X, Y, bias=True, offset=linear)
    assert again.status.name == "STATISTICAL"
    np.testing.assert_allclose(again.precision, found.certificate.precision, rtol=1e-9)


@pytest.mark.parametrize(
    ("activation", "m", "linear"), [("tanh", 3, False), pytest.param("relu", None, True, marks=pytest.mark.slow)]
)
def test_the_width_is_found(activation, m, linear):
    truth, X, Y = planted(activation, m, 100, d=4, k=3, linear=linear)
    found = wl.recover(X, Y, n_units="auto", activation=activation, bias=True, offset=linear, linear=linear)
    assert found.certificate.status.name == "EXACT"
    assert found.network.n_units == 3
    assert found.network.equivalent(truth)
    assert len(found.width_evidence) >= 1


def test_the_width_is_found_beside_noise():
    truth, X, _ = planted("tanh", 3, 600, d=4, k=2)
    Y = truth.predict(X) + 0.03 * np.random.default_rng(1).normal(size=(600, 3))
    found = wl.recover(X, Y, n_units="auto", activation="tanh", bias=True)
    assert found.certificate.status.name == "STATISTICAL"
    assert found.network.n_units == 2
    assert found.certificate.locate(truth)[0].all()


def test_rows_on_which_every_unit_is_silent_need_no_offset():
    """c is fitted to a rounding error, and the target there is exactly zero."""
    truth, X, Y = planted("relu", 3, 120, d=6, k=3)
    assert (np.abs(Y).max(axis=1) == 0).any()
    found = wl.recover(X, Y, n_units=3, bias=True, offset=True)
    assert found.certificate
    assert found.network.equivalent(truth)


def test_many_rows_give_no_worse_an_answer():
    truth, X, Y = planted("relu", 2, 5000)
    found = wl.recover(X, Y, n_units=3, bias=True)
    assert found.certificate
    rivals = [s for s in found.certificate.statements if s.topic is Topic.RIVALS]
    assert {s.kind for s in rivals} == {Kind.PROVED}  # rows enough for the theorem of one output
    assert not found.certificate.proved  # the precision is to first order
    assert found.network.equivalent(truth)


def test_one_column_is_one_target():
    truth, X, Y = planted("tanh", 1, 120)
    found = wl.recover(X, Y, n_units=3, activation="tanh", bias=True)
    assert found.certificate
    assert found.network.predict(X).shape == (120, 1)
    flat = wl.recover(X, Y[:, 0], n_units=3, activation="tanh", bias=True)
    np.testing.assert_array_equal(found.network.W, flat.network.W)
    assert flat.network.predict(X).shape == (120,)
    assert truth.equivalent(found.network)


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_every_source_gives_the_same_network(tmp_path, noise):
    pandas, dask_array = pytest.importorskip("pandas"), pytest.importorskip("dask.array")
    pytest.importorskip("pyarrow")
    truth, X, exact = planted("tanh", 2, 150, d=5, k=2)
    noisy = exact + noise * np.random.default_rng(0).normal(size=exact.shape)
    frame = pandas.DataFrame(np.column_stack([X, noisy]), columns=[*"abcde", "u", "v"])
    frame.to_parquet(tmp_path / "rows.parquet")
    sources = [
        wl.samples.open(X, noisy),
        wl.samples.open(tmp_path / "rows.parquet", target=["u", "v"]),
        wl.samples.open(dask_array.from_array(X, chunks=(30, 5)), dask_array.from_array(noisy, chunks=(30, 2))),
    ]
    found = [wl.recover(source, n_units=2, activation="tanh", bias=True) for source in sources]
    assert all(f.certificate for f in found)
    assert all(f.network.equivalent(found[0].network, tol=1e-9) for f in found)
    assert noise or found[0].network.equivalent(truth, tol=1e-9)


@pytest.mark.parametrize(("m", "k"), [(2, 14), (5, 60)])
def test_a_width_that_rows_cannot_determine_costs_one_round(m, k):
    """What no search can certify is fitted once, on all rows, and no other units of it are looked for."""
    rng = np.random.default_rng(m)
    found = wl.recover(rng.normal(size=(60, 10)), rng.normal(size=(60, m)), n_units=k)
    assert found.certificate.status.name == "FAILED"
    assert "distinct rows are too few" in found.certificate.reasons[0]
    assert [stage.name for stage in found.stages] == ["joint search on all rows"]
    assert not any("another" in s.sentence for s in found.certificate.statements if s.topic is Topic.RIVALS)


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_tensors_give_the_same_network(noise):
    torch = pytest.importorskip("torch")
    _, X, exact = planted("relu", 2, 120, d=4, k=2)
    noisy = exact + noise * np.random.default_rng(0).normal(size=exact.shape)
    arrays, tensors = (
        wl.recover(*data, n_units=2, bias=True) for data in ((X, noisy), (torch.as_tensor(X), torch.as_tensor(noisy)))
    )
    assert arrays.certificate.status is tensors.certificate.status
    assert arrays.certificate
    assert tensors.network.equivalent(arrays.network, tol=1e-9)


def test_bad_targets_are_named_or_warned_about():
    truth, X, Y = planted("tanh", 2, 60)
    options = {"n_units": 3, "activation": "tanh", "bias": True}
    with pytest.raises(ArgumentError, match="zero on every row"):
        wl.recover(X, 0 * Y, **options)
    with pytest.raises(ArgumentError, match="constant"):
        wl.recover(X, 0 * Y + 1.0, **options)
    with pytest.raises(ActivationError, match="linear"):
        wl.recover(X, Y, n_units=2, activation="linear", linear=True)
    with pytest.raises(ArgumentError, match="squares overflow"):
        wl.recover(X, 1e200 * Y, **options)
    with pytest.raises(ArgumentError, match="squares vanish"):
        wl.recover(X, 1e-200 * Y, **options)
    with pytest.raises(ArgumentError, match="linear must be True, False or 'auto'"):
        wl.recover(X, Y, linear="perhaps", **options)
    with pytest.raises(ArgumentError, match="output_weights"):
        wl.recover(X, Y, output_weights=[1.0, 1.0, 1.0], **options)
    with pytest.raises(WeightliftError, match="row"):
        wl.recover(X[:0], Y[:0], **options)
    for columns, words in (([Y, Y[:, :1]], "dependent"), ([Y, np.ones((60, 1))], "constant")):
        with pytest.warns(DataWarning, match=words):
            found = wl.recover(X, np.hstack(columns), **options, offset=words == "constant")
        assert found.certificate
        assert wl.match(found.network.output(0), truth.output(0)).max_error < 1e-9


@pytest.mark.parametrize("noise", [0.0, 0.03])
@pytest.mark.parametrize("column", ["constant", "zero", "equal", "dependent"])
def test_columns_that_tell_nothing_are_warned_about_and_fitted(column, noise):
    truth, X, Y = planted("tanh", 2, 150, d=4, k=3, seed=1)
    Y = Y + noise * np.random.default_rng(0).normal(size=Y.shape)
    more = {"constant": 0 * Y[:, 0] + 2.0, "zero": 0 * Y[:, 0], "equal": Y[:, 0], "dependent": Y[:, 0] - 3 * Y[:, 1]}[column]
    with pytest.warns(DataWarning, match="constant" if column in ("constant", "zero") else "equal or linearly dependent"):
        found = wl.recover(X, np.column_stack([Y, more]), n_units=3, activation="tanh", bias=True, offset=True)
    assert noise or found.certificate
    assert wl.match(found.network.output(0), truth.output(0)).max_error < (0.5 if noise else 1e-9)
    assert np.abs(found.network.predict(X)[:, 2] - more).max() < 1e-8 + 10 * noise


def test_an_always_on_unit_beside_an_offset_has_no_bias_of_its_own():
    """b and c are one number there: an exact fit, and no certificate of the unit."""
    X = np.random.default_rng(0).normal(size=(60, 5))
    unit = wl.Network(np.ones((5, 1)), [[1.0, 2.0]], b=[30.0], c=[1.0, -1.0])
    judged = wl.certify(unit, X, unit.predict(X), bias=True, offset=True)
    assert judged.status.name == "AMBIGUOUS"
    with pytest.warns(DataWarning, match="dependent"):
        found = wl.recover(X, unit.predict(X), n_units=1, bias=True, offset=True, linear="auto")
    assert found.certificate
    assert found.network.n_units == 0
    np.testing.assert_allclose(found.network.V, np.outer(np.ones(5), [1.0, 2.0]), atol=1e-12)


@pytest.mark.parametrize("rows", [2, 3, 7])
def test_few_rows_are_fitted_and_refused(rows):
    _, X, Y = planted("relu", 2, 60, d=5, k=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = wl.recover(X[:rows], Y[:rows], n_units=2, bias=True, max_work=300)
    assert not found.certificate


def test_a_width_beyond_the_rows_is_refused_before_any_work():
    _, X, Y = planted("tanh", 2, 60)
    with pytest.raises(TooFewRowsError, match="5,000 of 10 inputs"):
        wl.recover(X, Y, n_units=5000, activation="tanh", bias=True)


@pytest.mark.filterwarnings("ignore::weightlift.errors.NotCertifiedWarning")
def test_estimators_take_several_targets():
    truth, X, Y = planted("tanh", 3, 80)
    model = wl.OneHiddenLayerRegressor(3, activation="tanh", offset=False).fit(X, Y)
    assert model.certificate_
    assert model.predict(X).shape == (80, 3)
    assert model.score(X, Y) > 1 - 1e-12
    assert [c.shape for c in model.coefs_] == [(10, 3), (3, 3)]
    logits = truth.predict(X)
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    classifier = wl.OneHiddenLayerClassifier(3, activation="tanh", offset=False).fit(X, chances)
    np.testing.assert_allclose(classifier.predict_proba(X), chances, atol=1e-9)
    assert list(classifier.classes_) == [0, 1, 2]
    np.testing.assert_array_equal(classifier.predict(X), chances.argmax(axis=1))


def test_an_exact_fit_that_held_out_rows_refute_is_sought_no_further_without_them():
    """A unit on at 20 of 78 rows has 21 coordinates: exact fits of fewer rows are many, and all of them are wrong there."""
    truth = wl.teachers.several(wl.teachers.biased(20, 5, bias=0.3, rng=1004), 10, rng=2004)
    X, Y = wl.draw(truth, 78, rng=3004)
    assert np.count_nonzero(X @ truth.W + truth.b > 0, axis=0).min() == 20
    found = wl.recover(X, Y, n_units=5, bias=True, rng=4)
    assert [stage.name for stage in found.stages] == ["joint search", "joint search on all rows"]
    assert found.stages[0].work < 0.5 * LIMITS.default_work
    certified = list(found.certificate.certified_units)
    match = wl.match(found.network, truth)
    right = match.permutation[match.errors < 1e-9]
    assert len(certified) == 4
    assert set(certified) <= set(right.tolist())


def test_a_wider_exact_fit_overrules_what_passes_for_noise():
    """Four of five units leave residuals without structure to a test of 156 rows; the rows have no noise."""
    truth = wl.teachers.several(wl.teachers.biased(20, 5, bias=0.3, rng=1002), 5, rng=2002)
    X, Y = wl.draw(truth, 156, rng=3002)
    problem = JointProblem.of(wl.samples.open(X, Y), 4, truth.activation, Model(), np.random.default_rng(2))
    exact = _exact_if_wider(problem, 4, 16, Budget(max_work=16_000), None)
    assert exact.certificate.explained
    units = exact.certificate.certified_units
    match = wl.match(exact.network, truth)
    assert set(units) <= set(match.permutation[match.errors < 1e-9].tolist())
    noisy = JointProblem.of(wl.samples.open(X[:, :3], Y[:, :2]), 2, truth.activation, Model(), np.random.default_rng(2))
    assert _exact_if_wider(noisy, 1, 2, Budget(max_work=400), None) is None


def test_what_four_of_five_units_leave_is_no_noise():
    """The same rows, with the width given: no test of structure objects, and a wider fit does."""
    truth = wl.teachers.several(wl.teachers.biased(20, 5, bias=0.3, rng=1002), 5, rng=2002)
    X, Y = wl.draw(truth, 156, rng=3002)
    found = wl.recover(X, Y, n_units=4, bias=True, rng=2)
    assert found.certificate.evidence.p_value > 0.01
    assert found.certificate.certified_units == ()
    assert any("ask for more units" in line for line in found.certificate.reasons)


@pytest.mark.filterwarnings("ignore:column 1 of y is constant")
def test_units_beyond_those_needed_are_left_out():
    truth = wl.Network([[1.0, 0.2], [-0.5, 1.0], [0.3, 0.7]], a=[1.0, -0.8])
    for seed in range(6):
        X = np.random.default_rng(seed).standard_normal((60, 3))
        y = truth.predict(X)
        found = wl.recover(X, np.stack([y, 0 * y], 1), n_units=4, rng=seed)
        assert found.certificate
        assert found.network.n_units == 2
