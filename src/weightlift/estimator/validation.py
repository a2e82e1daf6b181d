"""scikit-learn's checks of arguments, with those that it leaves to us: masked arrays, weights that are all zero."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils._array_api import get_namespace
from sklearn.utils.validation import _check_sample_weight, check_array, validate_data

from weightlift.namespaces import Array, array_namespace, detached, from_numpy, is_array, to_numpy
from weightlift.samples.arrays import refuse_masked


def validated_fit(estimator: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Array, Array, Array | None]:
    """X (n, d), y (n,) or (n, m) and weights of X's namespace and device."""
    for name, value in (("X", X), ("y", y), ("sample_weight", sample_weight)):
        refuse_masked(name, value)
    X, y, sample_weight = (detached(value) for value in (X, y, sample_weight))
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is None."
        )
    X = validate_data(estimator, X, dtype=_float_types(X), ensure_min_samples=2)
    y = check_array(y, ensure_2d=False, dtype="numeric", input_name="y", estimator=estimator)
    if y.shape[0] != X.shape[0]:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: [{X.shape[0]}, {y.shape[0]}]")
    y = _beside(X, y)
    if sample_weight is None:
        return X, y, None
    weights = _beside(X, sample_weight) if hasattr(sample_weight, "shape") and sample_weight.shape else sample_weight
    return X, y, _check_sample_weight(weights, X, ensure_non_negative=True)


def validated_inputs(estimator: Any, X: Any) -> Array:
    """X for a prediction: as many columns as the fit had, under the same names."""
    refuse_masked("X", X)
    X = detached(X)
    return validate_data(estimator, X, dtype=_float_types(X), reset=False)


def same_namespace(X: Any, estimator: Any, method: str) -> None:
    """With array-API dispatch, X must live where the fit's arrays did."""
    try:
        from sklearn.utils._array_api import check_same_namespace
    except ImportError:  # scikit-learn < 1.9 has no such rule
        return
    check_same_namespace(X, estimator, attribute="_W", method=method)


def _float_types(X: Any) -> list[Any]:
    """float32 and float64 stay; everything else becomes float64."""
    xp, _ = get_namespace(X)
    return [xp.float64, xp.float32]


def _beside(X: Array, values: Any) -> Array:
    """Values in the namespace and on the device of X; float64 for NumPy, else of its dtype."""
    host = np.asarray(to_numpy(values) if is_array(values) else values, dtype=np.float64)
    return host if isinstance(X, np.ndarray) else array_namespace(X).astype(from_numpy(host, like=X), X.dtype)
