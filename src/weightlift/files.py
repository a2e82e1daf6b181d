"""Files written beside and renamed, read only after their size was checked, and sealed by a checksum of all that they mean."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from weightlift.errors import ArgumentError, FileFormatError

Tensors = dict[str, np.ndarray]


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Write content to a file without a name in the same folder, flush it to disk, then give it the name.

    A reader sees the old file or the new one, never a part. On failure the old one stays, and the error names `path`. A process
    that is killed leaves nothing behind where the system has files without names (Linux); elsewhere a hidden temporary file.
    """
    if not isinstance(path, str | os.PathLike):
        raise ArgumentError(f"path must be the name of a file, not {path!r}.")
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    try:
        with _unnamed(path.parent) as descriptor:
            if descriptor is None:
                _write_named(path, content)
            else:
                _write_all(descriptor, content)
                _link(descriptor, path)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


@contextlib.contextmanager
def _unnamed(folder: Path) -> Iterator[int | None]:
    """The descriptor of a file that vanishes unless it is linked; None where the system or the disk has no such files."""
    try:
        descriptor = os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o666)
    except (AttributeError, OSError):
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _link(descriptor: int, path: Path) -> None:
    """Give the file its name: at once where it is free, else by way of a name beside it."""
    source = f"/proc/self/fd/{descriptor}"
    try:
        os.link(source, path, src_dir_fd=descriptor)  # with a folder named, Python follows the link to the file itself
    except FileExistsError:
        _replace(source, descriptor, path)


def _replace(source: str, descriptor: int, path: Path) -> None:
    """By one hidden name a file, so that a process that is killed in between leaves one at most, which the next writer takes.

    Writers of the same file at once may rename each other's links: each is whole, and the last one stays."""
    beside = path.with_name(f".{path.name}.next")
    while True:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)
        try:
            os.link(source, beside, src_dir_fd=descriptor)
            break
        except FileExistsError:
            continue
    try:
        _rename(beside, path)
    except FileNotFoundError:
        if not path.exists():
            raise


def _write_named(path: Path, content: bytes) -> None:
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        try:
            _write_all(descriptor, content)
        finally:
            os.close(descriptor)
        os.chmod(temporary, 0o666 & ~_umask())
    except BaseException:
        os.unlink(temporary)
        raise
    _rename(Path(temporary), path)


def _write_all(descriptor: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    os.fsync(descriptor)


def _rename(temporary: Path, path: Path) -> None:
    try:
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read_checked(path: str | os.PathLike[str], *, max_bytes: int) -> bytes:
    """The content of a file of at most max_bytes; a larger one is refused before it is read."""
    path = Path(path)
    found = path.stat()
    if stat.S_ISCHR(found.st_mode) or stat.S_ISBLK(found.st_mode):
        raise FileFormatError(f"{path} is a device, which may never end; name a file.")
    if found.st_size > max_bytes:
        raise FileFormatError(
            f"{path} has {found.st_size} bytes, more than the {max_bytes} a network file may have; name another."
        )
    with path.open("rb") as file:
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:  # a pipe, or a file that grew meanwhile
        raise FileFormatError(f"{path} has more than the {max_bytes} bytes a network file may have; name another.")
    return content


def parsed_json(text: str | bytes) -> Any:
    """What JSON in UTF-8 says; a ValueError where it is none, or nested more deeply than anything that we write."""
    try:
        return json.loads(text.decode() if isinstance(text, bytes) else text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def sealed(tensors: Mapping[str, np.ndarray], header: Mapping[str, Any]) -> bytes:
    """A safetensors file of the tensors, whose own header carries ours and a checksum of both."""
    from safetensors.numpy import save

    ordered = {name: np.ascontiguousarray(value) for name, value in tensors.items()}
    described = json.dumps({**header, "sha256": _digest(ordered, header)}, sort_keys=True)
    return bytes(save(ordered, metadata={"weightlift": described}))


def unsealed(content: bytes, path: object, *, kind: str, format: str, version: int) -> tuple[Tensors, dict[str, Any]]:
    """Tensors and header of `sealed`; a file that is truncated, altered or of another kind is refused.

    kind: what the file should hold, for the message where it does not.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    header = _header(content, path, kind=kind, format=format, version=version)
    try:
        tensors: Tensors = load(content)
    except (SafetensorError, KeyError, TypeError, ValueError, AttributeError) as error:  # a number format that NumPy lacks
        raise FileFormatError(f"{path}: {kind} cannot be read from it; save it again ({error}).") from error
    if _digest(tensors, header) != header["sha256"]:
        raise FileFormatError(f"{path} differs from what was saved (checksum): it is damaged or was altered; save it again.")
    return tensors, header


def _header(content: bytes, path: object, *, kind: str, format: str, version: int) -> dict[str, Any]:
    """Our header inside that of a safetensors file, whose length stands in the first eight bytes."""
    length = int.from_bytes(content[:8], "little")
    if len(content) < 8 or length > len(content) - 8:
        raise FileFormatError(f"{path} is truncated or is not a safetensors file; save it again.")
    try:
        header = parsed_json(parsed_json(content[8 : 8 + length])["__metadata__"]["weightlift"])
        if not isinstance(header, dict) or header["format"] != format:
            raise ValueError("its header is another")
        found = header["version"]
    except (KeyError, TypeError, ValueError) as error:
        raise FileFormatError(f"{path} is not {kind} saved by weightlift; name another ({error!r}).") from error
    if found != version or "sha256" not in header:
        raise FileFormatError(f"{path} has format version {found!r}, and this release reads {version}; save it again with it.")
    return header


def _digest(tensors: Mapping[str, np.ndarray], header: Mapping[str, Any]) -> str:
    """Of all that the file means: every tensor with name, type and shape, and every entry of the header but the checksum."""
    described = {name: value for name, value in header.items() if name != "sha256"}
    digest = hashlib.sha256(json.dumps(described, sort_keys=True).encode())
    for name in sorted(tensors):
        digest.update(f"\0{name} {tensors[name].dtype.str} {tensors[name].shape}\0".encode())
        digest.update(np.ascontiguousarray(tensors[name]).tobytes())
    return digest.hexdigest()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
