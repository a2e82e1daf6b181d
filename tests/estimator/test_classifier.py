"""`OneHiddenLayerClassifier`: the teacher behind scores, logits and probabilities; hard labels are refused."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

import weightlift as wl
from weightlift.errors import ArgumentError, DataWarning, NotCertifiedWarning


@pytest.fixture(scope="module")
def teacher():
    truth = wl.teachers.biased(4, 2, rng=3)
    return truth, *wl.draw(truth, 200, rng=4)


@pytest.mark.parametrize(
    ("targets", "link", "tol"),
    [("scores", lambda f: f, 1e-9), ("logits", lambda f: f, 1e-9), ("probabilities", lambda f: 1 / (1 + np.exp(-f)), 1e-8)],
)
def test_the_teacher_comes_back(teacher, targets, link, tol):
    truth, X, f = teacher
    model = wl.OneHiddenLayerClassifier(2, targets=targets).fit(X, link(f))
    assert model.certificate_.status is wl.Status.EXACT
    assert wl.match(model.network_, truth).max_error < tol
    np.testing.assert_array_equal(model.predict(X), (f > 0).astype(int))
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities[:, 1], 1 / (1 + np.exp(-f)), atol=1e-7)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-15)
    np.testing.assert_allclose(model.decision_function(X), f, atol=1e-7)
    assert model.score(X, (f > 0).astype(int)) == 1.0
    assert model.classes_.tolist() == [0, 1]
    assert is_classifier(model)
    assert clone(model).targets == targets


@pytest.mark.parametrize("labels", [lambda f: (f > 0).astype(int), lambda f: f > 0, lambda f: np.where(f > 0, "yes", "no")])
def test_hard_labels_are_refused_with_the_alternative(teacher, labels):
    _, X, f = teacher
    with pytest.raises(ArgumentError, match=r"hard labels.*predict_proba.*MLPClassifier"):
        wl.OneHiddenLayerClassifier(2).fit(X, labels(f))


def test_probabilities_lie_strictly_inside(teacher):
    _, X, f = teacher
    p = 1 / (1 + np.exp(-f))
    p[3] = 1.0
    with pytest.raises(ArgumentError, match="strictly between 0 and 1"):
        wl.OneHiddenLayerClassifier(2).fit(X, p)


@pytest.mark.filterwarnings("ignore::weightlift.errors.NotCertifiedWarning")
def test_probabilities_near_one_have_lost_their_digits(teacher):
    _, X, f = teacher
    with pytest.warns(DataWarning, match="within 0.001 of 1"):
        model = wl.OneHiddenLayerClassifier(2, max_work=50).fit(X, 1 / (1 + np.exp(-4 * f)))
    np.testing.assert_allclose(model.decision_function(X), 4 * f, atol=1e-6)


def test_probabilities_of_the_rarer_class_keep_their_digits(teacher):
    from scipy.special import expit

    _, X, f = teacher
    model = wl.OneHiddenLayerClassifier(2, targets="logits").fit(X, f)
    scores = model.decision_function(50 * X)
    assert np.abs(scores).max() > 100
    expected = np.stack([expit(-scores), expit(scores)], axis=1)
    np.testing.assert_allclose(model.predict_proba(50 * X), expected, rtol=4e-15)


def test_a_missing_or_constant_target_is_not_called_labels(teacher):
    _, X, _ = teacher
    with pytest.raises(ValueError, match="requires y"):
        wl.OneHiddenLayerClassifier(2).fit(X, None)
    with pytest.raises(ValueError, match="NaN"):
        wl.OneHiddenLayerClassifier(2).fit(X, np.full(len(X), np.nan))
    with pytest.warns((DataWarning, NotCertifiedWarning), match="constant"):
        wl.OneHiddenLayerClassifier(2).fit(X, np.full(len(X), 0.25))


def test_tensors_that_record_gradients_are_data_like_others(teacher, torch):
    _, X, f = teacher
    model = wl.OneHiddenLayerClassifier(2, targets="logits")
    expected = model.fit(X, f).predict(X)
    recorded = model.fit(torch.tensor(X, requires_grad=True), torch.tensor(f, requires_grad=True))
    np.testing.assert_array_equal(recorded.predict(torch.tensor(X, requires_grad=True)), expected)
