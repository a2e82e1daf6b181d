"""What a trial depends on, as one hash: its source, what it uses of the recipes, and the rooms of the package that it calls.

Of the recipes: functions, classes and constants, at any depth. Of the package: every module that the trial's names lead to,
and what those import, at any depth and wherever in the file; names are taken widely (`found.certificate` counts as the room
`certificate`), imports for type checking alone are not, nor are the rooms that only show; comments and docstrings do not count.
So a start by moments keeps its numbers when the search changes, and `recover` does not.
"""

from __future__ import annotations

import ast
import dataclasses
import hashlib
import inspect
import io
import json
import re
import tokenize
import types
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import weightlift

SHOWING = ("cli", "export", "plots", "report", "reproduce")  # rooms that compute no number of a trial
ROOT = Path(weightlift.__file__).parent


def fingerprint(trial: Callable[..., Any]) -> str:
    """The hash; the same in every process."""
    seen: dict[str, str] = {}
    modules: set[str] = set()
    _collect(trial, seen, modules)
    sources = [[name, _statements(_source(name).read_text("utf-8"))] for name in sorted(closure(frozenset(modules)))]
    return digest([sorted(seen.items()), sources])


def digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


@cache
def closure(modules: frozenset[str]) -> frozenset[str]:
    """These modules of the package and all that they import."""
    found: set[str] = set()
    left = set(modules)
    while left:
        name = left.pop()
        found.add(name)
        left |= _imported(name) - found
    return frozenset(found)


def _collect(thing: Any, seen: dict[str, str], modules: set[str]) -> None:
    name = f"{thing.__module__}.{thing.__qualname__}"
    if name in seen:
        return
    seen[name] = inspect.getsource(thing)
    home = thing.__module__.rpartition(".")[0]
    for used, value in _globals_used(thing):
        for one in _parts(value):
            if one is weightlift:
                modules |= _rooms(thing)
            elif isinstance(one, types.FunctionType | type | types.ModuleType):
                where = one.__name__ if isinstance(one, types.ModuleType) else one.__module__
                if where == thing.__module__ or (home and where.rpartition(".")[0] == home):
                    _collect(one, seen, modules)
                else:
                    modules |= _module(where)
        if isinstance(value, bool | int | float | str | tuple | list | dict | set | frozenset | np.ndarray):
            seen[f"{name}.{used}"] = _written(value)
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):  # of LIMITS, the numbers that are named
            numbers = [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]
            seen[f"{name}.{used}"] = _written([number for number in numbers if number[0] in _all_names(thing)])


def _parts(value: Any) -> list[Any]:
    """A constant's own values too: a table of functions uses them."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, tuple | list | set | frozenset) else ()
    return [value, *inner]


def _rooms(thing: Any) -> set[str]:
    """The modules behind all names in the code that are public names of the package."""
    public = _all_names(thing) & {*weightlift._HOMES, *weightlift._MODULES}
    return set().union(*(_module(f"weightlift.{weightlift._HOMES.get(name, name)}") for name in public))


def _globals_used(thing: Any) -> Iterator[tuple[str, Any]]:
    for function in _functions(thing):
        for name in sorted(_names(function.__code__)):
            if name in function.__globals__:
                yield name, function.__globals__[name]


def _functions(thing: Any) -> list[types.FunctionType]:
    inside = [thing] if isinstance(thing, types.FunctionType) else vars(thing).values()
    return [function for function in inside if isinstance(function, types.FunctionType)]


def _all_names(thing: Any) -> set[str]:
    return set().union(*(_names(function.__code__) for function in _functions(thing)))


def _names(code: types.CodeType) -> set[str]:
    """The names in a function, and in those inside it."""
    inner = [_names(constant) for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return set(code.co_names).union(*inner)


def _written(value: Any) -> str:
    """A constant as text that is the same in every process: without addresses, sets in order."""
    text = repr(sorted(value, key=repr)) if isinstance(value, set | frozenset) else repr(value)
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def _module(name: str) -> set[str]:
    """The module and the packages that it lies in, as far as they are the package's own, compute, and exist."""
    parts = name.split(".")
    if parts[0] != "weightlift" or len(parts) < 2 or parts[1] in SHOWING:
        return set()
    return {within for i in range(2, len(parts) + 1) if _source(within := ".".join(parts[:i])).is_file()}


def _source(name: str) -> Path:
    path = ROOT.joinpath(*name.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@cache
def _statements(text: str) -> list[str]:
    """A file's lines without comments, docstrings and blanks: the same in every version of Python."""
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, at = token.start
            lines[row - 1] = lines[row - 1][:at]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            lines[first.lineno - 1 : first.end_lineno] = [""] * len(lines[first.lineno - 1 : first.end_lineno])
    return [line.rstrip() for line in lines if line.strip()]


@cache
def _imported(name: str) -> set[str]:
    """What a module imports of the package: `from weightlift.risk import x` names weightlift.risk, and weightlift.risk.x if
    that is a module."""
    found: set[str] = set()
    for node in _nodes(ast.parse(_source(name).read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= set().union(*(_module(alias.name) for alias in node.names))
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= set().union(*(_module(node.module) | _module(f"{node.module}.{alias.name}") for alias in node.names))
    return found


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those that are for type checkers alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        yield node
        yield from _nodes(node)
