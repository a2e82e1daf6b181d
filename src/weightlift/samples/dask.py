"""Rows of a Dask collection, on local threads or on a cluster: statistics go to the rows, small matrices come back.

Fold      every chunk is folded where it lies, and the sums are merged eight at a time in the order of the chunks: a fixed tree,
          so that the same chunks give the same bits wherever and whenever they are computed.
Travel    out: the statistic with its parameters; back: the merged sums. A cluster keeps the rows in its memory between passes,
          from the first one on; a part of at most 1/200 of the rows is brought here by `persist`, where it is smaller than what
          would travel to it. Threads of this process read the collection again until `persist`.
Loss      chunks of a worker that dies are recomputed from the collection's graph by the scheduler, and the pass goes on.
          Without a worker or a scheduler for forty seconds, the pass ends in a `ClusterError`.
Needs     whole rows: known chunk sizes and a single chunk of columns.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np

from weightlift.errors import ArgumentError, ClusterError, ShapeError, TooFewRowsError, WeightliftError
from weightlift.namespaces import Array, array_namespace, is_array, to_numpy
from weightlift.network import Network
from weightlift.samples.arrays import ArraySamples, check_arithmetic, from_arrays
from weightlift.samples.columns import Columns
from weightlift.samples.keys import intervals
from weightlift.samples.limits import LIMITS
from weightlift.samples.protocol import Block, Map, Samples, Statistic, Sums, feature_names, target_names
from weightlift.samples.stream import HostStream, Part, finished, merge_of


def open(
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    target: str | Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    weight: str | None = None,
    dtype: str = "float64",
    client: Any = None,
) -> DaskSamples:
    """A source from Dask arrays X (n, d), y (n,) or (n, outputs), from frames and series, or from one frame by column names.

    client: a `distributed.Client`; None uses the current one, and where there is none, Dask's scheduler of this process.
    """
    check_arithmetic(dtype)
    if target is not None:
        chunks, d = _frame_chunks(X, y, sample_weight, target, features, weight)
        outputs, targets = None if isinstance(target, str) else len(target), target_names(target)
        inputs = features or [name for name in X.columns if name not in (*targets, weight)]
        columns = Columns(tuple(map(str, inputs)), targets)
    else:
        chunks, d = _chunks(X, y, sample_weight)
        columns = Columns.of(X, y)
        outputs = None if y.ndim == 1 else len(y.columns) if _is_frame(y) else int(y.shape[1])
    from dask import delayed

    make = delayed(_piece, pure=False)
    pieces = tuple(make(number, dtype, *chunk) for number, chunk in enumerate(chunks))
    client = _client(client)
    kept = pieces if client is None else tuple(client.persist(list(pieces)))
    source = DaskSamples(kept, d, np.dtype(dtype), client, outputs=outputs, columns=columns)
    if source.n < 2:
        raise TooFewRowsError(f"X has {source.n} rows; at least two are needed.")
    if not source.total > 0:
        raise ArgumentError("sample_weight is zero on every row; give at least one row weight.")
    return source


def is_collection(X: object) -> bool:
    """Whether X is a Dask array, frame or series, found out without loading Dask."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed") and hasattr(X, "ndim")


