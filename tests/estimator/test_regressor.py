"""`OneHiddenLayerRegressor`: certified on networks, useful and modest on everything else, at home in scikit-learn."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neural_network import MLPRegressor
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
from weightlift.errors import ArgumentError, DataWarning, NotCertifiedWarning

uncertified = pytest.mark.filterwarnings("ignore::weightlift.errors.NotCertifiedWarning")
faulty = pytest.mark.filterwarnings("ignore::weightlift.errors.DataWarning")


@pytest.fixture(scope="module")
def planted():
    truth = wl.Network(wl.teachers.biased(4, 2, rng=0).W, [1.3, -0.8], [0.3, -0.5], 0.7)
    X, y = wl.draw(truth, 150, rng=1)
    return truth, X, y


@pytest.fixture(scope="module")
def noisy():
    truth = wl.teachers.biased(4, 2, rng=1)
    return truth, *wl.draw(truth, 3000, noise_std=0.1, rng=2)


@pytest.fixture(scope="module")
def statistical(noisy):
    return wl.OneHiddenLayerRegressor(2).fit(*noisy[1:])


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


def test_its_layers_are_those_of_mlpregressor(planted):
    _, X, y = planted
    model = wl.OneHiddenLayerRegressor(2).fit(X, y)
    peer = MLPRegressor(hidden_layer_sizes=(2,), max_iter=1)
    with warnings.catch_warnings(action="ignore"):
        peer.fit(X, y)
    assert [c.shape for c in model.coefs_] == [c.shape for c in peer.coefs_]
    assert [c.shape for c in model.intercepts_] == [c.shape for c in peer.intercepts_]
    peer.coefs_, peer.intercepts_ = model.coefs_, model.intercepts_
    np.testing.assert_allclose(peer.predict(X), model.predict(X), atol=1e-13)


def test_weights_copies_order_and_a_common_factor(planted):
    """A weight is a number of copies; zero removes; the order of rows and a factor 2 of all weights change nothing."""
    _, X, y = planted
    rng = np.random.default_rng(0)
    y = y + 0.1 * rng.normal(size=len(y))
    weights = rng.integers(0, 4, size=len(y))
    copies, shuffled = np.repeat(np.arange(len(y)), weights), rng.permutation(len(y))
    base = wl.OneHiddenLayerRegressor(2, max_work=50)
    with warnings.catch_warnings(action="ignore"):
        weighted = clone(base).fit(X, y, sample_weight=weights).network_
        repeated = clone(base).fit(X[copies], y[copies]).network_
        moved = clone(base).fit(X[shuffled], y[shuffled], sample_weight=weights[shuffled]).network_
        doubled = clone(base).fit(X, y, sample_weight=2 * weights).network_
    np.testing.assert_array_equal(weighted.W, repeated.W)
    np.testing.assert_array_equal(weighted.W, moved.W)
    np.testing.assert_allclose(doubled.predict(X), weighted.predict(X), atol=1e-6)


def test_standard_errors_of_a_noisy_fit(noisy, statistical):
    truth, _, _ = noisy
    assert statistical.certificate_.status is wl.Status.STATISTICAL
    assert np.all(statistical.certificate_.locate(truth)[0])
    intervals = statistical.conf_int(0.99)
    text = str(statistical.summary())
    assert "std error" in text
    names = statistical.summary().inference.names
    assert intervals.shape == (len(names), 2)
    assert np.all(intervals[:, 0] < intervals[:, 1])
    found = statistical.summary().inference
    width = found.intervals(0.99)[:, 1] - found.intervals(0.99)[:, 0]
    np.testing.assert_allclose(intervals[:, 1] - intervals[:, 0], width)


@uncertified
def test_ordinary_data_are_fitted_and_nothing_is_claimed():
    X, y = make_friedman1(300, n_features=5, noise=1.0, random_state=0)
    with pytest.warns(NotCertifiedWarning, match="not certified"):
        model = wl.OneHiddenLayerRegressor(max_work=400).fit(X[:200], y[:200])
    assert not model.certificate_
    assert model.certificate_.precision is None
    assert model.score(X[200:], y[200:]) > 0.8
    with pytest.raises(ArgumentError, match="certified"):
        model.summary()
    with pytest.raises(ArgumentError, match="certified"):
        model.conf_int()


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


@uncertified
def test_an_ambiguous_network_is_kept_because_it_explains_the_rows():
    """Two units along w and −w with equal a are 'opposite': exact on every row, and not unique."""
    w = np.array([[0.6, -0.6], [0.8, -0.8]])
    truth = wl.Network(w, [1.0, 1.0])
    X, y = wl.draw(truth, 80, rng=0)
    model = wl.OneHiddenLayerRegressor(2, bias=False, offset=False).fit(X, y)
    assert not model.certificate_
    np.testing.assert_allclose(model.predict(X), y, atol=1e-9)


def test_warm_start_refines_the_network_at_hand(noisy, statistical):
    _, X, y = noisy
    model = clone(statistical).set_params(warm_start=True).fit(X[:2000], y[:2000])
    cold = model.n_iter_
    model.fit(X, y)
    assert model.recovery_ is None
    assert model.n_iter_ < cold
    assert model.certificate_.status is wl.Status.STATISTICAL
    np.testing.assert_allclose(model.predict(X), statistical.predict(X), atol=1e-5)


@uncertified
def test_without_refinement_the_start_stays():
    truth = wl.teachers.conditioned(5, 2, activation="relu", rng=0)
    X, y = wl.draw(truth, 4000, rng=0)
    options = {"bias": False, "offset": False, "refine": False}
    moments = wl.OneHiddenLayerRegressor(2, **options).fit(X, y)
    random = wl.OneHiddenLayerRegressor(2, method="search", **options).fit(X, y)
    assert not moments.certificate_
    assert wl.match(moments.network_, truth).max_error < 0.5
    assert wl.match(random.network_, truth).max_error > 0.5
    assert wl.OneHiddenLayerRegressor("auto", **options).fit(X, y).n_units_ == 2


def test_the_moments_route_takes_biases(planted):
    truth, X, y = planted
    found = wl.OneHiddenLayerRegressor(2, method="tensor").fit(X, y)
    assert bool(found.certificate_) == (wl.match(found.network_, truth).max_error < 1e-8)
    assert "tensor" in found.recovery_.stages[0].name
    with pytest.raises(ValueError, match="rellu"):
        wl.OneHiddenLayerRegressor(2, activation="rellu").fit(X, y)


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


def test_html_shows_the_certificate(planted):
    _, X, y = planted
    model = wl.OneHiddenLayerRegressor(2)
    assert "weightlift-certificate" not in model._repr_html_()
    html = model.fit(X, y)._repr_html_()
    assert "weightlift-certificate" in html
    assert "EXACT" in html
    assert "rows agree to rounding" in html


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
