"""The documentation: a page for every public module, links that lead somewhere, formulas and examples that are there."""

from __future__ import annotations

import importlib
import pkgutil
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import weightlift

DOCS = Path(__file__).parents[1] / "docs"
TEXTS = [DOCS.parent / "README.md", *sorted([*DOCS.glob("*.md"), *DOCS.glob("tutorials/*.md")])]
PAGES = sorted(
    [*TEXTS[1:], *DOCS.glob("gallery/*.py"), *DOCS.glob("gallery/*.rst"), *DOCS.glob("reference/*.rst")],
    key=lambda page: page.name,
)
LINK = re.compile(r"(?:\{py:(?:obj|mod)\}|:py:(?:obj|mod):)`(?:[^`<]*<)?~?([\w.]+)>?`")


@pytest.fixture(scope="module", autouse=True)
def extensions() -> Iterator[None]:
    """docs/_ext on the path, as it is while the documentation is built."""
    sys.path.insert(0, str(DOCS / "_ext"))
    yield
    sys.path.remove(str(DOCS / "_ext"))


def rooms() -> list[str]:
    return [name for page in DOCS.glob("reference/*.rst") for name in re.findall(r"^\.\. room:: (\S+)", page.read_text(), re.M)]


def documented() -> set[str]:
    """Every name that the reference's pages describe, themselves or by a link to where it is described."""
    from rooms import documentation

    found: set[str] = set()
    for room in rooms():
        text = documentation(room)
        found |= set(re.findall(r"^\.\. (?:auto\w+|py:data|py:module):: (\S+)", text, re.M))
        found |= {f"{room}.{name}" for name in re.findall(r"^   \* - :py:(?:obj|mod):`(\w+) <", text, re.M)}
    return found


@pytest.fixture(scope="module")
def names() -> set[str]:
    return documented()


def test_every_public_module_has_a_page() -> None:
    hidden = {"arguments", "cli", "evidence", "files", "markup", "namespaces", "threads"}  # behind the public names
    modules = {m.name for m in pkgutil.iter_modules(weightlift.__path__) if not m.name.startswith("_")} - hidden
    assert {f"weightlift.{name}" for name in modules} | {"weightlift"} == set(rooms())


def test_every_name_of_the_package_is_in_the_reference(names: set[str]) -> None:
    missing = [name for name in weightlift.__all__ if name != "__version__" and f"weightlift.{name}" not in names]
    assert not missing


def test_every_name_of_the_public_modules_is_in_the_reference(names: set[str]) -> None:
    expected = {
        f"{room}.{name}"
        for room in rooms()
        for name in getattr(importlib.import_module(room), "__all__", ())
        if not name.startswith("__")
    }
    assert len(expected) > 200
    assert not expected - names


def test_the_command_line_page_has_every_command() -> None:
    from weightlift.cli import app

    page = (DOCS / "command_line.md").read_text()
    assert not [c.callback.__name__ for c in app.registered_commands if f"weightlift {c.callback.__name__} " not in page]


def blocks(page: Path, *languages: str) -> list[str]:
    """Code between fences."""
    fenced = re.findall(r"^```(\w*)\n(.*?)^```", page.read_text("utf-8"), re.M | re.S)
    return [code for language, code in fenced if language in languages]


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.name)
def test_every_block_of_python_is_one_that_is_run(page: Path) -> None:
    """Doctests run by themselves; code without a prompt would not."""
    assert all(">>> " in code for code in blocks(page, "python", "pycon", "py"))


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.name)
def test_every_command_is_understood(page: Path) -> None:
    """Names of commands, options and the kinds of their values; nothing is run."""
    from typer.main import get_command

    from weightlift.cli import app

    group = get_command(app)
    lines = [line.partition("#")[0].strip() for code in blocks(page, "sh") for line in code.splitlines()]
    for line in lines:
        program, *words = shlex.split(line) or [""]
        if program == "weightlift":
            group.commands[words[0]].make_context(words[0], words[1:])  # type: ignore[attr-defined]


def test_entries_of_the_bibliography_are_closed() -> None:
    entries = re.split(r"^@", (DOCS / "references.bib").read_text(), flags=re.M)[1:]
    assert all(entry.count("{") == entry.count("}") for entry in entries)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text()):
        module, parts = weightlift, target.split(".")
        assert parts.pop(0) == "weightlift"
        for depth, part in enumerate(parts, 1):
            if not hasattr(module, part):
                importlib.import_module(".".join(["weightlift", *parts[:depth]]))
            module = getattr(module, part)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("see [zhong2017, Def. 5.1].", "see :cite:p:`zhong2017{Def. 5.1}`."),
        ("[awasthi2021, Alg. 1; kuleshov2015]", ":cite:p:`awasthi2021{Alg. 1},kuleshov2015`"),
        ("|a| and w_ of `recover`", r"\|a\| and w\_ of :py:obj:`recover <weightlift.recover>`"),
        ("`x = 1`s", "``x = 1``\\ s"),
    ],
)
def test_prose_of_docstrings(written: str, meant: str) -> None:
    from plain_docstrings import inline

    assert inline(written) == meant


def test_options_become_parameters() -> None:
    from plain_docstrings import translate

    doc = "Do it.\n\nn: how often; at least 1. rng, seed: chance. No more.\n\nkind  first line\n      second\n\n>>> 1 + 1\n2"
    text = translate(doc, ["n", "rng", "seed", "kind"])
    options = ("n", "how often; at least 1."), ("rng, seed", "chance. No more."), ("kind", "first line second")
    assert "Parameters\n----------\n" + "\n".join(f"{names}\n    {meaning}" for names, meaning in options) in text
    assert text.endswith("Examples\n--------\n>>> 1 + 1\n2")
