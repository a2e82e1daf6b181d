"""The store keeps bits and runs, takes over another, and refuses foreign files."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from weightlift.errors import ArgumentError, FileFormatError
from weightlift.reproduce.recipe import Cell
from weightlift.reproduce.store import RunRecord, Store


def test_store_keeps_bits_and_runs_and_takes_over_another(tmp_path: Path) -> None:
    values = [0.1 + 0.2, 1e-310, -0.0, math.inf, math.pi]
    cells = [Cell("code", {"n": i}, 0, 0) for i in range(3)]
    run = RunRecord("p", "f", "quick", 0, None, "a machine", "2020-01-01")
    with Store(tmp_path / "a" / "cells.sqlite") as store:
        store.add([(cells[0], json.dumps({"values": values}), 1.5), (cells[1], '{"values": [NaN]}', 0.5)], "1")
        store.add([(cells[0], '{"values": []}', 9.0)], "1")  # the first stays
        store.record(run)
        assert [x.hex() for x in store.rows(cells)[0]["values"]] == [x.hex() for x in values]
        assert math.isnan(store.rows(cells)[1]["values"][0])
        assert store.seconds(cells) == 2.0
    with Store(tmp_path / "b.sqlite") as store:
        store.add([(cells[1], "{}", 1.0), (cells[2], "{}", 1.0)], "1")
        assert store.absorb(tmp_path / "a" / "cells.sqlite") == 1
        assert store.keys(cells) == {cell.key for cell in cells}
        assert store.runs() == {("p", "f"): run}
        with pytest.raises(ArgumentError, match="not there"):
            store.absorb(tmp_path / "mistyped" / "cells.sqlite")
    assert not (tmp_path / "mistyped").exists()


def test_cells_say_which_machines_made_them(tmp_path: Path) -> None:
    cells = [Cell("code", {"n": i}, 0, 0) for i in range(5)]
    with Store(tmp_path / "there" / "cells.sqlite") as store:
        store.add([(cell, "{}", 1.0) for cell in cells[:4]], "16 cores")
    with Store(tmp_path / "here.sqlite") as store:
        assert store.absorb(tmp_path / "there" / "cells.sqlite") == 4
        store.add([(cell, "{}", 1.0) for cell in cells], "2 cores")  # of which four are there
        assert store.machines(cells[:4]) == "16 cores"
        assert store.machines(cells) == "80% on 16 cores; 20% on 2 cores"


@pytest.mark.parametrize("kind", ["text", "database"])
def test_foreign_files_are_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "cells.sqlite"
    if kind == "text":
        path.write_text("no database " * 100)
    else:
        import contextlib
        import sqlite3

        with contextlib.closing(sqlite3.connect(path)) as db:
            db.execute("CREATE TABLE other (x)")
            db.commit()
    with pytest.raises(FileFormatError, match="another folder"):
        Store(path)
