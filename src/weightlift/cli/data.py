"""Tables from files: CSV, Parquet, NPY, NPZ; numbers only, and nothing that could run code."""

from __future__ import annotations

import csv
import math
import re
import warnings
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from weightlift.errors import ArgumentError, FileFormatError
from weightlift.samples import ArraySamples, Columns
from weightlift.samples.arrays import from_arrays

MAX_EXPANSION, FREE_BYTES = 100, 2**26  # numbers that are not all alike compress to more than a hundredth
DAMAGED = (ValueError, TypeError, EOFError, SyntaxError, RuntimeError, zipfile.BadZipFile, zlib.error)  # what NumPy may raise
DELIMITERS = (",", ";", "\t")


@dataclass(frozen=True, eq=False)
class Table:
    """Columns with names; those of a file without a header are numbered from 0."""

    values: np.ndarray  # (n, columns)
    names: tuple[str, ...]
    target: str | None = None  # the column that the file itself calls y
    named: bool = False  # the file has names of its own

    @property
    def listing(self) -> str:
        return "the columns " + ", ".join(self.names[:12]) + (", …" if len(self.names) > 12 else "")

    def split(self, target: str) -> tuple[np.ndarray, np.ndarray]:
        """The inputs and the target column, by its name, else by its number; several between commas give y (n, m)."""
        columns = self._targets(target)
        y = self.values[:, columns[0]] if len(columns) == 1 else self.values[:, columns]
        return np.delete(self.values, columns, axis=1), y

    def source(self, target: str) -> ArraySamples:
        """The rows, with the names of their columns."""
        X, y = self.split(target)
        return from_arrays(X, y, columns=Columns(*self.split_names(target)))

    def split_names(self, target: str) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
        """The names of the inputs and of the targets; None for a file that has none, or the same twice."""
        if not self.named or len(set(self.names)) < len(self.names):
            return None, None
        columns = self._targets(target)
        inputs = tuple(name for j, name in enumerate(self.names) if j not in columns)
        return inputs, tuple(self.names[j] for j in columns)

    def ordered(self, inputs: tuple[str, ...], leave_out: tuple[str, ...]) -> np.ndarray:
        """The columns of these names in this order; a name that is missing or one too many is refused."""
        missing = [name for name in inputs if name not in self.names]
        doubled = [name for name in inputs if self.names.count(name) > 1]
        more = [name for name in self.names if name not in inputs and name not in leave_out]
        if missing or doubled or more:
            faults = (("has no", missing), ("has more than one", doubled), ("has beside them", more))
            parts = [f"{words} {_few(names)}" for words, names in faults if names]
            wanted = ", ".join(inputs[:12]) + (", …" if len(inputs) > 12 else "")
            raise ArgumentError(f"the network's inputs are {wanted}, and the file {', '.join(parts)}; rename or drop columns.")
        return self.values[:, [self.names.index(name) for name in inputs]]

    def _targets(self, target: str) -> list[int]:
        wanted = [target] if target in self.names or "," not in target else [name.strip() for name in target.split(",")]
        columns = [self._index(name) for name in wanted]
        if len(set(columns)) < len(columns):
            raise ArgumentError(f"--target {target} names a column twice; name it once.")
        if len(self.names) == len(columns):
            only = f"{self.names[0]!r} is the only column" if len(columns) == 1 else "every column is a target"
            raise ArgumentError(f"{only}; inputs stand beside the target, a column each.")
        return [j % len(self.names) for j in columns]

    def _index(self, column: str) -> int:
        if self.names.count(column) > 1:
            raise ArgumentError(f"{self.names.count(column)} columns are called {column!r}; rename them, or give a number.")
        if column in self.names:
            return self.names.index(column)
        try:
            number = int(column)
        except ValueError:
            number = None
        if number is None or not -len(self.names) <= number < len(self.names):
            raise ArgumentError(f"there is no column {column!r}; there are {self.listing}.")
        return number


def _few(names: list[str]) -> str:
    return ", ".join(map(repr, names[:4])) + (", …" if len(names) > 4 else "")


