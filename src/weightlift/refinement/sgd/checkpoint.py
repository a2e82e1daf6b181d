"""Where a run of SGD stands, as a file: a safetensors file with a versioned JSON header, written beside and renamed.

A run is saved at the end of a window only, so that one that is taken up again passes through the same blocks, hence the same
bits, as one that was never interrupted (on the same processor, with the same libraries and number of threads).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from weightlift.errors import ArgumentError, FileFormatError
from weightlift.files import read_checked, sealed, unsealed, write_atomically
from weightlift.refinement.sgd.limits import LIMITS
from weightlift.refinement.sgd.measures import SUMS

FORMAT, VERSION = "weightlift.sgd", 2


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
    header = {"format": FORMAT, "version": VERSION, "steps": state.steps, "settings": settings}
    write_atomically(path, sealed({"W": state.W, "average": state.average, **state.measured()}, header))


def load(path: str | os.PathLike[str]) -> tuple[State, dict[str, Any]]:
    """State and settings of a file written by `save`; one that is truncated, altered or of another kind is refused."""
    content = read_checked(path, max_bytes=LIMITS.file_bytes)
    tensors, header = unsealed(content, path, kind="a run", format=FORMAT, version=VERSION)
    try:
        ends, sums, nearest = (tensors[name] for name in ("ends", "sums", "nearest"))
        lists = ends.tolist(), list(sums), nearest.tolist()
        return State(tensors["W"], tensors["average"], int(header["steps"]), len(ends), *lists), header["settings"]
    except (KeyError, TypeError, ValueError) as error:
        raise FileFormatError(f"{path}: the run cannot be read ({error}). Remove the file to start anew.") from error


def check_same(path: str | os.PathLike[str], saved: dict[str, Any], asked: dict[str, Any]) -> None:
    """Refuse to go on with another start, step, window … than the run began with."""
    for name, value in asked.items():
        if saved.get(name) != value:
            raise ArgumentError(f"checkpoint {path} belongs to a run with another {name}; pass the same, or name another file.")
