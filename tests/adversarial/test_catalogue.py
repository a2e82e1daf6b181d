"""Bad inputs and what must come of each: a sentence that names it, no certificate, or the same answer as ever."""

from __future__ import annotations

import importlib.util
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from tests.adversarial import arrays, commands, disk, entries, oracles, rooms
from tests.adversarial.cases import SECONDS, Case

GROUPS = {**arrays.CASES, **disk.CASES, **commands.CASES, **oracles.CASES, **entries.CASES, **rooms.CASES}
if all(importlib.util.find_spec(name) for name in ("onnx", "pyarrow", "pandas", "dask")):
    from tests.adversarial import foreign

    GROUPS |= foreign.CASES
CASES = [pytest.param(case, id=f"{group}: {case.name}") for group, cases in GROUPS.items() for case in cases]


@pytest.mark.parametrize("case", CASES)
def test_bad_input(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if case.error is not None:
            with pytest.raises(case.error, match=f"(?s){case.words}") as caught:
                case.call()
            assert "Traceback" not in str(caught.value)
        elif case.expected == "uncertified":
            found = case.call()
            assert not getattr(found, "certificate", found)
        else:
            left, right = case.call()  # type: ignore[misc]
            if isinstance(left, np.ndarray):
                np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-9)
            else:
                assert left == right
    assert time.process_time() - began < SECONDS + LOADING


LOADING = 4.0  # seconds of a machine under load that imports pyarrow, Dask or onnx meanwhile


def test_the_catalogue_is_large_and_its_names_are_distinct() -> None:
    names = [param.id for param in CASES]
    assert len(set(names)) == len(names) >= 150
