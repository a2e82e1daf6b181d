"""What all sources keep to: one meaning a name, every parameter explained, failures one family of sentences.

Sources are read, not imported: nothing here takes time.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import weightlift as wl
from weightlift import errors

PACKAGE = Path(wl.__file__).parent
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}
NODES = {path: list(ast.walk(tree)) for path, tree in TREES.items()}
# What sources, statistics and maps share is explained once, in `samples.protocol`.
PROTOCOL = {"fold", "mean", "split", "map", "persist", "blocks", "read", "expectation", "merge", "finish", "on_network"}
OWN_ERRORS = {kind.__name__ for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)}


def test_no_class_name_is_defined_twice_but_limits_of_which_every_room_has_one():
    homes = defaultdict(list)
    for path, nodes in NODES.items():
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(str(path.relative_to(PACKAGE)))
    assert len(homes) > 100
    assert {name: files for name, files in homes.items() if len(files) > 1 and name != "Limits"} == {}


def test_every_number_of_the_limits_has_its_reason():
    bare = []
    for path, nodes in NODES.items():
        lines = path.read_text(encoding="utf-8").splitlines()
        for limits in (node for node in nodes if isinstance(node, ast.ClassDef) and node.name == "Limits"):
            bare += [f"{path.name}: {lines[n.lineno - 1]}" for n in limits.body if not explained(n, lines)]
    assert bare == []


def test_a_number_of_a_module_has_a_name_of_its_own():
    """But papers, and formats of files: each has its own under the names that all share."""
    values = defaultdict(set)
    for path, tree in TREES.items():
        if path.parent.name != "reproduce":
            for name, value in numbers(tree):
                values[name].add(value)
    assert 50 < len(values) <= 150
    assert {name: found for name, found in values.items() if len(found) > 1 and name != "VERSION"} == {}


def numbers(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """(name, value) of what a module sets to numbers, as literals or made of them."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name | ast.Tuple):
            target, value = node.targets[0], node.value
            several = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
            for name, part in zip(target.elts, value.elts, strict=True) if several else [(target, value)]:
                if isinstance(name, ast.Name) and numeric(part):
                    yield name.id, ast.unparse(part)


def numeric(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return ast.unparse(value.func).partition(".")[0] in ("np", "math", "float") and any(map(numeric, value.args))
    parts = value.elts if isinstance(value, ast.Tuple | ast.List) else ()
    parts = (value.left, value.right) if isinstance(value, ast.BinOp) else parts
    parts = (value.operand,) if isinstance(value, ast.UnaryOp) else parts
    plain = isinstance(value, ast.Constant) and type(value.value) in (int, float)
    return plain or any(map(numeric, parts))


def explained(node: ast.stmt, lines: list[str]) -> bool:
    return not isinstance(node, ast.AnnAssign) or any("  # " in line for line in lines[node.lineno - 1 : node.end_lineno])


def test_every_parameter_of_a_public_function_is_explained():
    found = {name: unexplained(function, docstrings) for name, function, docstrings in public()}
    assert len(found) > 200
    assert {name: missing for name, missing in found.items() if missing} == {}


def test_a_parameter_named_in_an_example_alone_is_not_explained():
    source = 'def scaled(x, factor):\n    """x times something.\n\n    >>> scaled(2, factor=3)\n    6\n    """'
    (function,) = ast.parse(source).body
    assert unexplained(function, [ast.get_docstring(function)]) == ["factor"]


def test_failures_say_what_is_wrong_and_what_to_do():
    """As in: n_units must be at least 1, not 0. Or: X holds NaN or infinity; drop or impute those rows."""
    found = list(sentences())
    assert len(found) > 400
    assert [words for words in found if not words.endswith((".", ": …"))] == []
    assert [words for words in found if not re.search(r" must |; |[.)] [A-Z]", words)] == []
    assert [words for words in found if re.match(r"(The|This|There|You|Please|Error|Invalid|Cannot)\b", words)] == []


def test_warnings_point_at_the_caller():
    """Through `errors.warn`, which finds the line; a fixed number of frames is right for one way only."""
    calls = ((path.name, node) for path, nodes in NODES.items() for node in nodes if isinstance(node, ast.Call))
    assert {name for name, call in calls if ast.unparse(call.func) == "warnings.warn"} == {"errors.py"}


def sentences() -> Iterator[str]:
    """The words of every error of our own that is raised with words of its own, … in place of what is filled in."""
    for nodes in NODES.values():
        for node in nodes:
            call = node.exc if isinstance(node, ast.Raise) else None
            words = call.args[0] if isinstance(call, ast.Call) and ast.unparse(call.func) in OWN_ERRORS else None
            if isinstance(words, ast.Constant | ast.JoinedStr):
                yield words_of(words)


def words_of(text: ast.Constant | ast.JoinedStr) -> str:
    parts = text.values if isinstance(text, ast.JoinedStr) else [text]
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in parts)


def public() -> Iterator[tuple[str, ast.FunctionDef, list[str]]]:
    """(name, function, docstrings) of all that a module or a room lists in `__all__`, methods of classes among them."""
    for path, tree in TREES.items():
        homes = {a.asname or a.name: n.module for n in tree.body if isinstance(n, ast.ImportFrom) for a in n.names}
        for name in listed(tree):
            home = PACKAGE.parent / f"{homes[name].replace('.', '/')}.py" if name in homes else path
            for node in TREES[home].body if home in TREES else ():
                if getattr(node, "name", None) == name:
                    yield from functions(f"{home.relative_to(PACKAGE)}: {name}", node)


def listed(tree: ast.Module) -> list[str]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return [name.value for name in ast.walk(node.value) if isinstance(name, ast.Constant)]
    return []


def functions(name: str, node: ast.stmt) -> Iterator[tuple[str, ast.FunctionDef, list[str]]]:
    if isinstance(node, ast.FunctionDef):
        yield name, node, [ast.get_docstring(node) or ""]
    elif isinstance(node, ast.ClassDef):
        for method in node.body:
            shared = isinstance(method, ast.FunctionDef) and method.name in PROTOCOL and node.name != "Samples"
            if isinstance(method, ast.FunctionDef) and not (method.name.startswith("_") or shared):
                yield f"{name}.{method.name}", method, [ast.get_docstring(node) or "", ast.get_docstring(method) or ""]


def unexplained(function: ast.FunctionDef, docstrings: list[str]) -> list[str]:
    """Parameters that the words do not name; an example explains none."""
    prose = "\n".join(words.split(">>>")[0] for words in docstrings)
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
    names = [a.arg for a in every if a.arg not in ("self", "cls")]
    return [name for name in names if not re.search(rf"(?<![A-Za-z_]){name}(?![A-Za-z_])", prose)]
