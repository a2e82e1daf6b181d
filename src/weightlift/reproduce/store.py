"""Where the cells of a sweep are kept: one SQLite file, each cell under its key, every commit flushed to the disk.

A file without write-ahead log, so that it is whole whenever no process has it open, and may be copied. Results are JSON text,
in which a float survives to the last bit. Times are kept beside the results, never among them: a table depends on keys alone.
"""

from __future__ import annotations

import errno
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from weightlift.errors import ArgumentError, FileFormatError
from weightlift.reproduce.limits import LIMITS
from weightlift.reproduce.recipe import Cell, Row

APPLICATION, LAYOUT = 0x774C6674, 2  # "wLft"
SCHEMA = """
CREATE TABLE IF NOT EXISTS cells (
    key TEXT PRIMARY KEY, code TEXT NOT NULL, machine TEXT NOT NULL, point TEXT NOT NULL, trial INTEGER NOT NULL,
    seed INTEGER NOT NULL, result TEXT NOT NULL, seconds REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS runs (paper TEXT, figure TEXT, run TEXT NOT NULL, PRIMARY KEY (paper, figure)) WITHOUT ROWID;
"""


@dataclass(frozen=True)
class RunRecord:
    """How a figure's cells were last completed."""

    paper: str
    figure: str
    size: str
    seed: int
    trials: int | None  # None: the grid's
    machine: str  # those that made its cells, where a store was taken over
    date: str


class Store:
    """A file of cells and runs; a context manager that closes it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._db = sqlite3.connect(path, timeout=LIMITS.wait)
            self._db.execute("PRAGMA synchronous = FULL")
            self._open()
        except sqlite3.OperationalError as error:
            raise OSError(errno.EIO, str(error), str(path)) from error
        except sqlite3.DatabaseError as error:
            raise FileFormatError(f"{path} is no store of cells ({error}); name another folder.") from error

    def _open(self) -> None:
        application, layout = (self._db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
        if (application, layout) == (APPLICATION, LAYOUT):
            return
        if application or self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise FileFormatError(f"{self.path} is a database of another kind or version; name another folder.")
        mark = f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {LAYOUT};"
        self._db.executescript(f"BEGIN IMMEDIATE; {mark} {SCHEMA} COMMIT;")

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._db.close()

    def keys(self, cells: Iterable[Cell]) -> set[str]:
        """Those of the cells that are stored."""
        return {cell.key for cell in cells if self._get("key", cell) is not None}

    def results(self, cells: Iterable[Cell]) -> dict[str, Row]:
        """Of these cells, in their order, those that are stored: by key the point, the number of the trial, and its result."""
        found = [(cell, self._get("result", cell)) for cell in cells]
        return {cell.key: {**cell.point, "trial": cell.trial, **json.loads(text)} for cell, text in found if text is not None}

    def rows(self, cells: Iterable[Cell]) -> list[Row]:
        """The table of these cells, stored ones only."""
        return list(self.results(cells).values())

    def seconds(self, cells: Iterable[Cell]) -> float:
        """CPU time of these cells."""
        return float(sum(self._get("seconds", cell) or 0.0 for cell in cells))

    def _get(self, column: str, cell: Cell) -> Any:
        row = self._db.execute(f"SELECT {column} FROM cells WHERE key = ?", (cell.key,)).fetchone()
        return None if row is None else row[0]

    def machines(self, cells: Iterable[Cell]) -> str:
        """What made these cells, in words; with the shares where cells came from several machines."""
        made = Counter(self._get("machine", cell) for cell in cells)
        if len(made) < 2:
            return "".join(made)
        return "; ".join(f"{count / made.total():.0%} on {machine}" for machine, count in made.most_common())

    def add(self, done: Iterable[tuple[Cell, str, float]], machine: str) -> None:
        """Cells with their results, as JSON, and seconds, made on this machine: all in one commit."""
        rows = [
            (cell.key, cell.code, machine, json.dumps(cell.point, ensure_ascii=False), cell.trial, cell.seed, result, seconds)
            for cell, result, seconds in done
        ]
        with self._committed():
            self._db.executemany("INSERT OR IGNORE INTO cells VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)

    @contextmanager
    def _committed(self) -> Iterator[None]:
        """All changes inside, or none of them; a full or read-only disk is an OSError that names the file."""
        try:
            with self._db:
                yield
        except sqlite3.Error as error:
            raise OSError(errno.EIO, str(error), str(self.path)) from error

    def absorb(self, other: Path) -> int:
        """Take over the cells and runs of another store; how many cells were new."""
        if not other.is_file():
            raise ArgumentError(f"{other} is not there; name a folder that `reproduce` has written to.")
        with Store(other) as source:
            cells = source._db.execute("SELECT * FROM cells").fetchall()
            runs = source._db.execute("SELECT * FROM runs").fetchall()
        before = self._db.total_changes
        with self._committed():
            self._db.executemany("INSERT OR IGNORE INTO cells VALUES (?, ?, ?, ?, ?, ?, ?, ?)", cells)
            new = self._db.total_changes - before
            self._db.executemany("INSERT OR REPLACE INTO runs VALUES (?, ?, ?)", runs)
        return new

    def record(self, run: RunRecord) -> None:
        with self._committed():
            self._db.execute("INSERT OR REPLACE INTO runs VALUES (?, ?, ?)", (run.paper, run.figure, json.dumps(asdict(run))))

    def runs(self) -> dict[tuple[str, str], RunRecord]:
        """The last run of each figure."""
        rows = self._db.execute("SELECT paper, figure, run FROM runs ORDER BY paper, figure").fetchall()
        return {(paper, figure): RunRecord(**json.loads(run)) for paper, figure, run in rows}
