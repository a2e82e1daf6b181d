"""Tests mirror the sources: a module of more than a hundred lines has a file of its own."""

from pathlib import Path

import weightlift

SOURCES, TESTS = Path(weightlift.__file__).parent, Path(__file__).parent
LINES = 100  # below, a module is a helper that is tested with those that call it
NUMBERS = "limits.py"  # holds numbers alone, whose reasons `test_sources.py` asks for


def test_every_module_of_some_size_has_its_test_file() -> None:
    modules = [path for path in SOURCES.rglob("*.py") if path.name != NUMBERS]
    long = [path for path in modules if len(path.read_text("utf-8").splitlines()) > LINES]
    missing = [path.relative_to(SOURCES) for path in long if not any(file.exists() for file in wanted(path))]
    assert not missing, f"write tests/FOLDER/test_MODULE.py for {', '.join(map(str, missing))}"


def wanted(path: Path) -> list[Path]:
    """Where its tests may stand; those of a package in its folder or beside it."""
    folder = TESTS / path.parent.relative_to(SOURCES)
    if path.parent == SOURCES and path.stem == "__init__":
        return [TESTS / "test_import.py"]
    if path.stem == "__init__":
        return [folder / f"test_{folder.name}.py", folder.with_name(f"test_{folder.name}.py")]
    return [folder / f"test_{path.stem}.py"]
