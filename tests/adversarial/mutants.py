"""Wrong formulas: every place of the core mathematics where a sign can flip, a factor drop, an index shift or a sense turn."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "weightlift"
NO_MATHEMATICS = {"limits.py", "summary.py"}  # numbers with their reasons, prose
PROSE = {"__repr__", "__str__", "floats_per_row", "sentence", "summary"}


@dataclass(frozen=True)
class Mutant:
    room: str
    path: str  # below src/weightlift
    site: int  # its number among the places of the file
    kind: str
    line: int
    last: int
    before: str
    after: str


def sites(tree: ast.Module) -> list[tuple[ast.AST, str]]:
    """Every place that can be mutated, with how; in the order of the tree."""
    return [(node, kind) for node in _code(tree) for kind in _kinds(node)]


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that compute: no annotation, message, decorator, default or prose."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "defaults", "kw_defaults", "bases", "msg"):
            continue
        for child in value if isinstance(value, list) else [value]:
            prose = isinstance(child, ast.Raise | ast.JoinedStr | ast.Assert | ast.Import | ast.ImportFrom)
            named = isinstance(child, ast.FunctionDef) and child.name in PROSE
            if isinstance(child, ast.AST) and not prose and not named and not _warns(child):
                yield from _code(child)


def _warns(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "warn"


def _kinds(node: ast.AST) -> list[str]:
    if isinstance(node, ast.BinOp):
        if any(isinstance(v, ast.JoinedStr | ast.List | ast.Tuple) for v in (node.left, node.right)):
            return []
        operators: dict[type[ast.operator], list[str]] = {
            ast.Add: ["sign"], ast.Sub: ["sign"], ast.Mult: ["factor"], ast.Div: ["factor"], ast.Pow: ["factor"],
        }  # fmt: skip
        return operators.get(type(node.op), [])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
        return ["sign"]
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Lt | ast.Gt | ast.LtE | ast.GtE):
        return ["sense"]
    if isinstance(node, ast.Subscript) and any(_is_index(v) for v in ast.walk(node.slice)):
        return ["index"]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
        return ["index"] if node.args else []
    return []


def _is_index(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def mutated(tree: ast.Module, site: int) -> tuple[ast.Module, ast.AST, ast.AST]:
    """Another tree with that place changed, the place, and what stands there now."""
    tree = copy.deepcopy(tree)
    node, kind = sites(tree)[site]
    before = copy.deepcopy(node)
    new = _change(node, kind)
    if new is not node:
        for parent in ast.walk(tree):
            for name, value in ast.iter_fields(parent):
                if value is node:
                    setattr(parent, name, new)
                elif isinstance(value, list):
                    setattr(parent, name, [new if v is node else v for v in value])
    return ast.fix_missing_locations(tree), before, new


def _change(node: Any, kind: str) -> Any:
    if kind == "sign":
        if isinstance(node, ast.UnaryOp):
            return node.operand
        node.op = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
    elif kind == "factor":
        constant = isinstance(node.op, ast.Mult) and isinstance(node.left, ast.Constant)
        return node.right if constant else node.left
    elif kind == "sense":
        turned = {ast.Lt: ast.GtE, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.GtE: ast.Lt}
        node.ops[0] = turned[type(node.ops[0])]()
    elif isinstance(node, ast.Subscript):
        index = next(v for v in ast.walk(node.slice) if _is_index(v))
        index.value += 1  # type: ignore[attr-defined]
    else:
        node.args[0] = ast.BinOp(node.args[0], ast.Add(), ast.Constant(1))
    return node


def places(room: str) -> list[tuple[str, Path, int]]:
    """Every place of a room: the room, the file, the number of the place."""
    folder = SOURCE / room
    files = sorted(f for f in folder.glob("*.py") if f.name not in NO_MATHEMATICS) if folder.is_dir() else [folder]
    return [(room, file, number) for file in files for number in range(len(sites(ast.parse(file.read_text()))))]


def mutant(room: str, file: Path, number: int) -> Mutant:
    tree = ast.parse(file.read_text())
    node, kind = sites(tree)[number]
    _, before, after = mutated(tree, number)
    where = str(file.relative_to(SOURCE)), number, kind, node.lineno, node.end_lineno  # type: ignore[attr-defined]
    return Mutant(room, *where, ast.unparse(before), ast.unparse(after))
