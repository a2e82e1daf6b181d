"""Where a run of SGD stands, as a file: a safetensors file with a versioned JSON header, written beside and renamed.

A run is saved at the end of a window only, so that one that is taken up again passes through the same blocks, hence the same
bits, as one that was never interrupted (on the same processor, with the same libraries and number of threads).
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from weightlift.errors import ArgumentError, FileFormatError
from weightlift.files import read_checked, weightlift_header, write_atomically
from weightlift.refinement.sgd.limits import LIMITS
from weightlift.refinement.sgd.measures import SUMS

FORMAT, VERSION = "weightlift.sgd", 1


@dataclass(frozen=True, eq=False)
class State:
    """Weights and their average (d or d + 1, k) after `steps` steps, at the end of a window, and what was measured so far.

    A run appends to the lists; the first `windows` entries are those of this state.
    """

    W: np.ndarray
    average: np.ndarray
    steps: int
    windows: int
    ends: list[int]
    sums: list[np.ndarray]  # (8,) each
    nearest: list[float]  # empty where the truth is not known

    @classmethod
    def start(cls, W: np.ndarray) -> State:
        return cls(W.copy(), W.copy(), 0, 0, [], [], [])

    def measured(self) -> dict[str, np.ndarray]:
        """ends (m,), sums (m, 8), nearest (m,) or (0,)."""
        m = self.windows
        return {
            "ends": np.array(self.ends[:m], dtype=np.int64),
            "sums": np.array(self.sums[:m]).reshape(m, SUMS),
            "nearest": np.array(self.nearest[:m], dtype=np.float64),
        }


def save(path: str | os.PathLike[str], state: State, settings: dict[str, Any]) -> None:
    """Write state and settings; the settings are what a run that goes on must share."""
    from safetensors.numpy import save as serialized

    tensors = {"W": np.ascontiguousarray(state.W), "average": np.ascontiguousarray(state.average), **state.measured()}
    header = {
        "format": FORMAT, "version": VERSION, "steps": state.steps, "settings": settings, "sha256": _digest(tensors, settings)
    }  # fmt: skip
    write_atomically(path, serialized(tensors, metadata={"weightlift": json.dumps(header, sort_keys=True)}))


def load(path: str | os.PathLike[str]) -> tuple[State, dict[str, Any]]:
    """State and settings of a file written by `save`; one that is truncated, altered or of another kind is refused."""
    from safetensors import SafetensorError
    from safetensors.numpy import load as deserialized

    content = read_checked(path, max_bytes=LIMITS.file_bytes)
    header = weightlift_header(content, path, kind="a run", format=FORMAT, version=VERSION)
    try:
        tensors = deserialized(content)
        settings = header["settings"]
        intact = _digest(tensors, settings) == header["sha256"]
        ends, sums, nearest = (tensors[name] for name in ("ends", "sums", "nearest"))
        lists = ends.tolist(), list(sums), nearest.tolist()
        state = State(tensors["W"], tensors["average"], int(header["steps"]), len(ends), *lists)
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise FileFormatError(f"{path}: the run cannot be read ({error}).") from error
    if not intact:
        raise FileFormatError(f"{path}: the run differs from the one that was saved (checksum). Remove the file to start anew.")
    return state, settings


def check_same(path: str | os.PathLike[str], saved: dict[str, Any], asked: dict[str, Any]) -> None:
    """Refuse to go on with another start, step, window … than the run began with."""
    for name, value in asked.items():
        if saved.get(name) != value:
            raise ArgumentError(f"checkpoint {path} belongs to a run with another {name}: pass the same, or name another file.")


def _digest(tensors: dict[str, np.ndarray], settings: dict[str, Any]) -> str:
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for name in sorted(tensors):
        digest.update(f"{name} {tensors[name].dtype} {tensors[name].shape}".encode())
        digest.update(tensors[name].tobytes())
    return digest.hexdigest()
