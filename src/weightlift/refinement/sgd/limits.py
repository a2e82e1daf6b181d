"""The room's numbers, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    first_rows: int = 256  # that tell the scale of the residuals and the stable step, to 1/16
    piece: int = 4096  # rows in memory at a time: a few MB, and a thousandth of the time goes to calls
    block: int = 16  # steps between products with W: the loop's cost grows with it, that of reading W falls
    panel_bytes: int = 2048  # of a row of W: the panel's weights, average and change stay in the second-level cache
    diverged: float = 1e4  # times the root mean square of y and of the first residuals: no run that settles goes there
    save_seconds: float = 30.0  # between checkpoints: what a crash costs, while writing costs below a hundredth
    patience: float = 2.0  # seconds before a bar is shown
    file_bytes: int = 2**32  # of a checkpoint, against files of another kind


LIMITS = Limits()
