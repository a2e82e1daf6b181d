"""The command line as its tests call it."""

from __future__ import annotations

from typing import Any

import numpy as np
from typer.testing import CliRunner

import weightlift as wl
from weightlift.cli import app

Planted = tuple[wl.Network, np.ndarray, np.ndarray]


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))
