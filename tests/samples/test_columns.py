"""Frames and their names: what a source knows of its columns, and errors that name them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.conftest import optional

import weightlift as wl
from weightlift import samples
from weightlift.errors import ArgumentError, NotFiniteError
from weightlift.samples import Columns


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_lend_their_names(library: str) -> None:
    frames = optional(library)
    truth = wl.Network([[1.0], [-0.5]], [2.0])
    X, y = wl.draw(truth, 60, rng=0)
    frame = frames.DataFrame({"age": X[:, 0], "bmi": X[:, 1]})
    series = frames.Series(y, name="load") if library == "pandas" else frames.Series("load", y)
    for target in (series, frames.DataFrame({"load": y})):
        found = wl.recover(frame, target, n_units=1)
        assert found.columns == Columns(("age", "bmi"), ("load",))
        assert wl.match(found.network, truth).max_error < 1e-10 if found.network.a.ndim == 1 else found.certificate
        assert found.network.predict(X).shape == ((60,) if found.network.a.ndim == 1 else (60, 1))


def test_names_stay_with_rows_that_are_split_mapped_and_kept() -> None:
    pandas = optional("pandas")
    X, y = wl.draw(wl.Network([[1.0], [-0.5]]), 60, rng=0)
    rows = samples.open(pandas.DataFrame({"age": X[:, 0], "bmi": X[:, 1]}), pandas.Series(y, name="load"))
    first, _ = rows.split(0.5, 0.5, seed=0)
    for part in (first.persist(), rows.map(samples.Scaling.shift(np.ones(2))).persist()):
        assert samples.columns.columns_of(part) == Columns(("age", "bmi"), ("load",))


def test_names_that_are_numbers_or_twice_there_are_none() -> None:
    pandas = optional("pandas")
    X = np.arange(6.0).reshape(3, 2)
    assert Columns.of(pandas.DataFrame(X), [1.0, 2.0, 3.0]) == Columns()
    assert Columns.of(pandas.DataFrame(X, columns=["x", "x"]), None) == Columns()


def test_columns_that_are_no_numbers_are_named() -> None:
    pandas = optional("pandas")
    frame = pandas.DataFrame({"age": [1.0, 2.0, 3.0], "kind": pandas.Categorical(["a", "b", "a"])})
    with pytest.raises(ArgumentError, match=r"column 'kind' of category values; encode"):
        samples.open(frame, [0.0, 1.0, 2.0])
    missing = pandas.DataFrame({"age": [1.0, 2.0, 3.0], "count": pandas.array([1, None, 3], dtype="Int64")})
    with pytest.raises(NotFiniteError, match=r"X holds NaN .*row 1, column 'count'"):
        samples.open(missing, [0.0, 1.0, 2.0])


def test_the_first_missing_value_is_named_by_row_and_column() -> None:
    X, y = np.ones((5, 3)), np.arange(5.0)
    X[3, 1] = np.nan
    with pytest.raises(NotFiniteError, match="row 3, column 1"):
        samples.open(X, y)
    y[2] = np.inf
    with pytest.raises(NotFiniteError, match="y holds NaN or infinity, first in row 2, counted"):
        samples.open(np.ones((5, 3)), y)
