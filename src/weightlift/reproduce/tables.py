"""Rows, grouped and as columns: what summaries and claims are made of."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import numpy as np

from weightlift.reproduce.recipe import Row

WORDS = {"": None, "True": True, "False": False}


def grouped(rows: list[Row], *names: str) -> Iterator[tuple[tuple[Any, ...], list[Row]]]:
    """Rows that agree in these columns together, in the order of their first.

    >>> [(d, len(part)) for (d,), part in grouped([{"d": 5}, {"d": 3}, {"d": 5}], "d")]
    [(5, 2), (3, 1)]
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    yield from groups.items()


def column(rows: list[Row], name: str) -> np.ndarray:
    """One column as floats; None is NaN."""
    return np.array([np.nan if row[name] is None else row[name] for row in rows], dtype=float)


def as_csv(rows: list[Row]) -> str:
    """Columns in the order of their first appearance; floats to the last digit."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def from_csv(text: str) -> list[Row]:
    """The rows that `as_csv` wrote, with their types.

    >>> from_csv(as_csv([{"d": 5, "bias": None, "share": 0.1, "twins": True, "route": "search"}]))
    [{'d': 5, 'bias': None, 'share': 0.1, 'twins': True, 'route': 'search'}]
    """
    return [{name: _value(value) for name, value in row.items()} for row in csv.DictReader(io.StringIO(text))]


def _value(text: str) -> Any:
    if text in WORDS:
        return WORDS[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
