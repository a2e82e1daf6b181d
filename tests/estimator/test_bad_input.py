"""What an estimator refuses, with scikit-learn's own errors, and the ends of double precision."""

import numpy as np
import pytest
import scipy.sparse as sp
from tests.conftest import optional

import weightlift as wl

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = np.maximum(X[:, 0] + 0.3, 0) - np.maximum(X[:, 1] - X[:, 2], 0)


def put(A, index, value):
    A = A.copy()
    A[index] = value
    return A


@pytest.mark.parametrize(
    ("X", "y", "weights", "error", "words"),
    [
        (put(X, (3, 1), np.nan), Y, None, ValueError, "X contains NaN"),
        (put(X, (3, 1), np.inf), Y, None, ValueError, "infinity"),
        (X, put(Y, 3, np.nan), None, ValueError, "y contains NaN"),
        (X, put(Y, 3, -np.inf), None, ValueError, "infinity"),
        (X[:, 0], Y, None, ValueError, "Expected 2D array"),
        (X[None], Y, None, ValueError, "dim 3"),
        (X[:0], Y[:0], None, ValueError, "0 sample"),
        (X[:1], Y[:1], None, ValueError, "1 sample"),
        (X[:, :0], Y, None, ValueError, "0 feature"),
        (X, Y[:-1], None, ValueError, "inconsistent numbers of samples"),
        (X, np.stack([[Y, Y]], axis=2), None, ValueError, "inconsistent|dim"),
        (X, None, None, ValueError, "requires y"),
        (X * 1j, Y, None, ValueError, "Complex data not supported"),
        (X, Y * 1j, None, ValueError, "Complex data not supported"),
        (np.full((60, 3), "a"), Y, None, ValueError, "could not convert string"),
        (X, np.array(["a", "b"] * 30), None, ValueError, "strings"),
        (np.array([[object()] * 3] * 60), Y, None, TypeError, "float"),
        (sp.csr_array(X), Y, None, TypeError, "[Ss]parse"),
        (np.ma.masked_greater(X, 1.0), Y, None, ValueError, "masked"),
        (X, np.ma.masked_greater(Y, 1.0), None, ValueError, "masked"),
        (X, Y, -np.ones(60), ValueError, "[Nn]egative"),
        (X, Y, np.zeros(60), ValueError, "non-zero"),
        (X, Y, put(np.ones(60), 2, np.nan), ValueError, "NaN"),
        (X, Y, np.ones(5), ValueError, "sample_weight"),
        (X, Y, np.ones((60, 2)), ValueError, "[Ss]ample"),
    ],
)
@pytest.mark.filterwarnings("ignore::weightlift.errors.DataWarning")
def test_refused(X, y, weights, error, words):
    with pytest.raises(error, match=words):
        wl.OneHiddenLayerRegressor(2, max_work=10).fit(X, y, sample_weight=weights)


def test_another_number_of_columns_at_predict():
    model = wl.OneHiddenLayerRegressor(2).fit(X, Y)
    with pytest.raises(ValueError, match="X has 2 features, but OneHiddenLayerRegressor is expecting 3"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError, match=r"NaN\. First in row 1, column 2, counted"):
        model.predict([[1.0, 1.0, 1.0], [1.0, 1.0, np.nan]])
    with pytest.raises(ValueError, match="masked"):
        model.predict(np.ma.masked_greater(X, 1.0))


def test_a_column_of_targets_gives_a_column_of_predictions():
    column, flat = (wl.OneHiddenLayerRegressor(2).fit(X, y) for y in (Y[:, None], Y))
    assert column.predict(X).shape == (60, 1)
    np.testing.assert_array_equal(column.predict(X)[:, 0], flat.predict(X))


@pytest.mark.parametrize("kind", ["float16", "float32", "object", "list", "fortran", "unmasked"])
@pytest.mark.filterwarnings("ignore::weightlift.errors.NotCertifiedWarning")
def test_other_forms_of_numbers_are_taken(kind):
    forms = {"object": X.astype(object), "list": X.tolist(), "fortran": np.asfortranarray(X), "unmasked": np.ma.array(X)}
    model = wl.OneHiddenLayerRegressor(2, max_work=600).fit(forms[kind] if kind in forms else X.astype(kind), Y)
    assert model.score(X, Y) > 0.999


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (put(X, (3, 1), 1e308), Y),
        (X * 1e307, Y),
        (X * 1e-310, Y),
        (X * [1.0, 1.0, 1e-310], Y),
        (X * 1e-200, Y),
        (X, put(Y, 3, 1e308)),
    ],
    ids=["one 1e308", "all 1e307", "denormals", "a column of denormals", "tiny", "a target 1e308"],
)
@pytest.mark.filterwarnings("ignore::weightlift.errors.NotCertifiedWarning", "ignore::weightlift.errors.DataWarning")
def test_the_ends_of_double_precision_give_finite_predictions_and_no_certificate(X, y):
    model = wl.OneHiddenLayerRegressor(2, max_work=20).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert not model.certificate_


def test_copies_of_one_row_are_one_row():
    with pytest.raises(wl.errors.TooFewRowsError, match="one distinct row of positive weight, 50 times"):
        wl.OneHiddenLayerRegressor(2).fit(np.ones((50, 3)), np.ones(50))
    with pytest.raises(wl.errors.TooFewRowsError, match="one distinct row"):
        wl.OneHiddenLayerRegressor(2).fit(X, Y, sample_weight=np.arange(len(Y)) == 3)


def test_faults_of_a_frame_are_named_by_row_and_column() -> None:
    pandas = optional("pandas")
    frame = pandas.DataFrame({"age": [1.0, 2.0, 3.0], "bmi": [1.0, np.nan, 2.0]})
    with pytest.raises(ValueError, match=r"contains NaN\. First in row 1, column 'bmi'"):
        wl.OneHiddenLayerRegressor(1).fit(frame, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"y contains NaN\. First in row 2, counted"):
        wl.OneHiddenLayerRegressor(1).fit(frame[["age"]], [1.0, 2.0, np.nan])
    frame["bmi"] = pandas.Categorical(["u", "v", "u"])
    with pytest.raises(ValueError, match="column 'bmi' of category values; encode"):
        wl.OneHiddenLayerRegressor(1).fit(frame, [1.0, 2.0, 3.0])
