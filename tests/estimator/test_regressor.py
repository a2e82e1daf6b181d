"""`OneHiddenLayerRegressor`: certified on networks, useful and modest on everything else, at home in scikit-learn."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine, make_friedman1
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    check_estimator,
    check_inplace_ensure_writeable,
    check_param_validation,
)
from tests.conftest import optional

import weightlift as wl
from weightlift.errors import DataWarning, NotCertifiedWarning

uncertified = pytest.mark.filterwarnings("ignore::weightlift.errors.NotCertifiedWarning")
faulty = pytest.mark.filterwarnings("ignore::weightlift.errors.DataWarning")


@pytest.fixture(scope="module")
def planted():
    truth = wl.Network(wl.teachers.biased(4, 2, rng=0).W, [1.3, -0.8], [0.3, -0.5], 0.7)
    X, y = wl.draw(truth, 150, rng=1)
    return truth, X, y


def test_a_planted_network_comes_back_certified(planted):
    truth, X, y = planted
    model = wl.OneHiddenLayerRegressor(2).fit(X, y)
    assert model.certificate_.status is wl.Status.EXACT
    assert model.network_.equivalent(truth, tol=1e-10)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-13)
    assert model.alpha_ == 0.0
    assert model.n_units_ == 2
    assert model.n_iter_ >= 1


@uncertified
@pytest.mark.parametrize("scales", [[1.0, 1e6, 1e-3, 1.0], [1e70, 1.0, 1.0, 1e-70]])
def test_columns_of_any_size_give_the_same_network(planted, scales):
    truth, X, _ = planted
    s = np.array(scales)
    stretched = wl.Network(truth.W / s[:, None], truth.a, truth.b, truth.c)
    model = wl.OneHiddenLayerRegressor(2).fit(X * s, stretched.predict(X * s))
    np.testing.assert_allclose(model.predict(X * s), truth.predict(X), atol=1e-12)
    if max(scales) < 1e38:
        assert model.certificate_.status is wl.Status.EXACT
        assert model.network_.equivalent(stretched, tol=1e-9)


@uncertified
def test_ordinary_data_are_fitted_and_nothing_is_claimed():
    X, y = make_friedman1(300, n_features=5, noise=1.0, random_state=0)
    with pytest.warns(NotCertifiedWarning, match="not certified"):
        model = wl.OneHiddenLayerRegressor(max_work=400).fit(X[:200], y[:200])
    assert not model.certificate_
    assert model.certificate_.precision is None
    assert model.score(X[200:], y[200:]) > 0.8
    text = str(model.summary())
    assert text.startswith("! The network is FAILED: ")
    assert "There are no standard errors: a ridge draws estimates towards zero" in text.splitlines()[1]
    assert np.isnan(model.conf_int()).all()


@uncertified
def test_a_noisy_table_that_leaves_units_in_doubt_keeps_them_with_intervals():
    """Two columns that are nearly one: their weights are open, and named; everything else has its interval."""
    frames = optional("pandas")
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 3))
    X = np.column_stack([X, X[:, 2] + 0.02 * rng.normal(size=400)])
    truth = wl.Network([[1.0], [0.5], [0.7], [0.7]])
    y = truth.predict(X) + 0.3 * rng.normal(size=400)
    table = frames.DataFrame(X, columns=["age", "bmi", "left", "right"])
    model = wl.OneHiddenLayerRegressor(1, bias=False, offset=False, max_work=200).fit(table, y)
    assert model.certificate_.status is wl.Status.AMBIGUOUS
    assert model.score(table, y) > 0.8
    text = str(model.summary())
    assert text.startswith("! Unit 0 is AMBIGUOUS: ")
    assert "column 'left'" in text
    assert "column 'right'" in text
    found = model.summary().inference
    normal = truth.normalized()
    sure = [found.names.index(name) for name in ("w[0,age]", "w[0,bmi]")]
    low, high = model.conf_int(0.999)[sure].T
    size = np.linalg.norm(found.network.W[:2, 0]) / np.linalg.norm(normal.W[:2, 0])  # ‖w‖ is as uncertain as the two columns
    assert np.all((low <= size * normal.W[:2, 0]) & (size * normal.W[:2, 0] <= high))
    reasons = " ".join(wl.recover(table, y, n_units=1, max_work=200).certificate.reasons)
    assert "column 'left'" in reasons


@uncertified
def test_a_ridge_is_never_certified_and_shrinks(planted):
    _, X, y = planted
    small, large = (wl.OneHiddenLayerRegressor(2, alpha=alpha).fit(X, y) for alpha in (1e-14, 1.0))
    for model in (small, large):
        assert not model.certificate_
        assert "ridge" in " ".join(model.certificate_.reasons)
    size = [np.linalg.norm(model.coefs_[0] * model.coefs_[1].T) for model in (small, large)]
    assert size[1] < 0.01 * size[0]  # the line stays
    assert (small.alpha_, large.alpha_) == (1e-14, 1.0)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames_keep_their_names(library, planted):
    frames = optional(library)
    _, X, y = planted
    names = ["age", "bmi", "bp", "s1"]
    frame = frames.DataFrame({name: X[:, j] for j, name in enumerate(names)})
    model = wl.OneHiddenLayerRegressor(2).fit(frame, frames.Series("y", y) if library == "polars" else frames.Series(y))
    assert model.feature_names_in_.tolist() == names
    assert "w[0,bmi]" in model.summary().inference.names
    np.testing.assert_array_equal(model.predict(frame), model.network_.predict(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[names[::-1]])


@uncertified
@faulty
def test_it_lives_in_pipelines_and_searches(planted):
    _, X, y = planted
    pipeline = make_pipeline(StandardScaler(), wl.OneHiddenLayerRegressor(2, max_work=100))
    assert cross_val_score(pipeline, X, y, cv=3).min() > 0.99
    search = GridSearchCV(wl.OneHiddenLayerRegressor(max_work=100), {"n_units": [1, 2]}, cv=3).fit(X, y)
    assert search.best_params_ == {"n_units": 2}
    assert search.best_estimator_.certificate_


def test_arrays_of_other_namespaces(planted, as_xp, monkeypatch):
    from sklearn import config_context

    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # scikit-learn asks for it
    _, X, y = planted
    plain = wl.OneHiddenLayerRegressor(2).fit(X, y)
    with config_context(array_api_dispatch=True):
        model = wl.OneHiddenLayerRegressor(2).fit(as_xp(X), as_xp(y))
        prediction = model.predict(as_xp(X))
    assert type(prediction) is type(as_xp(X))
    assert model.certificate_.status is wl.Status.EXACT
    np.testing.assert_allclose(np.asarray(wl.namespaces.to_numpy(prediction)), plain.predict(X), atol=1e-12)


def test_a_fit_comes_first(planted):
    with pytest.raises(NotFittedError):
        wl.OneHiddenLayerRegressor().predict(planted[1])


@uncertified
@faulty
@pytest.mark.filterwarnings("ignore")
def test_the_checks_of_scikit_learn_with_a_ridge():
    """Quick; those of the default, which searches first, are among the slow tests."""
    results = check_estimator(wl.OneHiddenLayerRegressor(2, alpha=0.01), on_skip=None, on_fail=None)
    assert [(r["check_name"], r["exception"]) for r in results if r["status"] not in ("passed", "skipped")] == []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "check", [check_param_validation, check_dataframe_column_names_consistency, check_inplace_ensure_writeable]
)
def test_checks_that_check_estimator_leaves_out(check):
    check("OneHiddenLayerRegressor", wl.OneHiddenLayerRegressor(2, max_work=10))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_checks_of_scikit_learn_as_it_comes():
    check_estimator(wl.OneHiddenLayerRegressor(), on_skip=None)


@pytest.mark.slow
def test_real_inputs_are_recovered_with_the_width_unknown():
    X = StandardScaler().fit_transform(load_diabetes().data)
    certified = []
    for seed in range(5):
        truth = wl.teachers.biased(10, 3, rng=seed)
        with warnings.catch_warnings(action="ignore"):
            model = wl.OneHiddenLayerRegressor().fit(X, truth.predict(X))
        if model.certificate_:
            certified.append(seed)
            assert wl.match(model.network_, truth).max_error < 1e-9
    assert len(certified) >= 4


@uncertified
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda X, y: (np.c_[X, np.full(len(X), 3.0)], y), "Column 4 is constant"),
        (lambda X, y: (np.c_[X, X[:, 0] - 2 * X[:, 2]], y), "linear in other columns"),
        (lambda X, y: (X, np.full(len(X), 2.5)), "y is constant"),
        (lambda X, y: (np.repeat(X[:15], 10, axis=0), np.repeat(y[:15], 10)), "135 of 150 rows repeat others"),
        (lambda X, y: (_with(X, (7, 1), 1e6), y), "Column 1 has a value 100 times further out"),
        (lambda X, y: (X, _with(y, 7, -1e6)), "target has a value 100 times further out"),
        (lambda X, y: (X + np.eye(4)[0] * 100, np.abs(X[:, 0]) ** 1.5), "Column 0 lies further than 30 spreads from zero"),
    ],
)
def test_faulty_data_are_named_with_a_remedy_and_not_certified(planted, change, words):
    _, X, y = planted
    X, y = change(X, y)
    with pytest.warns(DataWarning, match=words) as caught:
        model = wl.OneHiddenLayerRegressor(2, max_work=50).fit(X, y)
    assert any(word in str(w.message) for w in caught for word in ("drop", "subtract", "give"))
    assert not model.certificate_
    assert np.isfinite(model.predict(X)).all()
    assert model.score(X, y) > 0.4 or np.std(y) < 1e-12 or np.abs(y).max() > 1e5


def _with(A, index, value):
    A = A.copy()
    A[index] = value
    return A


@pytest.mark.parametrize("table", ["wine", "friedman1"])
def test_units_of_measurement_do_not_change_predictions(table: str) -> None:
    """A table that no network made: kilograms or grams, degrees Celsius or Fahrenheit, of inputs and target."""
    if table == "wine":
        X, y = np.delete(load_wine().data, 0, axis=1)[::2], load_wine().data[::2, 0]
    else:
        X, y = make_friedman1(150, noise=1.0, random_state=6)
    rng = np.random.default_rng(0)
    factor = 10.0 ** rng.uniform(-3, 3, X.shape[1])
    moved = factor * (X + 3 * rng.normal(size=X.shape[1]))

    def predicted(X: np.ndarray, y: np.ndarray) -> np.ndarray:
        with pytest.warns((DataWarning, NotCertifiedWarning)):
            return np.asarray(wl.OneHiddenLayerRegressor(max_work=600).fit(X, y).predict(X))

    plain = predicted(X, y)
    np.testing.assert_allclose(predicted(X * factor, y), plain, atol=1e-6 * np.std(y))
    np.testing.assert_allclose(predicted(moved, 1.8 * y + 32), 1.8 * plain + 32, atol=1e-6 * np.std(y))
