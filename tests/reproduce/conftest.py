"""A module of small trials, importable by the sweep's processes."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest

TRIALS = '''
import os, time
from pathlib import Path

SCALE = 1.0

def noisy(rng, *, n, pause=0.0, log=""):
    if log:
        with open(log, "a") as file:
            file.write(f"{n}\\n")
    time.sleep(pause)
    return {"mean": helper(rng, n), "inputs": rng.normal(size=2), "odd": bool(n % 2)}

def helper(rng, n):
    return SCALE * rng.normal(size=n).mean()

def bystander():
    return 3

def timed(rng, *, n, pause):
    began = time.monotonic()
    time.sleep(pause)
    return {"seconds": time.monotonic() - began}

def threads(rng, *, n):
    from threadpoolctl import threadpool_info
    return {"threads": [pool["num_threads"] for pool in threadpool_info()], "process": os.getpid()}

def fragile(rng, *, n):
    if n == 3:
        raise ValueError("three is too much")
    if n == 5:
        os._exit(9)
    return {"n2": n * n}
'''


@pytest.fixture
def trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    (tmp_path / "sweep_trials.py").write_text(TRIALS)
    monkeypatch.setattr("sys.dont_write_bytecode", True)  # a change within the second, of the same length, would not be seen
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(importlib.import_module("sys").modules, "sweep_trials", raising=False)
    return importlib.import_module("sweep_trials")
