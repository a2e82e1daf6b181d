"""Docstrings as the sources write them, read as numpydoc.

The sources' docstrings are plain text: a sentence, prose with Unicode formulas, `names` in single backquotes, options as
"name: what it does" or in two aligned columns, examples. Here prose is escaped and linked, options whose names stand in the
signature become the section Parameters, examples the section Examples, the fields of a dataclass, with the comments behind
them, the section Attributes. Docstrings that have numpydoc's sections already are only escaped.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import re
from collections.abc import Iterable
from typing import Any

from citations import linked

_COLUMNS = re.compile(r"^(\S(?:.*?\S)?) {2,}(\S.*)$")
_SPECIAL = re.compile(r"([\\*|]|(?<=\w)_(?!\w))")
_CODE = re.compile(r"(`[^`]+`)")
_NAME = re.compile(r"[A-Za-z_][\w.]*")
_ITEM = re.compile(r"([\w, ]+) : (.+)((?:\n    .+)+)")  # numpydoc's, outside of a section
_SECTION = re.compile(r"^[A-Z][A-Za-z ]+\n-{3,}$", re.MULTILINE)


def translate(doc: str, parameters: Iterable[str] = (), attributes: Iterable[tuple[str, str, str]] = ()) -> str:
    """The docstring as numpydoc; `parameters` are the signature's names, `attributes` (name, type, text) the fields'."""
    prose, options, examples = [], [], []
    fields = {name: (kind, text) for name, kind, text in attributes}
    for paragraph in _paragraphs(doc):
        if paragraph.startswith(">>>"):
            examples.append(paragraph)
            continue
        if item := _ITEM.fullmatch(paragraph):
            options.append((item[1], item[2], " ".join(item[3].split())))
            continue
        before, found = _options(paragraph, tuple(parameters) + tuple(fields))
        prose += [block(before)] if before else []
        for names, text in found:
            if names in fields:
                fields[names] = fields[names][0], text
            else:
                options.append((names, "", text))
    described = {name.strip() for names, _, _ in options for name in names.split(",")}
    rest = [(name, *value) for name, value in fields.items() if name not in described]
    parts = ["\n\n".join(prose), _section("Parameters", options), _section("Attributes", rest)]
    if examples:
        parts.append("Examples\n--------\n" + "\n\n".join(examples))
    return "\n\n".join(part for part in parts if part)


def plain(doc: str) -> str:
    """A module's docstring."""
    return "\n\n".join(block(paragraph) for paragraph in _paragraphs(doc))


def inline(text: str) -> str:
    """Prose as reStructuredText: special characters escaped, names linked where they are known, citations linked."""
    parts = _CODE.split(text)
    for i, part in enumerate(parts):
        if i % 2 == 0:
            parts[i] = linked(_SPECIAL.sub(r"\\\1", part), ":cite:p:")
        else:
            glued_before = bool(parts[i - 1]) and not re.search(r"[\s(\[\"'/–-]$", parts[i - 1])
            glued_after = bool(parts[i + 1]) and not re.match(r"[\s.,;:!?)\]\"'/–-]", parts[i + 1])
            parts[i] = "\\ " * glued_before + _code(part[1:-1]) + "\\ " * glued_after
    return "".join(parts)


def _code(text: str) -> str:
    name = text.removesuffix("()").removeprefix("wl.")
    if _NAME.fullmatch(name) and (found := _targets().get(name)):
        return f":py:obj:`{text} <{found}>`"
    return f"``{text}``"


def block(paragraph: str) -> str:
    """One paragraph: prose, two aligned columns as a field list, or lines that stay as they are."""
    lines = paragraph.split("\n")
    dedented = inspect.cleandoc("\n" + paragraph)
    rows = _rows(dedented.split("\n"))
    if rows and all(text.count("  ") == 0 for _, text in rows):
        return "\n".join(f":{inline(key).replace(':', chr(92) + ':')}: {inline(text)}" for key, text in rows)
    if rows or any(line.startswith("  ") for line in lines):
        return "::\n\n" + "\n".join("    " + line for line in dedented.split("\n"))
    if lines[0].startswith(("- ", "* ")):
        return "\n".join(line[:2] + inline(line[2:]) for line in lines)
    return inline(paragraph)


def _rows(lines: list[str]) -> list[tuple[str, str]]:
    """(key, text) of two aligned columns; empty where the lines are not such columns."""
    first = _COLUMNS.match(lines[0])
    if not first:
        return []
    column, rows = first.start(2), []
    for line in lines:
        if line[:column].strip() == "" and rows:
            rows[-1] = rows[-1][0], f"{rows[-1][1]} {line.strip()}"
        elif len(line) > column and line[column - 1] == " " and line[column] != " " and line[column - 2] == " ":
            rows.append((line[:column].strip(), line[column:]))
        else:
            return []
    return [(key, re.sub(r" {3,}(?=\[)", " ", text)) for key, text in rows]


def _paragraphs(doc: str) -> list[str]:
    """Parts between blank lines; indented lines after a colon are a part of their own."""
    doc = re.sub(r"^(\S.*:)\n(?=    )", r"\1\n\n", doc, flags=re.MULTILINE)
    return [paragraph.rstrip() for paragraph in re.split(r"\n\s*\n", doc) if paragraph.strip()]


