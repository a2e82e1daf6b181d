"""Names of columns, and data frames: pandas', polars', or any that has `columns` and `dtypes`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from weightlift.errors import ArgumentError


@dataclass(frozen=True)
class Columns:
    """What the inputs and the targets are called; None where they have no names."""

    inputs: tuple[str, ...] | None = None
    outputs: tuple[str, ...] | None = None

    @classmethod
    def of(cls, X: Any, y: Any) -> Columns:
        """Those of frames X and y, and of a series y; names that are numbers or occur twice are none."""
        inputs = _distinct(X.columns) if is_frame(X) else None
        if is_frame(y):
            return cls(inputs, _distinct(y.columns))
        name = getattr(y, "name", None)
        return cls(inputs, (name,) if isinstance(name, str) and name else None)

    def input(self, j: int) -> str:
        """What a sentence calls input j."""
        return f"column {j}" if self.inputs is None else f"column {self.inputs[j]!r}"


NO_NAMES = Columns()


def columns_of(samples: object) -> Columns:
    """The names that a source knows; a source of one's own need not know any."""
    return getattr(samples, "columns", NO_NAMES)


def is_frame(values: Any) -> bool:
    return hasattr(values, "columns") and hasattr(values, "dtypes")


def frame_values(name: str, frame: Any) -> np.ndarray:
    """(n, columns) numbers; a column of anything else is named."""
    values = np.asarray(frame)
    if values.dtype.kind in "fiub":
        return values
    return np.column_stack([_numbers(name, label, _column(frame, j)) for j, label in enumerate(frame.columns)])


def _column(frame: Any, j: int) -> Any:
    return frame.iloc[:, j] if hasattr(frame, "iloc") else frame.to_series(j)


def _numbers(name: str, label: Any, column: Any) -> np.ndarray:
    """A column's values; missing ones of pandas' nullable types are NaN, which the source refuses by row."""
    values = np.asarray(column)
    if values.dtype.kind in "fiub":
        return values
    if getattr(column.dtype, "kind", "O") in "fiub":
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    raise ArgumentError(
        f"{name} has a column {label!r} of {column.dtype} values; encode it as numbers, a column a category, or drop it."
    )


def _distinct(names: Any) -> tuple[str, ...] | None:
    listed = tuple(names)
    return listed if all(isinstance(name, str) for name in listed) and len(set(listed)) == len(listed) else None
