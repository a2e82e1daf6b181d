"""scikit-learn's checks of arguments, with those that it leaves to us: masked arrays, weights that are all zero."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils._array_api import get_namespace
from sklearn.utils.validation import _check_sample_weight, check_array, validate_data

from weightlift.errors import NotFiniteError
from weightlift.namespaces import Array, array_namespace, detached, from_numpy, is_array, refuse_masked, to_numpy
from weightlift.samples.columns import Columns, frame_values, is_frame


def validated_fit(estimator: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Array, Array, Array | None]:
    """X (n, d), y (n,) or (n, m) and weights of X's namespace and device."""
    for name, value in (("X", X), ("y", y), ("sample_weight", sample_weight)):
        refuse_masked(name, value)
    X, y, sample_weight = (detached(value) for value in (X, y, sample_weight))
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is None."
        )
    columns = Columns.of(X, y)
    if is_frame(X):
        frame_values("X", X)  # names a column that holds no numbers
    try:
        X = validate_data(estimator, X, dtype=_float_types(X), ensure_min_samples=2)
    except ValueError as error:
        raise _with_place(error, X, columns) from None
    try:
        y = check_array(y, ensure_2d=False, dtype="numeric", input_name="y", estimator=estimator)
    except ValueError as error:
        raise _with_place(error, y) from None
    if y.shape[0] != X.shape[0]:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: [{X.shape[0]}, {y.shape[0]}]")
    y = _beside(X, y)
    if sample_weight is None:
        return X, y, None
    weights = _beside(X, sample_weight) if hasattr(sample_weight, "shape") and sample_weight.shape else sample_weight
    weights = _check_sample_weight(weights, X, ensure_non_negative=True)
    if not bool(array_namespace(weights).any(weights > 0)):  # scikit-learn < 1.8 lets them pass
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return X, y, weights


def validated_inputs(estimator: Any, X: Any) -> Array:
    """X for a prediction: as many columns as the fit had, under the same names."""
    refuse_masked("X", X)
    X = detached(X)
    try:
        return validate_data(estimator, X, dtype=_float_types(X), reset=False)
    except ValueError as error:
        raise _with_place(error, X, Columns.of(X, None)) from None


def same_namespace(X: Any, estimator: Any, method: str) -> None:
    """With array-API dispatch, X must live where the fit's arrays did."""
    try:
        from sklearn.utils._array_api import check_same_namespace
    except ImportError:  # scikit-learn < 1.9 has no such rule
        return
    check_same_namespace(X, estimator, attribute="_W", method=method)


def _with_place(error: ValueError, rows: Any, columns: Columns | None = None) -> ValueError:
    """scikit-learn's complaint of a missing value in X or y, with its row, and of X with its column."""
    first = str(error).partition("\n")[0]
    values = np.asarray(to_numpy(rows) if is_array(rows) else rows)
    if "contains" not in first or values.dtype.kind != "f" or np.isfinite(values).all():
        return error
    row, *column = np.argwhere(~np.isfinite(values))[0].tolist()
    where = f", {columns.input(column[0])}" if columns is not None and column else ""
    return NotFiniteError(f"{first} First in row {row}{where}, counted from 0; drop or impute those rows.")


def _float_types(X: Any) -> list[Any]:
    """float32 and float64 stay; everything else becomes float64."""
    xp, _ = get_namespace(X)
    return [xp.float64, xp.float32]


def _beside(X: Array, values: Any) -> Array:
    """Values in the namespace and on the device of X; float64 for NumPy, else of its dtype."""
    host = np.asarray(to_numpy(values) if is_array(values) else values, dtype=np.float64)
    return host if isinstance(X, np.ndarray) else array_namespace(X).astype(from_numpy(host, like=X), X.dtype)
