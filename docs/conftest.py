"""Pages are run as tests: each in an empty folder of its own, and skipped where a package that it needs is missing.

A page that needs an optional package says so in a comment: `% needs pandas pyarrow`.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.conftest import optional

collect_ignore_glob = ["*.py", "_build", "auto_gallery"]
NEEDS = re.compile(r"^% needs (.+)$", re.M)


@pytest.fixture(autouse=True)
def own_folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for names in NEEDS.findall(request.node.path.read_text("utf-8")):
        for name in names.split():
            optional(name)
    monkeypatch.chdir(tmp_path)
