"""Rows in Parquet, a file or a folder larger than memory, streamed in the order of their files and row groups.

Reading   whole row groups of up to 32 MiB, a few of them ahead of the arithmetic on threads of their own; larger ones piece by
          piece. Columns stay as they were decoded; a block that fits in cache puts its part of them beside each other.
Memory    O(batch), and one bit a row for each part of a split: a part's rows are found by their keys in its first pass.
Checks    columns and types when opened, in every file; nulls where the file's statistics tell, else, like NaN and infinity, in
          the first pass that meets them.
"""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from weightlift.errors import ArgumentError, FileFormatError, NotFiniteError, TooFewRowsError
from weightlift.namespaces import row_ranges
from weightlift.samples.arrays import ArraySamples, check_arithmetic
from weightlift.samples.columns import Columns
from weightlift.samples.keys import row_keys
from weightlift.samples.limits import LIMITS
from weightlift.samples.protocol import Block, Samples, Statistic, Sums, feature_names, target_names
from weightlift.samples.stream import HostStream, Part, with_keys
from weightlift.threads import limited

SUFFIXES = (".parquet", ".pq", ".parq")

Rows = slice | np.ndarray  # of a batch


@dataclass(frozen=True)
class Batch:
    """Columns as pyarrow decoded them, each (m,)."""

    x: tuple[np.ndarray, ...]
    y: np.ndarray  # (m,), or (m, outputs), a column's values together
    w: np.ndarray | None

    def inputs(self, rows: Rows, dtype: np.dtype[Any]) -> np.ndarray:
        """(m', d) the rows of all features, in a type that holds both them and `dtype`; a column's values lie together."""
        first = self.x[0][rows]
        X = np.empty((len(self.x), len(first)), dtype=np.result_type(dtype, *self.x))
        for j, column in enumerate(self.x):
            X[j] = column[rows]
        return X.T


def open(
    path: str | os.PathLike[str],
    *,
    target: str | Sequence[str],
    features: Sequence[str] | None = None,
    weight: str | None = None,
    dtype: str = "float64",
) -> ParquetSamples:
    """A source from a Parquet file, or from all of a folder, by the names of its columns.

    target: one column, or several for several outputs. features: the inputs in their order; None takes every column but target
    and weight, in the order of the first file.
    """
    _arrow()
    files = _files(Path(path))
    seen = Seen({file: _stamp(file) for file in files})
    schema = _schema(files[0])
    targets = target_names(target)
    chosen = feature_names(schema, target, features, weight)
    check_arithmetic(dtype)
    needed = (*chosen, *targets, *([weight] if weight else []))
    expected = _numeric(files[0], schema, needed)
    for file in files:
        _check_schema(file, expected, files[0], exactly=set(schema) if features is None else None)
    wanted = target if isinstance(target, str) else targets
    source = ParquetSamples(files, chosen, wanted, weight, np.dtype(dtype), seen, columns=Columns(chosen, targets))
    if sum(source.file_rows) < 2:
        raise TooFewRowsError(f"{path} has {sum(source.file_rows)} rows; at least two are needed.")
    return source


@dataclass
class Seen:
    """What earlier passes have found, shared by a source and all that is derived from it."""

    stamps: dict[Path, tuple[int, ...]]  # of every file when it was opened
    finite: set[int] = field(default_factory=set)  # batches without NaN and infinity
    kept: dict[tuple[Part, ...], dict[int, np.ndarray]] = field(default_factory=dict)  # rows of a part, batch by batch, as bits
    sizes: dict[tuple[Part, ...], tuple[int, float]] = field(default_factory=dict)  # of a part