def predict(network: Network, X: Any) -> Any:
    """The network's values on a Dask array or frame, as a lazy array or series of the same chunks."""
    if not is_collection(X):
        raise ArgumentError(f"X must be a Dask array or data frame, not {type(X).__name__}.")
    several = network.a.ndim == 2
    if _is_frame(X):
        names = [f"prediction {i}" for i in range(network.n_outputs)]
        meta: Any = dict.fromkeys(names, "f8") if several else ("prediction", "f8")
        return X.map_partitions(_predict_frame, network, meta=meta)
    _check_columns("X", X)
    if several:
        return X.map_blocks(network.predict, chunks=(X.chunks[0], (network.n_outputs,)), dtype=np.float64)
    return X.map_blocks(network.predict, drop_axis=1, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class DaskSamples(HostStream):
    """Pieces, each an array source on the worker that computes it, in the order of the rows."""

    pieces: tuple[Any, ...]  # delayed ArraySamples
    inputs: int
    arithmetic: np.dtype[Any]
    client: Any = None
    origin: int | None = None  # rows of the collection that a part was taken from
    outputs: int | None = None  # columns of y; None where y is (n,)

    @property
    def d(self) -> int:
        return self.inputs

    @property
    def n_outputs(self) -> int | None:
        return self.outputs

    @property
    def dtype(self) -> Any:
        return self.arithmetic

    @cached_property
    def _sizes(self) -> tuple[int, float]:
        rows, total = self._reduce(_Task(_Sizes(), self.parts, ())) or (0, 0.0)
        return int(rows), float(total)

    def fold(self, statistic: Statistic) -> Sums:
        sums: Sums | None = self._reduce(_Task(statistic, self.parts, self.maps))
        if sums is None:
            raise TooFewRowsError("the data have no rows; nothing can be averaged.")
        return sums

    def split(self, *fractions: float, seed: int) -> tuple[DaskSamples, ...]:
        whole = replace(self, origin=self.n if self.origin is None else self.origin)
        parts = (Part(seed, low, high) for low, high in intervals(fractions))
        return tuple(replace(whole, parts=(*self.parts, part)) for part in parts)

    def persist(self) -> Samples:
        if not (self.parts or self.maps) and self.origin is not None:
            return self
        from dask import delayed

        origin = self.n if self.origin is None else self.origin
        task = delayed(_Task(None, self.parts, self.maps), traverse=False, pure=False)
        keep = delayed(_resident, pure=False)
        resident = tuple(keep(piece, task) for piece in self.pieces)
        if self.n <= LIMITS.brought_here * origin:
            return _joined(self._compute(delayed(_arrays, pure=False)(list(resident))), self)
        kept = replace(self, pieces=self._persisted(resident), origin=origin, parts=(), maps=())
        kept.__dict__["_sizes"] = self._sizes
        return kept

    def read(self, rows: int) -> Iterator[Block]:
        """Blocks for those who need rows in order, piece after piece; the parts and maps are applied here."""
        for piece in self.pieces:
            yield from self._compute(piece).read(rows)

    def _reduce(self, task: _Task) -> Any:
        """The task on every piece, merged in a tree of fixed shape; only the root is fetched."""
        from dask import delayed

        given = delayed(task, traverse=False, pure=False)
        fold, merge = delayed(_fold, pure=False), delayed(_merge, pure=False)
        sums = [fold(piece, given) for piece in self.pieces]
        while True:
            sums = [merge(given, *sums[i : i + LIMITS.fan_in]) for i in range(0, len(sums), LIMITS.fan_in)]
            if len(sums) == 1:
                return self._compute(delayed(_finish, pure=False)(given, sums[0]))

    def _compute(self, value: Any) -> Any:
        if self.client is None:
            return value.compute()
        if self.client.status == "closed":
            raise ClusterError("the client of the cluster is closed; connect again and open the collection anew.")
        return _patiently(self.client, self.client.compute(value))

    def _persisted(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        from dask import persist

        return tuple(persist(*values) if self.client is None else self.client.persist(list(values)))


@dataclass(frozen=True, eq=False)
class _Task:
    """What travels to the rows."""

    statistic: Any
    parts: tuple[Part, ...]
    maps: tuple[Map, ...]

    def rows(self, piece: ArraySamples) -> ArraySamples:
        """The piece's rows that belong to the parts, seen through the maps."""
        return replace(reduce(ArraySamples.part, self.parts, piece), maps=(*piece.maps, *self.maps))


@dataclass(frozen=True)
class _Sizes:
    """Rows and their weight."""

    floats_per_row: int = 1

    def __call__(self, block: Block) -> Sums:
        xp = array_namespace(block.X)
        rows = xp.sum(xp.ones_like(block.X[:, 0]), dtype=xp.float64)
        return rows, rows if block.w is None else xp.sum(block.w, dtype=xp.float64)


def _piece(number: int, dtype: str, X: Any, y: Any, w: Any = None, names: Any = None) -> ArraySamples:
    """A chunk, checked, as a source; runs on a worker, as do the functions below down to `_arrays`."""
    if names is not None:
        features, target, weight = names
        target = target if isinstance(target, str) else list(target)
        X, y, w = X[list(features)], X[target], None if weight is None else X[weight]
    X, y, w = (_array(name, v) for name, v in (("X", X), ("y", y), ("sample_weight", w)))
    try:
        return from_arrays(X, y, sample_weight=w, dtype=dtype, least_rows=0)
    except WeightliftError as error:
        raise type(error)(f"chunk {number}: {error}") from None


def _array(name: str, values: Any) -> Array:
    if values is None or is_array(values):
        return values
    try:
        return values.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{name} must hold numbers ({error}).") from None


def _fold(piece: ArraySamples, task: _Task) -> Sums | None:
    rows = task.rows(piece)
    return tuple(to_numpy(s) for s in rows.fold(_Unfinished(task.statistic))) if rows.n else None


@dataclass(frozen=True, eq=False)
class _Unfinished:
    """A statistic whose totals are still to be merged with those of other chunks."""

    statistic: Statistic

    @property
    def floats_per_row(self) -> int:
        return self.statistic.floats_per_row

    def __call__(self, block: Block) -> Sums:
        return self.statistic(block)

    def merge(self, left: Sums, right: Sums) -> Sums:
        return merge_of(self.statistic)(left, right)


def _merge(task: _Task, *sums: Sums | None) -> Sums | None:
    found = [s for s in sums if s is not None]
    return reduce(merge_of(task.statistic), found) if found else None


def _finish(task: _Task, sums: Sums | None) -> Sums | None:
    return None if sums is None else finished(task.statistic, sums)


def _resident(piece: ArraySamples, task: _Task) -> ArraySamples:
    return task.rows(piece).persist()


def _arrays(pieces: list[ArraySamples]) -> list[tuple[Array, ...]]:
    """What is needed to go on elsewhere: rows, weights, and the keys of the raw rows."""
    return [tuple(None if v is None else to_numpy(v) for v in (p.X, p.y, p.w, p._all_keys)) for p in pieces if p.n]


def _predict_frame(frame: Any, network: Network) -> Any:
    import pandas

    values = network.predict(_array("X", frame))
    if values.ndim == 1:
        return pandas.Series(values, index=frame.index, name="prediction")
    return pandas.DataFrame(values, index=frame.index, columns=[f"prediction {i}" for i in range(values.shape[1])])


def _joined(chunks: list[tuple[Array, ...]], source: DaskSamples) -> Samples:
    if not chunks:
        return source
    X, y, w, keys = (None if column[0] is None else np.concatenate(column) for column in zip(*chunks, strict=True))
    return ArraySamples(X, y, w, source.arithmetic, hashed=keys, columns=source.columns)


def _chunks(X: Any, y: Any, sample_weight: Any) -> tuple[list[tuple[Any, ...]], int]:
    """(X, y, w) chunk by chunk, delayed, and the number of inputs."""
    if y is None:
        raise ArgumentError("y is missing; pass targets chunked like X, or the name of a frame's column as target=….")
    given = {"X": X, "y": y, **({} if sample_weight is None else {"sample_weight": sample_weight})}
    for name, values in given.items():
        if not is_collection(values):
            how = f"{name} = dask.array.from_array({name}, chunks=X.chunks[0])"
            raise ArgumentError(f"{name} is a {type(values).__name__} and X a Dask collection; bring it there: {how}.")
        axes, words = {"X": ((2,), "two axes"), "y": ((1, 2), "one or two axes")}.get(name, ((1,), "one axis"))
        if values.ndim not in axes:
            raise ShapeError(f"{name} must have {words}, not {values.ndim}.")
    if _is_frame(X):
        return _partitions(given), len(X.columns)
    for name, values in given.items():
        if _is_frame(values):
            raise ArgumentError(f"{name} is a series and X an array; convert it: {name} = {name}.to_dask_array(lengths=True).")
        _check_columns(name, values)
        if values.shape[0] != X.shape[0]:
            raise ShapeError(f"{name} has {values.shape[0]} rows and X {X.shape[0]}; they must agree.")
    alike = [v if v.chunks[0] == X.chunks[0] else v.rechunk({0: X.chunks[0]}) for v in given.values()]
    return list(zip(*(v.to_delayed().ravel() for v in alike), strict=True)), int(X.shape[1])


def _partitions(given: dict[str, Any]) -> list[tuple[Any, ...]]:
    columns = [values.to_delayed() for values in given.values()]
    counts = {name: len(c) for name, c in zip(given, columns, strict=True)}
    if len(set(counts.values())) > 1:
        raise ShapeError(f"X, y and sample_weight must be partitioned alike, not {counts}; take them from one frame.")
    return list(zip(*columns, strict=True))


def _frame_chunks(
    frame: Any, y: Any, sample_weight: Any, target: str | Sequence[str], features: Sequence[str] | None, weight: str | None
) -> tuple[list[tuple[Any, ...]], int]:
    if not _is_frame(frame) or y is not None or sample_weight is not None:
        raise ArgumentError("target names a column of a data frame; pass the frame as X, without y and sample_weight.")
    targets = target_names(target)
    chosen = feature_names(frame.columns, target, features, weight)
    missing = [c for c in (*chosen, *targets, weight) if c is not None and c not in frame.columns]
    if missing:
        raise ArgumentError(f"the frame has no column {missing[0]!r}; it has the columns {list(frame.columns)}.")
    names = (chosen, target, weight)
    wanted = frame[[*chosen, *targets, *([weight] if weight else [])]]
    return [(chunk, None, None, names) for chunk in wanted.to_delayed()], len(chosen)


def _check_columns(name: str, values: Any) -> None:
    """Known sizes, whole rows."""
    if any(np.isnan(size) for axis in values.chunks for size in axis):
        raise ArgumentError(f"{name} has chunks of unknown size; find them out first: {name} = {name}.compute_chunk_sizes().")
    if values.ndim == 2 and len(values.chunks[1]) > 1:
        raise ArgumentError(f"{name} is chunked along its columns; join them first: {name} = {name}.rechunk({{1: -1}}).")


def _is_frame(X: object) -> bool:
    return is_collection(X) and not hasattr(X, "chunks")


def _client(client: Any) -> Any:
    """The one given, or the current one of a process that has loaded `distributed`."""
    distributed = sys.modules.get("distributed")
    if client is not None or distributed is None:
        return client
    try:
        return distributed.get_client()
    except ValueError:
        return None


def _patiently(client: Any, future: Any) -> Any:
    """The future's result, unless the cluster is gone."""
    from distributed import CancelledError, KilledWorker, wait
    from distributed.comm import CommClosedError

    alive = time.monotonic()
    while True:
        try:
            with client.as_current():
                wait(future, timeout=LIMITS.look_every)
            return future.result(timeout=LIMITS.patience)
        except TimeoutError as error:
            alive = time.monotonic() if _has_workers(client) else alive
            if time.monotonic() - alive > LIMITS.patience:
                raise ClusterError(f"the cluster has had no worker for {LIMITS.patience:.0f} s; start it again.") from error
        except (CancelledError, KilledWorker, CommClosedError) as error:
            raise ClusterError(f"the cluster gave the computation up ({error}); see to its workers and start again.") from error


def _has_workers(client: Any) -> bool:
    return client.status == "running" and bool(client.scheduler_info().get("workers"))
