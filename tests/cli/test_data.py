"""Tables from files: text, arrays, Parquet; files that are none; columns by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.running import Planted, run
from tests.conftest import optional

import weightlift as wl
from weightlift.cli.data import read_table
from weightlift.errors import ArgumentError, FileFormatError


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("1,2\n3,4\n", ("0", "1")),
        ("a;b\n1;2\n3;4\n", ("a", "b")),
        ('"a"\t"the b"\n1\t2\n3\t4\n', ("a", "the b")),
        ("\ufeffa,b\r\n1,2\r\n3,4\r\n", ("a", "b")),
    ],
)
def test_text_tables(tmp_path: Path, text: str, names: tuple[str, ...]) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode())
    table = read_table(path)
    assert table.names == names
    np.testing.assert_array_equal(table.values, [[1, 2], [3, 4]])
    X, y = table.split(names[0])
    np.testing.assert_array_equal(X, [[2], [4]])
    np.testing.assert_array_equal(y, [1, 3])
    np.testing.assert_array_equal(table.split("-1")[1], [2, 4])
    with pytest.raises(ArgumentError, match="no column"):
        table.split("2")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", b"", "no rows"),
        ("a.csv", b"x,y\n", "no rows"),
        ("a.csv", b"x,y\n1,2,3\n", "header"),
        ("a.csv", b"x,y\n1,two\n", "two"),
        ("a.csv", b"x,y\n1,\n", "there is none in column 'y', row 0"),
        ("a.csv", b"x,y\n1,2\n3\n", "columns"),
        ("a.csv", b"\xff\xfe\x00", "UTF-8"),
        ("a.csv", b"x" * 200_000, "must be a table"),
        ("a.npy", b"", "damaged"),
        ("a.npy", b"\x80\x04N.", "damaged"),
        ("a.npz", b"PK\x03\x04", "damaged"),
        ("a.xls", b"", "suffix"),
    ],
)
def test_files_that_are_no_tables(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=words):
        read_table(path)


def test_arrays_that_are_no_tables(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    arrays: list[tuple[dict[str, Any], str]] = [
        ({"Z": np.ones(3)}, "array X"),
        ({"X": np.ones((3, 2)), "y": np.ones(4)}, "each of the 3 rows"),
        ({"X": np.ones((3, 2)) * 1j}, "real numbers"),
        ({"X": np.ones((3, 2, 2))}, "one or two axes"),
        ({"X": np.array([[object()]])}, "damaged, or holds"),
    ]
    for content, words in arrays:
        np.savez(path, **content)
        with pytest.raises(FileFormatError, match=words):
            read_table(path)
    np.savez(path, X=np.arange(6).reshape(3, 2))
    assert read_table(path).target is None


def test_parquet_tables(planted: Planted) -> None:
    pa = optional("pyarrow")
    from pyarrow import parquet

    truth, X, y = planted
    columns = {"p": X[:, 0], "y": y, "q": X[:, 1], "r": X[:, 2]}
    parquet.write_table(pa.table(columns), "data.parquet")
    assert run("recover", "data.parquet", "--units", "2", "--target", "y", "--out", "net.safetensors").exit_code == 0
    assert wl.Network.load("net.safetensors").equivalent(truth, tol=1e-9)
    lines = run("predict", "net.safetensors", "data.parquet", "--target", "y").stdout.split()
    np.testing.assert_allclose([float(line) for line in lines], y, atol=1e-12)
    parquet.write_table(pa.table({"whole": [1, 2], "single": pa.array([0.5, 1.5], pa.float32())}), "ints.parquet")
    np.testing.assert_array_equal(read_table(Path("ints.parquet")).values, [[1, 0.5], [2, 1.5]])
    for content, words in (({"t": ["1", "2"]}, "column 't' must hold"), ({"s": [[1.0], [2.0]]}, "column 's' must hold")):
        parquet.write_table(pa.table(content), "bad.parquet")
        with pytest.raises(FileFormatError, match=words):
            read_table(Path("bad.parquet"))
    Path("bad.parquet").write_bytes(b"PAR1")
    with pytest.raises(FileFormatError, match="damaged"):
        read_table(Path("bad.parquet"))


def test_columns_are_matched_by_name(planted: Planted) -> None:
    """The order of the columns does not matter; one that is missing or one too many is refused, also the target's own."""
    _, X, y = planted
    assert run("recover", "data.csv", "--target", "y", "--units", "2", "--out", "net.safetensors").exit_code == 0
    assert wl.network.column_names("net.safetensors") == (("p", "q", "r"), ("y",))
    assert "w: p, q, r" in run("show", "net.safetensors").stdout
    expected = wl.Network.load("net.safetensors").predict(X)
    for header, columns in (("r,q,p", X[:, ::-1]), ("r,y,p,q", np.c_[X[:, 2], y, X[:, :2]])):
        np.savetxt("new.csv", columns, delimiter=",", header=header, comments="", fmt="%.17g")
        values = [float(line) for line in run("predict", "net.safetensors", "new.csv").stdout.split()]
        np.testing.assert_array_equal(values, expected)
    for header, word in (("r,q,s", "has no 'p', has beside them 's'"), ("r,q,p,p", "has more than one 'p'")):
        columns = np.c_[X, X][:, : header.count(",") + 1]
        np.savetxt("new.csv", columns, delimiter=",", header=header, comments="", fmt="%.17g")
        result = run("predict", "net.safetensors", "new.csv")
        assert result.exit_code == 2
        assert word in " ".join(result.output.split())
    np.savetxt("new.csv", X, delimiter=",", fmt="%.17g")  # without names: in order, and said so
    result = run("predict", "net.safetensors", "new.csv")
    assert [float(line) for line in result.stdout.split()] == expected.tolist()
    assert "in the order p, q, r" in result.stderr
