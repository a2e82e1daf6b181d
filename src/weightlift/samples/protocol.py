"""The one door for data: blocks of rows, statistics over them, sources that fold statistics.

Every algorithm of this package sees data through averages E[g(x, y)] alone. A `Statistic` maps a block of rows to
weighted sums; a `Samples` folds it over its rows, wherever they live.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from weightlift.errors import ArgumentError, ShapeError
from weightlift.namespaces import Array, Namespace

Sums = tuple[Array, ...]


def check_source(samples: Any) -> None:
    """ArgumentError for rows that were not opened: arrays, files, networks."""
    if isinstance(samples, type) or not hasattr(samples, "fold"):
        raise ArgumentError(f"samples must be rows as samples.open gives them, not {type(samples).__name__}.")


def refuse_several(y: Array) -> None:
    """ShapeError for targets of several columns, where an algorithm is for one."""
    if y.ndim != 1:
        raise ShapeError(f"y has {y.shape[1]} columns; this stage is for one target: pass one column, y[:, i].")


@dataclass(frozen=True, eq=False)
class Block:
    """Rows beside each other on the source's device: the only form in which data are seen."""

    X: Array  # (m, d)
    y: Array  # (m,), or (m, outputs)
    w: Array | None  # (m,) weights ≥ 0; None means ones
    keys: Callable[[], Array]  # hashes the raw rows when asked

    @property
    def key(self) -> Array:
        """(m,) int64 hash of the raw row."""
        return self.keys()

    @property
    def wy(self) -> Array:
        """(m,) weighted targets, where there is one a row."""
        refuse_several(self.y)
        return self.y if self.w is None else self.w * self.y


def target_names(target: str | Sequence[str]) -> tuple[str, ...]:
    """The names of the target columns, one or several, none twice."""
    names = (target,) if isinstance(target, str) else tuple(target)
    if not names or len(set(names)) < len(names):
        raise ArgumentError(f"target must name at least one column, none of them twice, not {list(names)}.")
    return names


def feature_names(
    columns: Iterable[Any], target: str | Sequence[str], features: Sequence[str] | None, weight: str | None
) -> tuple[Any, ...]:
    """The names of the inputs: those given, or all columns but target and weight; no column has two roles."""
    if isinstance(features, str):
        raise ArgumentError(f"features must be a list of names, not the text {features!r}; pass [{features!r}].")
    targets = target_names(target)
    if weight is not None and weight in targets:
        raise ArgumentError(f"weight names the target, {weight!r}; name the column of weights, or None.")
    taken = (*targets, weight)
    chosen = tuple(c for c in columns if c not in taken) if features is None else tuple(features)
    if not chosen or len(set(chosen)) < len(chosen) or set(taken) & set(chosen):
        found = f"none of them twice, the target or the weight, not {list(chosen)}"
        raise ArgumentError(f"features must name at least one column, {found}.")
    return chosen


@runtime_checkable
class Statistic(Protocol):
    """Pure and picklable: parameters in, sums out; no host scalars, no in-place writes.

    Optional methods: `merge(left, right)`, an associative merge instead of +; `finish(sums)`, applied once to the totals, where
    the rows live, before they travel; `expectation(network)`, the exact value of the mean under x ~ N(0, I), y = network(x).
    """

    @property
    def floats_per_row(self) -> int:
        """Temporaries a row needs beside the row itself; the source sizes its blocks by it."""
        ...

    def __call__(self, block: Block) -> Sums:
        """Σ w g(x, y) over the block, possibly with a batch axis of starts."""
        ...


Map = Callable[[Block], Block]
"""A pure, picklable change of rows. With a method `on_network(network)` it also applies to the population source."""


class Samples(Protocol):
    """Rows (x, y, w), wherever they live."""

    @property
    def n(self) -> float: ...  # rows; infinite for a population
    @property
    def d(self) -> int: ...
    @property
    def n_outputs(self) -> int | None: ...  # columns of y; None where y is (n,)
    @property
    def total(self) -> float: ...  # Σ w
    @property
    def xp(self) -> Namespace: ...
    @property
    def device(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...

    def fold(self, statistic: Statistic) -> Sums:
        """Totals of the statistic, in fixed order: the same source gives the same bits."""
        ...

    def mean(self, statistic: Statistic) -> Sums:
        """fold / total.

        statistic  from a block to weighted sums
        """
        ...

    def split(self, *fractions: float, seed: int) -> tuple[Samples, ...]:
        """Parts by the rows' keys: duplicates stay together, whatever the order and the source.

        fractions  of the rows, one a part; they may leave a rest
        seed       of the uniform numbers that decide
        """
        ...

    def map(self, f: Map) -> Samples:
        """Lazy change of rows (whitening, residual targets, projection, random signs).

        f  from a block of rows to a block of rows
        """
        ...

    def persist(self) -> Samples:
        """Evaluate the maps once, where the data live."""
        ...

    def blocks(self, rows: int, *, start: int = 0) -> Iterator[Block]:
        """Row blocks of exactly `rows` rows (the last may be shorter), in order, from row `start` on."""
        ...
