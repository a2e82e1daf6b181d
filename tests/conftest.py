"""What every test shares: array namespaces, seeds, one thread a process.

`xp` runs a test on NumPy, array-api-strict and PyTorch. PyTorch is optional, as is every extra: without one its tests are
skipped, unless the environment variable WEIGHTLIFT_REQUIRE names it (`WEIGHTLIFT_REQUIRE=torch,dask`); then they fail.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import hypothesis
import matplotlib
import numpy as np
import pytest
import scipy.linalg  # noqa: F401  (loads SciPy's own BLAS before the threads are limited)
from threadpoolctl import threadpool_limits

matplotlib.use("Agg")

hypothesis.settings.register_profile("weightlift", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("weightlift")

NAMESPACES = {"numpy": "array_api_compat.numpy", "strict": "array_api_strict", "torch": "array_api_compat.torch"}
REQUIRED = set(os.environ.get("WEIGHTLIFT_REQUIRE", "").replace(",", " ").split())


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Examples in docstrings are the sources'; what tests share, and the scripts that they start, is never collected."""
    helper = collection_path.suffix == ".py" and not collection_path.name.startswith("test_")
    return True if helper and collection_path.is_relative_to(Path(__file__).parent) else None


@pytest.fixture(params=list(NAMESPACES))
def xp(request: pytest.FixtureRequest) -> Any:
    """An array-API namespace; the test runs once for each."""
    if request.param == "torch":
        one_threaded_torch()
    return importlib.import_module(NAMESPACES[request.param])


@pytest.fixture
def as_xp(xp: Any) -> Callable[..., Any]:
    """`as_xp(values, dtype=None)`: the values as an array of `xp`; floats are float64 unless a dtype is named.

    The way back is `weightlift.namespaces.to_numpy`.
    """

    def convert(values: Any, dtype: str | None = None) -> Any:
        values = np.ascontiguousarray(np.asarray(values) if dtype is None else np.asarray(values, dtype=dtype))
        return xp.asarray(values.copy())

    return convert


@pytest.fixture
def torch() -> Any:
    """The module torch, for tests of what only PyTorch does."""
    return one_threaded_torch()


@pytest.fixture(params=[0, 1, 2])
def seed(request: pytest.FixtureRequest) -> int:
    """The test runs once for each seed."""
    return int(request.param)


@pytest.fixture
def rng(seed: int) -> np.random.Generator:
    """A generator for each of the seeds."""
    return np.random.default_rng(seed)


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """`limits("weightlift.samples.stream", least_rows=2)`: other numbers of a room's `Limits`, in that module alone."""

    def change(module: str, **numbers: Any) -> None:
        room = importlib.import_module(module)  # a package may hold a function of the same name
        monkeypatch.setattr(room, "LIMITS", replace(room.LIMITS, **numbers))

    return change


@pytest.fixture(scope="session", autouse=True)
def one_blas_thread() -> Iterator[None]:
    """Workers share the cores, and the tests' products are small."""
    with threadpool_limits(limits=1):
        yield


def one_threaded_torch() -> Any:
    torch = optional("torch")
    torch.set_num_threads(1)
    return torch


def optional(name: str) -> Any:
    """A module that may be missing: the test, or its file, is skipped, or fails if WEIGHTLIFT_REQUIRE names its package."""
    package = name.partition(".")[0]
    if importlib.util.find_spec(package) is None:
        if package in REQUIRED:
            pytest.fail(f"WEIGHTLIFT_REQUIRE names {package}, and it is not installed: pip install {package}")
        pytest.skip(f"{package} is not installed", allow_module_level=True)
    return importlib.import_module(name)
