"""Rows in Parquet, a file or a folder larger than memory, streamed in the order of their files and row groups.

Reading   batches of about 16 MiB, a few of them ahead of the arithmetic on a thread of their own; columns stay columns, so that
          a block costs one copy. Row groups of any size: the large ones are decoded piece by piece.
Memory    O(batch), and one bit a row for each part of a split: a part's rows are found by their keys in its first pass.
Checks    columns and types when opened, in every file; nulls where the file's statistics tell, else, like NaN and infinity, in
          the first pass that meets them.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from weightlift.errors import ArgumentError, FileFormatError, NotFiniteError, TooFewRowsError
from weightlift.namespaces import row_ranges
from weightlift.samples.arrays import ArraySamples
from weightlift.samples.keys import row_keys
from weightlift.samples.protocol import Block, Samples
from weightlift.samples.stream import HostStream, Part

BATCH_BYTES = 2**24
BATCHES_AHEAD = 3
LARGE_ROW_GROUP = 2**26  # bytes beyond which a row group is decoded piece by piece
PIECE_BYTES = 2**20
PERSIST_BYTES = 2**26  # a part up to this size is kept in memory by `persist`; a larger one stays in its files
SUFFIXES = (".parquet", ".pq", ".parq")

Columns = tuple[np.ndarray, np.ndarray, np.ndarray | None]  # X (m, d), y (m,), w (m,)


def open(
    path: str | os.PathLike[str],
    *,
    target: str,
    features: Sequence[str] | None = None,
    weight: str | None = None,
    dtype: str = "float64",
) -> ParquetSamples:
    """A source from a Parquet file, or from all of a folder, by the names of its columns.

    features: the inputs in their order; None takes every column but target and weight, in the order of the first file.
    """
    _arrow()
    files = _files(Path(path))
    schema = _schema(files[0])
    chosen = tuple(n for n in schema if n not in (target, weight)) if features is None else tuple(features)
    if not chosen or len(set(chosen)) < len(chosen) or target in chosen:
        raise ArgumentError(f"features must name at least one column, none of them twice or the target, not {list(chosen)}.")
    if dtype not in {"float32", "float64"}:
        raise ArgumentError(f"dtype must be 'float64' or 'float32', not {dtype!r}.")
    needed = (*chosen, target, *([weight] if weight else []))
    expected = _numeric(files[0], schema, needed)
    for file in files:
        _check_schema(file, expected, files[0], exactly=set(schema) if features is None else None)
    source = ParquetSamples(files, chosen, target, weight, np.dtype(dtype))
    if sum(source.file_rows) < 2:
        raise TooFewRowsError(f"{path} has {sum(source.file_rows)} rows; at least two are needed.")
    return source


@dataclass
class Seen:
    """What earlier passes have found, shared by a source and all that is derived from it."""

    finite: set[int] = field(default_factory=set)  # batches without NaN and infinity
    kept: dict[tuple[Any, ...], dict[int, np.ndarray]] = field(default_factory=dict)  # rows of a part, batch by batch, as bits


@dataclass(frozen=True, eq=False)
class ParquetSamples(HostStream):
    """Rows of Parquet files, read again in every pass."""

    files: tuple[Path, ...]
    features: tuple[str, ...]
    target: str
    weight: str | None
    arithmetic: np.dtype[Any]
    seen: Seen = field(default_factory=Seen)

    @property
    def d(self) -> int:
        return len(self.features)

    @property
    def dtype(self) -> Any:
        return self.arithmetic

    @cached_property
    def file_rows(self) -> tuple[int, ...]:
        return tuple(_metadata(file).num_rows for file in self.files)

    @cached_property
    def _sizes(self) -> tuple[int, float]:
        if self.parts or self.weight is not None:
            return super()._sizes
        return sum(self.file_rows), float(sum(self.file_rows))

    def read(self, rows: int) -> Iterator[Block]:
        for _, columns in self._batches():
            yield from self._cut(columns, rows)

    def persist(self) -> Samples:
        if 8 * self.n * (self.d + 2) > PERSIST_BYTES or self.n == 0:
            return self
        blocks = list(self._mapped(self._rows(self.d)))
        w = None if self.weight is None else np.concatenate([b.w for b in blocks])
        X, y, keys = (np.concatenate(list(v)) for v in zip(*((b.X, b.y, b.key) for b in blocks), strict=True))
        return ArraySamples(X, y, w, self.arithmetic, hashed=keys)

    def _kept(self, rows: int) -> Iterator[Block]:
        """Blocks of the rows that belong to all parts; which ones is hashed in the first pass and remembered as bits."""
        if not self.parts:
            yield from self.read(rows)
            return
        known = self.seen.kept.setdefault(tuple((p.seed, p.low, p.high) for p in self.parts), {})
        for number, columns in self._batches():
            X, y, w = columns
            if number not in known:
                known[number] = np.packbits(_belongs(X, y, self.parts, self._rows(3 * self.d)))
            chosen = np.flatnonzero(np.unpackbits(known[number], count=len(y)))
            kept = np.take(X.T, chosen, axis=1).T
            yield from self._cut((kept, y[chosen], None if w is None else w[chosen]), rows)

    def _cut(self, columns: Columns, rows: int) -> Iterator[Block]:
        X, y, w = columns
        for i, j in row_ranges(len(y), rows):
            raw = X[i:j], y[i:j]
            weights = None if w is None else w[i:j].astype(self.arithmetic, copy=False)
            block, target = (v.astype(self.arithmetic, copy=False) for v in raw)
            yield Block(block, target, weights, lambda raw=raw: row_keys(*raw))  # type: ignore[misc]

    def _batches(self) -> Iterator[tuple[int, Columns]]:
        """Numbered batches in order; a thread reads ahead of their use."""
        batches = enumerate(self._read_batches())
        with ThreadPoolExecutor(1, thread_name_prefix="weightlift-parquet") as pool:
            ahead = deque(pool.submit(next, batches, None) for _ in range(BATCHES_AHEAD))
            try:
                while (found := ahead.popleft().result()) is not None:
                    ahead.append(pool.submit(next, batches, None))
                    number, columns = found
                    if number not in self.seen.finite:
                        self._check(columns, number)
                        self.seen.finite.add(number)
                    yield number, columns
                    del found, columns
            finally:
                pool.shutdown(cancel_futures=True)

    def _read_batches(self) -> Iterator[Columns]:
        pa, pq = _arrow()
        names = [*self.features, self.target, *([self.weight] if self.weight else [])]
        size = max(1024, BATCH_BYTES // (8 * len(names)))
        for file in self.files:
            metadata = _metadata(file)
            largest = max((metadata.row_group(g).total_byte_size for g in range(metadata.num_row_groups)), default=0)
            piece = PIECE_BYTES if largest > LARGE_ROW_GROUP else 0
            try:
                with pq.ParquetFile(file, metadata=metadata, pre_buffer=False, buffer_size=piece) as opened:
                    for batch in opened.iter_batches(batch_size=size, columns=names):
                        yield self._columns(pa, batch, file)
            except (pa.ArrowException, OSError) as error:
                raise FileFormatError(f"{file} cannot be read ({error}); write it again.") from error

    def _columns(self, pa: Any, batch: Any, file: Path) -> Columns:
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if column.null_count:
                raise NotFiniteError(f"column {name!r} of {file} holds nulls; drop or impute those rows.")
        types = {batch.schema.field(name).type for name in self.features}
        inputs = batch.select(list(self.features))
        if len(types) > 1 or not types <= {pa.float32(), pa.float64()}:
            schema = pa.schema([(name, pa.float64()) for name in self.features])
            inputs = pa.RecordBatch.from_arrays([_double(pa, c) for c in inputs.columns], schema=schema)
        X = inputs.to_tensor(row_major=False).to_numpy()
        y = _double(pa, batch.column(self.target)).to_numpy()
        w = None if self.weight is None else _double(pa, batch.column(self.weight)).to_numpy()
        return X, y, w

    def _check(self, columns: Columns, number: int) -> None:
        """A sum is finite only where all its terms are; only the others are looked at one by one."""
        for name, values in zip((self.features, self.target, self.weight), columns, strict=True):
            with np.errstate(over="ignore", invalid="ignore"):
                if values is None or np.isfinite(values.sum(dtype=np.float64)) or np.isfinite(values).all():
                    continue
            which = name if isinstance(name, str) else self.features[int(np.flatnonzero(~np.isfinite(values).all(axis=0))[0])]
            raise NotFiniteError(f"column {which!r} holds NaN or infinity (batch {number}); drop or impute those rows.")
        w = columns[2]
        if w is not None and (w < 0).any():
            raise ArgumentError(f"column {self.weight!r} holds negative weights; they must be ≥ 0.")


def _belongs(X: np.ndarray, y: np.ndarray, parts: tuple[Part, ...], step: int) -> np.ndarray:
    """(m,) whether a row belongs to every part."""
    keep = np.empty(len(y), dtype=bool)
    for i, j in row_ranges(len(y), step):
        keys = row_keys(np.ascontiguousarray(X[i:j]), y[i:j])
        keep[i:j] = np.logical_and.reduce([part.holds(keys) for part in parts])
    return keep


def _double(pa: Any, column: Any) -> Any:
    return column if column.type in (pa.float32(), pa.float64()) else column.cast(pa.float64(), safe=False)


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ArgumentError("reading Parquet needs pyarrow: pip install 'weightlift[parquet]'.") from error
    return pyarrow, pyarrow.parquet


def _files(path: Path) -> tuple[Path, ...]:
    """The file, or those of a folder and its subfolders by name; hidden ones and those of other tools (_…) are left out."""
    if path.is_file():
        return (path,)
    if not path.is_dir():
        raise ArgumentError(f"path {str(path)!r} does not exist.")
    inside = (file for file in path.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file())
    files = [f for f in inside if not any(part[0] in "._" for part in f.relative_to(path).parts)]
    if not files:
        raise ArgumentError(f"the folder {str(path)!r} holds no file that ends in {', '.join(SUFFIXES)}.")
    return tuple(sorted(files, key=lambda f: f.relative_to(path).parts))


def _metadata(file: Path) -> Any:
    pa, pq = _arrow()
    try:
        return pq.read_metadata(file)
    except (pa.ArrowException, OSError) as error:
        raise FileFormatError(f"{file} is not a Parquet file, or is truncated ({error}).") from error


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
            raise ArgumentError(f"{file} has no column {name!r}, which {first} has.")
        if schema[name] != kind:
            raise ArgumentError(f"column {name!r} is {schema[name]} in {file} and {kind} in {first}; write them alike.")
    places = {metadata.schema.column(j).path: j for j in range(len(metadata.schema))}
    for group in range(metadata.num_row_groups):
        for name in expected:
            statistics = metadata.row_group(group).column(places[name]).statistics
            if statistics is not None and statistics.has_null_count and statistics.null_count:
                count = f"{statistics.null_count} nulls (row group {group})"
                raise NotFiniteError(f"column {name!r} of {file} holds {count}; drop or impute those rows.")