@dataclass(frozen=True, eq=False)
class ParquetSamples(HostStream):
    """Rows of Parquet files, read again in every pass."""

    files: tuple[Path, ...]
    features: tuple[str, ...]
    target: str | tuple[str, ...]
    weight: str | None
    arithmetic: np.dtype[Any]
    seen: Seen

    @property
    def d(self) -> int:
        return len(self.features)

    @property
    def n_outputs(self) -> int | None:
        return None if isinstance(self.target, str) else len(self.target)

    @property
    def dtype(self) -> Any:
        return self.arithmetic

    @cached_property
    def file_rows(self) -> tuple[int, ...]:
        return tuple(_metadata(file).num_rows for file in self.files)

    @property
    def sized(self) -> bool:
        return self.parts in self.seen.sizes or not (self.parts or self.weight)

    @cached_property
    def _sizes(self) -> tuple[int, float]:
        if self.parts not in self.seen.sizes:
            self.seen.sizes[self.parts] = self._counted()
        return self.seen.sizes[self.parts]

    def _counted(self) -> tuple[int, float]:
        if self.weight is not None:
            return super()._sizes
        rows = sum(len(chosen) for _, chosen in self._chosen()) if self.parts else sum(self.file_rows)
        return rows, float(rows)

    def fold(self, statistic: Statistic) -> Sums:
        """Half of the cores is left to the reader: products on all of them would wait for each other."""
        with limited(max(1, _arrow()[0].cpu_count() // 2)):
            return super().fold(statistic)

    def read(self, rows: int) -> Iterator[Block]:
        for _, batch in self._batches():
            yield from self._blocks(batch, [slice(i, j) for i, j in row_ranges(len(batch.y), rows)])

    def persist(self) -> Samples:
        """The rows in memory, if that is small: none is read where it cannot be, and reading ends where it proves not to be."""
        blocks: list[Block] = []
        row, size = 8 * (self.d + 1 + (self.n_outputs or 1)), 0
        share = math.prod(part.high - part.low for part in self.parts)
        if row * (self.n if self.sized else share * sum(self.file_rows) / 2) > LIMITS.persist_bytes:
            return self
        for block in self._mapped(self._rows(self.d)):
            blocks.append(with_keys(block))
            size += row * len(block.y)
            if size > LIMITS.persist_bytes:
                return self
        if not size:
            return self
        w = None if self.weight is None else np.concatenate([b.w for b in blocks])
        X, y, keys = (np.concatenate(list(v)) for v in zip(*((b.X, b.y, b.key) for b in blocks), strict=True))
        return ArraySamples(X, y, w, self.arithmetic, hashed=keys, columns=self.columns)

    def _kept(self, rows: int) -> Iterator[Block]:
        if not self.parts:
            yield from self.read(rows)
            return
        for batch, chosen in self._chosen():
            yield from self._blocks(batch, [chosen[i:j] for i, j in row_ranges(len(chosen), rows)])

    def _chosen(self) -> Iterator[tuple[Batch, np.ndarray]]:
        """Batches and their rows that belong to all parts; which ones is hashed in the first pass and remembered as bits."""
        known = self.seen.kept.setdefault(self.parts, {})
        for number, batch in self._batches():
            if number not in known:
                known[number] = np.packbits(_belongs(batch, self.parts, self._rows(3 * self.d)))
            yield batch, np.flatnonzero(np.unpackbits(known[number], count=len(batch.y)))

    def _blocks(self, batch: Batch, ranges: Sequence[Rows]) -> Iterator[Block]:
        for rows in ranges:
            raw = batch.inputs(rows, self.arithmetic), batch.y[rows, ...]
            X, y = (v.astype(self.arithmetic, copy=False) for v in raw)
            w = None if batch.w is None else batch.w[rows].astype(self.arithmetic, copy=False)
            yield Block(X, y, w, partial(row_keys, *raw))

    def _batches(self) -> Iterator[tuple[int, Batch]]:
        """Numbered batches in order; a thread reads ahead of their use."""
        batches = enumerate(self._read_batches())
        with ThreadPoolExecutor(1, thread_name_prefix="weightlift-parquet") as pool:
            ahead = deque(pool.submit(next, batches, None) for _ in range(LIMITS.batches_ahead))
            try:
                while (found := ahead.popleft().result()) is not None:
                    ahead.append(pool.submit(next, batches, None))
                    number, batch = found
                    if number not in self.seen.finite:
                        self._check(batch, number)
                        self.seen.finite.add(number)
                    yield number, batch
                    del found, batch
            finally:
                pool.shutdown(cancel_futures=True)

    def _read_batches(self) -> Iterator[Batch]:
        pa, pq = _arrow()
        names = [*self.features, *target_names(self.target), *([self.weight] if self.weight else [])]
        size = max(1024, LIMITS.batch_bytes // (8 * len(names)))
        for file in self.files:
            self._check_unchanged(file)
            metadata = _metadata(file)
            counts = [metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)]
            piecewise = max(counts, default=0) > size
            try:
                with pq.ParquetFile(file, metadata=metadata, buffer_size=LIMITS.buffer_bytes if piecewise else 0) as opened:
                    if piecewise:
                        tables = opened.iter_batches(batch_size=size, columns=names)
                    else:
                        tables = (opened.read_row_groups(groups, columns=names) for groups in _together(counts, size))
                    for table in tables:
                        yield self._batch(pa, table, file)
            except (pa.ArrowException, OSError) as error:
                self._check_unchanged(file)
                raise FileFormatError(f"{file} cannot be read ({error}); write it again.") from error
            self._check_unchanged(file)

    def _check_unchanged(self, file: Path) -> None:
        """Passes need the same rows: a file that was written to since it was opened is refused."""
        if _stamp(file) != self.seen.stamps[file]:
            raise FileFormatError(f"{file} has changed since it was opened; open it again, and leave it alone meanwhile.")

    def _batch(self, pa: Any, table: Any, file: Path) -> Batch:
        values = {}
        for name in table.schema.names:
            column = table.column(name)
            if column.null_count:
                raise NotFiniteError(f"column {name!r} of {file} holds nulls; drop or impute those rows.")
            if column.type not in (pa.float32(), pa.float64()):
                column = column.cast(pa.float64(), safe=False)
            values[name] = _flat(pa, column).to_numpy()
        y = values[self.target] if isinstance(self.target, str) else np.stack([values[t] for t in self.target]).T
        return Batch(tuple(values[f] for f in self.features), y, values.get(self.weight or ""))

    def _check(self, batch: Batch, number: int) -> None:
        """A sum is finite only where all its terms are; only the others are looked at one by one."""
        names = (*self.features, *target_names(self.target), self.weight)
        targets = (batch.y,) if batch.y.ndim == 1 else batch.y.T
        for name, values in zip(names, (*batch.x, *targets, batch.w), strict=True):
            with np.errstate(over="ignore", invalid="ignore"):
                if values is None or np.isfinite(values.sum(dtype=np.float64)) or np.isfinite(values).all():
                    continue
            raise NotFiniteError(f"column {name!r} holds NaN or infinity (batch {number}); drop or impute those rows.")
        if batch.w is not None and (batch.w < 0).any():
            raise ArgumentError(f"column {self.weight!r} holds negative weights; they must be ≥ 0.")


def _belongs(batch: Batch, parts: tuple[Part, ...], step: int) -> np.ndarray:
    """(m,) whether a row belongs to every part."""
    keep = np.empty(len(batch.y), dtype=bool)
    for i, j in row_ranges(len(batch.y), step):
        keys = row_keys(batch.inputs(slice(i, j), np.dtype(np.float64)), batch.y[i:j, ...])
        keep[i:j] = np.logical_and.reduce([part.holds(keys) for part in parts])
    return keep


def _together(counts: Sequence[int], size: int) -> Iterator[list[int]]:
    """Consecutive row groups of at most `size` rows in all."""
    groups: list[int] = []
    held = 0
    for number, count in enumerate(counts):
        if groups and held + count > size:
            yield groups
            groups, held = [], 0
        groups.append(number)
        held += count
    if groups:
        yield groups


def _flat(pa: Any, column: Any) -> Any:
    """One array, without a copy where it is one already."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ArgumentError("reading Parquet needs pyarrow; pip install 'weightlift[parquet]'.") from error
    return pyarrow, pyarrow.parquet


def _files(path: Path) -> tuple[Path, ...]:
    """The file, or those of a folder and its subfolders by name; hidden ones and those of other tools (_…) are left out."""
    if path.is_file():
        return (path,)
    if not path.is_dir():
        raise ArgumentError(f"path {str(path)!r} does not exist; name a file or a folder.")
    inside = (file for file in path.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file())
    files = [f for f in inside if not any(part[0] in "._" for part in f.relative_to(path).parts)]
    if not files:
        raise ArgumentError(f"the folder {str(path)!r} must hold files that end in {', '.join(SUFFIXES)}.")
    return tuple(sorted(files, key=lambda f: f.relative_to(path).parts))


def _stamp(file: Path) -> tuple[int, ...]:
    """What changes with the file's content: its size, the time of its last change, its place on the disk."""
    try:
        found = file.stat()
    except OSError as error:
        raise FileFormatError(f"{file} is gone ({error.strerror}); open the folder again.") from error
    return found.st_size, found.st_mtime_ns, found.st_ino


def _metadata(file: Path) -> Any:
    pa, pq = _arrow()
    try:
        return pq.read_metadata(file)
    except (pa.ArrowException, OSError) as error:
        raise FileFormatError(f"{file} is not a Parquet file, or is truncated; write it again ({error}).") from error


def _schema(file: Path) -> dict[str, Any]:
    """Column names and their types."""
    schema = _metadata(file).schema.to_arrow_schema()
    return dict(zip(schema.names, schema.types, strict=True))


def _numeric(file: Path, schema: dict[str, Any], needed: Sequence[str]) -> dict[str, Any]:
    """The needed columns and their types, all of them numbers."""
    pa, _ = _arrow()
    for name in needed:
        if name not in schema:
            raise ArgumentError(f"{file} has no column {name!r}; it has {', '.join(map(repr, schema))}.")
        kind = schema[name]
        if not (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
            raise ArgumentError(f"column {name!r} of {file} holds {kind} values; name the numeric features, or convert it.")
    return {name: schema[name] for name in needed}


def _check_schema(file: Path, expected: dict[str, Any], first: Path, *, exactly: set[str] | None) -> None:
    """Files agree in columns and types, and hold no nulls as far as their statistics say."""
    metadata = _metadata(file)
    schema = _schema(file)
    if exactly is not None and set(schema) != exactly:
        odd = ", ".join(map(repr, sorted(set(schema) ^ exactly)))
        raise ArgumentError(f"{file} and {first} do not have the same columns ({odd}); name the features.")
    for name, kind in expected.items():
        if name not in schema:
            raise ArgumentError(f"{file} has no column {name!r}, which {first} has; write them alike.")
        if schema[name] != kind:
            raise ArgumentError(f"column {name!r} is {schema[name]} in {file} and {kind} in {first}; write them alike.")
    _check_nulls(file, metadata, expected)


def _check_nulls(file: Path, metadata: Any, expected: dict[str, Any]) -> None:
    places = {metadata.schema.column(j).path: j for j in range(len(metadata.schema))}
    for group in range(metadata.num_row_groups):
        for name in expected:
            statistics = metadata.row_group(group).column(places[name]).statistics
            if statistics is not None and statistics.has_null_count and statistics.null_count:
                count = f"{statistics.null_count} nulls (row group {group})"
                raise NotFiniteError(f"column {name!r} of {file} holds {count}; drop or impute those rows.")
