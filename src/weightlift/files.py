"""Files written beside and renamed, and read only after their size was checked."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from weightlift.errors import FileFormatError


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Write content to a temporary file in the same folder, flush it to disk, rename it over path.

    A reader sees the old file or the new one, never a part; on failure the old one stays.
    """
    path = Path(path)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def read_checked(path: str | os.PathLike[str], *, max_bytes: int) -> bytes:
    """The content of a file of at most max_bytes; a larger one is refused before it is read."""
    path = Path(path)
    size = path.stat().st_size
    if size > max_bytes:
        raise FileFormatError(f"{path} has {size} bytes, more than the {max_bytes} a network file may have.")
    return path.read_bytes()


def weightlift_header(
    content: bytes, path: object, *, kind: str, format: str, version: int, oldest: int | None = None
) -> dict[str, Any]:
    """The package's own header inside that of a safetensors file, whose length stands in the first eight bytes.

    kind: what the file should hold, for the message where it does not. oldest: the first version that is still read.
    """
    length = int.from_bytes(content[:8], "little")
    if len(content) < 8 or length > len(content) - 8:
        raise FileFormatError(f"{path} is truncated or is not a safetensors file.")
    try:
        header = json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["weightlift"])
    except (KeyError, TypeError, ValueError) as error:
        raise FileFormatError(f"{Path(str(path)).name} is not {kind} saved by weightlift.") from error
    if not isinstance(header, dict) or header.get("format") != format:
        raise FileFormatError(f"{path} is not {kind} saved by weightlift.")
    if header.get("version") not in range(version if oldest is None else oldest, version + 1):
        raise FileFormatError(f"{path} has format version {header.get('version')}, this release reads {version}: update it.")
    return header


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
