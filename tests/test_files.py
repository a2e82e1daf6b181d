"""Files: whole or not at all, no larger than allowed, and sealed."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from weightlift import files
from weightlift.errors import FileFormatError

KIND = {"kind": "a run", "format": "run", "version": 2}


@pytest.fixture(params=["without a name", "with a name"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files have no name, and where the system has none of that kind."""
    if request.param == "with a name":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    return tmp_path


def test_a_file_is_written_and_replaced_as_a_whole(folder: Path) -> None:
    path = folder / "network"
    for content in (b"first", b"second, longer", b""):
        files.write_atomically(path, content)
        assert path.read_bytes() == content
        assert [entry.name for entry in folder.iterdir()] == ["network"]
    mask = os.umask(0)
    os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask


def test_a_failure_leaves_the_old_file_and_nothing_else(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "network"
    path.write_bytes(b"old")

    def full(*arguments: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space left on device") as caught:
        files.write_atomically(path, b"new")
    assert str(caught.value.filename) == str(path)
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in folder.iterdir()] == ["network"]


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"12345")
    assert files.read_checked(tmp_path / "x", max_bytes=5) == b"12345"
    with pytest.raises(FileFormatError, match="5 bytes, more than the 4"):
        files.read_checked(tmp_path / "x", max_bytes=4)


def test_what_was_sealed_comes_back_and_what_was_altered_does_not() -> None:
    tensors = {"W": np.arange(6.0).reshape(2, 3), "steps": np.array([7])}
    header = {"format": "run", "version": 2, "note": "φ"}
    content = files.sealed(tensors, header)
    found, described = files.unsealed(content, "x", **KIND)
    assert described["note"] == "φ"
    assert {name: value.tolist() for name, value in found.items()} == {name: v.tolist() for name, v in tensors.items()}
    for altered in (
        content[:-1] + bytes([content[-1] ^ 1]),
        content.replace("φ".encode("unicode-escape"), b"chi"),
        content[:20],
        b"",
    ):
        with pytest.raises(FileFormatError):
            files.unsealed(altered, "x", **KIND)
    with pytest.raises(FileFormatError, match="not a network"):
        files.unsealed(content, "x", kind="a network", format="network", version=2)
    with pytest.raises(FileFormatError, match="version 2, and this release reads 3"):
        files.unsealed(content, "x", kind="a run", format="run", version=3)


def test_json_that_is_nested_too_deeply_is_a_value_error() -> None:
    assert files.parsed_json(json.dumps({"a": [1]})) == {"a": [1]}
    with pytest.raises(ValueError, match="nested too deeply"):
        files.parsed_json("[" * 200_000)


def test_writers_of_one_file_at_once_leave_one_of_their_contents(folder: Path) -> None:
    path, contents = folder / "net", [bytes([i]) * 4000 for i in range(4)]
    path.write_bytes(contents[0])
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda i: files.write_atomically(path, contents[i % 4]), range(200)))
    assert path.read_bytes() in contents
    assert list(folder.iterdir()) == [path]