def read_table(path: Path) -> Table:
    """The table in a file, by its suffix: .csv (also .tsv and .txt), .parquet, .npy, .npz with X and, if any, y."""
    readers = {
        ".csv": _read_text,
        ".tsv": _read_text,
        ".txt": _read_text,
        ".parquet": _read_parquet,
        ".npy": _read_npy,
        ".npz": _read_npz,
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise FileFormatError(f"{path}: the suffix must be one of {', '.join(readers)}.")
    table = reader(path)
    if not table.values.size:
        raise FileFormatError(f"{path} has no rows; give it some.")
    return table


def _read_text(path: Path) -> Table:
    """Columns between commas, semicolons or tabs; a first line that is not all numbers is a header."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            first = file.readline()
            delimiter = max(DELIMITERS, key=first.count)
            cells = [cell.strip() for cell in next(csv.reader([first], delimiter=delimiter), [])]
            header = not all(map(_is_number, cells))
            if not header:
                file.seek(0)
            with warnings.catch_warnings(action="ignore"):  # of no rows, which the caller reports
                values = np.loadtxt(file, delimiter=delimiter, ndmin=2, comments=None, quotechar='"')
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{path} must be a text file in UTF-8.") from error
    except csv.Error as error:
        raise FileFormatError(f"{path} must be a table ({error}).") from error
    except ValueError as error:
        raise FileFormatError(f"{path} must hold numbers: {_place(str(error), cells if header else None)}") from error
    if header and values.size and len(cells) != values.shape[1]:
        raise FileFormatError(f"{path}: the header has {len(cells)} columns and the rows {values.shape[1]}; they must agree.")
    return _numbered(values, tuple(cells) if header else None)


def _place(sentence: str, names: list[str] | None) -> str:
    """NumPy's sentence with its place in our words: rows from 0, a header not counted; columns by name, else from 0."""
    below = "counted from 0" + (" below the header" if names else "")
    if changed := re.search(r"columns changed from (\d+) to (\d+) at row (\d+)", sentence):
        before, after, row = (int(v) for v in changed.groups())  # here NumPy counts rows from 1
        return f"row {row - 1}, {below}, has {after} columns, and those before it {before}."
    if (found := re.search(r"string (.+) to float64 at row (\d+), column (\d+)", sentence)) is None:
        return sentence
    row, column = int(found[2]), int(found[3]) - 1
    named = repr(names[column]) if names and column < len(names) else f"{column}"
    what = "there is none" if found[1] == "''" else f"there is {found[1]}"
    comma = "; write decimals with a point" if re.fullmatch(r"'[-+]?\d+,\d+'", found[1]) else ""
    return f"{what} in column {named}, row {row}, {below}{comma}."


def _read_parquet(path: Path) -> Table:
    """A column a name; missing values are NaN, which a fit refuses by name."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise FileFormatError(f"{path}: Parquet needs pyarrow; pip install 'weightlift[parquet]'.") from error
    try:
        with path.open("rb") as file:
            table = parquet.read_table(file)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise FileFormatError(f"{path} is damaged, or not a Parquet file; write it again ({error}).") from error
    columns = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        try:
            columns.append(column.cast(pa.float64(), safe=False).to_numpy())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise FileFormatError(f"{path}: column {name!r} must hold numbers, not {column.type}.") from error
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            raise FileFormatError(f"{path}: column {name!r} must hold numbers, not text.")
    values = np.column_stack(columns) if columns else np.empty((0, 0))
    return _numbered(values, tuple(table.column_names))


def _read_npy(path: Path) -> Table:
    return _numbered(_matrix(path, "the array", _arrays(path)["array"]))


def _read_npz(path: Path) -> Table:
    arrays = _arrays(path)
    if "X" not in arrays:
        raise FileFormatError(f"{path} must hold an array X (n, d), and y (n,) for a target; it has {sorted(arrays)}.")
    X = _matrix(path, "X", arrays["X"])
    if "y" not in arrays:
        return _numbered(X)
    y = _matrix(path, "y", arrays["y"])
    if len(y) != len(X) or not y.shape[1]:
        raise FileFormatError(f"{path}: y must have targets for each of the {len(X)} rows of X, not shape {y.shape}.")
    names = ("y",) if y.shape[1] == 1 else tuple(f"y{i}" for i in range(y.shape[1]))
    return Table(np.hstack([X, y]), (*map(str, range(X.shape[1])), *names), target=",".join(names))


def _arrays(path: Path) -> dict[str, np.ndarray]:
    """All arrays of a file; pickled ones are refused."""
    size = path.stat().st_size
    try:
        with path.open("rb") as file:
            if not zipfile.is_zipfile(file):
                file.seek(0)
                return {"array": _array(file, size)}
            with zipfile.ZipFile(file) as members:
                whole = sum(member.file_size for member in members.infolist())
                if whole > MAX_EXPANSION * size + FREE_BYTES:
                    raise ValueError(f"it expands to {whole:,} bytes, more than {MAX_EXPANSION} times its size")
                listed = [m for m in members.infolist() if m.filename.endswith(".npy")]
                return {m.filename.removesuffix(".npy"): _array(members.open(m), m.file_size) for m in listed}
    except DAMAGED as error:
        raise FileFormatError(f"{path} is damaged, or holds something else than numbers; save it again ({error}).") from error


def _array(file: IO[bytes], size: int) -> np.ndarray:
    """The array of an NPY file of that size; one that says to be larger is refused before memory is asked for."""
    version = np.lib.format.read_magic(file)
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = header(file)
    if dtype.hasobject:
        raise ValueError("its array holds pickled objects")
    if math.prod(shape) * dtype.itemsize > size:
        raise ValueError(f"its array says to have the shape {shape}, and there are {size:,} bytes")
    file.seek(0)
    return np.asarray(np.lib.format.read_array(file, allow_pickle=False))


def _matrix(path: Path, name: str, array: np.ndarray) -> np.ndarray:
    if array.dtype.kind not in "fiub":
        raise FileFormatError(f"{path}: {name} must hold real numbers, not {array.dtype}.")
    if array.ndim not in (1, 2):
        raise FileFormatError(f"{path}: {name} must have one or two axes, not shape {array.shape}.")
    return np.asarray(array.reshape(len(array), -1), dtype=np.float64)


def _numbered(values: np.ndarray, names: tuple[str, ...] | None = None) -> Table:
    numbers = tuple(map(str, range(values.shape[1])))
    return Table(values, numbers if names is None else names, named=names is not None)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
