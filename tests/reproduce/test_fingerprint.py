"""What a stored number depends on: constants of every kind, and the rooms that a trial calls, whether near or far."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import weightlift as wl
from weightlift.reproduce import fingerprint as room
from weightlift.reproduce import recipes, zhong2017_rates
from weightlift.reproduce.fingerprint import closure, fingerprint
from weightlift.reproduce.limits import LIMITS

DRAWN_FROM: dict[str, list[float]] = {"scales": [1.0, 2.0]}


def dictionary_trial(rng: np.random.Generator) -> dict[str, float]:
    return {"value": float(rng.normal() * DRAWN_FROM["scales"][1])}


def limited_trial(rng: np.random.Generator) -> dict[str, float]:
    return {"value": LIMITS.work}


def test_constants_of_every_kind_count(monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprint(dictionary_trial)
    assert fingerprint(dictionary_trial) == before
    monkeypatch.setitem(DRAWN_FROM, "scales", [1.0, 3.0])
    assert fingerprint(dictionary_trial) != before


def test_of_the_limits_those_that_are_named_count(monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprint(limited_trial)
    for name, counts in (("every", False), ("work", True)):
        monkeypatch.setitem(limited_trial.__globals__, "LIMITS", replace(LIMITS, **{name: 1.0}))
        assert (fingerprint(limited_trial) != before) == counts


@pytest.mark.parametrize("figure", ["fig1a", "fig1b_rate"])
def test_a_changed_room_counts_where_it_is_called(figure: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """zhong2017 fig1a calls `recover`, and so the search; fig1b_rate calls tensor initialization alone."""
    trial = recipes("zhong2017", figure)[0].trial
    before, source = fingerprint(trial), room._source
    changed = tmp_path / "changed.py"
    for name, counts in (("subspace", True), ("samples.arrays", True), ("search", figure == "fig1a"), ("theory", False)):
        there = source(f"weightlift.{name}")
        changed.write_text(there.read_text("utf-8") + "\nANOTHER = 1\n", "utf-8")
        with monkeypatch.context() as patch:
            patch.setattr(room, "_source", lambda other, name=name: changed if other == f"weightlift.{name}" else source(other))
            assert (fingerprint(trial) != before) == counts, name


def test_comments_and_docstrings_do_not_count() -> None:
    one = '"""A."""\n\nX = "# no comment"\ndef f():\n    """B\n    c."""\n    return 1  # why\n'
    other = 'X = "# no comment"\n\n\ndef f():\n    # because\n    return 1\n'
    assert room._statements(one) == room._statements(other)
    assert room._statements(one) != room._statements(other.replace("1", "2"))


def test_what_is_loaded_was_counted() -> None:
    """Every module of the package that a trial has brought into memory is in its closure, but for the rooms that only show."""
    code = (
        "import sys, numpy as np; from weightlift.reproduce import zhong2017_rates as z;"
        "before = set(sys.modules); z.start_trial(np.random.default_rng(0), d=6, n=2000);"
        "print(*sorted(m for m in set(sys.modules) - before if m.startswith('weightlift.')))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    modules: set[str] = set()
    room._collect(zhong2017_rates.start_trial, {}, modules)
    assert len(loaded) > 20
    assert set(loaded) <= closure(frozenset(modules)) | {"weightlift._version"}
    assert wl.recover.__module__ not in closure(frozenset(modules))