def _options(paragraph: str, names: tuple[str, ...]) -> tuple[str, list[tuple[str, str]]]:
    """What a paragraph says about the named options, and the prose before."""
    rows = _rows(paragraph.split("\n"))
    if rows and all(set(re.split(r",\s*", key)) <= set(names) for key, _ in rows):
        return "", rows
    if not names or paragraph.startswith(" "):
        return paragraph, []
    name = "|".join(map(re.escape, names))
    starts = list(re.finditer(rf"(?:^|(?<=[.;])\s|\n)`?((?:{name})(?:, (?:{name}))*)`?: ", paragraph))
    if not starts:
        return paragraph, []
    ends = [start.start() for start in starts[1:]] + [len(paragraph)]
    found = [(s[1], paragraph[s.end() : end].strip()) for s, end in zip(starts, ends, strict=True)]
    return paragraph[: starts[0].start()].strip(), found


def _section(title: str, items: list[tuple[str, str, str]]) -> str:
    if not items:
        return ""
    lines = [title, "-" * len(title)]
    for names, kind, text in items:
        lines.append(f"{names} : {kind}" if kind else names)
        lines += ["    " + " ".join(inline(text).split())] if text else []
    return "\n".join(lines)


def fields_of(cls: type) -> list[tuple[str, str, str]]:
    """(name, type, text) of an enumeration's members, a class's annotated fields and its properties without a docstring."""
    if issubclass(cls, enum.Enum):
        return [(member.name, "", str(member.value)) for member in cls]
    comments = _comments(cls)
    if dataclasses.is_dataclass(cls):
        types = {field.name: field.type for field in dataclasses.fields(cls)}
    else:
        types = vars(cls).get("__annotations__", {})
    found = [(name, _type(kind), comments.get(name, "")) for name, kind in types.items() if not name.startswith("_")]
    for name, value in vars(cls).items():
        getter = getattr(value, "fget", getattr(value, "func", None))
        if not name.startswith("_") and callable(getter) and not inspect.getdoc(getter):
            found.append((name, _type(getter.__annotations__.get("return", "")), ""))
    return found


def _comments(cls: type) -> dict[str, str]:
    """The comment behind each field, on its own line or on the closing one."""
    try:
        source = inspect.getsource(cls)
    except (OSError, TypeError):
        return {}
    return dict(re.findall(r"^    (\w+): [^#\n]+?(?: \(\n +\S+)?  # (.+)$", source, re.MULTILINE))


def _type(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


def _targets() -> dict[str, str]:
    """Every public name of the package, and where the reference documents it."""
    if not _KNOWN:
        import pkgutil

        from rooms import public_names, target

        import weightlift

        for module in pkgutil.iter_modules(weightlift.__path__):
            if module.name.startswith("_") or module.name in UNDOCUMENTED:
                continue
            room = f"weightlift.{module.name}"
            for name in public_names(room):
                _KNOWN[f"{module.name}.{name}"] = target(room, name)
                _KNOWN.setdefault(name, target(room, name))
            _KNOWN[room] = _KNOWN[module.name] = room
        for name in weightlift.__all__:
            _KNOWN[name] = f"weightlift.{name}"
    return _KNOWN


UNDOCUMENTED = ("cli", "files", "namespaces")  # behind the public names
_KNOWN: dict[str, str] = {}


def _process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    doc = "\n".join(lines).expandtabs()
    inherited = what in ("class", "exception") and not vars(obj).get("__doc__")
    if not name.startswith("weightlift") or inherited:
        return
    if _SECTION.search(doc):
        lines[:] = [*_escaped_sections(doc).split("\n"), ""]
        return
    attributes = fields_of(obj) if what == "class" else []
    names = _parameters(obj) if what in ("class", "function", "method") else ()
    text = translate(doc, [n for n in names if n not in {a[0] for a in attributes}], attributes)
    lines[:] = [*text.split("\n"), ""]


def _named_aliases(
    app: Any, what: str, name: str, obj: Any, options: Any, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """The aliases of autodoc_type_aliases inside unions, by their names alone."""
    return tuple(part and re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", part) for part in (signature, returns))


def _skip(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """scikit-learn's metadata requests are not the package's own."""
    return True if re.fullmatch(r"set_\w+_request|get_metadata_routing", name) else None


def _escaped_sections(doc: str) -> str:
    """numpydoc as it is, but for special characters and names outside of the examples."""
    head, examples, tail = doc.partition("\nExamples\n--------")
    escaped = [line if re.match(r"^\S.* : ", line) else inline(line) for line in head.split("\n")]
    return "\n".join(escaped) + examples + tail


def _parameters(obj: Any) -> tuple[str, ...]:
    try:
        return tuple(name for name in inspect.signature(obj).parameters if name not in ("self", "cls"))
    except (TypeError, ValueError):
        return ()


def setup(app: Any) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", _process, priority=400)  # before numpydoc's own
    app.connect("autodoc-process-signature", _named_aliases)
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True}
