"""One door for data: sources that fold statistics over their rows, wherever these live."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from weightlift.errors import ArgumentError
from weightlift.namespaces import detached, is_array, refuse_masked, refuse_sparse
from weightlift.network import Network
from weightlift.samples import dask, parquet
from weightlift.samples.arrays import ArraySamples, from_arrays
from weightlift.samples.columns import Columns, frame_values, is_frame
from weightlift.samples.fresh import Fresh
from weightlift.samples.maps import Radial, RandomSigns, Residual
from weightlift.samples.population import Population
from weightlift.samples.protocol import Block, Map, Samples, Statistic, Sums
from weightlift.samples.standardization import Covariance, Scaling, Standardized, Whitening
from weightlift.samples.stream import Stream

__all__ = [
    "ArraySamples",
    "Block",
    "Columns",
    "Covariance",
    "Fresh",
    "Map",
    "Population",
    "Radial",
    "RandomSigns",
    "Residual",
    "Samples",
    "Scaling",
    "Standardized",
    "Statistic",
    "Stream",
    "Sums",
    "Whitening",
    "dask",
    "open",
    "parquet",
    "population",
]


def open(
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    target: str | Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    weight: str | None = None,
    dtype: str = "float64",
) -> Samples:
    """A source from arrays X (n, d) and y (n,) or (n, outputs), with weights ≥ 0; a source is returned as it is.

    Arrays of any array-API namespace stay where they are, those of Dask on their workers; other sequences become NumPy arrays.
    Frames of pandas and polars lend their columns' names to what is found. A path is a Parquet file or folder: target, features
    (None: all others) and weight name its columns, as they do those of a Dask data frame; a list of targets gives a row several
    outputs.

    sample_weight  (n,), at least 0; None weighs every row one
    dtype          of the arithmetic: "float64", or "float32" for speed on accelerators

    >>> source = open([[0.0, 1.0], [2.0, 3.0]], [1.0, 2.0])
    >>> source.n, source.d
    (2, 2)
    """
    if isinstance(X, (str, os.PathLike)):
        if target is None or y is not None or sample_weight is not None:
            raise ArgumentError(
                "X is a path; name its columns by weightlift.samples.open(path, target='…', weight='…'), and pass that."
            )
        return parquet.open(X, target=target, features=features, weight=weight, dtype=dtype)
    if hasattr(X, "__dask_graph__"):
        names = {"target": target, "features": features, "weight": weight}
        return dask.open(X, y, sample_weight=sample_weight, dtype=dtype, **names)  # type: ignore[arg-type]
    if target is not None or features is not None or weight is not None:
        raise ArgumentError("target, features and weight name columns of Parquet files or Dask frames; pass arrays as X and y.")
    if isinstance(X, (Stream, Population)) or (hasattr(X, "fold") and not is_frame(X)):  # polars' frames have a fold too
        if y is not None or sample_weight is not None:
            raise ArgumentError("X is a source already; y and sample_weight belong in it and must be None.")
        return X  # type: ignore[no-any-return]
    if X is None or y is None:
        name, values = ("X", "inputs") if X is None else ("y", "targets")
        raise ArgumentError(f"{name} is missing; pass {values}, or a source made by weightlift.samples.open(X, y).")
    columns = Columns.of(X, y)
    X, y, sample_weight = (_as_array(name, v) for name, v in (("X", X), ("y", y), ("sample_weight", sample_weight)))
    return from_arrays(X, y, sample_weight=sample_weight, dtype=dtype, columns=columns)


def population(network: Network) -> Population:
    """The exact-moment source of a known network under x ~ N(0, I)."""
    return Population(network)


def _as_array(name: str, values: Any) -> Any:
    refuse_masked(name, values)
    refuse_sparse(name, values)
    if values is None or (is_array(values) and not isinstance(values, np.ndarray)):
        return detached(values)
    if is_frame(values):
        return frame_values(name, values)
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ArgumentError(f"{name} must be a rectangular array ({error}).") from error
    if array.dtype == object or array.dtype.kind in "USV":
        raise ArgumentError(f"{name} holds {array.dtype} values; convert them to numbers.")
    return array
