"""What computes: cores, processor and versions, in words that stand beside each figure."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import numpy as np

from weightlift._version import __version__


def machine() -> str:
    """Cores, processor and versions."""
    processor = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        processor = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), processor)
    except OSError:
        pass
    versions = f"Python {platform.python_version()}, NumPy {np.__version__}, Weightlift {__version__}"
    return f"{cores()} cores ({processor}), {platform.system()}, {versions}"


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
