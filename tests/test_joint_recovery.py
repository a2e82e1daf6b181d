"""Several outputs and a linear part, recovered and certified: rows limit, not equations."""

from dataclasses import replace

import numpy as np
import pytest

import weightlift as wl
from weightlift.certificate import Kind, Topic
from weightlift.errors import ActivationError, ArgumentError, DataWarning
from weightlift.refinement.variable_projection import Model
from weightlift.search import Budget
from weightlift.search.joint import joint_candidates


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


def test_noise_is_fitted_and_not_certified():
    truth, X, _ = planted("tanh", 2, 300)
    Y = truth.predict(X) + 0.01 * np.random.default_rng(0).normal(size=(300, 2))
    found = wl.recover(X, Y, n_units=3, activation="tanh", bias=True, max_work=2000)
    assert not found.certificate
    assert wl.match(found.network, truth).max_error < 0.05
    assert "noisy" in found.certificate.reasons[0]


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


def test_every_source_gives_the_same_network(tmp_path):
    pandas, dask_array = pytest.importorskip("pandas"), pytest.importorskip("dask.array")
    pytest.importorskip("pyarrow")
    truth, X, Y = planted("tanh", 2, 70, d=5, k=2)
    frame = pandas.DataFrame(np.column_stack([X, Y]), columns=[*"abcde", "u", "v"])
    frame.to_parquet(tmp_path / "rows.parquet")
    sources = [
        wl.samples.open(X, Y),
        wl.samples.open(tmp_path / "rows.parquet", target=["u", "v"]),
        wl.samples.open(dask_array.from_array(X, chunks=(30, 5)), dask_array.from_array(Y, chunks=(30, 2))),
    ]
    for source in sources:
        found = wl.recover(source, n_units=2, activation="tanh", bias=True)
        assert found.certificate
        assert found.network.equivalent(truth, tol=1e-9)


def test_bad_targets_are_named_or_warned_about():
    truth, X, Y = planted("tanh", 2, 60)
    options = {"n_units": 3, "activation": "tanh", "bias": True}
    with pytest.raises(ArgumentError, match="zero on every row"):
        wl.recover(X, 0 * Y, **options)
    with pytest.raises(ArgumentError, match="constant"):
        wl.recover(X, 0 * Y + 1.0, **options)
    with pytest.raises(ActivationError, match="linear"):
        wl.recover(X, Y, n_units=2, activation="linear", linear=True)
    with pytest.raises(ArgumentError, match="linear must be"):
        wl.recover(X, Y, linear="perhaps", **options)
    with pytest.raises(ArgumentError, match="n_units"):
        wl.recover(X, Y, n_units="auto", activation="tanh")
    for columns, words in (([Y, Y[:, :1]], "dependent"), ([Y, np.ones((60, 1))], "constant")):
        with pytest.warns(DataWarning, match=words):
            found = wl.recover(X, np.hstack(columns), **options, offset=words == "constant")
        assert found.certificate
        assert wl.match(found.network.output(0), truth.output(0)).max_error < 1e-9


def test_candidates_of_the_joint_search_repeat():
    _, X, Y = planted("relu", 2, 60)
    runs = []
    for _ in range(2):
        found = joint_candidates(
            wl.samples.open(X, Y), 3, wl.activations.get("relu"), Model(), budget=Budget(500), rng=np.random.default_rng(3)
        )
        runs.append(next(found).network.W)
    np.testing.assert_array_equal(*runs)


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
