"""A journal of answers: an interrupted run goes on without asking again.

The file begins with one line of JSON; every batch follows as one record

    rows n, outputs m, CRC-32 of X and Y, whether the rows were asked before (8 bytes each), X (8 n d), Y (8 n m)

of little-endian integers and float64. A record is appended by one write and flushed to disk; a tail that was torn by a crash is
recognised by its length or checksum and cut off. A lock keeps a second process out.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from pathlib import Path

import numpy as np

from weightlift.errors import ArgumentError, FileFormatError
from weightlift.files import parsed_json

FORMAT, VERSION = "weightlift.journal", 1
HEAD = struct.Struct("<QQQQ")


class Journal:
    """Answers by the bits of their rows. Not for concurrent use: the file is locked while it is open."""

    def __init__(self, path: str | os.PathLike[str], n_inputs: int) -> None:
        if not isinstance(path, str | os.PathLike):
            raise ArgumentError(f"journal must be the name of a file, not {path!r}.")
        self.path, self.n_inputs, self.n_outputs = Path(path), n_inputs, 0
        self._answers: dict[bytes, np.ndarray] = {}
        self._second: dict[bytes, np.ndarray] = {}  # to rows that were asked twice
        self._file = open(self.path, "a+b", buffering=0)  # noqa: SIM115 - it stays open with the journal
        try:
            _lock(self._file.fileno(), self.path)
            self._read()
        except BaseException:
            self._file.close()
            raise

    def __len__(self) -> int:
        return len(self._answers)

    def look_up(self, X: np.ndarray, *, anew: bool = False) -> np.ndarray | None:
        """The answers to all rows of X, or None if one of them is missing; anew: their second answers."""
        answers = self._second if anew else self._answers
        found = [answers.get(row.tobytes()) for row in X]
        return None if any(answer is None for answer in found) else np.array(found)

    def write(self, X: np.ndarray, Y: np.ndarray, *, anew: bool = False) -> None:
        body = np.ascontiguousarray(X, "<f8").tobytes() + np.ascontiguousarray(Y, "<f8").tobytes()
        self._append(HEAD.pack(len(X), Y.shape[1], zlib.crc32(body), anew) + body)
        self._keep(X, Y, anew)

    def close(self) -> None:
        self._file.close()

    def _append(self, record: bytes) -> None:
        """All of the record, on disk, or nothing of it."""
        end = os.fstat(self._file.fileno()).st_size
        try:
            rest = memoryview(record)
            while rest:
                rest = rest[os.write(self._file.fileno(), rest) :]
            os.fsync(self._file.fileno())
        except BaseException as error:
            self._file.truncate(end)
            if isinstance(error, OSError):
                raise OSError(error.errno, error.strerror or str(error), str(self.path)) from error
            raise

    def _read(self) -> None:
        """What earlier runs wrote; the file is cut behind the last whole record."""
        self._file.seek(0)
        first = self._file.readline()
        header = json.dumps({"format": FORMAT, "version": VERSION, "n_inputs": self.n_inputs}).encode() + b"\n"
        if len(first) < len(header) and header.startswith(first):  # nothing yet, or torn by a crash
            self._file.truncate(0)
            self._append(header)
            return
        self._check_header(first)
        end = self._file.tell()
        while (record := self._record()) is not None:
            self._keep(*record)
            end = self._file.tell()
        self._file.truncate(end)
        self._file.seek(end)

    def _check_header(self, line: bytes) -> None:
        try:
            header = parsed_json(line)
            known = header["format"] == FORMAT and header["version"] == VERSION
        except (ValueError, TypeError, KeyError):
            known = False
        if not known:
            raise FileFormatError(f"journal {self.path} is not one of this release; name another file.")
        if header.get("n_inputs") != self.n_inputs:
            found = header.get("n_inputs")
            raise FileFormatError(
                f"journal {self.path} belongs to an oracle with {found} inputs, not {self.n_inputs}; name another."
            )

    def _record(self) -> tuple[np.ndarray, np.ndarray, bool] | None:
        head = self._file.read(HEAD.size)
        if len(head) < HEAD.size:
            return None
        n, m, checksum, anew = HEAD.unpack(head)
        size = 8 * n * (self.n_inputs + m)
        if not n or not m or size > os.fstat(self._file.fileno()).st_size:
            return None
        body = self._file.read(size)
        if len(body) < size or zlib.crc32(body) != checksum:
            return None
        values = np.frombuffer(body, "<f8")
        rows, answers = values[: n * self.n_inputs], values[n * self.n_inputs :]
        return rows.reshape(n, self.n_inputs), answers.reshape(n, m), bool(anew)

    def _keep(self, X: np.ndarray, Y: np.ndarray, anew: bool) -> None:
        self.n_outputs = Y.shape[1]
        (self._second if anew else self._answers).update((row.tobytes(), answer) for row, answer in zip(X, Y, strict=True))


def _lock(descriptor: int, path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # no such locks on this system
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise FileFormatError(f"journal {path} is in use by another run; wait for it, or name another file.") from error
